//! Who signed a card, and which part of it the signatures cover.
//!
//! Takes a card and keys that were pinned beforehand. A key set is fetched only from an address that the user gives,
//! never from one that the card names.

use std::path::Path;

use a2a::sign::jwks::{JwkError, read_key_set};
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

/// What becomes of a card's signatures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Signatures {
    /// Nobody looks at them.
    #[default]
    Ignored,
    /// They are checked with these keys, which must be there, and [`Agent::proof`](crate::Agent::proof) tells; the agent is
    /// called whatever it says.
    Reported(Keys),
    /// An agent is called only if one of them holds, and only by what it covers.
    Required(Keys),
}

/// Keys that somebody trusts. A card's own `jku` is never among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// These, and no others.
    Pinned(Vec<PublicKey>),
    /// Those of the key set at this URL, which the caller trusts. It is fetched with every connect.
    At(String),
}

impl Keys {
    /// The keys in a JWK or a JWK set.
    ///
    /// # Errors
    /// [`KeysError`].
    pub fn from_json(bytes: &[u8]) -> Result<Self, KeysError> {
        let tree = json::read(bytes, &Limits::default())?;
        if tree.get("keys").is_some() {
            let keys = read_key_set(&tree);
            return if keys.is_empty() { Err(KeysError::Empty) } else { Ok(Self::Pinned(keys)) };
        }
        let jwk = tree.as_object().ok_or(KeysError::Empty)?;
        Ok(Self::Pinned(vec![PublicKey::from_jwk(jwk)?]))
    }

    /// The keys in a file of that kind.
    ///
    /// # Errors
    /// [`KeysError`].
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, KeysError> {
        Self::from_json(&std::fs::read(path)?)
    }

    /// The keys themselves.
    pub(crate) async fn load(&self, connections: &Client) -> Result<Vec<PublicKey>, KeysError> {
        match self {
            Self::Pinned(keys) => Ok(keys.clone()),
            Self::At(url) => fetch_keys(connections, url).await,
        }
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
    /// The file was not read.
    #[error("the file with the keys was not read")]
    File(#[from] std::io::Error),
    /// The one key is none.
    #[error("the key is none to check signatures with")]
    Jwk(#[from] JwkError),
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
