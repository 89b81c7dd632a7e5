//! How long the parts of one exchange take: one reading of the monotonic clock at each border, and no allocation.
//!
//! *Takes* the borders as the exchange comes to them; a part may be come to again and is then added up. *Gives* the times
//! for the closing record. *Never* decides anything: nobody reads it but the record.

use crate::audit::StageTimes;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A part of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Who calls, whether it may, and a place for it.
    Admit,
    /// Reading and decoding the call; whose tasks it names.
    Read,
    /// Inspecting the call.
    GuardIn,
    /// Until the first byte of the agent's answer.
    Agent,
    /// The rest of the agent's answer.
    Rest,
    /// Inspecting the answer.
    GuardOut,
    /// Writing the answer, and the opening record where it is waited for.
    End,
}

/// Runs from the head of the request.
#[derive(Debug)]
pub struct Stopwatch {
    stage: Stage,
    since: Instant,
    took: StageTimes,
}

impl Stopwatch {
    /// Begins with [`Stage::Admit`].
    #[must_use]
    pub fn begin(at: Instant) -> Self {
        Self { stage: Stage::Admit, since: at, took: StageTimes::default() }
    }

    /// The part that runs.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Ends the part that runs and begins another.
    pub fn enter(&mut self, stage: Stage, at: Instant) {
        let took = at.saturating_duration_since(self.since);
        self.add(self.stage, took);
        self.since = at.max(self.since);
        self.stage = stage;
    }

    /// Counts `took`, which has just passed, for another part than the one that runs.
    pub fn lend(&mut self, stage: Stage, took: Duration) {
        self.add(stage, took);
        self.since += took;
    }

    /// What each part took so far.
    #[must_use]
    pub fn read(&mut self, at: Instant) -> StageTimes {
        self.enter(self.stage, at);
        self.took
    }

    fn add(&mut self, stage: Stage, took: Duration) {
        let sum = match stage {
            Stage::Admit => &mut self.took.admit_us,
            Stage::Read => &mut self.took.read_us,
            Stage::GuardIn => &mut self.took.guard_in_us,
            Stage::Agent => &mut self.took.agent_us,
            Stage::Rest => &mut self.took.rest_us,
            Stage::GuardOut => &mut self.took.guard_out_us,
            Stage::End => &mut self.took.end_us,
        };
        *sum = sum.saturating_add(micros(took));
    }
}

/// When the head of an agent's answer came; told from where it is seen first. Of a list's many pages it is the last one's.
#[derive(Debug)]
pub struct FirstByte {
    asked: Instant,
    after: AtomicU64,
}

impl FirstByte {
    /// Nothing came yet.
    #[must_use]
    pub fn awaited(asked: Instant) -> Self {
        Self { asked, after: AtomicU64::new(u64::MAX) }
    }

    /// It is here.
    pub fn came(&self, at: Instant) {
        self.after.store(micros(at.saturating_duration_since(self.asked)), Ordering::Relaxed);
    }

    /// When it came, if it did.
    #[must_use]
    pub fn at(&self) -> Option<Instant> {
        let after = Some(self.after.load(Ordering::Relaxed)).filter(|after| *after != u64::MAX)?;
        self.asked.checked_add(Duration::from_micros(after))
    }
}

/// Whole microseconds.
pub(crate) fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_belongs_to_one_part() {
        let start = Instant::now();
        let after = |us: u64| start + Duration::from_micros(us);
        let mut watch = Stopwatch::begin(start);
        watch.enter(Stage::Read, after(10));
        watch.enter(Stage::Admit, after(15));
        watch.enter(Stage::GuardIn, after(17));
        watch.enter(Stage::Agent, after(20));
        watch.enter(Stage::Rest, after(120));
        // Events that are inspected as they pass.
        watch.lend(Stage::GuardOut, Duration::from_micros(30));
        watch.enter(Stage::End, after(200));
        let took = watch.read(after(201));
        let wanted = StageTimes {
            admit_us: 12,
            read_us: 5,
            guard_in_us: 3,
            agent_us: 100,
            rest_us: 50,
            guard_out_us: 30,
            end_us: 1,
        };
        assert_eq!(took, wanted);
        assert_eq!(watch.read(after(201)), wanted, "reading changes nothing");
    }

    #[test]
    fn borders_that_come_out_of_order_count_nothing_twice() {
        let start = Instant::now();
        let mut watch = Stopwatch::begin(start + Duration::from_micros(10));
        watch.enter(Stage::Rest, start);
        assert_eq!(watch.read(start + Duration::from_micros(12)).rest_us, 2);
    }

    #[test]
    fn the_first_byte_is_known_once_it_came() {
        let asked = Instant::now();
        let first = FirstByte::awaited(asked);
        assert_eq!(first.at(), None);
        first.came(asked + Duration::from_micros(7));
        assert_eq!(first.at(), Some(asked + Duration::from_micros(7)));
    }
}
