//! Tokens of token endpoints, kept until shortly before their end.
//!
//! Takes an endpoint and the form to send; gives the token. One request at a time for each place, whoever waits for it;
//! nobody who leaves takes it along. A failure is kept for a second, so that a broken endpoint is not asked by every call.
//! Endpoints are reached under `egress.fetch_allow`, with deadlines and caps. Nothing an endpoint says is ever shown.

use crate::clock::{Clock, Micros};
use crate::registry::TokenEndpoint;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use egress::{Client, EgressError};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request};
use http_body_util::BodyExt as _;
use json::{Json, Limits};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long an endpoint may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest answer of an endpoint.
const MOST_BYTES: usize = 64 * 1024;
/// How long a token is kept whose endpoint does not say how long it works.
const UNSAID: i64 = 300;
/// Longest that any token is kept.
const LONGEST: i64 = 24 * 3_600;
/// How long a failure is kept.
const FAILURE: Micros = 1_000_000;
/// Most places; beyond that the oldest tokens are forgotten.
const PLACES: usize = 10_000;
/// What stays as it is in a form (`application/x-www-form-urlencoded`).
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Why there is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The endpoint's answer is no token.
    #[error("the token endpoint's answer is no bearer token")]
    Answer,
    /// Its address may not be called.
    #[error("the token endpoint's address may not be called")]
    Denied,
    /// It says no.
    #[error("the token endpoint refuses ({0})")]
    Refused(u16),
    /// It cannot be reached, or is too slow.
    #[error("the token endpoint cannot be reached")]
    Unreachable,
}

/// Where a token is kept: by the card's way upstream, and for whom it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place([u8; 32]);

impl Place {
    pub(super) fn new(fingerprint: [u8; 32], about: &str) -> Self {
        use sha2::{Digest as _, Sha256};
        Self(Sha256::new().chain_update(fingerprint).chain_update(about).finalize().into())
    }
}

/// A token and when it stops being used.
#[derive(Clone)]
struct Kept {
    token: Arc<SecretString>,
    until: Micros,
}

type Asking = Shared<BoxFuture<'static, (Result<Kept, TokenError>, Micros)>>;

/// The tokens there are.
pub struct Tokens {
    client: Client,
    clock: Clock,
    places: Mutex<HashMap<Place, Asking>>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens(…)")
    }
}

impl Tokens {
    /// None yet. Endpoints are asked through `client`.
    #[must_use]
    pub fn new(client: Client, clock: Clock) -> Self {
        Self { client, clock, places: Mutex::default() }
    }

    /// The time.
    pub(super) fn now(&self) -> Micros {
        self.clock.now()
    }

    /// The token kept at `place`, or a new one.
    ///
    /// # Errors
    /// [`TokenError`]
    pub(super) async fn get(
        &self,
        place: Place,
        endpoint: &TokenEndpoint,
        form: Vec<(&'static str, String)>,
    ) -> Result<Arc<SecretString>, TokenError> {
        let (kept, _) = self.asking(place, endpoint, &form).await;
        kept.map(|kept| kept.token)
    }

    /// Forgets the token at `place`: the agent does not take it.
    pub(crate) fn forget(&self, place: Place) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is being fetched is not the one that was refused.
        if places.get(&place).is_some_and(|asking| asking.peek().is_some()) {
            places.remove(&place);
        }
    }

    fn asking(&self, place: Place, endpoint: &TokenEndpoint, form: &[(&'static str, String)]) -> Asking {
        let now = self.now();
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(asking) = places.get(&place)
            && asking.peek().is_none_or(|known| is_good(known, now))
        {
            return asking.clone();
        }
        if places.len() >= PLACES {
            places.retain(|_, asking| asking.peek().is_none_or(|known| is_good(known, now)));
            if places.len() >= PLACES {
                places.clear();
            }
        }
        let (client, clock) = (self.client.clone(), self.clock.clone());
        let request = request(endpoint, form);
        let asking = async move {
            let fetched = match request {
                Some(request) => fetch(&client, request, &clock).await,
                None => Err(TokenError::Denied),
            };
            if let Err(error) = &fetched {
                tracing::warn!(%error, "no token for an agent");
            }
            (fetched, clock.now())
        };
        let asking = asking.boxed().shared();
        places.insert(place, asking.clone());
        asking
    }
}

fn is_good((kept, at): &(Result<Kept, TokenError>, Micros), now: Micros) -> bool {
    match kept {
        Ok(kept) => now < kept.until,
        Err(_) => now < at.saturating_add(FAILURE),
    }
}

/// The client proves itself by `Authorization: Basic`, as every endpoint must take it (RFC 6749 §2.3.1).
fn request(endpoint: &TokenEndpoint, form: &[(&'static str, String)]) -> Option<Request<Bytes>> {
    let encoded = |text: &str| utf8_percent_encode(text, FORM).to_string();
    let pairs: Vec<String> = form.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    let client = format!("{}:{}", encoded(&endpoint.client_id), encoded(endpoint.client_secret.expose_secret()));
    let mut basic = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(client))).ok()?;
    basic.set_sensitive(true);
    let mut request = Request::new(Bytes::from(pairs.join("&")));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = endpoint.url.parse().ok()?;
    let headers = request.headers_mut();
    headers.insert(AUTHORIZATION, basic);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Some(request)
}

async fn fetch(client: &Client, request: Request<Bytes>, clock: &Clock) -> Result<Kept, TokenError> {
    let work = async {
        let response = client.request_within(request, PATIENCE).await.map_err(|error| match error {
            EgressError::Denied(_) | EgressError::Connect(egress::ConnectError::Denied(_)) => TokenError::Denied,
            EgressError::Connect(_) | EgressError::Sent(_) | EgressError::Timeout => TokenError::Unreachable,
        })?;
        let status = response.status();
        if !status.is_success() {
            return Err(TokenError::Refused(status.as_u16()));
        }
        let mut body = response.into_body();
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame.map_err(|_| TokenError::Unreachable)?.into_data() else { continue };
            if bytes.len().saturating_add(piece.len()) > MOST_BYTES {
                return Err(TokenError::Answer);
            }
            bytes.extend_from_slice(&piece);
        }
        read(&bytes, clock.now()).ok_or(TokenError::Answer)
    };
    tokio::time::timeout(PATIENCE, work).await.unwrap_or(Err(TokenError::Unreachable))
}

/// `{"access_token":…,"token_type":"Bearer","expires_in":…}` (RFC 6749 §5.1). It is used until a tenth of its life is left,
/// at most a minute.
fn read(answer: &[u8], now: Micros) -> Option<Kept> {
    let answer = json::read(answer, &Limits::default()).ok()?;
    let token = answer.get("access_token")?.as_str().filter(|token| !token.is_empty())?;
    let kind = answer.get("token_type").and_then(Json::as_str).unwrap_or("Bearer");
    if !kind.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let said = answer.get("expires_in").and_then(Json::as_number).and_then(json::Number::as_i64);
    let life = said.unwrap_or(UNSAID).clamp(0, LONGEST);
    let early = (life / 10).min(60);
    let until = now.saturating_add(life.saturating_sub(early).saturating_mul(1_000_000));
    Some(Kept { token: Arc::new(SecretString::from(token)), until })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_used_until_shortly_before_its_end() {
        let until = |answer: &str| read(answer.as_bytes(), 0).map(|kept| kept.until / 1_000_000);
        assert_eq!(until(r#"{"access_token":"x","token_type":"bearer","expires_in":3600}"#), Some(3540));
        assert_eq!(until(r#"{"access_token":"x","token_type":"Bearer","expires_in":100}"#), Some(90));
        assert_eq!(until(r#"{"access_token":"x"}"#), Some(270));
        assert_eq!(until(r#"{"access_token":"x","expires_in":0}"#), Some(0));
        for none in ["", "[]", "{}", r#"{"access_token":""}"#, r#"{"access_token":"x","token_type":"mac"}"#] {
            assert_eq!(until(none), None, "{none}");
        }
    }
}
