//! What a hop of a proven chain rests on.
//!
//! *Takes* a hop and the tenant as it is now. *Gives* its principal, the card that it called, and what ends it. *Refuses*
//! a hop whose principal or card is gone, whose credential was revoked, or whose principal may not call that card any more.
//! *Never* asks whether a credential has run out since: it was good when it was used.

use super::chain::{BadChain, Hop};
use crate::pipeline::authorize;
use crate::registry::{Card, Principal, TenantWorld};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A hop that stands.
#[derive(Clone, Debug)]
pub struct Behind {
    /// Who called.
    pub principal: Arc<Principal>,
    /// Whom.
    card: Arc<Card>,
    /// What revokes its credential; none where the chain does not say what proved it.
    credential: Option<CancellationToken>,
}

/// What became of a credential.
enum Credential<'a> {
    Key(&'a CancellationToken),
    /// An issuer's word; the groups that it told went with the call.
    Issuer(&'a CancellationToken),
    Revoked,
}

impl Behind {
    /// The hop as it stands now.
    ///
    /// # Errors
    /// [`BadChain::Gone`], [`BadChain::Revoked`], [`BadChain::NotPermitted`]
    pub fn of(hop: &Hop, tenant: &TenantWorld) -> Result<Self, BadChain> {
        let principal = tenant.principals.get(&hop.principal).filter(|one| !one.cancelled.is_cancelled());
        let card = tenant.cards.get(&hop.card).filter(|card| !card.cancelled.is_cancelled());
        let (Some(principal), Some(card)) = (principal, card) else { return Err(BadChain::Gone) };
        let (credential, may_have_groups) = match hop.credential.as_deref().map(|id| credential(id, principal, tenant))
        {
            Some(Credential::Key(revoked)) => (Some(revoked.clone()), false),
            Some(Credential::Issuer(revoked)) => (Some(revoked.clone()), true),
            Some(Credential::Revoked) => return Err(BadChain::Revoked),
            None => (None, true),
        };
        // A call by a token's groups can't be judged again: they are not known here.
        if !may_have_groups && !authorize::judge(principal, &[], tenant, card).sees() {
            return Err(BadChain::NotPermitted);
        }
        Ok(Self { principal: Arc::clone(principal), card: Arc::clone(card), credential })
    }

    /// What, when it is cancelled, is reason to look at the hop again.
    pub fn losses(&self, tenant: &TenantWorld) -> Vec<CancellationToken> {
        let judgement = authorize::judge(&self.principal, &[], tenant, &self.card);
        let grants = judgement.grants_for(None).map(|grant| grant.cancelled.clone());
        let own = [&self.principal.cancelled, &self.principal.standing.replaced, &self.card.cancelled];
        own.into_iter().chain(&self.credential).cloned().chain(grants).collect()
    }
}

fn credential<'a>(id: &str, principal: &Principal, tenant: &'a TenantWorld) -> Credential<'a> {
    if let Some(key) = tenant.credentials.get(id) {
        let stands = !key.cancelled.is_cancelled() && key.principal.id == principal.id;
        return if stands { Credential::Key(&key.cancelled) } else { Credential::Revoked };
    }
    let issuers = tenant.issuers.iter().map(|issuer| (&issuer.id, &issuer.cancelled));
    let certificates = tenant.certificates.iter().map(|issuer| (&issuer.id, &issuer.cancelled));
    match issuers.chain(certificates).find(|(known, _)| *known == id) {
        Some((_, revoked)) if !revoked.is_cancelled() => Credential::Issuer(revoked),
        Some(_) | None => Credential::Revoked,
    }
}
