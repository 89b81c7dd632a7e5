//! Conditions and their history: at most one living document a tenant. What it says is the gateway's; the store only
//! keeps it.

use crate::{ChangeKind, IfMatch, Page, Result, Store, Table, TenantId, revision, text};

row! {
    /// A conditions.
    pub ConditionsRow in Conditions {
        /// `cnd-…`
        id: String,
        /// Owner.
        tenant: TenantId,
        /// Its name.
        name: String,
        /// Counts changes of the document, from 1.
        version: i64,
        /// The document (JSON).
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
    /// Conditions as they once were.
    pub ConditionsVersion in ConditionVersions {
        /// Whose history.
        conditions_id: String,
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

/// Conditions to be made; meanings as in [`ConditionsRow`] and [`ConditionsVersion`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in ConditionsRow and ConditionsVersion")]
pub struct NewConditions {
    pub id: String,
    pub name: String,
    pub document: Vec<u8>,
    pub changed_by: String,
    pub note: String,
}

/// A new version of a conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in ConditionsRow and ConditionsVersion")]
pub struct ConditionsEdit {
    pub document: Vec<u8>,
    pub changed_by: String,
    pub note: String,
}

impl Store {
    /// Makes a tenant's conditions at version 1; gives their revision. A tenant that has some is told
    /// [`crate::Error::NameTaken`].
    pub async fn create_conditions(&self, tenant: &TenantId, conditions: &NewConditions, now: i64) -> Result<i64> {
        text::key("id", &conditions.id)?;
        text::key("name", &conditions.name)?;
        text::free("changed_by", &conditions.changed_by)?;
        text::free("note", &conditions.note)?;
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        x!(
            change,
            CREATE,
            tenant.as_str(),
            conditions.id.as_str(),
            conditions.name.as_str(),
            conditions.document.as_slice(),
            now,
            revision,
        )
        .map_err(|error| error.or_taken(Table::Conditions))?;
        x!(
            change,
            KEEP_VERSION,
            tenant.as_str(),
            conditions.id.as_str(),
            conditions.changed_by.as_str(),
            now,
            conditions.note.as_str()
        )?;
        change.commit_made(ChangeKind::Conditions, &conditions.id, &conditions.name).await
    }

    /// Makes the next version; gives its revision.
    pub async fn update_conditions(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: IfMatch,
        edit: &ConditionsEdit,
        now: i64,
    ) -> Result<i64> {
        text::free("changed_by", &edit.changed_by)?;
        text::free("note", &edit.note)?;
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Conditions, FIND, name, expected).await?;
        x!(change, UPDATE, tenant.as_str(), id.as_str(), edit.document.as_slice(), now, revision)?;
        x!(change, KEEP_VERSION, tenant.as_str(), id.as_str(), edit.changed_by.as_str(), now, edit.note.as_str())?;
        change.commit(ChangeKind::Conditions, &id).await
    }

    /// Leaves a tombstone; the tenant may have others then.
    pub async fn delete_conditions(&self, tenant: &TenantId, name: &str, expected: IfMatch, now: i64) -> Result<i64> {
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Conditions, FIND, name, expected).await?;
        x!(change, DELETE, tenant.as_str(), id.as_str(), now, revision)?;
        change.commit(ChangeKind::Conditions, &id).await
    }

    /// Living conditions by name.
    pub async fn conditions_named(&self, tenant: &TenantId, name: &str) -> Result<Option<ConditionsRow>> {
        let mut reader = self.reader().await?;
        one!(reader, ConditionsRow, BY_NAME, tenant.as_str(), name)
    }

    /// Living conditions: none or one.
    pub async fn conditions(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<ConditionsRow>> {
        let mut reader = self.reader().await?;
        q!(reader, ConditionsRow, LIST, tenant.as_str(), page.after, page.limit())
    }

    /// The versions below `before`, newest first (`i64::MAX` to begin).
    pub async fn conditions_history(
        &self,
        tenant: &TenantId,
        id: &str,
        before: i64,
        limit: u32,
    ) -> Result<Vec<ConditionsVersion>> {
        let mut reader = self.reader().await?;
        q!(reader, ConditionsVersion, HISTORY, tenant.as_str(), id, before, revision::limit(limit))
    }
}

/// A tenant's conditions, for `load_tenant`.
pub(crate) const ALL: &str = "SELECT id, tenant, name, version, document, created, updated, revision FROM conditions
    WHERE tenant = $1 AND deleted IS NULL ORDER BY name";

statements! {
    both {
        CREATE = "INSERT INTO conditions (tenant, id, name, version, document, created, updated, revision)
            VALUES ($1, $2, $3, 1, $4, $5, $5, $6)";
        KEEP_VERSION = "INSERT INTO condition_versions (tenant, conditions_id, version, document, changed_by, at, note)
            SELECT tenant, id, version, document, CAST($3 AS TEXT), CAST($4 AS BIGINT), CAST($5 AS TEXT)
            FROM conditions WHERE tenant = $1 AND id = $2";
        FIND = "SELECT id, revision FROM conditions WHERE tenant = $1 AND name = $2 AND deleted IS NULL";
        UPDATE = "UPDATE conditions SET document = $3, version = version + 1, updated = $4, revision = $5
            WHERE tenant = $1 AND id = $2";
        DELETE = "UPDATE conditions SET deleted = $3, updated = $3, revision = $4 WHERE tenant = $1 AND id = $2";
        BY_NAME = "SELECT id, tenant, name, version, document, created, updated, revision FROM conditions
            WHERE tenant = $1 AND name = $2 AND deleted IS NULL";
        LIST = "SELECT id, tenant, name, version, document, created, updated, revision FROM conditions
            WHERE tenant = $1 AND name > $2 AND deleted IS NULL ORDER BY name LIMIT $3";
        HISTORY = "SELECT conditions_id, version, document, changed_by, at, note FROM condition_versions
            WHERE tenant = $1 AND conditions_id = $2 AND version < $3 ORDER BY version DESC LIMIT $4";
    }
}
