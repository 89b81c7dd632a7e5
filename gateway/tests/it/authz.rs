//! Who may do what: grants of principals and groups, denials, shadow mode, and the explanation of all that.

use crate::admin::{Desk, problem_paths};
use crate::harness::{Answer, document};
use crate::rig::says;
use crate::wire::{Ask, Live};
use http::StatusCode;
use sample_agents::hostile::{Behaviour, Gate, Reply, Scripted, start};
use serde_json::{Value, json};

/// A tenant with published cards over one agent; each card has a tag of its own name.
pub(crate) async fn desk_with(cards: &[&str], agent: &str) -> Desk {
    let desk = Desk::acme().await;
    for name in cards {
        let spec = json!({"card": document(name), "tags": [format!("tag-{name}")], "visibility": "hidden",
            "upstream": {"interfaces": [{"url": agent, "binding": "HTTP+JSON", "version": "1.0"}]}});
        desk.make("/tenants/acme/cards", name, &spec).await;
        desk.publish(name).await;
    }
    desk
}

impl Desk {
    pub(crate) async fn publish(&self, name: &str) {
        let path = format!("/tenants/acme/cards/{name}/state");
        let answer = self.post(&path, &json!({"state": "published"})).await;
        assert!(answer.status.is_success(), "{}", answer.text());
    }

    /// A principal in these groups, with a key and no grant.
    pub(crate) async fn member(&self, name: &str, groups: &[&str]) -> String {
        self.make("/tenants/acme/principals", name, &json!({"groups": groups})).await;
        let made = self.post("/tenants/acme/keys", &json!({"principal": name})).await;
        made.json()["key"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn grant(&self, name: &str, spec: Value) {
        self.make("/tenants/acme/grants", name, &spec).await;
    }

    pub(crate) async fn call(&self, key: &str, card: &str) -> Answer {
        let body: Value = serde_json::from_str(&says("hi")).unwrap();
        let asked = self.h.post(&format!("/a2a/acme/{card}/message:send"), &body).header("a2a-version", "1.0");
        asked.key(key).send().await
    }

    pub(crate) async fn explain(&self, principal: &str, card: &str, operation: &str) -> Value {
        let query = format!("principal={principal}&card={card}&operation={operation}");
        self.read(&format!("/tenants/acme/authz/explain?{query}")).await
    }
}

pub(crate) fn status_and_body(answer: &Answer) -> (StatusCode, String) {
    (answer.status, answer.text())
}

#[tokio::test]
async fn grants_of_groups_count_and_denials_win() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let desk = desk_with(&["echo", "books", "secret"], &agent.url()).await;
    let ann = desk.member("ann", &["Finance / EU"]).await;
    let bob = desk.member("bob", &[]).await;
    desk.grant("finance", json!({"group": "Finance / EU", "cards": ["*"], "operations": ["*"]})).await;
    assert_eq!(desk.call(&ann, "echo").await.status, 200);
    assert_eq!(desk.call(&bob, "echo").await.status, 404);

    // A denial of everything makes a card missing, one of an operation forbids it; whoever else allows it.
    desk.grant("own", json!({"principal": "ann", "cards": ["secret", "books"], "operations": ["*"]})).await;
    desk.grant(
        "no-secret",
        json!({"group": "Finance / EU", "effect": "deny", "cards": ["secret"],
        "operations": ["*"]}),
    )
    .await;
    desk.grant(
        "no-send",
        json!({"principal": "ann", "effect": "deny", "cards": ["tag:tag-books"],
        "operations": ["send"]}),
    )
    .await;
    let (hidden, missing) = (desk.call(&ann, "secret").await, desk.call(&ann, "nothing").await);
    assert_eq!(status_and_body(&hidden), status_and_body(&missing));
    assert_eq!(hidden.status, 404);
    assert_eq!(desk.call(&ann, "books").await.status, 403);
    assert_eq!(desk.call(&ann, "echo").await.status, 200);
    let card = |name: &str| format!("/a2a/acme/{name}/.well-known/agent-card.json");
    assert_eq!(desk.h.get(&card("books")).key(&ann).send().await.status, 200);
    assert_eq!(desk.h.get(&card("secret")).key(&ann).send().await.status, 404);

    // Who leaves the group loses what it had through it, and keeps its own.
    let now = desk.read("/tenants/acme/principals/ann").await;
    assert_eq!(now["spec"]["groups"], json!(["Finance / EU"]));
    let left = desk.put("/tenants/acme/principals/ann", &json!({}), now["revision"].as_i64().unwrap()).await;
    assert_eq!(left.status, 200, "{}", left.text());
    assert_eq!(desk.call(&ann, "echo").await.status, 404);
    assert_eq!(desk.call(&ann, "secret").await.status, 200);
    desk.h.finish().await;
}

#[tokio::test]
async fn modes_leave_operations_out() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let desk = desk_with(&["echo"], &agent.url()).await;
    let ann = desk.member("ann", &[]).await;
    desk.grant(
        "unary",
        json!({"principal": "ann", "cards": ["echo"], "operations": ["*"], "modes": ["unary"],
        "max_delegation_depth": 2}),
    )
    .await;
    assert_eq!(desk.call(&ann, "echo").await.status, 200);
    let body: Value = serde_json::from_str(&says("hi")).unwrap();
    let streamed = desk.h.post("/a2a/acme/echo/message:stream", &body).header("a2a-version", "1.0").key(&ann);
    assert_eq!(streamed.send().await.status, 403);
    let made = desk.read("/tenants/acme/grants/unary").await;
    assert_eq!((&made["spec"]["modes"], &made["spec"]["max_delegation_depth"]), (&json!(["unary"]), &json!(2)));
    desk.h.finish().await;
}

#[tokio::test]
async fn shadow_mode_refuses_nothing_and_is_recorded() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let desk = desk_with(&["echo", "books"], &agent.url()).await;
    let ann = desk.member("ann", &[]).await;
    desk.grant("wide", json!({"principal": "ann", "mode": "shadow", "cards": ["*"], "operations": ["*"]})).await;
    desk.grant("narrow", json!({"principal": "ann", "cards": ["echo"], "operations": ["send"]})).await;
    assert_eq!(desk.call(&ann, "books").await.status, 200);
    assert_eq!(desk.call(&ann, "echo").await.status, 200);
    desk.grant(
        "soon",
        json!({"principal": "ann", "mode": "shadow", "effect": "deny", "cards": ["echo"],
        "operations": ["send"]}),
    )
    .await;
    assert_eq!(desk.call(&ann, "echo").await.status, 200);
    let explained = desk.explain("ann", "echo", "send").await;
    assert_eq!((&explained["allowed"], &explained["would_be_denied_by"]["grant"]), (&json!(true), &json!("soon")));
    let records = desk.h.finish().await;
    let findings: Vec<Value> = records
        .iter()
        .rev()
        .map(|record| serde_json::from_slice::<Value>(&record.document).unwrap()["closed"]["findings"].clone())
        .collect();
    let mut told: Vec<String> = findings.iter().map(|found| found[0]["detector"].to_string()).collect();
    told.sort();
    assert_eq!(told, [r#""authz:soon""#, r#""authz:wide""#, "null"], "{findings:?}");
    assert!(records.iter().all(|record| record.outcome == "ok"));
}

/// Where a grant that counts allows the same, one in shadow mode limits nothing; alone it does.
#[tokio::test]
async fn limits_in_shadow_mode_are_not_felt_beside_a_grant_that_counts() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let desk = desk_with(&["echo", "books"], &agent.url()).await;
    let ann = desk.member("ann", &[]).await;
    let tried = json!({"principal": "ann", "mode": "shadow", "cards": ["*"], "operations": ["*"],
        "limits": {"per_minute": 1}});
    desk.grant("tried", tried).await;
    desk.grant("counts", json!({"principal": "ann", "cards": ["echo"], "operations": ["send"]})).await;
    for _ in 0..3 {
        assert_eq!(desk.call(&ann, "echo").await.status, 200);
    }
    assert_eq!(desk.call(&ann, "books").await.status, 200);
    assert_eq!(desk.call(&ann, "books").await.status, 429, "nothing else allows this one");
    desk.h.finish().await;
}

#[tokio::test]
async fn an_explanation_names_the_grant_or_what_is_missing() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let desk = desk_with(&["echo"], &agent.url()).await;
    desk.member("ann", &["staff"]).await;
    desk.grant("all-staff", json!({"group": "staff", "cards": ["echo"], "operations": ["send", "get"]})).await;
    desk.grant("no-get", json!({"principal": "ann", "effect": "deny", "cards": ["*"], "operations": ["get"]})).await;
    let send = desk.explain("ann", "echo", "send").await;
    assert_eq!((&send["allowed"], &send["decided_by"]["grant"]), (&json!(true), &json!("all-staff")), "{send}");
    assert_eq!(send["decided_by"]["group"], "staff");
    let get = desk.explain("ann", "echo", "get").await;
    assert_eq!((&get["allowed"], &get["decided_by"]["grant"]), (&json!(false), &json!("no-get")), "{get}");
    let list = desk.explain("ann", "echo", "list").await;
    assert!(list["allowed"] == false && list["decided_by"].is_null() && list["card_is_visible"] == true, "{list}");
    let because: Vec<&str> =
        list["considered"].as_array().unwrap().iter().map(|one| one["because"].as_str().unwrap()).collect();
    assert_eq!(because, ["it denies get only", "it allows send, get only"]);
    for (principal, card, part) in [("ghost", "echo", "no principal"), ("ann", "nothing", "no card")] {
        let answer = desk.explain(principal, card, "send").await;
        assert!(answer["missing"][0].as_str().unwrap().contains(part), "{answer}");
    }
    let wrong = desk.get("/tenants/acme/authz/explain?principal=ann&card=echo&operation=fly").await;
    assert_eq!((wrong.status, problem_paths(&wrong)), (StatusCode::BAD_REQUEST, vec!["operation".to_owned()]));
    // A group that only a token names.
    desk.grant("guests", json!({"group": "guest", "cards": ["echo"], "operations": ["list"]})).await;
    let path = "/tenants/acme/authz/explain?principal=ann&card=echo&operation=list&groups=guest,other";
    assert_eq!(desk.read(path).await["decided_by"]["grant"], "guests");

    let args = ["authz", "explain", "--principal", "ann", "--card", "echo", "--operation", "get"];
    let ran = desk.run(&args).await;
    assert!(
        ran.code == 0 && ran.out.starts_with("no: ann may not do get on card echo: grant no-get denies it"),
        "{ran:?}"
    );
    desk.h.finish().await;
}

#[tokio::test]
async fn every_mistake_of_a_grant_a_principal_and_a_tenant_is_named() {
    let desk = Desk::acme().await;
    let refused = async |path: &str, spec: Value, expected: &[&str]| {
        let answer = desk.post(path, &json!({"name": "x", "spec": spec})).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text());
        let mut paths = problem_paths(&answer);
        paths.sort();
        assert_eq!(paths, expected);
    };
    let grants = "/tenants/acme/grants";
    refused(
        grants,
        json!({"group": " x", "cards": ["*"], "operations": ["get"], "modes": ["stream"],
        "max_delegation_depth": 99}),
        &["spec.group", "spec.max_delegation_depth", "spec.modes"],
    )
    .await;
    refused(
        grants,
        json!({"principal": "a", "group": "b", "effect": "deny", "cards": ["*"], "operations": ["*"],
        "limits": {"daily": 0, "streams": 5}}),
        &["spec.group", "spec.limits", "spec.limits.daily"],
    )
    .await;
    refused(grants, json!({"cards": ["*"], "operations": ["*"]}), &["spec.principal"]).await;
    refused(
        grants,
        json!({"group": "b", "cards": ["*"], "operations": ["*"], "mode": "never", "effect": "maybe",
        "modes": ["both"]}),
        &["spec.effect", "spec.mode", "spec.modes.0"],
    )
    .await;
    refused(
        "/tenants/acme/principals",
        json!({"groups": ["a", "", "b\n"], "limits": {"per_minute": 0, "daily": 0}}),
        &["spec.groups.1", "spec.groups.2", "spec.limits.daily", "spec.limits.per_minute"],
    )
    .await;
    refused(
        "/tenants",
        json!({"limits": {"monthly": 0}, "task_retention_days": 0}),
        &["spec.limits.monthly", "spec.task_retention_days"],
    )
    .await;
    desk.h.finish().await;
}

/// A stream lives as long as somebody allows it, and no longer.
#[tokio::test]
async fn an_open_stream_ends_when_it_is_not_allowed_any_more_and_not_before() {
    let gate = Gate::new();
    let first = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let agent = Scripted::start(Reply::sse().event(first).wait(&gate).end()).await.unwrap();
    let desk = desk_with(&["echo"], &agent.url()).await;
    let ann = desk.member("ann", &["staff"]).await;
    desk.grant("staff", json!({"group": "staff", "cards": ["*"], "operations": ["*"]})).await;
    desk.grant("own", json!({"principal": "ann", "cards": ["echo"], "operations": ["*"]})).await;
    let open = async || {
        desk.h.expect_records(1);
        let ask = Ask::post("/a2a/acme/echo/message:stream").key(&ann).v10().json(&says("hi"));
        let mut live = Live::open(desk.h.public, &ask.bytes()).await;
        assert!(live.event().await.is_some());
        live
    };
    let mut live = open().await;
    // One grant goes, another still allows it; what is denied is something else.
    assert_eq!(desk.delete("/tenants/acme/grants/own").await.status, StatusCode::NO_CONTENT);
    desk.grant("no-list", json!({"group": "staff", "effect": "deny", "cards": ["*"], "operations": ["list"]})).await;
    assert_eq!(desk.explain("ann", "echo", "stream").await["allowed"], true);
    let silence = tokio::time::timeout(std::time::Duration::from_millis(500), live.event()).await;
    assert!(silence.is_err(), "the stream is still allowed, and open: {silence:?}");
    desk.grant("no-stream", json!({"group": "staff", "effect": "deny", "cards": ["*"], "operations": ["stream"]}))
        .await;
    let last = live.event().await.unwrap();
    assert_eq!(
        (last.name.as_deref(), last.at("/error/details/0/reason").as_str()),
        (Some("error"), "PERMISSION_DENIED")
    );
    assert_eq!(live.event().await, None);

    assert_eq!(desk.delete("/tenants/acme/grants/no-stream").await.status, StatusCode::NO_CONTENT);
    let mut live = open().await;
    let now = desk.read("/tenants/acme/principals/ann").await;
    desk.put("/tenants/acme/principals/ann", &json!({"groups": []}), now["revision"].as_i64().unwrap()).await;
    assert_eq!(live.event().await.unwrap().name.as_deref(), Some("error"));
    gate.open();
    let records = desk.h.finish().await;
    assert_eq!(records.iter().filter(|record| record.outcome == "refused").count(), 2);
}

#[tokio::test]
async fn limits_of_tenant_principal_and_card_hold_and_show() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let desk = desk_with(&["echo", "books", "third"], &agent.url()).await;
    let ann = desk.member("ann", &[]).await;
    let bob = desk.member("bob", &[]).await;
    for who in ["ann", "bob"] {
        desk.grant(who, json!({"principal": who, "cards": ["*"], "operations": ["*"]})).await;
    }
    let change = async |path: &str, member: &str, limits: Value| {
        let now = desk.read(path).await;
        let mut spec = now["spec"].clone();
        spec[member] = limits;
        spec.as_object_mut().unwrap().remove("card");
        let changed = desk.put(path, &spec, now["revision"].as_i64().unwrap()).await;
        assert_eq!(changed.status, 200, "{}", changed.text());
    };
    change("/tenants/acme/principals/ann", "limits", json!({"daily": 2})).await;
    change("/tenants/acme/cards/books", "limits", json!({"per_minute": 1})).await;
    change("/tenants/acme", "limits", json!({"monthly": 5})).await;
    assert_eq!(desk.call(&bob, "books").await.status, 200);
    let over = desk.call(&ann, "books").await;
    assert_eq!(over.status, 429, "the card's, whoever calls");
    let wait: u64 = over.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    // What was refused has used nothing of anybody's.
    for _ in 0..2 {
        assert_eq!(desk.call(&ann, "echo").await.status, 200);
    }
    let spent = desk.call(&ann, "echo").await;
    assert_eq!(spent.status, 429, "the principal's day");
    let midnight = 86_400 - desk.h.now() / 1_000_000 % 86_400;
    let wait: i64 = spent.header("retry-after").parse().unwrap();
    assert!((wait - midnight).abs() <= 30, "{wait} {midnight}");
    for _ in 0..2 {
        assert_eq!(desk.call(&bob, "third").await.status, 200);
    }
    assert_eq!(desk.call(&bob, "third").await.status, 429, "the tenant's month");
    let used = desk.read("/tenants/acme/limits").await;
    let of = |kind: &str| used["items"].as_array().unwrap().iter().find(|item| item["kind"] == kind).unwrap().clone();
    assert_eq!((&of("tenant")["used"]["monthly"], &of("principal")["used"]["daily"]), (&json!(5), &json!(2)));
    assert_eq!(of("card")["used"]["left_in_minute"], 0);
    let ran = desk.run(&["authz", "limits"]).await;
    assert!(ran.code == 0 && ran.out.contains("MONTHLY") && ran.out.contains("books"), "{ran:?}");
    desk.h.finish().await;
}

/// A tenant's limits keep it from its neighbours, so its own administrator does not lift them.
#[tokio::test]
async fn only_a_platform_admin_changes_the_limits_of_a_tenant() {
    let desk = Desk::acme().await;
    let made = desk
        .post("/tokens", &json!({"name": "acme's own", "roles": [{"role": "tenant_admin", "tenant": "acme"}]}))
        .await;
    let token = format!("Bearer {}", made.json()["token"].as_str().unwrap());
    let put = async |spec: Value| {
        let revision = desk.read("/tenants/acme").await["revision"].to_string();
        let headers =
            [("authorization", token.as_str()), ("content-type", "application/json"), ("if-match", revision.as_str())];
        let body = json!({"spec": spec}).to_string().into_bytes();
        desk.ask(http::Method::PUT, "/api/v1/tenants/acme", &headers, body).await.status
    };
    assert_eq!(put(json!({"limits": {"per_minute": 5}})).await, StatusCode::FORBIDDEN);
    assert_eq!(put(json!({"display_name": "Acme", "task_retention_days": 30})).await, StatusCode::OK);
    let now = desk.read("/tenants/acme").await;
    let limits = json!({"limits": {"per_minute": 5}});
    let limited = desk.put("/tenants/acme", &limits, now["revision"].as_i64().unwrap()).await;
    assert_eq!(limited.status, StatusCode::OK);
    assert_eq!(put(json!({"display_name": "Acme"})).await, StatusCode::FORBIDDEN, "nor takes them out");
    assert_eq!(put(json!({"limits": {"per_minute": 5}, "display_name": "Acme"})).await, StatusCode::OK);
    let headers = [("authorization", token.as_str())];
    let used = desk.ask(http::Method::GET, "/api/v1/tenants/acme/limits", &headers, Vec::new()).await;
    assert_eq!(used.status, StatusCode::OK, "{}", used.text());
    desk.h.finish().await;
}
