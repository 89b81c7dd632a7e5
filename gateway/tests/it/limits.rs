//! Sizes, rates and counts: what is too much is refused readably and nothing is sent.

use crate::rig::{CardSpec, GrantSpec, P1, Plan, rest, rpc, says};
use crate::wire::{Ask, Live};
use a2a::Dialect;
use sample_agents::hostile::{Behaviour, Gate, Reply, Scripted, start};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const ECHO: &str = "/a2a/acme/echo";
const LIMIT: usize = 1 << 20;

/// A send whose body has exactly `size` bytes.
fn sized(size: usize) -> String {
    let empty = says("").len();
    says(&"x".repeat(size - empty))
}

/// F59
#[tokio::test]
async fn a_body_of_exactly_the_limit_passes_whole_and_one_more_byte_does_not() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).set("limits.request_bytes", "1MiB").start().await;
    assert_eq!(rig.call(rest(&sized(LIMIT))).await.status, 200);
    assert_eq!(agent.requests()[0].body.len(), LIMIT);
    let heard = rig.call(rest(&sized(LIMIT + 1))).await;
    assert_eq!((heard.status, heard.header("connection").as_deref()), (413, Some("close")));
    let by_rpc = rig.call(Ask::post(ECHO).key(P1).v10().json(&sized(LIMIT + 1))).await;
    assert_eq!((by_rpc.status, by_rpc.code(), by_rpc.at("/id").as_str()), (413, -32600, ""));
    assert_eq!(agent.requests().len(), 1);
    assert_eq!(rig.app.calls.limits.bytes_in_flight(), 0);
}

/// F59
#[tokio::test]
async fn a_chunked_body_beyond_the_limit_gets_an_answer_it_can_read() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).set("limits.request_bytes", "1MiB").start().await;
    let head = format!(
        "POST {ECHO} HTTP/1.1\r\nHost: gw.test\r\nAuthorization: Bearer {P1}\r\nA2A-Version: 1.0\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let mut bytes = head.into_bytes();
    let body = sized(4 * LIMIT);
    for piece in body.as_bytes().chunks(64 * 1024) {
        bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    let mut live = Live::open(rig.address, &bytes).await;
    assert_eq!(live.status, 413);
    assert!(String::from_utf8_lossy(&live.rest().await).contains("-32600"));
    assert_eq!(agent.seen().connections, 0);
}

/// F59
#[tokio::test]
async fn a_doomed_body_is_not_invited() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let mut socket = TcpStream::connect(rig.address).await.unwrap();
    let head = format!(
        "POST {ECHO} HTTP/1.1\r\nHost: gw.test\r\nAuthorization: Bearer {P1}\r\nA2A-Version: 1.0\r\n\
         Content-Type: application/json\r\nContent-Length: 11534336\r\nExpect: 100-continue\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut first = vec![0; 12];
    tokio::time::timeout(crate::wire::DEADLINE, socket.read_exact(&mut first)).await.unwrap().unwrap();
    assert_eq!(String::from_utf8_lossy(&first), "HTTP/1.1 413");
    assert_eq!(agent.seen().connections, 0);
}

/// F59
#[tokio::test]
async fn a_body_that_breaks_off_is_never_sent_on() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let mut socket = TcpStream::connect(rig.address).await.unwrap();
    let head = format!(
        "POST {ECHO} HTTP/1.1\r\nHost: gw.test\r\nAuthorization: Bearer {P1}\r\nA2A-Version: 1.0\r\n\
         Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{{\"jso"
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.shutdown().await.unwrap();
    drop(socket);
    let records = rig.records(1).await;
    assert!(["refused", "caller_gone"].contains(&records[0].outcome.as_str()), "{}", records[0].outcome);
    assert_eq!(agent.seen().connections, 0);
    assert_eq!(rig.app.calls.limits.bytes_in_flight(), 0);
}

#[tokio::test]
async fn a_body_that_trickles_is_refused() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let plan = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).set("limits.body_floor_window", "200ms");
    let rig = plan.start().await;
    let head = format!(
        "POST {ECHO} HTTP/1.1\r\nHost: gw.test\r\nAuthorization: Bearer {P1}\r\nA2A-Version: 1.0\r\n\
         Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n{{"
    );
    let live = Live::open(rig.address, head.as_bytes()).await;
    assert_eq!(live.status, 400);
    assert_eq!(rig.outcome().await, "refused");
    assert_eq!(agent.seen().connections, 0);
}

/// F59
#[tokio::test]
async fn an_answer_beyond_the_limit_is_not_relayed() {
    for dialect in Dialect::JSON {
        let agent = start(Behaviour::Huge { bytes: 3 << 20 }).await.unwrap();
        let rig = Plan::echo(CardSpec::of(&agent.url(), dialect)).set("limits.response_bytes", "1MiB").start().await;
        let heard = rig.call(rpc("SendMessage", &says("hi"))).await;
        assert_eq!(heard.code(), -32006, "{dialect:?}");
        assert!(heard.body.len() < 1_000);
        assert_eq!(rig.outcome().await, "upstream_error");
        assert_eq!(rig.app.calls.limits.bytes_in_flight(), 0);
    }
}

/// F59
#[tokio::test]
async fn bytes_in_flight_are_bounded_for_the_tenant() {
    let agent = start(Behaviour::Huge { bytes: 3 << 20 }).await.unwrap();
    let plan = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1))
        .set("limits.inflight_bytes", "2MiB")
        .set("limits.inflight_bytes_per_tenant", "2MiB");
    let rig = plan.start().await;
    let heard = rig.call(rpc("SendMessage", &says("hi"))).await;
    assert_eq!((heard.status, heard.code()), (503, -32047));
    assert!(heard.header("retry-after").is_some());
    assert_eq!(rig.app.calls.limits.bytes_in_flight(), 0);
}

#[tokio::test]
async fn a_rate_is_kept_per_grant_and_says_when_to_come_back() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let grant = GrantSpec { per_minute: Some(3), ..GrantSpec::default() };
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).grant(grant).start().await;
    for _ in 0..3 {
        assert_eq!(rig.call(rpc("SendMessage", &says("hi"))).await.status, 200);
    }
    for (ask, code) in [(rpc("SendMessage", &says("hi")), -32043), (rest(&says("hi")), 429)] {
        let heard = rig.call(ask).await;
        assert_eq!((heard.status, heard.code()), (429, code), "{}", heard.text());
        let seconds: u64 = heard.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=20).contains(&seconds), "{seconds}");
    }
    assert_eq!(agent.requests().len(), 3);
    assert_eq!(rig.records(5).await.iter().filter(|record| record.outcome == "refused").count(), 2);
}

#[tokio::test]
async fn calls_and_streams_at_once_are_counted_and_given_back() {
    let gate = Gate::new();
    let first = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
    let agent = Scripted::start(Reply::sse().event(first).wait(&gate).end()).await.unwrap();
    let grant = GrantSpec { concurrent: Some(1), ..GrantSpec::default() };
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).grant(grant).start().await;
    let mut live = rig.live(rpc("SendStreamingMessage", &says("hi"))).await;
    assert!(live.event().await.is_some());
    assert_eq!(rig.call(rpc("SendStreamingMessage", &says("hi"))).await.status, 429);
    assert_eq!(rig.app.calls.limits.open_streams(), 1);
    gate.open();
    assert_eq!(live.event().await, None);
    rig.records(2).await;
    assert_eq!(rig.call(rpc("SendStreamingMessage", &says("hi"))).await.status, 200);
}

/// F59
#[tokio::test]
async fn too_many_parts_are_invalid() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let parts = |count: usize| {
        let parts = vec![r#"{"text":"x"}"#; count].join(",");
        format!(r#"{{"message":{{"messageId":"m1","role":"ROLE_USER","parts":[{parts}]}}}}"#)
    };
    assert_eq!(rig.call(rest(&parts(256))).await.status, 200);
    assert_eq!(rig.call(rest(&parts(257))).await.status, 400);
    let file = format!(
        r#"{{"message":{{"messageId":"m1","role":"ROLE_USER","parts":[{{"raw":"{}","mediaType":"image/png"}}]}}}}"#,
        "iVBO".repeat(786_432)
    );
    assert_eq!(rig.call(rest(&file)).await.status, 200);
    assert_eq!(agent.requests().len(), 2);
}
