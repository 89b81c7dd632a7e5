//! The revision, the change list and the notification.

use super::*;
use crate::open::Durability;
use crate::{Change, ChangeKind, Error, Table};

on_both! {
    async fn each_change_is_one_revision_and_one_entry(given) {
        let store = given.store;
        assert_eq!(store.revision().await, Ok(0));
        assert_eq!(store.changes(0).await, Ok(Some(Vec::new())));
        let acme = furnish(&store, "acme").await;
        assert_eq!(store.revision().await, Ok(7));
        let changes = store.changes(0).await.unwrap().unwrap();
        let wanted: Vec<Change> = [
            (ChangeKind::Tenant, "acme"),
            (ChangeKind::Card, "card-acme"),
            (ChangeKind::Principal, "prn-acme"),
            (ChangeKind::Key, "key-acme"),
            (ChangeKind::Grant, "grt-acme"),
            (ChangeKind::Policy, "pol-acme"),
            (ChangeKind::SigningKey, "sig-acme"),
        ]
        .into_iter()
        .zip(1..)
        .map(|((kind, id), revision)| Change { revision, tenant: acme.clone(), kind, id: id.to_owned() })
        .collect();
        assert_eq!(changes, wanted);
        assert_eq!(store.changes(5).await.unwrap().unwrap(), wanted[5..]);
        assert_eq!(store.changes(7).await, Ok(Some(Vec::new())));
    }

    async fn failed_change_leaves_no_trace(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let taken = store.create_card(&acme, &new_card("card-2", "echo"), 9).await;
        assert_eq!(taken, Err(Error::NameTaken { table: Table::Cards }));
        let missing = store.delete_card(&acme, "other", IfMatch::Any, 9).await;
        assert_eq!(missing, Err(Error::NotFound { table: Table::Cards }));
        assert_eq!(store.revision().await, Ok(7));
        assert_eq!(store.changes(7).await, Ok(Some(Vec::new())));
    }

    async fn pruned_list_says_so(given) {
        let store = given.store;
        furnish(&store, "acme").await;
        assert_eq!(store.prune_changes(3).await, Ok(3));
        assert_eq!(store.changes(2).await, Ok(None));
        assert_eq!(store.changes(3).await.unwrap().unwrap().len(), 4);
        // Pruning never reaches past the present, and never goes back.
        assert_eq!(store.prune_changes(1_000).await, Ok(4));
        assert_eq!(store.prune_changes(1).await, Ok(0));
        assert_eq!(store.changes(6).await, Ok(None));
        assert_eq!(store.changes(7).await, Ok(Some(Vec::new())));
    }

    async fn revision_of_the_future_asks_for_a_reload(given) {
        assert_eq!(given.store.changes(1).await, Ok(None));
    }

    async fn concurrent_changes_take_turns(given) {
        let store = given.store;
        let acme = tenant_id("acme");
        store.create_tenant(&acme, &tenant_fields(), 1).await.unwrap();
        let mut running = tokio::task::JoinSet::new();
        for n in 0..20 {
            let (store, acme) = (store.clone(), acme.clone());
            let card = new_card(&format!("card-{n}"), &format!("c{n}"));
            running.spawn(async move { store.create_card(&acme, &card, 2).await.unwrap() });
        }
        let mut revisions = running.join_all().await;
        revisions.sort_unstable();
        assert_eq!(revisions, (2..22).collect::<Vec<i64>>());
        let listed = store.changes(1).await.unwrap().unwrap();
        assert_eq!(listed.iter().map(|change| change.revision).collect::<Vec<_>>(), revisions);
    }

    async fn one_of_two_edits_of_the_same_reading_conflicts(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let seen = store.card(&acme, "echo").await.unwrap().unwrap().revision;
        let mut running = tokio::task::JoinSet::new();
        for state in [CardState::Published, CardState::Disabled] {
            let (store, acme) = (store.clone(), acme.clone());
            running.spawn(async move { store.set_card_state(&acme, "echo", IfMatch::Revision(seen), state, 9).await });
        }
        let mut outcomes = running.join_all().await;
        outcomes.sort_by_key(Result::is_err);
        assert_eq!(outcomes, vec![Ok(8), Err(Error::Conflict { current: 8 })]);
    }
}

#[tokio::test]
async fn sqlite_has_no_listener() {
    let given = crate::testing::sqlite_memory().await;
    assert!(given.store.listen().await.unwrap().is_none());
}

#[tokio::test]
async fn committed_change_is_heard_and_a_failed_one_is_not() {
    let Some(given) = crate::testing::postgres().await else { return };
    let store = given.store;
    let acme = tenant_id("acme");
    let mut listener = store.listen().await.unwrap().unwrap();
    let missing = store.create_card(&acme, &new_card("card-1", "echo"), 1).await;
    assert_eq!(missing, Err(Error::NotFound { table: Table::Tenants }));
    store.create_tenant(&acme, &tenant_fields(), 1).await.unwrap();
    tokio::time::timeout(Duration::from_secs(10), listener.recv()).await.unwrap().unwrap();
    // Were the failed change heard, another notice would wait here.
    let more = tokio::time::timeout(Duration::from_millis(200), listener.recv()).await;
    assert!(more.is_err());
    assert_eq!(store.revision().await, Ok(1));
}

#[tokio::test]
async fn listener_that_lost_its_connection_says_so_and_hears_again() {
    let Some(given) = crate::testing::postgres().await else { return };
    let store = given.store;
    let mut listener = store.listen().await.unwrap().unwrap();
    let mut session = store.reader().await.unwrap();
    let cut = "SELECT COUNT(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%') cut";
    assert_eq!(one!(session, i64, cut), Ok(Some(1)));
    tokio::time::timeout(Duration::from_secs(10), listener.recv()).await.unwrap().unwrap();
    store.create_tenant(&tenant_id("acme"), &tenant_fields(), 1).await.unwrap();
    tokio::time::timeout(Duration::from_secs(10), listener.recv()).await.unwrap().unwrap();
}

#[tokio::test]
async fn changes_are_synced_and_claims_are_not() {
    let given = crate::testing::sqlite_file().await;
    let mut change = given.store.change_of_tenants(&tenant_id("acme")).await.unwrap();
    assert_eq!(one!(change, i64, "PRAGMA synchronous"), Ok(Some(2)));
    drop(change);
    let mut writer = given.store.unsynced_writer().await.unwrap();
    assert_eq!(one!(writer, i64, "PRAGMA synchronous"), Ok(Some(1)));
    drop(writer);
    let mut audit = given.store.begin_audit(Durability::Synced).await.unwrap();
    assert_eq!(one!(audit, i64, "PRAGMA synchronous"), Ok(Some(2)));
}
