//! HTTP+JSON of A2A 0.3 on both sides: callers of the Python and JavaScript SDKs, agents with their habits.

use crate::rig::{CardSpec, P1, P2, Plan, Rig, SECRET, rest, rpc, says};
use crate::wire::{Ask, Heard};
use a2a::Dialect;
use a2a::dialect::{Colon, R3Bytes, R3Objects, VersionMode};
use json::Json;
use sample_agents::hostile::{Behaviour, RawRequest, Reply, Script, Scripted, Spoken, start};

const U: &str = "/a2a/acme/echo";

/// A send as the legacy transport of the Python SDK writes it.
const PYTHON: &str =
    r#"{"request":{"message_id":"m1","role":"ROLE_USER","content":[{"text":"hi"}]},"configuration":{"blocking":true}}"#;

/// The same as the JavaScript SDK writes it.
const JAVASCRIPT: &str =
    r#"{"message":{"messageId":"m1","role":"ROLE_USER","content":[{"text":"hi"}]},"configuration":{"blocking":true}}"#;

/// One event as some agents write it: a line for each line of indented JSON.
const SPREAD: &str = "data: {\ndata:  \"task\": {\ndata:   \"id\": \"t1\", \"contextId\": \"c1\",\ndata:   \"status\": {\"state\": \"TASK_STATE_COMPLETED\"}\ndata:  }\ndata: }\n\n";

fn post(path: &str, body: &str) -> Ask {
    Ask::post(&format!("{U}/v1{path}")).key(P1).json(body)
}

fn get(path: &str) -> Ask {
    Ask::get(&format!("{U}/v1{path}")).key(P1)
}

async fn scripted(reply: impl Fn(&RawRequest) -> Reply + Send + Sync + 'static) -> Scripted {
    Scripted::start(Script::by(reply)).await.unwrap()
}

async fn rig(agent: &Scripted, dialect: Dialect) -> Rig {
    Plan::echo(CardSpec::of(&agent.url(), dialect)).start().await
}

/// The error of a body, which must have three members.
fn error(heard: &Heard) -> (u16, i64, String) {
    let json = heard.json();
    assert_eq!(json.as_object().unwrap().len(), 3, "{}", heard.text());
    assert!(!heard.at("/message").is_empty(), "{}", heard.text());
    let code = json.get("code").and_then(Json::as_number).and_then(json::Number::as_i64).unwrap();
    (heard.status, code, heard.at("/type"))
}

#[tokio::test]
async fn callers_reach_agents_of_every_dialect() {
    let agent = start(Behaviour::Honest).await.unwrap();
    for dialect in [Dialect::J1, Dialect::R1, Dialect::J3, Dialect::R3] {
        let rig = rig(&agent, dialect).await;
        for (body, agent_of_user) in [(PYTHON, "python-httpx/0.28.1"), (JAVASCRIPT, "node")] {
            let heard = rig.call(post("/message:send", body).header("User-Agent", agent_of_user)).await;
            assert_eq!((heard.status, heard.at("/task/status/state").as_str()), (200, "TASK_STATE_COMPLETED"));
            assert_eq!(heard.header("content-type").as_deref(), Some("application/json"));
            let id = heard.at("/task/id");
            let got = rig.call(get(&format!("/tasks/{id}?historyLength=0"))).await;
            assert_eq!((got.status, got.at("/id")), (200, id.clone()), "{dialect:?} {}", got.text());
            assert!(got.json().get("kind").is_none());
            let cancelled =
                rig.call(post(&format!("/tasks/{id}:cancel"), &format!(r#"{{"name":"tasks/{id}"}}"#))).await;
            assert_eq!(cancelled.at("/status/state"), "TASK_STATE_CANCELLED", "{dialect:?} {}", cancelled.text());
            for ask in [
                post("/message:stream", body),
                get(&format!("/tasks/{id}:subscribe")),
                Ask::post(&format!("{U}/v1/tasks/{id}%3Asubscribe")).key(P1),
            ] {
                let events = rig.call(ask).await.events();
                let last = events.last().unwrap();
                assert_eq!(events[0].at("/task/status/state"), "TASK_STATE_WORKING", "{dialect:?}");
                let told = (last.at("/statusUpdate/status/state"), last.at("/statusUpdate/final"));
                assert_eq!(told, ("TASK_STATE_COMPLETED".to_owned(), "true".to_owned()), "{dialect:?}");
            }
        }
        assert!(rig.records(12).await.iter().all(|record| record.outcome == "ok"));
    }
}

#[tokio::test]
async fn agents_are_reached_by_callers_of_every_dialect() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = rig(&agent, Dialect::R3).await;
    let old = |method: &str, params: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        Ask::post(U).key(P1).json(&body)
    };
    let message = r#"{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]},"configuration":{"blocking":true}}"#;
    for (ask, state, wanted) in [
        (rpc("SendMessage", &says("hi")), "/result/task/status/state", "TASK_STATE_COMPLETED"),
        (rest(&says("hi")), "/task/status/state", "TASK_STATE_COMPLETED"),
        (old("message/send", message), "/result/status/state", "completed"),
        (post("/message:send", JAVASCRIPT), "/task/status/state", "TASK_STATE_COMPLETED"),
    ] {
        let heard = rig.call(ask).await;
        assert_eq!(heard.at(state), wanted, "{}", heard.text());
        let seen = agent.requests().pop().unwrap();
        assert_eq!((seen.method(), seen.path()), ("POST", "/v1/message%3Asend"));
        assert_eq!(
            (seen.header("a2a-version"), seen.header("content-type").as_deref()),
            (None, Some("application/json"))
        );
        let body = seen.body_text();
        assert!(body.contains(r#""content":[{"text":"hi"}]"#) && body.contains(r#""blocking":true"#), "{body}");
        assert!(!body.contains("kind") && !body.contains("parts"), "{body}");
    }
    let id = "t-1";
    let ids = format!(r#"{{"id":"{id}"}}"#);
    let sent = agent.requests().len();
    for ask in [rpc("GetTask", &ids), old("tasks/get", &ids)] {
        assert_eq!(rig.call(ask).await.code(), -32001, "nobody's task");
    }
    assert_eq!(agent.requests().len(), sent);
    let list = rig.call(rpc("ListTasks", "{}")).await;
    assert_eq!(list.code(), -32004, "0.3 has no list: {}", list.text());
}

#[tokio::test]
async fn faults_are_told_in_three_members_and_a_status() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
    let push = r#"{"parent":"tasks/T","configId":"c1","config":{"name":"tasks/T/pushNotificationConfigs/c1","pushNotificationConfig":{"url":"https://h.test/"}}}"#;
    let id = rig.call(post("/message:send", JAVASCRIPT)).await.at("/task/id");
    let inline = JAVASCRIPT.replace(r#""blocking":true"#, r#""push_notification":{"url":"https://h.test/"}"#);
    for (ask, told) in [
        (get("/tasks/nobodys"), (404, -32001, "TaskNotFoundError")),
        (get("/tasks/nobodys:subscribe"), (404, -32001, "TaskNotFoundError")),
        (post("/message:send", r#"{"message":{}}"#), (400, -32602, "InvalidParamsError")),
        (post("/message:send", "{"), (400, -32700, "JSONParseError")),
        (
            post(&format!("/tasks/{id}/pushNotificationConfigs"), push),
            (400, -32003, "PushNotificationNotSupportedError"),
        ),
        (get(&format!("/tasks/{id}/pushNotificationConfigs")), (400, -32003, "PushNotificationNotSupportedError")),
        (get(&format!("/tasks/{id}/pushNotificationConfigs/c1")), (400, -32003, "PushNotificationNotSupportedError")),
        (post("/message:send", &inline), (400, -32003, "PushNotificationNotSupportedError")),
        (get("/card"), (400, -32007, "ExtendedAgentCardNotConfiguredError")),
        (Ask::post(&format!("{U}/v1/message:send")).json(PYTHON), (401, -32040, "UnauthenticatedError")),
        (Ask::get("/a2a/acme/none/v1/tasks/t1").key(P1), (404, -32046, "AgentNotFoundError")),
    ] {
        let heard = rig.call(ask).await;
        let (status, code, name) = error(&heard);
        assert_eq!((status, code, name.as_str()), told, "{}", heard.text());
    }
    let foreign = rig.call(Ask::get(&format!("{U}/v1/tasks/{id}")).key(P2)).await;
    let missing = rig.call(Ask::get(&format!("{U}/v1/tasks/nobodys")).key(P2)).await;
    assert_eq!((foreign.status, foreign.body), (missing.status, missing.body));
}

#[tokio::test]
async fn the_version_decides_between_the_generations_below_v1() {
    let agent = start(Behaviour::Honest).await.unwrap();
    for mode in [VersionMode::Lenient, VersionMode::Strict] {
        let mut spec = CardSpec::of(&agent.url(), Dialect::R1);
        spec.version_mode = mode;
        let rig = Plan::echo(spec).start().await;
        for version in [None, Some("0.3"), Some("0.3.0")] {
            let ask = post("/message:send", PYTHON);
            let heard = rig.call(match version {
                Some(version) => ask.header("A2A-Version", version),
                None => ask,
            });
            assert_eq!(heard.await.at("/task/status/state"), "TASK_STATE_COMPLETED", "{version:?} {mode:?}");
        }
        let newer = rig.call(post("/message:send", &says("hi")).v10()).await;
        assert_eq!((newer.status, newer.header("content-type").as_deref()), (200, Some("application/a2a+json")));
        for version in ["2.0", "abc", "1.0, 0.3"] {
            let heard = rig.call(post("/message:send", PYTHON).header("A2A-Version", version)).await;
            assert_eq!(heard.status, 400, "{version}");
            assert!(heard.text().contains("VERSION_NOT_SUPPORTED") && heard.text().contains("0.3,1.0"), "{version}");
        }
        let ask = Ask::post(&format!("{U}/v1/message:send?A2A-Version=1.0")).key(P1).header("A2A-Version", "0.3");
        assert_eq!(error(&rig.call(ask.json(PYTHON)).await), (400, -32600, "InvalidRequestError".to_owned()));
    }
}

#[tokio::test]
async fn strict_readers_get_members_of_the_proto_alone() {
    let task = r#"{"task":{"id":"t1","xTask":1,"status":{"state":"TASK_STATE_COMPLETED","xStatus":1,"timestamp":"2026-01-02T03:04:05","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hi","mediaType":"text/markdown","xPart":1}],"referenceTaskIds":["t0"]}},"artifacts":[{"artifactId":"a","parts":[{"data":[1]}],"xArtifact":1}]},"xTop":1}"#;
    let agent = scripted(move |_| Reply::json(200, task)).await;
    let rig = rig(&agent, Dialect::R1).await;
    let heard = rig.call(post("/message:send", JAVASCRIPT)).await;
    assert_eq!(
        heard.text(),
        r#"{"task":{"id":"t1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05Z","message":{"messageId":"m","role":"ROLE_AGENT","content":[{"text":"hi","metadata":{"a2a-gw/mediaType":"text/markdown"}}],"metadata":{"a2a-gw/referenceTaskIds":["t0"]}}},"artifacts":[{"artifactId":"a","parts":[{"data":{"data":{"value":[1]}},"metadata":{"data_part_compat":true}}]}],"contextId":"t1"}}"#
    );
}

#[tokio::test]
async fn files_are_wrapped_as_each_side_expects() {
    let file = |bytes: &str| {
        let part = format!(r#"{{"file":{{"fileWithBytes":"{bytes}","mimeType":"text/plain","name":"a.txt"}}}}"#);
        format!(r#"{{"message":{{"messageId":"m1","role":"ROLE_USER","content":[{part}]}}}}"#)
    };
    let new =
        |bytes: &str| format!(r#"{{"message":{{"messageId":"m1","role":"ROLE_USER","parts":[{{"raw":"{bytes}"}}]}}}}"#);
    let (once, twice) = ("aGVsbG8=", "YUdWc2JHOD0=");
    let python = |ask: Ask| ask.header("User-Agent", "python-httpx/0.28.1");
    for (dialect, habit, ask, sent) in [
        (Dialect::R1, R3Bytes::Auto, python(post("/message:send", &file(twice))), once),
        (Dialect::R1, R3Bytes::Auto, post("/message:send", &file(twice)), twice),
        (Dialect::R3, R3Bytes::Auto, python(post("/message:send", &file(twice))), twice),
        (Dialect::R3, R3Bytes::Auto, post("/message:send", &file(once)), once),
        (Dialect::R3, R3Bytes::Double, post("/message:send", &file(once)), twice),
        (Dialect::R3, R3Bytes::Single, python(post("/message:send", &file(twice))), once),
        (Dialect::R3, R3Bytes::Double, rest(&new(once)), twice),
        (Dialect::R3, R3Bytes::Auto, rest(&new(once)), once),
    ] {
        let agent = start(Behaviour::Honest).await.unwrap();
        let mut spec = CardSpec::of(&agent.url(), dialect);
        spec.r3_bytes = habit;
        let rig = Plan::echo(spec).start().await;
        let heard = rig.call(ask).await;
        assert_eq!(heard.status, 200, "{}", heard.text());
        let seen = agent.requests().pop().unwrap().body_text();
        assert!(seen.contains(&format!(r#"":"{sent}""#)), "{dialect:?} {habit:?}: {seen}");
    }
}

#[tokio::test]
async fn agents_habits_are_survived() {
    // An address that names the version, 201, one event over many lines, GET for a subscription.
    let agent = scripted(|request| {
        let spoken = Spoken::of(request);
        match (request.method(), request.path()) {
            ("POST", "/v1/message:send") => {
                Reply::json(201, r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#)
            }
            ("POST", "/v1/tasks/t1:subscribe") => Reply::whole(405, "text/plain", "Method Not Allowed"),
            ("GET", "/v1/tasks/t1:subscribe") => Reply::sse().chunk(SPREAD).end(),
            ("POST", "/v1/tasks/t1:cancel") => Reply::json(409, r#"{"message":"too late"}"#),
            ("GET", "/v1/tasks/t1") => Reply::json(404, r#"{"message":"gone"}"#),
            _ => spoken.honest("", "no"),
        }
    })
    .await;
    let mut spec = CardSpec::of(&format!("{}/v1", agent.url()), Dialect::R3);
    spec.colon = Colon::Literal;
    let rig = Plan::echo(spec).start().await;
    assert_eq!(rig.call(rpc("SendMessage", &says("hi"))).await.at("/result/task/id"), "t1");
    for _ in 0..2 {
        let events = rig.call(rpc("SubscribeToTask", r#"{"id":"t1"}"#)).await.events();
        assert_eq!(events[0].at("/result/task/status/state"), "TASK_STATE_COMPLETED");
    }
    let verbs: Vec<String> = agent
        .requests()
        .iter()
        .filter(|request| request.path().ends_with("subscribe"))
        .map(|request| request.method().to_owned())
        .collect();
    assert_eq!(verbs, ["POST", "GET", "GET"], "the verb is remembered");
    let cancel = rig.call(rpc("CancelTask", r#"{"id":"t1"}"#)).await;
    assert_eq!((cancel.code(), cancel.at("/error/message").as_str()), (-32002, "too late"));
    assert_eq!(rig.call(rpc("GetTask", r#"{"id":"t1"}"#)).await.code(), -32001);
    let cancels = agent.requests().into_iter().filter(|request| request.path().ends_with("cancel"));
    assert!(cancels.map(|request| request.body_text()).all(|body| body.is_empty()));
}

#[tokio::test]
async fn an_error_inside_a_stream_is_told_as_one_and_ends_it() {
    let agent = scripted(|_| {
        Reply::sse()
            .event(r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#)
            .event(r#"{"code":-32603,"type":"InternalError","message":"broken"}"#)
            .end()
    })
    .await;
    let rig = rig(&agent, Dialect::R3).await;
    let events = rig.call(post("/message:stream", JAVASCRIPT)).await.events();
    let last = events.last().unwrap();
    assert_eq!((events.len(), last.name.as_deref()), (2, Some("error")));
    assert_eq!((last.at("/code").as_str(), last.at("/type").as_str()), ("-32603", "InternalError"));
    assert_eq!(last.at("/message"), "broken");
    let events = rig.call(rpc("SendStreamingMessage", &says("hi"))).await.events();
    assert_eq!((events.len(), events[1].code()), (2, -32603));
}

#[tokio::test]
async fn what_is_redacted_of_files_and_content_is_what_is_sent() {
    let agent = start(Behaviour::Mirror).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R3).guarded()).start().await;
    for body in [PYTHON, JAVASCRIPT] {
        let heard = rig.call(post("/message:send", &body.replace("hi", &format!("key {SECRET}")))).await;
        assert_eq!(heard.status, 200, "{}", heard.text());
        let seen = agent.requests().pop().unwrap().body_text();
        assert!(!seen.contains(SECRET) && seen.contains("key [REDACTED:aws-key]"), "{seen}");
    }
}

#[tokio::test]
async fn another_interface_stands_in_where_no_byte_was_sent() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let gone = Scripted::refusing().unwrap();
    let mut spec = CardSpec::of(&gone.url(), Dialect::J1);
    spec.also = vec![(agent.url(), Dialect::R3)];
    let rig = Plan::echo(spec).start().await;
    assert_eq!(rig.call(rpc("SendMessage", &says("hi"))).await.at("/result/task/status/state"), "TASK_STATE_COMPLETED");
    assert_eq!(agent.requests().len(), 1);

    // An interface that cannot say the operation is passed over; one that answered is not.
    let broken = scripted(|_| Reply::whole(500, "text/plain", "no")).await;
    let mut spec = CardSpec::of(&broken.url(), Dialect::R3);
    spec.also = vec![(agent.url(), Dialect::J1)];
    let rig = Plan::echo(spec).start().await;
    let listed = rig.call(rpc("ListTasks", "{}")).await;
    assert_eq!(listed.code(), 0, "{}", listed.text());
    assert_eq!(broken.requests().len(), 0);
    let sent = agent.requests().len();
    assert_ne!(rig.call(rpc("SendMessage", &says("hi"))).await.code(), 0);
    assert_eq!((broken.requests().len(), agent.requests().len()), (1, sent));
}

#[tokio::test]
async fn extensions_are_named_as_the_agents_generation_does() {
    let agent = start(Behaviour::Honest).await.unwrap();
    for (dialect, there, absent) in
        [(Dialect::R3, "x-a2a-extensions", "a2a-extensions"), (Dialect::R1, "a2a-extensions", "x-a2a-extensions")]
    {
        let rig = rig(&agent, dialect).await;
        for name in ["A2A-Extensions", "X-A2A-Extensions"] {
            rig.call(post("/message:send", JAVASCRIPT).header(name, "https://ext.test/x")).await;
            let seen = agent.requests().pop().unwrap();
            assert_eq!((seen.header(there).as_deref(), seen.header(absent)), (Some("https://ext.test/x"), None));
        }
    }
}

#[tokio::test]
async fn an_agent_may_want_the_objects_of_the_schema() {
    let agent = scripted(|_| {
        let part = r#"{"kind":"file","file":{"bytes":"aGVsbG8="}}"#;
        let task = r#""contextId":"c1","kind":"task","status":{"state":"completed"}"#;
        Reply::json(200, format!(r#"{{"id":"t1",{task},"artifacts":[{{"artifactId":"a","parts":[{part}]}}]}}"#))
    })
    .await;
    let mut spec = CardSpec::of(&format!("{}/v1", agent.url()), Dialect::R3);
    spec.r3_objects = R3Objects::Schema;
    let rig = Plan::echo(spec).start().await;
    for (ask, file) in [
        (rest(&says("hi")), "/task/artifacts/0/parts/0/raw"),
        (post("/message:send", PYTHON), "/task/artifacts/0/parts/0/file/fileWithBytes"),
    ] {
        let heard = rig.call(ask).await;
        let encoded = if file.ends_with("raw") { "aGVsbG8=" } else { "YUdWc2JHOD0=" };
        assert_eq!(heard.at(file), encoded, "{}", heard.text());
        let seen = agent.requests().pop().unwrap();
        let body = seen.body_text();
        assert_eq!(seen.path(), "/v1/message%3Asend");
        assert!(body.contains(r#""role":"user""#) && body.contains(r#""kind":"text""#), "{body}");
        assert!(!body.contains("content") && !body.contains("jsonrpc"), "{body}");
    }
}
