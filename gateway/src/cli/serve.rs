//! `chancery serve`: production.

use anyhow::Context as _;
use clap::Args;
use secrecy::ExposeSecret as _;
use tokio::signal::unix::{SignalKind, signal};

use super::{Common, Failure, block_on, migrate, output};
use crate::app::App;
use crate::clock::Clock;
use crate::config::load;
use crate::telemetry;

/// Serve: discovery and calls on one listener, administration on another.
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Bring the database's schema up to date first.
    #[arg(long)]
    migrate: bool,
}

impl Serve {
    pub(super) fn run(self, common: &Common) -> Result<(), Failure> {
        let settings = load::load(&common.source())?;
        telemetry::init(&settings.telemetry);
        block_on(async {
            if self.migrate {
                migrate::migrate(settings.store.url.expose_secret()).await?;
            } else {
                migrate::make_directory(settings.store.url.expose_secret())?;
            }
            let bound = App::build(settings, Clock::System).await.map_err(anyhow::Error::from)?;
            let shutdown = shutdown_signal().context("signals can't be listened for")?;
            if let Some(link) = bound.setup_link() {
                output::line(&format!(
                    "No administrator has an account yet. Make the first one here (once, and only until this process \
                     ends):\n{link}"
                ))?;
            }
            bound.run(shutdown).await;
            Ok(())
        })
    }
}

/// Ends with the first SIGTERM or SIGINT.
pub(super) fn shutdown_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
