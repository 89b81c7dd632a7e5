//! The parts of the process and the order in which they begin and end.
//!
//! [`App::build`] opens everything and binds both sockets; nothing runs before all of it is there. [`Bound::run`]
//! serves until told to stop, then drains: no new connections, running calls finish, streams are told, records are
//! flushed. Nothing is global: every part is passed as an argument from here.

use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use egress::{
    AllowEntry, Client, ClientSettings, Connector, ConnectorSettings, FetchLimits, Own, Plaintext, Protocol, Rules,
};
use secrecy::ExposeSecret as _;
use store::{Pools, Store};
use tokio::net::TcpListener;
use zeroize::Zeroizing;

use crate::admin::access::{self, TokenError, TokenHash};
use crate::audit::{self, Audit, Shipper, Sink};
use crate::clock::Clock;
use crate::config::{OnFull, Passwords, Settings};
use crate::discovery::Discovery;
use crate::listener::tls::{Tls, TlsError};
use crate::listener::{Acceptor, dispatch, refusal};
use crate::live::Live;
use crate::oauth;
use crate::pipeline;
use crate::pipeline::delegation::Delegation;
use crate::pipeline::owner::PageKey;
use crate::registry::Registry;
use crate::registry::compile::Compiler;
use crate::registry::issuer_keys::IssuerKeys;
use crate::registry::last_use::LastUses;
use crate::registry::refresh::Refresh;
use crate::seal::{Seal, SealError};
use crate::tasks::Tasks;
use crate::telemetry::Metrics;
use crate::upstream::credential::Tokens;
use crate::upstream::credential::identity::Making;
use crate::upstream::{Upstream, Ways};

/// The parts that requests need. Shared as one `Arc`; every part is fixed, what changes is inside the parts.
#[derive(Debug)]
pub struct App {
    /// What is configured.
    pub settings: Settings,
    /// The time.
    pub clock: Clock,
    /// Background tasks.
    pub tasks: Tasks,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Secrets at rest.
    pub seal: Arc<Seal>,
    /// The database.
    pub store: Store,
    /// Tenants, cards, keys, policies.
    pub registry: Arc<Registry>,
    /// Rows → compiled rows; the admin API asks it before it saves.
    pub compiler: Arc<Compiler>,
    /// Keeps the registry as the store has it.
    pub refresh: Arc<Refresh>,
    /// Records of exchanges.
    pub audit: Audit,
    /// What calls need besides: counts, owners of tasks, the way to agents.
    pub calls: pipeline::Parts,
    /// Calls to agents of cards; shares its pool with `calls`.
    pub upstream: Client,
    /// Fetches of documents that others name (cards to import, key sets).
    pub fetch: Client,
    /// Calls agents over gRPC, under the same rules.
    pub grpc: Client,
    /// Tokens of our own.
    pub oauth: oauth::Endpoint,
    /// Signed cards.
    pub discovery: Discovery,
    /// What proves an administrator.
    pub admin_token: Option<TokenHash>,
    /// What happens now, for those who watch.
    pub live: Arc<Live>,
    /// What lets the first administrator's account be made.
    pub setup: Option<TokenHash>,
    /// TLS of the public listener.
    pub tls: Option<Arc<Tls>>,
}

/// Why the gateway did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The admin token.
    #[error("the admin token can't be used")]
    AdminToken(#[source] TokenError),
    /// The audit spool.
    #[error("records can't be kept, and nothing is served without")]
    Audit(#[source] audit::StartError),
    /// A socket could not be bound.
    #[error("can't listen on {address} ({listener}); is another process using the port?")]
    Bind {
        /// `public` or `admin`.
        listener: &'static str,
        /// Where.
        address: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Two metrics have one name.
    #[error("the metrics can't be registered")]
    Metrics(#[source] prometheus::Error),
    /// The schema is older than this program.
    #[error("the database lacks {0} migration(s); run `chancery migrate`, or start with --migrate")]
    PendingMigrations(usize),
    /// TLS of the public listener.
    #[error("TLS can't be served on the public listener (public.tls_…)")]
    PublicTls(#[source] TlsError),
    /// The master key can't be used.
    #[error("the master key can't be used")]
    Seal(#[source] SealError),
    /// The database.
    #[error("the database can't be used (store.url)")]
    Store(#[source] store::Error),
    /// TLS towards agents.
    #[error("TLS can't be set up")]
    Tls(#[source] rustls::Error),
}

/// A gateway with its sockets, not yet serving.
#[derive(Debug)]
pub struct Bound {
    /// The parts.
    pub app: Arc<App>,
    shipper: Shipper,
    setup: Option<Zeroizing<String>>,
    public: TcpListener,
    admin: TcpListener,
}

impl App {
    /// Opens the store, compiles the first snapshot, binds the sockets.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running.
    pub async fn build(settings: Settings, clock: Clock) -> Result<Bound, StartError> {
        let metrics = Arc::new(Metrics::new().map_err(StartError::Metrics)?);
        for option in settings.relaxed() {
            tracing::warn!(option, "an option trades safety away");
            metrics.relaxed.with_label_values(&[option]).set(1);
        }
        let tasks = Tasks::new();
        let admin_token = access::token(settings.admin.token_file.as_deref()).map_err(StartError::AdminToken)?;
        let seal = Arc::new(Seal::new(&settings.secrets).map_err(StartError::Seal)?);
        let tls = settings.public.tls.clone().map(Tls::new).transpose().map_err(StartError::PublicTls)?.map(Arc::new);
        let store = open_store(&settings).await?;
        let compiler = Arc::new(Compiler::new(&settings, Arc::clone(&seal)));
        let registry = Arc::new(Registry::default());
        let refresh = Refresh::new(store.clone(), Arc::clone(&registry), Arc::clone(&compiler), Arc::clone(&metrics));
        let refresh = Arc::new(refresh);
        refresh.load_all().await.map_err(StartError::Store)?;
        let has_admins = store.has_admins().await.map_err(StartError::Store)?;
        let no_setup = has_admins || settings.admin.passwords() == Passwords::Refused;
        let (setup_secret, setup) = access::setup_secret(no_setup).map_err(StartError::AdminToken)?.unzip();
        let public = bind("public", settings.public.listen).await?;
        let admin = bind("admin", settings.admin.listen).await?;
        let own = own(&settings, &[&public, &admin]);
        let everybody = Ways::new(agents(&settings, None, own.clone())).map_err(StartError::Tls)?;
        let (upstream, grpc) = (everybody.client.clone(), everybody.grpc.clone());
        let mut tenants = HashMap::new();
        for (tenant, only) in &settings.egress.tenants {
            let making = agents(&settings, Some(only), own.clone());
            tenants.insert(tenant.clone(), Ways::new(making).map_err(StartError::Tls)?);
        }
        let listed = (settings.egress.fetch_allow.as_slice(), "egress.fetch_allow");
        let fetch = client(&settings, listed, own.clone(), Protocol::Http1)?;
        let sink = Sink::Store(store.clone());
        let (audit, shipper, recovered) =
            Audit::open_dir(&settings.audit, clock.clone(), sink).map_err(StartError::Audit)?;
        tracing::info!(writers = recovered.writers, bytes = recovered.bytes, "the audit spool is open");
        let page_key = PageKey::new(&seal.derive("page tokens", "")).ok_or(StartError::Seal(SealError::Malformed))?;
        let tokens = Tokens::new(fetch.clone(), clock.clone());
        let delegation = Delegation::new(Arc::clone(&seal), clock.clone(), &settings.headers.prefix);
        let calls = pipeline::Parts::new(
            &settings,
            store.clone(),
            (
                Upstream::new(everybody, tenants, tokens),
                pipeline::external::Outside::new(fetch.clone(), Arc::clone(&seal), clock.clone()),
            ),
            (page_key, delegation),
            &tasks,
        );
        let discovery = Discovery::new(settings.limits.card_cache_bytes);
        let live = Arc::new(Live::new(clock.now()));
        let app = Arc::new(Self {
            settings,
            live,
            clock,
            tasks,
            metrics,
            seal,
            store,
            registry,
            compiler,
            refresh,
            audit,
            calls,
            upstream,
            grpc,
            fetch,
            oauth: oauth::Endpoint::default(),
            discovery,
            admin_token,
            setup,
            tls,
        });
        Ok(Bound { app, shipper, setup: setup_secret, public, admin })
    }

    /// Whether calls would be recorded, or are served without by choice.
    #[must_use]
    pub fn audit_is_writable(&self) -> bool {
        self.audit.backlog().health == audit::Health::Ready || self.settings.audit.on_full == OnFull::Drop
    }
}

impl Bound {
    /// Where the public listener is.
    #[must_use]
    pub fn public_address(&self) -> Option<SocketAddr> {
        self.public.local_addr().ok()
    }

    /// Where the admin listener is.
    #[must_use]
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.local_addr().ok()
    }

    /// The link by which the first administrator's account is made; none where there is an account. It is a secret of
    /// this start: for the terminal, not for the log.
    #[must_use]
    pub fn setup_link(&self) -> Option<String> {
        let secret = self.setup.as_deref()?;
        let origin = self.app.settings.admin.origin(self.admin_address()?);
        // Behind the #, so that it is in nobody's log.
        Some(format!("{origin}/setup#{}", secret.as_str()))
    }

    /// Serves until `shutdown`, then drains. `true` if everything ended in time.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> bool {
        let Self { app, shipper, setup: _, public, admin } = self;
        tracing::info!(
            public = ?public.local_addr().ok(),
            admin = ?admin.local_addr().ok(),
            tenants = app.registry.snapshot().tenants.len(),
            "serving"
        );
        // Records are shipped until the last call has ended, so this one is not among the app's tasks.
        let last = Tasks::new();
        last.spawn("audit shipper", shipper.run(last.stopping()));
        app.tasks.spawn("registry refresh", Arc::clone(&app.refresh).run(app.tasks.stopping()));
        app.calls.start(&app.tasks);
        let last_uses = LastUses::new(app.store.clone(), Arc::clone(&app.registry));
        app.tasks.spawn("last uses of keys", last_uses.run(app.tasks.stopping()));
        app.tasks.spawn("issuer keys", issuer_keys(&app).run(app.tasks.stopping()));
        pipeline::owner::expiry::start(&app.store, &app.registry, &app.clock, &app.tasks);
        pipeline::limit::start(&app.calls.limits, &app.store, &app.registry, &app.clock, &app.tasks);
        if let Some(tls) = &app.tls {
            app.tasks.spawn("certificate of the listener", Arc::clone(tls).watch(app.tasks.stopping()));
        }
        spawn_public(&app, public);
        spawn_admin(&app, admin);
        shutdown.await;
        drain(&app, &last).await
    }
}

fn spawn_public(app: &Arc<App>, socket: TcpListener) {
    let shared = Arc::clone(app);
    let answer = move |caller, request| dispatch::public(Arc::clone(&shared), caller, request);
    app.tasks.spawn(
        "public listener",
        Acceptor { tls: app.tls.clone(), ..acceptor(app, "public") }.run(socket, refusal::public(app), answer),
    );
}

fn spawn_admin(app: &Arc<App>, socket: TcpListener) {
    let shared = Arc::clone(app);
    let bound = socket.local_addr().unwrap_or(app.settings.admin.listen);
    let desk = crate::admin::router(app, bound);
    let answer = move |caller, request| dispatch::admin(Arc::clone(&shared), desk.clone(), caller, request);
    app.tasks.spawn("admin listener", acceptor(app, "admin").run(socket, refusal::admin(app), answer));
}

fn issuer_keys(app: &App) -> IssuerKeys {
    let limits = &app.settings.limits.upstream;
    let limits = FetchLimits { bytes: limits.fetch_bytes, total: limits.fetch };
    IssuerKeys::new(Arc::clone(&app.registry), app.fetch.clone(), limits, app.clock.clone(), app.tasks.clone())
}

fn acceptor(app: &App, name: &'static str) -> Acceptor {
    Acceptor {
        name,
        limits: app.settings.limits.connection.clone(),
        tasks: app.tasks.clone(),
        metrics: Arc::clone(&app.metrics),
        tls: None,
    }
}

async fn drain(app: &App, last: &Tasks) -> bool {
    tracing::info!(running = app.tasks.running(), "stopping");
    let drained = app.tasks.drain(app.settings.limits.drain).await;
    if !drained {
        tracing::warn!(running = app.tasks.running(), "some requests did not end in time");
    }
    if app.audit.sync().await.is_err() {
        tracing::error!("the last records could not be brought to disk");
    }
    if !last.drain(SHIP_GRACE).await {
        tracing::warn!("the store did not take the last records in time; the next start ships them");
    }
    app.store.close().await;
    tracing::info!(drained, "stopped");
    drained
}

async fn open_store(settings: &Settings) -> Result<Store, StartError> {
    let store = Store::open(settings.store.url.expose_secret(), Pools::default()).await.map_err(StartError::Store)?;
    let pending = store.pending_migrations().await.map_err(StartError::Store)?;
    if pending.is_empty() { Ok(store) } else { Err(StartError::PendingMigrations(pending.len())) }
}

async fn bind(listener: &'static str, address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| StartError::Bind { listener, address, source })
}

/// What no card and no setting may make the gateway call: itself and its database.
fn own(settings: &Settings, sockets: &[&TcpListener]) -> Vec<Own> {
    let mut own: Vec<Own> = sockets.iter().filter_map(|socket| socket.local_addr().ok()).map(Own::Address).collect();
    let mut named = |text: &str, default_port: u16| {
        if let Ok(url) = url::Url::parse(text)
            && let Some(host) = url.host_str()
        {
            let port = url.port_or_known_default().unwrap_or(default_port);
            own.push(Own::Name { host: host.to_ascii_lowercase(), port });
        }
    };
    for url in &settings.public.urls {
        named(url.as_str(), 443);
    }
    for origin in &settings.admin.origins {
        named(origin, 443);
    }
    if settings.store.url.expose_secret().starts_with("postgres") {
        named(settings.store.url.expose_secret(), 5432);
    }
    own
}

/// What clients to agents are made from; `only` is the list of a tenant that has one.
fn agents(settings: &Settings, only: Option<&Vec<AllowEntry>>, own: Vec<Own>) -> Making {
    let limits = &settings.limits.upstream;
    let rules = Rules::new(settings.egress.allow.clone(), own, Plaintext::Listed, "egress.allow");
    let rules = match only {
        Some(entries) => rules.only(entries.clone(), "egress.tenants"),
        None => rules,
    };
    Making {
        rules: Arc::new(rules),
        connect: limits.connect,
        roots: settings.egress.roots.clone(),
        client: ClientSettings { idle: limits.idle, head: limits.unary, ..ClientSettings::default() },
    }
}

fn client(
    settings: &Settings,
    (allow, key): (&[AllowEntry], &'static str),
    own: Vec<Own>,
    protocol: Protocol,
) -> Result<Client, StartError> {
    let limits = &settings.limits.upstream;
    let rules = Arc::new(Rules::new(allow.to_vec(), own, Plaintext::Listed, key));
    let extra_roots = settings.egress.roots.clone();
    let connector = ConnectorSettings { timeout: limits.connect, extra_roots, ..ConnectorSettings::default() };
    let connector = Connector::new(rules, connector).map_err(StartError::Tls)?;
    let client = ClientSettings { idle: limits.idle, head: limits.unary, protocol, ..ClientSettings::default() };
    Ok(Client::new(connector, &client))
}

/// How long the store may take for the last records; what is left lies in the spool.
const SHIP_GRACE: Duration = Duration::from_secs(5);
