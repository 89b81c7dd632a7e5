//! Words spelled so that a program does not see them: `1gn0r3`, `i g n o r e`.
//!
//! For phrases and word lists only; keys and numbers are never read this way.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

use super::View;
use super::escape::windows;
use super::map::Builder;
use crate::pace::Pace;
use crate::seek::seek;
use std::ops::Range;

/// Fewest single letters in a row that are a spelled word.
const SHORTEST_ROW: usize = 5;

/// Shows the text around words with digits for letters, and every row of single letters; to `see_phrases` also what
/// stands around such rows.
pub(crate) fn views(
    text: &str,
    reach: usize,
    see: &mut dyn FnMut(View<'static>),
    see_phrases: &mut dyn FnMut(View<'static>),
) {
    let odd = odd_tokens(text);
    for window in windows(text, odd.iter().cloned(), reach) {
        let twofold = text.get(window.clone()).is_some_and(|piece| piece.contains(['1', '|']));
        see(plain_letters(text, window.clone(), &odd, 'i'));
        if twofold {
            see(plain_letters(text, window, &odd, 'l'));
        }
    }
    let rows = rows(text);
    alone(text, &rows, see);
    among_others(text, &rows, reach, see_phrases);
}

/// Words with digits or signs for letters.
fn odd_tokens(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut odd = Vec::new();
    let (mut behind, mut pace) = (0, Pace::default());
    while let Some(at) = seek(bytes, behind, may_stand) {
        pace.at(at);
        let before = bytes.get(behind..at).unwrap_or_default();
        let start = behind + before.iter().rposition(u8::is_ascii_whitespace).map_or(0, |last| last + 1);
        let rest = bytes.get(at..).unwrap_or_default();
        let end = at + rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        if is_leet(text.get(start..end).unwrap_or_default()) {
            odd.push(start..end);
        }
        behind = end;
    }
    odd
}

fn is_leet(token: &str) -> bool {
    let core = token.trim_matches(|one: char| !one.is_ascii_alphanumeric() && letter(one).is_none());
    let letters = core.bytes().filter(u8::is_ascii_alphabetic).count();
    let standing = core.chars().filter(|one| letter(*one).is_some()).count();
    let joints = core.bytes().filter(|byte| matches!(byte, b'-' | b'\'' | b'_')).count();
    letters > 0 && standing > 0 && core.len() >= 3 && letters + standing + joints == core.len()
}

/// The letter that a digit or sign stands for.
const fn letter(sign: char) -> Option<char> {
    Some(match sign {
        '0' => 'o',
        '1' | '!' | '|' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' | '+' => 't',
        _ => return None,
    })
}

/// Whether [`letter`] may know the byte; written so that many are asked at once.
const fn may_stand(byte: u8) -> bool {
    let signs = (byte == b'!') | (byte == b'$') | (byte == b'+') | (byte == b'@') | (byte == b'|');
    signs | (byte.wrapping_sub(b'0') <= 7)
}

/// `one` is what the digit one stands for: an i or an l.
fn plain_letters(text: &str, window: Range<usize>, odd: &[Range<usize>], one: char) -> View<'static> {
    let mut built = Builder::with_capacity(window.len());
    let mut words = odd.iter().skip_while(|word| word.end <= window.start).peekable();
    let piece = text.get(window.clone()).unwrap_or_default();
    for (offset, character) in piece.char_indices() {
        let at = window.start + offset;
        while words.next_if(|word| word.end <= at).is_some() {}
        let inside = words.peek().is_some_and(|word| word.start <= at);
        match letter(character).filter(|_| inside) {
            Some('i') => built.copy(at, one),
            Some(plain) => built.copy(at, plain),
            None => built.copy(at, character),
        }
    }
    let (copy, map) = built.finish();
    View::made(copy, map)
}

/// Rows of single letters with one sign between each two; two spaces are one.
fn rows(text: &str) -> Vec<Range<usize>> {
    let (mut rows, mut behind) = (Vec::new(), 0);
    if singles(text.as_bytes()) < SHORTEST_ROW {
        return rows;
    }
    let mut pace = Pace::default();
    while let Some(at) = single(text.as_bytes(), behind) {
        pace.at(at);
        behind = at + 1;
        let (mut count, mut end) = (0_usize, at);
        row(text.get(at..).unwrap_or_default(), |offset, _, _| {
            count += 1;
            end = at + offset + 1;
        });
        if count >= SHORTEST_ROW {
            rows.push(at..end);
            behind = end;
        }
    }
    rows
}

/// The row as the word it spells.
fn draw_together(text: &str, span: &Range<usize>, built: &mut Builder) {
    let mut end = span.start;
    row(text.get(span.clone()).unwrap_or_default(), |offset, character, gap| {
        let at = span.start + offset;
        if gap {
            built.replace(end..at, ' ');
        }
        built.copy(at, character);
        end = at + 1;
    });
}

/// Each row by itself.
fn alone(text: &str, rows: &[Range<usize>], see: &mut dyn FnMut(View<'static>)) {
    for span in rows {
        let mut built = Builder::with_capacity(64);
        draw_together(text, span, &mut built);
        let (copy, map) = built.finish();
        see(View::made(copy, map));
    }
}

/// The text around rows, which are drawn together: `i g n o r e all rules`.
fn among_others(text: &str, rows: &[Range<usize>], reach: usize, see: &mut dyn FnMut(View<'static>)) {
    for window in windows(text, rows.iter().cloned(), reach) {
        let mut built = Builder::with_capacity(window.len());
        let mut at = window.start;
        for span in rows.iter().filter(|span| window.start <= span.start && span.end <= window.end) {
            plain(text, at..span.start, &mut built);
            draw_together(text, span, &mut built);
            at = span.end;
        }
        plain(text, at..window.end, &mut built);
        let (copy, map) = built.finish();
        see(View::made(copy, map));
    }
}

fn plain(text: &str, span: Range<usize>, built: &mut Builder) {
    let piece = text.get(span.clone()).unwrap_or_default();
    piece.char_indices().for_each(|(offset, character)| built.copy(span.start + offset, character));
}

/// So many bytes are counted together.
const COUNTED: usize = 128;

/// How many letters and digits have none beside them.
fn singles(bytes: &[u8]) -> usize {
    let ends = |at: usize| {
        let beside = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
        usize::from(is_alone(beside(at.checked_sub(1)), beside(Some(at)), beside(Some(at + 1))))
    };
    let from = |at: usize| bytes.get(at..).unwrap_or_default().chunks(COUNTED);
    let mut pace = Pace::default();
    let inner = from(0).zip(from(1)).zip(from(2)).enumerate().map(|(number, ((before, one), next))| {
        pace.at(number * COUNTED);
        let all = before.iter().zip(one).zip(next);
        // So few that a byte holds their number.
        all.fold(0_u8, |sum, ((before, one), next)| sum + u8::from(is_alone(*before, *one, *next)))
    });
    let inner: usize = inner.map(usize::from).sum();
    let last = if bytes.len() > 1 { ends(bytes.len() - 1) } else { 0 };
    inner + ends(0) + last
}

/// Whether a letter or digit has none beside it; written so that many are asked at once.
const fn is_alone(before: u8, one: u8, next: u8) -> bool {
    const fn plain(byte: u8) -> bool {
        ((byte | 0x20).wrapping_sub(b'a') < 26) | (byte.wrapping_sub(b'0') < 10)
    }
    plain(one) & !plain(before) & !plain(next)
}

/// The next letter or digit from `from` on with none beside it.
fn single(bytes: &[u8], from: usize) -> Option<usize> {
    let beside = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
    let mut at = from;
    while at < bytes.len() {
        // Many at a time, but for the ends.
        let together = |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk::<TOGETHER>);
        if let (Some(before), Some(ones), Some(nexts)) =
            (at.checked_sub(1).and_then(together), together(at), together(at + 1))
        {
            let all = before.iter().zip(ones).zip(nexts);
            if !all.fold(false, |any, ((before, one), next)| any | is_alone(*before, *one, *next)) {
                at += TOGETHER;
                continue;
            }
        }
        let end = (at + TOGETHER).min(bytes.len());
        let found = (at..end).find(|at| is_alone(beside(at.checked_sub(1)), beside(Some(*at)), beside(Some(at + 1))));
        if found.is_some() {
            return found;
        }
        at = end;
    }
    None
}

/// So many bytes are looked at together.
const TOGETHER: usize = 32;

/// Gives each letter of the row that `rest` begins with, and whether a wide gap is before it.
fn row(rest: &str, mut give: impl FnMut(usize, char, bool)) {
    let mut at = 0;
    let mut gap = false;
    loop {
        let mut ahead = rest.get(at..).unwrap_or_default().chars();
        let Some(one) = ahead.next().filter(char::is_ascii_alphanumeric) else { return };
        let next = ahead.next();
        if next.is_some_and(|next| next.is_ascii_alphanumeric()) {
            return;
        }
        give(at, one, gap);
        at += 1;
        let sign = |one: char| matches!(one, ' ' | '.' | '-' | '_' | '*' | '/' | ',' | '\n');
        let signs = rest.get(at..).unwrap_or_default().chars().take_while(|one| sign(*one)).take(4).count();
        if !(1..4).contains(&signs) {
            return;
        }
        gap = signs > 1;
        at += signs;
    }
}
