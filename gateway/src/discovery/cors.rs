//! Which browser scripts may read our answers (Fetch standard, CORS protocol).
//!
//! Credentials travel in headers that scripts set, never in cookies, so no answer ever allows credentials mode.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use crate::config::CorsOrigins;

/// Puts the headers on an answer to a request from `origin`.
pub fn allow(cors: &CorsOrigins, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
    let allowed = match cors {
        CorsOrigins::Any => HeaderValue::from_static("*"),
        CorsOrigins::List(list) => {
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
            match origin.filter(|origin| list.contains(origin)) {
                Some(origin) => origin.clone(),
                None => return,
            }
        }
    };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
}

/// The answer to `OPTIONS`.
#[must_use]
pub fn preflight(cors: &CorsOrigins, request: &HeaderMap) -> Response<Vec<u8>> {
    let mut response = Response::new(Vec::new());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(METHODS));
    let is_allowed = match (cors, request.get(header::ORIGIN)) {
        (CorsOrigins::Any, _) => true,
        (CorsOrigins::List(list), Some(origin)) => list.contains(origin),
        (CorsOrigins::List(_), None) => false,
    };
    if is_allowed && request.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
        const MAX_AGE: HeaderName = header::ACCESS_CONTROL_MAX_AGE;
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ACCEPTED));
        headers.insert(MAX_AGE, HeaderValue::from_static("600"));
    }
    response
}

const METHODS: &str = "GET, HEAD, POST, DELETE, OPTIONS";
const ACCEPTED: &str = "authorization, x-api-key, content-type, accept, a2a-version, a2a-extensions, \
                        x-a2a-extensions, x-correlation-id, traceparent, tracestate, idempotency-key, last-event-id, \
                        if-none-match, cache-control";
const EXPOSED: &str = "www-authenticate, retry-after, etag, x-correlation-id, a2a-version, a2a-extensions";

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(origin: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        headers.insert(header::ACCESS_CONTROL_REQUEST_METHOD, HeaderValue::from_static("POST"));
        headers
    }

    #[test]
    fn any_origin_is_allowed_by_default_and_never_with_credentials() {
        let response = preflight(&CorsOrigins::Any, &asks("https://app.test"));
        assert!(response.headers().contains_key(header::ACCESS_CONTROL_ALLOW_HEADERS));
        let mut headers = HeaderMap::new();
        allow(&CorsOrigins::Any, Some(&HeaderValue::from_static("https://app.test")), &mut headers);
        assert_eq!(headers[header::ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert!(!headers.contains_key(header::ACCESS_CONTROL_ALLOW_CREDENTIALS));
    }

    #[test]
    fn listed_origins_alone_are_named() {
        let list = CorsOrigins::List(vec![HeaderValue::from_static("https://app.test")]);
        for (origin, allowed) in [("https://app.test", true), ("https://evil.test", false)] {
            let mut headers = HeaderMap::new();
            allow(&list, Some(&HeaderValue::from_str(origin).unwrap()), &mut headers);
            assert_eq!(headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN), allowed, "{origin}");
            assert_eq!(headers[header::VARY], "Origin");
            let response = preflight(&list, &asks(origin));
            assert_eq!(response.headers().contains_key(header::ACCESS_CONTROL_ALLOW_METHODS), allowed, "{origin}");
        }
    }
}
