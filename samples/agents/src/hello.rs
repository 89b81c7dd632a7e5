//! `hello-world-a2a`: the smallest agent as people write it, in the exact wire shape of the guide it comes from.
//!
//! A JSON-RPC envelope posted to `/message:send` or `/message:stream` (colon literal or percent-encoded), v0.3-like
//! objects, a result *without* `kind`, stream frames *with* it, no `messageId` asked for. It is a deliberately foreign
//! agent: plain hyper and crate `json`, nothing of crate `a2a`, no A2A v1.0, no memory between requests.

use std::convert::Infallible;
use std::sync::Arc;

use a2a_agent::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use hyper::body::Incoming;
use json::{Json, Limits};

use crate::id;

/// The agent. Cheap to clone; it remembers nothing.
#[derive(Clone, Debug)]
pub struct Hello {
    card: Arc<[u8]>,
    mount: &'static str,
}

impl Hello {
    /// The agent below the path `mount`, with a card that points at `public_url` (both without a slash at the end).
    #[must_use]
    pub fn new(public_url: &str, mount: &'static str) -> Self {
        Self { card: json::write(&card(public_url)).into(), mount }
    }

    /// Answers one request; every path that is not the agent's is 404.
    pub async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let route = request.uri().path().strip_prefix(self.mount).and_then(Route::of);
        let Some(route) = route else { return plain(StatusCode::NOT_FOUND, "Not Found") };
        if *request.method() != route.method() {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
        }
        match route {
            Route::Health => document(StatusCode::OK, &Json::from([("status", "ok")])),
            Route::Card => document_bytes(StatusCode::OK, Bytes::copy_from_slice(&self.card)),
            Route::Send => match asked(request).await {
                Ok(asked) => document(StatusCode::OK, &asked.envelope(asked.task())),
                Err(refusal) => refusal.response(),
            },
            Route::Stream => match asked(request).await {
                Ok(asked) => events(asked.frames()),
                Err(refusal) => refusal.response(),
            },
        }
    }
}

/// What the answer's text begins with.
pub const GREETING: &str = "Hello from Brutor A2A sample! You said: ";

/// Largest request body.
pub const BODY_LIMIT: usize = 256 * 1024;

#[derive(Clone, Copy)]
enum Route {
    Health,
    Card,
    Send,
    Stream,
}

impl Route {
    /// The raw path decides: the percent-encoded colon has to be recognised, not decoded away.
    fn of(path: &str) -> Option<Self> {
        match path {
            "/health" => Some(Self::Health),
            "/.well-known/agent-card.json" => Some(Self::Card),
            "/message:send" | "/message%3Asend" | "/message%3asend" => Some(Self::Send),
            "/message:stream" | "/message%3Astream" | "/message%3astream" => Some(Self::Stream),
            _ => None,
        }
    }

    const fn method(self) -> Method {
        match self {
            Self::Health | Self::Card => Method::GET,
            Self::Send | Self::Stream => Method::POST,
        }
    }
}

/// What a caller said: the envelope's id and the message, as they came.
struct Asked {
    id: Json,
    message: Json,
}

impl Asked {
    fn task(&self) -> Json {
        Json::from([
            ("id", Json::from(id::uuid())),
            ("contextId", id::uuid().into()),
            ("status", [("state", "completed")].into()),
            ("history", vec![self.message.clone()].into()),
            ("artifacts", vec![self.artifact()].into()),
        ])
    }

    fn frames(&self) -> Vec<Json> {
        let (task, context) = (id::uuid(), id::uuid());
        let event = |kind: &str| {
            json::Object::from([("kind", kind), ("taskId", task.as_str()), ("contextId", context.as_str())])
        };
        let mut working = event("status-update");
        working.insert("status", [("state", "working")]);
        let mut greeting = event("artifact-update");
        greeting.insert("artifact", self.artifact());
        let mut completed = event("status-update");
        completed.insert("status", [("state", "completed")]);
        completed.insert("final", true);
        [working, greeting, completed].map(|frame| self.envelope(frame.into())).into()
    }

    fn artifact(&self) -> Json {
        let text = format!("{GREETING}{}", self.text());
        let part = Json::from([("kind", "text"), ("text", text.as_str())]);
        Json::from([("artifactId", Json::from(id::uuid())), ("name", "greeting".into()), ("parts", vec![part].into())])
    }

    /// The first part that has a text.
    fn text(&self) -> &str {
        let parts = self.message.get("parts").and_then(Json::as_array).unwrap_or_default();
        parts.iter().find_map(|part| part.get("text").and_then(Json::as_str)).unwrap_or_default()
    }

    fn envelope(&self, result: Json) -> Json {
        Json::from([("jsonrpc", Json::from("2.0")), ("id", self.id.clone()), ("result", result)])
    }
}

enum Refusal {
    TooLarge,
    Malformed,
    Broken,
}

impl Refusal {
    fn response(&self) -> Response<Body> {
        let (status, code, text) = match self {
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, -32600, "The body is larger than 256 KiB"),
            Self::Malformed => (StatusCode::BAD_REQUEST, -32700, "The body is not a JSON object"),
            Self::Broken => (StatusCode::BAD_REQUEST, -32700, "The body ended early"),
        };
        let error = Json::from([("code", Json::from(code)), ("message", text.into())]);
        document(status, &[("jsonrpc", Json::from("2.0")), ("id", Json::Null), ("error", error)].into())
    }
}

async fn asked(request: Request<Incoming>) -> Result<Asked, Refusal> {
    tracing::debug!(
        tenant = ?request.headers().get("x-brutor-tenant-id"),
        correlation_id = ?request.headers().get("x-correlation-id"),
        "asked"
    );
    let body = Limited::new(request.into_body(), BODY_LIMIT).collect().await;
    let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => Refusal::TooLarge,
        None => Refusal::Broken,
    })?;
    match json::read(&body.to_bytes(), &Limits::default()) {
        Ok(Json::Object(mut envelope)) => {
            let message = envelope.get("params").and_then(|params| params.get("message")).cloned();
            let message = message.filter(|message| message.as_object().is_some());
            let id = envelope.remove("id").unwrap_or_default();
            Ok(Asked { id, message: message.unwrap_or_else(|| json::Object::new().into()) })
        }
        Ok(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_)) | Err(_) => {
            Err(Refusal::Malformed)
        }
    }
}

fn card(public_url: &str) -> Json {
    let skill = Json::from([
        ("id", Json::from("hello")),
        ("name", "hello".into()),
        ("description", "Returns a greeting that echoes the caller's input.".into()),
        ("tags", vec![Json::from("hello"), "demo".into()].into()),
    ]);
    let interface = Json::from([("protocolBinding", "JSONRPC"), ("url", public_url)]);
    Json::from([
        ("name", Json::from("Hello World A2A (Brutor sample)")),
        ("description", "Demonstrates A2A v1.0 discovery, message:send, and message:stream behind the gateway.".into()),
        ("version", "1.0.0".into()),
        ("protocolVersion", "1.0".into()),
        ("defaultInputModes", vec!["text/plain".into()].into()),
        ("defaultOutputModes", vec!["text/plain".into()].into()),
        ("capabilities", [("streaming", true)].into()),
        ("supportedInterfaces", vec![interface].into()),
        ("skills", vec![skill].into()),
    ])
}

fn events(frames: Vec<Json>) -> Response<Body> {
    let chunks = frames.into_iter().map(|frame| {
        let mut line = b"data: ".to_vec();
        json::write_into(&frame, &mut line);
        line.extend_from_slice(b"\n\n");
        Ok::<_, Infallible>(Frame::data(Bytes::from(line)))
    });
    let mut response = Response::new(StreamBody::new(stream::iter(chunks.collect::<Vec<_>>())).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn document(status: StatusCode, document: &Json) -> Response<Body> {
    document_bytes(status, json::write(document).into())
}

fn document_bytes(status: StatusCode, bytes: Bytes) -> Response<Body> {
    typed(status, "application/json", bytes)
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    typed(status, "text/plain; charset=utf-8", Bytes::from_static(text.as_bytes()))
}

fn typed(status: StatusCode, media_type: &'static str, bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(bytes).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
