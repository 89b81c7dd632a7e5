//! Earlier versions of a card, and going back to one. A version is the card's document and settings; its state and its
//! credentials are what they are now.

use super::{CardResource, put, replace, row, shown_state};
use crate::admin::Shared;
use crate::admin::access::Who;
use crate::admin::body::{Document, Written, stored_tree, tree, value};
use crate::admin::error::ApiError;
use crate::admin::extract::{Path, Query, State};
use crate::admin::history::{History, HistoryQuery, Return, Version};
use crate::admin::resource::{Expected, rfc3339, tenant_id};
use json::Json as Tree;

/// Earlier versions of a card.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/cards/{name}/history", tag = "cards",
    params(("tenant" = String, Path), ("name" = String, Path), HistoryQuery),
    responses((status = 200, body = History), (status = 404, body = ApiError)))]
pub(in crate::admin) async fn history(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Query(query): Query<HistoryQuery>,
) -> Result<Written, ApiError> {
    let owner = tenant_id(&tenant)?;
    let card = row(&admin, &owner, &name).await?;
    let (before, limit) = query.bounds();
    let versions = admin.store.card_history(&owner, &card.id, before, limit).await?;
    let mut items = Vec::new();
    for version in &versions {
        items.push(Version {
            version: version.version,
            at: rfc3339(version.at),
            changed_by: version.changed_by.clone(),
            note: version.note.clone(),
            spec: value(&version.settings)?,
        });
    }
    let mut answer = tree(&query.page(items))?;
    if let Some(Tree::Array(items)) = answer.as_object_mut().and_then(|answer| answer.get_mut("items")) {
        for (item, version) in items.iter_mut().zip(&versions) {
            if let Some(spec) = item.as_object_mut().and_then(|item| item.get_mut("spec")) {
                put(spec, "card", stored_tree(&version.document)?);
            }
        }
    }
    Ok(Written(answer))
}

/// Puts an earlier version into force again: the next version says what it said, digit by digit, if that still holds.
#[utoipa::path(put, path = "/api/v1/tenants/{tenant}/cards/{name}/version", tag = "cards",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = Return,
    responses((status = 200, body = CardResource), (status = 400, body = ApiError), (status = 412, body = ApiError)))]
pub(in crate::admin) async fn go_back(
    State(admin): State<Shared>,
    who: Who,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
    Document { typed, .. }: Document<Return>,
) -> Result<Written, ApiError> {
    let before = row(&admin, &tenant_id(&tenant)?, &name).await?;
    let (below, limit) = typed.bounds();
    let found = admin.store.card_history(&before.tenant, &before.id, below, limit).await?;
    let earlier = typed.among(found, |earlier| earlier.version)?;
    let mut spec = stored_tree(&earlier.settings)?;
    put(&mut spec, "card", stored_tree(&earlier.document)?);
    put(&mut spec, "state", tree(&shown_state(before.state))?);
    replace((&admin, &who), &before, expected, (&spec, &typed.note())).await
}
