//! The configuration: real types, parsed once, never wrong afterwards.
//!
//! `load` reads the file and the environment into [`raw::Raw`]; [`Settings`] is made of it and every problem is named
//! with its key and where the value came from. Nothing else reads the environment. Secrets have no `Display`.

pub mod gather;
pub mod load;
mod master_key;
mod oidc;
pub mod raw;
pub mod schema;
mod settings;

pub use load::Source;
pub use master_key::{MasterKey, MasterKeys};
pub use oidc::Oidc;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use egress::AllowEntry;
use http::{HeaderName, HeaderValue};
use ipnet::IpNet;
use rustls::pki_types::CertificateDer;
use secrecy::{ExposeSecret as _, SecretString};

use crate::registry::meter::Rates;

/// Everything that is configured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The listener for discovery and calls.
    pub public: Public,
    /// The listener for administration.
    pub admin: Admin,
    /// Where everything is stored.
    pub store: Store,
    /// The spool of audit records.
    pub audit: Audit,
    /// Sizes, counts and times.
    pub limits: Limits,
    /// Where the gateway may connect.
    pub egress: Egress,
    /// Names of headers and keys.
    pub headers: Headers,
    /// Logs.
    pub telemetry: Telemetry,
    /// The master keys.
    pub secrets: MasterKeys,
}

impl Settings {
    /// Options in force that trade safety for something else; they are logged, counted and shown by `/readyz`.
    #[must_use]
    pub fn relaxed(&self) -> Vec<&'static str> {
        let mut relaxed = Vec::new();
        if self.public.http_urls == HttpUrls::Anywhere {
            relaxed.push("public.unsafe_http_urls");
        }
        if self.admin.metrics == MetricsFor::Everybody {
            relaxed.push("admin.metrics_open");
        }
        if self.audit.fsync == Fsync::Interval {
            relaxed.push("audit.fsync");
        }
        if self.audit.on_full == OnFull::Drop {
            relaxed.push("audit.on_full");
        }
        if !store::is_safe_on_the_way(self.store.url.expose_secret()) {
            relaxed.push("store.url");
        }
        relaxed
    }
}

/// The listener for discovery and calls.
#[derive(Clone, Debug)]
pub struct Public {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The addresses by which callers reach the gateway; never empty, the first is the default.
    pub urls: Vec<PublicUrl>,
    /// Which plain-HTTP public URLs are accepted.
    pub http_urls: HttpUrls,
    /// Networks of reverse proxies whose forwarding headers are believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Which origins' scripts may read answers.
    pub cors: CorsOrigins,
    /// The card of `/.well-known/agent-card.json`.
    pub default_card: Option<DefaultCard>,
    /// Whether gRPC is served.
    pub grpc: Grpc,
    /// TLS of the listener.
    pub tls: Option<TlsFiles>,
}

/// Where the listener's certificate is, and which client certificates are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificate and chain.
    pub certificate: PathBuf,
    /// Private key.
    pub key: PathBuf,
    /// Authorities of client certificates.
    pub client_cas: Vec<PathBuf>,
    /// Revocation lists of those authorities; without any, nothing is looked up.
    pub client_crls: Vec<PathBuf>,
    /// Whether callers are asked for one.
    pub client_auth: ClientAuth,
}

/// Whether callers are asked for a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// They are not.
    None,
    /// They are, and may have none.
    Optional,
    /// Without one there is no connection.
    Required,
}

/// Whether gRPC is served, and listed in cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grpc {
    /// It is.
    Served,
    /// By choice, or because this program was built without.
    Off,
}

/// Which plain-HTTP public URLs are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpUrls {
    /// Only those of this machine.
    Loopback,
    /// All (`unsafe_http_urls`).
    Anywhere,
}

/// One address by which callers reach the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    text: String,
    scheme: String,
    authority: String,
    grpc: Grpc,
}

impl PublicUrl {
    /// Reads `https://host[:port][/path]`; a trailing slash is dropped.
    ///
    /// # Errors
    /// What is wrong, for people.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let url = url::Url::parse(text).map_err(|_| "is no URL")?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("must begin with https:// or http://");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not hold a user name or password");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("must have neither query nor fragment");
        }
        let host = url.host_str().ok_or("has no host")?;
        let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let text = format!("{}://{authority}{}", url.scheme(), url.path().trim_end_matches('/'));
        Ok(Self { text, scheme: url.scheme().to_owned(), authority, grpc: Grpc::Off })
    }

    /// The URL without a trailing slash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `http` or `https`.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The same URL, with or without gRPC at its host.
    #[must_use]
    pub fn with_grpc(mut self, grpc: Grpc) -> Self {
        self.grpc = grpc;
        self
    }

    /// `host:port` for gRPC, if it is served. It has no path, so a URL with one has no gRPC.
    #[must_use]
    pub fn grpc_authority(&self) -> Option<String> {
        let url = url::Url::parse(&self.text).ok().filter(|url| self.grpc == Grpc::Served && url.path() == "/")?;
        Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
    }

    /// Host, and port where it is not the scheme's own.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether the host is this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        url::Url::parse(&self.text).is_ok_and(|url| match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        })
    }
}

/// Which origins' scripts may read answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorsOrigins {
    /// Every origin (`*`).
    Any,
    /// These; may be empty.
    List(Vec<HeaderValue>),
}

/// The card that stands for the whole gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultCard {
    /// Its tenant.
    pub tenant: String,
    /// Its name.
    pub card: String,
}

/// The listener for administration.
#[derive(Clone, Debug)]
pub struct Admin {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Origins by which the admin page is reached, besides loopback.
    pub origins: Vec<String>,
    /// The file with the first administrator's token.
    pub token_file: Option<PathBuf>,
    /// Who is shown metrics by tenant.
    pub metrics: MetricsFor,
    /// Single sign-on, where there is one.
    pub oidc: Option<Oidc>,
}

impl Admin {
    /// Where browsers find the page: the first configured origin, else the address that was bound.
    #[must_use]
    pub fn origin(&self, bound: SocketAddr) -> String {
        match self.origins.first() {
            Some(origin) => origin.trim_end_matches('/').to_owned(),
            None if bound.ip().is_unspecified() => format!("http://localhost:{}", bound.port()),
            None => format!("http://{bound}"),
        }
    }

    /// Whether people sign in with passwords.
    #[must_use]
    pub fn passwords(&self) -> Passwords {
        self.oidc.as_ref().map_or(Passwords::Taken, |oidc| oidc.passwords)
    }
}

/// Who is shown metrics by tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsFor {
    /// Administrators of the whole platform, by a token.
    Administrators,
    /// Whoever reaches the admin listener.
    Everybody,
}

/// Whether people sign in with passwords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passwords {
    /// They may.
    Taken,
    /// Single sign-on is the only way.
    Refused,
}

/// Where everything is stored.
#[derive(Clone, Debug)]
pub struct Store {
    /// The URL, which may hold a password.
    pub url: SecretString,
}

/// The spool of audit records.
#[derive(Clone, Debug)]
pub struct Audit {
    /// Its directory.
    pub dir: PathBuf,
    /// When records are forced to disk.
    pub fsync: Fsync,
    /// What happens when nothing can be recorded.
    pub on_full: OnFull,
    /// When the opening record is on disk.
    pub open: OpenRecord,
    /// Size at which a segment is closed.
    pub segment_bytes: u64,
    /// Largest size of the spool.
    pub max_bytes: u64,
}

/// When records are forced to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    /// Before the answer ends.
    Always,
    /// Within a second.
    Interval,
}

/// What happens when nothing can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFull {
    /// Calls are refused.
    Reject,
    /// Calls are served and the loss is counted.
    Drop,
}

/// When the opening record is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenRecord {
    /// While the agent works.
    Overlap,
    /// Before the agent is called.
    BeforeForward,
}

/// Sizes, counts and times that protect the node and its tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What a body, an answer and an event may be.
    pub body: BodyLimits,
    /// What a connection may do.
    pub connection: ConnectionLimits,
    /// What a call to an agent may take.
    pub upstream: UpstreamLimits,
    /// Most event streams open at once.
    pub streams: usize,
    /// Most requests in flight on the node.
    pub requests_in_flight: usize,
    /// Most requests in flight of one tenant.
    pub requests_in_flight_per_tenant: usize,
    /// By whom a minute's calls are counted.
    pub rates: Rates,
    /// Credentials that prove nobody, of one source in a minute, before it is told to wait.
    pub bad_keys_per_minute: usize,
    /// How long a token of the gateway's own works.
    pub token_lifetime: Duration,
    /// Bytes of bodies held in memory on the node.
    pub inflight_bytes: usize,
    /// Bytes of bodies held in memory for one tenant.
    pub inflight_bytes_per_tenant: usize,
    /// Longest wait for the store when the owner of a task is recorded.
    pub ownership_wait: Duration,
    /// Texts larger than this are inspected off the reactor.
    pub guard_inline_bytes: usize,
    /// Longest wait for open requests when the process stops.
    pub drain: Duration,
    /// Memory for signed cards.
    pub card_cache_bytes: usize,
}

/// What a body, an answer and an event may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyLimits {
    /// Largest request body.
    pub request_bytes: usize,
    /// Largest unary answer.
    pub response_bytes: usize,
    /// Largest event or line of a stream.
    pub event_bytes: usize,
    /// Deepest nesting of JSON.
    pub json_depth: usize,
    /// Most values in a document.
    pub json_nodes: usize,
    /// Longest key in bytes.
    pub json_key_bytes: usize,
    /// Most parts in a message.
    pub parts: usize,
    /// Largest inline file after decoding.
    pub inline_file_bytes: usize,
    /// Bytes that must arrive within `floor_window`.
    pub floor_bytes: usize,
    /// The window of `floor_bytes`.
    pub floor_window: Duration,
}

/// What a connection may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Longest request target.
    pub url_bytes: usize,
    /// Largest header section.
    pub header_bytes: usize,
    /// Most header fields.
    pub header_fields: usize,
    /// Longest wait for the first byte and for a whole head.
    pub head_timeout: Duration,
    /// Most connections to the public listener.
    pub connections: usize,
    /// Most connections of one principal.
    pub per_principal: usize,
    /// Most concurrent HTTP/2 streams.
    pub h2_streams: u32,
    /// HTTP/2 window of a stream.
    pub h2_stream_window: u32,
    /// HTTP/2 window of a connection.
    pub h2_connection_window: u32,
    /// HTTP/2 streams that may be reset.
    pub h2_resets: usize,
    /// Bytes of an answer that may wait for a slow reader.
    pub send_buffer_bytes: usize,
}

/// What a call to an agent may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamLimits {
    /// Longest wait for a connection.
    pub connect: Duration,
    /// Longest wait for a unary answer.
    pub unary: Duration,
    /// Longest silence of a stream.
    pub stream_idle: Duration,
    /// Longest life of a stream.
    pub stream_total: Duration,
    /// How long idle connections are kept.
    pub idle: Duration,
    /// Largest fetched document.
    pub fetch_bytes: usize,
    /// Longest fetch.
    pub fetch: Duration,
}

/// Where the gateway may connect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Egress {
    /// Private or plain-HTTP addresses that agents may have.
    pub allow: Vec<AllowEntry>,
    /// Where agents of one tenant may be, and nowhere else.
    pub tenants: BTreeMap<String, Vec<AllowEntry>>,
    /// The same for documents and webhooks.
    pub fetch_allow: Vec<AllowEntry>,
    /// Roots that are trusted besides the public ones.
    pub roots: Vec<CertificateDer<'static>>,
}

/// Names of headers and keys.
#[derive(Clone, Debug)]
pub struct Headers {
    /// Prefix of stamped headers, lower case, ends in `-`.
    pub prefix: String,
    /// `{prefix}tenant-id`.
    pub tenant_id: HeaderName,
    /// Prefix of API keys.
    pub key_prefix: String,
}

/// Logs.
#[derive(Clone, Debug)]
pub struct Telemetry {
    /// How lines look.
    pub format: LogFormat,
    /// A level or a filter.
    pub level: String,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Pretty,
}

/// One thing that is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where the value came from: a file, an environment variable or the defaults.
    pub origin: String,
    /// The key's path, such as `public.listen`; empty for the file as a whole.
    pub key: String,
    /// What is wrong and what to do.
    pub problem: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.key.is_empty() {
            return write!(f, "{}: {}", self.origin, self.problem);
        }
        write!(f, "{}: {}: {}", self.origin, self.key, self.problem)
    }
}

/// Everything that is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the configuration has {} problem(s):\n{}", .0.len(), .0.iter().map(|p| format!("  {p}")).collect::<Vec<_>>().join("\n"))]
pub struct Problems(pub Vec<Problem>);

#[cfg(test)]
mod tests;
