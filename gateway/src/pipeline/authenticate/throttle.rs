//! How often one source may present credentials that prove nobody (T-AUTH-3).
//!
//! *Takes* failures as they happen. *Gives* how long to wait once a source has had more of them in a window than it may.
//! A good credential is never asked about, so whoever shares the source with a guesser is served as before; nor does
//! waiting help or hinder a guess of 256 bits: it is noise, and the work behind it, that is held down. Bounded: sources
//! that find no place in the table share one entry. An IPv6 host counts as its /64, for it has all of it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::AuthenticateError;
use crate::audit::summary::network;
use crate::clock::Micros;

/// The failures of all sources.
#[derive(Debug)]
pub struct Throttle {
    most: usize,
    windows: Mutex<HashMap<IpAddr, Window>>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    began: Micros,
    failures: usize,
}

impl Throttle {
    /// At most so many failures of one source in a minute.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, windows: Mutex::default() }
    }

    /// What a failure is answered with.
    pub fn judge(&self, error: AuthenticateError, source: IpAddr, now: Micros) -> AuthenticateError {
        match error {
            AuthenticateError::BadCredential => match self.failed(source, now) {
                Some(retry_after) => AuthenticateError::Throttled { retry_after },
                None => error,
            },
            AuthenticateError::MissingCredential
            | AuthenticateError::Throttled { .. }
            | AuthenticateError::TwoCredentials => error,
        }
    }

    /// One more failure. `Some` when it is one too many: how long until the next one is heard.
    fn failed(&self, source: IpAddr, now: Micros) -> Option<Duration> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let source = network(source);
        if windows.len() >= MOST && !windows.contains_key(&source) {
            windows.retain(|_, window| now < window.began + WINDOW);
        }
        let place = if windows.len() < MOST || windows.contains_key(&source) { source } else { ALL_OTHERS };
        let window = windows.entry(place).or_insert(Window { began: now, failures: 0 });
        if now >= window.began + WINDOW {
            *window = Window { began: now, failures: 0 };
        }
        window.failures = window.failures.saturating_add(1);
        let rest = u64::try_from(window.began + WINDOW - now).unwrap_or(0);
        (window.failures > self.most).then(|| Duration::from_micros(rest))
    }
}

/// Length of a window.
const WINDOW: Micros = 60_000_000;
/// Most sources that are told apart.
const MOST: usize = 16_384;
const ALL_OTHERS: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u32) -> IpAddr {
        IpAddr::V4(std::net::Ipv4Addr::from_bits(0x0102_0000 + last))
    }

    #[test]
    fn a_source_waits_for_the_rest_of_its_minute_and_no_other_does() {
        let throttle = Throttle::new(3);
        for at in 0..3 {
            assert_eq!(throttle.failed(ip(1), at), None);
        }
        assert_eq!(throttle.failed(ip(1), 20_000_000), Some(Duration::from_secs(40)));
        assert_eq!(throttle.failed(ip(1), 59_999_999), Some(Duration::from_micros(1)));
        assert_eq!(throttle.failed(ip(2), 20_000_000), None);
        assert_eq!(throttle.failed(ip(1), 60_000_000), None);
    }

    #[test]
    fn a_host_with_many_addresses_is_one_source() {
        let throttle = Throttle::new(1);
        assert_eq!(throttle.failed("2001:db8::1".parse().unwrap(), 0), None);
        assert!(throttle.failed("2001:db8::ffff:2".parse().unwrap(), 0).is_some());
        assert_eq!(throttle.failed("2001:db8:0:1::1".parse().unwrap(), 0), None);
    }

    #[test]
    fn a_flood_of_sources_stays_bounded_and_frees_its_places() {
        let throttle = Throttle::new(1);
        let sources = u32::try_from(MOST).unwrap() + 500;
        let told = (0..sources).filter(|source| throttle.failed(ip(*source), 0).is_some()).count();
        assert_eq!(throttle.windows.lock().unwrap().len(), MOST + 1);
        assert_eq!(told, 499, "those without a place share one");
        assert_eq!(throttle.failed(ip(sources), WINDOW), None);
        assert_eq!(throttle.windows.lock().unwrap().len(), 1);
    }
}
