//! The pooled HTTP/1.1 client on the checked connector.
//!
//! Takes a request with an absolute URI and its whole body; the path leaves byte for byte as it is written there. Gives the response
//! head with its body still on the wire, or an [`EgressError`] that tells whether bytes may have left. Follows no redirect, decodes no
//! content encoding, reads no proxy variable. A request that a pooled connection gave back unwritten is sent on another connection;
//! nothing else is repeated.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::connect::{ConnectError, Connector};
use crate::rules::{Denied, Rules};

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// No connection. No byte was written: the call may be repeated.
    #[error("the upstream could not be reached")]
    Connect(#[source] ConnectError),
    /// The rules refuse the destination.
    #[error(transparent)]
    Denied(Denied),
    /// The connection failed after bytes may have left: the call must not be repeated.
    #[error("the upstream broke off before it answered")]
    Sent(#[source] legacy::Error),
    /// No response head in time; bytes may have left.
    #[error("the upstream did not answer in time")]
    Timeout,
}

impl EgressError {
    /// Whether the call may be repeated without risk of a second effect.
    pub fn nothing_was_sent(&self) -> bool {
        match self {
            EgressError::Connect(_) | EgressError::Denied(_) => true,
            EgressError::Sent(_) | EgressError::Timeout => false,
        }
    }
}

/// Time and pool limits.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Idle connections are kept this long; Node and uvicorn close theirs after 5 seconds.
    pub idle: Duration,
    /// Idle connections kept per origin.
    pub idle_per_host: usize,
    /// From the call to the response head, connecting included.
    pub head: Duration,
    /// Most bytes of a response head.
    pub head_bytes: usize,
}

impl Default for ClientSettings {
    fn default() -> Self {
        ClientSettings {
            idle: Duration::from_secs(4),
            idle_per_host: 64,
            head: Duration::from_secs(300),
            head_bytes: 64 * 1024,
        }
    }
}

/// A client with its pool. One per TLS identity and purpose; clones share the pool.
#[derive(Clone, Debug)]
pub struct Client {
    inner: legacy::Client<Connector, Full<Bytes>>,
    rules: Arc<Rules>,
    head: Duration,
}

impl Client {
    /// A client on `connector`.
    pub fn new(connector: Connector, settings: &ClientSettings) -> Client {
        let rules = connector.shared_rules();
        let inner = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(settings.idle)
            .pool_max_idle_per_host(settings.idle_per_host)
            .pool_timer(TokioTimer::new())
            .http1_max_buf_size(settings.head_bytes.max(8 * 1024))
            .http1_max_headers(100)
            .build(connector);
        Client { inner, rules, head: settings.head }
    }

    /// The rules it obeys, for judging a URL before it is stored.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Sends a request and waits for the response head, as long as the settings say.
    pub async fn request(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, EgressError> {
        self.request_within(request, self.head).await
    }

    /// The same with another limit for the response head.
    pub async fn request_within(
        &self,
        request: Request<Full<Bytes>>,
        head: Duration,
    ) -> Result<Response<Incoming>, EgressError> {
        // Rules may refuse what a pooled connection would accept: judge before the pool is asked.
        self.judge(request.uri())?;
        match tokio::time::timeout(head, self.inner.request(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(classify(error)),
            Err(_) => Err(EgressError::Timeout),
        }
    }

    fn judge(&self, uri: &Uri) -> Result<(), EgressError> {
        let target = crate::rules::of_uri(uri).map_err(EgressError::Denied)?;
        self.rules.judge_target(&target).map_err(EgressError::Denied)
    }
}

fn classify(error: legacy::Error) -> EgressError {
    if !error.is_connect() {
        return EgressError::Sent(error);
    }
    match error.source().and_then(|source| source.downcast_ref::<ConnectError>()) {
        Some(ConnectError::Denied(denied)) => EgressError::Denied(denied.clone()),
        Some(cause) => EgressError::Connect(cause.clone()),
        // hyper itself failed while it set the connection up, after ours succeeded; no request was written.
        None => EgressError::Connect(ConnectError::Dial(std::io::ErrorKind::Other)),
    }
}
