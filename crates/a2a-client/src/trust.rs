//! Who signed a card, and which part of it the signatures cover.
//!
//! Takes a card and keys that were pinned beforehand. A key set is fetched only from an address that the user gives,
//! never from one that the card names.

use a2a::sign::jwks::read_key_set;
use a2a::sign::{PublicKey, SignatureVerdict, View, verify, views};
use egress::{Client, FetchError, FetchLimits};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use json::{Limits, Object};

/// What the signatures of a card prove under some keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// One per signature, in order.
    pub verdicts: Vec<SignatureVerdict>,
}

impl Proof {
    /// Checks every signature of the card.
    #[must_use]
    pub fn of(card: &Object, keys: &[PublicKey]) -> Self {
        Self { verdicts: verify(card, keys) }
    }

    /// The accepted view that covers most; `None` if no signature holds.
    #[must_use]
    pub fn view(&self) -> Option<View> {
        let accepted = |view: &View| self.verdicts.iter().any(|verdict| verdict.outcome.as_ref() == Ok(view));
        [View::Raw, View::Spec, View::V1, View::V03].into_iter().find(accepted)
    }

    /// The members of the card that an accepted signature covers: trust nothing else.
    #[must_use]
    pub fn covered(&self, card: &Object) -> Option<Object> {
        Some(views::project(card, self.view()?))
    }
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// No key in it is an Ed25519 key for signatures.
    #[error("the key set has no Ed25519 signing key")]
    Empty,
    /// It was not fetched.
    #[error("the key set was not fetched")]
    Fetch(#[from] FetchError),
    /// It is no JSON.
    #[error("the key set is unreadable")]
    Read(#[from] json::ReadError),
    /// Another status than 200.
    #[error("the key set's address answered {0}")]
    Status(StatusCode),
}

/// The keys of the key set at `url`. Fetching proves nothing by itself: the address must come from somebody trusted.
///
/// # Errors
/// [`KeysError`].
pub async fn fetch_keys(connections: &Client, url: &str) -> Result<Vec<PublicKey>, KeysError> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/jwk-set+json, application/json"));
    let fetched = connections.fetch(url, headers, FetchLimits::default()).await?;
    if fetched.status != StatusCode::OK {
        return Err(KeysError::Status(fetched.status));
    }
    let keys = read_key_set(&json::read(&fetched.body, &Limits::default())?);
    if keys.is_empty() { Err(KeysError::Empty) } else { Ok(keys) }
}
