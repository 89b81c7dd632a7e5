//! The built-in identity provider: client credentials in, RS256 access tokens out, and their check.
//!
//! For demos. One client (`rustybin`, `secret`), one key pair that is made when it is first needed and lost with the process.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use a2a_agent::Body;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};
use json::{Json, Limits, Object};
use percent_encoding::percent_decode_str;
use time::{Duration, OffsetDateTime};

use crate::reply;

/// Where tokens are given out.
pub(crate) const TOKEN_PATH: &str = "/oauth/token";

/// Where the public key is.
pub(crate) const JWKS_PATH: &str = "/.well-known/jwks.json";

/// Where both are told.
pub(crate) const METADATA_PATHS: [&str; 2] =
    ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];

/// The client.
const CLIENT: (&str, &str) = ("rustybin", "secret");

const AUDIENCE: &str = "sample-agents";
const VALID: Duration = Duration::HOUR;

/// The identity provider.
#[derive(Default)]
pub(crate) struct Provider {
    key: Mutex<Option<Arc<Key>>>,
}

struct Key {
    pair: KeyPair,
    id: String,
}

/// Why a request for a token is refused (RFC 6749 §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    InvalidClient,
    InvalidRequest,
    UnsupportedGrantType,
    Unavailable,
}

impl Provider {
    /// Answers a request for a token.
    pub(crate) fn token(&self, head: &Parts, body: &Bytes, issuer: &str) -> Response<Body> {
        if head.method != Method::POST {
            return reply::method_not_allowed("POST");
        }
        let mut response = match self.issue(head, body, issuer) {
            Ok(token) => reply::document(
                StatusCode::OK,
                &Json::from([
                    ("access_token", Json::from(token)),
                    ("token_type", "Bearer".into()),
                    ("expires_in", VALID.whole_seconds().into()),
                ]),
            ),
            Err(refusal) => refusal.response(),
        };
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    /// The public key as a JWK Set.
    pub(crate) fn key_set(&self) -> Response<Body> {
        let Some(key) = self.key() else { return Refusal::Unavailable.response() };
        let Some((modulus, exponent)) = parts(key.pair.public_key().as_ref()) else {
            return Refusal::Unavailable.response();
        };
        let jwk = Json::from([
            ("kty", "RSA"),
            ("use", "sig"),
            ("alg", "RS256"),
            ("kid", &key.id),
            ("n", &URL_SAFE_NO_PAD.encode(modulus)),
            ("e", &URL_SAFE_NO_PAD.encode(exponent)),
        ]);
        let mut response = reply::document(StatusCode::OK, &[("keys", vec![jwk])].into());
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
        response
    }

    /// Where tokens and keys are (RFC 8414).
    pub(crate) fn metadata(origin: &str) -> Response<Body> {
        let list = |words: &[&str]| Json::from(words.iter().map(|word| Json::from(*word)).collect::<Vec<_>>());
        let document = Json::from([
            ("issuer", Json::from(origin)),
            ("token_endpoint", format!("{origin}{TOKEN_PATH}").into()),
            ("jwks_uri", format!("{origin}{JWKS_PATH}").into()),
            ("grant_types_supported", list(&["client_credentials"])),
            ("token_endpoint_auth_methods_supported", list(&["client_secret_basic", "client_secret_post"])),
            ("response_types_supported", list(&[])),
            ("id_token_signing_alg_values_supported", list(&["RS256"])),
        ]);
        reply::document(StatusCode::OK, &document)
    }

    /// Whom a token stands for; `None` if it is not one of ours or over.
    pub(crate) fn subject(&self, token: &str) -> Option<String> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        if read(header)?.str("alg") != Some("RS256") {
            return None;
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let key = self.key()?;
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.pair.public_key().as_ref());
        public.verify(signed.as_bytes(), &signature).ok()?;
        let claims = read(claims)?;
        let expires = claims.get("exp").and_then(Json::as_number).and_then(json::Number::as_i64)?;
        let valid = expires > OffsetDateTime::now_utc().unix_timestamp() && claims.str("aud") == Some(AUDIENCE);
        claims.str("sub").filter(|_| valid).map(str::to_owned)
    }

    fn issue(&self, head: &Parts, body: &Bytes, issuer: &str) -> Result<String, Refusal> {
        let form = std::str::from_utf8(body).map_err(|_| Refusal::InvalidRequest)?;
        let client = client(head, form).ok_or(Refusal::InvalidClient)?;
        // Not a secret: it is in the documentation.
        if client != (CLIENT.0.to_owned(), CLIENT.1.to_owned()) {
            return Err(Refusal::InvalidClient);
        }
        match field(form, "grant_type").as_deref() {
            Some("client_credentials") => self.sign(&client.0, issuer).ok_or(Refusal::Unavailable),
            Some(_) => Err(Refusal::UnsupportedGrantType),
            None => Err(Refusal::InvalidRequest),
        }
    }

    fn sign(&self, subject: &str, issuer: &str) -> Option<String> {
        let key = self.key()?;
        let now = OffsetDateTime::now_utc();
        let header = Json::from([("alg", "RS256"), ("typ", "at+jwt"), ("kid", &key.id)]);
        let claims = Json::from([
            ("iss", Json::from(issuer)),
            ("sub", subject.into()),
            ("client_id", subject.into()),
            ("aud", AUDIENCE.into()),
            ("iat", now.unix_timestamp().into()),
            ("exp", (now + VALID).unix_timestamp().into()),
            ("jti", crate::id::uuid().into()),
        ]);
        let part = |json: &Json| URL_SAFE_NO_PAD.encode(json::write(json));
        let signed = format!("{}.{}", part(&header), part(&claims));
        let mut signature = vec![0; key.pair.public_modulus_len()];
        key.pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).ok()?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The key pair; made when it is first needed, because that takes a moment.
    fn key(&self) -> Option<Arc<Key>> {
        let mut key = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        if key.is_none() {
            let pair = KeyPair::generate(KeySize::Rsa2048).ok()?;
            *key = Some(Arc::new(Key { pair, id: crate::id::uuid() }));
        }
        key.clone()
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Provider")
    }
}

impl Refusal {
    fn response(self) -> Response<Body> {
        let (status, code) = match self {
            Self::InvalidClient => (StatusCode::UNAUTHORIZED, "invalid_client"),
            Self::InvalidRequest => (StatusCode::BAD_REQUEST, "invalid_request"),
            Self::UnsupportedGrantType => (StatusCode::BAD_REQUEST, "unsupported_grant_type"),
            Self::Unavailable => (StatusCode::INTERNAL_SERVER_ERROR, "server_error"),
        };
        let mut response = reply::error(status, code);
        if self == Self::InvalidClient {
            let challenge = HeaderValue::from_static("Basic realm=\"sample-agents\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// The client's name and secret: by Basic authentication, else in the form.
fn client(head: &Parts, form: &str) -> Option<(String, String)> {
    let Some(value) = head.headers.get(header::AUTHORIZATION) else {
        return Some((field(form, "client_id")?, field(form, "client_secret")?));
    };
    let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
    let decoded = STANDARD.decode(encoded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (name, secret) = decoded.split_once(':')?;
    Some((unescape(name)?, unescape(secret)?))
}

fn field(form: &str, name: &str) -> Option<String> {
    let (_, value) = form.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name)?;
    unescape(value)
}

fn unescape(text: &str) -> Option<String> {
    Some(percent_decode_str(&text.replace('+', " ")).decode_utf8().ok()?.into_owned())
}

fn read(part: &str) -> Option<Object> {
    match json::read(&URL_SAFE_NO_PAD.decode(part).ok()?, &Limits::default()).ok()? {
        Json::Object(object) => Some(object),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => None,
    }
}

/// Modulus and exponent of an `RSAPublicKey` (RFC 8017 A.1.1): a sequence of two integers.
fn parts(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (sequence, _) = element(der, 0x30)?;
    let (modulus, rest) = element(sequence, 0x02)?;
    let (exponent, _) = element(rest, 0x02)?;
    Some((modulus.strip_prefix(&[0]).unwrap_or(modulus), exponent))
}

/// The content of the first DER element, which must have this tag, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = der.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match usize::from(*length) {
        short @ 0..0x80 => (short, rest),
        long => {
            let (bytes, rest) = rest.split_at_checked(long - 0x80)?;
            (bytes.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte)), rest)
        }
    };
    rest.split_at_checked(length).filter(|_| *first == tag)
}
