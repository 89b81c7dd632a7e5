//! Places among calls in flight and open streams that a replica may fill of a limit which it shares with others.
//!
//! Takes the limit and, from time to time, what the store has lent; gives how many places may be filled here now. As long
//! as nothing is known, or the lease has ended, that is a tenth of the limit. Never asks the store: `limit::places` does.
//! Times are those of a stopwatch: a lease must end whatever becomes of the machine's clock.

use crate::clock::Micros;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

/// What a place is among.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Calls in flight.
    Call,
    /// Open streams.
    Stream,
}

/// What is lent of one limit.
#[derive(Debug)]
pub struct Places {
    /// The limit, as it was last asked about; 0 before.
    most: AtomicUsize,
    /// What may be filled, or [`UNKNOWN`].
    lent: AtomicUsize,
    /// Whether anybody asked since the store did.
    asked: AtomicBool,
    /// When the lease ends.
    until: AtomicI64,
    /// When the store is to be asked again at the latest.
    again: AtomicI64,
}

/// What the store is to be asked, if anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Nothing now.
    None,
    /// Nobody needs places any more.
    GiveUp,
    /// To lend some.
    Lend {
        /// How many are filled.
        in_use: usize,
        /// How many more are wanted at least.
        more: usize,
        /// The limit.
        most: usize,
    },
}

impl Default for Places {
    fn default() -> Self {
        Self {
            most: AtomicUsize::new(0),
            lent: AtomicUsize::new(UNKNOWN),
            asked: AtomicBool::new(false),
            until: AtomicI64::new(Micros::MIN),
            again: AtomicI64::new(Micros::MIN),
        }
    }
}

impl Places {
    /// How many of `most` places may be filled here.
    #[must_use]
    pub fn room(&self, most: usize) -> usize {
        // Written only if it differs: this is in the path of every call.
        if self.most.load(Ordering::Relaxed) != most {
            self.most.store(most, Ordering::Relaxed);
        }
        if !self.asked.load(Ordering::Relaxed) {
            self.asked.store(true, Ordering::Relaxed);
        }
        match self.lent.load(Ordering::Acquire) {
            UNKNOWN => part(most),
            lent => lent.min(most),
        }
    }

    /// What the store is to be asked at `now`: as soon as places run out, and now and then to keep what is lent.
    #[must_use]
    pub fn wish(&self, in_use: usize, now: Micros) -> Wish {
        let (most, lent) = (self.most.load(Ordering::Relaxed), self.lent.load(Ordering::Acquire));
        if most == 0 {
            return Wish::None;
        }
        let again = self.again.load(Ordering::Relaxed);
        self.expire(now);
        let is_out = lent != UNKNOWN && in_use >= lent && lent < most && now >= again - RENEWAL + PATIENCE;
        if lent != UNKNOWN && now < again && !is_out {
            return Wish::None;
        }
        if !self.asked.swap(false, Ordering::Relaxed) && in_use == 0 {
            return Wish::GiveUp;
        }
        Wish::Lend { in_use, more: part(most), most }
    }

    /// Forgets at `now` what was lent for no longer: the store may have lent it to others by then.
    pub fn expire(&self, now: Micros) {
        if now >= self.until.load(Ordering::Relaxed) {
            self.lent.store(UNKNOWN, Ordering::Release);
        }
    }

    /// The store has lent so many at `now`.
    pub fn lend(&self, lent: usize, now: Micros) {
        self.until.store(now + LEASE, Ordering::Relaxed);
        self.again.store(now + RENEWAL, Ordering::Relaxed);
        self.lent.store(lent, Ordering::Release);
    }

    /// Whether nobody needs it and nothing is lent.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.most.load(Ordering::Relaxed) == 0
    }

    /// Nothing is lent any more.
    pub fn give_up(&self) {
        self.most.store(0, Ordering::Relaxed);
        self.lent.store(UNKNOWN, Ordering::Release);
    }
}

/// A tenth of a limit, at least one.
const fn part(most: usize) -> usize {
    most.div_ceil(10)
}

/// Nothing is known of what may be filled.
const UNKNOWN: usize = usize::MAX;
/// How long places are lent: what a dead replica holds is free after this.
pub(crate) const LEASE: Micros = 10_000_000;
/// How often a lease is renewed.
const RENEWAL: Micros = 1_000_000;
/// How long a replica that is out of places waits before it asks again.
const PATIENCE: Micros = 200_000;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = 1_800_000_000_000_000;

    #[test]
    fn a_tenth_may_be_filled_before_anything_is_known_and_what_is_lent_after() {
        let places = Places::default();
        assert_eq!(places.wish(0, NOW), Wish::None, "nobody has asked");
        assert_eq!((places.room(25), places.room(1), places.room(25)), (3, 1, 3));
        assert_eq!(places.wish(2, NOW), Wish::Lend { in_use: 2, more: 3, most: 25 });
        places.lend(20, NOW);
        assert_eq!((places.room(25), places.room(12), places.room(25)), (20, 12, 20));
        places.lend(0, NOW);
        assert_eq!(places.room(25), 0, "others have them all");
    }

    #[test]
    fn a_lease_is_renewed_each_second_at_once_when_it_runs_out_and_ends() {
        let places = Places::default();
        let _asked = places.room(25);
        places.lend(5, NOW);
        assert_eq!(places.wish(4, NOW + RENEWAL - 1), Wish::None);
        assert_eq!(places.wish(5, NOW + PATIENCE - 1), Wish::None);
        assert_eq!(places.wish(5, NOW + PATIENCE), Wish::Lend { in_use: 5, more: 3, most: 25 });
        places.lend(25, NOW);
        assert_eq!(places.wish(25, NOW + PATIENCE), Wish::None, "there are no more");
        assert_eq!(places.wish(4, NOW + RENEWAL), Wish::Lend { in_use: 4, more: 3, most: 25 });
        // The store does not answer.
        assert_eq!(places.wish(4, NOW + LEASE), Wish::Lend { in_use: 4, more: 3, most: 25 });
        assert_eq!(places.room(25), 3);
    }

    #[test]
    fn what_nobody_needs_is_given_up() {
        let places = Places::default();
        let _asked = places.room(25);
        places.lend(25, NOW);
        assert!(matches!(places.wish(0, NOW + RENEWAL), Wish::Lend { .. }), "somebody asked a moment ago");
        places.lend(25, NOW + RENEWAL);
        assert!(matches!(places.wish(1, NOW + 2 * RENEWAL), Wish::Lend { .. }), "it is in use");
        places.lend(25, NOW + 2 * RENEWAL);
        assert_eq!(places.wish(0, NOW + 3 * RENEWAL), Wish::GiveUp);
        places.give_up();
        assert_eq!((places.wish(0, NOW + 4 * RENEWAL), places.room(25)), (Wish::None, 3));
    }
}
