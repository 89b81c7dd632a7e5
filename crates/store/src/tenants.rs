//! Tenants. A tenant's id is its name; a deleted one keeps its name for ever, so that nobody inherits its records.

use crate::{IfMatch, Page, Result, Store, TenantId};

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
    TenantRow in Tenants {
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
        todo!()
    }

    /// Replaces a tenant's fields; gives its new revision.
    pub async fn update_tenant(
        &self,
        name: &TenantId,
        expected: IfMatch,
        fields: &TenantFields,
        now: i64,
    ) -> Result<i64> {
        todo!()
    }

    /// Marks a tenant as deleted; its rows stay, but nothing of it loads any more.
    pub async fn delete_tenant(&self, name: &TenantId, expected: IfMatch, now: i64) -> Result<i64> {
        todo!()
    }

    /// A living tenant.
    pub async fn tenant(&self, name: &TenantId) -> Result<Option<TenantRow>> {
        todo!()
    }

    /// Living tenants by name.
    pub async fn tenants(&self, page: Page<'_>) -> Result<Vec<TenantRow>> {
        todo!()
    }

    /// The names of all living tenants.
    pub async fn load_all_tenants(&self) -> Result<Vec<TenantId>> {
        todo!()
    }
}
