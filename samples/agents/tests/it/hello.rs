//! `hello-world-a2a` against the literal text of the guide its wire shape comes from.

use std::net::SocketAddr;

use sample_agents::hello::{BODY_LIMIT, Hello};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::client::{get, parse, post, text_at};

struct Running {
    address: SocketAddr,
    _server: JoinSet<()>,
}

impl Running {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let hello = Hello::new("http://agents.example:9100", "");
        let mut server = JoinSet::new();
        server.spawn(a2a_agent::listen(listener, CancellationToken::new(), move |request| {
            let hello = hello.clone();
            async move { hello.answer(request).await }
        }));
        Self { address, _server: server }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

const SEND: &str = r#"{"jsonrpc":"2.0","id":1,"method":"message/send",
    "params":{"message":{"role":"user","parts":[{"kind":"text","text":"Hello from my agent"}]}}}"#;

#[tokio::test]
async fn send_answers_the_printed_envelope_member_by_member() {
    let agent = Running::start().await;
    for path in ["/message:send", "/message%3Asend", "/message%3asend"] {
        let answer = post(&agent.url(path), SEND).await;
        assert_eq!((answer.status, &answer.headers["content-type"]), (200, &"application/json".parse().unwrap()));
        let (task, context) = (answer.text_at("/result/id"), answer.text_at("/result/contextId"));
        let artifact = answer.text_at("/result/artifacts/0/artifactId");
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"id":"{task}","contextId":"{context}","status":{{"state":"completed"}},"history":[{{"role":"user","parts":[{{"kind":"text","text":"Hello from my agent"}}]}}],"artifacts":[{{"artifactId":"{artifact}","name":"greeting","parts":[{{"kind":"text","text":"Hello from Brutor A2A sample! You said: Hello from my agent"}}]}}]}}}}"#
        );
        assert_eq!(answer.text, expected);
    }
}

#[tokio::test]
async fn stream_sends_the_three_printed_frames_with_final_on_the_last() {
    let agent = Running::start().await;
    for path in ["/message:stream", "/message%3Astream"] {
        let answer = post(&agent.url(path), SEND).await;
        assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/event-stream"));
        assert_eq!(answer.headers["cache-control"], "no-cache");
        assert_eq!(answer.headers["x-accel-buffering"], "no");
        let first = &answer.events()[1];
        let (task, context) = (text_at(first, "/result/taskId"), text_at(first, "/result/contextId"));
        let artifact = text_at(first, "/result/artifact/artifactId");
        let head = r#"data: {"jsonrpc":"2.0","id":1,"result":{"kind""#;
        let ids = format!(r#""taskId":"{task}","contextId":"{context}""#);
        let expected = [
            format!(r#"{head}:"status-update",{ids},"status":{{"state":"working"}}}}}}"#),
            format!(
                r#"{head}:"artifact-update",{ids},"artifact":{{"artifactId":"{artifact}","name":"greeting","parts":[{{"kind":"text","text":"Hello from Brutor A2A sample! You said: Hello from my agent"}}]}}}}}}"#
            ),
            format!(r#"{head}:"status-update",{ids},"status":{{"state":"completed"}},"final":true}}}}"#),
        ];
        assert_eq!(answer.text, expected.map(|frame| frame + "\n\n").concat());
    }
}

#[tokio::test]
async fn every_call_mints_ids_of_its_own() {
    let agent = Running::start().await;
    let (one, two) = (post(&agent.url("/message:send"), SEND).await, post(&agent.url("/message:send"), SEND).await);
    for id in ["/result/id", "/result/contextId", "/result/artifacts/0/artifactId"] {
        assert_ne!(one.text_at(id), two.text_at(id));
    }
}

#[tokio::test]
async fn card_and_health_are_as_printed() {
    let agent = Running::start().await;
    assert_eq!(parse(&get(&agent.url("/health")).await.text), parse(r#"{"status":"ok"}"#));
    let card = get(&agent.url("/.well-known/agent-card.json")).await;
    let expected = r#"{"name":"Hello World A2A (Brutor sample)","description":"Demonstrates A2A v1.0 discovery, message:send, and message:stream behind the gateway.","version":"1.0.0","protocolVersion":"1.0","defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"capabilities":{"streaming":true},"supportedInterfaces":[{"protocolBinding":"JSONRPC","url":"http://agents.example:9100"}],"skills":[{"id":"hello","name":"hello","description":"Returns a greeting that echoes the caller's input.","tags":["hello","demo"]}]}"#;
    assert_eq!(card.text, expected);
}

#[tokio::test]
async fn missing_id_message_and_text_are_answered_not_refused() {
    let agent = Running::start().await;
    let answer = post(&agent.url("/message:send"), "{}").await;
    assert_eq!(answer.status, 200);
    assert!(answer.json().get("id").unwrap().is_null());
    assert_eq!(answer.text_at("/result/artifacts/0/parts/0/text"), "Hello from Brutor A2A sample! You said: ");
}

#[tokio::test]
async fn bad_input_is_refused() {
    let agent = Running::start().await;
    for body in ["", "[", "[]", "\"text\"", r#"{"id":1,"id":2}"#] {
        let answer = post(&agent.url("/message:send"), body).await;
        assert_eq!(
            (answer.status, answer.json().pointer("/error/code").cloned()),
            (400, Some((-32700).into())),
            "{body}"
        );
    }
    let fitting = format!(r#"{{"pad":"{}"}}"#, "x".repeat(BODY_LIMIT - 10));
    assert_eq!((fitting.len(), post(&agent.url("/message:send"), &fitting).await.status), (BODY_LIMIT, 200));
    let larger = format!("{fitting} ");
    assert_eq!(post(&agent.url("/message:send"), &larger).await.status, 413);
    assert_eq!(get(&agent.url("/message:send")).await.status, 405);
    for path in ["/", "/tasks", "/message", "/message:send/", "/message%253Asend"] {
        assert_eq!(post(&agent.url(path), SEND).await.status, 404, "{path}");
    }
}
