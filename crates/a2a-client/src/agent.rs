//! Calls to one agent over the interface that was chosen.
//!
//! Takes canonical calls, gives answers and event streams. A call is sent once; only `:subscribe`, which has no effect, is
//! repeated with the other verb where the agent refuses the first.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use a2a::dialect::{BadAnswer, Minted, Outgoing, Received, SubscribeVerb, decode_answer, encode_call};
use a2a::{Answer, Call, Fault, OperationKind};
use bytes::{Bytes, BytesMut};
use egress::{Client, EgressError};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use json::Limits;

use crate::credential::Unsendable;
use crate::{Chosen, Credential, Events};

/// How much and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Most bytes of an answer that is no stream.
    pub answer: usize,
    /// From the call to the last byte of such an answer, and to the head of a stream.
    pub total: Duration,
    /// The longest silence of a stream.
    pub idle: Duration,
    /// One event and one line of a stream.
    pub events: a2a::sse::Limits,
    /// One document.
    pub json: Limits,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            answer: 16 * 1024 * 1024,
            total: Duration::from_secs(300),
            idle: Duration::from_secs(300),
            events: a2a::sse::Limits::default(),
            json: Limits::default(),
        }
    }
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The agent says no.
    #[error("the agent answered: {}", .0.message)]
    Agent(Fault),
    /// What came back is no A2A.
    #[error("the agent's answer is no A2A answer")]
    BadAnswer(#[from] BadAnswer),
    /// The answer broke off.
    #[error("the answer broke off")]
    Cut(#[source] hyper::Error),
    /// The answer is compressed although that was not asked for.
    #[error("the answer has a content encoding")]
    Encoded,
    /// There is no randomness for an id.
    #[error("no random id could be made")]
    NoRandomness,
    /// The agent was not reached.
    #[error("the agent was not reached")]
    NotReached(#[from] EgressError),
    /// The interface's address or the call's ids make no URL.
    #[error("the call's address is malformed")]
    BadAddress,
    /// Another call in the dialect's words.
    #[error("the agent's dialect cannot say this call: {}", .0.message)]
    Unsayable(Fault),
    /// The credential cannot be sent.
    #[error(transparent)]
    Credential(#[from] Unsendable),
    /// The stream is broken.
    #[error("the stream is broken")]
    Stream(#[from] a2a::sse::SseError),
    /// The answer or the next event took too long.
    #[error("nothing came for {0:?}")]
    TimedOut(Duration),
    /// The answer is too large.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// An operation that streams was asked for as one that does not, or the other way round.
    #[error("{} {}", .0.name(), if .0.is_streaming() { "is answered by a stream" } else { "is not answered by a stream" })]
    WrongKind(OperationKind),
}

/// An agent that can be called.
#[derive(Debug)]
pub struct Agent {
    connections: Client,
    chosen: Chosen,
    credential: Credential,
    limits: CallLimits,
    calls: AtomicU64,
}

impl Agent {
    /// The agent at `chosen`. The credential goes with every call: give one only for the origin it belongs to.
    #[must_use]
    pub const fn new(connections: Client, chosen: Chosen, credential: Credential, limits: CallLimits) -> Self {
        Self { connections, chosen, credential, limits, calls: AtomicU64::new(1) }
    }

    /// The interface that is called.
    #[must_use]
    pub const fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    /// Makes a call that is answered at once.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn call(&self, call: &Call) -> Result<Answer, CallError> {
        if call.kind.is_streaming() {
            return Err(CallError::WrongKind(call.kind));
        }
        let sent = self.sent(call)?;
        let work = async {
            let response = self.exchange(&sent.request(SubscribeVerb::Post)?).await?;
            self.read_answer(call.kind, &sent.rpc_id, response).await
        };
        match tokio::time::timeout(self.limits.total, work).await {
            Ok(answer) => answer?.map_err(CallError::Agent),
            Err(_) => Err(CallError::TimedOut(self.limits.total)),
        }
    }

    /// Makes a call that is answered by a stream. An agent that answers with one plain result gives a stream of one
    /// event.
    ///
    /// # Errors
    /// [`CallError`]: there is no stream. Later errors come from [`Events::next`].
    pub async fn stream(&self, call: &Call) -> Result<Events, CallError> {
        if !call.kind.is_streaming() {
            return Err(CallError::WrongKind(call.kind));
        }
        let sent = self.sent(call)?;
        let work = async {
            match self.open(call, &sent, SubscribeVerb::Post).await? {
                Opened::Events(events) => Ok(*events),
                Opened::Refused(_) if call.kind == OperationKind::SubscribeToTask => {
                    self.open(call, &sent, SubscribeVerb::Get).await?.into_events()
                }
                Opened::Refused(error) => Err(error),
            }
        };
        match tokio::time::timeout(self.limits.total, work).await {
            Ok(events) => events,
            Err(_) => Err(CallError::TimedOut(self.limits.total)),
        }
    }

    fn sent<'a>(&'a self, call: &'a Call) -> Result<Sent<'a>, CallError> {
        let rpc_id = self.calls.fetch_add(1, Ordering::Relaxed).to_string();
        Ok(Sent { agent: self, call, rpc_id, message_id: random_id()? })
    }

    async fn open(&self, call: &Call, sent: &Sent<'_>, verb: SubscribeVerb) -> Result<Opened, CallError> {
        let response = self.exchange(&sent.request(verb)?).await?;
        let status = response.status();
        let dialect = self.chosen.dialect;
        if status.is_success() && content_type(&response).is_some_and(|kind| kind.contains("text/event-stream")) {
            let events = Events::new(dialect, sent.rpc_id.clone(), response.into_body(), self.limits);
            return Ok(Opened::Events(Box::new(events)));
        }
        match self.read_answer(call.kind, &sent.rpc_id, response).await {
            Ok(Ok(answer)) => Ok(Opened::Events(Box::new(Events::of_answer(dialect, answer, self.limits)))),
            Ok(Err(fault)) => Err(CallError::Agent(fault)),
            Err(error) if matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) => {
                Ok(Opened::Refused(error))
            }
            Err(error) => Err(error),
        }
    }

    async fn exchange(&self, outgoing: &Outgoing) -> Result<Response<Incoming>, CallError> {
        let body = outgoing.body.clone().map_or_else(Bytes::new, Bytes::from);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = outgoing.method.clone();
        *request.uri_mut() = outgoing.url.parse().map_err(|_| CallError::BadAddress)?;
        *request.headers_mut() = self.headers(outgoing)?;
        let response = self.connections.request_within(request, self.limits.total).await?;
        let identity = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
        if !response.headers().get_all(header::CONTENT_ENCODING).iter().all(identity) {
            return Err(CallError::Encoded);
        }
        Ok(response)
    }

    fn headers(&self, outgoing: &Outgoing) -> Result<HeaderMap, CallError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        for (name, value) in &outgoing.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        self.credential.add_to(&mut headers)?;
        Ok(headers)
    }

    async fn read_answer(
        &self,
        kind: OperationKind,
        rpc_id: &str,
        response: Response<Incoming>,
    ) -> Result<Result<Answer, Fault>, CallError> {
        let status = response.status().as_u16();
        let content_type = content_type(&response).map(str::to_owned);
        let body = read_body(response.into_body(), self.limits.answer).await?;
        let r3_bytes = self.chosen.address.r3_bytes;
        let received = Received { status, content_type: content_type.as_deref(), body: &body, r3_bytes };
        Ok(decode_answer(self.chosen.dialect, kind, rpc_id, received, &self.limits.json)?)
    }
}

/// One call on its way, with the ids it keeps when it is written again.
struct Sent<'a> {
    agent: &'a Agent,
    call: &'a Call,
    rpc_id: String,
    message_id: String,
}

impl Sent<'_> {
    fn request(&self, verb: SubscribeVerb) -> Result<Outgoing, CallError> {
        let minted = Minted { rpc_id: &self.rpc_id, message_id: &self.message_id };
        let Chosen { dialect, address } = &self.agent.chosen;
        encode_call(*dialect, self.call, address, minted, verb).map_err(CallError::Unsayable)
    }
}

/// What a streaming call came to.
enum Opened {
    Events(Box<Events>),
    /// No such path or verb, and no A2A error that says so.
    Refused(CallError),
}

impl Opened {
    fn into_events(self) -> Result<Events, CallError> {
        match self {
            Self::Events(events) => Ok(*events),
            Self::Refused(error) => Err(error),
        }
    }
}

fn content_type(response: &Response<Incoming>) -> Option<&str> {
    response.headers().get(header::CONTENT_TYPE)?.to_str().ok()
}

async fn read_body(mut body: Incoming, most: usize) -> Result<Bytes, CallError> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(CallError::Cut)?.into_data() else { continue };
        if bytes.len().saturating_add(piece.len()) > most {
            return Err(CallError::TooLarge(most));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.freeze())
}

/// A random UUID (version 4).
fn random_id() -> Result<String, CallError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| CallError::NoRandomness)?;
    let random = u128::from_be_bytes(bytes) & !(0xf << 76) & !(0b11 << 62) | (4 << 76) | (0b10 << 62);
    let digits = format!("{random:032x}");
    let mut id = String::with_capacity(36);
    for (at, digit) in digits.chars().enumerate() {
        if matches!(at, 8 | 12 | 16 | 20) {
            id.push('-');
        }
        id.push(digit);
    }
    Ok(id)
}
