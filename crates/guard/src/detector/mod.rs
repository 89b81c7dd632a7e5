//! What looks: a detector takes one text and gives the spans it minds. It knows no tree, no action and no surface.
//!
//! | module | looks for |
//! |---|---|
//! | [`builtin`] | secrets, personal data and signals of injection, all in one pass |
//! | [`words`], [`pattern`] | what a policy's author wrote down |
//! | [`url`] | addresses against lists of hosts |
//! | [`file`] | what inline bytes are |
//!
//! Every detector is *local*: whether a span is minded depends on the span, so many characters before it and so many
//! behind it. [`crate::stream`] rests on that.

pub(crate) mod builtin;
pub(crate) mod class;
pub(crate) mod file;
pub(crate) mod injection;
pub(crate) mod pattern;
mod pii;
pub(crate) mod secret;
pub(crate) mod url;
pub(crate) mod words;

use std::ops::Range;

use class::Class;

/// Most separate spans one rule may report in one tree; more is a flood.
pub(crate) const MOST_SPANS: usize = 10_000;

/// What a detector saw in one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The kind, such as `pii.card`.
    pub(crate) kind: &'static str,
    /// Where; the tail not counted.
    pub(crate) span: Range<usize>,
    /// What belongs to it behind the span.
    pub(crate) tail: Tail,
    /// How many of the last characters a mask may show.
    pub(crate) keep: usize,
}

impl Found {
    pub(crate) const fn new(kind: &'static str, span: Range<usize>) -> Self {
        Self { kind, span, tail: Tail::None, keep: 0 }
    }

    const fn with_tail(self, tail: Tail) -> Self {
        Self { tail, ..self }
    }

    const fn keeping(self, keep: usize) -> Self {
        Self { keep, ..self }
    }
}

/// What goes on behind a match without a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Nothing.
    None,
    /// Every character of the class.
    Run(Class),
    /// Everything up to the end of a private key.
    Key,
}

impl Tail {
    /// Where the tail that goes on at `at` ends, and whether that could still change if more text came.
    pub(crate) fn end(self, text: &str, at: usize) -> (usize, bool) {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        match self {
            Self::None => (at, false),
            Self::Run(class) => {
                let end = at.saturating_add(class.run(rest, usize::MAX));
                (end, end == text.len())
            }
            Self::Key => key_end(text, at),
        }
    }
}

/// Behind the line that ends a private key; without one, so far as a key can go.
fn key_end(text: &str, at: usize) -> (usize, bool) {
    let limit = floor(text, at.saturating_add(secret::LONGEST_KEY));
    let body = text.get(at..limit).unwrap_or_default();
    let open = limit == text.len();
    let found = [secret::KEY_END, secret::PUTTY_END].iter().filter_map(|mark| Some((body.find(mark)?, mark.len())));
    let Some((start, length)) = found.min() else { return (limit, open) };
    let line = body.get(start.saturating_add(length)..).unwrap_or_default();
    let end = at.saturating_add(start).saturating_add(length);
    let closing = line.bytes().take(LONGEST_END).position(|byte| matches!(byte, b'\n' | b'\\'));
    let dashes =
        line.get(..floor(line, LONGEST_END)).and_then(|line| line.find("-----")).map(|at| at.saturating_add(5));
    match (dashes, closing) {
        (Some(dashes), Some(closing)) => (end.saturating_add(dashes.min(closing)), false),
        (Some(one), None) | (None, Some(one)) => (end.saturating_add(one), false),
        (None, None) if line.len() >= LONGEST_END => (end.saturating_add(floor(line, LONGEST_END)), false),
        (None, None) => (limit, open),
    }
}

/// Most characters of the line that ends a key.
const LONGEST_END: usize = 128;

/// The last character boundary up to `at`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The first character boundary from `at` on.
pub(crate) fn ceil(text: &str, at: usize) -> usize {
    (at.min(text.len())..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}
