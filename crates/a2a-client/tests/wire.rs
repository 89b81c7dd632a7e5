//! The client against real sockets: cards in every place, calls and streams as agents answer them, and how they end.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set itself up must stop")]
#![expect(clippy::disallowed_methods, reason = "the agents of these tests have no task list to be drained with")]

use std::fmt::Write as _;
use std::time::Duration;

use a2a::sign::{SigningKey, View, sign};
use a2a::sse::SseError;
use a2a::{Dialect, FaultKind};
use a2a_client::resolve::Problem;
use a2a_client::trust::KeysError;
use a2a_client::{Agent, CallError, CallLimits, Credential, Proof, ResolveError, calls, choose, fetch_keys, resolve};
use egress::{Client, ConnectorSettings};
use http::StatusCode;
use json::{Json, Limits, Object};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// An agent that answers by request line and reports what it was sent.
struct Server {
    base: String,
    requests: mpsc::UnboundedReceiver<String>,
}

/// What is answered to requests that begin with a text; what is not listed is 404.
type Script = Vec<(&'static str, String)>;

async fn serve(script: impl FnOnce(&str) -> Script) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let script = script(&base);
    let (report, requests) = mpsc::unbounded_channel();
    tokio::task::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let request = read_request(&mut stream).await;
            let listed = script.iter().find(|(start, _)| request.starts_with(start));
            let answer = listed.map_or_else(|| answer(404, "text/html", "<html>"), |(_, answer)| answer.clone());
            let id = request.split_once(r#""id":""#).and_then(|(_, rest)| rest.split('"').next()).unwrap_or("?");
            let answer = answer.replace("RPC_ID", id);
            report.send(request).unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    Server { base, requests }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.unwrap());
    }
    let mut text = String::from_utf8(request).unwrap();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    text.push_str(&String::from_utf8(body).unwrap());
    text
}

/// An answer that ends with the connection, so that its length may be anything.
fn answer(status: u16, kind: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{body}")
}

fn card(name: &str, base: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"d","version":"1","supportedInterfaces":[{{"url":"{base}/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}},{{"url":"{base}/rest","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}},{{"url":"{base}/old","protocolBinding":"JSONRPC","protocolVersion":"0.3"}}],"capabilities":{{"streaming":true}},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{{"id":"i","name":"n","description":"d","tags":["t"]}}]}}"#
    )
}

fn connections() -> Client {
    a2a_client::connections(ConnectorSettings::default()).unwrap()
}

const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream; charset=utf-8";

/// F23
#[tokio::test]
async fn a_card_is_found_wherever_agents_keep_it() {
    for (place, tried) in [
        ("GET /v3/a2a/42/.well-known/agent-card.json ", 0),
        ("GET /v3/a2a/42/.well-known/agent.json ", 1),
        ("GET /.well-known/agent-card.json ", 2),
        ("GET /.well-known/agent.json ", 3),
        ("GET /.well-known/42/agent-card.json ", 4),
        ("GET /v3/a2a/42/ ", 5),
    ] {
        let server = serve(|base| vec![(place, answer(200, JSON, &card("A", base)))]).await;
        let found = resolve(&connections(), &format!("{}/v3/a2a/42/", server.base), &Credential::None).await.unwrap();
        assert_eq!(found.card.str("name"), Some("A"), "{place}");
        assert_eq!(found.tried.len(), tried, "{place}");
        assert_eq!(found.also, None);
    }
}

/// F23
#[tokio::test]
async fn another_agent_at_the_root_is_not_passed_over_in_silence() {
    let script = |other: &'static str| {
        move |base: &str| {
            vec![
                ("GET /a/.well-known/agent-card.json", answer(200, JSON, &card("near", base))),
                ("GET /.well-known/agent-card.json", answer(200, JSON, &card(other, base))),
            ]
        }
    };
    for (other, also) in [("far", Some("far")), ("near", None)] {
        let server = serve(script(other)).await;
        let found = resolve(&connections(), &format!("{}/a", server.base), &Credential::None).await.unwrap();
        assert_eq!(found.card.str("name"), Some("near"));
        assert_eq!(found.also.as_ref().and_then(|also| also.card.str("name")), also);
    }
}

#[tokio::test]
async fn a_registry_record_is_opened_and_the_credential_goes_along() {
    let mut server = serve(|base| {
        let record = format!(r#"{{"id":"card-1","tenant_id":"acme","card":{}}}"#, card("A", base));
        vec![("GET /.well-known/agent-card/acme/echo ", answer(200, JSON, &record))]
    })
    .await;
    let url = format!("{}/.well-known/agent-card/acme/echo", server.base);
    let found = resolve(&connections(), &url, &Credential::api_key("k-1")).await.unwrap();
    assert_eq!(found.card.str("name"), Some("A"));
    let request = server.requests.recv().await.unwrap();
    assert!(request.contains("x-api-key: k-1\r\n") && request.contains("a2a-version: 1.0\r\n"), "{request}");
}

#[tokio::test]
async fn every_place_without_a_card_is_named() {
    let server = serve(|_| {
        vec![
            ("GET /a/.well-known/agent-card.json", answer(200, JSON, "[1]")),
            ("GET /a/.well-known/agent.json", answer(200, JSON, r#"{"hello":"world"}"#)),
            ("GET /.well-known/agent-card.json", "HTTP/1.1 302 X\r\nlocation: /b\r\nconnection: close\r\n\r\n".into()),
            ("GET /.well-known/agent.json", answer(200, JSON, r#"{"a":1,"a":2}"#)),
        ]
    })
    .await;
    let refused = resolve(&connections(), &format!("{}/a", server.base), &Credential::None).await;
    let Err(ResolveError::NoCard(tried)) = refused else { panic!("{refused:?}") };
    let problems: Vec<_> = tried.into_iter().map(|one| one.problem).collect();
    let [array, no_card, moved, repeated, missing, itself] = problems.as_slice() else { panic!("{problems:?}") };
    assert_eq!((array, no_card), (&Problem::NotAnObject, &Problem::NotACard));
    assert!(matches!(moved, Problem::Unreachable(text) if text.contains("redirects are not followed")));
    assert_eq!(repeated, &Problem::Unreadable(json::ReadError::RepeatedKey));
    assert_eq!((missing, itself), (&Problem::Status(StatusCode::NOT_FOUND), &Problem::Status(StatusCode::NOT_FOUND)));
}

#[tokio::test]
async fn signatures_are_checked_with_keys_fetched_from_a_trusted_address() {
    let key = SigningKey::from_seed(&[3; 32], None, None);
    let set = String::from_utf8(json::write(&Json::Object(a2a::sign::jwks::key_set(&[key.public()])))).unwrap();
    let server = serve(|_| {
        vec![
            ("GET /keys ", answer(200, JSON, &set)),
            ("GET /none ", answer(200, JSON, r#"{"keys":[{"kty":"RSA"}]}"#)),
            ("GET /bad ", answer(200, JSON, "keys")),
        ]
    })
    .await;
    let at = |path: &str| format!("{}{path}", server.base);
    let keys = fetch_keys(&connections(), &at("/keys")).await.unwrap();
    assert_eq!(keys, [key.public()]);
    assert!(matches!(fetch_keys(&connections(), &at("/none")).await, Err(KeysError::Empty)));
    assert!(matches!(fetch_keys(&connections(), &at("/bad")).await, Err(KeysError::Read(_))));
    assert!(matches!(fetch_keys(&connections(), &at("/gone")).await, Err(KeysError::Status(StatusCode::NOT_FOUND))));

    let mut signed = sign(&object(&card("A", "https://u")), &key).unwrap();
    assert_eq!(Proof::of(&signed, &keys).view(), Some(View::Spec));
    signed.insert("extra", "not covered by what was signed as 1.0");
    let proof = Proof::of(&signed, &keys);
    assert_eq!(proof.view(), Some(View::Spec));
    assert_eq!(proof.covered(&signed).and_then(|covered| covered.get("extra").cloned()), None);
    signed.insert("name", "B");
    assert_eq!(Proof::of(&signed, &keys).covered(&signed), None);
}

fn object(text: &str) -> Object {
    match json::read(text.as_bytes(), &Limits::default()) {
        Ok(Json::Object(object)) => object,
        other => panic!("{other:?}"),
    }
}

fn agent(server: &Server, dialect: Dialect, limits: CallLimits) -> Agent {
    let url = format!("{}/.well-known/agent-card.json", server.base).parse().unwrap();
    let chosen = choose(&object(&card("A", &server.base)), &url, Some(dialect)).unwrap();
    Agent::new(connections(), chosen, Credential::bearer("t-1"), limits)
}

const TASK: &str = r#"{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}"#;

#[tokio::test]
async fn a_message_is_sent_and_answered_in_each_dialect() {
    let old_task = TASK.replace("TASK_STATE_COMPLETED", "completed").replacen('{', r#"{"kind":"task","#, 1);
    let cases = [
        (Dialect::J1, "POST /rpc ", format!(r#"{{"jsonrpc":"2.0","id":"RPC_ID","result":{{"task":{TASK}}}}}"#)),
        (Dialect::R1, "POST /rest/message:send ", format!(r#"{{"task":{TASK}}}"#)),
        (Dialect::J3, "POST /old ", format!(r#"{{"jsonrpc":"2.0","id":"RPC_ID","result":{old_task}}}"#)),
    ];
    for (dialect, line, body) in cases {
        let mut server = serve(|_| vec![(line, answer(200, JSON, &body))]).await;
        let agent = agent(&server, dialect, CallLimits::default());
        let call = calls::send(calls::message(vec![calls::text("hello")]));
        let got = agent.call(&call).await.unwrap_or_else(|error| panic!("{dialect:?}: {error:?}"));
        assert_eq!(got.task_id(), Some("t1"), "{dialect:?}");
        assert_eq!(got.state().map(a2a::TaskState::name), Some("TASK_STATE_COMPLETED"), "{dialect:?}");
        let request = server.requests.recv().await.unwrap();
        assert!(request.contains("authorization: Bearer t-1\r\n"), "{request}");
        assert!(request.contains(r#""text":"hello""#) && request.contains(r#""messageId":""#), "{request}");
    }
}

#[tokio::test]
async fn the_agents_errors_and_broken_answers_are_told_apart() {
    let cases = [
        (answer(200, JSON, r#"{"jsonrpc":"2.0","id":"RPC_ID","error":{"code":-32001,"message":"no"}}"#), "agent"),
        (answer(200, JSON, r#"{"jsonrpc":"2.0","id":"other","result":null}"#), "bad"),
        (answer(502, "text/html", "<html>"), "bad"),
        (answer(200, "application/json\r\ncontent-encoding: gzip", "x"), "encoded"),
        (answer(200, JSON, &" ".repeat(2000)), "large"),
        ("HTTP/1.1 200 X\r\ncontent-length: 9\r\nconnection: close\r\n\r\n{".to_owned(), "cut"),
    ];
    for (sent, expected) in cases {
        let server = serve(|_| vec![("POST /rpc ", sent.clone())]).await;
        let agent = agent(&server, Dialect::J1, CallLimits { answer: 1000, ..CallLimits::default() });
        let got = match agent.call(&calls::get_task("t1", None)).await {
            Err(CallError::Agent(fault)) if fault.kind == FaultKind::TaskNotFound => "agent",
            Err(CallError::BadAnswer(_)) => "bad",
            Err(CallError::Encoded) => "encoded",
            Err(CallError::TooLarge(1000)) => "large",
            Err(CallError::Cut(_)) => "cut",
            other => panic!("{sent}: {other:?}"),
        };
        assert_eq!(got, expected, "{sent}");
    }
}

#[tokio::test]
async fn calls_of_the_wrong_kind_and_dead_agents_are_refused() {
    let server = serve(|_| Vec::new()).await;
    let agent_of = |dialect| agent(&server, dialect, CallLimits::default());
    let wrong = agent_of(Dialect::J1).call(&calls::subscribe("t")).await;
    assert!(matches!(wrong, Err(CallError::WrongKind(_))));
    let wrong = agent_of(Dialect::J1).stream(&calls::cancel_task("t")).await;
    assert!(matches!(wrong, Err(CallError::WrongKind(_))));
    let unsayable = agent_of(Dialect::J3).call(&calls::list_tasks(Object::new())).await;
    assert!(matches!(unsayable, Err(CallError::Unsayable(_))), "{unsayable:?}");
    let dead = Server { base: "http://127.0.0.1:1".to_owned(), requests: server.requests };
    let unreached = agent(&dead, Dialect::J1, CallLimits::default()).call(&calls::extended_card()).await;
    assert!(matches!(unreached, Err(CallError::NotReached(_))), "{unreached:?}");
}

fn update(state: &str) -> String {
    format!(r#"{{"statusUpdate":{{"taskId":"t1","contextId":"c1","status":{{"state":"{state}"}}}}}}"#)
}

fn framed(events: &[String]) -> String {
    events.iter().fold(": hi\r\n\r\n".to_owned(), |mut body, event| {
        let _ = write!(body, "data: {{\"jsonrpc\":\"2.0\",\"id\":\"RPC_ID\",\r\ndata: \"result\":{event}}}\r\n\r\n");
        body
    })
}

/// The states of a stream's events, and how it ended.
async fn read_all(agent: &Agent) -> (Vec<&'static str>, Option<CallError>) {
    let call = calls::stream(calls::message(vec![calls::text("hello")]));
    let mut events = match agent.stream(&call).await {
        Ok(events) => events,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut states = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => states.extend(event.state().map(a2a::TaskState::name)),
            Err(error) => {
                assert!(events.next().await.is_none(), "nothing follows an error");
                return (states, Some(error));
            }
        }
    }
    (states, None)
}

#[tokio::test]
async fn a_stream_is_read_until_the_agent_closes_it() {
    let events = [update("TASK_STATE_WORKING"), update("TASK_STATE_COMPLETED"), update("TASK_STATE_WORKING")];
    let server = serve(|_| vec![("POST /rpc ", answer(200, STREAM, &framed(&events)))]).await;
    let (states, end) = read_all(&agent(&server, Dialect::J1, CallLimits::default())).await;
    assert_eq!(states, ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED", "TASK_STATE_WORKING"]);
    assert!(end.is_none(), "{end:?}");
}

#[tokio::test]
async fn a_stream_that_breaks_ends_with_an_error() {
    let good = framed(&[update("TASK_STATE_WORKING")]);
    let error = r#"{"jsonrpc":"2.0","id":"RPC_ID","error":{"code":-32042,"message":"blocked"}}"#;
    let cases = [
        format!("{good}data: {{\"jsonrpc\""),
        format!("{good}event: error\ndata: {error}\n\n{good}"),
        format!("{good}data: {{}}\n\n"),
        format!("{good}data: {}\n\n", "x".repeat(2000)),
    ];
    let mut ends = Vec::new();
    for body in cases {
        let server = serve(|_| vec![("POST /rpc ", answer(200, STREAM, &body))]).await;
        let events = a2a::sse::Limits { event: 1000, line: 1000 };
        let (states, end) =
            read_all(&agent(&server, Dialect::J1, CallLimits { events, ..CallLimits::default() })).await;
        assert_eq!(states, ["TASK_STATE_WORKING"], "{body}");
        ends.push(end.expect("an error"));
    }
    let [cut, agents, strange, long] = ends.as_slice() else { panic!("{ends:?}") };
    assert!(matches!(cut, CallError::Stream(SseError::Truncated)), "{cut:?}");
    assert!(matches!(agents, CallError::Agent(fault) if fault.message == "blocked"), "{agents:?}");
    assert!(matches!(strange, CallError::BadAnswer(_)), "{strange:?}");
    assert!(matches!(long, CallError::Stream(SseError::LineTooLong { limit: 1000 })), "{long:?}");
}

#[tokio::test]
async fn a_silent_stream_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let held = tokio::task::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(answer(200, STREAM, ": hi\n\n").as_bytes()).await.unwrap();
        // Held open until the client has gone.
        let _ = stream.read_u8().await;
    });
    let server = Server { base, requests: mpsc::unbounded_channel().1 };
    let limits = CallLimits { idle: Duration::from_millis(50), ..CallLimits::default() };
    let (states, end) = read_all(&agent(&server, Dialect::J1, limits)).await;
    assert!(states.is_empty() && matches!(end, Some(CallError::TimedOut(_))), "{end:?}");
    tokio::time::timeout(Duration::from_secs(10), held).await.expect("the client hangs up").unwrap();
}

#[tokio::test]
async fn an_agent_that_does_not_stream_gives_one_event_or_its_error() {
    let result = format!(r#"{{"jsonrpc":"2.0","id":"RPC_ID","result":{{"task":{TASK}}}}}"#);
    let server = serve(|_| vec![("POST /rpc ", answer(200, JSON, &result))]).await;
    let (states, end) = read_all(&agent(&server, Dialect::J1, CallLimits::default())).await;
    assert_eq!(states, ["TASK_STATE_COMPLETED"]);
    assert!(end.is_none(), "{end:?}");
    let error = r#"{"jsonrpc":"2.0","id":"RPC_ID","error":{"code":-32004,"message":"no streams"}}"#;
    let server = serve(|_| vec![("POST /rpc ", answer(200, JSON, error))]).await;
    let (_, end) = read_all(&agent(&server, Dialect::J1, CallLimits::default())).await;
    assert!(matches!(&end, Some(CallError::Agent(fault)) if fault.kind == FaultKind::UnsupportedOperation), "{end:?}");
}

#[tokio::test]
async fn subscribing_is_repeated_with_get_where_post_is_refused() {
    let event = format!("data: {{\"task\":{TASK}}}\n\n");
    let mut server = serve(|_| {
        vec![
            ("POST /rest/tasks/t1:subscribe ", answer(405, "text/plain", "no")),
            ("GET /rest/tasks/t1:subscribe ", answer(200, STREAM, &event)),
        ]
    })
    .await;
    let agent = agent(&server, Dialect::R1, CallLimits::default());
    let mut events = agent.stream(&calls::subscribe("t1")).await.unwrap();
    let first = events.next().await.unwrap().unwrap();
    assert_eq!(first.task_id(), Some("t1"));
    assert!(events.next().await.is_none());
    assert!(server.requests.recv().await.unwrap().starts_with("POST "));
    assert!(server.requests.recv().await.unwrap().starts_with("GET "));
}
