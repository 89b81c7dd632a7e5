//! API keys: looked up by SHA-256 of the whole key, compared in constant time (product.md §2, T-AUTH-2).
//!
//! A key has 256 bits of entropy, so the digest needs no salt. A key that nobody has costs the same work as one that
//! is known; nothing is ever cached by a part of a key (T-AUTH-4).

use super::Identity;
use crate::clock::Micros;
use crate::registry::{Credential, Snapshot};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Whom `presented` proves, if it is a key that works at `now`.
pub(super) fn prove(presented: &[u8], world: &Snapshot, now: Micros) -> Option<Identity> {
    const NOBODY: [u8; 32] = [0; 32];
    let digest: [u8; 32] = Sha256::digest(presented).into();
    let found = world.keys.get(&digest);
    let same = bool::from(digest.ct_eq(found.map_or(&NOBODY, |credential| &credential.hash)));
    let credential = found.filter(|credential| same && works(credential, now))?;
    credential.last_use.note(now);
    Some(Identity::of_key(credential.clone()))
}

/// Whether a key proves its principal at `now`.
pub(super) fn works(credential: &Credential, now: Micros) -> bool {
    credential.expires_at.is_none_or(|at| now < at)
        && !credential.cancelled.is_cancelled()
        && !credential.principal.cancelled.is_cancelled()
}
