//! The gateway's credentials towards agents that have to be fetched, made or passed on.

use crate::admin::{Desk, card_spec};
use crate::harness::{Answer, CANARY, Caller, Db, Harness};
use crate::issuers::idp::{Idp, Key, until};
use crate::tls::Authority;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chancery::clock::Clock;
use chancery::registry::mint;
use chancery::registry::sealed::{NewCredential, NewEndpoint};
use http::StatusCode;
use rcgen::SanType;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use sample_agents::hostile::{Behaviour, RawRequest, Reply, Script, Scripted, Spoken, start};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::{KeyPurpose, NewIssuer, TenantId};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const START: i64 = 1_800_000_000_000_000;
const SECOND: i64 = 1_000_000;

struct World {
    h: Harness,
    anna: Caller,
}

impl World {
    async fn open() -> Self {
        let h = Harness::start_with(Db::Sqlite, Clock::manual(START), &[]).await.unwrap();
        let tenant = h.tenant("acme").await;
        let key = mint::signing_key(&h.app.seal, "acme", KeyPurpose::Token, h.now()).unwrap();
        h.store().create_signing_key(&tenant, &key, h.now()).await.unwrap();
        h.refresh().await;
        let anna = h.caller("acme", "anna", &["*"], &["send", "get", "list"]).await;
        Self { h, anna }
    }

    async fn card(&self, name: &str, agent: &Scripted, credential: NewCredential) {
        self.h.card("acme", name, &agent.url(), "v10_jsonrpc").await;
        let origin = format!("http://{}", agent.address());
        self.h.credential("acme", name, &origin, &credential).await;
    }

    async fn call(&self, card: &str, method: &str, params: Value) -> Answer {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.h.post(&format!("/a2a/acme/{card}"), &body).header("a2a-version", "1.0").key(&self.anna.key).send().await
    }

    async fn send(&self, card: &str) -> Answer {
        self.call(card, "SendMessage", said()).await
    }
}

fn said() -> Value {
    json!({"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}})
}

fn endpoint(url: &str) -> NewEndpoint {
    NewEndpoint {
        url: format!("{url}/token"),
        client_id: "gateway".to_owned(),
        client_secret: format!("{CANARY}-secret").into(),
        scope: Some("agents call".to_owned()),
        audience: None,
    }
}

/// A token endpoint that numbers its tokens.
async fn issuing(expires_in: i64) -> Scripted {
    let count = AtomicUsize::new(1);
    let script = Script::by(move |_| {
        let token = format!("{CANARY}-{}", count.fetch_add(1, Ordering::Relaxed));
        let answer = json!({"access_token": token, "token_type": "Bearer", "expires_in": expires_in});
        Reply::json(200, answer.to_string())
    });
    Scripted::start(script).await.unwrap()
}

fn bearer(request: &RawRequest) -> String {
    request.header("authorization").unwrap_or_default().trim_start_matches("Bearer ").to_owned()
}

fn failed(answer: &Answer) {
    let body = answer.json();
    assert_eq!(body["error"]["code"], -32044, "{body}");
    assert_eq!(body["error"]["data"][0]["reason"], "UPSTREAM_AUTH_FAILED", "{body}");
    assert!(!answer.text().contains(CANARY), "no secret: {body}");
}

#[tokio::test]
async fn a_token_is_fetched_once_and_anew_before_it_ends() {
    let world = World::open().await;
    let (agent, tokens) = (start(Behaviour::Honest).await.unwrap(), issuing(3600).await);
    world.card("echo", &agent, NewCredential::OAuth2(endpoint(&tokens.url()))).await;
    let calls = (0..8).map(|_| world.send("echo"));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    }
    let asked = tokens.requests();
    assert_eq!(asked.len(), 1, "one flight for all");
    assert_eq!(asked[0].body_text(), "grant_type=client_credentials&scope=agents%20call");
    assert!(asked[0].header("authorization").unwrap().starts_with("Basic "));
    assert!(agent.requests().iter().all(|request| bearer(request) == format!("{CANARY}-1")));
    world.h.app.clock.advance(3539 * SECOND);
    world.send("echo").await;
    assert_eq!(tokens.requests().len(), 1);
    world.h.app.clock.advance(SECOND);
    world.send("echo").await;
    assert_eq!(tokens.requests().len(), 2);
    assert_eq!(bearer(&agent.requests().pop().unwrap()), format!("{CANARY}-2"));
    world.h.finish().await;
}

/// D11: only what has no effect goes out a second time.
#[tokio::test]
async fn a_token_that_the_agent_refuses_is_replaced() {
    let world = World::open().await;
    let tokens = issuing(3600).await;
    let agent = Scripted::start(Script::by(|request| {
        if bearer(request).ends_with("-1") || bearer(request).ends_with("-3") {
            return Reply::json(401, "{}");
        }
        Spoken::of(request).honest("http://agent.test", "yes")
    }));
    let agent = agent.await.unwrap();
    world.card("echo", &agent, NewCredential::OAuth2(endpoint(&tokens.url()))).await;
    let listed = world.call("echo", "ListTasks", json!({})).await;
    assert!(listed.json()["result"].is_object(), "read again with a new token: {}", listed.text());
    assert_eq!((tokens.requests().len(), agent.requests().len()), (2, 2));
    // Another way to the agent, so another token: the third.
    world.card("other", &agent, NewCredential::OAuth2(endpoint(&tokens.url()))).await;
    failed(&world.send("other").await);
    assert_eq!((tokens.requests().len(), agent.requests().len()), (3, 3), "a send is not repeated");
    assert!(world.send("other").await.json()["result"].is_object(), "the next one has a new token");
    world.h.finish().await;
}

#[tokio::test]
async fn a_token_that_cannot_be_had_fails_the_call_and_names_no_secret() {
    let world = World::open().await;
    let agent = start(Behaviour::Honest).await.unwrap();
    let answers = [
        Reply::json(401, format!(r#"{{"error":"invalid_client","hint":"{CANARY}"}}"#)),
        Reply::json(200, format!(r#"{{"token":"{CANARY}"}}"#)),
        Reply::whole(302, "text/plain", CANARY),
        Reply::nothing().close(),
    ];
    for (at, answer) in answers.into_iter().enumerate() {
        let tokens = Scripted::start(Script::always(answer)).await.unwrap();
        let card = format!("c{at}");
        world.card(&card, &agent, NewCredential::OAuth2(endpoint(&tokens.url()))).await;
        failed(&world.send(&card).await);
        failed(&world.send(&card).await);
        assert_eq!(tokens.requests().len(), 1, "a failure is kept for a moment");
    }
    let refusing = Scripted::refusing().unwrap();
    world.card("down", &agent, NewCredential::OAuth2(endpoint(&refusing.url()))).await;
    failed(&world.send("down").await);
    // Addresses of endpoints stand under the operator's rules.
    world.card("inside", &agent, NewCredential::OAuth2(endpoint("http://169.254.169.254"))).await;
    failed(&world.send("inside").await);
    assert_eq!(agent.seen().connections, 0);
    world.h.finish().await;
}

fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

/// RFC 8693 §4.1, from the gateway itself and through an endpoint.
#[tokio::test]
async fn an_agent_is_told_for_whom_and_through_whom_in_standard_form() {
    let world = World::open().await;
    let one = world.h.caller("acme", "one", &["*"], &["send"]).await;
    let (agent, tokens) = (start(Behaviour::Honest).await.unwrap(), issuing(60).await);
    let own = NewCredential::Exchange { audience: "https://agent.test".to_owned(), endpoint: None };
    world.card("own", &agent, own).await;
    let (other, endpoint) = (start(Behaviour::Honest).await.unwrap(), Some(endpoint(&tokens.url())));
    let exchanged = NewCredential::Exchange { audience: "https://agent.test".to_owned(), endpoint };
    world.card("exchanged", &other, exchanged).await;
    let again = NewCredential::Exchange { audience: "https://agent.test".to_owned(), endpoint: None };
    world.card("again", &other, again).await;
    let first = start(Behaviour::Honest).await.unwrap();
    let settings = json!({"upstream": {"interfaces": [{"url": first.url()}], "dialect": "v10_jsonrpc"},
        "bound_principal": "one"});
    world.h.card_with("acme", "first", &settings, &crate::harness::document("first")).await;

    world.send("own").await;
    let told = claims(&bearer(&agent.requests()[0]));
    assert_eq!((&told["sub"], &told["aud"]), (&json!(world.anna.principal_id), &json!("https://agent.test")));
    assert_eq!((&told["act"], &told["exp"]), (&Value::Null, &json!(1_800_000_300)));
    // It proves nobody here.
    let back = world.h.get("/a2a/acme/own/tasks").bad_key(&bearer(&agent.requests()[0])).send().await;
    assert_eq!(back.status, StatusCode::UNAUTHORIZED);

    world.send("first").await;
    let given = first.requests().pop().unwrap();
    for card in ["again", "exchanged"] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": said()});
        let mut asking = world.h.post(&format!("/a2a/acme/{card}"), &body).header("a2a-version", "1.0").key(&one.key);
        for (name, value) in given.header_list() {
            if name.to_ascii_lowercase().starts_with("x-brutor-delegation-") {
                asking = asking.header(&name, &value);
            }
        }
        let answer = asking.send().await;
        assert!(answer.json()["result"].is_object(), "{card}: {}", answer.text());
    }
    let actor = json!({"sub": one.principal_id});
    let told = claims(&bearer(&other.requests()[0]));
    assert_eq!((&told["sub"], &told["act"]), (&json!(world.anna.principal_id), &actor));
    assert_eq!(bearer(&other.requests()[1]), format!("{CANARY}-1"));
    let form = tokens.requests()[0].body_text();
    assert!(form.starts_with("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token="));
    let subject = form.split("subject_token=").nth(1).unwrap().split('&').next().unwrap();
    let told = claims(subject);
    assert_eq!((&told["sub"], &told["act"]), (&json!(world.anna.principal_id), &actor));
    assert_eq!(told["aud"], format!("{}/token", tokens.url()));
    world.h.finish().await;
}

/// D9
#[tokio::test]
async fn a_callers_own_token_is_passed_on_where_the_card_says_so_and_never_a_key_of_ours() {
    let world = World::open().await;
    let agent = start(Behaviour::Honest).await.unwrap();
    world.card("echo", &agent, NewCredential::Forward).await;
    let key = Key::new("k1");
    let idp = Idp::start(&Key::set(&[&key])).await;
    let document = json!({"issuer": idp.iss(), "jwks_uri": idp.url("/jwks"), "audiences": ["gw"],
        "principals": {"u1": "anna"}});
    let new = NewIssuer {
        id: mint::id("iss-", world.h.now()).unwrap(),
        name: "corp".to_owned(),
        document: serde_json::to_vec(&document).unwrap(),
    };
    world.h.store().create_issuer(&TenantId::new("acme").unwrap(), &new, world.h.now()).await.unwrap();
    world.h.refresh().await;
    until("the issuer's keys are there", || {
        let snapshot = world.h.app.registry.snapshot();
        snapshot.tenants["acme"].issuers.iter().all(|issuer| issuer.keys.usable(world.h.now()).is_some())
    })
    .await;

    failed(&world.send("echo").await);
    assert_eq!(agent.seen().connections, 0, "a key of ours goes nowhere");
    let now = START / SECOND;
    let token = key.token(&json!({"iss": idp.iss(), "aud": "gw", "sub": "u1", "iat": now, "exp": now + 300}));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": said()});
    let asking = world.h.post("/a2a/acme/echo", &body).header("a2a-version", "1.0");
    let answer = asking.key(&token).send().await;
    assert!(answer.json()["result"].is_object(), "{}", answer.text());
    assert_eq!(bearer(&agent.requests()[0]), token);
    world.h.finish().await;
}

/// D9: what is written goes out, in its own header, and nothing of the caller's.
#[tokio::test]
async fn what_needs_no_fetch_is_sent_as_it_was_written() {
    let world = World::open().await;
    let agent = start(Behaviour::Honest).await.unwrap();
    let secret = || CANARY.into();
    let api_key = http::HeaderName::from_static("x-api-key");
    let kinds = [
        ("none", None, [None, None]),
        ("bearer", Some(NewCredential::Bearer { token: secret() }), [Some(format!("Bearer {CANARY}")), None]),
        ("header", Some(NewCredential::Header { name: api_key, value: secret() }), [None, Some(CANARY.to_owned())]),
        (
            "basic",
            Some(NewCredential::Basic { user: "gate-way".to_owned(), password: secret() }),
            [Some("Basic Z2F0ZS13YXk6Y2FuYXJ5LTlkMWY3Yw==".to_owned()), None],
        ),
    ];
    for (name, credential, sent) in kinds {
        match credential {
            Some(credential) => world.card(name, &agent, credential).await,
            None => drop(world.h.card("acme", name, &agent.url(), "v10_jsonrpc").await),
        }
        let answer = world.send(name).await;
        assert!(answer.json()["result"].is_object(), "{name}: {}", answer.text());
        let request = agent.requests().pop().unwrap();
        assert_eq!(["authorization", "x-api-key"].map(|header| request.header(header)), sent, "{name}");
        assert!(!request.headers_text().contains(&world.anna.key), "{name}: the caller's key stays here");
    }
    world.h.finish().await;
}

/// T-SEC-1: of every kind the type alone is shown, and nothing is in the database as it was written.
#[tokio::test]
async fn every_kind_is_sealed_and_never_shown() {
    let desk = Desk::acme().await;
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", "http://127.0.0.1:9")).await;
    let path = "/tenants/acme/cards/echo";
    let (certificate, key) = Authority::new("clients").spiffe("spiffe://acme/gateway");
    let inside: String = key.lines().nth(1).unwrap().chars().take(24).collect();
    let endpoint = json!({"token_url": "https://idp.test/", "client_id": "c", "client_secret": CANARY});
    let with = |kind: &str, more: &[(&str, &str)]| {
        let mut document = endpoint.clone();
        document["type"] = kind.into();
        for (name, value) in more {
            document[*name] = (*value).into();
        }
        document
    };
    let kinds = [
        json!({"type": "bearer", "token": CANARY}),
        json!({"type": "header", "name": "x-key", "value": CANARY}),
        json!({"type": "basic", "user": "u", "password": CANARY}),
        with("oauth2", &[("scope", "s"), ("audience", "a")]),
        json!({"type": "mtls", "certificate": certificate, "key": key}),
        with("exchange", &[("audience", "a")]),
        json!({"type": "exchange", "audience": "a"}),
        json!({"type": "forward"}),
    ];
    use secrecy::ExposeSecret as _;
    let database = desk.h.app.settings.store.url.expose_secret().trim_start_matches("sqlite://").to_owned();
    for document in &kinds {
        let kind = &document["type"];
        let set = desk.send(http::Method::PUT, &format!("{path}/credential"), Some(document), None).await;
        assert_eq!(set.status, StatusCode::OK, "{kind}: {}", set.text());
        assert_eq!(set.json()["spec"]["upstream"]["credential"], json!({"type": kind}));
        let mut seen: Vec<u8> = set.body;
        for path in [path, "/tenants/acme/cards", &format!("{path}/history")] {
            seen.extend(desk.get(path).await.body);
        }
        for ending in ["", "-wal"] {
            seen.extend(std::fs::read(format!("{database}{ending}")).unwrap_or_default());
        }
        for secret in [CANARY, inside.as_str()] {
            assert!(!seen.windows(secret.len()).any(|some| some == secret.as_bytes()), "{kind}");
        }
        assert!(desk.h.app.registry.snapshot().tenants["acme"].cards.contains_key("echo"), "{kind}: it is served");
    }
    desk.h.finish().await;
}

/// The operator's list for a tenant, and an agent's own root.
#[tokio::test]
async fn agents_of_a_tenant_with_a_list_are_at_its_places_alone() {
    let (listed, other) = (start(Behaviour::Honest).await.unwrap(), start(Behaviour::Honest).await.unwrap());
    let lists = format!("{{acme = [\"{}\"]}}", listed.address());
    let h = Harness::start_with(Db::Sqlite, Clock::System, &[("CHANCERY__EGRESS__TENANTS", &lists)]).await.unwrap();
    for tenant in ["acme", "globex"] {
        h.tenant(tenant).await;
        let key = h.caller(tenant, "anna", &["*"], &["send"]).await.key;
        for (card, agent, reached) in [("in", &listed, true), ("out", &other, tenant == "globex")] {
            h.card(tenant, card, &agent.url(), "v10_jsonrpc").await;
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": said()});
            let asking = h.post(&format!("/a2a/{tenant}/{card}"), &body).header("a2a-version", "1.0");
            let answer = asking.key(&key).send().await;
            assert_eq!(answer.json()["result"].is_object(), reached, "{tenant} {card}: {}", answer.text());
        }
    }
    assert_eq!((listed.requests().len(), other.requests().len()), (2, 1));
    h.finish().await;
}

/// An agent that lets nobody in who shows no certificate of `clients`.
async fn demanding((certificate, key): &(String, String), clients: &str) -> SocketAddr {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(clients.as_bytes()).unwrap()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_client_cert_verifier(verifier).with_single_cert(chain, key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let serve = async move {
        while let Ok((tcp, _)) = socket.accept().await {
            let Ok(mut tls) = acceptor.accept(tcp).await else { continue };
            let mut request = Vec::new();
            while !request.ends_with(b"}") && tls.read_buf(&mut request).await.is_ok_and(|read| read > 0) {}
            let body = r#"{"task":{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = tls.write_all(format!("{head}{body}").as_bytes()).await;
            let _ = tls.shutdown().await;
        }
    };
    #[expect(clippy::disallowed_methods, reason = "a server of the test, which ends with it")]
    tokio::spawn(serve);
    address
}

#[tokio::test]
async fn an_agent_that_demands_a_certificate_gets_the_cards() {
    let (servers, clients, strangers) =
        (Authority::new("servers"), Authority::new("clients"), Authority::new("others"));
    let server = servers.leaf(&[SanType::IpAddress([127, 0, 0, 1].into())], &[]);
    let agent = demanding(&server, &clients.pem()).await;
    let folder = tempfile::tempdir().unwrap();
    let roots = folder.path().join("roots.pem");
    std::fs::write(&roots, servers.pem()).unwrap();
    let roots = roots.display().to_string();
    let h = Harness::start_with(Db::Sqlite, Clock::System, &[("CHANCERY__EGRESS__ROOTS_FILE", &roots)]).await.unwrap();
    h.tenant("acme").await;
    let key = h.caller("acme", "anna", &["*"], &["send"]).await.key;
    let (good, bad) = (clients.spiffe("spiffe://acme/gateway"), strangers.spiffe("spiffe://acme/gateway"));
    for (card, identity, reached) in [("good", Some(good), true), ("bad", Some(bad), false), ("none", None, false)] {
        h.card("acme", card, &format!("https://{agent}"), "v10_http_json").await;
        if let Some((certificate, key)) = identity {
            let credential = NewCredential::Mtls { certificate, key: key.into() };
            h.credential("acme", card, &format!("https://{agent}"), &credential).await;
        }
        let asking = h.post(&format!("/a2a/acme/{card}/message:send"), &said()).header("a2a-version", "1.0");
        let answer = asking.key(&key).send().await;
        assert_eq!(answer.status == StatusCode::OK, reached, "{card}: {}", answer.text());
        if !reached {
            assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{card}: {}", answer.text());
        }
    }
    h.finish().await;
}
