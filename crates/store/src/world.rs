//! Everything of one tenant, as one consistent reading: what the registry compiles.

use crate::{
    CardFacts, ConditionsRow, Error, GrantRow, IssuerRow, KeyRow, PolicyRow, PrincipalRow, Result, SigningKeyRow,
    Store, Table, TenantId,
};
use crate::{TenantRow, cards, conditions, grants, issuers, keys, policies, principals, signing_keys, tenants};

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
    /// Its issuers.
    pub issuers: Vec<IssuerRow>,
    /// Its grants.
    pub grants: Vec<GrantRow>,
    /// Its policies.
    pub policies: Vec<PolicyRow>,
    /// Its conditions: none or one.
    pub conditions: Vec<ConditionsRow>,
    /// Its signing keys that are not gone.
    pub signing_keys: Vec<SigningKeyRow>,
    /// Rows that are in none of the lists, because they can't be read.
    pub unreadable: Vec<Unreadable>,
}

/// A row that can't be read: somebody wrote past this crate, or the file is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Where it is.
    pub table: Table,
    /// Its id, empty when even that can't be read.
    pub id: String,
    /// Its name, empty when it has none or that can't be read.
    pub name: String,
}

impl Store {
    /// All of a living tenant in one transaction; `None` when there is none. A row that can't be read is left out and
    /// named; only the tenant's own row fails the whole.
    pub async fn load_tenant(&self, tenant: &TenantId) -> Result<Option<TenantRows>> {
        let mut tx = self.begin_reading().await?;
        let revision = one!(tx, i64, REVISION)?.ok_or(Error::Corrupt { table: Table::Revision, id: String::new() })?;
        let Some(row) = one!(tx, TenantRow, tenants::ONE, tenant.as_str())? else { return Ok(None) };
        let mut unreadable = Vec::new();
        let mut rows = TenantRows {
            revision,
            tenant: row,
            cards: readable!(unreadable, tx, CardFacts, cards::ALL, tenant.as_str())?,
            principals: readable!(unreadable, tx, PrincipalRow, principals::ALL, tenant.as_str())?,
            keys: readable!(unreadable, tx, KeyRow, keys::ALL, tenant.as_str())?,
            issuers: readable!(unreadable, tx, IssuerRow, issuers::ALL, tenant.as_str())?,
            grants: readable!(unreadable, tx, GrantRow, grants::ALL, tenant.as_str())?,
            policies: readable!(unreadable, tx, PolicyRow, policies::ALL, tenant.as_str())?,
            conditions: readable!(unreadable, tx, ConditionsRow, conditions::ALL, tenant.as_str())?,
            signing_keys: readable!(unreadable, tx, SigningKeyRow, signing_keys::ALL, tenant.as_str())?,
            unreadable: Vec::new(),
        };
        rows.unreadable = unreadable;
        tx.commit().await?;
        Ok(Some(rows))
    }
}

statements! {
    both {
        REVISION = "SELECT value FROM revision WHERE id = 1";
    }
}
