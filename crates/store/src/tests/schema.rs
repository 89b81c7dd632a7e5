//! Migrations: both databases end with the same tables and columns, any number of processes may migrate, and a
//! database of another program is refused.

use std::collections::BTreeSet;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Row};

use super::*;
use crate::{Error, Pools, testing};

type Column = (String, String, String, bool);

#[tokio::test]
async fn both_schemas_have_the_same_columns() {
    let lite = sqlite_columns().await;
    assert!(lite.len() > 100, "the schema is read: {}", lite.len());
    let Some(given) = testing::postgres().await else { return };
    let postgres = postgres_columns(&given).await;
    assert_eq!(lite.difference(&postgres).collect::<Vec<_>>(), Vec::<&Column>::new(), "only in SQLite");
    assert_eq!(postgres.difference(&lite).collect::<Vec<_>>(), Vec::<&Column>::new(), "only in PostgreSQL");
}

async fn sqlite_columns() -> BTreeSet<Column> {
    let given = testing::sqlite_file().await;
    let options: SqliteConnectOptions = given.url.parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    let sql = "SELECT m.name, c.name, c.type, c.\"notnull\" = 0 FROM sqlite_master m, pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name NOT LIKE '\\_sqlx%' ESCAPE '\\' AND m.name NOT LIKE 'sqlite%'";
    let rows = sqlx::query(sql).fetch_all(&mut connection).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1), row.get::<String, _>(2), row.get(3))).collect()
}

async fn postgres_columns(given: &TestStore) -> BTreeSet<Column> {
    let options: sqlx::postgres::PgConnectOptions = given.url.parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    let sql = "SELECT table_name::TEXT, column_name::TEXT, data_type::TEXT, is_nullable = 'YES'
        FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> '_sqlx_migrations'";
    let rows = sqlx::query(sql).fetch_all(&mut connection).await.unwrap();
    let portable = |ty: String| match ty.as_str() {
        "bigint" => "INTEGER".to_owned(),
        "bytea" => "BLOB".to_owned(),
        "text" => "TEXT".to_owned(),
        _ => ty,
    };
    rows.iter().map(|row| (row.get(0), row.get(1), portable(row.get(2)), row.get(3))).collect()
}

on_both! {
    async fn migrating_again_changes_nothing(given) {
        let store = given.store;
        assert_eq!(store.pending_migrations().await, Ok(Vec::new()));
        store.create_tenant(&tenant_id("acme"), &tenant_fields(), 1).await.unwrap();
        store.migrate().await.unwrap();
        assert_eq!(store.revision().await, Ok(1));
        assert_eq!(store.health().await, Ok(()));
    }

    async fn closed_store_is_unavailable(given) {
        given.store.close().await;
        let closed = Error::Unavailable { cause: crate::Cause::Closed };
        assert_eq!(given.store.health().await, Err(closed));
    }
}

#[tokio::test]
async fn new_file_has_everything_pending_until_migrated() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/new.db", dir.path().display());
    let store = Store::open(&url, Pools::default()).await.unwrap();
    let pending = store.pending_migrations().await.unwrap();
    assert!(pending.first() == Some(&1) && pending.is_sorted() && pending.len() > 1, "{pending:?}");
    let again = Store::open(&url, Pools::default()).await.unwrap();
    let (one, two) = tokio::join!(store.migrate(), again.migrate());
    assert_eq!((one, two), (Ok(()), Ok(())));
    assert_eq!(again.pending_migrations().await, Ok(Vec::new()));
}

#[tokio::test]
async fn rows_survive_closing_the_file() {
    let given = testing::sqlite_file().await;
    let acme = furnish(&given.store, "acme").await;
    let before = given.store.load_tenant(&acme).await.unwrap();
    given.store.close().await;
    let again = Store::open(&given.url, Pools::default()).await.unwrap();
    assert_eq!(again.load_tenant(&acme).await.unwrap(), before);
    assert!(before.is_some());
}

#[tokio::test]
async fn database_of_a_newer_program_is_refused() {
    let given = testing::sqlite_file().await;
    let options: SqliteConnectOptions = given.url.parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
        VALUES (9999, 'newer', TRUE, x'00', 0)";
    sqlx::query(newer).execute(&mut connection).await.unwrap();
    assert_eq!(given.store.migrate().await, Err(Error::ForeignMigration { version: 9999 }));
}

#[tokio::test]
async fn unknown_addresses_are_refused() {
    for url in ["", "mysql://x", "/tmp/x.db"] {
        assert_eq!(Store::open(url, Pools::default()).await.err(), Some(Error::UnknownAddress), "{url}");
    }
}

#[tokio::test]
async fn unreachable_server_is_unavailable_without_words_of_the_driver() {
    // Port 1 is nobody's.
    let url = "postgres://canary:canary@127.0.0.1:1/canary";
    let pools = Pools { acquire_timeout: Duration::from_millis(50), ..Pools::default() };
    let refused = Store::open(url, pools).await.err().unwrap();
    assert_eq!(refused, Error::Unavailable { cause: crate::Cause::Io(std::io::ErrorKind::ConnectionRefused) });
    assert!(!format!("{refused} {refused:?}").contains("canary"));
}
