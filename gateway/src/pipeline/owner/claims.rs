//! Claims on their way to the store: what calls claim at the same time goes in one statement.
//!
//! Takes from each call what it saw of new ids, together; gives their owners. While the store is busy with one group the next
//! one gathers, so a single call waits for nobody. The work is a task of its own and not the call's: a caller that goes
//! away takes nobody else's claim with it. Never keeps a claim that the store refused; that is `pending`'s part.

use super::Thing;
use crate::tasks::Tasks;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{ContextClaim, Owner, Store, TaskClaim};
use tokio::sync::oneshot;

/// Most calls whose claims gather; beyond it the store counts as away.
const MOST: usize = 10_000;
/// Most calls in one group, so that the first of it does not wait for a crowd.
const GROUP: usize = 64;

#[derive(Debug)]
pub(super) struct Claims {
    store: Store,
    tasks: Tasks,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Wanted>,
    working: bool,
}

/// What is claimed.
#[derive(Debug)]
pub(super) enum Claim {
    Task(TaskClaim),
    Context(ContextClaim),
}

impl Claim {
    /// Whether the store can hold it; one that it can't must not spoil the others of its group.
    pub(super) fn is_storable(&self) -> bool {
        match self {
            Self::Task(claim) => claim.check().is_ok(),
            Self::Context(claim) => claim.check().is_ok(),
        }
    }
}

/// What one call claims.
#[derive(Debug)]
struct Wanted {
    claims: Vec<Claim>,
    tell: oneshot::Sender<Vec<Owner>>,
}

impl Claims {
    pub(super) fn new(store: Store, tasks: Tasks) -> Self {
        Self { store, tasks, queue: Mutex::default() }
    }

    /// The owners of what is claimed, in its order: the claimants, unless somebody was first. `None` when the store can't take
    /// them.
    pub(super) async fn claim(self: &Arc<Self>, claims: Vec<Claim>) -> Option<Vec<Owner>> {
        let (tell, told) = oneshot::channel();
        let begins = {
            let mut queue = self.lock();
            if queue.waiting.len() >= MOST {
                return None;
            }
            queue.waiting.push(Wanted { claims, tell });
            !std::mem::replace(&mut queue.working, true)
        };
        if begins {
            let mut work = Work { claims: Arc::clone(self), done: false };
            self.tasks.spawn("ownership claims", async move { work.all().await });
        }
        told.await.ok()
    }

    fn group(&self) -> Vec<Wanted> {
        let mut queue = self.lock();
        let count = queue.waiting.len().min(GROUP);
        let group: Vec<Wanted> = queue.waiting.drain(..count).collect();
        queue.working = !group.is_empty();
        group
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The duty to empty the queue.
struct Work {
    claims: Arc<Claims>,
    done: bool,
}

impl Work {
    async fn all(&mut self) {
        loop {
            let group = self.claims.group();
            if group.is_empty() {
                self.done = true;
                return;
            }
            self.some(group).await;
        }
    }

    /// Whoever is not told hears of it by the closed channel.
    async fn some(&self, group: Vec<Wanted>) {
        let (mut tasks, mut contexts) = (Vec::with_capacity(group.len()), Vec::with_capacity(group.len()));
        let mut waiting = Vec::with_capacity(group.len());
        for Wanted { claims, tell } in group {
            let mut order = Vec::with_capacity(claims.len());
            for claim in claims {
                match claim {
                    Claim::Task(claim) => {
                        order.push(Thing::Task);
                        tasks.push(claim);
                    }
                    Claim::Context(claim) => {
                        order.push(Thing::Context);
                        contexts.push(claim);
                    }
                }
            }
            waiting.push((order, tell));
        }
        let Ok((task_owners, context_owners)) = self.claims.store.claim_together(&tasks, &contexts).await else {
            return;
        };
        let (mut task_owners, mut context_owners) = (task_owners.into_iter(), context_owners.into_iter());
        for (order, tell) in waiting {
            let owner = |thing| match thing {
                Thing::Task => task_owners.next(),
                Thing::Context => context_owners.next(),
            };
            let owners: Option<Vec<Owner>> = order.into_iter().map(owner).collect();
            // The call may have given up; the claim stands all the same.
            let _ = owners.map(|owners| tell.send(owners));
        }
    }
}

impl Drop for Work {
    /// After a panic something is left: the next claim must find a queue that somebody empties.
    fn drop(&mut self) {
        if !self.done {
            let mut queue = self.claims.lock();
            queue.working = false;
            queue.waiting.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::owner::Key;
    use std::time::Duration;
    use store::TenantId;

    fn claim(thing: Thing, id: &str, principal: &str, now: i64) -> Claim {
        let key = Key { thing, tenant: "acme".into(), card: "card-1".into(), id: id.into() };
        key.claim(TenantId::new("acme").unwrap(), principal, now)
    }

    #[tokio::test]
    async fn everybody_in_a_crowd_is_told_the_first_claimant() {
        let database = store::testing::sqlite_file().await;
        let tasks = Tasks::new();
        let claims = Arc::new(Claims::new(database.store.clone(), tasks.clone()));
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..200 {
            let claims = Arc::clone(&claims);
            calls.spawn(async move {
                let thing = if number % 2 == 0 { Thing::Task } else { Thing::Context };
                let id = format!("id-{}", number / 4);
                let principal = format!("p{number}");
                let other = claim(Thing::Task, &format!("own-{number}"), &principal, number);
                let owners = claims.claim(vec![claim(thing, &id, &principal, number), other]).await.unwrap();
                assert_eq!(owners[1].principal_id, principal, "owners come in the order of the claims");
                (thing, id, owners[0].principal_id.clone())
            });
        }
        let mut owners = std::collections::HashMap::new();
        for (thing, id, owner) in calls.join_all().await {
            let first = owners.entry((thing, id)).or_insert_with(|| owner.clone());
            assert_eq!(*first, owner);
        }
        assert_eq!(owners.len(), 100);
        assert!(tasks.drain(Duration::from_secs(10)).await, "the work ends when nothing is left");
    }

    #[tokio::test]
    async fn a_store_that_is_away_takes_no_claim() {
        let database = store::testing::sqlite_file().await;
        let claims = Arc::new(Claims::new(database.store.clone(), Tasks::new()));
        database.store.close().await;
        for id in ["t1", "t2"] {
            assert_eq!(claims.claim(vec![claim(Thing::Task, id, "p1", 1)]).await, None);
        }
    }
}
