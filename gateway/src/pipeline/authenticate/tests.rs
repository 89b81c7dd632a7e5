//! What proves a principal and what does not.

use super::*;
use crate::registry::grants::GrantSet;
use crate::registry::meter::Metered;
use crate::registry::{Credential, Principal, Standing};
use sha2::Digest;
use std::collections::HashMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const KEY: &str = "sk_test_acme_1";

fn world(expires_at: Option<Micros>) -> Snapshot {
    let principal = Arc::new(Principal {
        id: "prn-1".into(),
        tenant: "acme".into(),
        name: "p1".into(),
        grants: GrantSet::default(),
        groups: Vec::new(),
        metered: Metered::default(),
        standing: Standing::default(),
        cancelled: CancellationToken::new(),
    });
    let hash: [u8; 32] = sha2::Sha256::digest(KEY).into();
    let cancelled = CancellationToken::new();
    let credential = Arc::new(Credential {
        key_id: "key-1".into(),
        hash,
        principal,
        expires_at,
        last_use: Arc::default(),
        cancelled,
    });
    Snapshot { revision: 1, keys: HashMap::from([(hash, credential)]), ..Snapshot::default() }
}

fn identify_with(world: &Snapshot, headers: &[(&str, &[u8])]) -> Result<String, AuthenticateError> {
    let mut builder = http::Request::builder().uri("/a2a/acme/echo");
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    let head = Head::read(&builder.body(()).unwrap().into_parts().0, 0);
    identify(&head, "acme", world, 1_000).map(|identity| identity.principal().name.clone())
}

#[test]
fn a_key_proves_its_principal_in_either_header_and_any_case_of_the_scheme() {
    let world = world(None);
    for (name, value) in [
        ("authorization", "Bearer sk_test_acme_1"),
        ("authorization", "bEARER   sk_test_acme_1"),
        ("authorization", "ApiKey sk_test_acme_1"),
        ("authorization", "apikey   sk_test_acme_1"),
        ("x-api-key", "sk_test_acme_1"),
    ] {
        assert_eq!(identify_with(&world, &[(name, value.as_bytes())]).unwrap(), "p1", "{value}");
    }
}

#[test]
fn two_credentials_are_refused_even_if_both_are_good() {
    for scheme in ["Bearer", "ApiKey"] {
        let authorization = format!("{scheme} sk_test_acme_1");
        let both: [(&str, &[u8]); 2] = [("authorization", authorization.as_bytes()), ("x-api-key", b"sk_test_acme_1")];
        assert_eq!(identify_with(&world(None), &both), Err(AuthenticateError::TwoCredentials), "{scheme}");
    }
}

#[test]
fn nothing_but_the_whole_key_proves_anything() {
    let world = world(None);
    let long = [b"Bearer ".as_slice(), &[b'x'; 16_384]].concat();
    for bad in [
        b"Bearer".as_slice(),
        b"Bearer ",
        b"Basic sk_test_acme_1",
        b"ApiKey",
        b"ApiKey ",
        b"ApiKeysk_test_acme_1",
        b"ApiKey\tsk_test_acme_1",
        b"ApiKey Bearer sk_test_acme_1",
        b"ApiKey sk_test_acme_1, Bearer sk_test_acme_1",
        b"sk_test_acme_1",
        b"Bearer sk_test_acme_1 x",
        b"Bearer sk_test_acme_",
        b"Bearer sk_test_acme_11",
        b"Bearer SK_TEST_ACME_1",
        b"Bearer ' or 1=1 --",
        b"Bearer \xff\xfe\x80",
        &long,
    ] {
        assert_eq!(identify_with(&world, &[("authorization", bad)]), Err(AuthenticateError::BadCredential));
    }
    assert_eq!(identify_with(&world, &[]), Err(AuthenticateError::MissingCredential));
}

#[test]
fn expired_revoked_and_disabled_look_like_unknown() {
    let good: [(&str, &[u8]); 1] = [("x-api-key", KEY.as_bytes())];
    assert_eq!(identify_with(&world(Some(1_000)), &good), Err(AuthenticateError::BadCredential));
    assert_eq!(identify_with(&world(Some(1_001)), &good).unwrap(), "p1");
    let revoked = world(None);
    revoked.keys.values().for_each(|credential| credential.cancelled.cancel());
    assert_eq!(identify_with(&revoked, &good), Err(AuthenticateError::BadCredential));
    let disabled = world(None);
    disabled.keys.values().for_each(|credential| credential.principal.cancelled.cancel());
    assert_eq!(identify_with(&disabled, &good), Err(AuthenticateError::BadCredential));
}

proptest::proptest! {
    /// T-AUTH-6: whatever a caller sends as a credential, it is refused, and nothing breaks.
    #[test]
    fn no_text_proves_anybody_or_breaks_anything(text in "[ -~]{0,200}", token in "[A-Za-z0-9_.=-]{0,200}") {
        let world = world(None);
        for value in [text.clone(), format!("Bearer {text}"), format!("Bearer {token}"), format!("Bearer a.{token}")] {
            let proven = identify_with(&world, &[("authorization", value.as_bytes())]);
            proptest::prop_assert_eq!(proven, Err(AuthenticateError::BadCredential));
        }
    }

    /// The same for tokens whose parts are JSON of any kind.
    #[test]
    fn no_json_breaks_the_reader_of_tokens(header in "[\\[\\]{}\":,a-z0-9\\\\]{0,60}", claims in proptest::collection::vec(proptest::num::u8::ANY, 0..80)) {
        use base64::Engine as _;
        let part = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
        let token = format!("{}.{}.{}", part(header.as_bytes()), part(&claims), part(b"signature"));
        proptest::prop_assert!(jws::Token::read(token.as_bytes()).is_none_or(|token| !token.kid.is_empty()));
    }
}
