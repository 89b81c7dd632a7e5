//! The configuration as it is written: one struct a section, one field a key, doc comments as its documentation.
//!
//! Nothing is checked here beyond types and names: `load` gathers the values, `Settings` is made of them in `mod.rs`.
//! Every field is optional because defaults live in `default.toml` alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Configuration of Chancery.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Raw {
    /// The listener for discovery and calls.
    #[schema(inline)]
    pub public: Public,
    /// The listener for administration, metrics and the admin page.
    #[schema(inline)]
    pub admin: Admin,
    /// Where everything is stored.
    #[schema(inline)]
    pub store: Store,
    /// The durable spool of audit records.
    #[schema(inline)]
    pub audit: Audit,
    /// Sizes, counts and times that protect the node and its tenants.
    #[schema(inline)]
    pub limits: Limits,
    /// Where the gateway may connect.
    #[schema(inline)]
    pub egress: Egress,
    /// Names of headers and keys.
    #[schema(inline)]
    pub headers: Headers,
    /// Logs.
    #[schema(inline)]
    pub telemetry: Telemetry,
    /// The master key.
    #[schema(inline)]
    pub secrets: Secrets,
}

/// The listener for discovery and calls.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Public {
    /// Address and port to listen on.
    pub listen: Option<String>,
    /// The addresses by which callers reach the gateway, such as `https://agents.example.com`. Card URLs are made of
    /// them; the first is the default. Required.
    pub public_urls: Option<Vec<String>>,
    /// Allows `http://` public URLs with a host other than loopback: keys and messages then travel unprotected.
    pub unsafe_http_urls: Option<bool>,
    /// Networks of reverse proxies whose `Forwarded` and `X-Forwarded-*` headers are believed.
    pub trusted_proxies: Option<Vec<String>>,
    /// Origins whose browser scripts may read answers; `*` is any.
    pub cors_origins: Option<Vec<String>>,
    /// `tenant/card` that `/.well-known/agent-card.json` serves; empty for none.
    pub default_card: Option<String>,
    /// A file with the certificate of the listener and its chain (PEM); empty for a listener without TLS.
    pub tls_certificate_file: Option<String>,
    /// A file with the certificate's private key (PEM). Nobody but the gateway's user may read it.
    pub tls_key_file: Option<String>,
    /// Files with the authorities whose client certificates are believed (PEM).
    pub tls_client_ca_files: Option<Vec<String>>,
    /// Files with revocation lists (PEM) of those authorities; read again when they change. With any, a client
    /// certificate is refused that is revoked, of an authority without a list, or judged by a list that is out of date.
    pub tls_client_crl_files: Option<Vec<String>>,
    /// Whether callers are asked for a certificate: `none`, `optional` or `required`.
    pub tls_client_auth: Option<String>,
    /// Serves gRPC and lists it in cards. Needs a way to the gateway that passes HTTP/2 on to the end.
    pub grpc: Option<bool>,
}

/// The listener for administration.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Admin {
    /// Address and port to listen on. Anything but loopback needs `origins`.
    pub listen: Option<String>,
    /// Origins by which the admin page is reached, such as `https://admin.example.com`; loopback is always allowed.
    pub origins: Option<Vec<String>>,
    /// A file with the token of the first administrator; empty for none.
    pub token_file: Option<String>,
    /// Gives `/metrics` with the names of tenants and cards to whoever reaches the listener. Otherwise they are shown for an
    /// administrator's token alone.
    pub metrics_open: Option<bool>,
    /// Single sign-on to the admin page.
    #[schema(inline)]
    pub oidc: Option<Oidc>,
}

/// Single sign-on to the admin page (OpenID Connect).
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Oidc {
    /// The provider: `iss` of its tokens, exactly, such as `https://idp.example.com`; empty for none. Its redirect address
    /// for the gateway is `{first of admin.origins}/api/v1/session/sso/callback`.
    pub issuer: Option<String>,
    /// The gateway's name at the provider.
    pub client_id: Option<String>,
    /// A file with the gateway's secret at the provider; empty for a client that has none.
    pub client_secret_file: Option<String>,
    /// The secret itself. Only from the environment (`CHANCERY__ADMIN__OIDC__CLIENT_SECRET`).
    pub client_secret: Option<String>,
    /// What the button says after "Sign in with".
    pub label: Option<String>,
    /// What the provider is asked for; `openid` must be among it.
    pub scopes: Option<Vec<String>>,
    /// The claim that names the account; a JSON pointer if it begins with `/`. An e-mail address must be verified.
    pub account_claim: Option<String>,
    /// The claim with the person's groups; a JSON pointer if it begins with `/`.
    pub groups_claim: Option<String>,
    /// What a group makes of a person: lists of `ROLE@TENANT`, or `ROLE` for every tenant, by the group. Who has no role
    /// does not come in.
    pub roles: Option<BTreeMap<String, Vec<String>>>,
    /// Domains of verified e-mail addresses that may come in; empty for any.
    pub allowed_domains: Option<Vec<String>>,
    /// Groups that may come in; empty for any.
    pub allowed_groups: Option<Vec<String>>,
    /// Whether people may still sign in with a password.
    pub passwords: Option<bool>,
    /// How long a session lasts; at most 12h.
    pub session: Option<String>,
}

/// Where everything is stored.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Store {
    /// `sqlite://path` or `postgres://…`. A server on another machine is spoken to over TLS and must prove its name, to
    /// public authorities or those in `sslrootcert=FILE`; only `sslmode=…` in the URL makes that less.
    pub url: Option<String>,
    /// A file with the URL, for URLs with a password; wins over `url`.
    pub url_file: Option<String>,
}

/// The durable spool of audit records.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Audit {
    /// The directory of the spool.
    pub dir: Option<String>,
    /// `always`: a record is on disk before the answer ends. `interval`: it follows within a second.
    pub fsync: Option<String>,
    /// `reject`: no service while nothing can be recorded. `drop`: serve, and count what was lost.
    pub on_full: Option<String>,
    /// `overlap`: the opening record gets to disk while the agent works. `before_forward`: before it is called.
    pub open: Option<String>,
    /// Size at which a segment of the spool is closed.
    pub segment_bytes: Option<Size>,
    /// Largest size of the spool.
    pub max_bytes: Option<Size>,
}

/// Sizes, counts and times that protect the node and its tenants.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Largest request body.
    pub request_bytes: Option<Size>,
    /// Largest unary answer of an agent; at most 64 MiB.
    pub response_bytes: Option<Size>,
    /// Largest event or line of a stream.
    pub event_bytes: Option<Size>,
    /// Deepest nesting of JSON.
    pub json_depth: Option<u64>,
    /// Most values in one JSON document.
    pub json_nodes: Option<u64>,
    /// Longest key of a JSON object in bytes.
    pub json_key_bytes: Option<u64>,
    /// Most parts in one message.
    pub parts: Option<u64>,
    /// Largest inline file after decoding.
    pub inline_file_bytes: Option<Size>,
    /// Longest request target.
    pub url_bytes: Option<Size>,
    /// Largest header section.
    pub header_bytes: Option<Size>,
    /// Most header fields.
    pub header_fields: Option<u64>,
    /// Longest wait for the first byte of a request and for its whole head.
    pub head_timeout: Option<String>,
    /// Slowest body: fewer bytes than this in `body_floor_window` end the request.
    pub body_floor_bytes: Option<Size>,
    /// The window of `body_floor_bytes`.
    pub body_floor_window: Option<String>,
    /// Most connections to the public listener.
    pub connections: Option<u64>,
    /// Most connections of one principal.
    pub connections_per_principal: Option<u64>,
    /// Most concurrent streams of one HTTP/2 connection.
    pub h2_streams: Option<u64>,
    /// HTTP/2 window of one stream.
    pub h2_stream_window: Option<Size>,
    /// HTTP/2 window of a connection.
    pub h2_connection_window: Option<Size>,
    /// HTTP/2 streams that may be reset on a connection before it is closed.
    pub h2_resets: Option<u64>,
    /// Bytes of an answer that may wait for a slow reader.
    pub send_buffer_bytes: Option<Size>,
    /// Most event streams open at once.
    pub streams: Option<u64>,
    /// Most requests in flight on the node.
    pub requests_in_flight: Option<u64>,
    /// Most requests in flight of one tenant.
    pub requests_in_flight_per_tenant: Option<u64>,
    /// Whether calls per minute, calls in flight and open streams are limited over all replicas, through the database,
    /// instead of by each for itself.
    pub shared: Option<bool>,
    /// Credentials that prove nobody, of one source address in a minute, before it is told to wait.
    pub bad_keys_per_minute: Option<u64>,
    /// How long a token of `POST /oauth/token` works; at most an hour.
    pub token_lifetime: Option<String>,
    /// Bytes of bodies held in memory at once on the node.
    pub inflight_bytes: Option<Size>,
    /// Bytes of bodies held in memory at once for one tenant.
    pub inflight_bytes_per_tenant: Option<Size>,
    /// Longest wait for a connection to an agent.
    pub connect_timeout: Option<String>,
    /// Longest wait for a unary answer.
    pub unary_timeout: Option<String>,
    /// Longest silence of an agent's stream; pings end a silence.
    pub stream_idle_timeout: Option<String>,
    /// Longest life of a stream.
    pub stream_total_timeout: Option<String>,
    /// How long idle connections to agents are kept.
    pub upstream_idle: Option<String>,
    /// Longest wait for the store when the owner of a task is recorded.
    pub ownership_wait: Option<String>,
    /// Texts larger than this are inspected off the reactor.
    pub guard_inline_bytes: Option<Size>,
    /// Largest document fetched (cards, key sets).
    pub fetch_bytes: Option<Size>,
    /// Longest fetch of a document.
    pub fetch_timeout: Option<String>,
    /// Longest wait for open requests when the process stops.
    pub drain: Option<String>,
    /// Memory for signed cards.
    pub card_cache_bytes: Option<Size>,
}

/// Where the gateway may connect.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Egress {
    /// Private or plain-HTTP addresses that agents of cards may have: networks (`10.0.0.0/8`) or `host:port`.
    pub allow: Option<Vec<String>>,
    /// Where agents of a tenant's cards may be, and nowhere else: lists by the tenant's name, in the form of `allow`. A tenant
    /// without a list may reach what `allow` and the public internet have.
    pub tenants: Option<BTreeMap<String, Vec<String>>>,
    /// The same for documents, webhooks, issuers, token endpoints and external guards.
    pub fetch_allow: Option<Vec<String>>,
    /// Certificates (PEM) that sign those of agents and the like, besides the public ones. Certificates are always verified.
    pub roots_file: Option<String>,
}

/// Names of headers and keys.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Headers {
    /// Prefix of the headers that the gateway stamps.
    pub prefix: Option<String>,
    /// Prefix of the API keys that the gateway issues.
    pub key_prefix: Option<String>,
}

/// Logs.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Telemetry {
    /// `json` or `pretty`.
    pub format: Option<String>,
    /// A level (`info`) or a filter (`info,chancery=debug`).
    pub level: Option<String>,
}

/// The master key, which seals what is secret in the store.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Secrets {
    /// A file with the master key: at least 32 random bytes as 64 hexadecimal digits or Base64. Only its owner may
    /// read it.
    pub master_key_file: Option<String>,
    /// The master key itself. Only from the environment (`CHANCERY__SECRETS__MASTER_KEY`).
    pub master_key: Option<String>,
    /// Files with earlier master keys, which still open what they sealed.
    pub previous_key_files: Option<Vec<String>>,
}

/// A number of bytes, or a text such as `"4MiB"`.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Size {
    /// Bytes.
    Bytes(u64),
    /// A number and `KiB`, `MiB` or `GiB`.
    Text(String),
}
