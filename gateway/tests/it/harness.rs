//! A whole gateway inside the test: both listeners on port 0, a database of its own, the sample agents behind it.
//!
//! Helpers give values, tests assert. Rows are made straight through the store, as the admin API makes them, and are
//! in force when the helper returns. [`Harness::finish`] stops the gateway and checks what must hold after every test:
//! one closed audit record for each request of a proven principal under `/a2a/`, and no [`CANARY`] in logs or records.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use chancery::app::App;
use chancery::clock::Clock;
use chancery::config::{Source, load};
use chancery::registry::{mint, sealed, settings};
use http::{HeaderMap, Method, StatusCode};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use store::testing::{TestStore, postgres, sqlite_file};
use store::{
    AuditFilter, AuditRecord, CardState, IfMatch, KeyPurpose, NewCard, NewGrant, NewKey, NewPolicy, NewPrincipal,
    Pools, PrincipalKind, Store, TenantFields, TenantId, TenantState, TrustTier,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

/// A text that must never reach logs or records: put it into messages and credentials.
pub(crate) const CANARY: &str = "canary-9d1f7c";

/// How long anything in a test may take before it has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// The default public URL, which no request really uses as its host.
pub(crate) const PUBLIC_URL: &str = "https://gw.test";

pub(crate) const MASTER_KEY: &str = "q2Vb0b1Yh0mS4f0m7J8nT3x5v9c1L6w2ZkQeRtYuIoA=";

/// Which database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Db {
    Sqlite,
    /// Skipped, said loudly, where `TEST_POSTGRES_URL` is not set.
    Postgres,
}

/// A gateway that runs.
pub(crate) struct Harness {
    pub(crate) app: Arc<App>,
    pub(crate) public: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) agents: sample_agents::Running,
    /// Where the first administrator's account is made.
    pub(crate) setup_link: Option<String>,
    http: reqwest::Client,
    expected_records: AtomicUsize,
    stop: CancellationToken,
    gateway: tokio::task::JoinHandle<bool>,
    database: TestStore,
    _files: tempfile::TempDir,
}

/// A principal with a key, and what it may do.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) principal_id: String,
    pub(crate) key_id: String,
    pub(crate) key: String,
}

/// What came back, whole.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Harness {
    /// On SQLite, with the machine's clock.
    pub(crate) async fn start() -> Self {
        Self::start_with(Db::Sqlite, Clock::System, &[]).await.unwrap()
    }

    /// With settings such as `("CHANCERY__LIMITS__PARTS", "3")`. `None` when the database is not to be had.
    pub(crate) async fn start_with(db: Db, clock: Clock, settings: &[(&str, &str)]) -> Option<Self> {
        capture_logs();
        let database = match db {
            Db::Sqlite => sqlite_file().await,
            Db::Postgres => postgres().await?,
        };
        let files = tempfile::tempdir().unwrap();
        let audit = files.path().join("audit").display().to_string();
        let mut environment = vec![
            ("CHANCERY__PUBLIC__LISTEN", "127.0.0.1:0"),
            ("CHANCERY__ADMIN__LISTEN", "127.0.0.1:0"),
            ("CHANCERY__PUBLIC__PUBLIC_URLS", PUBLIC_URL),
            ("CHANCERY__SECRETS__MASTER_KEY", MASTER_KEY),
            ("CHANCERY__EGRESS__ALLOW", "127.0.0.0/8"),
            ("CHANCERY__EGRESS__FETCH_ALLOW", "127.0.0.0/8"),
            ("CHANCERY__STORE__URL", &database.url),
            ("CHANCERY__AUDIT__DIR", &audit),
            ("CHANCERY__LIMITS__DRAIN", "10s"),
        ];
        environment.extend_from_slice(settings);
        let environment = environment.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let settings = load::load(&Source { file: None, environment }).unwrap();
        let bound = App::build(settings, clock).await.unwrap();
        let (public, admin) = (bound.public_address().unwrap(), bound.admin_address().unwrap());
        let setup_link = bound.setup_link();
        let (app, stop) = (Arc::clone(&bound.app), CancellationToken::new());
        #[expect(clippy::disallowed_methods, reason = "the gateway's own tasks are what is under test")]
        let gateway = tokio::spawn(bound.run(stop.clone().cancelled_owned()));
        let agents = sample_agents::start_all(SocketAddr::from(([127, 0, 0, 1], 0)), None).await.unwrap();
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        Some(Self {
            app,
            public,
            admin,
            agents,
            setup_link,
            http: http.timeout(DEADLINE).build().unwrap(),
            expected_records: AtomicUsize::new(0),
            stop,
            gateway,
            database,
            _files: files,
        })
    }

    /// The database, for what helpers do not do. [`Harness::refresh`] puts changes in force.
    pub(crate) fn store(&self) -> &Store {
        &self.database.store
    }

    /// Runs a statement past the store, and has everything read again.
    pub(crate) async fn damage(&self, statement: &'static str) {
        self.database.execute(statement).await;
        self.app.refresh.load_all().await.unwrap();
    }

    /// Runs a statement past the store; nothing is told of it.
    pub(crate) async fn execute(&self, statement: &'static str) {
        self.database.execute(statement).await;
    }

    /// Puts what was changed in the store in force.
    pub(crate) async fn refresh(&self) {
        self.app.refresh.catch_up().await.unwrap();
    }

    pub(crate) fn now(&self) -> i64 {
        self.app.clock.now()
    }

    /// An active tenant with a signing key.
    pub(crate) async fn tenant(&self, name: &str) -> TenantId {
        let tenant = TenantId::new(name).unwrap();
        let fields = TenantFields {
            display_name: name.to_owned(),
            state: TenantState::Active,
            default_card: None,
            default_policy: None,
            floor_policy: None,
            settings: b"{}".to_vec(),
        };
        self.store().create_tenant(&tenant, &fields, self.now()).await.unwrap();
        let key = mint::signing_key(&self.app.seal, name, KeyPurpose::Card, self.now()).unwrap();
        self.store().create_signing_key(&tenant, &key, self.now()).await.unwrap();
        self.refresh().await;
        tenant
    }

    /// Changes a tenant's fields.
    pub(crate) async fn change_tenant(&self, name: &str, change: impl FnOnce(&mut TenantFields)) {
        let tenant = TenantId::new(name).unwrap();
        let row = self.store().tenant(&tenant).await.unwrap().unwrap();
        let mut fields = TenantFields {
            display_name: row.display_name,
            state: row.state,
            default_card: row.default_card,
            default_policy: row.default_policy,
            floor_policy: row.floor_policy,
            settings: row.settings,
        };
        change(&mut fields);
        self.store().update_tenant(&tenant, IfMatch::Any, &fields, self.now()).await.unwrap();
        self.refresh().await;
    }

    /// A published card over an agent at `url` that speaks `dialect` (such as `v10_jsonrpc`); gives its id.
    pub(crate) async fn card(&self, tenant: &str, name: &str, url: &str, dialect: &str) -> String {
        let settings = json!({"upstream": {"interfaces": [{"url": url}], "dialect": dialect}});
        self.card_with(tenant, name, &settings, &document(name)).await
    }

    /// A published card with these settings and this document; gives its id.
    pub(crate) async fn card_with(&self, tenant: &str, name: &str, settings: &Value, document: &Value) -> String {
        let id = mint::id("card-", self.now()).unwrap();
        let document = serde_json::to_vec(document).unwrap();
        let card = NewCard {
            id: id.clone(),
            name: name.to_owned(),
            settings: stored(settings, &document),
            document,
            sealed_credential: None,
            state: CardState::Published,
            trust_tier: TrustTier::Unsigned,
            changed_by: "test".to_owned(),
            note: String::new(),
        };
        self.store().create_card(&TenantId::new(tenant).unwrap(), &card, self.now()).await.unwrap();
        self.refresh().await;
        id
    }

    /// Replaces a card's settings and document.
    pub(crate) async fn change_card(&self, tenant: &str, name: &str, settings: &Value, document: &Value) {
        let document = serde_json::to_vec(document).unwrap();
        let edit = store::CardEdit {
            settings: stored(settings, &document),
            document,
            trust_tier: TrustTier::Unsigned,
            changed_by: "test".to_owned(),
            note: String::new(),
        };
        let tenant = TenantId::new(tenant).unwrap();
        self.store().update_card(&tenant, name, IfMatch::Any, &edit, self.now()).await.unwrap();
        self.refresh().await;
    }

    /// Gives a card the gateway's own credential for its agent, good for `origin` (`http://host:port`).
    pub(crate) async fn credential(&self, tenant: &str, card: &str, origin: &str, credential: &sealed::NewCredential) {
        let tenant = TenantId::new(tenant).unwrap();
        let id = self.store().card(&tenant, card).await.unwrap().unwrap().id;
        let sealed = credential.seal(&self.app.seal, tenant.as_str(), &id, origin).unwrap();
        self.store().set_card_credential(&tenant, card, IfMatch::Any, Some(&sealed), self.now()).await.unwrap();
        self.refresh().await;
    }

    /// A guardrail policy.
    pub(crate) async fn policy(&self, tenant: &str, name: &str, document: &Value) {
        let policy = NewPolicy {
            id: mint::id("pol-", self.now()).unwrap(),
            name: name.to_owned(),
            document: serde_json::to_vec(document).unwrap(),
            changed_by: "test".to_owned(),
            note: String::new(),
        };
        self.store().create_policy(&TenantId::new(tenant).unwrap(), &policy, self.now()).await.unwrap();
        self.refresh().await;
    }

    /// A principal with a key and one grant: these cards, these operations.
    pub(crate) async fn caller(&self, tenant: &str, name: &str, cards: &[&str], operations: &[&str]) -> Caller {
        let grant = json!({"cards": cards, "operations": operations});
        let principal_id = self.principal(tenant, name).await;
        let (key_id, key) = self.key(tenant, &principal_id, None).await;
        self.grant(tenant, &principal_id, &grant).await;
        Caller { principal_id, key_id, key }
    }

    /// A principal without key or grant; gives its id.
    pub(crate) async fn principal(&self, tenant: &str, name: &str) -> String {
        let id = mint::id("prn-", self.now()).unwrap();
        let principal = NewPrincipal { id: id.clone(), name: name.to_owned(), kind: PrincipalKind::Service };
        self.store().create_principal(&TenantId::new(tenant).unwrap(), &principal, self.now()).await.unwrap();
        self.refresh().await;
        id
    }

    /// A key; gives its id and text.
    pub(crate) async fn key(&self, tenant: &str, principal_id: &str, expires: Option<i64>) -> (String, String) {
        let key = mint::api_key(&self.app.settings.headers.key_prefix).unwrap();
        let new = NewKey {
            id: mint::id("key-", self.now()).unwrap(),
            principal_id: principal_id.to_owned(),
            label: "test".to_owned(),
            hash: key.hash.to_vec(),
            hint: key.hint.clone(),
            expires,
        };
        self.store().create_key(&TenantId::new(tenant).unwrap(), &new, self.now()).await.unwrap();
        self.refresh().await;
        (new.id, key.text.to_string())
    }

    /// A grant; gives its name.
    pub(crate) async fn grant(&self, tenant: &str, principal_id: &str, document: &Value) -> String {
        let id = mint::id("grt-", self.now()).unwrap();
        let name = id.to_ascii_lowercase();
        let grant = NewGrant {
            id,
            name: name.clone(),
            principal_id: principal_id.to_owned(),
            document: serde_json::to_vec(document).unwrap(),
        };
        self.store().create_grant(&TenantId::new(tenant).unwrap(), &grant, self.now()).await.unwrap();
        self.refresh().await;
        name
    }

    /// A request to the public listener.
    pub(crate) fn request(&self, method: Method, path: &str) -> Asking<'_> {
        let url = format!("http://{}{path}", self.public);
        Asking { harness: self, path: path.to_owned(), proven: false, builder: self.http.request(method, url) }
    }

    pub(crate) fn get(&self, path: &str) -> Asking<'_> {
        self.request(Method::GET, path)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Asking<'_> {
        let mut asking = self.request(Method::POST, path).header("content-type", "application/json");
        asking.builder = asking.builder.body(body.to_string());
        asking
    }

    /// A GET of the admin listener.
    pub(crate) async fn admin_get(&self, path: &str) -> Answer {
        whole(self.http.get(format!("http://{}{path}", self.admin)).send().await.unwrap()).await
    }

    /// Writes these bytes to the public listener and reads until it closes. Add `connection: close`.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let exchange = async {
            let mut stream = tokio::net::TcpStream::connect(self.public).await.unwrap();
            stream.write_all(bytes).await.unwrap();
            let mut answer = Vec::new();
            // A reset after the answer is the peer's right when it did not read everything.
            let _ = stream.read_to_end(&mut answer).await;
            answer
        };
        tokio::time::timeout(DEADLINE, exchange).await.expect("the gateway closes in time")
    }

    /// `count` more records must be there at the end; for requests that were not made with [`Asking`].
    pub(crate) fn expect_records(&self, count: usize) {
        self.expected_records.fetch_add(count, Ordering::Relaxed);
    }

    /// Stops the gateway as SIGTERM does; `true` if everything ended in time. Call [`Harness::finish`] afterwards.
    pub(crate) fn begin_shutdown(&self) {
        self.stop.cancel();
    }

    /// Stops everything, where the tenants whose records would be counted are gone.
    pub(crate) async fn stop_only(self) {
        self.stop.cancel();
        let drained = tokio::time::timeout(DEADLINE, self.gateway).await.expect("the gateway stops in time").unwrap();
        assert!(drained && self.app.tasks.panics() == 0);
        self.agents.shutdown().await;
    }

    /// Stops everything, checks what must hold after every test, gives all audit records.
    pub(crate) async fn finish(self) -> Vec<AuditRecord> {
        self.stop.cancel();
        let drained = tokio::time::timeout(DEADLINE, self.gateway).await.expect("the gateway stops in time").unwrap();
        assert!(drained, "every task ends when the gateway stops");
        assert_eq!(self.app.tasks.panics(), 0, "no task panicked");
        drop(self.http);
        self.agents.shutdown().await;
        // The gateway has closed its own.
        let store = Store::open(self.app.settings.store.url.expose_secret(), Pools::default()).await.unwrap();
        let mut records = Vec::new();
        for tenant in store.load_all_tenants().await.unwrap() {
            records.extend(store.audit_query(&tenant, &AuditFilter::default(), None, 1_000).await.unwrap());
        }
        store.close().await;
        let expected = self.expected_records.load(Ordering::Relaxed);
        assert_eq!(records.len(), expected, "one record per request of a proven principal: {records:#?}");
        for record in &records {
            assert!(record.at_close.is_some(), "closed: {record:?}");
            assert!(!format!("{record:?}").contains(CANARY), "no canary in {record:?}");
            assert!(!String::from_utf8_lossy(&record.document).contains(CANARY), "no canary in {record:?}");
        }
        assert!(!logs().contains(CANARY), "no canary in the logs");
        records
    }
}

/// A request while it is made.
pub(crate) struct Asking<'a> {
    harness: &'a Harness,
    path: String,
    proven: bool,
    builder: reqwest::RequestBuilder,
}

impl Asking<'_> {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.builder = self.builder.header(name, value);
        self
    }

    pub(crate) fn body(mut self, body: &str) -> Self {
        self.builder = self.builder.body(body.to_owned());
        self
    }

    /// With a key that proves somebody: if the path is a call's, a record is expected.
    pub(crate) fn key(mut self, key: &str) -> Self {
        self.proven = true;
        self.header("authorization", &format!("Bearer {key}"))
    }

    /// With a credential that proves nobody.
    pub(crate) fn bad_key(self, key: &str) -> Self {
        self.header("authorization", &format!("Bearer {key}"))
    }

    /// The whole answer.
    pub(crate) async fn send(self) -> Answer {
        whole(self.open().await).await
    }

    /// The answer's head, its body still to come.
    pub(crate) async fn open(self) -> reqwest::Response {
        let path = self.path.split('?').next().unwrap_or_default();
        let request = self.builder.build().unwrap();
        let reads_card = request.method() == Method::GET && chancery::discovery::route(path).is_some();
        if self.proven && path.starts_with("/a2a/") && !reads_card {
            self.harness.expect_records(1);
        }
        self.harness.http.execute(request).await.unwrap()
    }
}

async fn whole(response: reqwest::Response) -> Answer {
    let (status, headers) = (response.status(), response.headers().clone());
    Answer { status, headers, body: response.bytes().await.unwrap().to_vec() }
}

/// A card's document as an agent publishes it.
pub(crate) fn document(name: &str) -> Value {
    json!({
        "name": name,
        "description": "An agent for tests.",
        "version": "1.2.3",
        "supportedInterfaces": [
            {"url": "http://agent.internal:9100/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": true},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "say", "name": "Say", "description": "Says it.", "tags": ["demo", "text"]}]
    })
}

fn stored(settings: &Value, document: &[u8]) -> Vec<u8> {
    let settings = settings::CardSettings::read(&serde_json::to_vec(settings).unwrap()).unwrap();
    settings.to_stored(document).unwrap()
}

static LOGS: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Everything that was logged in this process.
pub(crate) fn logs() -> String {
    String::from_utf8_lossy(&LOGS.lock().unwrap()).into_owned()
}

fn capture_logs() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let lines = tracing_subscriber::fmt().json().with_env_filter("debug,sqlx=warn").with_writer(|| Captured);
        lines.init();
    });
}

struct Captured;

impl std::io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOGS.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
