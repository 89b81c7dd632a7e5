//! Finding an agent's card from the URL somebody was given.
//!
//! Agents keep their card below their own path, at the root of their origin, or under a name of their own, and some
//! have one in several places. All known places are tried, the nearest first; what each said is kept, so that a failure
//! names every address and an ambiguity is not passed over in silence. A URL that names a document is taken at its
//! word. Never leaves the origin it was given, so no redirect is followed.

use a2a::rewrite::generation;
use egress::{Client, FetchError, FetchLimits};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use json::{Json, Limits, Object};
use url::Url;

use crate::Credential;
use crate::credential::Unsendable;

/// A card and where it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The card's document as it was served, signatures included.
    pub card: Object,
    /// Its address; relative interface URLs are relative to this.
    pub url: Url,
    /// Another card of the same origin that says it is another agent: what was given may have meant that one.
    pub also: Option<Box<Found>>,
    /// The places that were tried before it.
    pub tried: Vec<Tried>,
}

/// A place without a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The address.
    pub url: String,
    /// What was wrong with it.
    pub problem: Problem,
}

/// Why a place has no card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The document is no JSON object.
    #[error("is no JSON object")]
    NotAnObject,
    /// The document names no address of an agent.
    #[error("names no interface, so it is no agent card")]
    NotACard,
    /// Another status than 200.
    #[error("answered {0}")]
    Status(StatusCode),
    /// The document was not read.
    #[error("is unreadable: {0}")]
    Unreadable(#[from] json::ReadError),
    /// The document was not fetched.
    #[error("was not fetched: {0}")]
    Unreachable(String),
}

/// Why there is no card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The URL is none, or has a user name or password in it.
    #[error("the address is not an http or https URL without credentials; write it as https://host/path")]
    BadUrl,
    /// The credential cannot be sent.
    #[error(transparent)]
    Credential(#[from] Unsendable),
    /// No place had a card.
    #[error(
        "no agent card at {}; check that the agent runs and the address is its own, or give its card's",
        .0.iter().map(|one| format!("{} ({})", one.url, one.problem)).collect::<Vec<_>>().join(", ")
    )]
    NoCard(Vec<Tried>),
}

impl ResolveError {
    /// Whether a place might have a card for callers with a credential.
    pub(crate) fn wants_credential(&self) -> bool {
        let refused =
            |one: &Tried| matches!(one.problem, Problem::Status(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN));
        match self {
            Self::NoCard(tried) => tried.iter().any(refused),
            Self::BadUrl | Self::Credential(_) => false,
        }
    }
}

/// Finds the card of the agent at `url`.
///
/// # Errors
/// [`ResolveError`], naming every place that was tried.
pub async fn resolve(connections: &Client, url: &str, credential: &Credential) -> Result<Found, ResolveError> {
    let mut headers = HeaderMap::new();
    credential.add_to(&mut headers)?;
    Search { connections, headers, limits: FetchLimits::default() }.run(url).await
}

/// A search for a card: how it is asked for, and what it may cost.
pub(crate) struct Search<'a> {
    pub(crate) connections: &'a Client,
    /// Besides those of the protocol.
    pub(crate) headers: HeaderMap,
    pub(crate) limits: FetchLimits,
}

impl Search<'_> {
    pub(crate) async fn run(mut self, url: &str) -> Result<Found, ResolveError> {
        self.headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        self.headers.insert("a2a-version", HeaderValue::from_static("1.0"));
        let mut tried = Vec::new();
        let mut rest = places(url)?.into_iter();
        while let Some(place) = rest.next() {
            match self.fetch(&place).await {
                Ok(card) => {
                    let also = self.other_agent(rest.find(is_root_card), &card).await;
                    return Ok(Found { card, url: place, also, tried });
                }
                Err(problem) => tried.push(Tried { url: place.into(), problem }),
            }
        }
        Err(ResolveError::NoCard(tried))
    }

    async fn fetch(&self, place: &Url) -> Result<Object, Problem> {
        let fetched = self.connections.fetch(place.as_str(), self.headers.clone(), self.limits).await;
        let fetched = fetched.map_err(unreachable)?;
        if fetched.status != StatusCode::OK {
            return Err(Problem::Status(fetched.status));
        }
        match json::read(&fetched.body, &Limits::default())? {
            Json::Object(document) => unwrapped(document),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Err(Problem::NotAnObject)
            }
        }
    }

    /// The card at the root, if it is of an agent of another name.
    async fn other_agent(&self, root: Option<Url>, card: &Object) -> Option<Box<Found>> {
        let url = root?;
        let other = self.fetch(&url).await.ok()?;
        let differs = other.str("name") != card.str("name");
        differs.then(|| Box::new(Found { card: other, url, also: None, tried: Vec::new() }))
    }
}

/// The places where the card of an agent at `url` may be, the nearest first.
///
/// # Errors
/// [`ResolveError::BadUrl`].
pub fn places(url: &str) -> Result<Vec<Url>, ResolveError> {
    let mut base = Url::parse(url.trim()).map_err(|_| ResolveError::BadUrl)?;
    let clean = base.username().is_empty() && base.password().is_none();
    if !matches!(base.scheme(), "http" | "https") || !base.has_host() || !clean {
        return Err(ResolveError::BadUrl);
    }
    base.set_fragment(None);
    if base.path().contains("/.well-known/") || base.path().ends_with(".json") {
        return Ok(vec![base]);
    }
    let itself = base.clone();
    base.set_query(None);
    let path = base.path().trim_end_matches('/').to_owned();
    let mut paths = vec![format!("{path}/.well-known/agent-card.json"), format!("{path}/.well-known/agent.json")];
    if let Some(name) = path.rsplit('/').next().filter(|name| !name.is_empty()) {
        paths.push(ROOT_CARD.to_owned());
        paths.push("/.well-known/agent.json".to_owned());
        paths.push(format!("/.well-known/{name}/agent-card.json"));
    }
    let at = |path: &String| {
        let mut place = base.clone();
        place.set_path(path);
        place
    };
    let mut places: Vec<_> = paths.iter().map(at).collect();
    places.push(itself);
    Ok(places)
}

const ROOT_CARD: &str = "/.well-known/agent-card.json";

fn is_root_card(place: &Url) -> bool {
    place.path() == ROOT_CARD
}

/// Registries wrap the card in a record of their own.
fn unwrapped(mut document: Object) -> Result<Object, Problem> {
    if generation(&document).is_some() {
        return Ok(document);
    }
    match document.remove("card") {
        Some(Json::Object(card)) if generation(&card).is_some() => Ok(card),
        Some(_) | None => Err(Problem::NotACard),
    }
}

/// The chain of causes: none of them holds a byte of what was fetched.
fn unreachable(error: FetchError) -> Problem {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(one) = cause {
        text = format!("{text}: {one}");
        cause = one.source();
    }
    Problem::Unreachable(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(url: &str) -> Vec<String> {
        places(url).unwrap().into_iter().map(String::from).collect()
    }

    #[test]
    fn the_nearest_place_is_tried_first() {
        let expected = [
            "http://u:1/a/b/.well-known/agent-card.json",
            "http://u:1/a/b/.well-known/agent.json",
            "http://u:1/.well-known/agent-card.json",
            "http://u:1/.well-known/agent.json",
            "http://u:1/.well-known/b/agent-card.json",
        ];
        assert_eq!(listed("http://u:1/a/b#x"), [&expected[..], &["http://u:1/a/b"]].concat());
        assert_eq!(listed(" http://u:1/a/b/ "), [&expected[..], &["http://u:1/a/b/"]].concat());
        let root = ["https://u/.well-known/agent-card.json", "https://u/.well-known/agent.json", "https://u/"];
        assert_eq!(listed("https://u"), root);
    }

    #[test]
    fn a_document_is_taken_at_its_word() {
        for url in ["https://u/a/card.json", "https://u/.well-known/agent-card/acme/echo", "https://u/c.json?v=1"] {
            assert_eq!(listed(url), [url]);
        }
    }

    #[test]
    fn other_addresses_are_refused() {
        for url in ["", "u", "ftp://u/", "file:///etc/passwd", "https://me:secret@u/", "https://me@u/", "data:,x"] {
            assert_eq!(places(url), Err(ResolveError::BadUrl), "{url}");
        }
    }
}
