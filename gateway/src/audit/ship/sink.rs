//! Where records are shipped to: the store, or a recorder in tests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use store::{AuditMark, AuditRecord, AuditSummary, Cause, Error};

use crate::audit::spool::lock;

/// Where records go. Must keep what it accepted: the spool's copy is deleted.
#[derive(Clone, Debug)]
pub enum Sink {
    /// The database.
    Store(store::Store),
    /// Memory, for tests.
    Recorder(Arc<Recorder>),
}

impl Sink {
    /// Keeps records, what they are marked with, and sums. Marks go first: what a record is found by is never missing.
    pub(crate) async fn append(
        &self,
        records: &[AuditRecord],
        marks: &[AuditMark],
        summaries: &[AuditSummary],
    ) -> Result<(), Error> {
        match self {
            Sink::Store(store) => {
                if !marks.is_empty() {
                    store.append_audit_marks(marks).await?;
                }
                if !records.is_empty() {
                    store.append_audit(records).await?;
                }
                if !summaries.is_empty() {
                    store.append_audit_summaries(summaries).await?;
                }
                Ok(())
            }
            Sink::Recorder(recorder) => recorder.append(records, summaries),
        }
    }
}

/// Keeps every row it is given, in order; can be away, and can dislike a tenant.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Refuses everything while set.
    pub away: AtomicBool,
    /// Rows of this tenant are refused for good.
    pub disliked: Mutex<Option<String>>,
    records: Mutex<Vec<AuditRecord>>,
    summaries: Mutex<Vec<AuditSummary>>,
}

impl Recorder {
    /// Every record row, repeated ones included.
    pub fn records(&self) -> Vec<AuditRecord> {
        lock(&self.records).clone()
    }

    /// Every sum, repeated ones included.
    pub fn summaries(&self) -> Vec<AuditSummary> {
        lock(&self.summaries).clone()
    }

    fn append(&self, records: &[AuditRecord], summaries: &[AuditSummary]) -> Result<(), Error> {
        if self.away.load(Ordering::SeqCst) {
            return Err(Error::Unavailable { cause: Cause::TimedOut });
        }
        let disliked = lock(&self.disliked).clone();
        if records.iter().any(|record| Some(&record.tenant) == disliked.as_ref()) {
            return Err(Error::InvalidText { column: "tenant" });
        }
        lock(&self.records).extend_from_slice(records);
        lock(&self.summaries).extend_from_slice(summaries);
        Ok(())
    }
}
