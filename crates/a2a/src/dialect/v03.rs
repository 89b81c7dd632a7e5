//! v0.3 trees ↔ the canonical tree.
//!
//! Read: known members move to their v1.0 places in the same object; members that only v0.3 knows stay where they are.
//! Write: back to v0.3; what came from v1.0 loses the members that v0.3 cannot say (docs/dialects.md lists them).

use std::convert::Infallible;

use json::{Json, Object};

use crate::{
    OperationKind, TaskState, Version,
    dialect::v10,
    shape::{self, Flaw, Name, Shape, classify, normalise::normalise, part},
};

/// What stands inside `pushNotificationConfig`, and in the flat v1.0 object.
pub(crate) const PUSH: [(&str, &str); 4] =
    [("id", "id"), ("url", "url"), ("token", "token"), ("authentication", "authentication")];

/// Parameters from the wire, in place.
pub(crate) fn read_params(kind: OperationKind, params: &mut Object) -> Result<(), Flaw> {
    read(params, shape::v03::params(kind))?;
    match kind {
        OperationKind::GetPushConfig | OperationKind::ListPushConfigs | OperationKind::DeletePushConfig => {
            rename(params, "id", "taskId")?;
            rename(params, "pushNotificationConfigId", "id")
        }
        OperationKind::SendMessage
        | OperationKind::SendStreamingMessage
        | OperationKind::GetTask
        | OperationKind::ListTasks
        | OperationKind::CancelTask
        | OperationKind::SubscribeToTask
        | OperationKind::CreatePushConfig
        | OperationKind::GetExtendedCard => Ok(()),
    }
}

/// Parameters for the wire, in place.
pub(crate) fn write_params(kind: OperationKind, params: &mut Object, origin: Version) {
    write(params, shape::v10::params(kind), origin);
    if kind == OperationKind::SendMessage && origin == Version::V10 && !params.contains("configuration") {
        // v1.0 blocks unless told otherwise; v0.3 agents choose for themselves unless told.
        params.insert("configuration", [("blocking", true)]);
    }
    match kind {
        OperationKind::GetPushConfig | OperationKind::ListPushConfigs | OperationKind::DeletePushConfig => {
            params.rename("id", "pushNotificationConfigId");
            params.rename("taskId", "id");
        }
        OperationKind::SendMessage
        | OperationKind::SendStreamingMessage
        | OperationKind::GetTask
        | OperationKind::ListTasks
        | OperationKind::CancelTask
        | OperationKind::SubscribeToTask
        | OperationKind::CreatePushConfig
        | OperationKind::GetExtendedCard => {}
    }
}

/// A result (of a stream: one event) from the wire.
pub(crate) fn read_result(kind: OperationKind, result: Json) -> Result<Json, Flaw> {
    let mut object = match (kind, result) {
        (OperationKind::ListPushConfigs, configs @ Json::Array(_)) => Object::from([("configs", configs)]),
        (_, Json::Object(object)) => object,
        (_, Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_)) => {
            return Err(Flaw { member: "result", problem: "is not an object" });
        }
    };
    let shape = shape::v03::result(kind);
    if shape.name == Name::Event {
        object = classify::wrap(object)?;
    }
    read(&mut object, shape)?;
    Ok(Json::Object(object))
}

/// A result (of a stream: one event) for the wire.
pub(crate) fn write_result(kind: OperationKind, body: Json, origin: Version) -> Json {
    let shape = shape::v10::result(kind);
    let Json::Object(mut object) = body else { return body };
    write(&mut object, shape, origin);
    match shape.name {
        Name::Event => crate::reply::PAYLOADS.into_iter().find_map(|name| object.remove(name)).unwrap_or_default(),
        Name::PushList => object.remove("configs").unwrap_or_else(|| Json::Array(Vec::new())),
        Name::Message
        | Name::Part
        | Name::File
        | Name::Task
        | Name::Status
        | Name::Artifact
        | Name::StatusUpdate
        | Name::ArtifactUpdate
        | Name::Configuration
        | Name::Authentication
        | Name::InlinePush
        | Name::Push
        | Name::TaskList
        | Name::Plain => Json::Object(object),
    }
}

fn read(object: &mut Object, shape: &'static Shape) -> Result<(), Flaw> {
    normalise(object, shape)?;
    shape::visit(object, shape, &mut |shape, object| match shape.name {
        Name::Part => part::lift(object),
        Name::Message => classify::agrees(object, "message"),
        Name::Task => classify::agrees(object, "task"),
        Name::StatusUpdate => classify::agrees(object, "statusUpdate"),
        Name::ArtifactUpdate => classify::agrees(object, "artifactUpdate"),
        Name::Configuration => read_configuration(object),
        Name::Authentication => read_authentication(object),
        Name::Push => part::hoist(object, "pushNotificationConfig", &PUSH),
        Name::File
        | Name::Status
        | Name::Artifact
        | Name::Event
        | Name::InlinePush
        | Name::PushList
        | Name::TaskList
        | Name::Plain => Ok(()),
    })
}

pub(crate) fn read_configuration(object: &mut Object) -> Result<(), Flaw> {
    foreign(object, &["returnImmediately", "taskPushNotificationConfig"])?;
    if let Some(Json::Bool(blocking)) = object.get_mut("blocking") {
        *blocking = !*blocking;
        rename(object, "blocking", "returnImmediately")?;
    }
    rename(object, "pushNotificationConfig", "taskPushNotificationConfig")
}

/// v1.0 has one scheme: the first. The list stays for agents of v0.3.
pub(crate) fn read_authentication(object: &mut Object) -> Result<(), Flaw> {
    foreign(object, &["scheme"])?;
    if let Some(first) = object.get("schemes").and_then(Json::as_array).and_then(|schemes| schemes.first()).cloned() {
        object.insert("scheme", first);
    }
    Ok(())
}

/// Refuses members of v1.0 that would be taken for translated ones.
fn foreign(object: &Object, members: &[&'static str]) -> Result<(), Flaw> {
    match members.iter().find(|member| object.contains(member)) {
        None => Ok(()),
        Some(member) => Err(Flaw { member, problem: "belongs to A2A 1.0" }),
    }
}

fn rename(object: &mut Object, old: &str, new: &'static str) -> Result<(), Flaw> {
    if !object.contains(old) || object.rename(old, new) {
        Ok(())
    } else {
        Err(Flaw { member: new, problem: "contradicts a member beside it" })
    }
}

fn write(object: &mut Object, shape: &Shape, origin: Version) {
    let Ok(()) = shape::visit::<Infallible>(object, shape, &mut |shape, object| {
        if origin == Version::V10 && !shape.fields.is_empty() {
            object.retain(|key, _| shape.knows(key));
        }
        write_one(object, shape.name, origin);
        Ok(())
    });
}

fn write_one(object: &mut Object, name: Name, origin: Version) {
    v10::name_messages(object, name);
    match name {
        Name::Part => part::lower(object, origin),
        Name::Message => {
            if let Some(Json::String(role)) = object.get_mut("role") {
                *role = if role == "ROLE_AGENT" { "agent".to_owned() } else { "user".to_owned() };
            }
            add(object, "kind", || "message".into());
        }
        Name::Status => {
            if let Some(state) = object.str("state").and_then(TaskState::from_name) {
                object.insert("state", state.v03_name());
            }
        }
        Name::Task => {
            copy_missing(object, "id", "contextId");
            add(object, "kind", || "task".into());
        }
        Name::StatusUpdate => {
            let state = object.get("status").and_then(|status| status.get("state")).and_then(Json::as_str);
            let terminal = state.and_then(TaskState::from_name).is_some_and(TaskState::is_terminal);
            copy_missing(object, "taskId", "contextId");
            add(object, "final", || terminal.into());
            add(object, "kind", || "status-update".into());
        }
        Name::ArtifactUpdate => {
            copy_missing(object, "taskId", "contextId");
            add(object, "kind", || "artifact-update".into());
        }
        Name::Configuration => write_configuration(object, origin),
        Name::Authentication => {
            if let Some(scheme) = object.remove("scheme") {
                add(object, "schemes", || Json::Array(vec![scheme]));
            }
        }
        Name::InlinePush => {
            object.remove("taskId");
            object.remove("tenant");
        }
        Name::Push => {
            object.remove("tenant");
            part::sink(object, "pushNotificationConfig", &PUSH);
        }
        Name::Plain => {
            object.remove("tenant");
        }
        Name::File | Name::Artifact | Name::Event | Name::PushList | Name::TaskList => {}
    }
}

pub(crate) fn write_configuration(object: &mut Object, origin: Version) {
    match object.get_mut("returnImmediately") {
        Some(Json::Bool(at_once)) => {
            *at_once = !*at_once;
            object.rename("returnImmediately", "blocking");
        }
        _ if origin == Version::V10 => add(object, "blocking", || true.into()),
        _ => {}
    }
    object.rename("taskPushNotificationConfig", "pushNotificationConfig");
}

pub(crate) fn add(object: &mut Object, key: &str, value: impl FnOnce() -> Json) {
    if !object.contains(key) {
        object.insert(key, value());
    }
}

/// v0.3 requires a context id: where v1.0 gave none, the task's id is stable and not empty.
pub(crate) fn copy_missing(object: &mut Object, from: &str, to: &str) {
    if !object.contains(to)
        && let Some(value) = object.get(from).cloned()
    {
        object.insert(to, value);
    }
}
