//! Groups, what was used of limits, and the end of ownership.

use super::*;
use crate::{ContextClaim, Period, PlaceKind, PlaceWish, PrincipalState, TaskClaim, Usage};

fn usage(subject: &str, used: i64) -> Usage {
    Usage { tenant: tenant_id("acme"), subject: subject.to_owned(), period: Period::Day, starts: 1_000, used }
}

on_both! {
    async fn a_grant_may_be_to_a_group_and_a_principal_has_settings(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let grant = NewGrant { principal_id: "ignored".to_owned(), ..new_grant("grt-2", "finance", "") };
        store.create_group_grant(&acme, &grant, "Finance/EU", 9).await.unwrap();
        let row = store.grant(&acme, "finance").await.unwrap().unwrap();
        assert_eq!((row.principal_id.as_str(), row.group_name.as_deref()), ("", Some("Finance/EU")));
        assert_eq!(store.grant(&acme, "all").await.unwrap().unwrap().group_name, None);
        assert_eq!(store.principal(&acme, "bot").await.unwrap().unwrap().settings, b"{}");
        let settings = br#"{"groups":["a"]}"#;
        store.update_principal(&acme, "bot", IfMatch::Any, (PrincipalState::Disabled, settings), 9).await.unwrap();
        let row = store.principal(&acme, "bot").await.unwrap().unwrap();
        assert_eq!((row.state, row.settings.as_slice()), (PrincipalState::Disabled, settings.as_slice()));
        // Who is deleted takes no grant of a group along.
        store.delete_principal(&acme, "bot", IfMatch::Any, 10).await.unwrap();
        assert_eq!(store.grants(&acme, FIRST).await.unwrap().len(), 1);
    }

    async fn usage_adds_up_and_a_lease_takes_no_more_than_is_left(given) {
        let store = given.store;
        assert_eq!(store.add_usage(&[usage("b", 2), usage("a", 1), usage("b", 3)]).await, Ok(vec![2, 1, 5]));
        let minute = |used| Usage { period: Period::Minute, ..usage("b", used) };
        assert_eq!(store.lease_usage(&minute(6), 10).await, Ok(6));
        assert_eq!(store.lease_usage(&minute(6), 10).await, Ok(4));
        assert_eq!(store.lease_usage(&minute(6), 10).await, Ok(0));
        // What was used beyond is told as it is.
        assert_eq!(store.add_usage(&[minute(3)]).await, Ok(vec![13]));
        assert_eq!(store.lease_usage(&minute(1), 10).await, Ok(0));
        let mut day: Vec<(String, i64)> =
            store.usage(Period::Day, 1_000).await.unwrap().into_iter().map(|row| (row.subject, row.used)).collect();
        day.sort();
        assert_eq!(day, [("a".to_owned(), 1), ("b".to_owned(), 5)]);
        assert_eq!(store.usage(Period::Day, 2_000).await, Ok(Vec::new()));
        assert_eq!(store.forget_usage(Period::Minute, 1_001).await, Ok(1));
        assert_eq!(store.usage(Period::Day, 1_000).await.unwrap().len(), 2);
    }

    async fn places_of_a_replica_that_is_silent_are_free_when_its_lease_has_ended(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let wish = |subject: &str, in_use| PlaceWish {
            tenant: acme.clone(), subject: subject.to_owned(), kind: PlaceKind::Call, in_use, more: 1, most: 10,
        };
        // Two limits in one go; another kind is another limit.
        let both = [wish("tenant", 4), wish("card/c", 0)];
        assert_eq!(store.lend_places("one", &both, 100, 200).await, Ok(vec![10, 10]));
        let stream = PlaceWish { kind: PlaceKind::Stream, ..wish("tenant", 0) };
        assert_eq!(store.lend_places("two", &[stream], 100, 200).await, Ok(vec![10]));
        assert_eq!(store.lend_places("two", &[wish("tenant", 1)], 110, 210).await, Ok(vec![0]));
        // The first one leaves some when it asks again: 9 are not the other's, 5 it wants, and half of the rest.
        assert_eq!(store.lend_places("one", &[wish("tenant", 4)], 120, 220).await, Ok(vec![7]));
        assert_eq!(store.lend_places("two", &[wish("tenant", 1)], 130, 230).await, Ok(vec![2]));
        // It never asks again.
        assert_eq!(store.lend_places("two", &[wish("tenant", 1)], 219, 319).await, Ok(vec![2]));
        assert_eq!(store.lend_places("two", &[wish("tenant", 1)], 220, 320).await, Ok(vec![10]));
        store.give_up_places("two", &[(acme.clone(), "tenant".to_owned(), PlaceKind::Call)]).await.unwrap();
        assert_eq!(store.lend_places("three", &[wish("tenant", 0)], 221, 321).await, Ok(vec![10]));
        assert_eq!(store.give_up_all_places("three").await, Ok(1));
        // Those of the first and the second, and the rows that are locked by.
        assert_eq!(store.forget_places(1_000).await, Ok(6));
    }

    async fn a_database_without_shared_places_migrates(given) {
        given.execute("DROP TABLE shared_places").await;
        given.execute("DELETE FROM _sqlx_migrations WHERE version = 7").await;
        assert_eq!(given.store.pending_migrations().await, Ok(vec![7]));
        given.store.migrate().await.unwrap();
        let wish = PlaceWish {
            tenant: tenant_id("acme"), subject: "tenant".to_owned(), kind: PlaceKind::Call, in_use: 0, more: 1, most: 2,
        };
        assert_eq!(given.store.lend_places("one", &[wish], 1, 2).await, Ok(vec![2]));
    }

    async fn old_tasks_and_contexts_are_forgotten_in_batches(given) {
        let store = given.store;
        let (acme, other) = (furnish(&store, "acme").await, furnish(&store, "other").await);
        let task = |tenant: &TenantId, id: &str, who: &str, created| TaskClaim {
            tenant: tenant.clone(), card_id: "card-1".to_owned(), task_id: id.to_owned(),
            principal_id: who.to_owned(), context_id: None, created,
        };
        let context = |id: &str, who: &str, created| ContextClaim {
            tenant: acme.clone(), card_id: "card-1".to_owned(), context_id: id.to_owned(),
            principal_id: who.to_owned(), created,
        };
        for (id, created) in [("t1", 10), ("t2", 20), ("t3", 30), ("t4", 99)] {
            store.claim_task(&task(&acme, id, "p1", created)).await.unwrap();
        }
        store.claim_task(&task(&other, "t1", "p1", 10)).await.unwrap();
        for (id, who) in [("c1", "p1"), ("c2", "p2"), ("c3", "p2")] {
            store.claim_context(&context(id, who, 15)).await.unwrap();
        }
        store.claim_context(&context("c4", "p2", 60)).await.unwrap();
        assert_eq!(store.expire_tasks(&acme, 50, 2).await, Ok(2));
        assert_eq!(store.expire_tasks(&acme, 50, 2).await, Ok(1));
        assert_eq!(store.expire_tasks(&acme, 50, 2).await, Ok(0));
        assert!(store.task_owner(&acme, "card-1", "t4").await.unwrap().is_some());
        assert!(store.task_owner(&other, "card-1", "t1").await.unwrap().is_some());
        // p1 still works on the card, so its context stays.
        assert_eq!(store.expire_contexts(&acme, 50, 100).await, Ok(2));
        for (id, is_there) in [("c1", true), ("c2", false), ("c3", false), ("c4", true)] {
            assert_eq!(store.context_owner(&acme, "card-1", id).await.unwrap().is_some(), is_there, "{id}");
        }
    }
}

#[tokio::test]
async fn a_database_of_the_first_version_migrates_with_its_rows() {
    let given = crate::testing::sqlite_file().await;
    let acme = furnish(&given.store, "acme").await;
    // Back to what the first version left behind.
    for statement in [
        "DROP TABLE usage_counts",
        "ALTER TABLE grants DROP COLUMN group_name",
        "ALTER TABLE principals DROP COLUMN settings",
        "DELETE FROM _sqlx_migrations WHERE version = 3",
    ] {
        given.execute(statement).await;
    }
    assert_eq!(given.store.pending_migrations().await, Ok(vec![3]));
    let again = Store::open(&given.url, crate::Pools::default()).await.unwrap();
    again.migrate().await.unwrap();
    let rows = again.load_tenant(&acme).await.unwrap().unwrap();
    assert_eq!((rows.principals.len(), rows.grants.len(), rows.unreadable.len()), (1, 1, 0));
    assert_eq!(rows.principals[0].settings, b"{}");
}
