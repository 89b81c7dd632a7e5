//! Replaces spans of text: by a token, by asterisks, by nothing.
//!
//! Spans that overlap are one: its first mark says what is written, and nothing of what later marks cover is left. The
//! same walk serves a whole text and a text that arrives in pieces ([`Painter::walk`]), which is why both come out equal.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

use std::ops::Range;
use std::sync::Arc;

use crate::finding::Action;

/// A span to replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) span: Range<usize>,
    pub(crate) style: Style,
    /// Which of several marks that begin at one place counts; the lowest.
    pub(crate) rank: usize,
}

/// What is written in place of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// This, at the start.
    Token(Arc<str>),
    /// An asterisk for each character but the last letters and digits.
    Mask { keep: usize },
}

/// What the walk writes: text as it is, or something in its place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Written<'t> {
    Text(&'t str),
    Token(&'t str),
}

impl<'t> Written<'t> {
    pub(crate) const fn as_str(self) -> &'t str {
        match self {
            Self::Text(text) | Self::Token(text) => text,
        }
    }
}

impl Style {
    /// What an action writes for a match of the kind or rule called `label`.
    pub(crate) fn of(action: Action, label: &str, hash: &str, keep: usize) -> Self {
        match action {
            Action::Mask => Self::Mask { keep },
            Action::Tokenise => Self::Token(format!("[{label}#{}]", hash.get(..12).unwrap_or(hash)).into()),
            Action::Allow | Action::Monitor | Action::Redact | Action::Block => Self::Token(token(label).into()),
        }
    }
}

/// What stands in place of redacted text.
pub(crate) fn token(label: &str) -> String {
    format!("[REDACTED:{label}]")
}

/// Where texts that were joined begin.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// Where they begin, one after the other, and where the last ends.
    at: Vec<usize>,
}

impl Bounds {
    pub(crate) fn new(at: Vec<usize>) -> Self {
        Self { at }
    }

    pub(crate) fn starts(&self) -> &[usize] {
        &self.at
    }

    /// Which text a place belongs to; what is before all belongs to the first.
    pub(crate) fn leaf(&self, at: usize) -> usize {
        let leaves = self.at.len().saturating_sub(2);
        self.at.partition_point(|start| *start <= at).saturating_sub(1).min(leaves)
    }

    /// Writes into the leaves that the text came from; what was held back goes into the first.
    pub(crate) fn write(&self, at: usize, piece: Written<'_>, out: &mut [String]) {
        let first = self.leaf(at);
        let mut rest = piece.as_str();
        let mut at = at;
        if let Written::Text(_) = piece {
            for leaf in first..out.len() {
                let end = self.at.get(leaf + 1).copied().unwrap_or(usize::MAX);
                let Some((here, behind)) = rest.split_at_checked(end.saturating_sub(at)) else { break };
                if let Some(out) = out.get_mut(leaf) {
                    out.push_str(here);
                }
                rest = behind;
                at += here.len();
            }
        }
        if let Some(out) = out.get_mut(self.leaf(at)) {
            out.push_str(rest);
        }
    }
}

/// The union of overlapping marks that is being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Painter {
    union: Option<Union>,
    /// Whether what is replaced goes on behind the end of what was seen.
    pub(crate) follows: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Union {
    end: usize,
    masks: bool,
}

impl Painter {
    /// Writes text from `from` on, as far as it is decided: marks that begin before `safe` are all known, others are
    /// not. They come sorted by start and rank. Gives where it stopped: at `safe`, or at the end of a span that is already replaced.
    pub(crate) fn walk(
        &mut self,
        text: &str,
        marks: &[Mark],
        from: usize,
        safe: usize,
        write: &mut dyn FnMut(usize, Written<'_>),
    ) -> usize {
        let known = Known::new(marks.get(..marks.partition_point(|mark| mark.span.start < safe)).unwrap_or_default());
        let mut at = from;
        loop {
            if let Some(union) = &mut self.union {
                union.end = known.reach(union.end);
                if union.masks {
                    let end = union.end.min(safe);
                    at = masked(text, known.over(&(at..end.max(at))), at..end.max(at), write);
                    if at < union.end {
                        return at;
                    }
                } else {
                    at = at.max(union.end.min(text.len()));
                }
                if safe < union.end || at < union.end || (self.follows && union.end >= text.len()) {
                    return at;
                }
                // What begins behind the span and is not known yet may still begin inside it, unless all before is known.
                self.union = None;
                continue;
            }
            let Some(next) = known.from(at) else {
                if at < safe {
                    write(at, Written::Text(text.get(at..safe).unwrap_or_default()));
                }
                return at.max(safe);
            };
            write(at, Written::Text(text.get(at..next.span.start).unwrap_or_default()));
            at = next.span.start;
            self.union = Some(Union { end: next.span.end, masks: matches!(next.style, Style::Mask { .. }) });
            if let Style::Token(token) = &next.style {
                write(at, Written::Token(token));
            }
        }
    }

    /// Whether `at` lies in what is being replaced.
    pub(crate) fn covers(&self, at: usize) -> bool {
        self.union.as_ref().is_some_and(|union| at < union.end)
    }

    /// The text loses its first `count` bytes.
    pub(crate) fn shift(&mut self, count: usize) {
        if let Some(union) = &mut self.union {
            union.end = union.end.saturating_sub(count);
        }
    }

    /// A tail that begins at `from` goes on up to `end` at least. What is replaced now may be something before it.
    pub(crate) fn extend(&mut self, from: usize, end: usize) {
        if let Some(union) = self.union.as_mut().filter(|union| from <= union.end) {
            union.end = union.end.max(end);
        }
    }
}

/// Marks sorted by start and rank, and how far those up to each reach: what a walk asks of them is found by halving.
struct Known<'m> {
    marks: &'m [Mark],
    reach: Vec<usize>,
}

impl<'m> Known<'m> {
    fn new(marks: &'m [Mark]) -> Self {
        let mut furthest = 0;
        let reach = marks.iter().map(|mark| {
            furthest = furthest.max(mark.span.end);
            furthest
        });
        Self { marks, reach: reach.collect() }
    }

    /// Where marks end that begin before `end`, or before the end of one that does.
    fn reach(&self, mut end: usize) -> usize {
        loop {
            let before = self.marks.partition_point(|mark| mark.span.start < end);
            let reach = before.checked_sub(1).and_then(|last| self.reach.get(last)).copied().unwrap_or(0);
            if reach <= end {
                return end;
            }
            end = reach;
        }
    }

    /// The first that begins at `at` or behind it.
    fn from(&self, at: usize) -> Option<&'m Mark> {
        self.marks.get(self.marks.partition_point(|mark| mark.span.start < at))
    }

    /// Some that begin before the range's end, with all that lie in it.
    fn over(&self, range: &Range<usize>) -> &'m [Mark] {
        let first = self.reach.partition_point(|reach| *reach <= range.start);
        let last = self.marks.partition_point(|mark| mark.span.start < range.end);
        self.marks.get(first..last).unwrap_or_default()
    }
}

/// Writes a stretch with asterisks; only what every mark over it shows is shown.
fn masked(text: &str, marks: &[Mark], range: Range<usize>, write: &mut dyn FnMut(usize, Written<'_>)) -> usize {
    // At each place how many marks begin, less those that end; and the same of what they show.
    let mut changes = vec![(0_isize, 0_isize); range.len() + 1];
    let mut count = |span: Range<usize>, over: isize, shown: isize| {
        let (start, end) = (span.start.max(range.start), span.end.min(range.end));
        if start < end {
            for (at, sign) in [(start, 1), (end, -1)] {
                if let Some((overs, showns)) = changes.get_mut(at - range.start) {
                    *overs += over * sign;
                    *showns += shown * sign;
                }
            }
        }
    };
    for mark in marks {
        count(mark.span.clone(), 1, 0);
        count(shown(text, mark), 0, 1);
    }
    let (mut over, mut visible) = (0, 0);
    let mut counted = changes.iter();
    let mut seen = 0;
    for (offset, one) in text.get(range.clone()).unwrap_or_default().char_indices() {
        for (overs, showns) in counted.by_ref().take(offset + 1 - seen) {
            over += overs;
            visible += showns;
        }
        seen = offset + 1;
        let at = range.start + offset;
        // Where no mark is known any more, a long tail goes on.
        if (over > 0 && over == visible) || matches!(one, ' ' | '-') {
            write(at, Written::Text(text.get(at..at + one.len_utf8()).unwrap_or_default()));
        } else {
            write(at, Written::Token("*"));
        }
    }
    range.end
}

/// The last characters of a mark that may be shown.
fn shown(text: &str, mark: &Mark) -> Range<usize> {
    let Style::Mask { keep } = mark.style else { return 0..0 };
    let span = text.get(mark.span.clone()).unwrap_or_default();
    let kept = span.char_indices().rev().filter(|(_, one)| one.is_alphanumeric()).take(keep);
    kept.last().map_or(0..0, |(at, _)| mark.span.start + at..mark.span.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn painted(text: &str, marks: &mut [Mark]) -> String {
        marks.sort_by_key(|mark| (mark.span.start, mark.rank));
        let mut out = String::new();
        Painter::default().walk(text, marks, 0, text.len(), &mut |_, piece| out.push_str(piece.as_str()));
        out
    }

    fn redacted(text: &str, spans: &[(Range<usize>, &str)]) -> String {
        let mark = |(rank, (span, label)): (usize, &(Range<usize>, &str))| {
            let style = match label.strip_prefix('*') {
                Some(keep) => Style::Mask { keep: keep.parse().unwrap() },
                None => Style::Token(token(label).into()),
            };
            Mark { span: span.clone(), style, rank }
        };
        painted(text, &mut spans.iter().enumerate().map(mark).collect::<Vec<_>>())
    }

    #[test]
    fn spans_are_replaced_and_the_rest_stays() {
        assert_eq!(redacted("0123456789", &[(0..2, "x"), (8..10, "y")]), "[REDACTED:x]234567[REDACTED:y]");
        assert_eq!(redacted("é😀é", &[(2..6, "x")]), "é[REDACTED:x]é");
        assert_eq!(redacted("abc", &[(0..3, "x")]), "[REDACTED:x]");
        assert_eq!(redacted("abc", &[]), "abc");
    }

    #[test]
    fn overlapping_spans_share_the_token_of_the_first() {
        assert_eq!(redacted("0123456789", &[(4..8, "late"), (2..5, "early"), (3..4, "inner")]), "01[REDACTED:early]89");
        assert_eq!(redacted("0123456789", &[(2..5, "first"), (2..9, "second")]), "01[REDACTED:first]9");
    }

    #[test]
    fn touching_spans_keep_their_own_tokens() {
        assert_eq!(redacted("0123", &[(0..2, "x"), (2..4, "y")]), "[REDACTED:x][REDACTED:y]");
    }

    #[test]
    fn a_mask_keeps_lengths_and_the_last_characters() {
        assert_eq!(redacted("a 4111 1111 1111 1111 b", &[(2..21, "*4")]), "a **** **** **** 1111 b");
        assert_eq!(redacted("é@b.test", &[(0..9, "*0")]), "********");
        assert_eq!(redacted("0123456789", &[(0..6, "*2"), (4..8, "x")]), "********89");
        assert_eq!(redacted("0123456789", &[(0..6, "x"), (4..8, "*2")]), "[REDACTED:x]89");
    }

    /// As it is said, mark by mark.
    fn plainly(text: &str, marks: &[Mark]) -> String {
        let (mut out, mut at) = (String::new(), 0);
        while at < text.len() {
            let Some(first) = marks.iter().find(|mark| mark.span.start >= at) else { break };
            out.push_str(&text[at..first.span.start]);
            let mut end = first.span.end;
            while let Some(more) = marks.iter().find(|mark| mark.span.start < end && mark.span.end > end) {
                end = more.span.end;
            }
            at = first.span.start;
            match &first.style {
                Style::Token(token) => out.push_str(token),
                Style::Mask { .. } => {
                    for (offset, one) in text[at..end].char_indices() {
                        let mut over = marks.iter().filter(|mark| mark.span.contains(&(at + offset))).peekable();
                        let is_shown =
                            over.peek().is_some() && over.all(|mark| shown(text, mark).contains(&(at + offset)));
                        out.push(if is_shown || matches!(one, ' ' | '-') { one } else { '*' });
                    }
                }
            }
            at = end;
        }
        out + &text[at..]
    }

    proptest! {
        #[test]
        fn many_marks_come_out_as_they_are_said(
            text in "[a1 é-]{0,40}",
            spans in prop::collection::vec((0..60_usize, 1..12_usize, 0..4_usize), 0..12),
        ) {
            let fit = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            let mut marks: Vec<Mark> = spans
                .iter()
                .enumerate()
                .map(|(rank, (start, length, keep))| {
                    let style = if *keep == 3 { Style::Token("[T]".into()) } else { Style::Mask { keep: *keep } };
                    Mark { span: fit(*start)..fit(start + length), style, rank }
                })
                .filter(|mark| !mark.span.is_empty())
                .collect();
            marks.sort_by_key(|mark| (mark.span.start, mark.rank));
            let said = plainly(&text, &marks);
            prop_assert_eq!(painted(&text, &mut marks), said);
        }
    }
}
