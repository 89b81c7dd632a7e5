//! The eleven operations as canonical calls.

use a2a::{Call, OperationKind, Version};
use json::{Json, Object};

fn call(kind: OperationKind, params: Object) -> Call {
    Call { kind, params, origin: Version::V10 }
}

/// A message of the user with these parts (v1.0 shape).
#[must_use]
pub fn message(parts: Vec<Json>) -> Object {
    Object::from([("role", Json::from("ROLE_USER")), ("parts", Json::Array(parts))])
}

/// A part of text.
#[must_use]
pub fn text(text: &str) -> Json {
    Json::from([("text", text)])
}

/// Sends `message` and waits for the answer.
#[must_use]
pub fn send(message: Object) -> Call {
    call(OperationKind::SendMessage, Object::from([("message", message)]))
}

/// Sends `message` and streams what happens.
#[must_use]
pub fn stream(message: Object) -> Call {
    call(OperationKind::SendStreamingMessage, Object::from([("message", message)]))
}

/// The task, with at most `history` messages if that is said.
#[must_use]
pub fn get_task(id: &str, history: Option<i64>) -> Call {
    let mut params = Object::from([("id", id)]);
    if let Some(history) = history {
        params.insert("historyLength", history);
    }
    call(OperationKind::GetTask, params)
}

/// The caller's tasks. `filter` has the members of `ListTasksRequest`.
#[must_use]
pub fn list_tasks(filter: Object) -> Call {
    call(OperationKind::ListTasks, filter)
}

/// Cancels the task.
#[must_use]
pub fn cancel_task(id: &str) -> Call {
    call(OperationKind::CancelTask, Object::from([("id", id)]))
}

/// Streams what happens to the task from now on.
#[must_use]
pub fn subscribe(id: &str) -> Call {
    call(OperationKind::SubscribeToTask, Object::from([("id", id)]))
}

/// Creates a push configuration. `config` has the members of `TaskPushNotificationConfig` without `taskId`.
#[must_use]
pub fn create_push_config(task: &str, config: Object) -> Call {
    let mut params = config;
    params.insert("taskId", task);
    call(OperationKind::CreatePushConfig, params)
}

/// The push configuration `id` of the task.
#[must_use]
pub fn get_push_config(task: &str, id: &str) -> Call {
    call(OperationKind::GetPushConfig, Object::from([("taskId", task), ("id", id)]))
}

/// The push configurations of the task.
#[must_use]
pub fn list_push_configs(task: &str) -> Call {
    call(OperationKind::ListPushConfigs, Object::from([("taskId", task)]))
}

/// Deletes the push configuration `id` of the task.
#[must_use]
pub fn delete_push_config(task: &str, id: &str) -> Call {
    call(OperationKind::DeletePushConfig, Object::from([("taskId", task), ("id", id)]))
}

/// The card that only authenticated callers see.
#[must_use]
pub fn extended_card() -> Call {
    call(OperationKind::GetExtendedCard, Object::new())
}
