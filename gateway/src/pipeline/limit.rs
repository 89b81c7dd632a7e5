//! How much at once: rates and calls in flight per grant, streams per principal, bytes in flight per node and tenant.
//!
//! *Takes* a permit. *Gives* a [`Slot`] that rides with the answer to its last byte. *Refuses* with how long to wait.
//! *Never* waits itself.

use crate::config;
use crate::pipeline::authorize::Permit;
use crate::registry::Grant;
use a2a::OperationKind;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Why a call is not admitted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// The node or the tenant holds as many bytes as it may.
    #[error("no room for more bytes in flight")]
    NoRoom,
    /// Calls per minute of a grant are used up.
    #[error("rate limit of a grant")]
    RateLimited {
        /// When the next call would be admitted.
        retry_after: Duration,
    },
    /// As many calls or streams are open as may be.
    #[error("too many calls in flight")]
    TooManyInFlight,
}

/// All the counters of the process.
#[derive(Debug)]
pub struct Limits {
    ceilings: config::Limits,
    node_bytes: Arc<AtomicUsize>,
    node_streams: Arc<AtomicUsize>,
    node_calls: Arc<AtomicUsize>,
    tenant_calls: Counters<String>,
    tenant_bytes: Counters<String>,
    streams: Counters<String>,
    in_flight: Counters<String>,
    rates: Mutex<HashMap<String, Arc<Rate>>>,
}

#[derive(Debug)]
struct Rate {
    per_minute: NonZeroU32,
    limiter: DefaultDirectRateLimiter,
}

impl Limits {
    /// Nothing in flight yet.
    #[must_use]
    pub fn new(ceilings: &config::Limits) -> Self {
        Self {
            ceilings: ceilings.clone(),
            node_bytes: Arc::default(),
            node_streams: Arc::default(),
            node_calls: Arc::default(),
            tenant_calls: Counters::default(),
            tenant_bytes: Counters::default(),
            streams: Counters::default(),
            in_flight: Counters::default(),
            rates: Mutex::default(),
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

    /// The limiter of `grant`, made anew when its rate has changed.
    fn rate(&self, grant: &Grant, per_minute: NonZeroU32) -> Arc<Rate> {
        const MOST: usize = 100_000;
        let mut rates = lock(&self.rates);
        if let Some(known) = rates.get(&grant.id).filter(|rate| rate.per_minute == per_minute) {
            return Arc::clone(known);
        }
        if rates.len() >= MOST {
            rates.clear();
        }
        let fresh = Arc::new(Rate { per_minute, limiter: RateLimiter::direct(Quota::per_minute(per_minute)) });
        rates.insert(grant.id.clone(), Arc::clone(&fresh));
        fresh
    }
}

/// Takes a place for a call whose card is not known yet.
///
/// # Errors
/// [`LimitError::NoRoom`], [`LimitError::TooManyInFlight`]
pub fn enter(tenant: &String, limits: &Arc<Limits>) -> Result<Slot, LimitError> {
    let mut slot = Slot { limits: Arc::clone(limits), held: Vec::new(), bytes: None };
    let node = Held::take(&limits.node_calls, limits.ceilings.requests_in_flight);
    slot.held.push(node.ok_or(LimitError::NoRoom)?);
    let of_tenant = limits.tenant_calls.take(tenant, limits.ceilings.requests_in_flight_per_tenant);
    slot.held.push(of_tenant.ok_or(LimitError::TooManyInFlight)?);
    let (node, tenant) = (Arc::clone(&limits.node_bytes), limits.tenant_bytes.counter(tenant));
    slot.bytes = Some(Bytes { node, tenant, held: 0 });
    Ok(slot)
}

/// Admits one call. Every grant that might be the one in use is charged, so that an operation that is known only
/// after the body is read cannot go past its limit; a batch counts once.
///
/// # Errors
/// [`LimitError::RateLimited`], [`LimitError::TooManyInFlight`]
pub fn admit(permit: &Permit, operation: Option<OperationKind>, limits: &Arc<Limits>) -> Result<Slot, LimitError> {
    let mut slot = enter(&permit.tenant().name, limits)?;
    slot.admit(permit, operation)?;
    Ok(slot)
}

/// A place in all the counts, given back when dropped.
#[derive(Debug)]
pub struct Slot {
    limits: Arc<Limits>,
    held: Vec<Held>,
    bytes: Option<Bytes>,
}

impl Slot {
    /// Takes a place in the counts of the grants that might be used.
    ///
    /// # Errors
    /// [`LimitError::RateLimited`], [`LimitError::TooManyInFlight`]
    pub fn admit(&mut self, permit: &Permit, operation: Option<OperationKind>) -> Result<(), LimitError> {
        let (limits, slot) = (Arc::clone(&self.limits), &mut *self);
        for grant in permit.grants_for(operation) {
            if let Some(per_minute) = grant.per_minute.and_then(NonZeroU32::new) {
                let rate = limits.rate(grant, per_minute);
                rate.limiter.check().map_err(|until| LimitError::RateLimited {
                    retry_after: until.wait_time_from(DefaultClock::default().now()),
                })?;
            }
            if let Some(most) = grant.concurrent {
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                slot.held.push(limits.in_flight.take(&grant.id, most).ok_or(LimitError::TooManyInFlight)?);
            }
        }
        Ok(())
    }

    /// Takes room for `more` bytes.
    ///
    /// # Errors
    /// [`LimitError::NoRoom`]
    pub fn grow(&mut self, more: usize) -> Result<(), LimitError> {
        let ceilings = &self.limits.ceilings;
        let room = Room { node: ceilings.inflight_bytes, tenant: ceilings.inflight_bytes_per_tenant };
        match &mut self.bytes {
            Some(bytes) => bytes.grow(more, room),
            None => Ok(()),
        }
    }

    /// Gives room for `fewer` bytes back.
    pub fn shrink(&mut self, fewer: usize) {
        if let Some(bytes) = &mut self.bytes {
            bytes.shrink(fewer);
        }
    }

    /// Counts this call as an open stream too.
    ///
    /// # Errors
    /// [`LimitError::TooManyInFlight`]
    pub fn stream(&mut self, permit: &Permit) -> Result<(), LimitError> {
        let ceilings = &self.limits.ceilings;
        let node = Held::take(&self.limits.node_streams, ceilings.streams).ok_or(LimitError::TooManyInFlight)?;
        let principal = self
            .limits
            .streams
            .take(&permit.principal().id, ceilings.connection.per_principal)
            .ok_or(LimitError::TooManyInFlight)?;
        self.held.extend([node, principal]);
        Ok(())
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
        if !add(&self.node, more, room.node) {
            return Err(LimitError::NoRoom);
        }
        if !add(&self.tenant, more, room.tenant) {
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

/// One unit of a count.
#[derive(Debug)]
struct Held {
    count: Arc<AtomicUsize>,
}

impl Held {
    fn take(count: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        add(count, 1, most).then(|| Self { count: Arc::clone(count) })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Counts by name; names nobody holds are forgotten from time to time.
#[derive(Debug)]
struct Counters<K> {
    counts: Mutex<HashMap<K, Arc<AtomicUsize>>>,
}

impl<K> Default for Counters<K> {
    fn default() -> Self {
        Self { counts: Mutex::default() }
    }
}

impl<K: Eq + Hash + Clone> Counters<K> {
    fn counter(&self, name: &K) -> Arc<AtomicUsize> {
        const SWEEP_AT: usize = 4_096;
        let mut counts = lock(&self.counts);
        if let Some(known) = counts.get(name) {
            return Arc::clone(known);
        }
        if counts.len() >= SWEEP_AT {
            counts.retain(|_, count| Arc::strong_count(count) > 1);
        }
        Arc::clone(counts.entry(name.clone()).or_default())
    }

    fn take(&self, name: &K, most: usize) -> Option<Held> {
        Held::take(&self.counter(name), most)
    }
}

/// Adds if the sum stays within `most`.
fn add(count: &AtomicUsize, more: usize, most: usize) -> bool {
    count
        .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| now.checked_add(more).filter(|sum| *sum <= most))
        .is_ok()
}

/// A panic elsewhere leaves counts that are still numbers.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn counts_are_given_back_when_dropped() {
        let counters = Counters::default();
        let first = counters.take(&"g1", 1).unwrap();
        assert!(counters.take(&"g1", 1).is_none());
        assert!(counters.take(&"g2", 1).is_some());
        drop(first);
        assert!(counters.take(&"g1", 1).is_some());
    }
}
