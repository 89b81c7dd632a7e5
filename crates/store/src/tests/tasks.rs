//! Ownership of tasks and contexts.

use super::*;
use crate::{ContextClaim, ContextRow, Error, Owner, TaskClaim, TaskCursor, TaskRow};

fn task(card: &str, id: &str, principal: &str, created: i64) -> TaskClaim {
    TaskClaim {
        tenant: tenant_id("acme"),
        card_id: card.to_owned(),
        task_id: id.to_owned(),
        principal_id: principal.to_owned(),
        context_id: Some("ctx-1".to_owned()),
        created,
    }
}

fn context(card: &str, id: &str, principal: &str, created: i64) -> ContextClaim {
    ContextClaim {
        tenant: tenant_id("acme"),
        card_id: card.to_owned(),
        context_id: id.to_owned(),
        principal_id: principal.to_owned(),
        created,
    }
}

fn owner(principal: &str, created: i64) -> Owner {
    Owner { principal_id: principal.to_owned(), created }
}

fn task_row(id: &str, principal: &str, created: i64) -> TaskRow {
    TaskRow {
        task_id: id.to_owned(),
        principal_id: principal.to_owned(),
        context_id: Some("ctx-1".to_owned()),
        created,
    }
}

on_both! {
    async fn first_claim_of_a_task_wins_for_ever(given) {
        let store = given.store;
        let acme = tenant_id("acme");
        assert_eq!(store.task_owner(&acme, "card-1", "t").await, Ok(None));
        assert_eq!(store.claim_task(&task("card-1", "t", "ann", 1)).await, Ok(owner("ann", 1)));
        assert_eq!(store.claim_task(&task("card-1", "t", "ann", 2)).await, Ok(owner("ann", 1)));
        assert_eq!(store.claim_task(&task("card-1", "t", "bob", 0)).await, Ok(owner("ann", 1)));
        assert_eq!(store.task_owner(&acme, "card-1", "t").await, Ok(Some(task_row("t", "ann", 1))));
        assert_eq!(store.revision().await, Ok(0), "claims are no changes of the registry");
    }

    async fn first_claim_of_a_context_wins_for_ever(given) {
        let store = given.store;
        let acme = tenant_id("acme");
        assert_eq!(store.context_owner(&acme, "card-1", "c").await, Ok(None));
        assert_eq!(store.claim_context(&context("card-1", "c", "ann", 1)).await, Ok(owner("ann", 1)));
        assert_eq!(store.claim_context(&context("card-1", "c", "bob", 0)).await, Ok(owner("ann", 1)));
        let row = ContextRow { context_id: "c".to_owned(), principal_id: "ann".to_owned(), created: 1 };
        assert_eq!(store.context_owner(&acme, "card-1", "c").await, Ok(Some(row)));
        assert_eq!(store.revision().await, Ok(0));
    }

    async fn what_is_somebody_elses_is_no_row(given) {
        let (store, acme) = (given.store, tenant_id("acme"));
        store.claim_task(&task("card-1", "t", "ann", 1)).await.unwrap();
        store.claim_context(&context("card-1", "c", "ann", 2)).await.unwrap();
        for (whose, is_told) in [(Some("ann"), true), (None, true), (Some("bob"), false), (Some(""), false)] {
            let [task, context] = [1, 2].map(|created| is_told.then(|| owner("ann", created)));
            assert_eq!(store.owned_task(&acme, "card-1", "t", whose).await, Ok(task), "{whose:?}");
            assert_eq!(store.owned_context(&acme, "card-1", "c", whose).await, Ok(context), "{whose:?}");
        }
        assert_eq!(store.owned_task(&tenant_id("other"), "card-1", "t", None).await, Ok(None));
        assert_eq!(store.owned_context(&acme, "card-2", "c", None).await, Ok(None));
    }

    async fn same_id_of_another_card_is_another_task(given) {
        let store = given.store;
        let acme = tenant_id("acme");
        store.claim_task(&task("card-1", "t", "ann", 1)).await.unwrap();
        assert_eq!(store.task_owner(&acme, "card-2", "t").await, Ok(None));
        assert_eq!(store.claim_task(&task("card-2", "t", "bob", 2)).await, Ok(owner("bob", 2)));
        assert_eq!(store.task_owner(&acme, "card-1", "t").await, Ok(Some(task_row("t", "ann", 1))));
        store.claim_context(&context("card-1", "c", "ann", 1)).await.unwrap();
        assert_eq!(store.context_owner(&acme, "card-2", "c").await, Ok(None));
        assert_eq!(store.claim_context(&context("card-2", "c", "bob", 2)).await, Ok(owner("bob", 2)));
    }

    async fn racing_claims_of_a_task_agree_on_one_owner(given) {
        let store = given.store;
        for round in 0..10 {
            let mut running = tokio::task::JoinSet::new();
            for n in 0..8 {
                let store = store.clone();
                let claim = task("card-1", &format!("t{round}"), &format!("p{n}"), n);
                running.spawn(async move { store.claim_task(&claim).await.unwrap() });
            }
            let owners = running.join_all().await;
            assert!(owners.iter().all(|one| *one == owners[0]), "{owners:?}");
            let stored = store.task_owner(&tenant_id("acme"), "card-1", &format!("t{round}")).await.unwrap().unwrap();
            assert_eq!((stored.principal_id, stored.created), (owners[0].principal_id.clone(), owners[0].created));
        }
    }

    async fn claims_made_together_are_judged_one_by_one(given) {
        let store = given.store;
        store.claim_task(&task("card-1", "t3", "bob", 1)).await.unwrap();
        store.claim_context(&context("card-1", "c1", "bob", 1)).await.unwrap();
        // More than one statement takes, with a lost one, one that is made twice, and one of another card.
        let mut tasks: Vec<TaskClaim> = (0..11).map(|n| task("card-1", &format!("t{n}"), "ann", 5)).collect();
        tasks.push(task("card-1", "t0", "zoe", 6));
        tasks.push(task("card-2", "t3", "zoe", 7));
        let contexts = [context("card-1", "c1", "ann", 5), context("card-1", "c2", "ann", 5)];
        let (task_owners, context_owners) = store.claim_together(&tasks, &contexts).await.unwrap();
        let mut expected = vec![owner("ann", 5); 12];
        expected[3] = owner("bob", 1);
        expected.push(owner("zoe", 7));
        assert_eq!(task_owners, expected);
        assert_eq!(context_owners, [owner("bob", 1), owner("ann", 5)]);
        let stored = store.task_owner(&tenant_id("acme"), "card-1", "t10").await;
        assert_eq!(stored, Ok(Some(task_row("t10", "ann", 5))));
        let (one, none) = store.claim_together(&[task("card-1", "alone", "ann", 8)], &[]).await.unwrap();
        assert_eq!((one, none), (vec![owner("ann", 8)], Vec::new()));
    }

    async fn racing_claims_of_a_context_agree_on_one_owner(given) {
        let store = given.store;
        let mut running = tokio::task::JoinSet::new();
        for n in 0..8 {
            let store = store.clone();
            running.spawn(async move { store.claim_context(&context("card-1", "c", &format!("p{n}"), n)).await.unwrap() });
        }
        let owners = running.join_all().await;
        assert!(owners.iter().all(|one| *one == owners[0]), "{owners:?}");
    }

    async fn replay_keeps_the_earliest_and_the_order_asked(given) {
        let store = given.store;
        store.claim_task(&task("card-1", "t2", "zoe", 1)).await.unwrap();
        let claims = [
            task("card-1", "t3", "late", 9),
            task("card-1", "t2", "ann", 5),
            task("card-1", "t3", "early", 5),
            task("card-1", "t1", "ann", 5),
        ];
        let wanted = vec![owner("early", 5), owner("zoe", 1), owner("early", 5), owner("ann", 5)];
        assert_eq!(store.claim_tasks(&claims).await, Ok(wanted.clone()));
        assert_eq!(store.claim_tasks(&claims).await, Ok(wanted));
        let claims = [context("card-1", "c", "late", 9), context("card-1", "c", "early", 5)];
        assert_eq!(store.claim_contexts(&claims).await, Ok(vec![owner("early", 5); 2]));
        assert_eq!(store.claim_tasks(&[]).await, Ok(Vec::new()));
    }

    async fn long_replays_in_opposite_orders_end(given) {
        let store = given.store;
        let forth: Vec<_> = (0..1100).map(|n| task("card-1", &format!("t{n:04}"), "ann", n)).collect();
        let back: Vec<_> = forth.iter().rev().map(|claim| TaskClaim { principal_id: "bob".to_owned(), ..claim.clone() }).collect();
        let (one, two) = tokio::join!(store.claim_tasks(&forth), store.claim_tasks(&back));
        let (one, mut two) = (one.unwrap(), two.unwrap());
        two.reverse();
        assert_eq!(one.len(), 1100);
        assert_eq!(one, two);
    }

    async fn owners_of_many_tasks_are_found_at_once(given) {
        let store = given.store;
        let acme = tenant_id("acme");
        let claims: Vec<_> = (0..25).map(|n| task("card-1", &format!("t{n:02}"), "ann", n)).collect();
        store.claim_tasks(&claims).await.unwrap();
        store.claim_task(&task("card-2", "other", "ann", 1)).await.unwrap();
        let ids: Vec<String> = (0..25).map(|n| format!("t{n:02}")).chain(["none", "other", "", "a\0b"].map(str::to_owned)).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let mut found = store.task_owners(&acme, "card-1", &ids).await.unwrap();
        found.sort_by(|a, b| a.task_id.cmp(&b.task_id));
        assert_eq!(found, (0..25).map(|n| task_row(&format!("t{n:02}"), "ann", n)).collect::<Vec<_>>());
        assert_eq!(store.task_owners(&acme, "card-1", &[]).await, Ok(Vec::new()));
    }

    async fn tasks_of_a_principal_come_newest_first_in_pages(given) {
        let store = given.store;
        let acme = tenant_id("acme");
        for (id, principal, created) in [("a", "ann", 1), ("b", "ann", 3), ("c", "ann", 3), ("d", "bob", 4), ("e", "ann", 5)] {
            store.claim_task(&task("card-1", id, principal, created)).await.unwrap();
        }
        store.claim_task(&task("card-2", "f", "ann", 9)).await.unwrap();
        let first = store.tasks_of(&acme, "card-1", "ann", None, 2).await.unwrap();
        assert_eq!(first, [task_row("e", "ann", 5), task_row("c", "ann", 3)]);
        let after = TaskCursor { created: 3, task_id: "c".to_owned() };
        let second = store.tasks_of(&acme, "card-1", "ann", Some(&after), 9).await.unwrap();
        assert_eq!(second, [task_row("b", "ann", 3), task_row("a", "ann", 1)]);
    }

    async fn ids_that_no_database_can_hold_are_refused_and_never_found(given) {
        let store = given.store;
        let acme = tenant_id("acme");
        for id in ["", "a\0b", &"x".repeat(513)] {
            let refused = Err(Error::InvalidText { column: "task_id" });
            assert_eq!(store.claim_task(&task("card-1", id, "ann", 1)).await, refused);
            assert_eq!(store.claim_tasks(&[task("card-1", id, "ann", 1)]).await, Err(Error::InvalidText { column: "task_id" }));
            assert_eq!(store.task_owner(&acme, "card-1", id).await, Ok(None));
            let refused = Err(Error::InvalidText { column: "context_id" });
            assert_eq!(store.claim_context(&context("card-1", id, "ann", 1)).await, refused);
            assert_eq!(store.context_owner(&acme, "card-1", id).await, Ok(None));
        }
        let long = "\u{10ffff}".repeat(128);
        assert_eq!(store.claim_task(&task(&"c".repeat(512), &long, &"p".repeat(512), 1)).await, Ok(owner(&"p".repeat(512), 1)));
    }

    async fn ownership_outlives_card_and_principal(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        store.claim_task(&task("card-acme", "t", "prn-acme", 1)).await.unwrap();
        store.delete_card(&acme, "echo", IfMatch::Any, 2).await.unwrap();
        store.delete_principal(&acme, "bot", IfMatch::Any, 2).await.unwrap();
        assert_eq!(store.task_owner(&acme, "card-acme", "t").await, Ok(Some(task_row("t", "prn-acme", 1))));
    }
}
