//! (a) The agent stub: v1.0 JSON-RPC and HTTP+JSON, as fast as an agent can be.
//!
//! It parses nothing: it looks for the JSON-RPC id and for the wish for events, and writes prepared shapes with new
//! ids. Stream events come one by one, [`PACE`] apart, as a model's words do.

use crate::serve::serve;
use crate::spoken::{Binding, EVENTS, Ids};
use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, header};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Incoming;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Between two events of a stream.
pub(crate) const PACE: Duration = Duration::from_millis(1);

type Body = UnsyncBoxBody<Bytes, Infallible>;

pub(crate) async fn run() -> anyhow::Result<()> {
    let numbers = Arc::new(AtomicU64::new(0));
    serve(move |request| {
        let ids = Ids::new(numbers.fetch_add(1, Ordering::Relaxed));
        answer(request, ids)
    })
    .await
}

async fn answer(request: Request<Incoming>, ids: Ids) -> Response<Body> {
    let path = request.uri().path();
    let binding = if path.ends_with("send") || path.ends_with("stream") { Binding::HttpJson } else { Binding::JsonRpc };
    let Ok(body) = request.into_body().collect().await else { return Response::new(full(String::new())) };
    let body = body.to_bytes();
    let envelope = match binding {
        Binding::HttpJson => None,
        Binding::JsonRpc => Some(rpc_id(&body).to_owned()),
    };
    match wish(&body) {
        None => respond(binding.content_type(), full(wrap(envelope.as_deref(), &ids.answer()))),
        Some(events) => respond("text/event-stream", told(envelope, ids, events)),
    }
}

fn respond(content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content_type));
    response
}

fn full(text: String) -> Body {
    Full::new(Bytes::from(text)).boxed_unsync()
}

fn told(envelope: Option<String>, ids: Ids, events: usize) -> Body {
    let frames = stream::unfold(0, move |at| {
        let event =
            (at < events + 2).then(|| format!("data: {}\n\n", wrap(envelope.as_deref(), &ids.event(at, events))));
        async move {
            if at > 0 {
                tokio::time::sleep(PACE).await;
            }
            Some((Ok(Frame::data(Bytes::from(event?))), at + 1))
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

fn wrap(rpc_id: Option<&str>, result: &str) -> String {
    match rpc_id {
        Some(id) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        None => result.to_owned(),
    }
}

/// The id's JSON text; both the callers and the gateway write the envelope without spaces.
fn rpc_id(body: &[u8]) -> &str {
    after(body, "\"id\":").and_then(|rest| rest.split([',', '}']).next()).unwrap_or("null")
}

fn wish(body: &[u8]) -> Option<usize> {
    after(body, EVENTS)?.split(' ').next()?.parse().ok()
}

fn after<'a>(body: &'a [u8], mark: &str) -> Option<&'a str> {
    // Both marks stand near the beginning.
    let beginning = body.get(..body.len().min(400))?;
    std::str::from_utf8(beginning).ok()?.split_once(mark).map(|(_, rest)| rest)
}
