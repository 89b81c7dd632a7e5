//! The gateway's credential towards an agent: written, sealed, never shown again.
//!
//! Bound to the origin of the card's upstream, so that a card that moves elsewhere can't take it along (T-CARD-6).

use super::Shared;
use super::error::ApiError;
use crate::registry::settings::{NewCredential, NewEndpoint};
use crate::seal::Place;
use crate::upstream::credential::identity;
use serde_json::{Value, json};

/// A credential as it was sent, checked.
pub(super) enum Sent {
    /// Nothing was said: what is there stays.
    Keep,
    /// The type alone, as a read shows it: what is there stays, and is of this type.
    Same(String),
    /// `{"type":"none"}`: what is there goes.
    Remove,
    /// A new one.
    Replace(NewCredential),
}

/// Reads what was sent as `upstream.credential`.
///
/// # Errors
/// 400 that names the member.
pub(super) fn read(value: Option<&Value>) -> Result<Sent, ApiError> {
    let Some(value) = value else { return Ok(Sent::Keep) };
    let kind = value["type"].as_str().ok_or_else(|| wrong(format!("needs a type: {KINDS}")))?;
    let members: &[&str] = match kind {
        "none" => return Ok(Sent::Remove),
        "bearer" => &["token"],
        "header" => &["name", "value"],
        "basic" => &["user", "password"],
        "oauth2" => &["token_url", "client_id", "client_secret", "scope", "audience"],
        "mtls" => &["certificate", "key"],
        "exchange" => &["audience", "token_url", "client_id", "client_secret", "scope"],
        "forward" => &[],
        other => return Err(wrong(format!("type {other:?} is unknown; use {KINDS}"))),
    };
    // What a read shows ({"type":"bearer"} alone) means: as it was.
    if !members.is_empty() && value.as_object().is_some_and(|object| object.len() == 1) {
        return Ok(Sent::Same(kind.to_owned()));
    }
    for (key, _) in value.as_object().into_iter().flatten() {
        if key != "type" && !members.contains(&key.as_str()) {
            return Err(wrong(format!("has an unknown member {key:?}; it takes type, {}", members.join(", "))));
        }
    }
    Ok(Sent::Replace(match kind {
        "bearer" => NewCredential::Bearer { token: member(value, "token")?.into() },
        "header" => NewCredential::Header {
            name: http::HeaderName::try_from(member(value, "name")?).map_err(|_| wrong("name is no header name"))?,
            value: member(value, "value")?.into(),
        },
        "basic" => NewCredential::Basic { user: member(value, "user")?, password: member(value, "password")?.into() },
        "oauth2" => NewCredential::OAuth2(endpoint(value, optional(value, "audience")?)?),
        "mtls" => certificate(value)?,
        "exchange" => {
            let exchanged =
                ["token_url", "client_id", "client_secret", "scope"].iter().any(|key| !value[key].is_null());
            let endpoint = if exchanged { Some(endpoint(value, None)?) } else { None };
            NewCredential::Exchange { audience: member(value, "audience")?, endpoint }
        }
        _ => NewCredential::Forward,
    }))
}

/// The types there are.
const KINDS: &str = "none, bearer, header, basic, oauth2, mtls, exchange or forward";

fn endpoint(value: &Value, audience: Option<String>) -> Result<NewEndpoint, ApiError> {
    let url = member(value, "token_url")?;
    let sound = url::Url::parse(&url).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.fragment().is_none()
    });
    if !sound {
        return Err(wrong("token_url must begin with https:// or http:// and have neither user name nor fragment"));
    }
    Ok(NewEndpoint {
        url,
        client_id: member(value, "client_id")?,
        client_secret: member(value, "client_secret")?.into(),
        scope: optional(value, "scope")?,
        audience,
    })
}

fn certificate(value: &Value) -> Result<NewCredential, ApiError> {
    let pem = |key: &str| {
        let text = value[key].as_str().filter(|text| text.contains("-----BEGIN "));
        text.map(str::to_owned).ok_or_else(|| wrong(format!("needs a member {key:?}, in PEM")))
    };
    let (certificate, key) = (pem("certificate")?, pem("key")?);
    identity::check(&certificate, &key)
        .map_err(|_| wrong("certificate and key can't be used, or don't belong together"))?;
    Ok(NewCredential::Mtls { certificate, key: key.into() })
}

/// A text that can stand in a header, if it is there.
fn optional(value: &Value, key: &str) -> Result<Option<String>, ApiError> {
    if value[key].is_null() { Ok(None) } else { member(value, key).map(Some) }
}

impl Sent {
    /// Refuses a type alone where there is nothing of that type to keep.
    ///
    /// # Errors
    /// 400.
    pub(super) fn check_kept(
        &self,
        admin: &Shared,
        tenant: &str,
        id: &str,
        blob: Option<&[u8]>,
    ) -> Result<(), ApiError> {
        match self {
            Self::Same(kind) if shown(admin, tenant, id, blob)["type"] != kind.as_str() => Err(wrong(format!(
                "there is no {kind} credential to keep: send its secret as well, or {{\"type\":\"none\"}}"
            ))),
            Self::Keep | Self::Remove | Self::Replace(_) | Self::Same(_) => Ok(()),
        }
    }
}

/// A text that can stand in a header.
fn member(value: &Value, key: &str) -> Result<String, ApiError> {
    match value[key].as_str() {
        None | Some("") => Err(wrong(format!("needs a member {key:?}, a text that is not empty"))),
        Some(text) if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) => Ok(text.to_owned()),
        Some(_) => Err(wrong(format!("{key:?} must be printable ASCII"))),
    }
}

fn wrong(problem: impl Into<String>) -> ApiError {
    ApiError::invalid_field("spec.upstream.credential", problem)
}

/// Seals a credential for its card and the one origin that it may be sent to.
///
/// # Errors
/// 400 when the card has interfaces on several servers, or the credential is to be sent in a header that the gateway
/// sets; 500 when it can't be sealed.
pub(super) fn seal(
    admin: &Shared,
    tenant: &str,
    card_id: &str,
    origins: &[String],
    credential: &NewCredential,
) -> Result<Vec<u8>, ApiError> {
    if let NewCredential::Header { name, .. } = credential
        && let Some(problem) = admin.compiler.check_credential_header(name)
    {
        return Err(wrong(problem));
    }
    let [origin] = origins else {
        return Err(wrong("a card with a credential has all its interfaces on one server"));
    };
    credential.seal(&admin.seal, tenant, card_id, origin).map_err(|_| ApiError::internal())
}

/// What may be shown of a sealed credential: its type.
pub(super) fn shown(admin: &Shared, tenant: &str, card_id: &str, sealed: Option<&[u8]>) -> Value {
    let Some(sealed) = sealed else { return json!({"type": "none"}) };
    let opened = admin.seal.open(Place::card_credential(tenant, card_id), sealed).ok();
    let kind = opened
        .and_then(|document| serde_json::from_slice::<Value>(&document).ok())
        .and_then(|document| document["kind"].as_str().map(str::to_owned))
        .unwrap_or_else(|| String::from("unreadable"));
    json!({"type": kind})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_read_shows_can_be_written_back_unchanged() {
        assert!(matches!(read(Some(&json!({"type": "bearer"}))), Ok(Sent::Same(kind)) if kind == "bearer"));
        assert!(matches!(read(None), Ok(Sent::Keep)));
        assert!(matches!(read(Some(&json!({"type": "none"}))), Ok(Sent::Remove)));
    }

    #[test]
    fn a_credential_that_could_break_a_header_is_refused() {
        for bad in [
            json!({"type": "bearer", "token": "a\r\nb"}),
            json!({"type": "bearer", "token": "", "x": 1}),
            json!({"type": "header", "name": "a b", "value": "v"}),
            json!({"type": "magic", "token": "t"}),
            json!({"token": "t"}),
            json!({"type": "oauth2", "token_url": "ftp://idp.test/", "client_id": "c", "client_secret": "s"}),
            json!({"type": "oauth2", "token_url": "https://idp.test/", "client_id": "c"}),
            json!({"type": "exchange", "token_url": "https://idp.test/", "client_id": "c", "client_secret": "s"}),
            json!({"type": "mtls", "certificate": "-----BEGIN CERTIFICATE-----", "key": "-----BEGIN PRIVATE KEY-----"}),
            json!({"type": "forward", "token": "t"}),
        ] {
            assert!(read(Some(&bad)).is_err(), "{bad}");
        }
    }
}
