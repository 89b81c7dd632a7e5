//! New ids and keys: what administrators, `demo` and tests make rows of.
//!
//! Gives texts that carry their own check, so that scanners (ours too) tell a real key from a look-alike. Nothing here
//! is stored.

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::clock::Micros;
use crate::seal::{Place, Seal, SealError};

/// A fresh API key. The text is shown once and kept nowhere.
pub struct ApiKey {
    /// The whole key.
    pub text: Zeroizing<String>,
    /// SHA-256 of the whole key, which is stored.
    pub hash: [u8; 32],
    /// What may be shown of it later.
    pub hint: String,
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiKey").field("hint", &self.hint).finish_non_exhaustive()
    }
}

/// A new API key: `prefix`, 32 random bytes in base 62, and a CRC-32 over both.
///
/// # Errors
/// The machine has no randomness.
pub fn api_key(prefix: &str) -> Result<ApiKey, getrandom::Error> {
    let mut bytes = Zeroizing::new([0_u8; 32]);
    getrandom::fill(bytes.as_mut_slice())?;
    let body = Zeroizing::new(base62(bytes.as_slice(), KEY_BODY_LEN));
    let text = Zeroizing::new(format!("{prefix}{}{}", body.as_str(), check(prefix, &body)));
    let hash = Sha256::digest(text.as_bytes()).into();
    let hint = format!("{prefix}…{}", text.get(text.len().saturating_sub(4)..).unwrap_or_default());
    Ok(ApiKey { text, hash, hint })
}

/// Whether `text` has the form and check characters of a key of ours.
#[must_use]
pub fn is_api_key(prefix: &str, text: &str) -> bool {
    text.strip_prefix(prefix)
        .and_then(|rest| rest.split_at_checked(KEY_BODY_LEN))
        .is_some_and(|(body, given)| body.bytes().all(|b| b.is_ascii_alphanumeric()) && given == check(prefix, body))
}

/// A new ULID with a prefix such as `card-`. `now` is its time part.
///
/// # Errors
/// The machine has no randomness.
pub fn id(prefix: &str, now: Micros) -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)?;
    let millis = u64::try_from(now / 1_000).unwrap_or(0);
    Ok(format!("{prefix}{}", ulid::Ulid::from_parts(millis, u128::from_be_bytes(bytes))))
}

/// Why no signing key was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MintError {
    /// No randomness.
    #[error("the machine has no randomness")]
    NoRandomness,
    /// The private half could not be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// A new Ed25519 key of `tenant` for `purpose`, its private half sealed, its `kid` the RFC 7638 thumbprint.
///
/// # Errors
/// [`MintError`].
pub fn signing_key(
    seal: &Seal,
    tenant: &str,
    purpose: store::KeyPurpose,
    now: Micros,
) -> Result<store::NewSigningKey, MintError> {
    let mut seed = Zeroizing::new([0_u8; 32]);
    getrandom::fill(seed.as_mut_slice()).map_err(|_| MintError::NoRandomness)?;
    let key = a2a::sign::SigningKey::from_seed(&seed, None, None);
    let id = id("sig-", now).map_err(|_| MintError::NoRandomness)?;
    let sealed_private = seal.seal(Place::signing_key(tenant, &id), seed.as_slice())?;
    Ok(store::NewSigningKey {
        kid: key.kid().to_owned(),
        purpose,
        public: key.public().as_bytes().to_vec(),
        sealed_private,
        state: store::SigningKeyState::Active,
        id,
    })
}

fn check(prefix: &str, body: &str) -> String {
    let mut crc = crc32fast::Hasher::new();
    crc.update(prefix.as_bytes());
    crc.update(body.as_bytes());
    base62(&crc.finalize().to_be_bytes(), CHECK_LEN)
}

/// `bytes` as one big number in base 62, `digits` characters.
fn base62(bytes: &[u8], digits: usize) -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut number = Zeroizing::new(bytes.to_vec());
    let mut text = Vec::with_capacity(digits);
    for _ in 0..digits {
        let mut rest = 0_u32;
        for byte in number.iter_mut() {
            let value = (rest << 8) | u32::from(*byte);
            *byte = u8::try_from(value / 62).unwrap_or(u8::MAX);
            rest = value % 62;
        }
        text.push(ALPHABET.get(rest as usize).copied().map_or('0', char::from));
    }
    text.iter().rev().collect()
}

/// 62^43 > 2^256.
const KEY_BODY_LEN: usize = 43;
/// 62^6 > 2^32.
const CHECK_LEN: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_carry_their_check_and_their_hash() {
        let key = api_key("sk_brutor_api_").unwrap();
        assert_eq!(key.text.len(), "sk_brutor_api_".len() + 49);
        assert!(is_api_key("sk_brutor_api_", &key.text));
        assert_eq!(key.hash, <[u8; 32]>::from(Sha256::digest(key.text.as_bytes())));
        assert!(!key.hint.contains(&key.text[14..50]));
    }

    #[test]
    fn any_changed_character_breaks_the_check() {
        let key = api_key("sk_brutor_api_").unwrap();
        for at in 0..key.text.len() {
            let mut changed = key.text.as_bytes().to_vec();
            changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
            assert!(!is_api_key("sk_brutor_api_", std::str::from_utf8(&changed).unwrap()), "at {at}");
        }
        assert!(!is_api_key("sk_brutor_api_", &format!("{}0", key.text.as_str())));
    }

    #[test]
    fn base62_is_positional() {
        assert_eq!(base62(&[0], 2), "00");
        assert_eq!(base62(&[61], 2), "0z");
        assert_eq!(base62(&[62], 2), "10");
        assert_eq!(base62(&[0xff, 0xff, 0xff, 0xff], 6), "4gfFC3");
    }

    #[test]
    fn ids_sort_by_time() {
        let early = id("card-", 1_000_000_000).unwrap();
        let late = id("card-", 2_000_000_000).unwrap();
        assert!(early < late && early.starts_with("card-") && early.len() == 31);
    }
}
