//! Fetches the key sets of tenants' issuers in the background, so that the request path waits for nobody.
//!
//! Looks twice a second which issuers are due (`KeyCell::begin`: new, grown old, or asked for an unknown key, never
//! more often than the cool-down) and fetches discovery document and key set within the egress rules for documents.
//! What fails is logged and tried again; what was fetched before stays, and is believed for an hour. Redirects, other
//! issuers' documents and documents beyond the limits count as failures.

use std::sync::Arc;
use std::time::Duration;

use egress::{Client, FetchError, FetchLimits};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use json::{Json, Limits};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::Registry;
use super::issuer::{Issuer, Keys};
use super::key_set::{self, KeySetError};
use crate::clock::Clock;
use crate::tasks::Tasks;

/// Why there are no new keys.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The document of discovery is none, or another issuer's.
    #[error("the discovery document {0}")]
    Discovery(&'static str),
    /// Nothing was fetched.
    #[error("{what} could not be fetched: {source}")]
    Fetch {
        /// What.
        what: &'static str,
        /// Why.
        #[source]
        source: FetchError,
    },
    /// The key set is none for us.
    #[error(transparent)]
    KeySet(#[from] KeySetError),
    /// It is not there.
    #[error("{what} was answered with {status}")]
    Status {
        /// What.
        what: &'static str,
        /// How.
        status: StatusCode,
    },
}

/// The worker.
#[derive(Clone, Debug)]
pub struct IssuerKeys {
    registry: Arc<Registry>,
    client: Client,
    limits: FetchLimits,
    clock: Clock,
    tasks: Tasks,
    /// However many tenants there are, so many fetches at a time.
    room: Arc<Semaphore>,
}

impl IssuerKeys {
    /// For the issuers of `registry`.
    #[must_use]
    pub fn new(registry: Arc<Registry>, client: Client, limits: FetchLimits, clock: Clock, tasks: Tasks) -> Self {
        Self { registry, client, limits, clock, tasks, room: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Keeps keys fresh until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(PERIOD) => self.look(),
            }
        }
    }

    fn look(&self) {
        let (world, now) = (self.registry.snapshot(), self.clock.now());
        for tenant in world.tenants.values() {
            for issuer in tenant.issuers.iter().filter(|issuer| issuer.keys.begin(now)) {
                let work = self.clone().fetch(tenant.name.clone(), Arc::clone(issuer));
                let stop = self.tasks.stopping();
                self.tasks.spawn("issuer keys", async move {
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = work => {}
                    }
                });
            }
        }
    }

    async fn fetch(self, tenant: String, issuer: Arc<Issuer>) {
        let _place = self.room.acquire().await;
        let fetched = self.keys(&issuer).await;
        match &fetched {
            Ok(keys) => {
                tracing::debug!(tenant, issuer = issuer.id, keys = keys.by_kid.len(), "an issuer's keys were fetched")
            }
            Err(error) => tracing::warn!(tenant, issuer = issuer.id, %error, "an issuer's keys could not be fetched"),
        }
        issuer.keys.end(fetched.map_err(|error| error.to_string()));
    }

    async fn keys(&self, issuer: &Issuer) -> Result<Keys, KeysError> {
        let address = match &issuer.jwks_uri {
            Some(address) => address.clone(),
            None => self.discovered(&issuer.iss).await?,
        };
        let body = self.document("the key set", &address).await?;
        Ok(Keys { by_kid: key_set::read(&body)?, fetched_at: self.clock.now() })
    }

    /// `jwks_uri` of the issuer's discovery document, which must be its own (OpenID Connect Discovery §4.3).
    async fn discovered(&self, iss: &str) -> Result<String, KeysError> {
        let address = format!("{}/.well-known/openid-configuration", iss.trim_end_matches('/'));
        let body = self.document("the discovery document", &address).await?;
        let limits = Limits { depth: 16, nodes: 10_000, key: 256, digits: 40 };
        let document = json::read(&body, &limits).map_err(|_| KeysError::Discovery("is no JSON"))?;
        if document.get("issuer").and_then(Json::as_str) != Some(iss) {
            return Err(KeysError::Discovery("names another issuer"));
        }
        let keys = document.get("jwks_uri").and_then(Json::as_str);
        keys.map(str::to_owned).ok_or(KeysError::Discovery("names no jwks_uri"))
    }

    async fn document(&self, what: &'static str, address: &str) -> Result<bytes::Bytes, KeysError> {
        let accept = HeaderValue::from_static("application/json, application/jwk-set+json");
        let headers = HeaderMap::from_iter([(header::ACCEPT, accept)]);
        let fetched = self.client.fetch(address, headers, self.limits).await;
        let fetched = fetched.map_err(|source| KeysError::Fetch { what, source })?;
        match fetched.status {
            StatusCode::OK => Ok(fetched.body),
            status => Err(KeysError::Status { what, status }),
        }
    }
}

/// How often is looked.
const PERIOD: Duration = Duration::from_millis(500);
const AT_ONCE: usize = 16;
