//! Grants: which principal or group may do what on which cards, or may not. The document says it; the store only keeps it.

use crate::{ChangeKind, IfMatch, Page, Result, Store, Table, TenantId, principals, text};

row! {
    /// A grant.
    pub GrantRow in Grants {
        /// `grt-…`
        id: String,
        /// Owner.
        tenant: TenantId,
        /// Unique among the tenant's living grants.
        name: String,
        /// Who is granted; empty where a group is.
        principal_id: String,
        /// Which group is granted.
        group_name: Option<String>,
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
        self.make_grant(tenant, grant, None, now).await
    }

    /// Makes a grant to a group, whoever is in it; gives its revision. The grant's `principal_id` stays empty.
    pub async fn create_group_grant(&self, tenant: &TenantId, grant: &NewGrant, group: &str, now: i64) -> Result<i64> {
        text::key("group_name", group)?;
        self.make_grant(tenant, grant, Some(group), now).await
    }

    async fn make_grant(&self, tenant: &TenantId, grant: &NewGrant, group: Option<&str>, now: i64) -> Result<i64> {
        text::key("id", &grant.id)?;
        text::key("name", &grant.name)?;
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        if group.is_none() {
            change.living(Table::Principals, principals::LIVING, &grant.principal_id, IfMatch::Any).await?;
        }
        x!(
            change,
            CREATE,
            tenant.as_str(),
            grant.id.as_str(),
            grant.name.as_str(),
            if group.is_none() { grant.principal_id.as_str() } else { "" },
            group,
            grant.document.as_slice(),
            now,
            revision,
        )
        .map_err(|error| error.or_taken(Table::Grants))?;
        change.commit_made(ChangeKind::Grant, &grant.id, &grant.name).await
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
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Grants, FIND, name, expected).await?;
        x!(change, UPDATE, tenant.as_str(), id.as_str(), document, now, revision)?;
        change.commit(ChangeKind::Grant, &id).await
    }

    /// Leaves a tombstone; the name is free again.
    pub async fn delete_grant(&self, tenant: &TenantId, name: &str, expected: IfMatch, now: i64) -> Result<i64> {
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Grants, FIND, name, expected).await?;
        x!(change, DELETE, tenant.as_str(), id.as_str(), now, revision)?;
        change.commit(ChangeKind::Grant, &id).await
    }

    /// A living grant by name.
    pub async fn grant(&self, tenant: &TenantId, name: &str) -> Result<Option<GrantRow>> {
        let mut reader = self.reader().await?;
        one!(reader, GrantRow, BY_NAME, tenant.as_str(), name)
    }

    /// A living grant by id.
    pub async fn grant_by_id(&self, tenant: &TenantId, id: &str) -> Result<Option<GrantRow>> {
        let mut reader = self.reader().await?;
        one!(reader, GrantRow, BY_ID, tenant.as_str(), id)
    }

    /// Living grants by name.
    pub async fn grants(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<GrantRow>> {
        let mut reader = self.reader().await?;
        q!(reader, GrantRow, LIST, tenant.as_str(), page.after, page.limit())
    }
}

/// All of a tenant's grants, for `load_tenant`.
pub(crate) const ALL: &str =
    "SELECT id, tenant, name, principal_id, group_name, document, created, updated, revision FROM grants
    WHERE tenant = $1 AND deleted IS NULL ORDER BY name";

statements! {
    both {
        CREATE = "INSERT INTO grants (tenant, id, name, principal_id, group_name, document, created, updated, revision)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8)";
        FIND = "SELECT id, revision FROM grants WHERE tenant = $1 AND name = $2 AND deleted IS NULL";
        UPDATE = "UPDATE grants SET document = $3, updated = $4, revision = $5 WHERE tenant = $1 AND id = $2";
        DELETE = "UPDATE grants SET deleted = $3, updated = $3, revision = $4 WHERE tenant = $1 AND id = $2";
        BY_NAME = "SELECT id, tenant, name, principal_id, group_name, document, created, updated, revision FROM grants
            WHERE tenant = $1 AND name = $2 AND deleted IS NULL";
        BY_ID = "SELECT id, tenant, name, principal_id, group_name, document, created, updated, revision FROM grants
            WHERE tenant = $1 AND id = $2 AND deleted IS NULL";
        LIST = "SELECT id, tenant, name, principal_id, group_name, document, created, updated, revision FROM grants
            WHERE tenant = $1 AND name > $2 AND deleted IS NULL ORDER BY name LIMIT $3";
    }
}
