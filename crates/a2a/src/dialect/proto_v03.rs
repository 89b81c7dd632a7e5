//! Trees of A2A v0.3's own protobuf as JSON (HTTP+JSON of 0.3) ↔ the canonical tree.
//!
//! Read: what the proto, the JSON schema and the SDKs call a member all become the one canonical member. Write: the
//! proto's names. Readers that parse strictly get members of the proto alone, agents of 0.3 what came from 0.3, too,
//! except members that could be taken for others.

use std::convert::Infallible;

use json::{Json, Object};

use crate::{
    OperationKind, TaskState, Version,
    dialect::{
        R3Bytes, v03,
        v10::{self, name_messages},
    },
    shape::{
        self, Flaw, Name, Shape, classify,
        normalise::{folds_alike, normalise, spell},
        part, proto_v03 as shapes,
    },
};

/// Where references wait that the proto has no member for.
const REFERENCES: &str = "a2a-gw/referenceTaskIds";

/// Who reads what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    /// Members of the proto and nothing else.
    Strict,
    /// Same-generation members survive.
    Agent,
}

/// Parameters from the wire, in place.
pub(crate) fn read_params(kind: OperationKind, params: &mut Object, bytes: R3Bytes) -> Result<(), Flaw> {
    read(params, shapes::params(kind), bytes)?;
    match kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage => rename(params, "request", "message"),
        OperationKind::CancelTask | OperationKind::SubscribeToTask => {
            let Some(name) = params.remove("name") else { return Ok(()) };
            let (task, None) = resource(name.as_str().unwrap_or_default()) else {
                return Err(Flaw { member: "name", problem: "is not the name of a task" });
            };
            if params.str("id").is_some_and(|id| id != task) {
                return Err(Flaw { member: "name", problem: "contradicts a member beside it" });
            }
            params.insert("id", task);
            Ok(())
        }
        OperationKind::CreatePushConfig => read_creation(params),
        OperationKind::GetTask
        | OperationKind::ListTasks
        | OperationKind::GetPushConfig
        | OperationKind::ListPushConfigs
        | OperationKind::DeletePushConfig
        | OperationKind::GetExtendedCard => Ok(()),
    }
}

/// A new configuration in either shape. The path names the task, so what the body says of it is dropped.
fn read_creation(params: &mut Object) -> Result<(), Flaw> {
    let mut ids: Vec<String> = Vec::new();
    if let Some(Json::Object(config)) = params.remove("config") {
        if params.contains("pushNotificationConfig") {
            return Err(Flaw { member: "config", problem: "is there in two shapes" });
        }
        // The inner object was read already, so its members are flat.
        for (key, value) in config {
            match key.as_str() {
                "id" => ids.extend(value.as_str().map(str::to_owned)),
                "taskId" | "tenant" => {}
                _ => drop(params.insert(key, value)),
            }
        }
    } else {
        part::hoist(params, "pushNotificationConfig", &v03::PUSH)?;
        ids.extend(params.remove("id").as_ref().and_then(Json::as_str).map(str::to_owned));
    }
    ids.extend(params.remove("configId").as_ref().and_then(Json::as_str).map(str::to_owned));
    let name = params.remove("name");
    ids.extend(name.as_ref().and_then(Json::as_str).and_then(|name| resource(name).1).map(str::to_owned));
    for dropped in ["parent", "taskId"] {
        params.remove(dropped);
    }
    if let Some(id) = ids.into_iter().next() {
        params.insert("id", id);
    }
    Ok(())
}

/// A result (of a stream: one event) from the wire.
pub(crate) fn read_result(kind: OperationKind, result: Json, bytes: R3Bytes) -> Result<Json, Flaw> {
    let Json::Object(mut object) = result else {
        return Err(Flaw { member: "result", problem: "is not an object" });
    };
    let shape = shapes::result(kind);
    if shape.name == Name::Event {
        spell(&mut object, shape)?;
        if object.contains("role") {
            rename(&mut object, "content", "parts")?;
        }
        object = classify::wrap(object)?;
    }
    read(&mut object, shape, bytes)?;
    if shape.name == Name::Event {
        v10::complete_message(&mut object);
    }
    Ok(Json::Object(object))
}

fn read(object: &mut Object, shape: &'static Shape, bytes: R3Bytes) -> Result<(), Flaw> {
    normalise(object, shape)?;
    shape::visit(object, shape, &mut |shape, object| match shape.name {
        Name::Part => part::lift_proto(object, bytes),
        Name::Message => read_message(object),
        Name::Task | Name::StatusUpdate | Name::ArtifactUpdate => {
            object.remove("kind");
            Ok(())
        }
        Name::Status => rename(object, "update", "message"),
        Name::Configuration => {
            rename(object, "pushNotification", "pushNotificationConfig")?;
            drop_zero_history(object);
            // Protobuf's JSON leaves `false` out: whoever configures a send and does not say `blocking` does not block.
            v03::add(object, "blocking", || false.into());
            v03::read_configuration(object)
        }
        Name::Authentication => v03::read_authentication(object),
        Name::Push => read_push(object),
        Name::File
        | Name::Artifact
        | Name::Event
        | Name::InlinePush
        | Name::PushList
        | Name::TaskList
        | Name::Plain => Ok(()),
    })
}

fn read_message(object: &mut Object) -> Result<(), Flaw> {
    object.remove("kind");
    rename(object, "content", "parts")?;
    let Some(Json::Object(metadata)) = object.get_mut("metadata") else { return Ok(()) };
    let is_list = |value: &Json| value.as_array().is_some_and(|all| all.iter().all(|one| one.as_str().is_some()));
    if !metadata.get(REFERENCES).is_some_and(is_list) {
        return Ok(());
    }
    let references = metadata.remove(REFERENCES).unwrap_or_default();
    if metadata.is_empty() {
        object.remove("metadata");
    }
    if object.contains("referenceTaskIds") {
        return Err(Flaw { member: "referenceTaskIds", problem: "is there twice" });
    }
    object.insert("referenceTaskIds", references);
    Ok(())
}

fn read_push(object: &mut Object) -> Result<(), Flaw> {
    part::hoist(object, "pushNotificationConfig", &v03::PUSH)?;
    let Some(name) = object.remove("name") else { return Ok(()) };
    let (task, config) = resource(name.as_str().unwrap_or_default());
    for (member, id) in [("taskId", Some(task)), ("id", config)] {
        if let Some(id) = id.filter(|id| !id.is_empty() && !object.contains(member)) {
            object.insert(member, id);
        }
    }
    Ok(())
}

/// 0.3's proto cannot tell "none" from "not set" (protocol 8 #16).
pub(crate) fn drop_zero_history(object: &mut Object) {
    if object.get("historyLength").and_then(shape::whole_number) == Some(0) {
        object.remove("historyLength");
    }
}

/// `tasks/{task}` and `tasks/{task}/pushNotificationConfigs/{config}` (one annotation of the proto says `task/`).
fn resource(name: &str) -> (&str, Option<&str>) {
    let below = name.strip_prefix("tasks/").or_else(|| name.strip_prefix("task/")).unwrap_or_default();
    match below.split_once("/pushNotificationConfigs") {
        Some((task, config)) => (task, config.strip_prefix('/').filter(|config| !config.is_empty())),
        None => (below, None),
    }
}

/// The body of a call for an agent, in place.
pub(crate) fn write_params(kind: OperationKind, params: &mut Object, origin: Version, bytes: R3Bytes) {
    write(params, shape::v10::params(kind), (origin, bytes, Reader::Agent));
    match kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage => {
            if kind == OperationKind::SendMessage && origin == Version::V10 && !params.contains("configuration") {
                // v1.0 blocks unless told otherwise; v0.3 agents choose for themselves unless told.
                params.insert("configuration", [("blocking", true)]);
            }
            keep_written(params, shapes::SENT, Reader::Agent);
        }
        OperationKind::CreatePushConfig => {
            let id = params.get("pushNotificationConfig").and_then(|config| config.get("id")).cloned();
            let (task, _) = resource(params.str("name").unwrap_or_default());
            let parent = format!("tasks/{task}");
            let config = std::mem::take(params);
            params.insert("parent", parent);
            if let Some(id) = id {
                params.insert("configId", id);
            }
            params.insert("config", config);
        }
        OperationKind::GetTask
        | OperationKind::ListTasks
        | OperationKind::CancelTask
        | OperationKind::SubscribeToTask
        | OperationKind::GetPushConfig
        | OperationKind::ListPushConfigs
        | OperationKind::DeletePushConfig
        | OperationKind::GetExtendedCard => {}
    }
}

/// A result (of a stream: one event) for a caller.
pub(crate) fn write_result(kind: OperationKind, body: Json, origin: Version, bytes: R3Bytes) -> Json {
    let Json::Object(mut object) = body else { return body };
    write(&mut object, shape::v10::result(kind), (origin, bytes, Reader::Strict));
    Json::Object(object)
}

fn write(object: &mut Object, shape: &Shape, (origin, bytes, reader): (Version, R3Bytes, Reader)) {
    let Ok(()) = shape::visit::<Infallible>(object, shape, &mut |shape, object| {
        if origin == Version::V10 && !shape.fields.is_empty() {
            object.retain(|key, _| shape.knows(key));
        }
        name_messages(object, shape.name);
        write_one(object, shape.name, (origin, bytes, reader));
        if let Some(written) = shapes::written(shape.name) {
            keep_written(object, written, reader);
        }
        Ok(())
    });
}

fn write_one(object: &mut Object, name: Name, (origin, bytes, reader): (Version, R3Bytes, Reader)) {
    match name {
        Name::Part => write_part(object, (origin, bytes, reader)),
        Name::Message => write_message(object),
        Name::Push => write_push(object),
        Name::Status => {
            if object.str("state").and_then(TaskState::from_name) == Some(TaskState::Canceled) {
                object.insert("state", "TASK_STATE_CANCELLED");
            }
            v10::complete(object, name);
        }
        Name::Task => v03::copy_missing(object, "id", "contextId"),
        Name::StatusUpdate => {
            let state = object.get("status").and_then(|status| status.get("state")).and_then(Json::as_str);
            let terminal = state.and_then(TaskState::from_name).is_some_and(TaskState::is_terminal);
            v03::copy_missing(object, "taskId", "contextId");
            v03::add(object, "final", || terminal.into());
        }
        Name::ArtifactUpdate => v03::copy_missing(object, "taskId", "contextId"),
        Name::Configuration => {
            object.remove("pushNotification");
            v03::write_configuration(object, origin);
            object.rename("pushNotificationConfig", "pushNotification");
        }
        Name::Authentication => {
            if let Some(scheme) = object.remove("scheme") {
                v03::add(object, "schemes", || Json::Array(vec![scheme]));
            }
        }
        Name::InlinePush => {
            object.remove("taskId");
            object.remove("tenant");
        }
        Name::TaskList => v10::complete(object, name),
        Name::Plain => drop(object.remove("tenant")),
        Name::File | Name::Artifact | Name::Event | Name::PushList => {}
    }
}

fn write_part(object: &mut Object, (origin, bytes, reader): (Version, R3Bytes, Reader)) {
    part::lower_proto(object, origin, bytes);
    if let (Some(Json::Object(file)), Some(written)) = (object.get_mut("file"), shapes::written(Name::File)) {
        keep_written(file, written, reader);
    }
}

fn write_message(object: &mut Object) {
    if let Some(references) = object.remove("referenceTaskIds").filter(|all| all.as_array() != Some(&[])) {
        v03::add(object, "metadata", || Object::new().into());
        if let Some(Json::Object(metadata)) = object.get_mut("metadata") {
            metadata.insert(REFERENCES, references);
        }
    }
    // What a caller of the JSON schema calls `content` is a stranger that must not become the message.
    object.remove("content");
    object.rename("parts", "content");
}

fn write_push(object: &mut Object) {
    let id = |member: &str| object.str(member).unwrap_or_default();
    let name = format!("tasks/{}/pushNotificationConfigs/{}", id("taskId"), id("id"));
    object.remove("tenant");
    object.remove("taskId");
    object.remove("name");
    object.insert_first("name", name);
    part::sink(object, "pushNotificationConfig", &v03::PUSH);
}

/// Keeps what the proto has; for agents also what nobody could take for a member of the proto.
fn keep_written(object: &mut Object, (read, written): (&Shape, &[&str]), reader: Reader) {
    object.retain(|key, _| {
        written.contains(&key)
            || (reader == Reader::Agent && !read.fields.iter().any(|(known, _)| folds_alike(key, known)))
    });
}

fn rename(object: &mut Object, old: &'static str, new: &str) -> Result<(), Flaw> {
    if !object.contains(old) || object.rename(old, new) {
        Ok(())
    } else {
        Err(Flaw { member: old, problem: "is there under two names" })
    }
}
