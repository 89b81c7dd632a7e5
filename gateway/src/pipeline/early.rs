//! A gRPC call names no tenant in its path: the credential decides the tenant, and the message names the card. The
//! legacy proxy's calls are alike (`legacy`).
//!
//! *Takes* the identity and the unread body. *Gives* the body, whole, and the route with both names. *Refuses* what
//! cannot be read within the node's limits. *Never* looks at more of the message than its `tenant`; a call of another
//! binding passes untouched.

use crate::app::App;
use crate::pipeline::authenticate::Identity;
use crate::pipeline::authorize::AuthorizeError;
use crate::pipeline::decode::{self, DecodeError};
use crate::pipeline::head::Head;
use crate::pipeline::legacy::{self, Asked, Entrance};
use crate::pipeline::limit::{self, Slot};
use crate::pipeline::route::Route;
use crate::registry::{Snapshot, is_name};
use crate::reject::Reject;
use a2a::Target;
use bytes::Bytes;
use hyper::body::Incoming;

/// A body that was read before there was a permit, and the room that it takes.
#[derive(Debug)]
pub struct Early {
    /// The place in the counts of node and tenant.
    pub slot: Slot,
    /// The body.
    pub body: Bytes,
    /// What a call of the legacy wire named besides.
    pub legacy: Option<Asked>,
}

/// Completes the route of a gRPC call. A name that no card can have is no card.
///
/// # Errors
/// [`Reject::Limit`], [`Reject::Decode`], [`Reject::Authorize`], [`Reject::Legacy`]
pub async fn address(
    route: &mut Route,
    identity: &Identity,
    head: &Head,
    body: &mut Incoming,
    (app, world): (&App, &Snapshot),
) -> Result<Option<Early>, Reject> {
    if let Entrance::Legacy(_) = route.entrance {
        return Box::pin(legacy::address(route, identity, head, body, (app, world))).await.map(Some);
    }
    let Ok(Target::Grpc(kind)) = route.target else { return Ok(None) };
    route.tenant.clone_from(&identity.principal().tenant);
    // Nobody is proven by a tenant that is not there.
    let tenant = world.tenants.get(&route.tenant).ok_or(AuthorizeError::Hidden)?;
    let mut slot = limit::enter(tenant, &app.calls.limits)?;
    let limits = &app.settings.limits.body;
    let body = decode::read(head, body, (limits, limits.request_bytes), &mut slot).await?;
    let named = a2a::grpc::card_name(kind, &body).map_err(DecodeError::Refused)?;
    route.card = named.filter(|name| is_name(name)).unwrap_or_default();
    Ok(Some(Early { slot, body, legacy: None }))
}
