//! Starts a whole gateway in the test's process: ports of its own, a database of its own, a spool of its own.

use crate::wire::DEADLINE;
use chancery::app::App;
use chancery::clock::Clock;
use chancery::config::{Source, load};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store::testing::{TestStore, sqlite_file};
use store::{AuditFilter, AuditRecord, TenantId};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A gateway that stops when this is dropped.
pub(crate) struct Running {
    pub(crate) app: Arc<App>,
    pub(crate) address: SocketAddr,
    _database: TestStore,
    _dir: tempfile::TempDir,
    _stop: DropGuard,
}

/// Starts it; `overrides` are environment variables.
pub(crate) async fn start(overrides: &[(String, String)]) -> Running {
    let (dir, database) = (tempfile::tempdir().unwrap(), sqlite_file().await);
    let audit = dir.path().join("audit").display().to_string();
    let defaults = [
        ("PUBLIC__LISTEN", "127.0.0.1:0"),
        ("ADMIN__LISTEN", "127.0.0.1:0"),
        ("PUBLIC__PUBLIC_URLS", "https://gw.test"),
        ("SECRETS__MASTER_KEY", "q2Vb0b1Yh0mS4f0m7J8nT3x5v9c1L6w2ZkQeRtYuIoA="),
        ("EGRESS__ALLOW", "127.0.0.0/8"),
        ("STORE__URL", &database.url),
        ("AUDIT__DIR", &audit),
    ];
    let defaults = defaults.into_iter().map(|(name, text)| (format!("CHANCERY__{name}"), text.to_owned()));
    let environment: BTreeMap<String, String> = defaults.chain(overrides.iter().cloned()).collect();
    let source = Source { file: None, environment: environment.into_iter().collect() };
    let bound = App::build(load::load(&source).unwrap(), Clock::System).await.unwrap();
    let (app, address) = (Arc::clone(&bound.app), bound.public_address().unwrap());
    let stop = CancellationToken::new();
    #[expect(clippy::disallowed_methods, reason = "the gateway's own tasks are what is under test")]
    tokio::spawn(bound.run(stop.clone().cancelled_owned()));
    Running { app, address, _database: database, _dir: dir, _stop: stop.drop_guard() }
}

impl Running {
    /// Every closed record, oldest first, as soon as there are `count`; all there are when they do not come.
    pub(crate) async fn records(&self, count: usize) -> Vec<AuditRecord> {
        let deadline = tokio::time::Instant::now() + DEADLINE;
        loop {
            let mut closed = Vec::new();
            for tenant in ["acme", "globex"].map(|name| TenantId::new(name).unwrap()) {
                let found = self.app.store.audit_query(&tenant, &AuditFilter::default(), None, 10_000).await.unwrap();
                closed.extend(found.into_iter().filter(|record| record.at_close.is_some()));
            }
            if closed.len() >= count || tokio::time::Instant::now() > deadline {
                closed.sort_by_key(|record| record.seq);
                return closed;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
