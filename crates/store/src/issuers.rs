//! Issuers: who besides the gateway vouches for a tenant's principals. The document says how; the store only keeps it.

use crate::{ChangeKind, IfMatch, Page, Result, Store, Table, TenantId, text};

row! {
    /// An issuer.
    pub IssuerRow in Issuers {
        /// `iss-…`
        id: String,
        /// Owner.
        tenant: TenantId,
        /// Unique among the tenant's living issuers.
        name: String,
        /// Who it is, for whom, whom it vouches for (JSON).
        document: Vec<u8>,
        /// Microseconds.
        created: i64,
        /// Microseconds.
        updated: i64,
        /// Of its last change.
        revision: i64,
    }
}

/// An issuer to be made; meanings as in [`IssuerRow`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in IssuerRow")]
pub struct NewIssuer {
    pub id: String,
    pub name: String,
    pub document: Vec<u8>,
}

impl Store {
    /// Makes an issuer; gives its revision.
    pub async fn create_issuer(&self, tenant: &TenantId, issuer: &NewIssuer, now: i64) -> Result<i64> {
        text::key("id", &issuer.id)?;
        text::key("name", &issuer.name)?;
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        x!(
            change,
            CREATE,
            tenant.as_str(),
            issuer.id.as_str(),
            issuer.name.as_str(),
            issuer.document.as_slice(),
            now,
            revision,
        )
        .map_err(|error| error.or_taken(Table::Issuers))?;
        change.commit_made(ChangeKind::Issuer, &issuer.id, &issuer.name).await
    }

    /// Replaces an issuer's document; gives its new revision.
    pub async fn update_issuer(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: IfMatch,
        document: &[u8],
        now: i64,
    ) -> Result<i64> {
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Issuers, FIND, name, expected).await?;
        x!(change, UPDATE, tenant.as_str(), id.as_str(), document, now, revision)?;
        change.commit(ChangeKind::Issuer, &id).await
    }

    /// Leaves a tombstone; the name is free again.
    pub async fn delete_issuer(&self, tenant: &TenantId, name: &str, expected: IfMatch, now: i64) -> Result<i64> {
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Issuers, FIND, name, expected).await?;
        x!(change, DELETE, tenant.as_str(), id.as_str(), now, revision)?;
        change.commit(ChangeKind::Issuer, &id).await
    }

    /// A living issuer by name.
    pub async fn issuer(&self, tenant: &TenantId, name: &str) -> Result<Option<IssuerRow>> {
        let mut reader = self.reader().await?;
        one!(reader, IssuerRow, BY_NAME, tenant.as_str(), name)
    }

    /// Living issuers by name.
    pub async fn issuers(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<IssuerRow>> {
        let mut reader = self.reader().await?;
        q!(reader, IssuerRow, LIST, tenant.as_str(), page.after, page.limit())
    }
}

/// All of a tenant's issuers, for `load_tenant`.
pub(crate) const ALL: &str = "SELECT id, tenant, name, document, created, updated, revision FROM issuers
    WHERE tenant = $1 AND deleted IS NULL ORDER BY name";

statements! {
    both {
        CREATE = "INSERT INTO issuers (tenant, id, name, document, created, updated, revision)
            VALUES ($1, $2, $3, $4, $5, $5, $6)";
        FIND = "SELECT id, revision FROM issuers WHERE tenant = $1 AND name = $2 AND deleted IS NULL";
        UPDATE = "UPDATE issuers SET document = $3, updated = $4, revision = $5 WHERE tenant = $1 AND id = $2";
        DELETE = "UPDATE issuers SET deleted = $3, updated = $3, revision = $4 WHERE tenant = $1 AND id = $2";
        BY_NAME = "SELECT id, tenant, name, document, created, updated, revision FROM issuers
            WHERE tenant = $1 AND name = $2 AND deleted IS NULL";
        LIST = "SELECT id, tenant, name, document, created, updated, revision FROM issuers
            WHERE tenant = $1 AND name > $2 AND deleted IS NULL ORDER BY name LIMIT $3";
    }
}
