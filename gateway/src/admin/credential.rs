//! The gateway's credentials towards an agent: written, sealed, never shown again.
//!
//! Bound to the origin of the card's upstream, so that a card that moves elsewhere can't take it along (T-CARD-6).

use super::Shared;
use super::error::ApiError;
use crate::registry::sealed::{self, Change, Changes, NewCredential, NewEndpoint, NewInTask};
use crate::seal::Place;
use crate::upstream::credential::identity;
use http::HeaderName;
use http::header::AUTHORIZATION;
use serde_json::{Value, json};

/// A credential as it was sent, checked.
pub(super) enum Sent<T> {
    /// Nothing was said: what is there stays.
    Keep,
    /// The type alone, as a read shows it: what is there stays, and is of this type.
    Same(String),
    /// `{"type":"none"}`: what is there goes.
    Remove,
    /// A new one.
    Replace(T),
}

/// What was sent of both credentials of a card.
pub(super) struct Both {
    /// `upstream.credential`
    pub credential: Sent<NewCredential>,
    /// `upstream.in_task_authorisation`
    pub in_task: Sent<NewInTask>,
}

/// Reads what was sent as `upstream.credential`.
///
/// # Errors
/// 400 that names the member.
pub(super) fn read(value: Option<&Value>) -> Result<Sent<NewCredential>, ApiError> {
    let (value, kind) = match typed(CREDENTIAL, value, KINDS, members)? {
        Typed::Known(sent) => return Ok(sent),
        Typed::New(value, kind) => (value, kind),
    };
    let wrong = |problem: &str| CREDENTIAL.wrong(problem);
    Ok(Sent::Replace(match kind {
        "bearer" => NewCredential::Bearer { token: CREDENTIAL.member(value, "token")?.into() },
        "header" => NewCredential::Header {
            name: HeaderName::try_from(CREDENTIAL.member(value, "name")?)
                .map_err(|_| wrong("name is no header name"))?,
            value: CREDENTIAL.member(value, "value")?.into(),
        },
        "basic" => NewCredential::Basic {
            user: CREDENTIAL.member(value, "user")?,
            password: CREDENTIAL.member(value, "password")?.into(),
        },
        "oauth2" => NewCredential::OAuth2(CREDENTIAL.endpoint(value, CREDENTIAL.optional(value, "audience")?)?),
        "mtls" => certificate(value)?,
        "exchange" => {
            let exchanged =
                ["token_url", "client_id", "client_secret", "scope"].iter().any(|key| !value[key].is_null());
            let endpoint = if exchanged { Some(CREDENTIAL.endpoint(value, None)?) } else { None };
            NewCredential::Exchange { audience: CREDENTIAL.member(value, "audience")?, endpoint }
        }
        _ => NewCredential::Forward,
    }))
}

/// Reads what was sent as `upstream.in_task_authorisation`.
///
/// # Errors
/// 400 that names the member.
pub(super) fn read_in_task(value: Option<&Value>) -> Result<Sent<NewInTask>, ApiError> {
    let known = |kind: &str| (kind == "oauth2").then_some(IN_TASK_MEMBERS);
    let value = match typed(IN_TASK, value, "none or oauth2", known)? {
        Typed::Known(sent) => return Ok(sent),
        Typed::New(value, _) => value,
    };
    let header = match IN_TASK.optional(value, "header")? {
        None => AUTHORIZATION,
        Some(name) => HeaderName::try_from(name).map_err(|_| IN_TASK.wrong("header is no header name"))?,
    };
    let endpoint = IN_TASK.endpoint(value, IN_TASK.optional(value, "audience")?)?;
    Ok(Sent::Replace(NewInTask { header, endpoint }))
}

/// A credential whose type is known.
enum Typed<'a, T> {
    /// There is nothing more to read.
    Known(Sent<T>),
    /// A new one of this type.
    New(&'a Value, &'a str),
}

/// What the type and the names of the members say.
fn typed<'a, T>(
    place: Member,
    value: Option<&'a Value>,
    kinds: &str,
    members: impl Fn(&str) -> Option<&'static [&'static str]>,
) -> Result<Typed<'a, T>, ApiError> {
    let Some(value) = value else { return Ok(Typed::Known(Sent::Keep)) };
    let kind = value["type"].as_str().ok_or_else(|| place.wrong(format!("needs a type: {kinds}")))?;
    if kind == "none" {
        return Ok(Typed::Known(Sent::Remove));
    }
    let members = members(kind).ok_or_else(|| place.wrong(format!("type {kind:?} is unknown; use {kinds}")))?;
    // What a read shows ({"type":"bearer"} alone) means: as it was.
    if !members.is_empty() && value.as_object().is_some_and(|object| object.len() == 1) {
        return Ok(Typed::Known(Sent::Same(kind.to_owned())));
    }
    for (key, _) in value.as_object().into_iter().flatten() {
        if key != "type" && !members.contains(&key.as_str()) {
            let known = members.join(", ");
            return Err(place.wrong(format!("has an unknown member {key:?}; it takes type, {known}")));
        }
    }
    Ok(Typed::New(value, kind))
}

fn members(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "bearer" => &["token"],
        "header" => &["name", "value"],
        "basic" => &["user", "password"],
        "oauth2" => &["token_url", "client_id", "client_secret", "scope", "audience"],
        "mtls" => &["certificate", "key"],
        "exchange" => &["audience", "token_url", "client_id", "client_secret", "scope"],
        "forward" => &[],
        _ => return None,
    })
}

const IN_TASK_MEMBERS: &[&str] = &["token_url", "client_id", "client_secret", "scope", "audience", "header"];

/// The types there are.
const KINDS: &str = "none, bearer, header, basic, oauth2, mtls, exchange or forward";

/// The member of a spec that a credential stands in.
#[derive(Clone, Copy)]
struct Member(&'static str);

const CREDENTIAL: Member = Member("spec.upstream.credential");
const IN_TASK: Member = Member("spec.upstream.in_task_authorisation");

impl Member {
    fn endpoint(self, value: &Value, audience: Option<String>) -> Result<NewEndpoint, ApiError> {
        let url = self.member(value, "token_url")?;
        let sound = url::Url::parse(&url).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.fragment().is_none()
        });
        if !sound {
            let problem = "token_url must begin with https:// or http:// and have neither user name nor fragment";
            return Err(self.wrong(problem));
        }
        Ok(NewEndpoint {
            url,
            client_id: self.member(value, "client_id")?,
            client_secret: self.member(value, "client_secret")?.into(),
            scope: self.optional(value, "scope")?,
            audience,
        })
    }

    /// A text that can stand in a header, if it is there.
    fn optional(self, value: &Value, key: &str) -> Result<Option<String>, ApiError> {
        if value[key].is_null() { Ok(None) } else { self.member(value, key).map(Some) }
    }

    /// A text that can stand in a header.
    fn member(self, value: &Value, key: &str) -> Result<String, ApiError> {
        match value[key].as_str() {
            None | Some("") => Err(self.wrong(format!("needs a member {key:?}, a text that is not empty"))),
            Some(text) if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) => Ok(text.to_owned()),
            Some(_) => Err(self.wrong(format!("{key:?} must be printable ASCII"))),
        }
    }

    fn wrong(self, problem: impl Into<String>) -> ApiError {
        ApiError::invalid_field(self.0, problem)
    }
}

fn certificate(value: &Value) -> Result<NewCredential, ApiError> {
    let pem = |key: &str| {
        let text = value[key].as_str().filter(|text| text.contains("-----BEGIN "));
        text.map(str::to_owned).ok_or_else(|| CREDENTIAL.wrong(format!("needs a member {key:?}, in PEM")))
    };
    let (certificate, key) = (pem("certificate")?, pem("key")?);
    identity::check(&certificate, &key)
        .map_err(|_| CREDENTIAL.wrong("certificate and key can't be used, or don't belong together"))?;
    Ok(NewCredential::Mtls { certificate, key: key.into() })
}

impl<T> Sent<T> {
    const fn change(&self) -> Change<'_, T> {
        match self {
            Self::Keep | Self::Same(_) => Change::Keep,
            Self::Remove => Change::Remove,
            Self::Replace(new) => Change::Replace(new),
        }
    }

    const fn stays(&self) -> bool {
        matches!(self, Self::Keep | Self::Same(_))
    }

    /// Refuses a type alone where there is nothing of that type to keep.
    fn check_same(&self, place: Member, there: &Value) -> Result<(), ApiError> {
        match self {
            Self::Same(kind) if there["type"] != kind.as_str() => Err(place.wrong(format!(
                "there is no {kind} credential to keep: send its secret as well, or {{\"type\":\"none\"}}"
            ))),
            Self::Keep | Self::Remove | Self::Replace(_) | Self::Same(_) => Ok(()),
        }
    }
}

impl Both {
    /// One is sent; the other stays.
    pub(super) const fn only(credential: Sent<NewCredential>) -> Self {
        Self { credential, in_task: Sent::Keep }
    }

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
        let there = shown(admin, tenant, id, blob);
        let credential = self.credential.check_same(CREDENTIAL, &there.credential);
        let in_task = self.in_task.check_same(IN_TASK, there.in_task.as_ref().unwrap_or(&Value::Null));
        ApiError::both(credential, in_task).map(drop)
    }

    /// Refuses that what is in `blob` goes along to another server: it is bound to the one it was made for (T-CARD-6).
    ///
    /// # Errors
    /// 400.
    pub(super) fn check_moved(&self, admin: &Shared, tenant: &str, id: &str, blob: &[u8]) -> Result<(), ApiError> {
        let there = shown(admin, tenant, id, Some(blob));
        let moved = |place: Member, goes_along: bool| match goes_along {
            true => Err(place.wrong(
                "the agent moves to another server and its credential is bound to the old one: send the credential for \
                 the new server, or {\"type\":\"none\"}",
            )),
            false => Ok(()),
        };
        let credential = self.credential.stays() && there.credential["type"] != "none";
        let in_task = self.in_task.stays() && there.in_task.is_some();
        ApiError::both(moved(CREDENTIAL, credential), moved(IN_TASK, in_task)).map(drop)
    }

    /// What to store for the card, which is at `origins`: sealed for it and the one origin that it may be sent to.
    ///
    /// # Errors
    /// 400 when the card has interfaces on several servers, or a credential is to be sent in a header that the gateway
    /// sets or that carries the other one; 500 when it can't be sealed.
    pub(super) fn seal(
        &self,
        admin: &Shared,
        (tenant, card_id): (&str, &str),
        origins: &[String],
        before: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, ApiError> {
        let changes = Changes { credential: self.credential.change(), in_task: self.in_task.change() };
        if self.credential.stays() && self.in_task.stays() {
            return Ok(before.map(<[u8]>::to_vec));
        }
        let is_new = matches!(self.credential, Sent::Replace(_)) || matches!(self.in_task, Sent::Replace(_));
        let origin = match origins {
            [origin] => origin.as_str(),
            _ if is_new => {
                return Err(CREDENTIAL.wrong("a card with a credential has all its interfaces on one server"));
            }
            _ => "",
        };
        let sealed = changes.seal(&admin.seal, (tenant, card_id), origin, before).map_err(|_| ApiError::internal())?;
        let problem = sealed.as_ref().and_then(|blob| admin.compiler.check_sealed(tenant, card_id, origin, blob));
        match problem {
            Some(problem) => Err(ApiError::invalid(super::body::under("spec", vec![problem]))),
            None => Ok(sealed),
        }
    }
}

/// What may be shown of a card's credentials: their types.
pub(super) struct Shown {
    /// `upstream.credential`
    pub credential: Value,
    /// `upstream.in_task_authorisation`, if there is one.
    pub in_task: Option<Value>,
}

/// What may be shown of a sealed blob.
pub(super) fn shown(admin: &Shared, tenant: &str, card_id: &str, blob: Option<&[u8]>) -> Shown {
    let Some(blob) = blob else { return Shown { credential: json!({"type": "none"}), in_task: None } };
    let (kind, in_task) = sealed::kinds(&admin.seal, Place::card_credential(tenant, card_id), blob)
        .unwrap_or_else(|_| (String::from("unreadable"), false));
    Shown { credential: json!({"type": kind}), in_task: in_task.then(|| json!({"type": "oauth2"})) }
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
        let good = json!({"type": "oauth2", "token_url": "https://idp.test/", "client_id": "c", "client_secret": "s"});
        assert!(matches!(read_in_task(Some(&good)), Ok(Sent::Replace(new)) if new.header == AUTHORIZATION));
        for (key, value) in [("header", "a b"), ("token_url", "idp.test"), ("client_secret", ""), ("name", "x")] {
            let mut bad = good.clone();
            bad[key] = value.into();
            assert!(read_in_task(Some(&bad)).is_err(), "{bad}");
        }
        assert!(read_in_task(Some(&json!({"type": "bearer", "token": "t"}))).is_err());
    }
}
