//! Version × binding, both ways.
//!
//! | file | holds |
//! |---|---|
//! | [`target`](mod@target) | path below a card → what it addresses |
//! | [`detect`] | which dialect a request is in; version policy |
//! | [`envelope`] | a caller's body → [`crate::Call`], in two steps |
//! | [`voice`] | [`crate::Answer`], [`crate::Event`], [`crate::Fault`] → the caller's wire |
//! | [`upstream`] | [`crate::Call`] → the agent's wire |
//! | [`answer`] | the agent's wire → [`crate::Answer`], [`crate::Event`], [`crate::Fault`] |
//! | `v03`, `v10`, `proto_v03` | trees of one shape ↔ the canonical tree |
//! | `jsonrpc`, `http_json`, `http_json_v03`, `path_rpc` | what is particular to a binding |
//!
//! gRPC's own part is [`crate::grpc`].
//!
//! Nothing here is particular to a gateway: an agent that serves A2A uses the same `Envelope` and `Voice`.

pub mod answer;
pub mod detect;
pub mod envelope;
pub(crate) mod http_json;
mod http_json_v03;
mod jsonrpc;
mod path_rpc;
mod proto_v03;
mod query;
pub mod target;
pub mod upstream;
mod v03;
pub(crate) mod v10;
pub mod voice;

pub use answer::{BadAnswer, Received, decode_answer, decode_event};
pub use detect::{RequestFacts, VersionMode};
pub use envelope::{Envelope, Refusal};
pub use target::{Target, TargetError, target};
pub use upstream::{AgentAddress, Colon, Minted, Outgoing, PathBody, R3Objects, SubscribeVerb, encode_call};
pub use voice::{ErrorMedia, Trailers, Voice, Wire};

/// A generation of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// 0.3
    V03,
    /// 1.0
    V10,
}

/// How calls are put on HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// One URL, JSON-RPC 2.0.
    JsonRpc,
    /// A path per operation, bare bodies.
    HttpJson,
    /// A path per operation, JSON-RPC envelopes.
    PathRpc,
    /// gRPC, protobuf.
    Grpc,
}

/// A version on a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// v1.0 JSON-RPC.
    J1,
    /// v1.0 HTTP+JSON.
    R1,
    /// v0.3 JSON-RPC.
    J3,
    /// v0.3 HTTP+JSON, in the JSON of v0.3's own protobuf.
    R3,
    /// REST paths with JSON-RPC envelopes, v0.3 objects.
    PathRpc,
    /// v1.0 gRPC.
    G1,
}

/// How a peer that speaks HTTP+JSON of 0.3 puts files into JSON (protocol 8 #4): the Python SDK encodes them twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum R3Bytes {
    /// Nobody knows: bytes are relayed as they came, and written once.
    #[default]
    Auto,
    /// Base64 of the file.
    Single,
    /// Base64 of the base64 of the file.
    Double,
}

impl Version {
    /// The exact `A2A-Version` value.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V03 => "0.3",
            Self::V10 => "1.0",
        }
    }
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 6] = [Self::J1, Self::R1, Self::J3, Self::R3, Self::PathRpc, Self::G1];

    /// Those whose bodies are JSON.
    pub const JSON: [Self; 5] = [Self::J1, Self::R1, Self::J3, Self::R3, Self::PathRpc];

    /// Its generation.
    #[must_use]
    pub const fn version(self) -> Version {
        match self {
            Self::J1 | Self::R1 | Self::G1 => Version::V10,
            Self::J3 | Self::R3 | Self::PathRpc => Version::V03,
        }
    }

    /// Its binding.
    #[must_use]
    pub const fn binding(self) -> Binding {
        match self {
            Self::J1 | Self::J3 => Binding::JsonRpc,
            Self::R1 | Self::R3 => Binding::HttpJson,
            Self::PathRpc => Binding::PathRpc,
            Self::G1 => Binding::Grpc,
        }
    }

    /// Its name in configuration, metrics and audit records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::J1 => "v10_jsonrpc",
            Self::R1 => "v10_http_json",
            Self::J3 => "v03_jsonrpc",
            Self::R3 => "v03_http_json",
            Self::PathRpc => "path_rpc",
            Self::G1 => "v10_grpc",
        }
    }

    /// The dialect with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// The dialect of a card's interface: `protocolBinding` and `protocolVersion`.
    #[must_use]
    pub fn of_interface(binding: &str, version: &str) -> Option<Self> {
        let legacy = version.is_empty() || version.split('.').next() == Some("0");
        let current = version.split('.').next() == Some("1");
        match binding.to_ascii_uppercase().as_str() {
            "JSONRPC" if legacy => Some(Self::J3),
            "JSONRPC" if current => Some(Self::J1),
            "HTTP+JSON" if legacy => Some(Self::R3),
            "HTTP+JSON" if current => Some(Self::R1),
            "GRPC" if current => Some(Self::G1),
            _ => None,
        }
    }
}
