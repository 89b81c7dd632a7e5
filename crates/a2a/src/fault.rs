//! Errors of the protocol, and the one table that says how each looks on every wire (A2A 1.0 §5.4, protocol 3.1, 3.4).
//!
//! Takes and gives values only. Nothing outside this file knows a code, a status or a reason. Public texts come from
//! whoever makes the [`Fault`]; this file never adds anything of an inner error.

use json::{Json, Object};

use crate::Version;

/// The domain of reasons that A2A defines.
pub const A2A_DOMAIN: &str = "a2a-protocol.org";

/// The `@type` of the detail that names the reason.
pub(crate) const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";

/// The longest text of an agent's error that is passed on, in bytes.
const LONGEST_TEXT: usize = 1024;

/// The most facts of one detail of an agent's error that are passed on.
const MOST_FACTS: usize = 32;

/// What went wrong, without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// No such task, or not the caller's.
    TaskNotFound,
    /// The task is past cancelling.
    TaskNotCancelable,
    /// No push notifications here.
    PushNotSupported,
    /// The operation exists, but not here.
    UnsupportedOperation,
    /// A media type inside a message is not accepted.
    ContentTypeNotSupported,
    /// The agent answered something that is no A2A answer.
    InvalidAgentResponse,
    /// There is no extended card.
    ExtendedCardNotConfigured,
    /// An extension is required.
    ExtensionRequired,
    /// The A2A version is not spoken here.
    VersionNotSupported,
    /// Not JSON.
    Parse,
    /// JSON, but no request.
    InvalidRequest,
    /// No such method.
    MethodNotFound,
    /// The parameters are wrong.
    InvalidParams,
    /// Our fault.
    Internal,
    /// No such tenant or card, or not visible to the caller.
    AgentNotFound,
    /// No or bad credential.
    Unauthenticated,
    /// Authenticated, not allowed.
    PermissionDenied,
    /// A guardrail said no.
    GuardrailBlocked,
    /// Too many calls.
    RateLimited,
    /// The agent cannot be reached, or its stream broke.
    UpstreamUnavailable,
    /// The agent took too long.
    UpstreamTimeout,
    /// The agent refused the gateway's own credential.
    UpstreamAuthFailed,
    /// Nothing can be taken on now.
    Overloaded,
    /// An external guard is down and the policy fails closed.
    GuardUnavailable,
    /// A delegation chain does not hold.
    DelegationInvalid,
    /// The body is larger than allowed.
    PayloadTooLarge,
    /// The `Content-Type` header of the request is not one we read.
    ContentTypeHeader,
    /// The request came with a `Content-Encoding`.
    ContentEncoding,
    /// A known path, called with the wrong verb.
    MethodNotAllowed,
    /// No such path below a card.
    PathNotFound,
    /// Two credentials, or two values of a header that has one: the HTTP request itself is ambiguous.
    AmbiguousRequest,
    /// An error code of the agent's own.
    Agent {
        /// The JSON-RPC code it sent.
        code: i64,
    },
}

/// An error on its way to a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// The public text.
    pub message: String,
    /// Facts for programs (`google.rpc.ErrorInfo.metadata`).
    pub metadata: Vec<(String, String)>,
    /// What else the agent sent: v1.0 an array of typed details (without the `ErrorInfo` that `kind` stands for),
    /// v0.3 anything.
    pub data: Option<Json>,
}

/// One row of the table.
struct Row {
    /// JSON-RPC code.
    code: i64,
    /// HTTP status on the JSON-RPC bindings.
    rpc_status: u16,
    /// HTTP status on HTTP+JSON.
    http_status: u16,
    /// `google.rpc.Code` name.
    status_name: &'static str,
    /// `ErrorInfo.reason`.
    reason: &'static str,
    /// Whose reason it is.
    owner: Owner,
    /// The public text when nobody wrote a better one.
    text: &'static str,
}

/// Who defines a reason.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    A2a,
    Own,
}

impl FaultKind {
    /// Every kind but [`FaultKind::Agent`].
    pub const ALL: [Self; 31] = [
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedCardNotConfigured,
        Self::ExtensionRequired,
        Self::VersionNotSupported,
        Self::InvalidRequest,
        Self::Parse,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::Internal,
        Self::AgentNotFound,
        Self::Unauthenticated,
        Self::PermissionDenied,
        Self::GuardrailBlocked,
        Self::RateLimited,
        Self::UpstreamUnavailable,
        Self::UpstreamTimeout,
        Self::UpstreamAuthFailed,
        Self::Overloaded,
        Self::GuardUnavailable,
        Self::DelegationInvalid,
        Self::PayloadTooLarge,
        Self::ContentTypeHeader,
        Self::ContentEncoding,
        Self::MethodNotAllowed,
        Self::PathNotFound,
        Self::AmbiguousRequest,
    ];

    /// The JSON-RPC code in `version`.
    #[must_use]
    pub const fn rpc_code(self, version: Version) -> i64 {
        match (self, version) {
            // v0.3 does not know them (protocol 3.1).
            (Self::ExtensionRequired | Self::VersionNotSupported, Version::V03) => -32603,
            _ => self.row().code,
        }
    }

    /// The HTTP status on the JSON-RPC bindings.
    #[must_use]
    pub const fn rpc_status(self) -> u16 {
        self.row().rpc_status
    }

    /// The HTTP status on HTTP+JSON.
    #[must_use]
    pub const fn http_status(self) -> u16 {
        self.row().http_status
    }

    /// The `google.rpc.Code` name.
    #[must_use]
    pub const fn status_name(self) -> &'static str {
        self.row().status_name
    }

    /// The `google.rpc.Code` name over gRPC, which has codes of its own for what HTTP has statuses for.
    #[must_use]
    pub const fn grpc_status_name(self) -> &'static str {
        if matches!(self, Self::PayloadTooLarge) {
            "RESOURCE_EXHAUSTED"
        } else if matches!(self, Self::PathNotFound | Self::ContentEncoding) {
            "UNIMPLEMENTED"
        } else {
            self.status_name()
        }
    }

    /// The `ErrorInfo.reason`; an agent's own code has none.
    #[must_use]
    pub const fn reason(self) -> Option<&'static str> {
        if matches!(self, Self::Agent { .. }) { None } else { Some(self.row().reason) }
    }

    /// The `ErrorInfo.domain`: A2A's, or `own` for reasons that A2A does not define.
    #[must_use]
    pub const fn domain(self, own: &str) -> &str {
        match self.row().owner {
            Owner::A2a => A2A_DOMAIN,
            Owner::Own => own,
        }
    }

    /// The public text when nobody wrote a better one.
    #[must_use]
    pub const fn text(self) -> &'static str {
        self.row().text
    }

    /// Whether middleboxes and retry logic need the real HTTP status, also where an answer stream was asked for.
    #[must_use]
    pub const fn needs_status(self) -> bool {
        self.row().rpc_status != 200
    }

    /// What an agent's JSON-RPC code means; codes that are the agent's own stay so.
    #[must_use]
    pub fn from_agent_code(code: i64) -> Self {
        let known = (-32009..=-32001).contains(&code) || [-32700, -32600, -32601, -32602, -32603].contains(&code);
        let kind = Self::ALL.into_iter().find(|kind| known && kind.row().code == code);
        kind.unwrap_or(Self::Agent { code })
    }

    /// What an agent's `ErrorInfo.reason` of the A2A domain means.
    #[must_use]
    pub fn from_a2a_reason(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.row().owner == Owner::A2a && kind.row().reason == reason)
    }

    /// The error's name, as HTTP+JSON of 0.3 tells it: the reason in camel case.
    pub(crate) fn error_name(self) -> String {
        if self == Self::Parse {
            return "JSONParseError".to_owned();
        }
        let reason = self.row().reason;
        let mut name = String::with_capacity(reason.len().saturating_add(5));
        for word in reason.strip_suffix("_ERROR").unwrap_or(reason).split('_') {
            name.extend(word.chars().take(1));
            name.extend(word.chars().skip(1).map(|letter| letter.to_ascii_lowercase()));
        }
        name.push_str("Error");
        name
    }

    /// What an agent's error name means, if A2A defines it.
    pub(crate) fn from_error_name(name: &str) -> Option<Self> {
        if name == "AuthenticatedExtendedCardNotConfiguredError" {
            return Some(Self::ExtendedCardNotConfigured);
        }
        Self::ALL.into_iter().find(|kind| kind.row().owner == Owner::A2a && kind.error_name() == name)
    }

    #[rustfmt::skip]
    const fn row(self) -> Row {
        use Owner::{A2a, Own};
        const fn row(code: i64, rpc_status: u16, http: (u16, &'static str), reason: (Owner, &'static str), text: &'static str) -> Row {
            Row { code, rpc_status, http_status: http.0, status_name: http.1, reason: reason.1, owner: reason.0, text }
        }
        const BAD: (u16, &str) = (400, "INVALID_ARGUMENT");
        const STATE: (u16, &str) = (400, "FAILED_PRECONDITION");
        match self {
            Self::TaskNotFound => row(-32001, 200, (404, "NOT_FOUND"), (A2a, "TASK_NOT_FOUND"), "task not found"),
            Self::TaskNotCancelable => row(-32002, 200, STATE, (A2a, "TASK_NOT_CANCELABLE"), "the task cannot be cancelled any more"),
            Self::PushNotSupported => row(-32003, 200, STATE, (A2a, "PUSH_NOTIFICATION_NOT_SUPPORTED"), "push notifications are not supported"),
            Self::UnsupportedOperation => row(-32004, 200, STATE, (A2a, "UNSUPPORTED_OPERATION"), "this operation is not supported"),
            Self::ContentTypeNotSupported => row(-32005, 200, BAD, (A2a, "CONTENT_TYPE_NOT_SUPPORTED"), "this media type is not supported"),
            Self::InvalidAgentResponse => row(-32006, 200, (500, "INTERNAL"), (A2a, "INVALID_AGENT_RESPONSE"), "the agent's answer is not valid"),
            Self::ExtendedCardNotConfigured => row(-32007, 200, STATE, (A2a, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"), "there is no extended agent card"),
            Self::ExtensionRequired => row(-32008, 200, STATE, (A2a, "EXTENSION_SUPPORT_REQUIRED"), "an extension is required"),
            Self::VersionNotSupported => row(-32009, 200, STATE, (A2a, "VERSION_NOT_SUPPORTED"), "this A2A version is not supported"),
            Self::Parse => row(-32700, 200, BAD, (A2a, "INVALID_REQUEST"), "the body is not valid JSON"),
            Self::InvalidRequest => row(-32600, 200, BAD, (A2a, "INVALID_REQUEST"), "not a valid request"),
            Self::MethodNotFound => row(-32601, 200, (404, "NOT_FOUND"), (A2a, "METHOD_NOT_FOUND"), "no such method"),
            Self::InvalidParams => row(-32602, 200, BAD, (A2a, "INVALID_PARAMS"), "the parameters are not valid"),
            Self::Internal => row(-32603, 200, (500, "INTERNAL"), (A2a, "INTERNAL_ERROR"), "internal error"),
            Self::AgentNotFound => row(-32046, 404, (404, "NOT_FOUND"), (Own, "AGENT_NOT_FOUND"), "agent not found"),
            Self::Unauthenticated => row(-32040, 401, (401, "UNAUTHENTICATED"), (Own, "UNAUTHENTICATED"), "a valid credential is required"),
            Self::PermissionDenied => row(-32041, 403, (403, "PERMISSION_DENIED"), (Own, "PERMISSION_DENIED"), "not allowed"),
            Self::GuardrailBlocked => row(-32042, 200, (403, "PERMISSION_DENIED"), (Own, "GUARDRAIL_BLOCKED"), "blocked by a guardrail"),
            Self::RateLimited => row(-32043, 429, (429, "RESOURCE_EXHAUSTED"), (Own, "RATE_LIMITED"), "too many requests"),
            Self::UpstreamUnavailable => row(-32044, 200, (502, "UNAVAILABLE"), (Own, "UPSTREAM_UNAVAILABLE"), "the agent cannot be reached"),
            Self::UpstreamTimeout => row(-32045, 200, (504, "DEADLINE_EXCEEDED"), (Own, "UPSTREAM_TIMEOUT"), "the agent did not answer in time; the task may still run"),
            Self::UpstreamAuthFailed => row(-32044, 200, (502, "UNAVAILABLE"), (Own, "UPSTREAM_AUTH_FAILED"), "the agent refused the gateway's credential"),
            Self::Overloaded => row(-32047, 503, (503, "UNAVAILABLE"), (Own, "OVERLOADED"), "overloaded, try again later"),
            Self::GuardUnavailable => row(-32048, 503, (503, "UNAVAILABLE"), (Own, "GUARD_UNAVAILABLE"), "a guardrail cannot be reached"),
            Self::DelegationInvalid => row(-32049, 403, (403, "PERMISSION_DENIED"), (Own, "DELEGATION_INVALID"), "the delegation chain is not valid"),
            Self::PayloadTooLarge => row(-32600, 413, (413, "INVALID_ARGUMENT"), (Own, "PAYLOAD_TOO_LARGE"), "the body is too large"),
            Self::ContentTypeHeader => row(-32005, 415, (415, "INVALID_ARGUMENT"), (A2a, "CONTENT_TYPE_NOT_SUPPORTED"), "send the body as application/json or application/a2a+json"),
            Self::ContentEncoding => row(-32600, 415, (415, "INVALID_ARGUMENT"), (Own, "CONTENT_ENCODING_NOT_SUPPORTED"), "send the body without a Content-Encoding"),
            Self::MethodNotAllowed => row(-32600, 405, (405, "UNIMPLEMENTED"), (Own, "METHOD_NOT_ALLOWED"), "this path takes another verb"),
            Self::PathNotFound => row(-32601, 404, (404, "NOT_FOUND"), (A2a, "METHOD_NOT_FOUND"), "no such path below this agent"),
            Self::AmbiguousRequest => row(-32600, 400, BAD, (A2a, "INVALID_REQUEST"), "the request is ambiguous"),
            Self::Agent { code } => row(code, 200, (500, "INTERNAL"), (Own, "AGENT_ERROR"), "the agent reported an error"),
        }
    }
}

impl Fault {
    /// A fault with the table's own text.
    #[must_use]
    pub fn of(kind: FaultKind) -> Self {
        Self::new(kind, kind.text())
    }

    /// A fault with a text of its own.
    #[must_use]
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), metadata: Vec::new(), data: None }
    }

    /// The same with one more fact.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.push((key.into(), value.into()));
        self
    }

    /// [`FaultKind::InvalidParams`] with a text.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(FaultKind::InvalidParams, message)
    }
}

impl Fault {
    /// An agent's own error; its text is kept short.
    pub(crate) fn from_agent(kind: FaultKind, message: Option<&str>) -> Self {
        let message = message.filter(|text| !text.is_empty()).unwrap_or_else(|| kind.text());
        let mut end = message.len().min(LONGEST_TEXT);
        while !message.is_char_boundary(end) {
            end = end.saturating_sub(1);
        }
        Self::new(kind, message.get(..end).unwrap_or_default())
    }

    /// The typed details: the reason, then what the agent sent besides.
    pub(crate) fn details(&self, own_domain: &str) -> Vec<Json> {
        let mut details = Vec::new();
        if let Some(reason) = self.kind.reason() {
            let mut info = Object::from([
                ("@type", Json::from(ERROR_INFO)),
                ("reason", reason.into()),
                ("domain", self.kind.domain(own_domain).into()),
            ]);
            if !self.metadata.is_empty() {
                let facts = self.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str()));
                info.insert("metadata", facts.collect::<Object>());
            }
            details.push(info.into());
        }
        let more = self.data.as_ref().and_then(Json::as_array).unwrap_or_default();
        details.extend(more.iter().filter(|detail| detail.get("@type").is_some()).cloned());
        details
    }

    /// Takes over an agent's typed details. An A2A reason names the kind, whatever the code or status said.
    pub(crate) fn take_details(&mut self, details: &[Json]) {
        let mut rest = Vec::new();
        for detail in details {
            let is_info = detail.get("@type").and_then(Json::as_str) == Some(ERROR_INFO);
            let reason = detail.get("reason").and_then(Json::as_str).filter(|_| is_info);
            let ours = detail.get("domain").and_then(Json::as_str) == Some(A2A_DOMAIN);
            match reason.filter(|_| ours).and_then(FaultKind::from_a2a_reason) {
                Some(kind) => {
                    self.kind = if self.kind.reason() == kind.reason() { self.kind } else { kind };
                    let facts = detail.get("metadata").and_then(Json::as_object);
                    let facts = facts.into_iter().flat_map(Object::iter).take(MOST_FACTS);
                    self.metadata.extend(
                        facts.filter_map(|(key, value)| value.as_str().map(|value| (key.to_owned(), value.to_owned()))),
                    );
                }
                None => rest.push(detail.clone()),
            }
        }
        if !rest.is_empty() {
            self.data = Some(Json::Array(rest));
        }
    }
}

impl From<FaultKind> for Fault {
    fn from(kind: FaultKind) -> Self {
        Self::of(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F06
    #[test]
    fn the_table_is_the_one_of_the_specification() {
        use FaultKind as Kind;
        const STATE: &str = "FAILED_PRECONDITION";
        // A2A 1.0 §5.4 and protocol 3.1: code, HTTP status, google.rpc name, reason, code in v0.3.
        let rows = [
            (Kind::TaskNotFound, -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND", -32001),
            (Kind::TaskNotCancelable, -32002, 400, STATE, "TASK_NOT_CANCELABLE", -32002),
            (Kind::PushNotSupported, -32003, 400, STATE, "PUSH_NOTIFICATION_NOT_SUPPORTED", -32003),
            (Kind::UnsupportedOperation, -32004, 400, STATE, "UNSUPPORTED_OPERATION", -32004),
            (Kind::ContentTypeNotSupported, -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", -32005),
            (Kind::InvalidAgentResponse, -32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE", -32006),
            (Kind::ExtendedCardNotConfigured, -32007, 400, STATE, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007),
            (Kind::ExtensionRequired, -32008, 400, STATE, "EXTENSION_SUPPORT_REQUIRED", -32603),
            (Kind::VersionNotSupported, -32009, 400, STATE, "VERSION_NOT_SUPPORTED", -32603),
        ];
        for (kind, code, status, name, reason, v03) in rows {
            assert_eq!((kind.rpc_code(Version::V10), kind.rpc_code(Version::V03)), (code, v03));
            assert_eq!((kind.http_status(), kind.status_name(), kind.reason()), (status, name, Some(reason)));
            assert_eq!((kind.rpc_status(), kind.domain("gw.test")), (200, A2A_DOMAIN));
            assert_eq!(FaultKind::from_agent_code(code), kind);
            assert_eq!(FaultKind::from_a2a_reason(reason), Some(kind));
        }
    }

    #[test]
    fn every_kind_is_listed_once_and_keeps_out_of_the_reserved_codes() {
        for (index, kind) in FaultKind::ALL.into_iter().enumerate() {
            assert!(!FaultKind::ALL.iter().skip(index + 1).any(|other| *other == kind), "{kind:?} is there twice");
            let code = kind.rpc_code(Version::V10);
            let own = kind.domain("gw.test") == "gw.test";
            assert!(!own || (-32049..=-32040).contains(&code) || code == -32600, "{kind:?} takes {code}");
        }
    }

    #[test]
    fn errors_have_the_names_of_the_sdks() {
        let rows = [
            (FaultKind::TaskNotFound, "TaskNotFoundError"),
            (FaultKind::ExtendedCardNotConfigured, "ExtendedAgentCardNotConfiguredError"),
            (FaultKind::Internal, "InternalError"),
            (FaultKind::InvalidParams, "InvalidParamsError"),
            (FaultKind::Parse, "JSONParseError"),
        ];
        for (kind, name) in rows {
            assert_eq!((kind.error_name().as_str(), FaultKind::from_error_name(name)), (name, Some(kind)));
        }
        assert_eq!(FaultKind::RateLimited.error_name(), "RateLimitedError");
        assert_eq!(FaultKind::from_error_name("RateLimitedError"), None);
    }

    #[test]
    fn an_agent_cannot_speak_for_the_gateway() {
        assert_eq!(FaultKind::from_agent_code(-32040), FaultKind::Agent { code: -32040 });
        assert_eq!(FaultKind::from_a2a_reason("UNAUTHENTICATED"), None);
    }

    #[test]
    fn texts_of_agents_are_cut_between_characters() {
        let fault = Fault::from_agent(FaultKind::Internal, Some(&"é€".repeat(2000)));
        assert!(fault.message.len() <= LONGEST_TEXT && fault.message.len() > LONGEST_TEXT - 4);
        assert_eq!(Fault::from_agent(FaultKind::Internal, Some("")).message, "internal error");
    }
}
