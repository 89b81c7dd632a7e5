//! Who may come in and what they may do: every role on every operation in every tenant, sessions of browsers, the first
//! account, guessing (T-ADM-1 to T-ADM-5).

use chancery::admin::roles::{Act, Need, RULES};
use chancery::clock::Clock;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Desk, problem_paths};
use crate::harness::{Answer, Db};

pub(super) const PASSWORD: &str = "correct horse battery";
const MINUTE: i64 = 60_000_000;
const ROLES: [&str; 4] = ["platform_admin", "tenant_admin", "operator", "auditor"];

/// What a role may do in its own tenant, said once more and apart from the code.
fn may(role: &str, act: Act) -> bool {
    match act {
        Act::Read => true,
        Act::Operate => role != "auditor",
        Act::Administer => role == "platform_admin" || role == "tenant_admin",
    }
}

pub(super) async fn token(desk: &Desk, roles: Value) -> String {
    let made = desk.post("/tokens", &json!({"name": "test", "roles": roles})).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    made.json()["token"].as_str().unwrap().to_owned()
}

/// A place of the API that names `tenant`, things that do not exist, and a query that no handler takes for a stream.
fn place(path: &str, tenant: &str) -> String {
    let concrete = path.replace("{tenant}", tenant).replace("{name}", "ghost").replace("{id}", "key-ghost");
    if path.contains("/audit") || path.contains("/live") || path.contains("/stats") {
        format!("{concrete}?tenant={tenant}&nonsense=1")
    } else {
        concrete
    }
}

async fn ask(desk: &Desk, (method, path): (&str, &str), tenant: &str, headers: &[(&str, &str)]) -> Answer {
    let method: Method = method.parse().unwrap();
    let headers = [&[("if-match", "x"), ("content-type", "application/json")], headers].concat();
    desk.ask(method, &place(path, tenant), &headers, b"{".to_vec()).await
}

fn code(answer: &Answer) -> String {
    if answer.body.is_empty() { String::new() } else { answer.json()["code"].as_str().unwrap_or_default().to_owned() }
}

#[tokio::test]
async fn every_role_does_on_every_operation_in_every_tenant_what_the_table_says() {
    let desk = Desk::acme().await;
    desk.make("/tenants", "other", &json!({})).await;
    let mut judged = 0;
    for role in ROLES {
        let tenant = if role == "platform_admin" { "*" } else { "acme" };
        let bearer = format!("Bearer {}", token(&desk, json!([{"role": role, "tenant": tenant}])).await);
        for (method, path, need) in RULES {
            for tenant in ["acme", "other"] {
                let answer = ask(&desk, (method, path), tenant, &[("authorization", &bearer)]).await;
                let hidden = code(&answer) == "not_found" && answer.text().contains("this tenant does not exist");
                let (allowed, sees) = match need {
                    Need::Open | Need::SignedIn => (true, true),
                    Need::Manager => (role == "platform_admin" || role == "tenant_admin", true),
                    Need::Platform => (role == "platform_admin", true),
                    Need::Tenant(act) => {
                        let sees = role == "platform_admin" || tenant == "acme";
                        (sees && may(role, *act), sees)
                    }
                };
                let what = format!("{role} {method} {path} in {tenant}: {} {}", answer.status, answer.text());
                assert_eq!(hidden, !sees, "{what}");
                assert_eq!(answer.status == StatusCode::FORBIDDEN, sees && !allowed, "{what}");
                assert_ne!(answer.status, StatusCode::UNAUTHORIZED, "{what}");
                judged += 1;
            }
        }
    }
    assert_eq!(judged, ROLES.len() * RULES.len() * 2);
    desk.h.finish().await;
}

#[tokio::test]
async fn nobody_without_a_proof_gets_past_the_door() {
    let desk = Desk::acme().await;
    let cookie = format!("chancery-loopback={}", "x".repeat(43));
    let nobody: [&[(&str, &str)]; 4] = [
        &[],
        &[("authorization", "Bearer chancery_admin_nonsense")],
        &[("cookie", &cookie)],
        &[("authorization", "Basic YWRhOmFkYQ=="), ("cookie", &cookie)],
    ];
    for (method, path, need) in RULES {
        for headers in nobody {
            let answer = ask(&desk, (method, path), "acme", headers).await;
            assert_eq!(
                answer.status == StatusCode::UNAUTHORIZED && code(&answer) == "unauthenticated",
                *need != Need::Open,
                "{method} {path}: {}",
                answer.text()
            );
        }
    }
    desk.h.finish().await;
}

#[tokio::test]
async fn tokens_and_accounts_carry_no_more_than_their_maker_has() {
    let desk = Desk::acme().await;
    desk.make("/tenants", "other", &json!({})).await;
    let root =
        json!({"name": "root", "password": PASSWORD, "spec": {"roles": [{"role": "platform_admin", "tenant": "*"}]}});
    assert_eq!(desk.post("/admins", &root).await.status, StatusCode::CREATED);
    let bearer = format!("Bearer {}", token(&desk, json!([{"role": "tenant_admin", "tenant": "acme"}])).await);
    let send = async |method: Method, path: &str, body: Value, revision: &str| {
        let headers =
            [("authorization", bearer.as_str()), ("content-type", "application/json"), ("if-match", revision)];
        desk.ask(method, &format!("/api/v1{path}"), &headers, body.to_string().into_bytes()).await
    };
    for beyond in [("platform_admin", "*"), ("auditor", "other"), ("auditor", "*"), ("tenant_admin", "other")] {
        let roles = json!([{"role": "auditor", "tenant": "acme"}, {"role": beyond.0, "tenant": beyond.1}]);
        let token = send(Method::POST, "/tokens", json!({"name": "t", "roles": roles}), "1").await;
        let account = json!({"name": "eve", "password": PASSWORD, "spec": {"roles": roles}});
        let account = send(Method::POST, "/admins", account, "1").await;
        assert_eq!((token.status, account.status), (StatusCode::FORBIDDEN, StatusCode::FORBIDDEN), "{beyond:?}");
    }
    let within =
        json!({"name": "bob", "password": PASSWORD, "spec": {"roles": [{"role": "operator", "tenant": "acme"}]}});
    assert_eq!(send(Method::POST, "/admins", within, "1").await.status, StatusCode::CREATED);
    let listed = send(Method::GET, "/admins", json!({}), "1").await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "the platform's account is not for a tenant's eyes");
    // Neither seen, nor changed, nor given a password that one would know.
    for (method, path) in
        [(Method::GET, "/admins/root"), (Method::DELETE, "/admins/root"), (Method::PUT, "/admins/root/password")]
    {
        let answer = send(method.clone(), path, json!({"password": PASSWORD}), "1").await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{method} {path}");
    }
    let grown = json!({"spec": {"roles": [{"role": "platform_admin", "tenant": "*"}]}});
    assert_eq!(send(Method::PUT, "/admins/bob", grown, "1").await.status, StatusCode::FORBIDDEN);
    // What is not among the members of a document is refused, not taken over.
    let smuggled = json!({"name": "x", "password": PASSWORD, "spec": {"roles": []}, "id": "adm-1"});
    assert_eq!(problem_paths(&send(Method::POST, "/admins", smuggled, "1").await), ["id"]);
    let id = desk.read("/tokens").await["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.send(Method::DELETE, &format!("/tokens/{id}"), None, None).await.status, StatusCode::NO_CONTENT);
    assert_eq!(send(Method::GET, "/me", json!({}), "1").await.status, StatusCode::UNAUTHORIZED);
    desk.h.finish().await;
}

/// A browser: it keeps the cookie and knows what the page was told.
pub(super) struct Browser {
    pub(super) cookie: String,
    pub(super) csrf: String,
}

impl Browser {
    pub(super) fn of(answer: &Answer) -> Self {
        let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
        Self { cookie, csrf: answer.json()["csrf"].as_str().unwrap().to_owned() }
    }

    pub(super) async fn send(&self, desk: &Desk, method: Method, path: &str, body: &Value) -> Answer {
        let origin = desk.url();
        let headers = [
            ("cookie", self.cookie.as_str()),
            ("origin", origin.as_str()),
            ("x-chancery-csrf", self.csrf.as_str()),
            ("content-type", "application/json"),
        ];
        desk.ask(method, &format!("/api/v1{path}"), &headers, body.to_string().into_bytes()).await
    }
}

async fn post(desk: &Desk, path: &str, body: &Value) -> Answer {
    let headers = [("content-type", "application/json"), ("origin", &desk.url())];
    desk.ask(Method::POST, &format!("/api/v1{path}"), &headers, body.to_string().into_bytes()).await
}

pub(super) async fn sign_in(desk: &Desk, name: &str, password: &str) -> Answer {
    post(desk, "/session", &json!({"name": name, "password": password})).await
}

/// Makes the first account by its link.
pub(super) async fn set_up(desk: &Desk) -> Browser {
    let link = desk.h.setup_link.clone().unwrap();
    let token = link.split_once("/setup#").unwrap().1.to_owned();
    let made = post(desk, "/setup", &json!({"token": token, "name": "ada", "password": PASSWORD})).await;
    assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    Browser::of(&made)
}

async fn the_first_account_is_made_by_its_link_once(db: Db) {
    let Some(desk) = Desk::open_with(db, &[]).await else { return };
    assert_eq!(
        desk.ask(Method::GET, "/api/v1/setup", &[], vec![]).await.json(),
        json!({"needed": true, "signed_in": false, "passwords": true})
    );
    let wrong = post(&desk, "/setup", &json!({"token": "x".repeat(43), "name": "eve", "password": PASSWORD})).await;
    assert_eq!(problem_paths(&wrong), ["token"]);
    let token = desk.h.setup_link.clone().unwrap().split_once('#').unwrap().1.to_owned();
    let weak = post(&desk, "/setup", &json!({"token": token, "name": "ada", "password": "short"})).await;
    assert_eq!(problem_paths(&weak), ["password"]);
    let ada = set_up(&desk).await;
    let me = ada.send(&desk, Method::GET, "/me", &json!({})).await.json();
    assert_eq!(
        (&me["name"], &me["way"], &me["roles"][0]["role"]),
        (&json!("ada"), &json!("session"), &json!("platform_admin"))
    );
    let again = post(&desk, "/setup", &json!({"token": token, "name": "eve", "password": PASSWORD})).await;
    assert_eq!((again.status, code(&again).as_str()), (StatusCode::CONFLICT, "setup_done"));
    assert_eq!(
        desk.ask(Method::GET, "/api/v1/setup", &[("cookie", &ada.cookie)], vec![]).await.json(),
        json!({"needed": false, "signed_in": true, "passwords": true})
    );
    // The token of the file works as it did.
    assert_eq!(desk.read("/me").await["way"], "bootstrap");
    // The link is spent, even when there is no account again.
    assert_eq!(desk.delete("/admins/ada").await.status, StatusCode::NO_CONTENT);
    let again = post(&desk, "/setup", &json!({"token": token, "name": "eve", "password": PASSWORD})).await;
    assert_eq!((again.status, code(&again).as_str()), (StatusCode::CONFLICT, "setup_done"));
    desk.h.finish().await;
}

#[tokio::test]
async fn the_first_account_is_made_by_its_link_once_on_sqlite() {
    the_first_account_is_made_by_its_link_once(Db::Sqlite).await;
}

#[tokio::test]
async fn the_first_account_is_made_by_its_link_once_on_postgres() {
    the_first_account_is_made_by_its_link_once(Db::Postgres).await;
}

#[tokio::test]
async fn a_session_ends_when_it_should() {
    let clock = Clock::manual(1_790_000_000_000_000);
    let desk = Desk::open_at(Db::Sqlite, clock.clone(), &[]).await.unwrap();
    let first = set_up(&desk).await;
    let alive =
        async |browser: &Browser| browser.send(&desk, Method::GET, "/me", &json!({})).await.status == StatusCode::OK;
    // Idle for 29 minutes again and again is no end; for 31 it is.
    for _ in 0..3 {
        clock.advance(29 * MINUTE);
        assert!(alive(&first).await);
    }
    clock.advance(31 * MINUTE);
    assert!(!alive(&first).await);
    // Twelve hours are the end in any case.
    let second = Browser::of(&sign_in(&desk, "ada", PASSWORD).await);
    assert_ne!(first.cookie, second.cookie, "a sign-in makes a new session");
    for _ in 0..25 {
        clock.advance(28 * MINUTE);
        assert!(alive(&second).await);
    }
    clock.advance(21 * MINUTE);
    assert!(!alive(&second).await);
    // Signing out ends it on the server; signing in anew ends the one that the browser had.
    let third = Browser::of(&sign_in(&desk, "ada", PASSWORD).await);
    let out = third.send(&desk, Method::DELETE, "/session", &json!({})).await;
    assert_eq!(out.status, StatusCode::NO_CONTENT);
    assert!(out.header("set-cookie").contains("Max-Age=0"), "{}", out.header("set-cookie"));
    assert!(!alive(&third).await);
    let fourth = Browser::of(&sign_in(&desk, "ada", PASSWORD).await);
    let body = json!({"name": "ada", "password": PASSWORD});
    let fifth = Browser::of(&fourth.send(&desk, Method::POST, "/session", &body).await);
    assert!(!alive(&fourth).await && alive(&fifth).await);
    // A new password ends all others.
    let sixth = Browser::of(&sign_in(&desk, "ada", PASSWORD).await);
    let change = json!({"current": PASSWORD, "password": "another long password"});
    assert_eq!(sixth.send(&desk, Method::PUT, "/me/password", &change).await.status, StatusCode::NO_CONTENT);
    assert!(alive(&sixth).await && !alive(&fifth).await);
    assert_eq!(sign_in(&desk, "ada", PASSWORD).await.status, StatusCode::UNAUTHORIZED);
    // A disabled account is out at once.
    let bob = json!({"name": "bob", "password": PASSWORD, "spec": {"roles": [{"role": "auditor", "tenant": "*"}]}});
    let made = desk.post("/admins", &bob).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    let bobs = Browser::of(&sign_in(&desk, "bob", PASSWORD).await);
    let mut spec = made.json()["spec"].clone();
    spec["state"] = json!("disabled");
    assert_eq!(desk.put("/admins/bob", &spec, 1).await.status, StatusCode::OK);
    assert!(!alive(&bobs).await);
    assert_eq!(sign_in(&desk, "bob", PASSWORD).await.status, StatusCode::UNAUTHORIZED);
    desk.h.finish().await;
}

#[tokio::test]
async fn writes_of_a_browser_need_its_own_origin_and_the_proof() {
    let desk = Desk::acme().await;
    let ada = set_up(&desk).await;
    let (own, json) = (desk.url(), ("content-type", "application/json"));
    for (method, path, need) in RULES.iter().filter(|(method, _, need)| *method != "GET" && *need != Need::Open) {
        let cookie = ("cookie", ada.cookie.as_str());
        let origin = ("origin", own.as_str());
        for headers in [
            vec![cookie],
            vec![cookie, origin],
            vec![cookie, ("x-chancery-csrf", ada.csrf.as_str())],
            vec![cookie, origin, ("x-chancery-csrf", "00")],
        ] {
            let answer = ask(&desk, (method, path), "acme", &headers).await;
            assert_eq!(
                (answer.status, code(&answer).as_str()),
                (StatusCode::FORBIDDEN, "csrf"),
                "{method} {path} {need:?}"
            );
        }
    }
    // Another site's origin, and another name for the machine, come to nothing before anything is looked at.
    for foreign in [("origin", "https://evil.test"), ("origin", "null"), ("host", "evil.test")] {
        let headers = [("cookie", ada.cookie.as_str()), ("x-chancery-csrf", &ada.csrf), json, foreign];
        let answer = desk.ask(Method::POST, "/api/v1/tenants", &headers, br#"{"name":"evil"}"#.to_vec()).await;
        assert_eq!(answer.status, StatusCode::MISDIRECTED_REQUEST, "{foreign:?}");
    }
    assert_eq!(ada.send(&desk, Method::POST, "/tenants", &json!({"name": "fine"})).await.status, StatusCode::CREATED);
    let cookie = sign_in(&desk, "ada", PASSWORD).await.header("set-cookie").to_owned();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict") && cookie.contains("; Path=/"), "{cookie}");
    desk.h.finish().await;
}

#[tokio::test]
async fn guessing_passwords_gets_slower_and_tells_nothing() {
    let clock = Clock::manual(1_790_000_000_000_000);
    let desk = Desk::open_at(Db::Sqlite, clock.clone(), &[]).await.unwrap();
    set_up(&desk).await;
    let (known, unknown) = (sign_in(&desk, "ada", "wrong").await, sign_in(&desk, "nobody", "wrong").await);
    let told = |answer: &Answer| {
        let mut body = answer.json();
        body.as_object_mut().unwrap().remove("correlation_id");
        (answer.status, body)
    };
    assert_eq!(told(&known), told(&unknown));
    let mut waits = 0;
    for _ in 0..8 {
        let answer = sign_in(&desk, "ada", "wrong").await;
        waits += usize::from(answer.status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(waits >= 3, "{waits}");
    // The right password waits too, or guessing would go on behind it.
    let right = sign_in(&desk, "ada", PASSWORD).await;
    assert_eq!((right.status, code(&right).as_str()), (StatusCode::TOO_MANY_REQUESTS, "too_many_tries"));
    assert!(right.header("retry-after").parse::<u64>().unwrap() > 0);
    clock.advance(MINUTE);
    assert_eq!(sign_in(&desk, "ada", PASSWORD).await.status, StatusCode::OK);
    desk.h.finish().await;
}

#[tokio::test]
async fn guesses_at_once_are_counted_and_others_names_lock_nobody_out() {
    let clock = Clock::manual(1_790_000_000_000_000);
    let desk = Desk::open_at(Db::Sqlite, clock.clone(), &[]).await.unwrap();
    set_up(&desk).await;
    for at in 0..10 {
        let made_up = sign_in(&desk, &format!("n{at}"), "wrong").await;
        assert_eq!(made_up.status, StatusCode::UNAUTHORIZED, "{at}");
    }
    assert_eq!(sign_in(&desk, "ada", PASSWORD).await.status, StatusCode::OK, "from the same address");
    let guesses = futures_util::future::join_all((0..20).map(|_| sign_in(&desk, "ada", "wrong"))).await;
    let heard = guesses.iter().filter(|answer| answer.status == StatusCode::UNAUTHORIZED).count();
    let refused = guesses.iter().filter(|answer| answer.status == StatusCode::TOO_MANY_REQUESTS).count();
    assert_eq!((heard, refused), (6, 14));
    desk.h.finish().await;
}

#[tokio::test]
async fn the_page_comes_with_the_headers_that_keep_script_out() {
    let desk = Desk::acme().await;
    for path in ["/", "/t/acme/agents", "/setup", "/api/v1/setup", "/api/openapi.json", "/api/v1/nothing"] {
        let answer = desk.ask(Method::GET, path, &[], vec![]).await;
        let policy = answer.header("content-security-policy");
        for rule in [
            "default-src 'none'",
            "script-src 'self';",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "connect-src 'self'",
        ] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert_eq!(
            (answer.header("x-content-type-options"), answer.header("referrer-policy")),
            ("nosniff", "no-referrer")
        );
        let is_api = path.starts_with("/api");
        assert_eq!(answer.header("content-type").starts_with("text/html"), !is_api, "{path}");
        assert!(!is_api || answer.header("cache-control") == "no-store", "{path}");
        assert!(!answer.text().contains("<script>"), "no inline script");
        let public = desk.h.get(path).send().await;
        assert_eq!(public.status, StatusCode::NOT_FOUND, "{path} on the public listener");
    }
    assert_eq!(desk.ask(Method::GET, "/assets/none.js", &[], vec![]).await.status, StatusCode::NOT_FOUND);
    desk.h.finish().await;
}
