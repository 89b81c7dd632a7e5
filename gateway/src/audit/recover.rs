//! Reading segments back: frames → rows for the store, of this process while it runs and of earlier ones.
//!
//! Takes the segments of one writer, gives batches of at most 500 rows, an opening and its closing as one. What an earlier process left
//! open becomes `interrupted`. A torn or damaged stretch costs what it covers and is counted; nothing is changed or cut off on disk, so
//! reading can be repeated at will. Says which segments are no longer needed: always the oldest first, so that the closing of an opening
//! that is still there is there too.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::record::Opening;
use super::ship::rows;
use super::spool::frame::{self, Frame, Kind, Rest, Scanner};
use super::spool::{Extent, segment};
use crate::clock::Micros;

/// Most rows of a batch.
pub(crate) const BATCH: usize = 500;
/// Bytes read at once.
const PIECE: u64 = 256 * 1024;
/// An opening is sent ahead of its closing when it is this old.
const SLOW: Micros = 2_000_000;

/// What earlier processes left in the spool; the shipper works it off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Processes.
    pub writers: usize,
    /// Their segments.
    pub segments: usize,
    /// Bytes in them.
    pub bytes: u64,
}

impl Recovered {
    pub(crate) fn of<'a>(old: impl IntoIterator<Item = &'a OldWriter>) -> Recovered {
        old.into_iter().fold(Recovered::default(), |sum, writer| Recovered {
            writers: sum.writers + 1,
            segments: sum.segments + writer.segments.len(),
            bytes: sum.bytes + writer.segments.values().sum::<u64>(),
        })
    }
}

/// The segments of an earlier process, with their sizes.
#[derive(Clone, Debug)]
pub(crate) struct OldWriter {
    pub(crate) writer: String,
    pub(crate) segments: BTreeMap<u32, u64>,
}

/// A place in a writer's segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) segment: u32,
    pub(crate) offset: u64,
}

/// Rows to bring to the store.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) records: Vec<store::AuditRecord>,
    pub(crate) summaries: Vec<store::AuditSummary>,
    /// Of the records.
    pub(crate) marks: Vec<store::AuditMark>,
    /// Where reading went on when it was filled.
    pub(crate) upto: Place,
    pub(crate) interrupted: u64,
    pub(crate) damaged: u64,
    /// The writer has nothing more and never will.
    pub(crate) ended: bool,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.summaries.is_empty()
    }

    /// Whether it ends where the spool ends.
    pub(crate) fn has_room(&self) -> bool {
        self.records.len() < BATCH && self.summaries.len() < BATCH
    }
}

/// Whether the writer may still write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// It ended; what it left open was interrupted.
    Ended,
    /// It is this process.
    Running,
    /// It is this process and it stops: openings are sent however young.
    Stopping,
}

/// An opening whose closing has not been read.
#[derive(Debug)]
struct Pending {
    opening: Opening,
    json: Vec<u8>,
    segment: u32,
}

/// Reads one writer.
#[derive(Debug)]
pub(crate) struct Reader {
    dir: PathBuf,
    pub(crate) writer: String,
    pub(crate) segments: BTreeMap<u32, Extent>,
    at: Place,
    /// Rows before this place are in the store already.
    stored: Place,
    open: BTreeMap<u64, Pending>,
    young: VecDeque<u64>,
}

impl Reader {
    pub(crate) fn new(dir: PathBuf, writer: String, segments: BTreeMap<u32, Extent>, stored: Place) -> Reader {
        Reader { dir, writer, segments, at: Place::default(), stored, open: BTreeMap::new(), young: VecDeque::new() }
    }

    pub(crate) fn of_old(dir: PathBuf, old: OldWriter, stored: Place) -> Reader {
        let sealed = |(number, len)| (number, Extent { len, sealed: true });
        Reader::new(dir, old.writer, old.segments.into_iter().map(sealed).collect(), stored)
    }

    /// The next rows; none when everything was read.
    pub(crate) fn fill(&mut self, life: Life, now: Micros) -> io::Result<Batch> {
        let mut batch = Batch::default();
        let mut more = true;
        while more && batch.has_room() {
            more = self.read(&mut batch)?;
        }
        match life {
            Life::Ended if !more => self.interrupt(&mut batch, now),
            Life::Running => self.send_slow(&mut batch, now - SLOW),
            Life::Stopping => self.send_slow(&mut batch, Micros::MAX),
            Life::Ended => {}
        }
        batch.upto = self.at;
        Ok(batch)
    }

    /// Segments that hold nothing needed once everything before `stored` is in the store.
    pub(crate) fn spent(&self, stored: Place) -> Vec<u32> {
        let oldest_open = self.open.values().map(|pending| pending.segment).min().unwrap_or(u32::MAX);
        let done = |(number, extent): (&u32, &Extent)| {
            (extent.sealed && *number < stored.segment && *number < oldest_open).then_some(*number)
        };
        self.segments.iter().map_while(done).collect()
    }

    /// The openings that alone keep the oldest segment, when it should go.
    pub(crate) fn to_carry(&self, stored: Place) -> Vec<(u64, Vec<u8>)> {
        let mut done = self.segments.iter().filter(|(number, extent)| extent.sealed && **number < stored.segment);
        let (Some((oldest, _)), Some(_)) = (done.next(), done.next()) else { return Vec::new() };
        let there = self.open.iter().filter(|(_, pending)| pending.segment == *oldest);
        there.map(|(seq, pending)| (*seq, pending.json.clone())).collect()
    }

    /// Notes that openings were written again into `segment`.
    pub(crate) fn carried(&mut self, openings: &[(u64, Vec<u8>)], segment: u32) {
        for (seq, _) in openings {
            if let Some(pending) = self.open.get_mut(seq) {
                pending.segment = segment;
            }
        }
    }

    /// Reads one piece; `false` at the end of what there is.
    fn read(&mut self, batch: &mut Batch) -> io::Result<bool> {
        let Some((number, extent)) =
            self.segments.range(self.at.segment..).next().map(|(number, extent)| (*number, *extent))
        else {
            return Ok(false);
        };
        if number != self.at.segment {
            self.at = Place { segment: number, offset: 0 };
        }
        if self.at.offset >= extent.len {
            if extent.sealed {
                self.at = Place { segment: number + 1, offset: 0 };
            }
            return Ok(extent.sealed);
        }
        match self.piece(extent.len) {
            Ok((bytes, rest)) => self.scan(&bytes, rest, batch),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                batch.damaged += extent.len - self.at.offset;
                self.at.offset = extent.len;
            }
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    fn piece(&self, len: u64) -> io::Result<(Vec<u8>, Rest)> {
        let file = File::open(segment::path(&self.dir, &self.writer, self.at.segment))?;
        let left = len - self.at.offset;
        let mut size = left.min(PIECE);
        loop {
            let mut bytes = vec![0; usize::try_from(size).unwrap_or(frame::MOST_FRAME)];
            let rest = if size < left { Rest::More } else { Rest::None };
            match file.read_exact_at(&mut bytes, self.at.offset) {
                Ok(()) => {}
                // Shorter than listed: somebody cut it; the missing end counts as damage.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
                Err(error) => return Err(error),
            }
            let mut scanner = Scanner::new(&bytes, rest);
            if rest == Rest::None || scanner.next().is_some() || scanner.at() > 0 {
                return Ok((bytes, rest));
            }
            size = left.min(frame::MOST_FRAME as u64);
        }
    }

    fn scan(&mut self, bytes: &[u8], rest: Rest, batch: &mut Batch) {
        let start = self.at.offset;
        let mut scanner = Scanner::new(bytes, rest);
        let mut read = 0;
        while batch.has_room() {
            let Some(frame) = scanner.next() else { break };
            // Taken before the frame is looked at: damage before it belongs to what was read.
            self.at.offset = start + read as u64;
            self.take(&frame, batch);
            read = scanner.at();
        }
        if batch.has_room() {
            read = scanner.at();
        }
        self.at.offset = start + read as u64;
        batch.damaged += scanner.damaged() as u64;
    }

    fn take(&mut self, frame: &Frame<'_>, batch: &mut Batch) {
        let is_stored = self.at < self.stored;
        match frame.kind {
            Kind::Head => {}
            Kind::Open => self.take_opening(frame, is_stored),
            Kind::Close => {
                let opened = self.open.remove(&frame.number);
                if !is_stored {
                    let opened = opened.as_ref().map(|pending| (&pending.opening, pending.json.as_slice()));
                    let (row, marks) = rows::closed(&self.writer, frame.number, opened, frame.json);
                    batch.records.push(row);
                    batch.marks.extend(marks);
                }
            }
            Kind::Summary | Kind::Gap if is_stored => {}
            Kind::Summary => batch.summaries.extend(rows::summary(&self.writer, frame.json)),
            Kind::Gap => batch.summaries.extend(rows::gap(&self.writer, frame.json)),
        }
    }

    fn take_opening(&mut self, frame: &Frame<'_>, is_stored: bool) {
        let segment = self.at.segment;
        if let Some(pending) = self.open.get_mut(&frame.number) {
            pending.segment = segment;
            return;
        }
        let opening = serde_json::from_slice(frame.json).unwrap_or_default();
        self.open.insert(frame.number, Pending { opening, json: frame.json.to_vec(), segment });
        if !is_stored {
            self.young.push_back(frame.number);
        }
    }

    fn interrupt(&mut self, batch: &mut Batch, now: Micros) {
        while batch.has_room() {
            let Some((seq, pending)) = self.open.pop_first() else {
                batch.ended = true;
                return;
            };
            let opened = Some((&pending.opening, pending.json.as_slice()));
            let json = format!("{{\"at_us\":{now},\"outcome\":\"interrupted\"}}");
            batch.records.push(rows::closed(&self.writer, seq, opened, json.as_bytes()).0);
            batch.interrupted += 1;
        }
    }

    fn send_slow(&mut self, batch: &mut Batch, until: Micros) {
        while batch.has_room() {
            let Some(seq) = self.young.front() else { return };
            match self.open.get(seq) {
                Some(pending) if pending.opening.at_us > until => return,
                Some(pending) => {
                    let row = rows::open(&self.writer, *seq, &pending.opening, &pending.json);
                    batch.records.push(row);
                }
                None => {}
            }
            self.young.pop_front();
        }
    }
}
