//! Signing keys, each for one purpose. The private half arrives sealed; a key that is gone keeps only its public half.

use crate::{Page, Result, Store, TenantId};

word! {
    /// What a key signs (and nothing else).
    KeyPurpose {
        /// Audit checkpoints.
        Audit = "audit",
        /// Agent cards.
        Card = "card",
        /// Push notifications.
        Push = "push",
        /// Tokens of the gateway.
        Token = "token",
    }
}

word! {
    /// A key's life.
    SigningKeyState {
        /// Published, not yet signing.
        Next = "next",
        /// Signing.
        Active = "active",
        /// Published, no longer signing.
        Retiring = "retiring",
        /// Neither; its private half is erased.
        Gone = "gone",
    }
}

row! {
    /// A signing key.
    SigningKeyRow in SigningKeys {
        /// Its id.
        id: String,
        /// Owner.
        tenant: TenantId,
        /// As in the key set; unique in the tenant.
        kid: String,
        /// What it signs.
        purpose: KeyPurpose,
        /// The public half.
        public: Vec<u8>,
        /// The private half, sealed; none once gone.
        sealed_private: Option<Vec<u8>>,
        /// Its life.
        state: SigningKeyState,
        /// Microseconds.
        created: i64,
        /// When it began to sign.
        activated: Option<i64>,
        /// When it stopped.
        retired: Option<i64>,
        /// Of its last change.
        revision: i64,
    }
}

/// A signing key to be made; meanings as in [`SigningKeyRow`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in SigningKeyRow")]
pub struct NewSigningKey {
    pub id: String,
    pub kid: String,
    pub purpose: KeyPurpose,
    pub public: Vec<u8>,
    pub sealed_private: Vec<u8>,
    pub state: SigningKeyState,
}

impl Store {
    /// Makes a signing key; gives its revision.
    pub async fn create_signing_key(&self, tenant: &TenantId, key: &NewSigningKey, now: i64) -> Result<i64> {
        todo!()
    }

    /// Moves a key through its life and notes when; `Gone` erases the private half. Gives its new revision.
    pub async fn set_signing_key_state(
        &self,
        tenant: &TenantId,
        id: &str,
        state: SigningKeyState,
        now: i64,
    ) -> Result<i64> {
        todo!()
    }

    /// A signing key by id.
    pub async fn signing_key(&self, tenant: &TenantId, id: &str) -> Result<Option<SigningKeyRow>> {
        todo!()
    }

    /// Signing keys by id, gone ones too.
    pub async fn signing_keys(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<SigningKeyRow>> {
        todo!()
    }
}
