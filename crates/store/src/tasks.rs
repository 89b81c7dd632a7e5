//! Who owns which task and which context, by tenant, card and principal. The first claim wins and is never changed;
//! an id that one agent made can't be claimed through another card. Claims do not bump the revision.

use std::collections::HashMap;
use std::iter::repeat_n;

use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;

use crate::open::Durability;
use crate::sql::{Lane, Stored as _};
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

    /// Claims what several calls claim at the same time, in one go; gives the owners in the claims' order.
    pub async fn claim_together(
        &self,
        tasks: &[TaskClaim],
        contexts: &[ContextClaim],
    ) -> Result<(Vec<Owner>, Vec<Owner>)> {
        tasks.iter().try_for_each(TaskClaim::check)?;
        contexts.iter().try_for_each(ContextClaim::check)?;
        // On SQLite each transaction writes its pages, so there is one; on PostgreSQL none stays open between round trips.
        let mut writer = self.claim_writer().await?;
        let mut task_owners = Vec::with_capacity(tasks.len());
        for batch in tasks.chunks(writer.most_claims()) {
            task_owners.extend(claim_tasks_on(writer.lane(), batch).await?);
        }
        let mut context_owners = Vec::with_capacity(contexts.len());
        for batch in contexts.chunks(writer.most_claims()) {
            context_owners.extend(claim_contexts_on(writer.lane(), batch).await?);
        }
        writer.done().await?;
        Ok((task_owners, context_owners))
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

    /// Since when a task seen through this card is `whose`, or anybody's where that is `None`. Somebody else's is no row.
    pub async fn owned_task(
        &self,
        tenant: &TenantId,
        card_id: &str,
        task_id: &str,
        whose: Option<&str>,
    ) -> Result<Option<Owner>> {
        if !text::is_key(task_id) {
            return Ok(None);
        }
        let mut reader = self.reader().await?;
        one!(reader, Owner, OWNED_TASK, tenant.as_str(), card_id, task_id, whose)
    }

    /// Since when a context seen through this card is `whose`, or anybody's where that is `None`.
    pub async fn owned_context(
        &self,
        tenant: &TenantId,
        card_id: &str,
        context_id: &str,
        whose: Option<&str>,
    ) -> Result<Option<Owner>> {
        if !text::is_key(context_id) {
            return Ok(None);
        }
        let mut reader = self.reader().await?;
        one!(reader, Owner, OWNED_CONTEXT, tenant.as_str(), card_id, context_id, whose)
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

row! {
    /// A claim that was first.
    Won in Tasks {
        /// The task or context.
        id: String,
        tenant: TenantId,
        card_id: String,
        principal_id: String,
        created: i64,
    }
}

/// Who was first, by tenant, card and id.
type Wins = HashMap<(TenantId, String, String), Owner>;

impl Won {
    fn entry(self) -> ((TenantId, String, String), Owner) {
        let Self { id, tenant, card_id, principal_id, created } = self;
        ((tenant, card_id, id), Owner { principal_id, created })
    }
}

/// Claims a batch of tasks in one statement, and looks for the owners of those that lost.
async fn claim_tasks_on(mut lane: Lane<'_>, claims: &[TaskClaim]) -> Result<Vec<Owner>> {
    let won = match lane.lane() {
        Lane::Pg(connection) => won_tasks(connection, claims).await?,
        Lane::Lite(connection) => {
            if inserted_tasks(connection, claims).await? == claims.len() {
                return Ok(claims.iter().map(TaskClaim::owner).collect());
            }
            HashMap::new()
        }
    };
    let mut owners = Vec::with_capacity(claims.len());
    for claim in claims {
        owners.push(match won.get(&(claim.tenant.clone(), claim.card_id.clone(), claim.task_id.clone())) {
            Some(owner) => Owner::clone(owner),
            None => claim_task_on(lane.lane(), claim).await?,
        });
    }
    Ok(owners)
}

/// Claims a batch of contexts in one statement, and looks for the owners of those that lost.
async fn claim_contexts_on(mut lane: Lane<'_>, claims: &[ContextClaim]) -> Result<Vec<Owner>> {
    let won = match lane.lane() {
        Lane::Pg(connection) => won_contexts(connection, claims).await?,
        Lane::Lite(connection) => {
            if inserted_contexts(connection, claims).await? == claims.len() {
                return Ok(claims.iter().map(ContextClaim::owner).collect());
            }
            HashMap::new()
        }
    };
    let mut owners = Vec::with_capacity(claims.len());
    for claim in claims {
        owners.push(match won.get(&(claim.tenant.clone(), claim.card_id.clone(), claim.context_id.clone())) {
            Some(owner) => Owner::clone(owner),
            None => claim_context_on(lane.lane(), claim).await?,
        });
    }
    Ok(owners)
}

/// Those tasks of a batch that were claimed first.
async fn won_tasks(connection: &mut PgConnection, claims: &[TaskClaim]) -> Result<Wins> {
    // In one order for everybody, so that two never wait for each other.
    let mut claims: Vec<&TaskClaim> = claims.iter().collect();
    claims.sort_by_key(|claim| claim.order());
    let text = |column: fn(&TaskClaim) -> &str| claims.iter().map(|claim| column(claim)).collect::<Vec<_>>();
    let rows = sqlx::query(PG_CLAIM_TASKS)
        .bind(text(|claim| claim.tenant.as_str()))
        .bind(text(|claim| &claim.card_id))
        .bind(text(|claim| &claim.task_id))
        .bind(text(|claim| &claim.principal_id))
        .bind(claims.iter().map(|claim| claim.context_id.as_deref()).collect::<Vec<_>>())
        .bind(claims.iter().map(|claim| claim.created).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| Won::pg(row).map(Won::entry)).collect()
}

/// Those contexts of a batch that were claimed first.
async fn won_contexts(connection: &mut PgConnection, claims: &[ContextClaim]) -> Result<Wins> {
    let mut claims: Vec<&ContextClaim> = claims.iter().collect();
    claims.sort_by_key(|claim| claim.order());
    let text = |column: fn(&ContextClaim) -> &str| claims.iter().map(|claim| column(claim)).collect::<Vec<_>>();
    let rows = sqlx::query(PG_CLAIM_CONTEXTS)
        .bind(text(|claim| claim.tenant.as_str()))
        .bind(text(|claim| &claim.card_id))
        .bind(text(|claim| &claim.context_id))
        .bind(text(|claim| &claim.principal_id))
        .bind(claims.iter().map(|claim| claim.created).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| Won::pg(row).map(Won::entry)).collect()
}

/// Inserts a batch of tasks; gives how many were first. No row comes back: each costs a turn of the database's thread.
async fn inserted_tasks(connection: &mut SqliteConnection, claims: &[TaskClaim]) -> Result<usize> {
    let mut query = sqlx::query(if claims.len() == 1 { LITE_CLAIM_TASK } else { LITE_CLAIM_TASKS });
    for claim in filled(claims) {
        query = query.bind(claim.tenant.as_str()).bind(&*claim.card_id).bind(&*claim.task_id);
        query = query.bind(&*claim.principal_id).bind(claim.context_id.as_deref()).bind(claim.created);
    }
    Ok(count(query.execute(connection).await?.rows_affected()))
}

/// Inserts a batch of contexts; gives how many were first.
async fn inserted_contexts(connection: &mut SqliteConnection, claims: &[ContextClaim]) -> Result<usize> {
    let mut query = sqlx::query(if claims.len() == 1 { LITE_CLAIM_CONTEXT } else { LITE_CLAIM_CONTEXTS });
    for claim in filled(claims) {
        query = query.bind(claim.tenant.as_str()).bind(&*claim.card_id).bind(&*claim.context_id);
        query = query.bind(&*claim.principal_id).bind(claim.created);
    }
    Ok(count(query.execute(connection).await?.rows_affected()))
}

fn count(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}

/// One claim, or as many as a statement has places for: the last one again is no claim of its own.
fn filled<C>(claims: &[C]) -> impl Iterator<Item = &C> {
    let missing = if claims.len() == 1 { 0 } else { TOGETHER.saturating_sub(claims.len()) };
    claims.iter().chain(claims.last().into_iter().flat_map(move |last| repeat_n(last, missing)))
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
    /// Whether the store can hold it.
    pub fn check(&self) -> Result<()> {
        text::key("card_id", &self.card_id)?;
        text::key("task_id", &self.task_id)?;
        text::key("principal_id", &self.principal_id)?;
        self.context_id.as_deref().map_or(Ok(()), |id| text::key("context_id", id))
    }

    fn order(&self) -> (&TenantId, &str, &str, i64) {
        (&self.tenant, &self.card_id, &self.task_id, self.created)
    }

    fn owner(&self) -> Owner {
        Owner { principal_id: self.principal_id.clone(), created: self.created }
    }
}

impl ContextClaim {
    /// Whether the store can hold it.
    pub fn check(&self) -> Result<()> {
        text::key("card_id", &self.card_id)?;
        text::key("context_id", &self.context_id)?;
        text::key("principal_id", &self.principal_id)
    }

    fn order(&self) -> (&TenantId, &str, &str, i64) {
        (&self.tenant, &self.card_id, &self.context_id, self.created)
    }

    fn owner(&self) -> Owner {
        Owner { principal_id: self.principal_id.clone(), created: self.created }
    }
}

const CLAIM_BATCH: usize = 500;

/// As many as [`LITE_CLAIM_TASKS`] and [`LITE_CLAIM_CONTEXTS`] have places for.
pub(crate) const TOGETHER: usize = 16;

macro_rules! lite_claim_tasks {
    ($places:expr) => {
        concat!(
            "INSERT INTO tasks (tenant, card_id, task_id, principal_id, context_id, created) VALUES ",
            $places,
            " ON CONFLICT (tenant, card_id, task_id) DO NOTHING"
        )
    };
}

macro_rules! lite_claim_contexts {
    ($places:expr) => {
        concat!(
            "INSERT INTO contexts (tenant, card_id, context_id, principal_id, created) VALUES ",
            $places,
            " ON CONFLICT (tenant, card_id, context_id) DO NOTHING"
        )
    };
}

macro_rules! sixteen {
    ($place:literal) => {
        concat!(four!($place), ", ", four!($place), ", ", four!($place), ", ", four!($place))
    };
}

macro_rules! four {
    ($place:literal) => {
        concat!($place, ", ", $place, ", ", $place, ", ", $place)
    };
}

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
        OWNED_TASK = "SELECT principal_id, created FROM tasks
            WHERE tenant = $1 AND card_id = $2 AND task_id = $3 AND principal_id = COALESCE($4, principal_id)";
        OWNED_CONTEXT = "SELECT principal_id, created FROM contexts
            WHERE tenant = $1 AND card_id = $2 AND context_id = $3 AND principal_id = COALESCE($4, principal_id)";
        TASKS_OF = "SELECT task_id, principal_id, context_id, created FROM tasks
            WHERE tenant = $1 AND card_id = $2 AND principal_id = $3 AND (created, task_id) < ($4, $5)
            ORDER BY created DESC, task_id DESC LIMIT $6";
    }
    postgres {
        PG_CLAIM_TASKS = "INSERT INTO tasks (tenant, card_id, task_id, principal_id, context_id, created)
            SELECT * FROM UNNEST($1::TEXT[], $2::TEXT[], $3::TEXT[], $4::TEXT[], $5::TEXT[], $6::BIGINT[])
            ON CONFLICT (tenant, card_id, task_id) DO NOTHING
            RETURNING task_id AS id, tenant, card_id, principal_id, created";
        PG_CLAIM_CONTEXTS = "INSERT INTO contexts (tenant, card_id, context_id, principal_id, created)
            SELECT * FROM UNNEST($1::TEXT[], $2::TEXT[], $3::TEXT[], $4::TEXT[], $5::BIGINT[])
            ON CONFLICT (tenant, card_id, context_id) DO NOTHING
            RETURNING context_id AS id, tenant, card_id, principal_id, created";
    }
    sqlite {
        LITE_CLAIM_TASK = lite_claim_tasks!("(?, ?, ?, ?, ?, ?)");
        LITE_CLAIM_TASKS = lite_claim_tasks!(sixteen!("(?, ?, ?, ?, ?, ?)"));
        LITE_CLAIM_CONTEXT = lite_claim_contexts!("(?, ?, ?, ?, ?)");
        LITE_CLAIM_CONTEXTS = lite_claim_contexts!(sixteen!("(?, ?, ?, ?, ?)"));
    }
}
