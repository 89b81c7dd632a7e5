//! Copies of a text in which a disguise is undone, each with the way back to the source.
//!
//! | view | undoes |
//! |---|---|
//! | [`plain`] | invisible characters, compatibility forms, marks on letters, look-alike letters, odd spaces and dashes |
//! | [`tags`] | text written in Unicode tag characters |
//! | [`escape::views`] | `%41`, `\u0041`, `\x41`, `&#65;`, `=41` |
//! | [`encoded::views`] | runs of base64 and hexadecimal digits, in every alignment |
//! | [`spell::views`] | `1gn0r3` and `i g n o r e` |
//!
//! Every rule is local: what a stretch of text becomes depends on a bounded neighbourhood only, so that a text which
//! arrives in pieces is read as the whole would be. Nothing here decides anything, and no view is ever sent on.

pub(crate) mod encoded;
pub(crate) mod escape;
mod fold;
mod map;
pub(crate) mod spell;

use std::borrow::Cow;
use std::ops::Range;

use crate::pace::Pace;
use crate::seek;

pub(crate) use fold::is_ignorable;
use map::{Builder, Map};

/// Whether upper and lower case are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// They are one.
    Folded,
    /// They differ.
    Kept,
}

/// A copy of (a piece of) a text.
#[derive(Debug)]
pub(crate) struct View<'a> {
    text: Cow<'a, str>,
    /// From this copy down to the source.
    maps: Vec<Map>,
}

impl<'a> View<'a> {
    /// The text as it is.
    pub(crate) fn source_of(text: &'a str) -> Self {
        Self { text: Cow::Borrowed(text), maps: Vec::new() }
    }

    fn made(text: String, map: Map) -> View<'static> {
        View { text: Cow::Owned(text), maps: vec![map] }
    }

    /// The copy.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The source of a non-empty span of the copy; whatever became one character counts whole.
    pub(crate) fn source(&self, span: Range<usize>) -> Range<usize> {
        self.maps.iter().fold(span, |span, map| map.below(span))
    }

    /// This view as one of what `lower` is a view of.
    pub(crate) fn over(self, lower: &View<'_>) -> Self {
        let mut maps = self.maps;
        maps.extend(lower.maps.iter().cloned());
        Self { text: self.text, maps }
    }

    /// The first place of the copy that comes from `source` or behind it.
    pub(crate) fn above(&self, source: usize) -> usize {
        self.maps.iter().rev().fold(source, |at, map| map.above(at, self.text.len()))
    }
}

/// Whether [`plain`] would change nothing.
pub(crate) fn is_plain(text: &str) -> bool {
    !seek::any(text.as_bytes(), |byte| {
        // Written so that many are asked at once.
        (byte.wrapping_sub(0x20) > 0x5E) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r')
    })
}

/// Whether [`phrase`] would change the case of ASCII letters at most.
pub(crate) fn is_even(text: &str) -> bool {
    let bytes = text.as_bytes();
    if seek::any(bytes, |byte| byte.wrapping_sub(0x20) > 0x5E) {
        return false;
    }
    let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or_default());
    !pairs.fold(false, |any, (one, next)| any | ((*one == b' ') & (*next == b' ')))
}

/// What a careful reader takes the text for, case kept; `None` if that is the text itself.
pub(crate) fn plain(text: &str) -> Option<View<'static>> {
    if is_plain(text) {
        return None;
    }
    let mut built = Builder::with_capacity(text.len());
    let (mut at, mut pace) = (0_usize, Pace::default());
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        pace.at(at);
        let stretch = stretch(rest, |byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~'));
        built.copy_all(at, stretch, Case::Kept);
        at = at.saturating_add(stretch.len());
        let Some(character) = rest.get(stretch.len()..).and_then(|rest| rest.chars().next()) else { break };
        let source = at..at.saturating_add(character.len_utf8());
        at = source.end;
        match character {
            _ if fold::is_mark(character) => built.extend_last(source.end),
            _ if is_ignorable(character) => {}
            _ => fold::fold(character, |folded| built.replace(source.clone(), folded)),
        }
    }
    let (text, map) = built.finish();
    Some(View::made(text, map))
}

/// What `text` begins with of ASCII characters that are of the kind.
fn stretch(text: &str, is: impl Fn(u8) -> bool) -> &str {
    let end = text.bytes().position(|byte| !is(byte)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Case folded, white space collapsed: the form in which words and phrases are compared. Takes a plain text.
pub(crate) fn phrase(text: &str, case: Case) -> Option<View<'static>> {
    let lower = |character: char| case == Case::Folded && (character.is_ascii_uppercase() || !character.is_ascii());
    let mut before_space = false;
    let changes = text.chars().any(|character| {
        let space = character.is_whitespace();
        let changes = lower(character) || (space && (before_space || character != ' '));
        before_space = space;
        changes
    });
    if !changes {
        return None;
    }
    let mut built = Builder::with_capacity(text.len());
    let mut spaced = false;
    let (mut at, mut pace) = (0_usize, Pace::default());
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        pace.at(at);
        let stretch = stretch(rest, |byte| matches!(byte, b'!'..=b'~'));
        built.copy_all(at, stretch, case);
        spaced &= stretch.is_empty();
        at = at.saturating_add(stretch.len());
        let Some(character) = rest.get(stretch.len()..).and_then(|rest| rest.chars().next()) else { break };
        let source = at..at.saturating_add(character.len_utf8());
        let at = std::mem::replace(&mut at, source.end);
        if character.is_whitespace() {
            match (spaced, character) {
                (true, _) => built.extend_last(source.end),
                (false, ' ') => built.copy(at, ' '),
                (false, _) => built.replace(source, ' '),
            }
            spaced = true;
            continue;
        }
        spaced = false;
        match case {
            Case::Folded if character.is_ascii() => built.copy(at, character.to_ascii_lowercase()),
            Case::Folded => character.to_lowercase().for_each(|lower| built.replace(source.clone(), sigma(lower))),
            Case::Kept => built.copy(at, character),
        }
    }
    let (text, map) = built.finish();
    Some(View::made(text, map))
}

/// Greek writes a lower sigma in two ways.
const fn sigma(lower: char) -> char {
    if lower == 'ς' { 'σ' } else { lower }
}

/// What is written in Unicode tag characters, which no font shows: hidden instruction.
pub(crate) fn tags(text: &str) -> Option<View<'static>> {
    if !text.as_bytes().contains(&0xF3) {
        return None;
    }
    let mut built = Builder::with_capacity(64);
    let (mut apart, mut pace) = (false, Pace::default());
    for (at, character) in text.char_indices() {
        pace.at(at);
        let shown = fold::tag(character);
        match shown {
            Some(shown) => {
                let source = at..at.saturating_add(character.len_utf8());
                // No phrase goes on over what is shown in between.
                if apart {
                    built.replace(at..at, char::REPLACEMENT_CHARACTER);
                }
                built.replace(source, shown);
                apart = false;
            }
            None if is_ignorable(character) => {}
            None => apart = !built.is_empty(),
        }
    }
    if built.is_empty() {
        return None;
    }
    let (text, map) = built.finish();
    Some(View::made(text, map))
}

/// How much of a text nobody sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hidden {
    /// Invisible characters.
    pub(crate) hidden: usize,
    /// All characters.
    pub(crate) all: usize,
    /// The longest row of invisible ones.
    pub(crate) row: usize,
}

impl Hidden {
    /// Counts; ASCII controls are not counted, they are common in logs.
    pub(crate) fn of(text: &str) -> Self {
        let mut counted = Self::default();
        if text.is_ascii() {
            return Self { all: text.len(), ..counted };
        }
        let mut row = 0_usize;
        for character in text.chars() {
            counted.all = counted.all.saturating_add(1);
            row = if !character.is_ascii() && is_ignorable(character) { row.saturating_add(1) } else { 0 };
            counted.hidden = counted.hidden.saturating_add(usize::from(row > 0));
            counted.row = counted.row.max(row);
        }
        counted
    }
}

#[cfg(test)]
mod tests;
