//! The time, as an argument: one source for the process, a hand-turned one for tests.
//!
//! Times are Unix microseconds, as in the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Unix time in microseconds.
pub type Micros = i64;

/// Where the time comes from. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// A clock that stands still until it is turned.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A clock for tests that starts at `at`.
    #[must_use]
    pub fn manual(at: Micros) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(at)))
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Micros {
        match self {
            Self::System => {
                #[expect(clippy::disallowed_methods, reason = "the one place that asks the machine")]
                let now = std::time::SystemTime::now();
                now.duration_since(std::time::UNIX_EPOCH)
                    .map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
            }
            Self::Manual(at) => at.load(Ordering::Relaxed),
        }
    }

    /// Turns a manual clock forward; the machine's clock is left alone.
    pub fn advance(&self, by: Micros) {
        if let Self::Manual(at) = self {
            at.fetch_add(by, Ordering::Relaxed);
        }
    }
}
