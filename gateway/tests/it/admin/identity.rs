//! Keys that rotate and say when they were used; issuers; keys of tokens. By API, command and document.

use chancery::registry::last_use::LastUses;
use http::StatusCode;
use serde_json::{Value, json};

use super::{Desk, card_spec, lives_and_dies, problem_paths};
use crate::issuers::idp::{Idp, Key, until};

async fn calls(desk: &Desk, key: &str) -> StatusCode {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    let answer = desk.h.post("/a2a/acme/echo", &body).header("a2a-version", "1.0").bad_key(key).send().await;
    if answer.status == StatusCode::OK {
        desk.h.expect_records(1);
    }
    answer.status
}

async fn with_echo() -> Desk {
    let desk = Desk::acme().await;
    let echo = desk.h.agents.echo_url.clone();
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", &echo)).await;
    desk
}

#[tokio::test]
async fn a_key_is_replaced_with_an_overlap_and_its_last_use_is_told() {
    let desk = with_echo().await;
    let made = desk.caller("acme", "bot").await;
    let (old, id) = (made["key"].as_str().unwrap(), made["id"].as_str().unwrap());
    let path = format!("/tenants/acme/keys/{id}");
    assert_eq!(desk.read(&path).await["last_used_at"], Value::Null);

    let next = desk.post(&format!("{path}/rotate"), &json!({"overlap": "1h"})).await;
    assert_eq!(next.status, StatusCode::CREATED, "{}", next.text());
    let next = next.json();
    let new = next["key"].as_str().unwrap();
    assert_eq!((&next["principal"], &next["expires_at"]), (&json!("bot"), &Value::Null));
    assert_eq!((calls(&desk, old).await, calls(&desk, new).await), (StatusCode::OK, StatusCode::OK), "both work");
    let ends = desk.read(&path).await["expires_at"].as_str().unwrap().to_owned();
    assert!(ends.as_str() > desk.read(&path).await["created_at"].as_str().unwrap());

    // At once, where there is no time for an overlap.
    let third = desk
        .post(&format!("/tenants/acme/keys/{}/rotate", next["id"].as_str().unwrap()), &json!({"overlap": "0s"}))
        .await
        .json();
    assert_eq!(calls(&desk, new).await, StatusCode::UNAUTHORIZED);
    assert_eq!(calls(&desk, third["key"].as_str().unwrap()).await, StatusCode::OK);

    LastUses::new(desk.h.app.store.clone(), desk.h.app.registry.clone()).write().await.unwrap();
    assert!(desk.read(&path).await["last_used_at"].is_string());

    for bad in [json!({"overlap": "soon"}), json!({"overlap": "2161h"})] {
        assert_eq!(problem_paths(&desk.post(&format!("{path}/rotate"), &bad).await), ["overlap"]);
    }
    let past = json!({"expires_at": "2001-01-01T00:00:00Z"});
    assert_eq!(problem_paths(&desk.post(&format!("{path}/rotate"), &past).await), ["expires_at"]);
    desk.delete(&path).await;
    assert_eq!(desk.post(&format!("{path}/rotate"), &json!({})).await.json()["code"], "revoked");
    assert_eq!(desk.post("/tenants/acme/keys/key-none/rotate", &json!({})).await.status, StatusCode::NOT_FOUND);
    desk.h.finish().await;
}

#[tokio::test]
async fn keys_rotate_and_end_from_a_shell() {
    let desk = with_echo().await;
    let made = desk.caller("acme", "bot").await;
    let id = made["id"].as_str().unwrap();
    let ran = desk.run(&["key", "rotate", id, "--overlap", "30m"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(calls(&desk, ran.out.trim()).await, StatusCode::OK);
    let ran = desk.run(&["key", "expire", id, "--at", "2999-01-01T00:00:00Z"]).await;
    assert!(ran.code == 0 && ran.out.contains("expires 2999-01-01"), "{ran:?}");
    let ran = desk.run(&["key", "expire", id, "--at", "never"]).await;
    assert!(ran.code == 0 && ran.out.contains("expires never"), "{ran:?}");
    assert_eq!(desk.run(&["key", "expire", id, "--at", "tomorrow"]).await.code, 1);
    let ran = desk.run(&["key", "list"]).await;
    assert!(ran.out.contains("LAST USED") && ran.out.contains(id), "{ran:?}");
    desk.h.finish().await;
}

fn spec(iss: &str) -> Value {
    json!({"issuer": iss, "audiences": ["https://gw.test/a2a/acme"], "principals": {"u1": "bot"}})
}

#[tokio::test]
async fn issuers_live_and_die_like_everything_else() {
    let desk = Desk::acme().await;
    desk.make("/tenants/acme/principals", "bot", &json!({})).await;
    let document = spec("https://idp.example.com");
    lives_and_dies(&desk, "/tenants/acme/issuers", "corp", &document, |spec| spec["state"] = json!("disabled")).await;
    desk.h.finish().await;
}

#[tokio::test]
async fn every_problem_of_an_issuer_is_named_before_it_is_saved() {
    let desk = Desk::acme().await;
    desk.make("/tenants/acme/principals", "bot", &json!({})).await;
    let refused = async |spec: Value| {
        problem_paths(&desk.post("/tenants/acme/issuers", &json!({"name": "corp", "spec": spec})).await)
    };
    assert_eq!(refused(json!({})).await, ["spec.issuer", "spec.audiences", "spec.principals"]);
    let mut document = spec("https://idp.example.com");
    document["principals"] = json!({"u1": "nobody"});
    document["jwks_uri"] = json!("http://169.254.169.254/keys");
    assert_eq!(refused(document).await, ["spec.jwks_uri", "spec.principals.u1"]);
    assert_eq!(refused(spec("http://93.184.216.34")).await, ["spec.issuer"], "no plain HTTP beyond the list");
    let mut unknown = spec("https://idp.example.com");
    unknown["algorithms"] = json!(["none"]);
    assert_eq!(refused(unknown).await, ["spec.algorithms"]);
    let certificates = json!({"kind": "certificate", "principals": {"CN=bot": "bot"}, "authorities": "no PEM", "issuer": "https://x.test"});
    assert_eq!(refused(certificates).await, ["spec.issuer", "spec.authorities"]);
    desk.make("/tenants/acme/issuers", "first", &spec("https://idp.example.com")).await;
    assert_eq!(refused(spec("https://idp.example.com")).await, ["spec.audiences"], "tokens for one of two");
    desk.h.finish().await;
}

#[tokio::test]
async fn an_issuer_made_by_a_document_is_in_force_and_tells_its_keys() {
    let desk = with_echo().await;
    desk.caller("acme", "bot").await;
    let key = Key::new("k1");
    let idp = Idp::start(&Key::set(&[&key])).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("issuer.yaml");
    let write = |principals: &str| {
        let text = format!(
            "kind: Issuer\ntenant: acme\nname: corp\nspec:\n  issuer: {}\n  audiences: [\"https://gw.test/a2a/acme\"]\n  principals: {principals}\n",
            idp.iss()
        );
        std::fs::write(&file, text).unwrap();
    };
    write("{u1: bot, u2: bot}");
    let path = file.display().to_string();
    let ran = desk.run(&["apply", "-f", &path]).await;
    assert!(ran.code == 0 && ran.out.contains("+ Issuer acme/corp"), "{ran:?}");
    assert!(desk.run(&["apply", "-f", &path]).await.out.contains("= Issuer acme/corp"));
    let keys = "/tenants/acme/issuers/corp/keys";
    until("the keys were fetched", || {
        let world = desk.h.app.registry.snapshot();
        world.tenants["acme"].issuers[0].keys.usable(desk.h.now()).is_some()
    })
    .await;
    let told = desk.read(keys).await;
    assert_eq!((&told["keys"], &told["problem"]), (&json!([{"kid": "k1", "alg": "EdDSA"}]), &Value::Null));
    assert!(told["fetched_at"].is_string());
    let now = desk.h.now() / 1_000_000;
    let token = |sub: &str| {
        let claims = json!({"iss": idp.iss(), "aud": "https://gw.test/a2a/acme", "sub": sub, "exp": now + 600});
        key.token(&claims)
    };
    assert_eq!((calls(&desk, &token("u1")).await, calls(&desk, &token("u2")).await), (StatusCode::OK, StatusCode::OK));
    // A subject that the document no longer lists is nobody any more.
    write("{u1: bot}");
    assert!(desk.run(&["apply", "-f", &path]).await.out.contains("~ Issuer acme/corp: principals.u2"));
    assert_eq!(calls(&desk, &token("u1")).await, StatusCode::OK, "the keys stay");
    assert_eq!(calls(&desk, &token("u2")).await, StatusCode::UNAUTHORIZED);
    let ran = desk.run(&["issuer", "list"]).await;
    assert!(ran.out.contains("corp") && ran.out.contains(&idp.iss()), "{ran:?}");
    assert_eq!(desk.run(&["issuer", "delete", "corp"]).await.code, 0);
    assert_eq!(calls(&desk, &token("u1")).await, StatusCode::UNAUTHORIZED);

    desk.h.finish().await;
}

#[tokio::test]
async fn a_card_tells_what_its_tenant_takes() {
    let desk = with_echo().await;
    desk.make("/tenants/acme/principals", "bot", &json!({})).await;
    let schemes = async || {
        let card = desk.h.get("/a2a/acme/echo").send().await.json();
        let names = |list: &Value| -> Vec<String> {
            list.as_array().unwrap().iter().map(|one| one.as_object().unwrap().keys().next().unwrap().clone()).collect()
        };
        let old = names(&card["security"]);
        let new: Vec<Value> =
            card["securityRequirements"].as_array().unwrap().iter().map(|one| one["schemes"].clone()).collect();
        assert_eq!(old, names(&json!(new)), "both generations are told the same");
        assert_eq!(
            card["securitySchemes"].as_object().unwrap().keys().collect::<Vec<_>>(),
            old.iter().collect::<Vec<_>>()
        );
        (old, card)
    };
    let (names, card) = schemes().await;
    assert_eq!(names, ["bearer", "apiKey", "oauth2"]);
    let flow = json!({"clientCredentials": {"tokenUrl": "https://gw.test/oauth/token", "scopes": {"a2a.invoke": "Call this agent"}}});
    assert_eq!(card["securitySchemes"]["oauth2"]["flows"], flow);
    assert_eq!(card["securitySchemes"]["oauth2"]["oauth2SecurityScheme"]["flows"], flow);
    desk.make("/tenants/acme/issuers", "corp", &spec("https://idp.example.com/")).await;
    let (names, card) = schemes().await;
    assert_eq!(names, ["bearer", "apiKey", "oauth2", "openId"]);
    let url = "https://idp.example.com/.well-known/openid-configuration";
    assert_eq!(card["securitySchemes"]["openId"]["openIdConnectUrl"], url);
    assert_eq!(card["securitySchemes"]["openId"]["openIdConnectSecurityScheme"]["openIdConnectUrl"], url);
    desk.delete("/tenants/acme/issuers/corp").await;
    assert_eq!(schemes().await.0, ["bearer", "apiKey", "oauth2"]);
    desk.h.finish().await;
}

#[tokio::test]
async fn keys_of_tokens_are_made_and_retired_apart_from_those_of_cards() {
    let desk = with_echo().await;
    let keys = "/tenants/acme/signing-keys";
    let made = desk.post(keys, &json!({"purpose": "token", "state": "active"})).await.json();
    assert_eq!((&made["purpose"], &made["state"]), (&json!("token"), &json!("active")));
    let kid = made["kid"].as_str().unwrap();
    assert!(desk.h.get("/.well-known/jwks/acme").send().await.text().contains(kid));
    assert!(!desk.h.get("/.well-known/a2a-jwks/acme").send().await.text().contains(kid));
    assert_eq!(problem_paths(&desk.post(keys, &json!({"purpose": "audit"})).await), ["purpose"]);
    desk.h.finish().await;
}
