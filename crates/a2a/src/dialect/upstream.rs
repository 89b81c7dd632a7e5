//! [`Call`] → the agent's wire. URLs are built by string concatenation from checked pieces, never copied from a caller.
//!
//! Gives everything but credentials, correlation and tracing headers, which are the sender's business.

use http::Method;

use crate::{Call, Fault, dialect::Dialect};

/// Where an agent listens, and its habits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAddress {
    /// The interface URL without a trailing slash.
    pub base: String,
    /// The `tenant` of the interface; sent in v1.0 only.
    pub tenant: Option<String>,
    /// How `:` is written in paths.
    pub colon: Colon,
    /// What path RPC puts in the body.
    pub path_body: PathBody,
}

/// How `:` is written in paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Colon {
    /// `%3A`
    #[default]
    Percent,
    /// `:`
    Literal,
}

/// What path RPC puts in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum PathBody {
    /// A JSON-RPC envelope.
    #[default]
    Envelope,
    /// The parameters alone.
    Bare,
}

/// The verb of `:subscribe` towards an agent (POST first, GET where that is refused).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SubscribeVerb {
    /// POST
    #[default]
    Post,
    /// GET
    Get,
}

/// Ids made by the sender for this request; this crate has no randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minted<'a> {
    /// The JSON-RPC id.
    pub rpc_id: &'a str,
    /// The id of a message that has none.
    pub message_id: &'a str,
}

/// One HTTP request to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The verb.
    pub method: Method,
    /// The exact URL, bytes as they go out.
    pub url: String,
    /// Headers in lower case: `a2a-version`, `content-type`, `accept`.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
}

/// Writes `call` for an agent.
///
/// # Errors
/// A [`Fault`] for what the dialect cannot say.
#[expect(clippy::todo, reason = "the interface lands before the body")]
pub fn encode_call(
    dialect: Dialect,
    call: &Call,
    address: &AgentAddress,
    minted: Minted<'_>,
    subscribe: SubscribeVerb,
) -> Result<Outgoing, Fault> {
    let _ = (dialect, call, address, minted, subscribe);
    todo!()
}
