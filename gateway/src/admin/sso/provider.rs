//! The configured provider: where it is, its keys, and what it gives for a code.
//!
//! Fetches under `egress.fetch_allow` with the limits of documents; redirects, another issuer's documents and what is too
//! large or slow count as failures. Documents are kept for five minutes, and for an hour while the provider is away; one
//! fetch at a time, whoever waits. Nothing that the provider says is ever shown, and no secret is logged.

use crate::clock::Micros;
use crate::config::Oidc;
use crate::registry::issuer::{COOL_DOWN, FRESH, STALE};
use crate::registry::key_set::{self, VerifyingKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use egress::{Client, FetchLimits, Fetched};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use json::{Json, Limits};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Mutex;
use url::Url;
use url::form_urlencoded::Serializer;

/// Why the provider gave nothing that can be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProviderError {
    /// It does not answer, or with something else.
    #[error("{what} could not be fetched: {why}")]
    Away {
        /// What.
        what: &'static str,
        /// Why, without a word of the provider's.
        why: String,
    },
    /// Its documents are not what they must be.
    #[error("{0}")]
    Unusable(&'static str),
    /// It does not take the code.
    #[error("the token endpoint refused the code ({0})")]
    Refused(u16),
}

/// The provider and what is known of it.
pub(super) struct Provider {
    client: Client,
    limits: FetchLimits,
    issuer: String,
    client_id: String,
    secret: Option<SecretString>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    metadata: Option<(Arc<Metadata>, Micros)>,
    keys: Option<(HashMap<String, VerifyingKey>, Micros)>,
    failed: Option<Micros>,
    /// When keys were last asked for.
    asked: Option<Micros>,
}

/// Its discovery document (OpenID Connect Discovery §3), as far as it matters.
#[derive(Debug)]
pub(super) struct Metadata {
    /// Where browsers are sent.
    pub authorization: Url,
    token: String,
    keys: String,
    proof: ClientProof,
    /// Whether its answers name it (RFC 9207).
    pub names_itself: bool,
}

/// How the gateway proves itself at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientProof {
    /// `client_secret_basic`
    Basic,
    /// `client_secret_post`
    Form,
}

impl Provider {
    /// Nothing is known yet.
    pub(super) fn new(oidc: &Oidc, client: Client, limits: FetchLimits) -> Self {
        Self {
            client,
            limits,
            issuer: oidc.issuer.clone(),
            client_id: oidc.client_id.clone(),
            secret: oidc.client_secret.clone(),
            known: Mutex::default(),
        }
    }

    /// Where everything is.
    pub(super) async fn metadata(&self, now: Micros) -> Result<Arc<Metadata>, ProviderError> {
        let mut known = self.known.lock().await;
        let age = known.metadata.as_ref().map(|(_, at)| now.saturating_sub(*at));
        let paused = known.failed.is_some_and(|at| now.saturating_sub(at) < PAUSE);
        if age.is_none_or(|age| age >= FRESH) && !paused {
            match self.discover().await {
                Ok(metadata) => {
                    known.metadata = Some((Arc::new(metadata), now));
                    known.failed = None;
                }
                Err(error) => {
                    tracing::warn!(%error, "the provider of single sign-on can't be asked");
                    known.failed = Some(now);
                }
            }
        }
        let usable = known.metadata.as_ref().filter(|(_, at)| now.saturating_sub(*at) <= STALE);
        let away = || ProviderError::Away { what: "the discovery document", why: "see the warning before".to_owned() };
        usable.map(|(metadata, _)| Arc::clone(metadata)).ok_or_else(away)
    }

    /// The key of this name. One that is not there is looked for once in a minute.
    pub(super) async fn key(&self, kid: &str, now: Micros) -> Result<VerifyingKey, ProviderError> {
        let metadata = self.metadata(now).await?;
        let mut known = self.known.lock().await;
        let held = known.keys.as_ref().filter(|(_, at)| now.saturating_sub(*at) < FRESH);
        let is_held = held.is_some_and(|(keys, _)| keys.contains_key(kid));
        let cooled = known.asked.is_none_or(|at| now.saturating_sub(at) >= COOL_DOWN);
        if !is_held && cooled {
            known.asked = Some(now);
            match self.keys(&metadata.keys).await {
                Ok(keys) => known.keys = Some((keys, now)),
                Err(error) => {
                    tracing::warn!(%error, "the keys of single sign-on can't be had");
                    known.asked = Some(now.saturating_sub(COOL_DOWN).saturating_add(PAUSE));
                }
            }
        }
        let usable = known.keys.as_ref().filter(|(_, at)| now.saturating_sub(*at) <= STALE);
        let key = usable.and_then(|(keys, _)| keys.get(kid)).cloned();
        key.ok_or(ProviderError::Unusable("the token names a key that the provider does not publish"))
    }

    /// The ID token for a code (OpenID Connect Core §3.1.3). A code is sent once.
    pub(super) async fn exchange(
        &self,
        (code, verifier): (&str, &str),
        redirect: &str,
        now: Micros,
    ) -> Result<String, ProviderError> {
        let metadata = self.metadata(now).await?;
        let (headers, form) = self.question(metadata.proof, (code, verifier), redirect)?;
        let fetched = self.client.post(&metadata.token, headers, form, self.limits).await;
        let what = "the token endpoint's answer";
        let fetched = fetched.map_err(|error| ProviderError::Away { what, why: error.to_string() })?;
        match fetched.status {
            StatusCode::OK => {}
            status if status.is_client_error() => return Err(ProviderError::Refused(status.as_u16())),
            status => return Err(ProviderError::Away { what, why: status.to_string() }),
        }
        let answer =
            document(&fetched.body).ok_or(ProviderError::Unusable("the token endpoint's answer is no JSON"))?;
        let token = answer.get("id_token").and_then(Json::as_str).map(str::to_owned);
        token.ok_or(ProviderError::Unusable("the token endpoint's answer has no id_token"))
    }

    /// The code's form, with what proves the gateway.
    fn question(
        &self,
        proof: ClientProof,
        (code, verifier): (&str, &str),
        redirect: &str,
    ) -> Result<(HeaderMap, Bytes), ProviderError> {
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", redirect)
            .append_pair("code_verifier", verifier);
        let mut headers = HeaderMap::from_iter([
            (ACCEPT, HeaderValue::from_static("application/json")),
            (CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded")),
        ]);
        match (&self.secret, proof) {
            (Some(secret), ClientProof::Basic) => {
                headers.insert(AUTHORIZATION, self.basic(secret)?);
            }
            (Some(secret), ClientProof::Form) => {
                form.append_pair("client_id", &self.client_id).append_pair("client_secret", secret.expose_secret());
            }
            (None, ClientProof::Basic | ClientProof::Form) => {
                form.append_pair("client_id", &self.client_id);
            }
        }
        Ok((headers, Bytes::from(form.finish())))
    }

    /// RFC 6749 §2.3.1: both parts in the form's encoding first.
    fn basic(&self, secret: &SecretString) -> Result<HeaderValue, ProviderError> {
        let encoded = |text: &str| utf8_percent_encode(text, FORM).to_string();
        let pair = format!("{}:{}", encoded(&self.client_id), encoded(secret.expose_secret()));
        let value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)));
        let mut value = value.map_err(|_| ProviderError::Unusable("the client's secret can't be sent"))?;
        value.set_sensitive(true);
        Ok(value)
    }

    async fn discover(&self) -> Result<Metadata, ProviderError> {
        let address = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let fetched = self.fetch("the discovery document", &address).await?;
        let document = document(&fetched.body).ok_or(ProviderError::Unusable("the discovery document is no JSON"))?;
        let text = |member: &str| document.get(member).and_then(Json::as_str);
        if text("issuer") != Some(&self.issuer) {
            return Err(ProviderError::Unusable("the discovery document names another issuer"));
        }
        let names = |member: &str, word: &str| {
            document
                .get(member)
                .and_then(Json::as_array)
                .is_some_and(|all| all.iter().any(|one| one.as_str() == Some(word)))
        };
        if document.get("code_challenge_methods_supported").is_some()
            && !names("code_challenge_methods_supported", "S256")
        {
            return Err(ProviderError::Unusable("the provider takes no code_challenge of S256"));
        }
        let methods = "token_endpoint_auth_methods_supported";
        let by_form = !names(methods, "client_secret_basic") && names(methods, "client_secret_post");
        let authorization = text("authorization_endpoint").and_then(|address| self.browsers(address));
        let own = |member: &str| text(member).map(str::to_owned);
        Ok(Metadata {
            authorization: authorization
                .ok_or(ProviderError::Unusable("the discovery document names no authorization_endpoint"))?,
            token: own("token_endpoint")
                .ok_or(ProviderError::Unusable("the discovery document names no token_endpoint"))?,
            keys: own("jwks_uri").ok_or(ProviderError::Unusable("the discovery document names no jwks_uri"))?,
            proof: if by_form { ClientProof::Form } else { ClientProof::Basic },
            names_itself: document.get("authorization_response_iss_parameter_supported") == Some(&Json::Bool(true)),
        })
    }

    /// An address that browsers may be sent to: over TLS, unless the provider itself is reached without.
    fn browsers(&self, address: &str) -> Option<Url> {
        let plain = self.issuer.starts_with("http://");
        let fine = |url: &Url| url.scheme() == "https" || url.scheme() == "http" && plain;
        Url::parse(address).ok().filter(|url| fine(url) && url.has_host() && url.fragment().is_none())
    }

    async fn keys(&self, address: &str) -> Result<HashMap<String, VerifyingKey>, ProviderError> {
        let fetched = self.fetch("the key set", address).await?;
        let wrong = |error: key_set::KeySetError| ProviderError::Away { what: "the key set", why: error.to_string() };
        key_set::read(&fetched.body).map_err(wrong)
    }

    async fn fetch(&self, what: &'static str, address: &str) -> Result<Fetched, ProviderError> {
        let accept = HeaderValue::from_static("application/json, application/jwk-set+json");
        let fetched = self.client.fetch(address, HeaderMap::from_iter([(ACCEPT, accept)]), self.limits).await;
        let fetched = fetched.map_err(|error| ProviderError::Away { what, why: error.to_string() })?;
        match fetched.status {
            StatusCode::OK => Ok(fetched),
            status => Err(ProviderError::Away { what, why: status.to_string() }),
        }
    }
}

fn document(body: &[u8]) -> Option<Json> {
    json::read(body, &Limits { depth: 16, nodes: 10_000, key: 256, digits: 40 }).ok()
}

/// How long a provider that is away is left alone.
const PAUSE: Micros = 5_000_000;
/// What stays as it is in a form (`application/x-www-form-urlencoded`).
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
