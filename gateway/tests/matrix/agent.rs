//! Agents that answer what a test plans, and keep what they were asked: over HTTP/1.1 on a bare socket, or over gRPC.

use crate::proto;
use crate::tongue::{Answer, Asked, shown, sorted};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use json::Json;
use sample_agents::hostile::{Gate, RawRequest, Reply, Script, Scripted};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What is sent on only when the test says so.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latch {
    gate: Gate,
    token: CancellationToken,
}

impl Latch {
    pub(crate) fn open(&self) {
        self.gate.open();
        self.token.cancel();
    }
}

/// What an agent answers next.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) answer: Answer,
    /// The latch before each part; parts without one follow at once.
    pub(crate) latches: Vec<Latch>,
}

/// Headers that differ each time, or that the body explains.
const VOLATILE: [&str; 4] = ["host", "content-length", "user-agent", "x-correlation-id"];

/// A running agent.
pub(crate) struct Agent {
    pub(crate) address: SocketAddr,
    plan: Arc<Mutex<Plan>>,
    seen: Arc<Mutex<Vec<Asked>>>,
    _running: Running,
}

enum Running {
    Http1(#[expect(dead_code, reason = "it runs as long as this lives")] Scripted),
    Grpc(#[expect(dead_code, reason = "it runs as long as this lives")] DropGuard),
}

impl Agent {
    /// One that speaks over HTTP/1.1.
    pub(crate) async fn http1() -> Self {
        let (plan, seen) = (nothing(), Arc::<Mutex<Vec<Asked>>>::default());
        let (planned, sees) = (Arc::clone(&plan), Arc::clone(&seen));
        let script = Script::by(move |request| {
            sees.lock().unwrap().push(asked(request));
            reply(&planned.lock().unwrap(), request)
        });
        let scripted = Scripted::start(script).await.unwrap();
        Self { address: scripted.address(), plan, seen, _running: Running::Http1(scripted) }
    }

    /// One that speaks gRPC.
    pub(crate) async fn grpc() -> Self {
        let (plan, seen) = (nothing(), Arc::<Mutex<Vec<Asked>>>::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        #[expect(clippy::disallowed_methods, reason = "the agent is outside of the gateway")]
        tokio::spawn(serve(listener, Arc::clone(&plan), Arc::clone(&seen), stop.clone()));
        Self { address, plan, seen, _running: Running::Grpc(stop.drop_guard()) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it answers from now on.
    pub(crate) fn plan(&self, answer: Answer, latches: &[Latch]) {
        *self.plan.lock().unwrap() = Plan { answer, latches: latches.to_vec() };
    }

    /// What it was asked since the last look.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

fn nothing() -> Arc<Mutex<Plan>> {
    Arc::new(Mutex::new(Plan { answer: Answer::Json(500, Vec::new()), latches: Vec::new() }))
}

// ---- HTTP/1.1 ----------------------------------------------------------------------------------------------------

fn reply(plan: &Plan, request: &RawRequest) -> Reply {
    let id = request.json().get("id").and_then(Json::as_str).unwrap_or_default().to_owned();
    let with_id = |document: &[u8]| String::from_utf8_lossy(document).replace("$ID", &id);
    match &plan.answer {
        Answer::Json(status, document) => Reply::json(*status, with_id(document)),
        Answer::Events(documents) => {
            let mut reply = Reply::sse();
            for (place, document) in documents.iter().enumerate() {
                if let Some(latch) = plan.latches.get(place) {
                    reply = reply.wait(&latch.gate);
                }
                // One line: an event is framed by its lines.
                reply = reply.event(with_id(document).replace('\n', " "));
            }
            reply.end()
        }
        Answer::Raw(reply) => reply.clone(),
        Answer::Grpc(_) | Answer::GrpcFault(..) => Reply::whole(500, "text/plain", "not over HTTP/1.1"),
    }
}

fn asked(request: &RawRequest) -> Asked {
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    assert_eq!(length, request.body.len(), "{}", request.headers_text());
    let body = request.body_text();
    let body = match body.starts_with('{') {
        true => sorted(&shown(&without_id(request.json()))),
        false => body,
    };
    let mut headers: Vec<String> = request
        .header_list()
        .into_iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .filter(|(name, _)| !VOLATILE.contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    headers.sort();
    Asked { line: request.line.clone(), headers, body }
}

/// A JSON-RPC request whose id is hidden; it must be a string.
fn without_id(mut tree: Json) -> Json {
    let named = tree.get("jsonrpc").is_some() && tree.get("id").and_then(Json::as_str).is_some_and(|id| id.len() > 8);
    if let Some(object) = tree.as_object_mut().filter(|_| named) {
        object.insert("id", "$ID");
    }
    tree
}

// ---- gRPC --------------------------------------------------------------------------------------------------------

async fn serve(listener: TcpListener, plan: Arc<Mutex<Plan>>, seen: Arc<Mutex<Vec<Asked>>>, stop: CancellationToken) {
    loop {
        let socket = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted.unwrap().0,
        };
        let (plan, seen) = (Arc::clone(&plan), Arc::clone(&seen));
        let service = hyper::service::service_fn(move |request: Request<Incoming>| {
            let (plan, seen) = (Arc::clone(&plan), Arc::clone(&seen));
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                seen.lock().unwrap().push(asked_over_grpc(&head, &body));
                let plan = plan.lock().unwrap().clone();
                Ok::<_, Infallible>(answered(plan))
            }
        });
        let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(socket), service);
        #[expect(clippy::disallowed_methods, reason = "the agent is outside of the gateway")]
        tokio::spawn(connection);
    }
}

fn asked_over_grpc(head: &http::request::Parts, body: &[u8]) -> Asked {
    let mut body = body.to_vec();
    let message = proto::unframed(&mut body).expect("one message");
    assert!(body.is_empty(), "more than one message");
    let mut headers = Vec::new();
    for (name, value) in &head.headers {
        let value = if name == "grpc-timeout" { "*" } else { value.to_str().unwrap() };
        if !VOLATILE.contains(&name.as_str()) {
            headers.push(format!("{name}: {value}"));
        }
    }
    headers.sort();
    let line = format!("{} {} {:?}", head.method, head.uri.path(), head.version);
    Asked { line, headers, body: proto::shown(&message) }
}

fn answered(plan: Plan) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
    let (messages, status) = match plan.answer {
        Answer::Grpc(messages) => (messages, status(0, "", &[])),
        Answer::GrpcFault(messages, code, text, details) => (messages, status(code, text, &details)),
        other @ (Answer::Json(..) | Answer::Events(_) | Answer::Raw(_)) => panic!("not over gRPC: {other:?}"),
    };
    let latches = plan.latches;
    let parts = futures_util::stream::iter(messages.into_iter().enumerate()).then(move |(place, message)| {
        let latch = latches.get(place).cloned();
        async move {
            if let Some(latch) = latch {
                latch.token.cancelled().await;
            }
            Ok(Frame::data(Bytes::from(proto::framed(&message))))
        }
    });
    let frames = parts.chain(futures_util::stream::once(async { Ok(Frame::trailers(status)) }));
    let mut response = Response::new(StreamBody::new(frames.boxed()).boxed_unsync());
    response.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
    response
}

fn status(code: u8, text: &str, details: &[u8]) -> http::HeaderMap {
    let mut status = http::HeaderMap::from_iter([("grpc-status".parse().unwrap(), u16::from(code).into())]);
    if code != 0 {
        status.insert("grpc-message", text.parse().unwrap());
        status.insert("grpc-status-details-bin", STANDARD_NO_PAD.encode(details).parse().unwrap());
    }
    status
}
