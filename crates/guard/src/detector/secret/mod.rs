//! Detector `secret`: keys and passwords, by what providers put in front of them, by the shape that follows, and by
//! how little the rest looks like words.
//!
//! | kind | what |
//! |---|---|
//! | `secret.<provider>` | a known prefix and enough characters of the right class behind it |
//! | `secret.private_key` | from `-----BEGIN … PRIVATE KEY` to its end |
//! | `secret.url_password` | `scheme://user:password@` |
//! | `secret.assignment`, `secret.bearer` | a telling word, then a value that is no word |
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

mod formats;

use super::class::Class;
use super::{Found, Tail};
use std::collections::HashSet;
use std::ops::Range;

/// One provider's way to write a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub(super) id: &'static str,
    /// What stands before the first literal: class, fewest, most.
    before: Option<(Class, usize, usize)>,
    steps: &'static [Step],
    edge: Edge,
    end: End,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Lit(&'static str),
    /// So many of a class; the most only bounds what is looked at.
    Run(Class, usize, usize),
}

/// What may stand before a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    /// Anything.
    Free,
    /// No letter, digit, underscore.
    Start,
}

/// What follows a key.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Nothing of the last class: a longer run is something else.
    Exact,
    /// More of the last class belongs to it.
    Open,
    /// All of this class belongs to it.
    Through(Class),
}

/// The ids of all kinds.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    let own = ["secret.private_key", "secret.url_password", "secret.assignment", "secret.bearer"];
    let mut seen = HashSet::new();
    formats::FORMATS.iter().map(|format| format.id).chain(own).filter(move |id| seen.insert(*id))
}

/// What in a text makes a closer look worth it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trigger {
    Format(&'static Format),
    PrivateKey,
    UrlPassword,
    /// A word such as `password`.
    Assignment,
    Bearer,
}

/// What to look for, and why.
pub(super) fn triggers() -> impl Iterator<Item = (&'static str, Trigger)> {
    let formats = formats::FORMATS.iter().filter_map(|format| match format.steps.first() {
        Some(Step::Lit(literal)) => Some((*literal, Trigger::Format(format))),
        Some(Step::Run(..)) | None => None,
    });
    formats
        .chain([(BEGIN, Trigger::PrivateKey), (PUTTY, Trigger::PrivateKey), ("://", Trigger::UrlPassword)])
        .chain(TELLING.iter().map(|word| (*word, Trigger::Assignment)))
        .chain([("bearer ", Trigger::Bearer), ("authorization: basic ", Trigger::Bearer)])
}

impl Trigger {
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::Format(format) => format.id,
            Self::PrivateKey => "secret.private_key",
            Self::UrlPassword => "secret.url_password",
            Self::Assignment => "secret.assignment",
            Self::Bearer => "secret.bearer",
        }
    }

    /// A closer look where the trigger's literal was seen.
    pub(super) fn look(self, text: &str, literal: Range<usize>) -> Option<Found> {
        match self {
            Self::Format(format) => format.look(text, literal.start),
            Self::PrivateKey => private_key(text, literal.start),
            Self::UrlPassword => url_password(text, literal),
            Self::Assignment => assignment(text, literal.end),
            Self::Bearer => bearer(text, literal.end),
        }
    }
}

/// Most characters a match can have before its tail, and what it can need on either side of it.
pub(super) const LONGEST: usize = 290;
/// See [`LONGEST`].
pub(super) const BEFORE: usize = 96;

impl Format {
    fn look(&self, text: &str, at: usize) -> Option<Found> {
        let bytes = text.as_bytes();
        let mut start = at;
        if let Some((class, least, most)) = self.before {
            let run = class.run_back(bytes.get(..at)?, most + 1);
            if run < least || run > most {
                return None;
            }
            start -= run;
        }
        if self.edge == Edge::Start && start > 0 && bytes.get(start - 1).is_some_and(|byte| Class::Word.has(*byte)) {
            return None;
        }
        let mut end = at;
        let mut last = Class::Alnum;
        for (at, step) in self.steps.iter().enumerate() {
            let rest = bytes.get(end..)?;
            end += match step {
                Step::Lit(literal) => rest.starts_with(literal.as_bytes()).then_some(literal.len())?,
                Step::Run(class, least, most) => {
                    last = *class;
                    // What is open goes on with the tail.
                    let open = at + 1 == self.steps.len() && !matches!(self.end, End::Exact);
                    let most = if open { *least } else { *most };
                    let run = class.run(rest, most);
                    (run >= *least).then_some(run)?
                }
            };
        }
        let behind = bytes.get(end).is_some_and(|byte| last.has(*byte));
        let tail = match self.end {
            End::Exact if behind => return None,
            End::Exact => Tail::None,
            End::Open => Tail::Run(last),
            End::Through(class) => Tail::Run(class),
        };
        let value = text.get(start..end)?;
        if self.id != "secret.aws_access_key" && is_placeholder(value) {
            return None;
        }
        Some(Found::new(self.id, start..end).with_tail(tail))
    }
}

/// Values that documentation uses in place of a key.
fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let telling = [
        "xxxx",
        "example",
        "placeholder",
        "your-",
        "your_",
        "yourkey",
        "****",
        "....",
        "abcdefghijkl",
        "redacted",
        "changeme",
    ];
    if telling.iter().any(|word| lower.contains(word)) {
        return true;
    }
    let body = value.get(value.len().saturating_sub(16)..).unwrap_or(value);
    distinct(body) < 5
}

fn distinct(value: &str) -> usize {
    let mut seen = [false; 256];
    value
        .bytes()
        .filter(|byte| seen.get_mut(usize::from(*byte)).is_some_and(|seen| !std::mem::replace(seen, true)))
        .count()
}

/// Bits a character.
fn entropy(value: &str) -> f64 {
    let mut counts = [0_u16; 256];
    for byte in value.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count = count.saturating_add(1);
        }
    }
    let all = f64::from(u16::try_from(value.len()).unwrap_or(u16::MAX)).max(1.0);
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / all)
        .map(|share| -share * share.log2())
        .sum()
}

const BEGIN: &str = "-----BEGIN ";
const PUTTY: &str = "PuTTY-User-Key-File-";
/// Most characters of a header between `BEGIN` and its end.
const LONGEST_HEADER: usize = 64;
/// What ends a private key.
pub(crate) const KEY_END: &str = "-----END ";
/// See [`KEY_END`].
pub(crate) const PUTTY_END: &str = "Private-MAC:";
/// A key without an end is followed no further.
pub(crate) const LONGEST_KEY: usize = 64 * 1024;

fn private_key(text: &str, at: usize) -> Option<Found> {
    let rest = text.get(at..)?;
    if let Some(header) = rest.strip_prefix(BEGIN) {
        let end = header.bytes().take(LONGEST_HEADER).position(|byte| byte == b'-')?;
        let header = header.get(..end)?;
        let key = header.ends_with("PRIVATE KEY") || header.ends_with("PRIVATE KEY BLOCK");
        return key.then(|| Found::new("secret.private_key", at..at + BEGIN.len() + end).with_tail(Tail::Key));
    }
    rest.starts_with(PUTTY).then(|| Found::new("secret.private_key", at..at + PUTTY.len()).with_tail(Tail::Key))
}

fn url_password(text: &str, sign: Range<usize>) -> Option<Found> {
    let rest = text.as_bytes().get(sign.end..)?;
    let scheme = Class::Alnum.run_back(text.as_bytes().get(..sign.start)?, 16);
    if scheme == 0 {
        return None;
    }
    let part = |byte: &&u8| {
        byte.is_ascii_graphic() && !matches!(**byte, b'/' | b'@' | b':' | b'"' | b'\'' | b'<' | b'>' | b'{' | b'$')
    };
    let user = rest.iter().take(64).take_while(part).count();
    if rest.get(user) != Some(&b':') {
        return None;
    }
    let start = sign.end + user + 1;
    let password = text.as_bytes().get(start..)?.iter().take(129).take_while(part).count();
    let end = start + password;
    if !(3..=128).contains(&password) || text.as_bytes().get(end) != Some(&b'@') {
        return None;
    }
    let value = text.get(start..end)?;
    let plain = ["password", "pass", "pwd", "passwd", "secret", "user", "foo", "bar"];
    (!is_placeholder_password(value) && !plain.contains(&value.to_ascii_lowercase().as_str()))
        .then(|| Found::new("secret.url_password", start..end))
}

/// Words that announce a value nobody should see.
const TELLING: [&str; 18] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "access-key",
    "accesskey",
    "token",
    "credential",
    "private_key",
    "auth_key",
    "signing_key",
    "encryption_key",
    "account_key",
];

/// `password = "…"`, `api_key: …`, `"token": "…"`: only the value is the finding.
fn assignment(text: &str, word_end: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let mut at = word_end;
    let skip = |at: usize, class: &dyn Fn(u8) -> bool, most: usize| {
        at + bytes.get(at..).unwrap_or_default().iter().take(most).take_while(|byte| class(**byte)).count()
    };
    at = skip(at, &|byte| Class::WordDash.has(byte), 12);
    at = skip(at, &|byte| matches!(byte, b'"' | b'\'' | b'`' | b']' | b'\\'), 3);
    at = skip(at, &|byte| byte == b' ' || byte == b'\t', 4);
    let sign = skip(at, &|byte| matches!(byte, b'=' | b':' | b'>'), 3);
    let said = text.get(at..at + 3).is_some_and(|word| word.eq_ignore_ascii_case("is "));
    if sign == at && !said {
        return None;
    }
    at = if said { at + 3 } else { sign };
    at = skip(at, &|byte| byte == b' ' || byte == b'\t', 4);
    let quoted = skip(at, &|byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\'), 3);
    let length = Class::Password.run(bytes.get(quoted..)?, 129);
    let mut end = quoted + length;
    while end > quoted
        && bytes.get(end - 1).is_some_and(|byte| matches!(byte, b'.' | b':' | b'!' | b'?' | b'\\' | b'&'))
        && quoted == at
    {
        end -= 1;
    }
    let value = text.get(quoted..end)?;
    is_password(value, said).then(|| Found::new("secret.assignment", quoted..end))
}

/// Whether a value looks like a password or a key rather than a word, a path or a piece of code.
fn is_password(value: &str, said: bool) -> bool {
    if !(8..=128).contains(&value.len()) || is_placeholder_password(value) {
        return false;
    }
    let has = |class: fn(&u8) -> bool| value.bytes().any(|byte| class(&byte));
    let digit = has(u8::is_ascii_digit);
    let sign = value.bytes().any(|byte| matches!(byte, b'!' | b'#' | b'%' | b'^' | b'*' | b'@' | b'&' | b'?' | b'~'));
    let letter = has(u8::is_ascii_alphabetic);
    let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let code = value.contains("::")
        || value.contains("->")
        || value.contains("//")
        || value.contains("=\"")
        || value.starts_with(['$', '%', '/', '.', '-', '_', '*', '&']);
    let path = value.matches(['/', '.', '_', '-']).count() >= 3 && !mixed;
    let enough = if said { digit && (sign || mixed) } else { digit || (sign && mixed) };
    letter && enough && !code && !path && entropy(value) >= 3.0
}

fn is_placeholder_password(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let telling = [
        "xxxx",
        "example",
        "placeholder",
        "your",
        "changeme",
        "change_me",
        "****",
        "....",
        "redacted",
        "secret",
        "password",
        "env.",
        "environ",
        "getenv",
        "config",
        "process.",
        "string",
        "none",
        "null",
        "true",
        "false",
        "token",
        "test",
        "dummy",
        "api_key",
        "apikey",
        "insert",
        "sha256",
        "sha1",
        "md5",
        "base64",
        "utf-8",
        "self.",
        "my_",
        "my-",
        "https",
    ];
    value.contains(['<', '{', '$']) || telling.iter().any(|word| lower.contains(word)) || distinct(value) < 3
}

fn bearer(text: &str, at: usize) -> Option<Found> {
    let length = Class::Token.run(text.as_bytes().get(at..)?, 160);
    let value = text.get(at..at + length)?;
    let digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let good = length >= 16 && digit && !is_placeholder(value) && entropy(value) >= 3.2;
    good.then(|| Found::new("secret.bearer", at..at + length).with_tail(Tail::Run(Class::Token)))
}
