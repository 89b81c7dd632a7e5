//! One look at a whole tree: every detector of a pipeline on every key, string and number, and on neighbouring strings
//! read together.
//!
//! Gives hits with the action each deserves where it lies. Never changes anything. A detector that panics counts as
//! failed, and the policy's `on_error` decides.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use json::{Json, Leaf, Path, Segment, walk};

use crate::detector::builtin::INJECTION;
use crate::detector::injection::{self, Seen};
use crate::detector::{MOST_SPANS, file};
use crate::engine::{HIDDEN, Match, NESTED, Scanned};
use crate::finding::{Action, Place};
use crate::hash::MatchHash;
use crate::inline;
use crate::normalise::Hidden;
use crate::pipeline::{Looks, Pipeline, UNSCANNABLE};
use crate::view::{SEPARATORS, Siblings, Window};

/// One thing seen.
#[derive(Debug)]
pub(crate) struct Hit {
    /// Which rule of the pipeline; none for content that cannot be looked into.
    pub(crate) rule: Option<usize>,
    pub(crate) kind: &'static str,
    /// What it covers, leaf by leaf.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) place: Place,
    pub(crate) action: Action,
    pub(crate) hash: MatchHash,
    pub(crate) view: &'static str,
    pub(crate) score: u8,
    pub(crate) keep: usize,
}

/// What a hit covers of one leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The leaf's number in document order.
    pub(crate) ordinal: usize,
    /// The leaf's pointer, for look-up.
    pub(crate) pointer: Arc<str>,
    pub(crate) span: Range<usize>,
}

/// Leaves that are looked at elsewhere, by their pointers.
#[derive(Debug, Default)]
pub(crate) struct Apart<'a> {
    few: Vec<&'a str>,
    many: HashSet<&'a str>,
}

impl<'a> Apart<'a> {
    /// So many are compared one by one.
    const FEW: usize = 8;

    pub(crate) fn new(pointers: impl Iterator<Item = &'a String>) -> Self {
        let few: Vec<&str> = pointers.map(String::as_str).collect();
        if few.len() <= Self::FEW {
            Self { few, many: HashSet::new() }
        } else {
            Self { few: Vec::new(), many: few.into_iter().collect() }
        }
    }

    fn holds(&self, path: &Path<'_>) -> bool {
        self.few.iter().any(|pointer| leads(path, pointer))
            || (!self.many.is_empty() && self.many.contains(path.to_string().as_str()))
    }
}

/// Whether the pointer is the path's, without writing the path out.
fn leads(path: &Path<'_>, pointer: &str) -> bool {
    let mut tokens = pointer.split('/').skip(1);
    let same = path.segments.iter().all(|segment| match (segment, tokens.next()) {
        (Segment::Key(key), Some(token)) if !token.contains('~') => *key == token,
        (Segment::Key(key), Some(token)) => key.replace('~', "~0").replace('/', "~1") == token,
        (Segment::Index(index), Some(token)) => token.parse() == Ok(*index),
        (_, None) => false,
    });
    same && tokens.next().is_none()
}

/// Everything `pipeline` minds in the tree, in document order. `apart` names the leaves that are looked at elsewhere.
pub(crate) fn scan(
    pipeline: &Pipeline,
    json: &Json,
    structural: &dyn Fn(&Path<'_>) -> bool,
    apart: &Apart<'_>,
) -> Vec<Hit> {
    let mut scanner = Scanner {
        pipeline,
        json,
        structural,
        apart,
        hits: Vec::new(),
        counts: vec![0; pipeline.rules.len()],
        ordinal: 0,
        siblings: Siblings::new(),
        signals: BTreeMap::new(),
    };
    walk(json, &mut |path, leaf| scanner.leaf(path, leaf));
    let siblings = std::mem::take(&mut scanner.siblings);
    scanner.groups(&siblings);
    scanner.injection(&siblings);
    pipeline.whole(json, &mut |rule, kind, pointer| scanner.about(rule, kind, &pointer));
    let mut hits = scanner.hits;
    name_leaves(json, &mut hits);
    hits.sort_by_key(|hit| hit.pieces.first().map(|piece| (piece.ordinal, piece.span.start, hit.rule)));
    hits
}

struct Scanner<'p, 'a> {
    pipeline: &'p Pipeline,
    json: &'a Json,
    structural: &'p dyn Fn(&Path<'_>) -> bool,
    apart: &'p Apart<'p>,
    hits: Vec<Hit>,
    /// Hits per rule, so that a flood over many leaves is one too.
    counts: Vec<usize>,
    ordinal: usize,
    siblings: Siblings<'a>,
    /// Signals of injection by leaf.
    signals: BTreeMap<usize, Vec<Seen>>,
}

/// A text being looked at, and where it lies.
#[derive(Clone, Copy)]
struct Spot<'t> {
    text: &'t str,
    place: Place,
    ordinal: usize,
    /// Whether a redaction here would break something, so that it becomes a block.
    rigid: bool,
}

impl<'a> Scanner<'_, 'a> {
    fn leaf(&mut self, path: &Path<'_>, leaf: Leaf<'a>) {
        let (text, place) = match leaf {
            Leaf::Text(text) => (text, Place::Text),
            Leaf::Number(number) => (number.as_text(), Place::Number),
            Leaf::Key(key) => (key, Place::Key),
        };
        let ordinal = self.ordinal;
        self.ordinal = ordinal.saturating_add(1);
        if text.is_empty() {
            return;
        }
        if place == Place::Text {
            if self.apart.holds(path) {
                return;
            }
            if let Some(bytes) = inline::of(path, text) {
                return self.inline(path, Spot { text, place: Place::Bytes, ordinal, rigid: true }, &bytes);
            }
            if self.siblings.add(path, ordinal, text, self.structural) {
                return;
            }
        }
        let scanned = self.pipeline.engine.scan(text);
        if !scanned.is_clean() {
            let rigid = place != Place::Text || (self.structural)(path);
            self.take(scanned, Spot { text, place, ordinal, rigid });
        }
    }

    /// Bytes written as text: what they are, and what they say if they are text.
    fn inline(&mut self, path: &Path<'_>, spot: Spot<'_>, inline: &inline::Inline) {
        let declared = inline.declared.clone().or_else(|| inline::declared(self.json, path));
        let Some(bytes) = &inline.bytes else { return self.unscannable(spot) };
        for (rule, looks) in self.pipeline.rules.iter().enumerate().map(|(at, rule)| (at, &rule.looks)) {
            if let Looks::File(files) = looks
                && let Some(kind) = files.look(bytes, declared.as_deref())
            {
                self.push(Some(rule), kind, spot, (0..spot.text.len(), spot.text, "source"), 100);
            }
        }
        match file::text(bytes) {
            Some(text) => {
                let scanned = self.pipeline.engine.scan(&text);
                let all = 0..spot.text.len();
                let at = |one: Match| Match { span: all.clone(), ..one };
                let matches = scanned.matches.into_iter().map(at).collect();
                self.take(Scanned { matches, ..scanned }, spot);
            }
            None => self.unscannable(spot),
        }
    }

    fn unscannable(&mut self, spot: Spot<'_>) {
        let action = self.pipeline.on_unscannable.action();
        if action > Action::Allow {
            let span = 0..spot.text.len();
            self.hits.push(Hit {
                rule: None,
                kind: UNSCANNABLE,
                pieces: vec![Piece { ordinal: spot.ordinal, pointer: Arc::from(""), span }],
                place: spot.place,
                action,
                hash: self.pipeline.engine.key.hash(spot.text),
                view: "source",
                score: 100,
                keep: 0,
            });
        }
    }

    /// Takes over what was seen in one leaf.
    fn take(&mut self, scanned: Scanned, spot: Spot<'_>) {
        for rule in &scanned.failed {
            self.failed(*rule, spot);
        }
        for rule in scanned.flooded.iter().copied() {
            self.flooded(rule, "flood", spot);
        }
        self.about_text(&scanned, spot);
        for found in scanned.matches {
            self.matched(found, spot);
        }
        if !scanned.signals.is_empty() {
            self.signals.entry(spot.ordinal).or_default().extend(scanned.signals);
        }
    }

    fn matched(&mut self, found: Match, spot: Spot<'_>) {
        let Some(count) = self.counts.get_mut(found.rule) else { return };
        *count = count.saturating_add(1);
        if *count > MOST_SPANS {
            if *count == MOST_SPANS.saturating_add(1) {
                self.flooded(found.rule, found.kind, spot);
            }
            return;
        }
        let Some(rule) = self.pipeline.rules.get(found.rule) else { return };
        self.hits.push(Hit {
            rule: Some(found.rule),
            kind: found.kind,
            pieces: vec![Piece { ordinal: spot.ordinal, pointer: Arc::from(""), span: found.span }],
            place: spot.place,
            action: escalate(rule.action, spot.rigid),
            hash: found.hash,
            view: found.view,
            score: 100,
            keep: found.keep,
        });
    }

    /// How much of the text is not shown, and whether something is encoded twice.
    fn about_text(&mut self, scanned: &Scanned, spot: Spot<'_>) {
        if is_flood(scanned.hidden) {
            for rule in self.pipeline.engine.hidden.clone() {
                self.push(Some(rule), HIDDEN, spot, (0..spot.text.len(), "", "source"), 100);
            }
        }
        if let Some(span) = &scanned.nested {
            for rule in self.pipeline.engine.nested.clone() {
                self.push(Some(rule), NESTED, spot, (span.clone(), "", "encoded"), 60);
            }
        }
    }

    fn failed(&mut self, rule: usize, spot: Spot<'_>) {
        self.push(Some(rule), "failed", spot, (0..spot.text.len(), spot.text, "source"), 100);
        if let Some(hit) = self.hits.last_mut() {
            hit.action = self.pipeline.on_error.action();
        }
    }

    /// What cannot be listed cannot be redacted.
    fn flooded(&mut self, rule: usize, kind: &'static str, spot: Spot<'_>) {
        let spot = Spot { rigid: true, ..spot };
        self.push(Some(rule), kind, spot, (0..spot.text.len(), spot.text, "source"), 100);
    }

    fn push(
        &mut self,
        rule: Option<usize>,
        kind: &'static str,
        spot: Spot<'_>,
        (span, text, view): (Range<usize>, &str, &'static str),
        score: u8,
    ) {
        let action = rule.and_then(|rule| self.pipeline.rules.get(rule)).map_or(Action::Block, |rule| rule.action);
        self.hits.push(Hit {
            rule,
            kind,
            pieces: vec![Piece { ordinal: spot.ordinal, pointer: Arc::from(""), span }],
            place: spot.place,
            action: escalate(action, spot.rigid),
            hash: self.pipeline.engine.key.hash(text),
            view,
            score,
            keep: 0,
        });
    }

    /// A finding about a value that is not a text.
    fn about(&mut self, rule: usize, kind: &'static str, pointer: &str) {
        self.push(
            Some(rule),
            kind,
            Spot { text: "", place: Place::Whole, ordinal: usize::MAX, rigid: true },
            (0..0, "", "source"),
            100,
        );
        if let Some(piece) = self.hits.last_mut().and_then(|hit| hit.pieces.first_mut()) {
            piece.pointer = pointer.into();
        }
    }

    /// Looks at neighbouring strings joined by each separator.
    fn groups(&mut self, siblings: &Siblings<'a>) {
        siblings.continuous(&mut |window| {
            let scanned = self.pipeline.engine.scan(&window.text);
            self.take_joined(scanned, window, true, &mut HashSet::new());
        });
        let reach = self.pipeline.engine.reach();
        let reach = reach.longest.saturating_add(reach.before);
        let mut seen = HashSet::new();
        for separator in SEPARATORS {
            let own = self.own_hits();
            siblings.windows(separator, reach, &mut |window| {
                let mut scanned = self.pipeline.engine.scan(&window.text);
                scanned.matches.retain(|found| !is_known(found, window, &own));
                self.take_joined(scanned, window, false, &mut seen);
            });
        }
    }

    /// What was seen already, by rule and leaf.
    fn own_hits(&self) -> HashMap<(usize, usize), Vec<Range<usize>>> {
        let mut own: HashMap<_, Vec<_>> = HashMap::new();
        for hit in &self.hits {
            let Some(rule) = hit.rule.filter(|_| matches!(hit.place, Place::Text | Place::Joined)) else { continue };
            for piece in &hit.pieces {
                own.entry((rule, piece.ordinal)).or_default().push(piece.span.clone());
            }
        }
        own
    }

    fn take_joined(&mut self, scanned: Scanned, window: &Window, continuous: bool, seen: &mut HashSet<(usize, usize)>) {
        let last = window.pieces.last().map_or(0, |piece| piece.ordinal);
        let spot = Spot { text: &window.text, place: Place::Joined, ordinal: last, rigid: true };
        for rule in scanned.failed.iter().copied() {
            if seen.insert((rule, last)) {
                self.failed(rule, spot);
            }
        }
        if continuous {
            for rule in scanned.flooded.iter().copied() {
                self.flooded(rule, "flood", spot);
            }
            self.about_text(&scanned, spot);
        }
        for found in scanned.matches {
            let pieces: Vec<Piece> = window.cover(&found.span);
            let crossing = pieces.len() > 1;
            // Between joints, only what goes over one is new.
            if !continuous && (!crossing || !seen.insert((found.rule, pieces.last().map_or(0, |piece| piece.ordinal))))
            {
                continue;
            }
            let rigid = window.separated
                || window
                    .pieces
                    .iter()
                    .any(|piece| piece.rigid && pieces.iter().any(|one| one.ordinal == piece.ordinal));
            let place = if crossing { Place::Joined } else { Place::Text };
            self.matched(found, Spot { place, rigid, ..spot });
            if let Some(hit) = self.hits.last_mut().filter(|hit| hit.place == place && !pieces.is_empty()) {
                hit.pieces = pieces;
            }
        }
        for seen in scanned.signals {
            let Some(piece) = window.cover(&seen.span).into_iter().next() else { continue };
            self.signals.entry(piece.ordinal).or_default().push(Seen { span: piece.span, ..seen });
        }
    }

    /// Adds up the signals of each leaf, and of each row of neighbours.
    fn injection(&mut self, siblings: &Siblings<'a>) {
        if self.signals.is_empty() {
            return;
        }
        let mut signals = std::mem::take(&mut self.signals);
        let mut rows: Vec<Vec<(usize, usize)>> = Vec::new();
        siblings.rows(&mut |members| rows.push(members));
        for row in rows {
            let mut together: Vec<Seen> = Vec::new();
            let mut offset = 0_usize;
            let mut starts: Vec<(usize, usize)> = Vec::new();
            for (ordinal, length) in row {
                starts.push((offset, ordinal));
                for seen in signals.remove(&ordinal).into_iter().flatten() {
                    let span = seen.span.start.saturating_add(offset)..seen.span.end.saturating_add(offset);
                    together.push(Seen { span, ..seen });
                }
                offset = offset.saturating_add(length).saturating_add(1);
            }
            self.scored(&mut together, &|at| {
                let behind = starts.partition_point(|(start, _)| *start <= at);
                starts.get(behind.saturating_sub(1)).copied().unwrap_or((0, 0))
            });
        }
        for (ordinal, mut seen) in signals {
            self.scored(&mut seen, &|_| (0, ordinal));
        }
    }

    fn scored(&mut self, signals: &mut [Seen], leaf: &dyn Fn(usize) -> (usize, usize)) {
        let Some((score, span)) = injection::score(signals) else { return };
        let (offset, ordinal) = leaf(span.start);
        let span = span.start.saturating_sub(offset)..span.end.saturating_sub(offset);
        for (rule, threshold) in self.pipeline.engine.injection.clone() {
            if score >= threshold {
                let spot = Spot { text: "", place: Place::Text, ordinal, rigid: true };
                self.push(Some(rule), INJECTION, spot, (span.clone(), "", "source"), score);
            }
        }
    }
}

/// Whether a match was seen in a single leaf already: its action is taken there, and the second look finds what it leaves.
fn is_known(found: &Match, window: &Window, own: &HashMap<(usize, usize), Vec<Range<usize>>>) -> bool {
    window.cover(&found.span).iter().any(|piece| {
        let own = own.get(&(found.rule, piece.ordinal));
        own.is_some_and(|own| own.iter().any(|own| own.start < piece.span.end && piece.span.start < own.end))
    })
}

/// So many invisible characters are no accident: 64 in a row, or one in twenty of a text that is not tiny.
pub(crate) fn is_flood(hidden: Hidden) -> bool {
    hidden.row > 64 || (hidden.hidden >= 16 && hidden.hidden.saturating_mul(20) > hidden.all)
}

/// Gives hits the pointers of their leaves, which the first walk did not keep.
fn name_leaves(json: &Json, hits: &mut [Hit]) {
    if hits.is_empty() {
        return;
    }
    let pieces = hits.iter().flat_map(|hit| &hit.pieces).map(|piece| piece.ordinal);
    let mut pointers: HashMap<usize, Option<Arc<str>>> = pieces.map(|ordinal| (ordinal, None)).collect();
    let mut ordinal = 0_usize;
    walk(json, &mut |path, _| {
        if let Some(pointer) = pointers.get_mut(&ordinal) {
            *pointer = Some(path.to_string().into());
        }
        ordinal = ordinal.saturating_add(1);
    });
    for piece in hits.iter_mut().flat_map(|hit| &mut hit.pieces) {
        if let Some(Some(pointer)) = pointers.get(&piece.ordinal) {
            piece.pointer = Arc::clone(pointer);
        }
    }
}

/// What cannot be redacted without breaking the message is blocked.
pub(crate) const fn escalate(action: Action, rigid: bool) -> Action {
    match action {
        Action::Tokenise | Action::Mask | Action::Redact if rigid => Action::Block,
        Action::Allow | Action::Monitor | Action::Tokenise | Action::Mask | Action::Redact | Action::Block => action,
    }
}

/// Text parts of an artifact: one string, however it was cut.
pub(crate) fn is_continuous(path: &Path<'_>) -> bool {
    matches!(
        path.segments,
        [
            ..,
            Segment::Key("artifacts"),
            Segment::Index(_),
            Segment::Key("parts"),
            Segment::Index(_),
            Segment::Key("text")
        ] | [.., Segment::Key("artifact"), Segment::Key("parts"), Segment::Index(_), Segment::Key("text")]
    )
}
