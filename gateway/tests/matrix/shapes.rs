//! What the matrix's own calls do not have: a message for an answer, every state of a task.

use crate::TONGUES;
use crate::g1::G1;
use crate::path_rpc::PATH_RPC;
use crate::proto::{self, int, msg, text};
use crate::tongue::{Op, Tongue, bare, sorted};
use crate::world::World;
use a2a::Dialect;

/// A message as the result of a send, and as the one event of a stream.
fn message(tongue: Tongue) -> Vec<u8> {
    match tongue.dialect {
        Dialect::J1 | Dialect::R1 => {
            br#"{"message":{"messageId":"m9","contextId":"c1","role":"ROLE_AGENT","parts":[{"text":"hello"}],"metadata":{"a":1}}}"#.to_vec()
        }
        Dialect::J3 | Dialect::PathRpc => {
            br#"{"kind":"message","messageId":"m9","contextId":"c1","role":"agent","parts":[{"kind":"text","text":"hello"}],"metadata":{"a":1}}"#.to_vec()
        }
        Dialect::R3 => {
            br#"{"message":{"messageId":"m9","contextId":"c1","role":"ROLE_AGENT","content":[{"text":"hello"}],"metadata":{"a":1}}}"#.to_vec()
        }
        Dialect::G1 => msg(2, &[
            text(1, "m9"),
            text(2, "c1"),
            int(4, 2),
            msg(5, &[text(1, "hello")]),
            proto::structure(6, &[("a", proto::V::Num(1.0))]),
        ]),
    }
}

fn shown(tongue: Tongue, document: &[u8]) -> String {
    if tongue == G1 { proto::shown(document) } else { sorted(&String::from_utf8_lossy(document)) }
}

#[tokio::test]
async fn a_lone_message_is_told_as_one_between_all_dialects() {
    let world = World::start().await;
    world.make_task().await;
    for agent in TONGUES {
        for caller in TONGUES {
            for op in [Op::SendMessage, Op::SendStreamingMessage] {
                let told = world.answered(caller, agent, op, agent.answer_of(op, &[message(agent)])).await;
                let parts: Vec<String> = told.parts.iter().map(|part| bare(part)).collect();
                assert_eq!(parts, [shown(caller, &message(caller))], "{agent:?} → {caller:?} {}: {told:?}", op.name());
            }
        }
    }
}

/// Every state: 1.0, 0.3's JSON schema, 0.3's proto, the number.
const STATES: [(&str, &str, &str, u64); 8] = [
    ("TASK_STATE_SUBMITTED", "submitted", "TASK_STATE_SUBMITTED", 1),
    ("TASK_STATE_WORKING", "working", "TASK_STATE_WORKING", 2),
    ("TASK_STATE_COMPLETED", "completed", "TASK_STATE_COMPLETED", 3),
    ("TASK_STATE_FAILED", "failed", "TASK_STATE_FAILED", 4),
    ("TASK_STATE_CANCELED", "canceled", "TASK_STATE_CANCELLED", 5),
    ("TASK_STATE_INPUT_REQUIRED", "input-required", "TASK_STATE_INPUT_REQUIRED", 6),
    ("TASK_STATE_REJECTED", "rejected", "TASK_STATE_REJECTED", 7),
    ("TASK_STATE_AUTH_REQUIRED", "auth-required", "TASK_STATE_AUTH_REQUIRED", 8),
];

fn task(tongue: Tongue, (new, old, proto_name, number): (&str, &str, &str, u64)) -> Vec<u8> {
    let json = |kind: &str, state: &str| {
        format!(r#"{{{kind}"id":"t1","contextId":"c1","status":{{"state":"{state}"}}}}"#).into_bytes()
    };
    match tongue.dialect {
        Dialect::J1 | Dialect::R1 => json("", new),
        Dialect::J3 | Dialect::PathRpc => json(r#""kind":"task","#, old),
        Dialect::R3 => json("", proto_name),
        Dialect::G1 => [text(1, "t1"), text(2, "c1"), msg(3, &[int(1, number)])].concat(),
    }
}

#[tokio::test]
async fn every_state_is_told_by_its_name_between_all_dialects() {
    let world = World::start().await;
    world.make_task().await;
    for agent in TONGUES.into_iter().filter(|agent| *agent != PATH_RPC) {
        for (caller, state) in TONGUES.into_iter().flat_map(|caller| STATES.map(|state| (caller, state))) {
            let answer = agent.answer_of(Op::GetTask, &[task(agent, state)]);
            let told = world.answered(caller, agent, Op::GetTask, answer).await;
            assert_eq!(bare(&told.parts[0]), shown(caller, &task(caller, state)), "{agent:?} → {caller:?}: {told:?}");
        }
    }
}

/// What agents and callers of this dialect say of a task that waits: the matrix's own, in another state.
fn waiting(tongue: Tongue, document: &[u8]) -> Vec<u8> {
    if tongue == G1 {
        // In a status with a message: state 6 (input) or 2 (working) becomes 8.
        let states = [&[0x08, 0x06, 0x12][..], &[0x08, 0x02, 0x12]];
        let at = document.windows(3).position(|bytes| states.contains(&bytes)).expect("a status with a message");
        let mut document = document.to_vec();
        document[at + 1] = 8;
        return document;
    }
    let mut text = String::from_utf8_lossy(document).into_owned();
    for (from, to) in [
        (r#""TASK_STATE_INPUT_REQUIRED""#, r#""TASK_STATE_AUTH_REQUIRED""#),
        (r#""input-required""#, r#""auth-required""#),
        (r#""TASK_STATE_WORKING","message""#, r#""TASK_STATE_AUTH_REQUIRED","message""#),
        (r#""working","message""#, r#""auth-required","message""#),
    ] {
        text = text.replace(from, to);
    }
    text.into_bytes()
}

/// A2A 1.0 §7.6: what is to be authorised stands in the status message, and nothing of it may be lost.
#[tokio::test]
async fn a_task_that_waits_for_authorisation_is_told_whole_between_all_dialects() {
    let world = World::start().await;
    world.make_task().await;
    for agent in TONGUES {
        for caller in TONGUES {
            // Agents of path RPC cannot be asked for a task.
            let has_task = |op: &Op| *op == Op::SendMessage || agent != PATH_RPC;
            for op in [Op::SendMessage, Op::GetTask].into_iter().filter(has_task) {
                let answer = waiting(agent, &(agent.answers)(op)[0]);
                let told = world.answered(caller, agent, op, agent.answer_of(op, &[answer])).await;
                let wanted = shown(caller, &waiting(caller, &(caller.answers)(op)[0]));
                assert_eq!(bare(&told.parts[0]), wanted, "{agent:?} → {caller:?} {}: {told:?}", op.name());
                assert!(wanted.contains("Which one?"), "{wanted}");
            }
            // A stream may end there: the last event is the one that says what for.
            let stream = |tongue: Tongue| {
                let events = (tongue.answers)(Op::SendStreamingMessage);
                [events[0].clone(), waiting(tongue, &events[1])]
            };
            let answer = agent.answer_of(Op::SendStreamingMessage, &stream(agent));
            let told = world.answered(caller, agent, Op::SendStreamingMessage, answer).await;
            let parts: Vec<String> = told.parts.iter().map(|part| bare(part)).collect();
            let wanted = if caller == G1 {
                stream(caller).map(|event| shown(caller, &event)).to_vec()
            } else {
                // Callers of 0.3 are told `final` also where it is false, as agents need not.
                let events = (caller.gets)(Op::SendStreamingMessage, agent.card).parts;
                let last = sorted(&bare(&events[1])).replace("TASK_STATE_WORKING", "TASK_STATE_AUTH_REQUIRED");
                vec![sorted(&bare(&events[0])), last.replace(r#""working""#, r#""auth-required""#)]
            };
            assert_eq!(parts, wanted, "{agent:?} → {caller:?}: {told:?}");
        }
    }
}
