//! An encoded call → the HTTP request that leaves.
//!
//! Takes what the dialect wrote and what the gateway stamps. The header set is built here from nothing: no header of
//! the caller's is copied except trace context, whose form was checked (T-HDR-1, T-HDR-2, T-HDR-5).

use crate::upstream::credential::Carried;
use a2a::Version;
use a2a::dialect::Outgoing;
use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Request, Uri};

/// What the gateway tells an agent about a call.
#[derive(Clone, Debug)]
pub(crate) struct Stamps {
    /// Header and value; the tenant's id, the correlation id, trace context.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Extension URIs that the caller activates.
    pub(crate) extensions: Vec<String>,
    /// The generation the agent speaks.
    pub(crate) version: Version,
}

/// The request, or `None` if the card's address cannot be put on HTTP.
pub(crate) fn build(outgoing: Outgoing, stamps: &Stamps, credential: Option<&Carried>) -> Option<Request<Bytes>> {
    let uri: Uri = outgoing.url.parse().ok()?;
    let mut request = Request::new(outgoing.body.map(Bytes::from).unwrap_or_default());
    *request.method_mut() = outgoing.method;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    for (name, value) in outgoing.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(concat!("chancery/", env!("CARGO_PKG_VERSION"))));
    if let Ok(extensions) = HeaderValue::from_str(&stamps.extensions.join(", "))
        && !extensions.is_empty()
    {
        headers.insert(extensions_header(stamps.version), extensions);
    }
    for (name, value) in &stamps.headers {
        headers.insert(name, value.clone());
    }
    if let Some(Carried { header: (name, value), .. }) = credential {
        headers.insert(name, value.clone());
    }
    Some(request)
}

const fn extensions_header(version: Version) -> HeaderName {
    match version {
        Version::V10 => HeaderName::from_static("a2a-extensions"),
        Version::V03 => HeaderName::from_static("x-a2a-extensions"),
    }
}
