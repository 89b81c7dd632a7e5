//! Principals: who may call. Disabling or removing one ends its open streams.

use super::Shared;
use super::body::{Document, value};
use super::error::ApiError;
use super::extract::{Path, Query, State};
use super::resource::{
    Create, Expected, Listing, PageQuery, Resource, Update, check_name, existing_tenant, new_id, rfc3339, tenant_id,
};
use crate::registry::settings::{CallLimits, PrincipalSettings};
use axum::Json;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::{IfMatch, NewPrincipal, PrincipalKind, PrincipalRow, PrincipalState, TenantId};
use utoipa::ToSchema;

/// What an administrator writes of a principal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PrincipalSpec {
    /// What it is; never changes.
    pub kind: Kind,
    /// Whether it may call.
    pub state: Life,
    /// The groups that it is in, besides those that its token names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// How much it may do, by all its grants together.
    #[serde(skip_serializing_if = "CallLimits::is_empty")]
    pub limits: CallLimits,
}

/// What a principal is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// A program that speaks A2A.
    #[default]
    Agent,
    /// Any other program.
    Service,
    /// A person.
    User,
}

/// Whether a principal may call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Life {
    /// It may, as far as its grants go.
    #[default]
    Active,
    /// Its credentials are refused.
    Disabled,
}

type PrincipalResource = Resource<PrincipalSpec>;

/// The tenant's principals.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/principals", tag = "principals",
    params(("tenant" = String, Path), PageQuery), responses((status = 200, body = Listing<PrincipalResource>)))]
pub(super) async fn list(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Listing<PrincipalResource>>, ApiError> {
    let tenant = existing_tenant(&admin.store, &tenant).await?;
    let rows = admin.store.principals(&tenant, query.page()).await?;
    Ok(Json(query.listing(rows, |row| row.name.clone(), |row| Ok(show(row)))?))
}

/// Makes a principal.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/principals", tag = "principals", params(("tenant" = String, Path)),
    request_body = Create<PrincipalSpec>,
    responses((status = 201, body = PrincipalResource), (status = 409, body = ApiError)))]
pub(super) async fn create(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Document { typed, .. }: Document<Create<PrincipalSpec>>,
) -> Result<(StatusCode, Json<PrincipalResource>), ApiError> {
    check_name(&typed.name)?;
    let id = existing_tenant(&admin.store, &tenant).await?;
    let kind = match typed.spec.kind {
        Kind::Agent => PrincipalKind::Agent,
        Kind::Service => PrincipalKind::Service,
        Kind::User => PrincipalKind::User,
    };
    let new = NewPrincipal { id: new_id("prn-", admin.clock.now())?, name: typed.name.clone(), kind };
    let now = admin.clock.now();
    let settings = check(&admin, &typed.spec)?;
    admin.store.create_principal(&id, &new, now).await?;
    if typed.spec.state == Life::Disabled || settings != NO_SETTINGS {
        let fields = (state(typed.spec.state), settings.as_slice());
        admin.store.update_principal(&id, &typed.name, IfMatch::Any, fields, now).await?;
    }
    admin.applied().await;
    Ok((StatusCode::CREATED, read(State(admin), Path((tenant, typed.name))).await?))
}

/// One principal.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/principals/{name}", tag = "principals",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = PrincipalResource), (status = 404, body = ApiError)))]
pub(super) async fn read(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
) -> Result<Json<PrincipalResource>, ApiError> {
    let row = admin.store.principal(&tenant_id(&tenant)?, &name).await?;
    Ok(Json(show(row.ok_or_else(|| ApiError::not_found("this principal"))?)))
}

/// Enables or disables a principal, or changes its groups and limits. Open streams that are not allowed any more end.
#[utoipa::path(put, path = "/api/v1/tenants/{tenant}/principals/{name}", tag = "principals",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = Update<PrincipalSpec>,
    responses((status = 200, body = PrincipalResource), (status = 412, body = ApiError)))]
pub(super) async fn update(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
    Document { typed, .. }: Document<Update<PrincipalSpec>>,
) -> Result<Json<PrincipalResource>, ApiError> {
    let before = read(State(Shared::clone(&admin)), Path((tenant.clone(), name.clone()))).await?;
    if before.spec.kind != typed.spec.kind {
        return Err(ApiError::invalid_field("spec.kind", "what a principal is never changes; make another one"));
    }
    let settings = check(&admin, &typed.spec)?;
    let fields = (state(typed.spec.state), settings.as_slice());
    admin.store.update_principal(&tenant_id(&tenant)?, &name, expected, fields, admin.clock.now()).await?;
    admin.applied().await;
    read(State(admin), Path((tenant, name))).await
}

const fn state(life: Life) -> PrincipalState {
    match life {
        Life::Active => PrincipalState::Active,
        Life::Disabled => PrincipalState::Disabled,
    }
}

/// The settings to store, after the registry's own compile step has read them.
fn check(admin: &Shared, spec: &PrincipalSpec) -> Result<Vec<u8>, ApiError> {
    let settings = PrincipalSettings {
        groups: Some(spec.groups.clone()).filter(|groups| !groups.is_empty()),
        limits: Some(spec.limits).filter(|limits| !limits.is_empty()),
    };
    let problems = admin.compiler.check_principal(&settings);
    if !problems.is_empty() {
        return Err(ApiError::invalid(super::body::under("spec", problems)));
    }
    serde_json::to_vec(&settings).map_err(|_| ApiError::internal())
}

/// Removes a principal with its keys and grants.
#[utoipa::path(delete, path = "/api/v1/tenants/{tenant}/principals/{name}", tag = "principals",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 204), (status = 428, body = ApiError), (status = 404, body = ApiError)))]
pub(super) async fn delete(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
) -> Result<StatusCode, ApiError> {
    let tenant = tenant_id(&tenant)?;
    let bound = bound_cards(&admin, &tenant, &name).await?;
    if !bound.is_empty() {
        return Err(ApiError::refused(
            "in_use",
            format!("{} would stop being served; take bound_principal out first", bound.join(", ")),
        ));
    }
    admin.store.delete_principal(&tenant, &name, expected, admin.clock.now()).await?;
    admin.applied().await;
    Ok(StatusCode::NO_CONTENT)
}

/// Cards that say they are this principal: without it they could not be compiled.
async fn bound_cards(admin: &Shared, tenant: &TenantId, name: &str) -> Result<Vec<String>, ApiError> {
    let rows = admin.store.load_tenant(tenant).await?;
    let mut bound = Vec::new();
    for card in rows.iter().flat_map(|rows| &rows.cards) {
        if value(&card.settings)?["bound_principal"].as_str() == Some(name) {
            bound.push(format!("card {}", card.name));
        }
    }
    Ok(bound)
}

fn show(row: PrincipalRow) -> PrincipalResource {
    // Settings that can't be read close the principal, and are shown as none so that they can be written anew.
    let settings: PrincipalSettings = serde_json::from_slice(&row.settings).unwrap_or_default();
    Resource {
        kind: "Principal",
        tenant: row.tenant.to_string(),
        name: row.name,
        id: row.id,
        revision: row.revision,
        created_at: rfc3339(row.created),
        updated_at: rfc3339(row.updated),
        spec: PrincipalSpec {
            kind: match row.kind {
                PrincipalKind::Agent => Kind::Agent,
                PrincipalKind::Service => Kind::Service,
                PrincipalKind::User => Kind::User,
            },
            state: match row.state {
                PrincipalState::Active => Life::Active,
                PrincipalState::Disabled => Life::Disabled,
            },
            groups: settings.groups.unwrap_or_default(),
            limits: settings.limits.unwrap_or_default(),
        },
    }
}

const NO_SETTINGS: &[u8] = b"{}";
