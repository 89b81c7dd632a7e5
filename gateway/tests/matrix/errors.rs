//! Every error of A2A, as an agent of each dialect tells it, in the words of every caller; before and inside a stream.

use crate::TONGUES;
use crate::cases::breaks;
use crate::g1::{self, G1};
use crate::refusals::{self, ALL};
use crate::tongue::{Answer, Op, Refusal, Tongue};
use crate::world::World;
use a2a::{Dialect, Version};
use sample_agents::hostile::Reply;

/// What an agent wrote: words of its own, which go on to the caller.
const TEXT: &str = "the agent says no";

/// An agent's error document; in the words of its dialect a caller would be told the same.
fn document(agent: Tongue, no: &Refusal) -> (u16, String) {
    let told = (agent.refused)(Op::SendMessage, no);
    let document = told.parts[0].clone();
    let ids = [r#""id":7"#, r#""id":"seven""#, r#""id":"r-1""#];
    (told.status, ids.iter().fold(document, |document, id| document.replace(id, r#""id":"$ID""#)))
}

fn fails(agent: Tongue, no: &Refusal) -> Answer {
    if agent == G1 {
        return Answer::GrpcFault(Vec::new(), no.grpc, no.text, g1::details(no));
    }
    let (status, document) = document(agent, no);
    Answer::Json(status, document.into_bytes())
}

/// The same error where it is told to callers of a generation: 0.3 does not know two of them.
fn told_to(caller: Tongue, no: &Refusal) -> Refusal {
    let unknown = matches!(no.code, -32008 | -32009) && caller.dialect.version() == Version::V03;
    Refusal { code: if unknown { -32603 } else { no.code }, ..*no }
}

/// Agents of 0.3 cannot tell what 0.3 does not know.
fn tells(agent: Tongue, no: &Refusal) -> bool {
    agent.dialect.version() == Version::V10 || !matches!(no.code, -32008 | -32009)
}

#[tokio::test]
async fn every_error_of_every_agent_is_told_in_every_callers_words() {
    let world = World::start().await;
    world.make_task().await;
    let mut wrong = Vec::new();
    for agent in TONGUES {
        for no in ALL.iter().map(|no| Refusal { text: TEXT, ..*no }).filter(|no| tells(agent, no)) {
            for caller in TONGUES {
                for op in [Op::SendMessage, Op::SendStreamingMessage] {
                    let told = world.answered(caller, agent, op, fails(agent, &no)).await;
                    let wanted = (caller.refused)(op, &told_to(caller, &no));
                    if told != wanted {
                        wrong.push(format!("{agent:?} → {caller:?} {}\n  {told:?}\n  {wanted:?}", op.name()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn an_error_inside_a_stream_ends_it_in_every_callers_words() {
    let world = World::start().await;
    for agent in TONGUES {
        for no in [refusals::INTERNAL, refusals::UNSUPPORTED].map(|no| Refusal { text: TEXT, ..no }) {
            let first = (agent.answers)(Op::SendStreamingMessage).swap_remove(0);
            for caller in TONGUES {
                for answer in inside(agent, &first, &no) {
                    let told = world.answered(caller, agent, Op::SendStreamingMessage, answer).await;
                    let parts = (caller.gets)(Op::SendStreamingMessage, agent.card).parts;
                    breaks(caller, &told, &parts[..1], &no, agent.name);
                    assert!(told.all().contains(TEXT), "{agent:?} → {caller:?}: {told:?}");
                }
            }
        }
    }
}

/// An event, then the error: as an event like the others, and (HTTP+JSON) under a name of its own.
fn inside(agent: Tongue, first: &[u8], no: &Refusal) -> Vec<Answer> {
    if agent == G1 {
        return vec![Answer::GrpcFault(vec![first.to_vec()], no.grpc, no.text, g1::details(no))];
    }
    let (_, document) = document(agent, no);
    let plain = Answer::Events(vec![(agent.wraps)(first), document.clone().into_bytes()]);
    match agent.dialect {
        Dialect::R1 | Dialect::R3 => {
            let event = String::from_utf8_lossy(first).replace('\n', " ");
            let named = Reply::sse().event(event).chunk(format!("event: error\ndata: {document}\n\n")).end();
            vec![plain, Answer::Raw(named)]
        }
        Dialect::J1 | Dialect::J3 | Dialect::PathRpc | Dialect::G1 => vec![plain],
    }
}
