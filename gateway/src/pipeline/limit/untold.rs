//! What was used here → the store, and what other replicas used → the meters.
//!
//! Meters put themselves on a list when they are used; twice a second the list is told to the store in one go. So a quota
//! is exact up to what the other replicas admit in that time, and a crash forgets as much. Never in the path of a call.

use super::Limits;
use crate::clock::{Clock, Micros};
use crate::registry::Registry;
use crate::registry::meter::{self, Meter, Metered, News, Rates};
use crate::tasks::Tasks;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::{Period, Store, TenantId, Usage};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Meters that the store must hear of.
#[derive(Debug, Default)]
pub(crate) struct Untold {
    meters: Mutex<Vec<Arc<Meter>>>,
}

impl Untold {
    /// Notes a meter that was used, if anything of it is counted in the store.
    pub(super) fn hear(&self, metered: &Metered, rates: Rates) {
        let allowance = &metered.allowance;
        let is_stored = allowance.daily.is_some()
            || allowance.monthly.is_some()
            || (rates == Rates::Shared && allowance.per_minute.is_some());
        if is_stored && metered.meter.needs_store() {
            self.lock().push(Arc::clone(&metered.meter));
        }
    }

    fn take(&self) -> Vec<Arc<Meter>> {
        std::mem::take(&mut *self.lock())
    }

    fn again(&self, meter: &Arc<Meter>) {
        if meter.needs_store() {
            self.lock().push(Arc::clone(meter));
        }
    }

    /// A panic elsewhere leaves a list that is still one.
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Meter>>> {
        self.meters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the store twice a second until `stop`, and once more then.
pub(super) fn start(limits: &Arc<Limits>, store: &Store, registry: &Arc<Registry>, clock: &Clock, tasks: &Tasks) {
    let (limits, store, registry) = (Arc::clone(limits), store.clone(), Arc::clone(registry));
    let (clock, stop) = (clock.clone(), tasks.stopping());
    tasks.spawn("limits told", async move { run(&limits, &store, &registry, &clock, &stop).await });
}

async fn run(limits: &Limits, store: &Store, registry: &Registry, clock: &Clock, stop: &CancellationToken) {
    let pause = match limits.rates() {
        Rates::Local => PAUSE,
        Rates::Shared => SHARED_PAUSE,
    };
    let (mut forgotten, mut recalled) = (0, None);
    loop {
        // Also what this replica has not used at all lately, so that everybody knows the same of a quota.
        if recalled.is_none_or(|at: Instant| at.elapsed() > RECALL)
            && recall(store, registry, clock.now()).await.is_ok()
        {
            recalled = Some(Instant::now());
        }
        let stopping = paused(pause, stop).await;
        tell(limits, store).await;
        if stopping {
            return;
        }
        let day = meter::day_of(clock.now());
        if day != forgotten && forget(store, clock.now()).await.is_ok() {
            forgotten = day;
        }
    }
}

/// `true` when it is time to stop.
async fn paused(pause: Duration, stop: &CancellationToken) -> bool {
    tokio::select! {
        () = stop.cancelled() => true,
        () = tokio::time::sleep(pause) => false,
    }
}

/// A tenant, and the subject of a meter in it.
type Whose = (String, String);

/// What all replicas used in this day and month.
pub(crate) async fn recall(store: &Store, registry: &Registry, now: Micros) -> store::Result<()> {
    let mut used: HashMap<Whose, Vec<(Period, Micros, u64)>> = HashMap::new();
    for (period, starts) in [(Period::Day, meter::day_of(now)), (Period::Month, meter::month_of(now))] {
        for row in store.usage(period, starts).await? {
            let of = used.entry((row.tenant.as_str().to_owned(), row.subject)).or_default();
            of.push((period, starts, u64::try_from(row.used).unwrap_or(0)));
        }
    }
    if used.is_empty() {
        return Ok(());
    }
    for world in registry.snapshot().tenants.values() {
        for metered in world.metered() {
            for (period, starts, count) in used.get(&metered.meter.subject).into_iter().flatten() {
                metered.meter.stored(*period, *starts, *count);
            }
        }
    }
    Ok(())
}

async fn tell(limits: &Limits, store: &Store) {
    let meters = limits.untold.take();
    for some in meters.chunks(AT_ONCE) {
        let news: Vec<(&Arc<Meter>, TenantId, News)> =
            some.iter().filter_map(|meter| Some((meter, TenantId::new(&meter.subject.0)?, meter.news()))).collect();
        if add(store, &news).await.is_err() {
            for (meter, _, news) in news {
                meter.not_stored(news);
                limits.untold.again(meter);
            }
            continue;
        }
        for (meter, tenant, News { lease, .. }) in &news {
            let Some((starts, _, wanted, most)) = *lease else { continue };
            let wanted = usage(tenant, meter, Period::Minute, starts, wanted);
            match store.lease_usage(&wanted, count(most)).await {
                Ok(given) => meter.leased(starts, u64::try_from(given).unwrap_or(0)),
                // Without an answer there is nothing more to be used.
                Err(error) => tracing::warn!(%error, "no lease of a shared rate"),
            }
        }
    }
}

/// Adds what is new, and hears of the totals.
async fn add(store: &Store, news: &[(&Arc<Meter>, TenantId, News)]) -> store::Result<()> {
    let mut usages = Vec::new();
    let mut of = Vec::new();
    for (meter, tenant, news) in news {
        let beyond = news.lease.filter(|(_, beyond, ..)| *beyond > 0);
        let beyond = beyond.map(|(starts, beyond, ..)| (Period::Minute, starts, beyond));
        for (period, starts, new) in news.counts.iter().copied().chain(beyond) {
            usages.push(usage(tenant, meter, period, starts, new));
            of.push((meter, period, starts));
        }
    }
    if usages.is_empty() {
        return Ok(());
    }
    let totals = store.add_usage(&usages).await?;
    for ((meter, period, starts), total) in of.into_iter().zip(totals) {
        meter.stored(period, starts, u64::try_from(total).unwrap_or(0));
    }
    Ok(())
}

fn usage(tenant: &TenantId, meter: &Meter, period: Period, starts: Micros, new: u64) -> Usage {
    Usage { tenant: tenant.clone(), subject: meter.subject.1.clone(), period, starts, used: count(new) }
}

fn count(calls: u64) -> i64 {
    i64::try_from(calls).unwrap_or(i64::MAX)
}

/// Counts of periods that nobody asks for any more.
async fn forget(store: &Store, now: Micros) -> store::Result<()> {
    const DAYS: Micros = 24 * 60 * 60 * 1_000_000;
    for (period, kept) in [(Period::Minute, 1), (Period::Day, 40), (Period::Month, 400)] {
        store.forget_usage(period, now - kept * DAYS).await?;
    }
    Ok(())
}

const RECALL: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(500);
const SHARED_PAUSE: Duration = Duration::from_millis(100);
/// Meters told in one transaction.
const AT_ONCE: usize = 200;
