//! A compiled policy, how its detectors are run, and how several policies become one verdict.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use json::{Json, Path};

use crate::detector::file::Files;
use crate::engine::Engine;
use crate::external::External;
use crate::finding::{Action, Finding, Mode, Place};
use crate::hash::hex;
use crate::measure::Sizes;
use crate::paint::Paint;
use crate::policy::{self, Options, PolicyError};
use crate::redact::Style;
use crate::scan::{Apart, Hit, scan};
use crate::schema::Schema;
use crate::stream::Inspector;
use crate::surface::Surface;
use crate::verdict::{Outcome, Verdict};

/// What content is called that cannot be looked into.
pub(crate) const UNSCANNABLE: &str = "unscannable";

/// Longest pointer in a finding, in characters.
const LONGEST_POINTER: usize = 512;

/// A compiled policy.
pub struct Pipeline {
    pub(crate) policy: Arc<str>,
    pub(crate) version: i64,
    pub(crate) surfaces: Vec<Surface>,
    pub(crate) mode: Mode,
    pub(crate) rules: Vec<Rule>,
    pub(crate) engine: Engine,
    pub(crate) on_error: OnError,
    pub(crate) on_unscannable: OnUnscannable,
    pub(crate) hold: Hold,
    pub(crate) externals: Vec<External>,
}

/// A detector of a policy and what follows from its findings.
pub(crate) struct Rule {
    pub(crate) name: Arc<str>,
    pub(crate) action: Action,
    pub(crate) looks: Looks,
}

/// Where a rule's detector is.
pub(crate) enum Looks {
    /// In the engine, under our own kinds.
    Ours,
    /// In the engine, as its author wrote it.
    Custom,
    /// At inline bytes.
    File(Files),
    /// At numbers of parts and characters.
    Size(Sizes),
    /// At data parts.
    Schema(Box<Schema>),
}

/// How text that arrives in events is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Only what is not decided yet.
    Exact,
    /// Until the message or artifact is complete.
    Message,
}

impl Hold {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "exact" => Some(Self::Exact),
            "message" => Some(Self::Message),
            _ => None,
        }
    }
}

/// What happens when a detector fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnError {
    Allow,
    Block,
}

impl OnError {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "allow" => Some(Self::Allow),
            "block" => Some(Self::Block),
            _ => None,
        }
    }

    /// A failure is recorded even where it is let pass.
    pub(crate) const fn action(self) -> Action {
        match self {
            Self::Allow => Action::Monitor,
            Self::Block => Action::Block,
        }
    }
}

/// What happens to content that cannot be looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnUnscannable {
    Allow,
    Flag,
    Block,
}

impl OnUnscannable {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "allow" => Some(Self::Allow),
            "flag" => Some(Self::Flag),
            "block" => Some(Self::Block),
            _ => None,
        }
    }

    pub(crate) const fn action(self) -> Action {
        match self {
            Self::Allow => Action::Allow,
            Self::Flag => Action::Monitor,
            Self::Block => Action::Block,
        }
    }
}

impl Pipeline {
    /// Checks and compiles a policy document.
    ///
    /// # Errors
    /// Every problem of the document at once.
    pub fn compile(document: &Json, options: &Options<'_>) -> Result<Self, PolicyError> {
        policy::compile(document, options)
    }

    /// Whether this policy guards `surface` at all.
    #[must_use]
    pub fn guards(&self, surface: Surface) -> bool {
        self.surfaces.contains(&surface)
    }

    /// Looks at every leaf; redacts in place. `structural` names the leaves that may not be changed (ids, enums).
    pub fn inspect(&self, surface: Surface, json: &mut Json, structural: &dyn Fn(&Path<'_>) -> bool) -> Verdict {
        inspect_all(&[self], surface, json, structural)
    }

    /// An inspector for one stream.
    #[must_use]
    pub fn inspector(self: &Arc<Self>, surface: Surface) -> Inspector {
        Inspector::new(vec![Arc::clone(self)], surface)
    }

    /// The policy's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.policy
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> i64 {
        self.version
    }

    /// The guards outside that must be asked too.
    #[must_use]
    pub fn externals(&self) -> &[External] {
        &self.externals
    }

    /// Whether what could not be looked at passes.
    #[must_use]
    pub fn passes_on_error(&self) -> bool {
        self.on_error == OnError::Allow
    }

    /// How many times as much as our own detectors a byte may cost: with each rule of the policy's author, the more the
    /// larger its automaton is. Who must answer soon divides by it what it looks at in one go.
    #[must_use]
    pub fn weight(&self) -> usize {
        let schemas = self.rules.iter().map(|rule| match &rule.looks {
            Looks::Schema(schema) => schema.weight(),
            Looks::Ours | Looks::Custom | Looks::File(_) | Looks::Size(_) => 0,
        });
        schemas.fold(self.engine.weight(), usize::saturating_add)
    }

    /// How many bytes of what came before a stream's event are looked at again with it, at most.
    #[must_use]
    pub fn lookback(&self) -> usize {
        let reach = self.engine.reach();
        reach.longest.saturating_add(reach.before).saturating_mul(4)
    }

    /// How text that arrives in events is held back.
    #[must_use]
    pub fn hold(&self) -> Hold {
        self.hold
    }

    /// Whether findings have their action.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What rules about the message as a whole mind: the rule, the kind, and where.
    pub(crate) fn whole(&self, json: &Json, mind: &mut dyn FnMut(usize, &'static str, String)) {
        for (at, rule) in self.rules.iter().enumerate() {
            match &rule.looks {
                Looks::Size(sizes) => sizes.check(json, &mut |kind, pointer| mind(at, kind, pointer)),
                Looks::Schema(schema) => schema.check(json, &mut |pointer| mind(at, "schema", pointer)),
                Looks::Ours | Looks::Custom | Looks::File(_) => {}
            }
        }
    }

    fn rule_name(&self, hit: &Hit) -> &str {
        hit.rule.and_then(|index| self.rules.get(index)).map_or(UNSCANNABLE, |rule| &rule.name)
    }

    /// What a finding is called in the text that replaces it: our own kinds, or the name its author gave it.
    pub(crate) fn label<'a>(&'a self, rule: Option<usize>, kind: &'a str) -> &'a str {
        match rule.and_then(|rule| self.rules.get(rule)) {
            Some(Rule { looks: Looks::Custom, name, .. }) if !kind.starts_with("url.") => name,
            Some(_) | None => kind,
        }
    }
}

/// Several policies as one (the tenant's floor and the card's): the worst action wins, the redactions of all are applied.
pub fn inspect_all(
    pipelines: &[&Pipeline],
    surface: Surface,
    json: &mut Json,
    structural: &dyn Fn(&Path<'_>) -> bool,
) -> Verdict {
    let Examined { verdict, redacted, .. } = examine(pipelines, surface, json, structural, &Apart::default());
    if let Some(redacted) = redacted {
        *json = redacted;
    }
    verdict
}

/// What one look at a tree came to.
pub(crate) struct Examined {
    pub(crate) verdict: Verdict,
    /// The tree with its text replaced, if it may pass so.
    pub(crate) redacted: Option<Json>,
    pub(crate) masks: Masks,
}

/// Looks without touching: once at the tree, and once more at its redacted copy, in which nothing may be left. `apart`
/// names the leaves that are looked at elsewhere.
pub(crate) fn examine(
    pipelines: &[&Pipeline],
    surface: Surface,
    json: &Json,
    structural: &dyn Fn(&Path<'_>) -> bool,
    apart: &Apart<'_>,
) -> Examined {
    let guarding = pipelines.iter().copied().filter(|pipeline| pipeline.guards(surface));
    let mut seen: Vec<Seen<'_>> =
        guarding.map(|pipeline| Seen { pipeline, hits: scan(pipeline, json, structural, apart) }).collect();
    let masks = Masks::new(&seen);
    let (outcome, redacted) = decide(&mut seen, json, structural, apart);
    let (findings, omitted) = report(&seen, surface, &masks);
    Examined { verdict: Verdict { outcome, findings, omitted }, redacted, masks }
}

/// A policy and what it minds in the tree.
struct Seen<'p> {
    pipeline: &'p Pipeline,
    hits: Vec<Hit>,
}

fn decide(
    seen: &mut [Seen<'_>],
    json: &Json,
    structural: &dyn Fn(&Path<'_>) -> bool,
    apart: &Apart<'_>,
) -> (Outcome, Option<Json>) {
    let blocking = enforced(seen).find(|(_, hit)| hit.action == Action::Block);
    if let Some((pipeline, hit)) = blocking {
        return (Outcome::Blocked { rule: pipeline.rule_name(hit).to_owned() }, None);
    }
    let mut paint = Paint::default();
    for (at, seen) in seen.iter().enumerate().filter(|(_, seen)| seen.pipeline.mode == Mode::Enforce) {
        for hit in seen.hits.iter().filter(|hit| hit.action > Action::Monitor) {
            let place = at.saturating_mul(1_000).saturating_add(hit.rule.unwrap_or_default());
            let label = seen.pipeline.label(hit.rule, hit.kind);
            let style = Style::of(hit.action, label, &hex(hit.hash), hit.keep);
            paint.add(&hit.pieces, style, rank_of(hit.action, place));
        }
    }
    if paint.is_empty() {
        return (Outcome::Allowed, None);
    }
    let mut copy = json.clone();
    paint.apply(&mut copy);
    match left_over(seen, &copy, structural, apart) {
        None => (Outcome::Redacted, Some(copy)),
        Some((policy, rule, name)) => {
            let hits = seen.get_mut(policy).into_iter().flat_map(|seen| seen.hits.iter_mut());
            hits.filter(|hit| hit.rule == rule).for_each(|hit| hit.action = Action::Block);
            (Outcome::Blocked { rule: name }, None)
        }
    }
}

/// Of marks that begin at one place the one with the worst action counts, then the first.
pub(crate) fn rank_of(action: Action, place: usize) -> usize {
    let severity = Action::ALL.iter().rev().position(|one| *one == action).unwrap_or_default();
    severity.saturating_mul(1 << 24).saturating_add(place)
}

/// Hits that count, each with its policy.
fn enforced<'s>(seen: &'s [Seen<'_>]) -> impl Iterator<Item = (&'s Pipeline, &'s Hit)> {
    let enforcing = seen.iter().filter(|seen| seen.pipeline.mode == Mode::Enforce);
    enforcing.flat_map(|seen| seen.hits.iter().map(move |hit| (seen.pipeline, hit)))
}

/// What redaction did not remove, or brought about: the policy's place, the rule and its name.
fn left_over(
    seen: &[Seen<'_>],
    redacted: &Json,
    structural: &dyn Fn(&Path<'_>) -> bool,
    apart: &Apart<'_>,
) -> Option<(usize, Option<usize>, String)> {
    let enforcing = seen.iter().enumerate().filter(|(_, seen)| seen.pipeline.mode == Mode::Enforce);
    enforcing.into_iter().find_map(|(at, seen)| {
        let hits = scan(seen.pipeline, redacted, structural, apart);
        let left = hits.iter().find(|hit| hit.action > Action::Monitor)?;
        Some((at, left.rule, seen.pipeline.rule_name(left).to_owned()))
    })
}

/// The findings to keep, worst first where there are too many, in document order; and how many are left out.
fn report(seen: &[Seen<'_>], surface: Surface, masks: &Masks) -> (Vec<Finding>, usize) {
    let mut hits: Vec<(usize, &Pipeline, &Hit)> = seen
        .iter()
        .flat_map(|seen| seen.hits.iter().map(|hit| (seen.pipeline, hit)))
        .filter(|(_, hit)| hit.action > Action::Allow)
        .enumerate()
        .map(|(at, (pipeline, hit))| (at, pipeline, hit))
        .collect();
    let omitted = hits.len().saturating_sub(Verdict::MOST);
    if omitted > 0 {
        hits.sort_by_key(|(at, _, hit)| (Reverse(hit.action), *at));
        hits.truncate(Verdict::MOST);
        hits.sort_by_key(|(at, _, _)| *at);
    }
    (hits.into_iter().map(|(_, pipeline, hit)| finding(pipeline, hit, surface, masks)).collect(), omitted)
}

pub(crate) fn finding(pipeline: &Pipeline, hit: &Hit, surface: Surface, masks: &Masks) -> Finding {
    let rule = hit.rule.and_then(|index| pipeline.rules.get(index));
    let piece = hit.pieces.last();
    let span = piece.map_or(0..0, |piece| piece.span.clone());
    Finding {
        policy: Arc::clone(&pipeline.policy),
        version: pipeline.version,
        detector: hit.kind,
        name: rule.map_or_else(|| Arc::from(UNSCANNABLE), |rule| Arc::clone(&rule.name)),
        action: hit.action,
        mode: pipeline.mode,
        surface,
        place: hit.place,
        view: hit.view,
        score: hit.score,
        pointer: piece.map_or_else(String::new, |piece| masks.hide(&piece.pointer)),
        start: span.start,
        end: span.end,
        hash: hex(hit.hash),
    }
}

/// The pointers of members whose key is itself a finding: a pointer through them would tell what was found.
#[derive(Default)]
pub(crate) struct Masks(HashSet<Arc<str>>);

impl Masks {
    fn new(seen: &[Seen<'_>]) -> Self {
        let hits = seen.iter().flat_map(|seen| &seen.hits);
        let keys = hits.filter(|hit| hit.place == Place::Key).flat_map(|hit| &hit.pieces);
        Self(keys.map(|piece| Arc::clone(&piece.pointer)).collect())
    }

    /// The pointer with such keys replaced, cut to a bearable length.
    fn hide(&self, pointer: &str) -> String {
        let mut shown = String::new();
        let mut end = 0_usize;
        for token in pointer.split('/').skip(1) {
            end = end.saturating_add(token.len()).saturating_add(1);
            let hidden = pointer.get(..end).is_some_and(|prefix| self.0.contains(prefix));
            shown.push('/');
            shown.push_str(if hidden { "[REDACTED]" } else { token });
        }
        match shown.char_indices().nth(LONGEST_POINTER) {
            Some((cut, _)) => format!("{}…", shown.get(..cut).unwrap_or_default()),
            None => shown,
        }
    }
}

#[cfg(test)]
mod tests;
