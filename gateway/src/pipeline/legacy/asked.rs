//! The body of a legacy call → what it names, and the JSON-RPC request that it stands for.
//!
//! Takes bytes, gives an [`Asked`]. What stands beside the message and is not this wire's own goes along as a parameter, so
//! that the guard sees it and an agent of its generation gets it. Refuses what two readers could read differently.

use a2a::OperationKind;
use json::{Json, Limits, Object};

/// What a legacy call asks for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// A card's id, or `tenant/name`.
    pub card: String,
    /// The skill that is meant.
    pub skill: String,
    /// Send, or stream.
    pub operation: OperationKind,
    /// The same as a JSON-RPC request.
    pub envelope: Vec<u8>,
}

/// Why a body is no legacy call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBody {
    /// No JSON object.
    #[error("the body is no JSON object")]
    NotAnObject,
    /// A member is missing or of another type.
    #[error("{member} {problem}")]
    Member {
        /// Which.
        member: &'static str,
        /// What about it.
        problem: &'static str,
    },
    /// The card has no such skill.
    #[error("the card has no such skill")]
    UnknownSkill {
        /// Those that it has.
        known: Vec<String>,
    },
}

impl Asked {
    /// Reads a body. `rpc_id` becomes the id of the request.
    ///
    /// # Errors
    /// [`BadBody`]
    pub fn read(body: &[u8], limits: &Limits, rpc_id: &str) -> Result<Self, BadBody> {
        let Ok(Json::Object(mut body)) = json::read(body, limits) else { return Err(BadBody::NotAnObject) };
        let card = text(&mut body, "target_card_id")?;
        let skill = text(&mut body, "capability")?;
        let stream = match body.remove("stream") {
            None | Some(Json::Null | Json::Bool(false)) => false,
            Some(Json::Bool(true)) => true,
            Some(Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_)) => {
                return Err(bad("stream", "must be true or false"));
            }
        };
        let Some(Json::Object(message)) = body.remove("message") else {
            return Err(bad("message", "must be an object"));
        };
        let (operation, params) = (operation(stream), params(body, message)?);
        let method = match (is_v10(&params), stream) {
            (true, false) => "SendMessage",
            (true, true) => "SendStreamingMessage",
            (false, false) => "message/send",
            (false, true) => "message/stream",
        };
        let envelope = Json::from([
            ("jsonrpc", Json::from("2.0")),
            ("id", rpc_id.into()),
            ("method", method.into()),
            ("params", Json::Object(params)),
        ]);
        Ok(Self { card, skill, operation, envelope: json::write(&envelope) })
    }
}

const fn operation(stream: bool) -> OperationKind {
    if stream { OperationKind::SendStreamingMessage } else { OperationKind::SendMessage }
}

/// The parameters: what stands beside the message, with the ids inside it and its configuration beside it.
fn params(mut beside: Object, mut message: Object) -> Result<Object, BadBody> {
    for id in ["taskId", "contextId"] {
        let Some(outer) = beside.remove(id) else { continue };
        if message.get(id).is_some_and(|inner| *inner != outer) {
            return Err(bad(id, "says one thing inside the message and another beside it"));
        }
        message.insert(id, outer);
    }
    if let Some(inner) = message.remove("configuration") {
        if beside.get("configuration").is_some_and(|outer| *outer != inner) {
            return Err(bad("configuration", "says one thing inside the message and another beside it"));
        }
        beside.insert("configuration", inner);
    }
    beside.insert_first("message", message);
    Ok(beside)
}

/// The message of 1.0 says so by its role, or by parts without a kind.
fn is_v10(params: &Object) -> bool {
    let message = params.get("message");
    let role = message.and_then(|message| message.get("role")).and_then(Json::as_str).unwrap_or_default();
    let parts = message.and_then(|message| message.get("parts")).and_then(Json::as_array).unwrap_or_default();
    role.starts_with("ROLE_") || (!parts.is_empty() && parts.iter().all(|part| part.get("kind").is_none()))
}

fn text(body: &mut Object, member: &'static str) -> Result<String, BadBody> {
    let given = body.remove(member).and_then(|given| given.as_str().map(str::to_owned));
    given.filter(|text| !text.is_empty()).ok_or_else(|| bad(member, "must be a text that is not empty"))
}

const fn bad(member: &'static str, problem: &'static str) -> BadBody {
    BadBody::Member { member, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Asked, BadBody> {
        Asked::read(body.as_bytes(), &Limits::default(), "c1")
    }

    const MESSAGE: &str = r#"{"messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}"#;

    #[test]
    fn a_body_becomes_the_request_that_it_stands_for() {
        let asked = read(&format!(
            r#"{{"target_card_id":"acme/echo","capability":"say","message":{MESSAGE},"metadata":{{"a":1.50}},"taskId":"t"}}"#
        ))
        .unwrap();
        assert_eq!((asked.card.as_str(), asked.skill.as_str()), ("acme/echo", "say"));
        assert_eq!(
            String::from_utf8(asked.envelope).unwrap(),
            r#"{"jsonrpc":"2.0","id":"c1","method":"message/send","params":{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}],"taskId":"t"},"metadata":{"a":1.50}}}"#
        );
        let v10 = r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}],"configuration":{"historyLength":1}}"#;
        let asked = read(&format!(r#"{{"target_card_id":"card-1","capability":"say","stream":true,"message":{v10}}}"#))
            .unwrap();
        assert_eq!(asked.operation, OperationKind::SendStreamingMessage);
        let envelope = String::from_utf8(asked.envelope).unwrap();
        assert!(envelope.contains(r#""method":"SendStreamingMessage""#), "{envelope}");
        assert!(envelope.contains(r#""configuration":{"historyLength":1}}"#), "{envelope}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let member = |body: &str| match read(body) {
            Err(BadBody::Member { member, .. }) => member,
            other => panic!("{other:?}"),
        };
        assert_eq!(member("{}"), "target_card_id");
        assert_eq!(member(r#"{"target_card_id":1}"#), "target_card_id");
        assert_eq!(member(r#"{"target_card_id":"a/b","capability":""}"#), "capability");
        assert_eq!(member(r#"{"target_card_id":"a/b","capability":"x","message":[]}"#), "message");
        let rest = r#""target_card_id":"a/b","capability":"x""#;
        assert_eq!(member(&format!(r#"{{{rest},"stream":1,"message":{MESSAGE}}}"#)), "stream");
        assert_eq!(member(&format!(r#"{{{rest},"taskId":"x","message":{{"taskId":"y"}}}}"#)), "taskId");
        for body in ["", "[]", "{", r#"{"a":1,"a":2}"#] {
            assert_eq!(read(body).unwrap_err(), BadBody::NotAnObject, "{body}");
        }
    }
}
