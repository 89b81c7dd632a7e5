//! The text of one channel: what went out of it lately, what is held back, and what is being replaced.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use crate::detector::builtin::INJECTION;
use crate::detector::injection::STRETCH;
use crate::detector::secret::LONGEST_KEY;
use crate::detector::{Ends, Tail, ceil, floor};
use crate::engine::{HIDDEN, Match, Scanned, hidden};
use crate::finding::{Action, Mode};
use crate::hash::{MatchHash, hex};
use crate::normalise::{self, View};
use crate::pipeline::{Hold, Pipeline, rank_of};
use crate::redact::{Bounds, Mark, Painter, Style};
use crate::scan::is_flood;

/// Most bytes that are held back; more, and the stream is cut.
const MOST_HELD: usize = 16 * 1024;
/// The same where whole messages are held.
const MOST_HELD_MESSAGE: usize = 4 << 20;
/// The rule that cuts a stream that holds too much.
const HOLDBACK: &str = "stream.holdback";
/// The rule that cuts a stream whose text began to match before it was looked at.
const ACROSS: &str = "stream.across";

/// Something a channel's text was found to hold.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) pipeline: usize,
    pub(super) rule: usize,
    pub(super) kind: &'static str,
    pub(super) action: Action,
    /// In which of the pushed texts it ends, and what it covers there.
    pub(super) leaf: usize,
    pub(super) span: Range<usize>,
    /// Whether it began before them.
    pub(super) earlier: bool,
    pub(super) hash: MatchHash,
    pub(super) view: &'static str,
    pub(super) score: u8,
}

/// What may go out after a push.
#[derive(Debug, Default)]
pub(super) struct Pushed {
    /// One for each pushed text; at least one.
    pub(super) out: Vec<String>,
    pub(super) told: Vec<Told>,
    /// The rule for which the stream must be cut.
    pub(super) cut: Option<String>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Channel {
    /// The end of what went out, then what is held back; as it came.
    window: String,
    /// Where the held part begins.
    released: usize,
    /// How much of the channel lies before the window.
    before: usize,
    painter: Painter,
    /// Tails that reached the end of what was seen.
    tails: Vec<Following>,
    /// The end of what went out as it went out, and whether something was replaced in it.
    out: String,
    replaced: bool,
    out_before: bool,
    /// Pipeline, rule and place of what was told.
    told: HashSet<(usize, usize, usize)>,
    /// Signals of injection: weight and place of the last of each.
    signals: HashMap<(usize, &'static str), (u8, usize)>,
    /// Offsets in the window where another channel's text begins.
    joints: Vec<usize>,
    /// By pipeline, what was found in the window the last time.
    seen: Vec<Vec<Match>>,
    /// All that begins before this place in the window was found then, whatever follows.
    known: usize,
    over: bool,
}

/// A tail that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Following {
    tail: Tail,
    /// From where in the window on it is followed.
    at: usize,
    /// Where in the channel it began.
    begun: usize,
}

impl Channel {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn held(&self) -> usize {
        self.window.len().saturating_sub(self.released)
    }

    pub(super) fn is_over(&self) -> bool {
        self.over && self.held() == 0
    }

    /// Whether something was replaced in what went out lately, so that it must be looked at once more.
    pub(super) fn is_replaced(&self) -> bool {
        self.replaced
    }

    pub(super) fn close(&mut self) {
        self.over = true;
    }

    /// Adds text; gives what may go out of it and of what was held back before. `done`: nothing follows.
    pub(super) fn push(&mut self, pipelines: &[Arc<Pipeline>], texts: &[&str], done: bool, hold: Hold) -> Pushed {
        let bounds = self.append(texts);
        let mut pushed = Pushed { out: vec![String::new(); texts.len().max(1)], ..Pushed::default() };
        let text = std::mem::take(&mut self.window);
        let scanned = self.scan(pipelines, &text);
        let safe = if done { text.len() } else { self.safe(pipelines, &text, hold) };
        let marks = self.decide(pipelines, &scanned, (&text, safe, done), &bounds, &mut pushed);
        if pushed.cut.is_none() {
            self.follow(&text, done);
            self.painter.follows = !self.tails.is_empty();
            let first = self.released;
            let (out, replaced) = (&mut pushed.out, &mut self.replaced);
            let mut written = String::new();
            self.released = self.painter.walk(&text, &marks, first, safe, &mut |at, piece| {
                bounds.write(at, piece, out);
                written.push_str(piece.as_str());
            });
            *replaced |= !marks.is_empty();
            self.recheck(pipelines, &written, done, &mut pushed);
        }
        self.remember(pipelines, &text, scanned);
        self.window = text;
        let most = if hold == Hold::Message { MOST_HELD_MESSAGE } else { MOST_HELD };
        if self.held() > most && pushed.cut.is_none() {
            pushed.cut = Some(HOLDBACK.to_owned());
        }
        self.over = done;
        self.trim(pipelines);
        pushed
    }

    /// Takes text that goes out by another way: what follows it is joined to it.
    pub(super) fn seed(&mut self, pipelines: &[Arc<Pipeline>], texts: &[&str]) {
        let _ = self.push(pipelines, texts, false, Hold::Exact);
        let trusted = self.trusted(pipelines);
        for (at, all) in self.seen.iter().enumerate() {
            let places = all
                .iter()
                .filter(|one| one.span.start >= trusted)
                .map(|one| (at, one.rule, self.before + one.span.start));
            self.told.extend(places);
        }
        self.released = self.window.len();
        self.over = true;
        self.trim(pipelines);
    }

    /// Another channel's text begins.
    pub(super) fn joint(&mut self) {
        self.joints.push(self.window.len());
    }

    /// Adds text and gives what is minded over a joint. Nothing goes out of here.
    pub(super) fn crossing(&mut self, pipelines: &[Arc<Pipeline>], texts: &[&str]) -> Vec<Told> {
        let bounds = self.append(texts);
        let mut found = Vec::new();
        if self.joints.is_empty() {
            self.known = 0;
        } else {
            let from = self.rescanned(pipelines, &self.window);
            let rest = self.window.get(from..).unwrap_or_default();
            for (at, pipeline) in pipelines.iter().enumerate() {
                if !(0..pipeline.rules.len()).any(|rule| acts(pipeline, rule)) {
                    continue;
                }
                for one in pipeline.engine.scan(rest).matches {
                    let one = one.behind(from);
                    if one.span.start < self.known {
                        continue;
                    }
                    let crosses = self.joints.iter().any(|joint| one.span.start < *joint && *joint < one.span.end);
                    // What ends before this event was looked at with that.
                    let fresh = one.span.end > bounds.starts().first().copied().unwrap_or_default();
                    if crosses && fresh && acts(pipeline, one.rule) && one.span.start >= self.trusted(pipelines) {
                        found.push(self.telling(at, pipeline, &one, &bounds));
                    }
                }
            }
        }
        if !self.joints.is_empty() {
            self.known = decided(pipelines, &self.window);
        }
        self.released = self.window.len();
        self.trim(pipelines);
        found
    }

    /// From where on the window must be looked at again.
    fn rescanned(&self, pipelines: &[Arc<Pipeline>], text: &str) -> usize {
        floor(text, self.known.saturating_sub(context(pipelines)))
    }

    /// What the window holds: what was found before, and what more text brought.
    fn scan(&mut self, pipelines: &[Arc<Pipeline>], text: &str) -> Vec<Scanned> {
        let (from, known) = (self.rescanned(pipelines, text), self.known);
        let mut seen = std::mem::take(&mut self.seen).into_iter();
        let scan = |pipeline: &Arc<Pipeline>| {
            let before = seen.next().unwrap_or_default();
            if from == 0 {
                return pipeline.engine.scan(text);
            }
            let mut scanned = pipeline.engine.scan(text.get(from..).unwrap_or_default());
            let fresh = std::mem::take(&mut scanned.matches).into_iter().map(|one| one.behind(from));
            let fresh = fresh.filter(|one| one.span.start >= known);
            scanned.matches = before.into_iter().filter(|one| one.span.start < known).chain(fresh).collect();
            scanned.signals.retain_mut(|seen| {
                seen.span = seen.span.start + from..seen.span.end + from;
                seen.span.start >= known
            });
            if !normalise::is_plain(text) {
                scanned.hidden = hidden(text);
            }
            scanned
        };
        pipelines.iter().map(scan).collect()
    }

    /// Keeps what was found, so that only what could still change is looked for again.
    fn remember(&mut self, pipelines: &[Arc<Pipeline>], text: &str, scanned: Vec<Scanned>) {
        let mut known = decided(pipelines, text);
        for one in scanned.iter().flat_map(|scanned| &scanned.matches).filter(|one| one.open != Tail::None) {
            known = known.min(one.span.start);
        }
        self.known = known;
        self.seen = scanned.into_iter().map(|scanned| scanned.matches).collect();
    }

    fn append(&mut self, texts: &[&str]) -> Bounds {
        let mut at = vec![self.window.len()];
        for text in texts {
            self.window.push_str(text);
            at.push(self.window.len());
        }
        if texts.is_empty() {
            at.push(self.window.len());
        }
        Bounds::new(at)
    }

    /// Up to where everything is decided.
    fn safe(&self, pipelines: &[Arc<Pipeline>], text: &str, hold: Hold) -> usize {
        if hold == Hold::Message {
            return self.released;
        }
        let live = pipelines.iter().filter(|pipeline| pipeline.mode == Mode::Enforce);
        live.map(|pipeline| pipeline.engine.live(text, &|rule| acts(pipeline, rule))).min().unwrap_or(text.len())
    }

    /// Matches before this place may be due to the window's beginning.
    fn trusted(&self, pipelines: &[Arc<Pipeline>]) -> usize {
        if self.before == 0 { 0 } else { ceil(&self.window, context(pipelines)) }
    }

    /// What is decided: findings to tell, marks to paint, or the rule that cuts the stream.
    fn decide(
        &mut self,
        pipelines: &[Arc<Pipeline>],
        scanned: &[Scanned],
        (text, safe, done): (&str, usize, bool),
        bounds: &Bounds,
        pushed: &mut Pushed,
    ) -> Vec<Mark> {
        let trusted = if self.before == 0 { 0 } else { ceil(text, context(pipelines)) };
        let mut marks = Vec::new();
        for (at, (pipeline, scanned)) in pipelines.iter().zip(scanned).enumerate() {
            for one in scanned.matches.iter().filter(|one| one.span.start >= trusted) {
                let acting = acts(pipeline, one.rule);
                let stops =
                    one.settled && pipeline.rules.get(one.rule).is_some_and(|rule| rule.action == Action::Block);
                if acting && one.span.start >= safe && !stops {
                    continue;
                }
                let place = (at, one.rule, self.before + one.span.start);
                let fresh = self.told.insert(place);
                if fresh {
                    pushed.told.push(self.telling(at, pipeline, one, bounds));
                }
                if acting {
                    self.act(at, pipeline, one, fresh, pushed);
                    marks.push(mark(at, pipeline, one));
                    if one.open != Tail::None && !done {
                        self.tails.push(Following { tail: one.open, at: text.len(), begun: self.before + one.core });
                    }
                }
            }
            self.others(at, pipeline, scanned, bounds, pushed);
        }
        marks.sort_by_key(|mark| (mark.span.start, mark.rank));
        marks
    }

    /// A match whose action is to block, or of which a part is out already, cuts the stream.
    fn act(&self, _at: usize, pipeline: &Pipeline, one: &Match, fresh: bool, pushed: &mut Pushed) {
        let Some(rule) = pipeline.rules.get(one.rule) else { return };
        if rule.action == Action::Block {
            pushed.cut.get_or_insert_with(|| rule.name.to_string());
        }
        let out = one.span.start < self.released && one.span.end > self.released;
        if fresh && out && !self.painter.covers(one.span.start) {
            pushed.cut.get_or_insert_with(|| ACROSS.to_owned());
        }
    }

    /// Signals of injection, text that nobody sees, detectors that failed.
    fn others(&mut self, at: usize, pipeline: &Pipeline, scanned: &Scanned, bounds: &Bounds, pushed: &mut Pushed) {
        for seen in &scanned.signals {
            let place = self.before + seen.span.start;
            let known = self.signals.entry((at, seen.name)).or_insert((seen.weight, place));
            *known = (known.0.max(seen.weight), known.1.max(place));
        }
        let from = (self.before + bounds.starts().last().copied().unwrap_or_default()).saturating_sub(STRETCH);
        self.signals.retain(|_, (_, place)| *place >= from);
        let sum: usize =
            self.signals.iter().filter(|((of, _), _)| *of == at).map(|(_, (weight, _))| usize::from(*weight)).sum();
        let score = u8::try_from(sum.min(100)).unwrap_or(100);
        for (rule, threshold) in &pipeline.engine.injection {
            if score >= *threshold {
                self.remark(at, pipeline, (*rule, INJECTION, score), bounds, pushed);
            }
        }
        if is_flood(scanned.hidden) {
            for rule in &pipeline.engine.hidden {
                self.remark(at, pipeline, (*rule, HIDDEN, 100), bounds, pushed);
            }
        }
        for rule in scanned.failed.iter().chain(&scanned.flooded) {
            self.remark(at, pipeline, (*rule, "failed", 100), bounds, pushed);
            if pipeline.mode == Mode::Enforce && pipeline.on_error.action() == Action::Block {
                pushed.cut.get_or_insert_with(|| {
                    pipeline.rules.get(*rule).map_or_else(String::new, |rule| rule.name.to_string())
                });
            }
        }
    }

    /// Tells something about the channel as a whole, once.
    fn remark(
        &mut self,
        at: usize,
        pipeline: &Pipeline,
        (rule, kind, score): (usize, &'static str, u8),
        bounds: &Bounds,
        pushed: &mut Pushed,
    ) {
        if !self.told.insert((at, rule, usize::MAX)) {
            return;
        }
        let Some(action) = pipeline.rules.get(rule).map(|rule| rule.action) else { return };
        let leaf = bounds.starts().len().saturating_sub(2);
        let hash = pipeline.engine.key.hash("");
        pushed.told.push(Told {
            pipeline: at,
            rule,
            kind,
            action,
            leaf,
            span: 0..0,
            earlier: true,
            hash,
            view: "source",
            score,
        });
        if action == Action::Block && pipeline.mode == Mode::Enforce {
            pushed
                .cut
                .get_or_insert_with(|| pipeline.rules.get(rule).map_or_else(String::new, |rule| rule.name.to_string()));
        }
    }

    fn telling(&self, at: usize, pipeline: &Pipeline, one: &Match, bounds: &Bounds) -> Told {
        let leaf = bounds.leaf(one.span.end.saturating_sub(1));
        let start = bounds.starts().get(leaf).copied().unwrap_or_default();
        Told {
            pipeline: at,
            rule: one.rule,
            kind: one.kind,
            action: pipeline.rules.get(one.rule).map_or(Action::Block, |rule| rule.action),
            leaf,
            span: one.span.start.saturating_sub(start)..one.span.end.saturating_sub(start),
            earlier: bounds.starts().first().is_some_and(|first| one.span.start < *first),
            hash: one.hash,
            view: one.view,
            score: 100,
        }
    }

    /// Follows tails through the text that came.
    fn follow(&mut self, text: &str, done: bool) {
        if self.tails.is_empty() {
            return;
        }
        let plain = normalise::plain(text);
        let source = View::source_of(text);
        let base = plain.as_ref().unwrap_or(&source);
        let mut still: Vec<Following> = Vec::new();
        let mut ends = Ends::new(base.text());
        for one in std::mem::take(&mut self.tails) {
            let at = base.above(one.at).min(base.text().len());
            // The mark that ends a key may have begun before.
            let from = if one.tail == Tail::Key { floor(base.text(), at.saturating_sub(48)) } else { at };
            let (end, open) = ends.of(one.tail, from);
            let end = end.max(at);
            let mut reached = if end > at { base.source(at..end).end } else { one.at };
            let most = (one.begun + LONGEST_KEY).saturating_sub(self.before);
            let spent = one.tail == Tail::Key && reached >= most;
            reached = if spent { ceil(text, most.min(reached)) } else { reached };
            self.painter.extend(one.begun.saturating_sub(self.before), reached);
            if open && !spent && !done && !still.iter().any(|other| other.tail == one.tail) {
                still.push(Following { at: text.len(), ..one });
            }
        }
        self.tails = still;
    }

    /// Nothing of what is minded may be left in what goes out, be it by what was put in its place.
    fn recheck(&mut self, pipelines: &[Arc<Pipeline>], written: &str, done: bool, pushed: &mut Pushed) {
        self.out.push_str(written);
        if self.replaced && (done || !written.is_empty()) {
            let trusted = if self.out_before { context(pipelines) } else { 0 };
            for pipeline in pipelines {
                let left = pipeline.engine.scan(&self.out).matches;
                // What may turn out to go on is looked at again then.
                let live =
                    if done { self.out.len() } else { pipeline.engine.live(&self.out, &|rule| acts(pipeline, rule)) };
                let ended = |one: &Match| one.span.start < live;
                let left =
                    left.into_iter().find(|one| acts(pipeline, one.rule) && one.span.start >= trusted && ended(one));
                if let Some(rule) = left.and_then(|one| pipeline.rules.get(one.rule)) {
                    pushed.cut.get_or_insert_with(|| rule.name.to_string());
                }
            }
        }
        let keep = reach(pipelines) + context(pipelines);
        let cut = floor(&self.out, self.out.len().saturating_sub(keep));
        if cut > 0 {
            self.out.drain(..cut);
            self.out_before = true;
            self.replaced &= self.out.contains(['[', '*']);
        }
    }

    /// Keeps as much of what went out as any detector looks back.
    fn trim(&mut self, pipelines: &[Arc<Pipeline>]) {
        let keep = reach(pipelines) + context(pipelines);
        let least = self.released.min(self.window.len());
        if least <= keep {
            return;
        }
        let plain = normalise::plain(&self.window);
        let cut = match &plain {
            None => least - keep,
            Some(base) => {
                let kept = floor(base.text(), base.above(least).saturating_sub(keep));
                if kept == 0 { 0 } else { base.source(kept..ceil(base.text(), kept + 1)).start }
            }
        };
        let cut = floor(&self.window, cut.min(least));
        if cut == 0 {
            return;
        }
        self.window.drain(..cut);
        self.released -= cut;
        self.before += cut;
        self.painter.shift(cut);
        self.known = self.known.saturating_sub(cut);
        for seen in &mut self.seen {
            seen.retain_mut(|one| {
                let kept = one.span.start >= cut;
                if kept {
                    one.span = one.span.start - cut..one.span.end - cut;
                    one.core -= cut;
                }
                kept
            });
        }
        self.tails.iter_mut().for_each(|one| one.at = one.at.saturating_sub(cut));
        self.joints.retain(|joint| *joint > cut);
        self.joints.iter_mut().for_each(|joint| *joint -= cut);
        let before = self.before;
        self.told.retain(|(_, _, place)| *place >= before);
    }
}

/// Where the earliest match of any rule may have begun that more text could still complete or change.
fn decided(pipelines: &[Arc<Pipeline>], text: &str) -> usize {
    let of = |pipeline: &Arc<Pipeline>| {
        let live = pipeline.engine.live(text, &|_| true);
        let signals = if pipeline.engine.injection.is_empty() { 0 } else { SIGNAL };
        live.min(floor(text, text.len().saturating_sub(signals)))
    };
    pipelines.iter().map(of).min().unwrap_or(0)
}

/// Most bytes between the start of a signal of injection and where it is decided.
const SIGNAL: usize = 512;

/// Whether a rule's findings change or stop text.
fn acts(pipeline: &Pipeline, rule: usize) -> bool {
    pipeline.mode == Mode::Enforce && pipeline.rules.get(rule).is_some_and(|rule| rule.action > Action::Monitor)
}

fn mark(at: usize, pipeline: &Pipeline, one: &Match) -> Mark {
    let action = pipeline.rules.get(one.rule).map_or(Action::Block, |rule| rule.action);
    let label = pipeline.label(Some(one.rule), one.kind);
    let style = Style::of(action, label, &hex(one.hash), one.keep);
    Mark { span: one.span.clone(), style, rank: rank_of(action, at * 1_000 + one.rule) }
}

/// Most bytes that a match can have before its tail.
fn reach(pipelines: &[Arc<Pipeline>]) -> usize {
    let longest = pipelines.iter().map(|pipeline| pipeline.engine.reach().longest).max().unwrap_or_default();
    let signals = pipelines.iter().any(|pipeline| !pipeline.engine.injection.is_empty());
    (longest.max(64) * 4).max(if signals { SIGNAL } else { 0 })
}

/// Most bytes that a detector looks at before a match.
fn context(pipelines: &[Arc<Pipeline>]) -> usize {
    pipelines.iter().map(|pipeline| pipeline.engine.reach().before).max().unwrap_or_default() * 4 + 8
}
