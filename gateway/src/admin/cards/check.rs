//! What a card's spec must be before anything of it is saved: taken apart, judged by the registry's own compile step, by the
//! egress rules and by the card guard.
//!
//! Takes a spec as it was sent; gives what goes into which column, or names every problem. Writes nothing.

use super::{CardLife, STATES};
use crate::admin::Shared;
use crate::admin::body::{under, value};
use crate::admin::credential::{self, Both};
use crate::admin::error::{ApiError, FieldProblem};
use crate::admin::resource::existing_tenant;
use crate::registry::document::Problem;
use crate::registry::settings::{self, CardSettings};
use json::{Json as Tree, Object};
use sha2::{Digest as _, Sha256};
use store::{CardRow, TenantId, TrustTier};

/// What was sent, taken apart.
pub(super) struct Parts {
    pub(super) document: Vec<u8>,
    pub(super) settings: Vec<u8>,
    pub(super) state: CardLife,
    pub(super) credentials: Both,
    pub(super) trust_tier: TrustTier,
}

/// What decides whether a card can be served.
pub(super) struct Card<'a> {
    pub(super) document: &'a [u8],
    pub(super) settings: &'a [u8],
    pub(super) state: CardLife,
}

impl Parts {
    pub(super) fn written(&self) -> Card<'_> {
        Card { document: &self.document, settings: &self.settings, state: self.state }
    }
}

/// Splits a spec into what goes into which column; names everything that does not fit.
pub(super) fn take_apart(spec: &Tree, before: Option<&CardRow>) -> Result<Parts, ApiError> {
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
pub(super) async fn check(admin: &Shared, tenant: &TenantId, card: &Card<'_>) -> Result<(), ApiError> {
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
pub(in crate::admin) struct Remarks {
    /// What would keep it from being saved.
    pub problems: Vec<FieldProblem>,
    /// What a person has to read before it is published.
    pub flags: Vec<FieldProblem>,
}

/// Looks at a spec without saving it.
pub(in crate::admin) async fn remarks(admin: &Shared, tenant: &str, spec: &Tree) -> Result<Remarks, ApiError> {
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
pub(in crate::admin) fn flags(admin: &Shared, spec: &Tree) -> Vec<FieldProblem> {
    take_apart(spec, None)
        .map_or_else(|_| Vec::new(), |parts| under("spec", admin.compiler.flags(&parts.document, None)))
}

/// `spec.card.skills.0.description` as people say it: `"skills 1 › description"`.
pub(in crate::admin) fn place_in_words(path: &str) -> String {
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
pub(super) fn reviewed(admin: &Shared, card: &Card<'_>, before: Option<&[u8]>) -> Result<(), ApiError> {
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
pub(super) fn keep_settled_colon(before: &[u8], after: Vec<u8>) -> Result<Vec<u8>, ApiError> {
    let (before, mut settings) = (value(before)?, value(&after)?);
    let unmoved = before["upstream"]["interfaces"] == settings["upstream"]["interfaces"];
    let settled = &before["upstream"]["settled_colon"];
    if unmoved && settled.is_string() && settings["upstream"]["settled_colon"].is_null() {
        settings["upstream"]["settled_colon"] = settled.clone();
    }
    serde_json::to_vec(&settings).map_err(|_| ApiError::internal())
}

/// The servers that a card's settings name: `scheme://host:port`, as credentials are bound.
pub(super) fn origins(settings: &[u8]) -> Result<Vec<String>, ApiError> {
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

/// A credential must not follow the agent to another server (T-CARD-6).
pub(super) fn may_keep_credentials(admin: &Shared, before: &CardRow, parts: &Parts) -> Result<(), ApiError> {
    match &before.sealed_credential {
        Some(blob) if origins(&before.settings)? != origins(&parts.settings)? => {
            parts.credentials.check_moved(admin, before.tenant.as_str(), &before.id, blob)
        }
        Some(_) | None => Ok(()),
    }
}
