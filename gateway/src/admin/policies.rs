//! Guardrail policies: versioned, compiled before they are saved, so that a policy that is stored is one that runs.

use super::Shared;
use super::access::Who;
use super::body::{Document, value};
use super::error::ApiError;
use super::extract::{Path, Query, State};
use super::history::{History, HistoryQuery, Return, Version};
use super::resource::{
    Create, Expected, Listing, PageQuery, Resource, Update, check_name, existing_tenant, new_id, rfc3339, tenant_id,
};
use axum::Json;
use http::StatusCode;
use json::Json as Tree;
use store::{NewPolicy, PolicyEdit, PolicyRow};

type PolicyResource = Resource<serde_json::Value>;

/// The tenant's policies.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/policies", tag = "policies",
    params(("tenant" = String, Path), PageQuery), responses((status = 200, body = Listing<PolicyResource>)))]
pub(super) async fn list(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Listing<PolicyResource>>, ApiError> {
    let tenant = existing_tenant(&admin.store, &tenant).await?;
    let rows = admin.store.policies(&tenant, query.page()).await?;
    Ok(Json(query.listing(rows, |row| row.name.clone(), show)?))
}

/// Makes a policy. Every problem of the document is named at once.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/policies", tag = "policies", params(("tenant" = String, Path)),
    request_body = Create<serde_json::Value>,
    responses((status = 201, body = PolicyResource), (status = 400, body = ApiError), (status = 409, body = ApiError)))]
pub(super) async fn create(
    State(admin): State<Shared>,
    who: Who,
    Path(tenant): Path<String>,
    Document { typed, tree }: Document<Create<serde_json::Value>>,
) -> Result<(StatusCode, Json<PolicyResource>), ApiError> {
    check_name(&typed.name)?;
    let id = existing_tenant(&admin.store, &tenant).await?;
    let new = NewPolicy {
        id: new_id("pol-", admin.clock.now())?,
        document: check(&admin, &tenant, &typed.name, &tree)?,
        name: typed.name,
        changed_by: who.name,
        note: String::new(),
    };
    admin.store.create_policy(&id, &new, admin.clock.now()).await?;
    admin.applied().await;
    Ok((StatusCode::CREATED, read(State(admin), Path((tenant, new.name))).await?))
}

/// One policy.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/policies/{name}", tag = "policies",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = PolicyResource), (status = 404, body = ApiError)))]
pub(super) async fn read(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
) -> Result<Json<PolicyResource>, ApiError> {
    let row = admin.store.policy(&tenant_id(&tenant)?, &name).await?;
    Ok(Json(show(row.ok_or_else(|| ApiError::not_found("this policy"))?)?))
}

/// Makes the next version of a policy. New calls are judged by it within seconds.
#[utoipa::path(put, path = "/api/v1/tenants/{tenant}/policies/{name}", tag = "policies",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = Update<serde_json::Value>,
    responses((status = 200, body = PolicyResource), (status = 403, body = ApiError), (status = 412, body = ApiError)))]
pub(super) async fn update(
    State(admin): State<Shared>,
    who: Who,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
    Document { tree, .. }: Document<Update<serde_json::Value>>,
) -> Result<Json<PolicyResource>, ApiError> {
    check_floor(&admin, &who, &tenant_id(&tenant)?, &name).await?;
    let edit =
        PolicyEdit { document: check(&admin, &tenant, &name, &tree)?, changed_by: who.name, note: String::new() };
    admin.store.update_policy(&tenant_id(&tenant)?, &name, expected, &edit, admin.clock.now()).await?;
    admin.applied().await;
    read(State(admin), Path((tenant, name))).await
}

/// Removes a policy that nothing names any more.
#[utoipa::path(delete, path = "/api/v1/tenants/{tenant}/policies/{name}", tag = "policies",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 204), (status = 428, body = ApiError), (status = 404, body = ApiError), (status = 422, body = ApiError)))]
pub(super) async fn delete(
    State(admin): State<Shared>,
    who: Who,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
) -> Result<StatusCode, ApiError> {
    let tenant = tenant_id(&tenant)?;
    check_floor(&admin, &who, &tenant, &name).await?;
    let users = users(&admin, &tenant, &name).await?;
    if !users.is_empty() {
        return Err(ApiError::refused(
            "in_use",
            format!("{} would lose its guard; point it to another policy first", users.join(", ")),
        ));
    }
    admin.store.delete_policy(&tenant, &name, expected, admin.clock.now()).await?;
    admin.applied().await;
    Ok(StatusCode::NO_CONTENT)
}

/// Earlier versions of a policy.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/policies/{name}/history", tag = "policies",
    params(("tenant" = String, Path), ("name" = String, Path), HistoryQuery),
    responses((status = 200, body = History), (status = 404, body = ApiError)))]
pub(super) async fn history(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<History>, ApiError> {
    let tenant = tenant_id(&tenant)?;
    let row = admin.store.policy(&tenant, &name).await?.ok_or_else(|| ApiError::not_found("this policy"))?;
    let (before, limit) = query.bounds();
    let mut items = Vec::new();
    for version in admin.store.policy_history(&tenant, &row.id, before, limit).await? {
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

/// Puts an earlier version into force again: the next version says what it said, digit by digit, if that still holds.
#[utoipa::path(put, path = "/api/v1/tenants/{tenant}/policies/{name}/version", tag = "policies",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = Return,
    responses((status = 200, body = PolicyResource), (status = 400, body = ApiError), (status = 403, body = ApiError),
        (status = 412, body = ApiError)))]
pub(super) async fn go_back(
    State(admin): State<Shared>,
    who: Who,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
    Document { typed, .. }: Document<Return>,
) -> Result<Json<PolicyResource>, ApiError> {
    let owner = tenant_id(&tenant)?;
    check_floor(&admin, &who, &owner, &name).await?;
    let row = admin.store.policy(&owner, &name).await?.ok_or_else(|| ApiError::not_found("this policy"))?;
    let (below, limit) = typed.bounds();
    let found = admin.store.policy_history(&owner, &row.id, below, limit).await?;
    let earlier = typed.among(found, |earlier| earlier.version)?;
    // The guard may have become stricter since.
    let document = checked(&admin, (&tenant, &name), earlier.document, "version")?;
    let edit = PolicyEdit { document, changed_by: who.name, note: typed.note() };
    admin.store.update_policy(&owner, &name, expected, &edit, admin.clock.now()).await?;
    admin.applied().await;
    read(State(admin), Path((tenant, name))).await
}

/// The key that proves who asks.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub(super) struct GuardKey {
    /// 32 bytes in hexadecimal digits.
    key: String,
}

/// The key that signs the questions to the tenant's guards outside. It changes with the gateway's master key only.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/guard-key", tag = "policies", params(("tenant" = String, Path)),
    responses((status = 200, body = GuardKey), (status = 404, body = ApiError)))]
pub(super) async fn guard_key(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
) -> Result<Json<GuardKey>, ApiError> {
    let tenant = existing_tenant(&admin.store, &tenant).await?;
    let key = crate::pipeline::external::key_of(&admin.seal, tenant.as_str());
    Ok(Json(GuardKey { key: key.iter().map(|byte| format!("{byte:02x}")).collect() }))
}

/// The floor binds the tenant's own administrators too: they read it and try texts against it, and only a platform
/// administrator changes it. Every operation that changes a policy, or which version of it is in force, asks this first.
pub(super) async fn check_floor(
    admin: &Shared,
    who: &Who,
    tenant: &store::TenantId,
    name: &str,
) -> Result<(), ApiError> {
    if who.roles.is_platform() {
        return Ok(());
    }
    let row = admin.store.tenant(tenant).await?;
    let is_floor = row.is_some_and(|row| row.floor_policy.as_deref() == Some(name));
    if is_floor { Err(ApiError::forbidden()) } else { Ok(()) }
}

/// What in the tenant names the policy: a policy that is named can't be removed.
async fn users(admin: &Shared, tenant: &store::TenantId, name: &str) -> Result<Vec<String>, ApiError> {
    let Some(rows) = admin.store.load_tenant(tenant).await? else { return Ok(Vec::new()) };
    let mut users = Vec::new();
    for (word, policy) in [("floor", &rows.tenant.floor_policy), ("default", &rows.tenant.default_policy)] {
        if policy.as_deref() == Some(name) {
            users.push(format!("the tenant's {word}"));
        }
    }
    for card in &rows.cards {
        let settings = value(&card.settings)?;
        if settings["policy"].as_str() == Some(name) {
            users.push(format!("card {}", card.name));
        }
    }
    Ok(users)
}

/// The document to store, after the guard itself has compiled it.
fn check(admin: &Shared, tenant: &str, name: &str, tree: &Tree) -> Result<Vec<u8>, ApiError> {
    let Some(spec) = tree.get("spec") else { return Err(ApiError::invalid_field("spec", "is missing")) };
    checked(admin, (tenant, name), json::write(spec), "spec")
}

/// The document, if the guard compiles it; problems are named below `at`.
fn checked(admin: &Shared, (tenant, name): (&str, &str), document: Vec<u8>, at: &str) -> Result<Vec<u8>, ApiError> {
    let problems = admin.compiler.check_policy(tenant, name, &document);
    if problems.is_empty() { Ok(document) } else { Err(ApiError::invalid(super::body::under(at, problems))) }
}

fn show(row: PolicyRow) -> Result<PolicyResource, ApiError> {
    Ok(Resource {
        kind: "Policy",
        tenant: row.tenant.to_string(),
        name: row.name,
        id: row.id,
        revision: row.revision,
        created_at: rfc3339(row.created),
        updated_at: rfc3339(row.updated),
        spec: value(&row.document)?,
    })
}
