//! Whether the store answers, and at which revision it is.

use super::Shared;
use super::error::ApiError;
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
}

/// The gateway's health.
#[utoipa::path(get, path = "/api/v1/health", tag = "health",
    responses((status = 200, body = Health), (status = 503, body = ApiError)))]
pub(super) async fn read(State(admin): State<Shared>) -> Result<Json<Health>, ApiError> {
    let revision = admin.store.revision().await?;
    Ok(Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION"), revision }))
}
