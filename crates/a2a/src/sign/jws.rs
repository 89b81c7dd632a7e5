//! One entry of `signatures`: a JWS with a detached payload (RFC 7515, RFC 8037, A2A 1.0 §8.4.2).
//!
//! Takes payload bytes and gives the entry, or takes an entry and gives what it says and what it signed. Knows nothing
//! of cards or views.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::Signer as _;
use json::{Json, Limits, Object};

use super::{Refusal, SigningKey};

/// An entry of `signatures`, read and found to be Ed25519.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) kid: String,
    protected: &'a str,
    pub(super) signature: [u8; 64],
}

/// The entry that signs `payload`.
pub(super) fn sign(payload: &[u8], key: &SigningKey) -> Object {
    let protected = URL_SAFE_NO_PAD.encode(header(key));
    let signature = key.secret.sign(&signing_input(&protected, payload));
    Object::from([("protected", protected), ("signature", URL_SAFE_NO_PAD.encode(signature.to_bytes()))])
}

/// The protected header; the exact bytes are part of what is signed, so their order is fixed.
fn header(key: &SigningKey) -> Vec<u8> {
    let mut header = Object::from([("alg", "EdDSA"), ("kid", key.kid()), ("typ", "JOSE")]);
    if let Some(jku) = &key.jku {
        header.insert("jku", jku.as_str());
    }
    json::write(&Json::Object(header))
}

fn signing_input(protected: &str, payload: &[u8]) -> Vec<u8> {
    format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload)).into_bytes()
}

impl<'a> Entry<'a> {
    /// Reads an entry; the second part of the error is the key it names, as far as it could be read.
    pub(super) fn read(entry: &'a Json) -> Result<Self, (Refusal, Option<String>)> {
        let malformed = |what| (Refusal::Malformed(what), None);
        let protected =
            entry.get("protected").and_then(Json::as_str).ok_or_else(|| malformed("no protected header"))?;
        let header =
            read_header(protected).ok_or_else(|| malformed("the protected header is no base64url JSON object"))?;
        let kid = header.str("kid").filter(|kid| !kid.is_empty()).map(str::to_owned);
        check_header(&header).map_err(|refusal| (refusal, kid.clone()))?;
        let kid = kid.ok_or_else(|| malformed("the protected header names no key (kid)"))?;
        let signature = entry.get("signature").and_then(Json::as_str).and_then(read_signature);
        let signature = signature
            .ok_or_else(|| (Refusal::Malformed("the signature is no base64url of 64 bytes"), Some(kid.clone())))?;
        Ok(Self { kid, protected, signature })
    }

    /// What was signed if the payload is `payload`.
    pub(super) fn signing_input(&self, payload: &[u8]) -> Vec<u8> {
        signing_input(self.protected, payload)
    }
}

fn read_header(protected: &str) -> Option<Object> {
    let header = URL_SAFE_NO_PAD.decode(protected).ok()?;
    match json::read(&header, &Limits::default()).ok()? {
        Json::Object(header) => Some(header),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => None,
    }
}

fn read_signature(text: &str) -> Option<[u8; 64]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// `alg` must be Ed25519 under either of its names; extensions that change what is signed are not understood.
fn check_header(header: &Object) -> Result<(), Refusal> {
    if header.contains("crit") || header.contains("b64") {
        return Err(Refusal::CriticalHeader);
    }
    match header.str("alg") {
        Some("EdDSA" | "Ed25519") => Ok(()),
        Some(alg) => Err(Refusal::UnsupportedAlgorithm { alg: alg.to_owned() }),
        None => Err(Refusal::Malformed("the protected header names no algorithm (alg)")),
    }
}
