//! Background tasks of the process: named, counted, drained at the end. Nothing else may spawn.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
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
        self.tracker.spawn(async move {
            // What `work` holds is dropped with it; nothing of it is looked at after a panic.
            if AssertUnwindSafe(work).catch_unwind().await.is_err() {
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

/// Lets hyper run the streams of an HTTP/2 connection as tasks of ours.
#[derive(Clone, Debug)]
pub struct StreamTasks(pub Tasks);

impl<F> hyper::rt::Executor<F> for StreamTasks
where
    F: Future + Send + 'static,
{
    fn execute(&self, work: F) {
        self.0.spawn("http2 stream", async move {
            work.await;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_is_counted_and_the_others_go_on() {
        let tasks = Tasks::new();
        let (done, finished) = tokio::sync::oneshot::channel();
        tasks.spawn("bad", async { panic!("on purpose") });
        tasks.spawn("good", async move {
            let _ = done.send(());
        });
        finished.await.unwrap();
        assert!(tasks.drain(Duration::from_secs(5)).await);
        assert_eq!(tasks.panics(), 1);
    }

    #[tokio::test]
    async fn drain_tells_tasks_to_stop_and_reports_who_did_not() {
        let tasks = Tasks::new();
        let stop = tasks.stopping();
        tasks.spawn("polite", async move { stop.cancelled().await });
        assert!(tasks.drain(Duration::from_secs(5)).await);
        let tasks = Tasks::new();
        tasks.spawn("stubborn", std::future::pending());
        assert!(!tasks.drain(Duration::from_millis(1)).await);
        assert_eq!(tasks.running(), 1);
    }
}
