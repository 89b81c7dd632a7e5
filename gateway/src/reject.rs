//! Our own refusals, and the one table to wire faults, records and metrics.
//!
//! One variant per stage of the pipeline, wrapping that stage's error. This file alone answers what the caller is told
//! ([`Reject::fault`]), whose doing it was ([`Reject::blame`]), how it is recorded and when to try again. Public text
//! is written here, never derived from an inner error.

use crate::audit::{AuditFull, AuditLost, Outcome};
use crate::pipeline::authenticate::AuthenticateError;
use crate::pipeline::authorize::AuthorizeError;
use crate::pipeline::decode::DecodeError;
use crate::pipeline::delegation::DelegationError;
use crate::pipeline::event::EventError;
use crate::pipeline::forward::ForwardError;
use crate::pipeline::guard::GuardError;
use crate::pipeline::head::HeadError;
use crate::pipeline::legacy::BadBody;
use crate::pipeline::limit::LimitError;
use crate::pipeline::owner::OwnerError;
use crate::pipeline::route::RouteError;
use crate::upstream::credential::CredentialError;
use a2a::dialect::{BadAnswer, TargetError};
use a2a::{Fault, FaultKind};
use std::time::Duration;

/// Why we refuse.
#[derive(Debug, thiserror::Error)]
pub enum Reject {
    /// No record can be written, so nothing is served.
    #[error("the audit cannot take a record")]
    Audit,
    /// Nobody was proven.
    #[error(transparent)]
    Authenticate {
        /// Why.
        error: AuthenticateError,
    },
    /// No permit, or not for this operation.
    #[error(transparent)]
    Authorize(#[from] AuthorizeError),
    /// The body is no call.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A delegation chain that does not hold.
    #[error(transparent)]
    Delegation(#[from] DelegationError),
    /// The process is stopping.
    #[error("the process is stopping")]
    Draining,
    /// No reply from the agent.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// A guardrail.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// Our own mistake.
    #[error("internal error")]
    Internal,
    /// A body that is no call of the legacy wire.
    #[error(transparent)]
    Legacy(#[from] BadBody),
    /// Too much at once.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// Ids that are not the caller's.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// The request addresses nothing.
    #[error(transparent)]
    Route(#[from] RouteError),
}

/// Whose doing a refusal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blame {
    /// The caller's.
    Caller,
    /// This gateway's.
    Gateway,
    /// A policy's.
    Policy,
    /// The agent's.
    Upstream,
}

impl Blame {
    /// As a metric label.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Gateway => "gateway",
            Self::Policy => "policy",
            Self::Upstream => "upstream",
        }
    }
}

impl Reject {
    /// What the caller is told.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Audit => Fault::of(FaultKind::Overloaded),
            Self::Authenticate { error } => authenticate_fault(*error),
            Self::Authorize(error) => authorize_fault(*error),
            Self::Decode(error) => decode_fault(error),
            Self::Delegation(error) => delegation_fault(*error),
            Self::Draining => Fault::new(FaultKind::Overloaded, "the gateway is stopping, try again"),
            Self::Forward(error) => forward_fault(error),
            Self::Guard(error) => guard_fault(error),
            Self::Internal => Fault::of(FaultKind::Internal),
            Self::Legacy(error) => legacy_fault(error),
            Self::Limit(error) => limit_fault(*error),
            Self::Owner(error) => owner_fault(*error),
            Self::Route(error) => route_fault(*error),
        }
    }

    /// Whose doing it is.
    #[must_use]
    pub fn blame(&self) -> Blame {
        match self {
            Self::Audit | Self::Draining | Self::Internal => Blame::Gateway,
            Self::Authenticate { .. } | Self::Authorize(_) | Self::Delegation(_) | Self::Legacy(_) | Self::Route(_) => {
                Blame::Caller
            }
            Self::Decode(DecodeError::Limit(error)) | Self::Limit(error) => limit_blame(*error),
            Self::Decode(_) => Blame::Caller,
            Self::Forward(ForwardError::Limit(error)) => limit_blame(*error),
            Self::Forward(ForwardError::Unsupported(_)) => Blame::Caller,
            Self::Forward(_) => Blame::Upstream,
            Self::Guard(_) => Blame::Policy,
            Self::Owner(OwnerError::AnotherOwner | OwnerError::TooManyPages) => Blame::Upstream,
            Self::Owner(OwnerError::Unavailable) => Blame::Gateway,
            Self::Owner(
                OwnerError::BadId | OwnerError::BadPageToken | OwnerError::ForeignContext | OwnerError::TaskNotFound,
            ) => Blame::Caller,
        }
    }

    /// How it is recorded.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Guard(GuardError::Blocked { .. }) => Outcome::Blocked,
            Self::Guard(GuardError::Failed { .. } | GuardError::Unavailable { .. }) => Outcome::CouldNotScan,
            Self::Draining => Outcome::Draining,
            Self::Audit
            | Self::Authenticate { .. }
            | Self::Authorize(_)
            | Self::Decode(_)
            | Self::Delegation(_)
            | Self::Forward(_)
            | Self::Internal
            | Self::Legacy(_)
            | Self::Limit(_)
            | Self::Owner(_)
            | Self::Route(_) => match self.blame() {
                Blame::Upstream => Outcome::UpstreamError,
                Blame::Caller | Blame::Gateway | Blame::Policy => Outcome::Refused,
            },
        }
    }

    /// When to try again, where that helps.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        const SOON: Duration = Duration::from_secs(1);
        match self {
            Self::Audit | Self::Draining | Self::Owner(OwnerError::Unavailable) => Some(SOON),
            Self::Limit(error)
            | Self::Decode(DecodeError::Limit(error))
            | Self::Forward(ForwardError::Limit(error)) => Some(match error {
                LimitError::QuotaSpent { retry_after } | LimitError::RateLimited { retry_after } => *retry_after,
                LimitError::NoRoom | LimitError::OverShare | LimitError::TooManyInFlight => SOON,
            }),
            Self::Authenticate { error: AuthenticateError::Throttled { retry_after } } => Some(*retry_after),
            Self::Authenticate { .. }
            | Self::Authorize(_)
            | Self::Decode(_)
            | Self::Delegation(_)
            | Self::Forward(_)
            | Self::Guard(_)
            | Self::Internal
            | Self::Legacy(_)
            | Self::Owner(_)
            | Self::Route(_) => None,
        }
    }

    /// The verbs that the path takes, where the verb was wrong.
    #[must_use]
    pub fn allow(&self) -> Option<&'static str> {
        if let Self::Decode(DecodeError::Unaddressed(TargetError::MethodNotAllowed { allow })) = self {
            return Some(allow);
        }
        None
    }

    /// Whether the connection cannot be used again, because a body on it was not read to its end.
    #[must_use]
    pub fn closes_connection(&self) -> bool {
        matches!(
            self,
            Self::Decode(DecodeError::TooLarge { .. } | DecodeError::TooSlow | DecodeError::Incomplete)
                | Self::Decode(DecodeError::Limit(_))
        )
    }

    /// What only the record says about it.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Delegation(DelegationError::Bad(bad)) => Some(bad.name()),
            Self::Delegation(DelegationError::Incomplete) => Some("incomplete"),
            Self::Forward(ForwardError::Credential(CredentialError::InTask(_))) => Some("in_task_authorisation"),
            Self::Authorize(AuthorizeError::Condition { .. }) => Some("condition"),
            Self::Audit
            | Self::Authenticate { .. }
            | Self::Authorize(AuthorizeError::Forbidden { .. } | AuthorizeError::Hidden)
            | Self::Decode(_)
            | Self::Draining
            | Self::Forward(_)
            | Self::Guard(_)
            | Self::Internal
            | Self::Legacy(_)
            | Self::Limit(_)
            | Self::Owner(_)
            | Self::Route(_) => None,
        }
    }

    /// One word for counters.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Route(RouteError::Path(_)) => "bad_path",
            Self::Route(RouteError::Head(_) | RouteError::Said(_)) => "bad_head",
            Self::Route(RouteError::Elsewhere) => "not_found",
            Self::Authenticate { error: AuthenticateError::MissingCredential } => "missing_credential",
            Self::Authenticate { error: AuthenticateError::BadCredential } => "bad_credential",
            Self::Authenticate { error: AuthenticateError::Throttled { .. } } => "throttled",
            Self::Authenticate { error: AuthenticateError::TwoCredentials } => "two_credentials",
            Self::Audit => "audit",
            Self::Authorize(AuthorizeError::Hidden) => "hidden",
            Self::Authorize(AuthorizeError::Condition { .. }) => "condition",
            Self::Authorize(AuthorizeError::Forbidden { .. }) => "forbidden",
            Self::Decode(_) => "decode",
            Self::Delegation(_) => "delegation",
            Self::Draining => "draining",
            Self::Forward(_) => "forward",
            Self::Guard(_) => "guard",
            Self::Internal => "internal",
            Self::Legacy(_) => "legacy",
            Self::Limit(_) => "limit",
            Self::Owner(_) => "owner",
        }
    }
}

impl From<AuthenticateError> for Reject {
    fn from(error: AuthenticateError) -> Self {
        Self::Authenticate { error }
    }
}

impl From<AuditFull> for Reject {
    fn from(_: AuditFull) -> Self {
        Self::Audit
    }
}

impl From<AuditLost> for Reject {
    fn from(_: AuditLost) -> Self {
        Self::Audit
    }
}

impl From<HeadError> for Reject {
    fn from(error: HeadError) -> Self {
        Self::Route(error.into())
    }
}

impl From<EventError> for Reject {
    fn from(error: EventError) -> Self {
        match error {
            EventError::Guard(error) => Self::Guard(error),
            EventError::Owner(error) => Self::Owner(error),
        }
    }
}

fn route_fault(error: RouteError) -> Fault {
    match error {
        RouteError::Head(HeadError::ContentEncoding) => Fault::of(FaultKind::ContentEncoding),
        RouteError::Head(HeadError::Framing) => Fault::new(
            FaultKind::AmbiguousRequest,
            "the request needs one Host, and no transfer coding besides one chunked",
        ),
        RouteError::Head(HeadError::RepeatedHeader) => {
            Fault::new(FaultKind::AmbiguousRequest, "a header that must be single occurs twice")
        }
        RouteError::Said(_) => Fault::new(
            FaultKind::AmbiguousRequest,
            "a header that describes the run is too long, not printable, or there twice",
        ),
        RouteError::Path(_) => Fault::new(FaultKind::AmbiguousRequest, "the path is ambiguous"),
        RouteError::Elsewhere => Fault::of(FaultKind::AgentNotFound),
    }
}

fn authenticate_fault(error: AuthenticateError) -> Fault {
    match error {
        AuthenticateError::BadCredential | AuthenticateError::MissingCredential => {
            Fault::of(FaultKind::Unauthenticated)
        }
        AuthenticateError::Throttled { .. } => {
            Fault::new(FaultKind::RateLimited, "too many requests with credentials that are not valid here")
        }
        AuthenticateError::TwoCredentials => Fault::new(
            FaultKind::AmbiguousRequest,
            "send one credential: Authorization, X-API-Key or a client certificate, not two of them",
        ),
    }
}

fn authorize_fault(error: AuthorizeError) -> Fault {
    match error {
        // Told alike: what a tenant's conditions are is not the caller's to find out.
        AuthorizeError::Condition { operation } | AuthorizeError::Forbidden { operation } => {
            Fault::new(FaultKind::PermissionDenied, format!("the operation {} is not granted", operation.name()))
        }
        AuthorizeError::Hidden => Fault::of(FaultKind::AgentNotFound),
    }
}

fn delegation_fault(error: DelegationError) -> Fault {
    match error {
        DelegationError::Bad(_) => Fault::of(FaultKind::DelegationInvalid),
        DelegationError::Incomplete => Fault::new(
            FaultKind::AmbiguousRequest,
            "send every delegation header as it came, each once, or none of them",
        ),
    }
}

fn legacy_fault(error: &BadBody) -> Fault {
    match error {
        BadBody::NotAnObject => Fault::of(FaultKind::Parse),
        BadBody::Member { member, problem } => Fault::invalid_params(format!("{member}: {problem}")),
        BadBody::UnknownSkill { known } if known.is_empty() => {
            Fault::invalid_params("capability: the card has no skills")
        }
        BadBody::UnknownSkill { known } => {
            Fault::invalid_params(format!("capability: must be one of {}", known.join(", ")))
        }
    }
}

fn limit_fault(error: LimitError) -> Fault {
    match error {
        LimitError::NoRoom => Fault::of(FaultKind::Overloaded),
        LimitError::OverShare => {
            Fault::new(FaultKind::RateLimited, "the gateway is busy and this tenant has its share of it")
        }
        LimitError::QuotaSpent { .. } => Fault::new(FaultKind::RateLimited, "the quota of calls is used up"),
        LimitError::RateLimited { .. } => Fault::of(FaultKind::RateLimited),
        LimitError::TooManyInFlight => Fault::new(FaultKind::RateLimited, "too many calls at once"),
    }
}

const fn limit_blame(error: LimitError) -> Blame {
    match error {
        LimitError::NoRoom => Blame::Gateway,
        LimitError::OverShare
        | LimitError::QuotaSpent { .. }
        | LimitError::RateLimited { .. }
        | LimitError::TooManyInFlight => Blame::Caller,
    }
}

fn decode_fault(error: &DecodeError) -> Fault {
    match error {
        DecodeError::Forbidden(error) => authorize_fault(*error),
        DecodeError::Incomplete => Fault::new(FaultKind::AmbiguousRequest, "the body broke off"),
        DecodeError::Limit(error) => limit_fault(*error),
        DecodeError::Refused(fault) => fault.clone(),
        DecodeError::TooSlow => Fault::new(FaultKind::AmbiguousRequest, "the body came too slowly"),
        DecodeError::TooLarge { limit } => {
            Fault::new(FaultKind::PayloadTooLarge, format!("the body is larger than {limit} bytes"))
        }
        DecodeError::Unaddressed(TargetError::MethodNotAllowed { .. }) => Fault::of(FaultKind::MethodNotAllowed),
        DecodeError::Unaddressed(TargetError::NotFound) => Fault::of(FaultKind::PathNotFound),
    }
}

fn owner_fault(error: OwnerError) -> Fault {
    match error {
        OwnerError::AnotherOwner => Fault::of(FaultKind::InvalidAgentResponse),
        OwnerError::BadId => Fault::invalid_params("contextId: cannot be used as an id"),
        OwnerError::BadPageToken => Fault::invalid_params("the page token is not valid here"),
        OwnerError::ForeignContext => Fault::invalid_params("the context cannot be used by this caller"),
        OwnerError::TaskNotFound => Fault::of(FaultKind::TaskNotFound),
        OwnerError::TooManyPages => Fault::new(
            FaultKind::UnsupportedOperation,
            "the agent lists more tasks than can be filtered; narrow the list by context",
        ),
        OwnerError::Unavailable => Fault::of(FaultKind::Overloaded),
    }
}

fn guard_fault(error: &GuardError) -> Fault {
    match error {
        GuardError::Blocked { surface, policy, rule } => Fault::of(FaultKind::GuardrailBlocked)
            .with("surface", surface.name())
            .with("policy", policy)
            .with("rule", rule),
        GuardError::Unavailable { surface, rule } => {
            Fault::of(FaultKind::GuardUnavailable).with("surface", surface.name()).with("rule", rule)
        }
        GuardError::Failed { surface } => {
            Fault::of(FaultKind::GuardrailBlocked).with("surface", surface.name()).with("rule", "inspection_failed")
        }
    }
}

fn forward_fault(error: &ForwardError) -> Fault {
    match error {
        ForwardError::BadAnswer(BadAnswer::Status(429 | 502 | 503 | 504)) => {
            Fault::new(FaultKind::UpstreamUnavailable, "the agent is not available")
        }
        ForwardError::BadAnswer(_) | ForwardError::Encoded => Fault::of(FaultKind::InvalidAgentResponse),
        ForwardError::Broken => Fault::new(FaultKind::UpstreamUnavailable, "the agent broke off before it answered"),
        ForwardError::CardSettings | ForwardError::Denied(_) | ForwardError::Unreachable(_) => {
            Fault::of(FaultKind::UpstreamUnavailable)
        }
        ForwardError::Credential(CredentialError::NothingToForward) => Fault::new(
            FaultKind::UpstreamAuthFailed,
            "the agent wants the caller's own token, and there is none that may be passed on",
        ),
        ForwardError::Credential(CredentialError::InTask(_)) => Fault::new(
            FaultKind::UpstreamAuthFailed,
            "the task waits for authorisation, and the gateway's credential for it cannot be had",
        ),
        ForwardError::Credential(_) => {
            Fault::new(FaultKind::UpstreamAuthFailed, "the gateway's credential for the agent cannot be had")
        }
        ForwardError::Limit(error) => limit_fault(*error),
        ForwardError::Redirected(_) => Fault::new(FaultKind::UpstreamUnavailable, "the agent redirects"),
        ForwardError::Unauthenticated => Fault::of(FaultKind::UpstreamAuthFailed),
        ForwardError::Unsupported(fault) => fault.clone(),
        ForwardError::TimedOut => Fault::of(FaultKind::UpstreamTimeout),
        ForwardError::TooLarge { .. } => Fault::new(FaultKind::InvalidAgentResponse, "the agent's answer is too large"),
    }
}
