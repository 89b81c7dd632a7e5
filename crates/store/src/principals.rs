//! Principals: who calls. Deleting one revokes its keys and deletes its grants in the same transaction.

use crate::{IfMatch, Page, Result, Store, TenantId};

word! {
    /// What a principal is.
    PrincipalKind {
        /// A program that speaks A2A.
        Agent = "agent",
        /// Any other program.
        Service = "service",
        /// A person.
        User = "user",
    }
}

word! {
    /// Whether a principal may call.
    PrincipalState {
        /// It may, as far as its grants go.
        Active = "active",
        /// Its credentials are refused.
        Disabled = "disabled",
    }
}

row! {
    /// A principal.
    PrincipalRow in Principals {
        /// `prn-…`
        id: String,
        /// Owner.
        tenant: TenantId,
        /// Unique among the tenant's living principals.
        name: String,
        /// What it is.
        kind: PrincipalKind,
        /// Whether it may call.
        state: PrincipalState,
        /// Microseconds.
        created: i64,
        /// Microseconds.
        updated: i64,
        /// Of its last change.
        revision: i64,
    }
}

/// A principal to be made; it begins active.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in PrincipalRow")]
pub struct NewPrincipal {
    pub id: String,
    pub name: String,
    pub kind: PrincipalKind,
}

impl Store {
    /// Makes a principal; gives its revision.
    pub async fn create_principal(&self, tenant: &TenantId, principal: &NewPrincipal, now: i64) -> Result<i64> {
        todo!()
    }

    /// Enables or disables a principal; gives its new revision.
    pub async fn set_principal_state(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: IfMatch,
        state: PrincipalState,
        now: i64,
    ) -> Result<i64> {
        todo!()
    }

    /// Leaves a tombstone; revokes its keys and deletes its grants.
    pub async fn delete_principal(&self, tenant: &TenantId, name: &str, expected: IfMatch, now: i64) -> Result<i64> {
        todo!()
    }

    /// A living principal by name.
    pub async fn principal(&self, tenant: &TenantId, name: &str) -> Result<Option<PrincipalRow>> {
        todo!()
    }

    /// A living principal by id.
    pub async fn principal_by_id(&self, tenant: &TenantId, id: &str) -> Result<Option<PrincipalRow>> {
        todo!()
    }

    /// Living principals by name.
    pub async fn principals(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<PrincipalRow>> {
        todo!()
    }
}
