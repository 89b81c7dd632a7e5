//! Rows over SQLite and PostgreSQL behind one query set.
//!
//! Takes ids, documents and times from the caller; gives rows back. It knows no domain: documents are bytes as
//! received, sealed columns arrive sealed, times are microseconds that the caller names (there is no clock here).
//!
//! Invariants
//! * Every tenant-owned query takes the [`TenantId`] first and has it in its `WHERE`.
//! * Every change runs in one transaction that bumps the single revision row and appends to the change list.
//! * Every statement is a `&'static str` in the file of its table, with `$1` placeholders; where the two databases
//!   need different words, both stand side by side.
//! * Errors never carry a driver's text: it may hold data.
//!
//! Map: [`Store`] is opened in `open`; `tenants`, `cards`, `principals`, `keys`, `issuers`, `grants`, `policies`,
//! `conditions`, `signing_keys` hold what administrators write; `tasks` who owns what and `expiry` when that ends; `usage` what was
//! used of limits and `places` what replicas hold of them; `audit` the records; `admins` who administers, `sso` who
//! is vouched for by another and `admin_changes` what they changed; `revision` the change list and `change` the transaction that writes it; `world` loads a
//! whole tenant. `sql`, `word` and `text` serve all of them.

#[macro_use]
mod sql;
#[macro_use]
mod word;

mod admin_changes;
mod admins;
mod audit;
mod cards;
mod change;
mod conditions;
mod error;
mod expiry;
mod grants;
mod issuers;
mod keys;
mod marks;
mod open;
mod places;
mod policies;
mod principals;
mod revision;
mod signing_keys;
mod sso;
mod tasks;
mod tenant_id;
mod tenants;
mod text;
mod transport;
mod usage;
mod world;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use admin_changes::{
    AdminChangeCursor, AdminChangeFilter, AdminChangeOutcome, AdminChangeRow, Author, RefusedChange,
};
pub use admins::{AdminEdit, AdminRow, AdminSessionRow, AdminState, AdminTokenRow, NewAdmin, NewAdminToken};
pub use audit::{AuditCursor, AuditEdge, AuditFilter, AuditRecord, AuditSlot, AuditSummary};
pub use cards::{CardEdit, CardFacts, CardRow, CardState, CardVersion, NewCard, TrustTier};
pub use conditions::{ConditionsEdit, ConditionsRow, ConditionsVersion, NewConditions};
pub use error::{Cause, StoreError as Error, Table, Trouble};
pub use grants::{GrantRow, NewGrant};
pub use issuers::{IssuerRow, NewIssuer};
pub use keys::{KeyRow, KeyUse, NewKey};
pub use marks::{AuditCalls, AuditMark, AuditMarkCount};
pub use open::{Pools, Store};
pub use places::{PlaceKind, PlaceWish};
pub use policies::{NewPolicy, PolicyEdit, PolicyRow, PolicyVersion};
pub use principals::{NewPrincipal, PrincipalKind, PrincipalRow, PrincipalState};
pub use revision::{Change, ChangeKind, IfMatch, Listener, Page};
pub use signing_keys::{KeyPurpose, NewSigningKey, SigningKeyRow, SigningKeyState};
pub use sso::{SsoEntry, SsoOutcome, SsoSubject};
pub use tasks::{ContextClaim, ContextRow, Owner, TaskClaim, TaskCursor, TaskRow};
pub use tenant_id::TenantId;
pub use tenants::{TenantFields, TenantRow, TenantState};
pub use transport::is_safe_on_the_way;
pub use usage::{Period, Usage, UsageRow};
pub use world::{TenantRows, Unreadable};

/// What every method of the store returns.
pub type Result<T> = std::result::Result<T, Error>;
