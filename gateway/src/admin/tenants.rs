//! Tenants: who is isolated from whom. A new tenant gets its first card signing key at once.

use super::Shared;
use super::access::Who;
use super::body::Document;
use super::error::ApiError;
use super::extract::{Path, Query, State};
use super::resource::{Create, Expected, Listing, PageQuery, Resource, Update, check_name, rfc3339, tenant_id};
use super::signing_keys;
use crate::registry::document::Problem;
use crate::registry::settings::{CallLimits, TenantSettings};
use axum::Json;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::{Page, TenantFields, TenantRow, TenantState};
use utoipa::ToSchema;

/// What an administrator writes of a tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TenantSpec {
    /// For people; the name if empty.
    pub display_name: String,
    /// Whether it is served. Only a platform admin changes it.
    pub state: TenantLife,
    /// The card served at the tenant's own well-known address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_card: Option<String>,
    /// The policy of cards that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_policy: Option<String>,
    /// The policy that no card weakens. Only a platform admin takes it away or names another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_policy: Option<String>,
    /// How much all its principals together may do. Only a platform admin changes it.
    #[serde(skip_serializing_if = "CallLimits::is_empty")]
    pub limits: CallLimits,
    /// Days after which a task counts as missing and its owner is forgotten; absent keeps tasks for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_retention_days: Option<u32>,
}

/// Whether a tenant is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum TenantLife {
    /// Served.
    #[default]
    Active,
    /// Kept, but looks missing to callers.
    Suspended,
}

type TenantResource = Resource<TenantSpec>;

/// The tenants in which the asking one has a role.
#[utoipa::path(get, path = "/api/v1/tenants", tag = "tenants", params(PageQuery),
    responses((status = 200, body = Listing<TenantResource>)))]
pub(super) async fn list(
    State(admin): State<Shared>,
    who: Who,
    Query(query): Query<PageQuery>,
) -> Result<Json<Listing<TenantResource>>, ApiError> {
    let store = &admin.store;
    let read = |after: String, limit| async move { store.tenants(Page { after: &after, limit }).await };
    let sees = |row: &TenantRow| who.roles.sees(row.name.as_str());
    Ok(Json(query.visible(read, |row| row.name.to_string(), sees, show).await?))
}

/// Makes a tenant and its first card signing key.
#[utoipa::path(post, path = "/api/v1/tenants", tag = "tenants", request_body = Create<TenantSpec>,
    responses((status = 201, body = TenantResource), (status = 400, body = ApiError), (status = 409, body = ApiError)))]
pub(super) async fn create(
    State(admin): State<Shared>,
    Document { typed, .. }: Document<Create<TenantSpec>>,
) -> Result<(StatusCode, Json<TenantResource>), ApiError> {
    check_name(&typed.name)?;
    let tenant = tenant_id(&typed.name)?;
    for (path, policy) in [("default_policy", &typed.spec.default_policy), ("floor_policy", &typed.spec.floor_policy)] {
        if policy.is_some() {
            return Err(ApiError::invalid_field(
                format!("spec.{path}"),
                "a new tenant has no policies yet; make the policy, then update the tenant",
            ));
        }
    }
    let now = admin.clock.now();
    let fields = fields(&admin, &typed.name, &typed.spec)?;
    admin.store.create_tenant(&tenant, &fields, now).await.map_err(|error| {
        if matches!(error, store::Error::NameTaken { .. }) {
            return ApiError::name_taken("a tenant of this name (perhaps a removed one)");
        }
        error.into()
    })?;
    signing_keys::make_first(&admin, &tenant).await?;
    admin.applied().await;
    let row = admin.store.tenant(&tenant).await?.ok_or_else(|| ApiError::not_found("this tenant"))?;
    Ok((StatusCode::CREATED, Json(show(row))))
}

/// One tenant.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}", tag = "tenants", params(("tenant" = String, Path)),
    responses((status = 200, body = TenantResource), (status = 404, body = ApiError)))]
pub(super) async fn read(
    State(admin): State<Shared>,
    Path(name): Path<String>,
) -> Result<Json<TenantResource>, ApiError> {
    let row = admin.store.tenant(&tenant_id(&name)?).await?.ok_or_else(|| ApiError::not_found("this tenant"))?;
    Ok(Json(show(row)))
}

/// Replaces what is written of a tenant.
#[utoipa::path(put, path = "/api/v1/tenants/{tenant}", tag = "tenants", params(("tenant" = String, Path)),
    request_body = Update<TenantSpec>,
    responses((status = 200, body = TenantResource), (status = 412, body = ApiError), (status = 428, body = ApiError)))]
pub(super) async fn update(
    State(admin): State<Shared>,
    who: Who,
    Path(name): Path<String>,
    Expected(expected): Expected,
    Document { typed, .. }: Document<Update<TenantSpec>>,
) -> Result<Json<TenantResource>, ApiError> {
    let tenant = tenant_id(&name)?;
    let before = read(State(Shared::clone(&admin)), Path(name.clone())).await?;
    if !who.roles.is_platform() && is_bound(&before.spec, &typed.spec) {
        return Err(ApiError::forbidden());
    }
    check_references(&admin, &tenant, &typed.spec).await?;
    let fields = fields(&admin, &name, &typed.spec)?;
    admin.store.update_tenant(&tenant, expected, &fields, admin.clock.now()).await?;
    admin.applied().await;
    read(State(admin), Path(name)).await
}

/// Removes a tenant. Its cards stop being served and its open streams end; its name is never given again.
#[utoipa::path(delete, path = "/api/v1/tenants/{tenant}", tag = "tenants", params(("tenant" = String, Path)),
    responses((status = 204), (status = 428, body = ApiError), (status = 404, body = ApiError)))]
pub(super) async fn delete(
    State(admin): State<Shared>,
    Path(name): Path<String>,
    Expected(expected): Expected,
) -> Result<StatusCode, ApiError> {
    admin.store.delete_tenant(&tenant_id(&name)?, expected, admin.clock.now()).await?;
    admin.applied().await;
    Ok(StatusCode::NO_CONTENT)
}

/// Whether a change touches what the platform binds a tenant by: whether it is served, what keeps it from its
/// neighbours, and a floor once there is one.
fn is_bound(before: &TenantSpec, after: &TenantSpec) -> bool {
    before.state != after.state
        || before.limits != after.limits
        || before.floor_policy.is_some() && before.floor_policy != after.floor_policy
}

/// Names that the tenant refers to must exist: a floor that is missing would be no floor.
async fn check_references(admin: &Shared, tenant: &store::TenantId, spec: &TenantSpec) -> Result<(), ApiError> {
    let mut problems = Vec::new();
    for (path, policy) in [("default_policy", &spec.default_policy), ("floor_policy", &spec.floor_policy)] {
        if let Some(policy) = policy
            && admin.store.policy(tenant, policy).await?.is_none()
        {
            problems.push(Problem::new(format!("/{path}"), format!("there is no policy {policy:?} in this tenant")));
        }
    }
    if let Some(card) = &spec.default_card
        && admin.store.card(tenant, card).await?.is_none()
    {
        problems.push(Problem::new("/default_card", format!("there is no card {card:?} in this tenant")));
    }
    if problems.is_empty() { Ok(()) } else { Err(ApiError::invalid(super::body::under("spec", problems))) }
}

/// What is stored, after the registry's own compile step has read it.
fn fields(admin: &Shared, name: &str, spec: &TenantSpec) -> Result<TenantFields, ApiError> {
    let settings = TenantSettings {
        limits: Some(spec.limits).filter(|limits| !limits.is_empty()),
        task_retention_days: spec.task_retention_days,
    };
    let problems = admin.compiler.check_tenant(&settings);
    if !problems.is_empty() {
        return Err(ApiError::invalid(super::body::under("spec", problems)));
    }
    Ok(TenantFields {
        display_name: if spec.display_name.is_empty() { name.to_owned() } else { spec.display_name.clone() },
        state: match spec.state {
            TenantLife::Active => TenantState::Active,
            TenantLife::Suspended => TenantState::Suspended,
        },
        default_card: spec.default_card.clone(),
        default_policy: spec.default_policy.clone(),
        floor_policy: spec.floor_policy.clone(),
        settings: serde_json::to_vec(&settings).map_err(|_| ApiError::internal())?,
    })
}

fn show(row: TenantRow) -> TenantResource {
    let name = row.name.to_string();
    // Settings that can't be read close the tenant, and are shown as none so that they can be written anew.
    let settings: TenantSettings = serde_json::from_slice(&row.settings).unwrap_or_default();
    Resource {
        kind: "Tenant",
        tenant: name.clone(),
        id: name.clone(),
        name,
        revision: row.revision,
        created_at: rfc3339(row.created),
        updated_at: rfc3339(row.updated),
        spec: TenantSpec {
            display_name: row.display_name,
            state: match row.state {
                TenantState::Active => TenantLife::Active,
                TenantState::Suspended => TenantLife::Suspended,
            },
            default_card: row.default_card,
            default_policy: row.default_policy,
            floor_policy: row.floor_policy,
            limits: settings.limits.unwrap_or_default(),
            task_retention_days: settings.task_retention_days,
        },
    }
}
