//! Conditions: what grants cannot say (time, network, release, metadata, extensions), in Cedar. One document a tenant,
//! kept with its versions; each is compiled and validated before it is saved.

use super::Shared;
use super::access::Who;
use super::body::{Document, under, value};
use super::error::ApiError;
use super::extract::{Path, Query, State};
use super::history::{History, HistoryQuery, Return, Version};
use super::resource::{
    Create, Expected, Listing, PageQuery, Resource, Update, check_name, existing_tenant, new_id, rfc3339, tenant_id,
};
use crate::registry::conditions::ConditionsDocument;
use axum::Json;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{ConditionsEdit, ConditionsRow, NewConditions};
use utoipa::ToSchema;

type ConditionsResource = Resource<ConditionsDocument>;

/// The tenant's conditions: none or one.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/conditions", tag = "conditions",
    params(("tenant" = String, Path), PageQuery), responses((status = 200, body = Listing<ConditionsResource>)))]
pub(super) async fn list(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Listing<ConditionsResource>>, ApiError> {
    let tenant = existing_tenant(&admin.store, &tenant).await?;
    let rows = admin.store.conditions(&tenant, query.page()).await?;
    Ok(Json(query.listing(rows, |row| row.name.clone(), show)?))
}

/// Makes the tenant's conditions. Every problem of the document is named at once, with its line.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/conditions", tag = "conditions", params(("tenant" = String, Path)),
    request_body = Create<ConditionsDocument>,
    responses((status = 201, body = ConditionsResource), (status = 400, body = ApiError), (status = 409, body = ApiError)))]
pub(super) async fn create(
    State(admin): State<Shared>,
    who: Who,
    Path(tenant): Path<String>,
    Document { typed, .. }: Document<Create<ConditionsDocument>>,
) -> Result<(StatusCode, Json<ConditionsResource>), ApiError> {
    check_name(&typed.name)?;
    let id = existing_tenant(&admin.store, &tenant).await?;
    let document = check(&admin, &typed.spec).await?;
    if let Some(other) = admin.store.conditions(&id, store::Page { after: "", limit: 1 }).await?.first() {
        let message = format!("the tenant has conditions {} already; update or remove them", other.name);
        return Err(ApiError::at_odds("conditions_exist", message));
    }
    let now = admin.clock.now();
    let (name, note) = (typed.name.clone(), String::new());
    let new = NewConditions { id: new_id("cnd-", now)?, name, document, changed_by: who.name, note };
    admin.store.create_conditions(&id, &new, now).await?;
    admin.applied().await;
    Ok((StatusCode::CREATED, read(State(admin), Path((tenant, typed.name))).await?))
}

/// The conditions of this name.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/conditions/{name}", tag = "conditions",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = ConditionsResource), (status = 404, body = ApiError)))]
pub(super) async fn read(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
) -> Result<Json<ConditionsResource>, ApiError> {
    Ok(Json(show(row(&admin, &tenant, &name).await?)?))
}

/// Makes the next version. New calls are judged by it within seconds; open streams that it denies end.
#[utoipa::path(put, path = "/api/v1/tenants/{tenant}/conditions/{name}", tag = "conditions",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = Update<ConditionsDocument>,
    responses((status = 200, body = ConditionsResource), (status = 412, body = ApiError)))]
pub(super) async fn update(
    State(admin): State<Shared>,
    who: Who,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
    Document { typed, .. }: Document<Update<ConditionsDocument>>,
) -> Result<Json<ConditionsResource>, ApiError> {
    let edit =
        ConditionsEdit { document: check(&admin, &typed.spec).await?, changed_by: who.name, note: String::new() };
    admin.store.update_conditions(&tenant_id(&tenant)?, &name, expected, &edit, admin.clock.now()).await?;
    admin.applied().await;
    read(State(admin), Path((tenant, name))).await
}

/// Removes the conditions: what grants allow is allowed.
#[utoipa::path(delete, path = "/api/v1/tenants/{tenant}/conditions/{name}", tag = "conditions",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 204), (status = 428, body = ApiError), (status = 404, body = ApiError)))]
pub(super) async fn delete(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
) -> Result<StatusCode, ApiError> {
    admin.store.delete_conditions(&tenant_id(&tenant)?, &name, expected, admin.clock.now()).await?;
    admin.applied().await;
    Ok(StatusCode::NO_CONTENT)
}

/// Earlier versions.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/conditions/{name}/history", tag = "conditions",
    params(("tenant" = String, Path), ("name" = String, Path), HistoryQuery),
    responses((status = 200, body = History), (status = 404, body = ApiError)))]
pub(super) async fn history(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<History>, ApiError> {
    let row = row(&admin, &tenant, &name).await?;
    let (before, limit) = query.bounds();
    let mut items = Vec::new();
    for version in admin.store.conditions_history(&row.tenant, &row.id, before, limit).await? {
        items.push(Version {
            version: version.version,
            at: rfc3339(version.at),
            changed_by: version.changed_by,
            note: version.note,
            spec: value(&version.document)?,
        });
    }
    Ok(Json(query.page(items)))
}

/// Puts an earlier version into force again: the next version says what it said, if that still holds.
#[utoipa::path(put, path = "/api/v1/tenants/{tenant}/conditions/{name}/version", tag = "conditions",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = Return,
    responses((status = 200, body = ConditionsResource), (status = 400, body = ApiError), (status = 412, body = ApiError)))]
pub(super) async fn go_back(
    State(admin): State<Shared>,
    who: Who,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
    Document { typed, .. }: Document<Return>,
) -> Result<Json<ConditionsResource>, ApiError> {
    let row = row(&admin, &tenant, &name).await?;
    let (below, limit) = typed.bounds();
    let found = admin.store.conditions_history(&row.tenant, &row.id, below, limit).await?;
    let earlier = typed.among(found, |earlier| earlier.version)?;
    let spec: ConditionsDocument = serde_json::from_slice(&earlier.document).map_err(|_| ApiError::internal())?;
    let edit = ConditionsEdit { document: check(&admin, &spec).await?, changed_by: who.name, note: typed.note() };
    admin.store.update_conditions(&row.tenant, &name, expected, &edit, admin.clock.now()).await?;
    admin.applied().await;
    read(State(admin), Path((tenant, name))).await
}

/// A document that may be sound.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Draft {
    /// What would be saved.
    #[schema(required = true)]
    spec: ConditionsDocument,
}

/// A document that is sound.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Sound {
    /// It is.
    sound: bool,
}

/// Checks a document as saving would, and saves nothing.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/authz/check", tag = "conditions",
    params(("tenant" = String, Path)), request_body = Draft,
    responses((status = 200, body = Sound), (status = 400, body = ApiError)))]
pub(super) async fn check_draft(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Document { typed, .. }: Document<Draft>,
) -> Result<Json<Sound>, ApiError> {
    existing_tenant(&admin.store, &tenant).await?;
    check(&admin, &typed.spec).await?;
    Ok(Json(Sound { sound: true }))
}

async fn row(admin: &Shared, tenant: &str, name: &str) -> Result<ConditionsRow, ApiError> {
    let row = admin.store.conditions_named(&tenant_id(tenant)?, name).await?;
    row.ok_or_else(|| ApiError::not_found("this document of conditions"))
}

/// The document to store, after the registry's own compile step has read it. That takes the dearest text a tenth of a
/// second, for which no call is to wait.
async fn check(admin: &Shared, spec: &ConditionsDocument) -> Result<Vec<u8>, ApiError> {
    let document = serde_json::to_vec(spec).map_err(|_| ApiError::internal())?;
    let (compiler, read) = (Arc::clone(&admin.compiler), document.clone());
    let checked = tokio::task::spawn_blocking(move || compiler.check_conditions(&read));
    let problems = checked.await.map_err(|_| ApiError::internal())?;
    if problems.is_empty() { Ok(document) } else { Err(ApiError::invalid(under("spec", problems))) }
}

fn show(row: ConditionsRow) -> Result<ConditionsResource, ApiError> {
    Ok(Resource {
        kind: "Conditions",
        tenant: row.tenant.to_string(),
        name: row.name,
        id: row.id,
        revision: row.revision,
        created_at: rfc3339(row.created),
        updated_at: rfc3339(row.updated),
        spec: serde_json::from_slice(&row.document).map_err(|_| ApiError::internal())?,
    })
}
