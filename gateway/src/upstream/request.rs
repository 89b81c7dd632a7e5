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
pub(crate) fn build<'a>(
    outgoing: Outgoing,
    stamps: &Stamps,
    credentials: impl IntoIterator<Item = &'a Carried>,
) -> Option<Request<Bytes>> {
    let uri: Uri = outgoing.url.parse().ok()?;
    let mut request = Request::new(outgoing.body.map(Bytes::from).unwrap_or_default());
    *request.method_mut() = outgoing.method;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    // First of all, so that it stands in for nothing that the gateway says.
    for Carried { header: (name, value), .. } in credentials {
        headers.insert(name, value.clone());
    }
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
    Some(request)
}

const fn extensions_header(version: Version) -> HeaderName {
    match version {
        Version::V10 => HeaderName::from_static("a2a-extensions"),
        Version::V03 => HeaderName::from_static("x-a2a-extensions"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_stands_in_for_nothing_that_the_gateway_says() {
        let tenant = HeaderName::from_static("x-brutor-tenant-id");
        let stamps = Stamps {
            headers: vec![(tenant.clone(), HeaderValue::from_static("acme"))],
            extensions: vec!["urn:one".to_owned()],
            version: Version::V10,
        };
        let taken = [tenant, header::CONTENT_TYPE, header::USER_AGENT, HeaderName::from_static("a2a-extensions")];
        for name in taken {
            let outgoing = Outgoing {
                method: http::Method::POST,
                url: "http://agent.test/".to_owned(),
                headers: vec![("content-type", "application/json")],
                body: None,
            };
            let forged = Carried { header: (name.clone(), HeaderValue::from_static("forged")), kept: None };
            let request = build(outgoing, &stamps, Some(&forged)).unwrap();
            let sent: Vec<_> = request.headers().get_all(&name).iter().collect();
            assert!(sent.len() == 1 && sent[0] != "forged", "{name}: {sent:?}");
        }
    }
}
