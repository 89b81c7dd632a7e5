//! Keys that sign a tenant's cards, and those that sign its tokens: next → active → retiring → gone. Private halves are sealed and never shown.

use super::Shared;
use super::body::Document;
use super::error::ApiError;
use super::extract::{Path, Query, State};
use super::resource::{Expected, Listing, PageQuery, existing_tenant, rfc3339, tenant_id};
use crate::registry::mint;
use axum::Json;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::{KeyPurpose, NewSigningKey, SigningKeyRow, SigningKeyState, TenantId};
use utoipa::ToSchema;

/// What makes a signing key.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NewSigningKeySpec {
    /// What it signs: `card` or `token`.
    pub purpose: Purpose,
    /// How it begins: `next` (published, not yet signing) or `active`.
    pub state: SigningKeyLife,
}

/// What can change of a signing key.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SigningKeyEdit {
    /// Its next state: `active`, `retiring` or `gone`.
    pub state: Option<SigningKeyLife>,
}

/// What a key signs, and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Purpose {
    /// Audit checkpoints.
    Audit,
    /// Agent cards.
    #[default]
    Card,
    /// Push notifications.
    Push,
    /// Tokens of `POST /oauth/token`.
    Token,
}

/// A key's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum SigningKeyLife {
    /// Published, not yet signing.
    #[default]
    Next,
    /// Signing.
    Active,
    /// Published, no longer signing.
    Retiring,
    /// Neither; its private half is erased.
    Gone,
}

impl SigningKeyLife {
    const fn word(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Active => "active",
            Self::Retiring => "retiring",
            Self::Gone => "gone",
        }
    }
}

/// A signing key's public facts.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SigningKeyView {
    /// Always `SigningKey`.
    pub kind: &'static str,
    /// The tenant it belongs to.
    pub tenant: String,
    /// Its id in the admin API.
    pub id: String,
    /// Its id in the key set and in signatures: the RFC 7638 thumbprint.
    pub kid: String,
    /// The public half (Ed25519, base64url).
    pub x: String,
    /// What it signs.
    pub purpose: Purpose,
    /// Its life.
    pub state: SigningKeyLife,
    /// Send it back as `If-Match` to change it.
    pub revision: i64,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub activated_at: Option<String>,
    /// RFC 3339.
    pub retired_at: Option<String>,
}

/// The tenant's keys.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/signing-keys", tag = "signing keys",
    params(("tenant" = String, Path), PageQuery), responses((status = 200, body = Listing<SigningKeyView>)))]
pub(super) async fn list(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Listing<SigningKeyView>>, ApiError> {
    let tenant = existing_tenant(&admin.store, &tenant).await?;
    let rows = admin.store.signing_keys(&tenant, query.page()).await?;
    Ok(Json(query.listing(rows, |row| row.id.clone(), |row| Ok(show(row)))?))
}

/// Makes a key.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/signing-keys", tag = "signing keys",
    params(("tenant" = String, Path)), request_body = NewSigningKeySpec,
    responses((status = 201, body = SigningKeyView), (status = 400, body = ApiError)))]
pub(super) async fn create(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Document { typed, .. }: Document<NewSigningKeySpec>,
) -> Result<(StatusCode, Json<SigningKeyView>), ApiError> {
    let tenant = existing_tenant(&admin.store, &tenant).await?;
    let state = match typed.state {
        SigningKeyLife::Next => SigningKeyState::Next,
        SigningKeyLife::Active => SigningKeyState::Active,
        SigningKeyLife::Retiring | SigningKeyLife::Gone => {
            return Err(ApiError::invalid_field("state", "a new key begins as next or active"));
        }
    };
    let purpose = match typed.purpose {
        Purpose::Card => KeyPurpose::Card,
        Purpose::Token => KeyPurpose::Token,
        Purpose::Audit | Purpose::Push => {
            return Err(ApiError::invalid_field("purpose", "keys for this are not made here: card or token"));
        }
    };
    let id = make(&admin, &tenant, (purpose, state)).await?;
    let row = admin.store.signing_key(&tenant, &id).await?.ok_or_else(|| ApiError::not_found("this key"))?;
    Ok((StatusCode::CREATED, Json(show(row))))
}

/// One key.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/signing-keys/{id}", tag = "signing keys",
    params(("tenant" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = SigningKeyView), (status = 404, body = ApiError)))]
pub(super) async fn read(
    State(admin): State<Shared>,
    Path((tenant, id)): Path<(String, String)>,
) -> Result<Json<SigningKeyView>, ApiError> {
    let row = admin.store.signing_key(&tenant_id(&tenant)?, &id).await?;
    Ok(Json(show(row.ok_or_else(|| ApiError::not_found("this key"))?)))
}

/// Moves a key through its life, forward only.
#[utoipa::path(put, path = "/api/v1/tenants/{tenant}/signing-keys/{id}", tag = "signing keys",
    params(("tenant" = String, Path), ("id" = String, Path)), request_body = SigningKeyEdit,
    responses((status = 200, body = SigningKeyView), (status = 412, body = ApiError)))]
pub(super) async fn update(
    State(admin): State<Shared>,
    Path((tenant, id)): Path<(String, String)>,
    Expected(expected): Expected,
    Document { typed, .. }: Document<SigningKeyEdit>,
) -> Result<Json<SigningKeyView>, ApiError> {
    let owner = tenant_id(&tenant)?;
    let row = admin.store.signing_key(&owner, &id).await?.ok_or_else(|| ApiError::not_found("this key"))?;
    if expected != store::IfMatch::Revision(row.revision) {
        return Err(ApiError::conflict());
    }
    let wanted = typed.state.ok_or_else(|| ApiError::invalid_field("state", "is missing: active, retiring or gone"))?;
    let next = match (row.state, wanted) {
        (SigningKeyState::Next, SigningKeyLife::Active) => SigningKeyState::Active,
        (SigningKeyState::Active, SigningKeyLife::Retiring) => SigningKeyState::Retiring,
        (SigningKeyState::Next | SigningKeyState::Active | SigningKeyState::Retiring, SigningKeyLife::Gone) => {
            SigningKeyState::Gone
        }
        (from, to) => {
            return Err(ApiError::invalid_field(
                "state",
                format!("a key goes next, active, retiring, gone; not from {} to {}", from.as_str(), to.word()),
            ));
        }
    };
    admin.store.set_signing_key_state(&owner, &id, next, admin.clock.now()).await?;
    admin.applied().await;
    read(State(admin), Path((tenant, id))).await
}

/// The first, active key of a new tenant.
pub(super) async fn make_first(admin: &Shared, tenant: &TenantId) -> Result<(), ApiError> {
    make(admin, tenant, (KeyPurpose::Card, SigningKeyState::Active)).await.map(|_| ())
}

async fn make(
    admin: &Shared,
    tenant: &TenantId,
    (purpose, state): (KeyPurpose, SigningKeyState),
) -> Result<String, ApiError> {
    let now = admin.clock.now();
    let minted = mint::signing_key(&admin.seal, tenant.as_str(), purpose, now);
    let new = NewSigningKey { state, ..minted.map_err(|_| ApiError::internal())? };
    admin.store.create_signing_key(tenant, &new, now).await?;
    admin.applied().await;
    Ok(new.id)
}

fn show(row: SigningKeyRow) -> SigningKeyView {
    SigningKeyView {
        kind: "SigningKey",
        tenant: row.tenant.to_string(),
        id: row.id,
        kid: row.kid,
        x: URL_SAFE_NO_PAD.encode(&row.public),
        purpose: match row.purpose {
            KeyPurpose::Audit => Purpose::Audit,
            KeyPurpose::Card => Purpose::Card,
            KeyPurpose::Push => Purpose::Push,
            KeyPurpose::Token => Purpose::Token,
        },
        state: match row.state {
            SigningKeyState::Next => SigningKeyLife::Next,
            SigningKeyState::Active => SigningKeyLife::Active,
            SigningKeyState::Retiring => SigningKeyLife::Retiring,
            SigningKeyState::Gone => SigningKeyLife::Gone,
        },
        revision: row.revision,
        created_at: rfc3339(row.created),
        activated_at: row.activated.map(rfc3339),
        retired_at: row.retired.map(rfc3339),
    }
}
