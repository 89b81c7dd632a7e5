//! Databases for tests: SQLite in a file and in memory, and PostgreSQL where `TEST_POSTGRES_URL` names a server.
//!
//! Gives migrated stores, empty and each alone. With `CHANCERY_TEST_REQUIRE_POSTGRES=1` a missing server is a failure
//! instead of a skipped test. `.ci/postgres.sh` starts one.

#![expect(clippy::expect_used, reason = "a test without its database can only stop")]

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use tempfile::TempDir;

use crate::open::Durability;
use crate::{Pools, Store};

/// A migrated store, and what must live as long as it.
#[derive(Debug)]
pub struct TestStore {
    /// The store.
    pub store: Store,
    /// Its address, for opening it once more (useless for a memory database).
    pub url: String,
    _dir: Option<TempDir>,
}

impl TestStore {
    /// Runs a statement past the store, to damage what is in it.
    pub async fn execute(&self, statement: &'static str) {
        let mut tx = self.store.begin(Durability::Synced).await.expect("a transaction");
        x!(tx, statement).expect("the statement runs");
        tx.commit().await.expect("it is kept");
    }

    /// Closed records of tenant `acme`, a second apart, from 0 to `count`: one in ten is marked `would_block:strict`, one in
    /// fifty is blocked, ten belong to a task.
    pub async fn fill_audit(&self, count: i64) {
        let mut tx = self.store.begin(Durability::Synced).await.expect("a transaction");
        // PostgreSQL gathers statistics by itself in time; nobody does so on SQLite.
        let (rows, after) = match tx.lane() {
            crate::sql::Lane::Pg(_) => (PG_ROWS, "ANALYZE"),
            crate::sql::Lane::Lite(_) => (LITE_ROWS, "SELECT 1"),
        };
        x!(tx, rows, count).expect("records");
        x!(tx, MARKS, count).expect("marks");
        x!(tx, after).expect("statistics");
        tx.commit().await.expect("they are kept");
    }
}

macro_rules! rows {
    ($document:expr) => {
        concat!(
            "WITH RECURSIVE n(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < CAST($1 AS BIGINT))
            INSERT INTO audit_records (writer, seq, tenant, at_open, at_close, principal, key_id, card, operation, dialect,
                outcome, status, correlation_id, task_id, chain_root, document)
            SELECT 'w-bulk', i, 'acme', i * 1000000, i * 1000000 + 2000, 'prn-' || (i % 7), 'key-1', 'card-' || (i % 5),
                'SendMessage', 'v10_jsonrpc', CASE WHEN i % 50 = 0 THEN 'blocked' ELSE 'ok' END, 200, 'cor-' || i,
                'task-' || (i / 10), 'cor-' || i, ",
            $document,
            " FROM n"
        )
    };
}

const PG_ROWS: &str = rows!("'{}'::BYTEA");
const LITE_ROWS: &str = rows!("x'7B7D'");
const MARKS: &str = "WITH RECURSIVE n(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL
        SELECT i + 10 FROM n WHERE i + 10 < CAST($1 AS BIGINT))
    INSERT INTO audit_marks (tenant, mark, at_open, writer, seq)
    SELECT 'acme', 'would_block:strict', i * 1000000, 'w-bulk', i FROM n";

/// Runs a statement past a store on the connection it writes on (one of them on PostgreSQL), outside of any transaction: to
/// take away from it what a machine can.
pub async fn execute_on(store: &Store, statement: &'static str) {
    let mut session = store.unsynced_writer().await.expect("a connection");
    x!(session, statement).expect("the statement runs");
}

/// SQLite in a file of its own.
pub async fn sqlite_file() -> TestStore {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let url = format!("sqlite://{}/store.db", dir.path().display());
    open(url, Some(dir)).await
}

/// SQLite in memory.
pub async fn sqlite_memory() -> TestStore {
    open("sqlite::memory:".to_owned(), None).await
}

/// A database of its own on the PostgreSQL of `TEST_POSTGRES_URL`; `None`, said loudly, when there is none.
#[expect(clippy::print_stderr, clippy::disallowed_methods, reason = "the tests' own settings, and a skipped test")]
pub async fn postgres() -> Option<TestStore> {
    let Ok(server) = std::env::var("TEST_POSTGRES_URL") else {
        let required = std::env::var("CHANCERY_TEST_REQUIRE_POSTGRES").is_ok_and(|value| value == "1");
        assert!(!required, "CHANCERY_TEST_REQUIRE_POSTGRES=1 but TEST_POSTGRES_URL is not set");
        eprintln!("SKIPPED on PostgreSQL: TEST_POSTGRES_URL is not set (see .ci/postgres.sh)");
        return None;
    };
    let options: PgConnectOptions = server.parse().expect("TEST_POSTGRES_URL is an address");
    let url = copy_template(&options).await.expect("a test database can be made");
    Some(open(url, None).await)
}

async fn open(url: String, dir: Option<TempDir>) -> TestStore {
    let store = Store::open(&url, Pools::default()).await.expect("the test store opens");
    store.migrate().await.expect("the test store migrates");
    TestStore { store, url, _dir: dir }
}

/// A copy takes some 30 ms, migrating anew much longer. The template is made once for each set of migrations.
async fn copy_template(server: &PgConnectOptions) -> sqlx::Result<String> {
    let template = format!("chancery_template_{:016x}", crate::open::postgres_fingerprint());
    let mut admin = server.connect().await?;
    // One maker, also among processes; it waits on the connection that it locks.
    sqlx::query("SELECT pg_advisory_lock(4711)").execute(&mut admin).await?;
    let known = sqlx::query("SELECT 1 FROM pg_database WHERE datname = $1").bind(&template);
    if known.fetch_optional(&mut admin).await?.is_none() {
        make_template(server, &mut admin, &template).await?;
    }
    sqlx::query("SELECT pg_advisory_unlock(4711)").execute(&mut admin).await?;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("chancery_test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    run(&mut admin, format!("DROP DATABASE IF EXISTS {name}")).await?;
    run(&mut admin, format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")).await?;
    admin.close().await?;
    Ok(server.clone().database(&name).to_url_lossy().to_string())
}

async fn make_template(server: &PgConnectOptions, admin: &mut PgConnection, template: &str) -> sqlx::Result<()> {
    // Under another name until it is whole.
    let half = format!("{template}_half");
    run(admin, format!("DROP DATABASE IF EXISTS {half}")).await?;
    run(admin, format!("CREATE DATABASE {half}")).await?;
    let url = server.clone().database(&half).to_url_lossy().to_string();
    let store = Store::open(&url, Pools::default()).await.expect("the template opens");
    store.migrate().await.expect("the template migrates");
    store.close().await;
    run(admin, format!("ALTER DATABASE {half} RENAME TO {template}")).await
}

/// Names of databases can't be parameters; these are made of numbers.
async fn run(admin: &mut PgConnection, statement: String) -> sqlx::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(admin).await.map(drop)
}
