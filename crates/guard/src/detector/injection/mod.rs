//! Detector `injection`: does a text try to take over the model that reads it?
//!
//! Signals ([`signals`]) add up, each once, over a stretch of text, to at most 100; a policy says from which score on it
//! minds. What stands in quotes or code counts less, except in agent cards, because documentation quotes attacks; what
//! had to be decoded, or was hidden, counts more. This stops known phrases and careless attacks, not a determined
//! author: docs/guardrails-quality.md says how far it goes.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory, sums of small weights")]

mod gate;
mod signals;

use super::{ceil, floor};

pub(super) use gate::{Bits, Gates, Look, Near};
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};
use std::ops::Range;

/// Something that attempts have in common.
#[derive(Clone, Copy, Debug)]
struct Signal {
    /// `family.detail`; counted once a text.
    name: &'static str,
    weight: u8,
    /// Literals around which to look.
    anchors: &'static [&'static str],
    /// What must be there.
    seek: &'static str,
}

/// How far around an anchor is looked, in bytes.
pub(super) const AROUND: usize = 240;
/// How far apart signals may be and still add up.
pub(crate) const STRETCH: usize = 4096;

/// Compiled signals.
#[derive(Debug)]
pub(super) struct Injection {
    compiled: Vec<(Signal, Regex)>,
    pub(super) gates: Gates,
}

/// A signal in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) name: &'static str,
    pub(crate) weight: u8,
    pub(crate) span: Range<usize>,
}

impl Injection {
    /// Compiles the table. The error would be a mistake in it.
    pub(super) fn new() -> Result<Self, String> {
        let mut compiled = Vec::with_capacity(signals::SIGNALS.len());
        let sources: Vec<String> = signals::SIGNALS.iter().map(|signal| source_of(signal.seek)).collect();
        for (signal, source) in signals::SIGNALS.iter().zip(&sources) {
            compiled.push((*signal, compile(source)?));
        }
        let gates =
            Gates::of(sources.iter().map(String::as_str).zip(signals::SIGNALS.iter().map(|signal| signal.anchors)))?;
        Ok(Self { compiled, gates })
    }

    /// What each signal's expression finds first in a text, if it is near an anchor of its own.
    #[cfg(test)]
    pub(super) fn whole(&self, text: &str) -> Vec<(&'static str, Range<usize>)> {
        let find = |(signal, seek): &(Signal, Regex)| {
            let found = seek.find(text)?.range();
            let inside = text.get(found.clone())?.to_ascii_lowercase();
            (found.len() < AROUND && signal.anchors.iter().any(|anchor| inside.contains(anchor)))
                .then_some((signal.name, found))
        };
        self.compiled.iter().filter_map(find).collect()
    }

    /// What to look around, and for which signal.
    pub(super) fn anchors(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let around = self.compiled.iter().enumerate().filter(|(at, _)| self.gates.starts(*at).is_empty());
        around.flat_map(|(at, (signal, _))| signal.anchors.iter().map(move |anchor| (*anchor, at)))
    }

    /// What a signal may begin with, and which.
    pub(super) fn starts(&self) -> impl Iterator<Item = (&[u8], usize)> {
        (0..self.compiled.len()).flat_map(|at| self.gates.starts(at).iter().map(move |start| (start.as_slice(), at)))
    }

    /// A closer look.
    pub(super) fn look(&self, text: &str, signal: usize, place: &Look, quotes: Quotes) -> Option<Seen> {
        let (signal, seek) = self.compiled.get(signal)?;
        let input = match place {
            Look::At(start) => {
                Input::new(text).span(*start..(start + AROUND * 2).min(text.len())).anchored(Anchored::Yes)
            }
            Look::Around(anchor) => {
                Input::new(text).span(anchor.start.saturating_sub(AROUND)..(anchor.end + AROUND).min(text.len()))
            }
        };
        let found = seek.search(&input)?;
        let (start, end) = (floor(text, found.start()), ceil(text, found.end()));
        let quoted = quotes == Quotes::Dampen && is_quoted(text, &(start..end));
        let weight = if quoted { signal.weight * 3 / 5 } else { signal.weight };
        (start < end).then_some(Seen { name: signal.name, weight, span: start..end })
    }
}

/// Whether quotation makes a signal count less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quotes {
    Dampen,
    Count,
}

/// The strongest stretch of text: its score and where its heaviest signal lies.
pub(crate) fn score(signals: &mut [Seen]) -> Option<(u8, Range<usize>)> {
    signals.sort_by_key(|seen| seen.span.start);
    let mut best: Option<(u32, Range<usize>)> = None;
    for (at, first) in signals.iter().enumerate() {
        let stretch = signals.get(at..).unwrap_or_default();
        let stretch = stretch.iter().take_while(|seen| seen.span.start <= first.span.start + STRETCH);
        let mut counted: Vec<&Seen> = Vec::new();
        for seen in stretch {
            match counted.iter_mut().find(|other| other.name == seen.name) {
                Some(other) if other.weight < seen.weight => *other = seen,
                Some(_) => {}
                None => counted.push(seen),
            }
        }
        let sum: u32 = counted.iter().map(|seen| u32::from(seen.weight)).sum();
        let heaviest = counted.iter().max_by_key(|seen| (seen.weight, std::cmp::Reverse(seen.span.start)));
        if let Some(heaviest) = heaviest
            && best.as_ref().is_none_or(|(most, _)| sum > *most)
        {
            best = Some((sum, heaviest.span.clone()));
        }
        if sum >= 100 {
            break;
        }
    }
    best.map(|(sum, span)| (u8::try_from(sum.min(100)).unwrap_or(100), span))
}

/// The expression of a signal, its short forms written out.
fn source_of(seek: &str) -> String {
    let mut source = String::with_capacity(seek.len() * 4);
    let mut pieces = seek.split('@');
    source.push_str(pieces.next().unwrap_or_default());
    let mut number = true;
    let pieces: Vec<&str> = pieces.collect();
    for piece in pieces {
        // `@6@` is six words; a lone `@` is itself.
        match piece.parse::<u8>() {
            Ok(words) if number => {
                source.push_str(&format!("(?:[a-z0-9']{{1,24}}~){{0,{words}}}?"));
                number = false;
            }
            Ok(_) | Err(_) => {
                if number {
                    source.push('@');
                }
                source.push_str(piece);
                number = true;
            }
        }
    }
    source.replace('~', r"[^a-z0-9]{0,4}")
}

fn compile(source: &str) -> Result<Regex, String> {
    // ASCII classes: look-alikes are folded before, and Unicode tables would cost megabytes.
    Regex::builder()
        .syntax(syntax::Config::new().case_insensitive(true).unicode(false).utf8(false))
        .configure(Regex::config().utf8_empty(false).nfa_size_limit(Some(4 << 20)).hybrid_cache_capacity(1 << 20))
        .build(source)
        .map_err(|error| format!("{source}: {error}"))
}

/// Whether the span lies in quotes or code on its line.
fn is_quoted(text: &str, span: &Range<usize>) -> bool {
    let before = text.get(..span.start).unwrap_or_default();
    let behind = text.get(span.end..).unwrap_or_default();
    let before: Vec<char> = before.chars().rev().take(200).take_while(|one| *one != '\n').collect();
    let behind: Vec<char> = behind.chars().take(200).take_while(|one| *one != '\n').collect();
    ['"', '`'].into_iter().any(|mark| {
        let opened = before.iter().filter(|one| **one == mark).count() % 2 == 1;
        opened && behind.contains(&mark)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_compiles_and_has_an_anchor_of_its_own_kind() {
        let injection = Injection::new().unwrap();
        for (signal, _) in &injection.compiled {
            assert!(!signal.anchors.is_empty() && signal.weight <= 100, "{}", signal.name);
        }
    }

    #[test]
    fn signals_add_up_within_a_stretch_and_once_each() {
        let seen = |name, weight, start: usize| Seen { name, weight, span: start..start + 5 };
        assert_eq!(score(&mut []), None);
        assert_eq!(score(&mut [seen("a", 40, 0), seen("a", 30, 10)]).unwrap().0, 40);
        assert_eq!(score(&mut [seen("a", 40, 0), seen("b", 30, 10)]).unwrap(), (70, 0..5));
        assert_eq!(score(&mut [seen("a", 40, 0), seen("b", 30, STRETCH + 10)]).unwrap().0, 40);
        assert_eq!(score(&mut [seen("a", 80, 0), seen("b", 80, 10)]).unwrap().0, 100);
    }
}
