//! Tenants. A tenant's id is its name; a deleted one keeps its name for ever, so that nobody inherits its records.

use crate::{ChangeKind, IfMatch, Page, Result, Store, Table, TenantId, text};

word! {
    /// Whether a tenant is served.
    TenantState {
        /// Served.
        Active = "active",
        /// Kept, but looks missing to callers.
        Suspended = "suspended",
    }
}

row! {
    /// A tenant.
    pub TenantRow in Tenants {
        /// Its id.
        name: TenantId,
        /// For people.
        display_name: String,
        /// Whether it is served.
        state: TenantState,
        /// The card at the tenant's own well-known address.
        default_card: Option<String>,
        /// The policy of cards that name none.
        default_policy: Option<String>,
        /// The policy that nothing weakens.
        floor_policy: Option<String>,
        /// Settings document (JSON).
        settings: Vec<u8>,
        /// Microseconds.
        created: i64,
        /// Microseconds.
        updated: i64,
        /// Of its last change.
        revision: i64,
    }
}

/// What an administrator writes of a tenant; meanings as in [`TenantRow`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in TenantRow")]
pub struct TenantFields {
    pub display_name: String,
    pub state: TenantState,
    pub default_card: Option<String>,
    pub default_policy: Option<String>,
    pub floor_policy: Option<String>,
    pub settings: Vec<u8>,
}

impl Store {
    /// Makes a tenant; gives its revision. The name of a deleted one stays taken.
    pub async fn create_tenant(&self, name: &TenantId, fields: &TenantFields, now: i64) -> Result<i64> {
        fields.check()?;
        let mut change = self.change_of_tenants(name).await?;
        let revision = change.revision();
        x!(
            change,
            CREATE,
            name.as_str(),
            fields.display_name.as_str(),
            fields.state.as_str(),
            fields.default_card.as_deref(),
            fields.default_policy.as_deref(),
            fields.floor_policy.as_deref(),
            fields.settings.as_slice(),
            now,
            revision,
        )
        .map_err(|error| error.or_taken(Table::Tenants))?;
        change.commit_made(ChangeKind::Tenant, name.as_str(), name.as_str()).await
    }

    /// Replaces a tenant's fields; gives its new revision.
    pub async fn update_tenant(
        &self,
        name: &TenantId,
        expected: IfMatch,
        fields: &TenantFields,
        now: i64,
    ) -> Result<i64> {
        fields.check()?;
        let mut change = self.change_of_tenants(name).await?;
        let revision = change.revision();
        change.living(Table::Tenants, FIND, "", expected).await?;
        x!(
            change,
            UPDATE,
            name.as_str(),
            fields.display_name.as_str(),
            fields.state.as_str(),
            fields.default_card.as_deref(),
            fields.default_policy.as_deref(),
            fields.floor_policy.as_deref(),
            fields.settings.as_slice(),
            now,
            revision,
        )?;
        change.commit(ChangeKind::Tenant, name.as_str()).await
    }

    /// Marks a tenant as deleted; its rows stay, but nothing of it loads any more.
    pub async fn delete_tenant(&self, name: &TenantId, expected: IfMatch, now: i64) -> Result<i64> {
        let mut change = self.change_of_tenants(name).await?;
        let revision = change.revision();
        change.living(Table::Tenants, FIND, "", expected).await?;
        x!(change, DELETE, name.as_str(), now, revision)?;
        change.commit(ChangeKind::Tenant, name.as_str()).await
    }

    /// A living tenant.
    pub async fn tenant(&self, name: &TenantId) -> Result<Option<TenantRow>> {
        let mut reader = self.reader().await?;
        one!(reader, TenantRow, ONE, name.as_str())
    }

    /// Living tenants by name.
    pub async fn tenants(&self, page: Page<'_>) -> Result<Vec<TenantRow>> {
        let mut reader = self.reader().await?;
        q!(reader, TenantRow, LIST, page.after, page.limit())
    }

    /// The names of all living tenants.
    pub async fn load_all_tenants(&self) -> Result<Vec<TenantId>> {
        let mut reader = self.reader().await?;
        q!(reader, Name, NAMES).map(|names| names.into_iter().map(|row| row.name).collect())
    }
}

impl TenantFields {
    fn check(&self) -> Result<()> {
        text::free("display_name", &self.display_name)?;
        for (column, name) in [
            ("default_card", &self.default_card),
            ("default_policy", &self.default_policy),
            ("floor_policy", &self.floor_policy),
        ] {
            name.as_deref().map_or(Ok(()), |name| text::key(column, name))?;
        }
        Ok(())
    }
}

row! {
    Name in Tenants {
        name: TenantId,
    }
}

/// A tenant by name; `load_tenant` reads it in its own transaction.
pub(crate) const ONE: &str = "SELECT name, display_name, state, default_card, default_policy, floor_policy, settings,
    created, updated, revision FROM tenants WHERE name = $1 AND deleted IS NULL";

statements! {
    both {
        CREATE = "INSERT INTO tenants (name, display_name, state, default_card, default_policy, floor_policy, settings,
                created, updated, revision)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)";
        // The second value is not used; every search takes a tenant and a name.
        FIND = "SELECT name AS id, revision FROM tenants
            WHERE name = $1 AND deleted IS NULL AND CAST($2 AS TEXT) = ''";
        UPDATE = "UPDATE tenants SET display_name = $2, state = $3, default_card = $4, default_policy = $5,
            floor_policy = $6, settings = $7, updated = $8, revision = $9 WHERE name = $1";
        DELETE = "UPDATE tenants SET deleted = $2, updated = $2, revision = $3 WHERE name = $1";
        LIST = "SELECT name, display_name, state, default_card, default_policy, floor_policy, settings,
            created, updated, revision FROM tenants WHERE name > $1 AND deleted IS NULL ORDER BY name LIMIT $2";
        NAMES = "SELECT name FROM tenants WHERE deleted IS NULL ORDER BY name";
    }
}
