//! The end of ownership, where a tenant keeps tasks for so many days only.
//!
//! What is older counts as missing at once and everywhere, because its age is looked at with every call. The rows go
//! later, in batches: until then nobody else can have the id. A tenant without a retention keeps everything for ever.

use crate::clock::{Clock, Micros};
use crate::registry::{Registry, Snapshot, TenantWorld};
use crate::tasks::Tasks;
use std::sync::Arc;
use std::time::Duration;
use store::{Store, TenantId};
use tokio_util::sync::CancellationToken;

/// When the oldest task that the tenant keeps was first seen.
pub(super) fn oldest(tenant: &TenantWorld, now: Micros) -> Micros {
    let kept = tenant.task_retention.map(|kept| Micros::try_from(kept.as_micros()).unwrap_or(Micros::MAX));
    kept.map_or(Micros::MIN, |kept| now.saturating_sub(kept))
}

/// Forgets from time to time what is too old, until the process stops.
pub(crate) fn start(store: &Store, registry: &Arc<Registry>, clock: &Clock, tasks: &Tasks) {
    let (store, registry, clock, stop) = (store.clone(), Arc::clone(registry), clock.clone(), tasks.stopping());
    tasks.spawn("task expiry", async move {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(PERIOD) => {}
            }
            match sweep(&store, &registry.snapshot(), clock.now(), &stop).await {
                Ok(0) => {}
                Ok(gone) => tracing::info!(gone, "tasks and contexts were forgotten by their tenants' retention"),
                Err(error) => tracing::warn!(%error, "tasks could not be forgotten"),
            }
        }
    });
}

/// Forgets what is too old at `now`; gives how many tasks and contexts that were.
///
/// # Errors
/// The store is away; what is done is done.
pub async fn sweep(store: &Store, world: &Snapshot, now: Micros, stop: &CancellationToken) -> store::Result<u64> {
    let mut gone = 0;
    for tenant in world.tenants.values().filter(|tenant| tenant.task_retention.is_some()) {
        let Some(id) = TenantId::new(&tenant.name) else { continue };
        let before = oldest(tenant, now);
        loop {
            let some = store.expire_tasks(&id, before, BATCH).await?;
            gone += some;
            if some < u64::from(BATCH) || stop.is_cancelled() {
                break;
            }
            // Calls that claim go first.
            tokio::time::sleep(BREATH).await;
        }
        loop {
            let some = store.expire_contexts(&id, before, BATCH).await?;
            gone += some;
            if some < u64::from(BATCH) || stop.is_cancelled() {
                break;
            }
            tokio::time::sleep(BREATH).await;
        }
    }
    Ok(gone)
}

const PERIOD: Duration = Duration::from_secs(600);
const BATCH: u32 = 500;
const BREATH: Duration = Duration::from_millis(50);
