//! Inside one generation nothing is lost, and what nobody knows is inspected all the same.

use crate::TONGUES;
use crate::g1::G1;
use crate::j1::J1;
use crate::j3::J3;
use crate::path_rpc::PATH_RPC;
use crate::proto::{int, msg, text};
use crate::r1::R1;
use crate::r3::R3;
use crate::rig::INJECTION;
use crate::tongue::{Answer, Op, Tongue, bare, sorted};
use crate::world::{World, json_tongues};

/// Members that no specification knows, with everything that a careless reader changes.
const STRANGE: &str = r#""xNumber":123456789012345678901234567890,"xSmall":0.10,"xBig":1E300,"xEmpty":[],"xNone":{},"xNull":null,"xZero":0,"xNo":false,"xText":"","x deep":{"b":[null,[],{"a":-0}],"a":1e0}"#;

/// A send in the words of 1.0, strange members everywhere, explicit defaults.
fn new_send() -> String {
    format!(
        r#"{{"message":{{"messageId":"m1","role":"ROLE_USER","parts":[{{"text":"",{STRANGE}}},{{"data":null,{STRANGE}}},{{"data":[{{{STRANGE}}}]}}],
        "metadata":{{{STRANGE}}},"extensions":[],"referenceTaskIds":[],{STRANGE}}},
        "configuration":{{"acceptedOutputModes":[],"historyLength":0,"returnImmediately":false,{STRANGE}}},
        "metadata":{{{STRANGE}}},{STRANGE}}}"#
    )
}

fn new_task() -> String {
    format!(
        r#"{{"id":"t1","contextId":"c1","status":{{"state":"TASK_STATE_COMPLETED",{STRANGE}}},
        "artifacts":[{{"artifactId":"a1","name":"","parts":[],"metadata":{{{STRANGE}}},{STRANGE}}}],"history":[],"metadata":{{{STRANGE}}},{STRANGE}}}"#
    )
}

fn new_event() -> String {
    format!(
        r#"{{"artifactUpdate":{{"taskId":"t1","contextId":"c1","artifact":{{"artifactId":"a1","parts":[{{"text":"",{STRANGE}}}],{STRANGE}}},"append":false,"lastChunk":false,{STRANGE}}},{STRANGE}}}"#
    )
}

/// The same in the words of 0.3.
fn old_send() -> String {
    format!(
        r#"{{"message":{{"kind":"message","messageId":"m1","role":"user","parts":[{{"kind":"text","text":"",{STRANGE}}},{{"kind":"file","file":{{"bytes":"",{STRANGE}}},{STRANGE}}},{{"kind":"data","data":{{{STRANGE}}},{STRANGE}}}],
        "metadata":{{{STRANGE}}},"extensions":[],"referenceTaskIds":[],{STRANGE}}},
        "configuration":{{"acceptedOutputModes":[],"historyLength":0,"blocking":false,{STRANGE}}},
        "metadata":{{{STRANGE}}},{STRANGE}}}"#
    )
}

fn old_task() -> String {
    format!(
        r#"{{"kind":"task","id":"t1","contextId":"c1","status":{{"state":"completed",{STRANGE}}},
        "artifacts":[{{"artifactId":"a1","name":"","parts":[],"metadata":{{{STRANGE}}},{STRANGE}}}],"history":[],"metadata":{{{STRANGE}}},{STRANGE}}}"#
    )
}

fn old_event() -> String {
    format!(
        r#"{{"kind":"artifact-update","taskId":"t1","contextId":"c1","artifact":{{"artifactId":"a1","parts":[{{"kind":"text","text":"",{STRANGE}}}],{STRANGE}}},"append":false,"lastChunk":false,{STRANGE}}}"#
    )
}

/// `send`, `task` and `event` go from caller to agent and back as they are.
async fn survive(callers: &[Tongue], agents: &[Tongue], [send, task, event]: [String; 3], wrapped: bool) {
    let world = World::start().await;
    let sent = if wrapped { format!(r#"{{"task":{task}}}"#) } else { task.clone() };
    for (caller, agent) in callers.iter().flat_map(|caller| agents.iter().map(move |agent| (*caller, *agent))) {
        let stub = world.agent(agent);
        stub.plan(agent.answer_of(Op::SendMessage, &[&sent]), &[]);
        let told = world.ask(&(caller.sends)(Op::SendMessage, agent.card, send.as_bytes())).await;
        let asked = stub.asked().pop().unwrap_or_else(|| panic!("{caller:?} → {agent:?}: {told:?}"));
        assert_eq!(bare(&asked.body), sorted(&send), "{caller:?} → {agent:?}");
        assert_eq!(bare(&told.parts[0]), sorted(&sent), "{caller:?} ← {agent:?}");
        if agent != PATH_RPC {
            let told = world.answered(caller, agent, Op::GetTask, agent.answer_of(Op::GetTask, &[&task])).await;
            assert_eq!(bare(&told.parts[0]), sorted(&task), "{caller:?} ← {agent:?}");
        }
        let last = (agent.answers)(Op::SendStreamingMessage).pop().unwrap();
        let events = [(agent.answers)(Op::SendStreamingMessage).swap_remove(0), event.clone().into_bytes(), last];
        let answer = agent.answer_of(Op::SendStreamingMessage, &events);
        let told = world.answered(caller, agent, Op::SendStreamingMessage, answer).await;
        assert_eq!(bare(&told.parts[1]), sorted(&event), "{caller:?} ← {agent:?}");
    }
}

#[tokio::test]
async fn nothing_of_1_0_is_lost_between_1_0_in_json() {
    survive(&[J1, R1], &[J1, R1], [new_send(), new_task(), new_event()], true).await;
}

#[tokio::test]
async fn nothing_of_0_3_is_lost_between_0_3_in_json() {
    survive(&[J3, PATH_RPC], &[J3, PATH_RPC], [old_send(), old_task(), old_event()], false).await;
}

/// Members that the proto does not have go on to an agent that may know them; numbers and nulls inside are kept.
#[tokio::test]
async fn what_a_caller_of_0_3_over_http_adds_reaches_an_agent_of_the_same() {
    let world = World::start().await;
    let send = format!(
        r#"{{"message":{{"messageId":"m1","role":"ROLE_USER","content":[{{"text":"",{STRANGE}}},{{"data":{{"data":{{{STRANGE}}}}},{STRANGE}}}],
        "metadata":{{{STRANGE}}},{STRANGE}}},"configuration":{{"blocking":false,{STRANGE}}},"metadata":{{{STRANGE}}},{STRANGE}}}"#
    );
    world.agent(R3).plan(R3.answer(Op::SendStreamingMessage), &[]);
    world.ask(&(R3.sends)(Op::SendStreamingMessage, R3.card, send.as_bytes())).await;
    assert_eq!(world.agent(R3).asked()[0].body, sorted(&send));
}

/// A word that a policy forbids is found wherever it stands, in any dialect, in either direction.
#[tokio::test]
async fn members_that_nobody_knows_are_inspected() {
    let world = World::with(crate::rig::CardSpec::guarded).await;
    for agent in TONGUES {
        for caller in json_tongues() {
            let said = (caller.asks)(Op::SendStreamingMessage, agent.card);
            for canary in [
                format!(r#""text":"go","xCanary":"{INJECTION}""#),
                format!(r#""text":"go","xCanary":{{"a":[["{INJECTION}"]]}}"#),
            ] {
                let told = world.ask(&said.clone().replaced(r#""text":"go""#, &canary)).await;
                assert!(blocked(&told.all()), "{caller:?} → {agent:?}: {told:?}");
                assert_eq!(world.agent(agent).asked().len(), 0, "{caller:?} → {agent:?}");
            }
        }
    }
    for agent in json_tongues() {
        for caller in TONGUES {
            let answer = strange_event(agent);
            let told = world.answered(caller, agent, Op::SendStreamingMessage, answer).await;
            assert!(blocked(&told.all()), "{caller:?} ← {agent:?}: {told:?}");
            assert!(!told.all().contains(INJECTION), "{caller:?} ← {agent:?}: {told:?}");
        }
    }
}

fn blocked(told: &str) -> bool {
    told.contains("-32042") || told.contains("GUARDRAIL_BLOCKED")
}

/// The agent's first event with a canary in a member that nobody knows.
fn strange_event(agent: Tongue) -> Answer {
    let event = (agent.answers)(Op::SendStreamingMessage).swap_remove(0);
    let event = String::from_utf8(event).unwrap();
    let event = event.replace(r#""id":"t1""#, &format!(r#""id":"t1","xCanary":"{INJECTION}""#));
    agent.answer_of(Op::SendStreamingMessage, &[event])
}

/// Fields that protobuf does not have are not looked at and do not get out.
#[tokio::test]
async fn fields_that_grpc_does_not_know_end_at_the_gateway() {
    let world = World::with(crate::rig::CardSpec::guarded).await;
    let canary = || text(99, INJECTION);
    let params = [msg(2, &[text(1, "m2"), int(4, 1), msg(5, &[text(1, "go"), canary()]), canary()]), canary()].concat();
    for agent in TONGUES {
        world.agent(agent).plan(agent.answer(Op::SendStreamingMessage), &[]);
        let told = world.ask(&(G1.sends)(Op::SendStreamingMessage, agent.card, &params)).await;
        assert_eq!(told.parts.len(), 4, "{agent:?}: {told:?}");
        let asked = world.agent(agent).asked().remove(0);
        assert!(!asked.body.contains("ignore"), "{agent:?}: {asked:?}");
    }
    for caller in TONGUES {
        let event =
            [msg(1, &[text(1, "t1"), text(2, "c1"), msg(3, &[int(1, 3), canary()]), canary()]), canary()].concat();
        let answer = G1.answer_of(Op::SendStreamingMessage, &[event]);
        let told = world.answered(caller, G1, Op::SendStreamingMessage, answer).await;
        assert_eq!(told.parts.len(), 1, "{caller:?}: {told:?}");
        assert!(!told.all().contains("ignore"), "{caller:?}: {told:?}");
    }
}
