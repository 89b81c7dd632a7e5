//! The only outgoing HTTP of the data path: one call to an agent, one answer or stream of events.
//!
//! | file | holds |
//! |---|---|
//! | `credential` | the gateway's credential towards the agent |
//! | `request` | an encoded call → an HTTP request: stamps, the card's credential |
//! | `receive` | a response's head and body, within limits |
//! | `grpc` | an agent's answer over gRPC |
//! | `events` | an agent's event stream → decoded events |
//! | [`relay`] | those events → the caller's stream |
//!
//! Connects only where the egress rules allow; the target comes from the card and from nothing else (T-EGR-1).
//! Follows no redirect, decodes no content coding, repeats nothing that may have had an effect (D11).

pub mod credential;
pub mod events;
pub(crate) mod grpc;
pub(crate) mod last_state;
pub(crate) mod receive;
pub mod relay;
pub(crate) mod request;

use a2a::Dialect;
use a2a::dialect::SubscribeVerb;
use bytes::Bytes;
use credential::Tokens;
use credential::identity::{BadIdentity, Identities, Making};
use crate::registry;
use egress::{Client, EgressError, Protocol};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use quick_cache::sync::Cache;
use std::time::Duration;

/// The client towards agents, and the habits of agents that were learned.
#[derive(Debug)]
pub struct Upstream {
    client: Client,
    /// Speaks HTTP/2, for gRPC.
    grpc: Client,
    verbs: Cache<String, SubscribeVerb>,
    /// Tokens of token endpoints.
    pub(crate) tokens: Tokens,
    identities: Identities,
}

/// Whether a request may go out a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Only if no byte was written.
    Unsent,
    /// Once, also if the connection broke: it has no effect.
    Harmless,
}

impl Upstream {
    /// A client that knows no agent yet.
    #[must_use]
    pub fn new(client: Client, grpc: Client, tokens: Tokens, making: Making) -> Self {
        const AGENTS: usize = 100_000;
        Self { client, grpc, verbs: Cache::new(AGENTS), tokens, identities: Identities::new(making) }
    }

    /// The verb that the agent of this card takes on `:subscribe` (D2b).
    pub(crate) fn subscribe_verb(&self, card: &str) -> SubscribeVerb {
        self.verbs.get(card).unwrap_or_default()
    }

    /// Remembers the verb.
    pub(crate) fn learn_subscribe_verb(&self, card: &str, verb: SubscribeVerb) {
        self.verbs.insert(card.to_owned(), verb);
    }

    /// The client that reaches the agent: with the certificate that its card names, if it names one.
    pub(crate) fn client(&self, upstream: &registry::Upstream, dialect: Dialect) -> Result<Client, BadIdentity> {
        let (plain, protocol) = match dialect {
            Dialect::G1 => (&self.grpc, Protocol::Http2),
            Dialect::J1 | Dialect::R1 | Dialect::J3 | Dialect::R3 | Dialect::PathRpc => (&self.client, Protocol::Http1),
        };
        let certified = self.identities.client(upstream.fingerprint, &upstream.credential, protocol);
        certified.unwrap_or_else(|| Ok(plain.clone()))
    }

    /// Sends a request and waits for the response's head.
    pub(crate) async fn send(
        &self,
        request: Request<Bytes>,
        head: Duration,
        repeat: Repeat,
        client: &Client,
    ) -> Result<Response<Incoming>, EgressError> {
        let again = request.clone();
        match client.request_within(request.map(Full::new), head).await {
            Err(error) if may_repeat(&error, repeat) => {
                Box::pin(client.request_within(again.map(Full::new), head)).await
            }
            done => done,
        }
    }
}

fn may_repeat(error: &EgressError, repeat: Repeat) -> bool {
    match (error, repeat) {
        (EgressError::Connect(egress::ConnectError::Dial(_)), _) | (EgressError::Sent(_), Repeat::Harmless) => true,
        (EgressError::Connect(_) | EgressError::Denied(_) | EgressError::Timeout | EgressError::Sent(_), _) => false,
    }
}
