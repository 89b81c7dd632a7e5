//! A proven principal, and what proved it.
//!
//! Made by the schemes beside this file alone. Holds no credential: only its id, its end, and the groups that whoever
//! vouched for it named.

use crate::clock::Micros;
use crate::registry::{Credential, Principal};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// How a principal was proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// An API key.
    ApiKey,
    /// A client certificate.
    Certificate,
    /// A token of `POST /oauth/token`.
    GatewayToken,
    /// A token of one of the tenant's own issuers.
    IssuerToken,
}

impl Scheme {
    /// One word for records and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::Certificate => "certificate",
            Self::GatewayToken => "gateway_token",
            Self::IssuerToken => "issuer_token",
        }
    }
}

/// A proven principal. Only [`identify`](super::identify) makes one.
#[derive(Clone, Debug)]
pub struct Identity {
    proof: Proof,
}

#[derive(Clone, Debug)]
enum Proof {
    /// The key itself; nothing is copied on the path that most calls take.
    Key(Arc<Credential>),
    Other(Arc<Vouched>),
}

/// A principal that something else than an API key vouches for.
#[derive(Debug)]
pub(super) struct Vouched {
    pub(super) scheme: Scheme,
    pub(super) principal: Arc<Principal>,
    pub(super) credential_id: String,
    pub(super) groups: Vec<String>,
    pub(super) expires_at: Option<Micros>,
    /// What ends it besides its principal.
    pub(super) revoked: CancellationToken,
}

impl Identity {
    pub(super) const fn of_key(credential: Arc<Credential>) -> Self {
        Self { proof: Proof::Key(credential) }
    }

    pub(super) fn vouched(vouched: Vouched) -> Self {
        Self { proof: Proof::Other(Arc::new(vouched)) }
    }

    /// Who calls.
    #[must_use]
    pub fn principal(&self) -> &Arc<Principal> {
        match &self.proof {
            Proof::Key(credential) => &credential.principal,
            Proof::Other(vouched) => &vouched.principal,
        }
    }

    /// How it was proven.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        match &self.proof {
            Proof::Key(_) => Scheme::ApiKey,
            Proof::Other(vouched) => vouched.scheme,
        }
    }

    /// What proved it, by its id: a key (`key-…`, also for tokens that came from it) or an issuer (`iss-…`).
    #[must_use]
    pub fn credential_id(&self) -> &str {
        match &self.proof {
            Proof::Key(credential) => &credential.key_id,
            Proof::Other(vouched) => &vouched.credential_id,
        }
    }

    /// The groups that an issuer's token names; none for every other scheme.
    #[must_use]
    pub fn groups(&self) -> &[String] {
        match &self.proof {
            Proof::Key(_) => &[],
            Proof::Other(vouched) => &vouched.groups,
        }
    }

    /// When the credential stops working by itself.
    #[must_use]
    pub fn expires_at(&self) -> Option<Micros> {
        match &self.proof {
            Proof::Key(credential) => credential.expires_at,
            Proof::Other(vouched) => vouched.expires_at,
        }
    }

    /// The tokens whose cancellation ends what was begun under this identity.
    #[must_use]
    pub fn revocations(&self) -> [CancellationToken; 2] {
        let credential = match &self.proof {
            Proof::Key(credential) => &credential.cancelled,
            Proof::Other(vouched) => &vouched.revoked,
        };
        [credential.clone(), self.principal().cancelled.clone()]
    }

    /// The API key itself, where one was presented.
    pub(crate) fn key(&self) -> Option<&Arc<Credential>> {
        match &self.proof {
            Proof::Key(credential) => Some(credential),
            Proof::Other(_) => None,
        }
    }
}
