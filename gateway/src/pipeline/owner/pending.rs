//! Claims that the store could not take in time: kept here, replayed until it can.
//!
//! They count as made: whoever claimed first *here* owns the id here. If somebody was faster elsewhere, the store's
//! owner wins at replay and the conflict is logged. They live in memory only: a crash before the replay forgets them,
//! and such an id is then unknown, never somebody else's.

use super::{Key, Owned, Owners, Thing, context_claim, task_claim};
use crate::clock::Micros;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::TenantId;
use tokio_util::sync::CancellationToken;

/// Most claims that wait; beyond it a claim fails and the answer is withheld.
const MOST: usize = 100_000;
/// Claims replayed in one transaction.
const BATCH: usize = 500;
const PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct Pending {
    claims: Mutex<HashMap<Key, (Arc<str>, Micros)>>,
}

impl Pending {
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    pub(super) fn owner(&self, key: &Key) -> Option<Arc<str>> {
        self.lock().get(key).map(|(owner, _)| Arc::clone(owner))
    }

    /// Puts a claim aside; gives the owner, who may be an earlier claimant. `None` when there is no room.
    pub(super) fn put(&self, key: Key, principal: &Arc<str>, now: Micros) -> Option<Arc<str>> {
        let mut claims = self.lock();
        if claims.len() >= MOST && !claims.contains_key(&key) {
            return None;
        }
        Some(Arc::clone(&claims.entry(key).or_insert_with(|| (Arc::clone(principal), now)).0))
    }

    fn some(&self, thing: Thing) -> Vec<(Key, Arc<str>, Micros)> {
        let claims = self.lock();
        let of_thing = claims.iter().filter(|(key, _)| key.thing == thing);
        of_thing.take(BATCH).map(|(key, (owner, at))| (key.clone(), Arc::clone(owner), *at)).collect()
    }

    fn done(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, (Arc<str>, Micros)>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replays until `stop`, and once more then.
pub(super) async fn replay(owners: &Owners, stop: &CancellationToken) {
    loop {
        let stopping = tokio::select! {
            () = stop.cancelled() => true,
            () = tokio::time::sleep(PAUSE) => false,
        };
        for thing in [Thing::Task, Thing::Context] {
            while replay_some(owners, thing).await.is_some() {}
        }
        if stopping {
            return;
        }
    }
}

/// One batch; `None` when nothing is left or the store is still away.
async fn replay_some(owners: &Owners, thing: Thing) -> Option<()> {
    let claims = owners.pending.some(thing);
    if claims.is_empty() {
        return None;
    }
    let tenant = |key: &Key| TenantId::new(&key.tenant);
    let stored = match thing {
        Thing::Task => {
            let rows: Vec<_> =
                claims.iter().filter_map(|(key, who, at)| Some(task_claim(tenant(key)?, key, who, *at))).collect();
            owners.store.claim_tasks(&rows).await
        }
        Thing::Context => {
            let rows: Vec<_> =
                claims.iter().filter_map(|(key, who, at)| Some(context_claim(tenant(key)?, key, who, *at))).collect();
            owners.store.claim_contexts(&rows).await
        }
    };
    let stored = stored.ok()?;
    for ((key, claimed_by, _), owner) in claims.into_iter().zip(stored) {
        if owner.principal_id != *claimed_by {
            tracing::error!(tenant = &*key.tenant, card = &*key.card, "two principals were told the same id");
        }
        let owned = Owned { principal: owner.principal_id.into(), since: owner.created };
        owners.known.insert(key.clone(), owned);
        owners.pending.done(&key);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::owner::PageKey;

    fn key(thing: Thing, id: &str) -> Key {
        Key { thing, tenant: "acme".into(), card: "card-1".into(), id: id.into() }
    }

    #[test]
    fn the_first_claim_here_wins_here() {
        let pending = Pending::default();
        assert_eq!(pending.put(key(Thing::Task, "t1"), &"p1".into(), 1).as_deref(), Some("p1"));
        assert_eq!(pending.put(key(Thing::Task, "t1"), &"p2".into(), 2).as_deref(), Some("p1"));
        assert_eq!(pending.put(key(Thing::Context, "t1"), &"p2".into(), 2).as_deref(), Some("p2"));
        assert_eq!(pending.len(), 2);
    }

    #[tokio::test]
    async fn claims_are_replayed_and_the_stores_owner_wins() {
        let database = store::testing::sqlite_file().await;
        let page_key = PageKey::new(&[7; 32]).unwrap();
        let owners = Owners::new(database.store.clone(), Duration::from_secs(5), page_key, crate::tasks::Tasks::new());
        let tenant = TenantId::new("acme").unwrap();
        let earlier = task_claim(tenant.clone(), &key(Thing::Task, "t2"), "p9", 1);
        database.store.claim_task(&earlier).await.unwrap();
        for id in ["t1", "t2"] {
            owners.pending.put(key(Thing::Task, id), &"p1".into(), 5);
        }
        owners.pending.put(key(Thing::Context, "c1"), &"p1".into(), 5);
        let stop = CancellationToken::new();
        stop.cancel();
        replay(&owners, &stop).await;
        assert_eq!(owners.pending.len(), 0);
        for (id, owner) in [("t1", "p1"), ("t2", "p9")] {
            let row = database.store.task_owner(&tenant, "card-1", id).await.unwrap().unwrap();
            assert_eq!(row.principal_id, owner, "{id}");
            assert_eq!(
                owners.known.get(&key(Thing::Task, id)).map(|owned| &*owned.principal == owner),
                Some(true),
                "{id}"
            );
        }
        assert!(database.store.context_owner(&tenant, "card-1", "c1").await.unwrap().is_some());
    }
}
