//! Callers that shut their sending side after the request, and callers that are gone: on the wire both look the same.

use crate::rig::{CardSpec, P1, Plan, Rig, rpc, says};
use crate::wire::{Ask, DEADLINE, Live};
use a2a::Dialect;
use sample_agents::hostile::{Behaviour, Gate, Reply, Scripted, start};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const DONE: &str = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
const WORKING: &str = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
const ENDED: &str = r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

fn send() -> Ask {
    rpc("SendMessage", &says("hi"))
}

fn stream() -> Ask {
    rpc("SendStreamingMessage", &says("hi"))
}

/// An agent that answers when the gate opens.
async fn waiting(gate: &Gate) -> (Scripted, Rig) {
    let length = DONE.len();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{DONE}");
    let reply = Reply::nothing().wait(gate).bytes(answer);
    let agent = Scripted::start(reply).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    (agent, rig)
}

/// Sends everything, then no more.
async fn half_closed(rig: &Rig, bytes: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(rig.address).await.unwrap();
    socket.write_all(bytes).await.unwrap();
    socket.shutdown().await.unwrap();
    socket
}

async fn all(mut socket: TcpStream) -> String {
    let mut heard = Vec::new();
    tokio::time::timeout(DEADLINE, socket.read_to_end(&mut heard)).await.expect("closed in time").unwrap();
    String::from_utf8(heard).unwrap()
}

#[tokio::test]
async fn a_caller_that_shuts_its_sending_side_gets_its_answer() {
    let gate = Gate::new();
    let (agent, rig) = waiting(&gate).await;
    let mut socket = half_closed(&rig, &send().bytes()).await;
    agent.wait_for_requests(1).await.unwrap();
    // The question whether it is there has come, so the end of its bytes has been seen.
    let mut interim = [0; 25];
    tokio::time::timeout(DEADLINE, socket.read_exact(&mut interim)).await.expect("asked in time").unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    gate.open();
    let heard = Live::answered(socket).await;
    assert_eq!(heard.status, 200, "{}", heard.head);
    assert_eq!(rig.outcome().await, "ok");
    assert_eq!(agent.seen().requests.len(), 1);
}

#[tokio::test]
async fn a_caller_that_shuts_its_sending_side_gets_its_stream() {
    let gate = Gate::new();
    let agent = Scripted::start(Reply::sse().event(WORKING).wait(&gate).event(ENDED).end()).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let mut live = Live::answered(half_closed(&rig, &stream().bytes()).await).await;
    assert_eq!((live.status, live.event().await.unwrap().at("/result/task/id").as_str()), (200, "t1"));
    gate.open();
    assert!(live.event().await.unwrap().data.contains("COMPLETED"));
    assert_eq!(live.event().await, None);
    assert_eq!(rig.outcome().await, "ok");
}

/// product.md §8.2, whoever leaves when: the end of the caller's bytes comes with the request, and each leaves one record.
#[tokio::test]
async fn every_request_leaves_one_record_and_who_listens_gets_its_answer() {
    const ROUNDS: usize = 40;
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    for round in 0..ROUNDS {
        let heard = all(half_closed(&rig, &send().bytes()).await).await;
        assert!(heard.contains("HTTP/1.1 200 OK\r\n"), "round {round}: {heard}");
        let mut socket = TcpStream::connect(rig.address).await.unwrap();
        socket.write_all(&send().bytes()).await.unwrap();
    }
    let records = rig.records(2 * ROUNDS).await;
    assert_eq!(records.len(), 2 * ROUNDS);
    assert!(records.iter().filter(|record| record.outcome == "ok").count() >= ROUNDS);
    for _ in 0..ROUNDS {
        let mut socket = TcpStream::connect(rig.address).await.unwrap();
        socket.write_all(&send().bytes()).await.unwrap();
        socket.set_zero_linger().unwrap();
    }
    assert!(rig.drain().await);
    // A reset may overtake the request; whatever reached the agent is on record.
    let asked = agent.seen().requests.len();
    assert!((asked..=3 * ROUNDS).contains(&rig.records(asked.max(2 * ROUNDS)).await.len()), "{asked}");
}

/// Two requests at once, then no more: both are answered.
#[tokio::test]
async fn pipelined_requests_before_the_end_are_answered() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let keep = String::from_utf8(send().bytes()).unwrap().replace("Connection: close\r\n", "");
    let heard = all(half_closed(&rig, [keep.as_bytes(), &send().bytes()].concat().as_slice()).await).await;
    assert_eq!(heard.matches("HTTP/1.1 200 OK\r\n").count(), 2, "{heard}");
    let heard = all(half_closed(&rig, keep.as_bytes()).await).await;
    assert_eq!(heard.matches("HTTP/1.1 200 OK\r\n").count(), 1, "without Connection: close it ends too: {heard}");
    assert_eq!(rig.records(3).await.len(), 3);
}

/// The caller leaves: the agent's call is cancelled at once, not when the agent answers.
#[tokio::test]
async fn a_vanished_caller_is_noticed_while_the_agent_works() {
    let gate = Gate::new();
    let (agent, rig) = waiting(&gate).await;
    for (count, reset) in [(1, false), (2, true)] {
        let mut socket = TcpStream::connect(rig.address).await.unwrap();
        socket.write_all(&send().bytes()).await.unwrap();
        agent.wait_for_requests(count).await.unwrap();
        if reset {
            socket.set_zero_linger().unwrap();
        }
        drop(socket);
        agent.wait_for_hang_ups(count).await.unwrap();
    }
    let records = rig.records(2).await;
    let outcomes: Vec<&str> = records.iter().map(|record| record.outcome.as_str()).collect();
    assert_eq!(outcomes, ["caller_gone", "caller_gone"]);
}

#[tokio::test]
async fn a_caller_that_vanishes_from_a_silent_stream_is_noticed() {
    let gate = Gate::new();
    let agent = Scripted::start(Reply::sse().event(WORKING).wait(&gate).end()).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let began = std::time::Instant::now();
    let mut live = rig.live(stream()).await;
    live.event().await.unwrap();
    live.vanish();
    agent.wait_for_hang_ups(1).await.unwrap();
    assert_eq!(rig.outcome().await, "caller_gone");
    // Sooner than by the stream's own pings.
    assert!(began.elapsed() < Duration::from_secs(14), "{:?}", began.elapsed());
}

/// A caller that listens first and leaves later is noticed too, when it is asked again.
#[tokio::test]
async fn a_caller_that_leaves_after_it_has_shut_its_sending_side_is_noticed() {
    let gate = Gate::new();
    let (agent, rig) = waiting(&gate).await;
    let mut socket = half_closed(&rig, &send().bytes()).await;
    let mut interim = [0; 25];
    tokio::time::timeout(DEADLINE, socket.read_exact(&mut interim)).await.expect("asked in time").unwrap();
    agent.wait_for_requests(1).await.unwrap();
    drop(socket);
    agent.wait_for_hang_ups(1).await.unwrap();
    assert_eq!(rig.outcome().await, "caller_gone");
}

/// What is not a whole request is none, also where the caller still listens.
#[tokio::test]
async fn half_a_request_is_not_sent_on() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let bytes = send().bytes();
    let heard = all(half_closed(&rig, &bytes[..bytes.len() - 1]).await).await;
    assert!(heard.starts_with("HTTP/1.1 400"), "{heard}");
    assert_eq!(rig.records(1).await.len(), 1);
    let heard = all(half_closed(&rig, &bytes[..40]).await).await;
    assert!(!heard.contains(" 200 "), "{heard}");
    // HTTP/1.0 knows no interim response, so such a caller cannot be asked whether it is there.
    let old = format!("GET /a2a/acme/echo/tasks/t1 HTTP/1.0\r\nAuthorization: Bearer {P1}\r\n\r\n");
    let heard = all(half_closed(&rig, old.as_bytes()).await).await;
    assert!(!heard.contains("100 Continue"), "{heard}");
    assert_eq!(rig.records(2).await.len(), 2);
    assert!(agent.seen().requests.len() <= 1);
}
