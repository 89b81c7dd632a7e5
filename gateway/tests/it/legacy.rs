//! The legacy proxy's wire, and a program that speaks nothing else.

use crate::delegation::given;
use crate::harness::{Answer, CANARY, Harness, document};
use http::StatusCode;
use sample_agents::hostile::{Behaviour, Reply, Scripted, start};
use serde_json::{Value, json};
use store::AuditRecord;

const OUT: &str = "/v1/proxy/a2a/outbound";
const IN: &str = "/v1/proxy/a2a/inbound";

fn body(card: &str, text: &str) -> Value {
    json!({
        "target_card_id": card,
        "capability": "say",
        "message": {"messageId": "m1", "role": "user", "parts": [{"kind": "text", "text": text}]},
    })
}

struct World {
    h: Harness,
    key: String,
}

impl World {
    async fn open() -> Self {
        let h = Harness::start().await;
        h.tenant("acme").await;
        let key = h.caller("acme", "anna", &["*"], &["send", "stream"]).await.key;
        Self { h, key }
    }

    async fn card(&self, name: &str, agent: &Scripted, settings: Value) -> String {
        let mut settings = settings;
        settings["upstream"]["interfaces"] = json!([{"url": agent.url()}]);
        self.h.card_with("acme", name, &settings, &document(name)).await
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        self.h.expect_records(1);
        self.h.post(path, body).key(&self.key).send().await
    }
}

fn detail(record: &AuditRecord) -> Value {
    serde_json::from_slice(&record.document).unwrap()
}

/// A card is named by its id or by `tenant/name`; the agent's answer comes as it was given.
#[tokio::test]
async fn an_answer_comes_in_the_generation_that_the_agent_gave_it_in() {
    let world = World::open().await;
    let agent = start(Behaviour::Honest).await.unwrap();
    let id = world.card("new", &agent, json!({"upstream": {"dialect": "v10_jsonrpc"}})).await;
    world.card("old", &agent, json!({"upstream": {"dialect": "v03_jsonrpc"}})).await;
    world.card("paths", &agent, json!({"upstream": {"dialect": "path_rpc"}})).await;
    let new = world.post(OUT, &body(&id, "hi")).await;
    assert_eq!(new.status, StatusCode::OK, "{}", new.text());
    assert_eq!(new.json()["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{}", new.text());
    assert_eq!(new.header("content-type"), "application/json");
    for name in ["acme/old", "acme/paths"] {
        let old = world.post(OUT, &body(name, "hi")).await.json();
        assert_eq!(old["result"]["status"]["state"], "completed", "{name}: {old}");
    }
    let inbound = world.post(IN, &body("acme/new", "hi")).await;
    assert_eq!(inbound.status, StatusCode::OK);
    let records = world.h.finish().await;
    for record in &records {
        assert_eq!(detail(record)["opened"]["entrance"], "legacy");
        assert_eq!((record.outcome.as_str(), record.operation.as_deref()), ("ok", Some("send")));
    }
}

/// What the public demo agents read: the message alone, at the path with the encoded colon.
#[tokio::test]
async fn an_agent_that_reads_bare_bodies_gets_one() {
    let world = World::open().await;
    let told = r#"{"task":{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
    let agent = Scripted::start(Reply::json(200, told)).await.unwrap();
    world.card("bare", &agent, json!({"upstream": {"dialect": "path_rpc", "path_body": "bare"}})).await;
    let answer = world.post(OUT, &body("acme/bare", "hi")).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    assert_eq!(answer.json()["task"]["id"], "t-1", "{}", answer.text());
    let seen = agent.requests().pop().unwrap();
    assert_eq!(seen.line, "POST /message%3Asend HTTP/1.1");
    assert!(seen.body_text().starts_with(r#"{"message":{"#), "{}", seen.body_text());
    world.h.finish().await;
}

#[tokio::test]
async fn a_stream_is_streamed() {
    let world = World::open().await;
    let agent = start(Behaviour::Honest).await.unwrap();
    world.card("echo", &agent, json!({"upstream": {"dialect": "v10_jsonrpc"}})).await;
    let mut asked = body("acme/echo", "hi");
    asked["stream"] = true.into();
    let answer = world.post(OUT, &asked).await;
    assert_eq!(answer.header("content-type"), "text/event-stream", "{}", answer.text());
    assert!(answer.text().contains("TASK_STATE_COMPLETED"), "{}", answer.text());
    let records = world.h.finish().await;
    assert_eq!(records[0].operation.as_deref(), Some("stream"));
}

#[tokio::test]
async fn a_skill_must_be_one_of_the_cards() {
    let world = World::open().await;
    let agent = start(Behaviour::Honest).await.unwrap();
    world.card("echo", &agent, json!({"upstream": {"dialect": "v10_jsonrpc"}})).await;
    let mut asked = body("acme/echo", "hi");
    asked["capability"] = "sing".into();
    let answer = world.post(OUT, &asked).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text());
    assert_eq!(answer.json()["skills"], json!(["say"]), "{}", answer.text());
    assert!(answer.json()["message"].as_str().unwrap().contains("say"));
    // Who may not see a card does not learn its skills; another tenant's is no card either.
    for card in ["acme/ghost", "globex/echo", "card-unknown"] {
        let mut asked = body(card, "hi");
        asked["capability"] = "sing".into();
        let answer = world.post(OUT, &asked).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{card}");
        assert_eq!(answer.json()["error"], "agent_not_found", "{card}");
    }
    assert_eq!(agent.seen().connections, 0);
    world.h.finish().await;
}

/// Who asks for skills that are not there uses up its limits like everybody.
#[tokio::test]
async fn a_skill_that_is_not_there_counts_as_a_call() {
    let mut world = World::open().await;
    let agent = start(Behaviour::Honest).await.unwrap();
    world.card("echo", &agent, json!({"upstream": {"dialect": "v10_jsonrpc"}})).await;
    let hasty = world.h.principal("acme", "hasty").await;
    world.key = world.h.key("acme", &hasty, None).await.1;
    let grant = json!({"cards": ["*"], "operations": ["send"], "limits": {"per_minute": 1}});
    world.h.grant("acme", &hasty, &grant).await;
    let mut asked = body("acme/echo", "hi");
    asked["capability"] = "sing".into();
    assert_eq!(world.post(OUT, &asked).await.status, StatusCode::BAD_REQUEST);
    let answer = world.post(OUT, &asked).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS, "{}", answer.text());
    assert!(!answer.text().contains("skills"), "{}", answer.text());
    world.h.finish().await;
}

/// Which policies apply is not the route's to choose.
#[tokio::test]
async fn a_block_is_told_in_the_words_of_this_wire() {
    let world = World::open().await;
    let agent = start(Behaviour::Honest).await.unwrap();
    for (name, surface) in [("in", "a2a_inbound"), ("out", "a2a_outbound")] {
        let words = json!({"id": "words", "name": "no", "words": ["forbidden"], "action": "block"});
        world.h.policy("acme", name, &json!({"surfaces": [surface], "detectors": [words]})).await;
        world.card(name, &agent, json!({"policy": name, "upstream": {"dialect": "v10_jsonrpc"}})).await;
    }
    for (path, card, surface) in
        [(OUT, "acme/out", "a2a_outbound"), (OUT, "acme/in", "a2a_inbound"), (IN, "acme/in", "a2a_inbound")]
    {
        let answer = world.post(path, &body(card, "a forbidden thing")).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path} {card}: {}", answer.text());
        let told = answer.json();
        assert_eq!(told["error"], "guardrail_blocked", "{told}");
        assert_eq!(told["surface"], surface, "{told}");
        assert_eq!(told["guardrail"], "no", "{told}");
        assert!(told["message"].is_string() && told["correlation_id"] == answer.header("x-correlation-id"), "{told}");
    }
    assert_eq!(agent.seen().connections, 0);
    assert!(world.h.finish().await.iter().all(|record| record.outcome == "blocked"));
}

#[tokio::test]
async fn an_agent_that_is_down_is_a_bad_gateway() {
    let world = World::open().await;
    let agent = start(Behaviour::Refuse).await.unwrap();
    world.card("down", &agent, json!({"upstream": {"dialect": "v10_jsonrpc"}})).await;
    let answer = world.post(OUT, &body("acme/down", "hi")).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert_eq!(answer.json()["error"], "upstream_unavailable", "{}", answer.text());
    let refused = world.h.post(OUT, &body("acme/down", "hi")).bad_key("sk_brutor_api_none").send().await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert!(refused.json()["error"].is_string());
    let wrong = world.h.get(OUT);
    world.h.expect_records(1);
    let wrong = wrong.key(&world.key).send().await;
    assert_eq!((wrong.status, wrong.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, "POST"));
    world.h.finish().await;
}

#[tokio::test]
async fn what_a_caller_says_of_its_run_is_recorded_as_said_and_its_run_told_back() {
    let world = World::open().await;
    let agent = start(Behaviour::Honest).await.unwrap();
    world.card("echo", &agent, json!({"upstream": {"dialect": "v10_jsonrpc"}})).await;
    world.h.expect_records(2);
    let said = |value: &str| {
        let asking = world.h.post(OUT, &body("acme/echo", "hi")).key(&world.key);
        asking.header("x-brutor-run-id", "run-7").header("X-Brutor-Step-Name", value).header("X-Brutor-Turn-Seq", "3")
    };
    let answer = said("plan").send().await;
    assert_eq!((answer.status, answer.header("x-brutor-run-id")), (StatusCode::OK, "run-7"));
    assert!(!agent.requests()[0].headers_text().to_ascii_lowercase().contains("step-name"), "agents are not told");
    assert_eq!(said(&"x".repeat(129)).send().await.status, StatusCode::BAD_REQUEST);
    let records = world.h.finish().await;
    let ok = records.iter().find(|record| record.outcome == "ok").unwrap();
    assert_eq!(detail(ok)["opened"]["said"], json!({"run-id": "run-7", "step-name": "plan", "turn-seq": "3"}));
}

/// T-DEL-1: a chain that does not hold is refused in the words of this wire, on either route; why, only the record says.
#[tokio::test]
async fn a_bad_chain_is_told_in_the_words_of_this_wire() {
    let world = World::open().await;
    let agent = start(Behaviour::Honest).await.unwrap();
    let one = world.h.caller("acme", "one", &["*"], &["send"]).await;
    let bound = json!({"bound_principal": "one", "upstream": {"dialect": "v10_jsonrpc"}});
    for card in ["first", "second"] {
        world.card(card, &agent, bound.clone()).await;
    }
    assert_eq!(world.post(OUT, &body("acme/first", "hi")).await.status, StatusCode::OK);
    let chain = given(&agent.requests()[0]);
    let post = async |path: &str, key: &str, chain: &[(String, String)]| {
        world.h.expect_records(1);
        let asking = world.h.post(path, &body("acme/second", "hi")).key(key).header("x-tenant-id", "globex");
        chain.iter().fold(asking, |asking, (name, value)| asking.header(name, value)).send().await
    };
    let mut forged = chain.clone();
    forged.iter_mut().filter(|(name, _)| name.ends_with("-root")).for_each(|(_, value)| value.push('x'));
    for path in [OUT, IN] {
        for (key, chain, status, error) in [
            (&world.key, &chain[..], 403, "delegation_invalid"),
            (&one.key, &forged[..], 403, "delegation_invalid"),
            (&one.key, &chain[1..], 400, "invalid_request"),
        ] {
            let answer = post(path, key, chain).await;
            let told = answer.json();
            assert_eq!((answer.status.as_u16(), told["error"].as_str()), (status, Some(error)), "{path}: {told}");
            assert_eq!(told["correlation_id"], answer.header("x-correlation-id"));
        }
    }
    assert_eq!(agent.requests().len(), 1, "what was refused reached nobody");
    assert_eq!(post(IN, &one.key, &chain).await.status, StatusCode::OK, "the key decides the tenant");
    let mut records = world.h.finish().await;
    records.sort_by_key(|record| record.seq);
    let reasons: Vec<Value> = records.iter().map(|record| detail(record)["closed"]["reason"].clone()).collect();
    assert_eq!(reasons[1..7], ["audience", "mac", "incomplete", "audience", "mac", "incomplete"].map(Value::from));
}

/// A program of that wire, of the standard library alone, with nothing but address and key changed.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_written_for_the_legacy_wire_works() {
    let world = World::open().await;
    let agent = start(Behaviour::Honest).await.unwrap();
    let one = world.h.principal("acme", "one").await;
    let (_, own_key) = world.h.key("acme", &one, None).await;
    world.h.grant("acme", &one, &json!({"cards": ["*"], "operations": ["send"]})).await;
    let bound = json!({"bound_principal": "one", "upstream": {"dialect": "path_rpc"}});
    world.card("first", &agent, bound).await;
    let words = json!({"id": "words", "name": "no", "words": ["forbidden"], "action": "block"});
    let policy = json!({"surfaces": ["a2a_outbound"], "detectors": [words]});
    world.h.policy("acme", "no", &policy).await;
    let id = world.card("second", &agent, json!({"policy": "no", "upstream": {"dialect": "path_rpc"}})).await;
    world.h.expect_records(4);
    let first = world.h.post(OUT, &body("acme/first", CANARY)).key(&world.key).send().await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.text());
    let given = agent.requests().pop().unwrap();
    let chain: Vec<String> = given
        .header_list()
        .into_iter()
        .filter(|(name, _)| name.to_ascii_lowercase().starts_with("x-brutor-delegation-"))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/legacy_program.py");
    let mut command = std::process::Command::new("python3");
    command.arg(program).args([&format!("http://{}", world.h.public), &own_key, &id]).args(chain);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(text(&output.stdout).trim(), "state=completed blocked=no unknown=400");
    let records = world.h.finish().await;
    let delegated = records.iter().filter(|record| detail(record)["opened"]["delegation"]["depth"] == 1).count();
    assert_eq!(delegated, 3);
}
