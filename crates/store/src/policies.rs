//! Policies and their history. The document is the guard's; the store only keeps it.

use crate::{IfMatch, Page, Result, Store, TenantId};

row! {
    /// A policy.
    PolicyRow in Policies {
        /// `pol-…`
        id: String,
        /// Owner.
        tenant: TenantId,
        /// Unique among the tenant's living policies.
        name: String,
        /// Counts changes of the document, from 1.
        version: i64,
        /// The policy document.
        document: Vec<u8>,
        /// Microseconds.
        created: i64,
        /// Microseconds.
        updated: i64,
        /// Of its last change.
        revision: i64,
    }
}

row! {
    /// A policy as it once was.
    PolicyVersion in PolicyVersions {
        /// Whose history.
        policy_id: String,
        /// Which version.
        version: i64,
        /// The document then.
        document: Vec<u8>,
        /// Who made it.
        changed_by: String,
        /// Microseconds.
        at: i64,
        /// Why.
        note: String,
    }
}

/// A policy to be made; meanings as in [`PolicyRow`] and [`PolicyVersion`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in PolicyRow and PolicyVersion")]
pub struct NewPolicy {
    pub id: String,
    pub name: String,
    pub document: Vec<u8>,
    pub changed_by: String,
    pub note: String,
}

/// A new version of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in PolicyRow and PolicyVersion")]
pub struct PolicyEdit {
    pub document: Vec<u8>,
    pub changed_by: String,
    pub note: String,
}

impl Store {
    /// Makes a policy at version 1; gives its revision.
    pub async fn create_policy(&self, tenant: &TenantId, policy: &NewPolicy, now: i64) -> Result<i64> {
        todo!()
    }

    /// Makes the next version of a policy; gives its new revision.
    pub async fn update_policy(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: IfMatch,
        edit: &PolicyEdit,
        now: i64,
    ) -> Result<i64> {
        todo!()
    }

    /// Leaves a tombstone; the name is free again. Whether anything still names it is the caller's question.
    pub async fn delete_policy(&self, tenant: &TenantId, name: &str, expected: IfMatch, now: i64) -> Result<i64> {
        todo!()
    }

    /// A living policy by name.
    pub async fn policy(&self, tenant: &TenantId, name: &str) -> Result<Option<PolicyRow>> {
        todo!()
    }

    /// A living policy by id.
    pub async fn policy_by_id(&self, tenant: &TenantId, id: &str) -> Result<Option<PolicyRow>> {
        todo!()
    }

    /// Living policies by name.
    pub async fn policies(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<PolicyRow>> {
        todo!()
    }

    /// A policy's versions below `before`, newest first (`i64::MAX` to begin).
    pub async fn policy_history(
        &self,
        tenant: &TenantId,
        id: &str,
        before: i64,
        limit: u32,
    ) -> Result<Vec<PolicyVersion>> {
        todo!()
    }
}
