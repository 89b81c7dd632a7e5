//! Group commit: one thread that brings what was written to disk, one `fdatasync` for all who wait.
//!
//! Takes positions to reach; tells everybody how far the disk has got and which ranges a failed `fdatasync` lost. Also runs once a
//! second unasked, so that openings nobody waits for do not stay in memory.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::{Core, Position, lock};
use crate::audit::AuditLost;

/// How long something written may stay unsynced when nobody waits for it.
const INTERVAL: Duration = Duration::from_secs(1);
/// Lost ranges remembered; older ones are merged, so that a waiter is never told too much.
const RANGES: usize = 64;

/// How far the disk has got.
#[derive(Clone, Debug, Default)]
pub(crate) struct Synced {
    upto: Position,
    /// Ranges `(after, upto]` that a failed `fdatasync` covered.
    lost: Vec<(Position, Position)>,
    ended: bool,
}

impl Synced {
    /// `None` while it is undecided.
    fn verdict(&self, position: Position) -> Option<Result<(), AuditLost>> {
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
#[derive(Debug)]
pub(crate) struct Commit {
    bell: Mutex<Bell>,
    ring: Condvar,
    synced: watch::Sender<Synced>,
}

#[derive(Debug, Default)]
struct Bell {
    wanted: Position,
    stop: bool,
}

impl Default for Commit {
    fn default() -> Self {
        Commit { bell: Mutex::default(), ring: Condvar::new(), synced: watch::Sender::new(Synced::default()) }
    }
}

impl Commit {
    /// Waits until `position` is on disk.
    pub(crate) async fn reach(&self, position: Position) -> Result<(), AuditLost> {
        let mut synced = self.synced.subscribe();
        if synced.borrow().verdict(position).is_none() {
            let mut bell = lock(&self.bell);
            if bell.wanted < position {
                bell.wanted = position;
                self.ring.notify_one();
            }
        }
        let state = synced.wait_for(|state| state.verdict(position).is_some()).await.map_err(|_| AuditLost)?;
        state.verdict(position).unwrap_or(Err(AuditLost))
    }

    /// How far the disk has got.
    pub(crate) fn upto(&self) -> Position {
        self.synced.borrow().upto
    }

    /// Tells the thread to finish what is written and end.
    pub(crate) fn stop(&self) {
        lock(&self.bell).stop = true;
        self.ring.notify_one();
    }

    /// Waits for the bell or the interval; `false` once told to stop.
    fn wait(&self) -> bool {
        let synced = self.upto();
        let bell = lock(&self.bell);
        let idle = |bell: &mut Bell| bell.wanted <= synced && !bell.stop;
        let (bell, _) = self.ring.wait_timeout_while(bell, INTERVAL, idle).unwrap_or_else(PoisonError::into_inner);
        !bell.stop
    }
}

/// The thread.
pub(crate) fn run(core: &Core) {
    let mut go_on = true;
    while go_on {
        go_on = core.commit.wait();
        sync(core);
    }
    core.commit.synced.send_modify(|synced| synced.ended = true);
}

fn sync(core: &Core) {
    let before = core.commit.upto();
    let Some(work) = core.unsynced(before) else { return };
    let upto = work.upto;
    let result = core.faults.sync().and_then(|()| work.sync(&core.dir));
    lock(&core.log).synced(result.as_ref().err().map(std::io::Error::kind), upto > before);
    core.commit.synced.send_modify(|synced| {
        if result.is_err() && upto > before {
            synced.lose(upto);
        }
        synced.upto = upto;
    });
    if let Err(error) = result {
        tracing::error!(kind = ?error.kind(), "audit records could not be brought to disk");
    }
}
