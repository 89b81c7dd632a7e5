//! Documents as they go over the wire: bytes, their tag, how long they may be kept; conditional requests.

use base64::Engine as _;
use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Response, StatusCode};
use sha2::{Digest, Sha256};

/// A document, ready to serve.
#[derive(Clone, Debug)]
pub struct Served {
    body: Bytes,
    etag: HeaderValue,
}

/// Who may keep an answer, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Everybody, this many seconds.
    Public(u32),
    /// Nobody; the answer depends on who asks.
    Nobody,
}

impl Served {
    /// These bytes. The tag covers all of them, signatures included, so that a key rotation changes it.
    #[must_use]
    pub fn new(body: Vec<u8>) -> Self {
        let digest = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(Sha256::digest(&body));
        let etag = HeaderValue::try_from(format!("\"{digest}\"")).unwrap_or(HeaderValue::from_static("\"\""));
        Self { body: Bytes::from(body), etag }
    }

    /// How much memory it takes.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.body.len() as u64
    }

    /// The answer to a GET or HEAD with these headers.
    #[must_use]
    pub fn answer(
        &self,
        content_type: &'static str,
        keep: Keep,
        method: &Method,
        request: &HeaderMap,
    ) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        let headers = response.headers_mut();
        headers.insert(header::ETAG, self.etag.clone());
        headers.insert(header::CACHE_CONTROL, cache_control(keep));
        if keep == Keep::Nobody {
            headers.insert(header::VARY, HeaderValue::from_static("Authorization, X-API-Key"));
        }
        if self.is_known(request) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if method == Method::HEAD {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(self.body.len()));
            return response;
        }
        *response.body_mut() = self.body.clone();
        response
    }

    /// RFC 9110 §13.1.2: the weak comparison, over a list.
    fn is_known(&self, request: &HeaderMap) -> bool {
        let lists = request.get_all(header::IF_NONE_MATCH).iter().map(|value| value.to_str().unwrap_or_default());
        lists
            .flat_map(|list| list.split(','))
            .map(str::trim)
            .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag).as_bytes() == self.etag.as_bytes())
    }
}

fn cache_control(keep: Keep) -> HeaderValue {
    match keep {
        Keep::Public(seconds) => {
            HeaderValue::try_from(format!("public, max-age={seconds}")).unwrap_or(HeaderValue::from_static("no-store"))
        }
        Keep::Nobody => HeaderValue::from_static("private, no-store"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(tag: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_str(tag).unwrap())])
    }

    #[test]
    fn known_bytes_are_not_sent_again() {
        let served = Served::new(b"{}".to_vec());
        let tag = served.etag.to_str().unwrap().to_owned();
        for known in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".to_owned()] {
            let response = served.answer("application/json", Keep::Public(60), &Method::GET, &asks(&known));
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{known}");
            assert!(response.body().is_empty());
            assert_eq!(response.headers()[header::ETAG], tag.as_str());
        }
        let response = served.answer("application/json", Keep::Public(60), &Method::GET, &asks("\"x\""));
        assert_eq!((response.status(), response.body().as_ref()), (StatusCode::OK, b"{}".as_slice()));
    }

    #[test]
    fn any_other_byte_gives_another_tag() {
        assert_ne!(Served::new(b"{}".to_vec()).etag, Served::new(b"{ }".to_vec()).etag);
    }

    #[test]
    fn head_has_the_length_and_no_body() {
        let response = Served::new(b"{}".to_vec()).answer("a/b", Keep::Nobody, &Method::HEAD, &HeaderMap::new());
        assert_eq!(response.headers()[header::CONTENT_LENGTH], "2");
        assert_eq!(response.headers()[header::CACHE_CONTROL], "private, no-store");
        assert!(response.body().is_empty());
    }
}
