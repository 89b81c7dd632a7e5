//! The API's own description says all that there is, and is nowhere else (T-ADM-4).

use chancery::admin::roles;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::access::token;
use super::{Desk, TOKEN, card_spec};
use crate::harness::Db;

const METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::PATCH];

#[tokio::test]
async fn every_route_is_described_and_every_description_is_a_route() {
    let desk = Desk::acme().await;
    let description = desk.ask(Method::GET, "/api/openapi.json", &[], Vec::new()).await;
    assert_eq!(description.status, StatusCode::OK);
    let description = description.json();
    let paths = description["paths"].as_object().unwrap();
    assert!(paths.len() > 20, "{:?}", paths.keys());
    let token = format!("Bearer {TOKEN}");
    for (path, operations) in paths {
        let concrete = path.replace("{tenant}", "acme").replace("{name}", "ghost").replace("{id}", "key-ghost");
        // What is followed without an end is asked in a way that it refuses.
        let concrete = if path == "/api/v1/live" { format!("{concrete}?tenant=acme&nonsense=1") } else { concrete };
        for method in METHODS {
            let headers = [("authorization", token.as_str()), ("if-match", "x"), ("content-type", "application/json")];
            let answer = desk.ask(method.clone(), &concrete, &headers, b"{".to_vec()).await;
            let described = operations.get(method.as_str().to_ascii_lowercase()).is_some();
            let exists = answer.status != StatusCode::METHOD_NOT_ALLOWED;
            assert_eq!(described, exists, "{method} {path}: {}", answer.status);
            let fits = [200, 204, 400, 404, 415].contains(&answer.status.as_u16());
            assert!(!described || fits, "{method} {path}: {}", answer.text());
            if roles::need(&method, path) == roles::Need::Open {
                continue;
            }
            let without = desk.ask(method.clone(), &concrete, &[("if-match", "x")], b"{".to_vec()).await;
            assert!(!described || without.status == StatusCode::UNAUTHORIZED, "{method} {path} needs the token");
        }
    }
    desk.h.finish().await;
}

#[tokio::test]
async fn the_description_names_token_and_revisions() {
    let description = serde_json::to_value(chancery::admin::openapi()).unwrap();
    assert_eq!(description["components"]["securitySchemes"]["admin_token"]["scheme"], "bearer");
    let parameters = |path: &str, method: &str| description["paths"][path][method]["parameters"].clone();
    let if_match = |parameters: Value| {
        let all = parameters.as_array().unwrap().clone();
        all.into_iter().find(|one| one["name"] == "If-Match").map(|one| one["required"] == true)
    };
    assert_eq!(if_match(parameters("/api/v1/tenants/{tenant}/cards/{name}", "put")), Some(true));
    assert_eq!(if_match(parameters("/api/v1/tenants/{tenant}/cards/{name}", "delete")), Some(true));
    assert_eq!(if_match(parameters("/api/v1/tenants/{tenant}/cards/{name}/credential", "put")), Some(false));
    let create = &description["components"]["schemas"]["NewKeySpec"]["required"];
    assert_eq!(create, &serde_json::json!(["principal"]));
}

/// What probes and scrapes are told: names of what is a tenant's own, to administrators who may read there.
#[tokio::test]
async fn names_of_tenants_are_told_to_administrators_alone() {
    let desk = Desk::acme().await;
    desk.make("/tenants", "other", &json!({})).await;
    let url = desk.h.agents.echo_url.clone();
    desk.make("/tenants/acme/cards", "parrot", &card_spec("Echo", &url)).await;
    let metrics = &desk.h.app.metrics;
    metrics.calls.count("acme", "parrot", "send", "ok");
    metrics.calls.count("other", "owl", "send", "ok");
    desk.h.damage("UPDATE cards SET state = 'broken' WHERE tenant = 'acme'").await;
    let get = async |path: &str, bearer: &str| {
        let headers: &[(&str, &str)] = if bearer.is_empty() { &[] } else { &[("authorization", bearer)] };
        desk.ask(Method::GET, path, headers, Vec::new()).await
    };
    let mut bearers = vec![String::new(), format!("Bearer {TOKEN}")];
    for (role, tenant) in [("auditor", "*"), ("tenant_admin", "acme"), ("auditor", "other")] {
        bearers.push(format!("Bearer {}", token(&desk, json!([{"role": role, "tenant": tenant}])).await));
    }
    let [nobody, root, auditor, acme, other] = bearers.as_slice() else { panic!() };
    let sum = r#"chancery_calls_total{operation="send",outcome="ok"} 2"#;
    let named = r#"chancery_calls_total{card="parrot",operation="send",outcome="ok",tenant="acme"} 1"#;
    let open = get("/metrics", nobody).await;
    assert!(open.text().contains(sum) && open.text().contains("chancery_registry_revision"), "{}", open.text());
    for name in ["acme", "parrot", "other", "owl"] {
        assert!(!open.text().contains(&format!("\"{name}\"")), "{name}");
        assert!(!get("/readyz", nobody).await.text().contains(name), "{name}");
    }
    for bearer in [root, auditor] {
        assert!(get("/metrics", bearer).await.text().contains(named));
    }
    for bearer in [acme, other] {
        assert_eq!(get("/metrics", bearer).await.status, StatusCode::FORBIDDEN, "not all tenants are its own");
    }
    for (bearer, closed) in [(root, 1), (auditor, 1), (acme, 1), (other, 0)] {
        let ready = get("/readyz", bearer).await.json();
        assert_eq!(ready["closed"].as_array().unwrap().len(), closed, "{ready}");
        assert_eq!(ready["closed_rows"], 1);
    }
    // A wrong token is told so by both; a cookie of somebody else's is nobody's.
    for path in ["/metrics", "/readyz"] {
        assert_eq!(get(path, "Bearer chancery_admin_nonsense").await.status, StatusCode::UNAUTHORIZED, "{path}");
        let cookie = desk.ask(Method::GET, path, &[("cookie", "theme=dark")], Vec::new()).await;
        assert_eq!((cookie.status, cookie.text().contains("acme")), (StatusCode::OK, false), "{path}");
    }
    desk.h.finish().await;

    let open = Desk::open_with(Db::Sqlite, &[("CHANCERY__ADMIN__METRICS_OPEN", "true")]).await.unwrap();
    open.h.app.metrics.calls.count("acme", "parrot", "send", "ok");
    let shown = open.ask(Method::GET, "/metrics", &[], Vec::new()).await.text();
    assert!(shown.contains(named) && shown.contains(r#"chancery_relaxed_option{option="admin.metrics_open"} 1"#));
    open.h.finish().await;
}

#[tokio::test]
async fn nothing_of_the_admin_api_answers_on_the_public_listener() {
    let desk = Desk::acme().await;
    let description = serde_json::to_value(chancery::admin::openapi()).unwrap();
    let described = description["paths"].as_object().unwrap().keys().cloned();
    for path in described.chain(["/api/openapi.json", "/api", "/api/v1", "/metrics"].map(str::to_owned)) {
        let path = path.replace("{tenant}", "acme").replace("{name}", "ghost").replace("{id}", "key-ghost");
        for method in METHODS {
            let answer = desk.h.request(method.clone(), &path).bad_key(TOKEN).send().await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{method} {path}");
            assert!(!answer.text().contains("acme"));
        }
    }
    desk.h.finish().await;
}
