//! API keys: only their digests. A revoked key stays as a row, so that old records can name it.

use crate::open::Durability;
use crate::{ChangeKind, IfMatch, Page, Result, Store, Table, TenantId, principals, text};

row! {
    /// An API key, without the key.
    pub KeyRow in Keys {
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
        text::key("id", &key.id)?;
        text::free("label", &key.label)?;
        text::free("hint", &key.hint)?;
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        change.living(Table::Principals, principals::LIVING, &key.principal_id, IfMatch::Any).await?;
        x!(
            change,
            CREATE,
            tenant.as_str(),
            key.id.as_str(),
            key.principal_id.as_str(),
            key.label.as_str(),
            key.hash.as_slice(),
            key.hint.as_str(),
            now,
            key.expires,
            revision,
        )
        .map_err(|error| error.or_taken(Table::Keys))?;
        change.commit_made(ChangeKind::Key, &key.id, &key.id).await
    }

    /// Revokes a key; gives its new revision. Revoking twice keeps the first time and is no error.
    pub async fn revoke_key(&self, tenant: &TenantId, id: &str, now: i64) -> Result<i64> {
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Keys, FIND, id, IfMatch::Any).await?;
        x!(change, REVOKE, tenant.as_str(), id.as_str(), now, revision)?;
        change.commit(ChangeKind::Key, &id).await
    }

    /// Puts a new key of the same principal beside one, which ends at `until`, or sooner if it did before; gives the
    /// revision. Both or none happen.
    pub async fn rotate_key(&self, tenant: &TenantId, id: &str, key: &NewKey, until: i64, now: i64) -> Result<i64> {
        text::key("id", &key.id)?;
        text::free("label", &key.label)?;
        text::free("hint", &key.hint)?;
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let old = change.living(Table::Keys, FIND_WORKING, id, IfMatch::Any).await?;
        change.tell(ChangeKind::Key).await?;
        change.living(Table::Principals, principals::LIVING, &key.principal_id, IfMatch::Any).await?;
        x!(change, END_BY, tenant.as_str(), old.as_str(), until, revision)?;
        x!(
            change,
            CREATE,
            tenant.as_str(),
            key.id.as_str(),
            key.principal_id.as_str(),
            key.label.as_str(),
            key.hash.as_slice(),
            key.hint.as_str(),
            now,
            key.expires,
            revision,
        )
        .map_err(|error| error.or_taken(Table::Keys))?;
        change.note(ChangeKind::Key, &old).await?;
        change.commit_made(ChangeKind::Key, &key.id, &key.id).await
    }

    /// Sets or removes the time from which a key is refused; gives its new revision.
    pub async fn set_key_expiry(&self, tenant: &TenantId, id: &str, expires: Option<i64>) -> Result<i64> {
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Keys, FIND, id, IfMatch::Any).await?;
        x!(change, SET_EXPIRY, tenant.as_str(), id.as_str(), expires, revision)?;
        change.commit(ChangeKind::Key, &id).await
    }

    /// A key by id, revoked or not.
    pub async fn key(&self, tenant: &TenantId, id: &str) -> Result<Option<KeyRow>> {
        let mut reader = self.reader().await?;
        one!(reader, KeyRow, BY_ID, tenant.as_str(), id)
    }

    /// Keys by id, revoked or not.
    pub async fn keys(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<KeyRow>> {
        let mut reader = self.reader().await?;
        q!(reader, KeyRow, LIST, tenant.as_str(), page.after, page.limit())
    }

    /// Notes when keys were last used, in one transaction. No change of the registry; never moves a time back.
    pub async fn touch_keys(&self, uses: &[KeyUse]) -> Result<()> {
        let mut uses: Vec<&KeyUse> = uses.iter().collect();
        // One order for everybody, so that two replicas never wait for each other.
        uses.sort_by(|a, b| (&a.tenant, &a.id).cmp(&(&b.tenant, &b.id)));
        for batch in uses.chunks(TOUCH_BATCH) {
            let mut tx = self.begin(Durability::Written).await?;
            for used in batch {
                x!(tx, TOUCH, used.tenant.as_str(), used.id.as_str(), used.at)?;
            }
            tx.commit().await?;
        }
        Ok(())
    }
}

const TOUCH_BATCH: usize = 500;

/// All of a tenant's keys that are not revoked, for `load_tenant`.
pub(crate) const ALL: &str = "SELECT id, tenant, principal_id, label, hash, hint, created, expires, revoked, last_used,
                revision
    FROM keys WHERE tenant = $1 AND revoked IS NULL ORDER BY id";

statements! {
    both {
        CREATE = "INSERT INTO keys (tenant, id, principal_id, label, hash, hint, created, expires, revision)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        FIND = "SELECT id, revision FROM keys WHERE tenant = $1 AND id = $2";
        FIND_WORKING = "SELECT id, revision FROM keys WHERE tenant = $1 AND id = $2 AND revoked IS NULL";
        END_BY = "UPDATE keys SET expires = CASE WHEN expires < $3 THEN expires ELSE $3 END, revision = $4
            WHERE tenant = $1 AND id = $2";
        REVOKE = "UPDATE keys SET revoked = COALESCE(revoked, $3), revision = $4 WHERE tenant = $1 AND id = $2";
        SET_EXPIRY = "UPDATE keys SET expires = $3, revision = $4 WHERE tenant = $1 AND id = $2";
        BY_ID = "SELECT id, tenant, principal_id, label, hash, hint, created, expires, revoked, last_used,
                revision
            FROM keys WHERE tenant = $1 AND id = $2";
        LIST = "SELECT id, tenant, principal_id, label, hash, hint, created, expires, revoked, last_used,
                revision
            FROM keys WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT $3";
        TOUCH = "UPDATE keys SET last_used = $3
            WHERE tenant = $1 AND id = $2 AND (last_used < $3 OR last_used IS NULL)";
    }
}
