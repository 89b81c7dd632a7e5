//! Agent cards as the gateway publishes them, and what an agent's own card says about where it listens.
//!
//! Takes a card of either generation (A2A 1.0 or 0.3) and gives the union card that every client understands, with
//! every address replaced by the gateway's. Never signs (that is [`sign`](crate::sign)), never resolves or fetches a
//! URL.

mod check;
mod interfaces;
mod publish;
mod scheme;
#[cfg(test)]
mod tests;

use json::{Json, Object};

pub use interfaces::{generation, interfaces};
pub use publish::publish;

use crate::Version;

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
    pub interfaces: Vec<(Binding, Version)>,
    /// Where gRPC is served; listed after the other bindings of 1.0.
    pub grpc: Option<GrpcAddress>,
    /// The ways to authenticate, each an alternative.
    pub security: Vec<Scheme>,
    /// What the gateway passes on; the card promises nothing else.
    pub relays: Relays,
}

/// Where a card is called over gRPC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcAddress {
    /// `host:port`, as cards name it (A2A 1.0, `AgentInterface.url`).
    pub authority: String,
    /// What callers put into `tenant`: gRPC has no path that could name the card.
    pub tenant: String,
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
    /// A requirement without a scope: pruning takes it away, so no signature covers it.
    #[error("requires a scheme without naming a scope or role, which signatures do not cover")]
    ScopelessRequirement,
    /// One OAuth scheme with more than one flow.
    #[error("has more than one OAuth flow; readers of A2A 1.0 take one or fail")]
    SeveralFlows,
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

/// The card as it may be served and signed: without `signatures`, pruned, `required: false` of extensions dropped,
/// at least one capability said outright.
///
/// # Errors
/// Every [`Problem`] at once.
pub(crate) fn tidy(card: &Object) -> Result<Object, Vec<Problem>> {
    let mut problems = check::requirements(card);
    let mut card = card.clone();
    card.remove("signatures");
    drop_false_required(&mut card);
    prune(&mut card);
    say_streaming(&mut card);
    problems.extend(check::card(&card));
    if problems.is_empty() { Ok(card) } else { Err(problems) }
}

/// `required` has no presence: `false` and nothing are the same to a typed reader.
fn drop_false_required(card: &mut Object) {
    let capabilities = card.get_mut("capabilities").and_then(Json::as_object_mut);
    let extensions = capabilities.and_then(|all| all.get_mut("extensions")).and_then(Json::as_array_mut);
    for extension in extensions.into_iter().flatten().filter_map(Json::as_object_mut) {
        if extension.get("required").and_then(Json::as_bool) == Some(false) {
            extension.remove("required");
        }
    }
}

/// Capabilities without an explicit boolean are pruned by verifiers, and the card is then invalid.
fn say_streaming(card: &mut Object) {
    if !card.contains("capabilities") {
        card.insert("capabilities", Object::new());
    }
    let Some(capabilities) = card.get_mut("capabilities").and_then(Json::as_object_mut) else { return };
    let said = ["streaming", "pushNotifications", "extendedAgentCard"];
    if !said.iter().any(|member| capabilities.get(member).and_then(Json::as_bool).is_some()) {
        capabilities.insert("streaming", false);
    }
}

/// Takes out `null`, `""`, `[]`, `{}` and whatever becomes empty by that, at any depth.
pub fn prune(card: &mut Object) {
    card.retain(|_, value| {
        prune_value(value);
        !is_empty(value)
    });
}

fn prune_value(value: &mut Json) {
    match value {
        Json::Object(object) => prune(object),
        Json::Array(elements) => elements.retain_mut(|element| {
            prune_value(element);
            !is_empty(element)
        }),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(elements) => elements.is_empty(),
        Json::Object(object) => object.is_empty(),
        Json::Bool(_) | Json::Number(_) => false,
    }
}
