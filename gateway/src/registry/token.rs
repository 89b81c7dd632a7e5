//! Who signs the gateway's own tokens for a tenant, under which names, with which keys.
//!
//! Takes what is compiled from the store; gives the key that signs now and those that prove. Every tenant has an `iss`
//! and an `aud` of its own, so that no token of one tenant means anything at another. Never issues or reads a token:
//! that is `oauth` and `pipeline::authenticate`.

use a2a::sign::{PublicKey, SigningKey};

/// The gateway as an issuer of tokens for one tenant.
#[derive(Debug, Default)]
pub struct TokenIssuer {
    /// `iss` of its tokens.
    pub iss: String,
    /// `aud` of its tokens: the base of all addresses of the tenant's cards.
    pub aud: String,
    /// Active first; all of them are published, and all of them prove.
    pub keys: Vec<TokenKey>,
}

/// One key of it.
pub struct TokenKey {
    /// The signing half of an active key.
    pub signing: Option<SigningKey>,
    /// The published half.
    pub public: PublicKey,
}

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenKey").field("kid", &self.public.kid()).finish_non_exhaustive()
    }
}

impl TokenIssuer {
    /// For `tenant` of a gateway that is reached at `public_url`, without keys.
    #[must_use]
    pub fn new(public_url: &str, tenant: &str) -> Self {
        Self {
            iss: format!("{public_url}/oauth/{tenant}"),
            aud: format!("{public_url}/a2a/{tenant}"),
            keys: Vec::new(),
        }
    }

    /// What signs a new token.
    #[must_use]
    pub fn signer(&self) -> Option<&SigningKey> {
        self.keys.iter().find_map(|key| key.signing.as_ref())
    }

    /// The key that a token names.
    #[must_use]
    pub fn key(&self, kid: &str) -> Option<&PublicKey> {
        self.keys.iter().map(|key| &key.public).find(|key| key.kid() == kid)
    }
}
