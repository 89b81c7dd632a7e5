//! Agents made with the kit, called in process and over HTTP.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod callers;
mod grpc;
mod push;
#[cfg(feature = "sql")]
mod sql;

use std::future::pending;
use std::time::Duration;

use a2a::dialect::VersionMode;
use a2a_agent::{Agent, Artifact, Body, Bounds, Card, Outcome, Server, Skill, Turn, part};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use json::{Json, Limits};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

fn agent() -> Agent {
    Agent::new(Card::new("Test", "For tests.").skill(Skill::new("t", "T", "Does t.", &["t"])))
        .at("http://agent.example/t")
}

fn request(path: &str, body: &str) -> Request<Full<Bytes>> {
    let request =
        Request::post(format!("/t{path}")).header("a2a-version", "1.0").header("content-type", "application/json");
    request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()
}

/// A send with the text `hi`, and these further members of the request.
fn hi(more: &str) -> String {
    format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"hi"}}]}}{more}}}"#)
}

async fn whole(response: Response<Body>) -> Json {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    json::read(&bytes, &Limits::default()).unwrap()
}

async fn send(server: &Server, more: &str) -> Json {
    whole(server.answer(request("/message:send", &hi(more))).await).await
}

/// The next event of a stream; `None` at its end. Every frame of these streams is one event.
async fn next(body: &mut Body) -> Option<Json> {
    let frame = tokio::time::timeout(Duration::from_secs(20), body.frame()).await.unwrap()?;
    let bytes = frame.unwrap().into_data().unwrap();
    let data = bytes.strip_prefix(b"data: ").unwrap_or_else(|| panic!("no data: {bytes:?}"));
    Some(json::read(data.trim_ascii_end(), &Limits::default()).unwrap())
}

fn state(document: &Json, pointer: &str) -> String {
    document.pointer(pointer).and_then(Json::as_str).unwrap_or_else(|| panic!("no {pointer}: {document:?}")).to_owned()
}

#[tokio::test]
async fn a_panicking_author_fails_its_task_and_nothing_else() {
    let author = |turn: Turn| async move {
        let _task = turn.start();
        assert_ne!(turn.text(), "hi", "on purpose");
        Outcome::say("unreachable")
    };
    let server = agent().on_message(author).into_server();
    for _ in 0..2 {
        let answer = send(&server, "").await;
        assert_eq!(state(&answer, "/task/status/state"), "TASK_STATE_FAILED");
        assert_eq!(state(&answer, "/task/status/message/parts/0/text"), "the agent failed");
    }
}

#[tokio::test]
async fn an_agent_without_an_author_rejects() {
    let answer = send(&agent().into_server(), "").await;
    assert_eq!(state(&answer, "/task/status/state"), "TASK_STATE_REJECTED");
}

#[tokio::test]
async fn out_of_patience_a_send_answers_with_the_task_as_it_is() {
    let author = |turn: Turn| async move {
        turn.start().progress("half way");
        pending().await
    };
    let server = agent().patience(Duration::from_millis(20)).on_message(author).into_server();
    let answer = send(&server, "").await;
    assert_eq!(state(&answer, "/task/status/state"), "TASK_STATE_WORKING");
    assert_eq!(state(&answer, "/task/status/message/parts/0/text"), "half way");
}

#[tokio::test]
async fn a_send_that_returns_at_once_gets_a_task_even_if_the_author_has_not_decided() {
    let server = agent().on_message(|_| pending()).into_server();
    let answer = send(&server, r#","configuration":{"returnImmediately":true}"#).await;
    assert_eq!(state(&answer, "/task/status/state"), "TASK_STATE_SUBMITTED");
}

#[tokio::test]
async fn a_message_to_a_busy_task_is_refused() {
    let server = agent().on_message(|_| pending()).into_server();
    let answer = send(&server, r#","configuration":{"returnImmediately":true}"#).await;
    let id = state(&answer, "/task/id");
    let more =
        format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","taskId":"{id}","parts":[{{"text":"more"}}]}}}}"#);
    let refused = whole(server.answer(request("/message:send", &more)).await).await;
    assert_eq!(state(&refused, "/error/details/0/reason"), "UNSUPPORTED_OPERATION");
}

#[tokio::test]
async fn the_author_learns_of_a_cancellation_and_says_nothing_more() {
    let (tell, mut told) = mpsc::channel(1);
    let author = move |turn: Turn| {
        let tell = tell.clone();
        async move {
            let task = turn.start();
            task.canceled().await;
            task.progress("too late");
            task.artifact(Artifact::new("late", [part::text("too late")]));
            tell.send(task.is_canceled()).await.unwrap();
            Outcome::artifact("late", [part::text("too late")])
        }
    };
    let server = agent().on_message(author).into_server();
    let mut stream = server.answer(request("/message:stream", &hi(""))).await.into_body();
    let id = state(&next(&mut stream).await.unwrap(), "/task/id");
    assert_eq!(state(&next(&mut stream).await.unwrap(), "/statusUpdate/status/state"), "TASK_STATE_WORKING");
    let canceled = whole(server.answer(request(&format!("/tasks/{id}:cancel"), "")).await).await;
    assert_eq!(told.recv().await, Some(true));
    assert_eq!(state(&next(&mut stream).await.unwrap(), "/statusUpdate/status/state"), "TASK_STATE_CANCELED");
    assert_eq!(next(&mut stream).await, None);
    let again = request(&format!("/tasks/{id}"), "");
    let again = Request::get(again.uri()).header("a2a-version", "1.0").body(Full::default()).unwrap();
    assert_eq!(whole(server.answer(again).await).await, canceled);
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_stop_the_work() {
    let go = CancellationToken::new();
    let gate = go.clone();
    let author = move |turn: Turn| {
        let gate = gate.clone();
        async move {
            let _task = turn.start();
            gate.cancelled().await;
            Outcome::artifact("done", [part::text("done")])
        }
    };
    let server = agent().on_message(author).into_server();
    let mut stream = server.answer(request("/message:stream", &hi(""))).await.into_body();
    let id = state(&next(&mut stream).await.unwrap(), "/task/id");
    drop(stream);
    let mut follower = server.answer(request(&format!("/tasks/{id}:subscribe"), "")).await.into_body();
    assert_eq!(state(&next(&mut follower).await.unwrap(), "/task/status/state"), "TASK_STATE_WORKING");
    go.cancel();
    assert_eq!(state(&next(&mut follower).await.unwrap(), "/artifactUpdate/artifact/name"), "done");
    assert_eq!(state(&next(&mut follower).await.unwrap(), "/statusUpdate/status/state"), "TASK_STATE_COMPLETED");
    assert_eq!(next(&mut follower).await, None);
}

#[tokio::test]
async fn finished_tasks_make_room_and_unfinished_ones_do_not() {
    let author = |turn: Turn| async move {
        match turn.metadata("stay") {
            Some(_) => Outcome::InputRequired("more".to_owned()),
            None => Outcome::artifact("done", turn.parts()),
        }
    };
    let server = agent().bounds(Bounds { tasks: 1, ..Bounds::default() }).on_message(author).into_server();
    let first = state(&send(&server, "").await, "/task/id");
    let second = r#"{"message":{"messageId":"m","role":"ROLE_USER","metadata":{"stay":1},"parts":[{"text":"hi"}]}}"#;
    whole(server.answer(request("/message:send", second)).await).await;
    let gone = Request::get(format!("/t/tasks/{first}")).header("a2a-version", "1.0").body(Full::<Bytes>::default());
    assert_eq!(server.answer(gone.unwrap()).await.status(), 404);
    assert_eq!(server.answer(request("/message:send", &hi(""))).await.status(), 503);
}

#[tokio::test]
async fn strict_agents_want_the_version_named() {
    let server = agent().versions(VersionMode::Strict).into_server();
    let mut unversioned = request("/message:send", &hi(""));
    unversioned.headers_mut().remove("a2a-version");
    unversioned.headers_mut().insert("content-type", "application/a2a+json".parse().unwrap());
    let refused = whole(server.answer(unversioned).await).await;
    assert_eq!(state(&refused, "/error/details/0/reason"), "VERSION_NOT_SUPPORTED");
}

#[tokio::test]
async fn the_mount_can_differ_from_the_url_and_nothing_outside_of_it_answers() {
    let server = agent().mounted_at("/inside").into_server();
    let get = async |path: &str| {
        let response = server.answer(Request::get(path).body(Full::<Bytes>::default()).unwrap()).await;
        (response.status().as_u16(), whole(response).await)
    };
    let (status, card) = get("/inside/.well-known/agent-card.json").await;
    assert_eq!((status, state(&card, "/url")), (200, "http://agent.example/t".to_owned()));
    for path in ["/t", "/insidewards", "/", "/inside%2F.well-known/agent-card.json"] {
        assert_eq!(get(path).await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn stopping_lets_running_turns_answer() {
    let go = CancellationToken::new();
    let (started, mut starts) = mpsc::channel(1);
    let gate = go.clone();
    let author = move |_| {
        let (gate, started) = (gate.clone(), started.clone());
        async move {
            started.send(()).await.unwrap();
            gate.cancelled().await;
            Outcome::say("still here")
        }
    };
    let server = agent().on_message(author).into_server();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/t/message:send", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let call = async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.post(url).header("a2a-version", "1.0").header("content-type", "application/json");
        request.body(hi("")).send().await.unwrap().text().await.unwrap()
    };
    let stopping = async {
        starts.recv().await.unwrap();
        stop.cancel();
        go.cancel();
    };
    let ((), answer, ()) = tokio::join!(server.serve(listener, stop.clone()), call, stopping);
    assert!(answer.contains("still here"), "{answer}");
}
