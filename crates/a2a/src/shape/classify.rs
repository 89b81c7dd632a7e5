//! Which of task, message, status update and artifact update an object is (protocol 2.9).

use json::{Json, Object};

use super::Flaw;
use crate::reply::PAYLOADS;

/// v0.3's `kind` of each payload, in the order of [`PAYLOADS`].
const KINDS: [(&str, &str); 4] = [
    ("task", "task"),
    ("message", "message"),
    ("status-update", "statusUpdate"),
    ("artifact-update", "artifactUpdate"),
];

/// Brings an object into the v1.0 wrapper `{"task":…}` and so on, unless it is in one already.
pub(crate) fn wrap(object: Object) -> Result<Object, Flaw> {
    let wrapped =
        PAYLOADS.iter().filter(|name| object.get(name).is_some_and(|value| value.as_object().is_some())).count();
    let bare = payload(&object);
    match (wrapped, bare) {
        (1, None) if !object.contains("kind") => Ok(object),
        (0, Some(name)) => agrees(&object, name).map(|()| Object::from([(name, Json::Object(object))])),
        (0, None) => Err(Flaw { member: "result", problem: "is no task, message or event" }),
        (_, None) if !object.contains("kind") => Err(Flaw { member: "result", problem: "has more than one payload" }),
        (_, _) => Err(Flaw { member: "result", problem: "is an object and a wrapper at once" }),
    }
}

/// The v0.3 `kind` of a payload.
pub(crate) fn kind_of(payload: &str) -> Option<&'static str> {
    KINDS.iter().find(|(_, name)| *name == payload).map(|(kind, _)| *kind)
}

/// Refuses an explicit `kind` that is not the one of `payload`.
pub(crate) fn agrees(object: &Object, payload: &str) -> Result<(), Flaw> {
    match object.get("kind") {
        None => Ok(()),
        Some(kind) if kind.as_str() == kind_of(payload) => Ok(()),
        Some(_) => Err(Flaw { member: "kind", problem: "contradicts the members beside it" }),
    }
}

/// The payload an object is by its members.
fn payload(object: &Object) -> Option<&'static str> {
    let has = |key: &str| object.get(key).is_some_and(|value| !value.is_null());
    if has("taskId") && has("status") {
        Some("statusUpdate")
    } else if has("taskId") && has("artifact") {
        Some("artifactUpdate")
    } else if has("status") && (has("id") || has("artifacts") || has("history")) {
        Some("task")
    } else if has("role") && has("parts") {
        Some("message")
    } else {
        None
    }
}
