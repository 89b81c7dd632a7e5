//! Everything of one tenant, as one consistent reading: what the registry compiles.

use crate::{CardFacts, GrantRow, KeyRow, PolicyRow, PrincipalRow, Result, SigningKeyRow, Store, TenantId, TenantRow};

/// A tenant and all its living rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantRows {
    /// The revision of the whole store that this is a reading of.
    pub revision: i64,
    /// The tenant.
    pub tenant: TenantRow,
    /// Its cards, without documents.
    pub cards: Vec<CardFacts>,
    /// Its principals.
    pub principals: Vec<PrincipalRow>,
    /// Its keys that are not revoked.
    pub keys: Vec<KeyRow>,
    /// Its grants.
    pub grants: Vec<GrantRow>,
    /// Its policies.
    pub policies: Vec<PolicyRow>,
    /// Its signing keys that are not gone.
    pub signing_keys: Vec<SigningKeyRow>,
}

impl Store {
    /// All of a living tenant in one transaction; `None` when there is none.
    pub async fn load_tenant(&self, tenant: &TenantId) -> Result<Option<TenantRows>> {
        todo!()
    }
}
