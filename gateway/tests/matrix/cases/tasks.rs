//! Ids and subscriptions, in every caller's words.

use super::{about, refused};
use crate::TONGUES;
use crate::caller::Hearing;
use crate::g1::G1;
use crate::j1::J1;
use crate::j3::J3;
use crate::path_rpc::PATH_RPC;
use crate::proto;
use crate::r1::R1;
use crate::r3::R3;
use crate::refusals::{NO_TASK, UNSUPPORTED};
use crate::rig::{CardSpec, P2, Plan};
use crate::tongue::{Answer, Op, Said};
use crate::world::World;
use sample_agents::hostile::{Behaviour, RawRequest, Reply, start};

/// F05: callers by either verb, agents that know one of them.
#[tokio::test]
async fn both_verbs_subscribe_for_every_caller_by_path() {
    for (behaviour, verbs) in [
        (Behaviour::SubscribeByGetOnly, vec!["POST", "GET", "GET", "GET", "GET", "GET", "GET"]),
        (Behaviour::SubscribeByPostOnly, vec!["POST"; 6]),
    ] {
        for dialect in [R1.dialect, R3.dialect] {
            let agent = start(behaviour.clone()).await.unwrap();
            let rig = Plan::echo(CardSpec::of(&agent.url(), dialect)).start().await;
            // The agent takes the id from the path; this one is made by a send.
            let sent = rig.call(crate::rig::rpc("SendMessage", &crate::rig::says("hi"))).await;
            let task = sent.at("/result/task/id");
            for caller in [R1, R3, PATH_RPC] {
                let mut said = (caller.asks)(Op::SubscribeToTask, "echo").replaced("t1", &task);
                let mut heard = Vec::new();
                for verb in ["GET", "POST"] {
                    said.method = verb;
                    let told = Hearing::open(rig.address, &said).await.told().await;
                    assert_eq!((told.status, told.parts.len()), (200, 2), "{caller:?} {verb} {dialect:?}: {told:?}");
                    heard.push(told);
                }
                assert_eq!(heard[0], heard[1], "{caller:?} {dialect:?}");
            }
            let seen = agent.requests();
            let subscribed: Vec<&str> = seen[1..].iter().map(RawRequest::method).collect();
            assert_eq!(subscribed, verbs, "{dialect:?}");
        }
    }
}

/// How agents say that a finished task cannot be followed.
fn finished() -> Vec<(crate::tongue::Tongue, Answer)> {
    let info = r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org"}"#;
    let status = format!(
        r#"{{"error":{{"code":400,"status":"FAILED_PRECONDITION","message":"it is over","details":[{info}]}}}}"#
    );
    let rpc = br#"{"jsonrpc":"2.0","id":"$ID","error":{"code":-32004,"message":"it is over"}}"#.to_vec();
    let problem = r#"{"type":"about:blank","title":"Not Implemented","status":501,"detail":"it is over"}"#;
    let buried = Reply::sse().chunk(format!("event: error\ndata: {status}\n\n")).end();
    vec![
        (J1, Answer::Json(200, rpc.clone())),
        (J1, Answer::Events(vec![rpc.clone()])),
        (J3, Answer::Json(200, rpc.clone())),
        (J3, Answer::Events(vec![rpc])),
        (R1, Answer::Json(400, status.clone().into_bytes())),
        (R1, Answer::Raw(Reply::whole(501, "application/problem+json", problem))),
        (R1, Answer::Raw(buried)),
        (R1, Answer::Events(vec![status.into_bytes()])),
        (R3, Answer::Json(501, br#"{"message":"it is over"}"#.to_vec())),
        (
            R3,
            Answer::Json(400, br#"{"code":-32004,"type":"UnsupportedOperationError","message":"it is over"}"#.to_vec()),
        ),
    ]
}

/// F06
#[tokio::test]
async fn a_finished_task_is_a_plain_error_to_every_caller() {
    let world = World::start().await;
    world.make_task().await;
    for (agent, answer) in finished() {
        for caller in TONGUES {
            let told = world.answered(caller, agent, Op::SubscribeToTask, answer.clone()).await;
            refused(caller, Op::SubscribeToTask, &told, &UNSUPPORTED, &format!("{agent:?} {answer:?}"));
            assert!(told.all().contains("it is over"), "{caller:?} → {agent:?}: {told:?}");
        }
    }
}

/// F06, F39: whose it is and whether it exists look the same.
#[tokio::test]
async fn a_foreign_task_is_a_missing_one_to_every_caller() {
    let world = World::start().await;
    world.make_task().await;
    for agent in [J1, G1, R3] {
        for caller in TONGUES {
            for op in [Op::GetTask, Op::CancelTask, Op::SubscribeToTask] {
                let foreign = world.ask(&(caller.asks)(op, agent.card).by(P2)).await;
                let missing = world.ask(&about(caller, op, agent.card, "nope").by(P2)).await;
                assert_eq!(foreign, missing, "{caller:?} → {agent:?} {}", op.name());
                assert_eq!(foreign, (caller.refused)(op, &NO_TASK), "{caller:?} → {agent:?} {}", op.name());
            }
        }
        assert_eq!(world.agent(agent).asked().len(), 0);
    }
}

/// F08, T-ROUTE-2
#[tokio::test]
async fn no_id_of_any_caller_changes_where_a_call_goes() {
    let world = World::start().await;
    world.make_task().await;
    let long = "a".repeat(5_000);
    let by_path = [
        "..%2f..%2fadmin",
        "%2e%2e%2fadmin",
        "%252e%252e%252fadmin",
        "t1%3fx=1",
        "t1%23",
        "t1%5c..%5cadmin",
        "t1%00",
        "t1%0d%0aX-Evil:%201",
        "@evil.test",
        "..",
        "%2e",
        &long,
    ];
    let by_name = [
        "../../extendedAgentCard",
        "../admin",
        "t1?x=1",
        "t1#",
        "t1\\\\..\\\\admin",
        "@evil.test",
        "..",
        ".",
        "t1/x",
        &long,
    ];
    for agent in TONGUES {
        for op in [Op::GetTask, Op::CancelTask, Op::SubscribeToTask] {
            for caller in [R1, R3, PATH_RPC] {
                for id in by_path {
                    let told = world.ask(&by_path_only((caller.asks)(op, agent.card), id)).await;
                    let is_no = matches!(told.status, 400 | 404) || told.all().contains("-32001");
                    assert!(is_no, "{caller:?} → {agent:?} {} {id}: {told:?}", op.name());
                }
            }
            for caller in [J1, J3] {
                for id in by_name {
                    let told =
                        world.ask(&(caller.asks)(op, agent.card).replaced(r#""t1""#, &format!("\"{id}\""))).await;
                    refused(caller, op, &told, &NO_TASK, id);
                }
            }
            for id in by_name.map(|id| id.replace("\\\\", "\\")) {
                let told = world.ask(&(G1.sends)(op, agent.card, &proto::text(2, &id))).await;
                refused(G1, op, &told, &NO_TASK, &id);
            }
        }
        assert_eq!(world.agent(agent).asked().len(), 0, "{agent:?}");
    }
}

/// The id in the path alone: a body that repeats it would contradict it.
fn by_path_only(mut said: Said, id: &str) -> Said {
    said.body = None;
    said.without("content-type").replaced("/tasks/t1", &format!("/tasks/{id}"))
}
