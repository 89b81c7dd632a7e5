//! Issuers: who besides the gateway vouches for a tenant's principals (OpenID Connect). A change ends what was begun under it.

use super::Shared;
use super::body::{Document, under, value};
use super::error::ApiError;
use super::extract::{Path, Query, State};
use super::resource::{
    Create, Expected, Listing, PageQuery, Resource, Update, check_name, existing_tenant, new_id, rfc3339, tenant_id,
};
use crate::registry::document::Problem;
use crate::registry::issuer::IssuerDocument;
use axum::Json;
use http::StatusCode;
use serde::Serialize;
use store::{IssuerRow, NewIssuer, TenantId};
use utoipa::ToSchema;

type IssuerResource = Resource<serde_json::Value>;

/// The keys of an issuer as this replica holds them.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct IssuerKeys {
    /// Each key's `kid` and `alg`.
    pub keys: Vec<IssuerKey>,
    /// RFC 3339; `null` while nothing was fetched. Keys are believed for an hour.
    pub fetched_at: Option<String>,
    /// Why the last fetch failed, if it did.
    pub problem: Option<String>,
}

/// One key.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct IssuerKey {
    /// Its name.
    pub kid: String,
    /// What it verifies.
    pub alg: &'static str,
}

/// The tenant's issuers.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/issuers", tag = "issuers",
    params(("tenant" = String, Path), PageQuery), responses((status = 200, body = Listing<IssuerResource>)))]
pub(super) async fn list(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Listing<IssuerResource>>, ApiError> {
    let tenant = existing_tenant(&admin.store, &tenant).await?;
    let rows = admin.store.issuers(&tenant, query.page()).await?;
    Ok(Json(query.listing(rows, |row| row.name.clone(), show)?))
}

/// Makes an issuer. Its keys are fetched at once, in the background.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/issuers", tag = "issuers", params(("tenant" = String, Path)),
    request_body = Create<IssuerDocument>,
    responses((status = 201, body = IssuerResource), (status = 400, body = ApiError), (status = 409, body = ApiError)))]
pub(super) async fn create(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Document { typed, .. }: Document<Create<IssuerDocument>>,
) -> Result<(StatusCode, Json<IssuerResource>), ApiError> {
    check_name(&typed.name)?;
    let id = existing_tenant(&admin.store, &tenant).await?;
    let now = admin.clock.now();
    let document = check(&admin, &id, &typed.name, &typed.spec).await?;
    let new = NewIssuer { id: new_id("iss-", now)?, name: typed.name, document };
    admin.store.create_issuer(&id, &new, now).await?;
    admin.applied().await;
    Ok((StatusCode::CREATED, read(State(admin), Path((tenant, new.name))).await?))
}

/// One issuer.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/issuers/{name}", tag = "issuers",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = IssuerResource), (status = 404, body = ApiError)))]
pub(super) async fn read(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
) -> Result<Json<IssuerResource>, ApiError> {
    let row = admin.store.issuer(&tenant_id(&tenant)?, &name).await?;
    Ok(Json(show(row.ok_or_else(|| ApiError::not_found("this issuer"))?)?))
}

/// Changes an issuer. Streams that were begun with its tokens end.
#[utoipa::path(put, path = "/api/v1/tenants/{tenant}/issuers/{name}", tag = "issuers",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = Update<IssuerDocument>,
    responses((status = 200, body = IssuerResource), (status = 412, body = ApiError)))]
pub(super) async fn update(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
    Document { typed, .. }: Document<Update<IssuerDocument>>,
) -> Result<Json<IssuerResource>, ApiError> {
    let id = tenant_id(&tenant)?;
    let document = check(&admin, &id, &name, &typed.spec).await?;
    admin.store.update_issuer(&id, &name, expected, &document, admin.clock.now()).await?;
    admin.applied().await;
    read(State(admin), Path((tenant, name))).await
}

/// Removes an issuer: its tokens are refused.
#[utoipa::path(delete, path = "/api/v1/tenants/{tenant}/issuers/{name}", tag = "issuers",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 204), (status = 428, body = ApiError), (status = 404, body = ApiError)))]
pub(super) async fn delete(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
) -> Result<StatusCode, ApiError> {
    admin.store.delete_issuer(&tenant_id(&tenant)?, &name, expected, admin.clock.now()).await?;
    admin.applied().await;
    Ok(StatusCode::NO_CONTENT)
}

/// The keys of an issuer as this replica holds them.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/issuers/{name}/keys", tag = "issuers",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = IssuerKeys), (status = 404, body = ApiError)))]
pub(super) async fn keys(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
) -> Result<Json<IssuerKeys>, ApiError> {
    let missing = || ApiError::not_found("this issuer");
    let row = admin.store.issuer(&tenant_id(&tenant)?, &name).await?.ok_or_else(missing)?;
    let world = admin.registry.snapshot();
    let issuers = world.tenants.get(&tenant).map(|world| world.issuers.as_slice()).unwrap_or_default();
    let (keys, problem) = match issuers.iter().find(|issuer| issuer.id == row.id) {
        Some(issuer) => issuer.keys.state(),
        None => (None, None),
    };
    let named = keys.iter().flat_map(|keys| &keys.by_kid);
    let mut named: Vec<IssuerKey> = named
        .map(|(kid, key)| IssuerKey { kid: kid.clone(), alg: key.algorithms().first().copied().unwrap_or_default() })
        .collect();
    named.sort_by(|a, b| a.kid.cmp(&b.kid));
    Ok(Json(IssuerKeys {
        keys: named,
        fetched_at: keys.map(|keys| rfc3339(keys.fetched_at)),
        problem: problem.map(|problem| problem.to_string()),
    }))
}

/// The document to store: what the request path will read, at addresses that may be fetched, for principals that exist,
/// and no other issuer of the tenant's for the same audience.
async fn check(admin: &Shared, tenant: &TenantId, name: &str, spec: &IssuerDocument) -> Result<Vec<u8>, ApiError> {
    let document = serde_json::to_vec(spec).map_err(|_| ApiError::internal())?;
    let mut problems = IssuerDocument::read(&document).err().unwrap_or_default();
    for (path, url) in [("/issuer", &spec.issuer), ("/jwks_uri", &spec.jwks_uri)] {
        // The issuer itself is only a name where its keys are said to be elsewhere.
        let is_fetched = path == "/jwks_uri" || spec.jwks_uri.is_none();
        if let Some(url) = url.as_deref().filter(|_| is_fetched)
            && !problems.iter().any(|problem| problem.path == path)
            && let Err(denied) = admin.fetch.rules().judge_url(url)
        {
            problems.push(Problem::new(path, denied.to_string()));
        }
    }
    for (subject, principal) in spec.principals.iter().flatten() {
        if admin.store.principal(tenant, principal).await?.is_none() {
            let at = format!("/principals/{}", subject.replace('~', "~0").replace('/', "~1"));
            problems.push(Problem::new(at, format!("there is no principal {principal:?} in this tenant")));
        }
    }
    let rows = admin.store.load_tenant(tenant).await?.map(|rows| rows.issuers).unwrap_or_default();
    for row in rows.iter().filter(|row| row.name != name) {
        let Ok(other) = IssuerDocument::read(&row.document) else { continue };
        let shared = |one: &&String| spec.audiences.iter().flatten().any(|audience| audience == *one);
        if other.issuer == spec.issuer && other.audiences.iter().flatten().any(|one| shared(&one)) {
            problems
                .push(Problem::new("/audiences", format!("issuer {} already has one of these audiences", row.name)));
        }
    }
    if problems.is_empty() { Ok(document) } else { Err(ApiError::invalid(under("spec", problems))) }
}

fn show(row: IssuerRow) -> Result<IssuerResource, ApiError> {
    Ok(Resource {
        kind: "Issuer",
        tenant: row.tenant.to_string(),
        name: row.name,
        id: row.id,
        revision: row.revision,
        created_at: rfc3339(row.created),
        updated_at: rfc3339(row.updated),
        spec: value(&row.document)?,
    })
}
