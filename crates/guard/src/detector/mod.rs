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
            Self::Key => key_end(text, at, &mut Marks { searched: at..at, found: None }),
        }
    }
}

/// Where tails end in one text. Asked from left to right, each character is walked about once, however many matches
/// begin in the tail of an earlier one.
pub(crate) struct Ends<'t> {
    text: &'t str,
    /// The last run of each class.
    runs: Vec<(Class, Range<usize>)>,
    marks: Marks,
}

impl<'t> Ends<'t> {
    pub(crate) const fn new(text: &'t str) -> Self {
        Self { text, runs: Vec::new(), marks: Marks { searched: 0..0, found: None } }
    }

    /// As [`Tail::end`].
    pub(crate) fn of(&mut self, tail: Tail, at: usize) -> (usize, bool) {
        match tail {
            Tail::None => (at, false),
            Tail::Run(class) => self.run(class, at),
            Tail::Key => key_end(self.text, at, &mut self.marks),
        }
    }

    fn run(&mut self, class: Class, at: usize) -> (usize, bool) {
        let known = self.runs.iter_mut().find(|(of, _)| *of == class);
        if let Some((_, run)) = &known
            && run.start <= at
            && at <= run.end
        {
            return (run.end, run.end == self.text.len());
        }
        let (end, open) = Tail::Run(class).end(self.text, at);
        match known {
            Some((_, run)) => *run = at..end,
            None => self.runs.push((class, at..end)),
        }
        (end, open)
    }
}

/// The first mark that ends a key in what was searched.
struct Marks {
    searched: Range<usize>,
    found: Option<Range<usize>>,
}

impl Marks {
    /// Longest mark.
    const LONGEST: usize = 16;

    /// The first one from `at` that ends before `limit`.
    fn next(&mut self, text: &str, at: usize, limit: usize) -> Option<Range<usize>> {
        let goes_on = self.searched.start <= at && at <= self.searched.end;
        if !goes_on || self.found.as_ref().is_some_and(|found| found.start < at) {
            *self = Self { searched: at..at, found: None };
        }
        if self.found.is_none() && limit > self.searched.end {
            // A mark may lie across the end of what was searched.
            let from = floor(text, self.searched.end.saturating_sub(Self::LONGEST)).max(at);
            let body = text.get(from..limit).unwrap_or_default();
            let first = |mark: &str| body.find(mark).map(|start| (start, mark.len()));
            let first = [secret::KEY_END, secret::PUTTY_END].into_iter().filter_map(first).min();
            self.found = first.map(|(start, length)| {
                let start = from.saturating_add(start);
                start..start.saturating_add(length)
            });
            self.searched.end = limit;
        }
        self.found.clone().filter(|found| found.end <= limit)
    }
}

/// Behind the line that ends a private key; without one, so far as a key can go.
fn key_end(text: &str, at: usize, marks: &mut Marks) -> (usize, bool) {
    let limit = floor(text, at.saturating_add(secret::LONGEST_KEY));
    let open = limit == text.len();
    let Some(mark) = marks.next(text, at, limit) else { return (limit, open) };
    let end = mark.end;
    let line = text.get(end..limit).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ends_are_the_same_however_many_are_asked_for(pieces in prop::collection::vec(
            prop::sample::select(vec!["sk-ant-", "é", " ", "-----BEGIN PRIVATE KEY", "-----END ", "-----", "\n", "Private-MAC:", "a1", "----"]), 0..60,
        ), pad in 0..2_usize, mut asked in prop::collection::vec((0..3_usize, 0..400_usize), 0..40), sorted in any::<bool>()) {
            let text = format!("{}{}", pieces.concat(), "-x".repeat(pad * secret::LONGEST_KEY / 2));
            if sorted {
                asked.sort_by_key(|(_, at)| *at);
            }
            let mut ends = Ends::new(&text);
            for (which, at) in asked {
                let at = floor(&text, at);
                let tail = [Tail::Key, Tail::Run(Class::WordDash), Tail::Run(Class::Alnum)][which];
                prop_assert_eq!(ends.of(tail, at), tail.end(&text, at), "{:?} at {}", tail, at);
            }
        }
    }
}
