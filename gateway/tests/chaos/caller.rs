//! Callers: one connection each, one request after the other, until the gateway is gone.
//!
//! Takes an address, a key and what to ask; notes in the ledger what was sent and what was read to its end. A broken
//! connection ends a caller; it is what these tests are about, so it is no failure.

use crate::ledger::{Answer, Ledger};
use a2a::sse::{Frame, Limits, Parser};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// How long any answer may take; what is waited for should come long before.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// In which binding a caller speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    HttpJson,
    JsonRpc,
}

/// Whether it wants a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Stream,
    Unary,
}

/// What one caller asks.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) binding: Binding,
    pub(crate) mode: Mode,
    pub(crate) text: String,
    /// What the agent waits between the pieces of its answer, in milliseconds.
    pub(crate) pace: u32,
}

/// Where to, and who.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) gateway: SocketAddr,
    pub(crate) key: String,
    pub(crate) ledger: Arc<Ledger>,
}

/// An open connection.
#[derive(Debug)]
pub(crate) struct Line {
    sender: SendRequest<Full<Bytes>>,
    _connection: JoinSet<()>,
}

/// An answer whose body has not been read.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) id: String,
    pub(crate) answer: Answer,
    pub(crate) body: Incoming,
}

/// The connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

impl Caller {
    pub(crate) async fn connect(&self) -> Result<Line, Gone> {
        let socket = within(TcpStream::connect(self.gateway)).await.map_err(|_| Gone)?;
        let (sender, connection) = within(http1::handshake(TokioIo::new(socket))).await.map_err(|_| Gone)?;
        let mut running = JoinSet::new();
        running.spawn(async move {
            let _ = connection.await;
        });
        Ok(Line { sender, _connection: running })
    }

    /// Asks again and again on one connection; ends when it breaks.
    pub(crate) async fn ask_until_gone(self, name: String, ask: Ask) {
        let Ok(mut line) = self.connect().await else { return };
        for number in 0_u32.. {
            let Ok(heard) = self.ask(&mut line, format!("{name}-{number}"), &ask).await else { return };
            if self.read(heard).await.is_err() {
                return;
            }
        }
    }

    /// Sends one request and reads the head of its answer.
    pub(crate) async fn ask(&self, line: &mut Line, id: String, ask: &Ask) -> Result<Heard, Gone> {
        within(line.sender.ready()).await.map_err(|_| Gone)?;
        self.ledger.sent(&id);
        let response = within(line.sender.send_request(self.request(&id, ask))).await.map_err(|_| Gone)?;
        let correlation_id = response.headers().get("x-correlation-id");
        let correlation_id = correlation_id.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let answer = Answer { status: response.status().as_u16(), correlation_id };
        Ok(Heard { id, answer, body: response.into_body() })
    }

    /// Reads an answer to its end, which is when it counts.
    pub(crate) async fn read(&self, heard: Heard) -> Result<Bytes, Gone> {
        let body = within(heard.body.collect()).await.map_err(|_| Gone)?.to_bytes();
        self.ledger.answered(&heard.id, heard.answer);
        Ok(body)
    }

    fn request(&self, id: &str, ask: &Ask) -> http::Request<Full<Bytes>> {
        let message = serde_json::json!({"message": {
            "messageId": id, "role": "ROLE_USER", "parts": [{"text": ask.text}],
            "metadata": {"stepDelayMs": ask.pace},
        }});
        let (path, content_type, body) = match (ask.binding, ask.mode) {
            (Binding::HttpJson, Mode::Unary) => ("/a2a/acme/rest/message:send", "application/a2a+json", message),
            (Binding::HttpJson, Mode::Stream) => ("/a2a/acme/rest/message:stream", "application/a2a+json", message),
            (Binding::JsonRpc, mode) => {
                let method = if mode == Mode::Unary { "SendMessage" } else { "SendStreamingMessage" };
                let body = serde_json::json!({"jsonrpc": "2.0", "id": id, "method": method, "params": message});
                ("/a2a/acme/rpc", "application/json", body)
            }
        };
        http::Request::post(path)
            .header("host", "gateway.test")
            .header("authorization", format!("Bearer {}", self.key))
            .header("a2a-version", "1.0")
            .header("x-correlation-id", id)
            .header("content-type", content_type)
            .body(Full::new(Bytes::from(body.to_string())))
            .unwrap()
    }
}

/// The data of every event in a whole event stream, and its `event:` name.
pub(crate) fn events(body: &[u8]) -> Vec<(Option<String>, serde_json::Value)> {
    let mut parser = Parser::new(Limits::default());
    let frames = parser.push(body).unwrap();
    parser.finish().unwrap();
    let told = frames.into_iter().filter_map(|frame| match frame {
        Frame::Event { name, data } => Some((name, serde_json::from_str(&data).unwrap())),
        Frame::Comment => None,
    });
    told.collect()
}

/// Waits, but not for ever.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, work).await.unwrap_or_else(|_| panic!("nothing came within {DEADLINE:?}"))
}
