//! The transaction of an administrative change. Takes a tenant; bumps the revision first, which makes changes wait
//! for each other: what a change has read stays true until it commits. Tells under the store's author what was changed,
//! in the same transaction. Gives the new revision.

use std::sync::Arc;

use crate::admin_changes::{Signature, Touched};
use crate::open::Durability;
use crate::sql::{Lane, Tx};
use crate::{ChangeKind, Error, IfMatch, Result, Store, Table, TenantId};

/// A change under way; dropped without `commit`, nothing happened.
pub(crate) struct ChangeTx {
    tx: Tx,
    tenant: TenantId,
    revision: i64,
    author: Option<Arc<Signature>>,
    found: Option<Found>,
}

/// What a change is about, as it was found.
struct Found {
    name: String,
    revision: i64,
}

row! {
    /// The living row that a change is about.
    Living in Revision {
        /// Its id.
        id: String,
        /// Of its last change.
        revision: i64,
    }
}

impl Store {
    /// Begins a change of a living tenant's rows.
    pub(crate) async fn change(&self, tenant: &TenantId) -> Result<ChangeTx> {
        let mut change = self.change_of_tenants(tenant).await?;
        change.living(Table::Tenants, LIVING_TENANT, "", IfMatch::Any).await?;
        Ok(change)
    }

    /// Begins a change of the tenant itself, which need not exist yet.
    pub(crate) async fn change_of_tenants(&self, tenant: &TenantId) -> Result<ChangeTx> {
        let mut tx = self.begin(Durability::Synced).await?;
        let revision = one!(tx, i64, BUMP)?.ok_or(Error::Corrupt { table: Table::Revision, id: String::new() })?;
        Ok(ChangeTx { tx, tenant: tenant.clone(), revision, author: self.author.clone(), found: None })
    }
}

impl ChangeTx {
    /// The revision that this change makes.
    pub(crate) fn revision(&self) -> i64 {
        self.revision
    }

    pub(crate) fn lane(&mut self) -> Lane<'_> {
        self.tx.lane()
    }

    /// Finds the living row with `find` (which takes the tenant and a name) and checks its revision; gives its id.
    pub(crate) async fn living(
        &mut self,
        table: Table,
        find: &'static str,
        name: &str,
        expected: IfMatch,
    ) -> Result<String> {
        let tenant = self.tenant.clone();
        let row = one!(self.tx, Living, find, tenant.as_str(), name)?.ok_or(Error::NotFound { table })?;
        match expected {
            IfMatch::Revision(revision) if revision != row.revision => Err(Error::Conflict { current: row.revision }),
            IfMatch::Revision(_) | IfMatch::Any => {
                let name = if name.is_empty() { tenant.as_str() } else { name };
                self.found = Some(Found { name: name.to_owned(), revision: row.revision });
                Ok(row.id)
            }
        }
    }

    /// Adds a row to the change list.
    pub(crate) async fn note(&mut self, kind: ChangeKind, id: &str) -> Result<()> {
        x!(self.tx, NOTE, self.revision, self.tenant.as_str(), kind.as_str(), id).map(drop)
    }

    /// Tells that what was found last was changed.
    pub(crate) async fn tell(&mut self, kind: ChangeKind) -> Result<()> {
        match self.found.take() {
            Some(Found { name, revision }) => self.sign(kind, &name, Some(revision)).await,
            None => Ok(()),
        }
    }

    /// Commits a change of what was found last.
    pub(crate) async fn commit(mut self, kind: ChangeKind, id: &str) -> Result<i64> {
        self.tell(kind).await?;
        self.finish(kind, id).await
    }

    /// Commits what made a new thing.
    pub(crate) async fn commit_made(mut self, kind: ChangeKind, id: &str, name: &str) -> Result<i64> {
        self.sign(kind, name, None).await?;
        self.finish(kind, id).await
    }

    async fn sign(&mut self, kind: ChangeKind, name: &str, before: Option<i64>) -> Result<()> {
        let Some(author) = &self.author else { return Ok(()) };
        let (tenant, kind, after) = (self.tenant.as_str(), kind.as_str(), Some(self.revision));
        author.sign(&mut self.tx, Touched { tenant, kind, name, before, after }).await
    }

    /// Adds the row that the change is about, tells listeners, commits.
    async fn finish(mut self, kind: ChangeKind, id: &str) -> Result<i64> {
        self.note(kind, id).await?;
        if let Lane::Pg(_) = self.tx.lane() {
            x!(self.tx, NOTIFY)?;
        }
        self.tx.commit().await?;
        Ok(self.revision)
    }
}

statements! {
    both {
        BUMP = "UPDATE revision SET value = value + 1 WHERE id = 1 RETURNING value";
        // The second value is not used; every search takes a tenant and a name.
        LIVING_TENANT = "SELECT name AS id, revision FROM tenants
            WHERE name = $1 AND deleted IS NULL AND CAST($2 AS TEXT) = ''";
        NOTE = "INSERT INTO changes (revision, tenant, kind, id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    }
    postgres {
        NOTIFY = "NOTIFY chancery_revision";
    }
}
