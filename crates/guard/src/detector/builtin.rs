//! Secrets, personal data and signals of injection in one pass: an automaton finds the literals that make a closer look
//! worth it, a second look at every byte finds rows of digits. Text without either costs a few nanoseconds a byte.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::injection::{Injection, Quotes, Seen};
use super::pii::{self, Wanted};
use super::{Found, secret};

/// The id of the injection detector.
pub(crate) const INJECTION: &str = "injection";
/// Most literals looked at in one text; more is a flood.
const MOST_LOOKS: usize = 400_000;

/// Every id a policy may name, and whether its group's name means it too.
pub(crate) fn kinds() -> impl Iterator<Item = (&'static str, bool)> {
    secret::kinds().map(|kind| (kind, true)).chain(pii::kinds()).chain([(INJECTION, true)])
}

/// The compiled detectors that a policy wants.
pub(crate) struct Builtins {
    literals: Option<AhoCorasick>,
    acts: Vec<Act>,
    wanted: Wanted,
    injection: Option<Injection>,
    pub(crate) reach: Reach,
}

/// How far a detector looks, in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Most a match can have before its tail, with what it needs to see behind it.
    pub(crate) longest: usize,
    /// What it needs to see before it.
    pub(crate) before: usize,
}

impl Reach {
    pub(crate) fn max(self, other: Self) -> Self {
        Self { longest: self.longest.max(other.longest), before: self.before.max(other.before) }
    }
}

/// What a literal is a reason for.
#[derive(Clone, Copy, Debug)]
enum Act {
    Secret(secret::Trigger),
    Signal(usize),
    Email,
}

/// What one text holds.
#[derive(Debug, Default)]
pub(crate) struct Sight {
    pub(crate) found: Vec<Found>,
    pub(crate) signals: Vec<Seen>,
    /// Whether there was too much to look at all of it.
    pub(crate) flooded: bool,
}

impl Builtins {
    /// Compiles what is wanted. The error would be a mistake in our tables.
    pub(crate) fn new(kinds: &BTreeSet<&'static str>) -> Result<Self, String> {
        let wanted = Wanted::new(&|kind| kinds.contains(kind));
        let mut patterns: Vec<(&str, Act)> = secret::triggers()
            .filter(|(_, trigger)| kinds.contains(trigger.kind()))
            .map(|(literal, trigger)| (literal, Act::Secret(trigger)))
            .collect();
        let mut reach = Reach::default();
        if !patterns.is_empty() {
            reach = reach.max(Reach { longest: secret::LONGEST, before: secret::BEFORE });
        }
        if kinds.iter().any(|kind| kind.starts_with("pii.")) {
            reach = reach.max(Reach { longest: pii::LONGEST, before: pii::BEFORE });
        }
        if wanted.email {
            patterns.push(("@", Act::Email));
        }
        let injection = if kinds.contains(INJECTION) { Some(Injection::new()?) } else { None };
        if injection.is_some() {
            patterns.extend(Injection::anchors().map(|(literal, signal)| (literal, Act::Signal(signal))));
        }
        let literals = if patterns.is_empty() {
            None
        } else {
            let automaton = AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .match_kind(MatchKind::Standard)
                .kind(Some(AhoCorasickKind::DFA))
                .build(patterns.iter().map(|(literal, _)| literal));
            Some(automaton.map_err(|error| error.to_string())?)
        };
        let acts = patterns.into_iter().map(|(_, act)| act).collect();
        Ok(Self { literals, acts, wanted, injection, reach })
    }

    /// Nothing at all.
    pub(crate) fn none() -> Self {
        let wanted = Wanted::new(&|_| false);
        Self { literals: None, acts: Vec::new(), wanted, injection: None, reach: Reach::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.acts.is_empty() && !self.wanted.rows() && !self.wanted.letters() && !self.wanted.mac && !self.wanted.crypto
    }

    /// Whether rows of digits with signs between them are looked at.
    pub(crate) fn rows(&self) -> bool {
        self.wanted.rows() || self.wanted.letters()
    }

    /// Everything in the text.
    pub(crate) fn scan(&self, text: &str, quotes: Quotes) -> Sight {
        let mut sight = Sight::default();
        self.literals(text, quotes, &mut sight);
        self.numbers(text, &mut sight.found);
        sight
    }

    /// Signals alone.
    pub(crate) fn signals(&self, text: &str, quotes: Quotes) -> Vec<Seen> {
        let mut sight = Sight::default();
        if self.injection.is_some() {
            self.literals(text, quotes, &mut sight);
        }
        sight.signals
    }

    pub(crate) const fn wants_signals(&self) -> bool {
        self.injection.is_some()
    }

    fn literals(&self, text: &str, quotes: Quotes, sight: &mut Sight) {
        let Some(Ok(all)) = self.literals.as_ref().map(|literals| literals.try_find_overlapping_iter(text)) else {
            return;
        };
        // A signal that was not there is not looked for again until the window has moved on.
        let mut tried: Vec<usize> = Vec::new();
        for (count, literal) in all.enumerate() {
            if count >= MOST_LOOKS {
                sight.flooded = true;
                return;
            }
            let span = literal.range();
            match self.acts.get(literal.pattern().as_usize()) {
                Some(Act::Secret(trigger)) => sight.found.extend(trigger.look(text, span)),
                Some(Act::Email) => sight.found.extend(pii::email_at(text, span.start)),
                Some(Act::Signal(signal)) => {
                    self.signal(text, *signal, &span, quotes, (&mut tried, &mut sight.signals))
                }
                None => {}
            }
        }
    }

    fn signal(
        &self,
        text: &str,
        signal: usize,
        anchor: &Range<usize>,
        quotes: Quotes,
        (tried, signals): (&mut Vec<usize>, &mut Vec<Seen>),
    ) {
        let Some(injection) = &self.injection else { return };
        if tried.len() <= signal {
            tried.resize(signal + 1, usize::MAX);
        }
        let Some(last) = tried.get_mut(signal) else { return };
        // Windows overlap; the next look covers what this one would.
        if *last != usize::MAX && anchor.start < *last + 64 {
            return;
        }
        match injection.look(text, signal, anchor, quotes) {
            Some(seen) => {
                *last = seen.span.end.max(anchor.start);
                if signals.len() < super::MOST_SPANS {
                    signals.push(seen);
                }
            }
            None => *last = anchor.start,
        }
    }

    fn numbers(&self, text: &str, found: &mut Vec<Found>) {
        let (rows, letters) = (self.wanted.rows(), self.wanted.letters());
        if !rows && !letters && !self.wanted.mac && !self.wanted.crypto {
            return;
        }
        let bytes = text.as_bytes();
        let mut row_end = 0;
        let mut word = false;
        for (at, byte) in bytes.iter().enumerate() {
            let starts = !word;
            word = byte.is_ascii_alphanumeric();
            if byte.is_ascii_digit() {
                if rows && at >= row_end {
                    let (row, end) = pii::Row::from(text, at);
                    row_end = end;
                    pii::number_at(text, &row, &self.wanted, found);
                }
                if starts && self.wanted.crypto && matches!(byte, b'0' | b'1' | b'3') {
                    found.extend(pii::crypto_at(text, at));
                }
            } else if word && starts {
                let digit = bytes.get(at + 1..at + 7).is_some_and(|next| next.iter().any(u8::is_ascii_digit));
                if letters && digit {
                    pii::lettered_at(text, at, &self.wanted, found);
                }
                if self.wanted.crypto && *byte == b'b' {
                    found.extend(pii::crypto_at(text, at));
                }
            } else if matches!(byte, b':' | b'-') {
                self.separated(text, at, found);
            }
        }
    }

    /// Addresses with colons or dashes; each is looked at where its first sign is.
    fn separated(&self, text: &str, at: usize, found: &mut Vec<Found>) {
        let bytes = text.as_bytes();
        if self.wanted.mac
            && bytes.get(at + 3) == bytes.get(at)
            && at.checked_sub(3).and_then(|at| bytes.get(at)) != bytes.get(at)
        {
            found.extend(pii::mac_at(text, at));
        }
        let colon = |at: Option<usize>| at.and_then(|at| bytes.get(at)) == Some(&b':');
        if self.wanted.ip && colon(Some(at)) {
            let first = !bytes.get(..at).unwrap_or_default().iter().rev().take(5).any(|byte| *byte == b':');
            let more = bytes.get(at + 1..).unwrap_or_default().iter().take(5).any(|byte| *byte == b':');
            if first && more {
                found.extend(pii::ip_v6_at(text, at));
            }
        }
    }
}
