//! Whether the store answers, at which revision it is, and what is closed because its row is wrong.

use super::Shared;
use super::access::Who;
use super::error::{ApiError, FieldProblem};
use super::extract::State;
use crate::audit::{self, Backlog};
use crate::registry::compile::{BadRow, Problem};
use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

/// The gateway's health.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// Always `ok`; otherwise the answer is an error.
    pub status: &'static str,
    /// The program's version.
    pub version: &'static str,
    /// The store's revision.
    pub revision: i64,
    /// Resources that are closed because their rows are wrong or can't be read, in the tenants of the asking one; at most 100.
    pub closed: Vec<Closed>,
    /// Whether the store takes writes.
    pub store: StoreState,
    /// How far this process's records are behind.
    pub audit: AuditState,
}

/// Whether changes can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoreState {
    /// It can be read, and takes no writes.
    ReadOnly,
    /// It takes writes.
    Writable,
}

/// How well records are kept, and how far the store is behind them.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(super) struct AuditState {
    /// `ready`; `full` or `failing` where no record can be taken, so that calls are refused (or go unrecorded, where that
    /// was chosen).
    pub state: &'static str,
    /// Bytes of records on this process's disk that the store may not have yet.
    pub spool_bytes: u64,
    /// Bytes it may hold.
    pub spool_max_bytes: u64,
    /// Four fifths of that are used.
    pub high: bool,
    /// Failed attempts to bring records to the store since the last success.
    pub store_failures: u64,
    /// Exchanges without a complete record since the start.
    pub lost: u64,
    /// Exchanges served without a record, by choice.
    pub unrecorded: u64,
    /// Records that the store refused; they lie in `rejected.jsonl`.
    pub rejected: u64,
}

impl AuditState {
    pub(super) fn of(backlog: &Backlog) -> Self {
        let state = match backlog.health {
            audit::spool::Health::Failing(_) => "failing",
            audit::spool::Health::Full => "full",
            audit::spool::Health::Ready => "ready",
        };
        Self {
            state,
            spool_bytes: backlog.bytes,
            spool_max_bytes: backlog.max_bytes,
            high: backlog.is_high(),
            store_failures: backlog.store_failures,
            lost: backlog.lost,
            unrecorded: backlog.unrecorded,
            rejected: backlog.rejected,
        }
    }
}

/// A resource that is closed, and why.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Closed {
    /// The tenant.
    pub tenant: String,
    /// `card`, `grant`, `key`, `policy`, `principal`, `signing_key` or `tenant`.
    pub kind: &'static str,
    /// Its name, or its id where it has none.
    pub name: String,
    /// What is wrong with it.
    pub problems: Vec<FieldProblem>,
}

/// The gateway's health.
#[utoipa::path(get, path = "/api/v1/health", tag = "health",
    responses((status = 200, body = Health), (status = 503, body = ApiError)))]
pub(super) async fn read(State(admin): State<Shared>, who: Who) -> Result<Json<Health>, ApiError> {
    let revision = admin.store.revision().await?;
    let world = admin.registry.snapshot();
    let seen = world.bad_rows().filter(|(tenant, _)| who.roles.sees(tenant));
    let closed = seen.take(MOST_ROWS).map(closed).collect();
    let store = if admin.store.takes_writes().await? { StoreState::Writable } else { StoreState::ReadOnly };
    let audit = AuditState::of(&admin.audit.backlog());
    Ok(Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION"), revision, closed, store, audit }))
}

fn closed((tenant, row): (&str, &BadRow)) -> Closed {
    let problem = |problem: &Problem| FieldProblem { path: problem.path.clone(), problem: problem.problem.clone() };
    let problems = row.problems.iter().map(problem).collect();
    Closed { tenant: tenant.to_owned(), kind: row.kind, name: row.name.clone(), problems }
}

const MOST_ROWS: usize = 100;
