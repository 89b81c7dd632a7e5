//! Answers, events and faults → the caller's wire. Total: there is nothing it cannot say.

use json::{Json, Object};

use crate::{
    Answer, Binding, Dialect, Event, Fault, OperationKind, Version,
    dialect::{R3Bytes, RequestFacts, Target, jsonrpc, proto_v03, v03, v10},
    grpc, sse,
};

/// How to answer one caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voice {
    /// The dialect of the answer.
    pub dialect: Dialect,
    /// The JSON-RPC id to echo; null where there is none.
    pub rpc_id: Json,
    /// Whether an event stream was asked for.
    pub streaming: bool,
    /// Whether the request carried a JSON-RPC envelope (a path RPC caller gets one back only then).
    pub enveloped: bool,
    /// How the caller reads files in HTTP+JSON of 0.3.
    pub r3_bytes: R3Bytes,
    /// What errors of HTTP+JSON 1.0 are called.
    pub errors: ErrorMedia,
}

/// The media type of errors of HTTP+JSON 1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ErrorMedia {
    /// `application/a2a+json`
    #[default]
    A2aJson,
    /// `application/json`
    Json,
}

impl ErrorMedia {
    const fn name(self) -> &'static str {
        match self {
            Self::A2aJson => A2A_JSON,
            Self::Json => JSON,
        }
    }
}

/// One HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
    /// What follows the body; in gRPC alone.
    pub trailers: Trailers,
}

/// Names and values of HTTP trailers.
pub type Trailers = Vec<(&'static str, String)>;

/// `Content-Type` of JSON-RPC answers.
const JSON: &str = "application/json";
/// `Content-Type` of HTTP+JSON answers.
const A2A_JSON: &str = "application/a2a+json";
/// `Content-Type` of streams.
const EVENT_STREAM: &str = "text/event-stream";

impl Voice {
    /// The best guess before the body is read, to refuse in.
    #[must_use]
    pub fn detect(target: &Target, facts: &RequestFacts<'_>) -> Self {
        let (streaming, enveloped) = match target {
            Target::Rpc => (false, true),
            Target::Http { operation, .. } => (
                operation.is_streaming(),
                matches!(operation, OperationKind::SendMessage | OperationKind::SendStreamingMessage),
            ),
            Target::Grpc(operation) => (operation.is_streaming(), false),
            Target::Card => (false, false),
        };
        let (dialect, r3_bytes) = (facts.guess(target), facts.r3_bytes());
        Self { dialect, rpc_id: Json::Null, streaming, enveloped, r3_bytes, errors: facts.error_media() }
    }

    /// Plain HTTP+JSON, for refusals of requests whose dialect nobody knows.
    #[must_use]
    pub const fn unknown() -> Self {
        let (dialect, r3_bytes) = (Dialect::R1, R3Bytes::Single);
        let errors = ErrorMedia::A2aJson;
        Self { dialect, rpc_id: Json::Null, streaming: false, enveloped: false, r3_bytes, errors }
    }

    /// The whole answer to a call that is no stream.
    #[must_use]
    pub fn answer(&self, kind: OperationKind, answer: Answer) -> Wire {
        let bare = matches!(self.dialect.binding(), Binding::HttpJson | Binding::Grpc);
        let result = match kind {
            OperationKind::DeletePushConfig if bare => Object::new().into(),
            OperationKind::DeletePushConfig => Json::Null,
            OperationKind::SendMessage
            | OperationKind::SendStreamingMessage
            | OperationKind::GetTask
            | OperationKind::ListTasks
            | OperationKind::CancelTask
            | OperationKind::SubscribeToTask
            | OperationKind::CreatePushConfig
            | OperationKind::GetPushConfig
            | OperationKind::ListPushConfigs
            | OperationKind::GetExtendedCard => self.result(kind, answer.body, answer.origin),
        };
        let (content_type, body) = match self.dialect {
            Dialect::R1 => (A2A_JSON, json::write(&result)),
            Dialect::R3 => (JSON, json::write(&result)),
            Dialect::PathRpc if !self.enveloped => (JSON, json::write(&result)),
            Dialect::J1 | Dialect::J3 | Dialect::PathRpc => (JSON, jsonrpc::write_result(&self.rpc_id, result)),
            Dialect::G1 => (grpc::CONTENT_TYPE, grpc::result(kind, &result)),
        };
        Wire { status: 200, content_type, body, trailers: self.trailers(None, "") }
    }

    /// One SSE frame, or one message of gRPC.
    #[must_use]
    pub fn event(&self, event: Event) -> Vec<u8> {
        let result = self.result(OperationKind::SendStreamingMessage, event.body, event.origin);
        let data = match self.dialect {
            Dialect::R1 | Dialect::R3 => json::write(&result),
            Dialect::J1 | Dialect::J3 | Dialect::PathRpc => jsonrpc::write_result(&self.rpc_id, result),
            Dialect::G1 => return grpc::event(&result),
        };
        frame(None, &data)
    }

    fn result(&self, kind: OperationKind, body: Json, origin: Version) -> Json {
        match self.dialect {
            Dialect::R3 => proto_v03::write_result(kind, body, origin, self.r3_bytes),
            Dialect::J3 | Dialect::PathRpc => v03::write_result(kind, body, origin),
            Dialect::J1 | Dialect::R1 | Dialect::G1 => v10::write_result(kind, body, origin),
        }
    }

    /// The whole answer that tells a fault before anything else was said. `own_domain` is the domain of reasons that
    /// A2A does not define.
    #[must_use]
    pub fn fault(&self, fault: &Fault, own_domain: &str) -> Wire {
        let body = self.fault_body(fault, own_domain);
        let (status, content_type, body) = match self.dialect {
            Dialect::R1 => (fault.kind.http_status(), self.errors.name(), body),
            Dialect::R3 => (fault.kind.http_status(), JSON, body),
            // Clients of v0.3 lose a JSON error where they asked for a stream (protocol 3.3).
            Dialect::J3 | Dialect::PathRpc if self.streaming && !fault.kind.needs_status() => {
                (200, EVENT_STREAM, frame(None, &body))
            }
            Dialect::PathRpc if !self.enveloped => (fault.kind.http_status(), JSON, body),
            Dialect::J1 | Dialect::J3 | Dialect::PathRpc => (fault.kind.rpc_status(), JSON, body),
            Dialect::G1 => (200, grpc::CONTENT_TYPE, body),
        };
        Wire { status, content_type, body, trailers: self.trailers(Some(fault), own_domain) }
    }

    /// The `event: error` frame that ends a stream which has begun. gRPC has none: there the trailers tell it.
    #[must_use]
    pub fn fault_event(&self, fault: &Fault, own_domain: &str) -> Vec<u8> {
        match self.dialect {
            Dialect::G1 => Vec::new(),
            Dialect::J1 | Dialect::R1 | Dialect::J3 | Dialect::R3 | Dialect::PathRpc => {
                frame(Some("error"), &self.fault_body(fault, own_domain))
            }
        }
    }

    /// What follows the last byte of an answer or stream that went well, or ended with `fault`.
    #[must_use]
    pub fn trailers(&self, fault: Option<&Fault>, own_domain: &str) -> Trailers {
        match self.dialect {
            Dialect::G1 => grpc::trailers(fault, own_domain),
            Dialect::J1 | Dialect::R1 | Dialect::J3 | Dialect::R3 | Dialect::PathRpc => Trailers::new(),
        }
    }

    /// The `Content-Type` of a stream.
    #[must_use]
    pub const fn stream_type(&self) -> &'static str {
        match self.dialect {
            Dialect::G1 => grpc::CONTENT_TYPE,
            Dialect::J1 | Dialect::R1 | Dialect::J3 | Dialect::R3 | Dialect::PathRpc => EVENT_STREAM,
        }
    }

    /// A sign of life on a quiet stream; gRPC leaves that to HTTP/2.
    #[must_use]
    pub const fn ping(&self) -> Option<&'static [u8]> {
        match self.dialect {
            Dialect::G1 => None,
            Dialect::J1 | Dialect::R1 | Dialect::J3 | Dialect::R3 | Dialect::PathRpc => Some(b": ping\n\n"),
        }
    }

    fn fault_body(&self, fault: &Fault, own_domain: &str) -> Vec<u8> {
        match self.dialect {
            Dialect::R1 => status_object(fault, own_domain),
            Dialect::R3 => json::write(&Json::from([
                ("code", Json::from(fault.kind.rpc_code(Version::V03))),
                ("type", fault.kind.error_name().into()),
                ("message", fault.message.as_str().into()),
            ])),
            Dialect::J1 | Dialect::J3 | Dialect::PathRpc => {
                jsonrpc::write_error(&self.rpc_id, fault, self.dialect.version(), own_domain)
            }
            Dialect::G1 => Vec::new(),
        }
    }
}

/// `{"error":{"code":…,"status":…,"message":…,"details":[…]}}` (A2A 1.0 §11.6).
fn status_object(fault: &Fault, own_domain: &str) -> Vec<u8> {
    let mut error = Object::from([
        ("code", Json::from(i64::from(fault.kind.http_status()))),
        ("status", fault.kind.status_name().into()),
        ("message", fault.message.as_str().into()),
    ]);
    let details = fault.details(own_domain);
    if !details.is_empty() {
        error.insert("details", details);
    }
    json::write(&Json::from([("error", error)]))
}

fn frame(name: Option<&str>, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len().saturating_add(32));
    sse::write_event(name, data, &mut out);
    out
}
