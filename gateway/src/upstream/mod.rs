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

use crate::registry::Card;
use a2a::Dialect;
use a2a::dialect::SubscribeVerb;
use bytes::Bytes;
use credential::identity::{BadIdentity, Identities, Making};
use credential::{Place, Tokens};
use egress::{Client, EgressError, Protocol};
use http::{Request, Response};
use hyper::body::Incoming;
use quick_cache::sync::Cache;
use std::collections::HashMap;
use std::time::Duration;

/// The clients towards agents, and the habits of agents that were learned.
#[derive(Debug)]
pub struct Upstream {
    everybody: Ways,
    /// Of tenants whose agents may not be everywhere.
    tenants: HashMap<String, Ways>,
    verbs: Cache<String, SubscribeVerb>,
    /// Tasks that were given a credential in their middle.
    authorised: Cache<Place, ()>,
    /// Tokens of token endpoints.
    pub(crate) tokens: Tokens,
}

/// Clients under one set of egress rules.
#[derive(Debug)]
pub struct Ways {
    /// Speaks HTTP/1.1.
    pub client: Client,
    /// Speaks HTTP/2, for gRPC.
    pub grpc: Client,
    identities: Identities,
}

impl Ways {
    /// Clients that show no certificate, and what others are made from.
    ///
    /// # Errors
    /// A root cannot be used.
    pub fn new(making: Making) -> Result<Self, rustls::Error> {
        let (client, grpc) = (making.client(None, Protocol::Http1)?, making.client(None, Protocol::Http2)?);
        Ok(Self { client, grpc, identities: Identities::new(making) })
    }
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
    /// Clients that know no agent yet: everybody's, and those of tenants that have their own.
    #[must_use]
    pub fn new(everybody: Ways, tenants: HashMap<String, Ways>, tokens: Tokens) -> Self {
        const AGENTS: usize = 100_000;
        const TASKS: usize = 10_000;
        Self { everybody, tenants, verbs: Cache::new(AGENTS), authorised: Cache::new(TASKS), tokens }
    }

    /// The rules for agents of this tenant's cards.
    #[must_use]
    pub fn rules(&self, tenant: &str) -> &egress::Rules {
        self.ways(tenant).client.rules()
    }

    fn ways(&self, tenant: &str) -> &Ways {
        self.tenants.get(tenant).unwrap_or(&self.everybody)
    }

    /// The verb that the agent of this card takes on `:subscribe` (D2b).
    pub(crate) fn subscribe_verb(&self, card: &str) -> SubscribeVerb {
        self.verbs.get(card).unwrap_or_default()
    }

    /// Remembers the verb.
    pub(crate) fn learn_subscribe_verb(&self, card: &str, verb: SubscribeVerb) {
        self.verbs.insert(card.to_owned(), verb);
    }

    /// Whether the task of this place was given a credential before; from now on it was.
    pub(crate) fn was_given(&self, task: Place) -> bool {
        let before = self.authorised.get(&task).is_some();
        self.authorised.insert(task, ());
        before
    }

    /// The client that reaches the agent: under its tenant's rules, with the certificate that its card names, if it names
    /// one.
    pub(crate) fn client(&self, card: &Card, dialect: Dialect) -> Result<Client, BadIdentity> {
        let ways = self.ways(&card.tenant);
        let (plain, protocol) = match dialect {
            Dialect::G1 => (&ways.grpc, Protocol::Http2),
            Dialect::J1 | Dialect::R1 | Dialect::J3 | Dialect::R3 | Dialect::PathRpc => (&ways.client, Protocol::Http1),
        };
        let certified = ways.identities.client(card.upstream.fingerprint, &card.upstream.credential, protocol);
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
        match client.request_within(request, head).await {
            Err(error) if may_repeat(&error, repeat) => Box::pin(client.request_within(again, head)).await,
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
