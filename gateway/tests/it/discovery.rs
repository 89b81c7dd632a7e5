//! What anybody can read: signed cards, key sets, directories, and what stays out of them.

use a2a::sign::{self, jwks};
use chancery::clock::Clock;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use store::{CardState, IfMatch, KeyPurpose, SigningKeyState};

use crate::harness::{Answer, Db, Harness, document};

fn settings(more: Value) -> Value {
    let mut settings = json!({"upstream": {"interfaces": [{"url": "http://127.0.0.1:9"}]}});
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    settings
}

async fn started() -> Harness {
    let h = Harness::start().await;
    h.tenant("acme").await;
    h.card_with("acme", "echo", &settings(json!({})), &document("Echo")).await;
    h
}

fn tree(answer: &Answer) -> json::Object {
    let tree = json::read(&answer.body, &json::Limits::default()).unwrap();
    let json::Json::Object(object) = tree else { panic!("{tree:?}") };
    object
}

const BARE: [&str; 4] = [
    "/a2a/acme/echo",
    "/a2a/acme/echo/",
    "/a2a/acme/echo/.well-known/agent-card.json",
    "/a2a/acme/echo/.well-known/agent.json",
];

#[tokio::test]
async fn wrapper_has_exactly_the_seeds_members_around_the_bare_card() {
    let h = started().await;
    let wrapper = h.get("/.well-known/agent-card/acme/echo").send().await;
    assert_eq!(wrapper.status, StatusCode::OK);
    let members: Vec<String> = tree(&wrapper).keys().map(str::to_owned).collect();
    assert_eq!(members, ["id", "tenant_id", "name", "version", "trust_tier", "a2a_version", "card"]);
    let wrapper = wrapper.json();
    assert!(wrapper["id"].as_str().unwrap().starts_with("card-"));
    assert_eq!(wrapper["tenant_id"], "acme");
    assert_eq!(wrapper["name"], "echo");
    assert_eq!(wrapper["version"], "1.2.3");
    assert_eq!(wrapper["a2a_version"], "1.0");
    for path in BARE {
        let bare = h.get(path).send().await;
        assert_eq!((bare.status, bare.header("content-type")), (StatusCode::OK, "application/json"), "{path}");
        assert_eq!(bare.json(), wrapper["card"], "{path}");
    }
    h.finish().await;
}

#[tokio::test]
async fn card_verifies_with_the_tenants_keys_and_not_after_a_change() {
    let h = started().await;
    let card = tree(&h.get("/a2a/acme/echo").send().await);
    let set = json::read(&h.get("/.well-known/a2a-jwks/acme").send().await.body, &json::Limits::default()).unwrap();
    let keys = jwks::read_key_set(&set);
    assert_eq!(keys.len(), 1);
    let verdicts = sign::verify(&card, &keys);
    assert!(!verdicts.is_empty() && verdicts.iter().all(|verdict| verdict.outcome.is_ok()), "{verdicts:?}");
    let mut changed = card.clone();
    changed.insert("description", "Another.");
    assert!(sign::verify(&changed, &keys).iter().all(|verdict| verdict.outcome.is_err()));
    h.finish().await;
}

#[tokio::test]
async fn card_promises_what_is_served_and_nothing_else() {
    let h = started().await;
    let card = h.get("/a2a/acme/echo").send().await.json();
    let interfaces: Vec<(&str, &str, &str)> = card["supportedInterfaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| {
            let text = |name: &str| i[name].as_str().unwrap();
            (text("url"), text("protocolBinding"), text("protocolVersion"))
        })
        .collect();
    let url = "https://gw.test/a2a/acme/echo";
    let http = [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "0.3")];
    let mut served = http.map(|(binding, version)| (url, binding, version)).to_vec();
    served.insert(2, ("gw.test:443", "GRPC", "1.0"));
    assert_eq!(interfaces, served);
    let old = ["JSONRPC", "HTTP+JSON"].map(|transport| json!({"url": url, "transport": transport}));
    assert_eq!(card["additionalInterfaces"], json!(old));
    assert_eq!((&card["url"], &card["preferredTransport"]), (&json!(url), &json!("JSONRPC")));
    assert_ne!(card["capabilities"]["pushNotifications"], true);
    let schemes = card["securitySchemes"].as_object().unwrap();
    assert!(schemes.values().any(|scheme| scheme["type"] == "http"), "{schemes:?}");
    assert!(schemes.values().any(|scheme| scheme["type"] == "apiKey" && scheme["name"] == "X-API-Key"), "{schemes:?}");
    h.finish().await;
}

/// `card_members = "v10"`: the card has the members of 1.0 and no others, signed as it is.
#[tokio::test]
async fn card_of_the_newer_generation_alone_has_no_members_of_the_older() {
    let h = started().await;
    let union = h.get("/a2a/acme/echo").send().await;
    h.change_card("acme", "echo", &settings(json!({"card_members": "v10"})), &document("Echo")).await;
    let answer = h.get("/a2a/acme/echo").send().await;
    let (card, before) = (answer.json(), union.json());
    for older in ["url", "preferredTransport", "protocolVersion", "additionalInterfaces", "security"] {
        assert!(!before[older].is_null() && card[older].is_null(), "{older}: {card}");
    }
    assert!(card["securitySchemes"]["bearer"]["type"].is_null(), "{card}");
    assert_eq!(card["supportedInterfaces"], before["supportedInterfaces"]);
    assert_ne!(answer.header("etag"), union.header("etag"));
    let set = json::read(&h.get("/.well-known/a2a-jwks/acme").send().await.body, &json::Limits::default()).unwrap();
    let verdicts = sign::verify(&tree(&answer), &jwks::read_key_set(&set));
    assert!(verdicts.len() == 1 && verdicts[0].outcome.is_ok(), "{verdicts:?}");
    h.finish().await;
}

/// Field case F22.
#[tokio::test]
async fn no_address_of_the_agent_is_left_in_its_card() {
    let h = Harness::start().await;
    h.tenant("acme").await;
    let upstream = json!({
        "name": "S", "description": "d", "version": "1", "url": "http://10.0.0.7:9100/firefly/",
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{"url": "http://10.0.0.7:9100/rest", "transport": "HTTP+JSON"}],
        "supportedInterfaces": [
            {"url": "https://tenant.example/a2a/agents/s/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "/firefly/v1", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
            {"url": "grpc://10.0.0.7:50051", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["s"]}],
        "signatures": [{"protected": "e30", "signature": "AA"}]
    });
    h.card_with("acme", "echo", &settings(json!({})), &upstream).await;
    let answer = h.get("/a2a/acme/echo").send().await;
    let text = answer.text();
    for forbidden in ["10.0.0.7", "tenant.example", "firefly", "50051", "e30\""] {
        assert!(!text.contains(forbidden), "{forbidden} in {text}");
    }
    assert!(!text.replace("https://", "").contains("//"), "{text}");
    let card = answer.json();
    let mut urls: Vec<&Value> = card["supportedInterfaces"].as_array().unwrap().iter().map(|i| &i["url"]).collect();
    urls.extend(card["additionalInterfaces"].as_array().into_iter().flatten().map(|i| &i["url"]));
    urls.push(&card["url"]);
    assert!(urls.iter().all(|url| ["https://gw.test/a2a/acme/echo", "gw.test:443"].contains(&url.as_str().unwrap())));
    h.finish().await;
}

/// Field case F24, T-HDR-3.
#[tokio::test]
async fn forged_hosts_never_reach_a_signed_card() {
    let h = started().await;
    let forged = [
        vec![("host", "evil.test")],
        vec![("x-forwarded-host", "evil.test")],
        vec![("forwarded", "host=evil.test;proto=http")],
        vec![("x-forwarded-proto", "http")],
        vec![("host", "evil.test"), ("x-forwarded-host", "evil.test"), ("x-original-host", "evil.test")],
        vec![],
    ];
    let mut bodies = Vec::new();
    for path in ["/.well-known/agent-card/acme/echo", "/a2a/acme/echo", "/a2a/acme", "/.well-known/api-catalog"] {
        for headers in &forged {
            let asking = headers.iter().fold(h.get(path), |asking, (name, value)| asking.header(name, value));
            let answer = asking.send().await;
            assert_eq!(answer.status, StatusCode::OK, "{path} {headers:?}");
            let text = answer.text();
            assert!(!text.contains("evil.test") && !text.contains("http://"), "{path} {headers:?}: {text}");
            bodies.push((path, text));
        }
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 4, "every answer of a path is the same");
    h.finish().await;
}

#[tokio::test]
async fn trusted_proxies_choose_among_the_public_urls() {
    let settings_of = [
        ("CHANCERY__PUBLIC__PUBLIC_URLS", "https://gw.test,https://inner.test:8443"),
        ("CHANCERY__PUBLIC__TRUSTED_PROXIES", "127.0.0.0/8"),
    ];
    let h = Harness::start_with(Db::Sqlite, Clock::System, &settings_of).await.unwrap();
    h.tenant("acme").await;
    h.card_with("acme", "echo", &settings(json!({})), &document("Echo")).await;
    let chosen = async |name: &str, value: &str| {
        let card = h.get("/a2a/acme/echo").header(name, value).send().await;
        let keys = jwks::read_key_set(
            &json::read(&h.get("/.well-known/a2a-jwks/acme").send().await.body, &json::Limits::default()).unwrap(),
        );
        assert!(sign::verify(&tree(&card), &keys).iter().all(|verdict| verdict.outcome.is_ok()));
        card.json()["url"].as_str().unwrap().to_owned()
    };
    assert_eq!(chosen("x-forwarded-host", "inner.test:8443").await, "https://inner.test:8443/a2a/acme/echo");
    assert_eq!(chosen("forwarded", "host=inner.test:8443;proto=https").await, "https://inner.test:8443/a2a/acme/echo");
    assert_eq!(chosen("x-forwarded-host", "evil.test").await, "https://gw.test/a2a/acme/echo");
    assert_eq!(chosen("x-forwarded-proto", "https").await, "https://gw.test/a2a/acme/echo");
    h.finish().await;
}

#[tokio::test]
async fn a_document_with_the_wrong_verb_names_the_right_ones() {
    let h = started().await;
    for path in [
        "/.well-known/agent-card/acme/echo",
        "/.well-known/agent-card/acme/nobody",
        "/.well-known/a2a-jwks/acme",
        "/.well-known/agent-card.json",
        "/.well-known/agent.json",
        "/.well-known/api-catalog",
        "/a2a/acme/.well-known/agent-card.json",
    ] {
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            let answer = h.request(method.clone(), path).send().await;
            let seen = (answer.status, answer.header("allow"), answer.json()["code"].clone());
            let right = (StatusCode::METHOD_NOT_ALLOWED, "GET, HEAD, OPTIONS", json!("method_not_allowed"));
            assert_eq!(seen, right, "{method} {path}");
        }
    }
    let unknown = h.request(Method::POST, "/.well-known/other").send().await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    // Below a card it is a call's to refuse: a credential comes first.
    let below = h.request(Method::POST, "/a2a/acme/echo/.well-known/agent-card.json").send().await;
    assert_eq!(below.status, StatusCode::UNAUTHORIZED);
    h.finish().await;
}

#[tokio::test]
async fn unchanged_documents_are_not_sent_again_and_changed_ones_are() {
    let h = started().await;
    for path in ["/a2a/acme/echo", "/.well-known/agent-card/acme/echo", "/.well-known/a2a-jwks/acme", "/a2a/acme"] {
        let first = h.get(path).send().await;
        assert!(first.header("cache-control").starts_with("public, max-age="), "{path}");
        let again = h.get(path).header("if-none-match", first.header("etag")).send().await;
        assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0), "{path}");
    }
    let before = h.get("/a2a/acme/echo").send().await;
    // A new key signs: the same card, other bytes.
    let acme = store::TenantId::new("acme").unwrap();
    let old = h.store().signing_keys(&acme, store::Page { after: "", limit: 10 }).await.unwrap().remove(0);
    let new = chancery::registry::mint::signing_key(&h.app.seal, "acme", KeyPurpose::Card, h.now()).unwrap();
    h.store().create_signing_key(&acme, &new, h.now()).await.unwrap();
    h.store().set_signing_key_state(&acme, &old.id, SigningKeyState::Retiring, h.now()).await.unwrap();
    h.refresh().await;
    let after = h.get("/a2a/acme/echo").header("if-none-match", before.header("etag")).send().await;
    assert_eq!(after.status, StatusCode::OK);
    assert_ne!(after.header("etag"), before.header("etag"));
    // Both keys stay published, so that cards kept by others still verify.
    let keys = h.get("/.well-known/a2a-jwks/acme").send().await.json();
    assert_eq!(keys["keys"].as_array().unwrap().len(), 2);
    h.finish().await;
}

#[tokio::test]
async fn card_is_built_once_however_many_ask() {
    let h = started().await;
    let asks = (0..32).map(|at| {
        let path = if at % 2 == 0 { "/a2a/acme/echo" } else { "/.well-known/agent-card/acme/echo" };
        h.get(path).send()
    });
    for answer in futures_util::future::join_all(asks).await {
        assert_eq!(answer.status, StatusCode::OK);
    }
    assert_eq!(h.app.metrics.cards_signed.get(), 1);
    h.change_card("acme", "echo", &settings(json!({})), &document("Echo 2")).await;
    assert_eq!(h.get("/a2a/acme/echo").send().await.json()["name"], "Echo 2");
    assert_eq!(h.app.metrics.cards_signed.get(), 2);
    h.finish().await;
}

#[tokio::test]
async fn names_that_do_not_exist_all_look_the_same_and_never_reach_the_store() {
    let h = started().await;
    // With the store away, whatever is answered was answered without it.
    h.app.store.close().await;
    let mut bodies = Vec::new();
    for path in [
        "/a2a/acme/nobody",
        "/a2a/nobody/echo",
        "/.well-known/agent-card/acme/nobody",
        "/.well-known/a2a-jwks/nobody",
        "/a2a/nobody",
        "/a2a/acme/nobody/.well-known/agent-card.json",
    ] {
        let answer = h.get(path).send().await;
        assert_eq!((answer.status, answer.header("cache-control")), (StatusCode::NOT_FOUND, "no-store"), "{path}");
        bodies.push(answer.body);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1);
    let away = h.get("/a2a/acme/echo").send().await;
    assert_eq!((away.status, away.header("retry-after")), (StatusCode::SERVICE_UNAVAILABLE, "1"));
}

#[tokio::test]
async fn cards_that_are_not_public_look_missing_to_whoever_may_not_read_them() {
    let h = started().await;
    h.tenant("globex").await;
    h.card_with("acme", "inner", &settings(json!({"visibility": "tenant"})), &document("Inner")).await;
    h.card_with("acme", "hidden", &settings(json!({"visibility": "hidden"})), &document("Hidden")).await;
    let member = h.caller("acme", "member", &["echo"], &["send"]).await;
    let granted = h.caller("acme", "granted", &["hidden"], &["send"]).await;
    let stranger = h.caller("globex", "stranger", &["*"], &["*"]).await;
    let missing = h.get("/a2a/acme/nobody").send().await;
    let read = async |card: &str, key: Option<&str>| {
        let mut answers = Vec::new();
        for path in [format!("/a2a/acme/{card}"), format!("/.well-known/agent-card/acme/{card}")] {
            let asking = h.get(&path);
            let answer = match key {
                Some("nonsense") => asking.bad_key("nonsense").send().await,
                Some(key) => asking.key(key).send().await,
                None => asking.send().await,
            };
            if answer.status == StatusCode::OK {
                assert_eq!(answer.header("cache-control"), "private, no-store");
                assert!(answer.header("vary").contains("Authorization"));
            } else {
                assert_eq!((answer.status, &answer.body), (StatusCode::NOT_FOUND, &missing.body));
            }
            answers.push(answer.status.is_success());
        }
        assert_eq!(answers[0], answers[1]);
        answers[0]
    };
    for (card, key, readable) in [
        ("inner", None, false),
        ("inner", Some("nonsense"), false),
        ("inner", Some(stranger.key.as_str()), false),
        ("inner", Some(member.key.as_str()), true),
        ("hidden", None, false),
        ("hidden", Some(stranger.key.as_str()), false),
        ("hidden", Some(member.key.as_str()), false),
        ("hidden", Some(granted.key.as_str()), true),
    ] {
        assert_eq!(read(card, key).await, readable, "{card} {key:?}");
    }
    // Lists never name them, whoever asks.
    for path in ["/a2a/acme", "/.well-known/api-catalog"] {
        let text = h.get(path).key(&granted.key).send().await.text();
        assert!(text.contains("acme/echo") && !text.contains("inner") && !text.contains("hidden"), "{text}");
    }
    h.finish().await;
}

/// Credentials are judged as on calls, and what is hidden is not told from what is not there by how they are.
#[tokio::test]
async fn credentials_are_judged_alike_for_what_is_hidden_and_what_is_not_there() {
    let settings_of = [("CHANCERY__LIMITS__BAD_KEYS_PER_MINUTE", "3")];
    let h = Harness::start_with(Db::Sqlite, Clock::manual(1_800_000_000_000_000), &settings_of).await.unwrap();
    h.tenant("acme").await;
    h.card_with("acme", "hidden", &settings(json!({"visibility": "hidden"})), &document("Hidden")).await;
    h.card_with("acme", "open", &settings(json!({})), &document("Open")).await;
    let granted = h.caller("acme", "granted", &["hidden"], &["send"]).await;
    let read = async |card: &str, key: &str, second: Option<&str>| {
        let mut asking = h.get(&format!("/a2a/acme/{card}")).bad_key(key);
        if let Some(second) = second {
            asking = asking.header("x-api-key", second);
        }
        asking.send().await
    };
    for card in ["hidden", "nobody"] {
        let two = read(card, &granted.key, Some(&granted.key)).await;
        assert_eq!((two.status, &two.json()["code"]), (StatusCode::BAD_REQUEST, &json!("two_credentials")), "{card}");
    }
    for (card, status) in [("hidden", 404), ("nobody", 404), ("hidden", 404), ("nobody", 429), ("hidden", 429)] {
        let answer = read(card, "nonsense", None).await;
        assert_eq!(answer.status, status, "{card}: {}", answer.text());
        if status == 429 {
            assert_eq!(answer.header("retry-after"), "60", "{card}");
        }
    }
    // Who proves somebody is never asked to wait, and what is public is everybody's.
    assert_eq!(read("hidden", &granted.key, None).await.status, StatusCode::OK);
    assert_eq!(read("nobody", &granted.key, None).await.status, StatusCode::NOT_FOUND);
    assert_eq!(read("open", "nonsense", None).await.status, StatusCode::OK);
    h.finish().await;
}

#[tokio::test]
async fn disabled_cards_and_tenants_are_gone() {
    let h = started().await;
    let acme = store::TenantId::new("acme").unwrap();
    h.store().set_card_state(&acme, "echo", IfMatch::Any, CardState::Disabled, h.now()).await.unwrap();
    h.refresh().await;
    assert_eq!(h.get("/a2a/acme/echo").send().await.status, StatusCode::NOT_FOUND);
    h.store().set_card_state(&acme, "echo", IfMatch::Any, CardState::Published, h.now()).await.unwrap();
    h.change_tenant("acme", |fields| fields.state = store::TenantState::Suspended).await;
    for path in ["/a2a/acme/echo", "/a2a/acme", "/.well-known/a2a-jwks/acme"] {
        assert_eq!(h.get(path).send().await.status, StatusCode::NOT_FOUND, "{path}");
    }
    h.finish().await;
}

#[tokio::test]
async fn default_cards_are_served_where_they_are_configured_and_explained_where_not() {
    let settings_of = [("CHANCERY__PUBLIC__DEFAULT_CARD", "acme/echo")];
    let h = Harness::start_with(Db::Sqlite, Clock::System, &settings_of).await.unwrap();
    h.tenant("acme").await;
    h.card_with("acme", "echo", &settings(json!({})), &document("Echo")).await;
    let trap = h.get("/a2a/acme/.well-known/agent-card.json").send().await;
    assert_eq!(trap.status, StatusCode::NOT_FOUND);
    assert!(trap.text().contains("trailing slash"), "{}", trap.text());
    h.change_tenant("acme", |fields| fields.default_card = Some("echo".to_owned())).await;
    for path in ["/a2a/acme/.well-known/agent-card.json", "/.well-known/agent-card.json", "/.well-known/agent.json"] {
        assert_eq!(h.get(path).send().await.json()["name"], "Echo", "{path}");
    }
    h.finish().await;
    let h = Harness::start().await;
    let none = h.get("/.well-known/agent-card.json").send().await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
    assert!(none.text().contains("public.default_card"));
    h.finish().await;
}

#[tokio::test]
async fn directory_and_catalogue_name_the_public_cards() {
    let h = started().await;
    let directory = h.get("/a2a/acme").send().await.json();
    assert_eq!(
        directory["cards"],
        json!([{
            "name": "echo",
            "card": "https://gw.test/a2a/acme/echo/.well-known/agent-card.json",
            "url": "https://gw.test/a2a/acme/echo",
            "tags": ["demo", "text"]
        }])
    );
    let catalogue = h.get("/.well-known/api-catalog").send().await;
    assert!(catalogue.header("content-type").starts_with("application/linkset+json"));
    assert!(catalogue.header("link").contains("rel=\"api-catalog\""));
    assert_eq!(catalogue.json()["linkset"][0]["anchor"], "https://gw.test/a2a/acme/echo");
    h.finish().await;
}

#[tokio::test]
async fn head_and_options_are_answered() {
    let h = started().await;
    let get = h.get("/a2a/acme/echo").send().await;
    let head = h.request(Method::HEAD, "/a2a/acme/echo").send().await;
    assert_eq!((head.status, head.body.len()), (StatusCode::OK, 0));
    assert_eq!(head.header("content-length"), get.body.len().to_string());
    assert_eq!(head.header("etag"), get.header("etag"));
    for path in ["/a2a/acme/echo", "/a2a/acme/echo/message:send", "/.well-known/a2a-jwks/acme", "/a2a/nobody/x"] {
        let asking = h.request(Method::OPTIONS, path).header("origin", "https://app.test");
        let preflight = asking.header("access-control-request-method", "POST").send().await;
        assert_eq!(preflight.status, StatusCode::NO_CONTENT, "{path}");
        assert_eq!(preflight.header("access-control-allow-origin"), "*", "{path}");
        assert!(preflight.header("access-control-allow-headers").contains("a2a-version"), "{path}");
    }
    assert_eq!(get.header("access-control-allow-origin"), "*");
    assert!(get.header("access-control-expose-headers").contains("etag"));
    h.finish().await;
}

#[tokio::test]
async fn card_that_cannot_be_published_says_so_and_hides_no_other() {
    let h = started().await;
    h.card_with("acme", "broken", &settings(json!({})), &json!({"description": "no name"})).await;
    assert_eq!(h.get("/a2a/acme/broken").send().await.status, StatusCode::INTERNAL_SERVER_ERROR);
    let directory = h.get("/a2a/acme").send().await.json();
    assert_eq!(directory["cards"].as_array().unwrap().len(), 1);
    h.finish().await;
}
