//! Public keys as JSON Web Keys (RFC 7517, RFC 8037): the tenant's key set, written and read.

use json::{Json, Object};

/// A public Ed25519 key and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    kid: String,
    bytes: [u8; 32],
}

/// Why a JWK is no key for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwkError {
    /// `alg` or `use` is for something else.
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
        let _ = (bytes, kid);
        todo!()
    }

    /// Reads a JWK. `alg` may be missing, `EdDSA` or `Ed25519`; a missing `kid` becomes the thumbprint.
    ///
    /// # Errors
    /// [`JwkError`].
    pub fn from_jwk(jwk: &Object) -> Result<Self, JwkError> {
        let _ = jwk;
        todo!()
    }

    /// The JWK to publish.
    #[must_use]
    pub fn to_jwk(&self) -> Object {
        todo!()
    }

    /// Its name.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.bytes
    }
}

/// The key set `{"keys":[…]}` to publish.
#[must_use]
pub fn key_set(keys: &[PublicKey]) -> Object {
    let _ = keys;
    todo!()
}

/// The keys of a key set that are for us; keys of other types or purposes are skipped.
#[must_use]
pub fn read_key_set(set: &Json) -> Vec<PublicKey> {
    let _ = set;
    todo!()
}

/// The RFC 7638 thumbprint of an Ed25519 key: a name no other key has.
#[must_use]
pub fn thumbprint(bytes: &[u8; 32]) -> String {
    let _ = bytes;
    todo!()
}
