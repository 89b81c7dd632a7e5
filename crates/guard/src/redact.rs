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
    /// not. Gives where it stopped: at `safe`, or at the end of a span that is already replaced.
    pub(crate) fn walk(
        &mut self,
        text: &str,
        marks: &[Mark],
        from: usize,
        safe: usize,
        write: &mut dyn FnMut(usize, Written<'_>),
    ) -> usize {
        let known = marks.get(..marks.partition_point(|mark| mark.span.start < safe)).unwrap_or_default();
        let mut at = from;
        loop {
            if let Some(union) = &mut self.union {
                for mark in known {
                    if mark.span.start < union.end && mark.span.end > union.end {
                        union.end = mark.span.end;
                    }
                }
                if union.masks {
                    let end = union.end.min(safe);
                    at = masked(text, known, at..end.max(at), write);
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
            let next =
                known.iter().filter(|mark| mark.span.start >= at).min_by_key(|mark| (mark.span.start, mark.rank));
            let Some(next) = next else {
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

/// Writes a stretch with asterisks; only what every mark over it shows is shown.
fn masked(text: &str, marks: &[Mark], range: Range<usize>, write: &mut dyn FnMut(usize, Written<'_>)) -> usize {
    let covering: Vec<(&Mark, Range<usize>)> = marks
        .iter()
        .filter(|mark| mark.span.start < range.end && range.start < mark.span.end)
        .map(|mark| (mark, shown(text, mark)))
        .collect();
    for (offset, one) in text.get(range.clone()).unwrap_or_default().char_indices() {
        let at = range.start + offset;
        let mut over = covering.iter().filter(|(mark, _)| mark.span.contains(&at)).peekable();
        // Where no mark is known any more, a long tail goes on.
        let visible = over.peek().is_some() && over.all(|(_, shown)| shown.contains(&at));
        if visible || matches!(one, ' ' | '-') {
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
}
