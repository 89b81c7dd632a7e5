//! The tasks of one agent: those that live are here, all others in the store.
//!
//! A task lives while the author's code is at work on it, somebody listens, or the store does not have its last change. Takes
//! changes by task id; gives documents, lists and [`Subscription`]s. Nothing waits while the lock is held. Whoever asks for a
//! task of another owner is told that there is none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use a2a::{Fault, FaultKind, TaskState};
use futures_util::FutureExt;
use json::{Json, Object};
use time::{Duration, OffsetDateTime};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::caller::Caller;
use crate::list::{ListQuery, micros};
use crate::push::{Config, Post};
use crate::store::{StoreError, TaskStore};
use crate::subscription::{Subscription, Until};
use crate::task::{Task, View};

/// Where the time comes from.
pub(crate) type Clock = fn() -> OffsetDateTime;

/// Most streams on one task.
const STREAM_LIMIT: usize = 16;

#[derive(Debug)]
pub(crate) struct Tasks {
    clock: Clock,
    store: Arc<dyn TaskStore>,
    /// A task that nobody works on is let go after so long, whoever listens.
    idle: std::time::Duration,
    push: Option<Arc<Post>>,
    live: Mutex<Live>,
    /// Held while a task comes back from the store, so that it comes back once.
    reviving: tokio::sync::Mutex<()>,
    /// Told whenever a save has ended.
    saved: Notify,
    /// Saves that a store makes us wait for.
    saves: TaskTracker,
}

#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) tasks: HashMap<String, Task>,
    /// The last time stamp given out: no two tasks of an agent share one.
    last: OffsetDateTime,
    /// When there are so many tasks, those at rest are let go.
    sweep_at: usize,
    /// Where saves go on that must be waited for: handles are used from other threads as well.
    runtime: Option<Handle>,
}

/// What goes on with a task.
#[derive(Debug)]
pub(crate) struct Further {
    pub(crate) message: Object,
    pub(crate) cancel: CancellationToken,
    pub(crate) push: Option<Config>,
}

/// Whether couriers begin with the task as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    Told,
    Left,
}

/// Live tasks below which nobody looks for those at rest.
const FEW: usize = 64;

impl Tasks {
    pub(crate) fn new(
        clock: Clock,
        store: Arc<dyn TaskStore>,
        idle: std::time::Duration,
        push: Option<Arc<Post>>,
    ) -> Arc<Self> {
        let live = Live { tasks: HashMap::new(), last: OffsetDateTime::UNIX_EPOCH, sweep_at: FEW, runtime: None };
        let (live, reviving) = (Mutex::new(live), tokio::sync::Mutex::default());
        Arc::new(Self { clock, store, idle, push, live, reviving, saved: Notify::new(), saves: TaskTracker::new() })
    }

    /// Makes room for one more task.
    ///
    /// # Errors
    /// [`FaultKind::Overloaded`] when there is none.
    pub(crate) async fn make_room(&self, caller: &Caller) -> Result<(), Fault> {
        let now = micros((self.clock)());
        self.store.make_room(caller.scope(), now).await.map_err(unkept)
    }

    /// A new task for this message, and a subscription that misses nothing.
    pub(crate) fn create(self: &Arc<Self>, made: Task, message: Object, view: View) -> Subscription {
        let mut live = self.live();
        live.runtime = Handle::try_current().ok();
        let mut task = made;
        task.updated = live.stamp(self.clock);
        live.sweep(task.updated.checked_sub(self.idle.try_into().unwrap_or(Duration::MAX)));
        task.hear(message);
        task.saving.going_on = true;
        let subscription = Subscription::open(self, &mut task, view, Until::Rest);
        self.follow(&mut task, Opening::Told);
        let id = task.id.clone();
        live.tasks.insert(id.clone(), task);
        drop(live);
        self.save(id);
        subscription
    }

    /// Changes one living task; a task that is gone is left alone.
    pub(crate) fn change(self: &Arc<Self>, id: &str, change: impl FnOnce(&mut Task, OffsetDateTime)) {
        let mut live = self.live();
        let now = live.stamp(self.clock);
        let Some(task) = live.tasks.get_mut(id) else { return };
        change(task, now);
        self.settle(live, id);
    }

    /// Adds a piece of an artifact. A store that outlives the agent has it soon; one that does not gets it with the next change,
    /// or when somebody asks: until then, the task is found here.
    pub(crate) fn add_piece(self: &Arc<Self>, id: &str, add: impl FnOnce(&mut Task)) {
        let mut live = self.live();
        let Some(task) = live.tasks.get_mut(id) else { return };
        add(task);
        if self.store.outlives_agent() {
            self.settle(live, id);
        }
    }

    /// Looks at or changes a task, living or not.
    ///
    /// # Errors
    /// [`FaultKind::TaskNotFound`], or what `act` says.
    pub(crate) async fn with<R>(
        self: &Arc<Self>,
        caller: &Caller,
        id: &str,
        act: impl FnOnce(&mut Task, OffsetDateTime) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let act = match self.act(caller, id, act) {
            Ok(result) => return result,
            Err(act) => act,
        };
        let _reviving = self.reviving.lock().await;
        let act = match self.act(caller, id, act) {
            Ok(result) => return result,
            Err(act) => act,
        };
        let record = self.store.load(caller.scope(), id).await.map_err(unkept)?;
        let record = record.ok_or(FaultKind::TaskNotFound)?;
        self.live().tasks.insert(id.to_owned(), Task::of_record(record));
        self.act(caller, id, act).unwrap_or_else(|_| Err(FaultKind::TaskNotFound.into()))
    }

    /// `Err`: the task does not live.
    fn act<R, A>(self: &Arc<Self>, caller: &Caller, id: &str, act: A) -> Result<Result<R, Fault>, A>
    where
        A: FnOnce(&mut Task, OffsetDateTime) -> Result<R, Fault>,
    {
        let mut live = self.live();
        live.runtime = Handle::try_current().ok();
        let now = live.stamp(self.clock);
        let Some(task) = live.tasks.get_mut(id) else { return Err(act) };
        if task.owner != caller.scope() {
            return Ok(Err(FaultKind::TaskNotFound.into()));
        }
        let result = act(task, now);
        self.settle(live, id);
        Ok(result)
    }

    /// The task as a document.
    ///
    /// # Errors
    /// [`FaultKind::TaskNotFound`].
    pub(crate) async fn document(&self, caller: &Caller, id: &str, view: View) -> Result<Json, Fault> {
        if let Some(task) = self.live().tasks.get(id) {
            let own = task.owner == caller.scope();
            return own.then(|| task.document(view)).ok_or_else(|| FaultKind::TaskNotFound.into());
        }
        let record = self.store.load(caller.scope(), id).await.map_err(unkept)?;
        Ok(view.of(record.ok_or(FaultKind::TaskNotFound)?.document))
    }

    /// Takes a task up again with a further message.
    ///
    /// # Errors
    /// When there is no such task, it is over, it is being worked on, or it belongs to another context.
    pub(crate) async fn resume(
        self: &Arc<Self>,
        caller: &Caller,
        id: &str,
        further: Further,
        view: View,
    ) -> Result<Subscription, Fault> {
        let Further { message, cancel, push } = further;
        self.with(caller, id, |task, now| {
            if message.str("contextId").is_some_and(|context| !context.is_empty() && context != task.context) {
                return Err(Fault::invalid_params("the task belongs to another context"));
            }
            let refusal = |text| Err(Fault::new(FaultKind::UnsupportedOperation, text));
            if task.state.is_terminal() {
                return refusal("the task is finished and takes no more messages");
            }
            if task.busy {
                return refusal("the task is still being worked on");
            }
            if let Some(config) = push {
                task.add_push(config)?;
            }
            self.follow(task, Opening::Left);
            task.hear(message);
            task.resume(cancel, now);
            Ok(Subscription::open(self, task, view, Until::Rest))
        })
        .await
    }

    /// Follows a task that is not over.
    ///
    /// # Errors
    /// When there is no such task, it is over, or too many follow it.
    pub(crate) async fn subscribe(
        self: &Arc<Self>,
        caller: &Caller,
        id: &str,
        view: View,
    ) -> Result<Subscription, Fault> {
        self.with(caller, id, |task, _| {
            if task.state.is_terminal() {
                let text = "the task is finished; there is nothing to follow";
                return Err(Fault::new(FaultKind::UnsupportedOperation, text));
            }
            if task.streams() >= STREAM_LIMIT {
                return Err(Fault::new(FaultKind::Overloaded, "too many streams follow this task"));
            }
            Ok(Subscription::open(self, task, view, Until::Rest))
        })
        .await
    }

    /// Cancels a task; gives it as it is then.
    ///
    /// # Errors
    /// When there is no such task or it is over.
    pub(crate) async fn cancel(self: &Arc<Self>, caller: &Caller, id: &str) -> Result<Json, Fault> {
        self.with(caller, id, |task, now| {
            if !task.become_state(TaskState::Canceled, None, now) {
                return Err(FaultKind::TaskNotCancelable.into());
            }
            Ok(task.document(View::WHOLE))
        })
        .await
    }

    /// Cancels every task that is being worked on.
    pub(crate) fn cancel_busy(self: &Arc<Self>) {
        let busy: Vec<String> =
            self.live().tasks.values().filter(|task| task.busy).map(|task| task.id.clone()).collect();
        for id in busy {
            self.change(&id, |task, now| {
                task.become_state(TaskState::Canceled, Some("the agent is shutting down"), now);
            });
        }
    }

    /// Ends what listens to tasks that nobody works on.
    pub(crate) fn let_go(&self) {
        self.live().tasks.values_mut().filter(|task| !task.busy).for_each(Task::hush);
    }

    /// One page, newest first.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub(crate) async fn list(self: &Arc<Self>, caller: &Caller, query: &ListQuery) -> Result<Json, Fault> {
        let unsaved: Vec<(String, i64)> = {
            let live = self.live();
            let due = live.tasks.values().filter(|task| task.owner == caller.scope() && task.saving.is_due());
            due.map(|task| (task.id.clone(), task.saving.version)).collect()
        };
        for (id, version) in unsaved {
            self.kept(&id, version).await?;
        }
        let page = self.store.page(caller.scope(), &query.wanted).await.map_err(unkept)?;
        let next = page.records.last().filter(|_| page.more).map(|last| ListQuery::token(&last.place()));
        let tasks: Vec<Json> = page.records.into_iter().map(|record| query.view.of(record.document)).collect();
        let count = |count: usize| Json::from(i64::try_from(count).unwrap_or(i64::MAX));
        Ok(Json::from([
            ("tasks", Json::from(tasks)),
            ("nextPageToken", next.unwrap_or_default().into()),
            ("pageSize", count(query.wanted.size)),
            ("totalSize", count(page.total)),
        ]))
    }

    /// Sends couriers for configurations that have none yet.
    pub(crate) fn follow(self: &Arc<Self>, task: &mut Task, opening: Opening) {
        let Some(post) = self.push.as_ref().filter(|_| !task.state.is_terminal()) else { return };
        for index in 0..task.push.len() {
            let Some(config) = task.push.get_mut(index).filter(|config| !config.is_followed()) else { continue };
            let stop = CancellationToken::new();
            config.courier = Some(stop.clone());
            let config = config.clone();
            let events = Subscription::open(self, task, View::WHOLE, Until::Over);
            let events = if opening == Opening::Told { events } else { events.without_opening() };
            post.follow(config, events, stop);
        }
    }

    /// Waits until the store has a task as it is now.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub(crate) async fn stored(self: &Arc<Self>, id: &str) -> Result<(), Fault> {
        let Some(version) = self.live().tasks.get(id).map(|task| task.saving.version) else { return Ok(()) };
        self.kept(id, version).await
    }

    /// Waits for the saves that are under way.
    pub(crate) async fn flush(&self) {
        self.saves.close();
        self.saves.wait().await;
    }

    pub(crate) fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn kept(self: &Arc<Self>, id: &str, version: i64) -> Result<(), Fault> {
        self.settle(self.live(), id);
        loop {
            let told = self.saved.notified();
            match self.live().tasks.get(id).map(|task| task.saving) {
                Some(saving) if saving.saved >= version => return Ok(()),
                Some(saving) if saving.failed >= version => return Err(unkept(StoreError::Unavailable)),
                // Let go of, so the store has it.
                None => return Ok(()),
                Some(_) => {}
            }
            told.await;
        }
    }

    /// After a change: saves it if it is worth that, lets go of the task if nobody needs it here.
    fn settle(self: &Arc<Self>, mut live: MutexGuard<'_, Live>, id: &str) {
        let Some(task) = live.tasks.get_mut(id) else { return };
        if task.saving.is_due() && !task.saving.going_on {
            task.saving.going_on = true;
            drop(live);
            self.save(id.to_owned());
        } else if task.is_at_rest() {
            live.tasks.remove(id);
        }
    }

    /// Saves a task. A store that need not be waited for has it when this returns.
    fn save(self: &Arc<Self>, id: String) {
        let tasks = Arc::clone(self);
        let mut saving = Box::pin(async move { tasks.keep(&id).await });
        let here = Handle::try_current().ok();
        if here.is_some() && saving.as_mut().now_or_never().is_some() {
            return;
        }
        if let Some(runtime) = here.or_else(|| self.live().runtime.clone()) {
            self.saves.spawn_on(saving, &runtime);
        }
    }

    async fn keep(&self, id: &str) {
        loop {
            let record = {
                let mut live = self.live();
                let Some(task) = live.tasks.get_mut(id) else { return };
                if !task.saving.is_due() {
                    task.saving.going_on = false;
                    if task.is_at_rest() {
                        live.tasks.remove(id);
                    }
                    break;
                }
                task.record()
            };
            let version = record.version;
            let outcome = self.store.save(record).await;
            if let Some(task) = self.live().tasks.get_mut(id) {
                match outcome {
                    Ok(()) => task.saving.saved = version,
                    Err(_) => (task.saving.failed, task.saving.going_on) = (version, false),
                }
            }
            self.saved.notify_waiters();
            if outcome.is_err() {
                tracing::error!("a task could not be saved; its next change tries again");
                return;
            }
        }
        self.saved.notify_waiters();
    }
}

impl Live {
    /// The time, in whole microseconds, later than every time given before.
    fn stamp(&mut self, clock: Clock) -> OffsetDateTime {
        let now = clock();
        let now = now.replace_microsecond(now.microsecond()).unwrap_or(now);
        self.last = now.max(self.last + Duration::microseconds(1));
        self.last
    }

    /// Lets go of tasks whose listeners have left, and of those that nobody has gone on with since `idle`.
    fn sweep(&mut self, idle: Option<OffsetDateTime>) {
        if self.tasks.len() >= self.sweep_at {
            let forgotten = |task: &Task| {
                let left = !task.busy && !task.saving.is_due() && idle.is_some_and(|idle| task.updated < idle);
                left || task.is_at_rest()
            };
            self.tasks.retain(|_, task| !forgotten(task));
            self.sweep_at = self.tasks.len().saturating_mul(2).max(FEW);
        }
    }
}

fn unkept(error: StoreError) -> Fault {
    match error {
        StoreError::Full => Fault::new(FaultKind::Overloaded, "too many unfinished tasks"),
        StoreError::Unavailable => FaultKind::Overloaded.into(),
    }
}

#[cfg(test)]
mod tests;
