//! One task: its state, what was said and made, and who listens.
//!
//! Takes changes with the time they happen at; gives documents, events in v1.0 shape, and the record that a store keeps.
//! Refuses to change after a terminal state. Knows nothing of other tasks.

use a2a::{Fault, TaskState};
use json::{Json, Object};
use time::OffsetDateTime;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use ulid::Ulid;

use crate::list::micros;
use crate::part::Artifact;
use crate::push::{CONFIG_LIMIT, Config};
use crate::store::TaskRecord;

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

    /// What of a whole task it shows.
    pub(crate) fn of(self, mut document: Json) -> Json {
        let Some(task) = document.as_object_mut() else { return document };
        if !self.artifacts {
            task.remove("artifacts");
        }
        if let (Some(most), Some(history)) = (self.history, task.get_mut("history").and_then(Json::as_array_mut)) {
            history.drain(..history.len().saturating_sub(most));
            if history.is_empty() {
                task.remove("history");
            }
        }
        document
    }
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
    /// Whose it is.
    pub(crate) owner: String,
    pub(crate) context: String,
    pub(crate) state: TaskState,
    /// Of the last change of state; no two tasks of an agent share one.
    pub(crate) updated: OffsetDateTime,
    /// Cancelled when the task is.
    pub(crate) cancel: CancellationToken,
    /// Whether the author's code is at work on it.
    pub(crate) busy: bool,
    /// Where its events are sent.
    pub(crate) push: Vec<Config>,
    /// How far the store has it.
    pub(crate) saving: Saving,
    said: Option<Json>,
    artifacts: Vec<Object>,
    history: Vec<Json>,
    /// There while somebody may listen. If it overflows, the listener gets the whole task instead of what it missed.
    events: Option<broadcast::Sender<Json>>,
}

/// What of a task the store has: versions grow with every change that is worth a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Saving {
    pub(crate) version: i64,
    pub(crate) saved: i64,
    /// The newest version that could not be saved.
    pub(crate) failed: i64,
    /// Whether somebody is at it.
    pub(crate) going_on: bool,
}

impl Saving {
    pub(crate) const fn is_due(self) -> bool {
        self.version > self.saved
    }
}

/// Events a listener may be behind.
const BACKLOG: usize = 256;

/// Messages kept per task, the newest.
const HISTORY_LIMIT: usize = 200;

impl Task {
    pub(crate) fn new(owner: &str, context: Option<&str>, cancel: CancellationToken) -> Self {
        Self {
            id: Ulid::generate().to_string(),
            owner: owner.to_owned(),
            context: context.map_or_else(|| Ulid::generate().to_string(), str::to_owned),
            state: TaskState::Submitted,
            updated: OffsetDateTime::UNIX_EPOCH,
            cancel,
            busy: true,
            push: Vec::new(),
            saving: Saving { version: 1, saved: 0, failed: 0, going_on: false },
            said: None,
            artifacts: Vec::new(),
            history: Vec::new(),
            events: None,
        }
    }

    /// The task that a store kept. Nobody works on it.
    pub(crate) fn of_record(record: TaskRecord) -> Self {
        let TaskRecord { id, owner, context, state, updated, version, document, push } = record;
        let list = |key: &str| document.get(key).and_then(Json::as_array).unwrap_or_default();
        let push = push.as_array().unwrap_or_default().iter().filter_map(Config::of_kept).collect();
        let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(updated) * 1000);
        Self {
            said: document.pointer("/status/message").cloned(),
            artifacts: list("artifacts").iter().filter_map(Json::as_object).cloned().collect(),
            history: list("history").to_vec(),
            updated: time.unwrap_or(OffsetDateTime::UNIX_EPOCH),
            saving: Saving { version, saved: version, failed: 0, going_on: false },
            cancel: CancellationToken::new(),
            busy: false,
            events: None,
            id,
            owner,
            context,
            state,
            push,
        }
    }

    /// What a store keeps.
    pub(crate) fn record(&self) -> TaskRecord {
        TaskRecord {
            id: self.id.clone(),
            owner: self.owner.clone(),
            context: self.context.clone(),
            state: self.state,
            updated: micros(self.updated),
            version: self.saving.version,
            document: self.document(View::WHOLE),
            push: self.push.iter().map(Config::kept).collect::<Vec<_>>().into(),
        }
    }

    /// Adds a push configuration, in place of one with the same id.
    pub(crate) fn add_push(&mut self, config: Config) -> Result<(), Fault> {
        self.remove_push(config.id());
        if self.push.len() >= CONFIG_LIMIT {
            let text = format!("a task takes at most {CONFIG_LIMIT} push notification configurations");
            return Err(Fault::invalid_params(text));
        }
        self.push.push(config);
        self.touch();
        Ok(())
    }

    /// Removes a push configuration, if it is there.
    pub(crate) fn remove_push(&mut self, id: &str) {
        let Some(at) = self.push.iter().position(|config| config.id() == id) else { return };
        if let Some(courier) = self.push.remove(at).courier {
            courier.cancel();
        }
        self.touch();
    }

    /// Notes a change that is worth a save.
    pub(crate) const fn touch(&mut self) {
        self.saving.version = self.saving.version.saturating_add(1);
    }

    /// Whether nothing would be lost if only the store had it.
    pub(crate) fn is_at_rest(&self) -> bool {
        !self.busy && !self.saving.is_due() && !self.saving.going_on && self.listeners() == 0
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
        self.touch();
        self.said = text.map(|text| self.say(vec![crate::part::text(text)]).into());
        let update = Object::from([
            ("taskId", Json::from(self.id.as_str())),
            ("contextId", self.context.as_str().into()),
            ("status", self.status()),
        ]);
        self.tell(&[("statusUpdate", update)].into());
        if state.is_terminal() {
            self.cancel.cancel();
        }
        if state.is_terminal() || (state.rests() && self.push.is_empty()) {
            // Streams end here; only push notifications go on when the task does.
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
        self.touch();
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

    /// Ends what listens.
    pub(crate) fn hush(&mut self) {
        self.events = None;
    }

    /// How many listen, push notifications included.
    pub(crate) fn listeners(&self) -> usize {
        self.events.as_ref().map_or(0, broadcast::Sender::receiver_count)
    }

    /// How many callers hold a stream.
    pub(crate) fn streams(&self) -> usize {
        self.listeners().saturating_sub(self.push.iter().filter(|config| config.is_followed()).count())
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

/// RFC 3339, UTC, six digits: ProtoJSON wants 0, 3, 6 or 9.
pub(crate) fn timestamp(at: OffsetDateTime) -> String {
    let (date, time) = (at.date(), at.time());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    let (hour, minute, second, micros) = (time.hour(), time.minute(), time.second(), time.microsecond());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}
