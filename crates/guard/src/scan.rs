//! One look at a whole tree: every detector of a pipeline on every key, string and number, and on neighbouring strings
//! read together.
//!
//! Gives hits with the action each deserves where it lies. Never changes anything. A detector that panics or gives
//! spans outside the text counts as failed, and the policy's `on_error` decides.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use json::{Json, Leaf, Path, Segment, walk};

use crate::detector::{Detector, MOST_SPANS, Scan};
use crate::finding::{Action, Place};
use crate::hash::MatchHash;
use crate::pipeline::Pipeline;
use crate::view::{SEPARATORS, Siblings, Window};

/// One thing seen.
#[derive(Debug)]
pub(crate) struct Hit {
    /// Which rule of the pipeline; none for content that cannot be looked into.
    pub(crate) rule: Option<usize>,
    /// The leaf's number in document order.
    pub(crate) ordinal: usize,
    /// The leaf's pointer, for look-up.
    pub(crate) pointer: Arc<str>,
    pub(crate) place: Place,
    pub(crate) span: Range<usize>,
    pub(crate) action: Action,
    pub(crate) hash: MatchHash,
}

/// What became of one detector on one text.
pub(crate) enum Look {
    Seen(Vec<Range<usize>>),
    Flooded,
    Failed,
}

/// Runs a detector; a panic stays here.
pub(crate) fn look(detector: &dyn Detector, text: &str) -> Look {
    match catch_unwind(AssertUnwindSafe(|| detector.scan(text))) {
        Ok(Scan::Spans(spans))
            if spans.iter().all(|span| text.get(span.clone()).is_some_and(|found| !found.is_empty())) =>
        {
            Look::Seen(spans)
        }
        Ok(Scan::Flood) => Look::Flooded,
        Ok(Scan::Spans(_)) | Err(_) => Look::Failed,
    }
}

/// Everything `pipeline` minds in the tree, in document order.
pub(crate) fn scan(pipeline: &Pipeline, json: &Json, structural: &dyn Fn(&Path<'_>) -> bool) -> Vec<Hit> {
    let counts = vec![0; pipeline.rules.len()];
    let mut scanner = Scanner { pipeline, structural, hits: Vec::new(), counts, ordinal: 0, siblings: Siblings::new() };
    walk(json, &mut |path, leaf| scanner.leaf(path, leaf));
    let siblings = std::mem::take(&mut scanner.siblings);
    scanner.joined(&siblings, json);
    scanner.hits.sort_by_key(|hit| (hit.ordinal, hit.span.start, hit.rule));
    scanner.hits
}

struct Scanner<'p, 'a> {
    pipeline: &'p Pipeline,
    structural: &'p dyn Fn(&Path<'_>) -> bool,
    hits: Vec<Hit>,
    /// Hits per rule, so that a flood over many leaves is one too.
    counts: Vec<usize>,
    ordinal: usize,
    siblings: Siblings<'a>,
}

/// A text being looked at, and where it lies.
struct Spot<'t> {
    text: &'t str,
    place: Place,
    ordinal: usize,
    pointer: Arc<str>,
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
        let mut spot: Option<Spot<'_>> = None;
        let structural = self.structural;
        let make = || {
            let rigid = place != Place::Text || structural(path);
            Spot { text, place, ordinal, pointer: path.to_string().into(), rigid }
        };
        for index in 0..self.pipeline.rules.len() {
            let looked = self.look(index, text);
            if !matches!(&looked, Look::Seen(spans) if spans.is_empty()) {
                self.record(index, looked, spot.get_or_insert_with(make));
            }
        }
        if place == Place::Text {
            if self.pipeline.on_unscannable.action() > Action::Allow && is_unscannable(path, text) {
                let spot = spot.get_or_insert_with(make);
                self.push(None, spot, 0..text.len(), self.pipeline.on_unscannable.action());
            }
            self.siblings.add(path, ordinal, text);
        }
    }

    fn look(&self, index: usize, text: &str) -> Look {
        match self.pipeline.rules.get(index) {
            Some(rule) if self.counts.get(index).is_some_and(|count| *count <= MOST_SPANS) => {
                look(&*rule.detector, text)
            }
            Some(_) | None => Look::Seen(Vec::new()),
        }
    }

    fn record(&mut self, index: usize, looked: Look, spot: &Spot<'_>) {
        let Some(action) = self.pipeline.rules.get(index).map(|rule| rule.action) else { return };
        let count = self.counts.get(index).copied().unwrap_or_default();
        match looked {
            Look::Seen(spans) if count.saturating_add(spans.len()) <= MOST_SPANS => {
                self.count(index, spans.len());
                for span in spans {
                    self.push(Some(index), spot, span, escalate(action, spot.rigid));
                }
            }
            Look::Seen(_) | Look::Flooded => {
                self.count(index, MOST_SPANS.saturating_add(1));
                self.push(Some(index), spot, 0..spot.text.len(), escalate(action, true));
            }
            Look::Failed => self.push(Some(index), spot, 0..spot.text.len(), self.pipeline.on_error.action()),
        }
    }

    fn count(&mut self, index: usize, more: usize) {
        if let Some(count) = self.counts.get_mut(index) {
            *count = count.saturating_add(more);
        }
    }

    fn push(&mut self, rule: Option<usize>, spot: &Spot<'_>, span: Range<usize>, action: Action) {
        let hash = self.pipeline.key.hash(spot.text.get(span.clone()).unwrap_or_default());
        let (ordinal, pointer, place) = (spot.ordinal, Arc::clone(&spot.pointer), spot.place);
        self.hits.push(Hit { rule, ordinal, pointer, place, span, action, hash });
    }

    /// Looks at neighbouring strings joined by each separator.
    fn joined(&mut self, siblings: &Siblings<'a>, json: &Json) {
        let reach = self.pipeline.reach();
        let first = self.hits.len();
        let own = self.own_hits();
        let mut seen = HashSet::new();
        for separator in SEPARATORS {
            siblings.windows(separator, reach, &mut |window| {
                for index in 0..self.pipeline.rules.len() {
                    let looked = self.look(index, &window.text);
                    self.record_joined(index, looked, window, &own, &mut seen);
                }
            });
        }
        let fresh = self.hits.get_mut(first..).unwrap_or_default();
        if !fresh.is_empty() {
            name_leaves(json, fresh);
        }
    }

    /// What was seen in single leaves, by rule and leaf.
    fn own_hits(&self) -> HashMap<(usize, usize), Vec<Range<usize>>> {
        let mut own: HashMap<_, Vec<_>> = HashMap::new();
        for hit in &self.hits {
            if let (Some(rule), Place::Text) = (hit.rule, hit.place) {
                own.entry((rule, hit.ordinal)).or_default().push(hit.span.clone());
            }
        }
        own
    }

    fn record_joined(
        &mut self,
        index: usize,
        looked: Look,
        window: &Window,
        own: &HashMap<(usize, usize), Vec<Range<usize>>>,
        seen: &mut HashSet<(usize, usize)>,
    ) {
        let spans = match looked {
            Look::Seen(spans) => spans,
            Look::Flooded | Look::Failed => {
                if let Some(piece) = window.pieces.last()
                    && seen.insert((index, piece.ordinal))
                {
                    self.record(index, looked, &joined_spot(&window.text, piece.ordinal));
                }
                return;
            }
        };
        for span in spans {
            let touched = window.touched(&span);
            let [_, .., last] = touched else { continue };
            // Seen in a single leaf already: its action is taken there, and the second look finds what it leaves.
            let known = touched.iter().any(|piece| {
                let local = piece.local(&span);
                let own = own.get(&(index, piece.ordinal));
                own.is_some_and(|own| own.iter().any(|own| own.start < local.end && local.start < own.end))
            });
            if known || !seen.insert((index, last.ordinal)) {
                continue;
            }
            let Some(action) = self.pipeline.rules.get(index).map(|rule| escalate(rule.action, true)) else { continue };
            let hash = self.pipeline.key.hash(window.text.get(span.clone()).unwrap_or_default());
            let (ordinal, pointer, span) = (last.ordinal, Arc::from(""), last.local(&span));
            self.hits.push(Hit { rule: Some(index), ordinal, pointer, place: Place::Joined, span, action, hash });
        }
    }
}

fn joined_spot(text: &str, ordinal: usize) -> Spot<'_> {
    Spot { text, place: Place::Joined, ordinal, pointer: Arc::from(""), rigid: true }
}

/// Gives joined hits the pointers of their leaves, which the first walk did not keep.
fn name_leaves(json: &Json, hits: &mut [Hit]) {
    let mut pointers: HashMap<usize, Option<Arc<str>>> = hits.iter().map(|hit| (hit.ordinal, None)).collect();
    let mut ordinal = 0_usize;
    walk(json, &mut |path, _| {
        if let Some(pointer) = pointers.get_mut(&ordinal) {
            *pointer = Some(path.to_string().into());
        }
        ordinal = ordinal.saturating_add(1);
    });
    for hit in hits {
        if let Some(Some(pointer)) = pointers.get(&hit.ordinal) {
            hit.pointer = Arc::clone(pointer);
        }
    }
}

/// What cannot be redacted without breaking the message is blocked.
pub(crate) const fn escalate(action: Action, rigid: bool) -> Action {
    match action {
        Action::Redact if rigid => Action::Block,
        Action::Allow | Action::Monitor | Action::Redact | Action::Block => action,
    }
}

/// Inline bytes of a part (`parts[n].raw`, `parts[n].file.bytes`) and base64 `data:` URLs.
fn is_unscannable(path: &Path<'_>, text: &str) -> bool {
    let inline = matches!(
        path.segments,
        [.., Segment::Key("parts"), Segment::Index(_), Segment::Key("raw" | "bytes")]
            | [.., Segment::Key("parts"), Segment::Index(_), Segment::Key("file"), Segment::Key("bytes")]
    );
    inline || is_data_url(text)
}

fn is_data_url(text: &str) -> bool {
    let scheme = text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    scheme && text.split_once(',').is_some_and(|(head, _)| head.to_ascii_lowercase().ends_with(";base64"))
}
