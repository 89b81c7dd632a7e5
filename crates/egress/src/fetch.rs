//! Fetching small documents: cards, key sets, answers of token endpoints.
//!
//! Takes a URL, gives status, headers and body within a size and a time. GET, or POST of a small body; a redirect of any kind is a
//! failure; a content encoding is a failure. Errors never hold a byte of what was fetched.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use url::Url;

use crate::client::{Client, EgressError};
use crate::rules::{Denied, Why};

/// How much and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// Most bytes of a body.
    pub bytes: usize,
    /// From the call to the last byte.
    pub total: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        FetchLimits { bytes: 256 * 1024, total: Duration::from_secs(5) }
    }
}

/// A fetched document. The status may say that there is none.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Never a redirect.
    pub status: StatusCode,
    /// All response headers.
    pub headers: HeaderMap,
    /// The body, as received.
    pub body: Bytes,
}

/// Why nothing was fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The body broke off.
    #[error("the answer broke off")]
    Cut(#[source] hyper::Error),
    /// The body is compressed although `identity` was asked for.
    #[error("the answer has a content encoding")]
    Encoded,
    /// No response.
    #[error(transparent)]
    Egress(EgressError),
    /// The address answered with a redirect, which is never followed.
    #[error("the address answered {0}; redirects are not followed")]
    Redirected(StatusCode),
    /// Not finished in time.
    #[error("the answer did not arrive within {0:?}")]
    TimedOut(Duration),
    /// Larger than allowed.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
}

impl Client {
    /// Fetches a document; `headers` are added to the request (`Accept`, conditions, credentials of that origin).
    pub async fn fetch(&self, url: &str, headers: HeaderMap, limits: FetchLimits) -> Result<Fetched, FetchError> {
        self.ask(url, request(url, headers)?, limits).await
    }

    /// Sends `body` and reads the answer, as [`Client::fetch`] does. What may have been sent is not sent again.
    pub async fn post(
        &self,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
        limits: FetchLimits,
    ) -> Result<Fetched, FetchError> {
        let mut request = request(url, headers)?;
        *request.method_mut() = Method::POST;
        *request.body_mut() = body;
        self.ask(url, request, limits).await
    }

    async fn ask(&self, url: &str, request: Request<Bytes>, limits: FetchLimits) -> Result<Fetched, FetchError> {
        let work = async {
            self.rules().judge_url(url).map_err(denied)?;
            let response = self.request_within(request, limits.total).await.map_err(FetchError::Egress)?;
            read(response, limits.bytes).await
        };
        match tokio::time::timeout(limits.total, work).await {
            Ok(Err(FetchError::Egress(EgressError::Timeout))) | Err(_) => Err(FetchError::TimedOut(limits.total)),
            Ok(result) => result,
        }
    }
}

fn request(url: &str, headers: HeaderMap) -> Result<Request<Bytes>, FetchError> {
    let malformed = || denied(Denied { why: Why::Malformed, key: None });
    // Names outside ASCII travel in the form that was judged; everything else as written.
    let uri = match url.parse::<http::Uri>() {
        Ok(uri) => uri,
        Err(_) => Url::parse(url).ok().and_then(|url| url.as_str().parse().ok()).ok_or_else(malformed)?,
    };
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    request.headers_mut().insert(header::ACCEPT_ENCODING, header::HeaderValue::from_static("identity"));
    Ok(request)
}

fn denied(denied: Denied) -> FetchError {
    FetchError::Egress(EgressError::Denied(denied))
}

async fn read(response: http::Response<Incoming>, most: usize) -> Result<Fetched, FetchError> {
    let (head, mut body) = response.into_parts();
    if head.status.is_redirection() && head.status != StatusCode::NOT_MODIFIED {
        return Err(FetchError::Redirected(head.status));
    }
    let encoded = |value: &header::HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    if head.headers.get_all(header::CONTENT_ENCODING).iter().any(encoded) {
        return Err(FetchError::Encoded);
    }
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(FetchError::Cut)?.into_data() {
            if bytes.len() + data.len() > most {
                return Err(FetchError::TooLarge(most));
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(Fetched { status: head.status, headers: head.headers, body: bytes.freeze() })
}
