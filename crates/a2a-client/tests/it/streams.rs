//! Streams: read to the end, broken, silent, refused, and taken up again.

#![expect(clippy::disallowed_methods, reason = "the agents of these tests have no task list to be drained with")]

use std::fmt::Write as _;
use std::time::Duration;

use a2a::sse::SseError;
use a2a_client::{Agent, CallError, CallLimits, Dialect, Event, FaultKind, Options, Resume, TaskState};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::server::{JSON, STREAM, Server, TASK, agent, agent_at, answer, card, object, read_request, serve};

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
    let mut events = match agent.stream("hello").await {
        Ok(events) => events,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut states = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => states.extend(event.state().map(TaskState::name)),
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
    let (states, end) = read_all(&agent(&server, Dialect::J1, CallLimits::default()).await).await;
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
        format!("{good}data: {error}\n\n{good}"),
        format!("{good}data: {{}}\n\n"),
        format!("{good}data: {}\n\n", "x".repeat(2000)),
        good.clone() + &good.replace("RPC_ID", "another"),
    ];
    let mut ends = Vec::new();
    for body in cases {
        let server = serve(|_| vec![("POST /rpc ", answer(200, STREAM, &body))]).await;
        let events = a2a::sse::Limits { event: 1000, line: 1000 };
        let limits = CallLimits { events, ..CallLimits::default() };
        let (states, end) = read_all(&agent(&server, Dialect::J1, limits).await).await;
        assert_eq!(states, ["TASK_STATE_WORKING"], "{body}");
        ends.push(end.expect("an error"));
    }
    let [cut, agents, unnamed, strange, long, others] = ends.as_slice() else { panic!("{ends:?}") };
    assert!(matches!(cut, CallError::Stream(SseError::Truncated)), "{cut:?}");
    assert!(matches!(agents, CallError::Fault(fault) if fault.message() == "blocked"), "{agents:?}");
    assert!(matches!(unnamed, CallError::Fault(fault) if fault.code() == -32042), "{unnamed:?}");
    assert!(matches!(strange, CallError::Protocol(_)), "{strange:?}");
    assert!(matches!(long, CallError::Stream(SseError::LineTooLong { limit: 1000 })), "{long:?}");
    assert!(matches!(others, CallError::Protocol(_)), "{others:?}");
}

/// A2A 1.0 over HTTP+JSON, and both bindings of 0.3: each tells an error in its own form.
#[tokio::test]
async fn errors_inside_streams_are_read_in_every_dialects_form() {
    let r1 = r#"{"error":{"code":404,"status":"NOT_FOUND","message":"gone","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}"#;
    let j3 = r#"{"jsonrpc":"2.0","id":"RPC_ID","error":{"code":-32001,"message":"gone"}}"#;
    for (dialect, line, error) in [(Dialect::R1, "POST /rest/", r1), (Dialect::J3, "POST /old ", j3)] {
        for name in ["event: error\n", ""] {
            let body = format!("{name}data: {error}\n\n");
            let server = serve(|_| vec![(line, answer(200, STREAM, &body))]).await;
            let (_, end) = read_all(&agent(&server, dialect, CallLimits::default()).await).await;
            let Some(CallError::Fault(fault)) = &end else { panic!("{dialect:?} {name}: {end:?}") };
            assert_eq!((fault.kind(), fault.message()), (FaultKind::TaskNotFound, "gone"), "{dialect:?}");
        }
    }
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
    let limits = CallLimits { idle: Duration::from_millis(50), ..CallLimits::default() };
    let (states, end) = read_all(&agent_at(&base, Dialect::J1, limits).await).await;
    assert!(states.is_empty() && matches!(end, Some(CallError::TimedOut(_))), "{end:?}");
    tokio::time::timeout(Duration::from_secs(10), held).await.expect("the client hangs up").unwrap();
}

#[tokio::test]
async fn an_agent_that_does_not_stream_gives_one_event_or_its_error() {
    let result = format!(r#"{{"jsonrpc":"2.0","id":"RPC_ID","result":{{"task":{TASK}}}}}"#);
    let server = serve(|_| vec![("POST /rpc ", answer(200, JSON, &result))]).await;
    let (states, end) = read_all(&agent(&server, Dialect::J1, CallLimits::default()).await).await;
    assert_eq!(states, ["TASK_STATE_COMPLETED"]);
    assert!(end.is_none(), "{end:?}");
    let error = r#"{"jsonrpc":"2.0","id":"RPC_ID","error":{"code":-32004,"message":"no streams"}}"#;
    let server = serve(|_| vec![("POST /rpc ", answer(200, JSON, error))]).await;
    let (_, end) = read_all(&agent(&server, Dialect::J1, CallLimits::default()).await).await;
    assert!(
        matches!(&end, Some(CallError::Fault(fault)) if fault.kind() == FaultKind::UnsupportedOperation),
        "{end:?}"
    );
}

#[tokio::test]
async fn subscribing_is_repeated_with_get_where_post_is_refused() {
    let event = format!("data: {{\"task\":{TASK}}}\n\n");
    let mut server =
        serve(|_| vec![("POST /rest/", answer(405, "text/plain", "no")), ("GET /rest/", answer(200, STREAM, &event))])
            .await;
    let agent = agent(&server, Dialect::R1, CallLimits::default()).await;
    let mut events = agent.subscribe("t1").await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().task_id(), Some("t1"));
    assert!(events.next().await.is_none());
    assert!(server.requests.recv().await.unwrap().starts_with("POST "));
    assert!(server.requests.recv().await.unwrap().starts_with("GET "));
}

/// HTTP+JSON of 0.3 has no form of its own for errors; the SDKs send these.
#[tokio::test]
async fn errors_inside_streams_of_http_json_of_0_3_are_read_in_the_forms_of_the_sdks() {
    let forms = [
        r#"{"code":-32001,"message":"gone"}"#,
        r#"{"type":"TaskNotFoundError","message":"gone"}"#,
        r#"{"error":{"code":404,"status":"NOT_FOUND","message":"gone","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}"#,
    ];
    for error in forms {
        for name in ["event: error\n", ""] {
            let body = format!("{name}data: {error}\n\n");
            let server = serve(|_| vec![("POST /old/v1/message:stream ", answer(200, STREAM, &body))]).await;
            let card = format!(
                r#"{{"name":"A","supportedInterfaces":[{{"url":"{}/old","protocolBinding":"HTTP+JSON","protocolVersion":"0.3"}}]}}"#,
                server.base
            );
            let agent = Options::new().connect_card(object(&card), &server.base).await.unwrap();
            let (_, end) = read_all(&agent).await;
            let Some(CallError::Fault(fault)) = &end else { panic!("{error} {name}: {end:?}") };
            assert_eq!((fault.kind(), fault.message()), (FaultKind::TaskNotFound, "gone"), "{error}");
        }
    }
}

/// The same agent, with streams taken up again without waiting.
async fn resuming(server: &Server, tries: u32) -> Agent {
    let url = format!("{}/.well-known/agent-card.json", server.base);
    let resume = Resume { tries, pause: Duration::from_millis(1) };
    Options::new()
        .only([Dialect::R1])
        .resume(resume)
        .connect_card(object(&card("A", &server.base)), &url)
        .await
        .unwrap()
}

fn bare(events: &[String]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn task(state: &str) -> String {
    TASK.replace("TASK_STATE_COMPLETED", state)
}

const SEND: &str = "POST /rest/acme/message:stream ";
const SUBSCRIBE: &str = "POST /rest/acme/tasks/t1:subscribe ";
const GET: &str = "GET /rest/acme/tasks/t1";

#[tokio::test]
async fn a_stream_cut_inside_an_event_goes_on_behind_the_task_as_it_is() {
    let cut = bare(&[update("TASK_STATE_WORKING")]) + "data: {\"statusUp";
    let rest = bare(&[update("TASK_STATE_WORKING"), update("TASK_STATE_COMPLETED")]);
    let mut server = serve(|_| {
        vec![
            (SEND, answer(200, STREAM, &cut)),
            (SUBSCRIBE, answer(200, STREAM, &rest)),
            (GET, answer(200, JSON, &task("TASK_STATE_WORKING"))),
        ]
    })
    .await;
    let mut events = resuming(&server, 1).await.stream("hello").await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        seen.push((matches!(event, Event::Resumed(_)), event.state().unwrap()));
    }
    use TaskState::{Completed, Working};
    assert_eq!(seen, [(false, Working), (true, Working), (false, Working), (false, Completed)]);
    assert_eq!((events.task_id(), events.state()), (Some("t1"), Some(Completed)));
    let mut lines = Vec::new();
    while let Ok(request) = server.requests.try_recv() {
        lines.push(request.split(' ').next().unwrap().to_owned() + request.split(' ').nth(1).unwrap());
    }
    let expected = ["POST/rest/acme/message:stream", "POST/rest/acme/tasks/t1:subscribe", "GET/rest/acme/tasks/t1"];
    assert_eq!(lines, expected, "sent once; subscribed before it is read");
}

#[tokio::test]
async fn a_task_that_ended_while_nobody_listened_is_told_as_it_ended() {
    let cut = bare(&[update("TASK_STATE_WORKING")]) + "data: {";
    let over = r#"{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"it is over"}}"#;
    let server = serve(|_| {
        vec![
            (SEND, answer(200, STREAM, &cut)),
            (SUBSCRIBE, answer(400, JSON, over)),
            (GET, answer(200, JSON, &task("TASK_STATE_COMPLETED"))),
        ]
    })
    .await;
    let mut events = resuming(&server, 1).await.stream("hello").await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().state(), Some(TaskState::Working));
    let Some(Ok(Event::Resumed(task))) = events.next().await else { panic!("the task as it ended") };
    assert_eq!(task.state(), TaskState::Completed);
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn tries_are_bounded_and_nothing_is_tried_for_an_unknown_task_or_an_agents_error() {
    let cut = bare(&[update("TASK_STATE_WORKING")]) + "data: {";
    let read = answer(200, JSON, &task("TASK_STATE_WORKING"));
    let mut server =
        serve(|_| vec![(SEND, answer(200, STREAM, &cut)), (SUBSCRIBE, answer(200, STREAM, &cut)), (GET, read.clone())])
            .await;
    let (states, end) = read_all(&resuming(&server, 2).await).await;
    assert_eq!(states.len(), 5, "each connection's event, and the task after each of two tries");
    assert!(matches!(end, Some(CallError::Stream(SseError::Truncated))), "{end:?}");
    let mut subscribed = 0;
    while let Ok(request) = server.requests.try_recv() {
        subscribed += usize::from(request.starts_with(SUBSCRIBE));
    }
    assert_eq!(subscribed, 2);

    let unknown = serve(|_| vec![(SEND, answer(200, STREAM, "data: {")), (GET, read.clone())]).await;
    let (states, end) = read_all(&resuming(&unknown, 5).await).await;
    assert!(states.is_empty() && matches!(end, Some(CallError::Stream(SseError::Truncated))), "{end:?}");

    let error = r#"{"error":{"code":500,"status":"INTERNAL","message":"no"}}"#;
    let fails = bare(&[update("TASK_STATE_WORKING"), error.to_owned()]);
    let mut failing = serve(|_| vec![(SEND, answer(200, STREAM, &fails))]).await;
    let (_, end) = read_all(&resuming(&failing, 5).await).await;
    assert!(matches!(end, Some(CallError::Fault(_))), "{end:?}");
    failing.requests.recv().await.unwrap();
    assert!(failing.requests.try_recv().is_err(), "one request alone");
}

#[tokio::test]
async fn an_end_in_order_before_the_task_rests_is_followed_up_only_on_demand() {
    let stops = bare(&[update("TASK_STATE_WORKING")]);
    let script =
        |_: &str| vec![(SEND, answer(200, STREAM, &stops)), (GET, answer(200, JSON, &task("TASK_STATE_COMPLETED")))];
    let server = serve(script).await;
    let (states, end) = read_all(&resuming(&server, 1).await).await;
    assert_eq!(states, ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    assert!(end.is_none(), "{end:?}");
    let server = serve(script).await;
    let (states, end) = read_all(&agent(&server, Dialect::R1, CallLimits::default()).await).await;
    assert!(states == ["TASK_STATE_WORKING"] && end.is_none(), "{states:?} {end:?}");
}
