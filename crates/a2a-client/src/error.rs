//! What can go wrong with a call, each with what to do about it.
//!
//! Texts hold what the agent wrote only where it is the agent's own error message; control characters of it are taken
//! out. Nothing here holds a credential.

use std::time::Duration;

use a2a::dialect::BadAnswer;
use a2a::sse::SseError;
use a2a::{Fault, FaultKind, OperationKind, Version};
use egress::EgressError;
use http::StatusCode;
use json::{Json, Object};

use crate::credential::{NoCredential, Unsendable};

/// Why a call has no answer, or a stream ended.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The interface's address or the call's ids make no URL. Nothing was sent.
    #[error("the interface's address and the ids of this call make no URL; check the card's url and the ids")]
    BadAddress,
    /// The credential cannot be sent. Nothing was sent.
    #[error(transparent)]
    Credential(#[from] Unsendable),
    /// The answer broke off, or the connection did after the call may have arrived.
    #[error(
        "the connection broke off; whether the call had an effect is unknown: look at the task before repeating it"
    )]
    Cut(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The answer is compressed although that was not asked for.
    #[error("the answer has a content encoding that was not asked for; turn compression off at the agent or its proxy")]
    Encoded,
    /// The agent says no.
    #[error("the agent refuses the call: {0}")]
    Fault(AgentFault),
    /// The caller's own function gave no credential. Nothing was sent.
    #[error("there is no credential for the call")]
    NoCredential(#[source] NoCredential),
    /// There is no randomness for an id. Nothing was sent.
    #[error("the operating system gives no random numbers, so no id can be made")]
    NoRandomness,
    /// The agent was not reached. Nothing was sent.
    #[error("the agent was not reached; check that it runs and that its card's addresses lead to it from here")]
    NotReached(#[source] EgressError),
    /// What came back is no A2A.
    #[error("what came back is no A2A answer; check that the card's url and protocolVersion are the agent's")]
    Protocol(#[from] BadAnswer),
    /// An HTTP status, and no A2A error with it.
    #[error("HTTP status {status} without an A2A error in it; {}", status_hint(*.status))]
    Status {
        /// The status.
        status: StatusCode,
        /// How long the agent wants not to be asked again.
        retry_after: Option<Duration>,
    },
    /// The stream's framing is broken or too large.
    #[error(
        "the stream is cut, malformed or larger than allowed; follow the task with a subscription, or allow larger events"
    )]
    Stream(#[source] SseError),
    /// Nothing came for too long.
    #[error("nothing came for {0:?}; allow more time, or look at the task later")]
    TimedOut(Duration),
    /// The answer is too large.
    #[error("the answer is larger than {0} bytes; ask for less (historyLength, pageSize) or allow more")]
    TooLarge(usize),
    /// The agent does not accept the credential, or wants one.
    #[error("{0}")]
    Unauthorized(Box<Unauthorized>),
    /// The agent's generation does not have this. Nothing was sent.
    #[error("the agent's dialect cannot say this call: {}", .0.message)]
    Unsayable(Fault),
    /// An operation that streams was asked for as one that does not, or the other way round. Nothing was sent.
    #[error("{} {}", .0.name(), if .0.is_streaming() { "is answered by a stream" } else { "is not answered by a stream" })]
    WrongKind(OperationKind),
}

impl CallError {
    /// Whether no byte of the call can have reached the agent, so that another interface may be tried.
    #[must_use]
    pub fn nothing_was_sent(&self) -> bool {
        match self {
            Self::BadAddress
            | Self::Credential(_)
            | Self::NoCredential(_)
            | Self::NoRandomness
            | Self::NotReached(_)
            | Self::Unsayable(_)
            | Self::WrongKind(_) => true,
            Self::Cut(_)
            | Self::Encoded
            | Self::Fault(_)
            | Self::Protocol(_)
            | Self::Status { .. }
            | Self::Stream(_)
            | Self::TimedOut(_)
            | Self::TooLarge(_)
            | Self::Unauthorized(_) => false,
        }
    }

    /// The agent's own error, if that is what it is.
    #[must_use]
    pub const fn fault(&self) -> Option<&AgentFault> {
        match self {
            Self::Fault(fault) => Some(fault),
            Self::Unauthorized(refused) => refused.fault.as_ref(),
            Self::BadAddress
            | Self::Credential(_)
            | Self::Cut(_)
            | Self::Encoded
            | Self::NoCredential(_)
            | Self::NoRandomness
            | Self::NotReached(_)
            | Self::Protocol(_)
            | Self::Status { .. }
            | Self::Stream(_)
            | Self::TimedOut(_)
            | Self::TooLarge(_)
            | Self::Unsayable(_)
            | Self::WrongKind(_) => None,
        }
    }

    /// Whether the way to the agent failed, not the agent: a subscription may find the task again.
    pub(crate) const fn is_break(&self) -> bool {
        match self {
            Self::Cut(_) | Self::NotReached(_) | Self::TimedOut(_) | Self::Stream(SseError::Truncated) => true,
            Self::Status { status, .. } => matches!(status.as_u16(), 429 | 502..=504),
            Self::BadAddress
            | Self::Credential(_)
            | Self::Encoded
            | Self::Fault(_)
            | Self::NoCredential(_)
            | Self::NoRandomness
            | Self::Protocol(_)
            | Self::Stream(SseError::EventTooLong { .. } | SseError::InvalidUtf8 | SseError::LineTooLong { .. })
            | Self::TooLarge(_)
            | Self::Unauthorized(_)
            | Self::Unsayable(_)
            | Self::WrongKind(_) => false,
        }
    }

    pub(crate) fn cut(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Cut(Box::new(error))
    }

    /// What the connector said, `head` being how long the answer's head was waited for.
    pub(crate) fn unsent(error: EgressError, head: Duration) -> Self {
        match error {
            EgressError::Timeout => Self::TimedOut(head),
            EgressError::Sent(_) => Self::cut(error),
            EgressError::Connect(_) | EgressError::Denied(_) => Self::NotReached(error),
        }
    }
}

/// An error that the agent answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFault {
    fault: Fault,
    version: Version,
}

impl AgentFault {
    pub(crate) const fn new(fault: Fault, version: Version) -> Self {
        Self { fault, version }
    }

    /// What went wrong, of what A2A knows.
    #[must_use]
    pub const fn kind(&self) -> FaultKind {
        self.fault.kind
    }

    /// Its JSON-RPC code, whatever binding it came over.
    #[must_use]
    pub const fn code(&self) -> i64 {
        if let FaultKind::Agent { code } = self.fault.kind { code } else { self.fault.kind.rpc_code(self.version) }
    }

    /// Its reason (`google.rpc.ErrorInfo`), A2A's or the agent's own.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        let own = || self.details().iter().find_map(|detail| detail.get("reason")?.as_str());
        self.fault.kind.reason().or_else(own)
    }

    /// What the agent says about it, as it was sent. Not for a terminal: see [`Display`](std::fmt::Display).
    #[must_use]
    pub fn message(&self) -> &str {
        &self.fault.message
    }

    /// The facts of its `ErrorInfo`.
    #[must_use]
    pub fn metadata(&self) -> &[(String, String)] {
        &self.fault.metadata
    }

    /// Further details (A2A 1.0: typed objects); in 0.3 see [`data`](Self::data).
    #[must_use]
    pub fn details(&self) -> &[Json] {
        self.fault.data.as_ref().and_then(Json::as_array).unwrap_or_default()
    }

    /// Whatever else came with it.
    #[must_use]
    pub const fn data(&self) -> Option<&Json> {
        self.fault.data.as_ref()
    }
}

impl std::fmt::Display for AgentFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let message: String = self.fault.message.chars().filter(|letter| !letter.is_control()).collect();
        write!(f, "{message} ({}", self.code())?;
        if let Some(reason) = self.reason() {
            write!(f, ", {}", reason.chars().filter(|letter| !letter.is_control()).collect::<String>())?;
        }
        f.write_str(")")?;
        fault_hint(self.fault.kind).map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

/// The agent wants another credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unauthorized {
    /// 401: who calls is unknown; 403: may not do this. gRPC has statuses of its own.
    pub status: Option<StatusCode>,
    /// `WWW-Authenticate`.
    pub challenge: Option<String>,
    /// The A2A error that came with it.
    pub fault: Option<AgentFault>,
}

impl std::fmt::Display for Unauthorized {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.status {
            Some(StatusCode::FORBIDDEN) => "the agent does not allow this to the credential's owner",
            Some(_) | None => "the agent does not accept the credential, or wants one",
        })?;
        if let Some(fault) = &self.fault {
            write!(f, ": {fault}")?;
        }
        if let Some(challenge) = &self.challenge {
            write!(f, "; it asks for {challenge:?}")?;
        }
        f.write_str("; the card's securitySchemes say which credentials it takes")
    }
}

fn fault_hint(kind: FaultKind) -> Option<&'static str> {
    const HINTS: [(FaultKind, &str); 9] = [
        (FaultKind::TaskNotFound, "it may have expired, or belong to another caller"),
        (FaultKind::TaskNotCancelable, "read the task: it is over, or on its way there"),
        (FaultKind::PushNotSupported, "follow the task with a stream, or read it from time to time"),
        (FaultKind::ExtensionRequired, "see the card's capabilities.extensions for what to activate"),
        (FaultKind::ContentTypeNotSupported, "see the card's defaultInputModes and its skills' inputModes"),
        (FaultKind::VersionNotSupported, "call another of the card's interfaces"),
        (FaultKind::ExtendedCardNotConfigured, "the public card is all there is"),
        (FaultKind::MethodNotFound, "the agent may speak another version of A2A than its card says"),
        (FaultKind::Internal, "the agent failed; its operator's log knows more"),
    ];
    HINTS.iter().find(|(of, _)| *of == kind).map(|(_, hint)| *hint)
}

fn status_hint(status: StatusCode) -> &'static str {
    match status.as_u16() {
        300..=399 => "redirects are not followed: call the new address yourself, if you trust it",
        404 | 405 => "nothing is served at the card's url, or not this operation",
        429 => "call less often",
        502..=504 => "the agent, or what it depends on, is down: try later",
        _ => "something in front of the agent may have answered",
    }
}

/// The seconds of a `Retry-After`; dates are not read.
pub(crate) fn retry_after(headers: &http::HeaderMap) -> Option<Duration> {
    let value = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?;
    value.trim().parse().ok().map(Duration::from_secs)
}

/// The shape that an answer lacks.
pub(crate) fn shapeless(member: &'static str) -> CallError {
    CallError::Protocol(BadAnswer::Shape { member, problem: "is missing" })
}

/// The tree of an answer.
pub(crate) fn object(body: Json) -> Result<Object, CallError> {
    match body {
        Json::Object(object) => Ok(object),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(CallError::Protocol(BadAnswer::Shape { member: "result", problem: "is not an object" }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_error_says_its_code_its_reason_and_what_to_do() {
        let fault = AgentFault::new(Fault::new(FaultKind::TaskNotFound, "no\u{1b}[31m task"), Version::V10);
        let expected = "no[31m task (-32001, TASK_NOT_FOUND); it may have expired, or belong to another caller";
        assert_eq!(fault.to_string(), expected);
        let mut own = Fault::new(FaultKind::Agent { code: -32042 }, "blocked");
        own.data = Some(vec![Json::from([("reason", "GUARDRAIL_BLOCKED")])].into());
        let own = AgentFault::new(own, Version::V10);
        assert_eq!(own.to_string(), "blocked (-32042, GUARDRAIL_BLOCKED)");
        assert_eq!((own.code(), own.details().len()), (-32042, 1));
    }

    #[test]
    fn only_calls_that_never_left_may_go_elsewhere() {
        assert!(CallError::Unsayable(Fault::of(FaultKind::UnsupportedOperation)).nothing_was_sent());
        for sent in [CallError::TimedOut(Duration::ZERO), CallError::Encoded, CallError::TooLarge(1)] {
            assert!(!sent.nothing_was_sent(), "{sent}");
        }
    }
}
