//! Tasks, their artifacts, and pages of them.

use a2a::TaskState;
use json::{Json, Number, Object};

use crate::message::Message;
use crate::part::{self, Part};
use crate::tree::{all, newtype, one, text};

newtype! {
    /// A task, in the shape of A2A 1.0.
    Task
}

newtype! {
    /// Something a task has made.
    Artifact
}

newtype! {
    /// One page of tasks.
    TaskPage
}

impl Task {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0.str("id").unwrap_or_default()
    }

    /// The conversation it belongs to.
    #[must_use]
    pub fn context_id(&self) -> Option<&str> {
        text(&self.0, "contextId")
    }

    /// How it stands.
    #[must_use]
    pub fn state(&self) -> TaskState {
        state_of(&self.0).unwrap_or(TaskState::Unspecified)
    }

    /// What the agent says about how it stands: a question, or why it failed.
    #[must_use]
    pub fn status_message(&self) -> Option<Message> {
        one(self.0.get("status")?.as_object()?, "message")
    }

    /// When its state was reached, as the agent wrote it.
    #[must_use]
    pub fn timestamp(&self) -> Option<&str> {
        self.0.get("status")?.get("timestamp")?.as_str()
    }

    /// What it has made.
    #[must_use]
    pub fn artifacts(&self) -> Vec<Artifact> {
        all(&self.0, "artifacts")
    }

    /// The messages so far, as many as were asked for.
    #[must_use]
    pub fn history(&self) -> Vec<Message> {
        all(&self.0, "history")
    }

    /// The texts of its artifacts, one after the other.
    #[must_use]
    pub fn text(&self) -> String {
        self.artifacts().iter().map(Artifact::text).collect()
    }

    /// Facts beside it.
    #[must_use]
    pub fn metadata(&self) -> Option<&Object> {
        self.0.get("metadata")?.as_object()
    }
}

impl Artifact {
    /// Its id, unique within the task.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        text(&self.0, "artifactId")
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        text(&self.0, "name")
    }

    /// Its parts.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        all(&self.0, "parts")
    }

    /// The texts of its parts, one after the other.
    #[must_use]
    pub fn text(&self) -> String {
        part::joined(&self.parts())
    }
}

impl TaskPage {
    /// The tasks.
    #[must_use]
    pub fn tasks(&self) -> Vec<Task> {
        all(&self.0, "tasks")
    }

    /// What the next page is asked for with; `None` on the last one.
    #[must_use]
    pub fn next_page_token(&self) -> Option<&str> {
        text(&self.0, "nextPageToken")
    }

    /// How many tasks there are on all pages, if the agent says so.
    #[must_use]
    pub fn total_size(&self) -> Option<i64> {
        self.0.get("totalSize").and_then(Json::as_number).and_then(Number::as_i64)
    }
}

/// Which tasks to list.
///
/// ```
/// use a2a_client::{TaskFilter, TaskState};
/// let filter = TaskFilter::new().in_context("ctx-1").in_state(TaskState::Working).page_size(20);
/// assert_eq!(filter.as_object().str("status"), Some("TASK_STATE_WORKING"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter(Object);

impl TaskFilter {
    /// All of the caller's tasks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Those of one conversation.
    #[must_use]
    pub fn in_context(self, context: &str) -> Self {
        self.with("contextId", context)
    }

    /// Those in one state.
    #[must_use]
    pub fn in_state(self, state: TaskState) -> Self {
        self.with("status", state.name())
    }

    /// Those whose state was reached after this time (RFC 3339).
    #[must_use]
    pub fn changed_after(self, timestamp: &str) -> Self {
        self.with("statusTimestampAfter", timestamp)
    }

    /// So many a page; agents take 1 to 100.
    #[must_use]
    pub fn page_size(self, size: u32) -> Self {
        self.with("pageSize", i64::from(size))
    }

    /// The page that this token stands for.
    #[must_use]
    pub fn page(self, token: &str) -> Self {
        self.with("pageToken", token)
    }

    /// With so many messages of each task.
    #[must_use]
    pub fn history(self, length: u32) -> Self {
        self.with("historyLength", i64::from(length))
    }

    /// With what the tasks have made.
    #[must_use]
    pub fn with_artifacts(self) -> Self {
        self.with("includeArtifacts", true)
    }

    /// The members of `ListTasksRequest`.
    #[must_use]
    pub const fn as_object(&self) -> &Object {
        &self.0
    }

    pub(crate) fn into_object(self) -> Object {
        self.0
    }

    fn with(mut self, member: &str, value: impl Into<Json>) -> Self {
        self.0.insert(member, value);
        self
    }
}

pub(crate) fn state_of(holder: &Object) -> Option<TaskState> {
    TaskState::from_name(holder.get("status")?.get("state")?.as_str()?)
}
