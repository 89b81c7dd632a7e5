//! The gateway's credentials towards the agent of one card, as they are sealed: its own, and the client by which it
//! answers tasks that wait for authorisation.
//!
//! *Takes* what an administrator wrote; *gives* one blob, bound to the card and to the one origin that it may be sent to,
//! and from a blob what a call is made with. *Refuses* a blob of another card, another origin, or one whose headers the
//! gateway sets itself. Nothing in it is ever shown but the types.

use http::HeaderName;
use http::header::AUTHORIZATION;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::document::Problem;
use super::{InTask, TokenEndpoint, UpstreamCredential};
use crate::seal::{Place, Seal, SealError};
use crate::upstream::credential::reserved;

/// Both credentials, as they are sealed.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct Sealed {
    origin: Option<String>,
    kind: Option<String>,
    token: Option<String>,
    name: Option<String>,
    value: Option<String>,
    user: Option<String>,
    password: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<SealedEndpoint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_task: Option<SealedInTask>,
}

/// The kind of a card that has only the other credential.
const NONE: &str = "none";

/// A token endpoint, as it is sealed.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct SealedEndpoint {
    url: String,
    client_id: String,
    client_secret: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<String>,
}

/// The client for tasks that wait, as it is sealed.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct SealedInTask {
    header: String,
    endpoint: SealedEndpoint,
}

impl SealedEndpoint {
    fn of(endpoint: &NewEndpoint) -> Self {
        Self {
            url: endpoint.url.clone(),
            client_id: endpoint.client_id.clone(),
            client_secret: endpoint.client_secret.expose_secret().to_owned(),
            scope: endpoint.scope.clone(),
            audience: endpoint.audience.clone(),
        }
    }

    fn open(self) -> TokenEndpoint {
        let Self { url, client_id, client_secret, scope, audience } = self;
        TokenEndpoint { url, client_id, client_secret: client_secret.into(), scope, audience }
    }
}

/// A token endpoint, as an administrator writes it.
#[derive(Clone, Debug)]
pub struct NewEndpoint {
    /// Its URL.
    pub url: String,
    /// Which client the gateway is there.
    pub client_id: String,
    /// Its secret.
    pub client_secret: SecretString,
    /// The scope to ask for.
    pub scope: Option<String>,
    /// Whom tokens are for.
    pub audience: Option<String>,
}

/// The gateway's credential towards an agent, as an administrator writes it.
#[derive(Clone, Debug)]
pub enum NewCredential {
    /// `Authorization: Bearer …`
    Bearer {
        /// The token.
        token: SecretString,
    },
    /// A header.
    Header {
        /// Its name.
        name: HeaderName,
        /// Its value.
        value: SecretString,
    },
    /// `Authorization: Basic …`
    Basic {
        /// User name.
        user: String,
        /// Password.
        password: SecretString,
    },
    /// A token of a token endpoint (RFC 6749 §4.4).
    OAuth2(NewEndpoint),
    /// A client certificate.
    Mtls {
        /// The chain, PEM.
        certificate: String,
        /// The leaf's key, PEM.
        key: SecretString,
    },
    /// A token that names for whom and through whom (RFC 8693).
    Exchange {
        /// Whom it is for.
        audience: String,
        /// Who exchanges it.
        endpoint: Option<NewEndpoint>,
    },
    /// The caller's own token.
    Forward,
}

/// The client for tasks that wait for authorisation, as an administrator writes it.
#[derive(Clone, Debug)]
pub struct NewInTask {
    /// The header that the agent looks for its token in.
    pub header: HeaderName,
    /// Where the token is from.
    pub endpoint: NewEndpoint,
}

/// What becomes of a credential.
#[derive(Debug)]
pub enum Change<'a, T> {
    /// It stays as it is.
    Keep,
    /// It goes.
    Remove,
    /// This one stands for it.
    Replace(&'a T),
}

impl<T> Change<'_, T> {
    /// Whether all stays as it is, where nothing is there or something is.
    const fn leaves(&self, nothing_there: bool) -> bool {
        match self {
            Self::Keep => true,
            Self::Remove => nothing_there,
            Self::Replace(_) => false,
        }
    }
}

/// What becomes of a card's credentials.
#[derive(Debug)]
pub struct Changes<'a> {
    /// Of the one that every call carries.
    pub credential: Change<'a, NewCredential>,
    /// Of the client for tasks that wait.
    pub in_task: Change<'a, NewInTask>,
}

impl Changes<'_> {
    /// The blob to store for the card with this id, sealed and bound to the one origin (`https://host:port`) that it may
    /// be sent to; none where nothing is left to seal. `before` is the blob that is stored now.
    ///
    /// # Errors
    /// [`SealError`]: it can't be sealed, or what is to stay can't be opened.
    pub fn seal(
        &self,
        seal: &Seal,
        (tenant, card_id): (&str, &str),
        origin: &str,
        before: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, SealError> {
        let place = Place::card_credential(tenant, card_id);
        let known = before.map(|blob| read(seal, place, blob)).transpose();
        let is_known = known.is_ok();
        let known = match (&self.credential, known) {
            (_, Ok(known)) => known.unwrap_or_default(),
            // What can't be opened any more can still be replaced.
            (Change::Remove | Change::Replace(_), Err(_)) => Sealed::default(),
            (Change::Keep, Err(error)) => return Err(error),
        };
        // What is not there need not go.
        let bare = known.kind.as_deref().is_none_or(|kind| kind == NONE);
        if self.credential.leaves(bare && is_known) && self.in_task.leaves(known.in_task.is_none() && is_known) {
            return Ok(before.map(<[u8]>::to_vec));
        }
        let in_task = match self.in_task {
            Change::Keep => known.in_task.clone(),
            Change::Remove => None,
            Change::Replace(new) => Some(SealedInTask {
                header: new.header.as_str().to_owned(),
                endpoint: SealedEndpoint::of(&new.endpoint),
            }),
        };
        let mut next = match self.credential {
            Change::Keep => known,
            Change::Remove => Sealed::default(),
            Change::Replace(new) => new.sealed(),
        };
        let kind = next.kind.get_or_insert_with(|| NONE.to_owned());
        if kind == NONE && in_task.is_none() {
            return Ok(None);
        }
        (next.in_task, next.origin) = (in_task, Some(origin.to_owned()));
        let bytes = Zeroizing::new(serde_json::to_vec(&next).map_err(|_| SealError::Malformed)?);
        seal.seal(place, &bytes).map(Some)
    }
}

impl NewCredential {
    /// The blob to store for the card with this id and no other credential, see [`Changes::seal`].
    ///
    /// # Errors
    /// [`SealError`].
    pub fn seal(&self, seal: &Seal, tenant: &str, card_id: &str, origin: &str) -> Result<Vec<u8>, SealError> {
        let changes = Changes { credential: Change::Replace(self), in_task: Change::Remove };
        changes.seal(seal, (tenant, card_id), origin, None)?.ok_or(SealError::Malformed)
    }

    fn sealed(&self) -> Sealed {
        let plain = |secret: &SecretString| Some(secret.expose_secret().to_owned());
        let of = |kind: &str| Sealed { kind: Some(kind.to_owned()), ..Sealed::default() };
        match self {
            Self::Bearer { token } => Sealed { token: plain(token), ..of("bearer") },
            Self::Header { name, value } => {
                Sealed { name: Some(name.to_string()), value: plain(value), ..of("header") }
            }
            Self::Basic { user, password } => {
                Sealed { user: Some(user.clone()), password: plain(password), ..of("basic") }
            }
            Self::OAuth2(endpoint) => Sealed { endpoint: Some(SealedEndpoint::of(endpoint)), ..of("oauth2") },
            Self::Mtls { certificate, key } => {
                Sealed { certificate: Some(certificate.clone()), key: plain(key), ..of("mtls") }
            }
            Self::Exchange { audience, endpoint } => Sealed {
                audience: Some(audience.clone()),
                endpoint: endpoint.as_ref().map(SealedEndpoint::of),
                ..of("exchange")
            },
            Self::Forward => of("forward"),
        }
    }
}

/// The types of what is sealed in a blob: of the credential, and whether there is a client for tasks that wait.
///
/// # Errors
/// It can't be opened.
pub fn kinds(seal: &Seal, place: Place<'_>, blob: &[u8]) -> Result<(String, bool), SealError> {
    let sealed = read(seal, place, blob)?;
    Ok((sealed.kind.unwrap_or_else(|| NONE.to_owned()), sealed.in_task.is_some()))
}

fn read(seal: &Seal, place: Place<'_>, blob: &[u8]) -> Result<Sealed, SealError> {
    serde_json::from_slice(&seal.open(place, blob)?).map_err(|_| SealError::Malformed)
}

/// Opens a blob and checks that it belongs to every one of `origins`, that neither credential is sent in a header of the
/// gateway's own, which begin with `header_prefix`, and not both in the same.
pub(super) fn open(
    (seal, place): (&Seal, Place<'_>),
    blob: &[u8],
    origins: &[String],
    header_prefix: &str,
) -> Result<(UpstreamCredential, Option<InTask>), Problem> {
    let bytes = seal.open(place, blob).map_err(|error| wrong(error.to_string()))?;
    let mut sealed: Sealed = serde_json::from_slice(&bytes).map_err(|_| wrong(DAMAGED))?;
    if origins.iter().any(|origin| Some(origin) != sealed.origin.as_ref()) {
        return Err(wrong("the credential was given for another origin; set it again for the present interfaces"));
    }
    let in_task = sealed.in_task.take();
    let credential = open_credential(sealed, header_prefix)?;
    let Some(SealedInTask { header, endpoint }) = in_task else { return Ok((credential, None)) };
    let wrong = |problem: &str| Problem::new("/upstream/in_task_authorisation", problem);
    let header = HeaderName::from_bytes(header.as_bytes()).map_err(|_| wrong("the header's name is illegal"))?;
    if let Some(problem) = reserved::problem(&header, header_prefix) {
        return Err(wrong(&problem));
    }
    if credential.header().is_some_and(|taken| taken == header) {
        let problem = format!("the header {header:?} carries the card's own credential; name another one");
        return Err(wrong(&problem));
    }
    Ok((credential, Some(InTask { header, endpoint: endpoint.open() })))
}

fn open_credential(sealed: Sealed, header_prefix: &str) -> Result<UpstreamCredential, Problem> {
    let kind = sealed.kind.clone();
    match (kind.as_deref(), sealed) {
        (Some(NONE), _) => Ok(UpstreamCredential::None),
        (Some("bearer"), Sealed { token: Some(token), .. }) => Ok(UpstreamCredential::Bearer(token.into())),
        (Some("header"), Sealed { name: Some(name), value: Some(value), .. }) => {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("the header's name is illegal"))?;
            if let Some(problem) = reserved::problem(&name, header_prefix) {
                return Err(wrong(problem));
            }
            Ok(UpstreamCredential::Header { name, value: value.into() })
        }
        (Some("basic"), Sealed { user: Some(user), password: Some(password), .. }) => {
            Ok(UpstreamCredential::Basic { user, password: password.into() })
        }
        (Some("oauth2"), Sealed { endpoint: Some(endpoint), .. }) => Ok(UpstreamCredential::OAuth2(endpoint.open())),
        (Some("mtls"), Sealed { certificate: Some(certificate), key: Some(key), .. }) => {
            Ok(UpstreamCredential::Mtls { certificate, key: key.into() })
        }
        (Some("exchange"), Sealed { audience: Some(audience), endpoint, .. }) => {
            let endpoint = endpoint.map(SealedEndpoint::open);
            Ok(UpstreamCredential::Exchange { audience, endpoint })
        }
        (Some("forward"), _) => Ok(UpstreamCredential::Forward),
        (Some(_) | None, _) => Err(wrong(DAMAGED)),
    }
}

impl UpstreamCredential {
    /// The header that it is sent in.
    fn header(&self) -> Option<HeaderName> {
        match self {
            Self::None | Self::Mtls { .. } => None,
            Self::Header { name, .. } => Some(name.clone()),
            Self::Bearer(_) | Self::Basic { .. } | Self::OAuth2(_) | Self::Exchange { .. } | Self::Forward => {
                Some(AUTHORIZATION)
            }
        }
    }
}

fn wrong(problem: impl Into<String>) -> Problem {
    Problem::new("/upstream/credential", problem)
}

const DAMAGED: &str = "the credential is damaged";
