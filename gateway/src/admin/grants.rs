//! Grants: which principal or group may do what on which cards, or may not. Nothing is allowed without one; a denial
//! wins over whatever allows.

use super::Shared;
use super::body::Document;
use super::error::ApiError;
use super::extract::{Path, Query, State};
use super::resource::{
    Create, Expected, Listing, PageQuery, Resource, Update, check_name, existing_tenant, new_id, rfc3339, tenant_id,
};
use crate::registry::settings::{CallLimits, CallMode, Effect, GrantMode};
use axum::Json;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::{GrantRow, NewGrant, TenantId};
use utoipa::ToSchema;

/// What an administrator writes of a grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct GrantSpec {
    /// Who is granted: a principal by name. Either this or `group`; never changes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub principal: String,
    /// Who is granted: everybody in a group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// `allow`, or `deny`, which wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// `enforce`, or `shadow`: denials are recorded (finding `authz:…`) and not made; what only a shadow grant allows is
    /// allowed and recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<GrantMode>,
    /// Card names, `tag:…`, or `*`.
    #[schema(required = true)]
    pub cards: Vec<String>,
    /// Operations: send, stream, get, list, cancel, subscribe, push_create, push_get, push_list, push_delete,
    /// extended_card, or `*`.
    #[schema(required = true)]
    pub operations: Vec<String>,
    /// Which of the operations: `unary`, `stream`; both if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<Vec<CallMode>>,
    /// How many delegations may lie between the first caller and the one that is granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delegation_depth: Option<u32>,
    /// Whether a card may be called that is in the chain of delegations already; not, unless this says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegation_loops: Option<bool>,
    /// Limits of this grant, all its cards and everybody it is for together.
    #[serde(skip_serializing_if = "CallLimits::is_empty")]
    pub limits: CallLimits,
}

/// What is stored: everything but whom it is for, which is a column.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    cards: Vec<String>,
    operations: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modes: Option<Vec<CallMode>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<Effect>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<GrantMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_delegation_depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delegation_loops: Option<bool>,
    #[serde(skip_serializing_if = "CallLimits::is_empty")]
    limits: CallLimits,
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
    let principal_id = grantee(&admin, &id, &typed.spec).await?;
    let (document, principal_id) = ApiError::both(check(&admin, &typed.spec), principal_id)?;
    let now = admin.clock.now();
    let new = NewGrant { id: new_id("grt-", now)?, name: typed.name.clone(), principal_id, document };
    match typed.spec.group.as_str() {
        "" => admin.store.create_grant(&id, &new, now).await?,
        group => admin.store.create_group_grant(&id, &new, group, now).await?,
    };
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

/// Replaces what a grant says. Open streams that are not allowed any more end.
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
    for (path, before, now) in [
        ("spec.principal", &before.spec.principal, &typed.spec.principal),
        ("spec.group", &before.spec.group, &typed.spec.group),
    ] {
        if before != now {
            return Err(ApiError::invalid_field(path, "whom a grant is for never changes; make another one"));
        }
    }
    let document = check(&admin, &typed.spec)?;
    admin.store.update_grant(&tenant_id(&tenant)?, &name, expected, &document, admin.clock.now()).await?;
    admin.applied().await;
    read(State(admin), Path((tenant, name))).await
}

/// Withdraws a grant. Open streams that are not allowed any more end.
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

/// The id of the principal that is granted; empty where a group is.
async fn grantee(admin: &Shared, tenant: &TenantId, spec: &GrantSpec) -> Result<Result<String, ApiError>, ApiError> {
    Ok(match (spec.principal.as_str(), spec.group.as_str()) {
        ("", "") => Err(ApiError::invalid_field("spec.principal", "name a principal, or a group in spec.group")),
        ("", group) => match admin.compiler.check_group(group) {
            Some(problem) => Err(ApiError::invalid_field("spec.group", problem)),
            None => Ok(String::new()),
        },
        (name, "") => admin.store.principal(tenant, name).await?.map(|principal| principal.id).ok_or_else(|| {
            ApiError::invalid_field("spec.principal", format!("there is no principal {name:?} in this tenant"))
        }),
        (_, _) => Err(ApiError::invalid_field("spec.group", "a grant is for a principal or for a group, not for both")),
    })
}

/// The document to store, after the registry's own compile step has read it.
fn check(admin: &Shared, spec: &GrantSpec) -> Result<Vec<u8>, ApiError> {
    let stored = Stored {
        cards: spec.cards.clone(),
        operations: spec.operations.clone(),
        modes: spec.modes.clone(),
        effect: spec.effect,
        mode: spec.mode,
        max_delegation_depth: spec.max_delegation_depth,
        delegation_loops: spec.delegation_loops,
        limits: spec.limits,
    };
    let document = serde_json::to_vec(&stored).map_err(|_| ApiError::internal())?;
    let problems = admin.compiler.check_grant(&document);
    if problems.is_empty() { Ok(document) } else { Err(ApiError::invalid(super::body::under("spec", problems))) }
}

async fn principal_name(admin: &Shared, tenant: &TenantId, row: &GrantRow) -> Result<String, ApiError> {
    if row.group_name.is_some() {
        return Ok(String::new());
    }
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
        spec: GrantSpec {
            principal,
            group: row.group_name.unwrap_or_default(),
            effect: stored.effect,
            mode: stored.mode,
            cards: stored.cards,
            operations: stored.operations,
            modes: stored.modes,
            max_delegation_depth: stored.max_delegation_depth,
            delegation_loops: stored.delegation_loops,
            limits: stored.limits,
        },
    })
}
