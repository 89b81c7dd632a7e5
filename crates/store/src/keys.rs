//! API keys: only their digests. A revoked key stays as a row, so that old records can name it.

use crate::{Page, Result, Store, TenantId};

row! {
    /// An API key, without the key.
    KeyRow in Keys {
        /// `key-…`
        id: String,
        /// Owner.
        tenant: TenantId,
        /// Whose credential it is.
        principal_id: String,
        /// For people.
        label: String,
        /// SHA-256 of the whole key; unique over all tenants.
        hash: Vec<u8>,
        /// What may be shown of it.
        hint: String,
        /// Microseconds.
        created: i64,
        /// From then on it is refused.
        expires: Option<i64>,
        /// Since then it is refused.
        revoked: Option<i64>,
        /// Roughly.
        last_used: Option<i64>,
        /// Of its last change.
        revision: i64,
    }
}

/// A key to be made; meanings as in [`KeyRow`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in KeyRow")]
pub struct NewKey {
    pub id: String,
    pub principal_id: String,
    pub label: String,
    pub hash: Vec<u8>,
    pub hint: String,
    pub expires: Option<i64>,
}

/// That a key was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// Whose.
    pub tenant: TenantId,
    /// Which key.
    pub id: String,
    /// When.
    pub at: i64,
}

impl Store {
    /// Makes a key of a living principal; gives its revision.
    pub async fn create_key(&self, tenant: &TenantId, key: &NewKey, now: i64) -> Result<i64> {
        todo!()
    }

    /// Revokes a key; gives its new revision. Revoking twice keeps the first time and is no error.
    pub async fn revoke_key(&self, tenant: &TenantId, id: &str, now: i64) -> Result<i64> {
        todo!()
    }

    /// Sets or removes the time from which a key is refused; gives its new revision.
    pub async fn set_key_expiry(&self, tenant: &TenantId, id: &str, expires: Option<i64>) -> Result<i64> {
        todo!()
    }

    /// A key by id, revoked or not.
    pub async fn key(&self, tenant: &TenantId, id: &str) -> Result<Option<KeyRow>> {
        todo!()
    }

    /// Keys by id, revoked or not.
    pub async fn keys(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<KeyRow>> {
        todo!()
    }

    /// Notes when keys were last used, in one transaction. No change of the registry; never moves a time back.
    pub async fn touch_keys(&self, uses: &[KeyUse]) -> Result<()> {
        todo!()
    }
}
