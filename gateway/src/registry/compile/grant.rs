//! A grant's document and a principal's settings → what they mean, or everything that is wrong with them.

use std::num::NonZeroU32;
use std::sync::Arc;

use a2a::OperationKind;
use store::{GrantRow, PrincipalRow};
use tokio_util::sync::CancellationToken;

use super::{Problem, is_tag};
use crate::registry::grants::{CardSelector, Effect, Grant, Grantee, Mode, OperationSet};
use crate::registry::is_name;
use crate::registry::meter::{Allowance, Meter, Metered};
use crate::registry::settings::{self, CallLimits, GrantDocument, PrincipalSettings};

/// The grant of a row; `meter` is the one that it had before.
pub(super) fn grant(
    row: &GrantRow,
    meter: Option<Arc<Meter>>,
    parent: &CancellationToken,
) -> Result<Grant, Vec<Problem>> {
    let facts = facts(&row.document)?;
    let meter = meter.unwrap_or_else(|| Meter::of(row.tenant.as_str(), &format!("grant/{}", row.id)));
    Ok(Grant {
        id: row.id.clone(),
        name: row.name.clone(),
        revision: row.revision,
        grantee: match &row.group_name {
            Some(group) => Grantee::Group(group.clone()),
            None => Grantee::Principal(row.principal_id.clone()),
        },
        effect: facts.effect,
        mode: facts.mode,
        cards: facts.cards,
        operations: facts.operations,
        max_delegation_depth: facts.max_delegation_depth,
        delegation_loops: facts.delegation_loops,
        metered: Metered { allowance: facts.allowance, meter },
        cancelled: parent.child_token(),
    })
}

/// What a grant's document says.
#[derive(Debug)]
pub(super) struct Facts {
    cards: Vec<CardSelector>,
    operations: OperationSet,
    effect: Effect,
    mode: Mode,
    max_delegation_depth: Option<u32>,
    delegation_loops: bool,
    allowance: Allowance,
}

/// Reads a grant's document.
pub(super) fn facts(document: &[u8]) -> Result<Facts, Vec<Problem>> {
    let document: GrantDocument = crate::registry::document::read(document)?;
    let mut problems = Vec::new();
    let cards = selectors(&document, &mut problems);
    let operations = operations(&document, &mut problems);
    let effect = match document.effect {
        Some(settings::Effect::Deny) => Effect::Deny,
        Some(settings::Effect::Allow) | None => Effect::Allow,
    };
    let limits = document.limits.unwrap_or_default();
    check_limits(&limits, "/limits", &mut problems);
    if effect == Effect::Deny {
        for (path, is_set) in [
            ("/limits", limits != CallLimits::default()),
            ("/max_delegation_depth", document.max_delegation_depth.is_some()),
            ("/delegation_loops", document.delegation_loops.is_some()),
        ] {
            if is_set {
                problems.push(Problem::new(path, "means nothing where everything is denied; take it out"));
            }
        }
    }
    if document.max_delegation_depth.is_some_and(|depth| depth > MOST_DELEGATIONS) {
        problems.push(Problem::new("/max_delegation_depth", format!("must be at most {MOST_DELEGATIONS}")));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mode = match document.mode {
        Some(settings::GrantMode::Shadow) => Mode::Shadow,
        Some(settings::GrantMode::Enforce) | None => Mode::Enforce,
    };
    let max_delegation_depth = document.max_delegation_depth;
    let delegation_loops = document.delegation_loops.unwrap_or(false);
    let allowance = allowance(&limits);
    Ok(Facts { cards, operations, effect, mode, max_delegation_depth, delegation_loops, allowance })
}

fn selectors(document: &GrantDocument, problems: &mut Vec<Problem>) -> Vec<CardSelector> {
    let mut cards = Vec::new();
    for (at, text) in document.cards.iter().flatten().enumerate() {
        match selector(text) {
            Some(selector) => cards.push(selector),
            None => problems.push(Problem::new(
                format!("/cards/{at}"),
                format!("{text:?} is no card name, no \"tag:name\" and not \"*\""),
            )),
        }
    }
    if document.cards.as_ref().is_none_or(Vec::is_empty) {
        problems.push(Problem::new("/cards", "must name at least one"));
    }
    cards
}

fn selector(text: &str) -> Option<CardSelector> {
    match (text, text.strip_prefix("tag:")) {
        ("*", _) => Some(CardSelector::Any),
        (_, Some(tag)) => is_tag(tag).then(|| CardSelector::Tag(tag.to_owned())),
        (name, None) => is_name(name).then(|| CardSelector::Name(name.to_owned())),
    }
}

/// The operations that are named, within the modes that are named.
fn operations(document: &GrantDocument, problems: &mut Vec<Problem>) -> OperationSet {
    let mut named = Vec::new();
    for (at, text) in document.operations.iter().flatten().enumerate() {
        match (text.as_str(), OperationKind::from_name(text)) {
            ("*", _) => named.extend(OperationKind::ALL),
            (_, Some(operation)) => named.push(operation),
            (_, None) => {
                let known: Vec<&str> = OperationKind::ALL.iter().map(|kind| kind.name()).collect();
                problems.push(Problem::new(
                    format!("/operations/{at}"),
                    format!("{text:?} is no operation; there are {} and \"*\"", known.join(", ")),
                ));
            }
        }
    }
    if document.operations.as_ref().is_none_or(Vec::is_empty) {
        problems.push(Problem::new("/operations", "must name at least one"));
    }
    let modes = document.modes.as_deref();
    if modes.is_some_and(<[_]>::is_empty) {
        problems.push(Problem::new("/modes", "must name at least one; without it both are meant"));
    }
    let is_meant = |kind: &OperationKind| {
        let mode = if kind.is_streaming() { settings::CallMode::Stream } else { settings::CallMode::Unary };
        modes.is_none_or(|modes| modes.contains(&mode))
    };
    let meant: OperationSet = named.iter().copied().filter(is_meant).collect();
    if meant.is_empty() && !named.is_empty() && modes.is_some_and(|modes| !modes.is_empty()) {
        problems.push(Problem::new("/modes", "leave none of the operations"));
    }
    meant
}

/// Groups and limits of a principal.
pub(super) fn principal(row: &PrincipalRow) -> Result<(Vec<String>, Allowance), Vec<Problem>> {
    let settings: PrincipalSettings = crate::registry::document::read(&row.settings)?;
    let problems = check_principal(&settings);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut groups = settings.groups.unwrap_or_default();
    groups.sort_unstable();
    groups.dedup();
    Ok((groups, allowance(&settings.limits.unwrap_or_default())))
}

/// What is wrong with a principal's settings.
pub(super) fn check_principal(settings: &PrincipalSettings) -> Vec<Problem> {
    let mut problems = Vec::new();
    let groups = settings.groups.as_deref().unwrap_or_default();
    for (at, group) in groups.iter().enumerate().filter(|(_, group)| !is_group(group)) {
        problems.push(Problem::new(format!("/groups/{at}"), format!("{group:?} {NO_GROUP}")));
    }
    if groups.len() > MOST_GROUPS {
        problems.push(Problem::new("/groups", format!("must be at most {MOST_GROUPS}")));
    }
    check_limits(&settings.limits.unwrap_or_default(), "/limits", &mut problems);
    problems
}

/// Whether a text can name a group. Issuers name them as they like, so all that is printable may.
#[must_use]
pub fn is_group(name: &str) -> bool {
    (1..=256).contains(&name.len()) && name.trim() == name && !name.chars().any(char::is_control)
}

/// Notes every limit that can't be one.
pub(super) fn check_limits(limits: &CallLimits, path: &str, problems: &mut Vec<Problem>) {
    let named = [
        ("per_minute", limits.per_minute.map(u64::from)),
        ("concurrent", limits.concurrent.map(u64::from)),
        ("streams", limits.streams.map(u64::from)),
        ("daily", limits.daily),
        ("monthly", limits.monthly),
    ];
    for (name, limit) in named {
        if limit == Some(0) {
            let problem = "must be at least 1; withdraw the grant, or disable what it is of, to allow nothing";
            problems.push(Problem::new(format!("{path}/{name}"), problem));
        } else if limit.is_some_and(|limit| limit > MOST_CALLS) {
            problems.push(Problem::new(format!("{path}/{name}"), format!("must be at most {MOST_CALLS}")));
        }
    }
    if let Some(per_minute) = limits.per_minute.filter(|most| *most > MOST_PER_MINUTE) {
        let problem = format!("{per_minute} must be at most {MOST_PER_MINUTE}; without it there is no limit");
        problems.push(Problem::new(format!("{path}/per_minute"), problem));
    }
}

/// The limits of a document that was checked.
pub(super) fn allowance(limits: &CallLimits) -> Allowance {
    let count = |limit: Option<u32>| limit.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
    Allowance {
        per_minute: limits.per_minute.and_then(NonZeroU32::new),
        concurrent: count(limits.concurrent),
        streams: count(limits.streams),
        daily: limits.daily,
        monthly: limits.monthly,
    }
}

pub(super) const NO_GROUP: &str = "can be no group: 1 to 256 printable characters, no spaces around them";
/// Longest chain of delegations that can be meant.
const MOST_DELEGATIONS: u32 = 8;
const MOST_GROUPS: usize = 64;
const MOST_CALLS: u64 = 1 << 40;
/// A microsecond is the shortest pace that is told apart.
const MOST_PER_MINUTE: u32 = 60_000_000;
