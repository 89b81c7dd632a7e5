//! Secrets, personal data and signals of injection in one pass: an automaton finds the literals that make a closer look
//! worth it, a second look at every byte finds rows of digits. Text without either costs a few nanoseconds a byte.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::injection::{Bits, Injection, Look, Near, Quotes, Seen};
use super::pii::{self, Wanted};
use super::{Found, secret};
use crate::pace::Pace;
use crate::seek::seek;

/// The id of the injection detector.
pub(crate) const INJECTION: &str = "injection";
/// Fewest bytes of plain text in which any of ours finds something.
pub(crate) const SHORTEST: usize = 3;
/// Most literals looked at in one text; more is a flood.
const MOST_LOOKS: usize = 400_000;

/// Every id a policy may name, and whether its group's name means it too.
pub(crate) fn kinds() -> impl Iterator<Item = (&'static str, bool)> {
    secret::kinds().map(|kind| (kind, true)).chain(pii::kinds()).chain([(INJECTION, true)])
}

/// The compiled detectors that a policy wants.
pub(crate) struct Builtins {
    literals: Option<AhoCorasick>,
    /// What each literal is a reason for.
    reasons: Vec<Reasons>,
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
    /// A signal may begin there.
    Start(usize),
    /// A signal may be around it.
    Anchor(usize),
    Email,
}

/// All that one literal is a reason for.
#[derive(Debug, Default)]
struct Reasons {
    acts: Vec<Act>,
    /// What signals need near their anchors.
    sets: Option<Bits>,
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
        let mut reasons: BTreeMap<Vec<u8>, Reasons> = BTreeMap::new();
        let mut act = |literal: &[u8], act: Act| {
            reasons.entry(literal.to_ascii_lowercase()).or_default().acts.push(act);
        };
        let mut reach = Reach::default();
        for (literal, trigger) in secret::triggers().filter(|(_, trigger)| kinds.contains(trigger.kind())) {
            act(literal.as_bytes(), Act::Secret(trigger));
            reach = reach.max(Reach { longest: secret::LONGEST, before: secret::BEFORE });
        }
        if kinds.iter().any(|kind| kind.starts_with("pii.")) {
            reach = reach.max(Reach { longest: pii::LONGEST, before: pii::BEFORE });
        }
        if wanted.email {
            act(b"@", Act::Email);
        }
        let injection = if kinds.contains(INJECTION) { Some(Injection::new()?) } else { None };
        if let Some(injection) = &injection {
            for (literal, signal) in injection.anchors() {
                act(literal.as_bytes(), Act::Anchor(signal));
            }
            for (literal, signal) in injection.starts() {
                act(literal, Act::Start(signal));
            }
            for (literal, sets) in injection.gates.literals() {
                reasons.entry(literal.to_owned()).or_default().sets = Some(sets);
            }
        }
        let literals = if reasons.is_empty() {
            None
        } else {
            let automaton = AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .match_kind(MatchKind::Standard)
                .kind(Some(AhoCorasickKind::DFA))
                .build(reasons.keys());
            Some(automaton.map_err(|error| error.to_string())?)
        };
        Ok(Self { literals, reasons: reasons.into_values().collect(), wanted, injection, reach })
    }

    /// Nothing at all.
    pub(crate) fn none() -> Self {
        let wanted = Wanted::new(&|_| false);
        Self { literals: None, reasons: Vec::new(), wanted, injection: None, reach: Reach::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.reasons.is_empty()
            && !self.wanted.rows()
            && !self.wanted.letters()
            && !self.wanted.mac
            && !self.wanted.crypto
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
        let mut near = Near::default();
        let (mut count, mut pace) = (0_usize, Pace::default());
        for literal in all {
            let span = literal.range();
            pace.at(span.end);
            let Some(reasons) = self.reasons.get(literal.pattern().as_usize()) else { continue };
            count += reasons.acts.len();
            if count > MOST_LOOKS {
                sight.flooded = true;
                return;
            }
            if let Some(sets) = &reasons.sets {
                near.literal(span.end, sets);
            }
            for act in &reasons.acts {
                match act {
                    Act::Secret(trigger) => sight.found.extend(trigger.look(text, span.clone())),
                    Act::Email => sight.found.extend(pii::email_at(text, span.start)),
                    Act::Start(signal) => near.start(*signal, span.clone()),
                    Act::Anchor(signal) => near.anchor(*signal, span.clone()),
                }
            }
        }
        self.signalled(text, quotes, &near, &mut sight.signals);
    }

    /// Looks where signals may be.
    fn signalled(&self, text: &str, quotes: Quotes, near: &Near<'_>, signals: &mut Vec<Seen>) {
        let Some(injection) = &self.injection else { return };
        // One that was found is not looked for again inside itself, and one that was not around an anchor is not
        // looked for until the window has moved on.
        let mut tried: BTreeMap<usize, usize> = BTreeMap::new();
        let mut pace = Pace::default();
        for (signal, look) in near.looks(&injection.gates) {
            let (start, apart) = match &look {
                Look::At(start) => (*start, 0),
                Look::Around(anchor) => (anchor.start, 64),
            };
            pace.at(start);
            if tried.get(&signal).is_some_and(|last| start < *last + apart) {
                continue;
            }
            match injection.look(text, signal, &look, quotes) {
                Some(seen) => {
                    tried.insert(signal, seen.span.end.max(start));
                    if signals.len() < super::MOST_SPANS {
                        signals.push(seen);
                    }
                }
                None => _ = tried.insert(signal, start),
            }
        }
    }

    fn numbers(&self, text: &str, found: &mut Vec<Found>) {
        let (rows, letters) = (self.wanted.rows(), self.wanted.letters());
        if !rows && !letters && !self.wanted.mac && !self.wanted.crypto {
            return;
        }
        let bytes = text.as_bytes();
        let mut row_end = 0;
        let mut behind = 0;
        let (mut next, mut pace) = (0, Pace::default());
        // In ASCII the colon follows the digits; all that is looked for has one of these.
        while let Some(at) = seek(bytes, next, |byte| (byte.wrapping_sub(b'0') <= 10) | (byte == b'-')) {
            next = at + 1;
            pace.at(at);
            if !bytes.get(at).is_some_and(u8::is_ascii_digit) {
                self.separated(text, at, found);
                continue;
            }
            for start in at.saturating_sub(6).max(behind)..=at {
                let before = start.checked_sub(1).and_then(|before| bytes.get(before));
                if !before.is_some_and(u8::is_ascii_alphanumeric) {
                    self.word(text, start, found);
                }
            }
            behind = at + 1;
            if rows && at >= row_end {
                let (row, end) = pii::Row::from(text, at);
                row_end = end;
                pii::number_at(text, &row, &self.wanted, found);
            }
        }
    }

    /// What begins a word with a digit in it or soon behind it.
    fn word(&self, text: &str, start: usize, found: &mut Vec<Found>) {
        let Some(first) = text.as_bytes().get(start) else { return };
        if self.wanted.letters() && first.is_ascii_alphabetic() {
            pii::lettered_at(text, start, &self.wanted, found);
        }
        if self.wanted.crypto && matches!(first, b'0' | b'1' | b'3' | b'b') {
            found.extend(pii::crypto_at(text, start));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the pass over all literals finds, and what every signal's own expression finds in the whole text.
    #[test]
    fn no_signal_is_lost_between_the_literals() {
        let builtins = Builtins::new(&BTreeSet::from([INJECTION])).unwrap();
        let injection = builtins.injection.as_ref().unwrap();
        let literals: Vec<String> =
            injection.gates.literals().filter_map(|(literal, _)| String::from_utf8(literal.to_vec()).ok()).collect();
        let fillers = [
            " ", ", ", "the ", "all ", "to ", "your ", "every ", "about ", "my ", ": ", "\n", "of this ", "s ", "ing ",
        ];
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut roll = |sides: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 11).unwrap() % sides
        };
        let mut compared = 0;
        for _ in 0..300 {
            let mut text = String::new();
            for _ in 0..30 {
                text.push_str(&literals[roll(literals.len())]);
                text.push_str(fillers[roll(fillers.len())]);
            }
            let seen = builtins.signals(&text, Quotes::Count);
            for (name, span) in injection.whole(&text) {
                compared += 1;
                assert!(seen.iter().any(|one| one.name == name), "{name}: {:?} in {text:?}", text.get(span));
            }
        }
        assert!(compared > 300, "{compared}");
    }
}
