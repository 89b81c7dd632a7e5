//! Foreign is what missing is: also in what is done before the refusal.

use super::*;

fn key(thing: Thing, id: &str) -> Key {
    Key { thing, tenant: "acme".into(), card: "card-1".into(), id: id.into() }
}

fn owners(store: &Store) -> Owners {
    Owners::new(store.clone(), Duration::from_secs(5), PageKey::new(&[7; 32]).unwrap(), Tasks::new())
}

/// What `whose` is told of `key`, and how many owners are remembered afterwards.
async fn told(owners: &Owners, key: &Key, whose: Option<&str>) -> (Option<String>, usize) {
    let owned = owners.owned(key, whose).await.unwrap();
    (owned.map(|owned| owned.principal.to_string()), owners.known.len())
}

#[tokio::test]
async fn of_what_is_foreign_no_more_is_read_or_remembered_than_of_what_is_missing() {
    let database = store::testing::sqlite_file().await;
    for thing in [Thing::Task, Thing::Context] {
        let claimed = owners(&database.store).claim(vec![key(thing, "theirs")], &"p1".into(), (0, 5)).await;
        assert_eq!(claimed.unwrap(), ["p1".into()]);
        let fresh = owners(&database.store);
        for id in ["theirs", "missing"] {
            assert_eq!(told(&fresh, &key(thing, id), Some("p2")).await, (None, 0), "{thing:?} {id}");
        }
        assert_eq!(told(&fresh, &key(thing, "theirs"), Some("p1")).await, (Some("p1".to_owned()), 1));
        // Also when it is known here whose it is.
        for id in ["theirs", "missing"] {
            assert_eq!(told(&fresh, &key(thing, id), Some("p2")).await, (None, 1), "{thing:?} {id}");
        }
        let shared = owners(&database.store);
        assert_eq!(told(&shared, &key(thing, "theirs"), None).await, (Some("p1".to_owned()), 1), "any will do");
    }
}

#[tokio::test]
async fn the_store_is_asked_about_foreign_and_missing_alike() {
    let database = store::testing::sqlite_file().await;
    let owners = owners(&database.store);
    let [task, context] = [Thing::Task, Thing::Context].map(|thing| key(thing, "theirs"));
    owners.claim(vec![task.clone(), context.clone()], &"p1".into(), (0, 5)).await.unwrap();
    owners.pending.put(key(Thing::Task, "waits"), &"p1".into(), 5);
    database.store.close().await;
    for foreign in [task.clone(), context, key(Thing::Task, "waits"), key(Thing::Task, "missing")] {
        let told = owners.owned(&foreign, Some("p2")).await;
        assert_eq!(told.map(|owned| owned.is_some()), Err(OwnerError::Unavailable), "{foreign:?}");
    }
    for own in [task, key(Thing::Task, "waits")] {
        assert!(owners.owned(&own, Some("p1")).await.unwrap().is_some(), "it is known here");
    }
}
