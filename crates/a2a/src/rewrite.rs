//! Agent cards as the gateway publishes them, and what an agent's own card says about where it listens.
//!
//! Takes a card of either generation (A2A 1.0 or 0.3) and gives the union card that every client understands, with
//! every address replaced by the gateway's. Never signs (that is [`sign`](crate::sign)), never resolves or fetches a
//! URL.

use json::Object;

/// A binding as cards spell it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// `JSONRPC`
    JsonRpc,
    /// `HTTP+JSON`
    HttpJson,
    /// `GRPC`
    Grpc,
    /// Anything else, as it was written.
    Other(String),
}

/// A protocol version as far as cards tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProtocolVersion {
    /// `1.0` (any 1.x)
    V10,
    /// `0.3` (any 0.x from 0.3 on)
    V03,
}

/// Which generations' members a card has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generation {
    /// `supportedInterfaces` alone.
    V10,
    /// `url` alone.
    V03,
    /// Both.
    Union,
}

/// One address of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Interface {
    /// As the card has it; may be relative to the card's own URL.
    pub url: String,
    /// What is spoken there.
    pub binding: Binding,
    /// As written for the interface, else for the card; empty if neither says.
    pub version: String,
    /// What the agent wants as `tenant` in requests.
    pub tenant: Option<String>,
}

/// What we know about the gateway's side of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// The one URL of the card at the gateway, without a trailing slash.
    pub url: String,
    /// What is served there; entries of 1.0 are listed before those of 0.3, else in this order.
    pub interfaces: Vec<(Binding, ProtocolVersion)>,
    /// The ways to authenticate, each an alternative.
    pub security: Vec<Scheme>,
    /// What the gateway passes on; the card promises nothing else.
    pub relays: Relays,
}

/// Optional abilities that the gateway passes on if the agent has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relays {
    /// Streaming operations.
    pub streaming: bool,
    /// Push notifications.
    pub push_notifications: bool,
    /// The extended card.
    pub extended_card: bool,
}

/// One way to authenticate at the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Its name in the card.
    pub name: String,
    /// The one scope or role a caller needs. Never empty: requirements without one are not covered by signatures.
    pub scope: String,
    /// How it works.
    pub kind: SchemeKind,
}

/// How a scheme works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemeKind {
    /// A key in a header.
    ApiKey {
        /// The header's name.
        header: String,
    },
    /// `Authorization: Bearer …`
    Bearer {
        /// Such as `JWT`.
        format: Option<String>,
    },
    /// A token from our own token endpoint.
    ClientCredentials {
        /// The token endpoint.
        token_url: String,
    },
    /// A client certificate.
    MutualTls,
    /// A token of an OpenID provider.
    OpenIdConnect {
        /// The provider's discovery document.
        url: String,
    },
}

/// One thing that stands in the way of publishing or signing a card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {fault}")]
pub struct Problem {
    /// An RFC 6901 pointer into the card.
    pub path: String,
    /// What is wrong there.
    pub fault: CardFault,
}

/// What can be wrong with a member of a card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CardFault {
    /// A required member is missing or empty.
    #[error("is required and must not be empty")]
    Missing,
    /// A number that not every reader of JSON takes for the same value.
    #[error("is a number outside ±(2^53 − 1), which readers of JSON round differently")]
    NumberTooBig,
    /// Nested too deep.
    #[error("is nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// Of the wrong JSON type.
    #[error("must be {expected}")]
    WrongType {
        /// What it must be.
        expected: &'static str,
    },
}

/// The union card of `source` (an agent's or an administrator's card of either generation) behind the gateway:
/// unsigned, pruned, every interface at `gateway.url`.
///
/// # Errors
/// Every [`Problem`] at once.
pub fn publish(source: &Object, gateway: &Gateway) -> Result<Object, Vec<Problem>> {
    let _ = (source, gateway);
    todo!()
}

/// Where the agent of this card listens, preferred first; the members of both generations are read.
#[must_use]
pub fn interfaces(card: &Object) -> Vec<Interface> {
    let _ = card;
    todo!()
}

/// Which generations' members the card has; `None` if it names no address at all.
#[must_use]
pub fn generation(card: &Object) -> Option<Generation> {
    let _ = card;
    todo!()
}

/// Takes out `null`, `""`, `[]`, `{}` and whatever becomes empty by that, at any depth.
pub fn prune(card: &mut Object) {
    let _ = card;
    todo!()
}
