//! Detector `pattern`: one regular expression of the policy's author.
//!
//! The engine is linear in the text (no look-around, no back-references), the compiled size is bounded, and the longest
//! possible match must be finite and short, so that a match over a joint between two texts can always be found. What
//! breaks one of these rules is refused when the policy is compiled, with the reason.

use std::ops::Range;

use regex::{Regex, RegexBuilder};
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;
use regex_syntax::hir::{Hir, HirKind};

use crate::detector::MOST_SPANS;
use crate::pace::Pace;

/// Longest pattern, in bytes.
pub(crate) const LONGEST_SOURCE: usize = 4 * 1024;
/// Longest match, in characters.
pub(crate) const LONGEST_MATCH: usize = 4096;

const COMPILED_BYTES: usize = 1024 * 1024;

/// A pattern that takes each of these alone takes nearly every text.
const PROBES: [&str; 8] = ["a", "Z", "0", " ", "-", "\u{e9}", "\u{4e00}", "\u{1f600}"];

/// Steps that following a pattern's unfinished matches may take; more, and as much is held back as a match can have.
const MOST_STEPS: usize = 1 << 20;

/// Most states of a pattern: so many steps a byte can cost.
const MOST_STATES: usize = 10_000;
/// So many states weigh as much as our own detectors.
const STATES: usize = 8;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    /// To follow matches that are not finished; none where that would cost too much.
    nfa: Option<NFA>,
    /// How many states it has.
    states: usize,
    /// Longest match in characters, and one for what `\b` looks at.
    pub(crate) longest: usize,
    /// Shortest match in bytes.
    pub(crate) shortest: usize,
    /// Whether a match stays one whatever follows it.
    pub(crate) settles: bool,
}

impl Pattern {
    /// Compiles `source`; `max_length` is the bound its author names. The error is for the policy's author.
    pub(crate) fn new(source: &str, max_length: usize) -> Result<Self, String> {
        if source.len() > LONGEST_SOURCE {
            return Err(format!("the pattern is longer than {LONGEST_SOURCE} bytes"));
        }
        let hir = regex_syntax::Parser::new().parse(source).map_err(|error| explain(&error))?;
        if hir.properties().minimum_len().is_none() {
            return Err("the pattern can match nothing".to_owned());
        }
        if hir.properties().minimum_len() == Some(0) {
            return Err("the pattern matches the empty text".to_owned());
        }
        let longest = longest_match(&hir)
            .ok_or("the pattern has no longest match: give every repetition an upper bound, such as {1,64} for +")?;
        if longest > max_length {
            return Err(format!("the pattern can match {longest} characters, more than {max_length}"));
        }
        let regex = RegexBuilder::new(source).size_limit(COMPILED_BYTES).build().map_err(|error| {
            if let regex::Error::CompiledTooBig(limit) = error {
                format!("the pattern is larger than {limit} bytes when compiled")
            } else {
                error.to_string()
            }
        })?;
        if PROBES.iter().all(|probe| regex.is_match(probe)) {
            return Err("the pattern matches nearly every text".to_owned());
        }
        let nfa = NFA::compiler().build_from_hir(&hir).ok();
        let states = nfa.as_ref().map_or(MOST_STATES, |nfa| nfa.states().len());
        if states > MOST_STATES {
            return Err(format!(
                "the pattern has {states} states, more than {MOST_STATES}: make its repetitions shorter"
            ));
        }
        let nfa = nfa.filter(|nfa| nfa.states().len().saturating_mul(longest) <= MOST_STEPS);
        let settles = hir.properties().look_set().is_empty();
        let shortest = hir.properties().minimum_len().unwrap_or(0);
        Ok(Self { regex, nfa, states, longest: longest.saturating_add(1), shortest, settles })
    }

    /// How much a byte may cost at worst, next to one of a small automaton: all states are followed at once where
    /// the library's faster ways give up.
    pub(crate) fn weight(&self) -> usize {
        1_usize.saturating_add(self.states / STATES)
    }

    /// Every match, those that overlap united; none if there are too many. Looks again from the character after each start, so that a match beginning inside another is seen; once that
    /// has cost a few times the text, only behind each end.
    pub(crate) fn scan(&self, text: &str) -> Option<Vec<Range<usize>>> {
        let mut spans: Vec<Range<usize>> = Vec::new();
        let mut budget = text.len().saturating_mul(4).saturating_add(LONGEST_MATCH.saturating_mul(4));
        let mut from = 0;
        let (mut united, mut pace) = (0_usize, Pace::default());
        while let Some(found) = self.regex.find_at(text, from) {
            pace.at(found.end());
            let fresh = spans.last().is_none_or(|last| found.start() >= last.end);
            match spans.last_mut() {
                Some(last) if !fresh => last.end = last.end.max(found.end()),
                Some(_) | None => {
                    united = united.saturating_add(1);
                    spans.push(found.range());
                }
            }
            if united > MOST_SPANS {
                return None;
            }
            let cost = found.len();
            from = if budget >= cost { next_character(text, found.start()) } else { found.end() };
            budget = budget.saturating_sub(cost);
        }
        Some(spans)
    }

    /// Where the earliest match may have begun whose end is not seen yet; the end of the text if none has. Look-around
    /// counts as fulfilled, so that rather too much is held back than too little.
    pub(crate) fn live(&self, text: &str) -> usize {
        let from = text.char_indices().rev().take(self.longest).last().map_or(text.len(), |(at, _)| at);
        let Some(nfa) = &self.nfa else { return from };
        let mut threads = Threads::new(nfa);
        let tail = text.get(from..).unwrap_or_default();
        for (at, byte) in tail.bytes().enumerate() {
            let at = from.saturating_add(at);
            if text.is_char_boundary(at) {
                threads.begin(at);
            }
            threads.step(byte);
        }
        threads.earliest().unwrap_or(text.len())
    }
}

/// The states a pattern can be in, each with the earliest start that leads there.
struct Threads<'n> {
    nfa: &'n NFA,
    now: Vec<Option<usize>>,
    next: Vec<Option<usize>>,
}

impl<'n> Threads<'n> {
    fn new(nfa: &'n NFA) -> Self {
        let none = vec![None; nfa.states().len()];
        Self { nfa, now: none.clone(), next: none }
    }

    fn begin(&mut self, at: usize) {
        add(self.nfa, &mut self.now, self.nfa.start_anchored(), at);
    }

    fn step(&mut self, byte: u8) {
        self.next.fill(None);
        for (id, start) in self.now.iter().enumerate() {
            let (Some(start), Ok(id)) = (start, StateID::new(id)) else { continue };
            let to = match self.nfa.state(id) {
                State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
                State::Sparse(sparse) => sparse.matches_byte(byte),
                State::Dense(dense) => dense.matches_byte(byte),
                State::Look { .. } | State::Union { .. } | State::BinaryUnion { .. } | State::Capture { .. } => None,
                State::Fail | State::Match { .. } => None,
            };
            if let Some(to) = to {
                add(self.nfa, &mut self.next, to, *start);
            }
        }
        std::mem::swap(&mut self.now, &mut self.next);
    }

    fn earliest(&self) -> Option<usize> {
        self.now.iter().flatten().min().copied()
    }
}

/// Adds a state and all that is reached from it without a byte.
fn add(nfa: &NFA, states: &mut [Option<usize>], first: StateID, start: usize) {
    let mut waiting = vec![first];
    while let Some(id) = waiting.pop() {
        let Some(state) = states.get_mut(id.as_usize()) else { continue };
        if state.is_some_and(|earlier| earlier <= start) {
            continue;
        }
        *state = Some(start);
        match nfa.state(id) {
            State::Look { next, .. } | State::Capture { next, .. } => waiting.push(*next),
            State::Union { alternates } => waiting.extend(alternates.iter().copied()),
            State::BinaryUnion { alt1, alt2 } => waiting.extend([*alt1, *alt2]),
            State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) | State::Fail | State::Match { .. } => {}
        }
    }
}

fn next_character(text: &str, at: usize) -> usize {
    let length = text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
    at.saturating_add(length)
}

/// The reason alone: the library's own message draws the pattern over several lines.
fn explain(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => format!("the pattern is not valid: {}", error.kind()),
        regex_syntax::Error::Translate(error) => format!("the pattern is not valid: {}", error.kind()),
        // The enum is open; a new kind is shown as the library puts it.
        other => format!("the pattern is not valid: {other}"),
    }
}

/// The most characters a match can have; `None` if there is no bound. Saturates.
fn longest_match(hir: &Hir) -> Option<usize> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(0),
        HirKind::Literal(literal) => {
            Some(std::str::from_utf8(&literal.0).map_or(literal.0.len(), |text| text.chars().count()))
        }
        HirKind::Class(_) => Some(1),
        HirKind::Capture(capture) => longest_match(&capture.sub),
        HirKind::Repetition(repetition) => {
            let once = longest_match(&repetition.sub)?;
            let times = repetition.max.map(|max| usize::try_from(max).unwrap_or(usize::MAX));
            if once == 0 { Some(0) } else { times.map(|times| once.saturating_mul(times)) }
        }
        HirKind::Concat(pieces) => {
            pieces.iter().try_fold(0_usize, |sum, piece| Some(sum.saturating_add(longest_match(piece)?)))
        }
        HirKind::Alternation(pieces) => {
            pieces.iter().try_fold(0_usize, |most, piece| Some(most.max(longest_match(piece)?)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(source: &str) -> Result<Pattern, String> {
        Pattern::new(source, LONGEST_MATCH)
    }

    fn matched<'a>(source: &str, text: &'a str) -> Vec<&'a str> {
        match compile(source).unwrap().scan(text) {
            Some(spans) => spans.into_iter().map(|span| &text[span]).collect(),
            None => vec!["(flood)"],
        }
    }

    #[test]
    fn hostile_patterns_are_refused_with_the_reason() {
        let long = "a".repeat(100 * 1024);
        let cases = [
            ("(a|aa)+$", "no longest match"),
            ("(a+)+$", "no longest match"),
            (r"\w{1,1000}{1,1000}", "1000000 characters"),
            ("(?=x)y", "look-around"),
            ("(?<!x)y", "look-around"),
            (r"(\w)\1", "backreferences"),
            ("[", "unclosed character class"),
            ("(", "unclosed group"),
            ("*", "repetition operator missing expression"),
            ("a{2,1}", "invalid repetition count range"),
            ("(?P<n>a)(?P<n>b)", "duplicate capture group name"),
            (r"\p{Klingon}", "Unicode property not found"),
            ("", "empty text"),
            ("a?", "empty text"),
            (r"\b", "empty text"),
            ("a|", "empty text"),
            ("(?s).*", "empty text"),
            ("(?s).+", "no longest match"),
            ("(?s).", "nearly every text"),
            ("(?s).{1,10}", "nearly every text"),
            (r"[\s\S]{1,100}", "nearly every text"),
            ("a+", "no longest match"),
            ("a{5,}", "no longest match"),
            (".{0,4096}x", "4097 characters"),
            (r"\pL{4000}", "when compiled"),
            (r"[a&&b]", "match nothing"),
            ("a{1,4000000000}", "4000000000 characters"),
            (long.as_str(), "longer than 4096 bytes"),
        ];
        for (source, reason) in cases {
            let problem = compile(source).err().unwrap_or_else(|| panic!("accepted: {source}"));
            assert!(problem.contains(reason), "{source:.40}: {problem}");
        }
    }

    #[test]
    fn nested_groups_do_not_overflow_the_stack() {
        assert!(compile(&"(".repeat(2_000)).is_err());
        assert!(compile(&format!("{}a{}", "(".repeat(2_000), ")".repeat(2_000))).is_err());
    }

    #[test]
    fn an_authors_own_bound_is_held() {
        assert!(Pattern::new("a{1,20}", 20).is_ok());
        assert!(Pattern::new("a{1,21}", 20).is_err());
    }

    #[test]
    fn lengths_count_characters() {
        assert_eq!(compile("é{3}(😀|ab)").unwrap().longest, 6);
        assert_eq!(compile("AKIA[0-9A-Z]{16}").unwrap().longest, 21);
        assert_eq!(compile(r"\bx(\b)*y").unwrap().longest, 3);
        // In bytes here: the long s is one of the letters that `s` without case stands for.
        let shortest = |source: &str| compile(source).unwrap().shortest;
        assert_eq!(["a{3}|bc", "(?i)s{2}", "\u{e9}x?"].map(shortest), [2, 2, 2]);
        assert_eq!(matched("(?i)ss", "\u{17f}s"), ["\u{17f}s"]);
    }

    #[test]
    fn matches_that_begin_inside_another_are_united_with_it() {
        assert_eq!(matched("aba", "xababax aba"), ["ababa", "aba"]);
        assert_eq!(matched("[0-9]{4}", "a123456b"), ["123456"]);
        assert_eq!(matched("éa|aé", "xéaéx"), ["éaé"]);
    }

    #[test]
    fn dense_matches_cost_a_few_times_the_text() {
        let text = "a".repeat(1 << 20);
        let pieces = matched("a{1,4096}", &text);
        assert!(pieces.len() > 1 && pieces.concat() == text);
    }

    #[test]
    fn too_many_matches_are_a_flood() {
        assert_eq!(matched("a", &"a ".repeat(MOST_SPANS)).len(), MOST_SPANS);
        assert_eq!(matched("a", &"a ".repeat(MOST_SPANS + 1)), ["(flood)"]);
    }

    #[test]
    fn what_may_still_become_a_match_is_live() {
        for (source, text, live) in [
            ("AKIA[0-9A-Z]{16}", "use AKIAIOSF", 4),
            ("AKIA[0-9A-Z]{16}", "use AKIAIOSF.", 13),
            ("AKIA[0-9A-Z]{16}", "use A", 4),
            ("(?i)ignore\\s{1,3}all", "x ignore ", 2),
            ("abc", "ababab", 4),
            ("aba", "xaba", 1),
        ] {
            assert_eq!(compile(source).unwrap().live(text), live, "{source} {text}");
        }
    }
}
