//! JWK Sets of issuers (RFC 7517) → keys that verify tokens, each with the one algorithm that it is for.
//!
//! Takes bytes that somebody else published. Gives keys by `kid`; those that are for something else, weak, or of a kind
//! we do not take are skipped, and so are all that share a `kid`. A set that is too large or holds a private key is
//! refused as a whole. Never fetches.

use std::collections::HashMap;

use a2a::sign::PublicKey;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use json::{Json, Limits, Object};

/// A public key that verifies tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerifyingKey {
    /// `EdDSA`
    Ed25519(PublicKey),
    /// `ES256`; the uncompressed point.
    P256(Vec<u8>),
    /// `RS256`
    Rsa {
        /// The modulus.
        n: Vec<u8>,
        /// The exponent.
        e: Vec<u8>,
    },
}

impl VerifyingKey {
    /// What `alg` may say in a token of this key.
    #[must_use]
    pub const fn algorithms(&self) -> &'static [&'static str] {
        match self {
            // The second name is that of RFC 9864.
            Self::Ed25519(_) => &["EdDSA", "Ed25519"],
            Self::P256(_) => &["ES256"],
            Self::Rsa { .. } => &["RS256"],
        }
    }

    /// Whether `signature` is this key's over `signed`.
    #[must_use]
    pub fn verifies(&self, signed: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Ed25519(key) => signature.try_into().is_ok_and(|signature| key.verifies(signed, signature)),
            Self::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature).is_ok()
            }
            Self::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok()
            }
        }
    }

    /// Reads one JWK. `alg` may be missing or ours; `use` missing or `sig`.
    fn from_jwk(jwk: &Object) -> Option<Self> {
        let says = |member: &str, wanted: &str| match jwk.get(member) {
            None | Some(Json::Null) => true,
            Some(value) => value.as_str() == Some(wanted),
        };
        let verifies = match jwk.get("key_ops") {
            None | Some(Json::Null) => true,
            Some(uses) => uses.as_array().is_some_and(|uses| uses.iter().any(|one| one.as_str() == Some("verify"))),
        };
        if !says("use", "sig") || !verifies {
            return None;
        }
        match jwk.str("kty")? {
            "OKP" => PublicKey::from_jwk(jwk).ok().map(Self::Ed25519),
            "EC" if says("alg", "ES256") && jwk.str("crv") == Some("P-256") => {
                let (x, y) = (number(jwk, "x", 32)?, number(jwk, "y", 32)?);
                let is_whole = x.len() == 32 && y.len() == 32;
                is_whole.then(|| Self::P256([[4].as_slice(), &x, &y].concat()))
            }
            "RSA" if says("alg", "RS256") => {
                let (n, e) = (number(jwk, "n", 1024)?, number(jwk, "e", 8)?);
                let strip = |bytes: &[u8]| bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
                let (n, e) = (n.get(strip(&n)..)?.to_vec(), e.get(strip(&e)..)?.to_vec());
                // What the library would refuse is no key: fewer than 2048 bits, an exponent that is even or tiny.
                let is_strong = n.len() >= 256 && e.len() >= 3 && e.last().is_some_and(|last| last % 2 == 1);
                is_strong.then_some(Self::Rsa { n, e })
            }
            _ => None,
        }
    }
}

/// A member that is a big number in base64url, of at most `most` bytes.
fn number(jwk: &Object, member: &str, most: usize) -> Option<Vec<u8>> {
    let text = jwk.str(member)?.trim_end_matches('=');
    URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| !bytes.is_empty() && bytes.len() <= most)
}

/// Why a key set is none for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeySetError {
    /// Not `{"keys":[…]}`.
    #[error("the key set is no JSON object with an array \"keys\"")]
    Malformed,
    /// Nothing in it verifies tokens.
    #[error("the key set has no key for RS256, ES256 or EdDSA with a kid of its own")]
    NoKeys,
    /// A key with its private part: whoever reads it can sign.
    #[error("the key set publishes a private or a shared key; none of it can be trusted")]
    Private,
    /// More keys than anybody needs.
    #[error("the key set has more than {MOST} keys")]
    TooMany,
}

/// Keys by `kid`.
///
/// # Errors
/// [`KeySetError`]
pub fn read(bytes: &[u8]) -> Result<HashMap<String, VerifyingKey>, KeySetError> {
    let limits = Limits { depth: 8, nodes: 10_000, key: 256, digits: 40 };
    let set = json::read(bytes, &limits).map_err(|_| KeySetError::Malformed)?;
    let items = set.get("keys").and_then(Json::as_array).ok_or(KeySetError::Malformed)?;
    if items.len() > MOST {
        return Err(KeySetError::TooMany);
    }
    let jwks: Vec<&Object> = items.iter().filter_map(Json::as_object).collect();
    if jwks.iter().any(|jwk| jwk.contains("d") || jwk.contains("k")) {
        return Err(KeySetError::Private);
    }
    let mut keys: HashMap<String, Option<VerifyingKey>> = HashMap::new();
    for jwk in jwks {
        let Some(key) = VerifyingKey::from_jwk(jwk) else { continue };
        let Some(kid) = jwk.str("kid").filter(|kid| (1..=LONGEST_KID).contains(&kid.len())) else { continue };
        // Two keys of one name: which of them is meant would be the reader's guess.
        keys.entry(kid.to_owned()).and_modify(|key| *key = None).or_insert(Some(key));
    }
    let keys: HashMap<_, _> = keys.into_iter().filter_map(|(kid, key)| Some((kid, key?))).collect();
    if keys.is_empty() { Err(KeySetError::NoKeys) } else { Ok(keys) }
}

/// Longest name of a key.
pub const LONGEST_KID: usize = 128;
/// Most keys of a set.
const MOST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    const ED: &str = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"KID""#;
    const EC: &str = r#"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","kid":"KID""#;

    fn set(keys: &[String]) -> Result<Vec<String>, KeySetError> {
        let mut kids: Vec<String> =
            read(format!(r#"{{"keys":[{}]}}"#, keys.join(",")).as_bytes())?.into_keys().collect();
        kids.sort();
        Ok(kids)
    }

    fn key(template: &str, kid: &str, more: &str) -> String {
        format!("{}{more}}}", template.replace("KID", kid))
    }

    #[test]
    fn keys_of_other_purposes_are_skipped_and_names_are_unique() {
        let keys = [
            key(ED, "a", ""),
            key(EC, "b", r#","alg":"ES256","use":"sig""#),
            key(ED, "enc", r#","use":"enc""#),
            key(EC, "other", r#","alg":"ES384""#),
            key(ED, "rs", r#","alg":"RS256""#),
            key(ED, "ops", r#","key_ops":["sign"]"#),
            key(ED, "twice", ""),
            key(EC, "twice", ""),
            r#"{"kty":"oct","kid":"s"}"#.to_owned(),
            r#"{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"short"}"#.to_owned(),
            r#"{"kty":"EC","crv":"P-256","x":"AQ","y":"AQ","kid":"short-point"}"#.to_owned(),
            key(ED, &"x".repeat(129), ""),
        ];
        assert_eq!(set(&keys).unwrap(), ["a", "b"]);
    }

    #[test]
    fn sets_that_nobody_should_trust_are_refused() {
        assert_eq!(set(&[key(ED, "a", r#","d":"AQAB""#)]), Err(KeySetError::Private));
        assert_eq!(set(&[key(ED, "a", ""), r#"{"kty":"oct","k":"AQAB"}"#.to_owned()]), Err(KeySetError::Private));
        assert_eq!(set(&[]), Err(KeySetError::NoKeys));
        let many: Vec<String> = (0..101).map(|at| key(ED, &at.to_string(), "")).collect();
        assert_eq!(set(&many), Err(KeySetError::TooMany));
        for bad in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[],"keys":[]}"#] {
            assert_eq!(read(bad.as_bytes()), Err(KeySetError::Malformed), "{bad}");
        }
    }
}
