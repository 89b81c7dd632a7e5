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
        let store = &given.store;
        let acme = furnish(store, "acme").await;
        let wish = |subject: &str, in_use| PlaceWish { in_use, ..calls(&acme, subject) };
        let lend = async |replica: &str, wishes: &[PlaceWish]| {
            store.lend_places(replica, wishes, NOW, LASTING).await.unwrap()
        };
        // Two limits in one go; another kind is another limit.
        assert_eq!(lend("one", &[wish("tenant", 4), wish("card/c", 0)]).await, [10, 10]);
        let stream = PlaceWish { kind: PlaceKind::Stream, ..wish("tenant", 0) };
        assert_eq!(lend("two", &[stream]).await, [10]);
        assert_eq!(lend("two", &[wish("tenant", 1)]).await, [0]);
        // The first one leaves some when it asks again: 9 are not the other's, 5 it wants, and half of the rest.
        assert_eq!(lend("one", &[wish("tenant", 4)]).await, [7]);
        assert_eq!(lend("two", &[wish("tenant", 1)]).await, [2]);
        // It never asks again.
        assert_eq!(lend("two", &[wish("tenant", 1)]).await, [2]);
        assert_eq!(store.forget_places(NOW, 0).await, Ok(0), "all leases are good");
        given.execute("UPDATE shared_places SET expires = 1 WHERE replica = 'one'").await;
        assert_eq!(lend("two", &[wish("tenant", 1)]).await, [10]);
        store.give_up_places("two", &[(acme.clone(), "tenant".to_owned(), PlaceKind::Call)]).await.unwrap();
        assert_eq!(lend("three", &[wish("tenant", 0)]).await, [10]);
        assert_eq!(store.give_up_all_places("three").await, Ok(1));
        // Those of the first and the second, and the rows that are locked by.
        given.execute("UPDATE shared_places SET expires = 1").await;
        assert_eq!(store.forget_places(NOW, LASTING).await, Ok(6));
    }

    async fn a_lease_lasts_as_long_as_was_asked_for(given) {
        let (store, acme) = (&given.store, tenant_id("acme"));
        store.lend_places("one", &[calls(&acme, "tenant")], NOW, HOUR).await.unwrap();
        assert_eq!(store.forget_places(NOW, LASTING - HOUR).await, Ok(0), "it ends no sooner, give or take a minute");
        assert_eq!(store.forget_places(NOW, -HOUR - 1).await, Ok(2), "and no later");
    }

    async fn a_database_without_shared_places_migrates(given) {
        given.execute("DROP TABLE shared_places").await;
        given.execute("DELETE FROM _sqlx_migrations WHERE version = 7").await;
        assert_eq!(given.store.pending_migrations().await, Ok(vec![7]));
        given.store.migrate().await.unwrap();
        let lent = given.store.lend_places("one", &[calls(&tenant_id("acme"), "tenant")], NOW, LASTING).await;
        assert_eq!(lent, Ok(vec![10]));
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

/// Where a test's time stands, and how long its leases last.
const NOW: i64 = 1_800_000_000_000_000;
const LASTING: i64 = 60_000_000;
const HOUR: i64 = 3_600_000_000;

fn calls(tenant: &TenantId, subject: &str) -> PlaceWish {
    let (tenant, subject) = (tenant.clone(), subject.to_owned());
    PlaceWish { tenant, subject, kind: PlaceKind::Call, in_use: 0, more: 1, most: 10 }
}

/// What one replica believes of the time must neither end the leases of another nor keep its own for longer.
#[tokio::test]
async fn replicas_whose_clocks_are_an_hour_apart_share_their_places() {
    let Some(given) = crate::testing::postgres().await else { return };
    let (store, acme) = (&given.store, tenant_id("acme"));
    let lend = async |replica: &str, subject: &str, now| {
        store.lend_places(replica, &[calls(&acme, subject)], now, LASTING).await.unwrap()
    };
    for (subject, first, second) in
        [("card/a", NOW, NOW + HOUR), ("card/b", NOW + HOUR, NOW), ("card/c", NOW - HOUR, 0)]
    {
        assert_eq!(lend("one", subject, first).await, [10], "{subject}");
        assert_eq!(lend("two", subject, second).await, [0], "{subject}: all are lent");
        assert_eq!(store.forget_places(second, 0).await, Ok(0), "{subject}: no lease has ended");
    }
    given.execute("UPDATE shared_places SET expires = 1 WHERE replica = 'one'").await;
    for subject in ["card/a", "card/b", "card/c"] {
        assert_eq!(lend("two", subject, NOW).await, [10], "{subject}: whoever took it, it has ended");
    }
}
