//! Streams that arrive oddly, break, stop or wait, in every caller's words.

use super::{breaks, refused};
use crate::TONGUES;
use crate::caller::Hearing;
use crate::j1::J1;
use crate::j3::J3;
use crate::path_rpc::PATH_RPC;
use crate::r1::R1;
use crate::r3::R3;
use crate::refusals::{BAD_ANSWER, NO_TASK, TIMEOUT, UNAVAILABLE, UNSUPPORTED};
use crate::rig::{CardSpec, P2, Plan};
use crate::tongue::{Answer, Op, Told, Tongue};
use crate::v10::EVENTS;
use crate::world::World;
use futures_util::future::join_all;
use sample_agents::hostile::{Gate, Reply, Scripted};
use std::time::Duration;

/// A gateway with one agent: HTTP+JSON of 1.0, whose events have no envelope.
async fn gateway(plan: Plan) -> World {
    World::of(&[R1], plan, |card| card).await
}

/// What a caller gets of the four events of an ordinary stream.
fn parts(caller: Tongue) -> Vec<String> {
    (caller.gets)(Op::SendStreamingMessage, R1.card).parts
}

/// What a caller is told when the agent sends this.
async fn streamed(world: &World, caller: Tongue, reply: Reply) -> Told {
    world.answered(caller, R1, Op::SendStreamingMessage, Answer::Raw(reply)).await
}

/// F13
#[tokio::test]
async fn where_bytes_were_cut_says_nothing_to_any_caller() {
    let (first, second) = EVENTS[0].split_at(EVENTS[0].find("\"status\"").unwrap());
    let stream = format!("data: {first}\r\ndata: {second}\r\n\r\ndata: {}\r\n\r\n", EVENTS[3]);
    let lines: Vec<usize> = stream.match_indices('\n').flat_map(|(at, _)| [at, at + 1]).collect();
    let world = gateway(Plan::default()).await;
    for caller in TONGUES {
        let all = parts(caller);
        let wanted = [all[0].clone(), all[3].clone()];
        let mut cuts: Vec<Vec<usize>> = lines.iter().map(|at| vec![*at]).collect();
        cuts.extend([lines.clone(), (1..stream.len()).collect(), Vec::new()]);
        for cuts in cuts {
            let reply = Reply::sse().chunks_cut_at(&stream, &cuts, Duration::ZERO).end();
            let told = streamed(&world, caller, reply).await;
            assert_eq!(told.parts, wanted, "{caller:?} cut at {cuts:?}");
        }
    }
}

/// F14
#[tokio::test]
async fn marks_lone_returns_and_cut_letters_are_read_well_for_every_caller() {
    let world = gateway(Plan::default()).await;
    let second = EVENTS[1].replace("at it", "café");
    let stream = format!("\u{feff}data:{}\r\rdata:{second}\r\rdata:{}\r\r", EVENTS[0], EVENTS[3]);
    let inside = stream.find('é').unwrap() + 1;
    for caller in TONGUES {
        let all = parts(caller);
        let reply = Reply::sse().chunks_cut_at(&stream, &[1, 3, inside], Duration::ZERO).end();
        let told = streamed(&world, caller, reply).await;
        let wanted = [all[0].clone(), all[1].replace("at it", "café"), all[3].clone()];
        assert_eq!(told.parts, wanted, "{caller:?}");
        // Bytes that are no text end the stream, and nothing after them is told.
        let mut bad = stream.clone().into_bytes();
        bad[inside] = b'(';
        let told = streamed(&world, caller, Reply::sse().chunk(bad).end()).await;
        breaks(caller, &told, &all[..1], &BAD_ANSWER, "invalid UTF-8");
        // Only the first mark is none of the stream.
        let marked = stream.replace(&format!("data:{second}"), &format!("\u{feff}data:{second}"));
        let told = streamed(&world, caller, Reply::sse().chunk(marked).end()).await;
        assert_eq!(told.parts, [all[0].clone(), all[3].clone()], "{caller:?}");
    }
}

/// F16
#[tokio::test]
async fn half_an_event_reaches_no_caller_and_the_break_is_told() {
    let world = gateway(Plan::default()).await;
    for caller in TONGUES {
        let half = "400\r\ndata: {\"statusUpdate\":{\"taskId\":\"t1\",\"canary\":\"";
        let gate = Gate::new();
        let reply = Reply::sse().event(EVENTS[0]).wait(&gate).bytes(half).reset();
        world.agent(R1).plan(Answer::Raw(reply), &[]);
        let mut hearing = world.open(&(caller.asks)(Op::SendStreamingMessage, R1.card)).await;
        let first = hearing.part().await.unwrap();
        gate.open();
        let mut told = hearing.told().await;
        told.parts.insert(0, first);
        breaks(caller, &told, &parts(caller)[..1], &UNAVAILABLE, "a reset");
        assert!(!told.all().contains("canary"), "{caller:?}: {told:?}");
    }
    let records = world.rig.records(TONGUES.len()).await;
    assert!(records.iter().all(|record| record.outcome == "upstream_abort"), "{records:?}");
}

/// F17 (a), (b)
#[tokio::test]
async fn an_agent_that_fails_at_once_is_an_error_to_every_caller() {
    let world = World::start().await;
    world.make_task().await;
    for agent in [J1, R1, J3, R3] {
        let broken = Answer::Json(503, br#"{"error":"internal detail of the agent"}"#.to_vec());
        for (caller, op) in streaming() {
            let told = world.answered(caller, agent, op, broken.clone()).await;
            refused(caller, op, &told, &UNAVAILABLE, agent.name);
            assert!(!told.all().contains("internal detail"), "{caller:?}: {told:?}");
        }
    }
    for dialect in TONGUES.map(|tongue| tongue.dialect) {
        let gone = Scripted::refusing().unwrap();
        let rig = Plan::echo(CardSpec::of(&gone.url(), dialect)).start().await;
        for caller in TONGUES {
            let op = Op::SendStreamingMessage;
            let told = Hearing::open(rig.address, &(caller.asks)(op, "echo")).await.told().await;
            refused(caller, op, &told, &UNAVAILABLE, "refused");
        }
    }
}

fn streaming() -> impl Iterator<Item = (Tongue, Op)> {
    let both = |caller| [(caller, Op::SendStreamingMessage), (caller, Op::SubscribeToTask)];
    TONGUES.into_iter().flat_map(both)
}

/// F17 (c)
#[tokio::test]
async fn an_error_in_place_of_a_stream_is_told_to_every_caller() {
    let world = World::start().await;
    world.make_task().await;
    let rpc = br#"{"jsonrpc":"2.0","id":"$ID","error":{"code":-32004,"message":"no streams"}}"#.to_vec();
    let old = br#"{"code":-32004,"type":"UnsupportedOperationError","message":"no streams"}"#.to_vec();
    let new = br#"{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"no streams","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org"}]}}"#;
    for (agent, answer) in [
        (J1, Answer::Json(200, rpc.clone())),
        (J3, Answer::Json(200, rpc)),
        (R1, Answer::Json(400, new.to_vec())),
        (R3, Answer::Json(400, old)),
    ] {
        for (caller, op) in streaming() {
            let told = world.answered(caller, agent, op, answer.clone()).await;
            refused(caller, op, &told, &UNSUPPORTED, agent.name);
            assert!(told.all().contains("no streams"), "{caller:?} → {agent:?}: {told:?}");
        }
    }
}

/// F17 (d), F21: the head comes before the first event, each event before the next is written, over HTTP/2 too.
#[tokio::test]
async fn the_head_of_a_stream_is_ours_for_every_caller_and_comes_at_once() {
    let world = gateway(Plan::default()).await;
    let headers = [
        ("Content-Type", "text/event-stream; charset=utf-8"),
        ("Connection", "keep-alive, X-Internal"),
        ("Keep-Alive", "timeout=5"),
        ("X-Internal", "10.0.0.7"),
        ("Transfer-Encoding", "chunked"),
    ];
    for (caller, http2) in TONGUES.into_iter().flat_map(|caller| [(caller, !caller.is_json()), (caller, true)]) {
        let (gates, all) = ([Gate::new(), Gate::new()], parts(caller));
        let reply = Reply::head("200 OK", &headers).wait(&gates[0]).event(EVENTS[0]).wait(&gates[1]).event(EVENTS[3]);
        world.agent(R1).plan(Answer::Raw(reply.end()), &[]);
        let mut said = (caller.asks)(Op::SendStreamingMessage, R1.card).with("accept-encoding", "gzip, br");
        said.http2 = http2;
        let mut hearing = world.open(&said).await;
        for absent in ["keep-alive", "x-internal", "content-encoding", "content-length"] {
            assert!(!hearing.headers.contains_key(absent), "{caller:?} {absent}: {:?}", hearing.headers);
        }
        if http2 {
            assert!(!["connection", "transfer-encoding"].iter().any(|name| hearing.headers.contains_key(*name)));
        }
        if caller.is_json() {
            assert_eq!(hearing.headers["cache-control"], "no-cache", "{caller:?}");
            assert_eq!(hearing.headers["x-accel-buffering"], "no", "{caller:?}");
        }
        for (gate, wanted) in gates.iter().zip([&all[0], &all[3]]) {
            gate.open();
            assert_eq!(hearing.part().await.as_ref(), Some(wanted), "{caller:?} over HTTP/2: {http2}");
        }
        assert_eq!(hearing.part().await, None, "{caller:?}");
    }
}

/// Every caller at the same agent at the same time.
async fn each(world: &World, reply: Reply) -> Vec<(Tongue, Told)> {
    world.agent(R1).plan(Answer::Raw(reply), &[]);
    let asks = TONGUES
        .map(|caller| async move { (caller, world.ask(&(caller.asks)(Op::SendStreamingMessage, R1.card)).await) });
    join_all(asks).await
}

/// F18
#[tokio::test]
async fn a_stream_may_outlast_the_wait_for_an_answer_and_silence_ends_it_for_every_caller() {
    let plan = Plan::default().set("limits.unary_timeout", "1s").set("limits.stream_idle_timeout", "1500ms");
    let world = gateway(plan).await;
    let mut long = Reply::sse().event(EVENTS[0]);
    for _ in 0..12 {
        long = long.pause(Duration::from_millis(100)).event(EVENTS[2]);
    }
    for (caller, told) in each(&world, long.event(EVENTS[3]).end()).await {
        let all = parts(caller);
        assert_eq!((told.parts.len(), told.parts.last()), (14, all.last()), "{caller:?}: {told:?}");
    }
    for (caller, told) in each(&world, Reply::sse().event(EVENTS[0]).hang()).await {
        breaks(caller, &told, &parts(caller)[..1], &TIMEOUT, "silence");
    }
    for (caller, told) in each(&world, Reply::nothing().hang()).await {
        refused(caller, Op::SendStreamingMessage, &told, &TIMEOUT, "no head");
    }
    let records = world.rig.records(18).await;
    let count = |outcome: &str| records.iter().filter(|record| record.outcome == outcome).count();
    assert_eq!((count("ok"), count("upstream_abort"), count("upstream_error")), (6, 6, 6), "{records:?}");
}

/// F19, T-SSE-1
#[tokio::test]
async fn a_stream_that_stops_unfinished_is_not_called_finished_to_any_caller() {
    let world = gateway(Plan::default()).await;
    for (caller, told) in each(&world, Reply::sse().event(EVENTS[0]).end()).await {
        breaks(caller, &told, &parts(caller)[..1], &UNAVAILABLE, "an early end");
        assert!(!told.all().to_ascii_uppercase().contains("COMPLETED"), "{caller:?}: {told:?}");
    }
    let records = world.rig.records(6).await;
    assert!(records.iter().all(|record| record.outcome == "stream_incomplete"), "{records:?}");
}

/// F19
#[tokio::test]
async fn last_event_id_replays_nothing_to_any_caller() {
    let world = gateway(Plan::default()).await;
    world.make_task().await;
    for caller in TONGUES {
        world.agent(R1).plan(R1.answer(Op::SubscribeToTask), &[]);
        let said = (caller.asks)(Op::SubscribeToTask, R1.card).with("last-event-id", "7");
        let told = world.ask(&said).await;
        assert_eq!(told, (caller.gets)(Op::SubscribeToTask, R1.card), "{caller:?}");
        let asked = world.agent(R1).asked();
        assert!(!asked[0].headers.iter().any(|header| header.starts_with("last-event-id")), "{asked:?}");
        assert_eq!(world.ask(&said.by(P2)).await, (caller.refused)(Op::SubscribeToTask, &NO_TASK), "{caller:?}");
    }
}

/// Path RPC agents have no subscription to fail.
#[tokio::test]
async fn an_agent_of_path_rpc_that_fails_at_once_is_an_error_to_every_caller() {
    let world = World::start().await;
    for caller in TONGUES {
        let op = Op::SendStreamingMessage;
        let told = world.answered(caller, PATH_RPC, op, Answer::Json(503, b"{}".to_vec())).await;
        refused(caller, op, &told, &UNAVAILABLE, "503");
    }
}
