//! The gateway's credential towards the agent of one card: what is put on a call.
//!
//! *Takes* the card's credential, the permit and, for `forward` alone, the caller's own token. *Gives* a header, or
//! nothing. *Refuses* a call whose credential cannot be had; the caller hears that the agent's credential failed, never
//! why. *Never* passes on a key or a token of ours, never sends a secret elsewhere than to the one server it was given for
//! (`registry::settings` checks the origin), and never logs one.
//!
//! | kind | header | waits for |
//! |---|---|---|
//! | none, `mtls` | – (the certificate is shown by the connection, see `identity`) | – |
//! | `bearer`, `basic`, `header` | the secret | – |
//! | `oauth2` | a token of the token endpoint, kept until shortly before its end (`tokens`) | the endpoint, when none is kept |
//! | `exchange` | a token of ours that names the subject and its delegates (`act`), or what an endpoint gives for it | the endpoint, if there is one |
//! | in-task (`in_task`) | besides one of these, on a follow-up of a task that waits for authorisation: a token | the agent, for the task's state; the endpoint |
//! | `forward` | the caller's own token, if a tenant's issuer vouches for it | – |

mod act;
pub(crate) mod identity;
pub(crate) mod in_task;
pub(crate) mod reserved;
mod tokens;

pub(crate) use tokens::Place;
pub use tokens::{TokenError, Tokens};

use crate::pipeline::authenticate::Scheme;
use crate::pipeline::authorize::Permit;
use crate::pipeline::head::{self, Head};
use crate::registry::{self, TokenEndpoint, UpstreamCredential};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{self as names, HeaderName, HeaderValue};
use secrecy::ExposeSecret as _;

/// Why there is no credential.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The token endpoint, for a task that waits for authorisation.
    #[error("there is no credential for a task that waits for authorisation")]
    InTask(#[source] TokenError),
    /// The caller has no token that may be passed on.
    #[error("the caller has no token of its own that may be passed on")]
    NothingToForward,
    /// The tenant has no key that signs tokens.
    #[error("there is no key that signs tokens")]
    NoSigner,
    /// The token endpoint.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The secret has bytes that no header can hold.
    #[error("the secret cannot stand in a header")]
    Unwritable,
}

/// A header that carries a credential, and where it came from.
#[derive(Debug)]
pub(crate) struct Carried {
    /// Name and value; the value is marked sensitive.
    pub(crate) header: (HeaderName, HeaderValue),
    /// The kept token, to be dropped if the agent refuses it.
    pub(crate) kept: Option<Place>,
}

/// What is put on a call of the permit's card.
///
/// # Errors
/// [`CredentialError`]
pub(crate) async fn carried(permit: &Permit, head: &Head, tokens: &Tokens) -> Result<Option<Carried>, CredentialError> {
    let upstream = &permit.card().upstream;
    match &upstream.credential {
        UpstreamCredential::Exchange { audience, endpoint } => {
            let (about, id, now) = (act::About::of(permit), head::new_id(), tokens.now());
            let ours = |audience: &str| act::token(&about, permit.tenant(), audience, &id, now);
            let Some(endpoint) = endpoint else {
                let token = ours(audience).ok_or(CredentialError::NoSigner)?;
                return fixed(names::AUTHORIZATION, &format!("Bearer {token}"));
            };
            let subject = ours(&endpoint.url).ok_or(CredentialError::NoSigner)?;
            let place = Place::new(upstream.fingerprint, &about.key());
            endpoint_token(place, endpoint, endpoint.exchange(&subject, audience), tokens).await
        }
        UpstreamCredential::Forward => {
            let own = (permit.scheme() == Scheme::IssuerToken).then_some(head.credentials.authorization.as_ref());
            let mut value = own.flatten().ok_or(CredentialError::NothingToForward)?.clone();
            value.set_sensitive(true);
            Ok(Some(Carried { header: (names::AUTHORIZATION, value), kept: None }))
        }
        UpstreamCredential::None
        | UpstreamCredential::Bearer(_)
        | UpstreamCredential::Header { .. }
        | UpstreamCredential::Basic { .. }
        | UpstreamCredential::OAuth2(_)
        | UpstreamCredential::Mtls { .. } => without_caller(upstream, tokens).await,
    }
}

/// What is put on a call that nobody in particular makes, such as an administrator's try.
///
/// # Errors
/// [`CredentialError`]
pub(crate) async fn without_caller(
    upstream: &registry::Upstream,
    tokens: &Tokens,
) -> Result<Option<Carried>, CredentialError> {
    match &upstream.credential {
        UpstreamCredential::None | UpstreamCredential::Mtls { .. } => Ok(None),
        UpstreamCredential::Bearer(token) => fixed(names::AUTHORIZATION, &format!("Bearer {}", token.expose_secret())),
        UpstreamCredential::Header { name, value } => fixed(name.clone(), value.expose_secret()),
        UpstreamCredential::Basic { user, password } => {
            let pair = STANDARD.encode(format!("{user}:{}", password.expose_secret()));
            fixed(names::AUTHORIZATION, &format!("Basic {pair}"))
        }
        UpstreamCredential::OAuth2(endpoint) => {
            let place = Place::new(upstream.fingerprint, "");
            endpoint_token(place, endpoint, endpoint.client_credentials(), tokens).await
        }
        UpstreamCredential::Exchange { .. } | UpstreamCredential::Forward => Err(CredentialError::NothingToForward),
    }
}

fn fixed(name: HeaderName, text: &str) -> Result<Option<Carried>, CredentialError> {
    Ok(Some(Carried { header: (name, sensitive(text)?), kept: None }))
}

async fn endpoint_token(
    place: Place,
    endpoint: &TokenEndpoint,
    form: Vec<(&'static str, String)>,
    tokens: &Tokens,
) -> Result<Option<Carried>, CredentialError> {
    let token = tokens.get(place, endpoint, form).await?;
    let value = sensitive(&format!("Bearer {}", token.expose_secret()))?;
    Ok(Some(Carried { header: (names::AUTHORIZATION, value), kept: Some(place) }))
}

fn sensitive(text: &str) -> Result<HeaderValue, CredentialError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| CredentialError::Unwritable)?;
    value.set_sensitive(true);
    Ok(value)
}

impl TokenEndpoint {
    /// The form of a client's own token (RFC 6749 §4.4.2).
    fn client_credentials(&self) -> Vec<(&'static str, String)> {
        let mut form = vec![("grant_type", "client_credentials".to_owned())];
        form.extend(self.scope.clone().map(|scope| ("scope", scope)));
        form.extend(self.audience.clone().map(|audience| ("audience", audience)));
        form
    }

    /// The form of an exchange (RFC 8693 §2.1): who it is for and who acts are both in `subject`.
    fn exchange(&self, subject: &str, audience: &str) -> Vec<(&'static str, String)> {
        let mut form = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange".to_owned()),
            ("subject_token", subject.to_owned()),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt".to_owned()),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token".to_owned()),
            ("audience", audience.to_owned()),
        ];
        form.extend(self.scope.clone().map(|scope| ("scope", scope)));
        form
    }
}
