//! One request to one interface, and the reading of an answer that is no stream.
//!
//! Takes what a dialect has written; adds the caller's own headers, the extensions and the credential. Gives the
//! response, or the whole answer within limits. Never repeats a request.

use std::time::Duration;

use a2a::dialect::{BadAnswer, Outgoing, Received, decode_answer};
use a2a::grpc::{self, FrameError, Frames, Status};
use a2a::sse;
use a2a::{Answer, Dialect, Fault, FaultKind, OperationKind, Version};
use bytes::{Bytes, BytesMut};
use egress::Client;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use json::Limits;

use crate::credential::Auth;
use crate::error::{AgentFault, CallError, Unauthorized, retry_after};
use crate::{Chosen, Connections};

/// How much and how long. A stream as a whole has no limit in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Most bytes of an answer that is no stream.
    pub answer: usize,
    /// From the call to the last byte of such an answer, and to the head of a stream.
    pub total: Duration,
    /// The longest silence of a stream.
    pub idle: Duration,
    /// One event and one line of a stream; over gRPC, one message.
    pub events: sse::Limits,
    /// One document.
    pub json: Limits,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            answer: 16 * 1024 * 1024,
            total: Duration::from_mins(5),
            idle: Duration::from_mins(5),
            events: sse::Limits::default(),
            json: Limits::default(),
        }
    }
}

/// The way to an agent: connections, and what goes with every request.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) connections: Connections,
    pub(crate) auth: Auth,
    pub(crate) headers: HeaderMap,
    /// The URIs of activated extensions, as one header value.
    pub(crate) extensions: Option<HeaderValue>,
    pub(crate) limits: CallLimits,
}

impl Wire {
    /// Sends one request and waits for the head of the response.
    pub(crate) async fn exchange(
        &self,
        chosen: &Chosen,
        kind: OperationKind,
        outgoing: Outgoing,
    ) -> Result<Response<Incoming>, CallError> {
        let headers = self.headers_for(chosen, kind, &outgoing).await?;
        let Outgoing { method, url, headers: _, body } = outgoing;
        let mut request = Request::new(body.map_or_else(Bytes::new, Bytes::from));
        *request.method_mut() = method;
        *request.uri_mut() = url.parse().map_err(|_| CallError::BadAddress)?;
        *request.headers_mut() = headers;
        let head = self.limits.total;
        let response = self
            .client(chosen.dialect)
            .request_within(request, head)
            .await
            .map_err(|error| CallError::unsent(error, head))?;
        let identity = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
        if !response.headers().get_all(header::CONTENT_ENCODING).iter().all(identity) {
            return Err(CallError::Encoded);
        }
        Ok(response)
    }

    /// The caller's own headers first, so that nothing the protocol needs can be replaced by them.
    async fn headers_for(
        &self,
        chosen: &Chosen,
        kind: OperationKind,
        outgoing: &Outgoing,
    ) -> Result<HeaderMap, CallError> {
        let mut headers = self.headers.clone();
        if let Some(extensions) = &self.extensions {
            let name = match chosen.dialect.version() {
                Version::V10 => "a2a-extensions",
                Version::V03 => "x-a2a-extensions",
            };
            headers.insert(HeaderName::from_static(name), extensions.clone());
        }
        if chosen.dialect == Dialect::G1 {
            if !kind.is_streaming() {
                let most = HeaderValue::from_str(&grpc::timeout_value(self.limits.total));
                headers.extend(most.ok().map(|most| (HeaderName::from_static("grpc-timeout"), most)));
            }
        } else {
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        for (name, value) in &outgoing.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let credential = self.auth.for_url(&outgoing.url).await.map_err(CallError::NoCredential)?;
        credential.add_to(&mut headers)?;
        Ok(headers)
    }

    fn client(&self, dialect: Dialect) -> &Client {
        if dialect == Dialect::G1 { &self.connections.http2 } else { &self.connections.http1 }
    }

    /// Reads the whole answer.
    pub(crate) async fn read(
        &self,
        chosen: &Chosen,
        kind: OperationKind,
        rpc_id: &str,
        response: Response<Incoming>,
    ) -> Result<Answer, CallError> {
        if chosen.dialect == Dialect::G1 {
            return self.read_grpc(kind, response).await;
        }
        let (head, body) = response.into_parts();
        let body = whole(body, self.limits.answer).await?;
        let content_type = head.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let refused = refuses_credential(head.status);
        // Refusals of a credential may say more in an A2A error; a status that means nothing lets it be read.
        let status = if refused { UNKNOWN_STATUS } else { head.status.as_u16() };
        let r3_bytes = chosen.address.r3_bytes;
        let received = Received { status, content_type, body: &body, r3_bytes };
        let version = chosen.dialect.version();
        match decode_answer(chosen.dialect, kind, rpc_id, received, &self.limits.json) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(fault)) if refused => Err(unauthorized(Some(AgentFault::new(fault, version)), &head)),
            Err(_) if refused => Err(unauthorized(None, &head)),
            Ok(Err(fault)) => Err(CallError::Fault(AgentFault::new(fault, version))),
            Err(BadAnswer::Status(_)) => Err(bare_status(head.status, &head.headers)),
            Err(bad) => Err(CallError::Protocol(bad)),
        }
    }

    async fn read_grpc(&self, kind: OperationKind, response: Response<Incoming>) -> Result<Answer, CallError> {
        check_grpc_head(&response)?;
        let (head, mut body) = response.into_parts();
        let mut frames = Frames::new(self.limits.answer);
        let (mut message, mut status) = (None, Status::read(&head.headers));
        while status.is_none() {
            let Some(frame) = body.frame().await else { break };
            match frame.map_err(CallError::cut)?.into_data() {
                Ok(piece) => {
                    frames.push(&piece);
                    while let Some(next) = frames.message().map_err(framing)? {
                        if message.replace(next).is_some() {
                            return Err(framing(FrameError::NotOne));
                        }
                    }
                }
                Err(frame) => status = frame.trailers_ref().and_then(Status::read),
            }
        }
        let status = status.ok_or_else(|| CallError::cut(FrameError::Truncated))?;
        ended_well(&status, kind)?;
        frames.finish().map_err(framing)?;
        let message = message.ok_or_else(|| framing(FrameError::NotOne))?;
        Ok(grpc::decode_answer(kind, &message, &self.limits.json)?)
    }
}

/// No table of statuses knows it.
const UNKNOWN_STATUS: u16 = 418;

pub(crate) fn content_type(response: &Response<Incoming>) -> Option<&str> {
    response.headers().get(header::CONTENT_TYPE)?.to_str().ok()
}

/// Whether the response is one of gRPC at all.
pub(crate) fn check_grpc_head(response: &Response<Incoming>) -> Result<(), CallError> {
    let status = response.status();
    if refuses_credential(status) {
        return Err(unauthorized_head(None, status, response.headers()));
    }
    if !status.is_success() {
        return Err(bare_status(status, response.headers()));
    }
    if content_type(response).is_some_and(grpc::is_grpc) {
        Ok(())
    } else {
        Err(CallError::Protocol(BadAnswer::NotGrpc))
    }
}

/// The fault in a gRPC status, unless it is none.
pub(crate) fn ended_well(status: &Status, kind: OperationKind) -> Result<(), CallError> {
    if status.is_ok() {
        return Ok(());
    }
    match status.fault(kind) {
        Ok(fault) => Err(of_fault(fault, Version::V10)),
        Err(BadAnswer::Status(status)) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
            Err(CallError::Status { status, retry_after: None })
        }
        Err(bad) => Err(CallError::Protocol(bad)),
    }
}

/// An agent's fault, or its word that the credential will not do.
pub(crate) fn of_fault(fault: Fault, version: Version) -> CallError {
    if fault.kind == FaultKind::UpstreamAuthFailed {
        let refused = Unauthorized { status: None, challenge: None, fault: None };
        return CallError::Unauthorized(Box::new(refused));
    }
    CallError::Fault(AgentFault::new(fault, version))
}

pub(crate) fn framing(error: FrameError) -> CallError {
    match error {
        FrameError::TooLarge { limit } => CallError::TooLarge(limit),
        FrameError::Truncated => CallError::cut(error),
        FrameError::Compressed => CallError::Encoded,
        FrameError::Flags | FrameError::NotOne => CallError::Protocol(error.into()),
    }
}

fn refuses_credential(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn unauthorized(fault: Option<AgentFault>, head: &http::response::Parts) -> CallError {
    unauthorized_head(fault, head.status, &head.headers)
}

fn unauthorized_head(fault: Option<AgentFault>, status: StatusCode, headers: &HeaderMap) -> CallError {
    let challenge = headers.get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()).map(str::to_owned);
    CallError::Unauthorized(Box::new(Unauthorized { status: Some(status), challenge, fault }))
}

fn bare_status(status: StatusCode, headers: &HeaderMap) -> CallError {
    CallError::Status { status, retry_after: retry_after(headers) }
}

async fn whole(mut body: Incoming, most: usize) -> Result<Bytes, CallError> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(CallError::cut)?.into_data() else { continue };
        if bytes.len().saturating_add(piece.len()) > most {
            return Err(CallError::TooLarge(most));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.freeze())
}
