//! The API's own description says all that there is, and is nowhere else (T-ADM-4).

use chancery::admin::roles;
use http::{Method, StatusCode};
use serde_json::Value;

use super::{Desk, TOKEN};

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
