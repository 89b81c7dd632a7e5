//! The audit as the pipeline sees it: slots and their endings, group commit, full and failing disks, the store away.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::ship::Recorder;
use super::spool::lock;
use super::*;

mod crash;

const NOW: Micros = 1_800_000_000_000_000;

struct Rig {
    dir: tempfile::TempDir,
    audit: Audit,
    shipper: Shipper,
    recorder: Arc<Recorder>,
    clock: Clock,
}

fn settings(dir: &Path) -> AuditSettings {
    AuditSettings {
        dir: dir.to_path_buf(),
        fsync: Fsync::Always,
        on_full: OnFull::Reject,
        open: OpenRecord::Overlap,
        segment_bytes: 1 << 20,
        max_bytes: 64 << 20,
    }
}

fn rig(change: impl FnOnce(&mut AuditSettings)) -> Rig {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = settings(dir.path());
    change(&mut settings);
    let recorder = Arc::new(Recorder::default());
    let clock = Clock::manual(NOW);
    let (audit, shipper, recovered) =
        Audit::open_dir(&settings, clock.clone(), Sink::Recorder(Arc::clone(&recorder))).unwrap();
    assert_eq!(recovered, Recovered::default());
    Rig { dir, audit, shipper, recorder, clock }
}

impl Rig {
    fn faults(&self) -> &spool::segment::Faults {
        &self.audit.shared.spool.core().faults
    }

    fn outcomes(&self) -> BTreeMap<i64, String> {
        self.recorder.records().into_iter().map(|row| (row.seq, row.outcome)).collect()
    }

    fn segments(&self) -> usize {
        let files = std::fs::read_dir(self.dir.path()).unwrap();
        files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "seg")).count()
    }
}

fn opening() -> Opening {
    Opening {
        at_us: NOW,
        tenant: "acme".to_owned(),
        card: Some("echo".to_owned()),
        principal: Some("billing-bot".to_owned()),
        correlation_id: "c-1".to_owned(),
        ..Opening::default()
    }
}

fn closing(outcome: Outcome) -> Closing {
    Closing { at_us: NOW + 7, outcome, status: Some(200), task_id: Some("t-1".to_owned()), ..Closing::default() }
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), what).await.unwrap()
}

#[tokio::test]
async fn every_ending_leaves_exactly_one_record() {
    let mut rig = rig(|_| {});
    let slots: Vec<Slot> = (0..5).map(|_| rig.audit.open(&opening()).unwrap()).collect();
    assert_eq!(slots.iter().map(Slot::seq).collect::<Vec<_>>(), [Some(1), Some(2), Some(3), Some(4), Some(5)]);
    let mut slots = slots.into_iter();
    soon(slots.next().unwrap().close(&closing(Outcome::Ok))).await.unwrap();
    slots.next().unwrap().close_detached(&closing(Outcome::CallerGone));
    drop(slots.next().unwrap());
    drop(slots.next().unwrap().close(&closing(Outcome::Blocked)));
    let slot = slots.next().unwrap();
    soon(slot.opened()).await.unwrap();
    soon(slot.close(&closing(Outcome::StreamIncomplete))).await.unwrap();
    assert!(rig.shipper.flush().await);
    let rows = rig.recorder.records();
    let outcomes: Vec<&str> = rows.iter().map(|row| row.outcome.as_str()).collect();
    assert_eq!(outcomes, ["ok", "caller_gone", "abandoned", "blocked", "stream_incomplete"]);
    let row = &rows[0];
    assert_eq!((row.tenant.as_str(), row.at_open, row.at_close), ("acme", NOW, Some(NOW + 7)));
    assert_eq!((row.status, row.task_id.as_deref(), row.card.as_deref()), (Some(200), Some("t-1"), Some("echo")));
    let document: serde_json::Value = serde_json::from_slice(&row.document).unwrap();
    assert_eq!(
        (&document["opened"]["principal"], &document["closed"]["outcome"]),
        (&"billing-bot".into(), &"ok".into())
    );
    assert_eq!(rig.audit.backlog().open, 0);
}

#[tokio::test]
#[expect(clippy::await_holding_lock, reason = "the disk is kept busy on purpose; only its own thread waits")]
async fn one_fdatasync_serves_all_who_wait_and_nobody_earlier() {
    let rig = rig(|_| {});
    let busy = lock(&rig.faults().busy);
    let before = rig.faults().syncs.load(Ordering::SeqCst);
    let closes: Vec<_> = (0..200).map(|_| rig.audit.open(&opening()).unwrap().close(&closing(Outcome::Ok))).collect();
    let mut all = std::pin::pin!(futures_util::future::join_all(closes));
    for _ in 0..3 {
        assert!(futures_util::poll!(all.as_mut()).is_pending());
        tokio::task::yield_now().await;
    }
    drop(busy);
    assert!(soon(all).await.into_iter().all(|closed| closed.is_ok()));
    let syncs = rig.faults().syncs.load(Ordering::SeqCst) - before;
    assert!((1..=4).contains(&syncs), "{syncs} syncs for 200 records");
}

#[tokio::test]
#[expect(clippy::await_holding_lock, reason = "the disk is kept busy on purpose; only its own thread waits")]
async fn interval_mode_does_not_wait_for_the_disk() {
    let rig = rig(|settings| settings.fsync = Fsync::Interval);
    let busy = lock(&rig.faults().busy);
    let slot = rig.audit.open(&opening()).unwrap();
    assert!(futures_util::poll!(std::pin::pin!(slot.opened())).is_ready());
    assert!(futures_util::poll!(std::pin::pin!(slot.close(&closing(Outcome::Ok)))).is_ready());
    drop(busy);
    soon(rig.audit.sync()).await.unwrap();
}

/// F55
#[tokio::test]
async fn an_absent_store_costs_nobody_anything_and_gets_all_later() {
    let mut rig = rig(|settings| settings.segment_bytes = 4096);
    rig.recorder.away.store(true, Ordering::SeqCst);
    for _ in 0..700 {
        soon(rig.audit.open(&opening()).unwrap().close(&closing(Outcome::Ok))).await.unwrap();
        if rig.segments() % 10 == 0 {
            assert!(!rig.shipper.flush().await);
        }
    }
    assert!(!rig.shipper.flush().await);
    assert!(rig.segments() > 20 && rig.audit.backlog().store_failures > 0);
    rig.recorder.away.store(false, Ordering::SeqCst);
    assert!(rig.shipper.flush().await);
    let seqs: Vec<i64> = rig.recorder.records().iter().map(|row| row.seq).collect();
    assert_eq!(seqs, (1..=700).collect::<Vec<_>>());
    assert_eq!((rig.segments(), rig.audit.backlog().store_failures), (1, 0));
    assert!(rig.audit.backlog().bytes <= 5000);
}

#[tokio::test]
async fn a_full_spool_refuses_calls_but_takes_their_endings_and_recovers() {
    let mut rig = rig(|settings| settings.max_bytes = 0);
    rig.recorder.away.store(true, Ordering::SeqCst);
    let mut slots = Vec::new();
    while let Ok(slot) = rig.audit.open(&opening()) {
        slots.push(slot);
    }
    assert_eq!(rig.audit.backlog().health, Health::Full);
    let opened = slots.len();
    assert!(opened > 100);
    for slot in slots {
        soon(slot.close(&closing(Outcome::Ok))).await.unwrap();
    }
    while let Ok(slot) = rig.audit.open(&opening()) {
        soon(slot.close(&closing(Outcome::Ok))).await.unwrap();
    }
    assert!(rig.audit.backlog().is_high() && rig.audit.backlog().bytes <= rig.audit.backlog().max_bytes);
    let source = IpAddr::V4(Ipv4Addr::LOCALHOST);
    rig.audit.refused("acme", "no_credential", source, NOW);
    assert!(!rig.shipper.flush().await);
    rig.recorder.away.store(false, Ordering::SeqCst);
    assert!(rig.shipper.flush().await);
    assert_eq!(rig.recorder.summaries().len(), 1, "sums have room of their own");
    assert!(rig.audit.open(&opening()).is_ok());
    assert!(rig.outcomes().values().all(|outcome| outcome == "ok"));
}

/// F55
#[tokio::test]
async fn a_flood_of_refusals_leaves_room_for_calls() {
    let mut rig = rig(|settings| settings.max_bytes = 0);
    rig.recorder.away.store(true, Ordering::SeqCst);
    for source in 0..4000 {
        rig.audit.refused("acme", "no_credential", IpAddr::V4(Ipv4Addr::from_bits(source)), NOW);
    }
    assert!(!rig.shipper.flush().await);
    let backlog = rig.audit.backlog();
    assert!(backlog.sums_dropped > 0 && backlog.bytes <= backlog.max_bytes / 16 + 1024, "{backlog:?}");
    let calls =
        std::iter::from_fn(|| rig.audit.open(&opening()).ok()).map(|slot| slot.close_detached(&closing(Outcome::Ok)));
    assert!(calls.count() > 300);
}

#[tokio::test]
async fn dropping_by_choice_serves_on_and_tells_how_much_was_lost() {
    let mut rig = rig(|settings| (settings.max_bytes, settings.on_full) = (0, OnFull::Drop));
    rig.recorder.away.store(true, Ordering::SeqCst);
    let recorded = (0..).find(|_| {
        let slot = rig.audit.open(&opening()).unwrap();
        let is_recorded = slot.seq().is_some();
        slot.close_detached(&closing(Outcome::Ok));
        !is_recorded
    });
    for _ in 0..4 {
        let slot = rig.audit.open(&opening()).unwrap();
        soon(slot.opened()).await.unwrap();
        soon(slot.close(&closing(Outcome::Ok))).await.unwrap();
    }
    assert_eq!(rig.audit.backlog().unrecorded, 5);
    rig.recorder.away.store(false, Ordering::SeqCst);
    assert!(rig.shipper.flush().await);
    assert!(rig.audit.open(&opening()).unwrap().seq().is_some());
    assert!(rig.shipper.flush().await);
    let gaps = rig.recorder.summaries();
    let gaps: Vec<_> = gaps.iter().map(|sum| (sum.reason.as_str(), sum.count)).collect();
    assert_eq!(gaps, [("unrecorded", 5)]);
    let seqs: Vec<i64> = rig.outcomes().into_keys().collect();
    assert_eq!(seqs, (1..=i64::from(recorded.unwrap()) + 1).collect::<Vec<_>>(), "no number is lost");
}

/// F55
#[tokio::test]
async fn a_disk_that_refuses_writes_stops_service_until_it_takes_them() {
    let mut rig = rig(|_| {});
    let slot = rig.audit.open(&opening()).unwrap();
    rig.faults().fail_writes.store(true, Ordering::SeqCst);
    assert_eq!(rig.audit.open(&opening()).unwrap_err(), AuditFull);
    assert_eq!(soon(slot.close(&closing(Outcome::Blocked))).await, Err(AuditLost));
    let backlog = rig.audit.backlog();
    assert!(matches!(backlog.health, Health::Failing(_)) && backlog.late == 1, "{backlog:?}");
    rig.faults().fail_writes.store(false, Ordering::SeqCst);
    soon(rig.audit.open(&opening()).unwrap().close(&closing(Outcome::Ok))).await.unwrap();
    assert!(rig.shipper.flush().await);
    assert_eq!(rig.outcomes(), [(1, "blocked".to_owned()), (2, "ok".to_owned())].into());
    assert_eq!(rig.audit.backlog().health, Health::Ready);
}

#[tokio::test]
async fn a_failed_fdatasync_is_told_to_those_it_concerns_and_ends_service_until_one_works() {
    let rig = rig(|_| {});
    soon(rig.audit.open(&opening()).unwrap().close(&closing(Outcome::Ok))).await.unwrap();
    rig.faults().fail_syncs.store(true, Ordering::SeqCst);
    let slot = rig.audit.open(&opening()).unwrap();
    assert_eq!(soon(slot.opened()).await, Err(AuditLost));
    assert_eq!(rig.audit.open(&opening()).unwrap_err(), AuditFull);
    rig.faults().fail_syncs.store(false, Ordering::SeqCst);
    let slot = soon(async {
        loop {
            match rig.audit.open(&opening()) {
                Ok(slot) => break slot,
                Err(AuditFull) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    })
    .await;
    soon(slot.close(&closing(Outcome::Ok))).await.unwrap();
    assert_eq!(rig.segments(), 2, "the segment that failed is not written to again");
}

#[tokio::test]
async fn a_slow_call_is_seen_open_and_then_closed() {
    let mut rig = rig(|_| {});
    let stop = tokio_util::sync::CancellationToken::new();
    let slot = rig.audit.open(&opening()).unwrap();
    let recorder = Arc::clone(&rig.recorder);
    rig.clock.advance(3_000_000);
    let watch = async {
        while recorder.records().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!((recorder.records()[0].outcome.as_str(), recorder.records()[0].at_close), ("open", None));
        soon(slot.close(&closing(Outcome::Ok))).await.unwrap();
        stop.cancel();
    };
    rig.recorder = Arc::clone(&recorder);
    soon(async { tokio::join!(rig.shipper.run(stop.clone()), watch) }).await;
    let outcomes: Vec<String> = recorder.records().into_iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes, ["open", "ok"]);
}

#[tokio::test]
async fn a_record_the_store_will_never_take_is_put_aside_and_holds_nobody_up() {
    let mut rig = rig(|_| {});
    *lock(&rig.recorder.disliked) = Some("bad".to_owned());
    for tenant in ["acme", "bad", "acme"] {
        let opening = Opening { tenant: tenant.to_owned(), ..opening() };
        rig.audit.open(&opening).unwrap().close_detached(&closing(Outcome::Ok));
    }
    assert!(rig.shipper.flush().await);
    assert_eq!(rig.outcomes().into_keys().collect::<Vec<_>>(), [1, 3]);
    let aside = std::fs::read_to_string(rig.dir.path().join("rejected.jsonl")).unwrap();
    assert!(aside.lines().count() == 1 && aside.contains("\"bad\""), "{aside}");
}

#[tokio::test]
async fn a_long_stream_does_not_keep_old_segments() {
    let mut rig = rig(|settings| settings.segment_bytes = 4096);
    let long = rig.audit.open(&Opening { correlation_id: "long".to_owned(), ..opening() }).unwrap();
    for _ in 0..400 {
        rig.audit.open(&opening()).unwrap().close_detached(&closing(Outcome::Ok));
        if rig.audit.backlog().bytes > 10_000 {
            assert!(rig.shipper.flush().await);
        }
    }
    assert!(rig.shipper.flush().await && rig.shipper.flush().await);
    assert!(rig.segments() <= 3, "{} segments", rig.segments());
    long.close_detached(&closing(Outcome::StreamIncomplete));
    assert!(rig.shipper.flush().await);
    let row = rig.recorder.records().into_iter().rfind(|row| row.seq == 1).unwrap();
    assert_eq!((row.correlation_id.as_str(), row.outcome.as_str()), ("long", "stream_incomplete"));
}

#[tokio::test]
async fn a_real_store_gets_every_record_once_however_often_it_is_sent() {
    let rig = rig(|_| {});
    let database = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", database.path().join("a.db").display());
    let store = store::Store::open(&url, store::Pools::default()).await.unwrap();
    store.migrate().await.unwrap();
    let shipper = || Shipper::new(Arc::clone(&rig.audit.shared), Sink::Store(store.clone()), [].into());
    for _ in 0..600 {
        rig.audit.open(&opening()).unwrap().close_detached(&closing(Outcome::Ok));
    }
    let _open = rig.audit.open(&opening()).unwrap();
    rig.audit.refused("acme", "no_credential", IpAddr::V4(Ipv4Addr::LOCALHOST), NOW);
    assert!(shipper().flush().await);
    std::fs::remove_file(rig.dir.path().join("cursor.json")).unwrap();
    assert!(shipper().flush().await);
    let tenant = store::TenantId::new("acme").unwrap();
    let rows = store.audit_query(&tenant, &store::AuditFilter::default(), None, 1000).await.unwrap();
    let closed = rows.iter().filter(|row| row.outcome == "ok").count();
    assert_eq!((rows.len(), closed), (601, 600));
    let sums = store.audit_summaries(&tenant, 0, Micros::MAX, 10).await.unwrap();
    assert_eq!(sums.iter().map(|sum| (sum.reason.as_str(), sum.count)).collect::<Vec<_>>(), [("no_credential", 1)]);
}

#[test]
fn the_spool_is_private_and_has_one_writer() {
    let rig = rig(|_| {});
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(rig.dir.path()), 0o700);
    for file in std::fs::read_dir(rig.dir.path()).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    let second = Audit::open_dir(&settings(rig.dir.path()), Clock::manual(NOW), Sink::Recorder(Arc::default()));
    assert!(matches!(second, Err(StartError::Locked { .. })));
}
