//! What looks: a detector takes one text and gives the spans it minds. It knows no tree, no action and no surface.

pub(crate) mod pattern;
pub(crate) mod words;

use std::ops::Range;

/// Most separate spans one detector may report in one text, and in one tree; more is a flood.
pub(crate) const MOST_SPANS: usize = 10_000;

/// One way of looking at a text.
pub(crate) trait Detector: Send + Sync {
    /// Its id in policies.
    fn kind(&self) -> &'static str;

    /// Every span it minds, on character boundaries, sorted and without overlaps.
    fn scan(&self, text: &str) -> Scan;

    /// How many characters on either side of a joint between two texts can belong to one match, context included.
    fn reach(&self) -> usize;
}

/// What a detector saw in one text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    /// All of it.
    Spans(Vec<Range<usize>>),
    /// So much that it gave up listing.
    Flood,
}

impl Scan {
    /// Sorts, and makes one span of those that overlap, so that no piece of a match is left between two replacements.
    pub(crate) fn from_unsorted(mut spans: Vec<Range<usize>>) -> Self {
        spans.sort_unstable_by_key(|span| (span.start, span.end));
        let mut united: Vec<Range<usize>> = Vec::with_capacity(spans.len());
        for span in spans {
            match united.last_mut() {
                Some(last) if span.start < last.end => last.end = last.end.max(span.end),
                Some(_) | None => united.push(span),
            }
        }
        if united.len() > MOST_SPANS { Self::Flood } else { Self::Spans(united) }
    }
}
