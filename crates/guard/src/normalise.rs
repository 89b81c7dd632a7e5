//! Folded copies of a text, with the way back to the source.
//!
//! Two copies exist: [`Folded::compatible`] (NFKC, then lower case unless case is kept) and [`Folded::cased`] (case
//! only). NFKC is taken piece by piece, a piece being a character with what combines with it, so every folded byte
//! belongs to a span of the source that begins and ends on a character.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};

/// No character before this one combines.
const FIRST_COMBINING: char = '\u{300}';

/// Whether upper and lower case are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// They are one.
    Folded,
    /// They differ.
    Kept,
}

/// A folded copy.
pub(crate) struct Folded<'a> {
    text: Cow<'a, str>,
    source_length: usize,
    /// In order; empty if the copy has the offsets of the source.
    runs: Vec<Run>,
}

/// A stretch of the copy and where it comes from.
struct Run {
    folded: usize,
    source: usize,
    shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Byte for byte as long as its source.
    Even,
    /// One piece that stands for one piece of the source, of whatever length.
    Piece,
}

impl<'a> Folded<'a> {
    /// NFKC, then case.
    pub(crate) fn compatible(text: &'a str, case: Case) -> Self {
        Self::ascii(text, case).unwrap_or_else(|| {
            Self::by_pieces(text, combined_length, |piece, out| {
                push_cased(piece.nfkc(), case, out);
            })
        })
    }

    /// Case alone.
    pub(crate) fn cased(text: &'a str, case: Case) -> Self {
        if case == Case::Kept {
            return Self { text: Cow::Borrowed(text), source_length: text.len(), runs: Vec::new() };
        }
        let one = |rest: &str| rest.chars().next().map_or(0, char::len_utf8);
        Self::ascii(text, case).unwrap_or_else(|| {
            Self::by_pieces(text, one, |piece, out| {
                push_cased(piece.chars(), case, out);
            })
        })
    }

    /// The copy.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The source of a non-empty span of the copy; pieces that are touched count whole.
    pub(crate) fn source(&self, span: Range<usize>) -> Range<usize> {
        if self.runs.is_empty() {
            return span;
        }
        let last = span.end.saturating_sub(1);
        self.source_start(span.start)..self.source_end(last, span.end)
    }

    fn source_start(&self, at: usize) -> usize {
        self.run(at).map_or(at, |(_, run)| match run.shape {
            Shape::Even => run.source.saturating_add(at.saturating_sub(run.folded)),
            Shape::Piece => run.source,
        })
    }

    fn source_end(&self, last: usize, end: usize) -> usize {
        self.run(last).map_or(end, |(index, run)| match run.shape {
            Shape::Even => run.source.saturating_add(end.saturating_sub(run.folded)),
            Shape::Piece => self.runs.get(index.saturating_add(1)).map_or(self.source_length, |next| next.source),
        })
    }

    /// The run that holds a byte of the copy.
    fn run(&self, at: usize) -> Option<(usize, &Run)> {
        let index = self.runs.partition_point(|run| run.folded <= at).checked_sub(1)?;
        Some((index, self.runs.get(index)?))
    }

    fn ascii(text: &'a str, case: Case) -> Option<Self> {
        let folded = match case {
            _ if !text.is_ascii() => return None,
            Case::Kept => Cow::Borrowed(text),
            Case::Folded => Cow::Owned(text.to_ascii_lowercase()),
        };
        Some(Self { text: folded, source_length: text.len(), runs: Vec::new() })
    }

    fn by_pieces(text: &str, length: impl Fn(&str) -> usize, fold: impl Fn(&str, &mut String)) -> Self {
        let mut folded = String::with_capacity(text.len());
        let mut runs: Vec<Run> = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let source = text.len().saturating_sub(rest.len());
            // The last of the ASCII characters may combine with what follows; those before it are pieces of their own.
            let plain = rest.bytes().take_while(u8::is_ascii).count().saturating_sub(1);
            let length = if plain > 0 { plain } else { length(rest) };
            let Some((piece, behind)) = rest.split_at_checked(length) else { break };
            let start = folded.len();
            fold(piece, &mut folded);
            let even =
                plain > 0 || (piece.chars().nth(1).is_none() && is_one_of_length(folded.get(start..), piece.len()));
            let shape = if even { Shape::Even } else { Shape::Piece };
            if shape == Shape::Piece || runs.last().is_none_or(|last| last.shape != shape) {
                runs.push(Run { folded: start, source, shape });
            }
            rest = behind;
        }
        Self { text: Cow::Owned(folded), source_length: text.len(), runs }
    }
}

/// Whether `text` is a single character of `length` bytes.
fn is_one_of_length(text: Option<&str>, length: usize) -> bool {
    text.is_some_and(|text| text.len() == length && text.chars().nth(1).is_none())
}

/// The length of the first character and what may combine with it.
fn combined_length(rest: &str) -> usize {
    let following = rest.char_indices().skip(1).find(|(_, character)| !combines(*character));
    following.map_or(rest.len(), |(at, _)| at)
}

/// Whether NFKC may join the character to what stands before it, or move it there. Half-width voicing marks, for one,
/// become combining marks only when they are decomposed.
fn combines(character: char) -> bool {
    if character < FIRST_COMBINING {
        return false;
    }
    let first = iter::once(character).nfkd().next().unwrap_or(character);
    canonical_combining_class(first) != 0 || is_nfkc_quick(iter::once(first)) == IsNormalized::Maybe
}

fn push_cased(characters: impl Iterator<Item = char>, case: Case, out: &mut String) {
    match case {
        Case::Kept => out.extend(characters),
        // Greek writes a lower sigma in two ways.
        Case::Folded => {
            out.extend(characters.flat_map(char::to_lowercase).map(|lower| if lower == 'ς' { 'σ' } else { lower }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn piecewise_folding_equals_folding_the_whole(text in "[a-cA-CΣς가-갃ᄀ-나-ᅣᆨ-ᆪé\u{300}-\u{345}ｱ-ｶﾞｶ️İﬃ①😀\u{9c7}\u{9be}\u{9d7}\u{f71}-\u{f75}\u{1100}]{0,24}") {
            let whole: String = text.nfkc().flat_map(char::to_lowercase).map(|lower| if lower == 'ς' { 'σ' } else { lower }).collect();
            let folded = Folded::compatible(&text, Case::Folded);
            prop_assert_eq!(folded.text(), whole);
        }

        #[test]
        fn every_span_of_the_copy_has_a_source_on_character_boundaries(text in any::<String>(), from in 0_usize..40, length in 1_usize..40) {
            for folded in [Folded::compatible(&text, Case::Folded), Folded::compatible(&text, Case::Kept), Folded::cased(&text, Case::Folded)] {
                let bounds: Vec<usize> = folded.text().char_indices().map(|(at, _)| at).chain([folded.text().len()]).collect();
                let (Some(start), Some(end)) = (bounds.get(from), bounds.get(from + length)) else { continue };
                let source = folded.source(*start..*end);
                prop_assert!(source.start < source.end);
                prop_assert!(text.get(source).is_some());
            }
        }

        #[test]
        fn the_source_of_the_whole_is_the_whole(text in "\\PC{1,40}") {
            let folded = Folded::compatible(&text, Case::Folded);
            prop_assert_eq!(folded.source(0..folded.text().len()), 0..text.len());
        }
    }
}
