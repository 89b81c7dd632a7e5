//! The tasks of one agent, in memory and bounded.
//!
//! Takes changes by task id; gives documents, lists and [`Subscription`]s. When it is full, the longest finished task makes
//! room; when none is finished, new tasks are refused. Nothing here waits while the lock is held.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use a2a::{Fault, FaultKind, TaskState};
use json::{Json, Object};
use time::{Duration, OffsetDateTime};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::list::ListQuery;
use crate::task::{Task, View, is_interrupted};

/// Where the time comes from.
pub(crate) type Clock = fn() -> OffsetDateTime;

/// Most tasks kept.
pub(crate) const TASK_LIMIT: usize = 10_000;

/// Most streams on one task.
const LISTENER_LIMIT: usize = 16;

#[derive(Debug)]
pub(crate) struct Tasks {
    clock: Clock,
    limit: usize,
    shelf: Mutex<Shelf>,
}

#[derive(Debug)]
struct Shelf {
    tasks: HashMap<String, Task>,
    /// The last time stamp given out.
    last: OffsetDateTime,
}

impl Tasks {
    pub(crate) fn new(clock: Clock, limit: usize) -> Arc<Self> {
        let shelf = Shelf { tasks: HashMap::new(), last: OffsetDateTime::UNIX_EPOCH };
        Arc::new(Self { clock, limit, shelf: Mutex::new(shelf) })
    }

    /// Makes room for one more task.
    ///
    /// # Errors
    /// [`FaultKind::Overloaded`] when every task is still at work.
    pub(crate) fn make_room(&self) -> Result<(), Fault> {
        let mut shelf = self.shelf();
        if shelf.tasks.len() < self.limit {
            return Ok(());
        }
        let finished = shelf.tasks.values().filter(|task| task.state.is_terminal());
        let oldest = finished.min_by_key(|task| task.updated).map(|task| task.id.clone());
        let oldest = oldest.ok_or_else(|| Fault::new(FaultKind::Overloaded, "too many unfinished tasks"))?;
        shelf.tasks.remove(&oldest);
        Ok(())
    }

    /// A new task for this message, and a subscription that misses nothing.
    pub(crate) fn create(self: &Arc<Self>, message: Object, cancel: CancellationToken, view: View) -> Subscription {
        let mut shelf = self.shelf();
        let now = shelf.stamp(self.clock);
        let context = message.str("contextId").filter(|id| !id.is_empty());
        let mut task = Task::new(context, now, cancel);
        task.hear(message);
        let subscription = self.subscription(&mut task, view);
        shelf.tasks.insert(task.id.clone(), task);
        subscription
    }

    /// Takes a task up again with a further message.
    ///
    /// # Errors
    /// When there is no such task, it is over, it is being worked on, or it belongs to another context.
    pub(crate) fn resume(
        self: &Arc<Self>,
        id: &str,
        message: Object,
        cancel: CancellationToken,
        view: View,
    ) -> Result<Subscription, Fault> {
        let mut shelf = self.shelf();
        let now = shelf.stamp(self.clock);
        let task = shelf.tasks.get_mut(id).ok_or(FaultKind::TaskNotFound)?;
        if message.str("contextId").is_some_and(|context| !context.is_empty() && context != task.context) {
            return Err(Fault::invalid_params("the task belongs to another context"));
        }
        if task.state.is_terminal() {
            return Err(Fault::new(FaultKind::UnsupportedOperation, "the task is finished and takes no more messages"));
        }
        if task.busy {
            return Err(Fault::new(FaultKind::UnsupportedOperation, "the task is still being worked on"));
        }
        task.hear(message);
        task.resume(cancel, now);
        Ok(self.subscription(task, view))
    }

    /// Changes one task; a task that is gone is left alone.
    pub(crate) fn change(&self, id: &str, change: impl FnOnce(&mut Task, OffsetDateTime)) {
        let mut shelf = self.shelf();
        let now = shelf.stamp(self.clock);
        if let Some(task) = shelf.tasks.get_mut(id) {
            change(task, now);
        }
    }

    /// The task as a document.
    pub(crate) fn document(&self, id: &str, view: View) -> Option<Json> {
        self.shelf().tasks.get(id).map(|task| task.document(view))
    }

    /// Follows a task that is not over.
    ///
    /// # Errors
    /// When there is no such task, it is over, or too many follow it.
    pub(crate) fn subscribe(self: &Arc<Self>, id: &str, view: View) -> Result<Subscription, Fault> {
        let mut shelf = self.shelf();
        let task = shelf.tasks.get_mut(id).ok_or(FaultKind::TaskNotFound)?;
        if task.state.is_terminal() {
            return Err(Fault::new(
                FaultKind::UnsupportedOperation,
                "the task is finished; there is nothing to follow",
            ));
        }
        if task.listeners() >= LISTENER_LIMIT {
            return Err(Fault::new(FaultKind::Overloaded, "too many streams follow this task"));
        }
        Ok(self.subscription(task, view))
    }

    /// Cancels a task; gives it as it is then.
    ///
    /// # Errors
    /// When there is no such task or it is over.
    pub(crate) fn cancel(&self, id: &str) -> Result<Json, Fault> {
        let mut shelf = self.shelf();
        let now = shelf.stamp(self.clock);
        let task = shelf.tasks.get_mut(id).ok_or(FaultKind::TaskNotFound)?;
        if !task.become_state(TaskState::Canceled, None, now) {
            return Err(FaultKind::TaskNotCancelable.into());
        }
        Ok(task.document(View::WHOLE))
    }

    /// Cancels every task that is being worked on.
    pub(crate) fn cancel_busy(&self) {
        let mut shelf = self.shelf();
        let now = shelf.stamp(self.clock);
        for task in shelf.tasks.values_mut().filter(|task| task.busy) {
            task.become_state(TaskState::Canceled, Some("the agent is shutting down"), now);
        }
    }

    /// One page, newest first.
    pub(crate) fn list(&self, query: &ListQuery) -> Json {
        let shelf = self.shelf();
        let mut found: Vec<&Task> = shelf.tasks.values().filter(|task| query.matches(task)).collect();
        found.sort_unstable_by_key(|task| std::cmp::Reverse(task.updated));
        let total = found.len();
        let mut rest = found.into_iter().skip_while(|task| query.before.is_some_and(|before| task.updated >= before));
        let page: Vec<&Task> = rest.by_ref().take(query.page_size).collect();
        let next = match (rest.next(), page.last()) {
            (Some(_), Some(last)) => ListQuery::token(last.updated),
            (Some(_) | None, _) => String::new(),
        };
        let tasks: Vec<Json> = page.iter().map(|task| task.document(query.view)).collect();
        let count = |count: usize| Json::from(i64::try_from(count).unwrap_or(i64::MAX));
        Json::from([
            ("tasks", Json::from(tasks)),
            ("nextPageToken", next.into()),
            ("pageSize", count(query.page_size)),
            ("totalSize", count(total)),
        ])
    }

    /// Listening begins and the opening is taken under one lock, so nothing is missed and nothing told twice.
    fn subscription(self: &Arc<Self>, task: &mut Task, view: View) -> Subscription {
        let events = task.listen();
        let opening = Some(task.document(view));
        Subscription { tasks: Arc::clone(self), id: task.id.clone(), view, events, phase: Phase::Following, opening }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    /// The time, in whole microseconds, later than every time given before.
    fn stamp(&mut self, clock: Clock) -> OffsetDateTime {
        let now = clock();
        let now = now.replace_microsecond(now.microsecond()).unwrap_or(now);
        self.last = now.max(self.last + Duration::microseconds(1));
        self.last
    }
}

/// One listener of one task: the task first, then every event up to a terminal or interrupted state.
#[derive(Debug)]
pub(crate) struct Subscription {
    tasks: Arc<Tasks>,
    id: String,
    view: View,
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
    pub(crate) fn task_id(&self) -> &str {
        &self.id
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
            Err(broadcast::error::RecvError::Lagged(_)) => self.catch_up(),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// Waits until the task is over or needs the caller.
    pub(crate) async fn settled(&mut self) {
        while self.next().await.is_some() {}
    }

    /// The whole task in place of the events that were missed.
    fn catch_up(&mut self) -> Option<Json> {
        let mut shelf = self.tasks.shelf();
        let task = shelf.tasks.get_mut(&self.id)?;
        self.events = task.listen();
        let (state, task) = (task.state, task.document(self.view));
        drop(shelf);
        self.note(Some(state));
        Some([("task", task)].into())
    }

    fn note(&mut self, state: Option<TaskState>) {
        if state.is_some_and(|state| state.is_terminal() || is_interrupted(state)) {
            self.phase = Phase::Over;
        }
    }
}

fn state_of(update: Option<&Json>) -> Option<TaskState> {
    TaskState::from_name(update?.get("status")?.get("state")?.as_str()?)
}

#[cfg(test)]
mod tests {
    use a2a::{Call, OperationKind, Version};

    use super::*;
    use crate::part::{self, Artifact};
    use crate::task::Piece;

    /// A clock that stands still, so that only the tasks' own order decides.
    fn standing() -> OffsetDateTime {
        OffsetDateTime::UNIX_EPOCH
    }

    fn message() -> Object {
        Object::from([
            ("messageId", Json::from("m")),
            ("role", "ROLE_USER".into()),
            ("parts", vec![part::text("hi")].into()),
        ])
    }

    fn create(tasks: &Arc<Tasks>) -> Subscription {
        tasks.make_room().unwrap();
        tasks.create(message(), CancellationToken::new(), View::WHOLE)
    }

    fn finish(tasks: &Tasks, id: &str) {
        tasks.change(id, |task, now| {
            task.busy = false;
            task.become_state(TaskState::Completed, None, now);
        });
    }

    fn list(tasks: &Tasks, params: impl Into<Object>) -> Json {
        let call = Call { kind: OperationKind::ListTasks, params: params.into(), origin: Version::V10 };
        tasks.list(&ListQuery::of(&call).unwrap())
    }

    fn ids(page: &Json) -> Vec<String> {
        let tasks = page.get("tasks").and_then(Json::as_array).unwrap();
        tasks.iter().map(|task| task.get("id").and_then(Json::as_str).unwrap().to_owned()).collect()
    }

    #[tokio::test]
    async fn a_full_shelf_drops_the_longest_finished_task_and_else_refuses() {
        let tasks = Tasks::new(standing, 2);
        let (first, second) = (create(&tasks), create(&tasks));
        assert_eq!(tasks.make_room().unwrap_err().kind, FaultKind::Overloaded);
        finish(&tasks, second.task_id());
        finish(&tasks, first.task_id());
        create(&tasks);
        assert_eq!(tasks.document(second.task_id(), View::WHOLE), None);
        assert!(tasks.document(first.task_id(), View::WHOLE).is_some());
    }

    #[tokio::test]
    async fn pages_are_newest_first_and_together_hold_every_task_once() {
        let tasks = Tasks::new(standing, 10);
        let mut made: Vec<String> = (0..5).map(|_| create(&tasks).task_id().to_owned()).collect();
        finish(&tasks, &made[0]);
        let finished = made.remove(0);
        made.push(finished);
        made.reverse();
        let (mut seen, mut token) = (Vec::new(), Json::from(""));
        for size in [2, 2, 1] {
            let page = list(&tasks, [("pageSize", Json::from(2)), ("pageToken", token)]);
            assert_eq!((ids(&page).len(), page.get("totalSize")), (size, Some(&Json::from(5))));
            seen.extend(ids(&page));
            token = page.get("nextPageToken").unwrap().clone();
        }
        assert_eq!((seen, token), (made.clone(), "".into()));
        assert_eq!(ids(&list(&tasks, [("status", "TASK_STATE_COMPLETED")])), made[..1]);
    }

    #[tokio::test]
    async fn list_queries_out_of_range_are_refused() {
        for (key, value) in [
            ("pageSize", Json::from(0)),
            ("pageSize", 101.into()),
            ("pageSize", "many".into()),
            ("pageToken", "x".into()),
            ("status", "DONE".into()),
            ("historyLength", (-1).into()),
            ("includeArtifacts", "yes".into()),
            ("statusTimestampAfter", "2026-01-01T00:00:00".into()),
        ] {
            let call = Call { kind: OperationKind::ListTasks, params: [(key, value)].into(), origin: Version::V10 };
            assert_eq!(ListQuery::of(&call).unwrap_err().kind, FaultKind::InvalidParams, "{key}");
        }
    }

    #[tokio::test]
    async fn a_listener_that_falls_behind_gets_the_whole_task_and_then_the_rest() {
        let tasks = Tasks::new(standing, 10);
        let mut subscription = create(&tasks);
        let id = subscription.task_id().to_owned();
        assert!(subscription.next().await.unwrap().get("task").is_some());
        for at in 0..300 {
            let piece = if at == 0 { Piece::First } else { Piece::More };
            tasks.change(&id, |task, _| task.make("a", Artifact::new("long", [part::text(at.to_string())]), piece));
        }
        let caught_up = subscription.next().await.unwrap();
        assert_eq!(caught_up.pointer("/task/artifacts/0/parts").unwrap().as_array().unwrap().len(), 300);
        finish(&tasks, &id);
        assert_eq!(
            subscription.next().await.unwrap().pointer("/statusUpdate/status/state"),
            Some(&"TASK_STATE_COMPLETED".into())
        );
        assert_eq!(subscription.next().await, None);
    }

    #[tokio::test]
    async fn a_finished_task_never_changes() {
        let tasks = Tasks::new(standing, 10);
        let subscription = create(&tasks);
        let id = subscription.task_id();
        finish(&tasks, id);
        let finished = tasks.document(id, View::WHOLE);
        tasks.change(id, |task, now| {
            task.make("a", Artifact::new("late", [part::text("late")]), Piece::Whole);
            assert!(!task.become_state(TaskState::Working, None, now));
        });
        assert_eq!(tasks.document(id, View::WHOLE), finished);
        assert_eq!(tasks.cancel(id).unwrap_err().kind, FaultKind::TaskNotCancelable);
        assert_eq!(tasks.subscribe(id, View::WHOLE).unwrap_err().kind, FaultKind::UnsupportedOperation);
        let resumed = tasks.resume(id, message(), CancellationToken::new(), View::WHOLE);
        assert_eq!(resumed.unwrap_err().kind, FaultKind::UnsupportedOperation);
    }

    #[tokio::test]
    async fn the_seventeenth_listener_is_refused() {
        let tasks = Tasks::new(standing, 10);
        let first = create(&tasks);
        let more: Vec<_> =
            (1..LISTENER_LIMIT).map(|_| tasks.subscribe(first.task_id(), View::WHOLE).unwrap()).collect();
        assert_eq!(tasks.subscribe(first.task_id(), View::WHOLE).unwrap_err().kind, FaultKind::Overloaded);
        drop(more);
        assert!(tasks.subscribe(first.task_id(), View::WHOLE).is_ok());
    }
}
