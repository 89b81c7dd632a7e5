//! One listener of one task: the task first, then every event up to where it stops.
//!
//! Listening begins and the opening is taken under one lock, so nothing is missed and nothing told twice. A listener that
//! falls too far behind gets the whole task in place of what it missed.

use std::sync::Arc;

use a2a::TaskState;
use json::Json;
use tokio::sync::broadcast;

use crate::caller::Caller;
use crate::task::{Task, View};
use crate::tasks::Tasks;

/// Where a listener stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// When the task is over or waits for its caller: a stream.
    Rest,
    /// When the task is over: push notifications.
    Over,
}

#[derive(Debug)]
pub(crate) struct Subscription {
    tasks: Arc<Tasks>,
    id: String,
    owner: Caller,
    view: View,
    until: Until,
    /// The task as it was when listening began, until it is told.
    opening: Option<Json>,
    events: broadcast::Receiver<Json>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Following,
    Over,
}

impl Subscription {
    pub(crate) fn open(tasks: &Arc<Tasks>, task: &mut Task, view: View, until: Until) -> Self {
        let events = task.listen();
        let opening = Some(task.document(view));
        let (id, owner) = (task.id.clone(), Caller::unknown(task.owner.as_str()));
        Self { tasks: Arc::clone(tasks), id, owner, view, until, events, phase: Phase::Following, opening }
    }

    pub(crate) fn task_id(&self) -> &str {
        &self.id
    }

    /// Leaves the opening out.
    pub(crate) fn without_opening(mut self) -> Self {
        self.opening = None;
        self
    }

    /// The next event in v1.0 shape; `None` when the stream is at its end.
    pub(crate) async fn next(&mut self) -> Option<Json> {
        if let Some(task) = self.opening.take() {
            return Some([("task", task)].into());
        }
        if self.phase == Phase::Over {
            return None;
        }
        match self.events.recv().await {
            Ok(event) => {
                self.note(state_of(event.get("statusUpdate")));
                Some(event)
            }
            Err(broadcast::error::RecvError::Lagged(_)) => self.catch_up().await,
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// Waits until the task is over or needs the caller.
    pub(crate) async fn settled(&mut self) {
        while self.next().await.is_some() {}
    }

    /// The whole task as it is.
    pub(crate) async fn task(&self) -> Option<Json> {
        self.tasks.document(&self.owner, &self.id, View::WHOLE).await.ok()
    }

    /// The whole task in place of the events that were missed.
    async fn catch_up(&mut self) -> Option<Json> {
        let living = self.tasks.live().tasks.get_mut(&self.id).map(|task| {
            self.events = task.listen();
            (task.state, task.document(self.view))
        });
        let task = match living {
            Some((state, task)) => {
                self.note(Some(state));
                task
            }
            None => {
                self.phase = Phase::Over;
                self.tasks.document(&self.owner, &self.id, self.view).await.ok()?
            }
        };
        Some([("task", task)].into())
    }

    fn note(&mut self, state: Option<TaskState>) {
        let ends = |state: TaskState| match self.until {
            Until::Rest => state.rests(),
            Until::Over => state.is_terminal(),
        };
        if state.is_some_and(ends) {
            self.phase = Phase::Over;
        }
    }
}

fn state_of(update: Option<&Json>) -> Option<TaskState> {
    TaskState::from_name(update?.get("status")?.get("state")?.as_str()?)
}
