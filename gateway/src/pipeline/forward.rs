//! Ask the agent: call → its dialect, its credentials, its answer → [`Reply`].
//!
//! *Takes* the guarded call and the permit. *Gives* what the agent answered, decoded: an answer, events, or its own
//! fault. *Refuses* when the agent cannot be reached, is too slow, or answers something that is no A2A answer. *Never*
//! follows a redirect, repeats a call that may have had an effect, or passes a header of the agent's on.

use crate::config::Limits;
use crate::pipeline::authorize::Permit;
use crate::pipeline::decode::json_limits;
use crate::pipeline::delegation::Delegation;
use crate::pipeline::head::{self, Head};
use crate::pipeline::limit::{LimitError, Slot};
use crate::pipeline::long;
use crate::pipeline::stopwatch::FirstByte;
use crate::registry::{Card, Interface};
use crate::upstream::credential::{self, Carried, CredentialError};
use crate::upstream::events::Events;
use crate::upstream::grpc::{self, GrpcError};
use crate::upstream::receive::{self, ReceiveError};
use crate::upstream::request::{self, Stamps};
use crate::upstream::{Repeat, Upstream};
use a2a::dialect::{BadAnswer, Minted, Received, SubscribeVerb, decode_answer, encode_call};
use a2a::{Answer, Call, Dialect, Fault, FaultKind, OperationKind};
use egress::EgressError;
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use hyper::body::Incoming;
use std::time::Duration;
use tokio::time::Instant;

/// What came back.
#[derive(Debug)]
pub enum Reply {
    /// A whole answer, and the bytes it was written in.
    Answer(Answer, usize),
    /// Events.
    Events(Box<Events>),
    /// The agent said no, and the bytes it said it in.
    Fault(Fault, usize),
}

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    /// No A2A answer.
    #[error("the agent's answer is not valid")]
    BadAnswer(#[from] BadAnswer),
    /// The agent broke off.
    #[error("the agent broke off")]
    Broken,
    /// The card's address or credential cannot be used.
    #[error("the card's address or credential cannot be used")]
    CardSettings,
    /// The gateway's credential for the agent cannot be had.
    #[error("the gateway's credential for the agent cannot be had")]
    Credential(#[from] CredentialError),
    /// The answer has a content coding.
    #[error("the agent's answer has a content coding")]
    Encoded,
    /// The egress rules refuse the address.
    #[error("the agent's address may not be called")]
    Denied(#[source] egress::Denied),
    /// No room for the answer.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The agent redirects.
    #[error("the agent redirects ({0})")]
    Redirected(StatusCode),
    /// The agent refused the gateway's credential.
    #[error("the agent refused the gateway's credential")]
    Unauthenticated,
    /// The agent's dialect or this gateway cannot do this operation.
    #[error("the operation cannot be passed on")]
    Unsupported(Fault),
    /// Not answered in time.
    #[error("the agent did not answer in time")]
    TimedOut,
    /// The answer is too large.
    #[error("the agent's answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// Not reached.
    #[error("the agent cannot be reached")]
    Unreachable(#[source] egress::ConnectError),
}

/// Everything that a call to an agent needs besides the call.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    /// The only way out.
    pub upstream: &'a Upstream,
    /// Whose call.
    pub permit: &'a Permit,
    /// The caller's head, for trace context and extensions.
    pub head: &'a Head,
    /// The node's limits.
    pub limits: &'a Limits,
    /// On whose behalf, for agents that may be told.
    pub delegation: &'a Delegation,
    /// What the task waits for, if it does and the card has a client for it.
    pub(crate) in_task: Option<&'a Carried>,
    /// Who is told when the agent begins to answer.
    pub(crate) first_byte: Option<&'a FirstByte>,
    /// The name of the header that tells the tenant.
    pub tenant_header: &'a HeaderName,
}

/// Sends `call` and waits for the agent's answer, or for the head of its events.
///
/// # Errors
/// [`ForwardError`]
pub async fn send(call: &Call, slot: &mut Slot, way: Way<'_>) -> Result<Reply, ForwardError> {
    let mut first = None;
    for interface in &way.permit.card().upstream.interfaces {
        match through(call, interface, slot, way).await {
            // The next interface stands in only where this one has had no byte of the call.
            Err(error @ (ForwardError::Unreachable(_) | ForwardError::Unsupported(_))) => {
                first.get_or_insert(error);
            }
            done => return done,
        }
    }
    Err(first.unwrap_or(ForwardError::CardSettings))
}

/// Sends `call` to one interface of the agent.
async fn through(call: &Call, interface: &Interface, slot: &mut Slot, way: Way<'_>) -> Result<Reply, ForwardError> {
    let card = way.permit.card();
    let learned = way.upstream.subscribe_verb(&card.id);
    let first = ask(call, interface, learned, slot, way).await;
    if call.kind != OperationKind::SubscribeToTask || learned == SubscribeVerb::Get {
        return first;
    }
    match first {
        // POST first, then GET where the agent does not know the verb (D2b): it had no effect.
        Err(ForwardError::BadAnswer(BadAnswer::Status(404 | 405))) => {
            let second = Box::pin(ask(call, interface, SubscribeVerb::Get, slot, way)).await;
            if matches!(second, Ok(Reply::Events(_) | Reply::Fault(..))) {
                way.upstream.learn_subscribe_verb(&card.id, SubscribeVerb::Get);
            }
            second
        }
        done => done,
    }
}

/// Push is not mediated yet, so nothing that asks an agent to deliver past the guard goes out (product.md §7), whatever
/// the task.
///
/// # Errors
/// [`ForwardError::Unsupported`]
pub fn refuse_push(call: &Call) -> Result<(), ForwardError> {
    let asks = match call.kind {
        OperationKind::CreatePushConfig
        | OperationKind::GetPushConfig
        | OperationKind::ListPushConfigs
        | OperationKind::DeletePushConfig => true,
        OperationKind::SendMessage | OperationKind::SendStreamingMessage => call.inline_push_config().is_some(),
        OperationKind::GetTask
        | OperationKind::ListTasks
        | OperationKind::CancelTask
        | OperationKind::SubscribeToTask
        | OperationKind::GetExtendedCard => false,
    };
    if asks { Err(ForwardError::Unsupported(Fault::of(FaultKind::PushNotSupported))) } else { Ok(()) }
}

async fn ask(
    call: &Call,
    interface: &Interface,
    verb: SubscribeVerb,
    slot: &mut Slot,
    way: Way<'_>,
) -> Result<Reply, ForwardError> {
    let tokens = &way.upstream.tokens;
    let carried = credential::carried(way.permit, way.head, tokens).await?;
    let first = once(call, interface, (verb, carried.as_ref()), slot, way).await;
    if let (Err(ForwardError::Unauthenticated), Some(place)) = (&first, way.in_task.and_then(|given| given.kept)) {
        tokens.forget(place);
    }
    let kept = carried.and_then(|carried| carried.kept);
    let (Err(ForwardError::Unauthenticated), Some(place)) = (&first, kept) else { return first };
    // A token that was withdrawn before its end: the next call has a new one. This one, where that has no effect (D11).
    tokens.forget(place);
    if repeat(call.kind) != Repeat::Harmless {
        return first;
    }
    let carried = Box::pin(credential::carried(way.permit, way.head, tokens)).await?;
    Box::pin(once(call, interface, (verb, carried.as_ref()), slot, way)).await
}

async fn once(
    call: &Call,
    interface: &Interface,
    (verb, carried): (SubscribeVerb, Option<&Carried>),
    slot: &mut Slot,
    way: Way<'_>,
) -> Result<Reply, ForwardError> {
    let (rpc_id, message_id) = (head::new_id(), head::new_id());
    let minted = Minted { rpc_id: &rpc_id, message_id: &message_id };
    let encode = || encode_call(interface.dialect, call, &interface.address, minted, verb);
    let outgoing = long::work(slot.held_bytes(), encode);
    let outgoing = outgoing.map_err(ForwardError::Unsupported)?;
    let card = way.permit.card();
    let stamps = stamps(card, interface, way);
    let request = request::build(outgoing, &stamps, carried.into_iter().chain(way.in_task));
    let request = request.ok_or(ForwardError::CardSettings)?;
    let within = way.head.within(card.limits.unary.unwrap_or(way.limits.upstream.unary));
    let deadline = Instant::now() + within;
    let mut request = request;
    if interface.dialect == Dialect::G1 {
        give_time(request.headers_mut(), call.kind, within, way.head);
    }
    let client = way.upstream.client(card, interface.dialect).map_err(|why| {
        tracing::warn!(card = %card.id, %why, "the certificate for an agent cannot be used");
        ForwardError::CardSettings
    })?;
    let response = way.upstream.send(request, within, repeat(call.kind), &client).await.map_err(egress)?;
    if let Some(first) = way.first_byte {
        first.came(std::time::Instant::now());
    }
    check_head(&response)?;
    let (parts, body) = response.into_parts();
    let json = json_limits(&way.limits.body);
    if interface.dialect == Dialect::G1 {
        let asked = Asked { kind: call.kind, interface, rpc_id, deadline, json };
        return over_grpc(asked, parts, body, slot, way).await;
    }
    if call.kind.is_streaming() && parts.status.is_success() && receive::is_event_stream(&parts.headers) {
        let most = way.limits.body.event_bytes;
        return Ok(Reply::Events(Box::new(Events::new(body, interface, rpc_id, most, json))));
    }
    let mut body = body;
    let most = card.limits.response_bytes.unwrap_or(way.limits.body.response_bytes);
    let bytes = receive::whole(&mut body, most, deadline, slot).await.map_err(received)?;
    let content_type = receive::content_type(&parts.headers);
    let r3_bytes = interface.address.r3_bytes;
    let received = Received { status: parts.status.as_u16(), content_type, body: &bytes, r3_bytes };
    let decode = || decode_answer(interface.dialect, call.kind, &rpc_id, received, &json);
    Ok(match long::work(bytes.len(), decode)? {
        Ok(answer) => Reply::Answer(answer, bytes.len()),
        Err(fault) => Reply::Fault(receive::tidy(fault, &interface.address.base), bytes.len()),
    })
}

/// What of a call matters to its answer.
struct Asked<'a> {
    kind: OperationKind,
    interface: &'a Interface,
    rpc_id: String,
    deadline: Instant,
    json: json::Limits,
}

/// The agent's answer in gRPC, whose status follows the last message or stands in the head.
async fn over_grpc(
    asked: Asked<'_>,
    parts: Parts,
    mut body: Incoming,
    slot: &mut Slot,
    way: Way<'_>,
) -> Result<Reply, ForwardError> {
    let Asked { kind, interface, rpc_id, deadline, json } = asked;
    grpc::check_head(parts.status, &parts.headers)?;
    let limits = &way.limits.body;
    if kind.is_streaming() {
        let events = Events::new(body, interface, rpc_id, limits.event_bytes, json);
        return Ok(Reply::Events(Box::new(events.with_head(&parts.headers))));
    }
    let most = way.permit.card().limits.response_bytes.unwrap_or(limits.response_bytes);
    let bounds = grpc::Bounds { bytes: most, deadline, json };
    let (answer, size) = grpc::answer(kind, &parts.headers, &mut body, bounds, slot).await?;
    Ok(match answer {
        Ok(answer) => Reply::Answer(answer, size),
        Err(fault) => Reply::Fault(receive::tidy(fault, &interface.address.base), size),
    })
}

/// How long the agent may take: as long as we wait; for a stream, as long as the caller does.
fn give_time(headers: &mut HeaderMap, kind: OperationKind, within: Duration, head: &Head) {
    let time = if kind.is_streaming() { head.deadline.map(|_| head.within(Duration::MAX)) } else { Some(within) };
    let value = time.and_then(|time| HeaderValue::from_str(&a2a::grpc::timeout_value(time)).ok());
    headers.extend(value.map(|value| (head::GRPC_TIMEOUT, value)));
}

fn stamps(card: &Card, interface: &Interface, way: Way<'_>) -> Stamps {
    let mut headers = Vec::new();
    if card.upstream.stamp_headers {
        let mut stamp = |name: &HeaderName, text: &str| {
            if let Ok(value) = HeaderValue::from_str(text) {
                headers.push((name.clone(), value));
            }
        };
        stamp(way.tenant_header, &way.permit.tenant().name);
        stamp(&head::CORRELATION_ID, &way.head.correlation_id);
        headers.extend(way.head.traceparent.clone().map(|value| (head::TRACEPARENT, value)));
        let state = way.head.tracestate.clone().filter(|_| way.head.traceparent.is_some());
        headers.extend(state.map(|value| (head::TRACESTATE, value)));
        headers.extend(way.delegation.stamps(way.permit, way.head));
    }
    Stamps { headers, extensions: way.head.extensions.clone(), version: interface.dialect.version() }
}

const fn repeat(kind: OperationKind) -> Repeat {
    match kind {
        OperationKind::GetTask
        | OperationKind::ListTasks
        | OperationKind::SubscribeToTask
        | OperationKind::GetPushConfig
        | OperationKind::ListPushConfigs
        | OperationKind::GetExtendedCard => Repeat::Harmless,
        OperationKind::SendMessage
        | OperationKind::SendStreamingMessage
        | OperationKind::CancelTask
        | OperationKind::CreatePushConfig
        | OperationKind::DeletePushConfig => Repeat::Unsent,
    }
}

/// What the head alone forbids.
fn check_head(response: &Response<Incoming>) -> Result<(), ForwardError> {
    let status = response.status();
    if status.is_redirection() {
        return Err(ForwardError::Redirected(status));
    }
    if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN {
        return Err(ForwardError::Unauthenticated);
    }
    if receive::is_coded(response.headers()) {
        return Err(ForwardError::Encoded);
    }
    Ok(())
}

fn egress(error: EgressError) -> ForwardError {
    match error {
        EgressError::Connect(egress::ConnectError::Denied(denied)) | EgressError::Denied(denied) => {
            tracing::warn!(why = %denied, "an agent's address may not be called");
            ForwardError::Denied(denied)
        }
        EgressError::Connect(error) => ForwardError::Unreachable(error),
        EgressError::Sent(_) => ForwardError::Broken,
        EgressError::Timeout => ForwardError::TimedOut,
    }
}

impl From<GrpcError> for ForwardError {
    fn from(error: GrpcError) -> Self {
        match error {
            GrpcError::Bad(BadAnswer::Status(504)) => Self::TimedOut,
            GrpcError::Bad(error) => Self::BadAnswer(error),
            GrpcError::Receive(error) => received(error),
        }
    }
}

fn received(error: ReceiveError) -> ForwardError {
    match error {
        ReceiveError::Broken => ForwardError::Broken,
        ReceiveError::Limit(limit) => ForwardError::Limit(limit),
        ReceiveError::TimedOut => ForwardError::TimedOut,
        ReceiveError::TooLarge { limit } => ForwardError::TooLarge { limit },
    }
}
