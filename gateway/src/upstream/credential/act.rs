//! A short-lived token of the gateway that says for whom an agent is called, and through whom (RFC 8693 §4.1).
//!
//! `sub` is the original principal, `act` whoever calls now, and inside it whoever called before. Signed with the tenant's
//! token key, whose public half is at `/.well-known/jwks/{tenant}`. It proves nobody at this gateway: its `aud` is the
//! agent's, and it names no API key.

use crate::clock::Micros;
use crate::pipeline::authorize::Permit;
use crate::registry::TenantWorld;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use json::{Json, Object};

/// How long such a token works, in seconds.
const LIFETIME: i64 = 300;

/// For whom, and through whom: principals' ids, the original one first, the caller last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct About {
    principals: Vec<String>,
}

impl About {
    pub(super) fn of(permit: &Permit) -> Self {
        let hops = permit.chain().map(|chain| chain.hops()).unwrap_or_default();
        let behind = hops.iter().map(|hop| hop.principal.clone());
        Self { principals: behind.chain([permit.principal().id.clone()]).collect() }
    }

    /// What tells two of them apart.
    pub(super) fn key(&self) -> String {
        self.principals.join(">")
    }

    /// The nested actors, the one who calls now outermost; none where the subject calls itself.
    fn actors(&self) -> Option<Json> {
        let mut nested: Option<Json> = None;
        for actor in self.principals.iter().skip(1) {
            let mut claim = Object::from([("sub", actor.as_str())]);
            if let Some(before) = nested.take() {
                claim.insert("act", before);
            }
            nested = Some(claim.into());
        }
        nested
    }
}

/// A token about `about` for `audience`; `None` while the tenant has no key that signs.
pub(super) fn token(about: &About, tenant: &TenantWorld, audience: &str, id: &str, now: Micros) -> Option<String> {
    let issuer = &tenant.tokens;
    let signer = issuer.signer()?;
    let issued = now.div_euclid(1_000_000);
    let header = Object::from([("alg", "EdDSA"), ("kid", signer.kid()), ("typ", "JWT")]);
    let mut claims = Object::from([
        ("iss", Json::from(issuer.iss.as_str())),
        ("aud", audience.into()),
        ("sub", about.principals.first()?.as_str().into()),
        ("jti", id.into()),
        ("iat", Json::from(issued)),
        ("exp", Json::from(issued.saturating_add(LIFETIME))),
    ]);
    if let Some(actors) = about.actors() {
        claims.insert("act", actors);
    }
    let part = |object| URL_SAFE_NO_PAD.encode(json::write(&Json::Object(object)));
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(signer.signature(signed.as_bytes()));
    Some(format!("{signed}.{signature}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_calls_now_is_outermost() {
        let about = |names: &[&str]| About { principals: names.iter().map(|name| (*name).to_owned()).collect() };
        assert_eq!(about(&["user"]).actors(), None);
        let actors = about(&["user", "one", "two"]).actors().unwrap();
        assert_eq!(json::write(&actors), br#"{"sub":"two","act":{"sub":"one"}}"#);
    }
}
