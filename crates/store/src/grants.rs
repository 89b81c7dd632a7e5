//! Grants: which principal may do what on which cards. The document says it; the store only keeps it.

use crate::{IfMatch, Page, Result, Store, TenantId};

row! {
    /// A grant.
    GrantRow in Grants {
        /// `grt-…`
        id: String,
        /// Owner.
        tenant: TenantId,
        /// Unique among the tenant's living grants.
        name: String,
        /// Who is granted.
        principal_id: String,
        /// Cards, operations, limits (JSON).
        document: Vec<u8>,
        /// Microseconds.
        created: i64,
        /// Microseconds.
        updated: i64,
        /// Of its last change.
        revision: i64,
    }
}

/// A grant to be made; meanings as in [`GrantRow`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in GrantRow")]
pub struct NewGrant {
    pub id: String,
    pub name: String,
    pub principal_id: String,
    pub document: Vec<u8>,
}

impl Store {
    /// Makes a grant to a living principal; gives its revision.
    pub async fn create_grant(&self, tenant: &TenantId, grant: &NewGrant, now: i64) -> Result<i64> {
        todo!()
    }

    /// Replaces a grant's document; gives its new revision. Whom it is for never changes.
    pub async fn update_grant(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: IfMatch,
        document: &[u8],
        now: i64,
    ) -> Result<i64> {
        todo!()
    }

    /// Leaves a tombstone; the name is free again.
    pub async fn delete_grant(&self, tenant: &TenantId, name: &str, expected: IfMatch, now: i64) -> Result<i64> {
        todo!()
    }

    /// A living grant by name.
    pub async fn grant(&self, tenant: &TenantId, name: &str) -> Result<Option<GrantRow>> {
        todo!()
    }

    /// A living grant by id.
    pub async fn grant_by_id(&self, tenant: &TenantId, id: &str) -> Result<Option<GrantRow>> {
        todo!()
    }

    /// Living grants by name.
    pub async fn grants(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<GrantRow>> {
        todo!()
    }
}
