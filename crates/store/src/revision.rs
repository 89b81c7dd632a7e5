//! The one revision number and the list of changes behind it. Every administrative change bumps the number in its own
//! transaction and says what it touched; replicas poll the number, PostgreSQL also notifies.

use crate::{Result, Store, TenantId};

word! {
    /// What kind of row changed.
    ChangeKind {
        /// A card, its settings, state or credential.
        Card = "card",
        /// A grant.
        Grant = "grant",
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
    Change in Changes {
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

/// Hears of changes as they are committed (PostgreSQL).
#[derive(Debug)]
pub struct Listener {}

impl Listener {
    /// Waits until something may have changed. After a lost connection it returns at once, so that nothing is missed.
    pub async fn recv(&mut self) -> Result<()> {
        todo!()
    }
}

impl Store {
    /// The current revision; 0 when nothing was ever changed.
    pub async fn revision(&self) -> Result<i64> {
        todo!()
    }

    /// What changed after `since`, oldest first. If the list was pruned past `since`, or `since` lies in the future,
    /// it is `None`: reload everything.
    pub async fn changes(&self, since: i64) -> Result<Option<Vec<Change>>> {
        todo!()
    }

    /// Forgets changes up to and including revision `through`; gives how many.
    pub async fn prune_changes(&self, through: i64) -> Result<u64> {
        todo!()
    }

    /// A listener on PostgreSQL; `None` on SQLite, where polling is all there is.
    pub async fn listen(&self) -> Result<Option<Listener>> {
        todo!()
    }
}
