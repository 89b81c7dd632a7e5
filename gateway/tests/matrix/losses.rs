//! Everything that translation changes: what it is, what becomes of it, and a call or an answer that proves it.

mod errors;
mod grpc;

use crate::g1::G1;
use crate::j1::J1;
use crate::j3::J3;
use crate::path_rpc::PATH_RPC;
use crate::proto::{self, int, msg, text};
use crate::r1::R1;
use crate::r3::R3;
use crate::tongue::{Answer, Op, Tongue, bare, sorted};
use crate::world::World;

/// One loss.
pub(crate) struct Loss {
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) what: &'static str,
    pub(crate) becomes: &'static str,
    proofs: Vec<Proof>,
}

/// A call or an answer that shows it.
enum Proof {
    /// What a caller asks for an operation with, and what reaches the agent.
    Sent(Op, Tongue, Tongue, Vec<u8>, Vec<u8>),
    /// An agent's error document, and the one that reaches the caller.
    Failed(Tongue, Tongue, &'static str, &'static str),
    /// What an agent answers to an operation, and what reaches the caller.
    Answered(Op, Tongue, Tongue, Vec<u8>, Vec<u8>),
    /// The matrix has it in every call.
    Matrix,
}

#[tokio::test]
async fn every_loss_is_what_the_page_says() {
    let world = World::start().await;
    world.make_task().await;
    let mut wrong = Vec::new();
    for loss in losses() {
        for proof in &loss.proofs {
            if let Err(problem) = prove(&world, proof).await {
                wrong.push(format!("{} → {}, {}: {problem}", loss.from, loss.to, loss.what));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

async fn prove(world: &World, proof: &Proof) -> Result<(), String> {
    match proof {
        Proof::Matrix => Ok(()),
        Proof::Failed(agent, caller, said, wanted) => {
            let answer = Answer::Json(200, said.as_bytes().to_vec());
            let told = world.answered(*caller, *agent, Op::SendMessage, answer).await;
            same(*caller, &told.parts.concat(), wanted.as_bytes())
        }
        Proof::Sent(op, caller, agent, said, wanted) => {
            let stub = world.agent(*agent);
            stub.plan(agent.answer(*op), &[]);
            let told = world.ask(&(caller.sends)(*op, agent.card, said)).await;
            let asked = stub.asked().pop().ok_or_else(|| format!("not asked: {told:?}"))?;
            same(*agent, &bare(&asked.body), wanted)
        }
        Proof::Answered(op, agent, caller, said, wanted) => {
            let told = world.answered(*caller, *agent, *op, agent.answer_of(*op, &[said])).await;
            let part = told.parts.first().cloned().unwrap_or_default();
            same(*caller, &bare(&part), wanted).map_err(|problem| format!("{problem}\n    all    {told:?}"))
        }
    }
}

fn same(tongue: Tongue, is: &str, should: &[u8]) -> Result<(), String> {
    let should = match tongue == G1 {
        true => proto::shown(should),
        false if should.is_empty() => String::new(),
        false => sorted(&String::from_utf8_lossy(should)),
    };
    if is == should { Ok(()) } else { Err(format!("\n    is     {is}\n    should {should}")) }
}

fn sent(from: Tongue, to: Tongue, said: impl Into<Vec<u8>>, wanted: impl Into<Vec<u8>>) -> Proof {
    asked(Op::SendMessage, from, to, said, wanted)
}

fn asked(op: Op, from: Tongue, to: Tongue, said: impl Into<Vec<u8>>, wanted: impl Into<Vec<u8>>) -> Proof {
    Proof::Sent(op, from, to, said.into(), wanted.into())
}

fn answered(from: Tongue, to: Tongue, said: impl Into<Vec<u8>>, wanted: impl Into<Vec<u8>>) -> Proof {
    Proof::Answered(Op::SendMessage, from, to, said.into(), wanted.into())
}

fn got(from: Tongue, to: Tongue, said: impl Into<Vec<u8>>, wanted: impl Into<Vec<u8>>) -> Proof {
    Proof::Answered(Op::GetTask, from, to, said.into(), wanted.into())
}

fn told(from: Tongue, to: Tongue, said: impl Into<Vec<u8>>, wanted: impl Into<Vec<u8>>) -> Proof {
    Proof::Answered(Op::SendStreamingMessage, from, to, said.into(), wanted.into())
}

/// A send of 1.0 with these parts and whatever else.
fn new(parts: &str, more: &str) -> String {
    format!(r#"{{"message":{{"messageId":"m1","role":"ROLE_USER","parts":[{parts}]}}{more}}}"#)
}

/// A send of 0.3 in its JSON schema.
fn old(parts: &str, more: &str) -> String {
    format!(r#"{{"message":{{"kind":"message","messageId":"m1","role":"user","parts":[{parts}]}}{more}}}"#)
}

/// A send of 0.3 in the JSON of its proto.
fn old_proto(parts: &str, more: &str) -> String {
    format!(r#"{{"message":{{"messageId":"m1","role":"ROLE_USER","content":[{parts}]}}{more}}}"#)
}

/// A send of gRPC.
fn grpc_send(parts: &[Vec<u8>], more: &[Vec<u8>]) -> Vec<u8> {
    let head = [text(1, "m1"), int(4, 1)].concat();
    let parts: Vec<Vec<u8>> = parts.iter().map(|part| text(5, part)).collect();
    [msg(2, &[head, parts.concat()]), more.concat()].concat()
}

const BLOCKING: &str = r#","configuration":{"blocking":true}"#;
const TASK: &str = r#"{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}"#;
const OLD_TASK: &str = r#"{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed"}}"#;

/// Every loss, in the order of the page.
pub(crate) fn losses() -> Vec<Loss> {
    let mut all = Vec::new();
    let mut loss = |from, to, what, becomes, proofs: Vec<Proof>| all.push(Loss { from, to, what, becomes, proofs });
    between_generations(&mut loss);
    parts(&mut loss);
    old_habits(&mut loss);
    errors::losses(&mut loss);
    over_http(&mut loss);
    grpc::losses(&mut loss);
    grpc::defaults(&mut loss);
    all
}

type Add<'a> = &'a mut dyn FnMut(&'static str, &'static str, &'static str, &'static str, Vec<Proof>);

fn between_generations(loss: Add<'_>) {
    loss(
        "1.0",
        "0.3",
        "members that no specification knows",
        "dropped, after the guard has read them",
        vec![
            sent(
                J1,
                J3,
                new(r#"{"text":"a","x":1}"#, r#","configuration":{"returnImmediately":false,"x":1},"x":1"#),
                old(r#"{"kind":"text","text":"a"}"#, BLOCKING),
            ),
            got(R1, J3, TASK.replace(r#""id""#, r#""x":[1],"id""#), OLD_TASK),
            got(J1, R3, TASK.replace(r#""state""#, r#""x":[1],"state""#), TASK),
        ],
    );
    loss(
        "0.3",
        "1.0",
        "members that no specification knows, `kind`, `final`",
        "dropped, after the guard has read them",
        vec![
            sent(J3, R1, old(r#"{"kind":"text","text":"a","x":1}"#, r#","x":1"#), new(r#"{"text":"a"}"#, "")),
            sent(R3, J1, old_proto(r#"{"text":"a","x":1}"#, r#","x":1"#), new(r#"{"text":"a"}"#, "")),
            got(J3, J1, OLD_TASK.replace(r#""id""#, r#""x":[1],"id""#), TASK),
        ],
    );
    loss(
        "0.3",
        "1.0",
        "`stateTransitionHistory` of a card",
        "dropped from the one card that all callers read",
        vec![Proof::Matrix],
    );
    loss(
        "1.0",
        "0.3",
        "`returnImmediately`, also where it is not there",
        "`blocking`, always written",
        vec![
            sent(J1, J3, new(r#"{"text":"a"}"#, ""), old(r#"{"kind":"text","text":"a"}"#, BLOCKING)),
            sent(R1, R3, new(r#"{"text":"a"}"#, ""), old_proto(r#"{"text":"a"}"#, BLOCKING)),
            sent(G1, PATH_RPC, grpc_send(&[text(1, "a")], &[]), old(r#"{"kind":"text","text":"a"}"#, BLOCKING)),
        ],
    );
    loss(
        "0.3",
        "1.0",
        "`historyLength: 0`",
        "not set: 0.3 cannot tell \"none\" from \"not set\"",
        vec![sent(
            J3,
            J1,
            old(r#"{"kind":"text","text":"a"}"#, r#","configuration":{"historyLength":0,"blocking":true}"#),
            new(r#"{"text":"a"}"#, r#","configuration":{"returnImmediately":false}"#),
        )],
    );
    loss(
        "1.0",
        "0.3",
        "a task or event without `contextId`",
        "the task's id stands in",
        vec![
            got(J1, J3, TASK.replace(r#""contextId":"c1","#, ""), OLD_TASK.replace("c1", "t1")),
            got(R1, R3, TASK.replace(r#""contextId":"c1","#, ""), TASK.replace("c1", "t1")),
        ],
    );
    loss(
        "0.3",
        "1.0",
        "empty `artifacts` and `history`",
        "dropped",
        vec![got(J3, R1, OLD_TASK.replace(r#""id""#, r#""artifacts":[],"history":[],"id""#), TASK)],
    );
    loss("1.0", "0.3", "`ListTasks`", "-32004: 0.3 cannot list", vec![Proof::Matrix]);
}

fn parts(loss: Add<'_>) {
    loss(
        "1.0",
        "0.3",
        "`mediaType` and `filename` of a text or data part",
        "`a2a-gw/mediaType` and `a2a-gw/filename` in the part's metadata, restored on the way back; `text/plain` and `application/json` are dropped",
        vec![
            sent(
                J1,
                J3,
                new(
                    r#"{"text":"a","mediaType":"text/markdown","filename":"a.md"},{"text":"b","mediaType":"text/plain"}"#,
                    "",
                ),
                old(
                    r#"{"kind":"text","text":"a","metadata":{"a2a-gw/mediaType":"text/markdown","a2a-gw/filename":"a.md"}},{"kind":"text","text":"b"}"#,
                    BLOCKING,
                ),
            ),
            sent(
                J3,
                R1,
                old(r#"{"kind":"text","text":"a","metadata":{"a2a-gw/mediaType":"text/markdown"}}"#, ""),
                new(r#"{"text":"a","mediaType":"text/markdown"}"#, ""),
            ),
        ],
    );
    let wrapped = r#"{"kind":"data","data":{"value":[1]},"metadata":{"data_part_compat":true}}"#;
    loss(
        "1.0",
        "0.3",
        "data that is no object",
        "`{\"value\": …}` with `data_part_compat: true`, unwrapped on the way back",
        vec![
            sent(R1, J3, new(r#"{"data":[1]}"#, ""), old(wrapped, BLOCKING)),
            sent(J3, R1, old(wrapped, ""), new(r#"{"data":[1]}"#, "")),
            sent(
                J1,
                R3,
                new(r#"{"data":null}"#, ""),
                old_proto(r#"{"data":{"data":{"value":null}},"metadata":{"data_part_compat":true}}"#, BLOCKING),
            ),
        ],
    );
}

fn old_habits(loss: Add<'_>) {
    let at = |time: &str| OLD_TASK.replace(r#""completed""#, &format!(r#""completed","timestamp":"{time}""#));
    let new_at = |time: &str| TASK.replace(r#"COMPLETED""#, &format!(r#"COMPLETED","timestamp":"{time}""#));
    loss(
        "0.3",
        "1.0",
        "a time without a zone; text that is no time",
        "`Z` is added; dropped",
        vec![
            got(J3, J1, at("2026-01-02T03:04:05"), new_at("2026-01-02T03:04:05Z")),
            got(J3, R1, at("yesterday"), TASK),
            got(R3, G1, new_at("2026-01-02T03:04:05"), {
                let moment = msg(3, &[int(1, 1_767_323_045)]);
                [text(1, "t1"), text(2, "c1"), msg(3, &[int(1, 3), moment])].concat()
            }),
        ],
    );
    let nameless = OLD_TASK
        .replace(r#""completed""#, r#""completed","message":{"role":"agent","parts":[{"kind":"text","text":"a"}]}"#);
    loss(
        "`path_rpc`",
        "all",
        "messages without an id",
        "a stable one is made of the task's id",
        vec![answered(
            PATH_RPC,
            J1,
            nameless,
            TASK.replace(
                r#"COMPLETED""#,
                r#"COMPLETED","message":{"messageId":"t1-status","role":"ROLE_AGENT","parts":[{"text":"a"}]}"#,
            )
            .replacen('{', r#"{"task":{"#, 1)
                + "}",
        )],
    );
    let update = r#"{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"working","message":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"a"}]}},"final":false}"#;
    let opening = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
    loss(
        "0.3",
        "1.0",
        "a stream that begins with an update",
        "a task in the update's state comes first",
        vec![
            told(J3, J1, update, opening),
            told(J3, R1, update, opening),
            told(J3, G1, update, msg(1, &[text(1, "t1"), text(2, "c1"), msg(3, &[int(1, 2)])])),
        ],
    );
}

fn over_http(loss: Add<'_>) {
    loss(
        "any",
        "`R3` callers",
        "members that 0.3's proto does not have",
        "dropped: the Python SDK refuses them",
        vec![
            got(J3, R3, OLD_TASK.replace(r#""id""#, r#""x":[1],"id""#), TASK),
            got(R3, R3, TASK.replace(r#""id""#, r#""x":[1],"id""#), TASK),
        ],
    );
    loss(
        "any",
        "`R3`",
        "`referenceTaskIds`",
        "`a2a-gw/referenceTaskIds` in the message's metadata, restored on the way back",
        vec![Proof::Matrix],
    );
    let why = r#"{"id":"t1","metadata":{"why":"x"}}"#;
    loss(
        "any",
        "`R3` agents",
        "`metadata` of a cancel",
        "sent along in the body, though the proto has none",
        vec![
            asked(Op::CancelTask, J1, R3, why, r#"{"metadata":{"why":"x"}}"#),
            asked(Op::CancelTask, J3, R3, why, r#"{"metadata":{"why":"x"}}"#),
        ],
    );
    loss(
        "0.3",
        "1.0, and `R3` agents",
        "`metadata` of a get or a subscription",
        "dropped: there is no member for it",
        vec![
            asked(Op::GetTask, J3, J1, why, r#"{"id":"t1"}"#),
            asked(Op::GetTask, J3, R3, why, ""),
            asked(Op::SubscribeToTask, J3, J1, why, r#"{"id":"t1"}"#),
        ],
    );
    loss(
        "`R3`",
        "any",
        "a `configuration` without `blocking`",
        "does not block: protobuf's JSON leaves `false` out",
        vec![
            sent(
                R3,
                J1,
                old_proto(r#"{"text":"a"}"#, r#","configuration":{"acceptedOutputModes":["text/plain"]}"#),
                new(
                    r#"{"text":"a"}"#,
                    r#","configuration":{"acceptedOutputModes":["text/plain"],"returnImmediately":true}"#,
                ),
            ),
            sent(R3, R1, old_proto(r#"{"text":"a"}"#, ""), new(r#"{"text":"a"}"#, "")),
        ],
    );
}
