//! The keys of chains: one for each tenant and UTC day, derived from the master key.
//!
//! A key is named by its day and by a fingerprint of itself, so that replicas whose master keys are being exchanged tell
//! them apart. Those of today and yesterday prove; around midnight also that of a replica whose clock is a little ahead.

use super::chain::LEEWAY;
use crate::clock::Micros;
use crate::pipeline::head::hex;
use crate::seal::Seal;
use aws_lc_rs::hmac;
use std::sync::Arc;

/// What sets these keys apart from all others of the master key.
const PURPOSE: &str = "delegation v1";
const DAY: i64 = 86_400;
/// Bytes of the fingerprint in a key's name.
const FINGERPRINT: usize = 6;

/// Derives keys.
#[derive(Clone, Debug)]
pub struct Keys {
    seal: Arc<Seal>,
}

/// A key that signs and proves chains of one tenant on one day.
#[derive(Debug)]
pub struct Key {
    id: String,
    mac: hmac::Key,
}

impl Keys {
    /// From the master keys behind `seal`.
    #[must_use]
    pub const fn new(seal: Arc<Seal>) -> Self {
        Self { seal }
    }

    /// The key that signs now.
    #[must_use]
    pub fn current(&self, tenant: &str, now: Micros) -> Key {
        let day = day(now);
        Key::new(day, self.seal.derive(PURPOSE, &name(tenant, day)).as_slice())
    }

    /// The key with this id, if it may prove anything now.
    #[must_use]
    pub fn named(&self, id: &str, tenant: &str, now: Micros) -> Option<Key> {
        let of: i64 = id.split_once('-')?.0.parse().ok()?;
        let days = [day(now), day(now).saturating_sub(1), day(now.saturating_add(LEEWAY.saturating_mul(1_000_000)))];
        if !days.contains(&of) {
            return None;
        }
        let secrets = self.seal.derive_all(PURPOSE, &name(tenant, of));
        secrets.iter().map(|secret| Key::new(of, secret.as_slice())).find(|key| key.id == id)
    }
}

impl Key {
    fn new(day: i64, secret: &[u8]) -> Self {
        let mac = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let tag = hmac::sign(&mac, b"key id");
        Self { id: format!("{day}-{}", hex(tag.as_ref().get(..FINGERPRINT).unwrap_or_default())), mac }
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The proof of `text`.
    #[must_use]
    pub fn sign(&self, text: &str) -> Vec<u8> {
        hmac::sign(&self.mac, text.as_bytes()).as_ref().to_vec()
    }

    /// Whether `tag` is the proof of `text`, found out in constant time.
    #[must_use]
    pub fn proves(&self, text: &str, tag: &[u8]) -> bool {
        hmac::verify(&self.mac, text.as_bytes(), tag).is_ok()
    }
}

const fn day(now: Micros) -> i64 {
    now.div_euclid(1_000_000).div_euclid(DAY)
}

/// No tenant's name has a NUL in it.
fn name(tenant: &str, day: i64) -> String {
    format!("{tenant}\0{day}")
}
