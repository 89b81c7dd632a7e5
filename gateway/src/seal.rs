//! Secrets at rest: AES-256-GCM under the master key, bound to the place where they are stored.
//!
//! Takes plain bytes and a [`Place`], gives a blob for a sealed column, and back. The blob names its key; the place is
//! the associated data, so that a blob moved to another tenant, table, row or column does not open. Never logs, never
//! shows a key.
//!
//! Blob: version (1) ‖ key id (8) ‖ nonce (12) ‖ ciphertext and tag.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Prk};
use zeroize::Zeroizing;

use crate::config::{MasterKey, MasterKeys};

/// Where a secret is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// Whose secret.
    pub tenant: &'a str,
    /// The table.
    pub table: &'a str,
    /// The row's id.
    pub row: &'a str,
    /// The column.
    pub column: &'a str,
}

impl<'a> Place<'a> {
    /// The credential towards a card's agent; `card` is the card's id.
    #[must_use]
    pub const fn card_credential(tenant: &'a str, card: &'a str) -> Self {
        Self { tenant, table: "cards", row: card, column: "sealed_credential" }
    }

    /// The private half of a signing key; `key` is the row's id.
    #[must_use]
    pub const fn signing_key(tenant: &'a str, key: &'a str) -> Self {
        Self { tenant, table: "signing_keys", row: key, column: "sealed_private" }
    }

    /// Each part with its length in front, so that no two places give the same bytes.
    fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in [self.tenant, self.table, self.row, self.column] {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        bytes
    }
}

/// Why a secret could not be sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// No blob of ours.
    #[error("the sealed value is damaged")]
    Malformed,
    /// No randomness to be had.
    #[error("the machine has no randomness")]
    NoRandomness,
    /// Wrong place, wrong key or changed bytes.
    #[error("the sealed value does not belong here, or was changed")]
    Refused,
    /// Sealed with a master key that is not configured.
    #[error("sealed with a master key that is not configured (secrets.previous_key_files)")]
    UnknownKey,
}

/// Seals with the current master key, opens with every configured one.
pub struct Seal {
    current: Key,
    previous: Vec<Key>,
}

struct Key {
    id: [u8; KEY_ID_LEN],
    aead: LessSafeKey,
    derivation: Prk,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal(…)")
    }
}

impl Seal {
    /// A seal with these keys.
    ///
    /// # Errors
    /// [`SealError::Malformed`] never happens for keys of 32 bytes.
    pub fn new(keys: &MasterKeys) -> Result<Self, SealError> {
        let previous = keys.previous.iter().map(Key::new).collect::<Result<_, _>>()?;
        Ok(Self { current: Key::new(&keys.current)?, previous })
    }

    /// A blob of `secret` that opens at `place` alone.
    ///
    /// # Errors
    /// [`SealError::NoRandomness`].
    pub fn seal(&self, place: Place<'_>, secret: &[u8]) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0_u8; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| SealError::NoRandomness)?;
        let mut blob = Vec::with_capacity(HEAD_LEN + secret.len() + AES_256_GCM.tag_len());
        blob.push(VERSION);
        blob.extend_from_slice(&self.current.id);
        blob.extend_from_slice(&nonce);
        let mut text = secret.to_vec();
        self.current
            .aead
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(place.bytes()), &mut text)
            .map_err(|_| SealError::Malformed)?;
        blob.append(&mut text);
        Ok(blob)
    }

    /// The secret in `blob`, if it was sealed at `place`.
    ///
    /// # Errors
    /// [`SealError`], which never says more than it must.
    pub fn open(&self, place: Place<'_>, blob: &[u8]) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let (id, nonce, sealed) = split(blob)?;
        let key = self.key(id).ok_or(SealError::UnknownKey)?;
        let mut text = Zeroizing::new(sealed.to_vec());
        let opened = key
            .aead
            .open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(place.bytes()), &mut text)
            .map_err(|_| SealError::Refused)?
            .len();
        text.truncate(opened);
        Ok(text)
    }

    /// The same secret under the current key; `None` if it is sealed with that already.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn rewrap(&self, place: Place<'_>, blob: &[u8]) -> Result<Option<Vec<u8>>, SealError> {
        let (id, ..) = split(blob)?;
        if id == self.current.id {
            return Ok(None);
        }
        let secret = self.open(place, blob)?;
        self.seal(place, &secret).map(Some)
    }

    /// A key for another purpose; `purpose` and `name` tell such keys apart. Changes with the master key.
    #[must_use]
    pub fn derive(&self, purpose: &str, name: &str) -> Zeroizing<[u8; 32]> {
        self.current.derive(purpose, name)
    }

    /// The same keys under every configured master key, the current one's first: for what is proven across a change of it.
    #[must_use]
    pub fn derive_all(&self, purpose: &str, name: &str) -> Vec<Zeroizing<[u8; 32]>> {
        std::iter::once(&self.current).chain(&self.previous).map(|key| key.derive(purpose, name)).collect()
    }

    fn key(&self, id: [u8; KEY_ID_LEN]) -> Option<&Key> {
        std::iter::once(&self.current).chain(&self.previous).find(|key| key.id == id)
    }
}

impl Key {
    fn new(master: &MasterKey) -> Result<Self, SealError> {
        let root = Prk::new_less_safe(HKDF_SHA256, master.expose());
        let mut aead = Zeroizing::new([0_u8; 32]);
        let mut id = [0_u8; 32];
        let fill = |purpose: &[u8], out: &mut [u8]| {
            root.expand(&[purpose], HKDF_SHA256).and_then(|okm| okm.fill(out)).map_err(|_| SealError::Malformed)
        };
        fill(b"seal v1", aead.as_mut_slice())?;
        fill(b"key id", &mut id)?;
        let aead = UnboundKey::new(&AES_256_GCM, aead.as_slice()).map_err(|_| SealError::Malformed)?;
        let id = *id.first_chunk().ok_or(SealError::Malformed)?;
        Ok(Self { id, aead: LessSafeKey::new(aead), derivation: root })
    }

    fn derive(&self, purpose: &str, name: &str) -> Zeroizing<[u8; 32]> {
        let mut derived = Zeroizing::new([0_u8; 32]);
        let filled = self
            .derivation
            .expand(&[purpose.as_bytes(), &[0], name.as_bytes()], HKDF_SHA256)
            .and_then(|okm| okm.fill(derived.as_mut_slice()));
        debug_assert!(filled.is_ok(), "32 bytes are one block of HKDF-SHA256");
        derived
    }
}

/// Key id, nonce, ciphertext with tag.
type Blob<'a> = ([u8; KEY_ID_LEN], [u8; NONCE_LEN], &'a [u8]);

fn split(blob: &[u8]) -> Result<Blob<'_>, SealError> {
    let (version, rest) = blob.split_first().ok_or(SealError::Malformed)?;
    let (id, rest) = rest.split_first_chunk().ok_or(SealError::Malformed)?;
    let (nonce, sealed) = rest.split_first_chunk().ok_or(SealError::Malformed)?;
    if *version != VERSION {
        return Err(SealError::Malformed);
    }
    Ok((*id, *nonce, sealed))
}

const VERSION: u8 = 1;
const KEY_ID_LEN: usize = 8;
const HEAD_LEN: usize = 1 + KEY_ID_LEN + NONCE_LEN;

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Place<'static> = Place::card_credential("acme", "card-1");

    fn seal(text: &str, previous: &[&str]) -> Seal {
        let key = |text: &str| MasterKey::parse(text).unwrap();
        Seal::new(&MasterKeys { current: key(text), previous: previous.iter().map(|text| key(text)).collect() })
            .unwrap()
    }

    const ONE: &str = "q2Vb0b1Yh0mS4f0m7J8nT3x5v9c1L6w2ZkQeRtYuIoA=";
    const TWO: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    #[test]
    fn opens_where_it_was_sealed_and_nowhere_else() {
        let seal = seal(ONE, &[]);
        let blob = seal.seal(HERE, b"canary").unwrap();
        assert!(!blob.windows(6).any(|window| window == b"canary"));
        assert_eq!(seal.open(HERE, &blob).unwrap().as_slice(), b"canary");
        let elsewhere = [
            Place { tenant: "globex", ..HERE },
            Place { table: "signing_keys", ..HERE },
            Place { row: "card-2", ..HERE },
            Place { column: "other", ..HERE },
            // The same letters cut differently.
            Place { tenant: "acmec", table: "ards", ..HERE },
        ];
        for place in elsewhere {
            assert_eq!(seal.open(place, &blob).unwrap_err(), SealError::Refused, "{place:?}");
        }
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let seal = seal(ONE, &[]);
        let blob = seal.seal(HERE, b"canary").unwrap();
        for at in 0..blob.len() {
            let mut changed = blob.clone();
            changed[at] ^= 1;
            assert!(seal.open(HERE, &changed).is_err(), "byte {at}");
            assert!(seal.open(HERE, &blob[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn two_blobs_of_one_secret_differ() {
        let seal = seal(ONE, &[]);
        assert_ne!(seal.seal(HERE, b"canary").unwrap(), seal.seal(HERE, b"canary").unwrap());
    }

    #[test]
    fn earlier_keys_open_and_rewrap_moves_to_the_current_one() {
        let old = seal(TWO, &[]);
        let blob = old.seal(HERE, b"canary").unwrap();
        assert_eq!(seal(ONE, &[]).open(HERE, &blob).unwrap_err(), SealError::UnknownKey);
        let both = seal(ONE, &[TWO]);
        assert_eq!(both.open(HERE, &blob).unwrap().as_slice(), b"canary");
        let moved = both.rewrap(HERE, &blob).unwrap().unwrap();
        assert_eq!(seal(ONE, &[]).open(HERE, &moved).unwrap().as_slice(), b"canary");
        assert_eq!(both.rewrap(HERE, &moved).unwrap(), None);
    }

    #[test]
    fn derived_keys_differ_by_purpose_name_and_master_key() {
        let one = seal(ONE, &[]);
        let all = [one.derive("a", "x"), one.derive("a", "y"), one.derive("b", "x"), seal(TWO, &[]).derive("a", "x")];
        for (at, key) in all.iter().enumerate() {
            assert!(all[at + 1..].iter().all(|other| other != key));
        }
        assert_eq!(one.derive("a", "x"), one.derive("a", "x"));
    }
}
