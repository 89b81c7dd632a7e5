//! Where a closer look is worth it: where all the literals are near by that a match of a signal must hold.
//!
//! The literals are taken from the signals' own expressions, so that a gate never closes before a match ([`Gates::of`]);
//! it only saves looks that could find nothing. A signal whose matches begin with one of a few literals is looked for
//! at those ([`Look::At`]), any other around its anchors. Looks at no text itself: the one pass over all literals tells
//! what it saw ([`Near`]).
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory, sums of small costs")]

use regex_syntax::ParserBuilder;
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, HirKind};
use std::collections::BTreeMap;
use std::ops::Range;

use super::AROUND;
use crate::pace::Pace;

/// Most words of [`Bits`]; a test says whether the table needs more.
const WORDS: usize = 6;
/// Most sets that one alternative asks for.
const MOST_SETS: usize = 4;
/// Sets that cost more are in nearly every text.
const MOST_COST: u32 = 40;
/// Beginnings that cost more are not worth stopping at.
const MOST_START_COST: u32 = 150;

/// A set of sets of literals.
pub(in crate::detector) type Bits = [u64; WORDS];

/// What each signal needs near by.
#[derive(Debug, Default)]
pub(in crate::detector) struct Gates {
    /// Literal, in lower case → the sets it belongs to.
    literals: BTreeMap<Vec<u8>, Bits>,
    signals: Vec<Needs>,
    known: Vec<Vec<Vec<u8>>>,
}

/// What one signal needs.
#[derive(Debug, Default)]
struct Needs {
    /// Its alternatives, and the sets of which one literal each must be there.
    alternatives: Vec<Bits>,
    /// What its matches begin with; empty if that is not known.
    starts: Vec<Vec<u8>>,
    /// Most bytes of a match.
    longest: usize,
}

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::detector) enum Look {
    /// Where a match begins if there is one.
    At(usize),
    /// On either side of it.
    Around(Range<usize>),
}

impl Gates {
    /// Reads the expressions of the signals, given with their anchors.
    pub(super) fn of<'a>(signals: impl Iterator<Item = (&'a str, &'a [&'a str])>) -> Result<Self, String> {
        let mut gates = Self::default();
        for (source, anchors) in signals {
            let parsed = ParserBuilder::new().unicode(false).utf8(false).build().parse(source);
            let hir = parsed.map_err(|error| format!("{source}: {error}"))?;
            let starts = starts(&hir);
            let anchors: Vec<Vec<u8>> = anchors.iter().map(|one| one.as_bytes().to_ascii_lowercase()).collect();
            let alternatives = alternatives(&hir).into_iter().map(|mut sets| {
                sets.push(anchors.clone());
                gates.bits(sets)
            });
            let alternatives =
                alternatives.collect::<Option<_>>().ok_or("more sets of literals than there is room for")?;
            let longest = longest(&hir).min(AROUND * 2);
            gates.signals.push(Needs { alternatives, starts, longest });
        }
        Ok(gates)
    }

    fn bits(&mut self, sets: Vec<Vec<Vec<u8>>>) -> Option<Bits> {
        let mut bits = Bits::default();
        for set in sets {
            let number = self.known.iter().position(|other| *other == set).unwrap_or_else(|| {
                self.known.push(set.clone());
                self.known.len() - 1
            });
            *bits.get_mut(number / 64)? |= 1 << (number % 64);
            for literal in set {
                *self.literals.entry(literal).or_default().get_mut(number / 64)? |= 1 << (number % 64);
            }
        }
        Some(bits)
    }

    /// Every literal and the sets it belongs to.
    pub(in crate::detector) fn literals(&self) -> impl Iterator<Item = (&[u8], Bits)> {
        self.literals.iter().map(|(literal, bits)| (literal.as_slice(), *bits))
    }

    /// What the matches of a signal begin with; nothing if it is looked for around its anchors.
    pub(in crate::detector) fn starts(&self, signal: usize) -> &[Vec<u8>] {
        self.signals.get(signal).map_or(&[], |needs| &needs.starts)
    }

    /// Whether a match of the signal is possible where `holds` says which sets are near.
    fn is_open(&self, signal: usize, holds: impl Fn(&Bits, usize) -> bool) -> bool {
        let needs = self.signals.get(signal);
        needs.is_none_or(|needs| needs.alternatives.iter().any(|sets| holds(sets, needs.longest)))
    }
}

/// What the pass over all literals saw of one text.
#[derive(Debug, Default)]
pub(in crate::detector) struct Near<'b> {
    /// Where literals of sets end, in order.
    ends: Vec<(usize, &'b Bits)>,
    /// Signals, where they may begin, and behind what, in the order of the latter.
    starts: Vec<(usize, Range<usize>)>,
    /// Signals and their anchors, in the order of their ends.
    anchors: Vec<(usize, Range<usize>)>,
}

impl<'b> Near<'b> {
    pub(in crate::detector) fn literal(&mut self, end: usize, sets: &'b Bits) {
        self.ends.push((end, sets));
    }

    pub(in crate::detector) fn start(&mut self, signal: usize, literal: Range<usize>) {
        self.starts.push((signal, literal));
    }

    pub(in crate::detector) fn anchor(&mut self, signal: usize, span: Range<usize>) {
        self.anchors.push((signal, span));
    }

    /// Every place where a match is possible, each signal's from left to right.
    pub(in crate::detector) fn looks(&self, gates: &Gates) -> Vec<(usize, Look)> {
        let mut looks = Vec::new();
        self.forward(gates, &mut looks);
        looks.reverse();
        self.around(gates, &mut looks);
        looks
    }

    /// Where matches may begin, from right to left.
    fn forward(&self, gates: &Gates, looks: &mut Vec<(usize, Look)>) {
        if self.starts.is_empty() {
            return;
        }
        let mut next = [usize::MAX; WORDS * 64];
        let (mut ends, mut pace) = (self.ends.iter().rev().peekable(), Pace::default());
        for (signal, literal) in self.starts.iter().rev() {
            pace.at(literal.start);
            while let Some((end, sets)) = ends.next_if(|(end, _)| *end > literal.start) {
                each(sets, |number| _ = next.get_mut(number).map(|next| *next = *end));
            }
            let open = gates.is_open(*signal, |sets, longest| {
                let most = literal.start + longest;
                let mut all = true;
                each(sets, |number| all &= next.get(number).is_some_and(|end| *end <= most));
                all
            });
            if open {
                looks.push((*signal, Look::At(literal.start)));
            }
        }
    }

    /// Anchors within reach of what a match needs, from left to right.
    fn around(&self, gates: &Gates, looks: &mut Vec<(usize, Look)>) {
        if self.anchors.is_empty() {
            return;
        }
        let mut counts = [0_u32; WORDS * 64];
        let mut near = Bits::default();
        let (mut from, mut to, mut pace) = (0, 0, Pace::default());
        for (signal, anchor) in &self.anchors {
            pace.at(anchor.start);
            while let Some((_, sets)) = self.ends.get(to).filter(|(end, _)| *end <= anchor.end + AROUND) {
                each(sets, |number| change(&mut counts, &mut near, number, true));
                to += 1;
            }
            // Anchors have different lengths, so their starts need not be in order.
            let least = anchor.end.saturating_sub(AROUND + LONGEST_ANCHOR);
            while let Some((_, sets)) = self.ends.get(from).filter(|(end, _)| *end <= least) {
                each(sets, |number| change(&mut counts, &mut near, number, false));
                from += 1;
            }
            let holds = |sets: &Bits, _| sets.iter().zip(&near).all(|(sets, near)| sets & near == *sets);
            if gates.is_open(*signal, holds) {
                looks.push((*signal, Look::Around(anchor.clone())));
            }
        }
    }
}

/// No anchor is longer, in bytes.
const LONGEST_ANCHOR: usize = 64;

fn each(sets: &Bits, mut see: impl FnMut(usize)) {
    for (word, bits) in sets.iter().enumerate() {
        let mut bits = *bits;
        while bits != 0 {
            see(word * 64 + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}

fn change(counts: &mut [u32], near: &mut Bits, number: usize, comes: bool) {
    let (Some(count), Some(word)) = (counts.get_mut(number), near.get_mut(number / 64)) else { return };
    *count = if comes { count.saturating_add(1) } else { count.saturating_sub(1) };
    let bit = 1 << (number % 64);
    *word = if *count > 0 { *word | bit } else { *word & !bit };
}

/// What every match begins with, none the beginning of another; nothing if that says too little.
fn starts(hir: &Hir) -> Vec<Vec<u8>> {
    let mut starts = Extractor::new();
    starts.limit_total(400).limit_class(4).limit_repeat(4).limit_literal_len(24);
    let sequence = starts.extract(hir);
    let literals = sequence.literals().unwrap_or_default();
    let mut all: Vec<Vec<u8>> = literals.iter().map(|one| one.as_bytes().to_ascii_lowercase()).collect();
    all.sort_unstable();
    // In order, what begins another comes right before it.
    all.dedup_by(|longer, shorter| longer.starts_with(shorter));
    if all.iter().any(|one| one.len() < 2) || start_cost(&all) > MOST_START_COST { Vec::new() } else { all }
}

fn start_cost(starts: &[Vec<u8>]) -> u32 {
    starts.iter().map(|one| if one.len() == 2 { 10 } else { cost(std::slice::from_ref(one)) }).sum()
}

/// The most bytes of a match; `AROUND` for what has no bound.
fn longest(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(_) => hir.properties().maximum_len().unwrap_or(1),
        HirKind::Capture(capture) => longest(&capture.sub),
        HirKind::Repetition(repetition) => match repetition.max.and_then(|most| usize::try_from(most).ok()) {
            Some(most) => longest(&repetition.sub).saturating_mul(most),
            None => AROUND,
        },
        HirKind::Concat(pieces) => pieces.iter().map(longest).fold(0, usize::saturating_add),
        HirKind::Alternation(pieces) => pieces.iter().map(longest).max().unwrap_or(0),
    }
}

/// For each alternative of an expression the sets of literals that every match of it holds one of, the rarest.
fn alternatives(hir: &Hir) -> Vec<Vec<Vec<Vec<u8>>>> {
    match hir.kind() {
        HirKind::Alternation(pieces) => pieces.iter().flat_map(alternatives).collect(),
        HirKind::Capture(capture) => alternatives(&capture.sub),
        HirKind::Concat(pieces) => {
            let mut sets: Vec<Vec<Vec<u8>>> = pieces.iter().filter_map(needed).collect();
            sets.retain(|set| cost(set) <= MOST_COST);
            sets.sort_by_key(|set| cost(set));
            sets.dedup();
            sets.truncate(MOST_SETS);
            vec![sets]
        }
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) => {
            vec![needed(hir).into_iter().filter(|set| cost(set) <= MOST_COST).collect()]
        }
    }
}

/// Literals, in lower case, of which every match of the expression holds one; none if there are no such.
fn needed(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    match hir.kind() {
        HirKind::Literal(literal) if literal.0.len() >= 2 => Some(vec![literal.0.to_ascii_lowercase()]),
        HirKind::Capture(capture) => needed(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => needed(&repetition.sub),
        HirKind::Concat(pieces) => pieces.iter().filter_map(needed).min_by_key(|set| cost(set)),
        HirKind::Alternation(pieces) => {
            let sets: Option<Vec<Vec<Vec<u8>>>> = pieces.iter().map(needed).collect();
            let mut set = sets?.concat();
            set.sort_unstable();
            set.dedup();
            Some(set)
        }
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) => None,
    }
}

/// How often one of the literals is in ordinary text, roughly: so many times in a thousand bytes.
fn cost(set: &[Vec<u8>]) -> u32 {
    let one = |literal: &Vec<u8>| {
        let common = COMMON.iter().find(|(word, _)| word.as_bytes() == literal);
        match (common, literal.len()) {
            (Some((_, cost)), _) => *cost,
            (None, 0..=2) => 1_000,
            (None, 3) => 2,
            (None, _) => 1,
        }
    };
    set.iter().map(one).sum()
}

/// Words, and pieces of words, that are in nearly every text.
#[rustfmt::skip]
const COMMON: [(&str, u32); 26] = [
    ("the", 100), ("and", 40), ("for", 12), ("you", 10), ("not", 10), ("are", 12), ("all", 8), ("any", 5), ("his", 8), ("this", 6),
    ("that", 8), ("with", 6), ("have", 4), ("from", 4), ("has", 6), ("one", 6), ("was", 6), ("act", 6), ("end", 6), ("use", 6),
    ("her", 8), ("here", 4), ("can", 5), ("out", 5), ("other", 3), ("call", 3),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(source: &str) -> Vec<Vec<Vec<String>>> {
        let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(source).unwrap();
        let text = |literal: Vec<u8>| String::from_utf8(literal).unwrap();
        let set = |set: Vec<Vec<u8>>| set.into_iter().map(text).collect();
        alternatives(&hir).into_iter().map(|sets| sets.into_iter().map(set).collect()).collect()
    }

    #[test]
    fn what_a_match_must_hold_is_read_from_the_expression() {
        assert_eq!(sets("ignor(e|ing) {0,4}(rules|polic(y|ies))"), [vec![vec!["ignor"], vec!["polic", "rules"]]]);
        assert_eq!(sets("(abcdef)?x{2}|longer"), [Vec::new(), vec![vec!["longer".to_owned()]]]);
        assert_eq!(sets("(the|all|any) things"), [vec![vec![" things"]]]);
        assert_eq!(sets("[a-z]+"), [Vec::<Vec<&str>>::new()]);
    }

    #[test]
    fn beginnings_are_told_where_they_say_enough() {
        let starts = |source: &str| {
            let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(source).unwrap();
            starts(&hir).into_iter().map(|one| String::from_utf8(one).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(starts("(send|sending|post)[^a-z]{0,4}(it|them)"), ["post", "send"]);
        assert!(starts("(a[^x]|send) it").is_empty() && starts("[a-z]+ it").is_empty());
    }

    #[test]
    fn gates_are_open_only_where_all_that_is_needed_is_near() {
        let signals = [("first .{0,90}second", ["second"].as_slice()), ("[a-z] lonely", ["lonely"].as_slice())];
        let gates = Gates::of(signals.into_iter()).unwrap();
        assert_eq!((gates.starts(0), gates.starts(1)), ([b"first ".to_vec()].as_slice(), [].as_slice()));
        let sets: BTreeMap<&[u8], Bits> = gates.literals().collect();
        let mut near = Near::default();
        near.start(0, 0..6);
        near.literal(6, &sets[b"first ".as_slice()]);
        near.literal(90, &sets[b"second".as_slice()]);
        near.start(0, 400..406);
        near.literal(406, &sets[b"first ".as_slice()]);
        near.literal(600, &sets[b"second".as_slice()]);
        near.literal(700, &sets[b" lonely".as_slice()]);
        near.literal(700, &sets[b"lonely".as_slice()]);
        near.anchor(1, 694..700);
        near.anchor(1, 2_000..2_006);
        assert_eq!(near.looks(&gates), [(0, Look::At(0)), (1, Look::Around(694..700))]);
    }
}
