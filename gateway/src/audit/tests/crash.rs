//! Crashes, simulated by copying the directory as it is and starting on the copy.

use proptest::prelude::*;
use tokio::runtime::Runtime;

use super::super::recover::{Life, OldWriter, Place, Reader};
use super::*;

/// A copy of the spool as a crash would leave it: of what was not synced, `kept` of 256 parts, and then garbage.
fn copy(audit: &Audit, kept: u8, garbage: &[u8]) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    let core = audit.shared.spool.core();
    let mut newest = None;
    for file in std::fs::read_dir(&core.dir).unwrap() {
        let path = to.path().join(file.as_ref().unwrap().file_name());
        std::fs::copy(file.unwrap().path(), &path).unwrap();
        if path.extension().is_some_and(|end| end == "seg") {
            newest = newest.max(Some(path));
        }
    }
    let path = newest.unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let unsynced = (audit.shared.spool.written() - core.commit.upto()) as usize;
    let synced = bytes.len().saturating_sub(unsynced);
    bytes.truncate(synced + (bytes.len() - synced) * usize::from(kept) / 256);
    bytes.extend(garbage);
    std::fs::write(path, bytes).unwrap();
    to
}

/// What the store holds after these rows, in their order: a closed record stays as it is.
fn stored(rows: Vec<store::AuditRecord>) -> BTreeMap<(String, i64), store::AuditRecord> {
    let mut table: BTreeMap<_, store::AuditRecord> = BTreeMap::new();
    for row in rows {
        let slot = table.entry((row.writer.clone(), row.seq)).or_insert_with(|| row.clone());
        if slot.at_close.is_none() {
            *slot = row;
        }
    }
    table
}

/// Starts on `dir` and ships all there is.
async fn restart(dir: &Path, recorder: &Arc<Recorder>) -> Backlog {
    let sink = Sink::Recorder(Arc::clone(recorder));
    let (audit, mut shipper, _) = Audit::open_dir(&settings(dir), Clock::manual(NOW + 99), sink).unwrap();
    assert!(shipper.flush().await);
    assert_eq!(
        std::fs::read_dir(dir).unwrap().filter(|file| is_old_segment(file.as_ref().unwrap(), audit.writer())).count(),
        0
    );
    audit.backlog()
}

fn is_old_segment(file: &std::fs::DirEntry, writer: &str) -> bool {
    let name = file.file_name().into_string().unwrap();
    name.ends_with(".seg") && !name.starts_with(writer)
}

/// F55
#[tokio::test]
async fn what_was_open_at_a_crash_becomes_interrupted_with_its_facts() {
    let rig = rig(|_| {});
    let open = rig.audit.open(&opening()).unwrap();
    soon(rig.audit.open(&opening()).unwrap().close(&closing(Outcome::Ok))).await.unwrap();
    soon(open.opened()).await.unwrap();
    let copy = copy(&rig.audit, 0, b"torn");
    let recorder = Arc::new(Recorder::default());
    let backlog = restart(copy.path(), &recorder).await;
    let rows = recorder.records();
    let facts: Vec<_> =
        rows.iter().map(|row| (row.seq, row.outcome.as_str(), row.at_close, row.tenant.as_str())).collect();
    assert_eq!(facts, [(2, "ok", Some(NOW + 7), "acme"), (1, "interrupted", Some(NOW + 99), "acme")]);
    assert!(rows.iter().all(|row| row.writer == rig.audit.writer()));
    assert_eq!((backlog.interrupted, backlog.damaged_bytes), (1, 4));
    let again = Arc::new(Recorder::default());
    restart(copy.path(), &again).await;
    assert_eq!(again.records(), [], "recovered once is recovered");
}

#[tokio::test]
async fn every_truncation_of_a_segment_yields_what_is_whole() {
    let rig = rig(|_| {});
    let first = rig.audit.open(&opening()).unwrap();
    let second = rig.audit.open(&opening()).unwrap();
    let two_opens = rig.audit.shared.spool.written();
    second.close_detached(&closing(Outcome::Blocked));
    let one_close = rig.audit.shared.spool.written();
    soon(first.close(&closing(Outcome::Ok))).await.unwrap();
    let all = rig.audit.shared.spool.written();
    let dir = rig.dir.path();
    let writer = rig.audit.writer().to_owned();
    let bytes = std::fs::read(spool::segment::path(dir, &writer, 1)).unwrap();
    assert_eq!(bytes.len() as u64, all);
    let cut_dir = tempfile::tempdir().unwrap();
    for cut in 0..=bytes.len() {
        std::fs::write(spool::segment::path(cut_dir.path(), &writer, 1), &bytes[..cut]).unwrap();
        let old = OldWriter { writer: writer.clone(), segments: [(1, cut as u64)].into() };
        let mut reader = Reader::of_old(cut_dir.path().to_path_buf(), old, Place::default());
        let batch = reader.fill(Life::Ended, NOW).unwrap();
        assert!(batch.ended);
        let mut outcomes: Vec<(i64, &str)> = batch.records.iter().map(|row| (row.seq, row.outcome.as_str())).collect();
        outcomes.sort_unstable();
        let expected: &[(i64, &str)] = match cut as u64 {
            cut if cut == all => &[(1, "ok"), (2, "blocked")],
            cut if cut >= one_close => &[(1, "interrupted"), (2, "blocked")],
            cut if cut >= two_opens => &[(1, "interrupted"), (2, "interrupted")],
            _ if outcomes.len() == 1 => &[(1, "interrupted")],
            _ => &[],
        };
        assert_eq!(outcomes, expected, "{cut}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Close(usize),
    Crash(u8),
    Detach(usize),
    Drop(usize),
    Open,
    Ship,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Open),
        3 => any::<usize>().prop_map(Step::Close),
        1 => any::<usize>().prop_map(Step::Detach),
        1 => any::<usize>().prop_map(Step::Drop),
        1 => Just(Step::Ship),
        1 => any::<u8>().prop_map(Step::Crash),
    ]
}

/// The gateway before a crash: what it has open, what it has promised.
struct Run {
    rig: Rig,
    open: Vec<Slot>,
    opened: i64,
    acked: BTreeMap<i64, Outcome>,
}

impl Run {
    async fn step(&mut self, step: Step) {
        match step {
            Step::Open => {
                self.open.push(self.rig.audit.open(&opening()).unwrap());
                self.opened += 1;
            }
            Step::Close(which) => {
                if let Some((seq, slot)) = self.pick(which) {
                    let outcome = if seq % 2 == 0 { Outcome::Ok } else { Outcome::Blocked };
                    soon(slot.close(&closing(outcome))).await.unwrap();
                    self.acked.insert(seq, outcome);
                }
            }
            Step::Detach(which) => {
                if let Some((_, slot)) = self.pick(which) {
                    slot.close_detached(&closing(Outcome::CallerGone));
                }
            }
            Step::Drop(which) => drop(self.pick(which)),
            Step::Ship => assert!(self.rig.shipper.flush().await),
            Step::Crash(kept) => self.crash(kept).await,
        }
    }

    fn pick(&mut self, which: usize) -> Option<(i64, Slot)> {
        let at = which.checked_rem(self.open.len())?;
        let slot = self.open.swap_remove(at);
        Some((slot.seq().unwrap() as i64, slot))
    }

    /// Everything acknowledged is in the store after a restart, nothing else is, nothing twice, no number is missing.
    async fn crash(&self, kept: u8) {
        let copy = copy(&self.rig.audit, kept, &[0, 7][..usize::from(kept % 3).min(2)]);
        let recorder = Arc::new(Recorder::default());
        restart(copy.path(), &recorder).await;
        let mut rows = self.rig.recorder.records();
        rows.extend(recorder.records());
        let table = stored(rows);
        for (seq, outcome) in &self.acked {
            let row = &table[&(self.rig.audit.writer().to_owned(), *seq)];
            assert_eq!(row.outcome, outcome.as_str(), "record {seq}");
            assert_eq!(row.principal, opening().principal);
        }
        let seqs: Vec<i64> = table.keys().map(|(_, seq)| *seq).collect();
        assert_eq!(seqs, (1..=seqs.len() as i64).collect::<Vec<_>>());
        assert!(seqs.len() as i64 <= self.opened);
        assert!(table.values().all(|row| row.at_close.is_some()), "nothing stays open");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_crash_loses_or_doubles_what_was_acknowledged(steps in proptest::collection::vec(step(), 1..80), segment in 300u64..3000) {
        let mut run = Run {
            rig: rig(|settings| settings.segment_bytes = segment),
            open: Vec::new(),
            opened: 0,
            acked: BTreeMap::new(),
        };
        Runtime::new().unwrap().block_on(async {
            for step in steps {
                run.step(step).await;
            }
            run.crash(255).await;
            run.crash(0).await;
        });
    }
}
