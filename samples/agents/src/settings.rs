//! What the sample agents are told when they start, and what follows from it for each of them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use a2a::dialect::VersionMode;
use a2a_agent::push::{Local, Push, PushError, PushSettings, Reach};
use a2a_agent::store::{OpenError, SqlStore};
use a2a_agent::{Agent, Bounds, Card, Grpc};
use egress::{AllowEntry, Plaintext, Rules};

use crate::origin::Forwarding;
use crate::sink::{self, Sinks};
use crate::site::PATHS;
use crate::{origin, session};

/// Who answers at `/`, where only one card can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Root {
    /// `hello-world-a2a`, as `chancery demo` has it.
    #[default]
    Hello,
    /// The default agent, echo. `hello-world-a2a` is at `/hello` then.
    Echo,
}

/// How the sample agents run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where they listen.
    pub address: SocketAddr,
    /// The URL that callers use; without one, cards name what the request names.
    pub public_url: Option<String>,
    /// Who answers at `/`.
    pub root: Root,
    /// Whether a proxy in front is believed.
    pub forwarding: Forwarding,
    /// Webhook destinations (`host` or `host:port`) besides the built-in sink.
    pub push_allow: Vec<String>,
    /// Whether any webhook destination is taken.
    pub push_reach: PushReach,
    /// How many tasks each agent keeps.
    pub bounds: Bounds,
    /// How many webhook sinks there can be.
    pub sinks: usize,
    /// A folder for tasks that outlive the process; without one they are in memory.
    pub data: Option<PathBuf>,
}

/// Which webhook destinations are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PushReach {
    /// The built-in sink and the listed hosts.
    #[default]
    Listed,
    /// Any, inside addresses included.
    Anything,
}

/// Why the sample agents cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be bound.
    #[error("the address cannot be listened on")]
    Bind(#[from] std::io::Error),
    /// An entry of the push allow list cannot be read.
    #[error("{0:?} in {PUSH_ALLOW_LIST}: {1}")]
    PushList(String, &'static str),
    /// Push notifications cannot be set up.
    #[error("push notifications cannot be set up")]
    Push(#[from] PushError),
    /// A database for tasks cannot be opened.
    #[error("the database for tasks cannot be opened")]
    Store(#[from] OpenError),
    /// A database for tasks cannot be used.
    #[error("the database for tasks cannot be used")]
    Tasks(#[from] a2a_agent::store::StoreError),
}

/// The setting with the webhook destinations; refusals name it.
pub const PUSH_ALLOW_LIST: &str = "RUSTYBIN_A2A_PUSH_ALLOWLIST";

impl Settings {
    /// Everything by default on this address.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        Self {
            address,
            public_url: None,
            root: Root::default(),
            forwarding: Forwarding::default(),
            push_allow: Vec::new(),
            push_reach: PushReach::default(),
            bounds: Bounds::default(),
            sinks: sink::SINKS,
            data: None,
        }
    }
}

/// What all agents have in common.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    public_url: Option<String>,
    forwarding: Forwarding,
    bounds: Bounds,
    push: Push,
    /// In the order of the agents' paths; none when tasks are in memory.
    stores: Vec<Arc<SqlStore>>,
}

/// How long a stream may go on.
const STREAM_LIMIT: Duration = Duration::from_mins(10);

/// How long a blocking send waits.
const PATIENCE: Duration = Duration::from_secs(100);

impl Ground {
    pub(crate) fn new(settings: &Settings, sinks: &Arc<Sinks>) -> Result<Self, StartError> {
        Ok(Self {
            public_url: settings.public_url.clone(),
            forwarding: settings.forwarding,
            bounds: settings.bounds,
            push: Push::new(push_settings(settings, sinks)?)?,
            stores: Vec::new(),
        })
    }

    pub(crate) fn with_stores(mut self, stores: Vec<Arc<SqlStore>>) -> Self {
        self.stores = stores;
        self
    }

    /// An agent with this card below `/a2a/{name}`, like all others; callers of gRPC name it as `tenant`.
    pub(crate) fn agent(&self, card: Card, path: &str) -> Agent {
        let forwarding = self.forwarding;
        let agent = match &self.public_url {
            Some(url) => Agent::new(card).at(format!("{url}{path}")).mounted_at(path),
            None => Agent::new(card).at(path).origin(move |head| origin::of(head, forwarding)),
        };
        let at = PATHS.iter().position(|known| *known == path);
        let agent = match at.and_then(|at| self.stores.get(at)) {
            Some(store) => agent.store(Arc::<SqlStore>::clone(store)),
            None => agent,
        };
        agent
            .grpc(Grpc::Tenant(path.rsplit('/').next().unwrap_or_default().to_owned()))
            .versions(VersionMode::Strict)
            .patience(PATIENCE)
            .stream_limit(STREAM_LIMIT)
            .bounds(self.bounds)
            .callers(|head| Ok(session::caller(head)))
            .push(self.push.clone())
    }
}

fn push_settings(settings: &Settings, sinks: &Arc<Sinks>) -> Result<PushSettings, StartError> {
    let (entries, reach) = match settings.push_reach {
        PushReach::Listed => {
            let mut entries = Vec::new();
            for text in &settings.push_allow {
                entries.extend(listed(text).map_err(|problem| StartError::PushList(text.clone(), problem))?);
            }
            (entries, Reach::Hosts(settings.push_allow.iter().map(|text| host_and_port(text)).collect()))
        }
        PushReach::Anything => {
            // Link-local addresses are opened only by a network inside their range.
            let all = ["0.0.0.0/0", "::/0", "169.254.0.0/16", "fe80::/10"];
            (all.iter().filter_map(|net| AllowEntry::parse(net).ok()).collect(), Reach::Rules)
        }
    };
    let (forwarding, sinks) = (settings.forwarding, Arc::clone(sinks));
    let local = Local {
        claims: Arc::new(move |head, url| sink::claimed(head, url, forwarding)),
        deliver: Arc::new(move |name, headers, body| sinks.put(name, &headers, body)),
    };
    let rules = Rules::new(entries, Vec::new(), Plaintext::Listed, PUSH_ALLOW_LIST);
    Ok(PushSettings { reach, rules, setting: PUSH_ALLOW_LIST, local: Some(local), ..PushSettings::default() })
}

/// An entry, on both usual ports if it names none.
fn listed(text: &str) -> Result<Vec<AllowEntry>, &'static str> {
    let (host, port) = host_and_port(text);
    if port.is_some() || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok() {
        return Ok(vec![AllowEntry::parse(text)?]);
    }
    [80, 443].iter().map(|port| AllowEntry::parse(&format!("{host}:{port}"))).collect()
}

fn host_and_port(text: &str) -> (String, Option<u16>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => match port.parse() {
            Ok(port) => (host.to_owned(), Some(port)),
            Err(_) => (text.to_owned(), None),
        },
        Some(_) | None => (text.to_owned(), None),
    }
}
