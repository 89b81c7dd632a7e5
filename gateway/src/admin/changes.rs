//! The trail of changes: who changed what, when, from where, and what was refused. Rows are written by the store (`author`
//! says under whose name); here they are listed. Ids, names and revisions alone: what was written is in a thing's history.

#![expect(unused_qualifications, reason = "written by the macro that describes the handlers")]

use super::Shared;
use super::error::ApiError;
use super::extract::{Path, Query, State, limit};
use super::resource::{existing_tenant, micros, rfc3339, tenant_id};
use axum::Json;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use store::{AdminChangeCursor, AdminChangeFilter, AdminChangeOutcome, AdminChangeRow};
use utoipa::{IntoParams, ToSchema};

/// Which changes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeQuery {
    /// Of everybody's changes, those of this tenant alone, which may be one that was removed.
    pub tenant: Option<String>,
    /// Who did it: an account's or a token's name.
    pub actor: Option<String>,
    /// What kind of thing: `admin`, `card`, `conditions`, `grant`, `issuer`, `key`, `policy`, `principal`, `signing_key`,
    /// `tenant`, `token`.
    pub kind: Option<String>,
    /// Which one, by name, or by id where it has none.
    pub name: Option<String>,
    /// What was done: `create`, `update`, `delete`, `revoke`, `state`, `credential`, `rotate`, `import`, `restore`,
    /// `password`, `sign_in`.
    pub action: Option<String>,
    /// `done` or `refused`.
    pub outcome: Option<String>,
    /// Why it was refused: the `code` that was answered.
    pub code: Option<String>,
    /// At or after (RFC 3339).
    pub from: Option<String>,
    /// Before (RFC 3339).
    pub until: Option<String>,
    /// At most this many (1 to 500, default 50).
    #[serde(default, deserialize_with = "limit::<_, 500>")]
    pub limit: Option<u32>,
    /// From the page before.
    pub cursor: Option<String>,
}

/// One change of one thing.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChangeView {
    /// Of this change.
    pub id: String,
    /// All that one request changed has one.
    pub request: String,
    /// RFC 3339.
    pub at: String,
    /// Whose thing; absent where it is no tenant's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// What kind of thing.
    pub kind: String,
    /// Its name, or its id where it has none; empty where the request did not come so far as to name one.
    pub name: String,
    /// What was done.
    pub action: String,
    /// Who did it: an account or a token; `(set-up link)` and `(single sign-on)` where nobody was signed in yet.
    pub actor: String,
    /// As what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// How the actor had come in: `session`, `token`, `bootstrap`, `setup`, `sso`.
    pub way: String,
    /// The token's id, or the beginning of the session's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way_id: Option<String>,
    /// From which address.
    pub source: String,
    /// The thing's revision that was found; absent for a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_before: Option<i64>,
    /// The revision that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_after: Option<i64>,
    /// `done` or `refused`.
    pub outcome: &'static str,
    /// Why it was refused: the `code` that was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// A page of changes.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChangeList {
    /// Newest first.
    pub items: Vec<ChangeView>,
    /// Send it as `cursor` for older ones; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Everybody's changes, those of accounts and tokens too.
#[utoipa::path(get, path = "/api/v1/changes", tag = "changes", params(ChangeQuery),
    responses((status = 200, body = ChangeList), (status = 400, body = ApiError), (status = 403, body = ApiError)))]
pub(super) async fn all(
    State(admin): State<Shared>,
    Query(query): Query<ChangeQuery>,
) -> Result<Json<ChangeList>, ApiError> {
    let (filter, after, limit) = query.read()?;
    let rows = match query.tenant.as_deref() {
        Some(tenant) => admin.store.tenant_changes(&tenant_id(tenant)?, &filter, after.as_ref(), limit + 1).await?,
        None => admin.store.all_changes(&filter, after.as_ref(), limit + 1).await?,
    };
    Ok(Json(page(rows, limit)))
}

/// A tenant's changes.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/changes", tag = "changes",
    params(("tenant" = String, Path), ChangeQuery),
    responses((status = 200, body = ChangeList), (status = 400, body = ApiError), (status = 404, body = ApiError)))]
pub(super) async fn of_tenant(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Query(query): Query<ChangeQuery>,
) -> Result<Json<ChangeList>, ApiError> {
    let tenant = existing_tenant(&admin.store, &tenant).await?;
    if query.tenant.is_some() {
        return Err(ApiError::invalid_field("tenant", "is said by the path"));
    }
    let (filter, after, limit) = query.read()?;
    Ok(Json(page(admin.store.tenant_changes(&tenant, &filter, after.as_ref(), limit + 1).await?, limit)))
}

impl ChangeQuery {
    fn read(&self) -> Result<(AdminChangeFilter, Option<AdminChangeCursor>, u32), ApiError> {
        let time = |name, text: &Option<String>| text.as_deref().map(|text| micros(name, text)).transpose();
        // As the store writes what no database can hold.
        let text = |text: &Option<String>| text.as_ref().map(|text| text.replace('\0', "\u{1a}"));
        let outcome = match self.outcome.as_deref() {
            None => None,
            Some(word) => Some(
                AdminChangeOutcome::new(word)
                    .ok_or_else(|| ApiError::invalid_field("outcome", "must be done or refused"))?,
            ),
        };
        let filter = AdminChangeFilter {
            from: time("from", &self.from)?,
            until: time("until", &self.until)?,
            kind: text(&self.kind),
            name: text(&self.name),
            action: text(&self.action),
            actor: text(&self.actor),
            outcome,
            code: text(&self.code),
        };
        let cursor = self.cursor.as_deref().filter(|cursor| !cursor.is_empty());
        Ok((filter, cursor.map(read_cursor).transpose()?, self.limit.unwrap_or(50)))
    }
}

/// From rows of which one more was asked for than are shown.
fn page(mut rows: Vec<AdminChangeRow>, limit: u32) -> ChangeList {
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next_cursor =
        rows.last().filter(|_| more).map(|row| URL_SAFE_NO_PAD.encode(format!("{} {} {}", row.at, row.seq, row.id)));
    ChangeList { items: rows.into_iter().map(show).collect(), next_cursor }
}

fn read_cursor(text: &str) -> Result<AdminChangeCursor, ApiError> {
    let parse = || {
        let plain = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let mut words = plain.splitn(3, ' ');
        let (at, seq) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let id = words.next().filter(|id| !id.contains('\0'))?.to_owned();
        Some(AdminChangeCursor { at, seq, id })
    };
    parse().ok_or_else(|| ApiError::invalid_field("cursor", "must be the next_cursor of the page before"))
}

fn show(row: AdminChangeRow) -> ChangeView {
    let said = |text: String| Some(text).filter(|text| !text.is_empty());
    ChangeView {
        id: format!("{}-{}", row.id, row.seq),
        request: row.id,
        at: rfc3339(row.at),
        tenant: said(row.tenant),
        kind: row.kind,
        name: row.name,
        action: row.action,
        actor: row.actor,
        role: said(row.role),
        way: row.way,
        way_id: said(row.way_id),
        source: row.source,
        revision_before: row.revision_before,
        revision_after: row.revision_after,
        outcome: row.outcome.as_str(),
        code: row.code,
    }
}
