//! Who asks for a token: exactly one client credential (RFC 6749 §2.3).
//!
//! *Takes* the head and the form. *Gives* the principal that the key proves. *Refuses* two credentials, and a
//! `client_id` that is not the key's: its principal's id or name, or its own id. *Never* takes a token for a key: a
//! token that could make another would never end.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use percent_encoding::percent_decode_str;

use super::TokenError;
use super::form::Form;
use crate::clock::Micros;
use crate::pipeline::authenticate::{self, AuthenticateError, Identity};
use crate::pipeline::head::Head;
use crate::registry::Snapshot;
use zeroize::Zeroizing;

/// A client credential as it was presented.
struct Presented {
    id: Option<String>,
    secret: Zeroizing<Vec<u8>>,
}

/// Whom the request's one credential proves.
pub(super) fn identify(head: &Head, form: &Form, world: &Snapshot, now: Micros) -> Result<Identity, TokenError> {
    let bad = TokenError::InvalidClient(AuthenticateError::BadCredential);
    let said = form.one("client_id")?;
    let by_form = form.one("client_secret")?;
    let presented = match (&head.credentials.authorization, &head.credentials.api_key, by_form) {
        (None, None, None) => return Err(TokenError::InvalidClient(AuthenticateError::MissingCredential)),
        (Some(authorization), None, None) => of_header(authorization).ok_or(bad)?,
        (None, Some(key), None) => secret(key.as_bytes()),
        // A secret alone names nobody.
        (None, None, Some(text)) => Presented { id: Some(said.ok_or(bad)?.to_owned()), ..secret(text.as_bytes()) },
        (_, _, _) => return Err(TokenError::InvalidClient(AuthenticateError::TwoCredentials)),
    };
    let identity = authenticate::identify_key(&presented.secret, world, now).map_err(TokenError::InvalidClient)?;
    let named =
        |id: &str| id == identity.principal().id || id == identity.principal().name || id == identity.credential_id();
    if presented.id.as_deref().is_none_or(named) && said.is_none_or(named) { Ok(identity) } else { Err(bad) }
}

fn secret(bytes: &[u8]) -> Presented {
    Presented { id: None, secret: Zeroizing::new(bytes.to_vec()) }
}

/// `Basic base64(id:secret)`, both form-encoded (RFC 6749 §2.3.1), or a key under `Bearer` or `ApiKey`.
fn of_header(value: &HeaderValue) -> Option<Presented> {
    let (scheme, rest) = value.to_str().ok()?.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("apikey") {
        return Some(secret(rest.as_bytes()));
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = Zeroizing::new(String::from_utf8(STANDARD.decode(rest).ok()?).ok()?);
    let (id, text) = pair.split_once(':')?;
    let decoded = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8().ok().map(Into::<String>::into);
    let text = Zeroizing::new(decoded(text)?);
    Some(Presented { id: Some(decoded(id)?), ..secret(text.as_bytes()) })
}
