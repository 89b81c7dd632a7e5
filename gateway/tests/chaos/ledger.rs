//! What callers have sent and what they have read to the end: the truth that records are held against.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// One answer, read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) correlation_id: Option<String>,
}

/// Shared by all callers of a test.
#[derive(Debug)]
pub(crate) struct Ledger {
    entries: Mutex<Entries>,
    acknowledged: watch::Sender<usize>,
}

/// By the correlation id that the caller chose.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    pub(crate) sent: BTreeSet<String>,
    pub(crate) answered: BTreeMap<String, Answer>,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self { entries: Mutex::default(), acknowledged: watch::Sender::new(0) }
    }

    /// Before the first byte is written.
    pub(crate) fn sent(&self, id: &str) {
        assert!(self.lock().sent.insert(id.to_owned()), "{id} was sent twice");
    }

    /// After the last byte was read.
    pub(crate) fn answered(&self, id: &str, answer: Answer) {
        let count = {
            let mut entries = self.lock();
            entries.answered.insert(id.to_owned(), answer);
            entries.answered.len()
        };
        self.acknowledged.send_replace(count);
    }

    /// Waits until `more` answers have been read from now on.
    pub(crate) async fn wait_for(&self, more: usize) {
        let wanted = self.lock().answered.len() + more;
        self.acknowledged.subscribe().wait_for(|count| *count >= wanted).await.unwrap();
    }

    pub(crate) fn entries(&self) -> Entries {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
