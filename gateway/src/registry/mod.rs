//! The registry: everything the request path knows about tenants, compiled and held in memory.
//!
//! A [`Snapshot`] is immutable. A request takes one at its start ([`Registry::snapshot`]) and is judged by it to its
//! end. `compile` turns rows into a [`TenantWorld`] and names every bad row; `refresh` replaces the worlds that the
//! change list names. Every compiled credential, grant and card carries a cancellation token: when it disappears or
//! loses its power, its token is cancelled and its open streams end.

pub mod certificate;
pub mod compile;
pub mod conditions;
pub mod document;
pub mod grants;
pub mod issuer;
pub mod issuer_keys;
pub mod key_set;
pub mod last_use;
pub mod meter;
pub mod mint;
pub mod refresh;
pub mod sealed;
pub mod settings;
pub mod token;

pub use grants::{CardSelector, Grant};

use crate::clock::Micros;
use arc_swap::ArcSwap;
use grants::GrantSet;
use meter::Metered;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Whether `name` can be a tenant's or a card's (lower case, digits, inner dashes, not one of our path words).
#[must_use]
pub fn is_name(name: &str) -> bool {
    const RESERVED: [&str; 5] = ["v1", "tasks", "message", "card", "extendedagentcard"];
    store::TenantId::new(name).is_some() && !RESERVED.contains(&name)
}

/// One consistent state of all tenants.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The store's revision that this state reflects.
    pub revision: i64,
    /// Tenants by name.
    pub tenants: HashMap<String, Arc<TenantWorld>>,
    /// Credentials of all tenants by the SHA-256 of the whole key.
    pub keys: HashMap<[u8; 32], Arc<Credential>>,
    /// Which tenants a token's `iss` may be about: for calls that name no tenant themselves (gRPC).
    pub issuers: HashMap<String, Vec<String>>,
    /// Tenants that take client certificates, for the same.
    pub certificate_tenants: Vec<String>,
    /// Tenants that are closed because their own row can't be read, by name.
    pub closed: BTreeMap<String, compile::BadRow>,
}

impl Snapshot {
    /// Notes anew whose issuers the tenants' are.
    pub(crate) fn index_issuers(&mut self) {
        self.issuers.clear();
        let taking = self.tenants.values().filter(|world| !world.certificates.is_empty());
        self.certificate_tenants = taking.map(|world| world.name.clone()).collect();
        for world in self.tenants.values() {
            let others = world.issuers.iter().map(|issuer| &issuer.iss);
            let mut names: Vec<&String> = std::iter::once(&world.tokens.iss).chain(others).collect();
            names.sort_unstable();
            names.dedup();
            for iss in names {
                self.issuers.entry(iss.clone()).or_default().push(world.name.clone());
            }
        }
    }

    /// Every row that was left out, with its tenant.
    pub fn bad_rows(&self) -> impl Iterator<Item = (&str, &compile::BadRow)> {
        let closed = self.closed.iter().map(|(tenant, row)| (tenant.as_str(), row));
        let inside =
            self.tenants.values().flat_map(|world| world.bad_rows.iter().map(|row| (world.name.as_str(), row)));
        closed.chain(inside)
    }
}

/// One tenant, compiled.
#[derive(Debug)]
pub struct TenantWorld {
    /// The tenant's name, which is also its id.
    pub name: String,
    /// Cards by name; disabled and draft ones are not here.
    pub cards: HashMap<String, Arc<Card>>,
    /// The card that `GET /a2a/{tenant}/.well-known/agent-card.json` serves.
    pub default_card: Option<String>,
    /// Principals by id.
    pub principals: HashMap<String, Arc<Principal>>,
    /// Grants to groups, by the group's name.
    pub groups: HashMap<String, Arc<GrantSet>>,
    /// How much everybody in it may do together.
    pub metered: Metered,
    /// How long a task is kept; none is for ever.
    pub task_retention: Option<Duration>,
    /// Keys that sign cards, active first; all of them are published.
    pub signers: Vec<Arc<CardSigner>>,
    /// The tenant's API keys by id (`key-…`): a token names the key it came from.
    pub credentials: HashMap<String, Arc<Credential>>,
    /// Who else vouches for the tenant's principals; disabled ones are not here.
    pub issuers: Vec<Arc<issuer::Issuer>>,
    /// Whose client certificates are the tenant's callers.
    pub certificates: Vec<Arc<certificate::CertificateIssuer>>,
    /// What signs and proves the gateway's own tokens for this tenant.
    pub tokens: token::TokenIssuer,
    /// What grants cannot say; none for most tenants.
    pub conditions: Option<Arc<conditions::Conditions>>,
    /// Since when the conditions are what they are, or are none.
    pub conditioned: Standing,
    /// Policies by name, compiled; those with mistakes are not here.
    pub policies: HashMap<String, Arc<NamedPolicy>>,
    /// Rows that were left out, and why.
    pub bad_rows: Vec<compile::BadRow>,
    /// Cancelled when the tenant is disabled or removed.
    pub cancelled: CancellationToken,
}

impl TenantWorld {
    /// Everything in it that is counted: itself, its cards, principals and grants.
    pub fn metered(&self) -> impl Iterator<Item = &Metered> {
        let own = self.principals.values().map(|principal| &principal.grants);
        let grants = own.chain(self.groups.values().map(Arc::as_ref)).flat_map(|set| set.iter());
        let cards = self.cards.values().map(|card| &card.metered);
        let principals = self.principals.values().map(|principal| &principal.metered);
        std::iter::once(&self.metered).chain(cards).chain(principals).chain(grants.map(|grant| &grant.metered))
    }

    /// A tenant that serves nobody, because what is written of it can't be read.
    #[must_use]
    pub fn closed(name: &str, bad_rows: Vec<compile::BadRow>, cancelled: CancellationToken) -> Self {
        Self {
            name: name.to_owned(),
            cards: HashMap::new(),
            default_card: None,
            principals: HashMap::new(),
            groups: HashMap::new(),
            metered: Metered::default(),
            task_retention: None,
            signers: Vec::new(),
            credentials: HashMap::new(),
            issuers: Vec::new(),
            certificates: Vec::new(),
            tokens: token::TokenIssuer::new("", name),
            conditions: None,
            conditioned: Standing::default(),
            policies: HashMap::new(),
            bad_rows,
            cancelled,
        }
    }
}

/// A compiled policy and what it was compiled from.
pub struct NamedPolicy {
    /// Its name.
    pub name: String,
    /// The version of its document.
    pub version: i64,
    /// The revision of its row.
    pub revision: i64,
    /// What runs.
    pub pipeline: Arc<guard::Pipeline>,
}

impl std::fmt::Debug for NamedPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamedPolicy").field("name", &self.name).field("version", &self.version).finish_non_exhaustive()
    }
}

/// A key of the tenant's that signs cards.
pub struct CardSigner {
    /// The signing half, once for each public URL, in their order: the signed header names the key set by URL. Empty
    /// for keys that are only published (next, retiring).
    pub signing: Vec<a2a::sign::SigningKey>,
    /// The published half.
    pub public: a2a::sign::jwks::PublicKey,
}

impl std::fmt::Debug for CardSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CardSigner").finish_non_exhaustive()
    }
}

/// A card's routing facts. The document itself is not here: served bytes come from `discovery`'s cache over the store.
pub struct Card {
    /// `card-…`
    pub id: String,
    /// The tenant it belongs to.
    pub tenant: String,
    /// Its name in the URL.
    pub name: String,
    /// The store's version number of the document and settings.
    pub version: i64,
    /// The version that the agent's own card states.
    pub release: Option<String>,
    /// The revision of its row, which also counts changes of state and credential.
    pub revision: i64,
    /// Ours, or a remote agent we call.
    pub direction: Direction,
    /// Who may read the card.
    pub visibility: Visibility,
    /// Where and how the agent is reached.
    pub upstream: Upstream,
    /// Whether a v1.0 body without a version header is accepted (D12).
    pub version_mode: a2a::dialect::VersionMode,
    /// Which members the published card has.
    pub card_members: CardMembers,
    /// Whether principals of the tenant share tasks (D5).
    pub task_scope: TaskScope,
    /// The tenant's floor and the one effective policy (D20), in this order; empty when there is none.
    pub policies: Vec<Arc<guard::Pipeline>>,
    /// How a guardrail block is answered (D10).
    pub on_block: OnBlock,
    /// What the agent's card says it can do.
    pub streaming: bool,
    /// Whether an extended card may be asked for.
    pub extended_card: bool,
    /// The principal that this agent itself is, when it calls others (delegation).
    pub bound_principal: Option<String>,
    /// Limits that differ from the node's.
    pub limits: CardLimits,
    /// Tags that grants can select (`tag:finance`).
    pub tags: Vec<String>,
    /// How often it may be called, whoever calls.
    pub metered: Metered,
    /// Cancelled when the card is disabled, removed, or its upstream changes.
    pub cancelled: CancellationToken,
}

impl std::fmt::Debug for Card {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Card")
            .field("id", &self.id)
            .field("tenant", &self.tenant)
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// The agent behind a card.
#[derive(Debug)]
pub struct Upstream {
    /// Interfaces in order of preference; never empty for a published card.
    pub interfaces: Vec<Interface>,
    /// The gateway's own credential towards the agent.
    pub credential: UpstreamCredential,
    /// The client by which tasks that wait for authorisation get theirs; none unless the card has one.
    pub in_task: Option<InTask>,
    /// `X-Brutor-*`, correlation id and traceparent are stamped.
    pub stamp_headers: bool,
    /// Over everything above and the sealed credential: two cards with one fingerprint reach one agent in one way.
    pub fingerprint: [u8; 32],
}

/// One URL of an agent and the dialect spoken there.
#[derive(Debug)]
pub struct Interface {
    /// What is spoken.
    pub dialect: a2a::Dialect,
    /// Base URL, colon form, A2A tenant.
    pub address: a2a::dialect::AgentAddress,
}

/// The gateway's credential towards an agent. Opened from the sealed column when the world is compiled.
pub enum UpstreamCredential {
    /// Nothing is sent.
    None,
    /// `Authorization: Bearer …`
    Bearer(secrecy::SecretString),
    /// A header of its own.
    Header {
        /// The header's name, lower case.
        name: http::HeaderName,
        /// Its value.
        value: secrecy::SecretString,
    },
    /// `Authorization: Basic …`
    Basic {
        /// User name.
        user: String,
        /// Password.
        password: secrecy::SecretString,
    },
    /// A token of a token endpoint, by the gateway's own client there.
    OAuth2(TokenEndpoint),
    /// A client certificate.
    Mtls {
        /// The chain, PEM.
        certificate: String,
        /// The leaf's key, PEM.
        key: secrecy::SecretString,
    },
    /// A token that names for whom the agent is called, and through whom (RFC 8693).
    Exchange {
        /// Whom it is for.
        audience: String,
        /// Who exchanges it; without one the gateway's own token is attached.
        endpoint: Option<TokenEndpoint>,
    },
    /// The caller's own token, where a tenant's issuer vouches for it.
    Forward,
}

/// Where tokens are given out, and the gateway's client there.
pub struct TokenEndpoint {
    /// Its URL.
    pub url: String,
    /// Which client.
    pub client_id: String,
    /// Its secret.
    pub client_secret: secrecy::SecretString,
    /// The scope to ask for.
    pub scope: Option<String>,
    /// Whom tokens are for.
    pub audience: Option<String>,
}

/// How the agent of a card is authorised in the middle of a task (A2A 1.0 §7.6).
#[derive(Debug)]
pub struct InTask {
    /// The header that it looks for the token in.
    pub header: http::HeaderName,
    /// Where the token is from.
    pub endpoint: TokenEndpoint,
}

impl std::fmt::Debug for TokenEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenEndpoint").field("url", &self.url).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for UpstreamCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Bearer(_) => "Bearer(…)",
            Self::Header { .. } => "Header(…)",
            Self::Basic { .. } => "Basic(…)",
            Self::OAuth2(_) => "OAuth2(…)",
            Self::Mtls { .. } => "Mtls(…)",
            Self::Exchange { .. } => "Exchange(…)",
            Self::Forward => "Forward",
        })
    }
}

/// Ours or remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// An agent of ours: requests are `a2a_inbound`.
    Inbound,
    /// A remote agent that our agents call: requests are `a2a_outbound`.
    Outbound,
}

/// Who may read a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Everybody, without a credential.
    Public,
    /// Principals of the tenant.
    Tenant,
    /// Only principals with a grant.
    Hidden,
}

/// Which members a published card has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardMembers {
    /// Those of 1.0 and of 0.3: clients of both generations read it.
    Union,
    /// Those of 1.0 alone: clients of 0.3 cannot read it.
    V10,
}

/// Who sees a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskScope {
    /// Its creator.
    Principal,
    /// Every principal of the tenant that may call the card.
    Tenant,
}

/// How a guardrail block is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnBlock {
    /// An error of protocol.md 3.4.
    Error,
    /// A legal task in state `REJECTED`.
    RejectedTask,
}

/// Limits of one card; `None` takes the node's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CardLimits {
    /// Largest request body in bytes.
    pub request_bytes: Option<usize>,
    /// Largest unary answer in bytes.
    pub response_bytes: Option<usize>,
    /// Longest wait for a unary answer.
    pub unary: Option<Duration>,
    /// Longest silence on a stream.
    pub stream_idle: Option<Duration>,
    /// Longest stream.
    pub stream_total: Option<Duration>,
}

/// A credential that proves a principal.
#[derive(Debug)]
pub struct Credential {
    /// `key-…`
    pub key_id: String,
    /// SHA-256 of the whole key, compared in constant time.
    pub hash: [u8; 32],
    /// Whom it proves.
    pub principal: Arc<Principal>,
    /// When it stops working.
    pub expires_at: Option<Micros>,
    /// When it last proved somebody.
    pub last_use: Arc<last_use::LastUse>,
    /// Cancelled when it is revoked.
    pub cancelled: CancellationToken,
}

/// Who calls, and what it may do.
#[derive(Debug)]
pub struct Principal {
    /// `prn-…`
    pub id: String,
    /// The tenant it belongs to.
    pub tenant: String,
    /// Its name.
    pub name: String,
    /// What it may do by itself.
    pub grants: GrantSet,
    /// The groups that it is in, whose grants it has too.
    pub groups: Vec<String>,
    /// How much it may do, by all its grants together.
    pub metered: Metered,
    /// Cancelled when it is disabled or removed.
    pub cancelled: CancellationToken,
    /// Its standing: what it may do has become less, although no grant of its own was withdrawn.
    pub standing: Standing,
}

/// Something that may be replaced under a principal that stays.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// The revision that it dates from.
    pub since: i64,
    /// Cancelled when it is replaced: open streams are judged anew.
    pub replaced: CancellationToken,
}

/// The current snapshot, replaced as a whole.
#[derive(Debug, Default)]
pub struct Registry {
    current: ArcSwap<Snapshot>,
    loaded: AtomicBool,
}

impl Registry {
    /// Starts with `first`.
    #[must_use]
    pub fn new(first: Snapshot) -> Self {
        Self { current: ArcSwap::from_pointee(first), loaded: AtomicBool::new(true) }
    }

    /// The state to judge one request by, from its start to its end.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Puts `next` in place.
    pub fn replace(&self, next: Snapshot) {
        self.replace_shared(Arc::new(next));
    }

    /// The same for a state that the caller looks at afterwards.
    pub fn replace_shared(&self, next: Arc<Snapshot>) {
        self.current.store(next);
        self.loaded.store(true, Ordering::Release);
    }

    /// Whether a snapshot of the store was ever put in place.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.loaded.load(Ordering::Acquire)
    }
}
