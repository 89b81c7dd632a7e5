//! Opening a store: the address decides the database; pools, migrations, health. Takes an address and pool sizes;
//! gives a [`Store`], cheap to clone. Never migrates by itself.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Postgres, SqlStr, Sqlite, Transaction};

use crate::admin_changes::Signature;
use crate::sql::{Lane, Session, Tx};
use crate::tasks;
use crate::{Cause, Error, Result, Trouble};

/// How many connections a store may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pools {
    /// Connections for everything but the audit (SQLite: readers; there is always one writer).
    pub connections: u32,
    /// Connections for the audit (PostgreSQL only).
    pub audit_connections: u32,
    /// How long a call waits for a free connection before it is [`Error::Unavailable`].
    pub acquire_timeout: Duration,
}

impl Default for Pools {
    fn default() -> Self {
        Self { connections: 8, audit_connections: 2, acquire_timeout: Duration::from_secs(5) }
    }
}

/// The database. Clones share the pools.
#[derive(Clone, Debug)]
pub struct Store {
    db: Db,
    /// Under whose name changes are written down.
    pub(crate) author: Option<Arc<Signature>>,
}

#[derive(Clone, Debug)]
enum Db {
    Pg { main: PgPool, audit: PgPool },
    Lite { write: SqlitePool, read: SqlitePool },
}

/// What must survive a power cut on SQLite. PostgreSQL keeps every commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// On disk before the commit returns, and with it every commit before.
    Synced,
    /// Survives the process, not the power: for ownership claims, which wait for no disk.
    Written,
}

impl Durability {
    const fn begin(self) -> &'static str {
        match self {
            Self::Synced => "PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
            Self::Written => "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE",
        }
    }
}

/// What a group of claims is written on.
pub(crate) enum ClaimWriter {
    Pg(PoolConnection<Postgres>),
    Lite(Transaction<'static, Sqlite>),
}

impl ClaimWriter {
    pub(crate) fn lane(&mut self) -> Lane<'_> {
        match self {
            Self::Pg(connection) => Lane::Pg(connection),
            Self::Lite(transaction) => Lane::Lite(transaction),
        }
    }

    /// How many claims one statement takes.
    pub(crate) const fn most_claims(&self) -> usize {
        match self {
            Self::Pg(_) => 500,
            Self::Lite(_) => tasks::TOGETHER,
        }
    }

    pub(crate) async fn done(self) -> Result<()> {
        match self {
            Self::Pg(_) => Ok(()),
            Self::Lite(transaction) => Ok(transaction.commit().await?),
        }
    }
}

impl Store {
    /// Opens `sqlite://path`, `sqlite::memory:` or `postgres://…`. A missing SQLite file is created. Does not migrate.
    pub async fn open(url: &str, pools: Pools) -> Result<Self> {
        let db = if url.starts_with("sqlite:") {
            open_sqlite(url, &pools).await?
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            open_postgres(url, &pools).await?
        } else {
            return Err(Error::UnknownAddress);
        };
        Ok(Self { db, author: None })
    }

    /// Brings the schema up to this program's. Safe to call from several processes at once.
    pub async fn migrate(&self) -> Result<()> {
        match &self.db {
            Db::Pg { main, .. } => {
                let mut connection = main.acquire().await?;
                migrations(POSTGRES).run_direct(None, &mut *connection, false).await?;
            }
            Db::Lite { write, .. } => {
                // The driver takes no lock of its own on SQLite.
                let mut tx = write.begin_with("BEGIN IMMEDIATE").await?;
                migrations(SQLITE).run_direct(None, &mut *tx, false).await?;
                tx.commit().await?;
            }
        }
        Ok(())
    }

    /// Versions of this program's migrations that the database has not seen.
    pub async fn pending_migrations(&self) -> Result<Vec<i64>> {
        let mut reader = self.reader().await?;
        let (table, ours) = match reader {
            Session::Pg(_) => (PG_MIGRATED, POSTGRES),
            Session::Lite(_) => (LITE_MIGRATED, SQLITE),
        };
        let applied = match one!(reader, i64, table)?.unwrap_or(0) {
            0 => Vec::new(),
            _ => q!(reader, i64, APPLIED)?,
        };
        Ok(ours.iter().map(|(version, ..)| *version).filter(|version| !applied.contains(version)).collect())
    }

    /// Whether the database answers.
    pub async fn health(&self) -> Result<()> {
        let mut reader = self.reader().await?;
        q!(reader, i64, ALIVE).map(drop)
    }

    /// Whether the database takes writes. On SQLite it asks for the writer's place, and gives it back at once.
    pub async fn takes_writes(&self) -> Result<bool> {
        let asked = match &self.db {
            Db::Pg { main, .. } => {
                let mut session = Session::Pg(main.acquire().await?);
                return Ok(one!(session, i64, PG_WRITABLE)? == Some(1));
            }
            Db::Lite { write, .. } => write.begin_with("BEGIN IMMEDIATE").await,
        };
        match asked.map_err(Error::from) {
            Ok(transaction) => Ok(transaction.rollback().await.map(|()| true)?),
            Err(error) if error.trouble() == Some(Trouble::ReadOnly) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Closes the pools; calls after it are [`Error::Unavailable`].
    pub async fn close(&self) {
        match &self.db {
            Db::Pg { main, audit } => {
                audit.close().await;
                main.close().await;
            }
            Db::Lite { write, read } => {
                read.close().await;
                write.close().await;
            }
        }
    }

    /// A connection for reading.
    pub(crate) async fn reader(&self) -> Result<Session> {
        Ok(match &self.db {
            Db::Pg { main, .. } => Session::Pg(main.acquire().await?),
            Db::Lite { read, .. } => Session::Lite(read.acquire().await?),
        })
    }

    /// A connection for reading the audit.
    pub(crate) async fn audit_reader(&self) -> Result<Session> {
        Ok(match &self.db {
            Db::Pg { audit, .. } => Session::Pg(audit.acquire().await?),
            Db::Lite { read, .. } => Session::Lite(read.acquire().await?),
        })
    }

    /// A transaction that writes.
    pub(crate) async fn begin(&self, durability: Durability) -> Result<Tx> {
        Ok(match &self.db {
            Db::Pg { main, .. } => Tx::Pg(main.begin().await?),
            Db::Lite { write, .. } => Tx::Lite(write.begin_with(durability.begin()).await?),
        })
    }

    /// A connection for single statements that write and wait for no disk on SQLite: ownership claims.
    pub(crate) async fn unsynced_writer(&self) -> Result<Session> {
        Ok(match &self.db {
            Db::Pg { main, .. } => Session::Pg(main.acquire().await?),
            Db::Lite { write, .. } => {
                let mut connection = write.acquire().await?;
                sqlx::query("PRAGMA synchronous = NORMAL").execute(&mut *connection).await?;
                Session::Lite(connection)
            }
        })
    }

    /// Where a group of claims is written: in one transaction on SQLite, which waits for no disk and writes each page
    /// once; statement by statement on PostgreSQL, where a transaction would hold what others claim.
    pub(crate) async fn claim_writer(&self) -> Result<ClaimWriter> {
        Ok(match &self.db {
            Db::Pg { main, .. } => ClaimWriter::Pg(main.acquire().await?),
            Db::Lite { write, .. } => ClaimWriter::Lite(write.begin_with(Durability::Written.begin()).await?),
        })
    }

    /// A transaction that writes the audit.
    pub(crate) async fn begin_audit(&self, durability: Durability) -> Result<Tx> {
        Ok(match &self.db {
            Db::Pg { audit, .. } => Tx::Pg(audit.begin().await?),
            Db::Lite { write, .. } => Tx::Lite(write.begin_with(durability.begin()).await?),
        })
    }

    /// How many rows of the audit one transaction may hold. On SQLite everybody waits for the one writer, ownership
    /// claims with a deadline too.
    pub(crate) fn audit_batch(&self) -> usize {
        match &self.db {
            Db::Pg { .. } => 500,
            Db::Lite { .. } => 100,
        }
    }

    /// A transaction whose reads all see the same moment.
    pub(crate) async fn begin_reading(&self) -> Result<Tx> {
        Ok(match &self.db {
            Db::Pg { main, .. } => Tx::Pg(main.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?),
            Db::Lite { read, .. } => Tx::Lite(read.begin_with("BEGIN").await?),
        })
    }

    /// How a listener connects; none on SQLite.
    pub(crate) fn postgres_options(&self) -> Option<PgConnectOptions> {
        match &self.db {
            Db::Pg { main, .. } => Some((*main.connect_options()).clone()),
            Db::Lite { .. } => None,
        }
    }
}

async fn open_sqlite(url: &str, pools: &Pools) -> Result<Db> {
    let options: SqliteConnectOptions = url.parse().map_err(|_| Error::UnknownAddress)?;
    let options = options
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(5))
        .disable_statement_logging();
    // A connection of a memory database that is closed takes the data with it.
    let writer = SqlitePoolOptions::new()
        .max_connections(1)
        .min_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .acquire_timeout(pools.acquire_timeout);
    let write = writer.connect_with(options.clone()).await?;
    let memory = url.contains(":memory:") || url.contains("mode=memory");
    let read = if memory {
        // Each connection of a memory database sees one of its own, so readers share the writer's.
        write.clone()
    } else {
        SqlitePoolOptions::new()
            .max_connections(pools.connections.max(1))
            .test_before_acquire(false)
            .acquire_timeout(pools.acquire_timeout)
            .connect_lazy_with(options.pragma("query_only", "1"))
    };
    Ok(Db::Lite { write, read })
}

async fn open_postgres(url: &str, pools: &Pools) -> Result<Db> {
    let options = crate::transport::postgres(url)?.application_name("chancery").disable_statement_logging();
    let pool = |connections: u32| {
        PgPoolOptions::new()
            .max_connections(connections.max(1))
            .acquire_timeout(pools.acquire_timeout)
            .test_before_acquire(false)
            .before_acquire(|connection, seen| Box::pin(still_there(connection, seen.idle_for)))
    };
    let main = match pool(pools.connections).connect_with(options.clone()).await {
        // The pool tries again and again and then forgets why.
        Err(sqlx::Error::PoolTimedOut) => return Err(why_unreachable(&options, pools.acquire_timeout).await),
        opened => opened?,
    };
    let audit = pool(pools.audit_connections).connect_lazy_with(options);
    Ok(Db::Pg { main, audit })
}

async fn why_unreachable(options: &PgConnectOptions, patience: Duration) -> Error {
    match tokio::time::timeout(patience, options.connect()).await {
        Ok(Err(error)) => error.into(),
        // It answers now, too late; or it never does.
        Ok(Ok(_)) | Err(_) => Error::Unavailable { cause: Cause::TimedOut },
    }
}

/// A ping costs a round trip, so only connections that have rested are asked.
async fn still_there(connection: &mut PgConnection, idle_for: Duration) -> sqlx::Result<bool> {
    if idle_for > RESTED {
        connection.ping().await?;
    }
    Ok(true)
}

/// Tells one set of migrations from another.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn postgres_fingerprint() -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};

    let mut hasher = DefaultHasher::new();
    POSTGRES.hash(&mut hasher);
    hasher.finish()
}

type Script = (i64, &'static str, &'static str);

fn migrations(scripts: &'static [Script]) -> Migrator {
    let migration = |&(version, name, sql): &Script| {
        Migration::new(version, Cow::Borrowed(name), MigrationType::Simple, SqlStr::from_static(sql), false)
    };
    Migrator::with_migrations(scripts.iter().map(migration).collect())
}

const RESTED: Duration = Duration::from_secs(5);

const POSTGRES: &[Script] = &[
    (1, "foundation", include_str!("../../../migrations/postgres/0001_foundation.sql")),
    (2, "identity", include_str!("../../../migrations/postgres/0002_identity.sql")),
    (3, "permits", include_str!("../../../migrations/postgres/0003_permits.sql")),
    (4, "admins", include_str!("../../../migrations/postgres/0004_admins.sql")),
    (5, "conditions", include_str!("../../../migrations/postgres/0005_conditions.sql")),
    (6, "audit_root", include_str!("../../../migrations/postgres/0006_audit_root.sql")),
    (7, "shared_places", include_str!("../../../migrations/postgres/0007_shared_places.sql")),
    (8, "sso", include_str!("../../../migrations/postgres/0008_sso.sql")),
    (9, "audit_marks", include_str!("../../../migrations/postgres/0009_audit_marks.sql")),
    (10, "admin_changes", include_str!("../../../migrations/postgres/0010_admin_changes.sql")),
];
const SQLITE: &[Script] = &[
    (1, "foundation", include_str!("../../../migrations/sqlite/0001_foundation.sql")),
    (2, "identity", include_str!("../../../migrations/sqlite/0002_identity.sql")),
    (3, "permits", include_str!("../../../migrations/sqlite/0003_permits.sql")),
    (4, "admins", include_str!("../../../migrations/sqlite/0004_admins.sql")),
    (5, "conditions", include_str!("../../../migrations/sqlite/0005_conditions.sql")),
    (6, "audit_root", include_str!("../../../migrations/sqlite/0006_audit_root.sql")),
    (7, "shared_places", include_str!("../../../migrations/sqlite/0007_shared_places.sql")),
    (8, "sso", include_str!("../../../migrations/sqlite/0008_sso.sql")),
    (9, "audit_marks", include_str!("../../../migrations/sqlite/0009_audit_marks.sql")),
    (10, "admin_changes", include_str!("../../../migrations/sqlite/0010_admin_changes.sql")),
];

statements! {
    both {
        ALIVE = "SELECT CAST(1 AS BIGINT)";
        APPLIED = "SELECT version FROM _sqlx_migrations WHERE success ORDER BY version";
    }
    postgres {
        PG_WRITABLE = "SELECT CASE WHEN current_setting('transaction_read_only') = 'on' THEN 0 ELSE 1 END::BIGINT";
        PG_MIGRATED = "SELECT COUNT(*) FROM pg_catalog.pg_tables
            WHERE schemaname = current_schema() AND tablename = '_sqlx_migrations'";
    }
    sqlite {
        LITE_MIGRATED = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = '_sqlx_migrations'";
    }
}
