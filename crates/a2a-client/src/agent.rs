//! An agent that can be called: canonical calls over the best of its interfaces.
//!
//! Takes canonical calls, gives answers and event streams. A call is sent once: another interface stands in only where
//! no byte of the call can have left, and only `:subscribe`, which has no effect, is repeated with the other verb where
//! the agent refuses the first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use a2a::dialect::{Minted, Outgoing, SubscribeVerb, encode_call};
use a2a::{Answer, Call, Dialect, OperationKind};
use http::StatusCode;
use url::Url;

use crate::error::CallError;
use crate::exchange::{Wire, content_type};
use crate::raw_events::RawEvents;
use crate::{Card, Chosen, Events, Proof, Resume};

/// An agent that can be called. Cheap to clone; clones share connections.
///
/// Made by [`connect`](crate::connect) or [`Options::connect`](crate::Options::connect).
#[derive(Clone, Debug)]
pub struct Agent(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) wire: Wire,
    /// All of them, the best first.
    pub(crate) interfaces: Vec<Chosen>,
    pub(crate) best: Chosen,
    pub(crate) card: Card,
    pub(crate) card_url: Url,
    pub(crate) proof: Option<Proof>,
    pub(crate) resume: Option<Resume>,
    /// Which interface answered last.
    pub(crate) current: AtomicUsize,
    pub(crate) calls: AtomicU64,
}

impl Agent {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// The agent's card; when signatures were required, the part of it that they cover.
    #[must_use]
    pub fn card(&self) -> &Card {
        &self.0.card
    }

    /// Where the card was found.
    #[must_use]
    pub fn card_url(&self) -> &Url {
        &self.0.card_url
    }

    /// What the card's signatures are worth; `None` if nobody asked.
    #[must_use]
    pub fn proof(&self) -> Option<&Proof> {
        self.0.proof.as_ref()
    }

    /// The interface that is called, as long as it can be reached.
    #[must_use]
    pub fn interface(&self) -> &Chosen {
        let Inner { interfaces, best, current, .. } = &*self.0;
        interfaces.get(current.load(Ordering::Relaxed)).unwrap_or(best)
    }

    /// All interfaces that may be called, the best first.
    #[must_use]
    pub fn interfaces(&self) -> &[Chosen] {
        &self.0.interfaces
    }

    pub(crate) fn resume(&self) -> Option<&Resume> {
        self.0.resume.as_ref()
    }

    /// Makes a canonical call that is answered at once. The typed operations are easier; this is for parameters that
    /// they have no words for.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn call(&self, call: &Call) -> Result<Answer, CallError> {
        if call.kind.is_streaming() {
            return Err(CallError::WrongKind(call.kind));
        }
        let mut first = None;
        for (at, chosen) in self.in_order() {
            match self.call_at(chosen, call).await {
                Err(error) if error.nothing_was_sent() => {
                    first.get_or_insert(error);
                }
                done => {
                    self.settle(at, first.as_ref());
                    return done;
                }
            }
        }
        Err(first.unwrap_or(CallError::BadAddress))
    }

    /// Makes a canonical call that is answered by a stream. An agent that answers with one plain result gives a stream
    /// of one event.
    ///
    /// # Errors
    /// [`CallError`]: there is no stream. Later errors come out of the stream.
    pub async fn open(&self, call: &Call) -> Result<Events, CallError> {
        Ok(Events::new(self.clone(), self.open_raw(call).await?))
    }

    pub(crate) async fn open_raw(&self, call: &Call) -> Result<RawEvents, CallError> {
        if !call.kind.is_streaming() {
            return Err(CallError::WrongKind(call.kind));
        }
        let mut first = None;
        for (at, chosen) in self.in_order() {
            match self.open_at(chosen, call).await {
                Err(error) if error.nothing_was_sent() => {
                    first.get_or_insert(error);
                }
                done => {
                    self.settle(at, first.as_ref());
                    return done;
                }
            }
        }
        Err(first.unwrap_or(CallError::BadAddress))
    }

    /// The interfaces, the one that answered last first.
    fn in_order(&self) -> impl Iterator<Item = (usize, &Chosen)> {
        let current = self.0.current.load(Ordering::Relaxed);
        let all = || self.0.interfaces.iter().enumerate();
        all().filter(move |(at, _)| *at == current).chain(all().filter(move |(at, _)| *at != current))
    }

    /// Stays with an interface that stood in for one that could not be reached.
    fn settle(&self, at: usize, failed: Option<&CallError>) {
        if matches!(failed, Some(CallError::NotReached(_))) {
            self.0.current.store(at, Ordering::Relaxed);
        }
    }

    async fn call_at(&self, chosen: &Chosen, call: &Call) -> Result<Answer, CallError> {
        let wire = &self.0.wire;
        let sent = self.sent(chosen, call)?;
        let work = async {
            let outgoing = sent.outgoing(SubscribeVerb::Post)?;
            let response = wire.exchange(chosen, call.kind, outgoing).await?;
            wire.read(chosen, call.kind, &sent.rpc_id, response).await
        };
        let most = wire.limits.total;
        tokio::time::timeout(most, work).await.unwrap_or(Err(CallError::TimedOut(most)))
    }

    async fn open_at(&self, chosen: &Chosen, call: &Call) -> Result<RawEvents, CallError> {
        let sent = self.sent(chosen, call)?;
        let most = self.0.wire.limits.total;
        let work = async {
            match self.open_by(&sent, SubscribeVerb::Post).await {
                Err(error) if call.kind == OperationKind::SubscribeToTask && refuses_verb(&error) => {
                    self.open_by(&sent, SubscribeVerb::Get).await
                }
                other => other,
            }
        };
        tokio::time::timeout(most, work).await.unwrap_or(Err(CallError::TimedOut(most)))
    }

    async fn open_by(&self, sent: &Sent<'_>, verb: SubscribeVerb) -> Result<RawEvents, CallError> {
        let (wire, chosen, kind) = (&self.0.wire, sent.chosen, sent.call.kind);
        let response = wire.exchange(chosen, kind, sent.outgoing(verb)?).await?;
        if chosen.dialect == Dialect::G1 {
            return RawEvents::grpc(chosen.clone(), response, wire.limits);
        }
        let streams = content_type(&response).is_some_and(|kind| kind.contains("text/event-stream"));
        if response.status().is_success() && streams {
            return Ok(RawEvents::sse(chosen.clone(), sent.rpc_id.clone(), response.into_body(), wire.limits));
        }
        let answer = wire.read(chosen, kind, &sent.rpc_id, response).await?;
        Ok(RawEvents::answer(chosen.clone(), answer, wire.limits))
    }

    fn sent<'a>(&self, chosen: &'a Chosen, call: &'a Call) -> Result<Sent<'a>, CallError> {
        let rpc_id = self.0.calls.fetch_add(1, Ordering::Relaxed).to_string();
        Ok(Sent { chosen, call, rpc_id, message_id: random_id()? })
    }
}

/// No such path or verb, and no A2A error that says so.
fn refuses_verb(error: &CallError) -> bool {
    matches!(error, CallError::Status { status: StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED, .. })
}

/// One call on its way, with the ids it keeps when it is written again.
struct Sent<'a> {
    chosen: &'a Chosen,
    call: &'a Call,
    rpc_id: String,
    message_id: String,
}

impl Sent<'_> {
    fn outgoing(&self, verb: SubscribeVerb) -> Result<Outgoing, CallError> {
        let minted = Minted { rpc_id: &self.rpc_id, message_id: &self.message_id };
        let Chosen { dialect, address } = self.chosen;
        encode_call(*dialect, self.call, address, minted, verb).map_err(CallError::Unsayable)
    }
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
