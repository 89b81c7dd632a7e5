//! Raw values → [`Settings`], section by section. The only place that knows both.

use std::path::PathBuf;
use std::time::Duration;

use egress::AllowEntry;
use http::{HeaderName, HeaderValue};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::gather::Gather;
use super::oidc::oidc;
use super::raw::{self, Raw};
use super::{
    Admin, Audit, BodyLimits, ClientAuth, ConnectionLimits, CorsOrigins, DefaultCard, Egress, Fsync, Grpc, Headers,
    HttpUrls, Limits, LogFormat, MasterKey, MasterKeys, MetricsFor, OnFull, OpenRecord, Public, PublicUrl, Settings,
    Store, Telemetry, TlsFiles, UpstreamLimits,
};
use crate::registry::meter::Rates;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const MANY: u64 = 10_000_000;

/// Every section; `None` where the master key is missing, which has then been noted.
pub(super) fn settings(raw: &Raw, gather: &mut Gather) -> Option<Settings> {
    let public = public(&raw.public, gather);
    let admin = admin(&raw.admin, gather);
    let store = store(&raw.store, gather);
    let audit = audit(&raw.audit, gather);
    let limits = limits(&raw.limits, gather);
    let egress = egress(&raw.egress, gather);
    let headers = headers(&raw.headers, gather);
    let telemetry = telemetry(&raw.telemetry, gather);
    let secrets = secrets(&raw.secrets, gather)?;
    Some(Settings { public, admin, store, audit, limits, egress, headers, telemetry, secrets })
}

fn public(raw: &raw::Public, gather: &mut Gather) -> Public {
    let grpc = if raw.grpc.unwrap_or(true) && cfg!(feature = "grpc") { Grpc::Served } else { Grpc::Off };
    let http_urls = if raw.unsafe_http_urls.unwrap_or(false) { HttpUrls::Anywhere } else { HttpUrls::Loopback };
    Public {
        listen: gather.address("public.listen", raw.listen.as_ref()),
        urls: public_urls(raw.public_urls.as_deref().unwrap_or_default(), http_urls, gather)
            .into_iter()
            .map(|url| url.with_grpc(grpc))
            .collect(),
        http_urls,
        trusted_proxies: trusted_proxies(raw, gather),
        cors: cors(raw, gather),
        default_card: default_card(raw, gather),
        grpc,
        tls: tls(raw, gather),
    }
}

fn tls(raw: &raw::Public, gather: &mut Gather) -> Option<TlsFiles> {
    let client_auth = match Gather::text(raw.tls_client_auth.as_ref()).as_str() {
        "none" | "" => ClientAuth::None,
        "optional" => ClientAuth::Optional,
        "required" => ClientAuth::Required,
        text => {
            gather.note(
                "public.tls_client_auth",
                format!("{text:?} is unknown; use \"none\", \"optional\" or \"required\""),
            );
            ClientAuth::None
        }
    };
    let client_cas: Vec<PathBuf> = raw.tls_client_ca_files.iter().flatten().map(PathBuf::from).collect();
    let client_crls: Vec<PathBuf> = raw.tls_client_crl_files.iter().flatten().map(PathBuf::from).collect();
    if client_auth == ClientAuth::None && !client_crls.is_empty() {
        gather.note(
            "public.tls_client_crl_files",
            "says which client certificates are revoked, and none is asked for: set public.tls_client_auth",
        );
    }
    if client_auth != ClientAuth::None && client_cas.is_empty() {
        gather.note("public.tls_client_ca_files", "is required: whose client certificates are believed?");
    }
    let files = (Gather::optional(raw.tls_certificate_file.as_ref()), Gather::optional(raw.tls_key_file.as_ref()));
    match files {
        (Some(certificate), Some(key)) => {
            Some(TlsFiles { certificate: certificate.into(), key: key.into(), client_cas, client_crls, client_auth })
        }
        (None, None) => {
            if client_auth != ClientAuth::None {
                gather.note(
                    "public.tls_certificate_file",
                    "is required: only a listener with TLS sees client certificates",
                );
            }
            None
        }
        (Some(_), None) => {
            gather.note("public.tls_key_file", "is required: the private key of public.tls_certificate_file");
            None
        }
        (None, Some(_)) => {
            gather.note("public.tls_certificate_file", "is required: the certificate of public.tls_key_file");
            None
        }
    }
}

fn public_urls(texts: &[String], http_urls: HttpUrls, gather: &mut Gather) -> Vec<PublicUrl> {
    const KEY: &str = "public.public_urls";
    if texts.is_empty() {
        gather.note(
            KEY,
            "is required: the address by which callers reach the gateway, such as [\"https://agents.example.com\"]. \
             Signed cards point there",
        );
    }
    let mut urls = Vec::new();
    for text in texts {
        match PublicUrl::parse(text) {
            Err(problem) => gather.note(KEY, format!("{text:?} {problem}")),
            Ok(url) if url.scheme() == "http" && !url.is_loopback() && http_urls == HttpUrls::Loopback => gather
                .note(KEY, format!("{text:?} is not encrypted; use https:// or set public.unsafe_http_urls = true")),
            Ok(url) => urls.push(url),
        }
    }
    urls
}

fn trusted_proxies(raw: &raw::Public, gather: &mut Gather) -> Vec<ipnet::IpNet> {
    let mut networks = Vec::new();
    for text in raw.trusted_proxies.iter().flatten() {
        let parsed = text.parse().or_else(|_| text.parse::<std::net::IpAddr>().map(ipnet::IpNet::from));
        match parsed {
            Ok(network) => networks.push(network),
            Err(_) => gather.note("public.trusted_proxies", format!("{text:?} is no network, such as \"10.0.0.0/8\"")),
        }
    }
    networks
}

fn cors(raw: &raw::Public, gather: &mut Gather) -> CorsOrigins {
    let texts = raw.cors_origins.as_deref().unwrap_or_default();
    if texts.iter().any(|text| text == "*") {
        if texts.len() > 1 {
            gather.note("public.cors_origins", "\"*\" must stand alone");
        }
        return CorsOrigins::Any;
    }
    let mut origins = Vec::new();
    for text in texts {
        match (origin(text), HeaderValue::from_str(text)) {
            (Some(()), Ok(value)) => origins.push(value),
            (_, _) => gather.note(
                "public.cors_origins",
                format!("{text:?} is no origin, such as \"https://app.example.com\" (no path, no trailing slash)"),
            ),
        }
    }
    CorsOrigins::List(origins)
}

fn origin(text: &str) -> Option<()> {
    let url = url::Url::parse(text).ok()?;
    (url.origin().is_tuple() && url.origin().ascii_serialization() == text).then_some(())
}

fn default_card(raw: &raw::Public, gather: &mut Gather) -> Option<DefaultCard> {
    let text = Gather::optional(raw.default_card.as_ref())?;
    match text.split_once('/') {
        Some((tenant, card)) if crate::registry::is_name(tenant) && crate::registry::is_name(card) => {
            Some(DefaultCard { tenant: tenant.to_owned(), card: card.to_owned() })
        }
        Some(_) | None => {
            gather.note("public.default_card", format!("{text:?} is not of the form \"tenant/card\""));
            None
        }
    }
}

fn admin(raw: &raw::Admin, gather: &mut Gather) -> Admin {
    let listen = gather.address("admin.listen", raw.listen.as_ref());
    let origins = raw.origins.clone().unwrap_or_default();
    for text in origins.iter().filter(|text| origin(text).is_none()) {
        gather.note(
            "admin.origins",
            format!("{text:?} is no origin, such as \"https://admin.example.com\" (no path, no trailing slash)"),
        );
    }
    for text in origins.iter().filter(|text| origin(text).is_some() && !keeps_sessions(text)) {
        gather.note(
            "admin.origins",
            format!(
                "{text:?}: browsers sign in over https:// alone, or on this machine; put TLS in front of admin.listen"
            ),
        );
    }
    if !listen.ip().is_loopback() && origins.is_empty() {
        gather.note(
            "admin.listen",
            format!("{listen} can be reached from other machines; name the origins that may use it in admin.origins"),
        );
    }
    Admin {
        listen,
        origins,
        token_file: Gather::optional(raw.token_file.as_ref()).map(PathBuf::from),
        metrics: if raw.metrics_open.unwrap_or(false) { MetricsFor::Everybody } else { MetricsFor::Administrators },
        oidc: oidc(raw.oidc.as_ref(), gather),
    }
}

/// Whether a browser keeps a session's cookie for this origin: it is bound to the host, which takes TLS, or it is for
/// loopback.
fn keeps_sessions(origin: &str) -> bool {
    let Ok(url) = url::Url::parse(origin) else { return false };
    url.scheme() == "https"
        || match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
}

pub(super) fn store(raw: &raw::Store, gather: &mut Gather) -> Store {
    let (key, url) = match Gather::optional(raw.url_file.as_ref()) {
        None => ("store.url", Gather::text(raw.url.as_ref())),
        Some(path) => match std::fs::read_to_string(&path) {
            Ok(text) => ("store.url_file", text.trim().to_owned()),
            Err(error) => {
                gather.note("store.url_file", format!("{path:?} can't be read ({})", error.kind()));
                return Store { url: String::new().into() };
            }
        },
    };
    if !["sqlite:", "postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        gather.note(key, "must begin with sqlite:// or postgres://");
    }
    Store { url: url.into() }
}

fn audit(raw: &raw::Audit, gather: &mut Gather) -> Audit {
    let dir = Gather::text(raw.dir.as_ref());
    if dir.is_empty() {
        gather.note("audit.dir", "is required; records are kept there until they are in the store");
    }
    let segment_bytes = gather.size("audit.segment_bytes", raw.segment_bytes.as_ref(), 64 * KIB..=GIB);
    let max_bytes = gather.size("audit.max_bytes", raw.max_bytes.as_ref(), MIB..=TIB);
    if max_bytes < segment_bytes.saturating_mul(2) {
        gather.note("audit.max_bytes", "must be at least twice audit.segment_bytes");
    }
    Audit {
        dir: PathBuf::from(dir),
        fsync: gather.choice(
            "audit.fsync",
            raw.fsync.as_ref(),
            ("always", Fsync::Always),
            ("interval", Fsync::Interval),
        ),
        on_full: gather.choice(
            "audit.on_full",
            raw.on_full.as_ref(),
            ("reject", OnFull::Reject),
            ("drop", OnFull::Drop),
        ),
        open: gather.choice(
            "audit.open",
            raw.open.as_ref(),
            ("overlap", OpenRecord::Overlap),
            ("before_forward", OpenRecord::BeforeForward),
        ),
        segment_bytes,
        max_bytes,
    }
}

fn limits(raw: &raw::Limits, gather: &mut Gather) -> Limits {
    let node = gather.memory("limits.inflight_bytes", raw.inflight_bytes.as_ref(), MIB..=TIB);
    let tenant = gather.memory("limits.inflight_bytes_per_tenant", raw.inflight_bytes_per_tenant.as_ref(), MIB..=TIB);
    if tenant > node {
        gather.note("limits.inflight_bytes_per_tenant", "must not be larger than limits.inflight_bytes");
    }
    Limits {
        body: body_limits(raw, gather),
        connection: connection_limits(raw, gather),
        upstream: upstream_limits(raw, gather),
        streams: gather.count("limits.streams", raw.streams, 1..=MANY),
        requests_in_flight: gather.count("limits.requests_in_flight", raw.requests_in_flight, 1..=MANY),
        requests_in_flight_per_tenant: gather.count(
            "limits.requests_in_flight_per_tenant",
            raw.requests_in_flight_per_tenant,
            1..=MANY,
        ),
        rates: if raw.shared.unwrap_or(false) { Rates::Shared } else { Rates::Local },
        bad_keys_per_minute: gather.count("limits.bad_keys_per_minute", raw.bad_keys_per_minute, 1..=MANY),
        token_lifetime: token_lifetime(raw, gather),
        inflight_bytes: node,
        inflight_bytes_per_tenant: tenant,
        ownership_wait: gather.duration("limits.ownership_wait", raw.ownership_wait.as_ref()),
        guard_inline_bytes: gather.memory("limits.guard_inline_bytes", raw.guard_inline_bytes.as_ref(), 0..=64 * MIB),
        drain: gather.duration("limits.drain", raw.drain.as_ref()),
        card_cache_bytes: gather.memory("limits.card_cache_bytes", raw.card_cache_bytes.as_ref(), MIB..=TIB),
    }
}

fn token_lifetime(raw: &raw::Limits, gather: &mut Gather) -> Duration {
    const KEY: &str = "limits.token_lifetime";
    let lifetime = gather.duration(KEY, raw.token_lifetime.as_ref());
    if !(Duration::from_secs(60)..=Duration::from_secs(3_600)).contains(&lifetime) {
        gather.note(KEY, "must be one minute to one hour: a token that leaks should not work for long");
    }
    lifetime
}

fn body_limits(raw: &raw::Limits, gather: &mut Gather) -> BodyLimits {
    BodyLimits {
        request_bytes: gather.memory("limits.request_bytes", raw.request_bytes.as_ref(), KIB..=64 * MIB),
        response_bytes: gather.memory("limits.response_bytes", raw.response_bytes.as_ref(), KIB..=64 * MIB),
        event_bytes: gather.memory("limits.event_bytes", raw.event_bytes.as_ref(), KIB..=64 * MIB),
        json_depth: gather.count("limits.json_depth", raw.json_depth, 8..=128),
        json_nodes: gather.count("limits.json_nodes", raw.json_nodes, 100..=MANY),
        json_key_bytes: gather.count("limits.json_key_bytes", raw.json_key_bytes, 32..=65_536),
        parts: gather.count("limits.parts", raw.parts, 1..=65_536),
        inline_file_bytes: gather.memory("limits.inline_file_bytes", raw.inline_file_bytes.as_ref(), 0..=64 * MIB),
        floor_bytes: gather.memory("limits.body_floor_bytes", raw.body_floor_bytes.as_ref(), 0..=MIB),
        floor_window: gather.duration("limits.body_floor_window", raw.body_floor_window.as_ref()),
    }
}

fn connection_limits(raw: &raw::Limits, gather: &mut Gather) -> ConnectionLimits {
    let narrow = |wide: usize| u32::try_from(wide).unwrap_or(u32::MAX);
    ConnectionLimits {
        url_bytes: gather.memory("limits.url_bytes", raw.url_bytes.as_ref(), KIB..=64 * KIB),
        header_bytes: gather.memory("limits.header_bytes", raw.header_bytes.as_ref(), 4 * KIB..=256 * KIB),
        header_fields: gather.count("limits.header_fields", raw.header_fields, 16..=1_000),
        head_timeout: gather.duration("limits.head_timeout", raw.head_timeout.as_ref()),
        connections: gather.count("limits.connections", raw.connections, 1..=MANY),
        per_principal: gather.count("limits.connections_per_principal", raw.connections_per_principal, 1..=MANY),
        h2_streams: narrow(gather.count("limits.h2_streams", raw.h2_streams, 1..=10_000)),
        h2_stream_window: narrow(gather.memory(
            "limits.h2_stream_window",
            raw.h2_stream_window.as_ref(),
            65_535..=16 * MIB,
        )),
        h2_connection_window: narrow(gather.memory(
            "limits.h2_connection_window",
            raw.h2_connection_window.as_ref(),
            65_535..=64 * MIB,
        )),
        h2_resets: gather.count("limits.h2_resets", raw.h2_resets, 1..=10_000),
        send_buffer_bytes: gather.memory(
            "limits.send_buffer_bytes",
            raw.send_buffer_bytes.as_ref(),
            16 * KIB..=16 * MIB,
        ),
    }
}

fn upstream_limits(raw: &raw::Limits, gather: &mut Gather) -> UpstreamLimits {
    UpstreamLimits {
        connect: gather.duration("limits.connect_timeout", raw.connect_timeout.as_ref()),
        unary: gather.duration("limits.unary_timeout", raw.unary_timeout.as_ref()),
        stream_idle: gather.duration("limits.stream_idle_timeout", raw.stream_idle_timeout.as_ref()),
        stream_total: gather.duration("limits.stream_total_timeout", raw.stream_total_timeout.as_ref()),
        idle: gather.duration("limits.upstream_idle", raw.upstream_idle.as_ref()),
        fetch_bytes: gather.memory("limits.fetch_bytes", raw.fetch_bytes.as_ref(), KIB..=16 * MIB),
        fetch: gather.duration("limits.fetch_timeout", raw.fetch_timeout.as_ref()),
    }
}

fn egress(raw: &raw::Egress, gather: &mut Gather) -> Egress {
    let mut entries = |key: &str, texts: Option<&Vec<String>>| {
        let mut entries = Vec::new();
        for text in texts.into_iter().flatten() {
            match AllowEntry::parse(text) {
                Ok(entry) => entries.push(entry),
                Err(problem) => gather.note(key, format!("{text:?} {problem}")),
            }
        }
        entries
    };
    Egress {
        allow: entries("egress.allow", raw.allow.as_ref()),
        tenants: raw
            .tenants
            .iter()
            .flatten()
            .map(|(tenant, texts)| (tenant.clone(), entries("egress.tenants", Some(texts))))
            .collect(),
        fetch_allow: entries("egress.fetch_allow", raw.fetch_allow.as_ref()),
        roots: roots(raw, gather),
    }
}

/// The certificates of `egress.roots_file`.
fn roots(raw: &raw::Egress, gather: &mut Gather) -> Vec<CertificateDer<'static>> {
    let Some(path) = Gather::optional(raw.roots_file.as_ref()) else { return Vec::new() };
    let read = std::fs::read(&path).map_err(|error| format!("can't be read ({})", error.kind()));
    let roots = read.and_then(|pem| {
        let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
        all.ok().filter(|all| !all.is_empty()).ok_or_else(|| "holds no certificates in PEM".to_owned())
    });
    roots.unwrap_or_else(|problem| {
        gather.note("egress.roots_file", format!("{path:?} {problem}"));
        Vec::new()
    })
}

fn headers(raw: &raw::Headers, gather: &mut Gather) -> Headers {
    let prefix = Gather::text(raw.prefix.as_ref());
    let well_formed = prefix.len() <= 32
        && prefix.ends_with('-')
        && prefix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let tenant_id = HeaderName::from_bytes(format!("{prefix}tenant-id").as_bytes());
    if !well_formed || tenant_id.is_err() {
        gather.note(
            "headers.prefix",
            format!("{prefix:?} must be lower-case letters, digits and dashes, and end in \"-\""),
        );
    }
    let key_prefix = Gather::text(raw.key_prefix.as_ref());
    let key_well_formed = (1..=32).contains(&key_prefix.len())
        && key_prefix.ends_with('_')
        && key_prefix.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !key_well_formed {
        gather.note(
            "headers.key_prefix",
            format!("{key_prefix:?} must be letters, digits and underscores, and end in \"_\""),
        );
    }
    Headers { prefix, tenant_id: tenant_id.unwrap_or(http::header::FROM), key_prefix }
}

fn telemetry(raw: &raw::Telemetry, gather: &mut Gather) -> Telemetry {
    let level = Gather::text(raw.level.as_ref());
    if tracing_subscriber::EnvFilter::try_new(&level).is_err() || level.is_empty() {
        gather.note("telemetry.level", format!("{level:?} is no level or filter, such as \"info\""));
    }
    Telemetry {
        format: gather.choice(
            "telemetry.format",
            raw.format.as_ref(),
            ("json", LogFormat::Json),
            ("pretty", LogFormat::Pretty),
        ),
        level,
    }
}

fn secrets(raw: &raw::Secrets, gather: &mut Gather) -> Option<MasterKeys> {
    let mut previous = Vec::new();
    for path in raw.previous_key_files.iter().flatten() {
        match MasterKey::read(path.as_ref()) {
            Ok(key) => previous.push(key),
            Err(error) => gather.note("secrets.previous_key_files", format!("{path:?} {error}")),
        }
    }
    let inline = Gather::optional(raw.master_key.as_ref());
    let file = Gather::optional(raw.master_key_file.as_ref());
    let current = match (inline, file) {
        (Some(text), _) => {
            MasterKey::parse(&text).map_err(|error| gather.note("secrets.master_key", error.to_string()))
        }
        (None, Some(path)) => MasterKey::read(path.as_ref())
            .map_err(|error| gather.note("secrets.master_key_file", format!("{path:?} {error}"))),
        (None, None) => {
            gather.note(
                "secrets.master_key_file",
                "is required: a file with 32 random bytes (`openssl rand -base64 32`) that only its owner may read",
            );
            Err(())
        }
    };
    current.ok().map(|current| MasterKeys { current, previous })
}
