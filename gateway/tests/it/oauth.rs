//! Tokens of the gateway: `POST /oauth/token`, what a token may do, and what takes its power.

use chancery::clock::Clock;
use chancery::registry::mint;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use store::{KeyPurpose, SigningKeyState, TenantId};

use crate::admin::Desk;
use crate::harness::{Answer, Caller, Db, Harness};

const START: i64 = 1_800_000_000_000_000;

fn send() -> Value {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
    json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}})
}

async fn acme(db: Db) -> Option<(Harness, Caller)> {
    let settings = [("CHANCERY__LIMITS__BAD_KEYS_PER_MINUTE", "1000")];
    let h = Harness::start_with(db, Clock::manual(START), &settings).await?;
    for tenant in ["acme", "globex"] {
        h.tenant(tenant).await;
        let echo = h.agents.echo_url.clone();
        h.card(tenant, "echo", &echo, "v10_jsonrpc").await;
    }
    let caller = h.caller("acme", "bot", &["*"], &["*"]).await;
    Some((h, caller))
}

/// Asks for a token with these headers; `proven` says that a record is left.
async fn ask(h: &Harness, headers: &[(&str, &str)], form: &str, proven: bool) -> Answer {
    let mut asking =
        h.request(Method::POST, "/oauth/token").header("content-type", "application/x-www-form-urlencoded");
    for (name, value) in headers {
        asking = asking.header(name, value);
    }
    if proven {
        h.expect_records(1);
    }
    asking.body(form).send().await
}

async fn token(h: &Harness, key: &str) -> String {
    let bearer = format!("Bearer {key}");
    let answer = ask(h, &[("authorization", &bearer)], "grant_type=client_credentials", true).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    answer.json()["access_token"].as_str().unwrap().to_owned()
}

async fn call(h: &Harness, tenant: &str, token: &str) -> Answer {
    let asking = h.post(&format!("/a2a/{tenant}/echo"), &send()).header("a2a-version", "1.0");
    asking.bad_key(token).send().await
}

/// A call that is answered and leaves a record.
async fn works(h: &Harness, token: &str) -> bool {
    let answer = call(h, "acme", token).await;
    if answer.status == StatusCode::OK {
        h.expect_records(1);
        assert!(answer.json()["result"].is_object(), "{}", answer.text());
        return true;
    }
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", answer.text());
    false
}

async fn a_key_becomes_a_token_that_calls(db: Db) {
    let Some((h, caller)) = acme(db).await else { return };
    let bearer = format!("Bearer {}", caller.key);
    let answer = ask(&h, &[("authorization", &bearer)], "grant_type=client_credentials&scope=a2a.invoke", true).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    assert_eq!((answer.header("cache-control"), answer.header("pragma")), ("no-store", "no-cache"));
    let answer = answer.json();
    assert_eq!(answer["token_type"], "Bearer");
    assert_eq!(answer["expires_in"], 3600);
    let token = answer["access_token"].as_str().unwrap();
    assert!(works(&h, token).await);

    // Published where it says, and not among the keys of cards.
    let published = h.get("/.well-known/jwks/acme").send().await.json();
    assert_eq!(published["keys"].as_array().unwrap().len(), 1);
    assert_eq!(published["keys"][0]["alg"], "EdDSA");
    let cards = h.get("/.well-known/a2a-jwks/acme").send().await.json();
    assert_ne!(published["keys"][0]["kid"], cards["keys"][0]["kid"]);
    assert_eq!(h.get("/.well-known/jwks/globex").send().await.json()["keys"], json!([]));

    // Another tenant's path, another byte, another time.
    assert_eq!(call(&h, "globex", token).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(call(&h, "nobody", token).await.status, StatusCode::UNAUTHORIZED);
    assert!(!works(&h, &format!("{token}A")).await);
    h.app.clock.advance(3_600_000_000 + 59_000_000);
    assert!(works(&h, token).await, "within the leeway");
    h.app.clock.advance(1_000_000);
    assert!(!works(&h, token).await);

    let records = h.finish().await;
    let issued = records.iter().find(|record| record.operation.is_none()).unwrap();
    assert_eq!((issued.outcome.as_str(), issued.key_id.as_deref()), ("ok", Some(caller.key_id.as_str())));
    let document: Value = serde_json::from_slice(&issued.document).unwrap();
    assert!(document.to_string().contains("\"token\""), "{document}");
    assert!(records.iter().all(|record| record.principal.as_deref() == Some(caller.principal_id.as_str())));
    assert!(records.iter().all(|record| record.key_id.as_deref() == Some(caller.key_id.as_str())));
}

#[tokio::test]
async fn a_key_becomes_a_token_that_calls_on_sqlite() {
    a_key_becomes_a_token_that_calls(Db::Sqlite).await;
}

#[tokio::test]
async fn a_key_becomes_a_token_that_calls_on_postgres() {
    a_key_becomes_a_token_that_calls(Db::Postgres).await;
}

#[tokio::test]
async fn a_client_is_proven_in_one_way_at_a_time() {
    let (h, caller) = acme(Db::Sqlite).await.unwrap();
    let key = &caller.key;
    let basic = |id: &str| {
        use base64::Engine as _;
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{id}:{key}")))
    };
    let grant = "grant_type=client_credentials";
    let in_form = |id: &str| format!("{grant}&client_id={id}&client_secret={key}");
    for id in [caller.principal_id.as_str(), "bot", caller.key_id.as_str()] {
        for (headers, form) in [(vec![("authorization", basic(id))], grant.to_owned()), (vec![], in_form(id))] {
            let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            assert_eq!(ask(&h, &headers, &form, true).await.status, StatusCode::OK, "{id}");
        }
    }
    assert_eq!(ask(&h, &[("x-api-key", key)], grant, true).await.status, StatusCode::OK);
    assert_eq!(ask(&h, &[("authorization", &format!("ApiKey {key}"))], grant, true).await.status, StatusCode::OK);

    let wrong = |answer: &Answer| {
        assert!(answer.header("www-authenticate").starts_with("Basic"), "{:?}", answer.headers);
        (answer.status, answer.json()["error"].as_str().unwrap_or_default().to_owned())
    };
    let refused = (StatusCode::UNAUTHORIZED, "invalid_client".to_owned());
    assert_eq!(wrong(&ask(&h, &[("authorization", &basic("other"))], grant, false).await), refused);
    assert_eq!(wrong(&ask(&h, &[], &in_form("other"), false).await), refused);
    assert_eq!(wrong(&ask(&h, &[], grant, false).await), refused);
    assert_eq!(wrong(&ask(&h, &[("x-api-key", "sk_nobody")], grant, false).await), refused);
    assert_eq!(wrong(&ask(&h, &[], &format!("{grant}&client_secret={key}"), false).await), refused);
    let token = token(&h, key).await;
    let bearer = format!("Bearer {token}");
    assert_eq!(wrong(&ask(&h, &[("authorization", &bearer)], grant, false).await), refused, "no token makes a token");
    let both = ask(&h, &[("authorization", &basic("bot")), ("x-api-key", key)], grant, false).await;
    assert_eq!((both.status, &both.json()["error"]), (StatusCode::BAD_REQUEST, &json!("invalid_request")));
    h.finish().await;
}

#[tokio::test]
async fn errors_are_those_of_the_rfc() {
    let (h, caller) = acme(Db::Sqlite).await.unwrap();
    let bearer = format!("Bearer {}", caller.key);
    let headers = [("authorization", bearer.as_str())];
    let grant = "grant_type=client_credentials";
    for (form, proven, error) in [
        ("", true, "invalid_request"),
        ("grant_type=password", true, "unsupported_grant_type"),
        ("grant_type=client_credentials&grant_type=client_credentials", true, "invalid_request"),
        ("grant_type=client_credentials&scope=admin", true, "invalid_scope"),
        ("grant_type=client_credentials&resource=https://gw.test/a2a/globex", true, "invalid_target"),
        ("grant_type=client_credentials&audience=https://elsewhere.test", true, "invalid_target"),
    ] {
        let answer = ask(&h, &headers, form, proven).await;
        assert_eq!((answer.status, &answer.json()["error"]), (StatusCode::BAD_REQUEST, &json!(error)), "{form}");
    }
    let fine = ask(&h, &headers, &format!("{grant}&resource=https://gw.test/a2a/acme"), true).await;
    assert_eq!(fine.status, StatusCode::OK);
    let long = ask(&h, &headers, &"x".repeat(20_000), false).await;
    assert_eq!(long.json()["error"], "invalid_request");
    let json = h.post("/oauth/token", &json!({"grant_type": "client_credentials"})).bad_key(&caller.key).send().await;
    assert_eq!((json.status, &json.json()["error"]), (StatusCode::BAD_REQUEST, &json!("invalid_request")));
    let get = h.get("/oauth/token").send().await;
    assert_eq!((get.status, get.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, "POST, OPTIONS"));
    h.finish().await;
}

/// Each token costs a signature and a record on disk, so asking for one is a call like any other.
#[tokio::test]
async fn tokens_are_asked_for_within_the_limits_of_client_and_tenant() {
    let desk = Desk::acme().await;
    let ann = desk.make("/tenants/acme/principals", "ann", &json!({"limits": {"per_minute": 2}})).await;
    assert_eq!(ann["spec"]["limits"]["per_minute"], 2, "{ann}");
    desk.make("/tenants/acme/principals", "bob", &json!({})).await;
    let mut keys = Vec::new();
    for name in ["ann", "bob"] {
        let made = desk.post("/tenants/acme/keys", &json!({"principal": name})).await;
        keys.push(made.json()["key"].as_str().unwrap().to_owned());
    }
    let grant = "grant_type=client_credentials";
    let token = async |key: &str| ask(&desk.h, &[("x-api-key", key)], grant, true).await;
    let refused = |answer: &Answer| {
        assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS, "{}", answer.text());
        assert_eq!(answer.json()["error"], "temporarily_unavailable");
        assert!(answer.json()["error_description"].is_string());
        assert!((1..=60).contains(&answer.header("retry-after").parse::<u64>().unwrap()));
    };
    for _ in 0..2 {
        assert_eq!(token(&keys[0]).await.status, StatusCode::OK);
    }
    refused(&token(&keys[0]).await);
    assert_eq!(token(&keys[1]).await.status, StatusCode::OK, "it is the client's own limit");

    let tenant = desk.read("/tenants/acme").await;
    let mut spec = tenant["spec"].clone();
    spec["limits"] = json!({"per_minute": 1});
    let changed = desk.put("/tenants/acme", &spec, tenant["revision"].as_i64().unwrap()).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text());
    let mut tokens = Vec::new();
    for _ in 0..2 {
        tokens.push(token(&keys[1]).await);
    }
    refused(&tokens[1]);
    let records = desk.h.finish().await;
    assert!(records.iter().any(|record| record.outcome == "refused"));
}

#[tokio::test]
async fn a_token_ends_with_its_key_and_its_principal() {
    let (h, caller) = acme(Db::Sqlite).await.unwrap();
    let acme = TenantId::new("acme").unwrap();
    let (short_id, short) = h.key("acme", &caller.principal_id, Some(START + 600_000_000)).await;
    let bearer = format!("Bearer {short}");
    let answer = ask(&h, &[("authorization", &bearer)], "grant_type=client_credentials", true).await;
    assert_eq!(answer.json()["expires_in"], 600, "no token outlives its key");
    let of_short = answer.json()["access_token"].as_str().unwrap().to_owned();
    let of_long = token(&h, &caller.key).await;
    assert!(works(&h, &of_short).await && works(&h, &of_long).await);

    h.store().revoke_key(&acme, &short_id, h.now()).await.unwrap();
    h.refresh().await;
    assert!(!works(&h, &of_short).await);
    assert!(works(&h, &of_long).await);

    h.store()
        .set_principal_state(&acme, "bot", store::IfMatch::Any, store::PrincipalState::Disabled, h.now())
        .await
        .unwrap();
    h.refresh().await;
    assert!(!works(&h, &of_long).await);
    h.finish().await;
}

#[tokio::test]
async fn keys_that_sign_tokens_rotate_with_overlap() {
    let (h, caller) = acme(Db::Sqlite).await.unwrap();
    let acme = TenantId::new("acme").unwrap();
    let old = token(&h, &caller.key).await;
    let first = h.store().signing_keys(&acme, store::Page { after: "", limit: 10 }).await.unwrap();
    let first = first.into_iter().find(|key| key.purpose == KeyPurpose::Token).unwrap();
    let next = mint::signing_key(&h.app.seal, "acme", KeyPurpose::Token, h.now()).unwrap();
    h.store().create_signing_key(&acme, &next, h.now() + 1).await.unwrap();
    h.store().set_signing_key_state(&acme, &first.id, SigningKeyState::Retiring, h.now()).await.unwrap();
    h.refresh().await;
    let published = h.get("/.well-known/jwks/acme").send().await.json();
    assert_eq!(published["keys"].as_array().unwrap().len(), 2);
    let new = token(&h, &caller.key).await;
    assert!(works(&h, &old).await && works(&h, &new).await);
    h.store().set_signing_key_state(&acme, &first.id, SigningKeyState::Gone, h.now()).await.unwrap();
    h.refresh().await;
    assert!(!works(&h, &old).await);
    assert!(works(&h, &new).await);
    h.finish().await;
}
