//! Passwords of administrators: argon2id, off the reactor, at most two at a time; and patience with those who guess.
//!
//! Gives PHC strings for the store. A name that does not exist costs as much time as one that does. Never keeps a
//! password.

use crate::clock::Micros;
use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

/// Why there is no hash, and so no answer.
#[derive(Debug, thiserror::Error)]
#[error("the password could not be hashed")]
pub(super) struct HashError;

/// The slow work, and who has to wait for it.
#[derive(Debug)]
pub(super) struct Passwords {
    at_once: Semaphore,
    /// Looks like a hash and belongs to nobody: what an unknown name is compared with.
    nobody: String,
    failures: Mutex<HashMap<String, Failures>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    count: u32,
    until: Micros,
}

impl Default for Passwords {
    fn default() -> Self {
        let nobody = hash(b"nobody has this password").unwrap_or_default();
        Self { at_once: Semaphore::new(2), nobody, failures: Mutex::default() }
    }
}

impl Passwords {
    /// A new hash, in PHC form.
    ///
    /// # Errors
    /// No randomness or memory.
    pub(super) async fn hash(&self, password: Zeroizing<String>) -> Result<String, HashError> {
        let _turn = self.at_once.acquire().await.map_err(|_| HashError)?;
        let hashed = tokio::task::spawn_blocking(move || hash(password.as_bytes()).ok());
        hashed.await.ok().flatten().ok_or(HashError)
    }

    /// Whether `password` is the one behind `stored`; without one, the time is taken all the same.
    ///
    /// # Errors
    /// The work could not be done.
    pub(super) async fn verify(&self, password: Zeroizing<String>, stored: Option<&str>) -> Result<bool, HashError> {
        let _turn = self.at_once.acquire().await.map_err(|_| HashError)?;
        let (known, stored) = (stored.is_some(), stored.unwrap_or(&self.nobody).to_owned());
        let fits = tokio::task::spawn_blocking(move || {
            let Ok(parsed) = PasswordHash::new(&stored) else { return false };
            Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok()
        });
        Ok(fits.await.map_err(|_| HashError)? && known)
    }

    /// How long until a try for this name from this source is heard.
    pub(super) fn wait(&self, keys: &[String], now: Micros) -> Option<Duration> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let until = keys.iter().filter_map(|key| failures.get(key)).map(|one| one.until).max()?;
        u64::try_from(until - now).ok().filter(|left| *left > 0).map(Duration::from_micros)
    }

    /// A wrong try: after the free ones each doubles the wait.
    pub(super) fn failed(&self, keys: &[String], now: Micros) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= MOST {
            failures.retain(|_, one| one.until + FORGOTTEN > now);
        }
        for key in keys {
            let key = if failures.len() < MOST || failures.contains_key(key) { key.as_str() } else { "" };
            let one = failures.entry(key.to_owned()).or_default();
            if one.until + FORGOTTEN < now {
                *one = Failures::default();
            }
            one.count = one.count.saturating_add(1);
            let over = one.count.saturating_sub(FREE);
            let wait = if over == 0 { 0 } else { SECOND << (over - 1).min(10) };
            one.until = now + wait.min(LONGEST);
        }
    }

    /// A right one: the name starts afresh. The source does not, for it may know one password and guess others.
    pub(super) fn succeeded(&self, key: &str) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

fn hash(password: &[u8]) -> Result<String, argon2::password_hash::Error> {
    let hashed: PasswordHash = Argon2::default().hash_password(password)?;
    Ok(hashed.to_string())
}

/// Why this can be no password, or nothing.
pub(super) fn problem(name: &str, password: &str) -> Option<&'static str> {
    if password.chars().count() < 12 {
        return Some("must have at least 12 characters; a few words do well");
    }
    if password.len() > 256 {
        return Some("must have at most 256 bytes");
    }
    let lower = password.to_lowercase();
    let mut letters: Vec<char> = lower.chars().collect();
    letters.sort_unstable();
    letters.dedup();
    if letters.len() < 5 || (name.len() > 3 && lower.contains(&name.to_lowercase())) {
        return Some("is too easy to guess: take more different characters, and not the name");
    }
    None
}

const SECOND: Micros = 1_000_000;
const FREE: u32 = 5;
const LONGEST: Micros = 15 * 60 * SECOND;
/// A failure this long after the last wait begins at zero.
const FORGOTTEN: Micros = 60 * 60 * SECOND;
const MOST: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_fits_its_own_hash_alone() {
        let passwords = Passwords::default();
        let stored = passwords.hash(Zeroizing::new("correct horse battery".to_owned())).await.unwrap();
        assert!(stored.starts_with("$argon2id$"), "{stored}");
        assert!(passwords.verify(Zeroizing::new("correct horse battery".to_owned()), Some(&stored)).await.unwrap());
        assert!(!passwords.verify(Zeroizing::new("correct horse".to_owned()), Some(&stored)).await.unwrap());
        assert!(!passwords.verify(Zeroizing::new("nobody has this password".to_owned()), None).await.unwrap());
    }

    #[test]
    fn guessing_gets_slower_and_a_right_password_ends_it() {
        let passwords = Passwords::default();
        let keys = ["name:ann".to_owned(), "from:::1".to_owned()];
        for _ in 0..FREE {
            assert_eq!(passwords.wait(&keys, 0), None);
            passwords.failed(&keys, 0);
        }
        assert_eq!(passwords.wait(&keys, 0), None);
        passwords.failed(&keys, 0);
        assert_eq!(passwords.wait(&keys, 0), Some(Duration::from_secs(1)));
        passwords.failed(&keys, SECOND);
        assert_eq!(passwords.wait(&keys, SECOND), Some(Duration::from_secs(2)));
        for _ in 0..40 {
            passwords.failed(&keys, 9 * SECOND);
        }
        assert_eq!(passwords.wait(&keys, 9 * SECOND), Some(Duration::from_secs(900)));
        passwords.succeeded("name:ann");
        assert_eq!(passwords.wait(&keys[..1], 9 * SECOND), None);
        assert!(passwords.wait(&keys[1..], 9 * SECOND).is_some());
    }

    #[test]
    fn weak_passwords_are_refused() {
        for (name, password) in [("ann", "short"), ("annabel", "annabel-1234567"), ("ann", "aaaaaaaaaaaaaaaa")] {
            assert!(problem(name, password).is_some(), "{password}");
        }
        assert!(problem("ann", "correct horse battery").is_none());
    }
}
