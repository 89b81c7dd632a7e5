//! Principals: who calls. Deleting one revokes its keys and deletes its grants in the same transaction.

use crate::{ChangeKind, IfMatch, Page, Result, Store, Table, TenantId, text};

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
    pub PrincipalRow in Principals {
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
        /// Its groups and limits (JSON).
        settings: Vec<u8>,
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
        text::key("id", &principal.id)?;
        text::key("name", &principal.name)?;
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        x!(
            change,
            CREATE,
            tenant.as_str(),
            principal.id.as_str(),
            principal.name.as_str(),
            principal.kind.as_str(),
            PrincipalState::Active.as_str(),
            now,
            revision,
        )
        .map_err(|error| error.or_taken(Table::Principals))?;
        change.commit_made(ChangeKind::Principal, &principal.id, &principal.name).await
    }

    /// Replaces what may change of a principal; gives its new revision.
    pub async fn update_principal(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: IfMatch,
        (state, settings): (PrincipalState, &[u8]),
        now: i64,
    ) -> Result<i64> {
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Principals, FIND, name, expected).await?;
        x!(change, UPDATE, tenant.as_str(), id.as_str(), state.as_str(), settings, now, revision)?;
        change.commit(ChangeKind::Principal, &id).await
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
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Principals, FIND, name, expected).await?;
        x!(change, SET_STATE, tenant.as_str(), id.as_str(), state.as_str(), now, revision)?;
        change.commit(ChangeKind::Principal, &id).await
    }

    /// Leaves a tombstone; revokes its keys and deletes its grants.
    pub async fn delete_principal(&self, tenant: &TenantId, name: &str, expected: IfMatch, now: i64) -> Result<i64> {
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Principals, FIND, name, expected).await?;
        x!(change, NOTE_KEYS, tenant.as_str(), id.as_str(), revision)?;
        x!(change, NOTE_GRANTS, tenant.as_str(), id.as_str(), revision)?;
        x!(change, REVOKE_KEYS, tenant.as_str(), id.as_str(), now, revision)?;
        x!(change, DELETE_GRANTS, tenant.as_str(), id.as_str(), now, revision)?;
        x!(change, DELETE, tenant.as_str(), id.as_str(), now, revision)?;
        change.commit(ChangeKind::Principal, &id).await
    }

    /// A living principal by name.
    pub async fn principal(&self, tenant: &TenantId, name: &str) -> Result<Option<PrincipalRow>> {
        let mut reader = self.reader().await?;
        one!(reader, PrincipalRow, BY_NAME, tenant.as_str(), name)
    }

    /// A living principal by id.
    pub async fn principal_by_id(&self, tenant: &TenantId, id: &str) -> Result<Option<PrincipalRow>> {
        let mut reader = self.reader().await?;
        one!(reader, PrincipalRow, BY_ID, tenant.as_str(), id)
    }

    /// Living principals by name.
    pub async fn principals(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<PrincipalRow>> {
        let mut reader = self.reader().await?;
        q!(reader, PrincipalRow, LIST, tenant.as_str(), page.after, page.limit())
    }
}

/// Whether a principal lives, for what belongs to it.
pub(crate) const LIVING: &str = "SELECT id, revision FROM principals WHERE tenant = $1 AND id = $2 AND deleted IS NULL";

/// All of a tenant's principals, for `load_tenant`.
pub(crate) const ALL: &str =
    "SELECT id, tenant, name, kind, state, settings, created, updated, revision FROM principals
    WHERE tenant = $1 AND deleted IS NULL ORDER BY name";

statements! {
    both {
        CREATE = "INSERT INTO principals (tenant, id, name, kind, state, created, updated, revision)
            VALUES ($1, $2, $3, $4, $5, $6, $6, $7)";
        FIND = "SELECT id, revision FROM principals WHERE tenant = $1 AND name = $2 AND deleted IS NULL";
        UPDATE = "UPDATE principals SET state = $3, settings = $4, updated = $5, revision = $6
            WHERE tenant = $1 AND id = $2";
        SET_STATE = "UPDATE principals SET state = $3, updated = $4, revision = $5 WHERE tenant = $1 AND id = $2";
        NOTE_KEYS = "INSERT INTO changes (revision, tenant, kind, id)
            SELECT CAST($3 AS BIGINT), tenant, 'key', id FROM keys
            WHERE tenant = $1 AND principal_id = $2 AND revoked IS NULL";
        NOTE_GRANTS = "INSERT INTO changes (revision, tenant, kind, id)
            SELECT CAST($3 AS BIGINT), tenant, 'grant', id FROM grants
            WHERE tenant = $1 AND principal_id = $2 AND deleted IS NULL";
        REVOKE_KEYS = "UPDATE keys SET revoked = $3, revision = $4
            WHERE tenant = $1 AND principal_id = $2 AND revoked IS NULL";
        DELETE_GRANTS = "UPDATE grants SET deleted = $3, updated = $3, revision = $4
            WHERE tenant = $1 AND principal_id = $2 AND deleted IS NULL";
        DELETE = "UPDATE principals SET deleted = $3, updated = $3, revision = $4 WHERE tenant = $1 AND id = $2";
        BY_NAME = "SELECT id, tenant, name, kind, state, settings, created, updated, revision FROM principals
            WHERE tenant = $1 AND name = $2 AND deleted IS NULL";
        BY_ID = "SELECT id, tenant, name, kind, state, settings, created, updated, revision FROM principals
            WHERE tenant = $1 AND id = $2 AND deleted IS NULL";
        LIST = "SELECT id, tenant, name, kind, state, settings, created, updated, revision FROM principals
            WHERE tenant = $1 AND name > $2 AND deleted IS NULL ORDER BY name LIMIT $3";
    }
}
