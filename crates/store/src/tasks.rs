//! Who owns which task and which context, by tenant, card and principal. The first claim wins and is never changed;
//! an id that one agent made can't be claimed through another card. Claims do not bump the revision.

use crate::open::Durability;
use crate::sql::Lane;
use crate::{Error, Result, Store, Table, TenantId, revision, text};

row! {
    /// The owner of a task.
    pub TaskRow in Tasks {
        /// The task.
        task_id: String,
        /// Whose.
        principal_id: String,
        /// The context it was first seen in.
        context_id: Option<String>,
        /// Microseconds.
        created: i64,
    }
}

row! {
    /// The owner of a context.
    pub ContextRow in Contexts {
        /// The context.
        context_id: String,
        /// Whose.
        principal_id: String,
        /// Microseconds.
        created: i64,
    }
}

row! {
    /// Who owns what was claimed: the claimant, or whoever came first.
    pub Owner in Tasks {
        /// The owner.
        principal_id: String,
        /// Microseconds.
        created: i64,
    }
}

/// A claim of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in TaskRow")]
pub struct TaskClaim {
    pub tenant: TenantId,
    pub card_id: String,
    pub task_id: String,
    pub principal_id: String,
    pub context_id: Option<String>,
    pub created: i64,
}

/// A claim of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in ContextRow")]
pub struct ContextClaim {
    pub tenant: TenantId,
    pub card_id: String,
    pub context_id: String,
    pub principal_id: String,
    pub created: i64,
}

/// The last task of the page before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCursor {
    /// Its time.
    pub created: i64,
    /// Its id.
    pub task_id: String,
}

impl Store {
    /// Claims a task; gives its owner, who may be another.
    pub async fn claim_task(&self, claim: &TaskClaim) -> Result<Owner> {
        claim.check()?;
        let mut writer = self.unsynced_writer().await?;
        claim_task_on(writer.lane(), claim).await
    }

    /// Claims a context; gives its owner, who may be another.
    pub async fn claim_context(&self, claim: &ContextClaim) -> Result<Owner> {
        claim.check()?;
        let mut writer = self.unsynced_writer().await?;
        claim_context_on(writer.lane(), claim).await
    }

    /// Claims many tasks (the replay after an outage); gives the owners in the claims' order.
    pub async fn claim_tasks(&self, claims: &[TaskClaim]) -> Result<Vec<Owner>> {
        claims.iter().try_for_each(TaskClaim::check)?;
        let mut owners = vec![None; claims.len()];
        // The earliest first, and in one order for everybody, so that two replays never wait for each other.
        let mut order: Vec<_> = claims.iter().zip(owners.iter_mut()).collect();
        order.sort_by(|(a, _), (b, _)| a.order().cmp(&b.order()));
        for batch in order.chunks_mut(CLAIM_BATCH) {
            let mut tx = self.begin(Durability::Synced).await?;
            for (claim, owner) in batch {
                **owner = Some(claim_task_on(tx.lane(), claim).await?);
            }
            tx.commit().await?;
        }
        Ok(owners.into_iter().flatten().collect())
    }

    /// Claims many contexts (the replay after an outage); gives the owners in the claims' order.
    pub async fn claim_contexts(&self, claims: &[ContextClaim]) -> Result<Vec<Owner>> {
        claims.iter().try_for_each(ContextClaim::check)?;
        let mut owners = vec![None; claims.len()];
        let mut order: Vec<_> = claims.iter().zip(owners.iter_mut()).collect();
        order.sort_by(|(a, _), (b, _)| a.order().cmp(&b.order()));
        for batch in order.chunks_mut(CLAIM_BATCH) {
            let mut tx = self.begin(Durability::Synced).await?;
            for (claim, owner) in batch {
                **owner = Some(claim_context_on(tx.lane(), claim).await?);
            }
            tx.commit().await?;
        }
        Ok(owners.into_iter().flatten().collect())
    }

    /// The owner of a task seen through this card.
    pub async fn task_owner(&self, tenant: &TenantId, card_id: &str, task_id: &str) -> Result<Option<TaskRow>> {
        if !text::is_key(task_id) {
            return Ok(None);
        }
        let mut reader = self.reader().await?;
        one!(reader, TaskRow, TASK, tenant.as_str(), card_id, task_id)
    }

    /// The owners of several tasks seen through this card, in no order; unknown ones are left out.
    pub async fn task_owners(&self, tenant: &TenantId, card_id: &str, task_ids: &[&str]) -> Result<Vec<TaskRow>> {
        let ids: Vec<&str> = task_ids.iter().copied().filter(|id| text::is_key(id)).collect();
        let mut found = Vec::with_capacity(ids.len());
        let mut reader = self.reader().await?;
        for batch in ids.chunks(TASKS_AT_ONCE) {
            let [a, b, c, d, e, f, g, h, i, j] = std::array::from_fn(|at| batch.get(at).copied().unwrap_or(""));
            let (tenant, card) = (tenant.as_str(), card_id);
            found.extend(q!(reader, TaskRow, TASKS, tenant, card, a, b, c, d, e, f, g, h, i, j)?);
        }
        Ok(found)
    }

    /// The owner of a context seen through this card.
    pub async fn context_owner(
        &self,
        tenant: &TenantId,
        card_id: &str,
        context_id: &str,
    ) -> Result<Option<ContextRow>> {
        if !text::is_key(context_id) {
            return Ok(None);
        }
        let mut reader = self.reader().await?;
        one!(reader, ContextRow, CONTEXT, tenant.as_str(), card_id, context_id)
    }

    /// A principal's tasks on a card, newest first.
    pub async fn tasks_of(
        &self,
        tenant: &TenantId,
        card_id: &str,
        principal_id: &str,
        after: Option<&TaskCursor>,
        limit: u32,
    ) -> Result<Vec<TaskRow>> {
        let (created, task_id) = after.map_or((i64::MAX, ""), |cursor| (cursor.created, cursor.task_id.as_str()));
        let mut reader = self.reader().await?;
        let limit = revision::limit(limit);
        q!(reader, TaskRow, TASKS_OF, tenant.as_str(), card_id, principal_id, created, task_id, limit)
    }
}

async fn claim_task_on(mut lane: Lane<'_>, claim: &TaskClaim) -> Result<Owner> {
    let (tenant, card, task) = (claim.tenant.as_str(), claim.card_id.as_str(), claim.task_id.as_str());
    let (principal, context) = (claim.principal_id.as_str(), claim.context_id.as_deref());
    let claimed = one!(lane, Owner, CLAIM_TASK, tenant, card, task, principal, context, claim.created)?;
    match claimed {
        Some(owner) => Ok(owner),
        // The claim lost, so the winner is there to be read.
        None => one!(lane, Owner, TASK_WINNER, tenant, card, task)?.ok_or(Error::NotFound { table: Table::Tasks }),
    }
}

async fn claim_context_on(mut lane: Lane<'_>, claim: &ContextClaim) -> Result<Owner> {
    let (tenant, card, context) = (claim.tenant.as_str(), claim.card_id.as_str(), claim.context_id.as_str());
    let claimed = one!(lane, Owner, CLAIM_CONTEXT, tenant, card, context, claim.principal_id.as_str(), claim.created)?;
    match claimed {
        Some(owner) => Ok(owner),
        None => {
            one!(lane, Owner, CONTEXT_WINNER, tenant, card, context)?.ok_or(Error::NotFound { table: Table::Contexts })
        }
    }
}

impl TaskClaim {
    fn check(&self) -> Result<()> {
        text::key("card_id", &self.card_id)?;
        text::key("task_id", &self.task_id)?;
        text::key("principal_id", &self.principal_id)?;
        self.context_id.as_deref().map_or(Ok(()), |id| text::key("context_id", id))
    }

    fn order(&self) -> (&TenantId, &str, &str, i64) {
        (&self.tenant, &self.card_id, &self.task_id, self.created)
    }
}

impl ContextClaim {
    fn check(&self) -> Result<()> {
        text::key("card_id", &self.card_id)?;
        text::key("context_id", &self.context_id)?;
        text::key("principal_id", &self.principal_id)
    }

    fn order(&self) -> (&TenantId, &str, &str, i64) {
        (&self.tenant, &self.card_id, &self.context_id, self.created)
    }
}

const CLAIM_BATCH: usize = 500;

/// As many as [`TASKS`] has places for.
const TASKS_AT_ONCE: usize = 10;

statements! {
    both {
        CLAIM_TASK = "INSERT INTO tasks (tenant, card_id, task_id, principal_id, context_id, created)
            VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (tenant, card_id, task_id) DO NOTHING RETURNING principal_id, created";
        TASK_WINNER = "SELECT principal_id, created FROM tasks WHERE tenant = $1 AND card_id = $2 AND task_id = $3";
        CLAIM_CONTEXT = "INSERT INTO contexts (tenant, card_id, context_id, principal_id, created)
            VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (tenant, card_id, context_id) DO NOTHING RETURNING principal_id, created";
        CONTEXT_WINNER = "SELECT principal_id, created FROM contexts
            WHERE tenant = $1 AND card_id = $2 AND context_id = $3";
        TASK = "SELECT task_id, principal_id, context_id, created FROM tasks
            WHERE tenant = $1 AND card_id = $2 AND task_id = $3";
        TASKS = "SELECT task_id, principal_id, context_id, created FROM tasks
            WHERE tenant = $1 AND card_id = $2 AND task_id IN ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
        CONTEXT = "SELECT context_id, principal_id, created FROM contexts
            WHERE tenant = $1 AND card_id = $2 AND context_id = $3";
        TASKS_OF = "SELECT task_id, principal_id, context_id, created FROM tasks
            WHERE tenant = $1 AND card_id = $2 AND principal_id = $3 AND (created, task_id) < ($4, $5)
            ORDER BY created DESC, task_id DESC LIMIT $6";
    }
}
