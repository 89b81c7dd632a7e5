//! Loading a whole tenant, and what happens when a row can't be read.

use sqlx::ConnectOptions;

use super::*;
use crate::{Error, Table, testing};

on_both! {
    async fn world_is_everything_of_one_tenant(given) {
        let store = given.store;
        furnish(&store, "other").await;
        let acme = furnish(&store, "acme").await;
        let rows = store.load_tenant(&acme).await.unwrap().unwrap();
        assert_eq!(rows.revision, 14);
        assert_eq!(Some(rows.tenant), store.tenant(&acme).await.unwrap());
        assert_eq!(rows.cards, store.cards(&acme, FIRST).await.unwrap());
        assert_eq!(rows.principals, store.principals(&acme, FIRST).await.unwrap());
        assert_eq!(rows.keys, store.keys(&acme, FIRST).await.unwrap());
        assert_eq!(rows.grants, store.grants(&acme, FIRST).await.unwrap());
        assert_eq!(rows.policies, store.policies(&acme, FIRST).await.unwrap());
        assert_eq!(rows.signing_keys, store.signing_keys(&acme, FIRST).await.unwrap());
        let counts = [rows.cards.len(), rows.principals.len(), rows.keys.len(), rows.grants.len()];
        assert_eq!((counts, rows.policies.len(), rows.signing_keys.len()), ([1; 4], 1, 1));
        assert_eq!(store.load_tenant(&tenant_id("none")).await, Ok(None));
    }
}

#[tokio::test]
async fn unreadable_row_is_named_and_not_quoted() {
    let given = testing::sqlite_file().await;
    let acme = furnish(&given.store, "acme").await;
    let options: sqlx::sqlite::SqliteConnectOptions = given.url.parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    sqlx::query("UPDATE cards SET state = 'canary'").execute(&mut connection).await.unwrap();
    let corrupt = Error::Corrupt { table: Table::Cards, id: "card-acme".to_owned() };
    assert!(!format!("{corrupt} {corrupt:?}").contains("canary"));
    assert_eq!(
        given.store.card(&acme, "echo").await,
        Err(Error::Corrupt { table: Table::Cards, id: "card-acme".to_owned() })
    );
    assert_eq!(given.store.load_tenant(&acme).await.err(), Some(corrupt));
}
