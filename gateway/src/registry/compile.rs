//! Rows → [`TenantWorld`]. Every bad row is named; a bad row disables itself and what depends on it, nothing else.
//!
//! Takes the rows of one tenant and the state before, gives the new world and the tenant's credentials. What did not
//! change keeps its cancellation token; what disappeared or changed its meaning is cancelled by `refresh`. The admin
//! API asks the same functions before it saves ([`Compiler::check_card`] and its siblings). Never waits, never fetches.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use a2a::sign::{PublicKey, SigningKey};
use guard::card::{Remark, Severity};
use store::{
    CardFacts, CardState, GrantRow, KeyPurpose, KeyRow, PolicyRow, PrincipalRow, PrincipalState, SigningKeyRow,
    SigningKeyState, Table, TenantId, TenantRows, TenantState,
};
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use super::conditions::Conditions;
pub use super::document::Problem;
use super::grants::{Effect, Grant, GrantSet, Grantee, Mode};
use super::last_use::LastUse;
use super::meter::{Meter, Metered};
use super::settings::{PrincipalSettings, TenantSettings};
use super::{Card, CardSigner, Credential, NamedPolicy, Principal, Snapshot, Standing, TenantWorld};
use crate::audit::record::clean;
use crate::config::{ClientAuth, Settings};
use crate::discovery::publish;
use crate::seal::{Place, Seal};

mod card;
mod conditions;
mod grant;
mod identity;

pub use grant::is_group;

/// Grants by whose they are.
type GrantsOf = HashMap<String, Vec<Arc<Grant>>>;

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

    /// What in a card document is written to the model that reads it, or to deceive: nothing of it is published unless
    /// somebody has reviewed it (T-CARD-1). `before` is the document that is published now.
    #[must_use]
    pub fn flags(&self, document: &[u8], before: Option<&[u8]>) -> Vec<Problem> {
        let Some(remarks) = self.flagged(document, before) else {
            return vec![Problem::new("/card", "could not be looked at")];
        };
        let problem = |remark: &Remark| format!("is flagged: {} ({})", remark.words(), remark.rule);
        remarks.iter().map(|remark| Problem::new(format!("/card{}", remark.pointer), problem(remark))).collect()
    }

    /// The rule that flags a card first, if one does.
    #[must_use]
    pub fn flagged_by(&self, document: &[u8]) -> Option<String> {
        match self.flagged(document, None) {
            None => Some("unreadable".to_owned()),
            Some(remarks) => remarks.into_iter().next().map(|remark| remark.rule),
        }
    }

    /// None if it can't be looked at.
    fn flagged(&self, document: &[u8], before: Option<&[u8]>) -> Option<Vec<Remark>> {
        let read = |bytes: &[u8]| json::read(bytes, &json::Limits::default()).ok();
        let (guard, card) = (self.card_guard.as_ref()?, read(document)?);
        let mut remarks = guard.remarks(&card, before.and_then(read).as_ref());
        remarks.retain(|remark| remark.severity == Severity::Flag);
        Some(remarks)
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

    /// What is wrong with a card before it is saved. `policies` are the names that exist.
    #[must_use]
    pub fn check_card(&self, settings: &[u8], document: &[u8], policies: &[&str]) -> Vec<Problem> {
        let mut problems = match super::settings::CardSettings::read(settings) {
            Ok(settings) => card::check(&settings, policies),
            Err(problems) => problems,
        };
        match super::settings::read_card(document) {
            Ok(card) => {
                let gateway = publish::gateway(
                    "https://gateway.invalid/a2a/t/c",
                    None,
                    publish::security("https://gateway.invalid", None),
                );
                let faults = a2a::rewrite::publish(&card, &gateway).err().unwrap_or_default();
                problems.extend(
                    faults
                        .into_iter()
                        .map(|fault| Problem::new(format!("/card{}", fault.path), fault.fault.to_string())),
                );
            }
            Err(unreadable) => {
                problems.extend(unreadable.into_iter().map(|problem| Problem::new("/card", problem.problem)));
            }
        }
        problems
    }

    /// What is wrong with a policy document before it is saved.
    #[must_use]
    pub fn check_policy(&self, tenant: &str, name: &str, document: &[u8]) -> Vec<Problem> {
        self.pipeline(tenant, name, 0, document).err().unwrap_or_default()
    }

    /// What is wrong with conditions before they are saved.
    #[must_use]
    pub fn check_conditions(&self, document: &[u8]) -> Vec<Problem> {
        Conditions::compile("", (0, 0), document).err().unwrap_or_default()
    }

    /// What is wrong with a grant document before it is saved.
    #[must_use]
    pub fn check_grant(&self, document: &[u8]) -> Vec<Problem> {
        grant::facts(document).err().unwrap_or_default()
    }

    /// What is wrong with a principal's groups and limits before they are saved.
    #[must_use]
    pub fn check_principal(&self, settings: &PrincipalSettings) -> Vec<Problem> {
        grant::check_principal(settings)
    }

    /// What is wrong with a tenant's limits and times before they are saved.
    #[must_use]
    pub fn check_tenant(&self, settings: &TenantSettings) -> Vec<Problem> {
        check_tenant(settings)
    }

    /// What is wrong with the sealed credentials of a card, which are for `origin`, before they are saved.
    #[must_use]
    pub fn check_sealed(&self, tenant: &str, card_id: &str, origin: &str, blob: &[u8]) -> Option<Problem> {
        let place = Place::card_credential(tenant, card_id);
        super::sealed::open((&self.seal, place), blob, &[origin.to_owned()], &self.header_prefix).err()
    }

    /// What is wrong with a text that is to name a group.
    #[must_use]
    pub fn check_group(&self, name: &str) -> Option<String> {
        (!is_group(name)).then(|| format!("{name:?} {}", grant::NO_GROUP))
    }

    /// A compiled policy.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn pipeline(
        &self,
        tenant: &str,
        name: &str,
        version: i64,
        document: &[u8],
    ) -> Result<guard::Pipeline, Vec<Problem>> {
        let document = json::read(document, &json::Limits::default())
            .map_err(|error| vec![Problem::new("", format!("can't be read: {error}"))])?;
        let key = self.seal.derive("guard findings", tenant);
        guard::Pipeline::compile(&document, &guard::Options { key: key.as_slice(), policy: name, version })
            .map_err(|error| error.problems.into_iter().map(|fault| Problem::new(fault.path, fault.problem)).collect())
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
            let problems = check_tenant(&settings);
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

    /// Grants by the principal's id, and by the group's name.
    fn grants(&mut self) -> (GrantsOf, HashMap<String, Arc<GrantSet>>) {
        let old = self.old;
        let sets = old.into_iter().flat_map(|old| {
            let own = old.principals.values().map(|principal| &principal.grants);
            own.chain(old.groups.values().map(Arc::as_ref))
        });
        let before: HashMap<&str, &Arc<Grant>> =
            sets.flat_map(|set| set.iter()).map(|grant| (grant.id.as_str(), grant)).collect();
        let (mut granted, mut groups): (GrantsOf, GrantsOf) = Default::default();
        for row in &self.rows.grants {
            match self.grant(row, before.get(row.id.as_str()).copied()) {
                Ok(grant) => match &grant.grantee {
                    Grantee::Group(group) => groups.entry(group.clone()).or_default().push(grant),
                    Grantee::Principal(id) => granted.entry(id.clone()).or_default().push(grant),
                },
                Err(problems) => self.note("grant", &row.name, problems),
            }
        }
        (granted, groups.into_iter().map(|(group, grants)| (group, Arc::new(grants.into()))).collect())
    }

    fn grant(&self, row: &GrantRow, before: Option<&Arc<Grant>>) -> Result<Arc<Grant>, Vec<Problem>> {
        match before {
            Some(same) if same.revision == row.revision => Ok(Arc::clone(same)),
            _ => {
                let meter = before.map(|before| Arc::clone(&before.metered.meter));
                grant::grant(row, meter, &self.cancelled).map(Arc::new)
            }
        }
    }

    fn principals(
        &mut self,
        granted: &mut HashMap<String, Vec<Arc<Grant>>>,
        groups: &HashMap<String, Arc<GrantSet>>,
    ) -> HashMap<String, Arc<Principal>> {
        let of_groups: BTreeSet<_> = groups.values().flat_map(|set| denials(set)).collect();
        let before = self.old.into_iter().flat_map(|old| old.groups.values()).flat_map(|set| denials(set)).collect();
        // Groups may come with a token, so a new denial of a group may be anybody's.
        let denied_anew = !of_groups.is_subset(&before);
        let mut principals = HashMap::with_capacity(self.rows.principals.len());
        for row in self.rows.principals.iter().filter(|row| row.state == PrincipalState::Active) {
            let grants = granted.remove(row.id.as_str()).unwrap_or_default();
            match self.principal(row, grants.into(), denied_anew) {
                Ok(principal) => {
                    principals.insert(row.id.clone(), Arc::new(principal));
                }
                Err(problems) => self.note("principal", &row.name, problems),
            }
        }
        principals
    }

    fn principal(&self, row: &PrincipalRow, grants: GrantSet, denied_anew: bool) -> Result<Principal, Vec<Problem>> {
        let (groups, allowance) = grant::principal(row)?;
        let old = self.old.and_then(|old| old.principals.get(&row.id));
        let meter = old.map(|old| Arc::clone(&old.metered.meter));
        let standing = match old {
            Some(old)
                if !denied_anew
                    && old.groups.iter().all(|group| groups.contains(group))
                    && denials(&grants).collect::<BTreeSet<_>>().is_subset(&denials(&old.grants).collect()) =>
            {
                old.standing.clone()
            }
            Some(_) | None => Standing { since: self.rows.revision, replaced: self.cancelled.child_token() },
        };
        Ok(Principal {
            id: row.id.clone(),
            tenant: self.name().to_owned(),
            name: row.name.clone(),
            grants,
            groups,
            metered: Metered {
                allowance,
                meter: meter.unwrap_or_else(|| Meter::of(self.name(), &format!("principal/{}", row.id))),
            },
            cancelled: old.map_or_else(|| self.cancelled.child_token(), |old| old.cancelled.clone()),
            standing,
        })
    }

    fn keys(&mut self, principals: &HashMap<String, Arc<Principal>>, before: &Snapshot) -> Vec<Arc<Credential>> {
        let mut keys = Vec::with_capacity(self.rows.keys.len());
        for row in &self.rows.keys {
            // The key of a disabled principal is no mistake; it just proves nobody.
            let Some(principal) = principals.get(&row.principal_id) else { continue };
            match self.key(row, principal, before) {
                Ok(key) => keys.push(key),
                Err(problem) => self.note("key", &row.id, vec![problem]),
            }
        }
        keys
    }

    fn key(&self, row: &KeyRow, principal: &Arc<Principal>, before: &Snapshot) -> Result<Arc<Credential>, Problem> {
        let hash: [u8; 32] = row.hash.as_slice().try_into().map_err(|_| Problem::new("/hash", "is no SHA-256"))?;
        let old = before.keys.get(&hash).filter(|old| old.key_id == row.id);
        Ok(Arc::new(Credential {
            key_id: row.id.clone(),
            hash,
            principal: Arc::clone(principal),
            expires_at: row.expires,
            last_use: old.map_or_else(|| Arc::new(LastUse::of(row.last_used)), |old| Arc::clone(&old.last_use)),
            cancelled: old.map_or_else(|| self.cancelled.child_token(), |old| old.cancelled.clone()),
        }))
    }

    /// Living keys of one purpose, active ones first, the newest of them before the others.
    fn keys_for(&self, purpose: KeyPurpose) -> Vec<&SigningKeyRow> {
        let living = |row: &&SigningKeyRow| row.purpose == purpose && row.state != SigningKeyState::Gone;
        let mut rows: Vec<&SigningKeyRow> = self.rows.signing_keys.iter().filter(living).collect();
        rows.sort_by_key(|row| (row.state != SigningKeyState::Active, std::cmp::Reverse(row.activated)));
        rows
    }

    fn signers(&mut self) -> Vec<Arc<CardSigner>> {
        let rows: Vec<SigningKeyRow> = self.keys_for(KeyPurpose::Card).into_iter().cloned().collect();
        let mut signers = Vec::with_capacity(rows.len());
        for row in rows {
            match self.signer(&row) {
                Ok(signer) => signers.push(Arc::new(signer)),
                Err(problem) => self.note("signing_key", &row.kid, vec![problem]),
            }
        }
        signers
    }

    fn signer(&self, row: &SigningKeyRow) -> Result<CardSigner, Problem> {
        let (public, seed) = self.halves(row)?;
        let half = |url: &String, seed: &[u8; 32]| {
            let key_set = publish::key_set_url(url, self.name());
            SigningKey::from_seed(seed, Some(row.kid.clone()), Some(key_set))
        };
        let urls = &self.compiler.public_urls;
        let signing = seed.map(|seed| urls.iter().map(|url| half(url, &seed)).collect()).unwrap_or_default();
        Ok(CardSigner { signing, public })
    }

    /// The public half, and the private one of a key that signs.
    fn halves(&self, row: &SigningKeyRow) -> Result<(PublicKey, Option<Seed>), Problem> {
        let bytes = row.public.as_slice().try_into().map_err(|_| Problem::new("/public", "is no Ed25519 key"))?;
        let public = PublicKey::from_bytes(bytes, Some(row.kid.clone()))
            .map_err(|error| Problem::new("/public", error.to_string()))?;
        let seed = match (row.state, &row.sealed_private) {
            (SigningKeyState::Active, Some(blob)) => self.seed(row, blob)?,
            (SigningKeyState::Active, None) => return Err(Problem::new("/sealed_private", "is missing")),
            (SigningKeyState::Next | SigningKeyState::Retiring | SigningKeyState::Gone, _) => {
                return Ok((public, None));
            }
        };
        if SigningKey::from_seed(&seed, Some(row.kid.clone()), None).public() != public {
            return Err(Problem::new("/public", "does not belong to the private half"));
        }
        Ok((public, Some(seed)))
    }

    fn seed(&self, row: &SigningKeyRow, blob: &[u8]) -> Result<Seed, Problem> {
        let wrong = |text: String| Problem::new("/sealed_private", text);
        let place = Place::signing_key(self.name(), &row.id);
        let seed = self.compiler.seal.open(place, blob).map_err(|error| wrong(error.to_string()))?;
        let seed: &[u8; 32] = seed.as_slice().try_into().map_err(|_| wrong("is no Ed25519 seed".to_owned()))?;
        Ok(Zeroizing::new(*seed))
    }
}

/// What an Ed25519 key is made of.
type Seed = Zeroizing<[u8; 32]>;

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

/// Denials that count, by id and revision.
fn denials(grants: &GrantSet) -> impl Iterator<Item = (&str, i64)> {
    let denies = grants.iter().filter(|grant| grant.effect == Effect::Deny && grant.mode == Mode::Enforce);
    denies.map(|grant| (grant.id.as_str(), grant.revision))
}

fn check_tenant(settings: &TenantSettings) -> Vec<Problem> {
    const MOST_DAYS: u32 = 36_500;
    let mut problems = Vec::new();
    grant::check_limits(&settings.limits.unwrap_or_default(), "/limits", &mut problems);
    if settings.task_retention_days.is_some_and(|days| days == 0 || days > MOST_DAYS) {
        let problem = format!("must be 1 to {MOST_DAYS} days; without it tasks are kept for ever");
        problems.push(Problem::new("/task_retention_days", problem));
    }
    problems
}

/// Tags follow the form of names, reserved words included.
fn is_tag(text: &str) -> bool {
    TenantId::new(text).is_some()
}

#[cfg(test)]
mod tests;
