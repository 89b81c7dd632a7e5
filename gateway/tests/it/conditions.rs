//! Conditions of a tenant on a live gateway: in every binding, in shadow mode, changed under open streams and on two
//! replicas, wrong, explained, and as the guide writes them.

use crate::admin::{Desk, problem_paths};
use crate::authz::{desk_with, status_and_body};
use crate::delegation::given;
use crate::grpc::client::Grpc;
use crate::harness::{Answer, Db, Harness, document};
use crate::replica::Replica;
use crate::replicas::{TOLD, status, stops};
use crate::rig::says;
use crate::wire::{Ask, Live};
use a2a::OperationKind;
use chancery::clock::Clock;
use http::{Method, StatusCode};
use sample_agents::hostile::{Behaviour, Gate, Reply, Scripted, start};
use serde_json::{Value, json};

/// A desk whose `ann` may do everything on these cards, with her key.
async fn ann(cards: &[&str], agent: &str) -> (Desk, String) {
    let desk = desk_with(cards, agent).await;
    let key = desk.member("ann", &["staff"]).await;
    desk.grant("all", json!({"group": "staff", "cards": ["*"], "operations": ["*"]})).await;
    (desk, key)
}

/// What validates, and holds of no call.
const NEVER: &str = "context.time.epoch < 0";

fn forbid(id: &str, when: &str) -> String {
    format!("@id(\"{id}\")\nforbid(principal, action, resource) when {{ {when} }};\n")
}

impl Desk {
    /// Puts these conditions into force, whatever was before.
    async fn conditions(&self, spec: &Value) -> Value {
        let path = "/tenants/acme/conditions/house";
        let now = self.get(path).await;
        if now.status == StatusCode::NOT_FOUND {
            return self.make("/tenants/acme/conditions", "house", spec).await;
        }
        let changed = self.put(path, spec, now.json()["revision"].as_i64().unwrap()).await;
        assert_eq!(changed.status, StatusCode::OK, "{}", changed.text());
        changed.json()
    }

    /// A send of `ann`'s with these headers and this message's metadata.
    async fn sends(&self, key: &str, headers: &[(&str, &str)], metadata: &Value) -> StatusCode {
        let mut body: Value = serde_json::from_str(&says("hi")).unwrap();
        body["message"]["metadata"] = metadata.clone();
        let mut asked = self.h.post("/a2a/acme/echo/message:send", &body).header("a2a-version", "1.0").key(key);
        for (name, value) in headers {
            asked = asked.header(name, value);
        }
        asked.send().await.status
    }

    async fn rpc(&self, key: &str, card: &str) -> Answer {
        let params: Value = serde_json::from_str(&says("hi")).unwrap();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        self.h.post(&format!("/a2a/acme/{card}"), &body).header("a2a-version", "1.0").key(key).send().await
    }
}

fn closed(record: &store::AuditRecord) -> Value {
    serde_json::from_slice::<Value>(&record.document).unwrap()["closed"].clone()
}

#[tokio::test]
async fn what_conditions_deny_is_refused_as_if_it_were_not_granted_in_every_binding() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let (desk, key) = ann(&["echo", "books"], &agent.url()).await;
    desk.grant("no-books", json!({"group": "staff", "effect": "deny", "cards": ["books"], "operations": ["send"]}))
        .await;
    let text = r#"@id("never") forbid(principal, action == Action::"send", resource == Card::"echo");"#;
    desk.conditions(&json!({"policies": text})).await;
    let before = agent.requests().len();
    // R1, J1 and gRPC: the same bytes as for an operation that no grant allows.
    let (denied, not_granted) = (desk.call(&key, "echo").await, desk.call(&key, "books").await);
    assert_eq!(status_and_body(&denied), status_and_body(&not_granted));
    assert_eq!(denied.status, StatusCode::FORBIDDEN);
    let (denied, not_granted) = (desk.rpc(&key, "echo").await, desk.rpc(&key, "books").await);
    assert_eq!(status_and_body(&denied), status_and_body(&not_granted));
    assert_eq!(denied.json()["error"]["data"][0]["reason"], "PERMISSION_DENIED", "{}", denied.text());
    let mut faults = Vec::new();
    for card in ["echo", "books"] {
        desk.h.expect_records(1);
        let call = Grpc::call(desk.h.public, card, OperationKind::SendMessage, &says("hi")).key(&key);
        faults.push(call.send().await.unwrap_err());
    }
    assert_eq!(faults[0], faults[1]);
    assert_eq!(agent.requests().len(), before, "nothing reached the agent");
    // Another operation of the same card is not spoken of.
    desk.h.expect_records(1);
    let listed = Grpc::call(desk.h.public, "echo", OperationKind::ListTasks, "{}").key(&key).send().await;
    assert!(listed.is_ok() || listed.unwrap_err().kind != a2a::FaultKind::PermissionDenied);
    let records = desk.h.finish().await;
    let by_condition: Vec<Value> =
        records.iter().map(closed).filter(|closed| closed["reason"] == "condition").collect();
    assert_eq!(by_condition.len(), 3, "{by_condition:?}");
    for closed in by_condition {
        assert_eq!(closed["findings"][0]["detector"], "condition:house@1/never", "{closed}");
        assert_eq!(closed["findings"][0]["action"], "forbidden/enforce", "{closed}");
        assert_eq!(closed["outcome"], "refused", "{closed}");
    }
}

#[tokio::test]
async fn time_network_metadata_extensions_and_release_decide() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let settings = [("CHANCERY__PUBLIC__TRUSTED_PROXIES", "127.0.0.0/8")];
    let desk = Desk::open_with(Db::Sqlite, &settings).await.unwrap();
    desk.make("/tenants", "acme", &json!({})).await;
    let card = json!({"card": document("echo"), "upstream": {"interfaces": [
        {"url": agent.url(), "binding": "HTTP+JSON", "version": "1.0"}]}});
    desk.make("/tenants/acme/cards", "echo", &card).await;
    desk.publish("echo").await;
    let key = desk.member("ann", &[]).await;
    desk.grant("all", json!({"principal": "ann", "cards": ["*"], "operations": ["*"]})).await;
    let sends = async |when: &str, headers: &[(&str, &str)], metadata: Value| {
        desk.conditions(&json!({"policies": forbid("rule", &format!("!({when})"))})).await;
        desk.sends(&key, headers, &metadata).await
    };
    let (none, yes, no) = (json!({}), StatusCode::OK, StatusCode::FORBIDDEN);
    let now = desk.h.now() / 1_000_000;
    assert_eq!(sends(&format!("context.time.epoch < {}", now + 3_600), &[], none.clone()).await, yes);
    assert_eq!(sends(&format!("context.time.epoch < {}", now - 3_600), &[], none.clone()).await, no);
    let inside = r#"context.source.isInRange(ip("192.0.2.0/24"))"#;
    assert_eq!(sends(inside, &[], none.clone()).await, no);
    assert_eq!(sends(inside, &[("x-forwarded-for", "192.0.2.7")], none.clone()).await, yes);
    assert_eq!(sends(inside, &[("x-forwarded-for", "198.51.100.7")], none.clone()).await, no);
    let customer = r#"context has message && context.message.metadata.text.hasTag("customer") && context.message.metadata.text.getTag("customer") == "acme""#;
    assert_eq!(sends(customer, &[], json!({"customer": "acme"})).await, yes);
    for other in [none.clone(), json!({"customer": "globex"}), json!({"customer": ["acme"]})] {
        assert_eq!(sends(customer, &[], other).await, no);
    }
    let level = r#"context has message && context.message.metadata.number.hasTag("/limits/level") && context.message.metadata.number.getTag("/limits/level") <= 3"#;
    assert_eq!(sends(level, &[], json!({"limits": {"level": 3}})).await, yes);
    for other in [json!({"limits": {"level": 4}}), json!({"limits": {"level": 2.5}}), json!({"/limits/level": 1})] {
        assert_eq!(sends(level, &[], other).await, no);
    }
    let extension = r#"context.extensions.contains("https://e.test/v1")"#;
    assert_eq!(sends(extension, &[("a2a-extensions", "https://e.test/v1")], none.clone()).await, yes);
    assert_eq!(sends(extension, &[("a2a-extensions", "https://e.test/v2")], none.clone()).await, no);
    // The agents of the tests state release 1.2.3; a new release of the card is known at once.
    let release = r#"resource has release && resource.release like "1.*" && resource.revision < 9"#;
    assert_eq!(sends(release, &[], none.clone()).await, yes);
    let read = desk.read("/tenants/acme/cards/echo").await;
    let mut spec = read["spec"].clone();
    spec["card"]["version"] = json!("2.0.0");
    let changed = desk.put("/tenants/acme/cards/echo", &spec, read["revision"].as_i64().unwrap()).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text());
    assert_eq!(sends(release, &[], none.clone()).await, no);
    // What fails denies.
    assert_eq!(sends("context.time.epoch * 9223372036854775807 > 0", &[], none).await, no);
    let records = desk.h.finish().await;
    let failed = records.iter().map(closed).filter(|closed| closed["findings"][0]["action"] == "failed/enforce");
    assert_eq!(failed.count(), 1);
}

#[tokio::test]
async fn shadow_mode_refuses_nothing_and_is_recorded() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let (desk, key) = ann(&["echo"], &agent.url()).await;
    desk.conditions(&json!({"mode": "shadow", "policies": forbid("all", "true")})).await;
    assert_eq!(desk.call(&key, "echo").await.status, StatusCode::OK);
    let explained = desk.explain("ann", "echo", "send").await;
    assert_eq!((&explained["allowed"], &explained["conditions"]["verdict"]), (&json!(true), &json!("would_deny")));
    let ran = desk.run(&["authz", "explain", "-p", "ann", "--card", "echo", "-o", "send"]).await;
    assert!(
        ran.out.contains("yes: ") && ran.out.contains("conditions house would deny it (forbidden: all)"),
        "{ran:?}"
    );
    desk.conditions(&json!({"mode": "off", "policies": forbid("all", "true")})).await;
    assert_eq!(desk.call(&key, "echo").await.status, StatusCode::OK);
    // One policy is tried while another counts.
    let text = forbid("counts", "action == Action::\"list\"") + "@mode(\"shadow\") " + &forbid("tried", "true");
    desk.conditions(&json!({"policies": text})).await;
    assert_eq!(desk.call(&key, "echo").await.status, StatusCode::OK);
    let records = desk.h.finish().await;
    let mut told: Vec<String> =
        records.iter().map(closed).map(|closed| closed["findings"][0]["detector"].to_string()).collect();
    told.sort();
    assert_eq!(told, [r#""condition:house@1/all""#, r#""condition:house@3/tried""#, "null"]);
    assert!(records.iter().all(|record| record.outcome == "ok"));
}

#[tokio::test]
async fn every_mistake_is_named_at_save_and_an_earlier_version_can_be_had_again() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let (desk, key) = ann(&["echo"], &agent.url()).await;
    let wrong = json!({"policies": forbid("a", "context.sauce == 1") + "forbid(principal, action == Action::\"fly\", resource);"});
    for path in ["/tenants/acme/conditions", "/tenants/acme/authz/check"] {
        let mut body = json!({"spec": wrong});
        if path.ends_with("conditions") {
            body["name"] = json!("house");
        }
        let refused = desk.post(path, &body).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text());
        assert!(problem_paths(&refused).iter().all(|path| path == "spec.policies"), "{}", refused.text());
        for part in ["line 2, column", "sauce", "line 3, column 1: needs a name"] {
            assert!(refused.text().contains(part), "{part} is not in {}", refused.text());
        }
    }
    let sound = json!({"policies": forbid("never", "true")});
    assert_eq!(desk.post("/tenants/acme/authz/check", &json!({"spec": sound})).await.status, StatusCode::OK);
    assert_eq!(desk.get("/tenants/acme/conditions/house").await.status, StatusCode::NOT_FOUND, "nothing was saved");

    // The command checks a file without any gateway.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("house.json");
    std::fs::write(&file, wrong.to_string()).unwrap();
    let ran = desk.run(&["conditions", "check", &file.display().to_string()]).await;
    assert!(ran.code == 2 && ran.err.contains("/policies: line 2"), "{ran:?}");
    std::fs::write(&file, sound.to_string()).unwrap();
    let ran = desk.run(&["conditions", "check", &file.display().to_string()]).await;
    assert!(ran.code == 0 && ran.out == "sound\n", "{ran:?}");
    let ran = desk.run(&["conditions", "schema"]).await;
    assert!(ran.out.contains("entity Weekday enum"), "{ran:?}");

    // Version 1 denies, 2 does not, 3 is 1 again.
    desk.conditions(&sound).await;
    assert_eq!(desk.call(&key, "echo").await.status, StatusCode::FORBIDDEN);
    desk.conditions(&json!({"policies": forbid("never", NEVER)})).await;
    assert_eq!(desk.call(&key, "echo").await.status, StatusCode::OK);
    let ran = desk.run(&["conditions", "rollback", "house", "--to", "1"]).await;
    assert!(ran.code == 0 && ran.out.starts_with("changed conditions house"), "{ran:?}");
    assert_eq!(desk.call(&key, "echo").await.status, StatusCode::FORBIDDEN);
    let history = desk.read("/tenants/acme/conditions/house/history").await;
    let notes: Vec<(i64, &str)> = history["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["version"].as_i64().unwrap(), one["note"].as_str().unwrap()))
        .collect();
    assert_eq!(notes, [(3, "as version 1"), (2, ""), (1, "")]);
    let revision = desk.read("/tenants/acme/conditions/house").await["revision"].as_i64();
    let path = "/tenants/acme/conditions/house/version";
    let never = desk.send(Method::PUT, path, Some(&json!({"version": 9})), revision).await;
    assert_eq!((never.status, problem_paths(&never)), (StatusCode::BAD_REQUEST, vec!["version".to_owned()]));
    let stale = desk.send(Method::PUT, path, Some(&json!({"version": 2})), Some(1)).await;
    assert_eq!(stale.status, StatusCode::PRECONDITION_FAILED);
    assert_eq!(desk.delete("/tenants/acme/conditions/house").await.status, StatusCode::NO_CONTENT);
    assert_eq!(desk.call(&key, "echo").await.status, StatusCode::OK);
    desk.h.finish().await;
}

#[tokio::test]
async fn an_explanation_asks_the_conditions_about_the_call_that_is_described() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let (desk, _) = ann(&["echo"], &agent.url()).await;
    let text = r#"
        @id("weekend") forbid(principal, action, resource)
            when { [Weekday::"saturday", Weekday::"sunday"].contains(context.time.weekday) };
        @id("network") forbid(principal, action, resource) unless { context.source.isInRange(ip("10.0.0.0/8")) };
        @id("customer") forbid(principal, action, resource) when { context has message &&
            context.message.metadata.text.hasTag("customer") && context.message.metadata.text.getTag("customer") == "no" };
        @id("beta") forbid(principal, action, resource) when { context.extensions.contains("https://e.test/beta") };
        @id("run") forbid(principal, action, resource) when { context.metadata.keys.contains("run") };
        @id("chain") forbid(principal, action, resource) when { context has delegation && context.delegation.depth > 1 };
        @id("token") forbid(principal, action, resource) when { context.scheme == Scheme::"gateway_token" };"#;
    desk.conditions(&json!({"policies": text})).await;
    let friday = ["--at", "2026-11-27T12:00:00Z", "--source", "10.0.0.9"];
    for (more, policies) in [
        (&[][..], &[][..]),
        (&["--at", "2026-11-28T12:00:00Z"], &["weekend"]),
        (&["--source", "192.0.2.1"], &["network"]),
        (&["--metadata", r#"{"customer":"no"}"#], &["customer"]),
        (&["--extension", "https://e.test/beta", "--request-metadata", r#"{"run":1}"#], &["beta", "run"]),
        (&["--via", "ann>planner", "--via", "bot>echo"], &["chain"]),
        (&["--scheme", "gateway_token"], &["token"]),
    ] {
        let asked = ["--json", "authz", "explain", "-p", "ann", "--card", "echo", "-o", "send"];
        let given = friday.chunks(2).filter(|flag| !more.contains(&flag[0])).flatten().chain(more).copied();
        let ran = desk.run(&asked.into_iter().chain(given).collect::<Vec<_>>()).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        let answer: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(answer["allowed"], policies.is_empty(), "{more:?}: {answer}");
        let decided = answer["conditions"]["policies"].as_array().cloned().unwrap_or_default();
        assert_eq!(decided, policies, "{more:?}: {answer}");
        if let Some(policy) = policies.first() {
            let reason = answer["reason"].as_str().unwrap();
            assert!(reason.contains("grant all allows it, but ") && reason.contains(policy), "{reason}");
        }
    }
    for (query, field) in [
        ("at=monday", "at"),
        ("source=here", "source"),
        ("metadata=[1]", "metadata"),
        ("via=ann", "via"),
        ("scheme=x", "scheme"),
    ] {
        let path = format!("/tenants/acme/authz/explain?principal=ann&card=echo&operation=send&{query}");
        let refused = desk.get(&path).await;
        assert_eq!((refused.status, problem_paths(&refused)), (StatusCode::BAD_REQUEST, vec![field.to_owned()]));
    }
    desk.h.finish().await;
}

/// A stream is judged again when the conditions change, by the facts it began with.
#[tokio::test]
async fn an_open_stream_ends_when_the_conditions_come_to_deny_it() {
    let gate = Gate::new();
    let first = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let agent = Scripted::start(Reply::sse().event(first).wait(&gate).end()).await.unwrap();
    let (desk, key) = ann(&["echo"], &agent.url()).await;
    desk.conditions(&json!({"policies": forbid("later", NEVER)})).await;
    desk.h.expect_records(1);
    let ask = Ask::post("/a2a/acme/echo/message:stream").key(&key).v10().json(&says("hi"));
    let mut live = Live::open(desk.h.public, &ask.bytes()).await;
    assert!(live.event().await.is_some());
    // A change that still allows it leaves it open: the next one is what ends it.
    desk.conditions(&json!({"policies": forbid("later", "action == Action::\"send\"")})).await;
    desk.conditions(&json!({"policies": forbid("later", "action == Action::\"stream\"")})).await;
    let last = live.event().await.unwrap();
    assert_eq!(
        (last.name.as_deref(), last.at("/error/details/0/reason").as_str()),
        (Some("error"), "PERMISSION_DENIED")
    );
    assert_eq!(live.event().await, None);
    gate.open();
    desk.h.finish().await;
}

/// A tenant's first conditions count for what is open already.
#[tokio::test]
async fn an_open_stream_ends_when_the_first_conditions_deny_it() {
    let gate = Gate::new();
    let first = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let agent = Scripted::start(Reply::sse().event(first).wait(&gate).end()).await.unwrap();
    let (desk, key) = ann(&["echo"], &agent.url()).await;
    desk.h.expect_records(1);
    let ask = Ask::post("/a2a/acme/echo/message:stream").key(&key).v10().json(&says("hi"));
    let mut live = Live::open(desk.h.public, &ask.bytes()).await;
    assert!(live.event().await.is_some());
    desk.conditions(&json!({"policies": forbid("now", "action == Action::\"stream\"")})).await;
    let last = tokio::time::timeout(std::time::Duration::from_secs(20), live.event()).await.ok().flatten();
    gate.open();
    assert_eq!(last.expect("it ends").at("/error/details/0/reason").as_str(), "PERMISSION_DENIED");
    desk.h.finish().await;
}

/// Who the caller is, is asked anew: a group that was taken away is no fact any more.
#[tokio::test]
async fn an_open_stream_ends_when_its_caller_leaves_the_group_that_conditions_ask_for() {
    let gate = Gate::new();
    let first = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let agent = Scripted::start(Reply::sse().event(first).wait(&gate).end()).await.unwrap();
    let desk = desk_with(&["echo"], &agent.url()).await;
    let key = desk.member("ann", &["staff", "vip"]).await;
    desk.grant("all", json!({"group": "staff", "cards": ["*"], "operations": ["*"]})).await;
    desk.conditions(&json!({"policies": forbid("vips", "!(principal in Group::\"vip\")")})).await;
    desk.h.expect_records(1);
    let ask = Ask::post("/a2a/acme/echo/message:stream").key(&key).v10().json(&says("hi"));
    let mut live = Live::open(desk.h.public, &ask.bytes()).await;
    assert!(live.event().await.is_some());
    let now = desk.read("/tenants/acme/principals/ann").await;
    let revision = now["revision"].as_i64().unwrap();
    let changed = desk.put("/tenants/acme/principals/ann", &json!({"groups": ["staff"]}), revision).await;
    assert_eq!(changed.status, StatusCode::OK);
    let last = tokio::time::timeout(std::time::Duration::from_secs(20), live.event()).await.ok().flatten();
    gate.open();
    assert_eq!(last.expect("it ends").at("/error/details/0/reason").as_str(), "PERMISSION_DENIED");
    desk.h.finish().await;
}

/// What `ann` has asked the card `planner`, and its agent with this key asks on for her: the chain to show.
async fn asked_on(desk: &Desk) -> (String, Vec<(String, String)>) {
    let planner = start(Behaviour::Honest).await.unwrap();
    let (ann, bot) = (desk.member("ann", &["staff"]).await, desk.member("planner", &["agents"]).await);
    for group in ["staff", "agents"] {
        desk.grant(group, json!({"group": group, "cards": ["*"], "operations": ["*"]})).await;
    }
    let card = json!({"card": document("planner"), "bound_principal": "planner", "upstream": {"interfaces": [
        {"url": planner.url(), "binding": "HTTP+JSON", "version": "1.0"}]}});
    desk.make("/tenants/acme/cards", "planner", &card).await;
    desk.publish("planner").await;
    assert_eq!(desk.call(&ann, "planner").await.status, StatusCode::OK);
    let chain = given(&planner.requests().pop().unwrap());
    assert!(!chain.is_empty());
    (bot, chain)
}

const NOT_FOR_ANN: &str = r#"@id("not-ann") forbid(principal == Principal::"ann", action, resource == Card::"echo");"#;

/// What somebody may not do, no agent does for it.
#[tokio::test]
async fn whoever_is_behind_a_call_is_asked_about_as_its_caller_is() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let desk = desk_with(&["echo"], &agent.url()).await;
    let (bot, chain) = asked_on(&desk).await;
    let chain: Vec<(&str, &str)> = chain.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let none = json!({});
    assert_eq!(desk.sends(&bot, &chain, &none).await, StatusCode::OK);
    desk.conditions(&json!({"policies": NOT_FOR_ANN})).await;
    assert_eq!(desk.sends(&bot, &chain, &none).await, StatusCode::FORBIDDEN);
    assert_eq!(desk.sends(&bot, &[], &none).await, StatusCode::OK, "for itself it may");
    let asked = ["--json", "authz", "explain", "-p", "planner", "--card", "echo", "-o", "send", "--via", "ann>planner"];
    let ran = desk.run(&asked).await;
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&answer["allowed"], &answer["conditions"]["policies"]), (&json!(false), &json!(["not-ann"])));
    assert_eq!(answer["conditions"]["earlier"], json!({"hop": 1, "principal": "ann"}), "{answer}");
    assert!(answer["reason"].as_str().unwrap().ends_with("forbids it for ann, who called before (hop 1)"), "{answer}");
    // In shadow mode it is recorded.
    desk.conditions(&json!({"mode": "shadow", "policies": NOT_FOR_ANN})).await;
    assert_eq!(desk.sends(&bot, &chain, &none).await, StatusCode::OK);
    let ran = desk.run(&asked[1..]).await;
    assert!(
        ran.out.contains("conditions house would deny it for ann, who called before (forbidden: not-ann)"),
        "{ran:?}"
    );
    let records = desk.h.finish().await;
    let mut found: Vec<(String, Value, Value)> = records
        .iter()
        .map(|record| (record.outcome.clone(), closed(record)))
        .filter(|(_, closed)| closed["findings"][0]["detector"].is_string())
        .map(|(outcome, closed)| {
            (outcome, closed["findings"][0]["action"].clone(), closed["findings"][0]["hop"].clone())
        })
        .collect();
    found.sort_by_key(|(outcome, ..)| outcome.clone());
    let told = |outcome: &str, action: &str| (outcome.to_owned(), json!(action), json!(1));
    assert_eq!(found, [told("ok", "forbidden/shadow"), told("refused", "forbidden/enforce")]);
}

/// An open stream, too, ends with what is denied to whoever is behind it; its record says to whom.
#[tokio::test]
async fn an_open_stream_ends_when_the_conditions_come_to_deny_it_to_whoever_is_behind_it() {
    let gate = Gate::new();
    let first = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let agent = Scripted::start(Reply::sse().event(first).wait(&gate).end()).await.unwrap();
    let desk = desk_with(&["echo"], &agent.url()).await;
    let (bot, chain) = asked_on(&desk).await;
    desk.h.expect_records(1);
    let ask = Ask::post("/a2a/acme/echo/message:stream").key(&bot).v10().json(&says("hi"));
    let ask = chain.iter().fold(ask, |ask, (name, value)| ask.header(name, value));
    let mut live = Live::open(desk.h.public, &ask.bytes()).await;
    assert!(live.event().await.is_some());
    desk.conditions(&json!({"policies": NOT_FOR_ANN})).await;
    let last = tokio::time::timeout(std::time::Duration::from_secs(20), live.event()).await.ok().flatten();
    gate.open();
    assert_eq!(last.expect("it ends").at("/error/details/0/reason").as_str(), "PERMISSION_DENIED");
    let records = desk.h.finish().await;
    let ended: Vec<Value> = records.iter().map(closed).filter(|closed| closed["outcome"] == "refused").collect();
    assert_eq!(ended.len(), 1, "{ended:?}");
    let finding = &ended[0]["findings"][0];
    assert_eq!((&finding["detector"], &finding["hop"]), (&json!("condition:house@1/not-ann"), &json!(1)), "{finding}");
}

/// Nobody knows what a damaged document would have denied.
#[tokio::test]
async fn conditions_that_cannot_be_read_deny_everything_of_their_tenant() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let (desk, key) = ann(&["echo"], &agent.url()).await;
    desk.conditions(&json!({"policies": forbid("never", NEVER)})).await;
    assert_eq!(desk.call(&key, "echo").await.status, StatusCode::OK);
    desk.h.damage("UPDATE conditions SET document = CAST('{\"policies\":\"forbid(\"}' AS BLOB), revision = 900").await;
    assert_eq!(desk.call(&key, "echo").await.status, StatusCode::FORBIDDEN);
    let explained = desk.explain("ann", "echo", "send").await;
    assert_eq!(explained["conditions"]["why"], "unreadable", "{explained}");
    assert_eq!(explained["left_out"], json!(["conditions house"]));
    desk.h.finish().await;
}

#[tokio::test]
async fn a_change_is_in_force_on_both_replicas() {
    let Some(h) = Harness::start_with(Db::Postgres, Clock::System, &[]).await else { return };
    let acme = h.tenant("acme").await;
    h.card("acme", "echo", &h.agents.echo_url.clone(), "v10_jsonrpc").await;
    let caller = h.caller("acme", "ann", &["*"], &["*"]).await;
    let other = Replica::beside(&h, &[]).await;
    for at in [h.public, other.public] {
        assert_eq!(status(&h, at, &caller.key, "echo").await.0, 200);
    }
    let document = json!({"policies": "@id(\"never\") forbid(principal, action, resource);"}).to_string().into_bytes();
    let new = store::NewConditions {
        id: "cnd-1".to_owned(),
        name: "house".to_owned(),
        document,
        changed_by: "ada".to_owned(),
        note: String::new(),
    };
    h.store().create_conditions(&acme, &new, h.now()).await.unwrap();
    for at in [h.public, other.public] {
        stops(&h, at, &caller.key, TOLD).await;
    }
    other.finish().await;
    h.finish().await;
}

/// The documents of the guide are applied as they stand there, and do what it says of them.
#[tokio::test]
async fn the_guides_documents_do_what_it_says() {
    let guide =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guides/authorisation.md")).unwrap();
    let documents: Vec<&str> = guide
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .filter(|text| text.contains("kind: Conditions"))
        .collect();
    assert_eq!(documents.len(), 2, "a list of what is forbidden, and one of what is permitted");
    let agent = start(Behaviour::Honest).await.unwrap();
    let (desk, _) = ann(&["echo", "payments"], &agent.url()).await;
    desk.member("partner", &["partners"]).await;
    desk.grant("partners", json!({"group": "partners", "cards": ["*"], "operations": ["*"]})).await;
    let folder = tempfile::tempdir().unwrap();
    let apply = async |text: &str| {
        let file = folder.path().join("conditions.yaml");
        std::fs::write(&file, text.replace("tenant: default", "tenant: acme")).unwrap();
        desk.run(&["apply", "-f", &file.display().to_string()]).await
    };
    let allowed = async |principal: &str, card: &str, more: &str| {
        let at = if more.contains("at=2026") { "" } else { "&at=2026-11-27T12:00:00Z" };
        let query = format!("principal={principal}&card={card}&operation=send{at}&{more}");
        let answer = desk.read(&format!("/tenants/acme/authz/explain?{query}")).await;
        (answer["allowed"] == true, answer["conditions"]["policies"][0].as_str().unwrap_or_default().to_owned())
    };
    let (yes, no) = ((true, String::new()), |policy: &str| (false, policy.to_owned()));
    let ran = apply(documents[0]).await;
    assert!(ran.code == 0 && ran.out == "+ Conditions acme/house-rules\n", "{ran:?}");
    assert_eq!(apply(documents[0]).await.out, "= Conditions acme/house-rules\n");
    assert_eq!(allowed("ann", "echo", "").await, yes);
    assert_eq!(allowed("ann", "payments", "").await, yes);
    assert_eq!(allowed("ann", "payments", "at=2026-11-28T12:00:00Z").await, no("weekend"));
    assert_eq!(allowed("partner", "echo", "").await, no("partner-network"));
    assert_eq!(allowed("partner", "echo", "source=10.9.8.7").await, yes);
    assert_eq!(allowed("ann", "payments", "metadata=%7B%22amount%22:999%7D").await, yes);
    for amount in ["1000", "%22999%22", "99.5"] {
        let query = format!("metadata=%7B%22amount%22:{amount}%7D");
        assert_eq!(allowed("ann", "payments", &query).await, no("approved"), "{amount}");
        let declared = format!("{query}&extensions=https://example.com/ext/approval/v1");
        assert_eq!(allowed("ann", "payments", &declared).await, yes);
    }
    let deep = desk.read("/tenants/acme/authz/explain?principal=ann&card=echo&operation=send&at=2026-11-27T12:00:00Z&via=a>b,b>c,c>d").await;
    assert_eq!((&deep["allowed"], &deep["conditions"]["verdict"]), (&json!(true), &json!("would_deny")), "{deep}");

    assert_eq!(desk.delete("/tenants/acme/conditions/house-rules").await.status, StatusCode::NO_CONTENT);
    let ran = apply(documents[1]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(allowed("ann", "echo", "").await, yes);
    assert_eq!(allowed("ann", "payments", "").await, (false, String::new()), "no policy permits it");
    assert_eq!(allowed("ann", "payments", "scheme=certificate").await, yes);
    desk.h.finish().await;
}
