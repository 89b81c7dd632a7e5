//! The one revision number and the list of changes behind it. Every administrative change bumps the number in its own
//! transaction and says what it touched; replicas poll the number, PostgreSQL also notifies.

use sqlx::postgres::{PgListener, PgPoolOptions};

use crate::open::Durability;
use crate::{Error, Result, Store, Table, TenantId};

word! {
    /// What kind of row changed.
    ChangeKind {
        /// A card, its settings, state or credential.
        Card = "card",
        /// The conditions of a tenant.
        Conditions = "conditions",
        /// A grant.
        Grant = "grant",
        /// An issuer.
        Issuer = "issuer",
        /// An API key.
        Key = "key",
        /// A policy.
        Policy = "policy",
        /// A principal.
        Principal = "principal",
        /// A signing key.
        SigningKey = "signing_key",
        /// The tenant itself; the id is its name.
        Tenant = "tenant",
    }
}

row! {
    /// One row that changed at one revision. It may have been created, changed or deleted: read it to know.
    pub Change in Changes {
        /// When, in revisions.
        revision: i64,
        /// Whose row.
        tenant: TenantId,
        /// What kind of row.
        kind: ChangeKind,
        /// Its id.
        id: String,
    }
}

/// Which revision the caller believes a row to be at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfMatch {
    /// Whatever it is.
    Any,
    /// Exactly this one, else [`crate::Error::Conflict`].
    Revision(i64),
}

/// One page of a list, in ascending order of name (keys and signing keys: of id).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// The last name of the page before; empty for the first page.
    pub after: &'a str,
    /// At most this many rows (kept within 1 and 1000).
    pub limit: u32,
}

impl Page<'_> {
    pub(crate) fn limit(&self) -> i64 {
        limit(self.limit)
    }
}

/// What a list may give at once.
pub(crate) fn limit(wanted: u32) -> i64 {
    i64::from(wanted.clamp(1, 1000))
}

/// Hears of changes as they are committed (PostgreSQL).
#[derive(Debug)]
pub struct Listener {
    listener: PgListener,
}

impl Listener {
    /// Waits until something may have changed. After a lost connection it returns at once, so that nothing is missed.
    pub async fn recv(&mut self) -> Result<()> {
        // `None` is a lost connection; the next call makes another.
        self.listener.try_recv().await?;
        while self.listener.next_buffered().is_some() {}
        Ok(())
    }
}

row! {
    Position in Revision {
        value: i64,
        pruned: i64,
    }
}

impl Store {
    /// The current revision; 0 when nothing was ever changed.
    pub async fn revision(&self) -> Result<i64> {
        let mut reader = self.reader().await?;
        Ok(one!(reader, Position, POSITION)?.ok_or(LOST)?.value)
    }

    /// What changed after `since`, oldest first. If the list was pruned past `since`, or `since` lies in the future
    /// (another database was restored under us), it is `None`: reload everything.
    pub async fn changes(&self, since: i64) -> Result<Option<Vec<Change>>> {
        let mut reader = self.reader().await?;
        // In this order: a pruning between the two reads is seen by the second.
        let changes = q!(reader, Change, CHANGES_SINCE, since)?;
        let position = one!(reader, Position, POSITION)?.ok_or(LOST)?;
        Ok((position.pruned <= since && since <= position.value).then_some(changes))
    }

    /// Forgets changes up to and including revision `through`; gives how many.
    pub async fn prune_changes(&self, through: i64) -> Result<u64> {
        let mut tx = self.begin(Durability::Synced).await?;
        x!(tx, MARK_PRUNED, through)?;
        let pruned = x!(tx, PRUNE, through)?;
        tx.commit().await?;
        Ok(pruned)
    }

    /// A listener on PostgreSQL, with a connection of its own; `None` on SQLite, where polling is all there is.
    pub async fn listen(&self) -> Result<Option<Listener>> {
        let Some(options) = self.postgres_options() else { return Ok(None) };
        let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.listen("chancery_revision").await?;
        Ok(Some(Listener { listener }))
    }
}

const LOST: Error = Error::Corrupt { table: Table::Revision, id: String::new() };

statements! {
    both {
        POSITION = "SELECT value, pruned FROM revision WHERE id = 1";
        CHANGES_SINCE = "SELECT id, revision, tenant, kind FROM changes WHERE revision > $1 ORDER BY revision, kind, id";
        MARK_PRUNED = "UPDATE revision SET pruned = CASE WHEN value < $1 THEN value ELSE $1 END
            WHERE id = 1 AND pruned < $1";
        PRUNE = "DELETE FROM changes WHERE revision <= $1";
    }
}
