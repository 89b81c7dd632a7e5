//! Runs of base64 and hexadecimal digits, decoded.
//!
//! A run is decoded in every alignment, so that neither a character put in front nor a cut in the middle hides what it
//! says. Of what comes out, only stretches of readable text are given, one level deep.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

use super::View;
use super::escape::piece;
use super::map::Map;
use crate::pace::Pace;

/// Fewest digits of a run.
pub(crate) const SHORTEST_BASE64: usize = 16;
/// See [`SHORTEST_BASE64`].
const SHORTEST_HEX: usize = 24;
/// Fewest readable bytes worth a look.
const SHORTEST_TEXT: usize = 10;
/// Digits on a line behind which an encoder may have broken it.
pub(crate) const FULL_LINE: usize = 60;

/// Shows every readable stretch in every run of the text.
pub(crate) fn views(text: &str, see: &mut dyn FnMut(View<'static>)) {
    let bytes = text.as_bytes();
    let mut run: Vec<usize> = Vec::new();
    let mut spare = Spare::default();
    let (mut at, mut pace) = (0, Pace::default());
    // A run that is long enough has a digit here; from it, back to where the run begins.
    while let Some(byte) = bytes.get(at + SHORTEST_BASE64 - 1) {
        pace.at(at);
        if !is_digit(*byte) {
            at += SHORTEST_BASE64;
            continue;
        }
        let before = bytes.get(at..at + SHORTEST_BASE64 - 1).unwrap_or_default();
        let start = at + before.iter().rposition(|byte| !is_digit(*byte)).map_or(0, |last| last + 1);
        let end = start + bytes.get(start..).unwrap_or_default().iter().take_while(|b| is_digit(**b)).count();
        at = end;
        if end - start >= SHORTEST_BASE64 {
            run.clear();
            at = extend(bytes, start, end, &mut run);
            decode(bytes, &run, &mut spare, see);
        }
    }
}

/// Lists the digits of a run that begins at `at`, over line breaks that an encoder made; gives where it ends.
fn extend(bytes: &[u8], at: usize, end: usize, run: &mut Vec<usize>) -> usize {
    run.extend(at..end);
    let mut line = end - at;
    let mut end = end;
    while line >= FULL_LINE {
        let rest = bytes.get(end..).unwrap_or_default();
        let broken = if rest.starts_with(b"\r\n") { 2 } else { usize::from(rest.starts_with(b"\n")) };
        if broken == 0 {
            break;
        }
        line = rest.iter().skip(broken).take_while(|byte| is_digit(**byte)).count();
        run.extend(end + broken..end + broken + line);
        end += broken + line;
    }
    end
}

/// Room that all runs of a text use in turn.
#[derive(Default)]
struct Spare {
    digits: Vec<u8>,
    octets: Vec<u8>,
}

fn decode(bytes: &[u8], run: &[usize], spare: &mut Spare, see: &mut dyn FnMut(View<'static>)) {
    let Spare { digits, octets } = spare;
    let digit = |at: &usize| bytes.get(*at).copied().unwrap_or_default();
    digits.clear();
    digits.extend(run.iter().map(digit).map(sextet));
    for first in 0..4 {
        pack(digits.get(first..).unwrap_or_default(), 6, octets);
        readable(octets, &Digits { run, bits: 6, first }, see);
    }
    for hex in run.split(|at| !digit(at).is_ascii_hexdigit()).filter(|hex| hex.len() >= SHORTEST_HEX) {
        digits.clear();
        digits.extend(hex.iter().map(digit).map(nibble));
        for first in 0..2 {
            pack(digits.get(first..).unwrap_or_default(), 4, octets);
            readable(octets, &Digits { run: hex, bits: 4, first }, see);
        }
    }
}

struct Digits<'a> {
    run: &'a [usize],
    bits: usize,
    first: usize,
}

/// Whole octets out of digits of `bits` bits.
fn pack(digits: &[u8], bits: usize, octets: &mut Vec<u8>) {
    octets.clear();
    octets.reserve(digits.len() * bits / 8);
    // Digits that fill octets exactly: four of base64, two hexadecimal ones.
    let together = if bits == 6 { 4 } else { 2 };
    for group in digits.chunks(together) {
        let held = group.iter().fold(0_u32, |held, digit| held << bits | u32::from(*digit));
        let whole = group.len() * bits / 8;
        let [_, a, b, c] = (held << (24 - group.len() * bits)).to_be_bytes();
        octets.extend([a, b, c].into_iter().take(whole));
    }
}

/// Shows the stretches that are text. NUL bytes are let pass: UTF-16 of plain text is full of them.
fn readable(octets: &[u8], digits: &Digits<'_>, see: &mut dyn FnMut(View<'static>)) {
    let mut offset = 0;
    for chunk in octets.utf8_chunks() {
        let valid = chunk.valid();
        if valid.len() >= SHORTEST_TEXT {
            let odd = |one: char| one.is_control() && !matches!(one, '\t' | '\n' | '\r' | '\0');
            let mut at = 0;
            for stretch in valid.split(odd) {
                if stretch.len() >= SHORTEST_TEXT && stretch.bytes().any(|byte| byte > b' ') {
                    let (text, shift) = piece(offset + at, stretch);
                    let offsets = digits.run.to_vec();
                    let mut view = View::made(text, shift);
                    view.maps.push(Map::Digits { offsets, bits: digits.bits, first: digits.first });
                    see(view);
                }
                // Every control character that UTF-8 can hold in one byte or two.
                let behind = valid.get(at + stretch.len()..).and_then(|rest| rest.chars().next());
                at += stretch.len() + behind.map_or(0, char::len_utf8);
            }
        }
        offset += valid.len() + chunk.invalid().len();
    }
}

fn sextet(byte: u8) -> u8 {
    SEXTETS.get(usize::from(byte)).copied().unwrap_or_default()
}

/// What each byte is worth as a digit of base64, in either alphabet.
#[expect(clippy::indexing_slicing, reason = "computed when this is compiled, which fails beyond the end")]
const SEXTETS: [u8; 256] = {
    let mut all = [0; 256];
    let mut value = 0;
    while value < 64 {
        let digit = match value {
            0..=25 => b'A' + value,
            26..=51 => b'a' + (value - 26),
            52..=61 => b'0' + (value - 52),
            62 => b'+',
            _ => b'/',
        };
        all[digit as usize] = value;
        value += 1;
    }
    all[b'-' as usize] = 62;
    all[b'_' as usize] = 63;
    all
};

fn nibble(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        _ => (byte | 0x20).saturating_sub(b'a') + 10,
    }
}

/// Whether the byte is a digit of base64, in either alphabet.
pub(crate) const fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}
