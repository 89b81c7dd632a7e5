//! The head of a request: what may occur once, what is dropped, what is kept for later.
//!
//! Takes the parts of an HTTP request, gives a [`Head`] with the few fields that later stages may read. Headers that
//! must be single are refused when they occur twice; names with `_`, hop-by-hop names and our own prefix are not seen
//! by anybody (threat-model T-HDR-1…5). Never touches credentials beyond keeping them for `authenticate`.

use crate::clock::Micros;
use crate::registry::certificate::ClientCertificate;
use a2a::dialect::RequestFacts;
use http::Version;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Why a head was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// A body in a content coding.
    #[error("the body has a content coding")]
    ContentEncoding,
    /// No host, or a transfer coding besides one `chunked`: two readers may disagree where the request ends.
    #[error("the request is framed ambiguously")]
    Framing,
    /// A header that must be single occurs twice.
    #[error("a header that must be single occurs twice")]
    RepeatedHeader,
}

/// What later stages may know of the request's head.
#[derive(Debug)]
pub struct Head {
    /// The method; an override header is never looked at.
    pub method: http::Method,
    /// HTTP/1.x or 2.
    pub http_version: Version,
    /// The raw path.
    pub path: String,
    /// The raw query, if there is one.
    pub query: Option<String>,
    /// `Authorization`, `X-API-Key` and the client certificate, for `authenticate` alone.
    pub credentials: Credentials,
    /// `A2A-Version`, as it was sent.
    pub version: Option<HeaderValue>,
    /// `A2A-Extensions` and its older name, merged.
    pub extensions: Vec<String>,
    /// `Content-Type`.
    pub content_type: Option<HeaderValue>,
    /// `Accept`, for the media type of errors.
    pub accept: Option<HeaderValue>,
    /// `Content-Length`, if it is a number.
    pub content_length: Option<u64>,
    /// `traceparent`, if it has the right form.
    pub traceparent: Option<HeaderValue>,
    /// `tracestate`.
    pub tracestate: Option<HeaderValue>,
    /// The id of this exchange: the caller's if it is well-formed, else a new one.
    pub correlation_id: String,
    /// One of our own for this exchange, where `correlation_id` is the caller's.
    pub own_id: Option<String>,
    /// The caller's own id where it could not be taken over; for the record.
    pub refused_correlation_id: Option<String>,
    /// When the caller stops waiting, in gRPC.
    pub deadline: Option<Instant>,
    /// Whether the caller waits for `100 Continue` before it sends its body.
    pub expects_continue: bool,
    fault: Option<HeadError>,
    /// `User-Agent`, for dialect habits and the record; at most 256 bytes.
    pub user_agent: Option<String>,
}

/// Credentials as they were presented.
#[derive(Default)]
pub struct Credentials {
    /// `Authorization`
    pub authorization: Option<HeaderValue>,
    /// `X-API-Key`
    pub api_key: Option<HeaderValue>,
    /// The connection's client certificate.
    pub certificate: Option<Arc<ClientCertificate>>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// `X-Correlation-Id`, stamped on every answer and on every call to an agent.
pub const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");
/// `X-API-Key`
pub const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// `A2A-Version`
pub const A2A_VERSION: HeaderName = HeaderName::from_static("a2a-version");
const A2A_EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
const X_A2A_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");
/// `grpc-timeout`
pub(crate) const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
pub(crate) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Headers that two readers could take from different places when they occur twice (T-HDR-4).
const SINGLE: [HeaderName; 6] =
    [header::AUTHORIZATION, A2A_VERSION, header::CONTENT_LENGTH, header::HOST, API_KEY, header::CONTENT_TYPE];

impl Head {
    /// What is worth keeping of `parts`, which arrived at `now`. Total, so that a refusal can be answered too; [`Head::check`] refuses.
    #[must_use]
    pub fn read(parts: &Parts, now: Micros) -> Self {
        let headers = &parts.headers;
        let one = |name: &HeaderName| headers.get(name).cloned();
        let given = correlation_id(headers);
        Self {
            method: parts.method.clone(),
            http_version: parts.version,
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().map(str::to_owned),
            credentials: Credentials {
                authorization: one(&header::AUTHORIZATION),
                api_key: one(&API_KEY),
                certificate: parts.extensions.get::<Arc<ClientCertificate>>().cloned(),
            },
            version: one(&A2A_VERSION),
            extensions: extensions(headers),
            content_type: one(&header::CONTENT_TYPE),
            accept: one(&header::ACCEPT),
            content_length: one(&header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok()),
            traceparent: one(&TRACEPARENT).filter(is_traceparent),
            tracestate: one(&TRACESTATE).filter(|value| value.len() <= 512),
            correlation_id: given.clone().unwrap_or_else(|| new_id_at(now)),
            own_id: given.as_ref().map(|_| new_id_at(now)),
            refused_correlation_id: one(&CORRELATION_ID)
                .filter(|_| given.is_none())
                .map(|value| String::from_utf8_lossy(value.as_bytes()).chars().take(256).collect()),
            deadline: one(&GRPC_TIMEOUT)
                .and_then(|value| a2a::grpc::timeout(value.to_str().ok()?))
                .and_then(|time| Instant::now().checked_add(time)),
            expects_continue: headers.contains_key(header::EXPECT),
            fault: check(parts).err(),
            user_agent: one(&header::USER_AGENT).and_then(|v| Some(v.to_str().ok()?.chars().take(256).collect())),
        }
    }

    /// Refuses what two readers could read differently.
    ///
    /// # Errors
    /// [`HeadError`]
    pub fn check(&self) -> Result<(), HeadError> {
        self.fault.map_or(Ok(()), Err)
    }

    /// The id of this exchange that no caller has chosen.
    #[must_use]
    pub fn unchosen_id(&self) -> &str {
        self.own_id.as_ref().unwrap_or(&self.correlation_id)
    }

    /// At most `limit`, and no longer than the caller waits.
    #[must_use]
    pub fn within(&self, limit: Duration) -> Duration {
        self.deadline.map_or(limit, |at| limit.min(at.saturating_duration_since(Instant::now())))
    }

    /// The id in `traceparent`, which the caller made up.
    #[must_use]
    pub fn trace_id(&self) -> Option<String> {
        self.traceparent.as_ref()?.to_str().ok()?.split('-').nth(1).map(str::to_owned)
    }

    /// What a later call within this exchange is made with: trace, extensions and the time that is left, no credential.
    #[must_use]
    pub fn without_credentials(&self) -> Self {
        Self {
            method: self.method.clone(),
            http_version: self.http_version,
            path: self.path.clone(),
            query: None,
            credentials: Credentials::default(),
            version: None,
            extensions: self.extensions.clone(),
            content_type: None,
            accept: None,
            content_length: None,
            traceparent: self.traceparent.clone(),
            tracestate: self.tracestate.clone(),
            correlation_id: self.correlation_id.clone(),
            own_id: self.own_id.clone(),
            refused_correlation_id: None,
            deadline: self.deadline,
            expects_continue: false,
            fault: None,
            user_agent: None,
        }
    }

    /// What a dialect may know of the head.
    #[must_use]
    pub fn facts(&self) -> RequestFacts<'_> {
        // A header that is no text is no version and no media type either: it must not look absent.
        fn text(value: &HeaderValue) -> &str {
            value.to_str().unwrap_or("?")
        }
        RequestFacts {
            versions: self.version.iter().map(text).collect(),
            query: self.query.as_deref(),
            content_type: self.content_type.as_ref().map(text),
            user_agent: self.user_agent.as_deref(),
            accept: self.accept.as_ref().map(text),
        }
    }
}

fn check(parts: &Parts) -> Result<(), HeadError> {
    let headers = &parts.headers;
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let framed = match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(only), None) => parts.version == Version::HTTP_11 && only.as_bytes().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    };
    if !framed || (parts.version == Version::HTTP_11 && !headers.contains_key(header::HOST)) {
        return Err(HeadError::Framing);
    }
    if SINGLE.iter().any(|name| headers.get_all(name).iter().nth(1).is_some()) {
        return Err(HeadError::RepeatedHeader);
    }
    let coded = |value: &HeaderValue| !value.is_empty() && !value.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get_all(header::CONTENT_ENCODING).iter().any(coded) {
        return Err(HeadError::ContentEncoding);
    }
    Ok(())
}

fn extensions(headers: &HeaderMap) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for value in headers.get_all(A2A_EXTENSIONS).iter().chain(headers.get_all(X_A2A_EXTENSIONS)) {
        let uris = value.to_str().unwrap_or_default().split(',').map(str::trim).filter(|uri| !uri.is_empty());
        for uri in uris.take(32) {
            let is_word = uri.bytes().all(|byte| byte.is_ascii_graphic());
            if is_word && uri.len() <= 512 && !all.iter().any(|known| known == uri) {
                all.push(uri.to_owned());
            }
        }
    }
    all
}

fn correlation_id(headers: &HeaderMap) -> Option<String> {
    let well_formed =
        |id: &&str| (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let mut given = headers.get_all(CORRELATION_ID).iter();
    match (given.next(), given.next()) {
        (Some(only), None) => only.to_str().ok().filter(well_formed).map(str::to_owned),
        (None | Some(_), _) => None,
    }
}

/// A new id for an exchange, or for anything else that must not be guessed.
#[must_use]
pub fn new_id() -> String {
    hex(&random())
}

/// A new id that begins with the time, so that the newest stand together in an index: a database then writes one page
/// for many of them instead of one for each.
#[must_use]
pub(crate) fn new_id_at(now: Micros) -> String {
    let mut bytes = random();
    let millis = (now / 1000).to_be_bytes();
    for (byte, of_time) in bytes.iter_mut().zip(millis.into_iter().skip(2)) {
        *byte = of_time;
    }
    hex(&bytes)
}

/// From a generator in the process: asking the kernel costs more than all else that an id costs.
fn random() -> [u8; 16] {
    let mut bytes = [0_u8; 16];
    // Without randomness the id is all zeros: useless as a name, harmless as a value.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    bytes
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

/// W3C Trace Context: `00-<32 hex>-<16 hex>-<2 hex>`; anything else is not passed on.
fn is_traceparent(value: &HeaderValue) -> bool {
    let bytes = value.as_bytes();
    bytes.len() == 55
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            2 | 35 | 52 => *byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let mut builder = http::Request::builder().uri("/a2a/acme/echo?x=1");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            builder = builder.header("host", "gw.test");
        }
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(()).unwrap().into_parts().0
    }

    #[test]
    fn single_headers_may_occur_once() {
        for name in ["authorization", "A2A-Version", "content-length", "host", "X-API-Key", "content-type"] {
            assert_eq!(
                Head::read(&parts(&[(name, "1"), (name, "1")]), 0).check(),
                Err(HeadError::RepeatedHeader),
                "{name}"
            );
            assert_eq!(Head::read(&parts(&[(name, "1")]), 0).check(), Ok(()), "{name}");
        }
    }

    #[test]
    fn coded_bodies_are_refused() {
        assert_eq!(Head::read(&parts(&[("content-encoding", "gzip")]), 0).check(), Err(HeadError::ContentEncoding));
        assert!(
            Head::read(&parts(&[("content-encoding", "identity"), ("content-encoding", "br")]), 0).check().is_err()
        );
        assert_eq!(Head::read(&parts(&[("content-encoding", "identity")]), 0).check(), Ok(()));
    }

    #[test]
    fn correlation_id_is_kept_only_if_well_formed() {
        let head = Head::read(&parts(&[("x-correlation-id", "abc-1")]), 0);
        assert_eq!((head.correlation_id.as_str(), head.unchosen_id().len()), ("abc-1", 32));
        let head = Head::read(&parts(&[]), 0);
        assert_eq!(head.unchosen_id(), head.correlation_id);
        for bad in ["", "a b", "a_b", "a;b", &"a".repeat(65)] {
            let head = Head::read(&parts(&[("x-correlation-id", bad)]), 0);
            assert_eq!(head.correlation_id.len(), 32, "{bad}");
        }
        let twice = Head::read(&parts(&[("x-correlation-id", "a"), ("x-correlation-id", "b")]), 0);
        assert_eq!(twice.correlation_id.len(), 32);
    }

    #[test]
    fn extensions_of_both_names_are_merged() {
        let head = Head::read(&parts(&[("a2a-extensions", "u:1, u:2"), ("x-a2a-extensions", "u:2,u:3")]), 0);
        assert_eq!(head.extensions, ["u:1", "u:2", "u:3"]);
    }

    #[test]
    fn a_malformed_traceparent_is_dropped() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let head = Head::read(&parts(&[("traceparent", good)]), 0);
        assert!(head.traceparent.is_some());
        assert_eq!(head.trace_id().as_deref(), Some("0af7651916cd43dd8448eb211c80319c"));
        assert!(Head::read(&parts(&[("traceparent", &good.to_uppercase())]), 0).traceparent.is_none());
    }

    #[test]
    fn ids_of_one_time_stand_together_and_differ() {
        let now = 1_764_500_000_000_000;
        let (one, two) = (new_id_at(now), new_id_at(now + 999));
        assert_eq!(one.get(..12), Some("019ad4654d00"));
        assert_eq!(one.get(..12), two.get(..12));
        assert_ne!(one, two);
        assert_eq!((one.len(), new_id().len()), (32, 32));
        assert_eq!(hex(&[0, 0x1f, 0xa0, 0xff]), "001fa0ff");
    }
}
