//! Signatures of agent cards (A2A 1.0 §8.4): Ed25519, detached JWS, one signature per view that an official verifier
//! checks.
//!
//! Takes a card tree and a key, gives the card with `signatures`; takes a signed card and pinned keys, gives one
//! verdict per signature. Never fetches a key (`jku` is written, and never followed), never trusts a card to name its
//! own key.

mod ascii;
pub mod jwks;
mod jws;
mod members;
pub mod views;

pub use jwks::PublicKey;
pub use views::View;

use json::{CanonicalError, Json, Limits, Object};

use crate::rewrite::{self, Problem};

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

    /// This key's signature over `input`. Keys have one purpose each: one that signs cards signs nothing else.
    #[must_use]
    pub fn signature(&self, input: &[u8]) -> [u8; 64] {
        use ed25519_dalek::Signer as _;
        self.secret.sign(input).to_bytes()
    }

    /// The public half, under the same name.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey::from_point(self.secret.verifying_key(), self.kid.clone())
    }
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
    Canonical(#[from] CanonicalError),
    /// Our own verifier refuses what was just signed.
    #[error("the self-check of the {0} view failed")]
    SelfCheck(View),
    /// Our own reader refuses what was just signed.
    #[error("the signed card cannot be read back")]
    Unreadable(#[from] json::ReadError),
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
    /// One of too many signatures.
    #[error("only the first {limit} signatures of a card are looked at")]
    TooMany {
        /// The limit.
        limit: usize,
    },
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
    let mut card = rewrite::tidy(card).map_err(SignError::Card)?;
    let views = signed_views(&card);
    let mut payloads = Vec::with_capacity(views.len());
    for view in views {
        let payload = views::bytes(&card, *view)?;
        if !payloads.contains(&payload) {
            payloads.push(payload);
        }
    }
    let entries: Vec<_> = payloads.iter().map(|payload| Json::Object(jws::sign(payload, key))).collect();
    card.insert("signatures", entries);
    self_check(&card, views, key)?;
    Ok(card)
}

/// One entry of `signatures`: the signature of one view of the card as it stands.
///
/// # Errors
/// [`CanonicalError`] if the view has no canonical form.
pub fn sign_view(card: &Object, view: View, key: &SigningKey) -> Result<Object, CanonicalError> {
    Ok(jws::sign(&views::bytes(card, view)?, key))
}

/// The views that readers of this card check, in the order in which their signatures are listed. Readers of 0.3 refuse
/// a card without `url`, so there is nothing to sign for them.
fn signed_views(card: &Object) -> &'static [View] {
    if card.contains("url") { &[View::V1, View::Raw, View::V03] } else { &[View::V1, View::Raw] }
}

/// Reads the card as a client will and looks for a valid signature of each view.
fn self_check(card: &Object, views: &[View], key: &SigningKey) -> Result<(), SignError> {
    let served = json::write(&Json::Object(card.clone()));
    let served = json::read(&served, &Limits::default())?;
    let served = served.as_object().unwrap_or(card);
    let public = key.public();
    for view in views {
        let payload = views::bytes(served, *view)?;
        if !entries(served)
            .iter()
            .filter_map(|entry| jws::Entry::read(entry).ok())
            .any(|entry| entry.kid == key.kid && public.verifies(&entry.signing_input(&payload), &entry.signature))
        {
            return Err(SignError::SelfCheck(*view));
        }
    }
    Ok(())
}

/// One verdict per entry of `signatures`, in order. A card without signatures gives none.
#[must_use]
pub fn verify(card: &Object, keys: &[PublicKey]) -> Vec<SignatureVerdict> {
    let payloads = Payloads::of(card);
    let judged = entries(card).iter().enumerate().map(|(at, entry)| match jws::Entry::read(entry) {
        Err((refusal, kid)) => SignatureVerdict { kid, outcome: Err(refusal) },
        Ok(entry) if at >= MOST_SIGNATURES => {
            SignatureVerdict { kid: Some(entry.kid), outcome: Err(Refusal::TooMany { limit: MOST_SIGNATURES }) }
        }
        Ok(entry) => {
            let outcome = payloads.covered_by(&entry, keys);
            SignatureVerdict { kid: Some(entry.kid), outcome }
        }
    });
    judged.collect()
}

/// More than any honest card has; each costs a hash over every view.
const MOST_SIGNATURES: usize = 16;

fn entries(card: &Object) -> &[Json] {
    card.get("signatures").and_then(Json::as_array).unwrap_or_default()
}

/// What a signature of this card may be over.
struct Payloads {
    views: Vec<(View, Vec<u8>)>,
    optional_defaults_dropped: Option<Vec<u8>>,
}

impl Payloads {
    /// A view without canonical bytes is covered by nothing.
    fn of(card: &Object) -> Self {
        let views = View::ALL.into_iter().filter_map(|view| Some((view, views::bytes(card, view).ok()?)));
        Self { views: views.collect(), optional_defaults_dropped: views::bytes_without_explicit_defaults(card).ok() }
    }

    /// The first view that the signature covers.
    fn covered_by(&self, entry: &jws::Entry<'_>, keys: &[PublicKey]) -> Result<View, Refusal> {
        let keys: Vec<_> = keys.iter().filter(|key| key.kid() == entry.kid).collect();
        if keys.is_empty() {
            return Err(Refusal::UnknownKey { kid: entry.kid.clone() });
        }
        let covers = |payload: &[u8]| {
            let input = entry.signing_input(payload);
            keys.iter().any(|key| key.verifies(&input, &entry.signature))
        };
        if let Some((view, _)) = self.views.iter().find(|(_, payload)| covers(payload)) {
            return Ok(*view);
        }
        if self.optional_defaults_dropped.as_deref().is_some_and(covers) {
            return Err(Refusal::OptionalDefaultsDropped);
        }
        Err(Refusal::NoMatch)
    }
}
