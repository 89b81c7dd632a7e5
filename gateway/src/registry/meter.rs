//! How much: the limits of a tenant, principal, card or grant, and what is used of them in this process.
//!
//! The counts hang on what they count, so that a request finds them without a search; they outlive every change of the
//! registry. Takes the time as an argument, never waits, never asks the store: `limit` tells the store what was used
//! and tells the meter what the other replicas did.

pub(crate) mod places;

pub use places::{Kind, Places};

use crate::clock::Micros;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::Period;
use time::OffsetDateTime;

/// What may be used; nothing set is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Calls in a minute; all of them may come at once.
    pub per_minute: Option<NonZeroU32>,
    /// Calls in flight.
    pub concurrent: Option<usize>,
    /// Open streams.
    pub streams: Option<usize>,
    /// Calls in a day (UTC).
    pub daily: Option<u64>,
    /// Calls in a month (UTC).
    pub monthly: Option<u64>,
}

impl Allowance {
    /// Whether a call uses anything up for good.
    #[must_use]
    pub const fn counts(&self) -> bool {
        self.per_minute.is_some() || self.daily.is_some() || self.monthly.is_some()
    }
}

/// A limit and its count.
#[derive(Clone, Debug, Default)]
pub struct Metered {
    /// What may be used.
    pub allowance: Allowance,
    /// What is used.
    pub meter: Arc<Meter>,
}

/// Why a call is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// The day's or the month's quota is used up.
    Quota(Duration),
    /// The minute's rate is used up.
    Rate(Duration),
}

impl Spent {
    /// When to try again.
    #[must_use]
    pub const fn wait(self) -> Duration {
        match self {
            Self::Quota(wait) | Self::Rate(wait) => wait,
        }
    }
}

/// How a minute's calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rates {
    /// By this process alone.
    Local,
    /// By all replicas together, out of leases.
    Shared,
}

/// What is used.
#[derive(Debug, Default)]
pub struct Meter {
    /// Whose count it is in the store: the tenant and `tenant`, `principal/…`, `card/…` or `grant/…`.
    pub subject: (String, String),
    /// Calls in flight.
    pub calls: AtomicUsize,
    /// Open streams.
    pub streams: AtomicUsize,
    /// What the store has lent of calls in flight, where all replicas share them.
    pub lent_calls: Places,
    /// What it has lent of open streams.
    pub lent_streams: Places,
    /// Bytes held.
    pub bytes: Arc<AtomicUsize>,
    /// When a caller that had come at the permitted pace would come next (GCRA), in microseconds.
    arrival: AtomicI64,
    tallies: Mutex<Tallies>,
    waits_for_store: AtomicBool,
    is_lent_to: AtomicBool,
}

/// What is counted over all replicas.
#[derive(Debug, Default)]
struct Tallies {
    day: Tally,
    month: Tally,
    lease: Lease,
    /// New counts of periods that are over, not yet in the store.
    late: Vec<(Period, Micros, u64)>,
}

/// Calls in one day or month.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    starts: Micros,
    stored: u64,
    fresh: u64,
    sent: u64,
}

/// Calls in one minute out of what the store has given.
#[derive(Clone, Copy, Debug, Default)]
struct Lease {
    starts: Micros,
    most: u64,
    given: u64,
    used: u64,
}

/// What the store is to be told, and asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Counts that are new, by period and start.
    pub counts: Vec<(Period, Micros, u64)>,
    /// What a minute has used beyond its lease, and how much more it wants: `(starts, beyond, wanted, most)`.
    pub lease: Option<(Micros, u64, u64, u64)>,
}

impl Meter {
    /// Nothing used yet.
    #[must_use]
    pub fn of(tenant: &str, subject: &str) -> Arc<Self> {
        Arc::new(Self { subject: (tenant.to_owned(), subject.to_owned()), ..Self::default() })
    }

    /// Counts one call, or says when one would be counted.
    ///
    /// # Errors
    /// [`Spent`]; nothing was counted.
    pub fn spend(&self, allowance: &Allowance, rates: Rates, now: Micros) -> Result<(), Spent> {
        let leased = match (allowance.per_minute, rates) {
            (Some(per_minute), Rates::Local) => {
                self.pace(per_minute, now).map_err(Spent::Rate)?;
                None
            }
            (Some(per_minute), Rates::Shared) => Some(per_minute),
            (None, Rates::Local | Rates::Shared) => None,
        };
        if leased.is_none() && allowance.daily.is_none() && allowance.monthly.is_none() {
            return Ok(());
        }
        let counted = self.lock().spend(allowance, leased, now);
        if counted.is_err() && leased.is_none() {
            self.give_pace_back(allowance);
        }
        counted
    }

    /// Takes back what [`Meter::spend`] counted, because the call was refused for another reason.
    pub fn give_back(&self, allowance: &Allowance, rates: Rates) {
        match rates {
            Rates::Local => self.give_pace_back(allowance),
            Rates::Shared if allowance.per_minute.is_some() => {
                let mut tallies = self.lock();
                tallies.lease.used = tallies.lease.used.saturating_sub(1);
            }
            Rates::Shared => {}
        }
        if allowance.daily.is_some() || allowance.monthly.is_some() {
            let mut tallies = self.lock();
            for (tally, quota) in tallies.quotas(allowance) {
                if quota.is_some() {
                    tally.fresh = tally.fresh.saturating_sub(1);
                }
            }
        }
    }

    /// How long until a call would be counted; none when one would be now.
    #[must_use]
    pub fn wait(&self, allowance: &Allowance, rates: Rates, now: Micros) -> Option<Spent> {
        match self.spend(allowance, rates, now) {
            Ok(()) => {
                self.give_back(allowance, rates);
                None
            }
            Err(spent) => Some(spent),
        }
    }

    /// Marks the meter as one whose counts the store must hear of; `true` for whoever must see to it.
    pub fn needs_store(&self) -> bool {
        !self.waits_for_store.swap(true, Ordering::AcqRel)
    }

    /// Marks the meter as one whose places the store lends; `true` for whoever must see to it.
    pub fn needs_places(&self) -> bool {
        // Most of the time it is marked already, and a read costs nobody anything.
        !self.is_lent_to.load(Ordering::Acquire) && !self.is_lent_to.swap(true, Ordering::AcqRel)
    }

    /// The store lends it nothing any more.
    pub fn needs_no_places(&self) {
        self.is_lent_to.store(false, Ordering::Release);
    }

    /// Places of this kind: how many are in use here, and what is lent.
    #[must_use]
    pub fn places(&self, kind: Kind) -> (&AtomicUsize, &Places) {
        match kind {
            Kind::Call => (&self.calls, &self.lent_calls),
            Kind::Stream => (&self.streams, &self.lent_streams),
        }
    }

    /// What is new since the last time, on its way to the store.
    #[must_use]
    pub fn news(&self) -> News {
        self.waits_for_store.store(false, Ordering::Release);
        self.lock().news()
    }

    /// What all replicas together have used by now, as an answer to [`Meter::news`].
    pub fn stored(&self, period: Period, starts: Micros, total: u64) {
        let mut tallies = self.lock();
        let tally = match period {
            Period::Day => &mut tallies.day,
            Period::Month => &mut tallies.month,
            Period::Minute => return,
        };
        if tally.starts == starts {
            tally.stored = total;
            tally.sent = 0;
        } else if tally.starts < starts {
            *tally = Tally { starts, stored: total, ..Tally::default() };
        }
    }

    /// The store has given more of a minute; `beyond` of it was used before.
    pub fn leased(&self, starts: Micros, given: u64) {
        let mut tallies = self.lock();
        if tallies.lease.starts == starts {
            tallies.lease.given = tallies.lease.given.saturating_add(given);
        }
    }

    /// The store could not be told: what was on its way is new again.
    pub fn not_stored(&self, news: News) {
        let mut tallies = self.lock();
        for (period, starts, count) in news.counts {
            let tally = match period {
                Period::Day => &mut tallies.day,
                Period::Month => &mut tallies.month,
                Period::Minute => continue,
            };
            if tally.starts == starts {
                tally.sent = tally.sent.saturating_sub(count);
                tally.fresh = tally.fresh.saturating_add(count);
            } else {
                tallies.late.push((period, starts, count));
            }
        }
    }

    /// Calls counted in the day and in the month of `now`, over all replicas as far as this one has heard.
    #[must_use]
    pub fn used(&self, now: Micros) -> (u64, u64) {
        let tallies = self.lock();
        let of = |tally: &Tally, starts| if tally.starts == starts { tally.used() } else { 0 };
        (of(&tallies.day, day_of(now)), of(&tallies.month, month_of(now)))
    }

    /// Calls that the rate would still admit at once.
    #[must_use]
    pub fn left_in_minute(&self, per_minute: NonZeroU32, rates: Rates, now: Micros) -> u64 {
        match rates {
            Rates::Local => {
                let behind = self.arrival.load(Ordering::Acquire).min(now + MINUTE).saturating_sub(now).max(0);
                u64::try_from((MINUTE - behind) / step(per_minute)).unwrap_or(0)
            }
            Rates::Shared => {
                let lease = self.lock().lease;
                let used = if lease.starts == minute_of(now) { lease.used } else { 0 };
                u64::from(per_minute.get()).saturating_sub(used)
            }
        }
    }

    /// GCRA: `per_minute` at once, then one every `60 s / per_minute`.
    fn pace(&self, per_minute: NonZeroU32, now: Micros) -> Result<(), Duration> {
        let step = step(per_minute);
        let next = |arrival: Micros| {
            // A clock that was set back must not lock anybody out for longer than a minute.
            let arrival = arrival.clamp(now, now + MINUTE);
            let next = arrival + step;
            (next - now <= MINUTE).then_some(next)
        };
        self.arrival.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).map(drop).map_err(|arrival| {
            let wait = arrival.clamp(now, now + MINUTE) + step - now - MINUTE;
            Duration::from_micros(u64::try_from(wait).unwrap_or(0))
        })
    }

    fn give_pace_back(&self, allowance: &Allowance) {
        if let Some(per_minute) = allowance.per_minute {
            self.arrival.fetch_sub(step(per_minute), Ordering::AcqRel);
        }
    }

    /// A panic elsewhere leaves counts that are still numbers.
    fn lock(&self) -> MutexGuard<'_, Tallies> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tallies {
    fn quotas(&mut self, allowance: &Allowance) -> [(&mut Tally, Option<u64>); 2] {
        [(&mut self.day, allowance.daily), (&mut self.month, allowance.monthly)]
    }

    fn spend(&mut self, allowance: &Allowance, leased: Option<NonZeroU32>, now: Micros) -> Result<(), Spent> {
        self.begin(now);
        let wait = |until: Micros| Duration::from_micros(u64::try_from(until.saturating_sub(now)).unwrap_or(0));
        if let Some(per_minute) = leased {
            self.lease.most = u64::from(per_minute.get());
            if !self.lease.has_more() {
                return Err(Spent::Rate(if self.lease.given >= self.lease.most {
                    wait(self.lease.starts + MINUTE)
                } else {
                    // More may be on its way.
                    Duration::from_secs(1).min(wait(self.lease.starts + MINUTE))
                }));
            }
        }
        let ends = [day_of(now) + DAY, month_after(now)];
        for ((tally, quota), end) in self.quotas(allowance).into_iter().zip(ends) {
            if quota.is_some_and(|quota| tally.used() >= quota) {
                return Err(Spent::Quota(wait(end)));
            }
        }
        if leased.is_some() {
            self.lease.used += 1;
        }
        for (tally, quota) in self.quotas(allowance) {
            if quota.is_some() {
                tally.fresh += 1;
            }
        }
        Ok(())
    }

    /// Begins the periods of `now`; what is new of those before is kept for the store.
    fn begin(&mut self, now: Micros) {
        if self.lease.starts != minute_of(now) {
            self.lease = Lease { starts: minute_of(now), ..Lease::default() };
        }
        let periods = [(Period::Day, &mut self.day, day_of(now)), (Period::Month, &mut self.month, month_of(now))];
        for (period, tally, starts) in periods {
            if tally.starts != starts {
                if tally.fresh > 0 {
                    self.late.push((period, tally.starts, tally.fresh));
                }
                *tally = Tally { starts, ..Tally::default() };
            }
        }
    }

    fn news(&mut self) -> News {
        let mut counts = std::mem::take(&mut self.late);
        for (period, tally) in [(Period::Day, &mut self.day), (Period::Month, &mut self.month)] {
            if tally.fresh > 0 {
                counts.push((period, tally.starts, tally.fresh));
                tally.sent += std::mem::take(&mut tally.fresh);
            }
        }
        News { counts, lease: self.lease.news() }
    }
}

impl Tally {
    const fn used(&self) -> u64 {
        self.stored.saturating_add(self.fresh).saturating_add(self.sent)
    }
}

impl Lease {
    /// A tenth of the minute's budget is used before the store has given any, and asked for at a time.
    const fn part(&self) -> u64 {
        self.most.div_ceil(10)
    }

    fn has_more(&self) -> bool {
        self.used < self.given.max(self.part()).min(self.most)
    }

    /// What was used beyond the lease is told; as much as one part ahead is asked for.
    fn news(&mut self) -> Option<(Micros, u64, u64, u64)> {
        let beyond = self.used.saturating_sub(self.given);
        self.given = self.given.saturating_add(beyond);
        let wanted = self.used.saturating_add(self.part()).min(self.most).saturating_sub(self.given);
        (beyond > 0 || (wanted > 0 && self.used > 0)).then_some((self.starts, beyond, wanted, self.most))
    }
}

const MINUTE: Micros = 60_000_000;
const DAY: Micros = 24 * 60 * MINUTE;

fn step(per_minute: NonZeroU32) -> Micros {
    MINUTE / Micros::from(per_minute.get())
}

/// When the minute of `now` began.
#[must_use]
pub const fn minute_of(now: Micros) -> Micros {
    now - now.rem_euclid(MINUTE)
}

/// When the day of `now` began (UTC).
#[must_use]
pub const fn day_of(now: Micros) -> Micros {
    now - now.rem_euclid(DAY)
}

/// When the month of `now` began (UTC).
#[must_use]
pub fn month_of(now: Micros) -> Micros {
    let days = OffsetDateTime::from_unix_timestamp(now.div_euclid(1_000_000)).map_or(1, OffsetDateTime::day);
    day_of(now) - Micros::from(days - 1) * DAY
}

fn month_after(now: Micros) -> Micros {
    // No month has more than 31 days, and none fewer than 28.
    month_of(month_of(now) + 31 * DAY)
}

#[cfg(test)]
mod tests;
