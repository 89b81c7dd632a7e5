//! What the caller may do here: identity + route → a [`Permit`], the only way on.
//!
//! *Takes* the route's names, the identity and the snapshot. *Gives* a permit that names the card, the tenant and the
//! grants that select the card. *Refuses* with [`AuthorizeError::Hidden`] whatever the caller may not see: another
//! tenant, an unknown card and a card without a grant are one answer. *Never* looks at the message.

use crate::clock::Micros;
use crate::pipeline::authenticate::Identity;
use crate::pipeline::route::Route;
use crate::registry::{Card, CardSelector, Grant, Principal, Snapshot, TenantWorld};
use crate::upstream::relay::{Withdrawal, Withdrawn};
use a2a::OperationKind;
use std::sync::Arc;
use std::time::Duration;

/// Why there is no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizeError {
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
    tenant: Arc<TenantWorld>,
    card: Arc<Card>,
    grants: Vec<Arc<Grant>>,
}

/// Gives the permit for the card that `route` names.
///
/// # Errors
/// [`AuthorizeError::Hidden`]
pub fn permit(route: &Route, identity: &Identity, world: &Snapshot) -> Result<Permit, AuthorizeError> {
    let principal = identity.principal();
    let tenant = world.tenants.get(&route.tenant).filter(|tenant| !tenant.cancelled.is_cancelled());
    let card = tenant.and_then(|tenant| tenant.cards.get(&route.card)).filter(|card| !card.cancelled.is_cancelled());
    let (Some(tenant), Some(card)) = (tenant, card) else { return Err(AuthorizeError::Hidden) };
    if principal.tenant != tenant.name {
        return Err(AuthorizeError::Hidden);
    }
    let grants: Vec<_> = principal.grants.iter().filter(|grant| selects(grant, card)).cloned().collect();
    if grants.is_empty() {
        return Err(AuthorizeError::Hidden);
    }
    Ok(Permit { identity: identity.clone(), tenant: Arc::clone(tenant), card: Arc::clone(card), grants })
}

impl Permit {
    /// Who calls.
    #[must_use]
    pub fn principal(&self) -> &Arc<Principal> {
        self.identity.principal()
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

    /// The grants that select the card.
    #[must_use]
    pub fn grants(&self) -> &[Arc<Grant>] {
        &self.grants
    }

    /// The grants that may be used for `operation`; all of them as long as it is not known.
    pub fn grants_for(&self, operation: Option<OperationKind>) -> impl Iterator<Item = &Arc<Grant>> {
        self.grants.iter().filter(move |grant| operation.is_none_or(|wanted| grant.operations.contains(&wanted)))
    }

    /// Whether `operation` is granted.
    ///
    /// # Errors
    /// [`AuthorizeError::Forbidden`]
    pub fn check(&self, operation: OperationKind) -> Result<(), AuthorizeError> {
        match self.grants_for(Some(operation)).next() {
            Some(_) => Ok(()),
            None => Err(AuthorizeError::Forbidden { operation }),
        }
    }

    /// Completes when the permit for `operation` is taken away, or its credential expires.
    #[must_use]
    pub fn withdrawal(&self, operation: OperationKind, now: Micros) -> Withdrawal {
        let [credential, principal] = self.identity.revocations();
        let mut tokens = vec![
            (Withdrawn::Credential, credential),
            (Withdrawn::Credential, principal),
            (Withdrawn::Card, self.tenant.cancelled.clone()),
            (Withdrawn::Card, self.card.cancelled.clone()),
        ];
        tokens.extend(self.grants_for(Some(operation)).map(|grant| (Withdrawn::Grant, grant.cancelled.clone())));
        let mut all: Vec<Withdrawal> = Vec::with_capacity(tokens.len() + 1);
        for (what, token) in tokens {
            all.push(Box::pin(async move {
                token.cancelled_owned().await;
                what
            }));
        }
        if let Some(at) = self.identity.expires_at() {
            let left = Duration::from_micros(u64::try_from(at.saturating_sub(now)).unwrap_or(0));
            all.push(Box::pin(async move {
                tokio::time::sleep(left).await;
                Withdrawn::Credential
            }));
        }
        let first = futures_util::future::select_all(all);
        Box::pin(async move { first.await.0 })
    }
}

fn selects(grant: &Grant, card: &Card) -> bool {
    !grant.cancelled.is_cancelled()
        && grant.cards.iter().any(|selector| match selector {
            CardSelector::Any => true,
            CardSelector::Name(name) => *name == card.name,
            CardSelector::Tag(tag) => card.tags.contains(tag),
        })
}
