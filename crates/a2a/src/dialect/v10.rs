//! v1.0 trees ↔ the canonical tree, which is v1.0 itself: reading brings them into the one form, writing takes out what
//! v0.3 left and fills in what v1.0 requires.

use std::convert::Infallible;

use json::{Json, Object};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{
    OperationKind, Version,
    shape::{self, Flaw, Name, Shape, classify, normalise::normalise, part},
};

/// Parameters from the wire, in place.
pub(crate) fn read_params(kind: OperationKind, params: &mut Object) -> Result<(), Flaw> {
    normalise(params, shape::v10::params(kind))
}

/// Parameters for the wire, in place.
pub(crate) fn write_params(kind: OperationKind, params: &mut Object, origin: Version) {
    write(params, shape::v10::params(kind), origin);
}

/// A result (of a stream: one event) from the wire.
pub(crate) fn read_result(kind: OperationKind, result: Json) -> Result<Json, Flaw> {
    let Json::Object(mut object) = result else {
        return Err(Flaw { member: "result", problem: "is not an object" });
    };
    let shape = shape::v10::result(kind);
    if shape.name == Name::Event {
        object = classify::wrap(object)?;
    }
    normalise(&mut object, shape)?;
    if shape.name == Name::Event {
        complete_message(&mut object);
    }
    Ok(Json::Object(object))
}

/// A message has parts; no part at all does not show in protobuf, nor in the JSON that is made of it.
pub(crate) fn complete_message(event: &mut Object) {
    if let Some(Json::Object(message)) = event.get_mut("message")
        && !message.contains("parts")
    {
        message.insert("parts", Vec::new());
    }
}

/// A result (of a stream: one event) for the wire.
pub(crate) fn write_result(kind: OperationKind, body: Json, origin: Version) -> Json {
    let Json::Object(mut object) = body else { return body };
    write(&mut object, shape::v10::result(kind), origin);
    Json::Object(object)
}

fn write(object: &mut Object, shape: &Shape, origin: Version) {
    let Ok(()) = shape::visit::<Infallible>(object, shape, &mut |shape, object| {
        if origin == Version::V03 {
            from_v03(object, shape);
        }
        name_messages(object, shape.name);
        complete(object, shape.name);
        Ok(())
    });
}

/// Takes out what only v0.3 says.
fn from_v03(object: &mut Object, shape: &Shape) {
    if shape.name == Name::Part {
        part::restore(object);
    }
    if shape.name == Name::Configuration && object.get("historyLength").and_then(shape::whole_number) == Some(0) {
        // v0.3 cannot tell "none" from "not set" (protocol 8 #16).
        object.remove("historyLength");
    }
    if !shape.fields.is_empty() {
        object.retain(|key, _| shape.knows(key));
    }
    if shape.name == Name::Task {
        object.retain(|key, value| {
            !(matches!(key, "artifacts" | "history") && value.as_array().is_some_and(<[Json]>::is_empty))
        });
    }
}

/// Fills in what v1.0 requires, and keeps timestamps to what its readers take.
pub(crate) fn complete(object: &mut Object, name: Name) {
    match name {
        Name::Status => match object.str("timestamp").map(timestamp) {
            Some(Timestamp::Fine) | None => {}
            Some(Timestamp::Zoneless(fixed)) => {
                object.insert("timestamp", fixed);
            }
            Some(Timestamp::Unreadable) => {
                object.remove("timestamp");
            }
        },
        Name::TaskList => {
            let tasks = object.get("tasks").and_then(Json::as_array).map_or(0, <[Json]>::len);
            let count = i64::try_from(tasks).unwrap_or(i64::MAX);
            for (key, value) in [
                ("tasks", Json::Array(Vec::new())),
                ("nextPageToken", "".into()),
                ("pageSize", count.into()),
                ("totalSize", count.into()),
            ] {
                if !object.contains(key) {
                    object.insert(key, value);
                }
            }
        }
        Name::Message
        | Name::Part
        | Name::File
        | Name::Task
        | Name::Artifact
        | Name::StatusUpdate
        | Name::ArtifactUpdate
        | Name::Event
        | Name::Configuration
        | Name::Authentication
        | Name::InlinePush
        | Name::Push
        | Name::PushList
        | Name::Plain => {}
    }
}

/// Both generations require message ids; agents of the path RPC kind give none. The made ones are stable.
pub(crate) fn name_messages(object: &mut Object, name: Name) {
    let id = match name {
        Name::Task => object.str("id"),
        Name::StatusUpdate => object.str("taskId"),
        Name::Message
        | Name::Part
        | Name::File
        | Name::Status
        | Name::Artifact
        | Name::ArtifactUpdate
        | Name::Event
        | Name::Configuration
        | Name::Authentication
        | Name::InlinePush
        | Name::Push
        | Name::PushList
        | Name::TaskList
        | Name::Plain => return,
    };
    let id = id.unwrap_or_default().to_owned();
    if let Some(Json::Object(status)) = object.get_mut("status")
        && let Some(message) = status.get_mut("message")
    {
        name_message(message, || format!("{id}-status"));
    }
    if name == Name::Task {
        let messages = object.get_mut("history").and_then(Json::as_array_mut).into_iter().flatten();
        for (index, message) in messages.enumerate() {
            name_message(message, || format!("{id}-history-{index}"));
        }
    }
}

fn name_message(message: &mut Json, id: impl FnOnce() -> String) {
    if let Json::Object(message) = message
        && !message.contains("messageId")
    {
        message.insert("messageId", id());
    }
}

/// What v1.0 readers make of a timestamp.
enum Timestamp {
    Fine,
    /// The same with `Z`.
    Zoneless(String),
    Unreadable,
}

fn timestamp(text: &str) -> Timestamp {
    if is_timestamp(text) {
        return Timestamp::Fine;
    }
    let fixed = format!("{text}Z");
    if is_timestamp(&fixed) { Timestamp::Zoneless(fixed) } else { Timestamp::Unreadable }
}

/// Whether this is RFC 3339 with a zone.
pub(crate) fn is_timestamp(text: &str) -> bool {
    OffsetDateTime::parse(text, &Rfc3339).is_ok()
}
