//! Public keys as JSON Web Keys (RFC 7517, RFC 8037): the tenant's key set, written and read.
//!
//! Gives exactly the members that the official SDKs load, and reads leniently what others publish. Knows Ed25519
//! alone; never fetches a key set.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use json::{Json, Object};
use sha2::{Digest as _, Sha256};

/// A public Ed25519 key and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    kid: String,
    point: ed25519_dalek::VerifyingKey,
}

/// Why a JWK is no key for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwkError {
    /// `alg`, `use` or `key_ops` is for something else.
    #[error("the key is not for EdDSA signatures")]
    OtherPurpose,
    /// `kty` or `crv` is another one.
    #[error("the key is not an Ed25519 key (kty OKP, crv Ed25519)")]
    OtherType,
    /// It has a private part.
    #[error("the key set publishes a private key; that key can't be trusted")]
    Private,
    /// `x` is missing, malformed or a weak point.
    #[error("the public key is malformed or weak")]
    Value,
}

impl PublicKey {
    /// A key of 32 bytes; without a `kid` it is named by its thumbprint.
    ///
    /// # Errors
    /// [`JwkError::Value`] if the bytes are no usable point.
    pub fn from_bytes(bytes: &[u8; 32], kid: Option<String>) -> Result<Self, JwkError> {
        let point = ed25519_dalek::VerifyingKey::from_bytes(bytes).map_err(|_| JwkError::Value)?;
        if point.is_weak() {
            return Err(JwkError::Value);
        }
        let kid = kid.filter(|kid| !kid.is_empty()).unwrap_or_else(|| thumbprint(bytes));
        Ok(Self { kid, point })
    }

    /// For a key pair of our own.
    pub(super) const fn from_point(point: ed25519_dalek::VerifyingKey, kid: String) -> Self {
        Self { kid, point }
    }

    /// Reads a JWK. `alg` may be missing, `EdDSA` or `Ed25519`; a missing `kid` becomes the thumbprint.
    ///
    /// # Errors
    /// [`JwkError`].
    pub fn from_jwk(jwk: &Object) -> Result<Self, JwkError> {
        if jwk.str("kty") != Some("OKP") || jwk.str("crv") != Some("Ed25519") {
            return Err(JwkError::OtherType);
        }
        let says = |member: &str, allowed: &[&str]| match jwk.get(member) {
            None | Some(Json::Null) => true,
            Some(value) => value.as_str().is_some_and(|text| allowed.contains(&text)),
        };
        let verifies = match jwk.get("key_ops") {
            None | Some(Json::Null) => true,
            Some(uses) => uses.as_array().is_some_and(|uses| uses.iter().any(|one| one.as_str() == Some("verify"))),
        };
        if !says("alg", &["EdDSA", "Ed25519"]) || !says("use", &["sig"]) || !verifies {
            return Err(JwkError::OtherPurpose);
        }
        if jwk.contains("d") {
            return Err(JwkError::Private);
        }
        let x = jwk.str("x").ok_or(JwkError::Value)?.trim_end_matches('=');
        let x = URL_SAFE_NO_PAD.decode(x).map_err(|_| JwkError::Value)?;
        let x = <[u8; 32]>::try_from(x).map_err(|_| JwkError::Value)?;
        Self::from_bytes(&x, jwk.str("kid").map(str::to_owned))
    }

    /// The JWK to publish. `alg` is `EdDSA`: PyJWT does not load a key that says `Ed25519` (RFC 9864).
    #[must_use]
    pub fn to_jwk(&self) -> Object {
        Object::from([
            ("kty", "OKP"),
            ("crv", "Ed25519"),
            ("x", &URL_SAFE_NO_PAD.encode(self.as_bytes())),
            ("kid", &self.kid),
            ("use", "sig"),
            ("alg", "EdDSA"),
        ])
    }

    /// Its name.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.point.as_bytes()
    }

    /// Whether `signature` is this key's over `input`; small-order points and malleable signatures are refused.
    #[must_use]
    pub fn verifies(&self, input: &[u8], signature: &[u8; 64]) -> bool {
        self.point.verify_strict(input, &ed25519_dalek::Signature::from_bytes(signature)).is_ok()
    }
}

/// The key set `{"keys":[…]}` to publish.
#[must_use]
pub fn key_set(keys: &[PublicKey]) -> Object {
    Object::from([("keys", keys.iter().map(|key| Json::Object(key.to_jwk())).collect::<Vec<_>>())])
}

/// The keys of a key set that are for us; keys of other types or purposes are skipped.
#[must_use]
pub fn read_key_set(set: &Json) -> Vec<PublicKey> {
    let keys = set.get("keys").and_then(Json::as_array).unwrap_or_default();
    keys.iter().filter_map(Json::as_object).filter_map(|jwk| PublicKey::from_jwk(jwk).ok()).collect()
}

/// The RFC 7638 thumbprint of an Ed25519 key: a name no other key has.
#[must_use]
pub fn thumbprint(bytes: &[u8; 32]) -> String {
    let x = URL_SAFE_NO_PAD.encode(bytes);
    let digest = Sha256::digest(format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#));
    URL_SAFE_NO_PAD.encode(digest)
}
