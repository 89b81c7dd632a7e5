//! Frames: how records lie in a segment, and how they are found again in a damaged one.
//!
//! `length u32 LE · CRC-32 u32 LE · kind u8 · flags u8 · number u64 LE · JSON`. Length and CRC cover everything after the CRC. Bit 0 of
//! the flags is kept for "a 32-byte chain hash stands before the JSON"; a kind is kept for signed checkpoints. A reader that loses the
//! thread goes on at the next byte that begins a valid frame: no JSON of ours can hold one, for its length has a zero byte.

/// Bytes before the JSON.
const HEADER: usize = 18;
/// Bytes of the header that length and CRC cover.
const COVERED: usize = HEADER - 8;
/// Longest JSON in a frame.
pub(crate) const MOST_JSON: usize = 1 << 20;
/// Longest frame.
pub(crate) const MOST_FRAME: usize = HEADER + MOST_JSON;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A closing; the number is the record's.
    Close,
    /// Calls served without a record.
    Gap,
    /// The first frame of a segment: writer, format; the number is the segment's.
    Head,
    /// An opening; the number is the record's.
    Open,
    /// A sum of refusals.
    Summary,
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Kind::Close => b'C',
            Kind::Gap => b'G',
            Kind::Head => b'H',
            Kind::Open => b'O',
            Kind::Summary => b'S',
        }
    }

    fn of(byte: u8) -> Option<Kind> {
        [Kind::Close, Kind::Gap, Kind::Head, Kind::Open, Kind::Summary].into_iter().find(|kind| kind.byte() == byte)
    }
}

/// One frame as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) kind: Kind,
    pub(crate) number: u64,
    pub(crate) json: &'a [u8],
}

/// The length a frame with this JSON has.
pub(crate) fn size(json: &[u8]) -> u64 {
    (HEADER + json.len()) as u64
}

/// Appends a frame.
pub(crate) fn write(out: &mut Vec<u8>, kind: Kind, number: u64, json: &[u8]) {
    let length = u32::try_from(COVERED + json.len()).unwrap_or(u32::MAX);
    let mut covered = [0; COVERED];
    covered[0] = kind.byte();
    covered[2..].copy_from_slice(&number.to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&covered);
    crc.update(json);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&crc.finalize().to_le_bytes());
    out.extend_from_slice(&covered);
    out.extend_from_slice(json);
}

/// What lies behind the bytes given to a [`Scanner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// More of the segment: an incomplete frame at the end is to be read again with it.
    More,
    /// Nothing: an incomplete frame at the end is torn.
    None,
}

/// Finds the frames of a segment, or of a piece of one that starts where a frame starts.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    rest: Rest,
    at: usize,
    damaged: usize,
}

enum Look<'a> {
    Frame(Frame<'a>, usize),
    Incomplete,
    Garbage,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8], rest: Rest) -> Scanner<'a> {
        Scanner { bytes, rest, at: 0, damaged: 0 }
    }

    /// Where the next frame is looked for.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Bytes skipped because they are no frame.
    pub(crate) fn damaged(&self) -> usize {
        self.damaged
    }

    fn look(&self) -> Look<'a> {
        let left = self.bytes.get(self.at..).unwrap_or_default();
        let Some((header, body)) = left.split_first_chunk::<HEADER>() else { return Look::Incomplete };
        let [l0, l1, l2, l3, c0, c1, c2, c3, kind, flags, number @ ..] = *header;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let (Some(kind), 0, COVERED..=MAX_LENGTH) = (Kind::of(kind), flags, length) else { return Look::Garbage };
        let Some(json) = body.get(..length - COVERED) else { return Look::Incomplete };
        let mut crc = crc32fast::Hasher::new();
        crc.update(&header[8..]);
        crc.update(json);
        if crc.finalize() != u32::from_le_bytes([c0, c1, c2, c3]) {
            return Look::Garbage;
        }
        Look::Frame(Frame { kind, number: u64::from_le_bytes(number), json }, HEADER + json.len())
    }
}

const MAX_LENGTH: usize = COVERED + MOST_JSON;

impl<'a> Iterator for Scanner<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        while self.at < self.bytes.len() {
            match (self.look(), self.rest) {
                (Look::Frame(frame, size), _) => {
                    self.at += size;
                    return Some(frame);
                }
                (Look::Incomplete, Rest::More) => return None,
                (Look::Incomplete, Rest::None) | (Look::Garbage, _) => {
                    self.at += 1;
                    self.damaged += 1;
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segment(jsons: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for (number, json) in jsons.iter().enumerate() {
            write(&mut bytes, Kind::Open, number as u64, json);
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn numbers(bytes: &[u8], rest: Rest) -> Vec<u64> {
        Scanner::new(bytes, rest).map(|frame| frame.number).collect()
    }

    #[test]
    fn every_truncation_keeps_exactly_the_whole_frames() {
        let (bytes, ends) = segment(&[b"{}".to_vec(), b"{\"a\":1}".to_vec(), Vec::new(), vec![b'x'; 300]]);
        for cut in 0..=bytes.len() {
            let whole = ends.iter().filter(|end| **end <= cut).count() as u64;
            let piece = &bytes[..cut];
            assert_eq!(numbers(piece, Rest::None), (0..whole).collect::<Vec<_>>(), "{cut}");
            let mut scanner = Scanner::new(piece, Rest::More);
            assert_eq!(scanner.by_ref().count() as u64, whole);
            assert_eq!(scanner.at(), ends.iter().copied().filter(|end| *end <= cut).max().unwrap_or(0));
        }
    }

    #[test]
    fn every_flipped_byte_costs_its_own_frame_only() {
        let (bytes, ends) = segment(&[b"{\"a\":1}".to_vec(), b"{\"b\":2}".to_vec(), b"{\"c\":3}".to_vec()]);
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 0x41;
            let hit = ends.iter().filter(|end| **end <= at).count() as u64;
            let expected: Vec<u64> = (0..3).filter(|number| *number != hit).collect();
            assert_eq!(numbers(&bad, Rest::None), expected, "{at}");
        }
    }

    #[test]
    fn a_hole_of_zeros_hides_nothing_behind_it() {
        let (mut bytes, _) = segment(&[b"{}".to_vec()]);
        bytes.extend([0; 4096]);
        write(&mut bytes, Kind::Close, 9, b"{}");
        let mut scanner = Scanner::new(&bytes, Rest::None);
        assert_eq!(scanner.by_ref().map(|frame| frame.number).collect::<Vec<_>>(), [0, 9]);
        assert_eq!(scanner.damaged(), 4096);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_scanner_fail(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut scanner = Scanner::new(&bytes, Rest::None);
            while scanner.next().is_some() {}
            prop_assert_eq!(scanner.at(), bytes.len());
        }

        #[test]
        fn written_frames_are_read_back(jsons in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..20)) {
            let (bytes, _) = segment(&jsons);
            let read: Vec<Vec<u8>> = Scanner::new(&bytes, Rest::None).map(|frame| frame.json.to_vec()).collect();
            prop_assert_eq!(read, jsons);
        }
    }
}
