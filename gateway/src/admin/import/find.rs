//! Finding an agent's card: every path at which agents are known to publish one, the path's own first.
//!
//! Takes the address an administrator gave; gives the card, what was tried, and warnings. Reads nothing beyond the
//! egress rules, follows no redirect, and never repeats a fetched byte in an error.

use egress::{Client, FetchError, FetchLimits};
use http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use json::Object;
use serde::Serialize;
use utoipa::ToSchema;

/// One address that was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Attempt {
    /// The address.
    pub url: String,
    /// What came of it.
    pub result: String,
}

/// A card that was found.
#[derive(Debug)]
pub struct Found {
    /// Where.
    pub url: String,
    /// What.
    pub card: Object,
    /// Everything that was asked, in order.
    pub attempts: Vec<Attempt>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// Nothing was found; what was asked, in order.
#[derive(Debug)]
pub struct NotFound {
    /// Everything that was asked.
    pub attempts: Vec<Attempt>,
}

/// Looks for the card of the agent at `address` (its URL, or the card's own URL when it ends in `.json`).
///
/// # Errors
/// No address answers with a card.
pub async fn find(agents: &Client, address: &str) -> Result<Found, NotFound> {
    let mut attempts = Vec::new();
    let mut found: Option<(String, Object)> = None;
    let mut warnings = Vec::new();
    for url in candidates(address) {
        let (result, card) = ask(agents, &url).await;
        attempts.push(Attempt { url: url.clone(), result });
        let Some(card) = card else { continue };
        match &found {
            None => found = Some((url, card)),
            Some((_, first)) if first.str("name") != card.str("name") => warnings.push(format!(
                "{url} serves another card, named {:?}; the one nearest to the address was taken",
                card.str("name").unwrap_or_default()
            )),
            Some(_) => {}
        }
    }
    match found {
        Some((url, card)) => Ok(Found { url, card, attempts, warnings }),
        None => Err(NotFound { attempts }),
    }
}

/// Where cards may be, nearest first. An explicit card address is the only candidate.
fn candidates(address: &str) -> Vec<String> {
    let base = address.trim_end_matches('/');
    let path_end = base.find(['?', '#']).unwrap_or(base.len());
    let base = base.get(..path_end).unwrap_or(base);
    if base.ends_with(".json") {
        return vec![base.to_owned()];
    }
    let origin_end = base.find("://").and_then(|at| base.get(at + 3..)?.find('/').map(|slash| at + 3 + slash));
    let origin = origin_end.and_then(|end| base.get(..end)).unwrap_or(base);
    let mut urls = vec![
        format!("{base}/.well-known/agent-card.json"),
        format!("{base}/.well-known/agent.json"),
        format!("{origin}/.well-known/agent-card.json"),
        format!("{origin}/.well-known/agent.json"),
    ];
    if let Some((_, last)) = base.rsplit_once('/')
        && origin != base
    {
        urls.push(format!("{origin}/.well-known/{last}/agent-card.json"));
    }
    let mut seen = std::collections::HashSet::new();
    urls.retain(|url| seen.insert(url.clone()));
    urls
}

async fn ask(agents: &Client, url: &str) -> (String, Option<Object>) {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(HeaderName::from_static("a2a-version"), HeaderValue::from_static("1.0"));
    let fetched = match agents.fetch(url, headers, FetchLimits::default()).await {
        Ok(fetched) => fetched,
        Err(error) => return (refusal(&error), None),
    };
    if !fetched.status.is_success() {
        return (format!("status {}", fetched.status.as_u16()), None);
    }
    match json::read(&fetched.body, &json::Limits { depth: 32, ..json::Limits::default() }) {
        Ok(json::Json::Object(card)) if looks_like_a_card(&card) => (String::from("a card"), Some(card)),
        Ok(_) => (String::from("JSON, but no agent card"), None),
        Err(error) => (format!("no card: {error}"), None),
    }
}

/// The members that every generation requires.
fn looks_like_a_card(card: &Object) -> bool {
    card.str("name").is_some() && (card.contains("supportedInterfaces") || card.contains("url"))
}

fn refusal(error: &FetchError) -> String {
    match error {
        FetchError::Egress(egress::EgressError::Denied(denied)) => format!("not allowed: {denied}"),
        FetchError::Cut(_)
        | FetchError::Encoded
        | FetchError::Egress(_)
        | FetchError::Redirected(_)
        | FetchError::TimedOut(_)
        | FetchError::TooLarge(_) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_comes_before_the_origin() {
        assert_eq!(
            candidates("http://up.test:9100/v3/a2a/serve/42/"),
            [
                "http://up.test:9100/v3/a2a/serve/42/.well-known/agent-card.json",
                "http://up.test:9100/v3/a2a/serve/42/.well-known/agent.json",
                "http://up.test:9100/.well-known/agent-card.json",
                "http://up.test:9100/.well-known/agent.json",
                "http://up.test:9100/.well-known/42/agent-card.json",
            ]
        );
    }

    #[test]
    fn an_origin_is_asked_once_and_a_card_address_alone() {
        assert_eq!(candidates("http://up.test:9100").len(), 2);
        assert_eq!(candidates("http://up.test/x/card.json"), ["http://up.test/x/card.json"]);
    }
}
