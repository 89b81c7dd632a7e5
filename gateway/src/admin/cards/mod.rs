//! Cards: the agents that the gateway fronts, their documents, settings and life; `check` reads what was sent, `versions`
//! has their history.
//!
//! A spec is `{"card": <agent card>, "state": …, <settings of product.md §7>}`. The document is kept as it was sent
//! (order and digits); the settings are checked by the registry's own compile step before anything is saved.

mod check;
pub(super) mod versions;

pub(super) use check::{flags, place_in_words, remarks};

use super::Shared;
use super::access::Who;
use super::body::{Document, Written, stored_tree, tree, value};
use super::credential::{self, Both, Sent};
use super::error::{ApiError, FieldProblem};
use super::extract::{Path, Query, State};
use super::resource::{
    Create, Expected, Listing, PageQuery, Perhaps, Resource, Update, check_name, existing_tenant, new_id, rfc3339,
    tenant_id,
};
use crate::discovery::publish::{self, PublishError};
use crate::registry::settings::{self, CardSettings};
use crate::registry::{CardMembers, Snapshot};
use axum::Json;
use check::{Card, Parts, check, keep_settled_colon, may_keep_credentials, origins, reviewed, take_apart};
use http::StatusCode;
use json::Json as Tree;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{CardEdit, CardFacts, CardRow, CardState, IfMatch, NewCard, TenantId};
use utoipa::ToSchema;

/// A card as the API shows it. In listings the spec has no document.
pub(super) type CardResource = Resource<Value>;

/// A card's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CardLife {
    /// Being written.
    Draft,
    /// Waiting for approval.
    Pending,
    /// Approved, not yet served.
    Approved,
    /// Served.
    #[default]
    Published,
    /// Taken down.
    Disabled,
}

/// What changes a card's life.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StateEdit {
    /// Its next state.
    pub state: Option<CardLife>,
}

/// A published, signed card and what our own verifier says of it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Signed {
    /// The document as it is served.
    pub card: Value,
    /// One line per signature: the key and the view that it covers.
    pub signatures: Vec<SignedView>,
}

const STATES: &str = "must be draft, pending, approved, published or disabled";

/// One signature.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SignedView {
    /// The key.
    pub kid: Option<String>,
    /// The view that it covers; absent when it does not verify.
    pub view: Option<String>,
}

/// The tenant's cards, without their documents.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/cards", tag = "cards",
    params(("tenant" = String, Path), PageQuery), responses((status = 200, body = Listing<CardResource>)))]
pub(super) async fn list(
    State(admin): State<Shared>,
    Path(tenant): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Listing<CardResource>>, ApiError> {
    let tenant = existing_tenant(&admin.store, &tenant).await?;
    let rows = admin.store.cards(&tenant, query.page()).await?;
    Ok(Json(query.listing(rows, |row| row.name.clone(), |row| show(&admin, row))?))
}

/// Registers a card.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/cards", tag = "cards", params(("tenant" = String, Path)),
    request_body = Create<Value>,
    responses((status = 201, body = CardResource), (status = 400, body = ApiError), (status = 409, body = ApiError)))]
pub(super) async fn create(
    State(admin): State<Shared>,
    who: Who,
    Path(tenant): Path<String>,
    Document { typed, tree }: Document<Create<Value>>,
) -> Result<(StatusCode, Written), ApiError> {
    let spec = tree.get("spec").ok_or_else(|| ApiError::invalid_field("spec", "is missing"))?;
    Ok((StatusCode::CREATED, Written(make((&admin, &who), &tenant, &typed.name, spec, "created").await?)))
}

/// Makes a card from a spec: what `create` and `import` share.
pub(super) async fn make(
    (admin, who): (&Shared, &Who),
    tenant: &str,
    name: &str,
    spec: &Tree,
    note: &str,
) -> Result<Tree, ApiError> {
    let owner = existing_tenant(&admin.store, tenant).await?;
    let ((), mut parts) = ApiError::both(check_name(name), take_apart(spec, None))?;
    let kept = parts.credentials.check_kept(admin, tenant, "", None);
    ApiError::both(check(admin, &owner, &parts.written()).await, kept)?;
    // A new card that is flagged waits for a review; why is told when it is to be published.
    if reviewed(admin, &parts.written(), None).is_err() {
        parts.state = CardLife::Pending;
    }
    let now = admin.clock.now();
    let id = new_id("card-", now)?;
    let sealed_credential = parts.credentials.seal(admin, (tenant, &id), &origins(&parts.settings)?, None)?;
    let new = NewCard {
        id,
        name: name.to_owned(),
        document: parts.document,
        settings: parts.settings,
        sealed_credential,
        state: stored_state(parts.state),
        trust_tier: parts.trust_tier,
        changed_by: who.name.clone(),
        note: note.to_owned(),
    };
    admin.store.create_card(&owner, &new, now).await?;
    admin.applied().await;
    one(admin, &owner, name).await
}

/// One card with its document.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/cards/{name}", tag = "cards",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = CardResource), (status = 404, body = ApiError)))]
pub(super) async fn read(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
) -> Result<Written, ApiError> {
    Ok(Written(one(&admin, &tenant_id(&tenant)?, &name).await?))
}

/// Makes the next version of a card. What is not sent of `card`, `upstream.credential` and `upstream.in_task_authorisation`
/// stays (the credentials only where the agent stays).
#[utoipa::path(put, path = "/api/v1/tenants/{tenant}/cards/{name}", tag = "cards",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = Update<Value>,
    responses((status = 200, body = CardResource), (status = 412, body = ApiError)))]
pub(super) async fn update(
    State(admin): State<Shared>,
    who: Who,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
    Document { tree, .. }: Document<Update<Value>>,
) -> Result<Written, ApiError> {
    let spec = tree.get("spec").ok_or_else(|| ApiError::invalid_field("spec", "is missing"))?;
    let before = row(&admin, &tenant_id(&tenant)?, &name).await?;
    replace((&admin, &who), &before, expected, (spec, "")).await
}

/// Makes a card what a spec says; gives the card: what `update` and going back share.
async fn replace(
    (admin, who): (&Shared, &Who),
    before: &CardRow,
    expected: IfMatch,
    (spec, note): (&Tree, &str),
) -> Result<Written, ApiError> {
    let owner = &before.tenant;
    let mut parts = take_apart(spec, Some(before))?;
    parts.settings = keep_settled_colon(&before.settings, parts.settings)?;
    let kept = parts.credentials.check_kept(admin, owner.as_str(), &before.id, before.sealed_credential.as_deref());
    let moved = may_keep_credentials(admin, before, &parts);
    ApiError::both(ApiError::both(kept, moved), check(admin, owner, &parts.written()).await)?;
    if expected != IfMatch::Revision(before.revision) {
        return Err(ApiError::conflict());
    }
    reviewed(admin, &parts.written(), Some(&before.document))?;
    let stored = before.sealed_credential.as_deref();
    let sealed = parts.credentials.seal(admin, (owner.as_str(), &before.id), &origins(&parts.settings)?, stored)?;
    save((admin, who), before, (parts, note), sealed).await?;
    Ok(Written(one(admin, owner, &before.name).await?))
}

/// Writes what differs. What was written before is no new version.
async fn save(
    (admin, who): (&Shared, &Who),
    before: &CardRow,
    (parts, note): (Parts, &str),
    sealed: Option<Vec<u8>>,
) -> Result<(), ApiError> {
    let (owner, name, now) = (&before.tenant, &before.name, admin.clock.now());
    let mut at = IfMatch::Revision(before.revision);
    // A credential must never be sent to a server it was not made for: take it away first, give it back last.
    if before.sealed_credential.is_some() && sealed != before.sealed_credential {
        at = IfMatch::Revision(admin.store.set_card_credential(owner, name, at, None, now).await?);
    }
    if parts.document != before.document || value(&parts.settings)? != value(&before.settings)? {
        let edit = CardEdit {
            document: parts.document,
            settings: parts.settings,
            trust_tier: parts.trust_tier,
            changed_by: who.name.clone(),
            note: note.to_owned(),
        };
        at = IfMatch::Revision(admin.store.update_card(owner, name, at, &edit, now).await?);
    }
    if sealed != before.sealed_credential && sealed.is_some() {
        at = IfMatch::Revision(admin.store.set_card_credential(owner, name, at, sealed.as_deref(), now).await?);
    }
    if before.state != stored_state(parts.state) {
        admin.store.set_card_state(owner, name, at, stored_state(parts.state), now).await?;
    }
    admin.applied().await;
    Ok(())
}

/// Removes a card. Its open streams end; its name is free again.
#[utoipa::path(delete, path = "/api/v1/tenants/{tenant}/cards/{name}", tag = "cards",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 204), (status = 428, body = ApiError), (status = 404, body = ApiError)))]
pub(super) async fn delete(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Expected(expected): Expected,
) -> Result<StatusCode, ApiError> {
    admin.store.delete_card(&tenant_id(&tenant)?, &name, expected, admin.clock.now()).await?;
    admin.applied().await;
    Ok(StatusCode::NO_CONTENT)
}

/// Publishes, disables or otherwise moves a card through its life.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/cards/{name}/state", tag = "cards",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = StateEdit,
    responses((status = 200, body = CardResource), (status = 412, body = ApiError), (status = 422, body = ApiError)))]
pub(super) async fn set_state(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Perhaps(expected): Perhaps,
    Document { typed, .. }: Document<StateEdit>,
) -> Result<Written, ApiError> {
    let owner = tenant_id(&tenant)?;
    let state = typed.state.ok_or_else(|| ApiError::invalid_field("state", STATES))?;
    let before = row(&admin, &owner, &name).await?;
    let written = Card { document: &before.document, settings: &before.settings, state };
    if let Err(error) = check(&admin, &owner, &written).await {
        let message = "the card can't be published as it is; update it first";
        return Err(ApiError::refused("unpublishable", message).with_fields(error.fields));
    }
    reviewed(&admin, &written, None)?;
    admin.store.set_card_state(&owner, &name, expected, stored_state(state), admin.clock.now()).await?;
    admin.applied().await;
    Ok(Written(one(&admin, &owner, &name).await?))
}

/// Replaces the gateway's credential towards the agent. Write-only.
#[utoipa::path(put, path = "/api/v1/tenants/{tenant}/cards/{name}/credential", tag = "cards",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = Value,
    responses((status = 200, body = CardResource), (status = 400, body = ApiError)))]
pub(super) async fn set_credential(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Perhaps(expected): Perhaps,
    Document { typed, .. }: Document<Value>,
) -> Result<Written, ApiError> {
    let owner = tenant_id(&tenant)?;
    let before = row(&admin, &owner, &name).await?;
    let sent = Both::only(credential::read(Some(&typed))?);
    let stored = before.sealed_credential.as_deref();
    sent.check_kept(&admin, &tenant, &before.id, stored)?;
    if let Sent::Keep | Sent::Same(_) = sent.credential {
        return Ok(Written(one(&admin, &owner, &name).await?));
    }
    let sealed = sent.seal(&admin, (&tenant, &before.id), &origins(&before.settings)?, stored)?;
    admin.store.set_card_credential(&owner, &name, expected, sealed.as_deref(), admin.clock.now()).await?;
    admin.applied().await;
    Ok(Written(one(&admin, &owner, &name).await?))
}

/// The card as it is served: published form, signed now, checked by our own verifier.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/cards/{name}/sign", tag = "cards",
    params(("tenant" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = Signed), (status = 404, body = ApiError), (status = 422, body = ApiError)))]
pub(super) async fn sign(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
) -> Result<Written, ApiError> {
    let owner = tenant_id(&tenant)?;
    let row = row(&admin, &owner, &name).await?;
    let rows = admin.store.load_tenant(&owner).await?.ok_or_else(|| ApiError::not_found("this tenant"))?;
    let world = admin.compiler.tenant(&rows, &Snapshot::default()).world;
    let world = world.ok_or_else(|| ApiError::refused("tenant_suspended", "a suspended tenant serves no cards"))?;
    let document = settings::read_card(&row.document).map_err(|_| ApiError::internal())?;
    let public_url = admin.public_url.as_ref().ok_or_else(ApiError::internal)?;
    let members = CardSettings::read(&row.settings).ok().and_then(|settings| settings.card_members);
    let members = members.unwrap_or(CardMembers::Union);
    let signed = publish::signed(&document, &world, (&name, members), (0, public_url)).map_err(unpublishable)?;
    let keys: Vec<_> = rows
        .signing_keys
        .iter()
        .filter_map(|key| {
            let bytes: [u8; 32] = key.public.as_slice().try_into().ok()?;
            a2a::sign::jwks::PublicKey::from_bytes(&bytes, Some(key.kid.clone())).ok()
        })
        .collect();
    let signatures = a2a::sign::verify(&signed, &keys)
        .into_iter()
        .map(|verdict| SignedView { kid: verdict.kid, view: verdict.outcome.ok().map(|view| view.name().to_owned()) })
        .collect();
    let mut answer = tree(&Signed { card: Value::Null, signatures })?;
    put(&mut answer, "card", Tree::Object(signed));
    Ok(Written(answer))
}

async fn row(admin: &Shared, tenant: &TenantId, name: &str) -> Result<CardRow, ApiError> {
    admin.store.card(tenant, name).await?.ok_or_else(|| ApiError::not_found("this card"))
}

/// One card with its document as it was written, digits and order kept.
async fn one(admin: &Shared, tenant: &TenantId, name: &str) -> Result<Tree, ApiError> {
    let row = row(admin, tenant, name).await?;
    let document = stored_tree(&row.document)?;
    let mut answer = tree(&show(admin, facts(row))?)?;
    if let Some(spec) = answer.as_object_mut().and_then(|answer| answer.get_mut("spec")) {
        put(spec, "card", document);
    }
    Ok(answer)
}

fn put(object: &mut Tree, key: &str, value: Tree) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key, value);
    }
}

fn unpublishable(error: PublishError) -> ApiError {
    let refused = ApiError::refused("unpublishable", error.to_string());
    match error {
        PublishError::Document(problems) => refused.with_fields(
            problems
                .into_iter()
                .map(|one| FieldProblem { path: format!("card{}", one.path), problem: one.fault.to_string() })
                .collect(),
        ),
        PublishError::NoSigner | PublishError::Sign(_) => refused,
    }
}

fn facts(row: CardRow) -> CardFacts {
    CardFacts {
        id: row.id,
        tenant: row.tenant,
        name: row.name,
        settings: row.settings,
        sealed_credential: row.sealed_credential,
        state: row.state,
        trust_tier: row.trust_tier,
        version: row.version,
        revision: row.revision,
        created: row.created,
        updated: row.updated,
    }
}

fn show(admin: &Shared, row: CardFacts) -> Result<CardResource, ApiError> {
    let mut spec = value(&row.settings)?;
    if let Some(upstream) = spec["upstream"].as_object_mut() {
        let shown = credential::shown(admin, row.tenant.as_str(), &row.id, row.sealed_credential.as_deref());
        upstream.insert(String::from("credential"), shown.credential);
        upstream.extend(shown.in_task.map(|kind| (String::from("in_task_authorisation"), kind)));
    }
    spec["state"] = json!(shown_state(row.state));
    spec["trust_tier"] = row.trust_tier.as_str().into();
    spec["version"] = row.version.into();
    Ok(Resource {
        kind: "Card",
        tenant: row.tenant.to_string(),
        name: row.name,
        id: row.id,
        revision: row.revision,
        created_at: rfc3339(row.created),
        updated_at: rfc3339(row.updated),
        spec,
    })
}

const fn stored_state(state: CardLife) -> CardState {
    match state {
        CardLife::Draft => CardState::Draft,
        CardLife::Pending => CardState::Pending,
        CardLife::Approved => CardState::Approved,
        CardLife::Published => CardState::Published,
        CardLife::Disabled => CardState::Disabled,
    }
}

const fn shown_state(state: CardState) -> CardLife {
    match state {
        CardState::Draft => CardLife::Draft,
        CardState::Pending => CardLife::Pending,
        CardState::Approved => CardLife::Approved,
        CardState::Published => CardLife::Published,
        CardState::Disabled => CardLife::Disabled,
    }
}
