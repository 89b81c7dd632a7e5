//! The documents behind rows: a card's settings, a grant. Shapes as administrators write them; credentials towards
//! agents are in `sealed`.
//!
//! Every member is optional here, with the defaults of the contract; `compile` makes real types of them and says what
//! is missing. Unknown members and values are refused.

use serde::{Deserialize, Serialize};

use super::document::{self, Problem};
use super::{CardMembers, Direction, OnBlock, TaskScope, Visibility};

/// Settings of a card.
#[derive(Clone, Debug, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CardSettings {
    /// `inbound` (an agent of ours) or `outbound` (a remote agent that ours call).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Who may read the card: `public`, `tenant`, `hidden`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// Where and how the agent is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Upstream>,
    /// `lenient` accepts a v1.0 body without a version header, `strict` refuses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_mode: Option<VersionMode>,
    /// Which members the published card has: those of both generations (`union`), or of 1.0 alone (`v10`), which clients of 0.3
    /// cannot read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card_members: Option<CardMembers>,
    /// Who sees a task: its creator (`principal`) or everybody in the tenant who may call the card (`tenant`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_scope: Option<TaskScope>,
    /// The guardrail policy by name; none takes the tenant's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Limits that differ from the node's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// How a guardrail block is answered: `error` or `rejected_task`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_block: Option<OnBlock>,
    /// Tags that grants can select.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// The principal (by name) that this agent is when it calls others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_principal: Option<String>,
    /// SHA-256 of the card document that somebody has reviewed although the card guard flagged it; only that document may
    /// be published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewed: Option<String>,
    /// What the document says the agent can do. Derived when the card is saved, see [`CardSettings::to_stored`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
    /// The version that the document states. Derived as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
}

/// Where and how the agent is reached.
#[derive(Clone, Debug, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Upstream {
    /// One entry a URL, preferred first; those of 1.0 go before those of 0.3, and the next one stands in where a call
    /// could not begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interfaces: Option<Vec<Interface>>,
    /// The one dialect to speak, whatever the interfaces say: `v10_jsonrpc`, `v10_http_json`, `v10_grpc`, `v03_jsonrpc`,
    /// `v03_http_json`, `path_rpc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// How `:` is written towards the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub colon: Option<Colon>,
    /// What the probe at registration found out for `colon = "auto"`; none is `percent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_colon: Option<SettledColon>,
    /// What `path_rpc` puts in the body: `envelope` or `bare`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_body: Option<PathBody>,
    /// How the agent puts files into `v03_http_json`: `auto`, `single`, `double`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r3_bytes: Option<R3Bytes>,
    /// Whose objects are sent in `v03_http_json`: `proto` or `schema`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r3_objects: Option<R3Objects>,
    /// Whether tenant, correlation and trace headers are stamped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamp_headers: Option<bool>,
}

/// One URL of an agent.
#[derive(Clone, Debug, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Interface {
    /// The URL; for `GRPC`, `https://host:port`, or `http://` without TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// `JSONRPC`, `HTTP+JSON` or `GRPC`; none is `JSONRPC`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
    /// `1.0` or `0.3`; none is `1.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The `tenant` that this agent wants in requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// Limits that differ from the node's. Sizes in bytes, times in seconds.
#[derive(Clone, Debug, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Largest request body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<u32>,
    /// Largest unary answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_bytes: Option<u32>,
    /// Longest wait for a unary answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unary_seconds: Option<u32>,
    /// Longest silence of a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_idle_seconds: Option<u32>,
    /// Longest stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_total_seconds: Option<u32>,
    /// Calls per minute, whoever calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<u32>,
    /// Calls in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<u32>,
    /// Open streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// Calls per day (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily: Option<u64>,
    /// Calls per month (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monthly: Option<u64>,
}

impl Limits {
    /// The part that counts calls.
    #[must_use]
    pub fn calls(&self) -> CallLimits {
        let Self { per_minute, concurrent, streams, daily, monthly, .. } = *self;
        CallLimits { per_minute, concurrent, streams, daily, monthly }
    }
}

/// How many calls: of a tenant, principal, card or grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CallLimits {
    /// Calls per minute; all of them may come at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<u32>,
    /// Calls in flight at once; a stream is one to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<u32>,
    /// Open streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// Calls per day (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily: Option<u64>,
    /// Calls per month (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monthly: Option<u64>,
}

impl CallLimits {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What is stored of a principal besides its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct PrincipalSettings {
    /// The groups that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    /// How much it may do, by all its grants together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<CallLimits>,
}

/// What is stored of a tenant besides its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct TenantSettings {
    /// How much all its principals together may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<CallLimits>,
    /// Days after which a task counts as missing, and who owns it is forgotten; none keeps it for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_retention_days: Option<u32>,
}

/// What the document says the agent can do.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Capabilities {
    /// Streaming operations.
    pub streaming: bool,
    /// An extended card.
    pub extended_card: bool,
}

impl Default for Capabilities {
    /// For settings saved without them: nothing is withheld that the agent can refuse by itself.
    fn default() -> Self {
        Self { streaming: true, extended_card: false }
    }
}

/// A grant's document.
#[derive(Clone, Debug, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GrantDocument {
    /// Cards by name, `tag:name`, or `*`.
    pub cards: Option<Vec<String>>,
    /// Operations: `send`, `stream`, `get`, `list`, `cancel`, `subscribe`, `push_create`, `push_get`, `push_list`,
    /// `push_delete`, `extended_card`, or `*`.
    pub operations: Option<Vec<String>>,
    /// Which of these: `unary`, `stream`; none means both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<Vec<CallMode>>,
    /// `allow`, or `deny`, which wins over whatever allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// `enforce`, or `shadow`, which records denials without making them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<GrantMode>,
    /// How many delegations may lie between the first caller and the one that is granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delegation_depth: Option<u32>,
    /// Whether a card may be called that is in the chain of delegations already; not, unless this says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegation_loops: Option<bool>,
    /// How much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<CallLimits>,
}

macro_rules! choices {
    ($($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal),+ $(,)? })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
        pub enum $name { $($(#[$vmeta])* #[serde(rename = $text)] $variant),+ }
    )+};
}

choices! {
    /// How an operation is answered.
    CallMode {
        /// By one answer.
        Unary = "unary",
        /// By a stream of events.
        Stream = "stream",
    }
    /// What a grant does.
    Effect {
        /// Allows.
        Allow = "allow",
        /// Denies.
        Deny = "deny",
    }
    /// Whether a grant counts.
    GrantMode {
        /// It decides.
        Enforce = "enforce",
        /// It only says what it would do.
        Shadow = "shadow",
    }
    /// Version header missing with a v1.0 body.
    VersionMode {
        /// Accepted.
        Lenient = "lenient",
        /// Refused.
        Strict = "strict",
    }
    /// How `:` is written.
    Colon {
        /// As the probe found out.
        Auto = "auto",
        /// `%3A`
        Percent = "percent",
        /// `:`
        Literal = "literal",
    }
    /// What the probe found out.
    SettledColon {
        /// `%3A`
        Percent = "percent",
        /// `:`
        Literal = "literal",
    }
    /// What `path_rpc` puts in the body.
    PathBody {
        /// A JSON-RPC envelope.
        Envelope = "envelope",
        /// The parameters alone.
        Bare = "bare",
    }
    /// Whose objects are sent in `v03_http_json`.
    R3Objects {
        /// Those of 0.3's protobuf, as the official SDKs do.
        Proto = "proto",
        /// Those of 0.3's JSON schema, as JSON-RPC has them.
        Schema = "schema",
    }
    /// How an agent puts files into `v03_http_json`.
    R3Bytes {
        /// Nobody said: bytes are relayed as they come, and written once encoded.
        Auto = "auto",
        /// Base64 of the file.
        Single = "single",
        /// Base64 of the base64, as agents of the Python SDK do.
        Double = "double",
    }
}

impl CardSettings {
    /// Reads a settings document.
    ///
    /// # Errors
    /// Everything that does not fit.
    pub fn read(bytes: &[u8]) -> Result<Self, Vec<Problem>> {
        document::read(bytes)
    }

    /// The document to store: with the capabilities and the version that `card` (the published document) declares.
    ///
    /// # Errors
    /// The card is no JSON object.
    pub fn to_stored(mut self, card: &[u8]) -> Result<Vec<u8>, Vec<Problem>> {
        let card = read_card(card)?;
        self.capabilities = Some(capabilities(&card));
        // Nobody compares with a version as long as that.
        self.release = card.str("version").filter(|version| version.len() <= 256).map(str::to_owned);
        serde_json::to_vec(&self).map_err(|error| vec![Problem::new("", error.to_string())])
    }
}

/// Reads a card's document, which came from outside.
///
/// # Errors
/// It is no JSON object.
pub fn read_card(bytes: &[u8]) -> Result<json::Object, Vec<Problem>> {
    let limits = json::Limits { depth: 32, ..json::Limits::default() };
    match json::read(bytes, &limits) {
        Ok(json::Json::Object(card)) => Ok(card),
        Ok(_) => Err(vec![Problem::new("", "an agent card must be an object")]),
        Err(error) => Err(vec![Problem::new("", format!("the agent card can't be read: {error}"))]),
    }
}

/// What a card of either generation says its agent can do.
#[must_use]
pub fn capabilities(card: &json::Object) -> Capabilities {
    let is = |value: Option<&json::Json>| value == Some(&json::Json::Bool(true));
    let declared = card.get("capabilities");
    Capabilities {
        streaming: is(declared.and_then(|d| d.get("streaming"))),
        extended_card: is(declared.and_then(|d| d.get("extendedAgentCard")))
            || is(card.get("supportsAuthenticatedExtendedCard")),
    }
}
