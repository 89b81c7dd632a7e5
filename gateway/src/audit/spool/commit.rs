//! Group commit: one thread that brings what was written to disk, one `fdatasync` for all who wait.
//!
//! Takes positions to reach; tells everybody how far the disk has got and which ranges a failed `fdatasync` lost. Also runs once a
//! second unasked, so that openings nobody waits for do not stay in memory.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::{Core, Position, lock};
use crate::audit::AuditLost;

/// How long something written may stay unsynced when nobody waits for it.
const INTERVAL: Duration = Duration::from_secs(1);
/// Lost ranges remembered; older ones are merged, so that a waiter is never told too much.
const RANGES: usize = 64;

/// How far the disk has got.
#[derive(Clone, Debug, Default)]
struct Synced {
    upto: Position,
    /// Ranges `(after, upto]` that a failed `fdatasync` covered.
    lost: Vec<(Position, Position)>,
    ended: bool,
}

type Verdict = Result<(), AuditLost>;

impl Synced {
    /// `None` while it is undecided.
    fn verdict(&self, position: Position) -> Option<Verdict> {
        if self.lost.iter().any(|(after, upto)| *after < position && position <= *upto) {
            return Some(Err(AuditLost));
        }
        if position <= self.upto {
            return Some(Ok(()));
        }
        self.ended.then_some(Err(AuditLost))
    }

    fn lose(&mut self, upto: Position) {
        self.lost.push((self.upto, upto));
        if let [(_, end), (_, next), rest @ ..] = self.lost.as_mut_slice()
            && rest.len() + 2 > RANGES
        {
            *end = *next;
            self.lost.remove(1);
        }
    }
}

/// The waiting side and the thread's bell.
#[derive(Debug, Default)]
pub(crate) struct Commit {
    state: Mutex<State>,
    ring: Condvar,
}

#[derive(Debug, Default)]
struct State {
    synced: Synced,
    /// By position, so that a round wakes those whom it decided and nobody else.
    waiting: BTreeMap<Position, Vec<oneshot::Sender<Verdict>>>,
    stop: bool,
}

impl State {
    fn decided(&mut self) -> Vec<(oneshot::Sender<Verdict>, Verdict)> {
        let mut decided = Vec::new();
        while let Some(first) = self.waiting.first_entry() {
            let Some(verdict) = self.synced.verdict(*first.key()) else { break };
            decided.extend(first.remove().into_iter().map(|waiter| (waiter, verdict)));
        }
        decided
    }
}

impl Commit {
    /// Waits until `position` is on disk.
    pub(crate) async fn reach(&self, position: Position) -> Verdict {
        let decided = {
            let mut state = lock(&self.state);
            if let Some(verdict) = state.synced.verdict(position) {
                return verdict;
            }
            let (decide, decided) = oneshot::channel();
            if state.waiting.is_empty() {
                self.ring.notify_one();
            }
            state.waiting.entry(position).or_default().push(decide);
            decided
        };
        decided.await.unwrap_or(Err(AuditLost))
    }

    /// How far the disk has got.
    pub(crate) fn upto(&self) -> Position {
        lock(&self.state).synced.upto
    }

    /// Tells the thread to finish what is written and end.
    pub(crate) fn stop(&self) {
        lock(&self.state).stop = true;
        self.ring.notify_one();
    }

    /// Waits for the bell or the interval; `false` once told to stop.
    fn wait(&self) -> bool {
        let state = lock(&self.state);
        let idle = |state: &mut State| state.waiting.is_empty() && !state.stop;
        let (state, _) = self.ring.wait_timeout_while(state, INTERVAL, idle).unwrap_or_else(PoisonError::into_inner);
        !state.stop
    }

    /// Notes what a round achieved and tells those who waited for it.
    fn tell(&self, note: impl FnOnce(&mut Synced)) {
        let decided = {
            let mut state = lock(&self.state);
            note(&mut state.synced);
            state.decided()
        };
        for (waiter, verdict) in decided {
            // Whoever went away no longer wants to know.
            let _ = waiter.send(verdict);
        }
    }
}

/// The thread.
pub(crate) fn run(core: &Core) {
    let mut go_on = true;
    while go_on {
        go_on = core.commit.wait();
        sync(core);
    }
    core.commit.tell(|synced| synced.ended = true);
}

fn sync(core: &Core) {
    let before = core.commit.upto();
    let Some(work) = core.unsynced(before) else { return };
    let upto = work.upto;
    let result = core.faults.sync().and_then(|()| work.sync(&core.dir));
    lock(&core.log).synced(result.as_ref().err().map(std::io::Error::kind), upto > before);
    core.commit.tell(|synced| {
        if result.is_err() && upto > before {
            synced.lose(upto);
        }
        synced.upto = upto;
    });
    if let Err(error) = result {
        tracing::error!(kind = ?error.kind(), "audit records could not be brought to disk");
    }
}
