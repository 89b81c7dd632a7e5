//! Keys, secrets at rest, signing keys.

use chancery::seal::Place;
use http::{Method, StatusCode};
use sample_agents::hostile::{Reply, Script, Scripted, Spoken, State};
use serde_json::{Value, json};
use store::{IfMatch, TenantId};

use super::{Desk, card_spec, problem_paths};
use crate::harness::{DEADLINE, Db};

/// A v1.0 call over JSON-RPC.
fn call(method: &str) -> Value {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}})
}

async fn keys_are_shown_once_and_end(db: Db) {
    let Some(desk) = Desk::open_with(db, &[]).await else { return };
    desk.make("/tenants", "acme", &json!({})).await;
    let echo = desk.h.agents.echo_url.clone();
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", &echo)).await;
    let made = desk.caller("acme", "bot").await;
    let (key, id) = (made["key"].as_str().unwrap(), made["id"].as_str().unwrap());
    assert!(key.starts_with("sk_brutor_api_"), "the prefix that scanners know");
    let listed = desk.get("/tenants/acme/keys").await.text();
    assert!(!listed.contains(key) && listed.contains(made["hint"].as_str().unwrap()), "{listed}");
    assert!(!desk.get(&format!("/tenants/acme/keys/{id}")).await.text().contains(key));

    let send = call("SendMessage");
    let answer = desk.h.post("/a2a/acme/echo", &send).header("a2a-version", "1.0").key(key).send().await;
    assert!(answer.json()["result"].is_object(), "{}", answer.text());

    // The same process knows at once; `DELETE` twice is no error.
    for _ in 0..2 {
        assert_eq!(desk.delete(&format!("/tenants/acme/keys/{id}")).await.status, StatusCode::NO_CONTENT);
    }
    let answer = desk.h.post("/a2a/acme/echo", &send).header("a2a-version", "1.0").bad_key(key).send().await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    let revoked = desk.read(&format!("/tenants/acme/keys/{id}")).await;
    assert!(revoked["revoked_at"].is_string());
    let back = json!({"expires_at": null});
    let path = format!("/tenants/acme/keys/{id}");
    let again = desk.send(Method::PUT, &path, Some(&back), revoked["revision"].as_i64()).await;
    assert_eq!(again.json()["code"], "revoked", "a revoked key stays so");
    desk.h.finish().await;
}

#[tokio::test]
async fn keys_are_shown_once_and_end_on_sqlite() {
    keys_are_shown_once_and_end(Db::Sqlite).await;
}

#[tokio::test]
async fn keys_are_shown_once_and_end_on_postgres() {
    keys_are_shown_once_and_end(Db::Postgres).await;
}

#[tokio::test]
async fn expiry_is_set_changed_and_never_in_the_past() {
    let desk = Desk::acme().await;
    desk.make("/tenants/acme/principals", "bot", &json!({})).await;
    let body = |expires: Value| json!({"principal": "bot", "label": "ci", "expires_at": expires});
    let made = desk.post("/tenants/acme/keys", &body(json!("2999-01-01T00:00:00Z"))).await.json();
    assert_eq!((&made["expires_at"], &made["label"]), (&json!("2999-01-01T00:00:00Z"), &json!("ci")));
    for past in ["2001-01-01T00:00:00Z", "tomorrow"] {
        assert_eq!(problem_paths(&desk.post("/tenants/acme/keys", &body(json!(past))).await), ["expires_at"]);
    }
    let path = format!("/tenants/acme/keys/{}", made["id"].as_str().unwrap());
    let revision = made["revision"].as_i64();
    let put = async |body: Value, revision| desk.send(Method::PUT, &path, Some(&body), revision).await;
    assert_eq!(problem_paths(&put(json!({}), revision).await), ["expires_at"], "nothing said is not `null` said");
    assert_eq!(put(json!({"expires_at": null}), None).await.status, StatusCode::PRECONDITION_REQUIRED);
    let changed = put(json!({"expires_at": null}), revision).await;
    assert_eq!((changed.status, &changed.json()["expires_at"]), (StatusCode::OK, &Value::Null));
    assert_eq!(put(json!({"expires_at": null}), revision).await.status, StatusCode::PRECONDITION_FAILED);
    desk.h.finish().await;
}

#[tokio::test]
async fn open_stream_of_a_revoked_key_ends_with_an_error_event() {
    let desk = Desk::acme().await;
    let agent = Scripted::start(Script::by(|request| {
        let spoken = Spoken::of(request);
        Reply::sse().event(spoken.event(spoken.sent(spoken.task("t-1", State::Working, "")))).hang()
    }));
    let agent = agent.await.unwrap();
    desk.make("/tenants/acme/cards", "slow", &card_spec("Slow", &agent.url())).await;
    let made = desk.caller("acme", "bot").await;
    let asking = desk.h.post("/a2a/acme/slow", &call("SendStreamingMessage")).header("a2a-version", "1.0");
    let mut stream = asking.key(made["key"].as_str().unwrap()).open().await;
    assert_eq!(stream.status(), StatusCode::OK);
    let mut text = String::from_utf8(stream.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    let path = format!("/tenants/acme/keys/{}", made["id"].as_str().unwrap());
    assert_eq!(desk.delete(&path).await.status, StatusCode::NO_CONTENT);
    let rest = async {
        while let Some(chunk) = stream.chunk().await.unwrap() {
            text.push_str(&String::from_utf8_lossy(&chunk));
        }
    };
    tokio::time::timeout(DEADLINE, rest).await.expect("the stream ends");
    let last = text.trim_end().rsplit("\n\n").next().unwrap();
    let data = last.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let error: Value = serde_json::from_str(data).unwrap();
    assert!(last.contains("event: error") && error["error"]["code"].is_i64(), "{text}");
    agent.wait_for_hang_ups(1).await.unwrap();
    desk.h.finish().await;
}

/// T-SEC-1.
#[tokio::test]
async fn stolen_database_opens_nothing() {
    let desk = Desk::acme().await;
    desk.make("/tenants", "globex", &json!({})).await;
    let key = desk.caller("acme", "bot").await["key"].as_str().unwrap().to_owned();
    let mut spec = card_spec("Echo", "http://127.0.0.1:9");
    spec["upstream"]["credential"] = json!({"type": "bearer", "token": "upstream-secret-canary"});
    let card = desk.make("/tenants/acme/cards", "echo", &spec).await;
    let acme = TenantId::new("acme").unwrap();
    let signer = desk.h.store().signing_keys(&acme, store::Page { after: "", limit: 10 }).await.unwrap().remove(0);
    let seed = desk.h.app.seal.open(Place::signing_key("acme", &signer.id), &signer.sealed_private.unwrap()).unwrap();

    let path = chancery_path(&desk);
    let mut dump = Vec::new();
    for ending in ["", "-wal"] {
        dump.extend(std::fs::read(format!("{path}{ending}")).unwrap_or_default());
    }
    assert!(contains(&dump, b"acme") && contains(&dump, card["id"].as_str().unwrap().as_bytes()), "it is the database");
    for secret in [key.as_bytes(), &key.as_bytes()[20..], b"upstream-secret-canary", seed.as_slice()] {
        assert!(!contains(&dump, secret));
    }

    // A sealed column that is moved to another tenant's card does not open there, and that card is not served.
    let sealed = desk.h.store().card(&acme, "echo").await.unwrap().unwrap().sealed_credential.unwrap();
    let globex = TenantId::new("globex").unwrap();
    desk.make("/tenants/globex/cards", "echo", &card_spec("Echo", "http://127.0.0.1:9")).await;
    desk.h.store().set_card_credential(&globex, "echo", IfMatch::Any, Some(&sealed), desk.h.now()).await.unwrap();
    desk.h.refresh().await;
    let moved = desk.read("/tenants/globex/cards/echo").await;
    assert_eq!(moved["spec"]["upstream"]["credential"], json!({"type": "unreadable"}));
    assert!(!desk.h.app.registry.snapshot().tenants["globex"].cards.contains_key("echo"));
    assert!(desk.h.app.registry.snapshot().tenants["acme"].cards.contains_key("echo"));
    desk.h.finish().await;
}

fn chancery_path(desk: &Desk) -> String {
    use secrecy::ExposeSecret as _;
    desk.h.app.settings.store.url.expose_secret().strip_prefix("sqlite://").unwrap().to_owned()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[tokio::test]
async fn signing_keys_go_forward_only_and_hide_their_private_half() {
    let desk = Desk::acme().await;
    let keys = "/tenants/acme/signing-keys";
    let first = desk.read(keys).await["items"][0].clone();
    assert_eq!(first["state"], "active", "a new tenant signs at once");
    let next = desk.post(keys, &json!({})).await.json();
    assert_eq!(next["state"], "next");
    assert_eq!(problem_paths(&desk.post(keys, &json!({"state": "gone"})).await), ["state"]);
    let path = format!("{keys}/{}", next["id"].as_str().unwrap());
    let to = async |state: &str, revision: &Value| {
        desk.send(Method::PUT, &path, Some(&json!({"state": state})), revision.as_i64()).await
    };
    assert_eq!(to("retiring", &next["revision"]).await.status, StatusCode::BAD_REQUEST);
    let active = to("active", &next["revision"]).await.json();
    assert_eq!(to("retiring", &next["revision"]).await.status, StatusCode::PRECONDITION_FAILED);
    let retiring = to("retiring", &active["revision"]).await.json();
    let backwards = to("active", &retiring["revision"]).await;
    assert!(backwards.text().contains("not from retiring to active"), "{}", backwards.text());
    let served = desk.h.get("/.well-known/a2a-jwks/acme").send().await.text();
    assert!(served.contains(first["kid"].as_str().unwrap()) && served.contains(next["kid"].as_str().unwrap()));
    let gone = to("gone", &retiring["revision"]).await.json();
    assert_eq!(gone["state"], "gone");
    assert!(!desk.h.get("/.well-known/a2a-jwks/acme").send().await.text().contains(next["kid"].as_str().unwrap()));
    desk.h.finish().await;
}
