//! [`Call`] → the agent's wire. URLs are built by string concatenation from checked pieces, never copied from a caller.
//!
//! Gives everything but credentials, correlation and tracing headers, which are the sender's business.

use http::Method;

use crate::{
    Call, Dialect, Fault, FaultKind, OperationKind, Version,
    dialect::{R3Bytes, http_json, http_json_v03, jsonrpc, path_rpc, v03, v10},
    grpc,
};

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
    /// How files travel in HTTP+JSON of 0.3.
    pub r3_bytes: R3Bytes,
    /// Whose objects HTTP+JSON of 0.3 carries.
    pub r3_objects: R3Objects,
}

/// The shape of objects that are sent in HTTP+JSON of 0.3. Answers are read in either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum R3Objects {
    /// Those of 0.3's protobuf, as the official SDKs do.
    #[default]
    Proto,
    /// Those of 0.3's JSON schema, the same as in JSON-RPC (protocol 8 #5).
    Schema,
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
pub fn encode_call(
    dialect: Dialect,
    call: &Call,
    address: &AgentAddress,
    minted: Minted<'_>,
    subscribe: SubscribeVerb,
) -> Result<Outgoing, Fault> {
    let mut call = call.clone();
    call.ensure_message_id(minted.message_id);
    if dialect != Dialect::R3 || address.r3_objects == R3Objects::Schema {
        // Only the protobuf JSON of 0.3 can leave it open.
        call.ensure_role();
    }
    match dialect.version() {
        // Its paths are made from canonical parameters.
        Version::V03 if dialect == Dialect::R3 => {}
        Version::V10 => {
            let unnamed = call.kind == OperationKind::GetPushConfig && call.config_id().is_none();
            if unnamed {
                return Err(Fault::invalid_params("id: is missing"));
            }
            v10::write_params(call.kind, &mut call.params, call.origin);
            if let Some(tenant) = &address.tenant {
                call.params.insert("tenant", tenant.as_str());
            }
        }
        Version::V03 => v03::write_params(call.kind, &mut call.params, call.origin),
    }
    match dialect {
        Dialect::J1 | Dialect::J3 => rpc(dialect, call, address, minted),
        Dialect::R1 => http_json::encode(call, address, subscribe),
        Dialect::R3 => http_json_v03::encode(call, address, subscribe),
        Dialect::PathRpc => path_rpc::encode(call, address, minted),
        Dialect::G1 => Ok(Outgoing {
            method: Method::POST,
            url: format!("{}{}", address.base, grpc::path(call.kind)),
            headers: vec![
                ("content-type", grpc::CONTENT_TYPE),
                ("te", "trailers"),
                ("grpc-accept-encoding", "identity"),
                ("a2a-version", Version::V10.name()),
            ],
            body: Some(grpc::request(call.kind, &call.params)),
        }),
    }
}

/// Everything to the interface's URL.
fn rpc(dialect: Dialect, call: Call, address: &AgentAddress, minted: Minted<'_>) -> Result<Outgoing, Fault> {
    let Some(method) = call.kind.method(dialect.version()) else {
        return Err(Fault::of(FaultKind::UnsupportedOperation));
    };
    Ok(Outgoing {
        method: Method::POST,
        url: address.base.clone(),
        headers: headers(dialect, call.kind, true),
        body: Some(jsonrpc::write_request(minted.rpc_id, method, call.params)),
    })
}

/// The headers that are the dialect's business. Agents compare `A2A-Version` exactly; v0.3 has none.
pub(crate) fn headers(dialect: Dialect, kind: OperationKind, body: bool) -> Vec<(&'static str, &'static str)> {
    let accept = match dialect {
        _ if kind.is_streaming() => "text/event-stream",
        Dialect::R1 => "application/a2a+json, application/json",
        Dialect::J1 | Dialect::J3 | Dialect::R3 | Dialect::PathRpc | Dialect::G1 => "application/json",
    };
    let mut headers = vec![("accept", accept)];
    if dialect.version() == Version::V10 {
        headers.push(("a2a-version", Version::V10.name()));
    }
    if body {
        // One agent refuses a2a+json on JSON-RPC, none refuses plain JSON (protocol 4.2).
        headers.push(("content-type", "application/json"));
    }
    headers
}

impl Colon {
    /// As it stands in a path.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Percent => "%3A",
            Self::Literal => ":",
        }
    }
}
