//! Offsets of a copy → offsets of what it was made from.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

use std::ops::Range;

use super::Case;

/// The way from one copy to the text below it.
#[derive(Clone, Debug)]
pub(crate) enum Map {
    /// The copy is the text from this offset on.
    Shift(usize),
    /// Stretches, in order.
    Runs(Vec<Run>),
    /// Bytes decoded from digits of `bits` bits each, whose offsets are listed; the first byte begins at digit `first`.
    Digits { offsets: Vec<usize>, bits: usize, first: usize },
}

/// A stretch of the copy and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    at: usize,
    source: Range<usize>,
    /// Byte for byte as its source; else one character that stands for all of it.
    even: bool,
}

impl Map {
    /// The span below a non-empty span of the copy.
    pub(super) fn below(&self, span: Range<usize>) -> Range<usize> {
        match self {
            Self::Shift(by) => span.start + by..span.end + by,
            Self::Runs(runs) => start(runs, span.start)..end(runs, span.end),
            Self::Digits { offsets, bits, first } => {
                let from = first + span.start * 8 / bits;
                let last = first + (span.end * 8).div_ceil(*bits).saturating_sub(1);
                let at = |digit: usize| offsets.get(digit).or_else(|| offsets.last()).copied().unwrap_or_default();
                at(from)..at(last) + 1
            }
        }
    }

    /// The first place of a copy of `length` bytes that comes from `source` or behind it. Digits are never asked for.
    pub(super) fn above(&self, source: usize, length: usize) -> usize {
        match self {
            Self::Shift(by) => source.saturating_sub(*by),
            Self::Runs(runs) => {
                let Some(run) = runs.get(runs.partition_point(|run| run.source.end <= source)) else { return length };
                if run.even {
                    run.at + source.saturating_sub(run.source.start)
                } else if run.source.start >= source {
                    run.at
                } else {
                    run.at + 1
                }
            }
            Self::Digits { .. } => length,
        }
    }
}

fn start(runs: &[Run], at: usize) -> usize {
    find(runs, at).map_or(at, |run| if run.even { run.source.start + (at - run.at) } else { run.source.start })
}

fn end(runs: &[Run], end: usize) -> usize {
    find(runs, end.saturating_sub(1)).map_or(end, |run| {
        if run.even { (run.source.start + (end - run.at)).min(run.source.end) } else { run.source.end }
    })
}

/// The run that holds a byte of the copy.
fn find(runs: &[Run], at: usize) -> Option<&Run> {
    runs.get(runs.partition_point(|run| run.at <= at).checked_sub(1)?)
}

/// Makes a copy and its map from left to right.
#[derive(Debug)]
pub(super) struct Builder {
    text: String,
    runs: Vec<Run>,
}

impl Builder {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), runs: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// A character that takes as many bytes in the copy as in the source.
    pub(super) fn copy(&mut self, source: usize, character: char) {
        let length = character.len_utf8();
        match self.runs.last_mut() {
            Some(run) if run.even && run.source.end == source => run.source.end += length,
            Some(_) | None => {
                self.runs.push(Run { at: self.text.len(), source: source..source + length, even: true });
            }
        }
        self.text.push(character);
    }

    /// ASCII characters, copied one by one; in lower case where case is folded.
    pub(super) fn copy_all(&mut self, source: usize, stretch: &str, case: Case) {
        if stretch.is_empty() {
            return;
        }
        let at = self.text.len();
        match self.runs.last_mut() {
            Some(run) if run.even && run.source.end == source => run.source.end += stretch.len(),
            Some(_) | None => self.runs.push(Run { at, source: source..source + stretch.len(), even: true }),
        }
        self.text.push_str(stretch);
        if case == Case::Folded
            && let Some(copy) = self.text.get_mut(at..)
        {
            copy.make_ascii_lowercase();
        }
    }

    /// A character that stands for a span of the source.
    pub(super) fn replace(&mut self, source: Range<usize>, character: char) {
        if source.len() == character.len_utf8() {
            return self.copy(source.start, character);
        }
        self.runs.push(Run { at: self.text.len(), source, even: false });
        self.text.push(character);
    }

    /// What follows in the source, up to `end`, belongs to the last character.
    pub(super) fn extend_last(&mut self, end: usize) {
        let Some(last) = self.text.chars().next_back() else { return };
        let Some(run) = self.runs.last_mut() else { return };
        if !run.even {
            run.source.end = run.source.end.max(end);
            return;
        }
        let length = last.len_utf8();
        let start = run.source.end - length;
        let at = self.text.len() - length;
        run.source.end = start;
        if run.source.is_empty() {
            self.runs.pop();
        }
        self.runs.push(Run { at, source: start..end, even: false });
    }

    pub(super) fn finish(self) -> (String, Map) {
        (self.text, Map::Runs(self.runs))
    }
}
