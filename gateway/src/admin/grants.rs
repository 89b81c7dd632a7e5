//! Grants: which principal may do what on which cards. Nothing is allowed without one.

use super::Shared;
use super::body::Document;
use super::error::ApiError;
use super::extract::{Path, Query};
use super::resource::{
    Create, Expected, Listing, PageQuery, Resource, Update, check_name, existing_tenant, new_id, rfc3339, tenant_id,
};
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::{GrantRow, NewGrant, TenantId};
use utoipa::ToSchema;

/// What an administrator writes of a grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct GrantSpec {
    /// Who is granted; never changes.
    #[schema(required = true)]
    pub principal: String,
    /// Card names, `tag:…`, or `*`.
    #[schema(required = true)]
    pub cards: Vec<String>,
    /// Operations: send, stream, get, list, cancel, subscribe, push_create, push_get, push_list, push_delete,
    /// extended_card, or `*`.
    #[schema(required = true)]
    pub operations: Vec<String>,
    /// Limits of this grant, all its cards together.
    #[serde(skip_serializing_if = "GrantLimits::is_empty")]
    pub limits: GrantLimits,
}

/// Limits of a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct GrantLimits {
    /// Calls per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<u32>,
    /// Calls in flight at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<u32>,
}

impl GrantLimits {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What is stored: everything but the principal, which is a column.
#[derive(Serialize, Deserialize)]
struct Stored {
    cards: Vec<String>,
    operations: Vec<String>,
    #[serde(default, skip_serializing_if = "GrantLimits::is_empty")]
    limits: GrantLimits,
}

type GrantResource = Resource<GrantSpec>;

/// The tenant's grants.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/grants", tag = "grants",
    params(("tenant" = String, Path), PageQuery), responses((status = 200, body = Listing<GrantResource>)))]
pub(super) async fn list(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Listing<GrantResource>>, ApiError> {
    let tenant = existing_tenant(&admin.store, &tenant).await?;
    let mut named = Vec::new();
    for row in admin.store.grants(&tenant, query.page()).await? {
        named.push((principal_name(&admin, &tenant, &row).await?, row));
    }
    Ok(Json(query.listing(named, |(_, row)| row.name.clone(), |(principal, row)| show(row, principal))?))
}

/// Makes a grant.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/grants", tag = "grants", params(("tenant" = String, Path)),
    request_body = Create<GrantSpec>,
    responses((status = 201, body = GrantResource), (status = 400, body = ApiError), (status = 409, body = ApiError)))]
pub(super) async fn create(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Document { typed, .. }: Document<Create<GrantSpec>>,
) -> Result<(StatusCode, Json<GrantResource>), ApiError> {
    check_name(&typed.name)?;
    let id = existing_tenant(&admin.store, &tenant).await?;
    let principal = admin.store.principal(&id, &typed.spec.principal).await?.ok_or_else(|| {
        ApiError::invalid_field(
            "spec.principal",
            format!("there is no principal {:?} in this tenant", typed.spec.principal),
        )
    });
    let (document, principal) = ApiError::both(check(&admin, &typed.spec), principal)?;
    let new = NewGrant {
        id: new_id("grt-", admin.clock.now())?,
        name: typed.name.clone(),
        principal_id: principal.id,
        document,
    };
    admin.store.create_grant(&id, &new, admin.clock.now()).await?;
    admin.applied().await;
    Ok((StatusCode::CREATED, read(State(admin), Path((tenant, typed.name))).await?))
}

/// One grant.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/grants/{name}", tag = "grants",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = GrantResource), (status = 404, body = ApiError)))]
pub(super) async fn read(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
) -> Result<Json<GrantResource>, ApiError> {
    let tenant = tenant_id(&tenant)?;
    let row = admin.store.grant(&tenant, &name).await?.ok_or_else(|| ApiError::not_found("this grant"))?;
    let principal = principal_name(&admin, &tenant, &row).await?;
    Ok(Json(show(row, principal)?))
}

/// Replaces what a grant allows. Open streams under it end.
#[utoipa::path(put, path = "/api/v1/tenants/{tenant}/grants/{name}", tag = "grants",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = Update<GrantSpec>,
    responses((status = 200, body = GrantResource), (status = 412, body = ApiError)))]
pub(super) async fn update(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
    Document { typed, .. }: Document<Update<GrantSpec>>,
) -> Result<Json<GrantResource>, ApiError> {
    let before = read(State(Shared::clone(&admin)), Path((tenant.clone(), name.clone()))).await?;
    if before.spec.principal != typed.spec.principal {
        return Err(ApiError::invalid_field("spec.principal", "whom a grant is for never changes; make another one"));
    }
    let document = check(&admin, &typed.spec)?;
    admin.store.update_grant(&tenant_id(&tenant)?, &name, expected, &document, admin.clock.now()).await?;
    admin.applied().await;
    read(State(admin), Path((tenant, name))).await
}

/// Withdraws a grant. Open streams under it end.
#[utoipa::path(delete, path = "/api/v1/tenants/{tenant}/grants/{name}", tag = "grants",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 204), (status = 428, body = ApiError), (status = 404, body = ApiError)))]
pub(super) async fn delete(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
) -> Result<StatusCode, ApiError> {
    admin.store.delete_grant(&tenant_id(&tenant)?, &name, expected, admin.clock.now()).await?;
    admin.applied().await;
    Ok(StatusCode::NO_CONTENT)
}

/// The document to store, after the registry's own compile step has read it.
fn check(admin: &Shared, spec: &GrantSpec) -> Result<Vec<u8>, ApiError> {
    let stored = Stored { cards: spec.cards.clone(), operations: spec.operations.clone(), limits: spec.limits };
    let document = serde_json::to_vec(&stored).map_err(|_| ApiError::internal())?;
    let problems = admin.compiler.check_grant(&document);
    if problems.is_empty() { Ok(document) } else { Err(ApiError::invalid(super::body::under("spec", problems))) }
}

async fn principal_name(admin: &Shared, tenant: &TenantId, row: &GrantRow) -> Result<String, ApiError> {
    let principal = admin.store.principal_by_id(tenant, &row.principal_id).await?;
    Ok(principal.map_or_else(|| row.principal_id.clone(), |principal| principal.name))
}

fn show(row: GrantRow, principal: String) -> Result<GrantResource, ApiError> {
    let stored: Stored = serde_json::from_slice(&row.document).map_err(|_| ApiError::internal())?;
    Ok(Resource {
        kind: "Grant",
        tenant: row.tenant.to_string(),
        name: row.name,
        id: row.id,
        revision: row.revision,
        created_at: rfc3339(row.created),
        updated_at: rfc3339(row.updated),
        spec: GrantSpec { principal, cards: stored.cards, operations: stored.operations, limits: stored.limits },
    })
}
