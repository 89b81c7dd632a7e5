//! The durable spool: records in framed segment files, numbered without gaps, within a budget of bytes.
//!
//! Takes JSON of openings, closings and sums; gives positions that [`Spool::durable`] waits for. Openings are refused when the budget
//! or the disk is full; room for the closings of what is open is kept back, and sums of refusals have a share of their own that
//! neither side can take from the other (product.md D19). One short lock, one `write` per record. Never reads what it wrote: that is
//! [`super::recover`]'s.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{AuditFull, AuditLost, Fsync, OnFull};
use crate::clock::Micros;

mod commit;
pub(crate) mod frame;
pub(crate) mod open;
pub(crate) mod segment;

use commit::Commit;
use frame::Kind;
pub use open::StartError;
use segment::{Faults, Segment};

/// Bytes kept back for the closing of each open record.
const CLOSING: u64 = 1024;
/// Sums of refusals get one part in this many.
const SUMMARY_PART: u64 = 16;
/// Closings that could not be written and wait for the disk; more are lost and counted.
const LATE: usize = 4096;

/// Bytes written since the process began: what waiters wait for.
pub(crate) type Position = u64;

/// How the spool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// The disk refuses.
    Failing(io::ErrorKind),
    /// The budget is used up.
    Full,
    /// Records are taken.
    Ready,
}

/// How full, how far behind, how well; for metrics and `/readyz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes in the spool.
    pub bytes: u64,
    /// Bytes it may hold.
    pub max_bytes: u64,
    /// Records open now.
    pub open: u64,
    /// Closings waiting for the disk to work again.
    pub late: u64,
    /// Calls served without a record, by choice.
    pub unrecorded: u64,
    /// Closings that were never written.
    pub lost: u64,
    /// Sums of refusals that had no room.
    pub sums_dropped: u64,
    /// Records brought to the store.
    pub shipped: u64,
    /// Records of earlier processes closed as interrupted.
    pub interrupted: u64,
    /// Records that the store refused; they lie in `rejected.jsonl`.
    pub rejected: u64,
    /// Bytes in segments that are no record.
    pub damaged_bytes: u64,
    /// Failed attempts to reach the store since the last success.
    pub store_failures: u64,
    /// How it is.
    pub health: Health,
}

impl Backlog {
    /// Whether four fifths of the budget are used: time to alarm.
    #[must_use]
    pub fn is_high(&self) -> bool {
        self.bytes >= self.max_bytes / 5 * 4
    }
}

/// Counters that only grow, except `store_failures`.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) unrecorded: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) sums_dropped: AtomicU64,
    pub(crate) shipped: AtomicU64,
    pub(crate) interrupted: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) damaged_bytes: AtomicU64,
    pub(crate) store_failures: AtomicU64,
}

/// The spool of this process.
#[derive(Debug)]
pub(crate) struct Spool {
    core: Arc<Core>,
}

/// What the committing thread shares.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) dir: PathBuf,
    pub(crate) writer: String,
    fsync: Fsync,
    on_full: OnFull,
    segment_bytes: u64,
    max_bytes: u64,
    pub(crate) log: Mutex<Log>,
    pub(crate) commit: Commit,
    pub(crate) counts: Counts,
    pub(crate) faults: Arc<Faults>,
    /// Held while the process lives, so that no other one writes here.
    _lock: File,
}

/// A segment of this process as the shipper sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) len: u64,
    pub(crate) sealed: bool,
}

/// Everything that changes, under one lock.
#[derive(Debug)]
pub(crate) struct Log {
    segment: Segment,
    summary_bytes: u64,
    sealed: BTreeMap<u32, Sealed>,
    /// Bytes of earlier processes' segments.
    old_bytes: u64,
    written: Position,
    next_seq: u64,
    live: HashSet<u64>,
    late: VecDeque<(u64, Vec<u8>)>,
    gap: Gap,
    unsynced: Vec<Arc<File>>,
    dir_unsynced: bool,
    /// Nothing is opened until a later fdatasync works.
    sync_failed: bool,
    health: Health,
    buffer: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Sealed {
    /// What was written before it.
    start: Position,
    len: u64,
    summary_bytes: u64,
}

/// Calls served unrecorded and not yet told by a frame.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    count: u64,
    from: Micros,
    until: Micros,
}

/// What one round of the committing thread brings to disk.
pub(crate) struct Unsynced {
    files: Vec<Arc<File>>,
    dir: bool,
    pub(crate) upto: Position,
}

impl Unsynced {
    pub(crate) fn sync(&self, dir: &Path) -> io::Result<()> {
        self.files.iter().try_for_each(|file| file.sync_data())?;
        if self.dir { File::open(dir)?.sync_all() } else { Ok(()) }
    }
}

impl Spool {
    pub(crate) fn writer(&self) -> &str {
        &self.core.writer
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Writes an opening. `None`: served without a record, by choice.
    pub(crate) fn open_record(&self, json: &[u8], at_us: Micros) -> Result<Option<(u64, Position)>, AuditFull> {
        let mut log = lock(&self.core.log);
        match self.core.try_open(&mut log, json) {
            Ok(opened) => Ok(Some(opened)),
            Err(health) => {
                log.health = health;
                match self.core.on_full {
                    OnFull::Reject => Err(AuditFull),
                    OnFull::Drop => {
                        log.gap.add(at_us);
                        self.core.counts.unrecorded.fetch_add(1, Ordering::Relaxed);
                        Ok(None)
                    }
                }
            }
        }
    }

    /// Writes a closing; the budget never stands in its way.
    pub(crate) fn close_record(&self, seq: u64, json: &[u8]) -> Result<Option<Position>, AuditLost> {
        let mut log = lock(&self.core.log);
        match self.core.append(&mut log, &[(Kind::Close, seq, json)]) {
            Ok(position) => {
                log.live.remove(&seq);
                Ok(Some(position))
            }
            Err(error) => {
                log.health = Health::Failing(error.kind());
                if log.late.len() < LATE {
                    log.late.push_back((seq, json.to_vec()));
                } else {
                    self.core.counts.lost.fetch_add(1, Ordering::Relaxed);
                }
                match self.core.on_full {
                    OnFull::Reject => Err(AuditLost),
                    OnFull::Drop => Ok(None),
                }
            }
        }
    }

    /// Writes sums of refusals while their share lasts.
    pub(crate) fn summary_records(&self, jsons: &[Vec<u8>]) {
        let mut log = lock(&self.core.log);
        for json in jsons {
            let size = frame::size(json);
            let share = self.core.max_bytes / SUMMARY_PART;
            let fits = log.all_summary_bytes() + size <= share;
            if fits && self.core.append(&mut log, &[(Kind::Summary, 0, json)]).is_ok() {
                log.summary_bytes += size;
            } else {
                self.core.counts.sums_dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Writes closings and a gap that the disk refused earlier.
    pub(crate) fn retry_late(&self) {
        let mut log = lock(&self.core.log);
        while let Some((seq, json)) = log.late.pop_front() {
            if self.core.append(&mut log, &[(Kind::Close, seq, &json)]).is_err() {
                log.late.push_front((seq, json));
                return;
            }
            log.live.remove(&seq);
        }
        if log.gap.count > 0 {
            let _ = self.core.write_gap(&mut log);
        }
    }

    /// Writes openings again that are still open, so that their old segment can go. Gives the segment they are in now.
    pub(crate) fn carry(&self, openings: &[(u64, Vec<u8>)]) -> io::Result<(u32, Position)> {
        let mut log = lock(&self.core.log);
        for (seq, json) in openings {
            if log.live.contains(seq) {
                self.core.append(&mut log, &[(Kind::Open, *seq, json)])?;
            }
        }
        Ok((log.segment.number(), log.written))
    }

    /// This process's segments, as far as they are on disk: the store must not learn of a record that a crash could still undo.
    pub(crate) fn extents(&self) -> BTreeMap<u32, Extent> {
        let synced = self.core.commit.upto();
        let log = lock(&self.core.log);
        let extent = |start: Position, len: u64, sealed: bool| {
            let on_disk = synced.saturating_sub(start).min(len);
            Extent { len: on_disk, sealed: sealed && on_disk == len }
        };
        let sealed = log.sealed.iter().map(|(number, sealed)| (*number, extent(sealed.start, sealed.len, true)));
        let newest = (log.segment.number(), extent(log.written - log.segment.len(), log.segment.len(), false));
        sealed.chain([newest]).collect()
    }

    /// Takes a deleted segment of this process off the books.
    pub(crate) fn forget(&self, number: u32) {
        lock(&self.core.log).sealed.remove(&number);
    }

    /// Takes a deleted segment of an earlier process off the books.
    pub(crate) fn forget_old(&self, bytes: u64) {
        let mut log = lock(&self.core.log);
        log.old_bytes = log.old_bytes.saturating_sub(bytes);
    }

    /// Waits until `position` is on disk, as far as the settings ask for it.
    pub(crate) async fn durable(&self, position: Position) -> Result<(), AuditLost> {
        match self.core.fsync {
            Fsync::Always => self.synced(position).await,
            Fsync::Interval => Ok(()),
        }
    }

    /// Waits until `position` is on disk.
    pub(crate) async fn synced(&self, position: Position) -> Result<(), AuditLost> {
        self.core.commit.reach(position).await
    }

    /// How far was written.
    pub(crate) fn written(&self) -> Position {
        lock(&self.core.log).written
    }

    pub(crate) fn backlog(&self) -> Backlog {
        let log = lock(&self.core.log);
        let counts = &self.core.counts;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Backlog {
            bytes: log.bytes(),
            max_bytes: self.core.max_bytes,
            open: log.live.len() as u64,
            late: log.late.len() as u64,
            unrecorded: read(&counts.unrecorded),
            lost: read(&counts.lost),
            sums_dropped: read(&counts.sums_dropped),
            shipped: read(&counts.shipped),
            interrupted: read(&counts.interrupted),
            rejected: read(&counts.rejected),
            damaged_bytes: read(&counts.damaged_bytes),
            store_failures: read(&counts.store_failures),
            health: match log.health {
                Health::Full if self.core.has_room(&log, CLOSING) => Health::Ready,
                health @ (Health::Failing(_) | Health::Full | Health::Ready) => health,
            },
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.core.commit.stop();
    }
}

impl Core {
    fn try_open(&self, log: &mut Log, json: &[u8]) -> Result<(u64, Position), Health> {
        if log.sync_failed {
            return Err(log.health);
        }
        if !self.has_room(log, frame::size(json)) {
            return Err(Health::Full);
        }
        let failing = |error: io::Error| Health::Failing(error.kind());
        if log.gap.count > 0 {
            self.write_gap(log).map_err(failing)?;
        }
        let seq = log.next_seq;
        let written = self.append(log, &[(Kind::Open, seq, json)]).map_err(failing)?;
        log.next_seq += 1;
        log.live.insert(seq);
        log.health = Health::Ready;
        Ok((seq, written))
    }

    /// Records may use what is neither the sums' share nor kept back for closings.
    fn has_room(&self, log: &Log, size: u64) -> bool {
        let records = log.bytes() - log.all_summary_bytes();
        let closings = (log.live.len() as u64 + 1) * CLOSING;
        records + size + closings <= self.max_bytes - self.max_bytes / SUMMARY_PART
    }

    fn write_gap(&self, log: &mut Log) -> io::Result<()> {
        let Gap { count, from, until } = log.gap;
        let json = format!("{{\"count\":{count},\"from_us\":{from},\"until_us\":{until}}}");
        self.append(log, &[(Kind::Gap, 0, json.as_bytes())])?;
        log.gap = Gap::default();
        Ok(())
    }

    fn append(&self, log: &mut Log, frames: &[(Kind, u64, &[u8])]) -> io::Result<Position> {
        if log.segment.is_spent() || log.segment.len() >= self.segment_bytes {
            self.rotate(log)?;
        }
        let mut buffer = std::mem::take(&mut log.buffer);
        buffer.clear();
        for (kind, number, json) in frames {
            frame::write(&mut buffer, *kind, *number, json);
        }
        let result = log.segment.append(&buffer);
        let size = buffer.len() as u64;
        log.buffer = buffer;
        result?;
        log.written += size;
        Ok(log.written)
    }

    /// What the committing thread has to do; after a failure also without anything new, to learn whether the disk works again.
    pub(crate) fn unsynced(&self, synced: Position) -> Option<Unsynced> {
        let mut log = lock(&self.log);
        if log.sync_failed && log.segment.is_spent() {
            self.rotate(&mut log).ok()?;
        }
        (log.written > synced || log.sync_failed).then(|| log.take_unsynced())
    }

    fn rotate(&self, log: &mut Log) -> io::Result<()> {
        let number = log.segment.number() + 1;
        let next = match Segment::create(&self.dir, &self.writer, number, &self.faults) {
            Ok(next) => next,
            Err(error) => {
                // A file that was created without its head is in the way of the next attempt.
                let _ = std::fs::remove_file(segment::path(&self.dir, &self.writer, number));
                return Err(error);
            }
        };
        let old = std::mem::replace(&mut log.segment, next);
        if !old.is_given_up() {
            log.unsynced.push(old.file());
        }
        log.dir_unsynced = true;
        let start = log.written - old.len();
        log.written += log.segment.len();
        let sealed = Sealed { start, len: old.len(), summary_bytes: std::mem::take(&mut log.summary_bytes) };
        log.sealed.insert(old.number(), sealed);
        Ok(())
    }
}

impl Log {
    fn bytes(&self) -> u64 {
        self.old_bytes + self.segment.len() + self.sealed.values().map(|sealed| sealed.len).sum::<u64>()
    }

    fn all_summary_bytes(&self) -> u64 {
        self.summary_bytes + self.sealed.values().map(|sealed| sealed.summary_bytes).sum::<u64>()
    }

    fn take_unsynced(&mut self) -> Unsynced {
        let mut files = std::mem::take(&mut self.unsynced);
        files.push(self.segment.file());
        Unsynced { files, dir: std::mem::take(&mut self.dir_unsynced), upto: self.written }
    }

    /// Notes how the disk did. A segment whose records may be lost is given up.
    pub(crate) fn synced(&mut self, failed: Option<io::ErrorKind>, had_records: bool) {
        match failed {
            Some(kind) => {
                self.health = Health::Failing(kind);
                self.sync_failed = true;
                self.dir_unsynced = true;
                if had_records {
                    self.segment.give_up();
                }
            }
            None if self.sync_failed => {
                self.sync_failed = false;
                self.health = Health::Ready;
            }
            None => {}
        }
    }
}

impl Gap {
    fn add(&mut self, at_us: Micros) {
        if self.count == 0 {
            self.from = at_us;
        }
        self.count += 1;
        self.until = self.until.max(at_us);
    }
}

/// A lock that a panic elsewhere does not take away: every change under it is one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
