//! Why a principal may do something, or may not: the same judgement as for a call, in words.

use super::judge;
use crate::registry::grants::{Effect, Grantee};
use crate::registry::{Card, Grant, Principal, TenantWorld};
use a2a::OperationKind;
use serde::Serialize;
use utoipa::ToSchema;

/// The answer to "may they?".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Explanation {
    /// Whether a call would be let in.
    pub allowed: bool,
    /// Whether the caller would be told of the card at all: 404 if not, else 403 for what is not allowed.
    pub card_is_visible: bool,
    /// In one sentence.
    pub reason: String,
    /// The grant that decides; none where something is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Considered>,
    /// What is in shadow mode and would have it denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_be_denied_by: Option<Considered>,
    /// Every grant of the principal and its groups.
    pub considered: Vec<Considered>,
}

/// One grant, and what it says to the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Considered {
    /// Its name.
    pub grant: String,
    /// `allow` or `deny`.
    pub effect: String,
    /// `enforce` or `shadow`.
    pub mode: String,
    /// The group through which it is the principal's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Whether it says anything to the question.
    pub applies: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// Explains what `principal`, who is in `token_groups` too, may do with `card`.
#[must_use]
pub fn explain(
    principal: &Principal,
    token_groups: &[String],
    tenant: &TenantWorld,
    (card, operation): (&Card, OperationKind),
) -> Explanation {
    let judgement = judge(principal, token_groups, tenant, card);
    let groups = principal.groups.iter().chain(token_groups).filter_map(|group| tenant.groups.get(group));
    let mut all: Vec<&Grant> = principal.grants.iter().map(AsRef::as_ref).collect();
    for grant in groups.flat_map(|set| set.iter()) {
        if !all.iter().any(|known| known.id == grant.id) {
            all.push(grant);
        }
    }
    let considered: Vec<Considered> = all.into_iter().map(|grant| consider(grant, card, operation)).collect();
    let show = |grant: Option<&std::sync::Arc<Grant>>| grant.map(|grant| consider(grant, card, operation));
    let allowed = judgement.allowed().contains(operation);
    let decided_by = show(judgement.denied_by(operation).or_else(|| judgement.allowed_by(operation)));
    let asked = format!("{} on card {}", operation.name(), card.name);
    let reason = match &decided_by {
        Some(by) if allowed => format!("{} may do {asked}: grant {} allows it", principal.name, by.grant),
        Some(by) => format!("{} may not do {asked}: grant {} denies it", principal.name, by.grant),
        None => format!("{} may not do {asked}: no grant of its own or of its groups allows it", principal.name),
    };
    Explanation {
        allowed,
        card_is_visible: judgement.sees(),
        reason,
        decided_by,
        would_be_denied_by: if allowed { show(judgement.would_deny(operation)) } else { None },
        considered,
    }
}

fn consider(grant: &Grant, card: &Card, operation: OperationKind) -> Considered {
    let because = if grant.cancelled.is_cancelled() {
        Some("it has been withdrawn".to_owned())
    } else if !grant.selects(card) {
        Some(format!("it does not name card {}", card.name))
    } else if !grant.operations.contains(operation) {
        let named: Vec<&str> = grant.operations.iter().map(OperationKind::name).collect();
        let verb = match grant.effect {
            Effect::Allow => "allows",
            Effect::Deny => "denies",
        };
        Some(format!("it {verb} {} only", named.join(", ")))
    } else {
        None
    };
    Considered {
        grant: grant.name.clone(),
        effect: grant.effect.name().to_owned(),
        mode: grant.mode.name().to_owned(),
        group: match &grant.grantee {
            Grantee::Group(group) => Some(group.clone()),
            Grantee::Principal(_) => None,
        },
        applies: because.is_none(),
        because,
    }
}
