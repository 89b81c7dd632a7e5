//! What callers of the legacy wire are told.
//!
//! Answers in the form that the agent gives them in: `{"task":…}` of 1.0 and of bare bodies, or a JSON-RPC `result` of 0.3. Refusals as
//! `{"error":…,"message":…,"correlation_id":…}` with the status that HTTP+JSON has for them.

use super::BadBody;
use crate::pipeline::guard::GuardError;
use crate::pipeline::refusal::Refusals;
use crate::registry::Card;
use crate::reject::Reject;
use a2a::dialect::{PathBody, Wire};
use a2a::{Answer, Dialect, Fault, FaultKind, OperationKind, Version, Voice};
use json::{Json, Object};

const JSON: &str = "application/json";

/// How answers, events and agents' faults are told to a caller whose agent speaks the card's first dialect.
pub(in crate::pipeline) fn voice(asked: &Voice, card: &Card) -> Voice {
    let first = card.upstream.interfaces.first();
    let bare = first.is_none_or(|first| {
        let bare_body = first.dialect == Dialect::PathRpc && first.address.path_body == PathBody::Bare;
        bare_body || first.dialect.version() == Version::V10
    });
    let dialect = if bare { Dialect::R1 } else { Dialect::PathRpc };
    Voice { dialect, enveloped: !bare, ..asked.clone() }
}

/// A whole answer.
pub(in crate::pipeline) fn answer(voice: &Voice, kind: OperationKind, answer: Answer) -> Wire {
    Wire { content_type: JSON, ..voice.answer(kind, answer) }
}

/// A refusal.
pub(in crate::pipeline) fn refusal(reject: &Reject, fault: &Fault, refusals: &Refusals) -> Wire {
    let word = fault.kind.reason().unwrap_or("ERROR").to_ascii_lowercase();
    let mut body = Object::from([("error", Json::from(word))]);
    if let Reject::Guard(error) = reject {
        let (surface, rule) = match error {
            GuardError::Blocked { surface, rule, .. } | GuardError::Unavailable { surface, rule } => {
                (surface, rule.as_str())
            }
            GuardError::Failed { surface } => (surface, "inspection_failed"),
        };
        body.insert("guardrail", rule);
        body.insert("surface", surface.name());
    }
    body.insert("message", fault.message.as_str());
    body.insert("correlation_id", refusals.correlation_id.as_str());
    if let Reject::Legacy(BadBody::UnknownSkill { known }) = reject {
        body.insert("skills", known.iter().map(|skill| Json::from(skill.as_str())).collect::<Vec<_>>());
    }
    // Whatever an agent does wrong is the same to this wire.
    let is_the_agents = fault.kind == FaultKind::InvalidAgentResponse;
    let status = if is_the_agents { 502 } else { fault.kind.http_status() };
    Wire { status, content_type: JSON, body: json::write(&Json::Object(body)), trailers: Vec::new() }
}
