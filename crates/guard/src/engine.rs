//! All detectors of a policy on one text, in every view of it.
//!
//! Gives matches with their spans in the source. Knows no tree and changes nothing. Local, like its detectors: what is
//! found at a place depends on [`Engine::reach`] around it, so that a text in pieces is looked at as the whole would be.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

mod custom;

use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::detector::builtin::{self, Builtins, Reach};
use crate::detector::injection::{Quotes, Seen};
use crate::detector::{Ends, Tail, ceil, floor};
use crate::hash::{MatchHash, MatchKey};
use crate::normalise::{self, Hidden, View, encoded, escape, is_ignorable, spell};

pub(crate) use custom::Custom;

/// The kinds of findings about disguise itself.
pub(crate) const HIDDEN: &str = "text.hidden";
/// See [`HIDDEN`].
pub(crate) const NESTED: &str = "encoding.nested";

/// A policy's detectors for texts.
pub(crate) struct Engine {
    pub(crate) key: MatchKey,
    pub(crate) builtins: Builtins,
    /// Kind → the rules that want it.
    pub(crate) by_kind: HashMap<&'static str, Vec<usize>>,
    /// Rules of the injection detector and the score from which on each minds.
    pub(crate) injection: Vec<(usize, u8)>,
    pub(crate) custom: Vec<(usize, Custom)>,
    pub(crate) hidden: Vec<usize>,
    pub(crate) nested: Vec<usize>,
    pub(crate) quotes: Quotes,
}

/// Something seen in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) rule: usize,
    pub(crate) kind: &'static str,
    /// In the source.
    pub(crate) span: Range<usize>,
    /// Where in the source its tail begins.
    pub(crate) core: usize,
    /// What goes on at the end of the text.
    pub(crate) open: Tail,
    pub(crate) keep: usize,
    pub(crate) hash: MatchHash,
    pub(crate) view: &'static str,
    /// Whether it stays a match whatever follows it.
    pub(crate) settled: bool,
}

impl Match {
    /// The same in a text that has so many bytes more before it.
    pub(crate) fn behind(self, bytes: usize) -> Self {
        Self { span: self.span.start + bytes..self.span.end + bytes, core: self.core + bytes, ..self }
    }
}

/// What one text holds.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) matches: Vec<Match>,
    /// Signals of injection, in source offsets.
    pub(crate) signals: Vec<Seen>,
    pub(crate) hidden: Hidden,
    /// Encoded text inside encoded text.
    pub(crate) nested: Option<Range<usize>>,
    /// Rules that failed on it.
    pub(crate) failed: Vec<usize>,
    /// Rules that saw too much in it.
    pub(crate) flooded: Vec<usize>,
}

impl Scanned {
    /// Whether nothing at all was seen.
    pub(crate) fn is_clean(&self) -> bool {
        let Self { matches, signals, hidden, nested, failed, flooded } = self;
        let shown = hidden.hidden == 0 && hidden.row == 0;
        matches.is_empty() && signals.is_empty() && shown && nested.is_none() && failed.is_empty() && flooded.is_empty()
    }
}

impl Engine {
    /// How far any detector looks, in characters.
    pub(crate) fn reach(&self) -> Reach {
        let custom = self.custom.iter().map(|(_, custom)| custom.reach());
        custom.fold(self.builtins.reach, Reach::max)
    }

    /// Most bytes of encoded text that one match can be.
    fn widest(&self) -> usize {
        self.reach().longest.max(64) * 4
    }

    /// See [`crate::Pipeline::weight`].
    pub(crate) fn weight(&self) -> usize {
        let custom = self.custom.iter().map(|(_, custom)| match custom {
            Custom::Words(_) | Custom::Url(_) => 1,
            Custom::Pattern(pattern) => pattern.weight(),
            #[cfg(test)]
            Custom::Broken => 1,
        });
        custom.fold(1, usize::saturating_add)
    }

    /// Everything in the text.
    pub(crate) fn scan(&self, text: &str) -> Scanned {
        let mut scanned = Scanned::default();
        if text.is_empty() || (self.builtins.is_empty() && self.custom.is_empty() && self.hidden.is_empty()) {
            return scanned;
        }
        let plain = normalise::plain(text);
        if plain.is_none() && self.is_too_short(text) {
            return scanned;
        }
        let source = View::source_of(text);
        self.whole(&source, "source", &mut scanned);
        if let Some(plain) = &plain {
            self.whole(plain, "plain", &mut scanned);
            scanned.hidden = hidden(text);
        }
        let base = plain.as_ref().unwrap_or(&source);
        self.disguised(base, &mut scanned);
        if let Some(tags) = normalise::tags(text) {
            let before = scanned.signals.len();
            self.part(&tags, &source, "tags", &mut scanned);
            raise(&mut scanned.signals, before);
        }
        // Not by where tails end: that changes as a stream goes on, and which match is first must not.
        scanned.matches.sort_by_key(|one| (one.span.start, one.core, one.rule));
        scanned.matches.dedup_by(|a, b| (a.rule, a.kind, &a.span) == (b.rule, b.kind, &b.span));
        scanned
    }

    /// Whether a plain text is shorter than all that is looked for, and nothing in it stands for more than is written.
    fn is_too_short(&self, text: &str) -> bool {
        let ours = if self.builtins.is_empty() { usize::MAX } else { builtin::SHORTEST };
        let shortest = self.custom.iter().map(|(_, custom)| custom.shortest()).fold(ours, usize::min);
        text.len() < shortest.min(encoded::SHORTEST_BASE64) && !escape::may_be(text)
    }

    fn disguised(&self, base: &View<'_>, scanned: &mut Scanned) {
        let reach = self.reach();
        for upper in escape::views(base.text(), (reach.longest + reach.before).max(256)) {
            let upper = match normalise::plain(upper.text()) {
                Some(plain) => plain.over(&upper),
                None => upper,
            };
            self.part(&upper, base, "escaped", scanned);
        }
        encoded::views(base.text(), &mut |upper| {
            let upper = match normalise::plain(upper.text()) {
                Some(plain) => plain.over(&upper),
                None => upper,
            };
            let before = scanned.signals.len();
            self.part(&upper, base, "encoded", scanned);
            raise(&mut scanned.signals, before);
            if scanned.nested.is_none() && !self.nested.is_empty() {
                encoded::views(upper.text(), &mut |inner| {
                    let inside = upper.source(inner.source(0..inner.text().len()));
                    scanned.nested = Some(base.source(inside));
                });
            }
        });
        if self.builtins.wants_signals() || self.custom.iter().any(|(_, custom)| matches!(custom, Custom::Words(_))) {
            // A list's words are not sought beside a row: what a stream holds back for them would have no bound.
            let (mut views, mut phrases) = (Vec::new(), Vec::new());
            spell::views(base.text(), 256, &mut |upper| views.push(upper), &mut |upper| phrases.push(upper));
            for (upper, listed) in
                views.iter().map(|upper| (upper, true)).chain(phrases.iter().map(|upper| (upper, false)))
            {
                let signals = self.guarded(scanned, |engine| engine.builtins.signals(upper.text(), engine.quotes));
                self.lift(signals.unwrap_or_default(), upper, base, &mut scanned.signals);
                if listed {
                    self.custom(upper, base, "spelled", scanned);
                }
            }
        }
    }

    /// The text itself, or itself made plain.
    fn whole(&self, view: &View<'_>, name: &'static str, scanned: &mut Scanned) {
        let text = view.text();
        let Some(sight) = self.guarded(scanned, |engine| engine.builtins.scan(text, engine.quotes)) else { return };
        if sight.flooded {
            scanned.flooded.extend(self.builtin_rules());
        }
        let mut ends = Ends::new(text);
        for found in sight.found {
            let (end, open) = ends.of(found.tail, found.span.end);
            let span = found.span.start..end;
            let source = view.source(span.clone());
            let core_end = found.span.end;
            let core = view.source(found.span).end;
            let open = if open { found.tail } else { Tail::None };
            self.push(
                found.kind,
                (source, core),
                (telling(text, span, found.tail, core_end), open, found.keep, name),
                scanned,
            );
        }
        scanned
            .signals
            .extend(sight.signals.into_iter().map(|seen| Seen { span: view.source(seen.span.clone()), ..seen }));
        self.custom(view, &View::source_of(""), name, scanned);
    }

    /// A stretch of text that was decoded: what is found in it may not be wider than `widest`.
    fn part(&self, upper: &View<'_>, base: &View<'_>, name: &'static str, scanned: &mut Scanned) {
        let text = upper.text();
        let Some(sight) = self.guarded(scanned, |engine| engine.builtins.scan(text, engine.quotes)) else { return };
        let mut ends = Ends::new(text);
        for found in sight.found {
            let (end, _) = ends.of(found.tail, found.span.end);
            let span = found.span.start..end;
            if let Some(source) = self.below(upper, base, span.clone()) {
                let core = source.end;
                self.push(
                    found.kind,
                    (source, core),
                    (telling(text, span, found.tail, found.span.end), Tail::None, found.keep, name),
                    scanned,
                );
            }
        }
        self.lift(sight.signals, upper, base, &mut scanned.signals);
        self.custom(upper, base, name, scanned);
    }

    fn lift(&self, signals: Vec<Seen>, upper: &View<'_>, base: &View<'_>, out: &mut Vec<Seen>) {
        let lifted = signals.into_iter().filter_map(|seen| {
            let span = self.below(upper, base, seen.span.clone())?;
            Some(Seen { span, ..seen })
        });
        out.extend(lifted);
    }

    /// The source of a span of a view of `base`, if the view says anything there that `base` does not.
    fn below(&self, upper: &View<'_>, base: &View<'_>, span: Range<usize>) -> Option<Range<usize>> {
        let mut in_base = upper.source(span.clone());
        if base.text().get(in_base.clone()) == upper.text().get(span) {
            return None;
        }
        in_base.end = in_base.end.min(ceil(base.text(), in_base.start + self.widest()));
        Some(base.source(in_base))
    }

    /// The detectors that a policy's author wrote. An empty `base` means that `view` is the text itself or made plain.
    fn custom(&self, view: &View<'_>, base: &View<'_>, name: &'static str, scanned: &mut Scanned) {
        let itself = matches!(name, "source" | "plain");
        for (rule, custom) in &self.custom {
            if !custom.reads(name) || (view.text().is_ascii() && view.text().len() < custom.shortest()) {
                continue;
            }
            let phrase = custom.phrase(view.text());
            let looked = phrase.as_ref().map_or_else(|| view.text(), |phrase| phrase.text());
            let Ok(found) = catch_unwind(AssertUnwindSafe(|| custom.scan(looked))) else {
                scanned.failed.push(*rule);
                continue;
            };
            let Some(found) = found else {
                scanned.flooded.push(*rule);
                continue;
            };
            if !found.iter().all(|(_, span, _)| looked.get(span.clone()).is_some_and(|found| !found.is_empty())) {
                scanned.failed.push(*rule);
                continue;
            }
            let mut ends = Ends::new(looked);
            for (kind, span, tail) in found {
                let core_end = span.end;
                let (end, open) = ends.of(tail, span.end);
                let span = span.start..end;
                let in_view = phrase.as_ref().map_or_else(|| span.clone(), |phrase| phrase.source(span.clone()));
                let source = if itself { Some(view.source(in_view)) } else { self.below(view, base, in_view) };
                let Some(source) = source else { continue };
                let told = telling(looked, span.clone(), tail, core_end).unwrap_or_default();
                let hash = custom.told(told).map_or_else(|| self.key.hash(told), |told| self.key.hash(&told));
                let open = if open && itself { tail } else { Tail::None };
                let core = source.end;
                let settled = itself && custom.settles();
                scanned.matches.push(Match {
                    rule: *rule,
                    kind,
                    span: source,
                    core,
                    open,
                    keep: 0,
                    hash,
                    view: name,
                    settled,
                });
            }
        }
    }

    fn push(
        &self,
        kind: &'static str,
        (source, core): (Range<usize>, usize),
        (text, open, keep, view): (Option<&str>, Tail, usize, &'static str),
        scanned: &mut Scanned,
    ) {
        let hash = self.key.hash(text.unwrap_or_default());
        for rule in self.by_kind.get(kind).into_iter().flatten() {
            let span = source.clone();
            scanned.matches.push(Match { rule: *rule, kind, span, core, open, keep, hash, view, settled: false });
        }
    }

    /// Runs our own detectors; a panic in them stays here and counts as failure of every rule that wanted them.
    fn guarded<T>(&self, scanned: &mut Scanned, look: impl FnOnce(&Self) -> T) -> Option<T> {
        let looked = catch_unwind(AssertUnwindSafe(|| look(self))).ok();
        if looked.is_none() {
            scanned.failed.extend(self.builtin_rules());
        }
        looked
    }

    fn builtin_rules(&self) -> Vec<usize> {
        let mut rules: Vec<usize> = self.by_kind.values().flatten().copied().collect();
        rules.extend(self.injection.iter().map(|(rule, _)| *rule));
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    /// Where in the source the earliest match may have begun that more text could still complete or change, as far as
    /// rules that `act` are concerned; the end of the text if there is none.
    pub(crate) fn live(&self, text: &str, act: &dyn Fn(usize) -> bool) -> usize {
        let builtin = self.by_kind.values().flatten().any(|rule| act(*rule));
        let custom: Vec<&Custom> =
            self.custom.iter().filter(|(rule, _)| act(*rule)).map(|(_, custom)| custom).collect();
        if !builtin && custom.is_empty() {
            return text.len();
        }
        let live = self.live_in(text, builtin, &custom);
        let Some(plain) = normalise::plain(text) else { return live };
        let looked = plain.text();
        let in_plain = self.live_in(looked, builtin, &custom);
        let in_plain =
            if in_plain < looked.len() { plain.source(in_plain..ceil(looked, in_plain + 1)).start } else { text.len() };
        live.min(in_plain).min(hidden_start(text))
    }

    fn live_in(&self, text: &str, builtin: bool, custom: &[&Custom]) -> usize {
        let mut live = word_start(text, self.widest());
        if builtin && self.builtins.rows() {
            live = live.min(row_start(text));
        }
        if builtin {
            live = live.min(key_start(text));
        }
        custom.iter().map(|custom| custom.live(text)).fold(live, usize::min)
    }
}

/// How much of a text nobody sees; what is written in tag characters counts as one row.
pub(crate) fn hidden(text: &str) -> Hidden {
    let tags = normalise::tags(text).map_or(0, |tags| tags.text().len());
    let hidden = Hidden::of(text);
    Hidden { row: hidden.row.max(tags), ..hidden }
}

/// What of a match its hash is made of: no more than is known when the match begins to be replaced in a stream.
fn telling(text: &str, span: Range<usize>, tail: Tail, core_end: usize) -> Option<&str> {
    let end = match tail {
        Tail::None => span.end,
        Tail::Run(_) => span.end.min(ceil(text, span.start + LONGEST_HASHED)),
        Tail::Key => core_end,
    };
    text.get(span.start..end)
}

/// See [`telling`]; less than a stream holds back of a word.
const LONGEST_HASHED: usize = 256;

/// What had to be decoded or was not shown says more about its author.
fn raise(signals: &mut [Seen], from: usize) {
    for seen in signals.iter_mut().skip(from) {
        seen.weight = seen.weight.saturating_add(25).min(100);
    }
}

/// The start of the last word, as far back as `widest`. A line break in an encoded run does not end a word.
fn word_start(text: &str, widest: usize) -> usize {
    let least = floor(text, text.len().saturating_sub(widest));
    let bytes = text.as_bytes();
    let mut at = text.len();
    loop {
        let word = bytes
            .get(least..at)
            .unwrap_or_default()
            .iter()
            .rev()
            .take_while(|byte| !byte.is_ascii_whitespace())
            .count();
        at -= word;
        if at <= least {
            return floor(text, least);
        }
        let before = bytes.get(least..at).unwrap_or_default();
        let line = before.strip_suffix(b"\r\n").or_else(|| before.strip_suffix(b"\n"));
        let Some(line) = line else { return at };
        let digits = line.iter().rev().take_while(|byte| encoded::is_digit(**byte)).count();
        if digits < encoded::FULL_LINE && !line.ends_with(b"=") {
            return at;
        }
        at = least + line.len();
    }
}

/// The start of a row of digits and signs at the end of the text, or of an account number with spaces.
fn row_start(text: &str) -> usize {
    const MOST: usize = 48;
    // A number of a telephone is judged by its whole row: 64 bytes, a plus before them, two signs behind.
    const MOST_ROW: usize = 68;
    let bytes = text.as_bytes();
    let digits = |byte: &&u8| byte.is_ascii_digit() || b" -.()/+\n".contains(byte);
    let row = bytes.iter().skip(floor(text, text.len().saturating_sub(MOST_ROW))).rev().take_while(digits).count();
    let least = floor(text, text.len().saturating_sub(MOST));
    let mut start = text.len() - row;
    while start < text.len() && bytes.get(start).is_some_and(|byte| !byte.is_ascii_digit() && !b"+(".contains(byte)) {
        start += 1;
    }
    // Two letters and two digits at the start of a word, then letters and digits in groups.
    let run = bytes
        .iter()
        .skip(least)
        .rev()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-'))
        .count();
    let from = text.len() - run;
    let account = (from..text.len()).find(|at| {
        let edge = *at == 0 || bytes.get(at - 1).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let head = bytes.get(*at..(at + 4).min(bytes.len())).unwrap_or_default();
        let form = head
            .iter()
            .enumerate()
            .all(|(place, byte)| if place < 2 { byte.is_ascii_alphabetic() } else { byte.is_ascii_digit() });
        let lettered = head.first().is_some_and(u8::is_ascii_alphabetic)
            && bytes
                .get(*at..at + 12)
                .is_some_and(|word| word.iter().filter(|byte| byte.is_ascii_digit()).count() >= 3);
        edge && ((form && head.len() > 2) || lettered)
    });
    start.min(account.unwrap_or(text.len()))
}

/// The start of the first line of a private key that is not finished.
fn key_start(text: &str) -> usize {
    let least = floor(text, text.len().saturating_sub(96));
    let end = text.get(least..).unwrap_or_default();
    match end.rfind("-----BEGIN ") {
        Some(at) if !end.get(at + 11..).unwrap_or_default().contains('-') => least + at,
        Some(_) | None => text.len(),
    }
}

/// The start of what is not shown at the end of the text.
fn hidden_start(text: &str) -> usize {
    let hidden: usize =
        text.chars().rev().take_while(|one| !one.is_ascii() && is_ignorable(*one)).map(char::len_utf8).sum();
    text.len() - hidden
}
