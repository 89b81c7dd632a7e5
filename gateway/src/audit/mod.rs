//! The audit: every exchange leaves exactly one record, on disk before its answer ends (product.md D6).
//!
//! Takes an [`Opening`] when a principal is proven and gives a [`Slot`]; the slot takes the [`Closing`]. Without a slot there is no
//! service. Records go to a spool of framed segments ([`spool`]), from there to the store ([`ship`]); what a dead process left open
//! becomes `interrupted` ([`recover`]). Refusals before a principal is proven are counted, not recorded one by one ([`summary`]).
//! Never waits for the store, never blocks a call on more than one `write`, and is never switched off while the process serves.
//!
//! Place kept: hash chain and signed checkpoints will live beside [`spool`], as a flag of its frames and a frame kind of their own.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use crate::clock::{Clock, Micros};
pub use crate::config::{Audit as AuditSettings, Fsync, OnFull, OpenRecord};

pub mod record;
pub mod recover;
pub mod ship;
pub mod spool;
pub mod summary;

pub use record::{Closing, DelegationFact, FindingFact, Opening, Outcome, StageTimes};
pub use recover::Recovered;
pub use ship::{Shipper, Sink};
pub use spool::{Backlog, Health, StartError};
use spool::{Position, Spool};
use summary::Refusals;

/// No slot: nothing can be recorded now, so nothing may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the audit spool cannot take a record")]
pub struct AuditFull;

/// The record of this exchange could not be brought to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the audit record could not be written to disk")]
pub struct AuditLost;

/// The audit of this process. Clones share it.
#[derive(Clone, Debug)]
pub struct Audit {
    shared: Arc<Shared>,
}

/// What slots, shipper and audit share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) spool: Spool,
    pub(crate) refusals: Refusals,
    pub(crate) clock: Clock,
    open: OpenRecord,
}

impl Audit {
    /// Opens the spool directory: creates it if missing, locks it, reads what earlier processes left. The [`Shipper`] must be run; it
    /// brings their records and ours to the `sink`.
    pub fn open_dir(
        settings: &AuditSettings,
        clock: Clock,
        sink: Sink,
    ) -> Result<(Audit, Shipper, Recovered), StartError> {
        let (spool, old, recovered) = Spool::open(settings, clock.now())?;
        let shared = Arc::new(Shared { spool, refusals: Refusals::default(), clock, open: settings.open });
        let shipper = Shipper::new(Arc::clone(&shared), sink, old);
        Ok((Audit { shared }, shipper, recovered))
    }

    /// Takes a slot: the opening record is written, not yet on disk.
    pub fn open(&self, opening: &Opening) -> Result<Slot, AuditFull> {
        let spool = &self.shared.spool;
        match spool.open_record(&encode(opening), opening.at_us)? {
            Some((seq, written)) => Ok(Slot { shared: Arc::clone(&self.shared), state: State::Open { seq, written } }),
            None => Ok(Slot { shared: Arc::clone(&self.shared), state: State::Unrecorded }),
        }
    }

    /// Counts a refusal made before a principal was proven. `tenant` is empty when none of ours was addressed.
    pub fn refused(&self, tenant: &str, reason: &'static str, source: IpAddr, at_us: Micros) {
        self.shared.refusals.count(tenant, reason, source, at_us);
    }

    /// When the opening record has to be on disk, as configured.
    #[must_use]
    pub fn open_mode(&self) -> OpenRecord {
        self.shared.open
    }

    /// The writer that this process's records are numbered under.
    #[must_use]
    pub fn writer(&self) -> &str {
        self.shared.spool.writer()
    }

    /// How full, how far behind, how well.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.shared.spool.backlog()
    }

    /// Brings everything written so far to disk; the last act before the process ends.
    pub async fn sync(&self) -> Result<(), AuditLost> {
        self.shared.spool.synced(self.shared.spool.written()).await
    }
}

/// The duty to write one closing record. Dropping it unclosed writes `abandoned`.
#[derive(Debug)]
#[must_use = "a slot that is dropped closes its record as abandoned"]
pub struct Slot {
    shared: Arc<Shared>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The opening is written up to this position.
    Open { seq: u64, written: Position },
    /// Served without a record, by choice (`audit.on_full = "drop"`); counted.
    Unrecorded,
    /// The closing has been handed over.
    Closed,
}

impl Slot {
    /// The record's number under this process's writer; none for a call served unrecorded by choice.
    #[must_use]
    pub fn seq(&self) -> Option<u64> {
        match self.state {
            State::Open { seq, .. } => Some(seq),
            State::Unrecorded | State::Closed => None,
        }
    }

    /// Waits until the opening record is on disk. Needed before the first byte of a stream, and before forwarding when so configured;
    /// a unary answer needs only [`Slot::close`], which covers it.
    pub fn opened(&self) -> impl Future<Output = Result<(), AuditLost>> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        let wanted = match self.state {
            State::Open { written, .. } => Some(written),
            State::Unrecorded | State::Closed => None,
        };
        async move {
            match wanted {
                Some(position) => shared.spool.durable(position).await,
                None => Ok(()),
            }
        }
    }

    /// Writes the closing record at once, whether or not the future is polled; the future waits until it is on disk.
    pub fn close(mut self, closing: &Closing) -> impl Future<Output = Result<(), AuditLost>> + Send + use<> {
        let written = self.write(closing);
        let shared = Arc::clone(&self.shared);
        async move {
            match written? {
                Some(position) => shared.spool.durable(position).await,
                None => Ok(()),
            }
        }
    }

    /// Writes the closing record where nobody is left to wait for it.
    pub fn close_detached(mut self, closing: &Closing) {
        let _ = self.write(closing);
    }

    fn write(&mut self, closing: &Closing) -> Result<Option<Position>, AuditLost> {
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Open { seq, .. } => self.shared.spool.close_record(seq, &encode(closing)),
            State::Unrecorded | State::Closed => Ok(None),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let State::Open { .. } = self.state {
            let closing = Closing { at_us: self.shared.clock.now(), ..Closing::default() };
            let _ = self.write(&closing);
        }
    }
}

/// JSON of our own types: they have no maps and no failing serialisers, so this cannot fail; an empty object would still be counted.
fn encode<T: serde::Serialize>(facts: &T) -> Vec<u8> {
    serde_json::to_vec(facts).unwrap_or_else(|_| b"{}".to_vec())
}

#[cfg(test)]
mod tests;
