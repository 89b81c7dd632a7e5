//! The admin API over HTTP: a gateway with an administrator at its desk, and what all resources have in common.

mod access;
mod bounds;
mod cards;
mod changes;
mod description;
mod identity;
mod keys;
mod live;
mod records;
mod sso;
mod states;
mod tenants;

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use chancery::clock::Clock;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Answer, DEADLINE, Db, Harness, document};

/// The admin token of every desk.
pub(crate) const TOKEN: &str = "admin-token-of-the-tests-0123456789abcdef";

/// A gateway and its admin API.
pub(crate) struct Desk {
    pub(crate) h: Harness,
    pub(crate) token_file: PathBuf,
    http: reqwest::Client,
    _folder: tempfile::TempDir,
}

impl Desk {
    /// On SQLite, without any tenant.
    pub(crate) async fn open() -> Self {
        Self::open_with(Db::Sqlite, &[]).await.unwrap()
    }

    /// `None` when the database is not to be had.
    pub(crate) async fn open_with(db: Db, settings: &[(&str, &str)]) -> Option<Self> {
        Self::open_at(db, Clock::System, settings).await
    }

    /// With a clock of the test's own.
    pub(crate) async fn open_at(db: Db, clock: Clock, settings: &[(&str, &str)]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let token_file = folder.path().join("admin.token");
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&token_file).unwrap();
        std::io::Write::write_all(&mut file, TOKEN.as_bytes()).unwrap();
        let path = token_file.display().to_string();
        let settings = [&[("CHANCERY__ADMIN__TOKEN_FILE", path.as_str())], settings].concat();
        let h = Harness::start_with(db, clock, &settings).await?;
        let http = reqwest::Client::builder().no_proxy().timeout(DEADLINE).build().unwrap();
        Some(Self { h, token_file, http, _folder: folder })
    }

    /// A desk with tenant `acme`.
    pub(crate) async fn acme() -> Self {
        let desk = Self::open().await;
        desk.make("/tenants", "acme", &json!({})).await;
        desk
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.h.admin)
    }

    /// Any request to the admin listener, with these headers alone.
    pub(crate) async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        let mut request = self.http.request(method, format!("{}{path}", self.url())).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        let (status, headers): (StatusCode, HeaderMap) = (response.status(), response.headers().clone());
        Answer { status, headers, body: response.bytes().await.unwrap().to_vec() }
    }

    /// A request below `/api/v1` with the token; `revision` becomes `If-Match`.
    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<&Value>, revision: Option<i64>) -> Answer {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.send_text(method, path, &body, revision).await
    }

    pub(crate) async fn send_text(&self, method: Method, path: &str, body: &str, revision: Option<i64>) -> Answer {
        let (token, revision) = (format!("Bearer {TOKEN}"), revision.map(|revision| revision.to_string()));
        let mut headers = vec![("authorization", token.as_str()), ("content-type", "application/json")];
        headers.extend(revision.as_deref().map(|revision| ("if-match", revision)));
        self.ask(method, &format!("/api/v1{path}"), &headers, body.as_bytes().to_vec()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, Some(body), None).await
    }

    pub(crate) async fn put(&self, path: &str, spec: &Value, revision: i64) -> Answer {
        self.send(Method::PUT, path, Some(&json!({"spec": spec})), Some(revision)).await
    }

    /// Removes what is there now.
    pub(crate) async fn delete(&self, path: &str) -> Answer {
        let now = self.get(path).await;
        let revision = if now.status == StatusCode::OK { now.json()["revision"].as_i64() } else { Some(1) };
        self.send(Method::DELETE, path, None, revision).await
    }

    /// Makes a thing that can be made.
    pub(crate) async fn make(&self, collection: &str, name: &str, spec: &Value) -> Value {
        let answer = self.post(collection, &json!({"name": name, "spec": spec})).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
        answer.json()
    }

    /// What is there.
    pub(crate) async fn read(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
        answer.json()
    }

    /// A principal with a grant for everything and a key; gives the key's answer.
    pub(crate) async fn caller(&self, tenant: &str, name: &str) -> Value {
        self.make(&format!("/tenants/{tenant}/principals"), name, &json!({})).await;
        let grant = json!({"principal": name, "cards": ["*"], "operations": ["*"]});
        self.make(&format!("/tenants/{tenant}/grants"), name, &grant).await;
        let made = self.post(&format!("/tenants/{tenant}/keys"), &json!({"principal": name})).await;
        assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
        made.json()
    }
}

/// A spec of a card over an agent at `url`.
pub(crate) fn card_spec(name: &str, url: &str) -> Value {
    json!({"card": document(name), "upstream": {"interfaces": [{"url": url, "binding": "JSONRPC", "version": "1.0"}]}})
}

/// A policy that blocks a word.
pub(crate) fn policy_spec(word: &str) -> Value {
    json!({"surfaces": ["a2a_inbound"], "detectors": [{"id": "words", "words": [word], "action": "block"}]})
}

/// The paths of the problems of a 400 or 422.
pub(crate) fn problem_paths(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    let fields = body["fields"].as_array().unwrap_or_else(|| panic!("no fields: {body}"));
    fields.iter().map(|field| field["path"].as_str().unwrap().to_owned()).collect()
}

/// Create, read, list, update, delete: the same for every kind.
async fn lives_and_dies(desk: &Desk, collection: &str, name: &str, spec: &Value, change: impl Fn(&mut Value)) {
    let path = format!("{collection}/{name}");
    assert_eq!(desk.get(&path).await.status, StatusCode::NOT_FOUND);
    let made = desk.make(collection, name, spec).await;
    assert_eq!(made, desk.read(&path).await, "create answers as read does");
    for member in ["kind", "tenant", "name", "id", "created_at", "updated_at"] {
        assert!(made[member].is_string(), "{member}: {made}");
    }
    let taken = desk.post(collection, &json!({"name": name, "spec": spec})).await;
    assert_eq!((taken.status, taken.json()["code"].as_str()), (StatusCode::CONFLICT, Some("name_taken")), "{path}");
    let listed = desk.read(&format!("{collection}?limit=200")).await;
    assert!(listed["items"].as_array().unwrap().iter().any(|item| item["name"] == name), "{listed}");

    let mut changed = made["spec"].clone();
    change(&mut changed);
    let revision = made["revision"].as_i64().unwrap();
    let unconditional = desk.send(Method::PUT, &path, Some(&json!({"spec": changed})), None).await;
    assert_eq!(unconditional.status, StatusCode::PRECONDITION_REQUIRED, "{path}");
    let updated = desk.put(&path, &changed, revision).await;
    assert_eq!(updated.status, StatusCode::OK, "{path}: {}", updated.text());
    assert_eq!(updated.json(), desk.read(&path).await);
    assert!(updated.json()["revision"].as_i64().unwrap() > revision);
    assert_eq!(updated.json()["id"], made["id"]);
    let stale = desk.put(&path, &changed, revision).await;
    assert_eq!(stale.status, StatusCode::PRECONDITION_FAILED, "{path}: {}", stale.text());
    let blind = desk.send(Method::DELETE, &path, None, None).await;
    assert_eq!((blind.status, &blind.json()["code"]), (StatusCode::PRECONDITION_REQUIRED, &json!("revision_required")));
    assert_eq!(desk.get(&path).await.status, StatusCode::OK, "nothing was removed");
    let stale = desk.send(Method::DELETE, &path, None, Some(revision)).await;
    assert_eq!(stale.status, StatusCode::PRECONDITION_FAILED, "{path}");

    assert_eq!(desk.delete(&path).await.status, StatusCode::NO_CONTENT);
    for gone in [desk.get(&path).await, desk.delete(&path).await, desk.put(&path, &changed, revision).await] {
        assert_eq!(gone.status, StatusCode::NOT_FOUND, "{path}: {}", gone.text());
        assert!(gone.json()["message"].as_str().unwrap().ends_with("does not exist"), "{}", gone.text());
    }
}

async fn every_resource_lives_and_dies(db: Db) {
    let Some(desk) = Desk::open_with(db, &[]).await else { return };
    let agent = desk.h.agents.echo_url.clone();
    let set =
        |path: &'static str, value: Value| move |spec: &mut Value| *spec.pointer_mut(path).unwrap() = value.clone();
    lives_and_dies(&desk, "/tenants", "short-lived", &json!({}), set("/display_name", json!("Short"))).await;
    desk.make("/tenants", "acme", &json!({"display_name": "Acme"})).await;
    let acme = |collection: &str| format!("/tenants/acme/{collection}");
    let principal = json!({"kind": "user"});
    lives_and_dies(&desk, &acme("principals"), "anna", &principal, set("/state", json!("disabled"))).await;
    desk.make(&acme("principals"), "bot", &json!({})).await;
    let policy = policy_spec("heron");
    lives_and_dies(&desk, &acme("policies"), "words", &policy, set("/detectors/0/action", json!("redact"))).await;
    let card = card_spec("Echo", &agent);
    lives_and_dies(&desk, &acme("cards"), "echo", &card, set("/card/version", json!("9"))).await;
    // The name of a removed card is free again.
    desk.make(&acme("cards"), "echo", &card).await;
    let grant = json!({"principal": "bot", "cards": ["echo", "tag:x"], "operations": ["send"]});
    lives_and_dies(&desk, &acme("grants"), "calls", &grant, set("/operations", json!(["*"]))).await;
    #[cfg(feature = "cedar")]
    the_one_document_of_conditions(&desk).await;
    desk.h.finish().await;
}

/// A tenant has one, whatever its name.
#[cfg(feature = "cedar")]
async fn the_one_document_of_conditions(desk: &Desk) {
    let collection = "/tenants/acme/conditions";
    let spec = json!({"policies": "@id(\"a\") forbid(principal, action == Action::\"list\", resource);"});
    let made = desk.make(collection, "house", &spec).await;
    assert!(made["id"].as_str().unwrap().starts_with("cnd-"), "{made}");
    let other = desk.post(collection, &json!({"name": "other", "spec": spec})).await;
    assert_eq!((other.status, &other.json()["code"]), (StatusCode::CONFLICT, &json!("conditions_exist")));
    let listed = desk.read(collection).await;
    assert_eq!(listed["items"], json!([made]));
    assert_eq!(desk.delete("/tenants/acme/conditions/house").await.status, StatusCode::NO_CONTENT);
    assert_eq!(desk.read(collection).await["items"], json!([]));
}

#[tokio::test]
async fn every_resource_lives_and_dies_on_sqlite() {
    every_resource_lives_and_dies(Db::Sqlite).await;
}

#[tokio::test]
async fn every_resource_lives_and_dies_on_postgres() {
    every_resource_lives_and_dies(Db::Postgres).await;
}

#[tokio::test]
async fn listings_come_in_pages() {
    let desk = Desk::acme().await;
    for name in ["p1", "p2", "p3", "p4", "p5"] {
        desk.make("/tenants/acme/principals", name, &json!({})).await;
    }
    let mut names = Vec::new();
    let mut sizes = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = desk.read(&format!("/tenants/acme/principals?limit=2&cursor={cursor}")).await;
        let items = page["items"].as_array().unwrap();
        sizes.push(items.len());
        names.extend(items.iter().map(|item| item["name"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => break,
        }
    }
    assert_eq!(names, ["p1", "p2", "p3", "p4", "p5"]);
    assert_eq!(sizes, [2, 2, 1]);
    for (query, path) in [("limit=0", "limit"), ("limit=201", "limit"), ("limit=x", "limit"), ("page=2", "page")] {
        let refused = desk.get(&format!("/tenants/acme/principals?{query}")).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{query}: {}", refused.text());
        assert_eq!(problem_paths(&refused), [path], "{}", refused.text());
    }
    assert_eq!(desk.get("/tenants/nobody/principals").await.status, StatusCode::NOT_FOUND);
    desk.h.finish().await;
}

#[tokio::test]
async fn every_problem_of_what_was_sent_is_named() {
    let desk = Desk::acme().await;
    let refused = async |path: &str, body: Value, paths: &[&str]| {
        let answer = desk.post(path, &body).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{body}: {}", answer.text());
        let mut found = problem_paths(&answer);
        found.sort();
        assert_eq!(found, paths, "{}", answer.text());
        assert!(answer.json()["correlation_id"].is_string());
    };
    refused(
        "/tenants",
        json!({"name": "A!", "spec": {"state": 1, "owner": "x"}, "x": 1}),
        &["name", "spec.owner", "spec.state", "x"],
    )
    .await;
    for name in ["v1", "tasks", "message", "card", "extendedagentcard", "", "-a", "a--b-"] {
        refused("/tenants/acme/cards", json!({"name": name, "spec": card_spec("a", "http://127.0.0.1:9")}), &["name"])
            .await;
    }
    refused("/tenants", json!({"spec": {}}), &["name"]).await;
    refused(
        "/tenants/acme/principals",
        json!({"name": "p", "spec": {"kind": "robot", "state": "off"}}),
        &["spec.kind", "spec.state"],
    )
    .await;
    let grant = json!({"principal": "ghost", "cards": ["Echo!", "tag:"], "operations": ["send", "fly"],
        "limits": {"per_minute": 0}});
    refused(
        "/tenants/acme/grants",
        json!({"name": "g", "spec": grant}),
        &["spec.cards.0", "spec.cards.1", "spec.limits.per_minute", "spec.operations.1", "spec.principal"],
    )
    .await;
    let policy =
        json!({"surfaces": ["moon"], "mode": "never", "detectors": [{"id": "magic", "action": "block"}], "x": 1});
    refused(
        "/tenants/acme/policies",
        json!({"name": "p", "spec": policy}),
        &["spec.detectors.0.id", "spec.mode", "spec.surfaces.0", "spec.x"],
    )
    .await;
    refused("/tenants/acme/keys", json!({"principal": "ghost", "expires_at": "soon"}), &["expires_at", "principal"])
        .await;
    refused("/tenants/acme/keys", json!({"principal": 1, "lable": "x"}), &["lable", "principal"]).await;
    let card = json!({"card": "x", "state": "alive", "policy": 1, "upstream": {"colour": "red", "colon": "x",
        "credential": {"type": "magic"}, "interfaces": [{"url": 1, "port": 1}]}});
    refused(
        "/tenants/acme/cards",
        json!({"name": "c", "spec": card}),
        &[
            "spec.card",
            "spec.policy",
            "spec.state",
            "spec.upstream.colon",
            "spec.upstream.colour",
            "spec.upstream.credential",
            "spec.upstream.interfaces.0.port",
            "spec.upstream.interfaces.0.url",
        ],
    )
    .await;
    refused("/tenants/acme/cards", json!({"name": "c"}), &["spec"]).await;
    let meaning = json!({"card": {"name": "only"}, "policy": "ghost", "bound_principal": "ghost", "tags": ["A b"]});
    let answer = desk.post("/tenants/acme/cards", &json!({"name": "c", "spec": meaning})).await;
    let found = problem_paths(&answer);
    for path in ["spec.policy", "spec.bound_principal", "spec.tags.0", "spec.upstream.interfaces", "spec.card.version"]
    {
        assert!(found.iter().any(|one| one == path), "{path} in {found:?}");
    }
    desk.h.finish().await;
}

#[tokio::test]
async fn only_the_token_opens_the_api() {
    let desk = Desk::acme().await;
    let token = format!("Bearer {TOKEN}");
    let lower = format!("bearer {TOKEN}");
    let ask = async |headers: &[(&str, &str)]| desk.ask(Method::GET, "/api/v1/tenants", headers, Vec::new()).await;
    assert_eq!(ask(&[("authorization", &token)]).await.status, StatusCode::OK);
    assert_eq!(ask(&[("authorization", &lower)]).await.status, StatusCode::OK);
    let longer = format!("{token}x");
    for headers in [
        vec![],
        vec![("authorization", longer.as_str())],
        vec![("authorization", TOKEN)],
        vec![("authorization", "Bearer ")],
        vec![("authorization", "Basic YTpi")],
        vec![("x-api-key", TOKEN)],
        vec![("authorization", &token), ("authorization", &token)],
        vec![("authorization", "Bearer wrong"), ("authorization", &token)],
    ] {
        let answer = ask(&headers).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{headers:?}");
        assert!(answer.header("www-authenticate").starts_with("Bearer"), "{headers:?}");
        assert!(!answer.text().contains("acme"));
    }
    // The query string is no place for a token, and another site's page is no administrator (T-ADM-5).
    assert_eq!(desk.ask(Method::GET, &format!("/api/v1/tenants?token={TOKEN}"), &[], Vec::new()).await.status, 401);
    for foreign in [("host", "evil.test"), ("origin", "https://evil.test")] {
        assert_eq!(ask(&[("authorization", &token), foreign]).await.status, StatusCode::MISDIRECTED_REQUEST);
    }
    desk.h.finish().await;
}

#[tokio::test]
async fn what_is_no_document_of_ours_is_refused_in_one_shape() {
    let desk = Desk::acme().await;
    let deep = format!("{{\"name\":\"x\",\"spec\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    for body in [
        "",
        "{",
        "[]",
        "\"text\"",
        r#"{"name":"x","name":"y","spec":{}}"#,
        r#"{"name":"x","spec":{"state":"active","state":"suspended"}}"#,
        r#"{"name":"x","spec":{}} trailing"#,
        r#"{"name":"\ud800","spec":{}}"#,
        &deep,
    ] {
        let answer = desk.send_text(Method::POST, "/tenants", body, None).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{body}: {}", answer.text());
        assert_eq!(answer.json()["code"], "invalid", "{body}");
    }
    assert_eq!(desk.get("/tenants/x").await.status, StatusCode::NOT_FOUND, "nothing was made");
    let large = format!("{{\"name\":\"{}\"}}", "x".repeat(3 << 20));
    assert_eq!(desk.send_text(Method::POST, "/tenants", &large, None).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    let wrong_method = desk.send(Method::PATCH, "/tenants/acme", Some(&json!({})), Some(1)).await;
    assert_eq!(
        (wrong_method.status, &wrong_method.json()["code"]),
        (StatusCode::METHOD_NOT_ALLOWED, &json!("method_not_allowed"))
    );
    for path in ["/nothing", "/tenants/acme/robots", "/tenants/%ff/cards", "/tenants/acme/cards/%ff"] {
        let missing = desk.get(path).await;
        assert_eq!((missing.status, &missing.json()["code"]), (StatusCode::NOT_FOUND, &json!("not_found")), "{path}");
    }
    for revision in ["abc", "*", "W/\"1\""] {
        let headers = [("authorization", &*format!("Bearer {TOKEN}")), ("if-match", revision)];
        let answer = desk.ask(Method::PUT, "/api/v1/tenants/acme", &headers, br#"{"spec":{}}"#.to_vec()).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{revision}");
        assert_eq!(problem_paths(&answer), ["If-Match"]);
    }
    desk.h.finish().await;
}

/// A document must say what it is; a page of another site can send only what says something else.
#[tokio::test]
async fn documents_of_another_type_are_not_read() {
    let desk = Desk::acme().await;
    let body = json!({"name": "carla", "spec": {}}).to_string().into_bytes();
    let token = format!("Bearer {TOKEN}");
    let path = "/api/v1/tenants/acme/principals";
    for wrong in
        [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("application/json-seq"), Some("")]
    {
        let mut headers = vec![("authorization", token.as_str())];
        headers.extend(wrong.map(|wrong| ("content-type", wrong)));
        let answer = desk.ask(Method::POST, path, &headers, body.clone()).await;
        let seen = (answer.status, answer.json()["code"].clone());
        assert_eq!(seen, (StatusCode::UNSUPPORTED_MEDIA_TYPE, json!("unsupported_media_type")), "{wrong:?}");
    }
    assert_eq!(desk.get("/tenants/acme/principals/carla").await.status, StatusCode::NOT_FOUND);
    let headers = [("authorization", token.as_str()), ("content-type", "Application/JSON; charset=utf-8")];
    assert_eq!(desk.ask(Method::POST, path, &headers, body).await.status, StatusCode::CREATED);
    desk.h.finish().await;
}
