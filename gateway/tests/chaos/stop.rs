//! SIGTERM with open streams and running calls (F55a): calls finish, streams are told, everything is recorded, exit 0.

use crate::caller::{Ask, Binding, Caller, DEADLINE, Gone, Heard, Line, Mode, events, within};
use crate::ledger::Ledger;
use crate::process::Gateway;
use crate::records;
use crate::world::{self, CardOf};
use bytes::Bytes;
use chancery::clock::Clock;
use http_body_util::BodyExt as _;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use store::testing::{TestStore, postgres, sqlite_file};
use tokio::task::JoinSet;
use tokio::time::Instant;

const STREAMS: usize = 50;
const CALLS: usize = 10;

/// F55
#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_calls_finish_and_tells_streams_on_sqlite() {
    stop(&sqlite_file().await).await;
}

/// F55
#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_calls_finish_and_tells_streams_on_postgres() {
    if let Some(store) = postgres().await {
        stop(&store).await;
    }
}

async fn stop(test: &TestStore) {
    let dir = tempfile::tempdir().unwrap();
    let agents = sample_agents::start_all(([127, 0, 0, 1], 0).into(), None).await.unwrap();
    let cards = [
        CardOf { name: "rest", agent: &agents.echo_url, binding: "HTTP+JSON" },
        CardOf { name: "rpc", agent: &agents.echo_url, binding: "JSONRPC" },
    ];
    let key = world::furnish(&test.store, &cards, Clock::System.now()).await.unwrap();
    let program = env!("CARGO_BIN_EXE_chancery");
    let mut gateway = Gateway::start(program, dir.path(), &test.url, &[]).unwrap();
    let ledger = Arc::new(Ledger::new());
    let caller = Caller { gateway: gateway.public, key, ledger: Arc::clone(&ledger) };

    let streams = open_streams(&caller).await;
    let mut calls = begin_calls(&caller);
    working(&agents.echo_url, STREAMS + CALLS).await;
    gateway.terminate().unwrap();

    let mut told = JoinSet::new();
    for (line, heard, binding) in streams {
        let caller = caller.clone();
        told.spawn(async move {
            let body = caller.read(heard).await.unwrap();
            drop(line);
            (binding, body)
        });
    }
    while let Some(told) = within(told.join_next()).await {
        let (binding, body) = told.unwrap();
        ends_with_error(binding, &body);
        // Not let in; or let in an instant before, and told so.
        let late = late(&caller).await;
        assert!(matches!(late, Err(Gone) | Ok(503)), "a new connection was served after SIGTERM: {late:?}");
    }
    while let Some(call) = within(calls.join_next()).await {
        let (status, body) = call.unwrap().unwrap();
        assert_eq!(status, 200, "a running call was cut off: {body:?}");
        assert!(String::from_utf8_lossy(&body).contains("TASK_STATE_COMPLETED"), "{body:?}");
    }
    let status = gateway.ended().unwrap();
    assert_eq!(status.code(), Some(0), "{}", gateway.log());

    // What the store had not taken when the process ended is shipped by the next.
    let next = Gateway::start(program, dir.path(), &test.url, &[]).unwrap();
    records::shipped(dir.path()).await;
    let records = records::all(&test.store).await;
    let outcome = |name: &str| records.iter().filter(|record| record.outcome == name).count();
    assert_eq!((outcome("ok"), outcome("draining")), (CALLS, STREAMS), "{records:?}");
    let sent = ledger.entries().sent;
    let recorded: std::collections::BTreeSet<String> =
        records.iter().map(|record| record.correlation_id.clone()).collect();
    assert_eq!((records.len(), recorded.len()), (STREAMS + CALLS, STREAMS + CALLS));
    assert!(recorded.is_subset(&sent), "{recorded:?}");
    assert!(records.iter().all(|record| record.at_close.is_some()), "{records:?}");
    drop(next);
    agents.shutdown().await;
}

/// Streams whose task stays WORKING, each after its first event.
async fn open_streams(caller: &Caller) -> Vec<(Line, Heard, Binding)> {
    let mut streams = Vec::new();
    for number in 0..STREAMS {
        let binding = if number % 2 == 0 { Binding::HttpJson } else { Binding::JsonRpc };
        let ask = Ask { binding, mode: Mode::Stream, text: "slow".to_owned(), pace: 0 };
        let mut line = caller.connect().await.unwrap();
        let mut heard = caller.ask(&mut line, format!("stream-{number}"), &ask).await.unwrap();
        assert_eq!(heard.answer.status, 200);
        let first = within(heard.body.frame()).await.unwrap().unwrap().into_data().unwrap();
        assert!(first.starts_with(b"data:"), "{first:?}");
        streams.push((line, heard, binding));
    }
    streams
}

type Called = Result<(u16, Bytes), Gone>;

/// Calls that take a while, so that they are running when the signal comes.
fn begin_calls(caller: &Caller) -> JoinSet<Called> {
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let caller = caller.clone();
        let binding = if number % 2 == 0 { Binding::HttpJson } else { Binding::JsonRpc };
        let ask = Ask { binding, mode: Mode::Unary, text: "stream 10 abcdefghij".to_owned(), pace: 200 };
        calls.spawn(async move {
            let mut line = caller.connect().await?;
            let heard = caller.ask(&mut line, format!("call-{number}"), &ask).await?;
            let status = heard.answer.status;
            Ok((status, caller.read(heard).await?))
        });
    }
    calls
}

/// Waits until the agent works on so many tasks.
async fn working(agent: &str, wanted: usize) {
    let deadline = Instant::now() + DEADLINE;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    loop {
        let list = client.get(format!("{agent}/tasks?pageSize=100")).header("A2A-Version", "1.0").send().await.unwrap();
        let list: Value = list.json().await.unwrap();
        let tasks = list["tasks"].as_array().cloned().unwrap_or_default();
        let working = tasks.iter().filter(|task| task["status"]["state"] == "TASK_STATE_WORKING").count();
        if working == wanted {
            return;
        }
        assert!(Instant::now() < deadline, "the agent works on {working} tasks, not {wanted}: {list}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A call on a new connection; the gateway must not answer it.
async fn late(caller: &Caller) -> Result<u16, Gone> {
    let ask = Ask { binding: Binding::HttpJson, mode: Mode::Unary, text: "late".to_owned(), pace: 0 };
    let unnoted = Caller { ledger: Arc::new(Ledger::new()), ..caller.clone() };
    let mut line = unnoted.connect().await?;
    Ok(unnoted.ask(&mut line, "late".to_owned(), &ask).await?.answer.status)
}

/// The last event is an error in the caller's dialect (product.md D1).
fn ends_with_error(binding: Binding, body: &[u8]) {
    let events = events(body);
    let (name, last) = events.last().unwrap_or_else(|| panic!("a stream without events"));
    assert_eq!(name.as_deref(), Some("error"), "{last}");
    let error = &last["error"];
    assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{last}");
    match binding {
        Binding::HttpJson => assert_eq!(error["code"], 503, "{last}"),
        Binding::JsonRpc => {
            assert_eq!(last["jsonrpc"], "2.0", "{last}");
            assert!(last["id"].as_str().is_some_and(|id| id.starts_with("stream-")), "{last}");
            assert!(error["code"].as_i64().is_some_and(|code| code < 0), "{last}");
        }
    }
}
