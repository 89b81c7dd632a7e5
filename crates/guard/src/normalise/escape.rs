//! Characters written as escapes: percent, `\u0041`, `\u{41}`, `\x41`, `&#65;`, named entities, quoted-printable.
//!
//! Only the neighbourhood of escapes is copied: text without any is read as it is anyway.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

use super::View;
use super::map::{Builder, Map};
use crate::pace::Pace;
use crate::seek::seek;
use std::ops::Range;

/// Most copies of one text.
const MOST_VIEWS: usize = 64;

/// The named entities that matter in phrases, addresses and keys.
const NAMED: [(&str, char); 14] = [
    ("amp;", '&'),
    ("apos;", '\''),
    ("colon;", ':'),
    ("comma;", ','),
    ("commat;", '@'),
    ("equals;", '='),
    ("gt;", '>'),
    ("hyphen;", '-'),
    ("lowbar;", '_'),
    ("lt;", '<'),
    ("nbsp;", ' '),
    ("period;", '.'),
    ("quot;", '"'),
    ("sol;", '/'),
];

/// The neighbourhoods of all escapes, unescaped once; `reach` bytes on either side.
pub(crate) fn views(text: &str, reach: usize) -> Vec<View<'static>> {
    let escapes = find(text);
    let windows = windows(text, escapes.iter().map(|escape| escape.source.clone()), reach);
    windows.into_iter().map(|window| unescaped(text, window, &escapes)).collect()
}

/// An escape and the character it stands for; none for a soft line break.
struct Escape {
    source: Range<usize>,
    stands_for: Option<char>,
}

fn find(text: &str) -> Vec<Escape> {
    let bytes = text.as_bytes();
    let mut escapes = Vec::new();
    let (mut at, mut pace) = (0, Pace::default());
    while let Some(found) = seek(bytes, at, begins) {
        at = found;
        pace.at(at);
        match escape(text.get(at..).unwrap_or_default()) {
            Some((length, stands_for)) => {
                escapes.push(Escape { source: at..at + length, stands_for });
                at += length;
            }
            None => at += 1,
        }
    }
    escapes
}

/// Whether an escape may begin with the byte; written so that many are asked at once.
const fn begins(byte: u8) -> bool {
    (byte == b'%') | (byte == b'\\') | (byte == b'&') | (byte == b'=')
}

/// Whether there is anything like an escape in the text.
pub(crate) fn may_be(text: &str) -> bool {
    seek(text.as_bytes(), 0, begins).is_some()
}

/// The escape that `rest` begins with: its length and what it stands for.
fn escape(rest: &str) -> Option<(usize, Option<char>)> {
    let mut marks = rest.chars();
    match (marks.next()?, marks.next()?) {
        ('%', _) => octets(rest, '%').map(|(length, one)| (length, Some(one))),
        ('=', '\n') => Some((2, None)),
        ('=', '\r') if rest.starts_with("=\r\n") => Some((3, None)),
        ('=', digit) if !digit.is_ascii_lowercase() => octets(rest, '=').map(|(length, one)| (length, Some(one))),
        ('\\', 'x' | 'X') => hex(rest.get(2..4)?).and_then(char::from_u32).map(|one| (4, Some(one))),
        ('\\', 'u' | 'U') => unicode(rest).map(|(length, one)| (length, Some(one))),
        ('&', _) => entity(rest).map(|(length, one)| (length, Some(one))),
        _ => None,
    }
}

/// UTF-8 octets, each written as `mark` and two digits.
fn octets(rest: &str, mark: char) -> Option<(usize, char)> {
    let octet = |at: usize| {
        let written = rest.get(at * 3..at * 3 + 3)?;
        written.strip_prefix(mark).and_then(hex).and_then(|value| u8::try_from(value).ok())
    };
    let first = octet(0)?;
    let length = match first {
        0..=0x7F => return Some((3, char::from(first))),
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return Some((3, char::REPLACEMENT_CHARACTER)),
    };
    let all: Option<Vec<u8>> = (0..length).map(octet).collect();
    let decoded = all.as_deref().and_then(|all| std::str::from_utf8(all).ok()).and_then(|text| text.chars().next());
    Some(decoded.map_or((3, char::REPLACEMENT_CHARACTER), |one| (length * 3, one)))
}

/// `\u0041`, a pair of surrogates, `\u{41}`, `\U00000041`.
fn unicode(rest: &str) -> Option<(usize, char)> {
    if let Some(braced) = rest.get(2..).and_then(|rest| rest.strip_prefix('{')) {
        let digits = braced.get(..braced.find('}').filter(|length| *length <= 6)?)?;
        return hex(digits).and_then(char::from_u32).map(|one| (digits.len() + 4, one));
    }
    if let Some(one) = rest.strip_prefix("\\U").and_then(|rest| rest.get(..8)).and_then(hex).and_then(char::from_u32) {
        return Some((10, one));
    }
    let unit = |at: usize| {
        let written = rest.get(at..at + 6)?;
        hex(written.strip_prefix("\\u").or_else(|| written.strip_prefix("\\U"))?)
    };
    let high = unit(0)?;
    if let Some(one) = char::from_u32(high) {
        return Some((6, one));
    }
    let low = unit(6).filter(|low| (0xDC00..0xE000).contains(low))?;
    let code = 0x10000 + (high.checked_sub(0xD800)?.checked_mul(0x400)?) + low.checked_sub(0xDC00)?;
    char::from_u32(code).map(|one| (12, one))
}

fn entity(rest: &str) -> Option<(usize, char)> {
    let body = rest.get(1..)?;
    if let Some(number) = body.strip_prefix('#') {
        let length = number.char_indices().take(9).find(|(_, one)| *one == ';').map(|(at, _)| at)?;
        let digits = number.get(..length)?;
        let code = match digits.strip_prefix(['x', 'X']) {
            Some(digits) => hex(digits)?,
            None => digits.parse().ok()?,
        };
        return char::from_u32(code).map(|one| (length + 3, one));
    }
    let (name, one) = NAMED.iter().find(|(name, _)| body.starts_with(name))?;
    Some((name.len() + 1, *one))
}

fn hex(digits: &str) -> Option<u32> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

fn unescaped(text: &str, window: Range<usize>, escapes: &[Escape]) -> View<'static> {
    let mut built = Builder::with_capacity(window.len());
    let mut at = window.start;
    let first = escapes.partition_point(|escape| escape.source.start < window.start);
    let copy = |built: &mut Builder, range: Range<usize>| {
        let start = range.start;
        for (offset, character) in text.get(range).unwrap_or_default().char_indices() {
            built.copy(start + offset, character);
        }
    };
    for escape in escapes.iter().skip(first).take_while(|escape| escape.source.end <= window.end) {
        copy(&mut built, at..escape.source.start);
        if let Some(one) = escape.stands_for {
            built.replace(escape.source.clone(), one);
        }
        at = escape.source.end;
    }
    copy(&mut built, at..window.end);
    let (copy, map) = built.finish();
    View::made(copy, map)
}

/// The spans widened by `reach` bytes on either side, those that touch united, on character boundaries.
pub(super) fn windows(text: &str, spans: impl Iterator<Item = Range<usize>>, reach: usize) -> Vec<Range<usize>> {
    let mut windows: Vec<Range<usize>> = Vec::new();
    for span in spans {
        let start = floor(text, span.start.saturating_sub(reach));
        let end = ceil(text, span.end + reach);
        match windows.last_mut() {
            // Behind the most views a text may have, the last one takes all the rest.
            Some(last) if start <= last.end || windows_are_many(last, end) => last.end = last.end.max(end),
            Some(_) | None => windows.push(start..end),
        }
    }
    if windows.len() > MOST_VIEWS {
        let end = windows.last().map_or(0, |window| window.end);
        windows.truncate(MOST_VIEWS);
        if let Some(last) = windows.last_mut() {
            last.end = end;
        }
    }
    windows
}

/// A gap this small is not worth a second copy.
fn windows_are_many(last: &Range<usize>, end: usize) -> bool {
    end.saturating_sub(last.end) < 64
}

pub(super) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

pub(super) fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// A piece of a copy, as a copy of its own.
pub(super) fn piece(offset: usize, text: &str) -> (String, Map) {
    (text.to_owned(), Map::Shift(offset))
}
