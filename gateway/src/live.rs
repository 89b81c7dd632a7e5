//! What happens now, for administrators who watch: each exchange as it ends, and the streams that are open.
//!
//! Takes the facts of the audit trail when an exchange ends; gives them to whoever listens, metadata only. Costs the
//! request path an atomic read where nobody watches. A watcher that is too slow loses the oldest and is told how many:
//! the record is the truth, this is a view of it.

use crate::audit::{Closing, Opening};
use crate::clock::Micros;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;

/// Exchanges that wait for a slow watcher; beyond that the oldest are lost to it.
const WAITING: usize = 1_024;
/// Most streams that are listed; the count in the metrics knows all.
const LISTED: usize = 500;

/// An exchange that has ended.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// How it began.
    pub opening: Opening,
    /// How it ended.
    pub closing: Closing,
}

/// Who watches, what is open, what shadow policies would have stopped.
#[derive(Debug)]
pub struct Live {
    watchers: broadcast::Sender<Arc<Exchange>>,
    streams: Mutex<HashMap<u64, OpenStream>>,
    next: AtomicU64,
    shadows: Mutex<HashMap<String, Shadow>>,
    since: Micros,
}

/// A stream that is open.
#[derive(Clone, Debug)]
pub struct OpenStream {
    /// How it began.
    pub opening: Opening,
    /// What was asked.
    pub operation: Option<String>,
}

/// What policies in shadow mode would have stopped in a tenant since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shadow {
    /// Exchanges that would have been blocked.
    pub would_block: u64,
}

/// An open stream's place in the list; gives it up when dropped.
#[derive(Debug)]
pub struct Mark {
    live: Arc<Live>,
    id: u64,
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.live.streams().remove(&self.id);
    }
}

impl Live {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new(since: Micros) -> Self {
        Self {
            watchers: broadcast::channel(WAITING).0,
            streams: Mutex::default(),
            next: AtomicU64::new(0),
            shadows: Mutex::default(),
            since,
        }
    }

    /// An exchange has ended.
    pub fn ended(&self, opening: &Opening, closing: &Closing) {
        if would_block(closing) {
            let mut shadows = self.shadows.lock().unwrap_or_else(PoisonError::into_inner);
            let tenant = shadows.entry(opening.tenant.clone()).or_default();
            tenant.would_block = tenant.would_block.saturating_add(1);
        }
        if self.watchers.receiver_count() > 0 {
            // An error means that the last watcher has just left.
            let _ = self.watchers.send(Arc::new(Exchange { opening: opening.clone(), closing: closing.clone() }));
        }
    }

    /// A stream has told its first event.
    #[must_use]
    pub fn streaming(self: &Arc<Self>, opening: &Opening, operation: Option<&str>) -> Mark {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut streams = self.streams();
        if streams.len() < LISTED {
            let stream = OpenStream { opening: opening.clone(), operation: operation.map(str::to_owned) };
            streams.insert(id, stream);
        }
        drop(streams);
        Mark { live: Arc::clone(self), id }
    }

    /// Hears of every exchange that ends from now on.
    #[must_use]
    pub fn watch(&self) -> broadcast::Receiver<Arc<Exchange>> {
        self.watchers.subscribe()
    }

    /// The streams that are open in a tenant, or in all, the oldest first.
    #[must_use]
    pub fn open_streams(&self, tenant: Option<&str>) -> Vec<OpenStream> {
        let streams = self.streams();
        let ours = streams.values().filter(|stream| tenant.is_none_or(|tenant| stream.opening.tenant == tenant));
        let mut list: Vec<_> = ours.cloned().collect();
        list.sort_by_key(|stream| stream.opening.at_us);
        list
    }

    /// What shadow policies would have stopped in a tenant, and since when that is counted.
    #[must_use]
    pub fn shadow(&self, tenant: &str) -> (Shadow, Micros) {
        let shadows = self.shadows.lock().unwrap_or_else(PoisonError::into_inner);
        (shadows.get(tenant).copied().unwrap_or_default(), self.since)
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<u64, OpenStream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a policy in shadow mode would have stopped this.
#[must_use]
pub fn would_block(closing: &Closing) -> bool {
    closing.findings.iter().any(|finding| finding.action == "block/shadow")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::FindingFact;

    fn opening(tenant: &str, at_us: Micros) -> Opening {
        Opening { tenant: tenant.to_owned(), at_us, ..Opening::default() }
    }

    #[test]
    fn watchers_hear_what_ends_while_they_watch_and_how_much_they_missed() {
        let live = Live::new(0);
        live.ended(&opening("acme", 1), &Closing::default());
        let mut watcher = live.watch();
        assert!(watcher.try_recv().is_err());
        for at in 0..Micros::try_from(WAITING).unwrap() + 7 {
            live.ended(&opening("acme", at), &Closing::default());
        }
        assert_eq!(watcher.try_recv().unwrap_err(), broadcast::error::TryRecvError::Lagged(7));
        assert_eq!(watcher.try_recv().unwrap().opening.at_us, 7);
    }

    #[test]
    fn streams_are_listed_by_tenant_until_they_end() {
        let live = Arc::new(Live::new(0));
        let (late, early) = (live.streaming(&opening("acme", 9), None), live.streaming(&opening("acme", 3), None));
        let other = live.streaming(&opening("other", 1), Some("SendStreamingMessage"));
        let times = |tenant| live.open_streams(tenant).iter().map(|one| one.opening.at_us).collect::<Vec<_>>();
        assert_eq!((times(Some("acme")), times(None)), (vec![3, 9], vec![1, 3, 9]));
        drop((early, other));
        assert_eq!(times(None), vec![9]);
        drop(late);
        assert!(live.open_streams(None).is_empty());
    }

    #[test]
    fn what_shadow_policies_would_have_stopped_is_counted() {
        let live = Live::new(5);
        let finding = |action: &str| FindingFact { action: action.to_owned(), ..FindingFact::default() };
        for action in ["block/shadow", "redact/shadow", "block/enforce"] {
            live.ended(&opening("acme", 1), &Closing { findings: vec![finding(action)], ..Closing::default() });
        }
        assert_eq!(live.shadow("acme"), (Shadow { would_block: 1 }, 5));
        assert_eq!(live.shadow("other"), (Shadow::default(), 5));
    }
}
