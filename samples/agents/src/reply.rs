//! Plain HTTP answers of everything that is not an agent.

use a2a_agent::Body;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use json::Json;

/// A JSON document.
pub(crate) fn document(status: StatusCode, document: &Json) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(json::write(document))).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A refusal with a text.
pub(crate) fn error(status: StatusCode, text: &str) -> Response<Body> {
    document(status, &[("error", text)].into())
}

/// 405 with what is allowed.
pub(crate) fn method_not_allowed(allow: &'static str) -> Response<Body> {
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, "this path takes another verb");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}
