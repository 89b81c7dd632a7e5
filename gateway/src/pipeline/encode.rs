//! Answers, streams and refusals → HTTP responses in the caller's dialect.
//!
//! *Takes* what the voice wrote. *Gives* a response with the headers that belong to it. *Refuses* nothing. *Never*
//! invents a status, and passes no header of an agent's on: every header here is ours.

use crate::pipeline::authenticate::AuthenticateError;
use crate::pipeline::body::{self, Body};
use crate::pipeline::head::{CORRELATION_ID, Head};
use crate::reject::Reject;
use a2a::dialect::Wire;
use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode, Version};
use http_body::Frame;
use std::time::Duration;
use tokio::sync::mpsc;

/// A whole answer. `held` is given back when its last byte has been taken.
pub fn whole<T: Send + Unpin + 'static>(wire: Wire, head: &Head, held: T) -> Response<Body> {
    let mut response = written(wire, head);
    let body = std::mem::replace(response.body_mut(), body::empty());
    *response.body_mut() = body::holding(body, held);
    response
}

/// What the voice wrote. Trailers of an answer without a body stand in its head (gRPC: "Trailers-Only").
fn written(wire: Wire, head: &Head) -> Response<Body> {
    let Wire { status, content_type, body, trailers } = wire;
    let trailers = trailer_map(&trailers);
    if trailers.is_empty() {
        return response(status, content_type, head, body::full(body));
    }
    if body.is_empty() {
        let mut response = response(status, content_type, head, body::empty());
        response.headers_mut().extend(trailers);
        return response;
    }
    response(status, content_type, head, body::with_trailers(body, trailers))
}

/// Trailers as a map.
pub(crate) fn trailer_map(trailers: &[(&'static str, String)]) -> HeaderMap {
    let value = |text: &str| HeaderValue::from_str(text).ok();
    trailers.iter().filter_map(|(name, text)| Some((HeaderName::from_static(name), value(text)?))).collect()
}

/// An event stream fed through `frames`.
pub fn stream(frames: mpsc::Receiver<Frame<Bytes>>, content_type: &'static str, head: &Head) -> Response<Body> {
    response(200, content_type, head, body::channel(frames))
}

/// A refusal.
pub fn refusal(wire: Wire, reject: &Reject, realm: &str, head: &Head) -> Response<Body> {
    let mut response = written(wire, head);
    let headers = response.headers_mut();
    if let Reject::Authenticate {
        error: error @ (AuthenticateError::BadCredential | AuthenticateError::MissingCredential),
    } = reject
    {
        for challenge in challenges(realm, *error) {
            headers.append(header::WWW_AUTHENTICATE, challenge);
        }
    }
    if let Some(wait) = reject.retry_after() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
    }
    if let Some(allow) = reject.allow() {
        headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    }
    if reject.closes_connection() && head.http_version < Version::HTTP_2 {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn response(status: u16, content_type: &'static str, head: &Head, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if content_type == a2a::grpc::CONTENT_TYPE {
        headers.insert("grpc-accept-encoding", HeaderValue::from_static("identity"));
    } else if content_type == "text/event-stream" {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    } else {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if let Ok(id) = HeaderValue::from_str(&head.correlation_id) {
        headers.insert(CORRELATION_ID, id);
    }
    response
}

/// Rounded up: a caller that comes back too early is refused again.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// One challenge per scheme that is accepted. `realm` is a tenant's name, or nothing that needs quoting.
fn challenges(realm: &str, error: AuthenticateError) -> impl Iterator<Item = HeaderValue> {
    let why = match error {
        AuthenticateError::BadCredential => ", error=\"invalid_token\"",
        AuthenticateError::MissingCredential
        | AuthenticateError::Throttled { .. }
        | AuthenticateError::TwoCredentials => "",
    };
    let bearer = format!("Bearer realm=\"{realm}\"{why}");
    let api_key = format!("ApiKey realm=\"{realm}\"");
    [bearer, api_key].into_iter().filter_map(|challenge| HeaderValue::from_str(&challenge).ok())
}
