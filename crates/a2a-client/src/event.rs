//! What comes back: replies to messages, and events of streams.

use a2a::TaskState;
use a2a::dialect::BadAnswer;
use json::{Json, Object};

use crate::message::Message;
use crate::task::{Artifact, Task, state_of};
use crate::tree::{newtype, one, text};

/// What a message was answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A task: done, under way or waiting for somebody.
    Task(Task),
    /// A message and nothing to follow.
    Message(Message),
}

/// One thing that happened on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The task as it is now.
    Task(Task),
    /// A message and nothing to follow.
    Message(Message),
    /// The task's state changed, or the agent says something about it.
    Status(StatusUpdate),
    /// A piece of what the task makes.
    Artifact(ArtifactUpdate),
    /// The stream broke and goes on. This is the task as it was read then: it replaces everything that was heard of it
    /// before, pieces of artifacts included.
    Resumed(Task),
}

newtype! {
    /// A change of a task's state.
    StatusUpdate
}

newtype! {
    /// A piece of an artifact.
    ArtifactUpdate
}

impl StatusUpdate {
    /// The task.
    #[must_use]
    pub fn task_id(&self) -> &str {
        self.0.str("taskId").unwrap_or_default()
    }

    /// The state that was reached.
    #[must_use]
    pub fn state(&self) -> TaskState {
        state_of(&self.0).unwrap_or(TaskState::Unspecified)
    }

    /// What the agent says.
    #[must_use]
    pub fn message(&self) -> Option<Message> {
        one(self.0.get("status")?.as_object()?, "message")
    }
}

impl ArtifactUpdate {
    /// The task.
    #[must_use]
    pub fn task_id(&self) -> &str {
        self.0.str("taskId").unwrap_or_default()
    }

    /// The artifact, or a piece of it.
    #[must_use]
    pub fn artifact(&self) -> Artifact {
        one(&self.0, "artifact").unwrap_or_default()
    }

    /// Whether it goes behind what was sent of this artifact before, instead of replacing it.
    #[must_use]
    pub fn appends(&self) -> bool {
        self.0.get("append").and_then(Json::as_bool) == Some(true)
    }

    /// Whether it is the artifact's last piece.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.0.get("lastChunk").and_then(Json::as_bool) == Some(true)
    }
}

impl Reply {
    /// The task, if it is one.
    #[must_use]
    pub const fn task(&self) -> Option<&Task> {
        match self {
            Self::Task(task) => Some(task),
            Self::Message(_) => None,
        }
    }

    /// The texts of the answer: of the task's artifacts, or of the message.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Task(task) => task.text(),
            Self::Message(message) => message.text(),
        }
    }

    /// The answer as it stands in A2A 1.0.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Task(task) => Json::from([("task", task.as_object().clone())]),
            Self::Message(message) => Json::from([("message", message.as_object().clone())]),
        }
    }

    pub(crate) fn read(body: Json) -> Result<Self, BadAnswer> {
        match payload(body)? {
            Event::Task(task) | Event::Resumed(task) => Ok(Self::Task(task)),
            Event::Message(message) => Ok(Self::Message(message)),
            Event::Status(_) | Event::Artifact(_) => Err(NEITHER),
        }
    }
}

impl Event {
    /// The task it is about.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        match self {
            Self::Task(task) | Self::Resumed(task) => Some(task.id()),
            Self::Message(message) => message.task_id(),
            Self::Status(update) => Some(update.task_id()),
            Self::Artifact(update) => Some(update.task_id()),
        }
    }

    /// The state it tells, if it tells one.
    #[must_use]
    pub fn state(&self) -> Option<TaskState> {
        match self {
            Self::Task(task) | Self::Resumed(task) => Some(task.state()),
            Self::Status(update) => Some(update.state()),
            Self::Message(_) | Self::Artifact(_) => None,
        }
    }

    /// The conversation it belongs to.
    #[must_use]
    pub fn context_id(&self) -> Option<&str> {
        text(self.as_object(), "contextId")
    }

    /// The tree of what it holds.
    #[must_use]
    pub const fn as_object(&self) -> &Object {
        match self {
            Self::Task(task) | Self::Resumed(task) => task.as_object(),
            Self::Message(message) => message.as_object(),
            Self::Status(update) => update.as_object(),
            Self::Artifact(update) => update.as_object(),
        }
    }

    /// The event as it stands in a stream of A2A 1.0.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let name = match self {
            Self::Task(_) | Self::Resumed(_) => "task",
            Self::Message(_) => "message",
            Self::Status(_) => "statusUpdate",
            Self::Artifact(_) => "artifactUpdate",
        };
        Json::from([(name, self.as_object().clone())])
    }

    pub(crate) fn read(event: a2a::Event) -> Result<Self, BadAnswer> {
        payload(event.body)
    }
}

const NEITHER: BadAnswer = BadAnswer::Shape { member: "result", problem: "is neither a task nor a message" };

/// The one payload of a `SendMessageResponse` or `StreamResponse`.
fn payload(body: Json) -> Result<Event, BadAnswer> {
    let Json::Object(mut body) = body else { return Err(NEITHER) };
    let mut take = |member: &str| match body.remove(member) {
        Some(Json::Object(payload)) => Some(payload),
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_)) | None => None,
    };
    if let Some(task) = take("task") {
        return Ok(Event::Task(task.into()));
    }
    if let Some(message) = take("message") {
        return Ok(Event::Message(message.into()));
    }
    if let Some(update) = take("statusUpdate") {
        return Ok(Event::Status(update.into()));
    }
    take("artifactUpdate").map(|update| Event::Artifact(update.into())).ok_or(NEITHER)
}
