//! The gateway's credential towards an agent: written, sealed, never shown again.
//!
//! Stored as `{"type":…,…}` sealed for its card; bound to the origin of the card's upstream, so a card that moves
//! elsewhere loses it (threat T-CARD-6).

use super::Shared;
use super::error::ApiError;
use crate::seal::Place;
use serde_json::{Value, json};

/// A credential as it was sent, checked.
pub enum Sent {
    /// Nothing was said: what is there stays.
    Keep,
    /// `{"type":"none"}`: what is there goes.
    Remove,
    /// A new one; the document that will be sealed.
    Replace(zeroize::Zeroizing<Vec<u8>>),
}

/// Reads what was sent as `upstream.credential`.
///
/// # Errors
/// 400 that names the member.
pub fn read(value: Option<&Value>) -> Result<Sent, ApiError> {
    let Some(value) = value else { return Ok(Sent::Keep) };
    let wrong = |problem: String| Err(ApiError::invalid_field("spec.upstream.credential", problem));
    let wanted: &[&str] = match value["type"].as_str() {
        Some("none") => return Ok(Sent::Remove),
        Some("bearer") => &["token"],
        Some("header") => &["name", "value"],
        Some("basic") => &["user", "password"],
        Some(other) => return wrong(format!("type {other:?} is unknown; use none, bearer, header or basic")),
        None => return wrong(String::from("needs a type: none, bearer, header or basic")),
    };
    let members = value.as_object().into_iter().flatten();
    // What a read shows ({"type":"bearer"} alone) means: as it was.
    if value.as_object().is_some_and(|object| object.len() == 1) {
        return Ok(Sent::Keep);
    }
    for (key, _) in members {
        if key != "type" && !wanted.contains(&key.as_str()) {
            return wrong(format!("has an unknown member {key:?}; it takes type, {}", wanted.join(", ")));
        }
    }
    for key in wanted {
        match value[*key].as_str() {
            None | Some("") => return wrong(format!("needs a member {key:?}, a text that is not empty")),
            Some(text) if !text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) => {
                return wrong(format!("{key:?} must be printable ASCII"));
            }
            Some(_) => {}
        }
    }
    if value["type"] == "header" && http::HeaderName::try_from(value["name"].as_str().unwrap_or_default()).is_err() {
        return wrong(String::from("name is no header name"));
    }
    Ok(Sent::Replace(serde_json::to_vec(value).map_err(|_| ApiError::internal())?.into()))
}

/// Seals a credential for its card.
///
/// # Errors
/// 500 when it can't be sealed.
pub fn seal(admin: &Shared, tenant: &str, card_id: &str, document: &[u8]) -> Result<Vec<u8>, ApiError> {
    admin.seal.seal(Place::card_credential(tenant, card_id), document).map_err(|_| ApiError::internal())
}

/// What may be shown of a sealed credential: its type.
pub fn shown(admin: &Shared, tenant: &str, card_id: &str, sealed: Option<&[u8]>) -> Value {
    let Some(sealed) = sealed else { return json!({"type": "none"}) };
    let opened = admin.seal.open(Place::card_credential(tenant, card_id), sealed).ok();
    let kind = opened
        .and_then(|document| serde_json::from_slice::<Value>(&document).ok())
        .and_then(|document| document["type"].as_str().map(str::to_owned))
        .unwrap_or_else(|| String::from("unreadable"));
    json!({"type": kind})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_read_shows_can_be_written_back_unchanged() {
        assert!(matches!(read(Some(&json!({"type": "bearer"}))), Ok(Sent::Keep)));
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
