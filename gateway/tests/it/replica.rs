//! A second gateway on one database, beside a [`Harness`].

use crate::harness::{DEADLINE, Harness};
use chancery::app::App;
use chancery::clock::Clock;
use chancery::config::{Source, load};
use secrecy::ExposeSecret as _;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Another gateway on the harness's database.
pub(crate) struct Replica {
    app: Arc<App>,
    pub(crate) public: SocketAddr,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<bool>,
    _dir: tempfile::TempDir,
}

impl Replica {
    pub(crate) async fn beside(h: &Harness, settings: &[(&str, &str)]) -> Self {
        Self::beside_with(h, h.app.clock.clone(), settings).await
    }

    /// One with a clock of its own.
    pub(crate) async fn beside_with(h: &Harness, clock: Clock, settings: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let audit = dir.path().join("audit").display().to_string();
        let mut environment = vec![
            ("CHANCERY__PUBLIC__LISTEN", "127.0.0.1:0"),
            ("CHANCERY__ADMIN__LISTEN", "127.0.0.1:0"),
            ("CHANCERY__PUBLIC__PUBLIC_URLS", "https://gw.test"),
            ("CHANCERY__SECRETS__MASTER_KEY", crate::harness::MASTER_KEY),
            ("CHANCERY__EGRESS__ALLOW", "127.0.0.0/8"),
            ("CHANCERY__STORE__URL", h.app.settings.store.url.expose_secret()),
            ("CHANCERY__AUDIT__DIR", &audit),
        ];
        environment.extend_from_slice(settings);
        let environment = environment.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let settings = load::load(&Source { file: None, environment }).unwrap();
        let bound = App::build(settings, clock).await.unwrap();
        let (app, public, stop) = (Arc::clone(&bound.app), bound.public_address().unwrap(), CancellationToken::new());
        #[expect(clippy::disallowed_methods, reason = "the gateway's own tasks are what is under test")]
        let running = tokio::spawn(bound.run(stop.clone().cancelled_owned()));
        Self { app, public, stop, running, _dir: dir }
    }

    pub(crate) async fn finish(self) {
        self.stop.cancel();
        assert!(tokio::time::timeout(DEADLINE, self.running).await.expect("it stops in time").unwrap());
        drop(self.app);
    }
}
