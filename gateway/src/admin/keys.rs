//! API keys: shown once when made, then only a hint. `DELETE` revokes: the key stops working everywhere within seconds and its open streams end.

use super::Shared;
use super::body::Document;
use super::error::ApiError;
use super::extract::{Path, Query, State};
use super::resource::{Expected, Listing, PageQuery, existing_tenant, micros, new_id, rfc3339, tenant_id};
use crate::config::gather::parse_duration;
use crate::registry::mint;
use axum::Json;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use store::{KeyRow, NewKey, TenantId};
use utoipa::ToSchema;

/// What makes a key.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NewKeySpec {
    /// The principal that it proves.
    #[schema(required = true)]
    pub principal: String,
    /// For people.
    pub label: String,
    /// RFC 3339; absent for a key that does not expire.
    pub expires_at: Option<String>,
}

/// What can change of a key.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyEdit {
    /// RFC 3339; `null` for a key that does not expire.
    pub expires_at: Option<String>,
}

/// How a key is replaced.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Rotation {
    /// How long the old key still works, such as `24h` (which is the default) or `0s`; at most 90 days.
    pub overlap: Option<String>,
    /// RFC 3339; if absent, the new key works as long from now as the old one did from its making.
    pub expires_at: Option<String>,
}

/// A key, without the key.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct KeyView {
    /// Always `Key`.
    pub kind: &'static str,
    /// The tenant it belongs to.
    pub tenant: String,
    /// `key-…`
    pub id: String,
    /// The principal that it proves.
    pub principal: String,
    /// For people.
    pub label: String,
    /// What may be shown of the key.
    pub hint: String,
    /// Send it back as `If-Match` to change it.
    pub revision: i64,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub expires_at: Option<String>,
    /// RFC 3339.
    pub revoked_at: Option<String>,
    /// RFC 3339, to the minute.
    pub last_used_at: Option<String>,
}

/// A key that was just made. The only time it is shown.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MadeKey {
    /// The key itself.
    pub key: String,
    /// What stays of it.
    #[serde(flatten)]
    pub view: KeyView,
}

/// The tenant's keys.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/keys", tag = "keys",
    params(("tenant" = String, Path), PageQuery), responses((status = 200, body = Listing<KeyView>)))]
pub(super) async fn list(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Listing<KeyView>>, ApiError> {
    let tenant = existing_tenant(&admin.store, &tenant).await?;
    let rows = admin.store.keys(&tenant, query.page()).await?;
    let mut named = Vec::with_capacity(rows.len());
    for row in rows {
        let principal = principal_name(&admin, &tenant, &row.principal_id).await?;
        named.push((row, principal));
    }
    let listing = query.listing(named, |(row, _)| row.id.clone(), |(row, principal)| Ok(show(row, principal)))?;
    Ok(Json(listing))
}

/// Makes a key and shows it, this once.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/keys", tag = "keys", params(("tenant" = String, Path)),
    request_body = NewKeySpec, responses((status = 201, body = MadeKey), (status = 400, body = ApiError)))]
pub(super) async fn create(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Document { typed, .. }: Document<NewKeySpec>,
) -> Result<(StatusCode, Json<MadeKey>), ApiError> {
    let tenant = existing_tenant(&admin.store, &tenant).await?;
    let now = admin.clock.now();
    let expires = expiry(typed.expires_at.as_deref(), now);
    let principal = admin.store.principal(&tenant, &typed.principal).await?.ok_or_else(|| {
        ApiError::invalid_field("principal", format!("there is no principal {:?} in this tenant", typed.principal))
    });
    let (principal, expires) = ApiError::both(principal, expires)?;
    let key = mint::api_key(&admin.key_prefix).map_err(|_| ApiError::internal())?;
    let new = NewKey {
        id: new_id("key-", now)?,
        principal_id: principal.id,
        label: typed.label,
        hash: key.hash.to_vec(),
        hint: key.hint.clone(),
        expires,
    };
    admin.store.create_key(&tenant, &new, now).await?;
    admin.applied().await;
    let row = admin.store.key(&tenant, &new.id).await?.ok_or_else(|| ApiError::not_found("this key"))?;
    Ok((StatusCode::CREATED, Json(MadeKey { key: key.text.to_string(), view: show(row, typed.principal) })))
}

/// One key.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/keys/{id}", tag = "keys",
    params(("tenant" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = KeyView), (status = 404, body = ApiError)))]
pub(super) async fn read(
    State(admin): State<Shared>,
    Path((tenant, id)): Path<(String, String)>,
) -> Result<Json<KeyView>, ApiError> {
    let tenant = tenant_id(&tenant)?;
    let row = admin.store.key(&tenant, &id).await?.ok_or_else(|| ApiError::not_found("this key"))?;
    let principal = principal_name(&admin, &tenant, &row.principal_id).await?;
    Ok(Json(show(row, principal)))
}

/// Changes when a key expires.
#[utoipa::path(put, path = "/api/v1/tenants/{tenant}/keys/{id}", tag = "keys",
    params(("tenant" = String, Path), ("id" = String, Path)), request_body = KeyEdit,
    responses((status = 200, body = KeyView), (status = 412, body = ApiError)))]
pub(super) async fn update(
    State(admin): State<Shared>,
    Path((tenant, id)): Path<(String, String)>,
    Expected(expected): Expected,
    Document { typed, tree }: Document<KeyEdit>,
) -> Result<Json<KeyView>, ApiError> {
    if tree.get("expires_at").is_none() {
        return Err(ApiError::invalid_field("expires_at", "is missing; null for a key that does not expire"));
    }
    let tenant_row = tenant_id(&tenant)?;
    let row = admin.store.key(&tenant_row, &id).await?.ok_or_else(|| ApiError::not_found("this key"))?;
    if expected != store::IfMatch::Revision(row.revision) {
        return Err(ApiError::conflict());
    }
    if row.revoked.is_some() {
        return Err(ApiError::refused("revoked", "a revoked key stays revoked; make another one"));
    }
    let expires = expiry(typed.expires_at.as_deref(), admin.clock.now())?;
    admin.store.set_key_expiry(&tenant_row, &id, expires).await?;
    admin.applied().await;
    read(State(admin), Path((tenant, id))).await
}

/// Revokes a key.
#[utoipa::path(delete, path = "/api/v1/tenants/{tenant}/keys/{id}", tag = "keys",
    params(("tenant" = String, Path), ("id" = String, Path)),
    responses((status = 204), (status = 404, body = ApiError)))]
pub(super) async fn revoke(
    State(admin): State<Shared>,
    Path((tenant, id)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    admin.store.revoke_key(&tenant_id(&tenant)?, &id, admin.clock.now()).await?;
    admin.applied().await;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes another key of the same principal and shows it, this once; the old one ends after the overlap.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/keys/{id}/rotate", tag = "keys",
    params(("tenant" = String, Path), ("id" = String, Path)), request_body = Rotation,
    responses((status = 201, body = MadeKey), (status = 404, body = ApiError)))]
pub(super) async fn rotate(
    State(admin): State<Shared>,
    Path((tenant, id)): Path<(String, String)>,
    Document { typed, .. }: Document<Rotation>,
) -> Result<(StatusCode, Json<MadeKey>), ApiError> {
    let tenant = tenant_id(&tenant)?;
    let old = admin.store.key(&tenant, &id).await?.ok_or_else(|| ApiError::not_found("this key"))?;
    if old.revoked.is_some() {
        return Err(ApiError::refused("revoked", "a revoked key is not replaced; make another one"));
    }
    let now = admin.clock.now();
    let (overlap, expires) =
        ApiError::both(overlap(typed.overlap.as_deref()), expiry(typed.expires_at.as_deref(), now))?;
    let same_life = old.expires.map(|at| now.saturating_add(at.saturating_sub(old.created)));
    let key = mint::api_key(&admin.key_prefix).map_err(|_| ApiError::internal())?;
    let new = NewKey {
        id: new_id("key-", now)?,
        principal_id: old.principal_id.clone(),
        label: old.label,
        hash: key.hash.to_vec(),
        hint: key.hint.clone(),
        expires: expires.or(same_life),
    };
    admin.store.rotate_key(&tenant, &id, &new, now.saturating_add(overlap), now).await?;
    admin.applied().await;
    let row = admin.store.key(&tenant, &new.id).await?.ok_or_else(|| ApiError::not_found("this key"))?;
    let principal = principal_name(&admin, &tenant, &row.principal_id).await?;
    Ok((StatusCode::CREATED, Json(MadeKey { key: key.text.to_string(), view: show(row, principal) })))
}

/// How long both keys work, in microseconds.
fn overlap(text: Option<&str>) -> Result<i64, ApiError> {
    const DAY: u64 = 24 * 3_600;
    let overlap = text.map_or(Some(Duration::from_secs(DAY)), parse_duration);
    let overlap = overlap.filter(|overlap| overlap.as_secs() <= 90 * DAY);
    overlap.and_then(|overlap| i64::try_from(overlap.as_micros()).ok()).ok_or_else(|| {
        ApiError::invalid_field("overlap", "must be a duration such as \"30m\" or \"24h\", at most 90 days (2160h)")
    })
}

/// When a key expires. To end one at once there is revocation.
fn expiry(text: Option<&str>, now: i64) -> Result<Option<i64>, ApiError> {
    let expires = text.map(|text| micros("expires_at", text)).transpose()?;
    if expires.is_some_and(|at| at <= now) {
        return Err(ApiError::invalid_field("expires_at", "must lie in the future; to end a key now, revoke it"));
    }
    Ok(expires)
}

/// The name of a key's principal; the id of one that was removed.
async fn principal_name(admin: &Shared, tenant: &TenantId, id: &str) -> Result<String, ApiError> {
    Ok(admin.store.principal_by_id(tenant, id).await?.map_or_else(|| id.to_owned(), |row| row.name))
}

fn show(row: KeyRow, principal: String) -> KeyView {
    KeyView {
        kind: "Key",
        tenant: row.tenant.to_string(),
        id: row.id,
        principal,
        label: row.label,
        hint: row.hint,
        revision: row.revision,
        created_at: rfc3339(row.created),
        expires_at: row.expires.map(rfc3339),
        revoked_at: row.revoked.map(rfc3339),
        last_used_at: row.last_used.map(rfc3339),
    }
}
