//! Background tasks of the process: named, counted, drained at the end. Nothing else may spawn.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Spawns and drains. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    panics: Arc<AtomicU64>,
}

impl Tasks {
    /// None running.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `work` in the background. A panic is logged with the name and counted; it takes nothing else down.
    pub fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let panics = Arc::clone(&self.panics);
        let inner = self.tracker.track_future(work);
        #[expect(clippy::disallowed_methods, reason = "the one place that spawns")]
        self.tracker.spawn(async move {
            if tokio::spawn(inner).await.is_err_and(|error| error.is_panic()) {
                panics.fetch_add(1, Ordering::Relaxed);
                tracing::error!(task = name, "a background task panicked");
            }
        });
    }

    /// Cancelled when the process begins to stop.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// How many tasks run.
    #[must_use]
    pub fn running(&self) -> usize {
        self.tracker.len()
    }

    /// How many tasks have panicked.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// Tells all tasks to stop and waits for them, at most `grace`. `true` if all ended in time.
    pub async fn drain(&self, grace: Duration) -> bool {
        self.stop.cancel();
        self.tracker.close();
        tokio::time::timeout(grace, self.tracker.wait()).await.is_ok()
    }
}
