//! One task: its state, what was said and made, and who listens.
//!
//! Takes changes with the time they happen at; gives documents and events in v1.0 shape. Refuses to change after a
//! terminal state. Knows nothing of other tasks.

use a2a::TaskState;
use json::{Json, Object};
use time::OffsetDateTime;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use ulid::Ulid;

use crate::part::Artifact;

/// How much of a task a document shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// At most this many messages, the newest; `None`: all.
    pub(crate) history: Option<usize>,
    /// Whether artifacts are shown.
    pub(crate) artifacts: bool,
}

impl View {
    /// Everything.
    pub(crate) const WHOLE: Self = Self { history: None, artifacts: true };
}

/// Where in an artifact a piece stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// All of it at once.
    Whole,
    /// The first of several.
    First,
    /// The first, and the end as well.
    Only,
    /// One more.
    More,
    /// The end.
    Last,
}

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) context: String,
    pub(crate) state: TaskState,
    /// Of the last change of state; no two tasks of an agent share one.
    pub(crate) updated: OffsetDateTime,
    /// Cancelled when the task is.
    pub(crate) cancel: CancellationToken,
    /// Whether the author's code is at work on it.
    pub(crate) busy: bool,
    said: Option<Json>,
    artifacts: Vec<Object>,
    history: Vec<Json>,
    /// There while somebody may listen. If it overflows, the listener gets the whole task instead of what it missed.
    events: Option<broadcast::Sender<Json>>,
}

/// Events a listener may be behind.
const BACKLOG: usize = 256;

/// Messages kept per task, the newest.
const HISTORY_LIMIT: usize = 200;

impl Task {
    pub(crate) fn new(context: Option<&str>, now: OffsetDateTime, cancel: CancellationToken) -> Self {
        Self {
            id: Ulid::generate().to_string(),
            context: context.map_or_else(|| Ulid::generate().to_string(), str::to_owned),
            state: TaskState::Submitted,
            updated: now,
            cancel,
            busy: true,
            said: None,
            artifacts: Vec::new(),
            history: Vec::new(),
            events: None,
        }
    }

    /// Adds what the caller said, marked as belonging to this task.
    pub(crate) fn hear(&mut self, mut message: Object) {
        message.insert("taskId", self.id.as_str());
        message.insert("contextId", self.context.as_str());
        if self.history.len() >= HISTORY_LIMIT {
            self.history.remove(0);
        }
        self.history.push(message.into());
    }

    /// Goes to another state, perhaps saying something. `false`: the task is over, nothing changed.
    pub(crate) fn become_state(&mut self, state: TaskState, text: Option<&str>, now: OffsetDateTime) -> bool {
        if self.state.is_terminal() {
            return false;
        }
        (self.state, self.updated) = (state, now);
        self.said = text.map(|text| self.say(vec![crate::part::text(text)]).into());
        let update = Object::from([
            ("taskId", Json::from(self.id.as_str())),
            ("contextId", self.context.as_str().into()),
            ("status", self.status()),
        ]);
        self.tell(&[("statusUpdate", update)].into());
        if state.is_terminal() {
            self.cancel.cancel();
            self.events = None;
        }
        true
    }

    /// Takes up work again.
    pub(crate) fn resume(&mut self, cancel: CancellationToken, now: OffsetDateTime) {
        (self.cancel, self.busy) = (cancel, true);
        self.become_state(TaskState::Working, None, now);
    }

    /// Adds to an artifact.
    pub(crate) fn make(&mut self, id: &str, artifact: Artifact, piece: Piece) {
        if self.state.is_terminal() {
            return;
        }
        let append = matches!(piece, Piece::More | Piece::Last);
        let document = artifact.document(id);
        let known = self.artifacts.iter_mut().find(|known| known.str("artifactId") == Some(id));
        match known.and_then(|known| known.get_mut("parts")).and_then(Json::as_array_mut) {
            Some(parts) if append => {
                parts.extend(document.get("parts").and_then(Json::as_array).unwrap_or_default().iter().cloned());
            }
            Some(_) | None => {
                self.artifacts.retain(|known| known.str("artifactId") != Some(id));
                self.artifacts.push(document.clone());
            }
        }
        let mut update = Object::from([
            ("taskId", Json::from(self.id.as_str())),
            ("contextId", self.context.as_str().into()),
            ("artifact", document.into()),
        ]);
        if append {
            update.insert("append", true);
        }
        if matches!(piece, Piece::Last | Piece::Only) {
            update.insert("lastChunk", true);
        }
        self.tell(&[("artifactUpdate", update)].into());
    }

    /// A message of the agent's that belongs to this task.
    fn say(&self, parts: Vec<Json>) -> Object {
        let mut message = agent_message(parts);
        message.insert("contextId", self.context.as_str());
        message.insert("taskId", self.id.as_str());
        message
    }

    /// The task as a document.
    pub(crate) fn document(&self, view: View) -> Json {
        let mut task = Object::from([
            ("id", Json::from(self.id.as_str())),
            ("contextId", self.context.as_str().into()),
            ("status", self.status()),
        ]);
        if view.artifacts && !self.artifacts.is_empty() {
            task.insert("artifacts", self.artifacts.iter().cloned().map(Json::from).collect::<Vec<_>>());
        }
        let skipped = view.history.map_or(0, |most| self.history.len().saturating_sub(most));
        let history: Vec<Json> = self.history.iter().skip(skipped).cloned().collect();
        if !history.is_empty() {
            task.insert("history", history);
        }
        task.into()
    }

    /// Listens from now on.
    pub(crate) fn listen(&mut self) -> broadcast::Receiver<Json> {
        if self.state.is_terminal() {
            // Nothing will come: the sender is gone with this scope.
            return broadcast::channel(1).1;
        }
        self.events.get_or_insert_with(|| broadcast::channel(BACKLOG).0).subscribe()
    }

    /// How many listen.
    pub(crate) fn listeners(&self) -> usize {
        self.events.as_ref().map_or(0, broadcast::Sender::receiver_count)
    }

    fn tell(&self, event: &Json) {
        if let Some(events) = &self.events {
            // No listener is no fault.
            let _ = events.send(event.clone());
        }
    }

    fn status(&self) -> Json {
        let mut status = Object::from([("state", self.state.name())]);
        if let Some(said) = &self.said {
            status.insert("message", said.clone());
        }
        status.insert("timestamp", timestamp(self.updated));
        status.into()
    }
}

/// A message of the agent's, not bound to a task.
pub(crate) fn agent_message(parts: Vec<Json>) -> Object {
    Object::from([
        ("messageId", Json::from(Ulid::generate().to_string())),
        ("role", "ROLE_AGENT".into()),
        ("parts", parts.into()),
    ])
}

/// Whether the caller has to do something before the task goes on.
pub(crate) const fn is_interrupted(state: TaskState) -> bool {
    matches!(state, TaskState::InputRequired | TaskState::AuthRequired)
}

/// RFC 3339, UTC, six digits: ProtoJSON wants 0, 3, 6 or 9.
pub(crate) fn timestamp(at: OffsetDateTime) -> String {
    let (date, time) = (at.date(), at.time());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    let (hour, minute, second, micros) = (time.hour(), time.minute(), time.second(), time.microsecond());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}
