//! Whose task is it: ids of tasks and contexts → may this principal name them (product.md D5, D15, D16).
//!
//! *Takes* a permit and a call, an answer or an event. *Gives* nothing but leave to go on. *Refuses* a foreign task
//! exactly like a missing one, a foreign context as invalid parameters, and an agent's answer that names somebody
//! else's id. *Never* sends anything to the agent, never answers "missing" when it merely cannot look.
//!
//! Owners never change, so they are cached; only a claim and a miss ask the store. `expiry` says when ownership ends.

mod claims;
pub mod expiry;
pub mod list;
mod page;
mod pending;

pub use page::PageKey;

use crate::clock::Micros;
use crate::pipeline::authorize::Permit;
use crate::registry::TaskScope;
use crate::tasks::Tasks;
use a2a::{Answer, Call, Event, OperationKind, path};
use claims::{Claim, Claims};
use pending::Pending;
use quick_cache::sync::Cache;
use std::sync::Arc;
use std::time::Duration;
use store::{ContextClaim, Store, TaskClaim, TenantId};

/// Why the ids of a call or an answer are not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnerError {
    /// An agent's answer names an id that belongs to somebody else, or another task than the one asked for.
    #[error("the answer names an id that is not the caller's")]
    AnotherOwner,
    /// The context belongs to somebody else.
    #[error("the context belongs to another principal")]
    ForeignContext,
    /// An id that no store can hold, in what the caller sent.
    #[error("an id cannot be stored")]
    BadId,
    /// The page token was not made for this principal and query.
    #[error("the page token is not valid here")]
    BadPageToken,
    /// Missing, or somebody else's: one answer.
    #[error("no such task for this principal")]
    TaskNotFound,
    /// The agent lists more pages than are walked.
    #[error("the agent lists more tasks than can be filtered")]
    TooManyPages,
    /// The store cannot be asked and the id is not known here.
    #[error("ownership cannot be looked up now")]
    Unavailable,
}

/// What is known about owners.
#[derive(Debug)]
pub struct Owners {
    store: Store,
    claims: Arc<Claims>,
    wait: Duration,
    known: Cache<Key, Owned>,
    pending: Pending,
    page_key: PageKey,
}

/// Whose something is, and since when.
#[derive(Clone, Debug)]
struct Owned {
    principal: Arc<str>,
    since: Micros,
}

impl Owned {
    /// A claim that waits for the store, and so is young.
    const fn pending(principal: Arc<str>) -> Self {
        Self { principal, since: Micros::MAX }
    }

    const fn is_kept(&self, oldest: Micros) -> bool {
        self.since >= oldest
    }

    fn is_of(&self, whose: Option<&str>) -> bool {
        whose.is_none_or(|whose| *self.principal == *whose)
    }
}

/// What is owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Thing {
    Task,
    Context,
}

/// A task or context of one tenant on one card.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    thing: Thing,
    tenant: Arc<str>,
    card: Arc<str>,
    id: Arc<str>,
}

impl Owners {
    /// How many owners are remembered.
    const KNOWN: usize = 200_000;

    /// Nothing known yet. A claim waits for the store at most `wait`.
    #[must_use]
    pub fn new(store: Store, wait: Duration, page_key: PageKey, tasks: Tasks) -> Self {
        let claims = Arc::new(Claims::new(store.clone(), tasks));
        Self { store, claims, wait, known: Cache::new(Self::KNOWN), pending: Pending::default(), page_key }
    }

    /// Replays claims that the store could not take, until the process stops.
    pub fn start_replay(self: &Arc<Self>, tasks: &Tasks) {
        let (owners, stop) = (Arc::clone(self), tasks.stopping());
        tasks.spawn("ownership replay", async move { pending::replay(&owners, &stop).await });
    }

    /// Claims that wait for the store.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Since when `key` is `whose`, or anybody's where that is `None`. Asks the store unless it is known here. Foreign is
    /// what missing is, on the way there too: neither is a row, and neither is remembered.
    async fn owned(&self, key: &Key, whose: Option<&str>) -> Result<Option<Owned>, OwnerError> {
        let known = self.known.get(key).filter(|owned| owned.is_of(whose));
        if let Some(owned) = known.or_else(|| self.pending_of(key, whose)) {
            return Ok(Some(owned));
        }
        // Rare, and a query is large: the future of every call would carry it.
        Box::pin(self.look_up(key, whose)).await
    }

    async fn look_up(&self, key: &Key, whose: Option<&str>) -> Result<Option<Owned>, OwnerError> {
        let tenant = TenantId::new(&key.tenant).ok_or(OwnerError::TaskNotFound)?;
        let found = match key.thing {
            Thing::Task => self.store.owned_task(&tenant, &key.card, &key.id, whose).await,
            Thing::Context => self.store.owned_context(&tenant, &key.card, &key.id, whose).await,
        };
        let found = found.map_err(|_| OwnerError::Unavailable)?;
        let owned = found.map(|owner| Owned { principal: owner.principal_id.into(), since: owner.created });
        if let Some(owned) = &owned {
            self.known.insert(key.clone(), owned.clone());
        }
        // Claimed here a moment ago and not yet in the store.
        Ok(owned.or_else(|| self.pending_of(key, whose)))
    }

    fn pending_of(&self, key: &Key, whose: Option<&str>) -> Option<Owned> {
        self.pending.owner(key).map(Owned::pending).filter(|owned| owned.is_of(whose))
    }

    /// Claims `keys`, all of one tenant, for `principal`; gives the owners in their order, who may be others. First
    /// claim wins; what is known and older than `oldest` may be forgotten by now, so the store is asked.
    async fn claim(
        &self,
        keys: Vec<Key>,
        principal: &Arc<str>,
        (oldest, now): (Micros, Micros),
    ) -> Result<Vec<Arc<str>>, OwnerError> {
        let known =
            |key| self.known.get(key).filter(|owner: &Owned| owner.is_kept(oldest)).map(|owner| owner.principal);
        let mut owners: Vec<Option<Arc<str>>> =
            keys.iter().map(|key| known(key).or_else(|| self.pending.owner(key))).collect();
        let unknown: Vec<Key> =
            keys.iter().zip(&owners).filter(|(_, owner)| owner.is_none()).map(|(key, _)| key.clone()).collect();
        if let Some(first) = unknown.first() {
            let tenant = TenantId::new(&first.tenant).ok_or(OwnerError::Unavailable)?;
            let claims: Vec<Claim> = unknown.iter().map(|key| key.claim(tenant.clone(), principal, now)).collect();
            if !claims.iter().all(Claim::is_storable) {
                return Err(OwnerError::BadId);
            }
            let mut claimed = self.claim_unknown(unknown, claims, principal, now).await?.into_iter();
            owners.iter_mut().filter(|owner| owner.is_none()).for_each(|owner| *owner = claimed.next());
        }
        owners.into_iter().collect::<Option<_>>().ok_or(OwnerError::Unavailable)
    }

    async fn claim_unknown(
        &self,
        keys: Vec<Key>,
        claims: Vec<Claim>,
        principal: &Arc<str>,
        now: Micros,
    ) -> Result<Vec<Arc<str>>, OwnerError> {
        match tokio::time::timeout(self.wait, self.claims.claim(claims)).await {
            Ok(Some(owners)) => {
                let mut principals: Vec<Arc<str>> = Vec::with_capacity(owners.len());
                for (key, owner) in keys.into_iter().zip(owners) {
                    let owner = Owned { principal: owner.principal_id.into(), since: owner.created };
                    principals.push(Arc::clone(&owner.principal));
                    self.known.insert(key, owner);
                }
                Ok(principals)
            }
            Ok(None) | Err(_) => {
                let put = |key: Key| match self.known.get(&key) {
                    // Too old, but whose it was is known: only the store can say that it is forgotten.
                    Some(owner) => Ok(owner.principal),
                    None => self.pending.put(key, principal, now).ok_or(OwnerError::Unavailable),
                };
                keys.into_iter().map(put).collect()
            }
        }
    }
}

impl Key {
    /// The claim of it for `principal`.
    fn claim(&self, tenant: TenantId, principal: &str, created: Micros) -> Claim {
        match self.thing {
            Thing::Task => Claim::Task(task_claim(tenant, self, principal, created)),
            Thing::Context => Claim::Context(context_claim(tenant, self, principal, created)),
        }
    }
}

fn task_claim(tenant: TenantId, key: &Key, principal: &str, created: Micros) -> TaskClaim {
    TaskClaim {
        tenant,
        card_id: key.card.to_string(),
        task_id: key.id.to_string(),
        principal_id: principal.to_owned(),
        context_id: None,
        created,
    }
}

fn context_claim(tenant: TenantId, key: &Key, principal: &str, created: Micros) -> ContextClaim {
    ContextClaim {
        tenant,
        card_id: key.card.to_string(),
        context_id: key.id.to_string(),
        principal_id: principal.to_owned(),
        created,
    }
}

/// Checks and claims for one call. Cheap to keep for the length of a stream.
#[derive(Clone, Debug)]
pub struct Ownership {
    owners: Arc<Owners>,
    tenant: Arc<str>,
    card: Arc<str>,
    principal: Arc<str>,
    scope: TaskScope,
    now: Micros,
    /// What was first seen before counts as missing.
    oldest: Micros,
    /// The task that the call addresses; answers must be about it.
    addressed: Option<Arc<str>>,
}

/// Whether the caller may name every id in `call`; gives what answers are judged by.
///
/// # Errors
/// [`OwnerError`]
pub async fn check(call: &Call, permit: &Permit, owners: &Arc<Owners>, now: Micros) -> Result<Ownership, OwnerError> {
    let card = permit.card();
    let mut ownership = Ownership {
        owners: Arc::clone(owners),
        tenant: card.tenant.as_str().into(),
        card: card.id.as_str().into(),
        principal: permit.principal().id.as_str().into(),
        scope: card.task_scope,
        now,
        oldest: expiry::oldest(permit.tenant(), now),
        addressed: None,
    };
    if let Some(task) = call.task_id() {
        ownership.may_name(task).await?;
        ownership.addressed = match call.kind {
            OperationKind::GetTask | OperationKind::CancelTask | OperationKind::SubscribeToTask => Some(task.into()),
            OperationKind::SendMessage
            | OperationKind::SendStreamingMessage
            | OperationKind::ListTasks
            | OperationKind::CreatePushConfig
            | OperationKind::GetPushConfig
            | OperationKind::ListPushConfigs
            | OperationKind::DeletePushConfig
            | OperationKind::GetExtendedCard => None,
        };
    }
    for task in call.reference_task_ids() {
        ownership.may_name(task).await?;
    }
    if let Some(context) = call.context_id()
        && call.message().is_some()
    {
        ownership.bind_context(context).await?;
    }
    Ok(ownership)
}

impl Ownership {
    /// The task that the call addresses.
    #[must_use]
    pub fn addressed(&self) -> Option<&str> {
        self.addressed.as_deref()
    }

    /// A task that the caller names must be its own.
    async fn may_name(&self, task: &str) -> Result<(), OwnerError> {
        if !path::is_task_id(task) {
            return Err(OwnerError::TaskNotFound);
        }
        let owned = self.owners.owned(&self.key(Thing::Task, task), self.whose()).await?;
        if owned.is_some_and(|owned| owned.is_kept(self.oldest)) { Ok(()) } else { Err(OwnerError::TaskNotFound) }
    }

    /// A context that the caller names becomes its own unless it is somebody else's (D15).
    async fn bind_context(&self, context: &str) -> Result<(), OwnerError> {
        let keys = vec![self.key(Thing::Context, context)];
        let owners = self.owners.claim(keys, &self.principal, (self.oldest, self.now)).await?;
        if owners.iter().all(|owner| self.shares(owner)) { Ok(()) } else { Err(OwnerError::ForeignContext) }
    }

    /// Claims the ids of an answer before the caller sees them.
    ///
    /// # Errors
    /// [`OwnerError::AnotherOwner`], [`OwnerError::Unavailable`]
    pub async fn answered(&self, answer: &Answer) -> Result<(), OwnerError> {
        self.claim(answer.task_id(), answer.context_id()).await
    }

    /// Claims the ids of an event before the caller sees them.
    ///
    /// # Errors
    /// [`OwnerError::AnotherOwner`], [`OwnerError::Unavailable`]
    pub async fn told(&self, event: &Event) -> Result<(), OwnerError> {
        self.claim(event.task_id(), event.context_id()).await
    }

    async fn claim(&self, task: Option<&str>, context: Option<&str>) -> Result<(), OwnerError> {
        if let (Some(addressed), Some(task)) = (&self.addressed, task)
            && **addressed != *task
        {
            return Err(OwnerError::AnotherOwner);
        }
        let named = [(Thing::Task, task), (Thing::Context, context)];
        let keys: Vec<Key> = named.into_iter().filter_map(|(thing, id)| Some(self.key(thing, id?))).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let claimed = self.owners.claim(keys, &self.principal, (self.oldest, self.now)).await;
        let owners =
            claimed.map_err(|error| if error == OwnerError::BadId { OwnerError::AnotherOwner } else { error })?;
        if owners.iter().all(|owner| self.shares(owner)) { Ok(()) } else { Err(OwnerError::AnotherOwner) }
    }

    fn key(&self, thing: Thing, id: &str) -> Key {
        Key { thing, tenant: Arc::clone(&self.tenant), card: Arc::clone(&self.card), id: id.into() }
    }

    /// Whether it is the caller's, and is kept still.
    fn may_see(&self, owner: &Owned) -> bool {
        owner.is_kept(self.oldest) && self.shares(&owner.principal)
    }

    fn shares(&self, owner: &str) -> bool {
        self.whose().is_none_or(|whose| *owner == *whose)
    }

    /// Whose tasks and contexts the caller may name; everybody's of the tenant where that is `None`.
    fn whose(&self) -> Option<&str> {
        match self.scope {
            TaskScope::Principal => Some(&self.principal),
            TaskScope::Tenant => None,
        }
    }
}

#[cfg(test)]
mod tests;
