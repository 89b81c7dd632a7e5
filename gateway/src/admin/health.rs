//! Whether the store answers, at which revision it is, and what is closed because its row is wrong.

use super::Shared;
use super::access::Who;
use super::error::{ApiError, FieldProblem};
use crate::registry::compile::{BadRow, Problem};
use axum::Json;
use axum::extract::State;
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
    Ok(Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION"), revision, closed }))
}

fn closed((tenant, row): (&str, &BadRow)) -> Closed {
    let problem = |problem: &Problem| FieldProblem { path: problem.path.clone(), problem: problem.problem.clone() };
    let problems = row.problems.iter().map(problem).collect();
    Closed { tenant: tenant.to_owned(), kind: row.kind, name: row.name.clone(), problems }
}

const MOST_ROWS: usize = 100;
