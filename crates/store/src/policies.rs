//! Policies and their history. The document is the guard's; the store only keeps it.

use crate::{ChangeKind, IfMatch, Page, Result, Store, Table, TenantId, revision, text};

row! {
    /// A policy.
    pub PolicyRow in Policies {
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
    pub PolicyVersion in PolicyVersions {
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
        text::key("id", &policy.id)?;
        text::key("name", &policy.name)?;
        text::free("changed_by", &policy.changed_by)?;
        text::free("note", &policy.note)?;
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        x!(
            change,
            CREATE,
            tenant.as_str(),
            policy.id.as_str(),
            policy.name.as_str(),
            policy.document.as_slice(),
            now,
            revision,
        )
        .map_err(|error| error.or_taken(Table::Policies))?;
        x!(
            change,
            KEEP_VERSION,
            tenant.as_str(),
            policy.id.as_str(),
            policy.changed_by.as_str(),
            now,
            policy.note.as_str()
        )?;
        change.commit_made(ChangeKind::Policy, &policy.id, &policy.name).await
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
        text::free("changed_by", &edit.changed_by)?;
        text::free("note", &edit.note)?;
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Policies, FIND, name, expected).await?;
        x!(change, UPDATE, tenant.as_str(), id.as_str(), edit.document.as_slice(), now, revision)?;
        x!(change, KEEP_VERSION, tenant.as_str(), id.as_str(), edit.changed_by.as_str(), now, edit.note.as_str())?;
        change.commit(ChangeKind::Policy, &id).await
    }

    /// Leaves a tombstone; the name is free again. Whether anything still names it is the caller's question.
    pub async fn delete_policy(&self, tenant: &TenantId, name: &str, expected: IfMatch, now: i64) -> Result<i64> {
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Policies, FIND, name, expected).await?;
        x!(change, DELETE, tenant.as_str(), id.as_str(), now, revision)?;
        change.commit(ChangeKind::Policy, &id).await
    }

    /// A living policy by name.
    pub async fn policy(&self, tenant: &TenantId, name: &str) -> Result<Option<PolicyRow>> {
        let mut reader = self.reader().await?;
        one!(reader, PolicyRow, BY_NAME, tenant.as_str(), name)
    }

    /// A living policy by id.
    pub async fn policy_by_id(&self, tenant: &TenantId, id: &str) -> Result<Option<PolicyRow>> {
        let mut reader = self.reader().await?;
        one!(reader, PolicyRow, BY_ID, tenant.as_str(), id)
    }

    /// Living policies by name.
    pub async fn policies(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<PolicyRow>> {
        let mut reader = self.reader().await?;
        q!(reader, PolicyRow, LIST, tenant.as_str(), page.after, page.limit())
    }

    /// A policy's versions below `before`, newest first (`i64::MAX` to begin).
    pub async fn policy_history(
        &self,
        tenant: &TenantId,
        id: &str,
        before: i64,
        limit: u32,
    ) -> Result<Vec<PolicyVersion>> {
        let mut reader = self.reader().await?;
        q!(reader, PolicyVersion, HISTORY, tenant.as_str(), id, before, revision::limit(limit))
    }
}

/// All of a tenant's policies, for `load_tenant`.
pub(crate) const ALL: &str = "SELECT id, tenant, name, version, document, created, updated, revision FROM policies
    WHERE tenant = $1 AND deleted IS NULL ORDER BY name";

statements! {
    both {
        CREATE = "INSERT INTO policies (tenant, id, name, version, document, created, updated, revision)
            VALUES ($1, $2, $3, 1, $4, $5, $5, $6)";
        KEEP_VERSION = "INSERT INTO policy_versions (tenant, policy_id, version, document, changed_by, at, note)
            SELECT tenant, id, version, document, CAST($3 AS TEXT), CAST($4 AS BIGINT), CAST($5 AS TEXT)
            FROM policies WHERE tenant = $1 AND id = $2";
        FIND = "SELECT id, revision FROM policies WHERE tenant = $1 AND name = $2 AND deleted IS NULL";
        UPDATE = "UPDATE policies SET document = $3, version = version + 1, updated = $4, revision = $5
            WHERE tenant = $1 AND id = $2";
        DELETE = "UPDATE policies SET deleted = $3, updated = $3, revision = $4 WHERE tenant = $1 AND id = $2";
        BY_NAME = "SELECT id, tenant, name, version, document, created, updated, revision FROM policies
            WHERE tenant = $1 AND name = $2 AND deleted IS NULL";
        BY_ID = "SELECT id, tenant, name, version, document, created, updated, revision FROM policies
            WHERE tenant = $1 AND id = $2 AND deleted IS NULL";
        LIST = "SELECT id, tenant, name, version, document, created, updated, revision FROM policies
            WHERE tenant = $1 AND name > $2 AND deleted IS NULL ORDER BY name LIMIT $3";
        HISTORY = "SELECT policy_id, version, document, changed_by, at, note FROM policy_versions
            WHERE tenant = $1 AND policy_id = $2 AND version < $3 ORDER BY version DESC LIMIT $4";
    }
}
