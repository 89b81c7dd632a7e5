//! Passwords of administrators: argon2id, off the reactor, at most two at a time; and patience with those who guess.
//!
//! Gives PHC strings for the store. A name that does not exist costs as much time as one that does. Never keeps a
//! password.

use super::accounts;
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
    failures: Mutex<HashMap<Counted, Failures>>,
}

/// By what wrong tries are counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Counted {
    /// Sign-ins with this name from this source.
    SignIn {
        /// What was typed in.
        name: String,
        /// The peer's address.
        source: String,
    },
    /// Sign-ins with this name from anywhere.
    Name(String),
    /// Sign-ins from this source with any name.
    Source(String),
    /// Of an account that is signed in, with its own password.
    Own(String),
    /// With the set-up link.
    Setup {
        /// The peer's address.
        source: String,
    },
    /// Whatever there was no room for.
    Rest,
}

/// How many wrong tries are free, and how long the wait becomes.
#[derive(Clone, Copy, Debug)]
struct Patience {
    free: u32,
    longest: Micros,
}

/// A try that is counted as a wrong one until it turns out to be right.
#[derive(Debug)]
#[must_use]
pub(super) struct Try {
    at: Micros,
    counted: Vec<(Counted, Micros)>,
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

    /// Counts a try before it is looked at, so that many at once are no more than one after the other. It stays counted
    /// unless it comes back with [`Passwords::succeeded`].
    ///
    /// # Errors
    /// How long until a try is heard.
    pub(super) fn begin(&self, keys: impl IntoIterator<Item = Counted>, now: Micros) -> Result<Try, Duration> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= MOST {
            failures.retain(|_, one| one.until + FORGOTTEN > now);
        }
        let room = failures.len() < MOST;
        let kept = |key: Counted| if room || failures.contains_key(&key) { key } else { Counted::Rest };
        let keys: Vec<_> = keys.into_iter().map(kept).collect();
        let until = keys.iter().filter_map(|key| failures.get(key)).map(|one| one.until).max().unwrap_or(now);
        if let Some(left) = u64::try_from(until - now).ok().filter(|left| *left > 0) {
            return Err(Duration::from_micros(left));
        }
        let counted = keys.into_iter().map(|key| {
            let until = failures.entry(key.clone()).or_default().count(key.patience(), now);
            (key, until)
        });
        Ok(Try { at: now, counted: counted.collect() })
    }

    /// The try was a right one: its name starts afresh from its source. What is counted over others too only gets this
    /// one try back, for whoever knows one password may guess others.
    pub(super) fn succeeded(&self, done: Try) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, until) in done.counted {
            match key {
                Counted::SignIn { .. } | Counted::Own(_) | Counted::Setup { .. } => drop(failures.remove(&key)),
                Counted::Name(_) | Counted::Source(_) | Counted::Rest => {
                    if let Some(one) = failures.get_mut(&key) {
                        one.count = one.count.saturating_sub(1);
                        one.until = if one.until == until { done.at } else { one.until };
                    }
                }
            }
        }
    }

    /// An account got a new password: what was tried with its name before counts no more.
    pub(super) fn forget(&self, account: &str) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|key, _| match key {
            Counted::SignIn { name, .. } | Counted::Name(name) | Counted::Own(name) => name != account,
            Counted::Source(_) | Counted::Setup { .. } | Counted::Rest => true,
        });
    }
}

impl Counted {
    /// By what a sign-in is counted. Names that no account can have are one, or each would be remembered.
    pub(super) fn sign_in(name: &str, source: &str) -> [Self; 3] {
        let name = if accounts::is_name(name) { name } else { "" };
        let (name, source) = (name.to_owned(), source.to_owned());
        [Self::SignIn { name: name.clone(), source: source.clone() }, Self::Name(name), Self::Source(source)]
    }

    /// Others share a name, a source and the rest: they are slowed down, never locked out.
    const fn patience(&self) -> Patience {
        match self {
            Self::SignIn { .. } | Self::Own(_) | Self::Setup { .. } => Patience { free: 5, longest: 15 * 60 * SECOND },
            Self::Name(_) | Self::Source(_) | Self::Rest => Patience { free: 50, longest: 10 * SECOND },
        }
    }
}

impl Failures {
    /// One more: after the free ones each doubles the wait. Gives the end of the wait.
    fn count(&mut self, patience: Patience, now: Micros) -> Micros {
        if self.until + FORGOTTEN < now {
            *self = Self::default();
        }
        self.count = self.count.saturating_add(1);
        let over = self.count.saturating_sub(patience.free);
        let wait = if over == 0 { 0 } else { SECOND << (over - 1).min(10) };
        self.until = now + wait.min(patience.longest);
        self.until
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

    /// A try of `name` from `source`: how many seconds it has to wait, or 0.
    fn wrong(passwords: &Passwords, name: &str, source: &str, now: Micros) -> u64 {
        passwords.begin(Counted::sign_in(name, source), now).map_or_else(|wait| wait.as_secs(), |_| 0)
    }

    #[test]
    fn guessing_gets_slower_and_a_right_password_ends_it() {
        let passwords = Passwords::default();
        // Counted when they begin: a sixth at the same moment is heard, a seventh is not.
        for at in 0..6 {
            assert_eq!(wrong(&passwords, "ann", "::1", 0), 0, "{at}");
        }
        assert_eq!(wrong(&passwords, "ann", "::1", 0), 1);
        assert_eq!((wrong(&passwords, "ann", "::1", SECOND), wrong(&passwords, "ann", "::1", SECOND)), (0, 2));
        let mut now = 3 * SECOND;
        for _ in 0..20 {
            assert_eq!(wrong(&passwords, "ann", "::1", now), 0);
            now += 900 * SECOND;
        }
        now -= 900 * SECOND;
        assert_eq!(wrong(&passwords, "ann", "::1", now), 900);
        now += 900 * SECOND;
        let right = passwords.begin(Counted::sign_in("ann", "::1"), now).unwrap();
        assert_eq!(wrong(&passwords, "ann", "::1", now), 900, "it counts until it is known to be right");
        passwords.succeeded(right);
        for _ in 0..6 {
            assert_eq!(wrong(&passwords, "ann", "::1", now), 0);
        }
        assert_eq!(wrong(&passwords, "ann", "::1", now), 1);
        passwords.forget("ann");
        assert_eq!(wrong(&passwords, "ann", "::1", now), 0);
    }

    #[test]
    fn others_are_slowed_down_and_not_locked_out() {
        let passwords = Passwords::default();
        let mut now = 0;
        // Made-up names from one address, then one name from many addresses.
        for at in 0..300 {
            wrong(&passwords, &format!("n{at}"), "10.0.0.1", now);
            wrong(&passwords, "ann", &format!("10.0.1.{at}"), now);
            now += SECOND;
        }
        assert!((1..=10).contains(&wrong(&passwords, "bob", "10.0.0.1", now)), "guessing on is slow");
        assert!((1..=10).contains(&wrong(&passwords, "ann", "10.0.2.1", now)));
        assert_eq!(wrong(&passwords, "bob", "10.0.2.1", now), 0, "another name from elsewhere hears nothing of it");
        now += 10 * SECOND;
        let right = passwords.begin(Counted::sign_in("ann", "10.0.0.1"), now).unwrap();
        passwords.succeeded(right);
        let again = passwords.begin(Counted::sign_in("ann", "10.0.0.1"), now);
        assert!(again.is_ok(), "a right one leaves no wait behind: {again:?}");
    }

    #[test]
    fn what_is_remembered_is_bounded_and_never_forgets_to_wait() {
        let passwords = Passwords::default();
        for at in 0..100 {
            wrong(&passwords, &format!("No Name {at}"), &format!("10.1.0.{at}"), 0);
        }
        let names =
            |of: &Passwords| of.failures.lock().unwrap().keys().filter(|key| matches!(key, Counted::Name(_))).count();
        assert_eq!(names(&passwords), 1, "names that nobody can have are one");
        for at in 0..MOST / 3 + 50 {
            wrong(&passwords, &format!("n{at}"), &format!("s{at}"), 0);
        }
        let full = passwords.failures.lock().unwrap().len();
        assert!(full <= MOST + 3, "{full}");
        // A new name in a full memory waits with all others that found no room.
        assert!(wrong(&passwords, "new", "new", 0) > 0);
        assert_eq!(wrong(&passwords, "new", "new", 10 * SECOND), 0);
        assert!(wrong(&passwords, "newer", "newer", 10 * SECOND) > 0);
        assert_eq!(wrong(&passwords, "new", "new", 2 * FORGOTTEN), 0);
        assert!(passwords.failures.lock().unwrap().len() < 5, "what is old makes room");
    }

    #[test]
    fn weak_passwords_are_refused() {
        for (name, password) in [("ann", "short"), ("annabel", "annabel-1234567"), ("ann", "aaaaaaaaaaaaaaaa")] {
            assert!(problem(name, password).is_some(), "{password}");
        }
        assert!(problem("ann", "correct horse battery").is_none());
    }
}
