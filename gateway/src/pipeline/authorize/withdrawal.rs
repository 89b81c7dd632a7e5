//! The end of a permit under an open stream.
//!
//! A key, principal, card or tenant that loses its power ends the stream at once. When a grant is withdrawn, something is
//! denied anew, a hop of the chain behind it loses something, or the conditions change, the permit is judged again by the
//! state now in force, and lives on if it still holds.

use super::{Permit, judge, permit_of};
use crate::clock::Clock;
use crate::pipeline::delegation;
use crate::registry::Registry;
use crate::registry::conditions::Ruling;
use crate::upstream::relay::{Withdrawal, Withdrawn};
use a2a::OperationKind;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

impl Permit {
    /// Completes when the permit for `operation` is taken away, or its credential expires.
    #[must_use]
    pub fn withdrawal(&self, operation: OperationKind, registry: &Arc<Registry>, clock: &Clock) -> Withdrawal {
        let (mut permit, registry) = (self.clone(), Arc::clone(registry));
        let left = self.identity.expires_at().map(|at| at.saturating_sub(clock.now()));
        let left = left.map(|left| Duration::from_micros(u64::try_from(left).unwrap_or(0)));
        Box::pin(async move {
            let expired = async {
                match left {
                    Some(left) => tokio::time::sleep(left).await,
                    None => std::future::pending().await,
                }
                Withdrawn::Credential
            };
            let withdrawn = async {
                loop {
                    let withdrawn = permit.first_loss(operation).await;
                    permit = match withdrawn {
                        Withdrawn::Card | Withdrawn::Condition(_) | Withdrawn::Credential => return withdrawn,
                        Withdrawn::Chain | Withdrawn::Grant => match permit.again(operation, &registry) {
                            Ok(again) => again,
                            Err(denied) => {
                                return denied.map_or(withdrawn, |ruling| Withdrawn::Condition(ruling.into()));
                            }
                        },
                    };
                }
            };
            tokio::select! {
                withdrawn = expired => withdrawn,
                withdrawn = withdrawn => withdrawn,
            }
        })
    }

    async fn first_loss(&self, operation: OperationKind) -> Withdrawn {
        let credential = self.identity.revocations().into_iter().map(|token| (Withdrawn::Credential, token));
        let card = [&self.tenant.cancelled, &self.card.cancelled].map(|token| (Withdrawn::Card, token.clone()));
        let grants = self.grants_for(Some(operation)).map(|grant| (Withdrawn::Grant, grant.cancelled.clone()));
        let standing = (Withdrawn::Grant, self.principal.standing.replaced.clone());
        let behind = self.behind().iter().flat_map(|hop| {
            let judgement = judge(&hop.principal, &[], &self.tenant, &self.card);
            let grants = judgement.grants_for(Some(operation)).map(|grant| grant.cancelled.clone()).collect::<Vec<_>>();
            grants.into_iter().chain(hop.losses(&self.tenant))
        });
        let behind = behind.map(|token| (Withdrawn::Chain, token));
        let conditions = self.judged.iter().map(|_| (Withdrawn::Grant, self.tenant.conditioned.replaced.clone()));
        let all = credential.chain(card).chain(grants).chain([standing]).chain(behind).chain(conditions);
        let all: Vec<(Withdrawn, CancellationToken)> = all.collect();
        let each = all.into_iter().map(|(what, token)| {
            Box::pin(async move {
                token.cancelled_owned().await;
                what
            })
        });
        futures_util::future::select_all(each).await.0
    }

    /// The permit as it would be given now.
    ///
    /// # Errors
    /// It does not hold `operation` any more; with the conditions' ruling where it is they that deny it.
    fn again(&self, operation: OperationKind, registry: &Registry) -> Result<Self, Option<Ruling>> {
        let Some(permit) = self.granted_again(operation, registry) else { return Err(None) };
        match &self.judged {
            Some(judged) => permit.conditioned_again(judged).map_err(Some),
            None => Ok(permit),
        }
    }

    /// The permit as grants and the chain give it now, if it still holds `operation`.
    fn granted_again(&self, operation: OperationKind, registry: &Registry) -> Option<Self> {
        let world = registry.snapshot();
        let principal = Arc::clone(world.tenants.get(&self.tenant.name)?.principals.get(&self.principal.id)?);
        let standing = principal.standing.replaced.is_cancelled();
        let mut permit = permit_of(principal, (&self.tenant.name, &self.card.name), &self.identity, &world).ok()?;
        if let Some(chain) = self.chain() {
            let behind = delegation::behind(chain, &permit.tenant).ok()?;
            if behind.iter().any(|hop| hop.principal.standing.replaced.is_cancelled()) {
                return None;
            }
            permit = permit.under(Arc::clone(chain), behind);
            delegation::allow(&permit, operation).ok()?;
        }
        // The state in force must be a newer one than that which was just taken away.
        (permit.check(operation).is_ok() && !standing && permit.card.id == self.card.id).then_some(permit)
    }
}
