//! Cards: the agents that the gateway fronts, their documents, settings, life and history.
//!
//! A spec is `{"card": <agent card>, "state": …, <settings of product.md §7>}`. The document is kept as it was sent
//! (order and digits); the settings are checked by the registry's own compile step before anything is saved.

use super::Shared;
use super::access::Who;
use super::body::{Document, Written, stored_tree, tree, under, value};
use super::credential::{self, Both, Sent};
use super::error::{ApiError, FieldProblem};
use super::extract::{Path, Query};
use super::history::{History, HistoryQuery, Version};
use super::resource::{
    Create, Expected, Listing, PageQuery, Perhaps, Resource, Update, check_name, existing_tenant, new_id, rfc3339,
    tenant_id,
};
use crate::discovery::publish::{self, PublishError};
use crate::registry::document::Problem;
use crate::registry::settings::{self, CardSettings};
use crate::registry::{CardMembers, Snapshot};
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use json::{Json as Tree, Object};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use store::{CardEdit, CardFacts, CardRow, CardState, IfMatch, NewCard, TenantId, TrustTier};
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

const STATES: &str = "must be draft, pending, approved, published or disabled";

/// A published, signed card and what our own verifier says of it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Signed {
    /// The document as it is served.
    pub card: Value,
    /// One line per signature: the key and the view that it covers.
    pub signatures: Vec<SignedView>,
}

/// One signature.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SignedView {
    /// The key.
    pub kid: Option<String>,
    /// The view that it covers; absent when it does not verify.
    pub view: Option<String>,
}

/// What was sent, taken apart.
struct Parts {
    document: Vec<u8>,
    settings: Vec<u8>,
    state: CardLife,
    credentials: Both,
    trust_tier: TrustTier,
}

/// What decides whether a card can be served.
struct Card<'a> {
    document: &'a [u8],
    settings: &'a [u8],
    state: CardLife,
}

impl Parts {
    fn written(&self) -> Card<'_> {
        Card { document: &self.document, settings: &self.settings, state: self.state }
    }
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
    let owner = tenant_id(&tenant)?;
    let spec = tree.get("spec").ok_or_else(|| ApiError::invalid_field("spec", "is missing"))?;
    let before = row(&admin, &owner, &name).await?;
    let mut parts = take_apart(spec, Some(&before))?;
    parts.settings = keep_settled_colon(&before.settings, parts.settings)?;
    let kept = parts.credentials.check_kept(&admin, &tenant, &before.id, before.sealed_credential.as_deref());
    let moved = may_keep_credentials(&admin, &before, &parts);
    ApiError::both(ApiError::both(kept, moved), check(&admin, &owner, &parts.written()).await)?;
    if expected != IfMatch::Revision(before.revision) {
        return Err(ApiError::conflict());
    }
    reviewed(&admin, &parts.written(), Some(&before.document))?;
    let stored = before.sealed_credential.as_deref();
    let sealed = parts.credentials.seal(&admin, (&tenant, &before.id), &origins(&parts.settings)?, stored)?;
    save((&admin, &who), &before, parts, sealed).await?;
    Ok(Written(one(&admin, &owner, &name).await?))
}

/// A credential must not follow the agent to another server (T-CARD-6).
fn may_keep_credentials(admin: &Shared, before: &CardRow, parts: &Parts) -> Result<(), ApiError> {
    match &before.sealed_credential {
        Some(blob) if origins(&before.settings)? != origins(&parts.settings)? => {
            parts.credentials.check_moved(admin, before.tenant.as_str(), &before.id, blob)
        }
        Some(_) | None => Ok(()),
    }
}

/// Writes what differs. What was written before is no new version.
async fn save(
    (admin, who): (&Shared, &Who),
    before: &CardRow,
    parts: Parts,
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
            note: String::new(),
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

/// Earlier versions of a card.
#[utoipa::path(get, path = "/api/v1/tenants/{tenant}/cards/{name}/history", tag = "cards",
    params(("tenant" = String, Path), ("name" = String, Path), HistoryQuery),
    responses((status = 200, body = History), (status = 404, body = ApiError)))]
pub(super) async fn history(
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

/// Splits a spec into what goes into which column; names everything that does not fit.
fn take_apart(spec: &Tree, before: Option<&CardRow>) -> Result<Parts, ApiError> {
    let wrong = |path: &str, problem: &str| ApiError::invalid_field(path, problem);
    let mut members: Object = spec.as_object().cloned().ok_or_else(|| wrong("spec", "must be an object"))?;
    let document = match (members.remove("card"), before) {
        (Some(Tree::Object(document)), _) => Ok(document),
        (None, Some(before)) => settings::read_card(&before.document).map_err(|_| ApiError::internal()),
        (Some(_) | None, _) => Err(wrong("spec.card", "must be the agent card, an object")),
    };
    let state = match members.remove("state") {
        None => Ok(CardLife::default()),
        Some(state) => serde_json::from_slice(&json::write(&state)).map_err(|_| wrong("spec.state", STATES)),
    };
    // Shown by reads, decided by us: taken out so that what was read can be written back.
    members.remove("trust_tier");
    members.remove("version");
    let mut upstream = members.get_mut("upstream").and_then(Tree::as_object_mut);
    let mut secret = |name: &str| {
        let tree = upstream.as_mut().and_then(|upstream| upstream.remove(name));
        tree.map(|tree| value(&json::write(&tree))).transpose()
    };
    let credential = secret("credential").and_then(|value| credential::read(value.as_ref()));
    let in_task = secret("in_task_authorisation").and_then(|value| credential::read_in_task(value.as_ref()));
    let credentials = ApiError::both(credential, in_task).map(|(credential, in_task)| Both { credential, in_task });
    let settings = CardSettings::read(&json::write(&Tree::Object(members)))
        .map_err(|problems| ApiError::invalid(under("spec", problems)));
    let (head, rest) = (ApiError::both(document, state), ApiError::both(credentials, settings));
    let ((document, state), (credentials, settings)) = ApiError::both(head, rest)?;
    let trust_tier = if document.contains("signatures") { TrustTier::Signed } else { TrustTier::Unsigned };
    let document = json::write(&Tree::Object(document));
    let settings = settings.to_stored(&document).map_err(|problems| ApiError::invalid(under("spec", problems)))?;
    Ok(Parts { document, settings, state, credentials, trust_tier })
}

/// Every problem of a card, before anything is saved. What is not to be served yet may lack what publishing needs.
async fn check(admin: &Shared, tenant: &TenantId, card: &Card<'_>) -> Result<(), ApiError> {
    let rows = admin.store.load_tenant(tenant).await?.ok_or_else(|| ApiError::not_found("this tenant"))?;
    let names: Vec<&str> = rows.policies.iter().map(|policy| policy.name.as_str()).collect();
    let mut problems = admin.compiler.check_card(card.settings, card.document, &names);
    let settings = value(card.settings)?;
    if let Some(name) = settings["bound_principal"].as_str()
        && !rows.principals.iter().any(|principal| principal.name == name)
    {
        problems.push(Problem::new("/bound_principal", format!("there is no principal {name:?} in this tenant")));
    }
    let origins = origins(card.settings)?;
    match card.state {
        CardLife::Draft | CardLife::Disabled => problems.retain(|problem| !problem.path.starts_with("/card/")),
        CardLife::Pending | CardLife::Approved | CardLife::Published => {
            if settings["upstream"]["interfaces"].as_array().is_none_or(Vec::is_empty) {
                let problem =
                    "must name at least one address of the agent: [{\"url\": …, \"binding\": …, \"version\": …}]";
                problems.push(Problem::new("/upstream/interfaces", problem));
            }
        }
    }
    for origin in origins {
        if let Err(denied) = admin.upstream.rules(tenant.as_str()).judge_url(&origin) {
            problems.push(Problem::new("/upstream/interfaces", format!("{origin}: {denied}")));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(ApiError::invalid(under("spec", problems))) }
}

/// What would be said of a spec if it were sent now.
pub(super) struct Remarks {
    /// What would keep it from being saved.
    pub problems: Vec<FieldProblem>,
    /// What a person has to read before it is published.
    pub flags: Vec<FieldProblem>,
}

/// Looks at a spec without saving it.
pub(super) async fn remarks(admin: &Shared, tenant: &str, spec: &Tree) -> Result<Remarks, ApiError> {
    let owner = existing_tenant(&admin.store, tenant).await?;
    let parts = match take_apart(spec, None) {
        Ok(parts) => parts,
        Err(error) => return Ok(Remarks { problems: error.fields, flags: Vec::new() }),
    };
    let problems = check(admin, &owner, &parts.written()).await.err().map(|error| error.fields).unwrap_or_default();
    let flags = under("spec", admin.compiler.flags(&parts.document, None));
    Ok(Remarks { problems, flags })
}

/// What the card guard says of a spec that was read from an agent.
pub(super) fn flags(admin: &Shared, spec: &Tree) -> Vec<FieldProblem> {
    take_apart(spec, None)
        .map_or_else(|_| Vec::new(), |parts| under("spec", admin.compiler.flags(&parts.document, None)))
}

/// `spec.card.skills.0.description` as people say it: `"skills 1 › description"`.
pub(super) fn place_in_words(path: &str) -> String {
    let inside = path.strip_prefix("spec.card").unwrap_or(path).trim_start_matches('.');
    let mut words = String::new();
    for member in inside.split('.').filter(|member| !member.is_empty()) {
        match member.parse::<usize>() {
            Ok(at) => words.push_str(&format!(" {}", at.saturating_add(1))),
            Err(_) if words.is_empty() => words.push_str(member),
            Err(_) => words.push_str(&format!(" › {member}")),
        }
    }
    if words.is_empty() { "the card".to_owned() } else { format!("\"{words}\"") }
}

/// A card that the card guard flags is published only when somebody has said that this very document was reviewed.
fn reviewed(admin: &Shared, card: &Card<'_>, before: Option<&[u8]>) -> Result<(), ApiError> {
    if matches!(card.state, CardLife::Draft | CardLife::Pending | CardLife::Disabled) || before == Some(card.document) {
        return Ok(());
    }
    let flags = admin.compiler.flags(card.document, before);
    let digest: String = Sha256::digest(card.document).iter().map(|byte| format!("{byte:02x}")).collect();
    if flags.is_empty() || value(card.settings)?["reviewed"].as_str() == Some(&digest) {
        return Ok(());
    }
    let message =
        format!("the card is flagged; read what fields name, then set reviewed to \"{digest}\" to publish it as it is");
    Err(ApiError::refused("card_flagged", message).with_fields(under("spec", flags)))
}

/// What the probe found out about the colon holds as long as the agent stays where it is.
fn keep_settled_colon(before: &[u8], after: Vec<u8>) -> Result<Vec<u8>, ApiError> {
    let (before, mut settings) = (value(before)?, value(&after)?);
    let unmoved = before["upstream"]["interfaces"] == settings["upstream"]["interfaces"];
    let settled = &before["upstream"]["settled_colon"];
    if unmoved && settled.is_string() && settings["upstream"]["settled_colon"].is_null() {
        settings["upstream"]["settled_colon"] = settled.clone();
    }
    serde_json::to_vec(&settings).map_err(|_| ApiError::internal())
}

/// The servers that a card's settings name: `scheme://host:port`, as credentials are bound.
fn origins(settings: &[u8]) -> Result<Vec<String>, ApiError> {
    let settings = value(settings)?;
    let interfaces = settings["upstream"]["interfaces"].as_array().cloned().unwrap_or_default();
    let mut origins: Vec<String> = interfaces
        .iter()
        .filter_map(|interface| url::Url::parse(interface["url"].as_str()?).ok())
        .filter_map(|url| Some(format!("{}://{}:{}", url.scheme(), url.host_str()?, url.port_or_known_default()?)))
        .collect();
    origins.sort();
    origins.dedup();
    Ok(origins)
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
