//! An agent that answers by request line and reports what it was sent.

#![expect(clippy::disallowed_methods, reason = "the agents of these tests have no task list to be drained with")]

use a2a_client::{Agent, CallError, CallLimits, Credential, Dialect, Options};
use json::{Json, Limits, Object};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

pub(crate) struct Server {
    pub(crate) base: String,
    pub(crate) requests: mpsc::UnboundedReceiver<String>,
}

/// What is answered to requests that begin with a text; what is not listed is 404.
pub(crate) type Script = Vec<(&'static str, String)>;

pub(crate) async fn serve(script: impl FnOnce(&str) -> Script) -> Server {
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
            let _ = report.send(request);
            // A client that has heard enough hangs up.
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    Server { base, requests }
}

pub(crate) async fn read_request(stream: &mut TcpStream) -> String {
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
pub(crate) fn answer(status: u16, kind: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{body}")
}

pub(crate) fn card(name: &str, base: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"d","version":"1","supportedInterfaces":[{{"url":"{base}/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}},{{"url":"{base}/rest","protocolBinding":"HTTP+JSON","protocolVersion":"1.0","tenant":"acme"}},{{"url":"{base}/old","protocolBinding":"JSONRPC","protocolVersion":"0.3"}}],"capabilities":{{"streaming":true}},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{{"id":"i","name":"n","description":"d","tags":["t"]}}]}}"#
    )
}

pub(crate) fn object(text: &str) -> Object {
    match json::read(text.as_bytes(), &Limits::default()) {
        Ok(Json::Object(object)) => object,
        other => panic!("{other:?}"),
    }
}

/// The agent of [`card`] at this address, called over one dialect.
pub(crate) async fn agent_at(base: &str, dialect: Dialect, limits: CallLimits) -> Agent {
    let options = Options::new().auth(Credential::bearer("t-1")).only([dialect]).limits(limits);
    let url = format!("{base}/.well-known/agent-card.json");
    options.connect_card(object(&card("A", base)), &url).await.unwrap()
}

pub(crate) async fn agent(server: &Server, dialect: Dialect, limits: CallLimits) -> Agent {
    agent_at(&server.base, dialect, limits).await
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const STREAM: &str = "text/event-stream; charset=utf-8";
pub(crate) const TASK: &str = r#"{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}"#;

/// What a variant is called.
pub(crate) fn named(error: &CallError) -> String {
    let text = format!("{error:?}");
    text.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_owned()
}
