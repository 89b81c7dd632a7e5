//! The gateway's credential towards an agent: written, sealed, never shown again.
//!
//! Bound to the origin of the card's upstream, so that a card that moves elsewhere can't take it along (T-CARD-6).

use super::Shared;
use super::error::ApiError;
use crate::registry::settings::NewCredential;
use crate::seal::Place;
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
    let wanted: &[&str] = match value["type"].as_str() {
        Some("none") => return Ok(Sent::Remove),
        Some("bearer") => &["token"],
        Some("header") => &["name", "value"],
        Some("basic") => &["user", "password"],
        Some(other) => return Err(wrong(format!("type {other:?} is unknown; use none, bearer, header or basic"))),
        None => return Err(wrong("needs a type: none, bearer, header or basic")),
    };
    // What a read shows ({"type":"bearer"} alone) means: as it was.
    if let (Some(kind), Some(1)) = (value["type"].as_str(), value.as_object().map(serde_json::Map::len)) {
        return Ok(Sent::Same(kind.to_owned()));
    }
    for (key, _) in value.as_object().into_iter().flatten() {
        if key != "type" && !wanted.contains(&key.as_str()) {
            return Err(wrong(format!("has an unknown member {key:?}; it takes type, {}", wanted.join(", "))));
        }
    }
    let new = match wanted {
        ["token"] => NewCredential::Bearer { token: member(value, "token")?.into() },
        ["name", "value"] => NewCredential::Header {
            name: http::HeaderName::try_from(member(value, "name")?).map_err(|_| wrong("name is no header name"))?,
            value: member(value, "value")?.into(),
        },
        _ => NewCredential::Basic { user: member(value, "user")?, password: member(value, "password")?.into() },
    };
    Ok(Sent::Replace(new))
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
/// 400 when the card has interfaces on several servers; 500 when it can't be sealed.
pub(super) fn seal(
    admin: &Shared,
    tenant: &str,
    card_id: &str,
    origins: &[String],
    credential: &NewCredential,
) -> Result<Vec<u8>, ApiError> {
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
        ] {
            assert!(read(Some(&bad)).is_err(), "{bad}");
        }
    }
}
