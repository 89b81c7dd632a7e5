//! The shipper: spool → store, in the background, as often as it takes.
//!
//! Takes what the reader finds after the cursor, in batches of at most 500, and appends it to the store, which knows records by
//! (writer, sequence) and takes repetitions. Deletes segments that are wholly in the store. While the store is away it waits, longer
//! each time, and nobody else does. Rows that the store refuses for good are put aside in `rejected.jsonl` and counted. Calls never
//! wait for it.

use std::collections::{BTreeMap, VecDeque};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use store::AuditMark;
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::recover::{Batch, Life, OldWriter, Place, Reader};
use super::spool::{Core, segment};
use super::summary::Windows;

pub(crate) mod rows;
mod sink;

pub use sink::{Recorder, Sink};

/// How often the spool is looked at. Also under load: small batches cost the store more than they are worth.
const TICK: Duration = Duration::from_millis(200);
/// First and longest wait when the store is away.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Where the places up to which everything is in the store are kept. Losing it costs time, not records.
const CURSOR: &str = "cursor.json";

/// Brings the spool to the store. One per [`super::Audit`]; run it as a task of its own.
#[derive(Debug)]
pub struct Shipper {
    shared: Arc<Shared>,
    sink: Sink,
    old: VecDeque<OldWriter>,
    cursor: BTreeMap<String, Place>,
    /// In the hands of a blocking thread while it reads.
    reader: Option<Reader>,
    batch: Option<Batch>,
    wait: Duration,
}

/// What one round achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    Away,
    /// Nothing was left.
    CaughtUp,
    /// A full batch: more is waiting.
    Full,
    /// What there was.
    Shipped,
}

impl Shipper {
    pub(crate) fn new(shared: Arc<Shared>, sink: Sink, old: VecDeque<OldWriter>) -> Shipper {
        let cursor = std::fs::read(shared.spool.core().dir.join(CURSOR)).unwrap_or_default();
        let cursor = serde_json::from_slice(&cursor).unwrap_or_default();
        Shipper { shared, sink, old, cursor, reader: None, batch: None, wait: WAITS.0 }
    }

    /// Ships until told to stop, then once more what is there. Stop it after the last call has ended, not before.
    pub async fn run(mut self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            self.settle(Life::Running);
            let pause = match self.round(Life::Running).await {
                Round::Full => continue,
                Round::CaughtUp | Round::Shipped => TICK,
                Round::Away => self.wait,
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => {}
            }
        }
        if !self.flush().await {
            tracing::warn!("the store is away; the audit spool keeps what is left for the next start");
        }
    }

    /// Ships everything there is, running windows of refusals and open records included. `false` if the store is away.
    pub async fn flush(&mut self) -> bool {
        self.settle(Life::Stopping);
        // Only what is on disk is shipped. Where the disk refuses, what it took before is.
        let _ = self.shared.spool.synced(self.shared.spool.written()).await;
        loop {
            match self.round(Life::Stopping).await {
                Round::Full | Round::Shipped => {}
                Round::CaughtUp => return true,
                Round::Away => return false,
            }
        }
    }

    async fn round(&mut self, life: Life) -> Round {
        let batch = match self.batch.take() {
            Some(batch) => batch,
            None => match self.next_batch(life).await {
                Ok(batch) => batch,
                Err(error) => return self.failed(&error.kind()),
            },
        };
        if let Err(error) = self.send(&batch).await {
            self.batch = Some(batch);
            return self.failed(&error);
        }
        self.wait = WAITS.0;
        self.shared.spool.core().counts.store_failures.store(0, Ordering::Relaxed);
        match self.done(&batch).await {
            Ok(round) => round,
            Err(error) => self.failed(&error.kind()),
        }
    }

    fn failed(&mut self, why: &dyn std::fmt::Debug) -> Round {
        if self.shared.spool.core().counts.store_failures.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!(?why, "audit records can't be brought to the store; they stay in the spool");
        }
        self.wait = (self.wait * 2).min(WAITS.1);
        Round::Away
    }

    /// Writes what is due into the spool.
    fn settle(&self, life: Life) {
        let spool = &self.shared.spool;
        spool.retry_late();
        let windows = match life {
            Life::Running | Life::Ended => Windows::Before(self.shared.clock.now()),
            Life::Stopping => Windows::All,
        };
        let sums = self.shared.refusals.take(windows);
        spool.summary_records(&sums.iter().map(super::encode).collect::<Vec<_>>());
    }

    async fn next_batch(&mut self, life: Life) -> io::Result<Batch> {
        let mut reader = self.reader.take().unwrap_or_else(|| self.next_reader());
        let life = if reader.writer == self.shared.spool.writer() {
            reader.segments = self.shared.spool.extents();
            life
        } else {
            Life::Ended
        };
        let now = self.shared.clock.now();
        let read = tokio::task::spawn_blocking(move || {
            let batch = reader.fill(life, now);
            (reader, batch)
        });
        // Only a panic or the end of the runtime loses the reader; a new one starts from the cursor.
        let (reader, batch) = read.await.map_err(io::Error::other)?;
        self.reader = Some(reader);
        batch
    }

    fn next_reader(&self) -> Reader {
        let dir = self.shared.spool.core().dir.clone();
        let stored = |writer: &str| self.cursor.get(writer).copied().unwrap_or_default();
        match self.old.front() {
            Some(old) => Reader::of_old(dir, old.clone(), stored(&old.writer)),
            None => {
                let writer = self.shared.spool.writer();
                Reader::new(dir, writer.to_owned(), self.shared.spool.extents(), stored(writer))
            }
        }
    }

    /// Brings a batch to the store; rows it will never take are put aside.
    async fn send(&self, batch: &Batch) -> Result<(), store::Error> {
        if batch.is_empty() {
            return Ok(());
        }
        match self.sink.append(&batch.records, &batch.marks, &batch.summaries).await {
            Ok(()) => Ok(()),
            Err(error) if is_passing(&error) => Err(error),
            Err(_) => self.send_singly(batch).await,
        }
    }

    async fn send_singly(&self, batch: &Batch) -> Result<(), store::Error> {
        for record in &batch.records {
            let of = |mark: &&AuditMark| mark.seq == record.seq && mark.writer == record.writer;
            let marks: Vec<_> = batch.marks.iter().filter(of).cloned().collect();
            match self.sink.append(std::slice::from_ref(record), &marks, &[]).await {
                Ok(()) => {}
                Err(error) if is_passing(&error) => return Err(error),
                Err(error) => self.put_aside(&record.document, &error),
            }
        }
        for sum in &batch.summaries {
            match self.sink.append(&[], &[], std::slice::from_ref(sum)).await {
                Ok(()) => {}
                Err(error) if is_passing(&error) => return Err(error),
                Err(error) => self
                    .put_aside(format!("{{\"reason\":\"{}\",\"count\":{}}}", sum.reason, sum.count).as_bytes(), &error),
            }
        }
        Ok(())
    }

    fn put_aside(&self, json: &[u8], error: &store::Error) {
        let core = self.shared.spool.core();
        core.counts.rejected.fetch_add(1, Ordering::Relaxed);
        tracing::error!(%error, "the store refuses an audit record; it is kept in rejected.jsonl");
        let mut options = OpenOptions::new();
        let line = [json, b"\n"].concat();
        let kept = options.append(true).create(true).mode(0o600).open(core.dir.join("rejected.jsonl"));
        if let Err(error) = kept.and_then(|mut file| file.write_all(&line)) {
            tracing::error!(kind = ?error.kind(), "a refused audit record could not be kept");
        }
    }

    /// The batch is in the store: moves the cursor, deletes what is spent.
    async fn done(&mut self, batch: &Batch) -> io::Result<Round> {
        self.count(batch);
        let Some(mut reader) = self.reader.take() else { return Ok(Round::Full) };
        if batch.ended {
            self.forget_old(&reader)?;
            return Ok(Round::Full);
        }
        let moved = self.cursor.insert(reader.writer.clone(), batch.upto) != Some(batch.upto);
        if moved {
            write_cursor(self.shared.spool.core(), &self.cursor)?;
        }
        let result = self.delete_spent(&mut reader, batch.upto).await;
        self.reader = Some(reader);
        result?;
        Ok(match (batch.is_empty(), batch.has_room()) {
            (true, _) => Round::CaughtUp,
            (false, true) => Round::Shipped,
            (false, false) => Round::Full,
        })
    }

    fn count(&self, batch: &Batch) {
        let counts = &self.shared.spool.core().counts;
        counts.shipped.fetch_add(batch.records.len() as u64, Ordering::Relaxed);
        counts.interrupted.fetch_add(batch.interrupted, Ordering::Relaxed);
        counts.damaged_bytes.fetch_add(batch.damaged, Ordering::Relaxed);
        if batch.damaged > 0 {
            tracing::warn!(bytes = batch.damaged, "the audit spool held bytes that are no record");
        }
    }

    fn forget_old(&mut self, reader: &Reader) -> io::Result<()> {
        let core = self.shared.spool.core();
        for (number, extent) in &reader.segments {
            remove(core, &reader.writer, *number)?;
            self.shared.spool.forget_old(extent.len);
        }
        self.cursor.remove(&reader.writer);
        self.old.pop_front();
        write_cursor(core, &self.cursor)
    }

    async fn delete_spent(&self, reader: &mut Reader, stored: Place) -> io::Result<()> {
        let spool = &self.shared.spool;
        let is_own = reader.writer == spool.writer();
        if is_own {
            let openings = reader.to_carry(stored);
            if !openings.is_empty() {
                let (segment, position) = spool.carry(&openings)?;
                spool.synced(position).await.map_err(io::Error::other)?;
                reader.carried(&openings, segment);
            }
        }
        for number in reader.spent(stored) {
            remove(spool.core(), &reader.writer, number)?;
            let extent = reader.segments.remove(&number);
            if is_own {
                spool.forget(number);
            } else {
                spool.forget_old(extent.map_or(0, |extent| extent.len));
            }
        }
        Ok(())
    }
}

/// Errors that go away by themselves; all others are the row's.
fn is_passing(error: &store::Error) -> bool {
    match error {
        store::Error::Unavailable { cause: store::Cause::Code(code) } => !blames_row(code),
        store::Error::Unavailable { .. } | store::Error::ForeignMigration { .. } | store::Error::UnknownAddress => true,
        store::Error::Conflict { .. }
        | store::Error::Corrupt { .. }
        | store::Error::InvalidText { .. }
        | store::Error::NameTaken { .. }
        | store::Error::NotFound { .. } => false,
    }
}

/// SQLSTATE classes 22 (data) and 23 (constraint); SQLite's too big, constraint, mismatch with their extended codes.
fn blames_row(code: &str) -> bool {
    if code.len() == 5 {
        return code.starts_with("22") || code.starts_with("23");
    }
    code.parse::<u32>().is_ok_and(|code| matches!(code & 0xff, 18..=20))
}

fn remove(core: &Core, writer: &str, number: u32) -> io::Result<()> {
    match std::fs::remove_file(segment::path(&core.dir, writer, number)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn write_cursor(core: &Core, cursor: &BTreeMap<String, Place>) -> io::Result<()> {
    let next = core.dir.join("cursor.next");
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&next)?;
    file.write_all(&super::encode(cursor))?;
    std::fs::rename(&next, core.dir.join(CURSOR))
}
