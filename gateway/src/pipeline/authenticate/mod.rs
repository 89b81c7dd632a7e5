//! Who calls: a credential of the request's head → an [`Identity`].
//!
//! *Takes* the head, the tenant that the path names, the snapshot and the time. *Gives* the proven principal.
//! *Refuses* a request with no credential, with two, or with one that proves nothing; the last always with the same
//! answer. *Never* tries a second scheme after a failed one, never says why, never waits, never lets a credential go
//! further.
//!
//! | scheme | file | a credential is its when |
//! |---|---|---|
//! | API key | `api_key` | it is in `X-API-Key` or under `ApiKey`, or under `Bearer` without a dot |
//! | token of the gateway | `gateway_token` | it has a dot, and its `iss` is the gateway's own for the tenant |
//! | token of an issuer | `issuer_token` | it has a dot, and its `iss` is any other |
//! | client certificate | `certificate` | the tenant takes one of its names for somebody |
//!
//! `jws` reads what all tokens have in common, `claims` what they must say.

mod api_key;
mod certificate;
pub(crate) mod claims;
pub(crate) mod gateway_token;
mod identity;
pub(crate) mod issuer_token;
pub(crate) mod jws;
pub mod throttle;

pub use identity::{Identity, Scheme};

use crate::clock::Micros;
use crate::pipeline::head::Head;
use crate::registry::{Snapshot, TenantWorld};
use std::time::Duration;

/// Why nobody was proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticateError {
    /// The credential proves nobody: unknown, expired, revoked, of a disabled principal, or of an unknown scheme.
    #[error("the credential proves no principal")]
    BadCredential,
    /// No credential.
    #[error("the request has no credential")]
    MissingCredential,
    /// The credential proves nobody, and this source has presented too many of those.
    #[error("the source presented too many credentials that prove nobody")]
    Throttled {
        /// When the next one is heard.
        retry_after: Duration,
    },
    /// Two of `Authorization`, `X-API-Key` and a client certificate that proves somebody here.
    #[error("the request has two credentials")]
    TwoCredentials,
}

/// Finds out who calls. Exactly one scheme decides. `tenant` is the one that the path names, empty where the
/// credential alone decides it (gRPC).
///
/// # Errors
/// [`AuthenticateError`]
pub fn identify(head: &Head, tenant: &str, world: &Snapshot, now: Micros) -> Result<Identity, AuthenticateError> {
    // A certificate that the tenant takes for nobody is transport alone: no credential.
    let certificate = head.credentials.certificate.as_ref().and_then(|one| certificate::prove(one, tenant, world, now));
    let presented = match (&head.credentials.authorization, &head.credentials.api_key, certificate) {
        (None, None, Some(identity)) => return Ok(identity),
        (None, None, None) => return Err(AuthenticateError::MissingCredential),
        (None, Some(key), None) => Presented::Key(key.as_bytes()),
        (Some(value), None, None) => presented(value.as_bytes()).ok_or(AuthenticateError::BadCredential)?,
        (_, _, _) => return Err(AuthenticateError::TwoCredentials),
    };
    let identity = match presented {
        Presented::Key(key) => api_key::prove(key, world, now),
        Presented::Token(text) => token(text, tenant, world, now),
    };
    identity.ok_or(AuthenticateError::BadCredential)
}

/// Whom an API key proves, for those who take nothing else.
///
/// # Errors
/// [`AuthenticateError::BadCredential`]
pub fn identify_key(key: &[u8], world: &Snapshot, now: Micros) -> Result<Identity, AuthenticateError> {
    api_key::prove(key, world, now).ok_or(AuthenticateError::BadCredential)
}

enum Presented<'a> {
    Key(&'a [u8]),
    Token(&'a [u8]),
}

/// The credential of `Bearer …` or `ApiKey …`, which are the schemes of the challenges; a scheme's name is
/// case-insensitive (RFC 9110 §11.1). No key has a dot, and no token lacks one.
fn presented(value: &[u8]) -> Option<Presented<'_>> {
    let (scheme, rest) = value.split_at_checked(value.iter().position(|byte| *byte == b' ')?)?;
    let credential = rest.trim_ascii();
    if scheme.eq_ignore_ascii_case(b"apikey") {
        return Some(Presented::Key(credential));
    }
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return None;
    }
    Some(if credential.contains(&b'.') { Presented::Token(credential) } else { Presented::Key(credential) })
}

/// Whom a token proves. Tenant, `iss` and `aud` decide together whose it can be (T-JWT-3); where no path names the
/// tenant, a token that could be about two of them is about none.
fn token(text: &[u8], tenant: &str, world: &Snapshot, now: Micros) -> Option<Identity> {
    let token = jws::Token::read(text)?;
    if !tenant.is_empty() {
        return token_in(&token, world.tenants.get(tenant)?, now);
    }
    let about = world.issuers.get(token.claims.str("iss")?)?;
    let mut proven = about.iter().filter_map(|name| token_in(&token, world.tenants.get(name)?, now));
    let first = proven.next()?;
    proven.next().is_none().then_some(first)
}

fn token_in(token: &jws::Token<'_>, tenant: &TenantWorld, now: Micros) -> Option<Identity> {
    if tenant.cancelled.is_cancelled() {
        return None;
    }
    if token.claims.str("iss") == Some(&tenant.tokens.iss) {
        return gateway_token::prove(token, tenant, now);
    }
    issuer_token::prove(token, tenant, now)
}

#[cfg(test)]
mod tests;
