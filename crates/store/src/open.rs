//! Opening a store: the address decides the database; pools, migrations, health. Takes an address and pool sizes;
//! gives a [`Store`], cheap to clone.

use std::time::Duration;

use crate::Result;

/// How many connections a store may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pools {
    /// Connections for everything but the audit (SQLite: readers; there is always one writer).
    pub connections: u32,
    /// Connections for the audit (PostgreSQL only).
    pub audit_connections: u32,
    /// How long a call waits for a free connection before it is [`crate::Error::Unavailable`].
    pub acquire_timeout: Duration,
}

impl Default for Pools {
    fn default() -> Self {
        Self { connections: 8, audit_connections: 2, acquire_timeout: Duration::from_secs(5) }
    }
}

/// The database. Clones share the pools.
#[derive(Clone, Debug)]
pub struct Store {}

impl Store {
    /// Opens `sqlite://path`, `sqlite::memory:` or `postgres://…`. A missing SQLite file is created. Does not migrate.
    pub async fn open(url: &str, pools: Pools) -> Result<Self> {
        todo!()
    }

    /// Brings the schema up to this program's. Safe to call from several processes at once.
    pub async fn migrate(&self) -> Result<()> {
        todo!()
    }

    /// Versions of this program's migrations that the database has not seen.
    pub async fn pending_migrations(&self) -> Result<Vec<i64>> {
        todo!()
    }

    /// Whether the database answers.
    pub async fn health(&self) -> Result<()> {
        todo!()
    }

    /// Closes the pools; calls after it are [`crate::Error::Unavailable`].
    pub async fn close(&self) {
        todo!()
    }
}
