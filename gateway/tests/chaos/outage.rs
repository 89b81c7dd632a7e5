//! The store pauses, an agent refuses everybody, a long stream is cut by a kill (F55 c, e, f): calls go on, and every
//! exchange still has its one record.

use crate::caller::{Ask, Binding, Caller, DEADLINE, Mode, within};
use crate::kill::scale;
use crate::ledger::Ledger;
use crate::pause::Pausing;
use crate::process::Gateway;
use crate::records;
use crate::world::{self, CardOf};
use chancery::clock::Clock;
use http_body_util::BodyExt as _;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::AuditRecord;
use store::testing::{TestStore, postgres, sqlite_file};
use tokio::task::JoinSet;
use tokio::time::Instant;

const PROGRAM: &str = env!("CARGO_BIN_EXE_chancery");
const CALLERS: usize = 12;

/// F55 (c). The pause is 3 s, and 30 s at `SCALE=10`.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_pauses_stops_no_call_and_loses_no_record() {
    let Some(test) = postgres().await else { return };
    let dir = tempfile::tempdir().unwrap();
    let agents = sample_agents::start_all(([127, 0, 0, 1], 0).into(), None).await.unwrap();
    let cards = [CardOf { name: "rest", agent: &agents.echo_url, binding: "HTTP+JSON" }];
    let key = world::furnish(&test.store, &cards, Clock::System.now()).await.unwrap();
    let pausing = Pausing::before(&test.url).await;
    let gateway = Gateway::start(PROGRAM, dir.path(), &pausing.url, &[]).unwrap();
    let ledger = Arc::new(Ledger::new());
    let caller = Caller { gateway: gateway.public, key, ledger: Arc::clone(&ledger) };

    let stop = Arc::new(AtomicBool::new(false));
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        callers.spawn(ask_until(caller.clone(), format!("c{number}"), Arc::clone(&stop)));
    }
    within(ledger.wait_for(20)).await;
    pausing.pause();
    let resume = Instant::now() + Duration::from_secs(u64::from(3 * scale()).min(30));
    // Answers that came wholly within the pause.
    within(ledger.wait_for(5 * CALLERS)).await;
    tokio::time::sleep_until(resume).await;
    let (stored, answered) = (records::all(&test.store).await.len(), ledger.entries().answered.len());
    assert!(stored < answered, "{stored} of {answered} records passed a door that is shut");
    pausing.resume();
    within(ledger.wait_for(20)).await;
    stop.store(true, Ordering::SeqCst);
    while let Some(ended) = within(callers.join_next()).await {
        ended.unwrap();
    }

    let records = recorded(&test, ledger.entries().sent.len()).await;
    let found = records::check(&records, &ledger.entries());
    assert_eq!((found.records, found.interrupted), (found.acknowledged, 0), "{found:?}");
    without_gap(&records);
    drop(gateway);
    agents.shutdown().await;
}

/// F55 (e). 2 000 calls as fast as they go, times `SCALE`.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_refuses_everybody_takes_nothing_from_others() {
    let test = sqlite_file().await;
    let dir = tempfile::tempdir().unwrap();
    let agents = sample_agents::start_all(([127, 0, 0, 1], 0).into(), None).await.unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refusing = format!("http://{closed}");
    let cards = [
        CardOf { name: "rest", agent: &refusing, binding: "HTTP+JSON" },
        CardOf { name: "rpc", agent: &agents.echo_url, binding: "JSONRPC" },
    ];
    let key = world::furnish(&test.store, &cards, Clock::System.now()).await.unwrap();
    let gateway = Gateway::start(PROGRAM, dir.path(), &test.url, &[]).unwrap();
    let ledger = Arc::new(Ledger::new());
    let caller = Caller { gateway: gateway.public, key, ledger: Arc::clone(&ledger) };

    let each = 2_000 * usize::try_from(scale()).unwrap() / CALLERS;
    let mut refused = JoinSet::new();
    for number in 0..CALLERS {
        refused.spawn(ask_times(caller.clone(), Binding::HttpJson, format!("refused{number}"), each));
    }
    let served = ask_times(caller.clone(), Binding::JsonRpc, "served".to_owned(), 50).await;
    assert_eq!(served, BTreeSet::from([200]));
    while let Some(statuses) = within(refused.join_next()).await {
        assert_eq!(statuses.unwrap(), BTreeSet::from([502]));
    }

    let sent = ledger.entries().sent;
    let records = recorded(&test, sent.len()).await;
    let ids: BTreeSet<String> = records.iter().map(|record| record.correlation_id.clone()).collect();
    assert_eq!((ids, records.len()), (sent.clone(), sent.len()));
    let outcome = |name: &str| records.iter().filter(|record| record.outcome == name).count();
    assert_eq!((outcome("ok"), outcome("upstream_error")), (50, each * CALLERS));
    without_gap(&records);
    drop(gateway);
    agents.shutdown().await;
}

/// F55 (f). The stream is open for 9 minutes at `SCALE=10`, else just begun.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_a_kill_cuts_is_marked_unfinished_at_the_next_start() {
    let test = sqlite_file().await;
    let dir = tempfile::tempdir().unwrap();
    let agents = sample_agents::start_all(([127, 0, 0, 1], 0).into(), None).await.unwrap();
    let cards = [CardOf { name: "rest", agent: &agents.echo_url, binding: "HTTP+JSON" }];
    let key = world::furnish(&test.store, &cards, Clock::System.now()).await.unwrap();
    let gateway = Gateway::start(PROGRAM, dir.path(), &test.url, &[]).unwrap();
    let caller = Caller { gateway: gateway.public, key, ledger: Arc::new(Ledger::new()) };
    let ask = Ask { binding: Binding::HttpJson, mode: Mode::Stream, text: "slow".to_owned(), pace: 0 };
    let mut line = caller.connect().await.unwrap();
    let mut heard = caller.ask(&mut line, "long".to_owned(), &ask).await.unwrap();
    assert_eq!(heard.answer.status, 200);
    within(heard.body.frame()).await.unwrap().unwrap();
    let until = Instant::now() + Duration::from_secs(60) * (scale() - 1);
    while Instant::now() < until {
        // Pings only; the end would be an error.
        within(heard.body.frame()).await.unwrap().unwrap();
    }
    // SIGKILL.
    drop(gateway);
    let next = Gateway::start(PROGRAM, dir.path(), &test.url, &[]).unwrap();
    records::shipped(dir.path()).await;
    let records = records::all(&test.store).await;
    let told: Vec<_> = records.iter().map(|record| (record.correlation_id.as_str(), record.outcome.as_str())).collect();
    assert_eq!(told, [("long", "interrupted")]);
    drop(next);
    agents.shutdown().await;
}

/// Calls until told to stop; every call is answered and served.
async fn ask_until(caller: Caller, name: String, stop: Arc<AtomicBool>) {
    let ask = Ask { binding: Binding::HttpJson, mode: Mode::Unary, text: "hello".to_owned(), pace: 5 };
    let mut line = caller.connect().await.unwrap();
    for number in 0_u32.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let heard = caller.ask(&mut line, format!("{name}-{number}"), &ask).await.unwrap();
        caller.read(heard).await.unwrap();
    }
}

/// So many calls, one after the other; gives the statuses that came.
async fn ask_times(caller: Caller, binding: Binding, name: String, times: usize) -> BTreeSet<u16> {
    let ask = Ask { binding, mode: Mode::Unary, text: "hello".to_owned(), pace: 0 };
    let mut line = caller.connect().await.unwrap();
    let mut statuses = BTreeSet::new();
    for number in 0..times {
        let heard = caller.ask(&mut line, format!("{name}-{number}"), &ask).await.unwrap();
        statuses.insert(heard.answer.status);
        caller.read(heard).await.unwrap();
    }
    statuses
}

/// Waits until the store holds so many records, all of them closed.
async fn recorded(test: &TestStore, wanted: usize) -> Vec<AuditRecord> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let records = records::all(&test.store).await;
        if records.len() >= wanted && records.iter().all(|record| record.at_close.is_some()) {
            return records;
        }
        assert!(Instant::now() < deadline, "the store holds {} records of {wanted}", records.len());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Each writer's numbers begin at 1 and have no gap, so that a loss would show.
fn without_gap(records: &[AuditRecord]) {
    let mut numbers: Vec<(&str, i64)> = records.iter().map(|record| (record.writer.as_str(), record.seq)).collect();
    numbers.sort_unstable();
    let writers: BTreeSet<&str> = numbers.iter().map(|(writer, _)| *writer).collect();
    for writer in writers {
        let of_one: Vec<i64> = numbers.iter().filter(|(of, _)| *of == writer).map(|(_, number)| *number).collect();
        let expected: Vec<i64> = (1..=i64::try_from(of_one.len()).unwrap()).collect();
        assert_eq!(of_one, expected, "{writer}");
    }
}
