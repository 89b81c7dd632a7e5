//! What the caller may do here: identity + route → a [`Permit`], the only way on.
//!
//! *Takes* the route's names, the identity and the snapshot. *Gives* a permit that names the card, the tenant and what
//! the grants that select the card say together: denials win, nothing is allowed by itself. *Refuses* with
//! [`AuthorizeError::Hidden`] whatever the caller may not see: another tenant, an unknown card and a card without a
//! grant are one answer. *Never* looks at the message; when it is decoded,
//! [`condition`] does.

pub mod condition;
pub mod explain;
mod judge;
mod withdrawal;

pub use judge::{Judgement, judge};

use crate::pipeline::authenticate::{Identity, Scheme};
use crate::pipeline::delegation::{Behind, Chain};
use crate::pipeline::route::Route;
use crate::registry::{Card, Grant, Principal, Snapshot, TenantWorld};
use a2a::OperationKind;
use std::sync::Arc;

/// Why there is no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizeError {
    /// The grants allow the operation, the tenant's conditions do not.
    #[error("operation {} is not allowed under these conditions", operation.name())]
    Condition {
        /// What was asked.
        operation: OperationKind,
    },
    /// The card is known and granted, the operation is not.
    #[error("operation {} is not granted", operation.name())]
    Forbidden {
        /// What was asked.
        operation: OperationKind,
    },
    /// Nothing the caller may see is there.
    #[error("no such card for this principal")]
    Hidden,
}

/// Proof that a principal may call a card. Only [`permit`] makes one.
#[derive(Clone, Debug)]
pub struct Permit {
    identity: Identity,
    principal: Arc<Principal>,
    tenant: Arc<TenantWorld>,
    card: Arc<Card>,
    judgement: Judgement,
    /// The proven chain that it is used under, and what its hops rest on.
    chain: Option<(Arc<Chain>, Vec<Behind>)>,
    /// What the tenant's conditions said to the call, where there are any.
    judged: Option<Arc<condition::Judged>>,
}

/// Gives the permit for the card that `route` names.
///
/// # Errors
/// [`AuthorizeError::Hidden`]
pub fn permit(route: &Route, identity: &Identity, world: &Snapshot) -> Result<Permit, AuthorizeError> {
    let principal = Arc::clone(identity.principal());
    permit_of(principal, (&route.tenant, &route.card), identity, world)
}

fn permit_of(
    principal: Arc<Principal>,
    (tenant, card): (&str, &str),
    identity: &Identity,
    world: &Snapshot,
) -> Result<Permit, AuthorizeError> {
    let tenant = world.tenants.get(tenant).filter(|tenant| !tenant.cancelled.is_cancelled());
    let card = tenant.and_then(|tenant| tenant.cards.get(card)).filter(|card| !card.cancelled.is_cancelled());
    let (Some(tenant), Some(card)) = (tenant, card) else { return Err(AuthorizeError::Hidden) };
    if principal.tenant != tenant.name {
        return Err(AuthorizeError::Hidden);
    }
    let judgement = judge(&principal, identity.groups(), tenant, card);
    if !judgement.sees() {
        return Err(AuthorizeError::Hidden);
    }
    Ok(Permit {
        identity: identity.clone(),
        principal,
        tenant: Arc::clone(tenant),
        card: Arc::clone(card),
        judgement,
        chain: None,
        judged: None,
    })
}

impl Permit {
    /// Who calls.
    #[must_use]
    pub fn principal(&self) -> &Arc<Principal> {
        &self.principal
    }

    /// How the caller was proven.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.identity.scheme()
    }

    /// What proved the caller, by its id.
    #[must_use]
    pub fn credential_id(&self) -> &str {
        self.identity.credential_id()
    }

    /// The tenant, which is the principal's and the card's.
    #[must_use]
    pub fn tenant(&self) -> &Arc<TenantWorld> {
        &self.tenant
    }

    /// The card.
    #[must_use]
    pub fn card(&self) -> &Arc<Card> {
        &self.card
    }

    /// The same, used under a proven chain whose hops are `behind` it.
    #[must_use]
    pub(in crate::pipeline) fn under(self, chain: Arc<Chain>, behind: Vec<Behind>) -> Self {
        Self { chain: Some((chain, behind)), ..self }
    }

    /// The chain that it is used under.
    #[must_use]
    pub fn chain(&self) -> Option<&Arc<Chain>> {
        self.chain.as_ref().map(|(chain, _)| chain)
    }

    /// What the chain's hops rest on.
    #[must_use]
    pub fn behind(&self) -> &[Behind] {
        self.chain.as_ref().map_or(&[], |(_, behind)| behind)
    }

    /// The grants that allow `operation`; all of them as long as it is not known.
    pub fn grants_for(&self, operation: Option<OperationKind>) -> impl Iterator<Item = &Arc<Grant>> {
        self.judgement.grants_for(operation)
    }

    /// Whether `operation` is allowed.
    ///
    /// # Errors
    /// [`AuthorizeError::Forbidden`]
    pub fn check(&self, operation: OperationKind) -> Result<(), AuthorizeError> {
        if self.judgement.allowed().contains(operation) { Ok(()) } else { Err(AuthorizeError::Forbidden { operation }) }
    }

    /// What is in shadow mode and would have `operation` denied; recorded, not done.
    #[must_use]
    pub fn would_deny(&self, operation: OperationKind) -> Option<&Arc<Grant>> {
        self.judgement.would_deny(operation)
    }
}
