//! Where tasks rest: the trait, what is kept of a task, and the two stores that come with the kit.
//!
//! Tasks that are being worked on or watched live in the agent; every change of them is saved here, and this is
//! where tasks are found again. A store sees whole records and never another caller's: the owner is in every question.
//!
//! | module | holds |
//! |---|---|
//! | `memory` | [`MemoryStore`]: bounded, forgets what has been idle |
//! | `seal` | `PushKey`: what a database may keep of webhook credentials |
//! | `sql` | `SqlStore`: SQLite or PostgreSQL, behind the feature `sql` |

mod memory;
#[cfg(feature = "sql")]
mod seal;
#[cfg(feature = "sql")]
mod sql;

use std::fmt;

use a2a::TaskState;
use futures_util::future::BoxFuture;
use json::Json;

pub use memory::{Bounds, MemoryStore};
#[cfg(feature = "sql")]
pub use seal::PushKey;
#[cfg(feature = "sql")]
pub use sql::{OpenError, SqlStore};

/// A place for tasks. Implementations must keep owners apart.
pub trait TaskStore: fmt::Debug + Send + Sync {
    /// Whether tasks are still here when the process is gone. If so, every piece of an artifact is saved when it is told, else
    /// with the next change of state: until then, the agent has it anyway.
    fn outlives_agent(&self) -> bool {
        true
    }

    /// Makes room for one more task of this owner, at this time (microseconds), by forgetting what may be forgotten.
    ///
    /// # Errors
    /// [`StoreError::Full`] when nothing may be forgotten.
    fn make_room<'a>(&'a self, owner: &'a str, now: i64) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Keeps this record unless a newer one of the same task is there.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    fn save(&self, record: TaskRecord) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The record of a task; `None` also when it belongs to another owner.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    fn load<'a>(&'a self, owner: &'a str, id: &'a str) -> BoxFuture<'a, Result<Option<TaskRecord>, StoreError>>;

    /// One page of an owner's tasks, newest first.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    fn page<'a>(&'a self, owner: &'a str, query: &'a TaskQuery) -> BoxFuture<'a, Result<TaskPage, StoreError>>;
}

/// What is kept of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its id.
    pub id: String,
    /// Whose it is: the scope of the caller who began it.
    pub owner: String,
    /// Its context.
    pub context: String,
    /// Its state.
    pub state: TaskState,
    /// When it last changed its state, in microseconds.
    pub updated: i64,
    /// Grows with every change.
    pub version: i64,
    /// The whole task in v1.0 shape.
    pub document: Json,
    /// Its push configurations, an array. With their tokens and credentials: a store that writes them down must seal them, or leave
    /// out what has any.
    pub push: Json,
}

/// Which tasks of an owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only those of this context.
    pub context: Option<String>,
    /// Only those in this state.
    pub state: Option<TaskState>,
    /// Only those that changed at this time or later, in microseconds.
    pub since: Option<i64>,
    /// Only those behind this place.
    pub after: Option<Place>,
    /// At most this many.
    pub size: usize,
}

/// A place in the order of a list: the last task of the page before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// When the task last changed.
    pub updated: i64,
    /// Its id.
    pub id: String,
}

/// A page of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPage {
    /// The records, newest first.
    pub records: Vec<TaskRecord>,
    /// How many there are on all pages together.
    pub total: usize,
    /// Whether more follow.
    pub more: bool,
}

/// Why a store did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no room, and nothing that may be forgotten.
    #[error("too many unfinished tasks")]
    Full,
    /// It cannot be reached, or it broke. The cause was logged where it was seen.
    #[error("the task store cannot be used")]
    Unavailable,
}

impl TaskRecord {
    pub(crate) fn place(&self) -> Place {
        Place { updated: self.updated, id: self.id.clone() }
    }
}

impl TaskQuery {
    /// Whether a record belongs into the answer, whatever the page.
    #[must_use]
    pub fn matches(&self, record: &TaskRecord) -> bool {
        self.context.as_ref().is_none_or(|context| *context == record.context)
            && self.state.is_none_or(|state| state == record.state)
            && self.since.is_none_or(|since| record.updated >= since)
    }
}
