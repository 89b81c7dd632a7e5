//! Tasks that wait for authorisation (A2A 1.0 §7.6), on cards that name a client for it.

use crate::admin::{Desk, card_spec, problem_paths};
use crate::harness::{Answer, CANARY, Caller, Db, Harness};
use chancery::clock::Clock;
use chancery::registry::sealed::{Change, Changes, NewCredential, NewEndpoint, NewInTask};
use http::{HeaderName, StatusCode};
use json::Json;
use sample_agents::hostile::{Asked, RawRequest, Reply, Script, Scripted, Spoken, State};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use store::{IfMatch, TenantId};

const START: i64 = 1_800_000_000_000_000;
const SECOND: i64 = 1_000_000;

/// An agent whose tasks wait until a message brings a token that `takes` is true of.
async fn waiting(takes: impl Fn(&str) -> bool + Send + Sync + 'static) -> Scripted {
    let state = std::sync::Mutex::new(std::collections::HashMap::<String, State>::new());
    let made = AtomicUsize::new(0);
    let script = Script::by(move |request| {
        let spoken = Spoken::of(request);
        let mut state = state.lock().unwrap();
        match spoken.asked {
            Asked::Send | Asked::Stream => {
                let named = request.json().pointer("/params/message/taskId").and_then(Json::as_str).map(str::to_owned);
                let id = named.unwrap_or_else(|| format!("t{}", made.fetch_add(1, Ordering::Relaxed)));
                let good = request.header("authorization").is_some_and(|token| takes(&token));
                let now = if good { State::Completed } else { State::AuthRequired };
                state.insert(id.clone(), now);
                let told = spoken.sent(spoken.task(&id, now, "what it takes"));
                if spoken.wants_stream() { Reply::sse().event(spoken.event(told)).end() } else { spoken.answer(told) }
            }
            Asked::Get => {
                let id = spoken.task.clone().unwrap_or_default();
                let now = state.get(&id).copied().unwrap_or(State::Completed);
                spoken.answer(spoken.task(&id, now, ""))
            }
            Asked::Cancel | Asked::Subscribe | Asked::List | Asked::Card | Asked::Other => spoken.honest("", ""),
        }
    });
    Scripted::start(script).await.unwrap()
}

/// A token endpoint that numbers its tokens.
async fn issuing() -> Scripted {
    let count = AtomicUsize::new(1);
    let script = Script::by(move |_| {
        let token = format!("{CANARY}-{}", count.fetch_add(1, Ordering::Relaxed));
        Reply::json(200, json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600}).to_string())
    });
    Scripted::start(script).await.unwrap()
}

struct World {
    h: Harness,
    anna: Caller,
}

impl World {
    async fn open() -> Self {
        let h = Harness::start_with(Db::Sqlite, Clock::manual(START), &[]).await.unwrap();
        h.tenant("acme").await;
        let anna = h.caller("acme", "anna", &["*"], &["send", "stream"]).await;
        Self { h, anna }
    }

    /// A card with a client for tasks that wait, and perhaps a credential of its own.
    async fn card(&self, name: &str, agent: &Scripted, tokens: &str, header: &str, own: Option<NewCredential>) {
        let id = self.h.card("acme", name, &agent.url(), "v10_jsonrpc").await;
        let in_task = NewInTask {
            header: HeaderName::try_from(header).unwrap(),
            endpoint: NewEndpoint {
                url: format!("{tokens}/token"),
                client_id: "gateway".to_owned(),
                client_secret: format!("{CANARY}-secret").into(),
                scope: Some("travel book".to_owned()),
                audience: Some("https://agent.test".to_owned()),
            },
        };
        let credential = own.as_ref().map_or(Change::Keep, Change::Replace);
        let changes = Changes { credential, in_task: Change::Replace(&in_task) };
        let origin = format!("http://{}", agent.address());
        let sealed = changes.seal(&self.h.app.seal, ("acme", &id), &origin, None).unwrap();
        let tenant = TenantId::new("acme").unwrap();
        let now = self.h.now();
        self.h.store().set_card_credential(&tenant, name, IfMatch::Any, sealed.as_deref(), now).await.unwrap();
        self.h.refresh().await;
    }

    async fn say(&self, card: &str, method: &str, task: Option<&str>) -> Answer {
        let mut message = json!({"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "go on"}]});
        if let Some(task) = task {
            message["taskId"] = task.into();
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}});
        let asking = self.h.post(&format!("/a2a/acme/{card}"), &body).header("a2a-version", "1.0");
        let answer = asking.key(&self.anna.key).send().await;
        assert!(!answer.text().contains(CANARY), "no secret: {}", answer.text());
        answer
    }

    /// Begins a task that waits; gives its id.
    async fn begin(&self, card: &str) -> String {
        let answer = self.say(card, "SendMessage", None).await.json();
        assert_eq!(state(&answer), "TASK_STATE_AUTH_REQUIRED", "{answer}");
        answer["result"]["task"]["id"].as_str().unwrap().to_owned()
    }
}

fn state(answer: &Value) -> &str {
    answer["result"]["task"]["status"]["state"].as_str().unwrap_or_default()
}

/// What the agent was sent, message by message: the header, if there was one.
fn sent(agent: &Scripted, header: &str) -> Vec<Option<String>> {
    let is_message = |request: &RawRequest| matches!(Spoken::of(request).asked, Asked::Send | Asked::Stream);
    agent.requests().iter().filter(|request| is_message(request)).map(|request| request.header(header)).collect()
}

#[tokio::test]
async fn the_agent_gets_a_token_with_the_message_that_goes_on_and_at_no_other_time() {
    let world = World::open().await;
    let (agent, tokens) = (waiting(|_| true).await, issuing().await);
    world.card("echo", &agent, &tokens.url(), "authorization", None).await;
    let (first, second) = (world.begin("echo").await, world.begin("echo").await);
    assert_eq!(tokens.requests().len(), 0, "nobody has gone on yet");
    assert_eq!(state(&world.say("echo", "SendMessage", Some(&first)).await.json()), "TASK_STATE_COMPLETED");
    let streamed = world.say("echo", "SendStreamingMessage", Some(&second)).await;
    assert!(streamed.text().contains("TASK_STATE_COMPLETED"), "{}", streamed.text());
    // One token for both; what does not wait gets none.
    let asked = tokens.requests();
    assert_eq!(asked.len(), 1);
    let form = "grant_type=client_credentials&scope=travel%20book&audience=https%3A%2F%2Fagent.test";
    assert_eq!(asked[0].body_text(), form);
    world.say("echo", "SendMessage", Some(&first)).await;
    let given = Some(format!("Bearer {CANARY}-1"));
    assert_eq!(sent(&agent, "authorization"), [None, None, given.clone(), given, None]);
    // Another one when the first is about to end.
    world.h.app.clock.advance(3541 * SECOND);
    let third = world.begin("echo").await;
    world.say("echo", "SendMessage", Some(&third)).await;
    assert_eq!(sent(&agent, "authorization").pop().unwrap(), Some(format!("Bearer {CANARY}-2")));
    // The agent was asked how tasks stand without it.
    let reads = agent.requests().into_iter().filter(|request| Spoken::of(request).asked == Asked::Get);
    assert!(reads.map(|request| request.header("authorization")).all(|header| header.is_none()));
    let records = world.h.finish().await;
    let supplied = |record: &&store::AuditRecord| {
        let document: Value = serde_json::from_slice(&record.document).unwrap();
        document.to_string().contains(r#""in_task":"supplied""#)
    };
    assert_eq!(records.iter().filter(supplied).count(), 3, "it is recorded when it was given");
}

#[tokio::test]
async fn it_goes_beside_the_cards_own_credential_in_a_header_of_its_own() {
    let world = World::open().await;
    let (agent, tokens) = (waiting(|token| token.ends_with("never")).await, issuing().await);
    let own = NewCredential::Bearer { token: format!("{CANARY}-own").into() };
    world.card("echo", &agent, &tokens.url(), "x-secondary", Some(own)).await;
    let task = world.begin("echo").await;
    world.say("echo", "SendMessage", Some(&task)).await;
    let own = Some(format!("Bearer {CANARY}-own"));
    assert_eq!(sent(&agent, "authorization"), [own.clone(), own]);
    assert_eq!(sent(&agent, "x-secondary"), [None, Some(format!("Bearer {CANARY}-1"))]);
    world.h.finish().await;
}

/// D11: the message is not repeated; the next one has another token.
#[tokio::test]
async fn a_token_that_is_refused_or_does_not_do_is_replaced() {
    let world = World::open().await;
    let tokens = issuing().await;
    let agent = waiting(|token| token.ends_with("-2")).await;
    world.card("unmoved", &agent, &tokens.url(), "authorization", None).await;
    let task = world.begin("unmoved").await;
    let again = world.say("unmoved", "SendMessage", Some(&task)).await.json();
    assert_eq!(state(&again), "TASK_STATE_AUTH_REQUIRED", "the agent says so, and the caller hears it");
    assert_eq!(state(&world.say("unmoved", "SendMessage", Some(&task)).await.json()), "TASK_STATE_COMPLETED");

    let refuses = Scripted::start(Script::by(|request| {
        let spoken = Spoken::of(request);
        match (spoken.asked, request.header("authorization")) {
            (Asked::Send, Some(token)) if token.ends_with("-3") => Reply::json(401, "{}"),
            (Asked::Send, Some(_)) => spoken.answer(spoken.sent(spoken.task("t1", State::Completed, ""))),
            (Asked::Get, _) => spoken.answer(spoken.task("t1", State::AuthRequired, "")),
            _ => spoken.answer(spoken.sent(spoken.task("t1", State::AuthRequired, ""))),
        }
    }));
    let refuses = refuses.await.unwrap();
    world.card("refuses", &refuses, &tokens.url(), "authorization", None).await;
    let task = world.begin("refuses").await;
    let refused = world.say("refuses", "SendMessage", Some(&task)).await.json();
    assert_eq!(refused["error"]["data"][0]["reason"], "UPSTREAM_AUTH_FAILED", "{refused}");
    assert_eq!(state(&world.say("refuses", "SendMessage", Some(&task)).await.json()), "TASK_STATE_COMPLETED");
    assert_eq!((sent(&refuses, "authorization").len(), tokens.requests().len()), (3, 4));
    world.h.finish().await;
}

#[tokio::test]
async fn without_a_token_the_message_is_not_sent_and_the_record_says_why() {
    let world = World::open().await;
    let agent = waiting(|_| true).await;
    let refusing = Script::always(Reply::json(401, format!(r#"{{"error":"invalid_client","hint":"{CANARY}"}}"#)));
    let tokens = Scripted::start(refusing).await.unwrap();
    world.card("echo", &agent, &tokens.url(), "authorization", None).await;
    let task = world.begin("echo").await;
    let failed = world.say("echo", "SendMessage", Some(&task)).await.json();
    assert_eq!(failed["error"]["code"], -32044, "{failed}");
    assert_eq!(failed["error"]["data"][0]["reason"], "UPSTREAM_AUTH_FAILED", "{failed}");
    assert_eq!(
        failed["error"]["message"],
        "the task waits for authorisation, and the gateway's credential for it cannot be had"
    );
    assert_eq!(sent(&agent, "authorization").len(), 1, "the follow-up stayed here");
    let records = world.h.finish().await;
    let record = records.iter().find(|record| record.outcome == "upstream_error").unwrap();
    let document: Value = serde_json::from_slice(&record.document).unwrap();
    assert!(document.to_string().contains(r#""reason":"in_task_authorisation""#), "{document}");
}

/// Somebody else's task is a missing one, before anybody asks the agent or an endpoint.
#[tokio::test]
async fn a_foreign_task_is_not_authorised() {
    let world = World::open().await;
    let (agent, tokens) = (waiting(|_| true).await, issuing().await);
    world.card("echo", &agent, &tokens.url(), "authorization", None).await;
    let task = world.begin("echo").await;
    let bob = world.h.caller("acme", "bob", &["*"], &["send"]).await;
    let message = json!({"messageId": "m", "role": "ROLE_USER", "taskId": task, "parts": [{"text": "mine"}]});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    let answer = world.h.post("/a2a/acme/echo", &body).header("a2a-version", "1.0").key(&bob.key).send().await;
    assert_eq!(answer.json()["error"]["code"], -32001, "{}", answer.text());
    assert_eq!((agent.requests().len(), tokens.requests().len()), (1, 0));
    world.h.finish().await;
}

const CARD: &str = "/tenants/acme/cards/secure";

fn client(desk: &Desk) -> Value {
    let tokens = format!("{}/oauth/token", desk.h.agents.base_url);
    json!({"type": "oauth2", "token_url": tokens, "client_id": "rustybin", "client_secret": "secret"})
}

/// The sample agent and its identity provider, as the demo has them.
#[tokio::test]
async fn the_secure_sample_agent_goes_on_with_the_gateways_token() {
    let desk = Desk::acme().await;
    let mut spec = card_spec("Secure", &format!("{}/a2a/secure", desk.h.agents.base_url));
    desk.make("/tenants/acme/cards", "secure", &spec).await;
    let key = desk.caller("acme", "bot").await["key"].as_str().unwrap().to_owned();
    let say = async |task: Option<&Value>| {
        let mut message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "who am I?"}]});
        message["taskId"] = task.cloned().unwrap_or_default();
        if task.is_none() {
            message.as_object_mut().unwrap().remove("taskId");
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
        desk.h.post("/a2a/acme/secure", &body).header("a2a-version", "1.0").key(&key).send().await.json()
    };
    let asked = say(None).await;
    assert_eq!(state(&asked), "TASK_STATE_AUTH_REQUIRED", "{asked}");
    let told = &asked["result"]["task"]["status"]["message"]["parts"][0]["text"];
    assert!(told.as_str().unwrap().contains("POST /oauth/token"), "what the agent said: {asked}");
    let task = asked["result"]["task"]["id"].clone();
    assert_eq!(state(&say(Some(&task)).await), "TASK_STATE_AUTH_REQUIRED", "not unless the card says so");

    let made = desk.read(CARD).await;
    spec["upstream"]["in_task_authorisation"] = client(&desk);
    let changed = desk.put(CARD, &spec, made["revision"].as_i64().unwrap()).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text());
    let done = say(Some(&task)).await;
    assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{done}");
    assert!(done.to_string().contains("You are rustybin."), "{done}");
    desk.h.finish().await;
}

#[tokio::test]
async fn the_client_is_written_never_read_and_stays_by_itself() {
    let desk = Desk::acme().await;
    let mut spec = card_spec("Secure", "http://127.0.0.1:9");
    let mut own = client(&desk);
    own["client_secret"] = "secret-of-the-client".into();
    spec["upstream"]["in_task_authorisation"] = own;
    let made = desk.make("/tenants/acme/cards", "secure", &spec).await;
    let upstream = |card: &Value| {
        let upstream = &card["spec"]["upstream"];
        (upstream["credential"]["type"].clone(), upstream["in_task_authorisation"].clone())
    };
    let there = json!({"type": "oauth2"});
    assert_eq!(upstream(&made), (json!("none"), there.clone()));
    let revision = |card: &Value| card["revision"].as_i64().unwrap();
    assert_eq!(desk.put(CARD, &made["spec"], revision(&made)).await.json(), made, "what GET gave changes nothing");
    // The card's own credential comes and goes beside it, but not in its header.
    let path = format!("{CARD}/credential");
    let bearer = json!({"type": "bearer", "token": "secret-of-the-card"});
    let refused = desk.send(http::Method::PUT, &path, Some(&bearer), None).await;
    assert_eq!(problem_paths(&refused), ["spec.upstream.in_task_authorisation"], "{}", refused.text());
    let header = json!({"type": "header", "name": "x-api-key", "value": "secret-of-the-card"});
    let set = desk.send(http::Method::PUT, &path, Some(&header), None).await.json();
    assert_eq!(upstream(&set), (json!("header"), there.clone()));
    for path in [CARD, "/tenants/acme/cards", &format!("{CARD}/history")] {
        assert!(!desk.get(path).await.text().contains("secret-of-the-"), "{path}");
    }
    // It does not follow the agent to another server (T-CARD-6).
    let mut moved = set["spec"].clone();
    moved["upstream"]["interfaces"][0]["url"] = "http://127.0.0.1:10".into();
    let refused = desk.put(CARD, &moved, revision(&set)).await;
    let both = ["spec.upstream.credential", "spec.upstream.in_task_authorisation"];
    assert_eq!(problem_paths(&refused), both, "{}", refused.text());
    // One goes, the other stays.
    let none = desk.send(http::Method::PUT, &path, Some(&json!({"type": "none"})), None).await.json();
    assert_eq!(upstream(&none), (json!("none"), there));
    let mut without = none["spec"].clone();
    without["upstream"]["in_task_authorisation"] = json!({"type": "none"});
    let without = desk.put(CARD, &without, revision(&none)).await.json();
    assert_eq!(upstream(&without), (json!("none"), Value::Null));
    let acme = TenantId::new("acme").unwrap();
    assert_eq!(desk.h.store().card(&acme, "secure").await.unwrap().unwrap().sealed_credential, None);
    let mut nothing = without["spec"].clone();
    nothing["upstream"]["in_task_authorisation"] = json!({"type": "oauth2"});
    let refused = desk.put(CARD, &nothing, revision(&without)).await;
    assert_eq!(problem_paths(&refused), ["spec.upstream.in_task_authorisation"], "there is nothing to keep");
    desk.h.finish().await;
}

#[tokio::test]
async fn the_commands_write_the_client_as_the_api_does() {
    let desk = Desk::acme().await;
    let spec = card_spec("Secure", "http://127.0.0.1:9");
    desk.make("/tenants/acme/cards", "secure", &spec).await;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &Value| {
        let path = folder.path().join(name);
        std::fs::write(&path, text.to_string()).unwrap();
        path.display().to_string()
    };
    let shown = async || desk.read(CARD).await["spec"]["upstream"]["in_task_authorisation"].clone();
    let there = json!({"type": "oauth2"});
    let mut own = client(&desk);
    own["client_secret"] = "secret-of-the-client".into();
    let (given, none) = (write("client.json", &own), write("none.json", &json!({"type": "none"})));
    let card = desk.read(CARD).await["spec"]["card"].clone();

    let ran = desk.run(&["card", "in-task", "secure", "-f", &given]).await;
    assert!(ran.code == 0 && ran.out.starts_with("changed card secure"), "{ran:?}");
    assert!(!format!("{ran:?}").contains("secret-of-the-"), "{ran:?}");
    assert_eq!((shown().await, &desk.read(CARD).await["spec"]["card"]), (there.clone(), &card));
    let ran = desk.run(&["card", "in-task", "secure", "-f", &none]).await;
    assert_eq!((ran.code, shown().await), (0, Value::Null), "{ran:?}");
    let wrong = write("wrong.json", &json!({"type": "bearer", "token": "t"}));
    let ran = desk.run(&["card", "in-task", "secure", "-f", &wrong]).await;
    assert!(ran.code != 0 && ran.err.contains("spec.upstream.in_task_authorisation"), "{ran:?}");

    // A document that names a secret is applied each time: nobody can tell whether it is the same.
    let document = |client: &Value| {
        let mut spec = spec.clone();
        spec["upstream"]["in_task_authorisation"] = client.clone();
        write("card.json", &json!({"kind": "Card", "tenant": "acme", "name": "secure", "spec": spec}))
    };
    let apply = async |client: &Value| {
        let ran = desk.run(&["apply", "-f", &document(client)]).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.out
    };
    assert!(apply(&own).await.contains("upstream.in_task_authorisation"));
    assert_eq!(shown().await, there);
    assert_eq!(apply(&there).await, "= Card acme/secure\n");
    let none = json!({"type": "none"});
    assert!(apply(&none).await.starts_with("~ Card acme/secure"));
    assert_eq!((shown().await, apply(&none).await.as_str()), (Value::Null, "= Card acme/secure\n"));
    desk.h.finish().await;
}
