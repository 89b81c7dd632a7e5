//! What bounds an administrator of one tenant: what it hears of others, what of its own tenant is not its own to change,
//! and how long what it gave away lasts.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::access::{Browser, PASSWORD, set_up, sign_in, token};
use super::{Desk, card_spec, policy_spec};
use crate::harness::Answer;

/// A program with one token.
struct Program<'a> {
    desk: &'a Desk,
    bearer: String,
}

impl<'a> Program<'a> {
    async fn with(desk: &'a Desk, role: &str, tenant: &str) -> Self {
        let made = token(desk, json!([{"role": role, "tenant": tenant}])).await;
        Self { desk, bearer: format!("Bearer {made}") }
    }

    async fn send(&self, method: Method, path: &str, body: &Value, revision: i64) -> Answer {
        let revision = revision.to_string();
        let headers = [
            ("authorization", self.bearer.as_str()),
            ("content-type", "application/json"),
            ("if-match", revision.as_str()),
        ];
        self.desk.ask(method, &format!("/api/v1{path}"), &headers, body.to_string().into_bytes()).await
    }

    async fn read(&self, path: &str) -> Value {
        let answer = self.send(Method::GET, path, &json!({}), 1).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
        answer.json()
    }

    /// The names of every page, and how many each page has.
    async fn pages(&self, path: &str) -> (Vec<String>, Vec<usize>) {
        let (mut names, mut sizes, mut cursor) = (Vec::new(), Vec::new(), String::new());
        loop {
            let page = self.read(&format!("{path}?limit=2&cursor={cursor}")).await;
            let items = page["items"].as_array().unwrap();
            sizes.push(items.len());
            names.extend(items.iter().map(|item| item["name"].as_str().unwrap().to_owned()));
            let Some(next) = page["next_cursor"].as_str() else { return (names, sizes) };
            let last = &items[items.len() - 1];
            assert!(last["name"] == next || last["id"] == next, "the cursor names what was shown: {page}");
            next.clone_into(&mut cursor);
        }
    }
}

#[tokio::test]
async fn listings_and_cursors_tell_of_nothing_unseen() {
    let desk = Desk::acme().await;
    for name in ["aaa", "bbb", "ccc", "mine", "xxx", "yyy", "zzz"] {
        desk.make("/tenants", name, &json!({})).await;
    }
    let both = json!([{"role": "tenant_admin", "tenant": "acme"}, {"role": "tenant_admin", "tenant": "mine"}]);
    let program = Program { desk: &desk, bearer: format!("Bearer {}", token(&desk, both).await) };
    let auditor = Program::with(&desk, "auditor", "yyy").await;
    assert_eq!(program.pages("/tenants").await, (vec!["acme".to_owned(), "mine".to_owned()], vec![2]));
    assert_eq!(auditor.pages("/tenants").await, (vec!["yyy".to_owned()], vec![1]));
    assert_eq!(Program::with(&desk, "auditor", "*").await.pages("/tenants").await.0.len(), 8);

    for (at, tenant) in ["acme", "zzz", "zzz", "zzz", "mine", "acme", "zzz", "zzz"].into_iter().enumerate() {
        let roles = json!([{"role": "auditor", "tenant": tenant}]);
        let name = format!("{tenant}-{at}");
        let account = json!({"name": format!("n{at}-{tenant}"), "password": PASSWORD, "spec": {"roles": roles}});
        assert_eq!(desk.post("/admins", &account).await.status, StatusCode::CREATED);
        assert_eq!(desk.post("/tokens", &json!({"name": name, "roles": roles})).await.status, StatusCode::CREATED);
    }
    let (names, sizes) = program.pages("/admins").await;
    assert_eq!((names, sizes), (["n0-acme", "n4-mine", "n5-acme"].map(str::to_owned).to_vec(), vec![2, 1]));
    let (names, sizes) = program.pages("/tokens").await;
    // The first is the program's own.
    assert_eq!((names, sizes), (["test", "acme-0", "mine-4", "acme-5"].map(str::to_owned).to_vec(), vec![2, 2]));
    desk.h.finish().await;
}

#[tokio::test]
async fn closed_rows_are_shown_to_those_whose_tenant_they_are_in() {
    let desk = Desk::acme().await;
    desk.make("/tenants", "other", &json!({})).await;
    let url = desk.h.agents.echo_url.clone();
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", &url)).await;
    desk.h.damage("UPDATE cards SET state = 'broken' WHERE tenant = 'acme'").await;
    for (tenant, closed) in [("acme", 1), ("other", 0), ("*", 1)] {
        let health = Program::with(&desk, "auditor", tenant).await.read("/health").await;
        assert_eq!(health["closed"].as_array().unwrap().len(), closed, "{tenant}: {health}");
    }
    desk.h.finish().await;
}

#[tokio::test]
async fn a_tenant_stays_as_the_platform_binds_it() {
    let desk = Desk::acme().await;
    for name in ["floor", "lax"] {
        desk.make("/tenants/acme/policies", name, &policy_spec("heron")).await;
    }
    let own = Program::with(&desk, "tenant_admin", "acme").await;
    let put = async |spec: Value| {
        let revision = desk.read("/tenants/acme").await["revision"].as_i64().unwrap();
        own.send(Method::PUT, "/tenants/acme", &json!({"spec": spec}), revision).await.status
    };
    assert_eq!(put(json!({"state": "suspended"})).await, StatusCode::FORBIDDEN);
    assert_eq!(put(json!({"limits": {"per_minute": 5}})).await, StatusCode::FORBIDDEN);
    assert_eq!(put(json!({"floor_policy": "floor"})).await, StatusCode::OK, "a floor may be added");
    assert_eq!(put(json!({"floor_policy": "lax"})).await, StatusCode::FORBIDDEN);
    assert_eq!(put(json!({})).await, StatusCode::FORBIDDEN);
    assert_eq!(put(json!({"floor_policy": "floor", "display_name": "Acme"})).await, StatusCode::OK);

    let revision = desk.read("/tenants/acme").await["revision"].as_i64().unwrap();
    assert_eq!(desk.put("/tenants/acme", &json!({"state": "suspended"}), revision).await.status, StatusCode::OK);
    assert_eq!(put(json!({"state": "active"})).await, StatusCode::FORBIDDEN, "nor does it free itself");
    desk.h.finish().await;
}

#[tokio::test]
async fn tokens_end_with_their_maker_and_make_no_others() {
    let desk = Desk::acme().await;
    set_up(&desk).await;
    let roles = json!([{"role": "tenant_admin", "tenant": "acme"}]);
    let wanted = json!({"name": "ci", "roles": roles});
    let kept = Program::with(&desk, "tenant_admin", "acme").await;
    assert_eq!(kept.send(Method::POST, "/tokens", &wanted, 1).await.status, StatusCode::FORBIDDEN);
    // An account may be called as the first token is: its end takes none of that one's tokens.
    for (name, end) in [("bob", "disable"), ("eve", "delete"), ("admin", "delete")] {
        let account = json!({"name": name, "password": PASSWORD, "spec": {"roles": roles}});
        assert_eq!(desk.post("/admins", &account).await.status, StatusCode::CREATED);
        let browser = Browser::of(&sign_in(&desk, name, PASSWORD).await);
        let made = browser.send(&desk, Method::POST, "/tokens", &wanted).await;
        assert_eq!((made.status, &made.json()["made_by"]), (StatusCode::CREATED, &json!(name)), "{}", made.text());
        let made = Program { desk: &desk, bearer: format!("Bearer {}", made.json()["token"].as_str().unwrap()) };
        assert_eq!(made.read("/me").await["way"], "token");
        if end == "delete" && name != "admin" {
            assert_eq!(desk.delete(&format!("/admins/{name}")).await.status, StatusCode::NO_CONTENT);
        } else if end == "delete" {
            let path = format!("/admins/{name}");
            let ended = kept.send(Method::DELETE, &path, &json!({}), 1).await;
            assert_eq!(ended.status, StatusCode::NO_CONTENT, "{}", ended.text());
        } else {
            let spec = json!({"roles": roles, "state": "disabled"});
            assert_eq!(desk.put(&format!("/admins/{name}"), &spec, 1).await.status, StatusCode::OK);
        }
        assert_eq!(made.send(Method::GET, "/me", &json!({}), 1).await.status, StatusCode::UNAUTHORIZED, "{name}");
        assert_eq!(kept.read("/me").await["way"], "token");
    }
    desk.h.finish().await;
}

#[tokio::test]
async fn history_names_who_changed_what() {
    let desk = Desk::acme().await;
    let own = Program::with(&desk, "tenant_admin", "acme").await;
    let url = desk.h.agents.echo_url.clone();
    for (kind, name, mut spec) in
        [("policies", "words", policy_spec("heron")), ("cards", "echo", card_spec("Echo", &url))]
    {
        let made = desk.make(&format!("/tenants/acme/{kind}"), name, &spec).await;
        if kind == "cards" {
            spec["card"]["version"] = json!("9");
        } else {
            spec["detectors"][0]["action"] = json!("redact");
        }
        let (path, revision) = (format!("/tenants/acme/{kind}/{name}"), made["revision"].as_i64().unwrap());
        let changed = own.send(Method::PUT, &path, &json!({"spec": spec}), revision).await;
        assert_eq!(changed.status, StatusCode::OK, "{}", changed.text());
        let history = desk.read(&format!("{path}/history")).await;
        let by: Vec<_> = history["items"].as_array().unwrap().iter().map(|one| &one["changed_by"]).collect();
        assert_eq!(by, ["test", "admin"], "{kind}");
    }
    desk.h.finish().await;
}
