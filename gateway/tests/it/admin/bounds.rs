//! What bounds an administrator of one tenant: what it hears of others, what of its own tenant is not its own to change,
//! and how long what it gave away lasts.

use chancery::admin::roles::{Act, Need, RULES};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::access::{Browser, PASSWORD, set_up, sign_in, token};
use super::{Desk, card_spec, policy_spec};
use crate::harness::{Answer, Db};

/// A program with one token.
pub(super) struct Program<'a> {
    pub(super) desk: &'a Desk,
    pub(super) bearer: String,
}

impl<'a> Program<'a> {
    async fn with(desk: &'a Desk, role: &str, tenant: &str) -> Self {
        let made = token(desk, json!([{"role": role, "tenant": tenant}])).await;
        Self { desk, bearer: format!("Bearer {made}") }
    }

    pub(super) async fn send(&self, method: Method, path: &str, body: &Value, revision: i64) -> Answer {
        let revision = revision.to_string();
        let headers = [
            ("authorization", self.bearer.as_str()),
            ("content-type", "application/json"),
            ("if-match", revision.as_str()),
        ];
        self.desk.ask(method, &format!("/api/v1{path}"), &headers, body.to_string().into_bytes()).await
    }

    pub(super) async fn read(&self, path: &str) -> Value {
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
async fn the_floor_is_read_and_not_changed_by_those_whom_it_binds() {
    let desk = Desk::acme().await;
    for name in ["floor", "own"] {
        desk.make("/tenants/acme/policies", name, &policy_spec("heron")).await;
    }
    let revision = desk.read("/tenants/acme").await["revision"].as_i64().unwrap();
    let named = desk.put("/tenants/acme", &json!({"floor_policy": "floor"}), revision).await;
    assert_eq!(named.status, StatusCode::OK);
    let own = Program::with(&desk, "tenant_admin", "acme").await;
    let weaker = json!({"spec": policy_spec("nothing that anybody says")});
    for name in ["floor", "own"] {
        let path = format!("/tenants/acme/policies/{name}");
        let before = own.read(&path).await;
        let revision = before["revision"].as_i64().unwrap();
        let expected = |fine: StatusCode| if name == "floor" { StatusCode::FORBIDDEN } else { fine };
        let changed = own.send(Method::PUT, &path, &weaker, revision).await;
        assert_eq!(changed.status, expected(StatusCode::OK), "{name}: {}", changed.text());
        let now = own.read(&path).await;
        assert_eq!(now["spec"] == before["spec"], name == "floor");
        assert_eq!(
            own.read(&format!("{path}/history")).await["items"].as_array().unwrap().len(),
            if name == "floor" { 1 } else { 2 }
        );
        let removed = own.send(Method::DELETE, &path, &json!({}), now["revision"].as_i64().unwrap()).await;
        assert_eq!(removed.status, expected(StatusCode::NO_CONTENT), "{name}: {}", removed.text());
    }
    // The platform changes it, and what it is no longer is the tenant's again.
    let floor = desk.read("/tenants/acme/policies/floor").await["revision"].as_i64().unwrap();
    let changed = desk.put("/tenants/acme/policies/floor", &policy_spec("egret"), floor).await;
    assert_eq!(changed.status, StatusCode::OK);
    let revision = desk.read("/tenants/acme").await["revision"].as_i64().unwrap();
    assert_eq!(desk.put("/tenants/acme", &json!({}), revision).await.status, StatusCode::OK);
    let changed = own
        .send(Method::PUT, "/tenants/acme/policies/floor", &weaker, changed.json()["revision"].as_i64().unwrap())
        .await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text());
    desk.h.finish().await;
}

/// By construction: whatever the API lets one do to a policy by its name changes no floor.
#[tokio::test]
async fn no_operation_of_a_tenants_administrator_changes_its_floor() {
    let desk = Desk::acme().await;
    let made = desk.make("/tenants/acme/policies", "floor", &policy_spec("heron")).await;
    let changed =
        desk.put("/tenants/acme/policies/floor", &policy_spec("egret"), made["revision"].as_i64().unwrap()).await;
    assert_eq!(changed.status, StatusCode::OK);
    let tenant = desk.read("/tenants/acme").await["revision"].as_i64().unwrap();
    assert_eq!(desk.put("/tenants/acme", &json!({"floor_policy": "floor"}), tenant).await.status, StatusCode::OK);
    let before =
        (desk.read("/tenants/acme/policies/floor").await, desk.read("/tenants/acme/policies/floor/history").await);
    let own = Program::with(&desk, "tenant_admin", "acme").await;
    let mut tried = 0;
    for (method, path, need) in RULES.iter().filter(|(_, path, _)| path.contains("/policies/{name}")) {
        if *need == Need::Tenant(Act::Read) {
            continue;
        }
        let path = path.replace("/api/v1", "").replace("{tenant}", "acme").replace("{name}", "floor");
        for body in [json!({"spec": policy_spec("crane")}), json!({"version": 1}), json!({"revision": 1}), json!({})] {
            let answer = own.send(method.parse().unwrap(), &path, &body, before.0["revision"].as_i64().unwrap()).await;
            assert!(!answer.status.is_success(), "{method} {path}: {}", answer.text());
            tried += usize::from(answer.status == StatusCode::FORBIDDEN);
        }
        let now =
            (desk.read("/tenants/acme/policies/floor").await, desk.read("/tenants/acme/policies/floor/history").await);
        assert_eq!(before, now, "{method} {path}");
    }
    assert!(tried >= 2, "{tried}");
    desk.h.finish().await;
}

async fn what_an_account_loses_its_sessions_and_tokens_lose_at_once(db: Db) {
    let Some(desk) = Desk::open_with(db, &[]).await else { return };
    for tenant in ["acme", "other"] {
        desk.make("/tenants", tenant, &json!({})).await;
    }
    let role = |role: &str, tenant: &str| json!({"role": role, "tenant": tenant});
    let both = json!([role("tenant_admin", "acme"), role("tenant_admin", "other")]);
    let account = json!({"name": "bob", "password": PASSWORD, "spec": {"roles": both}});
    assert_eq!(desk.post("/admins", &account).await.status, StatusCode::CREATED);
    let browser = Browser::of(&sign_in(&desk, "bob", PASSWORD).await);
    let made = browser.send(&desk, Method::POST, "/tokens", &json!({"name": "ci", "roles": both})).await;
    let program = Program { desk: &desk, bearer: format!("Bearer {}", made.json()["token"].as_str().unwrap()) };
    let make = async |name: &str, tenant: &str| {
        let (path, body) = (format!("/tenants/{tenant}/principals"), json!({"name": name, "spec": {}}));
        let by_session = browser.send(&desk, Method::POST, &path, &body).await.status;
        let body = json!({"name": format!("{name}-by-token"), "spec": {}});
        (by_session, program.send(Method::POST, &path, &body, 1).await.status)
    };
    let change = async |spec: Value| {
        let revision = desk.read("/admins/bob").await["revision"].as_i64().unwrap();
        let changed = desk.put("/admins/bob", &spec, revision).await;
        assert_eq!(changed.status, StatusCode::OK, "{}", changed.text());
    };
    let all = |status: StatusCode| (status, status);
    assert_eq!(make("a", "acme").await, all(StatusCode::CREATED));
    assert_eq!(make("a", "other").await, all(StatusCode::CREATED));
    // A lesser role in one tenant, none in the other.
    change(json!({"roles": [role("auditor", "acme")]})).await;
    assert_eq!(make("b", "acme").await, all(StatusCode::FORBIDDEN));
    assert_eq!(make("b", "other").await, all(StatusCode::NOT_FOUND));
    assert_eq!(program.send(Method::GET, "/tokens", &json!({}), 1).await.status, StatusCode::FORBIDDEN);
    assert_eq!(program.read("/me").await["roles"], json!([role("auditor", "acme")]));
    assert_eq!(program.read("/tenants").await["items"].as_array().unwrap().len(), 1);
    // More for the account is no more for the token than it was made with.
    change(json!({"roles": [role("platform_admin", "*")]})).await;
    assert_eq!(program.read("/me").await["roles"], both);
    // A password that somebody else sets takes everything that was opened with the old one.
    let reset = json!({"password": "a wholly different phrase"});
    let reset = desk.send(Method::PUT, "/admins/bob/password", Some(&reset), None).await;
    assert_eq!(reset.status, StatusCode::NO_CONTENT, "{}", reset.text());
    assert_eq!(make("c", "acme").await, all(StatusCode::UNAUTHORIZED));
    assert!(desk.read("/tokens").await["items"][0]["revoked_at"].is_string());
    desk.h.finish().await;
}

#[tokio::test]
async fn what_an_account_loses_its_sessions_and_tokens_lose_at_once_on_sqlite() {
    what_an_account_loses_its_sessions_and_tokens_lose_at_once(Db::Sqlite).await;
}

#[tokio::test]
async fn what_an_account_loses_its_sessions_and_tokens_lose_at_once_on_postgres() {
    what_an_account_loses_its_sessions_and_tokens_lose_at_once(Db::Postgres).await;
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
