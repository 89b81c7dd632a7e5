//! Tasks in SQLite or PostgreSQL. Several agents can share a database: each has a name, which is in every statement.
//!
//! Takes records and questions; gives records. Every statement runs on both databases. Push configurations are sealed with the
//! key of [`SqlStore::sealed_with`]; without one, those with a token or credentials are never written. Errors never carry a
//! driver's text, which may hold data.

use std::str::FromStr;
use std::time::Duration;

use a2a::TaskState;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use json::{Json, Limits};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions};
use sqlx::{ConnectOptions, Decode, Row, Type};

use super::seal::{self, PushKey};
use super::{StoreError, TaskPage, TaskQuery, TaskRecord, TaskStore};

/// A database that keeps tasks.
#[derive(Clone, Debug)]
pub struct SqlStore {
    db: Db,
    agent: String,
    keep: Duration,
    key: Option<PushKey>,
}

#[derive(Clone, Debug)]
enum Db {
    Pg(PgPool),
    Lite(SqlitePool),
}

/// Runs the same words on either database.
macro_rules! on {
    ($db:expr, $pool:ident => $run:expr) => {
        match $db {
            Db::Pg($pool) => $run,
            Db::Lite($pool) => $run,
        }
    };
}

/// Where a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address names no database that is known here.
    #[error("the address of a task store begins with sqlite: or postgres:")]
    UnknownAddress,
    /// It cannot be reached, or its table cannot be made.
    #[error("the database cannot be used")]
    Database(#[source] sqlx::Error),
}

/// Given back when the transaction ends; the number is this table's.
const LOCK: &str = "SELECT pg_advisory_xact_lock(4712)";
const TABLE: &str = "CREATE TABLE IF NOT EXISTS a2a_tasks (
    agent TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, context TEXT NOT NULL, state TEXT NOT NULL,
    updated BIGINT NOT NULL, version BIGINT NOT NULL, document TEXT NOT NULL, push TEXT NOT NULL,
    PRIMARY KEY (agent, id))";
const INDEX: &str = "CREATE INDEX IF NOT EXISTS a2a_tasks_of_owner ON a2a_tasks (agent, owner, updated, id)";
const SAVE: &str = "INSERT INTO a2a_tasks (agent, id, owner, context, state, updated, version, document, push)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (agent, id) DO UPDATE SET state = excluded.state, updated = excluded.updated, version = excluded.version,
    document = excluded.document, push = excluded.push WHERE a2a_tasks.version < excluded.version";
const LOAD: &str = "SELECT id, owner, context, state, updated, version, document, push FROM a2a_tasks
    WHERE agent = $1 AND owner = $2 AND id = $3";
/// Empty texts and zero stand for "any": both databases bind them alike.
const PAGE: &str = "SELECT id, owner, context, state, updated, version, document, push FROM a2a_tasks
    WHERE agent = $1 AND owner = $2 AND ($3 = '' OR context = $3) AND ($4 = '' OR state = $4) AND updated >= $5
    AND (updated < $6 OR (updated = $6 AND id < $7)) ORDER BY updated DESC, id DESC LIMIT $8";
const COUNT: &str = "SELECT COUNT(*) FROM a2a_tasks
    WHERE agent = $1 AND owner = $2 AND ($3 = '' OR context = $3) AND ($4 = '' OR state = $4) AND updated >= $5";
const FORGET: &str = "DELETE FROM a2a_tasks WHERE agent = $1 AND updated < $2
    AND state NOT IN ('TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING')";
const FORGET_CLEAR: &str = "UPDATE a2a_tasks SET push = '[]' WHERE agent = $1 AND push LIKE '[%'
    AND (push LIKE '%\"token\":%' OR push LIKE '%\"credentials\":%')";
const UNFINISHED: &str = "SELECT id, owner, context, state, updated, version, document, push FROM a2a_tasks
    WHERE agent = $1 AND state IN ('TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING')";

impl Db {
    /// Makes what is missing. On PostgreSQL under a lock: `IF NOT EXISTS` is no protection from another agent that
    /// starts at the same time.
    async fn furnish(&self) -> Result<(), sqlx::Error> {
        match self {
            Db::Lite(pool) => {
                for statement in [TABLE, INDEX] {
                    sqlx::query(statement).execute(pool).await?;
                }
                Ok(())
            }
            Db::Pg(pool) => {
                let mut tx = pool.begin().await?;
                for statement in [LOCK, TABLE, INDEX] {
                    sqlx::query(statement).execute(&mut *tx).await?;
                }
                tx.commit().await
            }
        }
    }
}

impl Db {
    /// Removes webhook secrets that earlier versions wrote down in clear; from SQLite's journal as well.
    async fn forget_clear(&self, agent: &str) -> Result<(), sqlx::Error> {
        let cleared = on!(self, pool => {
            sqlx::query(FORGET_CLEAR).bind(agent).execute(pool).await.map(|done| done.rows_affected())
        })?;
        match self {
            Db::Lite(pool) if cleared > 0 => {
                sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(pool).await.map(drop)
            }
            Db::Lite(_) | Db::Pg(_) => Ok(()),
        }
    }
}

impl SqlStore {
    /// Opens `sqlite://path`, `sqlite::memory:` or `postgres://…` for the agent of this name, and makes the table if it is
    /// missing. Tasks that rest are forgotten after `keep`.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open(url: &str, agent: &str, keep: Duration) -> Result<Self, OpenError> {
        let db = if url.starts_with("sqlite:") {
            let options = SqliteConnectOptions::from_str(url).map_err(OpenError::Database)?;
            let options = options
                .create_if_missing(true)
                .journal_mode(SqliteJournalMode::Wal)
                .busy_timeout(Duration::from_secs(5))
                // What is replaced or deleted is overwritten, not only let go.
                .pragma("secure_delete", "on")
                .disable_statement_logging();
            // A database in memory is one connection's own; and SQLite has one writer anyway.
            let pool = SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
            Db::Lite(pool.connect_with(options).await.map_err(OpenError::Database)?)
        } else if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            let options = PgConnectOptions::from_str(url).map_err(OpenError::Database)?.disable_statement_logging();
            let pool = PgPoolOptions::new().max_connections(8).connect_with(options);
            Db::Pg(pool.await.map_err(OpenError::Database)?)
        } else {
            return Err(OpenError::UnknownAddress);
        };
        db.furnish().await.map_err(OpenError::Database)?;
        db.forget_clear(agent).await.map_err(OpenError::Database)?;
        Ok(Self { db, agent: agent.to_owned(), keep, key: None })
    }

    /// Seals push configurations with this key, so that they are still there when the agent is started again.
    #[must_use]
    pub fn sealed_with(mut self, key: PushKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Fails the tasks that were being worked on when the agent ended: nobody works on them any more. To be called before the
    /// agent takes calls, and only where one process serves it. Gives how many there were.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn fail_unfinished(&self, text: &str) -> Result<usize, StoreError> {
        let left: Vec<TaskRecord> = on!(&self.db, pool => {
            let rows = sqlx::query(UNFINISHED).bind(&self.agent).fetch_all(pool).await.map_err(unavailable)?;
            rows.iter().map(|row| self.record(row)).collect::<Result<_, _>>()?
        });
        let count = left.len();
        for mut record in left {
            record.version = record.version.saturating_add(1);
            record.state = TaskState::Failed;
            if let Some(status) = record.document.pointer_mut("/status").and_then(Json::as_object_mut) {
                let mut message = crate::task::agent_message(vec![crate::part::text(text)]);
                message.insert("taskId", record.id.as_str());
                message.insert("contextId", record.context.as_str());
                status.insert("state", record.state.name());
                status.insert("message", message);
            }
            self.put(record).await?;
        }
        Ok(count)
    }

    async fn put(&self, record: TaskRecord) -> Result<(), StoreError> {
        let TaskRecord { id, owner, context, state, updated, version, document, push } = record;
        let push = seal::for_database(push, self.key.as_ref(), &self.row(&id));
        let document = text(&document);
        on!(&self.db, pool => {
            let saving = sqlx::query(SAVE).bind(&self.agent).bind(id).bind(owner).bind(context).bind(state.name());
            saving.bind(updated).bind(version).bind(document).bind(push).execute(pool).await.map(drop)
        })
        .map_err(unavailable)
    }

    async fn get(&self, owner: &str, id: &str) -> Result<Option<TaskRecord>, StoreError> {
        on!(&self.db, pool => {
            let row = sqlx::query(LOAD).bind(&self.agent).bind(owner).bind(id).fetch_optional(pool).await;
            row.map_err(unavailable)?.as_ref().map(|row| self.record(row)).transpose()
        })
    }

    async fn list(&self, owner: &str, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        let context = query.context.as_deref().unwrap_or_default();
        let state = query.state.map(TaskState::name).unwrap_or_default();
        let since = query.since.unwrap_or(i64::MIN);
        let (updated, id) = query.after.as_ref().map_or((i64::MAX, ""), |after| (after.updated, after.id.as_str()));
        // One more tells whether more follow.
        let size = i64::try_from(query.size.saturating_add(1)).unwrap_or(i64::MAX);
        let (mut records, total): (Vec<TaskRecord>, i64) = on!(&self.db, pool => {
            let page = sqlx::query(PAGE).bind(&self.agent).bind(owner).bind(context).bind(state).bind(since);
            let rows = page.bind(updated).bind(id).bind(size).fetch_all(pool).await.map_err(unavailable)?;
            let count = sqlx::query(COUNT).bind(&self.agent).bind(owner).bind(context).bind(state).bind(since);
            let total = count.fetch_one(pool).await.and_then(|row| row.try_get(0)).map_err(unavailable)?;
            (rows.iter().map(|row| self.record(row)).collect::<Result<_, _>>()?, total)
        });
        let more = records.len() > query.size;
        records.truncate(query.size);
        Ok(TaskPage { records, total: usize::try_from(total).unwrap_or_default(), more })
    }

    async fn forget(&self, now: i64) -> Result<(), StoreError> {
        let keep = i64::try_from(self.keep.as_micros()).unwrap_or(i64::MAX);
        let before = now.saturating_sub(keep);
        on!(&self.db, pool => sqlx::query(FORGET).bind(&self.agent).bind(before).execute(pool).await.map(drop))
            .map_err(unavailable)
    }

    /// What sealed texts are bound to.
    fn row(&self, id: &str) -> String {
        format!("{} {id}", self.agent)
    }

    fn record<R>(&self, row: &R) -> Result<TaskRecord, StoreError>
    where
        R: Row,
        for<'r> String: Decode<'r, R::Database> + Type<R::Database>,
        for<'r> i64: Decode<'r, R::Database> + Type<R::Database>,
        for<'r> &'r str: sqlx::ColumnIndex<R>,
    {
        let word = |column: &str| row.try_get::<String, _>(column).map_err(unavailable);
        let number = |column: &str| row.try_get::<i64, _>(column).map_err(unavailable);
        // Our own writing: deeper and larger than what a caller may send.
        let limits = Limits { depth: 256, nodes: usize::MAX, ..Limits::default() };
        let id = word("id")?;
        Ok(TaskRecord {
            owner: word("owner")?,
            context: word("context")?,
            state: TaskState::from_name(&word("state")?).ok_or(StoreError::Unavailable)?,
            updated: number("updated")?,
            version: number("version")?,
            document: json::read(word("document")?.as_bytes(), &limits).map_err(|_| StoreError::Unavailable)?,
            push: seal::of_database(&word("push")?, self.key.as_ref(), &self.row(&id)),
            id,
        })
    }
}

impl TaskStore for SqlStore {
    fn make_room<'a>(&'a self, _owner: &'a str, now: i64) -> BoxFuture<'a, Result<(), StoreError>> {
        self.forget(now).boxed()
    }

    fn save(&self, record: TaskRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        self.put(record).boxed()
    }

    fn load<'a>(&'a self, owner: &'a str, id: &'a str) -> BoxFuture<'a, Result<Option<TaskRecord>, StoreError>> {
        self.get(owner, id).boxed()
    }

    fn page<'a>(&'a self, owner: &'a str, query: &'a TaskQuery) -> BoxFuture<'a, Result<TaskPage, StoreError>> {
        self.list(owner, query).boxed()
    }
}

fn text(tree: &Json) -> String {
    String::from_utf8_lossy(&json::write(tree)).into_owned()
}

fn unavailable(error: sqlx::Error) -> StoreError {
    // The kind only: texts may hold data.
    let kind = if matches!(error, sqlx::Error::PoolTimedOut) {
        "no free connection"
    } else if matches!(error, sqlx::Error::Io(_)) {
        "the connection broke"
    } else if matches!(error, sqlx::Error::Database(_)) {
        "the database refused"
    } else {
        "the driver failed"
    };
    tracing::error!(kind, "the task store cannot be used");
    StoreError::Unavailable
}
