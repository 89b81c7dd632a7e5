//! The legacy proxy's wire: `POST /v1/proxy/a2a/outbound` and `/inbound`.
//!
//! *Takes* a body that names a card, a skill and a message. *Gives* the pipeline a call like any other: the key decides the
//! tenant, the body the card, and from there on every stage is the same; answers go back in the generation the agent
//! gave them in, errors in that wire's own form. *Refuses* a skill that the card does not have. *Never* lets the route
//! choose which policies apply: a call of a card of ours over `/outbound` leaves an agent and enters one, and is judged as
//! both.

mod asked;
mod skills;
mod told;

pub use asked::{Asked, BadBody};
pub use skills::{Skills, SkillsError};
pub(super) use told::{answer, refusal, voice};

use crate::app::App;
use crate::pipeline::authenticate::Identity;
use crate::pipeline::authorize::{AuthorizeError, Permit};
use crate::pipeline::decode::{self, DecodeError};
use crate::pipeline::early::Early;
use crate::pipeline::head::Head;
use crate::pipeline::limit;
use crate::pipeline::owner::OwnerError;
use crate::pipeline::route::Route;
use crate::registry::{Snapshot, TenantWorld, is_name};
use crate::reject::Reject;
use a2a::dialect::TargetError;
use a2a::{OperationKind, Target};
use http::Method;
use hyper::body::Incoming;

/// Which way a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A remote agent calls one of ours.
    Inbound,
    /// One of ours calls an agent.
    Outbound,
}

/// By which door a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// Below a card's own URL, or over gRPC.
    Call,
    /// The legacy proxy.
    Legacy(Side),
}

/// Whether this path is the legacy proxy's, and which way it leads.
#[must_use]
pub fn side(path: &str) -> Option<Side> {
    match path {
        "/v1/proxy/a2a/inbound" => Some(Side::Inbound),
        "/v1/proxy/a2a/outbound" => Some(Side::Outbound),
        _ => None,
    }
}

/// The route of a legacy call: neither tenant nor card is in the path.
pub(super) fn route(side: Side, method: &Method) -> Route {
    let send = Target::Http { operation: OperationKind::SendMessage, task: None, config: None, under_v1: false };
    let target = if method == Method::POST { Ok(send) } else { Err(TargetError::MethodNotAllowed { allow: "POST" }) };
    Route { tenant: String::new(), card: String::new(), target, entrance: Entrance::Legacy(side) }
}

/// Reads the body and completes the route: the caller's tenant, the card that the body names, send or stream.
///
/// # Errors
/// [`Reject::Limit`], [`Reject::Decode`], [`Reject::Legacy`]
pub(super) async fn address(
    route: &mut Route,
    identity: &Identity,
    head: &Head,
    body: &mut Incoming,
    (app, world): (&App, &Snapshot),
) -> Result<Early, Reject> {
    route.tenant.clone_from(&identity.principal().tenant);
    if let Err(error) = &route.target {
        return Err(DecodeError::Unaddressed(*error).into());
    }
    // Nobody is proven by a tenant that is not there.
    let tenant = world.tenants.get(&route.tenant).ok_or(AuthorizeError::Hidden)?;
    let mut slot = limit::enter(tenant, &app.calls.limits)?;
    let limits = &app.settings.limits.body;
    let body = decode::read(head, body, (limits, limits.request_bytes), &mut slot).await?;
    let asked = Asked::read(&body, &decode::json_limits(limits), &head.correlation_id)?;
    route.card = card(&asked.card, tenant).unwrap_or_default();
    route.target = Ok(Target::Http { operation: asked.operation, task: None, config: None, under_v1: false });
    let body = asked.envelope.clone().into();
    Ok(Early { slot, body, legacy: Some(asked) })
}

/// Whether the card has the skill that a legacy call names. Only who may call the card learns its skills.
///
/// # Errors
/// [`Reject::Legacy`]; unavailable where the store cannot say.
pub(super) async fn check_skill(asked: Option<&Asked>, permit: &Permit, app: &App) -> Result<(), Reject> {
    let Some(asked) = asked else { return Ok(()) };
    let known = Box::pin(app.calls.skills.of(permit.card(), &app.store)).await.map_err(|_| OwnerError::Unavailable)?;
    if known.contains(&asked.skill) {
        return Ok(());
    }
    Err(BadBody::UnknownSkill { known: known.to_vec() }.into())
}

/// The name of the card that is meant by an id or by `tenant/name`. What no card can be called is no card.
fn card(named: &str, tenant: &TenantWorld) -> Option<String> {
    if let Some((owner, name)) = named.split_once('/') {
        return (owner == tenant.name && is_name(name)).then(|| name.to_owned());
    }
    tenant.cards.values().find(|card| card.id == named).map(|card| card.name.clone())
}
