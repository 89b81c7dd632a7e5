//! One turn of a conversation: what the caller said, and what the author's code may do about it.
//!
//! A [`Turn`] goes to the author's code, which gives an [`Outcome`] back. Work that takes time is started first
//! ([`Turn::start`]); the [`TaskHandle`] then tells progress while it goes on. After a task is over, handles of it do nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use a2a::TaskState;
use json::{Json, Object};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use ulid::Ulid;

use crate::caller::Caller;
use crate::part::{self, Artifact};
use crate::send::Opened;
use crate::subscription::Subscription;
use crate::task::{Piece, Task, agent_message};
use crate::tasks::Tasks;

/// How a turn ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A message and no task. On a turn that has a task already, it completes the task with these texts.
    Message(Vec<Json>),
    /// The task is done, with these artifacts besides those told before.
    Completed(Vec<Artifact>),
    /// The caller has to say more; its next message with this task's id is the next turn.
    InputRequired(String),
    /// The caller has to authenticate first.
    AuthRequired(String),
    /// It did not work.
    Failed(String),
    /// The agent does not do that.
    Rejected(String),
}

impl Outcome {
    /// A direct message with this text.
    #[must_use]
    pub fn say(text: impl Into<String>) -> Self {
        Self::Message(vec![part::text(text)])
    }

    /// A completed task with one artifact.
    #[must_use]
    pub fn artifact(name: impl Into<String>, parts: impl Into<Vec<Json>>) -> Self {
        Self::Completed(vec![Artifact::new(name, parts)])
    }
}

/// What the caller said, and the way to start work on it.
#[derive(Clone, Debug)]
pub struct Turn {
    message: Arc<Object>,
    slot: Arc<Slot>,
    /// The task as it was before this message.
    task: Option<Arc<Json>>,
}

/// Whether a turn begins a task or goes on with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is no task yet.
    First,
    /// The task asked for more, and this is it.
    FollowUp,
}

impl Turn {
    pub(crate) fn new(message: Object, slot: Arc<Slot>, task: Option<Json>) -> Self {
        Self { message: Arc::new(message), slot, task: task.map(Arc::new) }
    }

    /// The message, in v1.0 shape.
    #[must_use]
    pub fn message(&self) -> &Object {
        &self.message
    }

    /// Its parts, in v1.0 shape.
    #[must_use]
    pub fn parts(&self) -> &[Json] {
        self.message.get("parts").and_then(Json::as_array).unwrap_or_default()
    }

    /// The texts of its parts, one a line.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.parts().iter().filter_map(|part| part.get("text")?.as_str()).collect();
        texts.join("\n")
    }

    /// A member of the message's metadata.
    #[must_use]
    pub fn metadata(&self, key: &str) -> Option<&Json> {
        self.message.get("metadata")?.get(key)
    }

    /// Whether the turn begins a task or goes on with one.
    #[must_use]
    pub const fn step(&self) -> Step {
        if self.task.is_some() { Step::FollowUp } else { Step::First }
    }

    /// The task that this message goes on with, as it was before: its history, and what it has made so far.
    #[must_use]
    pub fn task(&self) -> Option<&Json> {
        self.task.as_deref()
    }

    /// Who sent the message.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.slot.caller
    }

    /// Begins work that callers can watch: the task exists and is WORKING from now on.
    #[must_use]
    pub fn start(&self) -> TaskHandle {
        let id = self.slot.task();
        self.slot.tasks.change(&id, |task, now| {
            if task.state == TaskState::Submitted {
                task.become_state(TaskState::Working, None, now);
            }
        });
        TaskHandle { tasks: Arc::clone(&self.slot.tasks), id, cancel: self.slot.cancel.clone() }
    }
}

/// A task that is being worked on.
#[derive(Clone, Debug)]
pub struct TaskHandle {
    tasks: Arc<Tasks>,
    id: String,
    cancel: CancellationToken,
}

impl TaskHandle {
    /// The task's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Tells how it goes; the task stays WORKING.
    pub fn progress(&self, text: &str) {
        self.tasks.change(&self.id, |task, now| {
            task.become_state(TaskState::Working, Some(text), now);
        });
    }

    /// Gives a whole artifact.
    pub fn artifact(&self, artifact: Artifact) {
        self.make(&Ulid::generate().to_string(), artifact, Piece::Whole);
    }

    /// Begins an artifact that comes in pieces: the first piece makes it, further ones are appended, the last one closes it.
    #[must_use]
    pub fn open_artifact(&self, name: impl Into<String>) -> OpenArtifact {
        OpenArtifact { task: self.clone(), id: Ulid::generate().to_string(), name: name.into(), next: Piece::First }
    }

    /// Whether the task was cancelled. The author's code is dropped a few seconds after that.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Waits until the task is cancelled.
    pub async fn canceled(&self) {
        self.cancel.cancelled().await;
    }

    fn make(&self, id: &str, artifact: Artifact, piece: Piece) {
        self.tasks.add_piece(&self.id, |task| task.make(id, artifact, piece));
    }
}

/// An artifact that comes in pieces.
#[derive(Debug)]
pub struct OpenArtifact {
    task: TaskHandle,
    id: String,
    name: String,
    next: Piece,
}

impl OpenArtifact {
    /// One more piece.
    pub fn push(&mut self, parts: impl Into<Vec<Json>>) {
        self.task.make(&self.id, Artifact::new(self.name.as_str(), parts), self.next);
        self.next = Piece::More;
    }

    /// The last piece.
    pub fn close(self, parts: impl Into<Vec<Json>>) {
        let piece = if self.next == Piece::First { Piece::Only } else { Piece::Last };
        self.task.make(&self.id, Artifact::new(self.name, parts), piece);
    }
}

/// What a caller is answered with first.
#[derive(Debug)]
pub(crate) enum First {
    Message(Json),
    Task(Subscription),
}

/// Where a turn meets the caller who waits for it: the task if there is one, and the way to tell that first.
#[derive(Debug)]
pub(crate) struct Slot {
    tasks: Arc<Tasks>,
    caller: Caller,
    pub(crate) cancel: CancellationToken,
    state: Mutex<SlotState>,
}

#[derive(Debug)]
enum SlotState {
    /// Nobody knows yet whether there will be a task.
    Open { opened: Opened, first: oneshot::Sender<First> },
    /// There is a task.
    Task(String),
    /// A direct message was the answer.
    Answered,
}

impl Slot {
    /// For a message that begins something; `first` comes once that is known.
    pub(crate) fn open(tasks: &Arc<Tasks>, caller: Caller, opened: Opened) -> (Arc<Self>, oneshot::Receiver<First>) {
        let (first, waits) = oneshot::channel();
        let cancel = CancellationToken::new();
        let state = Mutex::new(SlotState::Open { opened, first });
        (Arc::new(Self { tasks: Arc::clone(tasks), caller, cancel, state }), waits)
    }

    /// For a message that goes on with a task.
    pub(crate) fn of_task(tasks: &Arc<Tasks>, caller: Caller, id: &str, cancel: CancellationToken) -> Arc<Self> {
        let state = Mutex::new(SlotState::Task(id.to_owned()));
        Arc::new(Self { tasks: Arc::clone(tasks), caller, cancel, state })
    }

    /// The task's id; the task is made if there is none.
    pub(crate) fn task(&self) -> String {
        let mut state = self.state();
        match std::mem::replace(&mut *state, SlotState::Answered) {
            SlotState::Open { opened: Opened { message, push, view }, first } => {
                let context = message.str("contextId").filter(|id| !id.is_empty());
                let mut task = Task::new(self.caller.scope(), context, self.cancel.clone());
                task.push.extend(push);
                let subscription = self.tasks.create(task, message, view);
                let id = subscription.task_id().to_owned();
                *state = SlotState::Task(id.clone());
                // A caller who has gone away no longer waits; the work goes on.
                let _ = first.send(First::Task(subscription));
                id
            }
            SlotState::Task(id) => {
                *state = SlotState::Task(id.clone());
                id
            }
            // A handle kept beyond the end of its turn: an id that no task has.
            SlotState::Answered => String::new(),
        }
    }

    /// Ends the turn.
    pub(crate) fn finish(&self, outcome: Outcome) {
        let Some(outcome) = self.answer_directly(outcome) else { return };
        let id = self.task();
        self.tasks.change(&id, |task, now| {
            task.busy = false;
            let (state, text) = match outcome {
                Outcome::Message(parts) => (TaskState::Completed, Some(texts(&parts))),
                Outcome::Completed(artifacts) => {
                    for artifact in artifacts {
                        task.make(&Ulid::generate().to_string(), artifact, Piece::Whole);
                    }
                    (TaskState::Completed, None)
                }
                Outcome::InputRequired(text) => (TaskState::InputRequired, Some(text)),
                Outcome::AuthRequired(text) => (TaskState::AuthRequired, Some(text)),
                Outcome::Failed(text) => (TaskState::Failed, Some(text)),
                Outcome::Rejected(text) => (TaskState::Rejected, Some(text)),
            };
            task.become_state(state, text.as_deref(), now);
        });
    }

    /// Sends a direct message if that is the outcome and there is no task; else gives the outcome back.
    fn answer_directly(&self, outcome: Outcome) -> Option<Outcome> {
        let Outcome::Message(parts) = outcome else { return Some(outcome) };
        let mut state = self.state();
        match std::mem::replace(&mut *state, SlotState::Answered) {
            SlotState::Open { opened, first } => {
                let mut message = agent_message(parts);
                let context = opened.message.str("contextId").filter(|id| !id.is_empty()).map(str::to_owned);
                message.insert("contextId", context.unwrap_or_else(|| Ulid::generate().to_string()));
                let _ = first.send(First::Message(message.into()));
                None
            }
            other @ (SlotState::Task(_) | SlotState::Answered) => {
                *state = other;
                Some(Outcome::Message(parts))
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn texts(parts: &[Json]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
    texts.join("\n")
}
