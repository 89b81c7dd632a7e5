//! The pooled client on the checked connector: HTTP/1.1, or HTTP/2 where a binding needs it.
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
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::connect::{ConnectError, Connector, Protocol};
use crate::pieces::Pieces;
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
    /// What is spoken.
    pub protocol: Protocol,
}

impl Default for ClientSettings {
    fn default() -> Self {
        ClientSettings {
            idle: Duration::from_secs(4),
            idle_per_host: 64,
            head: Duration::from_secs(300),
            head_bytes: 64 * 1024,
            protocol: Protocol::Http1,
        }
    }
}

/// A client with its pool. One per TLS identity and purpose; clones share the pool.
#[derive(Clone, Debug)]
pub struct Client {
    inner: legacy::Client<Connector, Pieces>,
    rules: Arc<Rules>,
    head: Duration,
}

impl Client {
    /// A client on `connector`.
    pub fn new(connector: Connector, settings: &ClientSettings) -> Client {
        let rules = connector.shared_rules();
        let connector = connector.speaking(settings.protocol);
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        if settings.protocol == Protocol::Http2 {
            http2(&mut builder, settings);
        }
        let inner = builder
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
    pub async fn request(&self, request: Request<Bytes>) -> Result<Response<Incoming>, EgressError> {
        self.request_within(request, self.head).await
    }

    /// The same with another limit for the response head.
    pub async fn request_within(
        &self,
        request: Request<Bytes>,
        head: Duration,
    ) -> Result<Response<Incoming>, EgressError> {
        // Rules may refuse what a pooled connection would accept: judge before the pool is asked.
        self.judge(request.uri())?;
        match tokio::time::timeout(head, self.inner.request(request.map(Pieces::from))).await {
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

/// One connection carries many calls: a stream that nobody reads must not fill the window that all share.
fn http2(builder: &mut legacy::Builder, settings: &ClientSettings) {
    const STREAM_WINDOW: u32 = 256 * 1024;
    const CONNECTION_WINDOW: u32 = 64 * 1024 * 1024;
    const PING: Duration = Duration::from_secs(20);
    builder
        .http2_only(true)
        .timer(TokioTimer::new())
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .http2_max_header_list_size(u32::try_from(settings.head_bytes).unwrap_or(u32::MAX))
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PING);
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
