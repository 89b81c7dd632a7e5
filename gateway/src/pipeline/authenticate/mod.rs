//! Who calls: a credential of the request's head → an [`Identity`].
//!
//! *Takes* the head, the snapshot and the time. *Gives* the proven principal. *Refuses* a request with no credential,
//! with two, or with one that proves nothing; the last always with the same answer. *Never* tries a second scheme
//! after a failed one, never says why, never lets a credential go further.

mod api_key;
pub mod throttle;

use crate::clock::Micros;
use crate::pipeline::head::Head;
use crate::registry::{Credential, Principal, Snapshot};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

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
    /// `Authorization` and `X-API-Key` in one request.
    #[error("the request has two credentials")]
    TwoCredentials,
}

/// A proven principal. Only [`identify`] makes one.
#[derive(Clone, Debug)]
pub struct Identity {
    credential: Arc<Credential>,
}

impl Identity {
    /// Who calls.
    #[must_use]
    pub fn principal(&self) -> &Arc<Principal> {
        &self.credential.principal
    }

    /// Which credential proved it.
    #[must_use]
    pub fn key_id(&self) -> &str {
        &self.credential.key_id
    }

    /// When the credential stops working by itself.
    #[must_use]
    pub fn expires_at(&self) -> Option<Micros> {
        self.credential.expires_at
    }

    /// The tokens whose cancellation ends what was begun under this identity.
    #[must_use]
    pub fn revocations(&self) -> [CancellationToken; 2] {
        [self.credential.cancelled.clone(), self.credential.principal.cancelled.clone()]
    }
}

/// Finds out who calls. Exactly one scheme decides.
///
/// # Errors
/// [`AuthenticateError`]
pub fn identify(head: &Head, world: &Snapshot, now: Micros) -> Result<Identity, AuthenticateError> {
    let presented = match (&head.credentials.authorization, &head.credentials.api_key) {
        (Some(_), Some(_)) => return Err(AuthenticateError::TwoCredentials),
        (None, None) => return Err(AuthenticateError::MissingCredential),
        (None, Some(key)) => key.as_bytes(),
        (Some(authorization), None) => key_of(authorization.as_bytes()).ok_or(AuthenticateError::BadCredential)?,
    };
    let credential = api_key::look_up(presented, world, now).ok_or(AuthenticateError::BadCredential)?;
    Ok(Identity { credential })
}

/// The key of `Bearer <key>` or `ApiKey <key>`, which are the schemes of the challenges; a scheme's name is
/// case-insensitive (RFC 9110 §11.1).
fn key_of(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked(value.iter().position(|byte| *byte == b' ')?)?;
    let is_known = [b"bearer".as_slice(), b"apikey"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    is_known.then(|| rest.trim_ascii())
}

#[cfg(test)]
mod tests;
