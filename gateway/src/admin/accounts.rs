//! Accounts of administrators and tokens of programs. Nobody gives a role that it lacks, and nobody sees or touches an
//! account that has more than it could give (T-ADM-3). Tokens are shown once.

use super::access::{BOOTSTRAP, Way, Who};
use super::body::Document;
use super::error::{ApiError, FieldProblem};
use super::extract::{Path, Query, State};
use super::resource::{Expected, Listing, PageQuery, micros, new_id, rfc3339};
use super::roles::{Assignment, Roles};
use super::{Shared, password};
use crate::registry::mint;
use axum::Json;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::{AdminEdit, AdminRow, AdminState, AdminTokenRow, NewAdmin, NewAdminToken, Page};
use utoipa::ToSchema;
use zeroize::Zeroizing;

/// What an administrator writes of another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AdminSpec {
    /// For people.
    pub display_name: String,
    /// Whether it may sign in.
    pub state: AdminLife,
    /// What it may do.
    #[schema(required = true)]
    pub roles: Vec<Assignment>,
}

/// Whether an administrator may sign in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum AdminLife {
    /// It may.
    #[default]
    Active,
    /// It may not; its sessions have ended and its tokens are revoked.
    Disabled,
}

/// What an account signs in with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Source {
    /// A password.
    Password,
    /// Single sign-on.
    Sso,
}

impl Source {
    /// Of this account.
    pub(super) fn of(row: &AdminRow) -> Self {
        if row.sso_issuer.is_some() { Self::Sso } else { Self::Password }
    }
}

/// What makes an account.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NewAdminSpec {
    /// What is typed in to sign in.
    #[schema(required = true)]
    pub name: String,
    /// At least 12 characters; whoever gets the account changes it.
    #[schema(required = true)]
    pub password: String,
    /// What it should be.
    #[schema(required = true)]
    pub spec: AdminSpec,
}

/// What changes an account.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AdminUpdate {
    /// What it should be now, as a whole.
    #[schema(required = true)]
    pub spec: AdminSpec,
}

/// A new password for somebody.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NewPassword {
    /// At least 12 characters.
    #[schema(required = true)]
    pub password: String,
}

/// An account, without its password.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AdminView {
    /// Always `Admin`.
    pub kind: &'static str,
    /// What is typed in to sign in.
    pub name: String,
    /// `adm-…`
    pub id: String,
    /// Send it back as `If-Match` to change it.
    pub revision: i64,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
    /// RFC 3339; absent before the first sign-in.
    pub signed_in_at: Option<String>,
    /// What it signs in with. The roles of single sign-on come from the provider, at each sign-in.
    pub source: Source,
    /// Of single sign-on: the provider that vouches for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Of single sign-on: the provider's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// What an administrator writes.
    pub spec: AdminSpec,
}

/// What makes a token.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NewTokenSpec {
    /// For people: what it is for.
    #[schema(required = true)]
    pub name: String,
    /// What it may do; at most what its maker may give, and never more than its maker may do later.
    #[schema(required = true)]
    pub roles: Vec<Assignment>,
    /// RFC 3339; absent for one that does not expire, or in 30 days where single sign-on vouches for the maker.
    pub expires_at: Option<String>,
}

/// A token, without the token.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TokenView {
    /// Always `Token`.
    pub kind: &'static str,
    /// `tok-…`
    pub id: String,
    /// For people.
    pub name: String,
    /// What may be shown of it.
    pub hint: String,
    /// What it may do.
    pub roles: Vec<Assignment>,
    /// The account that made it, which it ends with; `(bootstrap)` for the token of the configured file.
    pub made_by: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub expires_at: Option<String>,
    /// RFC 3339.
    pub revoked_at: Option<String>,
    /// RFC 3339, to the minute.
    pub last_used_at: Option<String>,
}

/// A token that was just made. The only time it is shown.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MadeToken {
    /// The token itself.
    pub token: String,
    /// What stays of it.
    #[serde(flatten)]
    pub view: TokenView,
}

/// The accounts that the asking one could have made.
#[utoipa::path(get, path = "/api/v1/admins", tag = "admins", params(PageQuery),
    responses((status = 200, body = Listing<AdminView>), (status = 403, body = ApiError)))]
pub(super) async fn list(
    State(admin): State<Shared>,
    who: Who,
    Query(query): Query<PageQuery>,
) -> Result<Json<Listing<AdminView>>, ApiError> {
    let store = &admin.store;
    let read = |after: String, limit| async move { store.admins(Page { after: &after, limit }).await };
    Ok(Json(query.visible(read, |row| row.name.clone(), |row| may_touch(&who, row), show).await?))
}

/// Makes an account.
#[utoipa::path(post, path = "/api/v1/admins", tag = "admins", request_body = NewAdminSpec,
    responses((status = 201, body = AdminView), (status = 400, body = ApiError), (status = 403, body = ApiError)))]
pub(super) async fn create(
    State(admin): State<Shared>,
    who: Who,
    Document { typed, .. }: Document<NewAdminSpec>,
) -> Result<(StatusCode, Json<AdminView>), ApiError> {
    let name = if is_name(&typed.name) { Ok(()) } else { Err(ApiError::invalid_field("name", NAME_RULE)) };
    let ((), roles) = ApiError::both(name, given(&who, typed.spec.roles, "spec."))?;
    if typed.spec.state == AdminLife::Disabled {
        return Err(ApiError::invalid_field("spec.state", "a new account is active; disable it afterwards"));
    }
    let now = admin.clock.now();
    let new = NewAdmin {
        id: new_id("adm-", now)?,
        display_name: display_name(typed.spec.display_name)?,
        password: Some(hashed(&admin, &typed.name, typed.password).await?),
        name: typed.name,
        roles: roles.to_stored(),
    };
    admin.store.create_admin(&new, now).await?;
    tracing::info!(admin = who.name, account = new.name, "an administrator's account was made");
    Ok((StatusCode::CREATED, Json(show(row(&admin, &who, &new.name).await?))))
}

/// One account.
#[utoipa::path(get, path = "/api/v1/admins/{name}", tag = "admins", params(("name" = String, Path)),
    responses((status = 200, body = AdminView), (status = 404, body = ApiError)))]
pub(super) async fn read(
    State(admin): State<Shared>,
    who: Who,
    Path(name): Path<String>,
) -> Result<Json<AdminView>, ApiError> {
    Ok(Json(show(row(&admin, &who, &name).await?)))
}

/// Changes an account's roles and state. Its sessions and tokens may at once do no more than it may; one that is disabled
/// is signed out, and its tokens are revoked.
#[utoipa::path(put, path = "/api/v1/admins/{name}", tag = "admins", params(("name" = String, Path)),
    request_body = AdminUpdate,
    responses((status = 200, body = AdminView), (status = 409, body = ApiError), (status = 412, body = ApiError)))]
pub(super) async fn update(
    State(admin): State<Shared>,
    who: Who,
    Path(name): Path<String>,
    Expected(expected): Expected,
    Document { typed, .. }: Document<AdminUpdate>,
) -> Result<Json<AdminView>, ApiError> {
    let before = row(&admin, &who, &name).await?;
    let roles = match Source::of(&before) {
        Source::Password => given(&who, typed.spec.roles, "spec.")?,
        Source::Sso => kept(&before, typed.spec.roles)?,
    };
    let state = match typed.spec.state {
        AdminLife::Active => AdminState::Active,
        AdminLife::Disabled => AdminState::Disabled,
    };
    if name == who.name && (state == AdminState::Disabled || roles != Roles::read(&before.roles)) {
        return Err(not_oneself());
    }
    let edit = AdminEdit { display_name: display_name(typed.spec.display_name)?, roles: roles.to_stored(), state };
    admin.store.update_admin(&name, expected, &edit, admin.clock.now()).await?;
    tracing::info!(admin = who.name, account = name, "an administrator's account was changed");
    Ok(Json(show(row(&admin, &who, &name).await?)))
}

/// Removes an account; its sessions end, and its tokens are revoked.
#[utoipa::path(delete, path = "/api/v1/admins/{name}", tag = "admins", params(("name" = String, Path)),
    responses((status = 204), (status = 404, body = ApiError), (status = 409, body = ApiError)))]
pub(super) async fn delete(
    State(admin): State<Shared>,
    who: Who,
    Path(name): Path<String>,
    Expected(expected): Expected,
) -> Result<StatusCode, ApiError> {
    row(&admin, &who, &name).await?;
    if name == who.name {
        return Err(not_oneself());
    }
    admin.store.delete_admin(&name, expected, admin.clock.now()).await?;
    tracing::info!(admin = who.name, account = name, "an administrator's account was removed");
    Ok(StatusCode::NO_CONTENT)
}

/// Gives an account a new password; all its sessions end, and its tokens are revoked.
#[utoipa::path(put, path = "/api/v1/admins/{name}/password", tag = "admins", params(("name" = String, Path)),
    request_body = NewPassword, responses((status = 204), (status = 400, body = ApiError), (status = 404, body = ApiError)))]
pub(super) async fn set_password(
    State(admin): State<Shared>,
    who: Who,
    Path(name): Path<String>,
    Document { typed, .. }: Document<NewPassword>,
) -> Result<StatusCode, ApiError> {
    has_password(&row(&admin, &who, &name).await?)?;
    let hashed = hashed(&admin, &name, typed.password).await?;
    admin.store.set_admin_password(&name, &hashed, None, admin.clock.now()).await?;
    admin.passwords.forget(&name);
    tracing::info!(admin = who.name, account = name, "an administrator's password was set");
    Ok(StatusCode::NO_CONTENT)
}

/// Tokens that the asking administrator could have made.
#[utoipa::path(get, path = "/api/v1/tokens", tag = "admins", params(PageQuery),
    responses((status = 200, body = Listing<TokenView>), (status = 403, body = ApiError)))]
pub(super) async fn list_tokens(
    State(admin): State<Shared>,
    who: Who,
    Query(query): Query<PageQuery>,
) -> Result<Json<Listing<TokenView>>, ApiError> {
    let store = &admin.store;
    let read = |after: String, limit| async move { store.admin_tokens(Page { after: &after, limit }).await };
    let sees = |row: &AdminTokenRow| who.roles.covers(&Roles::read(&row.roles));
    Ok(Json(query.visible(read, |row| row.id.clone(), sees, show_token).await?))
}

/// Makes a token and shows it, this once. A token makes no tokens, for they would outlive it.
#[utoipa::path(post, path = "/api/v1/tokens", tag = "admins", request_body = NewTokenSpec,
    responses((status = 201, body = MadeToken), (status = 400, body = ApiError), (status = 403, body = ApiError)))]
pub(super) async fn create_token(
    State(admin): State<Shared>,
    who: Who,
    Document { typed, .. }: Document<NewTokenSpec>,
) -> Result<(StatusCode, Json<MadeToken>), ApiError> {
    // An account's tokens end with it; no account has the name that the first token's are made by.
    let made_by = match &who.way {
        Way::Session { .. } => who.name.clone(),
        Way::Bootstrap => String::from(BOOTSTRAP),
        Way::Token { .. } => return Err(ApiError::token_by_token()),
    };
    let now = admin.clock.now();
    let expires = typed.expires_at.as_deref().map(|text| micros("expires_at", text)).transpose();
    let (roles, expires) = ApiError::both(given(&who, typed.roles, ""), expires)?;
    let expires = vouched_until(&admin, &who, expires, now).await?;
    if expires.is_some_and(|at| at <= now) {
        return Err(ApiError::invalid_field("expires_at", "must lie in the future"));
    }
    if typed.name.trim().is_empty() || typed.name.chars().count() > 100 {
        return Err(ApiError::invalid_field("name", "must be 1 to 100 characters: what the token is for"));
    }
    let made = mint::api_key(TOKEN_PREFIX).map_err(|_| ApiError::internal())?;
    let hash = made.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let new = NewAdminToken {
        id: new_id("tok-", now)?,
        name: typed.name,
        hash,
        hint: made.hint.clone(),
        roles: roles.to_stored(),
        made_by,
        expires,
    };
    admin.store.create_admin_token(&new, now).await?;
    tracing::info!(admin = who.name, token = new.id, "an admin token was made");
    let row = admin.store.admin_token_by_id(&new.id).await?.ok_or_else(ApiError::internal)?;
    Ok((StatusCode::CREATED, Json(MadeToken { token: made.text.to_string(), view: show_token(row) })))
}

/// Revokes a token at once.
#[utoipa::path(delete, path = "/api/v1/tokens/{id}", tag = "admins", params(("id" = String, Path)),
    responses((status = 204), (status = 404, body = ApiError)))]
pub(super) async fn revoke_token(
    State(admin): State<Shared>,
    who: Who,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let row = admin.store.admin_token_by_id(&id).await?;
    let row = row.filter(|row| who.roles.covers(&Roles::read(&row.roles)));
    row.ok_or_else(|| ApiError::not_found("this token"))?;
    admin.store.revoke_admin_token(&id, admin.clock.now()).await?;
    tracing::info!(admin = who.name, token = id, "an admin token was revoked");
    Ok(StatusCode::NO_CONTENT)
}

/// Whether this can be an account's name.
pub(super) fn is_name(name: &str) -> bool {
    let legal = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= 64
        && name.as_bytes().first().is_some_and(legal)
        && name.bytes().all(|byte| legal(&byte) || b".-_@+".contains(&byte))
}

pub(super) const NAME_RULE: &str =
    "must be 1 to 64 of a-z, 0-9 and . - _ @ +, beginning with a letter or digit, such as ann or ann@example.com";

/// The slow hash of a password that may be one.
pub(super) async fn hashed(admin: &Shared, name: &str, password: String) -> Result<String, ApiError> {
    let password = Zeroizing::new(password);
    if let Some(problem) = password::problem(name, &password) {
        return Err(ApiError::invalid_field("password", problem));
    }
    admin.passwords.hash(password).await.map_err(|_| ApiError::internal())
}

/// Roles that `who` may give.
fn given(who: &Who, roles: Vec<Assignment>, under: &str) -> Result<Roles, ApiError> {
    let roles = Roles(roles);
    let problems = roles.problems();
    if !problems.is_empty() {
        let at = |one: FieldProblem| FieldProblem { path: format!("{under}{}", one.path), ..one };
        return Err(ApiError::invalid(problems.into_iter().map(at).collect()));
    }
    if who.roles.covers(&roles) { Ok(roles) } else { Err(ApiError::forbidden()) }
}

/// The roles of single sign-on are the provider's to change.
fn kept(before: &AdminRow, roles: Vec<Assignment>) -> Result<Roles, ApiError> {
    let (before, roles) = (Roles::read(&before.roles), Roles(roles));
    if roles == before { Ok(roles) } else { Err(by_provider("its roles")) }
}

/// Refuses for an account without a password.
pub(super) fn has_password(row: &AdminRow) -> Result<(), ApiError> {
    match Source::of(row) {
        Source::Password => Ok(()),
        Source::Sso => Err(by_provider("its password")),
    }
}

fn by_provider(what: &str) -> ApiError {
    ApiError::at_odds("by_provider", format!("the account is the provider's of single sign-on; change {what} there"))
}

/// A token of somebody who signs in at a provider ends in 30 days at most: nobody tells us that a person has left.
async fn vouched_until(admin: &Shared, who: &Who, wanted: Option<i64>, now: i64) -> Result<Option<i64>, ApiError> {
    let Way::Session { .. } = who.way else { return Ok(wanted) };
    let row = admin.store.admin(&who.name).await?.ok_or_else(ApiError::unauthenticated)?;
    let latest = now + LONGEST_VOUCHED;
    match (Source::of(&row), wanted) {
        (Source::Password, wanted) => Ok(wanted),
        (Source::Sso, None) => Ok(Some(latest)),
        (Source::Sso, Some(at)) if at <= latest => Ok(wanted),
        (Source::Sso, Some(_)) => {
            Err(ApiError::invalid_field("expires_at", "must be within 30 days for an account of single sign-on"))
        }
    }
}

fn display_name(text: String) -> Result<String, ApiError> {
    if text.chars().count() <= 100 {
        return Ok(text);
    }
    Err(ApiError::invalid_field("spec.display_name", "must have at most 100 characters"))
}

fn may_touch(who: &Who, row: &AdminRow) -> bool {
    who.roles.covers(&Roles::read(&row.roles))
}

/// An account that `who` may see; others look missing.
async fn row(admin: &Shared, who: &Who, name: &str) -> Result<AdminRow, ApiError> {
    let row = admin.store.admin(name).await?.filter(|row| may_touch(who, row));
    row.ok_or_else(|| ApiError::not_found("this administrator"))
}

fn not_oneself() -> ApiError {
    ApiError::at_odds("own_account", "nobody takes its own power away; ask another administrator")
}

fn show(row: AdminRow) -> AdminView {
    let source = Source::of(&row);
    AdminView {
        kind: "Admin",
        name: row.name,
        id: row.id,
        revision: row.revision,
        created_at: rfc3339(row.created),
        updated_at: rfc3339(row.updated),
        signed_in_at: row.signed_in.map(rfc3339),
        source,
        issuer: row.sso_issuer,
        subject: row.sso_subject,
        spec: AdminSpec {
            display_name: row.display_name,
            state: match row.state {
                AdminState::Active => AdminLife::Active,
                AdminState::Disabled => AdminLife::Disabled,
            },
            roles: Roles::read(&row.roles).0,
        },
    }
}

fn show_token(row: AdminTokenRow) -> TokenView {
    TokenView {
        kind: "Token",
        id: row.id,
        name: row.name,
        hint: row.hint,
        roles: Roles::read(&row.roles).0,
        made_by: row.made_by,
        created_at: rfc3339(row.created),
        expires_at: row.expires.map(rfc3339),
        revoked_at: row.revoked.map(rfc3339),
        last_used_at: row.used.map(rfc3339),
    }
}

/// In microseconds.
const LONGEST_VOUCHED: i64 = 30 * 24 * 3_600 * 1_000_000;
const TOKEN_PREFIX: &str = "chancery_admin_";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_people_type_and_paths_can_hold() {
        assert!(!is_name(BOOTSTRAP));
        assert!(is_name("ann") && is_name("ann.lee+ops@example.com"));
        for name in ["", "Ann", ".ann", "a b", "a/b", "a%2f", "é", &"a".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
