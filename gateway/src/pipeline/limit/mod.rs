//! How much: rates, quotas, calls in flight and open streams of grant, principal, card and tenant; bytes in flight; and
//! on a busy node nobody more than its share.
//!
//! *Takes* a permit. *Gives* a [`Slot`] that rides with the answer to its last byte. *Refuses* with how long to wait; a
//! refused call uses up nothing. *Never* waits itself, and asks no store: `untold` tells it afterwards, and `places`
//! borrows beforehand.

mod places;
mod untold;

pub(crate) use untold::Untold;

use crate::clock::{Clock, Micros};
use crate::config;
use crate::pipeline::authorize::Permit;
use crate::registry::Registry;
use crate::registry::meter::{Kind, Meter, Metered, Rates, Spent};
use crate::registry::{Principal, TenantWorld};
use crate::tasks::Tasks;
use a2a::OperationKind;
use places::Borrowers;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use store::Store;

/// Why a call is not admitted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// The node or the tenant holds as many bytes as it may.
    #[error("no room for more bytes in flight")]
    NoRoom,
    /// The node is busy and the tenant has its share of it.
    #[error("the tenant has its share of a busy node")]
    OverShare,
    /// The day's or the month's calls are used up.
    #[error("quota of calls")]
    QuotaSpent {
        /// When the next call would be admitted.
        retry_after: Duration,
    },
    /// Calls per minute are used up.
    #[error("rate of calls")]
    RateLimited {
        /// When the next call would be admitted.
        retry_after: Duration,
    },
    /// As many calls or streams are open as may be.
    #[error("too many calls in flight")]
    TooManyInFlight,
}

impl From<Spent> for LimitError {
    fn from(spent: Spent) -> Self {
        match spent {
            Spent::Quota(retry_after) => Self::QuotaSpent { retry_after },
            Spent::Rate(retry_after) => Self::RateLimited { retry_after },
        }
    }
}

/// All the counters of the process that are nobody's in particular.
#[derive(Debug)]
pub struct Limits {
    ceilings: config::Limits,
    node_bytes: Arc<AtomicUsize>,
    node_streams: AtomicUsize,
    node_calls: AtomicUsize,
    /// Tenants with a call in flight.
    busy_tenants: AtomicUsize,
    /// What the store is to hear of.
    pub(crate) untold: Untold,
    /// What shares its places with other replicas.
    borrowers: Borrowers,
}

impl Limits {
    /// Nothing in flight yet.
    #[must_use]
    pub fn new(ceilings: &config::Limits) -> Self {
        Self {
            ceilings: ceilings.clone(),
            node_bytes: Arc::default(),
            node_streams: AtomicUsize::default(),
            node_calls: AtomicUsize::default(),
            busy_tenants: AtomicUsize::default(),
            untold: Untold::default(),
            borrowers: Borrowers::default(),
        }
    }

    /// Bytes that the node holds now.
    #[must_use]
    pub fn bytes_in_flight(&self) -> usize {
        self.node_bytes.load(Ordering::Relaxed)
    }

    /// Streams that are open now.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.node_streams.load(Ordering::Relaxed)
    }

    /// How a minute's calls are counted.
    #[must_use]
    pub const fn rates(&self) -> Rates {
        self.ceilings.rates
    }

    /// What each tenant may have of `most`: all of it on a node with room, an equal share once 70 % are taken
    /// (T-NN-1).
    fn share(&self, taken: usize, most: usize) -> usize {
        if taken <= most / 10 * 7 {
            return most;
        }
        (most / self.busy_tenants.load(Ordering::Relaxed).max(1)).max(1)
    }

    /// How many of `most` places of this kind this replica may fill.
    fn room(&self, meter: &Arc<Meter>, kind: Kind, most: usize) -> usize {
        match self.rates() {
            Rates::Local => most,
            Rates::Shared => self.borrowers.room(meter, kind, most),
        }
    }

    fn spend(&self, metered: &Metered, now: Micros) -> Result<(), Spent> {
        metered.meter.spend(&metered.allowance, self.rates(), now)?;
        self.untold.hear(metered, self.rates());
        Ok(())
    }
}

/// Tells the store what was used, and borrows places of shared limits from it, until the process stops.
pub(crate) fn start(limits: &Arc<Limits>, store: &Store, registry: &Arc<Registry>, clock: &Clock, tasks: &Tasks) {
    untold::start(limits, store, registry, clock, tasks);
    places::start(limits, store, clock, tasks);
}

/// Takes a place for a call whose card is not known yet.
///
/// # Errors
/// [`LimitError::NoRoom`], [`LimitError::OverShare`], [`LimitError::TooManyInFlight`]
pub fn enter(tenant: &Arc<TenantWorld>, limits: &Arc<Limits>) -> Result<Slot, LimitError> {
    let mut slot = Slot { limits: Arc::clone(limits), held: Vec::new(), spent: Vec::new(), bytes: None, known: false };
    let ceilings = &limits.ceilings;
    slot.hold(Held::Node, ceilings.requests_in_flight).map_err(|_full| LimitError::NoRoom)?;
    let share = limits.share(limits.node_calls.load(Ordering::Relaxed), ceilings.requests_in_flight);
    let meter = &tenant.metered.meter;
    slot.hold(Held::Tenant(Arc::clone(meter)), ceilings.requests_in_flight_per_tenant)?;
    if meter.calls.load(Ordering::Relaxed) > share {
        return Err(LimitError::OverShare);
    }
    if let Some(most) = tenant.metered.allowance.concurrent
        && meter.calls.load(Ordering::Relaxed) > limits.room(meter, Kind::Call, most)
    {
        return Err(LimitError::TooManyInFlight);
    }
    slot.bytes = Some(Bytes { node: Arc::clone(&limits.node_bytes), tenant: Arc::clone(&meter.bytes), held: 0 });
    Ok(slot)
}

/// Admits one call: see [`Slot::admit`].
///
/// # Errors
/// [`LimitError`]
pub fn admit(
    permit: &Permit,
    operation: Option<OperationKind>,
    limits: &Arc<Limits>,
    now: Micros,
) -> Result<Slot, LimitError> {
    let mut slot = enter(permit.tenant(), limits)?;
    slot.admit(permit, operation, now)?;
    Ok(slot)
}

/// Admits what is a call of `principal` and its tenant and of no card: a token is asked for.
///
/// # Errors
/// [`LimitError`]; then nothing is counted.
pub fn admit_cardless(
    principal: &Principal,
    tenant: &Arc<TenantWorld>,
    limits: &Arc<Limits>,
    now: Micros,
) -> Result<Slot, LimitError> {
    let mut slot = enter(tenant, limits)?;
    slot.count(&principal.metered, now)?;
    slot.spend(&tenant.metered, now)?;
    slot.spent.clear();
    Ok(slot)
}

/// A place in all the counts, given back when dropped.
#[derive(Debug)]
pub struct Slot {
    limits: Arc<Limits>,
    held: Vec<Held>,
    /// What was counted for good, as long as the call may still be refused for another limit.
    spent: Vec<Metered>,
    bytes: Option<Bytes>,
    known: bool,
}

impl Slot {
    /// Takes a place in the counts of principal, card and tenant, and in those of the grants that allow `operation` if
    /// it is known. As long as it is not, it is refused only if every grant in question would refuse it.
    ///
    /// # Errors
    /// [`LimitError`]; then nothing is counted.
    pub fn admit(&mut self, permit: &Permit, operation: Option<OperationKind>, now: Micros) -> Result<(), LimitError> {
        match operation {
            Some(operation) => self.grants(permit, operation, now)?,
            None => self.any_grant(permit, now)?,
        }
        // The narrowest first: who is over its own limit uses up nobody else's.
        for metered in [&permit.principal().metered, &permit.card().metered] {
            self.count(metered, now)?;
        }
        self.spend(&permit.tenant().metered, now)
    }

    /// The operation is known, and its parameters are not: counts it under its grants, and as a stream if it is one.
    ///
    /// # Errors
    /// [`LimitError`]; then nothing is counted.
    pub fn known(&mut self, permit: &Permit, operation: OperationKind, now: Micros) -> Result<(), LimitError> {
        if !self.known {
            self.grants(permit, operation, now)?;
        }
        if operation.is_streaming() {
            self.stream(permit, operation)?;
        }
        // From here on the call counts, whatever becomes of it.
        self.spent.clear();
        Ok(())
    }

    /// The operation will never be known: it counts under every grant that it might have been.
    pub fn unread(&mut self, permit: &Permit, now: Micros) {
        if !self.known {
            for grant in permit.grants_for(None) {
                // Who has nothing left is told so by the next call.
                let _ = self.limits.spend(&grant.metered, now);
            }
        }
        self.spent.clear();
    }

    fn grants(&mut self, permit: &Permit, operation: OperationKind, now: Micros) -> Result<(), LimitError> {
        self.known = true;
        for grant in permit.grants_for(Some(operation)) {
            self.count(&grant.metered, now)?;
        }
        Ok(())
    }

    fn any_grant(&self, permit: &Permit, now: Micros) -> Result<(), LimitError> {
        let mut soonest: Option<Spent> = None;
        for grant in permit.grants_for(None) {
            match grant.metered.meter.wait(&grant.metered.allowance, self.limits.rates(), now) {
                None => return Ok(()),
                Some(spent) => {
                    soonest = Some(soonest.filter(|known| known.wait() <= spent.wait()).unwrap_or(spent));
                }
            }
        }
        soonest.map_or(Ok(()), |spent| Err(spent.into()))
    }

    /// A place among calls in flight, and one call of what may be used.
    fn count(&mut self, metered: &Metered, now: Micros) -> Result<(), LimitError> {
        if let Some(most) = metered.allowance.concurrent {
            let most = self.limits.room(&metered.meter, Kind::Call, most);
            let held = self.hold(Held::Call(Arc::clone(&metered.meter)), most);
            held.map_err(|full| self.take_back(full))?;
        }
        self.spend(metered, now)
    }

    fn spend(&mut self, metered: &Metered, now: Micros) -> Result<(), LimitError> {
        if !metered.allowance.counts() {
            return Ok(());
        }
        match self.limits.spend(metered, now) {
            Ok(()) => {
                self.spent.push(metered.clone());
                Ok(())
            }
            Err(spent) => Err(self.take_back(spent.into())),
        }
    }

    /// A call that is refused here has used nothing.
    fn take_back(&mut self, error: LimitError) -> LimitError {
        for metered in self.spent.drain(..) {
            metered.meter.give_back(&metered.allowance, self.limits.ceilings.rates);
        }
        error
    }

    fn hold(&mut self, held: Held, most: usize) -> Result<(), LimitError> {
        if !held.take(&self.limits, most) {
            return Err(LimitError::TooManyInFlight);
        }
        self.held.push(held);
        Ok(())
    }

    /// Takes room for `more` bytes.
    ///
    /// # Errors
    /// [`LimitError::NoRoom`]
    pub fn grow(&mut self, more: usize) -> Result<(), LimitError> {
        let ceilings = &self.limits.ceilings;
        let share = self.limits.share(self.limits.bytes_in_flight(), ceilings.inflight_bytes);
        let room = Room { node: ceilings.inflight_bytes, tenant: ceilings.inflight_bytes_per_tenant.min(share) };
        match &mut self.bytes {
            Some(bytes) => bytes.grow(more, room),
            None => Ok(()),
        }
    }

    /// How many bytes are held.
    pub(crate) fn held_bytes(&self) -> usize {
        self.bytes.as_ref().map_or(0, |bytes| bytes.held)
    }

    /// Gives room for `fewer` bytes back.
    pub fn shrink(&mut self, fewer: usize) {
        if let Some(bytes) = &mut self.bytes {
            bytes.shrink(fewer);
        }
    }

    /// Counts this call as an open stream too.
    fn stream(&mut self, permit: &Permit, operation: OperationKind) -> Result<(), LimitError> {
        let limits = Arc::clone(&self.limits);
        let ceilings = &limits.ceilings;
        let tenant = &permit.tenant().metered;
        let share = limits.share(limits.open_streams(), ceilings.streams);
        let principal = &permit.principal().metered;
        let most = |metered: &Metered| {
            let shared = metered.allowance.streams.map(|most| limits.room(&metered.meter, Kind::Stream, most));
            shared.unwrap_or(usize::MAX)
        };
        let of_principal = most(principal).min(ceilings.connection.per_principal);
        let mut wanted = vec![
            (Held::NodeStream, ceilings.streams),
            (Held::Stream(Arc::clone(&principal.meter)), of_principal),
            (Held::Stream(Arc::clone(&tenant.meter)), most(tenant).min(share)),
        ];
        let grants = permit.grants_for(Some(operation)).map(|grant| &grant.metered);
        for metered in grants.chain([&permit.card().metered]).filter(|metered| metered.allowance.streams.is_some()) {
            wanted.push((Held::Stream(Arc::clone(&metered.meter)), most(metered)));
        }
        for (held, most) in wanted {
            self.hold(held, most).map_err(|full| self.take_back(full))?;
        }
        Ok(())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        for held in &self.held {
            held.give_back(&self.limits);
        }
    }
}

/// One unit of a count.
#[derive(Debug)]
enum Held {
    Node,
    NodeStream,
    Tenant(Arc<Meter>),
    Call(Arc<Meter>),
    Stream(Arc<Meter>),
}

impl Held {
    fn take(&self, limits: &Limits, most: usize) -> bool {
        let before = add(self.count(limits), 1, most);
        if matches!(self, Self::Tenant(_)) && before == Some(0) {
            limits.busy_tenants.fetch_add(1, Ordering::AcqRel);
        }
        before.is_some()
    }

    fn give_back(&self, limits: &Limits) {
        let before = self.count(limits).fetch_sub(1, Ordering::AcqRel);
        if matches!(self, Self::Tenant(_)) && before == 1 {
            limits.busy_tenants.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn count<'a>(&'a self, limits: &'a Limits) -> &'a AtomicUsize {
        match self {
            Self::Node => &limits.node_calls,
            Self::NodeStream => &limits.node_streams,
            Self::Tenant(meter) | Self::Call(meter) => &meter.calls,
            Self::Stream(meter) => &meter.streams,
        }
    }
}

/// How many bytes may be held.
#[derive(Clone, Copy, Debug)]
struct Room {
    node: usize,
    tenant: usize,
}

/// Bytes held for one call.
#[derive(Debug)]
struct Bytes {
    node: Arc<AtomicUsize>,
    tenant: Arc<AtomicUsize>,
    held: usize,
}

impl Bytes {
    fn grow(&mut self, more: usize, room: Room) -> Result<(), LimitError> {
        if add(&self.node, more, room.node).is_none() {
            return Err(LimitError::NoRoom);
        }
        if add(&self.tenant, more, room.tenant).is_none() {
            self.node.fetch_sub(more, Ordering::AcqRel);
            return Err(LimitError::NoRoom);
        }
        self.held += more;
        Ok(())
    }

    fn shrink(&mut self, fewer: usize) {
        let fewer = fewer.min(self.held);
        self.node.fetch_sub(fewer, Ordering::AcqRel);
        self.tenant.fetch_sub(fewer, Ordering::AcqRel);
        self.held -= fewer;
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        self.shrink(self.held);
    }
}

/// Adds if the sum stays within `most`; gives what it was before.
fn add(count: &AtomicUsize, more: usize, most: usize) -> Option<usize> {
    count.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| now.checked_add(more).filter(|sum| *sum <= most)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_bounded_by_tenant_and_by_node_and_come_back() {
        let (node, tenant) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let bytes = |tenant: &Arc<AtomicUsize>| Bytes { node: Arc::clone(&node), tenant: Arc::clone(tenant), held: 0 };
        let room = Room { node: 100, tenant: 60 };
        let (mut a, mut b) = (bytes(&tenant), bytes(&Arc::default()));
        a.grow(60, room).unwrap();
        assert_eq!(a.grow(1, room), Err(LimitError::NoRoom));
        assert_eq!(b.grow(41, room), Err(LimitError::NoRoom));
        b.grow(40, room).unwrap();
        assert_eq!(node.load(Ordering::Relaxed), 100);
        a.shrink(10);
        assert_eq!(node.load(Ordering::Relaxed), 90);
        drop(a);
        drop(b);
        assert_eq!((node.load(Ordering::Relaxed), tenant.load(Ordering::Relaxed)), (0, 0));
    }
}
