//! The trail of changes: every write leaves its row, with who and which revision, and no refusal goes unseen; a tenant's
//! rows are its own; nothing that was written is in it.

use std::collections::BTreeSet;

use chancery::admin::roles::{Act, Need, RULES};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::access::{Browser, PASSWORD, set_up, token};
use super::{Desk, card_spec, policy_spec, problem_paths};
use crate::harness::Db;

const CANARY: &str = "canary-secret-of-the-agent";

/// A desk that does one write after another and looks each up in the trail.
struct Clerk {
    desk: Desk,
    browser: Browser,
    done: BTreeSet<(String, String)>,
}

impl Clerk {
    /// Does one write and gives its answer; its newest row must be of this kind and action, with the revision that a thing
    /// at `at` had and has.
    async fn does(&mut self, (method, route): (&str, &str), path: &str, body: Value, told: (&str, &str)) -> Value {
        let before = self.desk.read("/changes?limit=500").await["items"].as_array().unwrap().len();
        let at = path.strip_suffix("/credential").or_else(|| path.strip_suffix("/version")).unwrap_or(path);
        let now = self.desk.get(at).await;
        let revision = if now.status == StatusCode::OK { now.json()["revision"].as_i64() } else { None };
        let verb: Method = method.parse().unwrap();
        let answer = match route {
            "/api/v1/me/password" => self.browser.send(&self.desk, verb, path, &body).await,
            _ => self.desk.send(verb, path, Some(&body), revision).await,
        };
        assert!(answer.status.is_success(), "{method} {path}: {}", answer.text());
        let rows = self.desk.read("/changes?limit=500").await["items"].clone();
        let fresh = rows.as_array().unwrap().len() - before;
        let mine = |row: &&Value| row["kind"] == told.0 && row["action"] == told.1 && row["outcome"] == "done";
        let row = rows.as_array().unwrap().iter().take(fresh).find(mine);
        let row = row.unwrap_or_else(|| panic!("{method} {path} left no row: {rows}"));
        let actor = if route == "/api/v1/me/password" { ("ada", "session") } else { ("admin", "bootstrap") };
        assert_eq!((row["actor"].as_str().unwrap(), row["way"].as_str().unwrap()), actor, "{row}");
        assert_eq!((&row["role"], &row["source"]), (&json!("platform_admin"), &json!("127.0.0.1")), "{row}");
        if let (Some(revision), "PUT" | "DELETE") = (revision, method) {
            assert_eq!(row["revision_before"], revision, "{row}");
        }
        assert!(!row["name"].as_str().unwrap().is_empty(), "{row}");
        self.done.insert((method.to_owned(), route.to_owned()));
        if answer.body.is_empty() { Value::Null } else { answer.json() }
    }

    async fn tenant_and_people(&mut self) {
        let (tenants, tenant) = ("/api/v1/tenants", "/api/v1/tenants/{tenant}");
        self.does(("POST", tenants), "/tenants", json!({"name": "acme", "spec": {}}), ("tenant", "create")).await;
        let spec = json!({"spec": {"display_name": "Acme"}});
        self.does(("PUT", tenant), "/tenants/acme", spec, ("tenant", "update")).await;
        let at = |rest: &str| format!("{tenant}{rest}");
        let bot = json!({"name": "bot", "spec": {}});
        let principals = "/tenants/acme/principals";
        self.does(("POST", &at("/principals")), principals, bot, ("principal", "create")).await;
        let spec = json!({"spec": {"state": "active"}});
        let path = format!("{principals}/bot");
        self.does(("PUT", &at("/principals/{name}")), &path, spec, ("principal", "update")).await;
        let spec = json!({"principal": "bot", "cards": ["*"], "operations": ["*"]});
        let grant = json!({"name": "all", "spec": spec});
        self.does(("POST", &at("/grants")), "/tenants/acme/grants", grant, ("grant", "create")).await;
        let path = "/tenants/acme/grants/all";
        self.does(("PUT", &at("/grants/{name}")), path, json!({"spec": spec}), ("grant", "update")).await;
        self.does(("DELETE", &at("/grants/{name}")), path, json!({}), ("grant", "delete")).await;
        let key = json!({"principal": "bot"});
        let made = self.does(("POST", &at("/keys")), "/tenants/acme/keys", key, ("key", "create")).await;
        let path = format!("/tenants/acme/keys/{}", made["id"].as_str().unwrap());
        let never = json!({"expires_at": null});
        self.does(("PUT", &at("/keys/{id}")), &path, never, ("key", "update")).await;
        let rotate = format!("{path}/rotate");
        self.does(("POST", &at("/keys/{id}/rotate")), &rotate, json!({}), ("key", "rotate")).await;
        self.does(("DELETE", &at("/keys/{id}")), &path, json!({}), ("key", "revoke")).await;
        let issuers = "/tenants/acme/issuers";
        let spec = json!({"kind": "certificate", "principals": {"CN=bot,O=Acme": "bot"}});
        let issuer = json!({"name": "certs", "spec": spec});
        self.does(("POST", &at("/issuers")), issuers, issuer, ("issuer", "create")).await;
        let path = format!("{issuers}/certs");
        self.does(("PUT", &at("/issuers/{name}")), &path, json!({"spec": spec}), ("issuer", "update")).await;
        self.does(("DELETE", &at("/issuers/{name}")), &path, json!({}), ("issuer", "delete")).await;
        let path = format!("{principals}/bot");
        self.does(("DELETE", &at("/principals/{name}")), &path, json!({}), ("principal", "delete")).await;
    }

    async fn documents(&mut self) {
        let at = |rest: &str| format!("/api/v1/tenants/{{tenant}}{rest}");
        let policies = "/tenants/acme/policies";
        let policy = json!({"name": "words", "spec": policy_spec("heron")});
        self.does(("POST", &at("/policies")), policies, policy, ("policy", "create")).await;
        let path = format!("{policies}/words");
        let spec = json!({"spec": policy_spec("stork")});
        self.does(("PUT", &at("/policies/{name}")), &path, spec, ("policy", "update")).await;
        let version = format!("{path}/version");
        let first = json!({"version": 1});
        self.does(("PUT", &at("/policies/{name}/version")), &version, first, ("policy", "restore")).await;
        self.does(("DELETE", &at("/policies/{name}")), &path, json!({}), ("policy", "delete")).await;
        let keys = "/tenants/acme/signing-keys";
        let made = self.does(("POST", &at("/signing-keys")), keys, json!({}), ("signing_key", "create")).await;
        let path = format!("{keys}/{}", made["id"].as_str().unwrap());
        let gone = json!({"state": "gone"});
        self.does(("PUT", &at("/signing-keys/{id}")), &path, gone, ("signing_key", "update")).await;
        let echo = self.desk.h.agents.echo_url.clone();
        let cards = "/tenants/acme/cards";
        let mut spec = card_spec("Echo", &echo);
        let card = json!({"name": "echo", "spec": spec});
        self.does(("POST", &at("/cards")), cards, card, ("card", "create")).await;
        let path = format!("{cards}/echo");
        spec["card"]["version"] = json!("9");
        self.does(("PUT", &at("/cards/{name}")), &path, json!({"spec": spec}), ("card", "update")).await;
        let (version, first) = (format!("{path}/version"), json!({"version": 1}));
        self.does(("PUT", &at("/cards/{name}/version")), &version, first, ("card", "restore")).await;
        let credential = json!({"type": "bearer", "token": CANARY});
        let place = format!("{path}/credential");
        self.does(("PUT", &at("/cards/{name}/credential")), &place, credential, ("card", "credential")).await;
        let state = json!({"state": "disabled"});
        self.does(("POST", &at("/cards/{name}/state")), &format!("{path}/state"), state, ("card", "state")).await;
        self.does(("DELETE", &at("/cards/{name}")), &path, json!({}), ("card", "delete")).await;
        let import = json!({"url": echo, "name": "fetched"});
        self.does(("POST", &at("/cards/import")), &format!("{cards}/import"), import, ("card", "import")).await;
    }

    #[cfg(feature = "cedar")]
    async fn conditions(&mut self) {
        let at = |rest: &str| format!("/api/v1/tenants/{{tenant}}/conditions{rest}");
        let spec = |operation: &str| json!({"policies": format!("@id(\"a\") forbid(principal, action == Action::\"{operation}\", resource);")});
        let (all, path) = ("/tenants/acme/conditions", "/tenants/acme/conditions/house");
        let house = json!({"name": "house", "spec": spec("list")});
        self.does(("POST", &at("")), all, house, ("conditions", "create")).await;
        let next = json!({"spec": spec("send")});
        self.does(("PUT", &at("/{name}")), path, next, ("conditions", "update")).await;
        let version = format!("{path}/version");
        self.does(("PUT", &at("/{name}/version")), &version, json!({"version": 1}), ("conditions", "restore")).await;
        self.does(("DELETE", &at("/{name}")), path, json!({}), ("conditions", "delete")).await;
    }

    async fn accounts(&mut self) {
        let (admins, admin) = ("/api/v1/admins", "/api/v1/admins/{name}");
        let spec = json!({"roles": [{"role": "auditor", "tenant": "acme"}]});
        let bob = json!({"name": "bob", "password": PASSWORD, "spec": spec});
        self.does(("POST", admins), "/admins", bob, ("admin", "create")).await;
        self.does(("PUT", admin), "/admins/bob", json!({"spec": spec}), ("admin", "update")).await;
        let password = json!({"password": "another long password"});
        let path = "/admins/bob/password";
        self.does(("PUT", "/api/v1/admins/{name}/password"), path, password, ("admin", "password")).await;
        self.does(("DELETE", admin), "/admins/bob", json!({}), ("admin", "delete")).await;
        let own = json!({"current": PASSWORD, "password": "yet another password"});
        self.does(("PUT", "/api/v1/me/password"), "/me/password", own, ("admin", "password")).await;
        let ci = json!({"name": "ci", "roles": [{"role": "auditor", "tenant": "acme"}]});
        let made = self.does(("POST", "/api/v1/tokens"), "/tokens", ci, ("token", "create")).await;
        let path = format!("/tokens/{}", made["id"].as_str().unwrap());
        self.does(("DELETE", "/api/v1/tokens/{id}"), &path, json!({}), ("token", "revoke")).await;
        let trail = self.desk.get("/changes?limit=500").await.text();
        assert!(!trail.contains(made["token"].as_str().unwrap()) && !trail.contains("another"), "{trail}");
    }
}

async fn every_write_leaves_its_row(db: Db) {
    let Some(desk) = Desk::open_with(db, &[]).await else { return };
    let browser = set_up(&desk).await;
    let first = desk.read("/changes").await["items"][0].clone();
    assert_eq!(
        (&first["kind"], &first["name"], &first["actor"], &first["way"]),
        (&json!("admin"), &json!("ada"), &json!("(set-up link)"), &json!("setup"))
    );
    let mut clerk = Clerk { desk, browser, done: BTreeSet::new() };
    clerk.tenant_and_people().await;
    clerk.documents().await;
    #[cfg(feature = "cedar")]
    clerk.conditions().await;
    clerk.accounts().await;
    let removed = ("DELETE", "/api/v1/tenants/{tenant}");
    clerk.does(removed, "/tenants/acme", json!({}), ("tenant", "delete")).await;

    // Whatever the table of roles calls a write was done above, or is no change of anything: a sign-in, a try.
    let is_write = |(method, path, need): &&(&str, &str, Need)| {
        let quiet = path.ends_with("/try") || path.ends_with("/session") || path.ends_with("/setup");
        let cedar = cfg!(feature = "cedar") || !path.contains("/conditions");
        *method != "GET" && *need != Need::Tenant(Act::Read) && !quiet && cedar
    };
    let writes: BTreeSet<_> =
        RULES.iter().filter(is_write).map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned())).collect();
    assert_eq!(writes.difference(&clerk.done).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
    let trail = clerk.desk.get("/changes?limit=500").await.text();
    assert!(!trail.contains(CANARY) && !trail.contains(PASSWORD), "{trail}");
    // What was of a removed tenant is still told to the platform.
    let of_acme = clerk.desk.read("/changes?tenant=acme&kind=tenant").await;
    let actions: Vec<_> = of_acme["items"].as_array().unwrap().iter().map(|row| row["action"].clone()).collect();
    assert_eq!(actions, ["delete", "update", "create"]);
    clerk.desk.h.finish().await;
}

#[tokio::test]
async fn every_write_leaves_its_row_on_sqlite() {
    every_write_leaves_its_row(Db::Sqlite).await;
}

#[tokio::test]
async fn every_write_leaves_its_row_on_postgres() {
    every_write_leaves_its_row(Db::Postgres).await;
}

#[tokio::test]
async fn what_was_refused_is_told_where_it_belongs() {
    let desk = Desk::acme().await;
    desk.make("/tenants", "other", &json!({})).await;
    desk.make("/tenants/acme/policies", "words", &policy_spec("heron")).await;
    let auditor = format!("Bearer {}", token(&desk, json!([{"role": "auditor", "tenant": "acme"}])).await);
    let as_auditor = async |method: Method, path: &str| {
        let headers = [("authorization", auditor.as_str()), ("content-type", "application/json"), ("if-match", "1")];
        desk.ask(method, &format!("/api/v1{path}"), &headers, b"{}".to_vec()).await
    };
    // By the role, by the tenant, by the revision, by what was sent; questions and tries are no changes.
    assert_eq!(as_auditor(Method::DELETE, "/tenants/acme/policies/words").await.status, StatusCode::FORBIDDEN);
    assert_eq!(as_auditor(Method::DELETE, "/tenants/other/policies/words").await.status, StatusCode::NOT_FOUND);
    assert_eq!(as_auditor(Method::POST, "/tenants/acme/cards/ghost/try").await.status, StatusCode::FORBIDDEN);
    as_auditor(Method::POST, "/tenants/acme/authz/check").await;
    assert_eq!(desk.put("/tenants/acme/policies/words", &policy_spec("x"), 1).await.status.as_u16(), 412);
    let bad = desk.post("/tenants/acme/policies", &json!({"name": "p", "spec": {"x": CANARY}})).await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);

    let seen = as_auditor(Method::GET, "/tenants/acme/changes?outcome=refused").await.json();
    let short = |row: &Value| {
        let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        format!("{} {} {} {} by {}", word("action"), word("kind"), word("name"), word("code"), word("actor"))
    };
    let refused: Vec<String> = seen["items"].as_array().unwrap().iter().map(short).collect();
    assert_eq!(
        refused,
        [
            "create policy  invalid by admin",
            "update policy words revision_conflict by admin",
            "delete policy words forbidden by test",
        ]
    );
    // Another tenant does not hear who knocked; the platform does.
    assert_eq!(desk.read("/tenants/other/changes?outcome=refused").await["items"], json!([]));
    let all = desk.read("/changes?outcome=refused&actor=test").await;
    let all: Vec<String> = all["items"].as_array().unwrap().iter().map(short).collect();
    assert_eq!(all, ["delete policy other/words not_found by test", "delete policy words forbidden by test"]);
    assert!(!desk.get("/changes?limit=500").await.text().contains(CANARY));
    desk.h.finish().await;
}

#[tokio::test]
async fn changes_are_found_by_filter_and_page_and_from_a_shell() {
    let desk = Desk::acme().await;
    for name in ["p1", "p2", "p3"] {
        desk.make("/tenants/acme/principals", name, &json!({})).await;
    }
    let count = async |query: &str| {
        desk.read(&format!("/tenants/acme/changes?{query}")).await["items"].as_array().unwrap().len()
    };
    assert_eq!(count("kind=principal").await, 3);
    assert_eq!(count("kind=principal&name=p2&action=create&actor=admin&outcome=done").await, 1);
    assert_eq!(count("from=2001-01-01T00:00:00Z&kind=tenant").await, 1);
    assert_eq!(count("until=2001-01-01T00:00:00Z").await, 0);
    assert_eq!(count("code=forbidden").await, 0);
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = desk.read(&format!("/tenants/acme/changes?kind=principal&limit=2&cursor={cursor}")).await;
        names.extend(page["items"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => break,
        }
    }
    assert_eq!(names, ["p3", "p2", "p1"]);
    for (query, path) in [
        ("outcome=maybe", "outcome"),
        ("from=soon", "from"),
        ("cursor=x", "cursor"),
        ("cursor=MSAyICAA", "cursor"),
        ("limit=0", "limit"),
    ] {
        assert_eq!(problem_paths(&desk.get(&format!("/tenants/acme/changes?{query}")).await), [path]);
    }
    assert_eq!(problem_paths(&desk.get("/tenants/acme/changes?tenant=other").await), ["tenant"]);

    let ran = desk.run(&["changes", "--kind", "principal", "--limit", "2"]).await;
    assert!(ran.code == 0 && ran.out.contains("p3") && !ran.out.contains("p1"), "{ran:?}");
    assert!(ran.err.contains("--cursor"), "{ran:?}");
    let ran = desk.run(&["changes", "--everywhere", "--json"]).await;
    let rows: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(rows[0]["name"], "p3", "{ran:?}");
    assert_eq!(desk.run(&["changes", "--refused"]).await.code, 0);
    desk.h.finish().await;
}
