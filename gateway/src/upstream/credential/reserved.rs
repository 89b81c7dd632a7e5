//! Header names that no credential may have, because the gateway alone says what stands in them.
//!
//! *Takes* the name that a tenant's administrator chose and the prefix of the gateway's own headers. *Gives* what is
//! wrong with it, if anything. Else one tenant could speak to a shared agent in another's name, or have a request read
//! otherwise than it was written. The one list: asked when a credential is written and whenever a stored one is opened.

use http::HeaderName;

/// What frames a message or is about one connection (RFC 9110 §7.6.1), says what is in it or is wanted back, or names
/// the call.
const NAMES: [&str; 17] = [
    "connection",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "max-forwards",
    "te",
    "trailer",
    "traceparent",
    "tracestate",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
    "x-correlation-id",
    "x-real-ip",
];

const PREFIXES: [&str; 9] =
    ["a2a-", "accept", "content-", "grpc-", "proxy-", "x-a2a-", "x-forwarded-", "x-http-method", "x-method-"];

/// Why a credential cannot be sent in `name`; `prefix` is that of the gateway's own headers.
pub(crate) fn problem(name: &HeaderName, prefix: &str) -> Option<String> {
    // The library writes names in lower case.
    let name = name.as_str();
    let reserved = NAMES.contains(&name)
        || PREFIXES.iter().any(|taken| name.starts_with(taken))
        || (!prefix.is_empty() && name.starts_with(prefix));
    reserved.then(|| format!("the header {name:?} is the gateway's to set; a credential goes into another one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_gateway_says_is_nobody_elses_to_say() {
        for name in [
            "Host",
            "Content-Length",
            "content-type",
            "Transfer-Encoding",
            "TE",
            "Connection",
            "A2A-Version",
            "x-a2a-extensions",
            "Accept",
            "accept-encoding",
            "User-Agent",
            "X-Correlation-Id",
            "traceparent",
            "grpc-timeout",
            "x-forwarded-for",
            "x-http-method-override",
            "X-Brutor-Tenant-Id",
            "x-brutor-delegation-sig",
        ] {
            let name = HeaderName::try_from(name).unwrap();
            assert!(problem(&name, "x-brutor-").is_some(), "{name}");
        }
        for name in ["authorization", "x-api-key", "api-key", "cookie", "x-goog-iam", "hostess", "x-brutor"] {
            let name = HeaderName::try_from(name).unwrap();
            assert_eq!(problem(&name, "x-brutor-"), None, "{name}");
        }
        let own = HeaderName::from_static("x-acme-tenant-id");
        assert_eq!((problem(&own, "x-acme-").is_some(), problem(&own, "x-brutor-")), (true, None));
    }
}
