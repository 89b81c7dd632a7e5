//! The one path of an event to a caller (product.md D21): claim its ids, guard it, encode it.
//!
//! *Takes* a decoded event. *Gives* the bytes that the caller gets. *Refuses* an event that names somebody else's task
//! or may not be heard; the stream must then be cut. Streams, resubscriptions and push deliveries all go through here.

use crate::pipeline::audit::Trail;
use crate::pipeline::guard::{Findings, GuardError, Guards, StreamGuard};
use crate::pipeline::owner::{OwnerError, Ownership};
use a2a::{Event, Fault, TaskState, Version, Voice};

/// Why an event may not pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// A guardrail.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// Ids that are not the caller's.
    #[error(transparent)]
    Owner(#[from] OwnerError),
}

/// Everything an event passes.
#[derive(Debug)]
pub struct EventPath {
    ownership: Ownership,
    guards: Guards,
    guard: StreamGuard,
    voice: Voice,
    progress: Progress,
}

/// How far the stream has come.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Whether anything was told.
    pub begun: bool,
    /// The task, once named.
    pub task: Option<String>,
    /// Its context.
    pub context: Option<String>,
    /// The last state that was told.
    pub state: Option<TaskState>,
    /// A message, or `final` in the older generation: nothing follows.
    pub last: bool,
}

impl Progress {
    /// Whether the stream may end here: the task rests, or a message was the answer (F19).
    #[must_use]
    pub fn may_end(&self) -> bool {
        self.last || self.state.is_some_and(TaskState::rests)
    }

    fn note(&mut self, event: &Event) {
        self.begun = true;
        if let Some(task) = event.task_id() {
            self.task = Some(task.to_owned());
        }
        if let Some(context) = event.context_id() {
            self.context = Some(context.to_owned());
        }
        if let Some(state) = event.state() {
            self.state = Some(state);
        }
        self.last = event.is_terminal();
    }
}

impl EventPath {
    /// A path for the events of one stream.
    #[must_use]
    pub fn new(ownership: Ownership, guards: Guards, voice: Voice) -> Self {
        let guard = guards.stream();
        Self { ownership, guards, guard, voice, progress: Progress::default() }
    }

    /// How to speak to the caller.
    #[must_use]
    pub fn voice(&self) -> &Voice {
        &self.voice
    }

    /// How far the stream has come.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The task that the stream is about: named by an event, else the one that was asked for.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        self.progress.task.as_deref().or_else(|| self.ownership.addressed())
    }

    /// Lets one event pass. `size` is the number of bytes it was written in.
    ///
    /// # Errors
    /// [`EventError`]
    pub async fn pass(&mut self, event: Event, size: usize, trail: &mut Trail) -> Result<Vec<u8>, EventError> {
        self.ownership.told(&event).await?;
        let mut findings = Findings::default();
        let guarded = self.guard.event(event, size, &mut findings).await;
        trail.inspected(findings);
        Ok(self.tell(guarded?, trail))
    }

    /// What is still held back when the agent says no more.
    ///
    /// # Errors
    /// [`EventError::Guard`]
    pub fn finish(&mut self, trail: &mut Trail) -> Result<Vec<u8>, EventError> {
        let mut findings = Findings::default();
        let left = self.guard.finish(&mut findings);
        trail.inspected(findings);
        Ok(self.tell(left?, trail))
    }

    fn tell(&mut self, events: Vec<Event>, trail: &mut Trail) -> Vec<u8> {
        let mut bytes = Vec::new();
        for event in events {
            if let Some(task) = self.first_task(&event) {
                bytes.extend(self.voice.event(task));
            }
            self.progress.note(&event);
            trail.told(&event);
            bytes.extend(self.voice.event(event));
        }
        trail.sent(bytes.len());
        bytes
    }

    /// Lets the agent's own error pass: its text is content too.
    ///
    /// # Errors
    /// [`EventError::Guard`]
    pub async fn fault(&mut self, fault: Fault, size: usize, trail: &mut Trail) -> Result<Fault, EventError> {
        let mut findings = Findings::default();
        let guarded = self.guards.fault(fault, size, &mut findings).await;
        trail.inspected(findings);
        Ok(guarded?)
    }

    /// A v1.0 stream begins with a task; agents of the other generation begin with an update (protocol 8 #11).
    fn first_task(&self, event: &Event) -> Option<Event> {
        if self.progress.begun || self.voice.dialect.version() != Version::V10 {
            return None;
        }
        event.opening_task()
    }
}
