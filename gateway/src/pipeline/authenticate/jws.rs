//! A token as it is presented: compact JWS (RFC 7515) → header, claims, signature.
//!
//! *Takes* bytes of a caller. *Gives* what they say, unproven, and whether a key's signature is over them. *Refuses*
//! whatever two readers could read differently or that names its own key: padding and bits that are not base64url,
//! repeated keys, `crit`, `jwk`, `jku`, `x5c`, `x5u`, a missing `kid`. The algorithm is the key's; a header must agree
//! with it and never chooses (RFC 8725 §3.1). *Never* trusts, fetches or judges: that is for whoever knows the keys.

use crate::registry::key_set::{LONGEST_KID, VerifyingKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use json::{Json, Limits, Object};

/// A token, read and not proven.
#[derive(Debug)]
pub(crate) struct Token<'a> {
    alg: String,
    /// Which key is said to have signed it.
    pub(crate) kid: String,
    /// `typ`, lower case, without `application/`.
    pub(crate) typ: Option<String>,
    /// What it says.
    pub(crate) claims: Object,
    signed: &'a [u8],
    signature: Vec<u8>,
}

impl<'a> Token<'a> {
    /// Reads a compact JWS of at most [`LONGEST`] bytes.
    pub(crate) fn read(text: &'a [u8]) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let mut parts = text.split(|byte| *byte == b'.');
        let (header, claims, signature) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || header.len() > LONGEST_HEADER {
            return None;
        }
        let header = object(header)?;
        if NAMES_A_KEY.iter().any(|member| header.contains(member)) || header.contains("crit") {
            return None;
        }
        let alg = header.str("alg")?.to_owned();
        let kid = header.str("kid").filter(|kid| (1..=LONGEST_KID).contains(&kid.len()))?.to_owned();
        let typ = match header.get("typ") {
            None => None,
            Some(typ) => {
                let typ = typ.as_str()?.to_ascii_lowercase();
                Some(typ.strip_prefix("application/").unwrap_or(&typ).to_owned())
            }
        };
        let signature = URL_SAFE_NO_PAD.decode(signature).ok().filter(|bytes| !bytes.is_empty())?;
        let signed = text.get(..text.iter().rposition(|byte| *byte == b'.')?)?;
        Some(Self { alg, kid, typ, claims: object(claims)?, signed, signature })
    }

    /// Whether `key` signed it, with the one algorithm that the key has.
    pub(crate) fn is_signed_by(&self, key: &VerifyingKey) -> bool {
        key.algorithms().contains(&self.alg.as_str()) && key.verifies(self.signed, &self.signature)
    }
}

/// One base64url segment that is a JSON object, read by our own strict reader.
fn object(segment: &[u8]) -> Option<Object> {
    const LIMITS: Limits = Limits { depth: 16, nodes: 2_000, key: 256, digits: 40 };
    let bytes = URL_SAFE_NO_PAD.decode(segment).ok()?;
    match json::read(&bytes, &LIMITS).ok()? {
        Json::Object(object) => Some(object),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => None,
    }
}

/// Longest token.
pub(crate) const LONGEST: usize = 16 * 1024;
/// Longest header of one, encoded.
const LONGEST_HEADER: usize = 4 * 1024;
/// Header members by which a token would bring its own key.
const NAMES_A_KEY: [&str; 4] = ["jku", "jwk", "x5c", "x5u"];
