//! Detector `pii`: numbers and addresses of people, believed where a checksum holds, a telling word stands before them,
//! or their form alone says enough.
//!
//! | kind | believed when |
//! |---|---|
//! | `pii.card` | issuer range, length and Luhn hold; every start and every length is tried |
//! | `pii.iban` | the country's form and mod 97 hold |
//! | `pii.us_ssn` and the other states' numbers | form and check digits, and a telling word where neither says enough |
//! | `pii.email` | grammar, and a top-level domain that exists |
//! | `pii.phone` | `+` and a country code, an American form with its area, or a telling word before |
//! | `pii.ip`, `pii.mac`, `pii.crypto` | form; Bitcoin's checksum |
//!
//! Every call carries UUIDs, whose digits are anybody's: no number is believed inside of one.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

mod checksum;
mod contact;
mod iban;
mod national;

use super::Found;
use super::class::Class;
use checksum::{digits, luhn};
use std::ops::Range;

pub(super) use contact::{crypto_at, email_at, ip_v6_at, mac_at};

/// Most characters of a match, and what may stand before it.
pub(super) const LONGEST: usize = 330;
/// See [`LONGEST`].
pub(super) const BEFORE: usize = 48;

/// The ids of all kinds, and whether `pii` alone means them too.
pub(super) fn kinds() -> impl Iterator<Item = (&'static str, bool)> {
    let numbers = national::NUMBERS.iter().map(|number| (number.kind, number.kind == "pii.us_ssn"));
    ["card", "iban", "email", "phone", "ip", "mac", "crypto"]
        .iter()
        .map(|name| match *name {
            "card" => "pii.card",
            "iban" => "pii.iban",
            "email" => "pii.email",
            "phone" => "pii.phone",
            "ip" => "pii.ip",
            "mac" => "pii.mac",
            _ => "pii.crypto",
        })
        .map(|kind| (kind, true))
        .chain(numbers)
}

/// Looks at a row of digits that may have signs between them: `start` is the first digit, `end` behind the last.
pub(super) fn number_at(text: &str, row: &Row, wanted: &Wanted, out: &mut Vec<Found>) {
    let digits: usize = row.groups.iter().map(ExactSizeIterator::len).sum();
    if wanted.ip && row.groups.len() >= 4 {
        contact::ip_v4(text, row.start(), row.end(), out);
    }
    if digits < 7 {
        return;
    }
    let before = text.get(floor(text, row.start().saturating_sub(40))..row.start()).unwrap_or_default();
    // What replaces a finding names its kind, and is no telling word.
    let word = before.rsplit(']').next().unwrap_or_default().to_ascii_lowercase();
    let (word, known) = (Context(&word), out.len());
    if wanted.card && digits >= 13 && !row.is_account(text) {
        row.cards(text, word, out);
    }
    for number in &wanted.numbers {
        row.national(text, *number, word, out);
    }
    if wanted.phone {
        row.phones(text, word, out);
    }
    sift(text, known, out);
}

/// Takes out what was found in a UUID, of all but the `known` first.
fn sift(text: &str, known: usize, out: &mut Vec<Found>) {
    let mut at = 0;
    out.retain(|found| {
        at += 1;
        at <= known || !in_uuid(text, &found.span)
    });
}

/// Whether the span lies in a UUID as RFC 9562 has it written, with a letter in it: one of digits alone is hardly one.
fn in_uuid(text: &str, span: &Range<usize>) -> bool {
    const LENGTH: usize = 36;
    let bytes = text.as_bytes();
    let is_uuid = |start: usize| {
        let Some(all) = bytes.get(start..start + LENGTH) else { return false };
        let outside =
            |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_none_or(|one| !one.is_ascii_alphanumeric());
        let formed = all.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
        formed
            && all.iter().any(u8::is_ascii_alphabetic)
            && outside(start.checked_sub(1))
            && outside(Some(start + LENGTH))
    };
    (span.end.saturating_sub(LENGTH)..=span.start).any(is_uuid)
}

/// Which kinds are looked for.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) card: bool,
    pub(super) iban: bool,
    pub(super) email: bool,
    pub(super) phone: bool,
    pub(super) ip: bool,
    pub(super) mac: bool,
    pub(super) crypto: bool,
    numbers: Vec<national::Number>,
    lettered: Vec<national::Number>,
}

impl Wanted {
    pub(super) fn new(wanted: &dyn Fn(&str) -> bool) -> Self {
        let begins_with_a_letter =
            |number: &&national::Number| matches!(number.kind, "pii.uk_nino" | "pii.es_nif" | "pii.it_cf");
        let numbers = || national::NUMBERS.iter().filter(|number| wanted(number.kind));
        Self {
            card: wanted("pii.card"),
            iban: wanted("pii.iban"),
            email: wanted("pii.email"),
            phone: wanted("pii.phone"),
            ip: wanted("pii.ip"),
            mac: wanted("pii.mac"),
            crypto: wanted("pii.crypto"),
            numbers: numbers().filter(|number| !begins_with_a_letter(number)).copied().collect(),
            lettered: numbers()
                .filter(|number| begins_with_a_letter(number) || number.kind == "pii.fr_nir")
                .copied()
                .collect(),
        }
    }

    /// Whether rows of digits are looked at.
    pub(super) fn rows(&self) -> bool {
        self.card || self.phone || self.ip || !self.numbers.is_empty()
    }

    /// Whether words that begin with a letter are.
    pub(super) fn letters(&self) -> bool {
        self.iban || !self.lettered.is_empty()
    }
}

/// Digits with single signs between their groups.
#[derive(Debug)]
pub(super) struct Row {
    groups: Vec<Range<usize>>,
}

impl Row {
    /// Most groups that are looked at together.
    const MOST: usize = 12;

    /// The row that begins with the digit at `at`, and where to go on.
    pub(super) fn from(text: &str, at: usize) -> (Self, usize) {
        let bytes = text.as_bytes();
        let mut groups = Vec::new();
        let mut start = at;
        loop {
            let end = start + Class::Digit.run(bytes.get(start..).unwrap_or_default(), usize::MAX);
            groups.push(start..end);
            // `) ` and ` (` of phone numbers are two signs.
            let signs = bytes
                .get(end..)
                .unwrap_or_default()
                .iter()
                .take(3)
                .take_while(|byte| b" -.()/\n".contains(byte))
                .count();
            let next = end + signs;
            if !(1..=2).contains(&signs) || !bytes.get(next).is_some_and(u8::is_ascii_digit) {
                return (Self { groups }, end);
            }
            start = next;
        }
    }

    pub(super) fn start(&self) -> usize {
        self.groups.first().map_or(0, |group| group.start)
    }

    pub(super) fn end(&self) -> usize {
        self.groups.last().map_or(0, |group| group.end)
    }

    /// Groups `from..to` as one number with the same single sign between all of them.
    fn number(&self, text: &str, from: usize, to: usize, signs: &[u8]) -> Option<Range<usize>> {
        let groups = self.groups.get(from..to)?;
        let bytes = text.as_bytes();
        let mut sign = None;
        for pair in groups.windows(2) {
            let (Some(left), Some(right)) = (pair.first(), pair.last()) else { continue };
            let between = bytes.get(left.end..right.start)?;
            let [one] = between else { return None };
            if !signs.contains(one) || sign.is_some_and(|sign| sign != *one) {
                return None;
            }
            sign = Some(*one);
        }
        Some(groups.first()?.start..groups.last()?.end)
    }

    /// Whether two letters and two digits begin it, as the number of an account.
    fn is_account(&self, text: &str) -> bool {
        let head = self.groups.first().filter(|group| group.len() == 2);
        let letters = head.and_then(|group| text.as_bytes().get(group.start.checked_sub(2)?..group.start));
        letters.is_some_and(|letters| letters.iter().all(u8::is_ascii_uppercase))
    }

    fn cards(&self, text: &str, word: Context<'_>, out: &mut Vec<Found>) {
        for from in 0..self.groups.len() {
            let mut count = 0;
            for to in from + 1..=self.groups.len().min(from + Self::MOST) {
                count += self.groups.get(to - 1).map_or(0, ExactSizeIterator::len);
                if count > 19 {
                    break;
                }
                let Some(span) = (count >= 13).then(|| self.number(text, from, to, b" -")).flatten() else { continue };
                let lone =
                    to - from == 1 || self.groups.get(from..to).is_some_and(|all| all.iter().all(|one| one.len() >= 2));
                let number = digits(text.get(span.clone()).unwrap_or_default());
                let rare = count == 13 && !word.has(&["card", "visa", "credit", "cc", "payment", "pan"]);
                if lone && !rare && apart(text, &span) && issued(&number) && luhn(&number) {
                    out.push(Found::new("pii.card", span).keeping(4));
                }
            }
        }
    }

    fn national(&self, text: &str, number: national::Number, word: Context<'_>, out: &mut Vec<Found>) {
        for from in 0..self.groups.len() {
            for to in from + 1..=self.groups.len().min(from + 7) {
                let Some(groups) = self.groups.get(from..to) else { continue };
                if groups.iter().map(ExactSizeIterator::len).sum::<usize>() != number.length {
                    continue;
                }
                let Some(span) = self.number(text, from, to, b" -./").or_else(|| mixed(text, groups)) else { continue };
                let plain: String = groups.iter().filter_map(|group| text.get(group.clone())).collect();
                let shape: Vec<usize> = groups.iter().map(ExactSizeIterator::len).collect();
                let told = number.words.is_empty() || word.has(number.words);
                let formed = number.kind == "pii.us_ssn"
                    && shape == [3, 2, 4]
                    && text.as_bytes().get(span.start + 3) == Some(&b'-');
                if (told || formed) && apart(text, &span) && (number.holds)(&plain) {
                    out.push(Found::new(number.kind, span).keeping(4));
                }
            }
        }
    }

    fn phones(&self, text: &str, word: Context<'_>, out: &mut Vec<Found>) {
        let bytes = text.as_bytes();
        let plus = self.start().checked_sub(1).is_some_and(|at| bytes.get(at) == Some(&b'+'));
        let bracket = self.start().checked_sub(1).is_some_and(|at| bytes.get(at) == Some(&b'('));
        if !(7..=64).contains(&self.end().saturating_sub(self.start())) {
            return;
        }
        let told = || {
            word.has(&[
                "phone",
                "tel",
                "mobile",
                "cell",
                "call ",
                "call me",
                "fax",
                "whatsapp",
                "sms",
                "ring ",
                "dial",
                "hotline",
                "contact number",
                "text me",
                "reach me",
                "reach him",
                "reach her",
            ])
        };
        let mut count = 0;
        let mut end = self.start();
        let mut shape = Vec::new();
        for group in &self.groups {
            if count + group.len() > 15 || shape.len() >= 8 {
                break;
            }
            count += group.len();
            end = group.end;
            shape.push(group.len());
        }
        let mut start = self.start();
        let head = self.groups.first().and_then(|group| bytes.get(group.start)).copied().unwrap_or(b'0');
        let american = american(text, &self.groups, bracket);
        let good = if plus {
            start -= 1;
            let outside = start
                .checked_sub(1)
                .and_then(|at| bytes.get(at))
                .is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'+');
            outside && head != b'0' && (8..=15).contains(&count)
        } else if let Some(span) = &american {
            (start, end) = (span.start, span.end);
            true
        } else {
            (7..=15).contains(&count)
                && shape != [4, 2, 2]
                && text.get(start..end).is_some_and(|number| number.matches('.').count() < 3 || shape.len() == 5)
                && told()
        };
        if good && !plus && bracket && start == self.start() && american.is_none() {
            start -= 1;
        }
        let close = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let behind = bytes.get(end).is_some_and(|byte| close(*byte));
        let before = !plus && start.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(|byte| close(*byte));
        if good && !behind && !before {
            out.push(Found::new("pii.phone", start..end).keeping(2));
        }
    }
}

/// `(212) 555-0123`, `212-555-0123`, `1-212-555-0123`: an area and an exchange that can exist.
fn american(text: &str, groups: &[Range<usize>], bracket: bool) -> Option<Range<usize>> {
    let offset =
        usize::from(groups.first().is_some_and(|first| text.get(first.clone()) == Some("1")) && groups.len() == 4);
    let [area, exchange, line] = groups.get(offset..)? else { return None };
    let able =
        |group: &Range<usize>| group.len() == 3 && text.as_bytes().get(group.start).is_some_and(|byte| *byte >= b'2');
    let between = (text.get(area.end..exchange.start)?, text.get(exchange.end..line.start)?);
    let signs = match between {
        (")" | ") ", "-" | " ") => bracket || offset == 1,
        ("-", "-") | (".", ".") => true,
        _ => false,
    };
    let start = if bracket && offset == 0 { area.start - 1 } else { groups.first()?.start };
    (signs && able(area) && able(exchange) && line.len() == 4).then_some(start..line.end)
}

/// Groups joined by whatever single sign each.
fn mixed(text: &str, groups: &[Range<usize>]) -> Option<Range<usize>> {
    let single = groups.windows(2).all(|pair| {
        matches!(pair, [left, right] if text.get(left.end..right.start).is_some_and(|between| between.len() == 1 && between != "\n"))
    });
    single.then(|| Some(groups.first()?.start..groups.last()?.end)).flatten()
}

/// Whether nothing next to the span makes it a piece of something longer.
fn apart(text: &str, span: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let before = span.start.checked_sub(1).and_then(|at| bytes.get(at));
    let before_that = span.start.checked_sub(2).and_then(|at| bytes.get(at));
    let behind = bytes.get(span.end);
    let behind_that = bytes.get(span.end + 1);
    let word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let fraction = |sign: Option<&u8>, digit: Option<&u8>| sign == Some(&b'.') && digit.is_some_and(u8::is_ascii_digit);
    !word(before) && !word(behind) && !fraction(before, before_that) && !fraction(behind, behind_that)
}

/// Issuer ranges and their lengths (ISO/IEC 7812 registry as published by the schemes).
fn issued(number: &[u32]) -> bool {
    let head = |count: usize| number.iter().take(count).fold(0, |sum, digit| sum * 10 + digit);
    let length = number.len();
    match head(4) {
        4000..=4999 => matches!(length, 13 | 16 | 19),
        5100..=5599 | 2221..=2720 => length == 16,
        3400..=3499 | 3700..=3799 => length == 15,
        3000..=3059 | 3095 | 3600..=3699 | 3800..=3999 => (14..=19).contains(&length),
        6011 | 6440..=6599 | 6200..=6299 | 8100..=8171 | 3528..=3589 | 2200..=2204 => (16..=19).contains(&length),
        5018 | 5020 | 5038 | 5893 | 6304 | 6759 | 6761..=6763 => (14..=19).contains(&length),
        _ => false,
    }
}

/// What stands before a number, in lower case.
#[derive(Clone, Copy, Debug)]
struct Context<'a>(&'a str);

impl Context<'_> {
    fn has(self, words: &[&str]) -> bool {
        let lower = self.0;
        words.iter().any(|word| {
            lower.match_indices(word).any(|(at, _)| {
                let letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
                !letter(at.checked_sub(1).and_then(|at| lower.as_bytes().get(at)))
            })
        })
    }
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Numbers that begin with letters: looked at where a word begins with a letter and a digit is near.
pub(super) fn lettered_at(text: &str, at: usize, wanted: &Wanted, out: &mut Vec<Found>) {
    let (bytes, known) = (text.as_bytes(), out.len());
    if wanted.iban {
        out.extend(iban::at(text, at));
    }
    for number in &wanted.lettered {
        let mut plain = String::new();
        let mut end = at;
        while plain.len() < number.length {
            match bytes.get(end) {
                Some(byte) if byte.is_ascii_alphanumeric() => plain.push(char::from(*byte)),
                Some(b' ' | b'-') if !plain.is_empty() && bytes.get(end - 1).is_some_and(u8::is_ascii_alphanumeric) => {
                }
                Some(_) | None => break,
            }
            end += 1;
        }
        let upper = plain.to_ascii_uppercase();
        if plain.len() == number.length && apart(text, &(at..end)) && (number.holds)(&upper) {
            out.push(Found::new(number.kind, at..end).keeping(4));
        }
    }
    sift(text, known, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A card that Luhn's check lets pass, in what is around it.
    fn cards(text: &str) -> usize {
        let (wanted, mut found) = (Wanted::new(&|kind| kind == "pii.card"), Vec::new());
        let first = text.find("4111").unwrap();
        let (row, _) = Row::from(text, first);
        number_at(text, &row, &wanted, &mut found);
        found.len()
    }

    #[test]
    fn digits_of_a_uuid_are_no_number() {
        assert_eq!(cards("41111111-1111-1111-8c88-5b3196e8e45d"), 0);
        assert_eq!(cards("task/41111111-1111-1111-8c88-5b3196e8e45d."), 0);
        for number in [
            "4111-1111-1111-1111",
            "41111111-1111-1111",
            "41111111-1111-1111-8c88-5b3196e8e45",
            "41111111-1111-1111-8c88-5b3196e8e45dd",
            "41111111-1111-1111-8c88",
        ] {
            assert_eq!(cards(number), 1, "{number}");
        }
        assert_eq!(cards("41111111-1111-1111-8888-123456789012"), 1, "a UUID of digits alone is hardly one");
    }
}
