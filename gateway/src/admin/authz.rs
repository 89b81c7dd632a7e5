//! Questions about what is in force: may somebody do something and why, and what is used of limits.
//!
//! Answers come from the state that calls are judged by, not from the store; what a row with mistakes would say is told
//! beside it.

mod hypothesis;
mod question;

use self::hypothesis::Consulted;
use self::question::Question;
use super::Shared;
use super::error::ApiError;
use super::extract::{Path, Query, State};
use super::resource::existing_tenant;
use crate::pipeline::authorize::explain::{Explanation, explain as explain_why};
use crate::registry::TenantWorld;
use crate::registry::meter::{Metered, Rates};
use crate::registry::settings::CallLimits;
use a2a::OperationKind;
use axum::Json;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use utoipa::ToSchema;

/// The question and its answer.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Answer {
    /// Whether a call would be let in.
    allowed: bool,
    /// In one sentence.
    reason: String,
    /// What is missing before grants are looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// Rows of these kinds that were left out because of mistakes: they might have said otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    /// What the grants say.
    #[serde(flatten)]
    why: Option<Why>,
    /// What the tenant's conditions say to what the grants allow, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    conditions: Option<Consulted>,
}

/// What the grants say, without what the answer says already.
#[derive(Debug, Serialize, ToSchema)]
struct Why {
    card_is_visible: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<crate::pipeline::authorize::explain::Considered>,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_be_denied_by: Option<crate::pipeline::authorize::explain::Considered>,
    considered: Vec<crate::pipeline::authorize::explain::Considered>,
}

/// Whether a principal may do something with a card, and which grant says so.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/authz/explain", tag = "authorisation",
    params(("tenant" = String, Path), Question), responses((status = 200, body = Answer), (status = 400, body = ApiError)))]
pub(super) async fn explain(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Query(question): Query<Question>,
) -> Result<Json<Answer>, ApiError> {
    let id = existing_tenant(&admin.store, &tenant).await?;
    let operation = operation(&question)?;
    let world = admin.registry.snapshot();
    let Some(world) = world.tenants.get(id.as_str()) else {
        return Ok(Json(Answer::missing(
            vec![format!("tenant {tenant} is not served: suspended or unreadable")],
            None,
        )));
    };
    let principal = world.principals.values().find(|principal| principal.name == question.principal);
    let card = world.cards.get(&question.card);
    let mut missing = Vec::new();
    if principal.is_none() {
        missing.push(match admin.store.principal(&id, &question.principal).await? {
            Some(_) => format!("principal {} is disabled, or was left out because of mistakes", question.principal),
            None => format!("there is no principal {:?}", question.principal),
        });
    }
    if card.is_none() {
        missing.push(match admin.store.card(&id, &question.card).await? {
            Some(row) => {
                format!("card {} is not served: it is {}, or has mistakes", question.card, row.state.as_str())
            }
            None => format!("there is no card {:?}", question.card),
        });
    }
    let (Some(principal), Some(card)) = (principal, card) else {
        return Ok(Json(Answer::missing(missing, Some(world))));
    };
    let groups: Vec<String> = question
        .groups
        .iter()
        .flat_map(|text| text.split(','))
        .filter(|name| !name.is_empty())
        .map(Into::into)
        .collect();
    let explanation = explain_why(principal, &groups, world, (card, operation));
    let consulted = match &world.conditions {
        Some(conditions) if explanation.allowed => {
            let whose = (principal.as_ref(), groups.as_slice());
            let now = admin.clock.now();
            let asked = hypothesis::asked(&question, whose, (card, operation), (world, now))?;
            Some(hypothesis::consult(conditions, &asked))
        }
        Some(_) | None => None,
    };
    Ok(Json(Answer::of(explanation, consulted, world)))
}

fn operation(question: &Question) -> Result<OperationKind, ApiError> {
    OperationKind::from_name(&question.operation).ok_or_else(|| {
        let known: Vec<&str> = OperationKind::ALL.iter().map(|kind| kind.name()).collect();
        ApiError::invalid_field(
            "operation",
            format!("{:?} is none; there are {}", question.operation, known.join(", ")),
        )
    })
}

impl Answer {
    fn missing(missing: Vec<String>, world: Option<&Arc<TenantWorld>>) -> Self {
        let reason = missing.join("; ");
        let left_out = world.map(|world| left_out(world)).unwrap_or_default();
        Self { allowed: false, reason, missing, left_out, why: None, conditions: None }
    }

    fn of(explanation: Explanation, conditions: Option<Consulted>, world: &TenantWorld) -> Self {
        let Explanation { allowed, card_is_visible, reason, decided_by, would_be_denied_by, considered } = explanation;
        let why = Why { card_is_visible, decided_by, would_be_denied_by, considered };
        let denies = conditions.as_ref().is_some_and(Consulted::denies);
        let said = conditions.as_ref().and_then(|conditions| conditions.said.as_deref());
        let (allowed, reason) = match said {
            Some(said) if denies => (false, format!("{reason}, but {said}")),
            Some(_) | None => (allowed, reason),
        };
        Self { allowed, reason, missing: Vec::new(), left_out: left_out(world), why: Some(why), conditions }
    }
}

fn left_out(world: &TenantWorld) -> Vec<String> {
    let relevant =
        world.bad_rows.iter().filter(|row| ["card", "conditions", "grant", "principal", "tenant"].contains(&row.kind));
    relevant.map(|row| format!("{} {}", row.kind, row.name)).collect()
}

/// What is used of every limit of a tenant.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Uses {
    /// The tenant itself, and every card, principal and grant that has a limit.
    items: Vec<Use>,
}

/// What is used of one thing's limits.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Use {
    /// `tenant`, `card`, `principal` or `grant`.
    kind: &'static str,
    /// Its name.
    name: String,
    /// What may be used.
    limits: CallLimits,
    /// What is used.
    used: Used,
}

/// What is used. Calls in flight and streams are those of the replica that was asked.
#[derive(Debug, Serialize, ToSchema)]
struct Used {
    /// Calls in flight, where they are limited.
    concurrent: usize,
    /// Open streams, where they are limited.
    streams: usize,
    /// Calls that would still be admitted at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_in_minute: Option<u64>,
    /// Calls today (UTC), over all replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    daily: Option<u64>,
    /// Calls this month (UTC), over all replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    monthly: Option<u64>,
}

/// What is used of the limits of a tenant, its cards, principals and grants.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/limits", tag = "authorisation", params(("tenant" = String, Path)),
    responses((status = 200, body = Uses), (status = 404, body = ApiError)))]
pub(super) async fn limits(State(admin): State<Shared>, Path(tenant): Path<String>) -> Result<Json<Uses>, ApiError> {
    let id = existing_tenant(&admin.store, &tenant).await?;
    let world = admin.registry.snapshot();
    let Some(world) = world.tenants.get(id.as_str()) else { return Ok(Json(Uses { items: Vec::new() })) };
    let now = admin.clock.now();
    let mut named: Vec<(&'static str, String, &Metered)> = vec![("tenant", world.name.clone(), &world.metered)];
    named.extend(world.cards.values().map(|card| ("card", card.name.clone(), &card.metered)));
    let grants = world.groups.values().map(Arc::as_ref).chain(world.principals.values().map(|one| &one.grants));
    named.extend(grants.flat_map(|set| set.iter()).map(|grant| ("grant", grant.name.clone(), &grant.metered)));
    named.extend(world.principals.values().map(|one| ("principal", one.name.clone(), &one.metered)));
    named.retain(|(kind, _, metered)| *kind == "tenant" || !limits_of(metered).is_empty());
    named.sort_by(|a, b| (rank(a.0), &a.1).cmp(&(rank(b.0), &b.1)));
    let items = named.into_iter().map(|(kind, name, metered)| Use {
        kind,
        name,
        limits: limits_of(metered),
        used: used(metered, admin.rates, now),
    });
    Ok(Json(Uses { items: items.collect() }))
}

fn rank(kind: &str) -> usize {
    ["tenant", "card", "principal", "grant"].iter().position(|known| *known == kind).unwrap_or(usize::MAX)
}

fn limits_of(metered: &Metered) -> CallLimits {
    let narrow = |most: usize| u32::try_from(most).unwrap_or(u32::MAX);
    let allowance = &metered.allowance;
    CallLimits {
        per_minute: allowance.per_minute.map(std::num::NonZeroU32::get),
        concurrent: allowance.concurrent.map(narrow),
        streams: allowance.streams.map(narrow),
        daily: allowance.daily,
        monthly: allowance.monthly,
    }
}

fn used(metered: &Metered, rates: Rates, now: crate::clock::Micros) -> Used {
    let (meter, allowance) = (&metered.meter, &metered.allowance);
    let (day, month) = meter.used(now);
    Used {
        concurrent: meter.calls.load(Ordering::Relaxed),
        streams: meter.streams.load(Ordering::Relaxed),
        left_in_minute: allowance.per_minute.map(|per_minute| meter.left_in_minute(per_minute, rates, now)),
        daily: allowance.daily.map(|_| day),
        monthly: allowance.monthly.map(|_| month),
    }
}
