//! The gateway's own tokens: short-lived, signed with Ed25519, each naming the API key that it came from.
//!
//! *Takes* a token that was read, or a key that was proven. *Gives* the identity, or a new token. *Refuses* a token
//! whose key or principal has lost its power: both are looked up in memory each time, so that revoking either kills
//! every token of it. *Never* proves itself with a key that signs anything else (D22), and never gives a token that
//! outlives its key.

use super::jws::Token;
use super::{Identity, Scheme, api_key, claims};
use crate::clock::Micros;
use crate::registry::key_set::VerifyingKey;
use crate::registry::token::TokenIssuer;
use crate::registry::{Credential, TenantWorld};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use json::{Json, Object};
use std::time::Duration;

/// Whom a token of ours proves in `tenant`.
pub(super) fn prove(token: &Token<'_>, tenant: &TenantWorld, now: Micros) -> Option<Identity> {
    let Token { kid, typ, claims: said, .. } = token;
    let issuer = &tenant.tokens;
    if said.str("iss") != Some(&issuer.iss) || said.str("aud") != Some(&issuer.aud) || typ.as_deref() != Some(TYPE) {
        return None;
    }
    let key = VerifyingKey::Ed25519(issuer.key(kid)?.clone());
    if !token.is_signed_by(&key) {
        return None;
    }
    let expires_at = claims::in_time(said, now)?;
    let credential = tenant.credentials.get(claims::text(said, CREDENTIAL)?)?;
    if !api_key::works(credential, now) || claims::text(said, "sub")? != credential.principal.id {
        return None;
    }
    credential.last_use.note(now);
    Some(Identity::vouched(super::identity::Vouched {
        scheme: Scheme::GatewayToken,
        principal: credential.principal.clone(),
        credential_id: credential.key_id.clone(),
        groups: Vec::new(),
        expires_at: Some(credential.expires_at.map_or(expires_at, |end| end.min(expires_at))),
        revoked: credential.cancelled.clone(),
    }))
}

/// A new token.
pub(crate) struct Issued {
    /// The token.
    pub(crate) text: String,
    /// How long it works.
    pub(crate) lifetime: Duration,
}

/// A token for the principal of `credential`, which was just proven. `None` while the tenant has no key that signs.
pub(crate) fn issue(
    issuer: &TokenIssuer,
    credential: &Credential,
    id: &str,
    most: Duration,
    now: Micros,
) -> Option<Issued> {
    let signer = issuer.signer()?;
    let seconds = |micros: Micros| micros.div_euclid(1_000_000);
    let most = i64::try_from(most.as_secs()).unwrap_or(i64::MAX);
    let left = credential.expires_at.map_or(most, |end| seconds(end.saturating_sub(now)));
    let (issued, lifetime) = (seconds(now), left.min(most).max(0));
    let header = Object::from([("alg", "EdDSA"), ("kid", signer.kid()), ("typ", TYPE)]);
    let claims = Object::from([
        ("iss", Json::from(issuer.iss.as_str())),
        ("aud", Json::from(issuer.aud.as_str())),
        ("sub", Json::from(credential.principal.id.as_str())),
        ("client_id", Json::from(credential.principal.id.as_str())),
        (CREDENTIAL, Json::from(credential.key_id.as_str())),
        ("scope", Json::from(SCOPE)),
        ("jti", Json::from(id)),
        ("iat", Json::from(issued)),
        ("exp", Json::from(issued.saturating_add(lifetime))),
    ]);
    let part = |object| URL_SAFE_NO_PAD.encode(json::write(&Json::Object(object)));
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(signer.signature(signed.as_bytes()));
    let lifetime = Duration::from_secs(u64::try_from(lifetime).unwrap_or(0));
    Some(Issued { text: format!("{signed}.{signature}"), lifetime })
}

/// The one scope there is: to call agents, as far as grants go.
pub(crate) const SCOPE: &str = "a2a.invoke";
/// `typ` (RFC 9068 §2.1).
const TYPE: &str = "at+jwt";
/// The claim that names the API key.
const CREDENTIAL: &str = "key_id";
