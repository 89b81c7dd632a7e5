//! Signatures of agent cards (A2A 1.0 §8.4): Ed25519, detached JWS, one signature per view that an official verifier
//! checks.
//!
//! Takes a card tree and a key, gives the card with `signatures`; takes a signed card and pinned keys, gives one
//! verdict per signature. Never fetches a key (`jku` is written, and never followed), never trusts a card to name its
//! own key.

pub mod jwks;
pub mod jws;
pub mod views;

pub use jwks::PublicKey;
pub use views::View;

use json::Object;

use crate::rewrite::Problem;

/// A private key with the name it signs under. `Debug` shows the name alone.
pub struct SigningKey {
    kid: String,
    jku: Option<String>,
    secret: ed25519_dalek::SigningKey,
}

impl SigningKey {
    /// The key of a 32-byte seed. Without a `kid` it is named by its RFC 7638 thumbprint; `jku` is the URL of the
    /// tenant's key set.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32], kid: Option<String>, jku: Option<String>) -> Self {
        let secret = ed25519_dalek::SigningKey::from_bytes(seed);
        let kid = kid.unwrap_or_else(|| jwks::thumbprint(&secret.verifying_key().to_bytes()));
        Self { kid, jku, secret }
    }

    /// The name that goes into `kid`.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The public half, under the same name.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        todo!()
    }
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let _ = (&self.jku, &self.secret);
        f.debug_struct("SigningKey").field("kid", &self.kid).finish_non_exhaustive()
    }
}

/// Why a card was not signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The card cannot be published as it is.
    #[error("the card cannot be signed: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Card(Vec<Problem>),
    /// A view has no canonical form.
    #[error("the card has no canonical form")]
    Canonical(#[from] json::CanonicalError),
    /// Our own verifier refuses what was just signed.
    #[error("the self-check of the {0} view failed")]
    SelfCheck(View),
}

/// What one entry of `signatures` is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureVerdict {
    /// The key it names, if its header could be read.
    pub kid: Option<String>,
    /// The first view that it covers, or why it is refused.
    pub outcome: Result<View, Refusal>,
}

/// Why a signature is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The header asks for something that must be understood and is not (`crit`, `b64`).
    #[error("the header has extensions that are not understood")]
    CriticalHeader,
    /// The entry or its header is no JWS.
    #[error("malformed: {0}")]
    Malformed(&'static str),
    /// The signer dropped an optional member that was set.
    #[error("signed without optional members that the card sets explicitly; A2A 1.0 §8.4.1 rule 1 keeps them")]
    OptionalDefaultsDropped,
    /// The signature matches no view of this card.
    #[error("matches no view of this card")]
    NoMatch,
    /// The key named is not among those given.
    #[error("key {kid:?} is not among the trusted keys")]
    UnknownKey {
        /// The name.
        kid: String,
    },
    /// Another algorithm than Ed25519.
    #[error("algorithm {alg:?} is not supported")]
    UnsupportedAlgorithm {
        /// The name.
        alg: String,
    },
}

/// Signs the card: prunes it, checks it, puts one signature per distinct view, and checks the result with the own
/// verifier. Signatures that the card had are dropped.
///
/// # Errors
/// [`SignError`]; the card is then not fit to be served.
pub fn sign(card: &Object, key: &SigningKey) -> Result<Object, SignError> {
    let _ = (card, key);
    todo!()
}

/// One verdict per entry of `signatures`, in order. A card without signatures gives none.
#[must_use]
pub fn verify(card: &Object, keys: &[PublicKey]) -> Vec<SignatureVerdict> {
    let _ = (card, keys);
    todo!()
}
