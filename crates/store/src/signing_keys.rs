//! Signing keys, each for one purpose. The private half arrives sealed; a key that is gone keeps only its public half.

use crate::{ChangeKind, IfMatch, Page, Result, Store, Table, TenantId, text};

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
    pub SigningKeyRow in SigningKeys {
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
        text::key("id", &key.id)?;
        text::key("kid", &key.kid)?;
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        x!(
            change,
            CREATE,
            tenant.as_str(),
            key.id.as_str(),
            key.kid.as_str(),
            key.purpose.as_str(),
            key.public.as_slice(),
            key.sealed_private.as_slice(),
            now,
            revision,
        )
        .map_err(|error| error.or_taken(Table::SigningKeys))?;
        x!(change, SET_STATE, tenant.as_str(), key.id.as_str(), key.state.as_str(), now, revision)?;
        change.commit_made(ChangeKind::SigningKey, &key.id, &key.id).await
    }

    /// Moves a key through its life and notes when; `Gone` erases the private half. Gives its new revision.
    pub async fn set_signing_key_state(
        &self,
        tenant: &TenantId,
        id: &str,
        state: SigningKeyState,
        now: i64,
    ) -> Result<i64> {
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::SigningKeys, FIND, id, IfMatch::Any).await?;
        x!(change, SET_STATE, tenant.as_str(), id.as_str(), state.as_str(), now, revision)?;
        change.commit(ChangeKind::SigningKey, &id).await
    }

    /// A signing key by id.
    pub async fn signing_key(&self, tenant: &TenantId, id: &str) -> Result<Option<SigningKeyRow>> {
        let mut reader = self.reader().await?;
        one!(reader, SigningKeyRow, BY_ID, tenant.as_str(), id)
    }

    /// Signing keys by id, gone ones too.
    pub async fn signing_keys(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<SigningKeyRow>> {
        let mut reader = self.reader().await?;
        q!(reader, SigningKeyRow, LIST, tenant.as_str(), page.after, page.limit())
    }
}

/// All of a tenant's signing keys that are not gone, for `load_tenant`.
pub(crate) const ALL: &str =
    "SELECT id, tenant, kid, purpose, public, sealed_private, state, created, activated, retired,
                revision
    FROM signing_keys WHERE tenant = $1 AND state <> 'gone' ORDER BY id";

statements! {
    both {
        CREATE = "INSERT INTO signing_keys (tenant, id, kid, purpose, public, sealed_private, state, created, revision)
            VALUES ($1, $2, $3, $4, $5, $6, 'next', $7, $8)";
        FIND = "SELECT id, revision FROM signing_keys WHERE tenant = $1 AND id = $2";
        SET_STATE = "UPDATE signing_keys SET state = $3, revision = $5,
                activated = CASE WHEN $3 = 'active' THEN COALESCE(activated, $4) ELSE activated END,
                retired = CASE WHEN $3 IN ('retiring', 'gone') THEN COALESCE(retired, $4) ELSE NULL END,
                sealed_private = CASE WHEN $3 = 'gone' THEN NULL ELSE sealed_private END
            WHERE tenant = $1 AND id = $2";
        BY_ID = "SELECT id, tenant, kid, purpose, public, sealed_private, state, created, activated, retired,
                revision
            FROM signing_keys WHERE tenant = $1 AND id = $2";
        LIST = "SELECT id, tenant, kid, purpose, public, sealed_private, state, created, activated, retired,
                revision
            FROM signing_keys WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT $3";
    }
}
