//! Rows → [`TenantWorld`]. Every bad row is named; a bad row disables itself and what depends on it, nothing else.
//!
//! Takes the rows of one tenant and the state before, gives the new world and the tenant's credentials. What did not
//! change keeps its cancellation token; what disappeared or changed its meaning is cancelled by `refresh`. The admin
//! API asks the same functions before it saves ([`Compiler::check_card`] and its siblings). Never waits, never fetches.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use store::{CardFacts, CardState, PolicyRow, Table, TenantId, TenantRows, TenantState};
use tokio_util::sync::CancellationToken;

pub use super::document::Problem;
use super::meter::{Meter, Metered};
use super::settings::TenantSettings;
use super::{Card, Credential, NamedPolicy, Snapshot, TenantWorld};
use crate::audit::record::clean;
use crate::config::{ClientAuth, Settings};
use crate::seal::Seal;

mod card;
mod check;
mod conditions;
mod grant;
mod identity;
mod principal;
mod signing;

pub use grant::is_group;

/// A row that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// `card`, `conditions`, `grant`, `issuer`, `key`, `policy`, `principal`, `signing_key` or `tenant`.
    pub kind: &'static str,
    /// Its name, or its id where it has none.
    pub name: String,
    /// Why.
    pub problems: Vec<Problem>,
}

impl BadRow {
    /// A tenant whose own row can't be read.
    #[must_use]
    pub fn unreadable_tenant(name: &TenantId) -> Self {
        let problems = vec![Problem::new("", UNREADABLE)];
        let row = Self { kind: "tenant", name: name.as_str().to_owned(), problems };
        row.log(name.as_str());
        row
    }

    /// Names every problem, so that whoever reads the log knows what to repair.
    fn log(&self, tenant: &str) {
        for Problem { path, problem } in &self.problems {
            let (row, path, problem) = (clean(&self.name), clean(path), clean(problem));
            tracing::error!(tenant, kind = self.kind, %row, %path, %problem, "a row was left out");
        }
    }
}

/// A tenant, compiled.
#[derive(Debug)]
pub struct Compiled {
    /// The world; `None` for a tenant that is suspended.
    pub world: Option<TenantWorld>,
    /// The tenant's credentials, for [`Snapshot::keys`].
    pub keys: Vec<Arc<Credential>>,
}

/// What compiling needs besides rows.
#[derive(Debug)]
pub struct Compiler {
    seal: Arc<Seal>,
    public_urls: Vec<String>,
    client_auth: ClientAuth,
    header_prefix: String,
    card_guard: Option<guard::card::CardGuard>,
}

impl Compiler {
    /// For this configuration.
    #[must_use]
    pub fn new(settings: &Settings, seal: Arc<Seal>) -> Self {
        let key = seal.derive("guard findings", "card guard");
        // None would be a mistake in our own tables; then every card is flagged.
        let card_guard = guard::card::CardGuard::new(key.as_slice()).ok();
        let public_urls = settings.public.urls.iter().map(|url| url.as_str().to_owned()).collect();
        let client_auth = settings.public.tls.as_ref().map_or(ClientAuth::None, |tls| tls.client_auth);
        let header_prefix = settings.headers.prefix.clone();
        Self { seal, public_urls, client_auth, header_prefix, card_guard }
    }

    /// The whole tenant. `before` is the state that is replaced.
    #[must_use]
    pub fn tenant(&self, rows: &TenantRows, before: &Snapshot) -> Compiled {
        if rows.tenant.state != TenantState::Active {
            return Compiled { world: None, keys: Vec::new() };
        }
        let name = rows.tenant.name.as_str();
        let old = before.tenants.get(name);
        let cancelled = old.map_or_else(CancellationToken::new, |old| old.cancelled.clone());
        let mut tenant = Tenant { compiler: self, rows, old: old.map(Arc::as_ref), cancelled, bad: Vec::new() };
        tenant.unreadable();
        let policies = tenant.policies();
        let Some((metered, task_retention)) = tenant.settings() else {
            // Without its limits a tenant is closed, not unlimited.
            let Tenant { cancelled, bad, .. } = tenant;
            return Compiled { world: Some(TenantWorld::closed(name, bad, cancelled)), keys: Vec::new() };
        };
        let cards = tenant.cards(&policies);
        let (mut granted, groups) = tenant.grants();
        let principals = tenant.principals(&mut granted, &groups);
        let keys = tenant.keys(&principals, before);
        let (issuers, certificates) = tenant.issuers(&principals);
        let signers = tenant.signers();
        let tokens = tenant.token_issuer();
        let (conditions, conditioned) = tenant.conditions();
        let Tenant { cancelled, bad, .. } = tenant;
        let world = TenantWorld {
            name: name.to_owned(),
            cards,
            default_card: rows.tenant.default_card.clone(),
            principals,
            groups,
            metered,
            task_retention,
            signers,
            credentials: keys.iter().map(|key| (key.key_id.clone(), Arc::clone(key))).collect(),
            issuers,
            certificates,
            tokens,
            conditions,
            conditioned,
            policies,
            bad_rows: bad,
            cancelled,
        };
        Compiled { world: Some(world), keys }
    }
}

/// One tenant while it is compiled.
struct Tenant<'a> {
    compiler: &'a Compiler,
    rows: &'a TenantRows,
    old: Option<&'a TenantWorld>,
    cancelled: CancellationToken,
    bad: Vec<BadRow>,
}

impl Tenant<'_> {
    fn name(&self) -> &str {
        self.rows.tenant.name.as_str()
    }

    fn note(&mut self, kind: &'static str, name: &str, problems: Vec<Problem>) {
        let row = BadRow { kind, name: name.to_owned(), problems };
        row.log(self.name());
        self.bad.push(row);
    }

    /// Rows that the store could not read are in none of its lists, so what they are is closed.
    fn unreadable(&mut self) {
        let rows = self.rows;
        for store::Unreadable { table, id, name } in &rows.unreadable {
            let name = if name.is_empty() { id } else { name };
            self.note(kind(*table), name, vec![Problem::new("", UNREADABLE)]);
        }
    }

    fn policies(&mut self) -> HashMap<String, Arc<NamedPolicy>> {
        let mut policies = HashMap::with_capacity(self.rows.policies.len());
        for row in &self.rows.policies {
            match self.policy(row) {
                Ok(policy) => {
                    policies.insert(row.name.clone(), policy);
                }
                Err(problems) => self.note("policy", &row.name, problems),
            }
        }
        policies
    }

    fn policy(&self, row: &PolicyRow) -> Result<Arc<NamedPolicy>, Vec<Problem>> {
        if let Some(old) = self.old.and_then(|old| old.policies.get(&row.name))
            && old.revision == row.revision
        {
            return Ok(Arc::clone(old));
        }
        let pipeline = Arc::new(self.compiler.pipeline(self.name(), &row.name, row.version, &row.document)?);
        Ok(Arc::new(NamedPolicy { name: row.name.clone(), version: row.version, revision: row.revision, pipeline }))
    }

    fn cards(&mut self, policies: &HashMap<String, Arc<NamedPolicy>>) -> HashMap<String, Arc<Card>> {
        let mut cards = HashMap::with_capacity(self.rows.cards.len());
        for facts in self.rows.cards.iter().filter(|facts| facts.state == CardState::Published) {
            match self.card(facts, policies) {
                Ok(card) => {
                    cards.insert(facts.name.clone(), card);
                }
                Err(problems) => self.note("card", &facts.name, problems),
            }
        }
        cards
    }

    fn card(&self, facts: &CardFacts, policies: &HashMap<String, Arc<NamedPolicy>>) -> Result<Arc<Card>, Vec<Problem>> {
        let old = self.old.and_then(|old| old.cards.get(&facts.name)).filter(|old| old.id == facts.id);
        let make = card::Make {
            seal: &self.compiler.seal,
            header_prefix: &self.compiler.header_prefix,
            tenant: &self.rows.tenant,
            principals: &self.rows.principals,
            policies,
        };
        let mut card = make.card(facts)?;
        if let Some(old) = old {
            card.metered.meter = Arc::clone(&old.metered.meter);
        }
        card.cancelled = match old {
            Some(old) if old.upstream.fingerprint == card.upstream.fingerprint => old.cancelled.clone(),
            Some(_) | None => self.cancelled.child_token(),
        };
        Ok(Arc::new(card))
    }

    /// How much the tenant may do, and how long its tasks are kept.
    fn settings(&mut self) -> Option<(Metered, Option<Duration>)> {
        let read = super::document::read::<TenantSettings>(&self.rows.tenant.settings).and_then(|settings| {
            let problems = check::check_tenant(&settings);
            if problems.is_empty() { Ok(settings) } else { Err(problems) }
        });
        match read {
            Ok(settings) => {
                let allowance = grant::allowance(&settings.limits.unwrap_or_default());
                let meter = self.old.map(|old| Arc::clone(&old.metered.meter));
                let meter = meter.unwrap_or_else(|| Meter::of(self.name(), "tenant"));
                let days = |days: u32| Duration::from_secs(u64::from(days) * 24 * 60 * 60);
                Some((Metered { allowance, meter }, settings.task_retention_days.map(days)))
            }
            Err(problems) => {
                let name = self.name().to_owned();
                self.note("tenant", &name, problems);
                None
            }
        }
    }
}

const UNREADABLE: &str = "the row can't be read; it was changed past the gateway, or the database is damaged";

/// What is read from a table, in the words of the admin API.
const fn kind(table: Table) -> &'static str {
    match table {
        Table::Cards | Table::CardVersions => "card",
        Table::Conditions | Table::ConditionVersions => "conditions",
        Table::Grants => "grant",
        Table::Issuers => "issuer",
        Table::Keys => "key",
        Table::Policies | Table::PolicyVersions => "policy",
        Table::Principals => "principal",
        Table::SigningKeys => "signing_key",
        Table::Tenants => "tenant",
        Table::AdminChanges
        | Table::AdminSessions
        | Table::AdminTokens
        | Table::Admins
        | Table::AuditMarks
        | Table::AuditRecords
        | Table::AuditSummaries
        | Table::Changes
        | Table::Contexts
        | Table::Revision
        | Table::Tasks
        | Table::SharedPlaces
        | Table::UsageCounts => "row",
    }
}

/// Tags follow the form of names, reserved words included.
fn is_tag(text: &str) -> bool {
    TenantId::new(text).is_some()
}

#[cfg(test)]
mod tests;
