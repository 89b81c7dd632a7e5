//! What comes back, in v1.0 shape: an [`Answer`], or [`Event`]s. (A [`crate::Fault`] is the third.)
//!
//! Takes trees that a dialect has decoded; gives the pipeline ids and states. Never asks which dialect it was.

use json::{Json, Object};

use crate::Version;

/// The answer to a call that is no stream: the v1.0 result (a send: `{"task":…}` or `{"message":…}`; a delete: `{}`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The result in v1.0 shape.
    pub body: Json,
    /// The generation it was written in.
    pub origin: Version,
}

/// One event of a stream: a v1.0 `StreamResponse` (exactly one of `task`, `message`, `statusUpdate`, `artifactUpdate`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The event in v1.0 shape.
    pub body: Json,
    /// The generation it was written in.
    pub origin: Version,
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// `TASK_STATE_UNSPECIFIED`
    Unspecified,
    /// `TASK_STATE_SUBMITTED`
    Submitted,
    /// `TASK_STATE_WORKING`
    Working,
    /// `TASK_STATE_COMPLETED`
    Completed,
    /// `TASK_STATE_FAILED`
    Failed,
    /// `TASK_STATE_CANCELED`
    Canceled,
    /// `TASK_STATE_INPUT_REQUIRED`
    InputRequired,
    /// `TASK_STATE_REJECTED`
    Rejected,
    /// `TASK_STATE_AUTH_REQUIRED`
    AuthRequired,
}

impl TaskState {
    /// Every state, in the order of the protocol's numbers.
    pub const ALL: [Self; 9] = [
        Self::Unspecified,
        Self::Submitted,
        Self::Working,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::InputRequired,
        Self::Rejected,
        Self::AuthRequired,
    ];

    /// The v1.0 name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "TASK_STATE_UNSPECIFIED",
            Self::Submitted => "TASK_STATE_SUBMITTED",
            Self::Working => "TASK_STATE_WORKING",
            Self::Completed => "TASK_STATE_COMPLETED",
            Self::Failed => "TASK_STATE_FAILED",
            Self::Canceled => "TASK_STATE_CANCELED",
            Self::InputRequired => "TASK_STATE_INPUT_REQUIRED",
            Self::Rejected => "TASK_STATE_REJECTED",
            Self::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
        }
    }

    /// The v0.3 name.
    #[must_use]
    pub const fn v03_name(self) -> &'static str {
        match self {
            Self::Unspecified => "unknown",
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::InputRequired => "input-required",
            Self::Rejected => "rejected",
            Self::AuthRequired => "auth-required",
        }
    }

    /// The state with this name in any dialect (`cancelled` and `TASK_STATE_CANCELLED` included).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "cancelled" | "TASK_STATE_CANCELLED" => Some(Self::Canceled),
            other => Self::ALL.into_iter().find(|state| state.name() == other || state.v03_name() == other),
        }
    }

    /// Whether nothing follows.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether the task does not go on by itself: it is over, or waits for somebody.
    #[must_use]
    pub const fn rests(self) -> bool {
        self.is_terminal() || matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

impl Answer {
    /// The task in the answer: the wrapped one of a send, else the answer itself if it is a task.
    #[must_use]
    pub fn task(&self) -> Option<&Object> {
        match self.body.get("task") {
            Some(task) => task.as_object(),
            None => self.body.as_object().filter(|body| body.contains("status") && body.contains("id")),
        }
    }

    /// The id of the task in the answer, or that the message or push configuration in it names.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        let named = match self.task() {
            Some(task) => task.str("id"),
            None => self.body.get("message").unwrap_or(&self.body).as_object()?.str("taskId"),
        };
        named.filter(|id| !id.is_empty())
    }

    /// The context of the task or message in the answer.
    #[must_use]
    pub fn context_id(&self) -> Option<&str> {
        let holder = match self.task() {
            Some(task) => task,
            None => self.body.get("message")?.as_object()?,
        };
        holder.str("contextId").filter(|id| !id.is_empty())
    }

    /// The state of the task in the answer.
    #[must_use]
    pub fn state(&self) -> Option<TaskState> {
        state_of(self.task()?)
    }

    /// The status update that a stream of this task lacked: the state as the agent tells it, in the words of an event.
    #[must_use]
    pub fn state_update(&self) -> Option<Event> {
        let task = self.task()?;
        let mut update = Object::from([("taskId", Json::from(self.task_id()?))]);
        if let Some(context) = self.context_id() {
            update.insert("contextId", context);
        }
        update.insert("status", task.get("status")?.clone());
        Some(Event { body: Json::from([("statusUpdate", Json::Object(update))]), origin: self.origin })
    }

    /// Whether the answer is final: a message, or a task in a terminal state.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.task().is_none() || self.state().is_some_and(TaskState::is_terminal)
    }
}

impl Event {
    /// The event's name in v1.0 (`task`, `message`, `statusUpdate`, `artifactUpdate`) and its object.
    #[must_use]
    pub fn payload(&self) -> Option<(&'static str, &Object)> {
        PAYLOADS.into_iter().find_map(|name| Some((name, self.body.get(name)?.as_object()?)))
    }

    /// The task the event is about.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        let (name, payload) = self.payload()?;
        payload.str(if name == "task" { "id" } else { "taskId" }).filter(|id| !id.is_empty())
    }

    /// The context the event is about.
    #[must_use]
    pub fn context_id(&self) -> Option<&str> {
        self.payload()?.1.str("contextId").filter(|id| !id.is_empty())
    }

    /// The state the event tells, if it tells one.
    #[must_use]
    pub fn state(&self) -> Option<TaskState> {
        state_of(self.payload()?.1)
    }

    /// The task snapshot that a v1.0 stream must begin with, made from an update that began it (protocol 8 #11).
    #[must_use]
    pub fn opening_task(&self) -> Option<Self> {
        let (name, payload) = self.payload()?;
        if !matches!(name, "statusUpdate" | "artifactUpdate") {
            return None;
        }
        let mut task = Object::from([("id", Json::from(self.task_id()?))]);
        if let Some(context) = self.context_id() {
            task.insert("contextId", context);
        }
        let working = || Json::from([("state", TaskState::Working.name())]);
        let mut status = payload.get("status").cloned().unwrap_or_else(working);
        if let Json::Object(status) = &mut status {
            // The update itself follows and says it.
            status.remove("message");
        }
        task.insert("status", status);
        Some(Self { body: Json::from([("task", task)]), origin: self.origin })
    }

    /// Whether the protocol lets nothing follow this event: a terminal state, a lone message, or v0.3's `final`.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        let Some((name, payload)) = self.payload() else { return false };
        name == "message"
            || state_of(payload).is_some_and(TaskState::is_terminal)
            || payload.get("final").and_then(Json::as_bool) == Some(true)
    }
}

/// The members of a v1.0 `StreamResponse`, of which exactly one is there.
pub(crate) const PAYLOADS: [&str; 4] = ["task", "message", "statusUpdate", "artifactUpdate"];

fn state_of(holder: &Object) -> Option<TaskState> {
    TaskState::from_name(holder.get("status")?.get("state")?.as_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, payload: Json) -> Event {
        Event { body: Json::from([(name, payload)]), origin: Version::V03 }
    }

    fn update(state: &str) -> Json {
        let status = Json::from([("state", Json::from(state)), ("message", Object::new().into())]);
        Json::from([("taskId", Json::from("t1")), ("contextId", "c1".into()), ("status", status)])
    }

    #[test]
    fn a_stream_that_begins_with_an_update_gets_the_task_it_is_about() {
        let opening = event("statusUpdate", update("TASK_STATE_WORKING")).opening_task().map(|event| event.body);
        let status = Json::from([("state", "TASK_STATE_WORKING")]);
        let task = Json::from([("id", Json::from("t1")), ("contextId", "c1".into()), ("status", status)]);
        assert_eq!(opening, Some(Json::from([("task", task.clone())])));
        assert_eq!(event("task", task).opening_task(), None);
        assert_eq!(event("message", Object::new().into()).opening_task(), None);
    }

    #[test]
    fn terminal_states_messages_and_final_end_a_stream() {
        assert!(event("statusUpdate", update("TASK_STATE_REJECTED")).is_terminal());
        assert!(!event("statusUpdate", update("TASK_STATE_INPUT_REQUIRED")).is_terminal());
        assert!(event("message", Object::new().into()).is_terminal());
        let mut last = update("TASK_STATE_INPUT_REQUIRED");
        last.as_object_mut().unwrap().insert("final", true);
        assert!(event("statusUpdate", last).is_terminal());
    }

    #[test]
    fn every_state_is_found_by_both_names() {
        for state in TaskState::ALL {
            assert_eq!(TaskState::from_name(state.name()), Some(state));
            assert_eq!(TaskState::from_name(state.v03_name()), Some(state));
        }
        assert_eq!(TaskState::from_name("TASK_STATE_CANCELLED"), Some(TaskState::Canceled));
        assert_eq!(TaskState::from_name("COMPLETED"), None);
    }
}
