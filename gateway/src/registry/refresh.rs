//! Keeps the registry as the store has it: all of it at the start, afterwards what the change list names.
//!
//! Asks every second, and at once when the store says so (`NOTIFY`). Only tenants that are named are read again. What
//! disappeared or lost its power is cancelled after the new snapshot is in place, so that nobody can begin anew under
//! it. A store that is away leaves the snapshot as it is, and the metric tells for how long.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use store::{Listener, Store, TenantId};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::certificate::CertificateIssuer;
use super::compile::{BadRow, Compiler};
use super::grants::GrantSet;
use super::issuer::Issuer;
use super::{Credential, Registry, Snapshot, TenantWorld};
use crate::telemetry::Metrics;

/// Reads the store, replaces the snapshot.
#[derive(Debug)]
pub struct Refresh {
    store: Store,
    registry: Arc<Registry>,
    compiler: Arc<Compiler>,
    metrics: Arc<Metrics>,
    /// Whoever reads the store replaces the snapshot before the next one reads.
    turn: Mutex<()>,
}

impl Refresh {
    /// Of this registry from this store.
    #[must_use]
    pub fn new(store: Store, registry: Arc<Registry>, compiler: Arc<Compiler>, metrics: Arc<Metrics>) -> Self {
        Self { store, registry, compiler, metrics, turn: Mutex::new(()) }
    }

    /// Reads every tenant.
    ///
    /// # Errors
    /// The store can't be read; the snapshot stays.
    pub async fn load_all(&self) -> store::Result<()> {
        let _turn = self.turn.lock().await;
        self.reload_all().await
    }

    async fn reload_all(&self) -> store::Result<()> {
        // Read first: what changes while tenants are read is then read once more, never missed.
        let revision = self.store.revision().await?;
        let mut names: BTreeSet<TenantId> = self.store.load_all_tenants().await?.into_iter().collect();
        names.extend(self.registry.snapshot().tenants.keys().filter_map(|name| TenantId::new(name)));
        self.reload(&names, revision).await
    }

    /// Reads what changed since the snapshot's revision. `true` if anything did.
    ///
    /// # Errors
    /// The store can't be read; the snapshot stays.
    pub async fn catch_up(&self) -> store::Result<bool> {
        let _turn = self.turn.lock().await;
        let since = self.registry.snapshot().revision;
        let Some(changes) = self.store.changes(since).await? else {
            self.reload_all().await?;
            return Ok(true);
        };
        let Some(revision) = changes.iter().map(|change| change.revision).max() else { return Ok(false) };
        let names = changes.into_iter().map(|change| change.tenant).collect();
        self.reload(&names, revision).await?;
        Ok(true)
    }

    /// Catches up every second, or sooner when the store says so, until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut listener: Option<Listener> = None;
        let mut last_success = tokio::time::Instant::now();
        loop {
            if listener.is_none() {
                listener = self.store.listen().await.unwrap_or_default();
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(PERIOD) => {}
                heard = hear(&mut listener) => if heard.is_err() { listener = None; },
            }
            match self.catch_up().await {
                Ok(_) => last_success = tokio::time::Instant::now(),
                Err(error) => tracing::warn!(%error, "the registry could not be refreshed"),
            }
            let stale = i64::try_from(last_success.elapsed().as_secs()).unwrap_or(i64::MAX);
            self.metrics.registry_stale_seconds.set(stale);
        }
    }

    async fn reload(&self, names: &BTreeSet<TenantId>, revision: i64) -> store::Result<()> {
        let before = self.registry.snapshot();
        let (tenants, keys) = (before.tenants.clone(), before.keys.clone());
        let mut next = Snapshot { revision, tenants, keys, closed: before.closed.clone(), ..Snapshot::default() };
        next.keys.retain(|_, key| !names.contains(key.principal.tenant.as_str()));
        for name in names {
            next.tenants.remove(name.as_str());
            next.closed.remove(name.as_str());
            let rows = match self.store.load_tenant(name).await {
                Ok(Some(rows)) => rows,
                Ok(None) => continue,
                // Its own row closes this tenant, and nobody else's reading.
                Err(store::Error::Corrupt { table: store::Table::Tenants, .. }) => {
                    next.closed.insert(name.as_str().to_owned(), BadRow::unreadable_tenant(name));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let compiled = self.compiler.tenant(&rows, &before);
            if let Some(world) = compiled.world {
                next.tenants.insert(world.name.clone(), Arc::new(world));
            }
            next.keys.extend(compiled.keys.into_iter().map(|key| (key.hash, key)));
        }
        next.index_issuers();
        let after = Arc::new(next);
        self.registry.replace_shared(Arc::clone(&after));
        for name in names {
            cancel_lost(before.tenants.get(name.as_str()), after.tenants.get(name.as_str()));
        }
        cancel_lost_keys(&before.keys, &after.keys);
        self.metrics.registry_bad_rows.set(i64::try_from(after.bad_rows().count()).unwrap_or(i64::MAX));
        self.metrics.registry_revision.set(revision);
        tracing::info!(revision, tenants = names.len(), "the registry was refreshed");
        Ok(())
    }
}

/// Waits for the store to speak; for ever where it can't.
async fn hear(listener: &mut Option<Listener>) -> store::Result<()> {
    match listener {
        Some(listener) => listener.recv().await,
        None => std::future::pending().await,
    }
}

/// Cancels what `before` had and `after` has not, or has with another token.
fn cancel_lost(before: Option<&Arc<TenantWorld>>, after: Option<&Arc<TenantWorld>>) {
    let Some(before) = before else { return };
    let Some(after) = after else {
        // Everything of the tenant hangs on this one.
        before.cancelled.cancel();
        return;
    };
    for (name, card) in &before.cards {
        let same = after
            .cards
            .get(name)
            .is_some_and(|next| next.id == card.id && next.upstream.fingerprint == card.upstream.fingerprint);
        if !same {
            card.cancelled.cancel();
        }
    }
    if after.conditioned.since != before.conditioned.since {
        before.conditioned.replaced.cancel();
    }
    for issuer in &before.issuers {
        let is_kept = |next: &Arc<Issuer>| next.id == issuer.id && next.revision == issuer.revision;
        if !after.issuers.iter().any(is_kept) {
            issuer.cancelled.cancel();
        }
    }
    for issuer in &before.certificates {
        let is_kept = |next: &Arc<CertificateIssuer>| next.id == issuer.id && next.revision == issuer.revision;
        if !after.certificates.iter().any(is_kept) {
            issuer.cancelled.cancel();
        }
    }
    for (id, principal) in &before.principals {
        let next = after.principals.get(id);
        if next.is_none() {
            principal.cancelled.cancel();
        }
        cancel_lost_grants(&principal.grants, next.map(|next| &next.grants));
        if next.is_some_and(|next| next.standing.since != principal.standing.since) {
            principal.standing.replaced.cancel();
        }
    }
    for (group, grants) in &before.groups {
        cancel_lost_grants(grants, after.groups.get(group).map(Arc::as_ref));
    }
}

fn cancel_lost_grants(before: &GrantSet, after: Option<&GrantSet>) {
    for grant in before.iter() {
        let kept = after.is_some_and(|after| after.iter().any(|other| Arc::ptr_eq(other, grant)));
        if !kept {
            grant.cancelled.cancel();
        }
    }
}

fn cancel_lost_keys(before: &HashMap<[u8; 32], Arc<Credential>>, after: &HashMap<[u8; 32], Arc<Credential>>) {
    for (hash, key) in before {
        if after.get(hash).is_none_or(|next| next.key_id != key.key_id) {
            key.cancelled.cancel();
        }
    }
}

const PERIOD: Duration = Duration::from_secs(1);
