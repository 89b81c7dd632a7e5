//! `chancery migrate`: brings the schema up to this program's, and nothing else.

use anyhow::Context as _;
use clap::Args;
use secrecy::ExposeSecret as _;
use store::{Pools, Store};

use super::{Common, Failure, block_on, say};
use crate::config::load;

/// Bring the database's schema up to this version.
#[derive(Debug, Args)]
pub(super) struct Migrate {}

impl Migrate {
    pub(super) fn run(self, common: &Common) -> Result<(), Failure> {
        let Self {} = self;
        let settings = load::load_store(&common.source())?;
        block_on(async {
            let applied = migrate(settings.url.expose_secret()).await?;
            say(&format!("the database is up to date ({applied} migration(s) applied)\n"))
        })
    }
}

/// Opens the store at `url` (making the directory of a SQLite file) and migrates it; gives how many were applied.
pub(super) async fn migrate(url: &str) -> Result<usize, anyhow::Error> {
    make_directory(url)?;
    let store = Store::open(url, Pools::default()).await.context("the database can't be opened (store.url)")?;
    let pending = store.pending_migrations().await.context("the database's migrations can't be read")?;
    store.migrate().await.context("the database can't be migrated")?;
    store.close().await;
    Ok(pending.len())
}

/// A SQLite file is created when it is missing, its directory is not.
pub(super) fn make_directory(url: &str) -> Result<(), anyhow::Error> {
    let Some(path) = url.strip_prefix("sqlite:") else { return Ok(()) };
    let path = path.strip_prefix("//").unwrap_or(path);
    let path = path.split('?').next().unwrap_or(path);
    match std::path::Path::new(path).parent() {
        Some(parent) if !parent.as_os_str().is_empty() => {
            std::fs::create_dir_all(parent).with_context(|| format!("{} can't be made", parent.display()))
        }
        Some(_) | None => Ok(()),
    }
}
