//! TLS of the public listener and callers that are proven by a client certificate.

use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chancery::clock::Clock;
use http::StatusCode;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DistinguishedName, DnType,
    IsCa, KeyIdMethod, KeyPair, RevokedCertParams, SanType, SerialNumber, date_time_ymd,
};
use serde_json::{Value, json};
use store::{NewIssuer, TenantId};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::{DEADLINE, Db, Harness};
use crate::issuers::idp::until;

/// An authority and what it signs.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Certificate and key, as PEM.
    pub(crate) fn leaf(&self, names: &[SanType], subject: &[(DnType, &str)]) -> (String, String) {
        self.numbered(None, names, subject)
    }

    fn numbered(&self, serial: Option<u64>, names: &[SanType], subject: &[(DnType, &str)]) -> (String, String) {
        let mut params = CertificateParams::default();
        params.serial_number = serial.map(SerialNumber::from);
        params.subject_alt_names = names.to_vec();
        params.distinguished_name = DistinguishedName::new();
        for (kind, text) in subject {
            params.distinguished_name.push(kind.clone(), *text);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// A caller with a serial number.
    fn caller(&self, serial: u64) -> (String, String) {
        let name = SanType::URI("spiffe://acme/bot".try_into().unwrap());
        self.numbered(Some(serial), &[name], &[(DnType::OrganizationName, "Acme")])
    }

    /// What it has revoked, in a list that is good until the end of this year.
    fn list(&self, revoked: &[u64], until: i32) -> String {
        let revoked = revoked.iter().map(|serial| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(until, 12, 31),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.issuer).unwrap().pem().unwrap()
    }

    fn server(&self, name: &str) -> (String, String) {
        self.leaf(&[SanType::DnsName(name.try_into().unwrap())], &[(DnType::CommonName, name)])
    }

    /// A caller known by its SPIFFE id.
    pub(crate) fn spiffe(&self, id: &str) -> (String, String) {
        self.leaf(&[SanType::URI(id.try_into().unwrap())], &[(DnType::OrganizationName, "Acme")])
    }
}

/// A gateway with TLS, and what a client needs to know of it.
struct Secure {
    h: Harness,
    roots: Authority,
    clients: Authority,
    folder: tempfile::TempDir,
}

fn write(path: &Path, text: &str) {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path).unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
}

impl Secure {
    async fn start(client_auth: &str, more: &[&Authority]) -> Self {
        Self::start_with(client_auth, more, |_| None).await
    }

    /// With a revocation list.
    async fn start_with(
        client_auth: &str,
        more: &[&Authority],
        list: impl FnOnce(&Authority) -> Option<String>,
    ) -> Self {
        let (roots, clients) = (Authority::new("servers"), Authority::new("clients"));
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let (certificate, key) = roots.server("gw.test");
        write(&file("tls.pem"), &certificate);
        write(&file("tls.key"), &key);
        let all: String = std::iter::once(&clients).chain(more.iter().copied()).map(Authority::pem).collect();
        write(&file("clients.pem"), &all);
        let text = |path: PathBuf| path.display().to_string();
        let (certificate, key, cas) = (text(file("tls.pem")), text(file("tls.key")), text(file("clients.pem")));
        let list = list(&clients);
        if let Some(list) = &list {
            write(&file("revoked.pem"), list);
        }
        let lists = list.map(|_| text(file("revoked.pem"))).unwrap_or_default();
        let settings = [
            ("CHANCERY__PUBLIC__TLS_CLIENT_CRL_FILES", lists.as_str()),
            ("CHANCERY__PUBLIC__TLS_CERTIFICATE_FILE", certificate.as_str()),
            ("CHANCERY__PUBLIC__TLS_KEY_FILE", key.as_str()),
            ("CHANCERY__PUBLIC__TLS_CLIENT_CA_FILES", cas.as_str()),
            ("CHANCERY__PUBLIC__TLS_CLIENT_AUTH", client_auth),
        ];
        let h = Harness::start_with(Db::Sqlite, Clock::System, &settings).await.unwrap();
        for tenant in ["acme", "globex"] {
            h.tenant(tenant).await;
            h.card(tenant, "echo", &h.agents.echo_url.clone(), "v10_jsonrpc").await;
        }
        Self { h, roots, clients, folder }
    }

    /// A client that trusts the server's authority; with this certificate.
    fn client(&self, identity: Option<&(String, String)>) -> reqwest::ClientBuilder {
        let root = reqwest::Certificate::from_pem(self.roots.pem().as_bytes()).unwrap();
        let builder = reqwest::Client::builder().no_proxy().timeout(DEADLINE).tls_certs_only([root]);
        let builder = builder.resolve("gw.test", self.h.public).resolve("other.test", self.h.public);
        match identity {
            Some((certificate, key)) => {
                builder.identity(reqwest::Identity::from_pem(format!("{certificate}{key}").as_bytes()).unwrap())
            }
            None => builder,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("https://gw.test:{}{path}", self.h.public.port())
    }

    /// What a call is answered with.
    async fn call(&self, client: &reqwest::Client, tenant: &str, key: Option<&str>) -> StatusCode {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
        let mut request =
            client.post(self.url(&format!("/a2a/{tenant}/echo"))).header("a2a-version", "1.0").json(&body);
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status();
        if status == StatusCode::OK || status == StatusCode::NOT_FOUND {
            self.h.expect_records(1);
        }
        if status == StatusCode::OK {
            let answer: Value = answer.json().await.unwrap();
            assert!(answer["result"].is_object(), "{answer}");
        }
        status
    }

    async fn takes(&self, tenant: &str, document: &Value) {
        let document = serde_json::to_vec(document).unwrap();
        let id = chancery::registry::mint::id("iss-", self.h.now()).unwrap();
        let new = NewIssuer { id, name: "mesh".to_owned(), document };
        self.h.store().create_issuer(&TenantId::new(tenant).unwrap(), &new, self.h.now()).await.unwrap();
        self.h.refresh().await;
    }
}

#[tokio::test]
async fn http_is_spoken_inside_tls_in_both_versions() {
    let s = Secure::start("none", &[]).await;
    let caller = s.h.caller("acme", "bot", &["*"], &["*"]).await;
    for client in [s.client(None).http1_only(), s.client(None)] {
        let client = client.build().unwrap();
        assert_eq!(s.call(&client, "acme", Some(&caller.key)).await, StatusCode::OK);
        assert_eq!(s.call(&client, "acme", None).await, StatusCode::UNAUTHORIZED);
    }
    let by_alpn = s.client(None).build().unwrap().get(s.url("/healthz")).send().await.unwrap();
    assert_eq!(by_alpn.version(), http::Version::HTTP_2);
    // Another name is not this server.
    let url = format!("https://other.test:{}/healthz", s.h.public.port());
    assert!(s.client(None).build().unwrap().get(url).send().await.unwrap_err().is_connect());
    // Without TLS nothing is said, and a handshake may come in any pieces.
    assert!(plain(s.h.public).await.iter().all(|byte| *byte != b'H'), "no HTTP without TLS");
    assert!(shake(s.h.public, &s.roots, 1, rustls::ALL_VERSIONS).await.is_ok());
    assert!(shake(s.h.public, &s.roots, 4096, &[&rustls::version::TLS12]).await.is_ok());
    s.h.finish().await;
}

/// What a listener with TLS says to somebody who speaks HTTP at once.
async fn plain(address: SocketAddr) -> Vec<u8> {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: gw.test\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut heard = Vec::new();
    let _ = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut heard)).await.expect("it closes");
    heard
}

/// A handshake whose client writes at most so many bytes at a time.
async fn shake(
    address: SocketAddr,
    roots: &Authority,
    piece: usize,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> Result<(), String> {
    let mut store = rustls::RootCertStore::empty();
    store.add(roots.issuer.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap();
    let config = Arc::new(config.with_root_certificates(store).with_no_client_auth());
    let mut session = rustls::ClientConnection::new(config, "gw.test".try_into().unwrap()).unwrap();
    let stream = tokio::net::TcpStream::connect(address).await.unwrap().into_std().unwrap();
    tokio::task::spawn_blocking(move || {
        stream.set_nonblocking(false).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut wire = Pieces { stream, piece };
        while session.is_handshaking() {
            session.complete_io(&mut wire).map_err(|error| error.to_string())?;
        }
        Ok(())
    })
    .await
    .unwrap()
}

struct Pieces {
    stream: std::net::TcpStream,
    piece: usize,
}

impl std::io::Read for Pieces {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        std::io::Read::read(&mut self.stream, buf)
    }
}

impl std::io::Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        std::io::Write::write(&mut self.stream, &bytes[..bytes.len().min(self.piece)])
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::Write::flush(&mut self.stream)
    }
}

#[tokio::test]
async fn a_certificate_is_whoever_the_tenant_says() {
    let s = Secure::start("optional", &[]).await;
    let bot = s.h.caller("acme", "bot", &["*"], &["*"]).await;
    let reports = s.h.caller("acme", "reports", &["*"], &["*"]).await;
    let principals = json!({"spiffe://acme.test/bot": "bot", "CN=reports,O=Acme": "reports"});
    s.takes("acme", &json!({"kind": "certificate", "principals": principals})).await;

    let by_id = s.clients.spiffe("spiffe://acme.test/bot");
    let by_name = s.clients.leaf(&[], &[(DnType::OrganizationName, "Acme"), (DnType::CommonName, "reports")]);
    for identity in [&by_id, &by_name] {
        let client = s.client(Some(identity)).build().unwrap();
        assert_eq!(s.call(&client, "acme", None).await, StatusCode::OK);
        // A tenant that takes no certificates takes this one for transport.
        assert_eq!(s.call(&client, "globex", None).await, StatusCode::UNAUTHORIZED);
        assert_eq!(s.call(&client, "globex", Some(&bot.key)).await, StatusCode::NOT_FOUND);
        // Two credentials, although both are good.
        assert_eq!(s.call(&client, "acme", Some(&bot.key)).await, StatusCode::BAD_REQUEST);
    }
    // The same names in another order, case or field are other names.
    let escaped = s.clients.leaf(&[], &[(DnType::CommonName, "reports,O=Acme")]);
    let both = s.clients.leaf(
        &[
            SanType::URI("spiffe://acme.test/bot".try_into().unwrap()),
            SanType::URI("spiffe://x.test/y".try_into().unwrap()),
        ],
        &[(DnType::CommonName, "two")],
    );
    let nobody = s.clients.spiffe("spiffe://acme.test/BOT");
    for identity in [&escaped, &both, &nobody] {
        let client = s.client(Some(identity)).build().unwrap();
        assert_eq!(s.call(&client, "acme", None).await, StatusCode::UNAUTHORIZED);
        assert_eq!(s.call(&client, "acme", Some(&bot.key)).await, StatusCode::OK, "then it is transport alone");
    }
    // Who is of no known authority does not even connect.
    let stranger = Authority::new("strangers").spiffe("spiffe://acme.test/bot");
    let client = s.client(Some(&stranger)).build().unwrap();
    assert!(client.get(s.url("/healthz")).send().await.is_err());

    let card = s.client(None).build().unwrap().get(s.url("/a2a/acme/echo")).send().await.unwrap();
    let card: Value = card.json().await.unwrap();
    assert_eq!(card["securitySchemes"]["mutualTls"]["type"], "mutualTLS");
    assert!(card["securitySchemes"]["mutualTls"]["mtlsSecurityScheme"].is_object());

    let records = s.h.finish().await;
    let by = |principal: &str| {
        let of = records.iter().filter(|record| record.principal.as_deref() == Some(principal));
        of.filter(|record| record.key_id.as_deref().is_some_and(|id| id.starts_with("iss-") && id.contains('/')))
            .count()
    };
    assert_eq!((by(&bot.principal_id), by(&reports.principal_id)), (1, 1));
}

#[tokio::test]
async fn an_authority_of_one_tenant_makes_no_caller_of_another() {
    let theirs = Authority::new("globex");
    let s = Secure::start("required", &[&theirs]).await;
    for (tenant, own) in [("acme", s.clients.pem()), ("globex", theirs.pem())] {
        s.h.caller(tenant, "bot", &["*"], &["*"]).await;
        let principals = json!({"spiffe://mesh.test/bot": "bot"});
        s.takes(tenant, &json!({"kind": "certificate", "principals": principals, "authorities": own})).await;
    }
    let ours = s.client(Some(&s.clients.spiffe("spiffe://mesh.test/bot"))).build().unwrap();
    let other = s.client(Some(&theirs.spiffe("spiffe://mesh.test/bot"))).build().unwrap();
    assert_eq!(s.call(&ours, "acme", None).await, StatusCode::OK);
    assert_eq!(s.call(&ours, "globex", None).await, StatusCode::UNAUTHORIZED);
    assert_eq!(s.call(&other, "globex", None).await, StatusCode::OK);
    assert_eq!(s.call(&other, "acme", None).await, StatusCode::UNAUTHORIZED);
    // Required means: no connection without one.
    assert!(s.client(None).build().unwrap().get(s.url("/healthz")).send().await.is_err());
    // Taking the name back ends it at once.
    let acme = TenantId::new("acme").unwrap();
    s.h.store().delete_issuer(&acme, "mesh", store::IfMatch::Any, s.h.now()).await.unwrap();
    s.h.refresh().await;
    assert_eq!(s.call(&ours, "acme", None).await, StatusCode::UNAUTHORIZED);
    s.h.finish().await;
}

#[tokio::test]
async fn a_new_certificate_is_served_without_a_restart_and_a_bad_one_is_not() {
    let s = Secure::start("none", &[]).await;
    let healthy = async |builder: reqwest::ClientBuilder| {
        builder
            .build()
            .unwrap()
            .get(s.url("/healthz"))
            .send()
            .await
            .is_ok_and(|answer| answer.status() == StatusCode::OK)
    };
    assert!(healthy(s.client(None)).await);
    let tls = s.h.app.tls.clone().unwrap();
    write(&s.folder.path().join("tls.pem"), "no certificate");
    assert!(tls.reload().is_err());
    assert!(healthy(s.client(None)).await, "what was in force stays");
    let next = Authority::new("next");
    let (certificate, key) = next.server("gw.test");
    write(&s.folder.path().join("tls.key"), &key);
    write(&s.folder.path().join("tls.pem"), &certificate);
    let root = reqwest::Certificate::from_pem(next.pem().as_bytes()).unwrap();
    let trusting = || {
        let builder = reqwest::Client::builder().no_proxy().timeout(DEADLINE).tls_certs_only([root.clone()]);
        builder.resolve("gw.test", s.h.public)
    };
    // The change is noticed without being told.
    let deadline = tokio::time::Instant::now() + DEADLINE;
    while !healthy(trusting()).await {
        assert!(tokio::time::Instant::now() < deadline, "the new certificate is not served");
    }
    assert!(!healthy(s.client(None)).await, "the old one is gone");
    until("nothing is left to do", || true).await;
    s.h.finish().await;
}

/// T-TLS-1
#[tokio::test]
async fn a_revoked_certificate_does_not_get_in_and_is_counted() {
    let s = Secure::start_with("optional", &[], |clients| Some(clients.list(&[7], 2999))).await;
    s.h.caller("acme", "bot", &["*"], &["*"]).await;
    let key = s.h.caller("acme", "by-key", &["*"], &["*"]).await.key;
    let principals = json!({"spiffe://acme/bot": "bot"});
    s.takes("acme", &json!({"kind": "certificate", "principals": principals})).await;
    // Each request on a connection of its own, with the sessions that were kept before.
    let client = |identity: Option<&(String, String)>| s.client(identity).pool_max_idle_per_host(0).build().unwrap();
    let tls = s.h.app.tls.clone().unwrap();
    let refused = |reason: &str| s.h.app.metrics.refusals.with_label_values(&[reason]).get();
    let (revoked, good, other) = (s.clients.caller(7), s.clients.caller(8), s.clients.caller(9));
    let (gone, good, other) = (client(Some(&revoked)), client(Some(&good)), client(Some(&other)));
    assert!(gone.get(s.url("/healthz")).send().await.is_err());
    until("it is counted", || refused("certificate_revoked") == 1).await;
    for client in [&good, &other] {
        assert_eq!(s.call(client, "acme", None).await, StatusCode::OK);
    }
    assert_eq!(s.call(&client(None), "acme", Some(&key)).await, StatusCode::OK, "who shows none is not asked");

    // A list that cannot be read leaves the one in force.
    let path = s.folder.path().join("revoked.pem");
    write(&path, &s.clients.pem());
    assert!(tls.reload().is_err());
    assert!(gone.get(s.url("/healthz")).send().await.is_err());
    assert_eq!(s.call(&good, "acme", None).await, StatusCode::OK);
    // The next one: also for whoever was let in before, and could resume the session.
    write(&path, &s.clients.list(&[7, 8], 2999));
    tls.reload().unwrap();
    assert!(good.get(s.url("/healthz")).send().await.is_err());
    // And without being told.
    write(&path, &s.clients.list(&[7, 8, 9], 2999));
    let deadline = tokio::time::Instant::now() + DEADLINE;
    while other.get(s.url("/healthz")).send().await.is_ok() {
        assert!(tokio::time::Instant::now() < deadline, "the new list is not in force");
    }
    // Out of date: nobody can say any more who is good.
    write(&path, &s.clients.list(&[7], 2021));
    tls.reload().unwrap();
    let before = refused("revocation_unknown");
    assert!(good.get(s.url("/healthz")).send().await.is_err());
    until("it is counted", || refused("revocation_unknown") == before + 1).await;
    assert_eq!(s.call(&client(None), "acme", Some(&key)).await, StatusCode::OK);
    s.h.finish().await;
}

/// T-TLS-1: what is open already ends, too; other connections do not.
#[tokio::test]
async fn an_open_connection_ends_when_its_certificate_is_revoked() {
    let s = Secure::start_with("optional", &[], |clients| Some(clients.list(&[], 2999))).await;
    let (gone, stays) = (s.clients.caller(7), s.clients.caller(8));
    let (gone, stays) = (s.client(Some(&gone)).build().unwrap(), s.client(Some(&stays)).build().unwrap());
    let healthy = async |client: &reqwest::Client| client.get(s.url("/healthz")).send().await.is_ok();
    assert!(healthy(&gone).await && healthy(&stays).await);
    write(&s.folder.path().join("revoked.pem"), &s.clients.list(&[7], 2999));
    s.h.app.tls.clone().unwrap().reload().unwrap();
    let deadline = tokio::time::Instant::now() + DEADLINE;
    while healthy(&gone).await {
        assert!(tokio::time::Instant::now() < deadline, "the connection of before is still open");
    }
    assert!(healthy(&stays).await);
    s.h.finish().await;
}

/// T-TLS-1
#[tokio::test]
async fn a_certificate_of_an_authority_without_a_list_does_not_get_in_beside_lists() {
    let unlisted = Authority::new("unlisted");
    let s = Secure::start_with("required", &[&unlisted], |clients| Some(clients.list(&[], 2999))).await;
    let (listed, unlisted) = (s.clients.caller(8), unlisted.caller(8));
    let healthy = async |identity: &(String, String)| {
        s.client(Some(identity)).build().unwrap().get(s.url("/healthz")).send().await.is_ok()
    };
    assert!(healthy(&listed).await);
    assert!(!healthy(&unlisted).await);
    let refusals = &s.h.app.metrics.refusals;
    until("it is counted", || refusals.with_label_values(&["revocation_unknown"]).get() == 1).await;
    let stranger = Authority::new("strangers").caller(8);
    assert!(!healthy(&stranger).await);
    until("it is counted", || refusals.with_label_values(&["bad_certificate"]).get() == 1).await;
    s.h.finish().await;
}

#[tokio::test]
async fn a_key_that_everybody_can_read_or_a_missing_authority_does_not_start() {
    use chancery::app::{App, StartError};
    use chancery::config::{Source, load};
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (certificate, key) = Authority::new("servers").server("gw.test");
    write(&folder.path().join("tls.pem"), &certificate);
    write(&folder.path().join("tls.key"), &key);
    std::fs::set_permissions(folder.path().join("tls.key"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let source = |more: &[(&str, &str)]| {
        let (certificate, key, audit) = (file("tls.pem"), file("tls.key"), file("audit"));
        let mut environment = vec![
            ("CHANCERY__PUBLIC__PUBLIC_URLS", "https://gw.test"),
            ("CHANCERY__PUBLIC__LISTEN", "127.0.0.1:0"),
            ("CHANCERY__ADMIN__LISTEN", "127.0.0.1:0"),
            ("CHANCERY__STORE__URL", "sqlite::memory:"),
            ("CHANCERY__AUDIT__DIR", &audit),
            ("CHANCERY__SECRETS__MASTER_KEY", "q2Vb0b1Yh0mS4f0m7J8nT3x5v9c1L6w2ZkQeRtYuIoA="),
            ("CHANCERY__PUBLIC__TLS_CERTIFICATE_FILE", &certificate),
            ("CHANCERY__PUBLIC__TLS_KEY_FILE", &key),
        ];
        environment.extend_from_slice(more);
        let environment = environment.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        Source { file: None, environment }
    };
    let refused = App::build(load::load(&source(&[])).unwrap(), Clock::System).await.unwrap_err();
    assert!(matches!(refused, StartError::PublicTls(_)), "{refused:?}");
    let problems = load::load(&source(&[("CHANCERY__PUBLIC__TLS_CLIENT_AUTH", "required")])).unwrap_err();
    assert_eq!(problems.0[0].key, "public.tls_client_ca_files");
    let lists = file("tls.pem");
    let problems = load::load(&source(&[("CHANCERY__PUBLIC__TLS_CLIENT_CRL_FILES", &lists)])).unwrap_err();
    assert_eq!(problems.0[0].key, "public.tls_client_crl_files");
    // A list that is none.
    std::fs::set_permissions(folder.path().join("tls.key"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let asking = [
        ("CHANCERY__PUBLIC__TLS_CLIENT_AUTH", "required"),
        ("CHANCERY__PUBLIC__TLS_CLIENT_CA_FILES", lists.as_str()),
        ("CHANCERY__PUBLIC__TLS_CLIENT_CRL_FILES", lists.as_str()),
    ];
    let refused = App::build(load::load(&source(&asking)).unwrap(), Clock::System).await.unwrap_err();
    assert!(matches!(refused, StartError::PublicTls(_)), "{refused:?}");
    let problems = load::load(&source(&[("CHANCERY__PUBLIC__TLS_KEY_FILE", "")])).unwrap_err();
    assert_eq!(problems.0[0].key, "public.tls_key_file");
}
