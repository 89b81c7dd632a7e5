//! When a credential last proved somebody: noted on the request path without waiting, written later, in batches.
//!
//! *Takes* times as credentials are used. *Gives*, to whoever writes them, those that changed. A minute's accuracy is
//! all that is promised, so the request path writes to shared memory at most once in a minute for each credential.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use store::{KeyUse, Store, TenantId};
use tokio_util::sync::CancellationToken;

use super::{Credential, Registry};
use crate::clock::Micros;

/// The last use of one credential.
#[derive(Debug, Default)]
pub struct LastUse {
    noted: AtomicI64,
    written: AtomicI64,
}

impl LastUse {
    /// As the store has it.
    #[must_use]
    pub fn of(stored: Option<Micros>) -> Self {
        let at = stored.unwrap_or_default();
        Self { noted: AtomicI64::new(at), written: AtomicI64::new(at) }
    }

    /// It was used at `now`.
    pub fn note(&self, now: Micros) {
        if now.saturating_sub(self.noted.load(Ordering::Relaxed)) >= ACCURACY {
            self.noted.store(now, Ordering::Relaxed);
        }
    }

    /// A use that is not in the store yet.
    #[must_use]
    pub fn unwritten(&self) -> Option<Micros> {
        let noted = self.noted.load(Ordering::Relaxed);
        (noted > self.written.load(Ordering::Relaxed)).then_some(noted)
    }

    /// The use at `at` is in the store.
    pub fn written(&self, at: Micros) {
        self.written.fetch_max(at, Ordering::Relaxed);
    }
}

/// Writes what was noted.
#[derive(Clone, Debug)]
pub struct LastUses {
    store: Store,
    registry: Arc<Registry>,
}

impl LastUses {
    /// Of the keys in this registry, to this store.
    #[must_use]
    pub const fn new(store: Store, registry: Arc<Registry>) -> Self {
        Self { store, registry }
    }

    /// Writes every half minute until `stop`, and once more then.
    pub async fn run(self, stop: CancellationToken) {
        loop {
            let stopped = tokio::select! {
                () = stop.cancelled() => true,
                () = tokio::time::sleep(PERIOD) => false,
            };
            if let Err(error) = self.write().await {
                tracing::warn!(%error, "when keys were last used could not be written");
            }
            if stopped {
                return;
            }
        }
    }

    /// Writes what is new. What could not be written is tried again with the next.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn write(&self) -> store::Result<()> {
        let world = self.registry.snapshot();
        let new = world.keys.values().filter_map(|key| Some((key, key.last_use.unwritten()?)));
        let uses: Vec<(&Arc<Credential>, KeyUse)> = new
            .filter_map(|(key, at)| {
                let tenant = TenantId::new(&key.principal.tenant)?;
                Some((key, KeyUse { tenant, id: key.key_id.clone(), at }))
            })
            .collect();
        if uses.is_empty() {
            return Ok(());
        }
        let (keys, uses): (Vec<_>, Vec<_>) = uses.into_iter().unzip();
        self.store.touch_keys(&uses).await?;
        for (key, used) in keys.into_iter().zip(&uses) {
            key.last_use.written(used.at);
        }
        Ok(())
    }
}

const PERIOD: Duration = Duration::from_secs(30);
const ACCURACY: Micros = 60_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_noted_once_a_minute_and_written_once() {
        let last = LastUse::of(Some(5));
        assert_eq!(last.unwritten(), None);
        last.note(ACCURACY);
        assert_eq!(last.unwritten(), None, "within the minute");
        last.note(ACCURACY + 5);
        last.note(ACCURACY + 6);
        assert_eq!(last.unwritten(), Some(ACCURACY + 5));
        last.written(ACCURACY + 5);
        assert_eq!(last.unwritten(), None);
    }
}
