//! Whoever is proven by a header is so by a whole key that works, in the one credential of the request.

use super::request;
use super::world::{KEYS, NOW, world};
use chancery::pipeline::authenticate::{AuthenticateError, Scheme, identify};
use chancery::pipeline::head::Head;
use http::HeaderMap;
use std::collections::HashMap;

/// Headers → who calls: the same whatever tenant the path names, and never anybody but whose key it is (T-AUTH-6).
pub(crate) fn credential(bytes: &[u8]) {
    let mut parts = request(bytes);
    // Without one every request is refused, whatever its credentials.
    parts.headers.entry(http::header::HOST).or_insert(http::HeaderValue::from_static("gw.test"));
    let head = Head::read(&parts, NOW);
    let twice = ["authorization", "x-api-key"].iter().any(|name| parts.headers.get_all(*name).iter().nth(1).is_some());
    if twice {
        return assert!(head.check().is_err(), "nobody may choose between two of one name");
    }
    let world = world(HashMap::new(), None);
    let expected = expected(&parts.headers);
    for tenant in ["acme", "globex", "nobody", ""] {
        let told = identify(&head, tenant, &world, NOW).map(|identity| {
            assert_eq!(identity.scheme(), Scheme::ApiKey);
            assert!(identity.groups().is_empty(), "a key names no groups");
            identity.principal().name.clone()
        });
        assert_eq!(told, expected, "at {tenant:?}");
    }
}

/// What must come of these headers, by another way: from the known keys to what a caller may write of them.
fn expected(headers: &HeaderMap) -> Result<String, AuthenticateError> {
    let value = |name: &str| headers.get(name).map(http::HeaderValue::as_bytes);
    let written = match (value("authorization"), value("x-api-key")) {
        (None, None) => return Err(AuthenticateError::MissingCredential),
        (Some(_), Some(_)) => return Err(AuthenticateError::TwoCredentials),
        (None, Some(key)) => KEYS.iter().find(|known| known.key.as_bytes() == key),
        (Some(value), None) => KEYS.iter().find(|known| is_under_a_scheme(value, known.key)),
    };
    let works = written.filter(|known| known.works).map(|known| known.principal.to_owned());
    works.ok_or(AuthenticateError::BadCredential)
}

/// `Bearer`, blanks, the key; or `ApiKey` in its place.
fn is_under_a_scheme(value: &[u8], key: &str) -> bool {
    let Some(before) = value.trim_ascii_end().strip_suffix(key.as_bytes()) else { return false };
    let scheme = before.trim_ascii_end();
    let is_one = [b"bearer".as_slice(), b"apikey"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    is_one && before.get(scheme.len()) == Some(&b' ')
}
