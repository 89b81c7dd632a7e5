//! Tasks in memory: bounded in all and by owner; finished tasks make room, idle ones are forgotten.
//!
//! A task at work is never forgotten, so a store full of those refuses new ones. Everything is lost with the process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use super::{Place, StoreError, TaskPage, TaskQuery, TaskRecord, TaskStore};

/// How much a [`MemoryStore`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Tasks of all owners together.
    pub tasks: usize,
    /// Tasks of one owner.
    pub tasks_per_owner: usize,
    /// A task that is not at work is forgotten when nothing happened to it for so long.
    pub idle: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { tasks: 10_000, tasks_per_owner: 10_000, idle: Duration::from_hours(24) }
    }
}

/// The store of an agent that names no other.
#[derive(Debug)]
pub struct MemoryStore {
    bounds: Bounds,
    shelf: Mutex<Shelf>,
}

#[derive(Debug, Default)]
struct Shelf {
    records: HashMap<String, TaskRecord>,
    owners: HashMap<String, Owned>,
    /// Everything by age.
    ages: BTreeSet<Place>,
    /// What is over, by age.
    finished: BTreeSet<Place>,
}

/// The tasks of one owner by age, and whether each is over.
#[derive(Debug, Default)]
struct Owned(BTreeMap<Place, bool>);

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, shelf: Mutex::default() }
    }

    /// How many tasks are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shelf().records.len()
    }

    /// Whether none is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn room(&self, owner: &str, now: i64) -> Result<(), StoreError> {
        let mut shelf = self.shelf();
        let idle = i64::try_from(self.bounds.idle.as_micros()).unwrap_or(i64::MAX);
        shelf.forget_idle(now.saturating_sub(idle));
        while shelf.owners.get(owner).is_some_and(|owned| owned.0.len() >= self.bounds.tasks_per_owner) {
            let oldest = shelf.owners.get(owner).and_then(Owned::oldest_finished).ok_or(StoreError::Full)?;
            shelf.forget(&oldest.id);
        }
        while shelf.records.len() >= self.bounds.tasks {
            let oldest = shelf.finished.first().cloned().ok_or(StoreError::Full)?;
            shelf.forget(&oldest.id);
        }
        Ok(())
    }
}

impl TaskStore for MemoryStore {
    fn outlives_agent(&self) -> bool {
        false
    }

    fn make_room<'a>(&'a self, owner: &'a str, now: i64) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(self.room(owner, now)).boxed()
    }

    fn save(&self, record: TaskRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        self.shelf().put(record);
        ready(Ok(())).boxed()
    }

    fn load<'a>(&'a self, owner: &'a str, id: &'a str) -> BoxFuture<'a, Result<Option<TaskRecord>, StoreError>> {
        let found = self.shelf().records.get(id).filter(|record| record.owner == owner).cloned();
        ready(Ok(found)).boxed()
    }

    fn page<'a>(&'a self, owner: &'a str, query: &'a TaskQuery) -> BoxFuture<'a, Result<TaskPage, StoreError>> {
        ready(Ok(self.shelf().page(owner, query))).boxed()
    }
}

impl Shelf {
    fn put(&mut self, record: TaskRecord) {
        if self.records.get(&record.id).is_some_and(|known| known.version >= record.version) {
            return;
        }
        self.forget(&record.id);
        let (place, over) = (record.place(), record.state.is_terminal());
        self.owners.entry(record.owner.clone()).or_default().0.insert(place.clone(), over);
        if over {
            self.finished.insert(place.clone());
        }
        self.ages.insert(place);
        self.records.insert(record.id.clone(), record);
    }

    fn forget(&mut self, id: &str) {
        let Some(record) = self.records.remove(id) else { return };
        let place = record.place();
        self.ages.remove(&place);
        self.finished.remove(&place);
        if let Some(owned) = self.owners.get_mut(&record.owner) {
            owned.0.remove(&place);
            if owned.0.is_empty() {
                self.owners.remove(&record.owner);
            }
        }
    }

    fn forget_idle(&mut self, before: i64) {
        let old = self.ages.iter().take_while(|place| place.updated < before);
        let idle = old.filter(|place| self.records.get(&place.id).is_some_and(|record| record.state.rests()));
        for id in idle.map(|place| place.id.clone()).collect::<Vec<_>>() {
            self.forget(&id);
        }
    }

    fn page(&self, owner: &str, query: &TaskQuery) -> TaskPage {
        let Some(owned) = self.owners.get(owner) else { return TaskPage::default() };
        let found = owned.0.keys().rev().filter_map(|place| self.records.get(&place.id));
        let (mut page, mut skipped) = (TaskPage::default(), 0_usize);
        for record in found.filter(|record| query.matches(record)) {
            page.total += 1;
            if query.after.as_ref().is_some_and(|after| record.place() >= *after) {
                skipped += 1;
            } else if page.records.len() < query.size {
                page.records.push(record.clone());
            }
        }
        page.more = page.total - skipped > page.records.len();
        page
    }
}

impl Owned {
    fn oldest_finished(&self) -> Option<Place> {
        self.0.iter().find(|(_, over)| **over).map(|(place, _)| place.clone())
    }
}

#[cfg(test)]
mod tests {
    use a2a::TaskState;
    use json::Json;

    use super::*;

    fn record(id: &str, owner: &str, state: TaskState, updated: i64) -> TaskRecord {
        TaskRecord {
            id: id.to_owned(),
            owner: owner.to_owned(),
            context: "c".to_owned(),
            state,
            updated,
            version: updated,
            document: Json::Null,
            push: Vec::new().into(),
        }
    }

    fn store(tasks: usize, tasks_per_owner: usize) -> MemoryStore {
        MemoryStore::new(Bounds { tasks, tasks_per_owner, idle: Duration::from_micros(100) })
    }

    fn put(store: &MemoryStore, id: &str, owner: &str, state: TaskState, updated: i64) {
        store.save(record(id, owner, state, updated)).now_or_never().unwrap().unwrap();
    }

    fn has(store: &MemoryStore, owner: &str, id: &str) -> bool {
        store.load(owner, id).now_or_never().unwrap().unwrap().is_some()
    }

    #[test]
    fn a_full_store_forgets_the_longest_finished_task_and_else_refuses() {
        let store = store(2, 2);
        put(&store, "a", "o", TaskState::Working, 1);
        put(&store, "b", "o", TaskState::Working, 2);
        assert_eq!(store.room("o", 3), Err(StoreError::Full));
        put(&store, "b", "o", TaskState::Completed, 3);
        put(&store, "a", "o", TaskState::Failed, 4);
        assert_eq!(store.room("p", 5), Ok(()));
        assert!(has(&store, "o", "a") && !has(&store, "o", "b"));
    }

    #[test]
    fn one_owner_cannot_take_the_room_of_another() {
        let store = store(10, 2);
        put(&store, "a", "o", TaskState::Working, 1);
        put(&store, "b", "o", TaskState::InputRequired, 2);
        assert_eq!((store.room("o", 3), store.room("p", 3)), (Err(StoreError::Full), Ok(())));
        put(&store, "c", "p", TaskState::Completed, 3);
        assert_eq!(store.room("o", 3), Err(StoreError::Full));
        assert!(has(&store, "p", "c") && !has(&store, "o", "c"));
    }

    #[test]
    fn what_rests_is_forgotten_when_it_was_idle_and_work_is_not() {
        let store = store(10, 10);
        for (id, state) in [("a", TaskState::Working), ("b", TaskState::InputRequired), ("c", TaskState::Completed)] {
            put(&store, id, "o", state, 1);
        }
        put(&store, "d", "o", TaskState::Completed, 60);
        assert_eq!(store.room("o", 150), Ok(()));
        assert_eq!(["a", "b", "c", "d"].map(|id| has(&store, "o", id)), [true, false, false, true]);
        assert_eq!(store.len(), 2);
    }

    #[test]
    fn an_older_record_never_replaces_a_newer_one() {
        let store = store(10, 10);
        put(&store, "a", "o", TaskState::Completed, 2);
        put(&store, "a", "o", TaskState::Working, 1);
        let kept = store.load("o", "a").now_or_never().unwrap().unwrap().unwrap();
        assert_eq!(kept.state, TaskState::Completed);
    }
}
