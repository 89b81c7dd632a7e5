//! On whose behalf: the delegation headers of a call, proven; those of the call that follows from it, made.
//!
//! *Takes* the headers that begin with `x-brutor-delegation-`, the permit and the time. *Gives* the permit with the
//! chain it was used under, and the headers for the agent that is called. *Refuses* a chain that is incomplete (400), and
//! one that was forged, changed, stolen, outlived, too deep, looped, that one of its hops has no permit for, or whose
//! callers are not all what they were when they called (403; why, only the record says). *Never* uses a field before the whole chain is proven, and never passes a header of the
//! caller's on: what an agent gets is made anew.
//!
//! | file | holds |
//! |---|---|
//! | `headers` | the headers → what they say, unproven |
//! | `chain` | the signed text, its proof, the rules of depth and loops, the next chain |
//! | `behind` | what each hop still rests on: its principal, its card, what proved it |
//! | `key` | the keys: one for each tenant and day |

mod behind;
mod chain;
mod headers;
mod key;

pub use behind::Behind;
pub use chain::{BadChain, Chain, Hop, Ids, Signed, verify};
pub use headers::{Names, Presented, Written};
pub use key::{Key, Keys};

use crate::clock::{Clock, Micros};
use crate::pipeline::authorize::{self, Permit};
use crate::pipeline::head::Head;
use crate::registry::TenantWorld;
use crate::seal::Seal;
use a2a::OperationKind;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;

/// How many delegations may lie between the first caller and one whose grant says nothing.
pub const USUAL_DEPTH: u32 = 4;

/// Why a call with delegation headers is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DelegationError {
    /// They are there and do not hold.
    #[error(transparent)]
    Bad(#[from] BadChain),
    /// Some are missing, or occur twice, or cannot be read.
    #[error("the delegation headers are incomplete")]
    Incomplete,
}

/// What proving and making chains takes.
#[derive(Debug)]
pub struct Delegation {
    names: Names,
    keys: Keys,
    clock: Clock,
}

impl Delegation {
    /// For headers that begin with `prefix`.
    #[must_use]
    pub fn new(seal: Arc<Seal>, clock: Clock, prefix: &str) -> Self {
        Self { names: Names::new(prefix), keys: Keys::new(seal), clock }
    }

    /// What a request says about its chain; nothing of it is proven.
    #[must_use]
    pub fn presented(&self, headers: &HeaderMap) -> Presented {
        self.names.read(headers)
    }

    /// The headers for the agent of the permit's card, whose own principal alone may present them. None where the card
    /// names no such principal.
    #[must_use]
    pub fn stamps(&self, permit: &Permit, head: &Head) -> Vec<(HeaderName, HeaderValue)> {
        let card = permit.card();
        let Some(audience) = &card.bound_principal else { return Vec::new() };
        let hop = Hop {
            principal: permit.principal().id.clone(),
            card: card.name.clone(),
            credential: Some(permit.credential_id().to_owned()),
        };
        let ids = Ids { root: head.unchosen_id(), call: &head.correlation_id };
        let next = Chain::next(permit.chain().map(Arc::as_ref), hop, ids);
        let now = self.clock.now();
        let key = self.keys.current(&card.tenant, now);
        next.written(&card.tenant, audience, &key, now).map(|written| self.names.write(&written)).unwrap_or_default()
    }
}

/// Proves the chain that a call came with. The permit is then one under that chain.
///
/// # Errors
/// [`DelegationError`]
pub fn accept(
    presented: &Presented,
    permit: Permit,
    delegation: &Delegation,
    now: Micros,
) -> Result<Permit, DelegationError> {
    let written = match presented {
        Presented::Absent => return Ok(permit),
        Presented::Incomplete => return Err(DelegationError::Incomplete),
        Presented::Written(written) => written,
    };
    let tenant = Arc::clone(permit.tenant());
    let chain = verify(written, (&tenant.name, &permit.principal().id), &delegation.keys, now)?;
    let behind = behind(&chain, &tenant)?;
    Ok(permit.under(Arc::new(chain), behind))
}

/// Whether `operation` may be done under the permit's chain: it leads back nowhere, is not too deep, and every hop may do it too, so that
/// nobody gets done by an agent what it may not do itself (T-DEL-2).
///
/// # Errors
/// [`BadChain`]
pub fn allow(permit: &Permit, operation: OperationKind) -> Result<(), DelegationError> {
    let Some(chain) = permit.chain() else { return Ok(()) };
    if !permit.grants_for(Some(operation)).any(|grant| grant.delegation_loops) {
        chain.check_loop(&permit.card().name)?;
    }
    let allowed = permit.grants_for(Some(operation)).map(|grant| grant.max_delegation_depth.unwrap_or(USUAL_DEPTH));
    chain.check_depth(allowed.max().unwrap_or(0))?;
    let (tenant, card) = (permit.tenant(), permit.card());
    // Groups that only a token named are not known of those who are not here.
    let may = |hop: &Behind| authorize::judge(&hop.principal, &[], tenant, card).allowed().contains(operation);
    if permit.behind().iter().all(may) { Ok(()) } else { Err(BadChain::NotPermitted.into()) }
}

/// What the hops rest on, as it is now.
///
/// # Errors
/// [`BadChain::Gone`], [`BadChain::Revoked`], [`BadChain::NotPermitted`]
pub fn behind(chain: &Chain, tenant: &TenantWorld) -> Result<Vec<Behind>, BadChain> {
    chain.hops().iter().map(|hop| Behind::of(hop, tenant)).collect()
}
