//! When a credential last proved somebody: noted on the request path without waiting, written later, in batches.
//!
//! *Takes* times as credentials are used. *Gives*, to whoever writes them, those that changed. A minute's accuracy is
//! all that is promised, so the request path writes to shared memory at most once in a minute for each credential.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::clock::Micros;

/// The last use of one credential.
#[derive(Debug, Default)]
pub struct LastUse {
    noted: AtomicI64,
    written: AtomicI64,
}

impl LastUse {
    /// As the store has it.
    #[must_use]
    pub fn of(stored: Option<Micros>) -> Self {
        let at = stored.unwrap_or_default();
        Self { noted: AtomicI64::new(at), written: AtomicI64::new(at) }
    }

    /// It was used at `now`.
    pub fn note(&self, now: Micros) {
        if now.saturating_sub(self.noted.load(Ordering::Relaxed)) >= ACCURACY {
            self.noted.store(now, Ordering::Relaxed);
        }
    }

    /// A use that is not in the store yet.
    #[must_use]
    pub fn unwritten(&self) -> Option<Micros> {
        let noted = self.noted.load(Ordering::Relaxed);
        (noted > self.written.load(Ordering::Relaxed)).then_some(noted)
    }

    /// The use at `at` is in the store.
    pub fn written(&self, at: Micros) {
        self.written.fetch_max(at, Ordering::Relaxed);
    }
}

const ACCURACY: Micros = 60_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_noted_once_a_minute_and_written_once() {
        let last = LastUse::of(Some(5));
        assert_eq!(last.unwritten(), None);
        last.note(ACCURACY);
        assert_eq!(last.unwritten(), None, "within the minute");
        last.note(ACCURACY + 5);
        last.note(ACCURACY + 6);
        assert_eq!(last.unwritten(), Some(ACCURACY + 5));
        last.written(ACCURACY + 5);
        assert_eq!(last.unwritten(), None);
    }
}
