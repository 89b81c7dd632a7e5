//! What a draft of a policy would have made of what was recorded: for the admin API's `simulate` and `chancery guard simulate`.
//!
//! Takes exchanges as records hold them: how they ended, which policies judged them, and findings without their text. Gives
//! what those findings would have become, and says in plain words what can't be known so. Never guesses: a finding whose
//! fate the facts do not decide is told as undecided, and what nobody looked for is told as not looked for.

use crate::audit::FindingFact;
use guard::{Action, Facts, Mode, Pipeline, Recast, Surface, Unknown};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use utoipa::ToSchema;

/// Most examples that are listed.
const MOST_EXAMPLES: usize = 20;
/// More kinds of one group than this are told as the group.
const MOST_KINDS: usize = 4;
/// What a record calls the findings that it does not list.
const MORE: &str = "more";

/// A policy as it was or is to be: compiled, and as its author wrote it.
pub struct Written {
    /// To judge with.
    pub pipeline: Pipeline,
    /// To compare rules with.
    pub document: Value,
}

/// An exchange as its record holds it.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The record's id.
    pub id: String,
    /// When it began (RFC 3339).
    pub opened_at: String,
    /// Which card.
    pub card: Option<String>,
    /// How it ended.
    pub outcome: String,
    /// The policies that judged it, `name@version`.
    pub policies: Vec<String>,
    /// What was found.
    pub findings: Vec<FindingFact>,
}

/// How an exchange fared under policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Nothing was changed.
    Passed,
    /// Text was replaced.
    Changed,
    /// It was stopped.
    Blocked,
}

/// What the records say about a draft.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Replayed {
    /// How many exchanges were weighed.
    pub exchanges: usize,
    /// When the oldest of them began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<String>,
    /// When the newest of them began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
    /// Whether older ones that fit were not read.
    pub more: bool,
    /// How many fared how, then and under the draft.
    pub fates: Vec<Fates>,
    /// Exchanges of which at least one finding is undecided and that nothing else blocks.
    pub undecided: usize,
    /// The findings, by kind and by what would have become of them.
    pub findings: Vec<Recounted>,
    /// What the draft looks for and nobody looked for then.
    pub not_looked_for: Vec<Unseen>,
    /// Exchanges that would have fared otherwise, newest first, at most 20.
    pub examples: Vec<Example>,
    /// What can't be known from records, in sentences.
    pub unknown: Vec<String>,
}

/// Exchanges that fared alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Fates {
    /// Then.
    pub was: Fate,
    /// Under the draft, as far as the findings decide it.
    pub would: Fate,
    /// How many.
    pub exchanges: usize,
}

/// Findings of one kind with one fate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Recounted {
    /// What kind of thing.
    pub detector: String,
    /// The rule that found it.
    pub name: String,
    /// Where.
    pub surface: String,
    /// What was done, `action/mode`.
    pub was: String,
    /// What the draft would have done, `action/mode`, `nothing` or `undecided`.
    pub would: String,
    /// How many findings.
    pub findings: u64,
    /// In how many exchanges.
    pub exchanges: usize,
}

/// Something the draft looks for that was not looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Unseen {
    /// A kind, a group of kinds, or a rule's name.
    pub what: String,
    /// Where.
    pub surface: &'static str,
    /// In how many exchanges.
    pub exchanges: usize,
}

/// One exchange that would have fared otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Example {
    /// The record's id.
    pub id: String,
    /// When it began.
    pub opened_at: String,
    /// Which card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    /// Then.
    pub was: Fate,
    /// Under the draft.
    pub would: Fate,
    /// The rule of the draft that decides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// Weighs the exchanges, newest first. `known` has the versions of policies that judged them, as far as they are kept.
#[must_use]
pub fn replay(
    name: &str,
    draft: &Written,
    known: &BTreeMap<String, Written>,
    exchanges: &[Exchange],
    more: bool,
) -> Replayed {
    let mut tally = Tally::of(name, draft, known);
    exchanges.iter().for_each(|exchange| tally.weigh(exchange));
    tally.replayed(exchanges, more)
}

/// Sums while exchanges are weighed.
struct Tally<'a> {
    name: &'a str,
    draft: &'a Written,
    known: &'a BTreeMap<String, Written>,
    fates: BTreeMap<(Fate, Fate), usize>,
    findings: BTreeMap<[String; 5], (u64, usize)>,
    unseen: BTreeMap<(&'static str, String), usize>,
    unseen_exchanges: usize,
    /// By the policies that judged: what they did not look for.
    gaps: BTreeMap<Vec<String>, Vec<(&'static str, String)>>,
    examples: Vec<Example>,
    undecided: BTreeMap<Unknown, usize>,
    undecided_exchanges: usize,
    freed: usize,
    cut: usize,
}

impl<'a> Tally<'a> {
    fn of(name: &'a str, draft: &'a Written, known: &'a BTreeMap<String, Written>) -> Self {
        Self {
            name,
            draft,
            known,
            fates: BTreeMap::new(),
            findings: BTreeMap::new(),
            unseen: BTreeMap::new(),
            unseen_exchanges: 0,
            gaps: BTreeMap::new(),
            examples: Vec::new(),
            undecided: BTreeMap::new(),
            undecided_exchanges: 0,
            freed: 0,
            cut: 0,
        }
    }

    fn weigh(&mut self, exchange: &Exchange) {
        let was = fate_of(exchange);
        let (mut would, mut decisive, mut doubts) = (Fate::Passed, None, BTreeSet::new());
        let mut counted: BTreeMap<[String; 5], u64> = BTreeMap::new();
        for fact in &exchange.findings {
            if fact.detector == MORE {
                self.cut += 1;
                continue;
            }
            let Some(seen) = Seen::of(fact, exchange) else { continue };
            let recast = self.recast(&seen);
            let (fate, rule) = self.fate(&seen, &recast);
            if fate > would {
                (would, decisive) = (fate, rule);
            }
            if let Recast::Unknown(why) = recast {
                doubts.insert(why);
            }
            *counted.entry(self.line(&seen, &recast)).or_default() += u64::from(fact.count.max(1));
        }
        for (line, count) in counted {
            let sum = self.findings.entry(line).or_default();
            *sum = (sum.0.saturating_add(count), sum.1.saturating_add(1));
        }
        if would < Fate::Blocked && !doubts.is_empty() {
            self.undecided_exchanges += 1;
            doubts.into_iter().for_each(|why| *self.undecided.entry(why).or_default() += 1);
        }
        self.freed += usize::from(was == Fate::Blocked && would < Fate::Blocked);
        *self.fates.entry((was, would)).or_default() += 1;
        self.look_for_gaps(exchange);
        if was != would && self.examples.len() < MOST_EXAMPLES {
            let (id, opened_at, card) = (exchange.id.clone(), exchange.opened_at.clone(), exchange.card.clone());
            self.examples.push(Example { id, opened_at, card, was, would, rule: decisive });
        }
    }

    /// What the draft says to a finding, whichever policy made it: the text that was found is there for the draft too.
    fn recast(&self, seen: &Seen<'_>) -> Recast {
        let by = self.known.get(seen.by);
        let same = by.is_some_and(|by| same_rule(&by.document, &self.draft.document, seen.name));
        let facts = Facts {
            surface: seen.surface,
            kind: seen.kind,
            same_rule: same.then_some(seen.name),
            score: seen.fact.score,
        };
        let recast = self.draft.pipeline.recast(&facts);
        match recast {
            // What could not be replaced then, because something would have broken, is blocked by every such action.
            Recast::Follows { action, mode, rule } if replaces(action) && self.could_not_be_replaced(seen) => {
                Recast::Follows { action: Action::Block, mode, rule }
            }
            Recast::Follows { .. } | Recast::Nothing | Recast::Unknown(_) => recast,
        }
    }

    /// A finding was blocked although its rule asks for less.
    fn could_not_be_replaced(&self, seen: &Seen<'_>) -> bool {
        let Some(by) = self.known.get(seen.by).filter(|_| seen.action == Action::Block) else { return false };
        let facts =
            Facts { surface: seen.surface, kind: seen.kind, same_rule: Some(seen.name), score: seen.fact.score };
        matches!(by.pipeline.recast(&facts), Recast::Follows { action, .. } if replaces(action))
    }

    /// What follows for the exchange: of the draft, and of the other policies that stay as they are.
    fn fate(&self, seen: &Seen<'_>, recast: &Recast) -> (Fate, Option<String>) {
        let drafted = match recast {
            Recast::Follows { action, mode: Mode::Enforce, rule } => (fate(*action), Some(rule.to_string())),
            Recast::Follows { mode: Mode::Shadow, .. } | Recast::Nothing | Recast::Unknown(_) => (Fate::Passed, None),
        };
        let of_another = seen.by.rsplit_once('@').is_some_and(|(policy, _)| policy != self.name);
        let kept = if of_another && seen.mode == Mode::Enforce { fate(seen.action) } else { Fate::Passed };
        if kept > drafted.0 { (kept, Some(seen.name.to_owned())) } else { drafted }
    }

    fn line(&self, seen: &Seen<'_>, recast: &Recast) -> [String; 5] {
        let would = match recast {
            Recast::Follows { action, mode, .. } => format!("{}/{}", action.name(), mode.name()),
            Recast::Nothing => "nothing".to_owned(),
            Recast::Unknown(_) => "undecided".to_owned(),
        };
        let surface = seen.surface.name().to_owned();
        [seen.kind.to_owned(), seen.name.to_owned(), surface, seen.fact.action.clone(), would]
    }

    fn look_for_gaps(&mut self, exchange: &Exchange) {
        if !self.gaps.contains_key(&exchange.policies) {
            let gaps = self.gaps_of(&exchange.policies);
            self.gaps.insert(exchange.policies.clone(), gaps);
        }
        let gaps = self.gaps.get(&exchange.policies).map(Vec::as_slice).unwrap_or_default();
        self.unseen_exchanges += usize::from(!gaps.is_empty());
        for gap in gaps {
            *self.unseen.entry(gap.clone()).or_default() += 1;
        }
    }

    /// What the draft looks for and those policies did not.
    fn gaps_of(&self, policies: &[String]) -> Vec<(&'static str, String)> {
        let judges: Vec<&Written> = policies.iter().filter_map(|policy| self.known.get(policy)).collect();
        let mut gaps = Vec::new();
        for surface in [Surface::Inbound, Surface::Outbound] {
            if !self.draft.pipeline.guards(surface) {
                continue;
            }
            let judges: Vec<&&Written> = judges.iter().filter(|judge| judge.pipeline.guards(surface)).collect();
            let asked: Vec<BTreeMap<&str, u8>> = judges.iter().map(|judge| judge.pipeline.asks()).collect();
            let covered = |kind: &str, from: u8| asked.iter().any(|asks| asks.get(kind).is_some_and(|it| *it <= from));
            let kinds = self.draft.pipeline.asks().into_iter().filter(|(kind, from)| !covered(kind, *from));
            let kinds = grouped(kinds.map(|(kind, _)| kind));
            let known = |name: &str| judges.iter().any(|one| same_rule(&one.document, &self.draft.document, name));
            let own = self.draft.pipeline.own_rules().into_iter().filter(|name| !known(name)).map(str::to_owned);
            gaps.extend(kinds.into_iter().chain(own).map(|what| (surface.name(), what)));
        }
        gaps
    }

    fn replayed(self, exchanges: &[Exchange], more: bool) -> Replayed {
        let unknown = self.sentences();
        let findings =
            self.findings.into_iter().map(|([detector, name, surface, was, would], (findings, exchanges))| Recounted {
                detector,
                name,
                surface,
                was,
                would,
                findings,
                exchanges,
            });
        let fates = self.fates.into_iter().map(|((was, would), exchanges)| Fates { was, would, exchanges });
        let unseen = self.unseen.into_iter().map(|((surface, what), exchanges)| Unseen { what, surface, exchanges });
        Replayed {
            exchanges: exchanges.len(),
            oldest: exchanges.last().map(|one| one.opened_at.clone()),
            newest: exchanges.first().map(|one| one.opened_at.clone()),
            more,
            fates: fates.collect(),
            undecided: self.undecided_exchanges,
            findings: findings.collect(),
            not_looked_for: unseen.collect(),
            examples: self.examples,
            unknown,
        }
    }

    /// What can't be known, for those who read the numbers.
    fn sentences(&self) -> Vec<String> {
        let mut said = vec![
            "Texts are not kept, so nothing was looked at again: this rests on the findings that records hold."
                .to_owned(),
        ];
        if self.unseen_exchanges > 0 {
            said.push(format!(
                "In {} the draft looks for what was not looked for then (not_looked_for); it may find more there.",
                exchanges(self.unseen_exchanges)
            ));
        }
        for (why, count) in &self.undecided {
            let reason = match why {
                Unknown::OwnRule => "a finding of a rule that the draft words otherwise or does not have",
                Unknown::Score => "a finding of injection whose score was not recorded",
                Unknown::Inspection => "a remark on how inspecting went, such as a guard that gave no answer",
            };
            said.push(format!("In {} {reason} can't be judged anew.", exchanges(*count)));
        }
        if self.freed > 0 {
            said.push(format!(
                "{} stopped then and would go on; what would have been said after that, and found in it, nobody knows.",
                if self.freed == 1 { "1 exchange was".to_owned() } else { format!("{} exchanges were", self.freed) }
            ));
        }
        if self.cut > 0 {
            said.push(format!("In {} there were more findings than a record lists.", exchanges(self.cut)));
        }
        if self.findings.keys().any(|[.., was, would]| !acted(was) && acted(would) && !would.starts_with("block")) {
            said.push(
                "What the draft would replace is blocked where nothing can be replaced (ids, keys, numbers); records do \
                 not say where that is."
                    .to_owned(),
            );
        }
        let outside: Vec<String> = self.draft.pipeline.externals().iter().map(|one| one.name.to_string()).collect();
        if !outside.is_empty() {
            said.push(format!("Guards outside were not asked: {}.", outside.join(", ")));
        }
        said
    }
}

/// A finding, read from its record.
struct Seen<'a> {
    fact: &'a FindingFact,
    kind: &'a str,
    name: &'a str,
    surface: Surface,
    action: Action,
    mode: Mode,
    /// `name@version`; empty if the record does not say.
    by: &'a str,
}

impl<'a> Seen<'a> {
    /// None for what is no finding of a guardrail (a grant in shadow mode is listed among them).
    fn of(fact: &'a FindingFact, exchange: &'a Exchange) -> Option<Self> {
        let (kind, name) = fact.detector.split_once(':')?;
        let (action, mode) = fact.action.split_once('/')?;
        let only = || match exchange.policies.as_slice() {
            [one] => one.as_str(),
            [] | [_, ..] => "",
        };
        Some(Self {
            fact,
            kind,
            name,
            surface: Surface::from_name(&fact.surface)?,
            action: Action::from_name(action)?,
            mode: Mode::from_name(mode)?,
            by: fact.by.as_deref().unwrap_or_else(only),
        })
    }
}

fn exchanges(count: usize) -> String {
    if count == 1 { "1 exchange".to_owned() } else { format!("{count} exchanges") }
}

fn fate(action: Action) -> Fate {
    match action {
        Action::Allow | Action::Monitor => Fate::Passed,
        Action::Tokenise | Action::Mask | Action::Redact => Fate::Changed,
        Action::Block => Fate::Blocked,
    }
}

fn replaces(action: Action) -> bool {
    fate(action) == Fate::Changed
}

/// Whether an `action/mode` changes or stops anything.
fn acted(action: &str) -> bool {
    action.split_once('/').is_some_and(|(action, mode)| {
        mode == "enforce" && Action::from_name(action).is_some_and(|action| action > Action::Monitor)
    })
}

fn fate_of(exchange: &Exchange) -> Fate {
    if matches!(exchange.outcome.as_str(), "blocked" | "could_not_scan") {
        return Fate::Blocked;
    }
    if exchange.findings.iter().any(|fact| acted(&fact.action)) { Fate::Changed } else { Fate::Passed }
}

/// Whether two documents have the rule `name` in the same words, but for its action.
fn same_rule(one: &Value, other: &Value, name: &str) -> bool {
    let rule = |document: &Value| {
        let rules = document["detectors"].as_array()?;
        let mut rule =
            rules.iter().find(|rule| rule["name"].as_str().or_else(|| rule["id"].as_str()) == Some(name))?.clone();
        rule.as_object_mut()?.remove("action");
        Some(rule)
    };
    rule(one).is_some_and(|one| rule(other) == Some(one))
}

/// Kinds; where there are many of one group, the group.
fn grouped<'k>(kinds: impl Iterator<Item = &'k str>) -> Vec<String> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for kind in kinds {
        groups.entry(kind.split_once('.').map_or(kind, |(group, _)| group)).or_default().push(kind);
    }
    let tell = |(group, kinds): (&str, Vec<&str>)| {
        if kinds.len() > MOST_KINDS {
            return vec![format!("{group}.* ({} kinds)", kinds.len())];
        }
        kinds.into_iter().map(str::to_owned).collect()
    };
    groups.into_iter().flat_map(tell).collect()
}

#[cfg(test)]
mod tests;
