//! Tenants: references that must hold, suspension, and what goes with a principal.

use http::{Method, StatusCode};
use serde_json::json;

use super::{Desk, card_spec, policy_spec, problem_paths};

#[tokio::test]
async fn references_of_a_tenant_are_checked_both_ways() {
    let desk = Desk::acme().await;
    let early = json!({"name": "early", "spec": {"floor_policy": "words"}});
    assert_eq!(problem_paths(&desk.post("/tenants", &early).await), ["spec.floor_policy"]);
    let revision = desk.read("/tenants/acme").await["revision"].as_i64().unwrap();
    let references = json!({"floor_policy": "floor", "default_policy": "usual", "default_card": "echo"});
    let mut missing = problem_paths(&desk.put("/tenants/acme", &references, revision).await);
    missing.sort();
    assert_eq!(missing, ["spec.default_card", "spec.default_policy", "spec.floor_policy"]);

    for name in ["floor", "usual", "of-a-card"] {
        desk.make("/tenants/acme/policies", name, &policy_spec("heron")).await;
    }
    let mut card = card_spec("Echo", "http://127.0.0.1:9");
    card["policy"] = json!("of-a-card");
    desk.make("/tenants/acme/cards", "echo", &card).await;
    let set = desk.put("/tenants/acme", &references, revision).await;
    assert_eq!((set.status, &set.json()["spec"]["floor_policy"]), (StatusCode::OK, &json!("floor")), "{}", set.text());
    for (policy, user) in [("floor", "tenant's floor"), ("usual", "tenant's default"), ("of-a-card", "card echo")] {
        let refused = desk.delete(&format!("/tenants/acme/policies/{policy}")).await;
        assert_eq!((refused.status, &refused.json()["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("in_use")));
        assert!(refused.text().contains(user), "{}", refused.text());
    }
    desk.put("/tenants/acme", &json!({}), set.json()["revision"].as_i64().unwrap()).await;
    assert_eq!(desk.delete("/tenants/acme/policies/floor").await.status, StatusCode::NO_CONTENT);
    desk.h.finish().await;
}

#[tokio::test]
async fn suspended_tenant_looks_missing() {
    let desk = Desk::acme().await;
    let echo = desk.h.agents.echo_url.clone();
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", &echo)).await;
    let key = desk.caller("acme", "bot").await["key"].as_str().unwrap().to_owned();
    let revision = desk.read("/tenants/acme").await["revision"].as_i64().unwrap();
    let suspended = desk.put("/tenants/acme", &json!({"state": "suspended"}), revision).await;
    assert_eq!(suspended.status, StatusCode::OK, "{}", suspended.text());
    for path in ["/.well-known/agent-card/acme/echo", "/.well-known/a2a-jwks/acme", "/a2a/acme", "/a2a/acme/echo"] {
        let (there, never) = (desk.h.get(path), desk.h.get(&path.replace("acme", "nobody")));
        let (there, never) = (there.send().await, never.send().await);
        assert_eq!((there.status, there.status), (StatusCode::NOT_FOUND, never.status), "{path}");
    }
    let call = desk.h.get("/a2a/acme/echo/tasks").header("a2a-version", "1.0").bad_key(&key).send().await;
    assert_eq!(call.status, StatusCode::UNAUTHORIZED);
    let sign = desk.post("/tenants/acme/cards/echo/sign", &json!({})).await;
    assert_eq!(sign.json()["code"], "tenant_suspended");
    let active = desk.put("/tenants/acme", &json!({}), suspended.json()["revision"].as_i64().unwrap()).await;
    assert_eq!(active.json()["spec"]["state"], "active");
    let call = desk.h.get("/a2a/acme/echo/tasks").header("a2a-version", "1.0").key(&key).send().await;
    assert_eq!(call.status, StatusCode::OK, "{}", call.text());
    desk.h.finish().await;
}

#[tokio::test]
async fn principal_takes_its_keys_and_grants_along() {
    let desk = Desk::acme().await;
    let echo = desk.h.agents.echo_url.clone();
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", &echo)).await;
    let made = desk.caller("acme", "bot").await;
    let key = made["key"].as_str().unwrap();
    // Disabled, its key is refused; enabled again, it works.
    let principal = desk.read("/tenants/acme/principals/bot").await;
    let revision = principal["revision"].as_i64().unwrap();
    let kind = desk.put("/tenants/acme/principals/bot", &json!({"kind": "user"}), revision).await;
    assert_eq!(problem_paths(&kind), ["spec.kind"]);
    let disabled = json!({"state": "disabled"});
    let disabled = desk.put("/tenants/acme/principals/bot", &disabled, principal["revision"].as_i64().unwrap()).await;
    let list = || desk.h.get("/a2a/acme/echo/tasks").header("a2a-version", "1.0");
    assert_eq!(list().bad_key(key).send().await.status, StatusCode::UNAUTHORIZED);
    desk.put("/tenants/acme/principals/bot", &json!({}), disabled.json()["revision"].as_i64().unwrap()).await;
    assert_eq!(list().key(key).send().await.status, StatusCode::OK);

    let mut bound = card_spec("Echo", &echo);
    bound["bound_principal"] = json!("bot");
    let card = desk.read("/tenants/acme/cards/echo").await;
    let bound = desk.put("/tenants/acme/cards/echo", &bound, card["revision"].as_i64().unwrap()).await;
    assert_eq!(bound.status, StatusCode::OK, "{}", bound.text());
    let refused = desk.delete("/tenants/acme/principals/bot").await;
    assert!(refused.json()["code"] == "in_use" && refused.text().contains("card echo"), "{}", refused.text());
    let free = card_spec("Echo", &echo);
    desk.put("/tenants/acme/cards/echo", &free, bound.json()["revision"].as_i64().unwrap()).await;

    assert_eq!(desk.delete("/tenants/acme/principals/bot").await.status, StatusCode::NO_CONTENT);
    assert_eq!(list().bad_key(key).send().await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(desk.read("/tenants/acme/grants").await["items"], json!([]));
    let key = desk.read(&format!("/tenants/acme/keys/{}", made["id"].as_str().unwrap())).await;
    assert!(key["revoked_at"].is_string(), "{key}");
    desk.h.finish().await;
}

#[tokio::test]
async fn grants_stay_with_their_principal_and_removed_tenants_stay_gone() {
    let desk = Desk::acme().await;
    desk.caller("acme", "bot").await;
    desk.make("/tenants/acme/principals", "other", &json!({})).await;
    let grant = desk.read("/tenants/acme/grants/bot").await;
    let mut given = grant["spec"].clone();
    given["principal"] = json!("other");
    let refused = desk.put("/tenants/acme/grants/bot", &given, grant["revision"].as_i64().unwrap()).await;
    assert_eq!(problem_paths(&refused), ["spec.principal"]);
    assert_eq!(desk.delete("/tenants/acme").await.status, StatusCode::NO_CONTENT);
    for path in ["/tenants/acme", "/tenants/acme/cards", "/tenants/acme/keys", "/audit?tenant=acme"] {
        assert_eq!(desk.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    let again = desk.send(Method::POST, "/tenants", Some(&json!({"name": "acme", "spec": {}})), None).await;
    assert_eq!(again.status, StatusCode::CONFLICT, "a tenant's name is never given again");
    desk.h.finish().await;
}
