//! Tokens of the tenant's own issuers (OpenID Connect, RFC 9068).
//!
//! *Takes* a token that was read, the tenant and the time. *Gives* the principal that the issuer's document makes of
//! the subject, and the groups that the token names. *Refuses* what the issuer's keys, as they are in memory, did not
//! sign. A token whose key is not there is refused like any other, and asks for the keys to be fetched again: whoever
//! sends it a moment later is heard, if the issuer has that key. *Never* waits.

use super::jws::Token;
use super::{Identity, Scheme, claims, identity};
use crate::clock::Micros;
use crate::registry::TenantWorld;
use crate::registry::issuer::Issuer;
use json::{Json, Object};
use std::sync::Arc;

/// Whom a token of an issuer proves in `tenant`.
pub(super) fn prove(token: &Token<'_>, tenant: &TenantWorld, now: Micros) -> Option<Identity> {
    let said = &token.claims;
    let issuer = issuer(said, tenant)?;
    if !token.typ.as_deref().is_none_or(|typ| TYPES.contains(&typ)) {
        return None;
    }
    let keys = issuer.keys.usable(now);
    let Some(key) = keys.as_ref().and_then(|keys| keys.by_kid.get(&token.kid)) else {
        issuer.keys.want();
        return None;
    };
    if !token.is_signed_by(key) {
        return None;
    }
    let expires_at = claims::in_time(said, now)?;
    claims::text(said, "sub")?;
    let subject = claim(said, &issuer.subject_claim)?.as_str()?;
    let principal = issuer.subjects.principal(subject).filter(|one| !one.cancelled.is_cancelled())?;
    Some(Identity::vouched(identity::Vouched {
        scheme: Scheme::IssuerToken,
        principal: Arc::clone(principal),
        credential_id: issuer.id.clone(),
        groups: groups(claim(said, &issuer.groups_claim))?,
        expires_at: Some(expires_at),
        revoked: issuer.cancelled.clone(),
    }))
}

/// The one issuer that `iss` and `aud` name. A token that is for two of them is for none.
fn issuer<'a>(said: &Object, tenant: &'a TenantWorld) -> Option<&'a Arc<Issuer>> {
    let iss = said.str("iss")?;
    let mut named = tenant.issuers.iter().filter(|one| one.iss == iss && claims::is_for(said, &one.audiences));
    let first = named.next()?;
    (named.next().is_none() && !first.cancelled.is_cancelled()).then_some(first)
}

/// A claim by its name, or by a pointer.
pub(crate) fn claim<'a>(said: &'a Object, name: &str) -> Option<&'a Json> {
    let Some(path) = name.strip_prefix('/') else { return said.get(name) };
    let mut steps = path.split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
    let first = said.get(&steps.next()?)?;
    steps.try_fold(first, |at, step| at.as_object()?.get(&step))
}

/// Groups are a text or a list of texts; anything else is not ours to interpret, and refused: a group may be what a
/// caller is denied by.
pub(crate) fn groups(claim: Option<&Json>) -> Option<Vec<String>> {
    let is_group = |text: &&str| (1..=LONGEST_GROUP).contains(&text.len());
    match claim {
        None => Some(Vec::new()),
        Some(Json::String(text)) => Some(vec![Some(text.as_str()).filter(is_group)?.to_owned()]),
        Some(Json::Array(items)) if items.len() <= MOST_GROUPS => {
            items.iter().map(|item| item.as_str().filter(is_group).map(str::to_owned)).collect()
        }
        Some(Json::Array(_) | Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_)) => None,
    }
}

/// What `typ` may be; a missing one counts as `JWT`.
const TYPES: [&str; 2] = ["jwt", "at+jwt"];
const MOST_GROUPS: usize = 256;
const LONGEST_GROUP: usize = 256;
