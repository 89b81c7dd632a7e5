//! Places of limits that all replicas share: what is used here → the store, and what it lends → the meters.
//!
//! A call never waits for it. A replica asks for places ten times a second where it runs out of them and once a second
//! where it keeps some; what it does not ask for again is free for others when the lease has ended, so that a dead
//! replica's places come back by themselves. Here a lease is timed from before the store was asked, by a stopwatch; there by
//! the database's clock. So it ends here first, whatever the clocks of replicas say.

use super::Limits;
use crate::clock::{Clock, Micros};
use crate::pipeline::head;
use crate::registry::meter::places::{LEASE, Wish};
use crate::registry::meter::{Kind, Meter, Rates};
use crate::tasks::Tasks;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{PlaceKind, PlaceWish, Store, TenantId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Meters that have begun to need places.
#[derive(Debug, Default)]
pub(crate) struct Borrowers {
    new: Mutex<Vec<Arc<Meter>>>,
}

impl Borrowers {
    /// How many of `most` places of this kind may be filled here.
    pub(super) fn room(&self, meter: &Arc<Meter>, kind: Kind, most: usize) -> usize {
        let room = meter.places(kind).1.room(most);
        if meter.needs_places() {
            self.new.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(meter));
        }
        room
    }

    fn take(&self) -> Vec<Arc<Meter>> {
        std::mem::take(&mut *self.new.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Borrows until `stop`, and until the last call has ended; then gives everything back.
pub(super) fn start(limits: &Arc<Limits>, store: &Store, clock: &Clock, tasks: &Tasks) {
    if limits.rates() == Rates::Local {
        return;
    }
    let (store, clock, began) = (store.clone(), clock.clone(), Instant::now());
    let mut lender = Lender { replica: head::new_id(), store, clock, began, meters: Vec::new(), swept: None };
    let (limits, stop) = (Arc::clone(limits), tasks.stopping());
    tasks.spawn("shared places", async move { Box::pin(lender.run(&limits, &stop)).await });
}

/// One side of the loans.
struct Lender {
    replica: String,
    store: Store,
    /// The process's time, for a store that has none of its own.
    clock: Clock,
    began: Instant,
    meters: Vec<Arc<Meter>>,
    swept: Option<Instant>,
}

impl Lender {
    async fn run(&mut self, limits: &Limits, stop: &CancellationToken) {
        let began = self.began;
        let stopwatch = || passed(began);
        loop {
            tokio::time::sleep(PAUSE).await;
            self.meters.extend(limits.borrowers.take());
            let (asked, given_up, now) = self.wishes(stopwatch());
            Box::pin(attended(&self.meters, stopwatch, self.tell(asked, given_up, now))).await;
            if self.swept.is_none_or(|at| at.elapsed() > SWEEP) {
                self.swept = Some(Instant::now());
                // A dead replica's rows are no loans any more; this only keeps the table small.
                let forget = self.store.forget_places(self.clock.now(), LEASE);
                Box::pin(attended(&self.meters, stopwatch, async { drop(forget.await) })).await;
            }
            if stop.is_cancelled() && limits.node_calls.load(Ordering::Relaxed) == 0 {
                if let Err(error) = self.store.give_up_all_places(&self.replica).await {
                    tracing::warn!(%error, "shared places were not given back; they come free when their lease ends");
                }
                return;
            }
        }
    }

    /// What is needed now, and what is not any more.
    fn wishes(&mut self, now: Micros) -> (Asked, Vec<GivenUp>, Micros) {
        let (mut wishes, mut of, mut given_up) = (Vec::new(), Vec::new(), Vec::new());
        for meter in &self.meters {
            let Some(tenant) = TenantId::new(&meter.subject.0) else { continue };
            for kind in [Kind::Call, Kind::Stream] {
                let (in_use, places) = meter.places(kind);
                match places.wish(in_use.load(Ordering::Acquire), now) {
                    Wish::None => {}
                    Wish::GiveUp => {
                        places.give_up();
                        given_up.push((tenant.clone(), meter.subject.1.clone(), stored(kind)));
                    }
                    Wish::Lend { in_use, more, most } => {
                        wishes.push(PlaceWish {
                            tenant: tenant.clone(),
                            subject: meter.subject.1.clone(),
                            kind: stored(kind),
                            in_use: count(in_use),
                            more: count(more),
                            most: count(most),
                        });
                        of.push((Arc::clone(meter), kind));
                    }
                }
            }
        }
        self.meters.retain(|meter| {
            let needs = [Kind::Call, Kind::Stream].into_iter().any(|kind| !meter.places(kind).1.is_idle());
            if !needs {
                meter.needs_no_places();
            }
            needs
        });
        ((wishes, of), given_up, now)
    }

    /// Asks for what is needed, and gives up what is not.
    async fn tell(&self, (wishes, of): Asked, given_up: Vec<GivenUp>, now: Micros) {
        for (wishes, of) in wishes.chunks(AT_ONCE).zip(of.chunks(AT_ONCE)) {
            self.ask(wishes, of, now).await;
        }
        if !given_up.is_empty()
            && let Err(error) = self.store.give_up_places(&self.replica, &given_up).await
        {
            tracing::warn!(%error, "shared places were not given back; they come free when their lease ends");
        }
    }

    async fn ask(&self, wishes: &[PlaceWish], of: &[(Arc<Meter>, Kind)], now: Micros) {
        let asked = self.store.lend_places(&self.replica, wishes, self.clock.now(), LEASE);
        match tokio::time::timeout(LONGEST, asked).await {
            Ok(Ok(lent)) => {
                for ((meter, kind), lent) in of.iter().zip(lent) {
                    meter.places(*kind).1.lend(usize::try_from(lent).unwrap_or(0), now);
                }
            }
            // What was lent before is good until its lease ends.
            Ok(Err(error)) => tracing::warn!(%error, "no places of a shared limit"),
            Err(_late) => tracing::warn!("no places of a shared limit in time"),
        }
    }
}

/// What the store is asked, and for which meters.
type Asked = (Vec<PlaceWish>, Vec<(Arc<Meter>, Kind)>);
type GivenUp = (TenantId, String, PlaceKind);

/// Waits for the store, and meanwhile lets leases end that it has not renewed: others may be lent the same places.
async fn attended(meters: &[Arc<Meter>], now: impl Fn() -> Micros, asking: impl Future<Output = ()>) {
    let mut asking = std::pin::pin!(asking);
    loop {
        tokio::select! {
            () = asking.as_mut() => return,
            () = tokio::time::sleep(PAUSE) => {
                for (meter, kind) in meters.iter().flat_map(|meter| [(meter, Kind::Call), (meter, Kind::Stream)]) {
                    meter.places(kind).1.expire(now());
                }
            }
        }
    }
}

fn passed(since: Instant) -> Micros {
    Micros::try_from(since.elapsed().as_micros()).unwrap_or(Micros::MAX)
}

const fn stored(kind: Kind) -> PlaceKind {
    match kind {
        Kind::Call => PlaceKind::Call,
        Kind::Stream => PlaceKind::Stream,
    }
}

fn count(places: usize) -> i64 {
    i64::try_from(places).unwrap_or(i64::MAX)
}

const PAUSE: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
const SWEEP: Duration = Duration::from_secs(60);
/// Wishes told in one transaction.
const AT_ONCE: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    /// A store that hangs must not keep here what it has lent to others.
    #[tokio::test]
    async fn leases_end_while_the_store_does_not_answer() {
        let clock = Clock::manual(1_800_000_000_000_000);
        let meter = Meter::of("acme", "tenant");
        let places = meter.places(Kind::Call).1;
        let _asked = places.room(25);
        places.lend(25, clock.now());
        clock.advance(11_000_000);
        let ended = async {
            let deadline = Instant::now() + LONGEST;
            while places.room(25) == 25 {
                assert!(Instant::now() < deadline, "it is kept");
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = attended(std::slice::from_ref(&meter), || clock.now(), std::future::pending()) => {}
            () = ended => {}
        }
        assert_eq!(places.room(25), 3);
    }
}
