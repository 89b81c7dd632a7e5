//! An agent's event stream: bytes in any pieces → decoded events, one at a time.
//!
//! Takes the response's body and gives what happened next. Knows no caller. Dropping it closes the connection to the
//! agent, which is how a call is cancelled.

use crate::registry::Interface;
use crate::upstream::receive::tidy;
use a2a::dialect::{BadAnswer, R3Bytes, decode_event};
use a2a::grpc::{self, FrameError, Frames, Status};
use a2a::sse::{self, Frame, SseError};
use a2a::{Dialect, Event, Fault, OperationKind};
use http::HeaderMap;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use std::collections::VecDeque;
use std::time::Duration;

/// What happened next on the stream.
#[derive(Debug)]
pub(crate) enum Happened {
    /// An event, and the bytes it was written in.
    Event(Event, usize),
    /// The agent reported an error; nothing follows.
    Fault(Fault, usize),
    /// Bytes that are no event, perhaps a ping: the agent is alive.
    Alive,
    /// The agent ended the stream in order.
    Ended,
}

/// Why the stream cannot be read any further.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EventsError {
    /// An event is none.
    #[error("an event is not valid")]
    Bad(#[from] BadAnswer),
    /// The connection broke, or the stream ended inside an event.
    #[error("the stream broke off")]
    Broken,
    /// The framing is invalid or too large.
    #[error("the stream is not valid")]
    Framing(#[source] SseError),
}

/// One open stream of an agent.
#[derive(Debug)]
pub struct Events {
    body: Incoming,
    framing: Framing,
    seen: Option<Result<Happened, EventsError>>,
    from: (Dialect, R3Bytes),
    base: String,
    rpc_id: String,
    json: json::Limits,
}

/// How events are told apart.
#[derive(Debug)]
enum Framing {
    Sse { parser: sse::Parser, waiting: VecDeque<Frame> },
    Grpc(Frames),
}

impl Events {
    pub(crate) fn new(
        body: Incoming,
        from: &Interface,
        rpc_id: String,
        event_bytes: usize,
        json: json::Limits,
    ) -> Self {
        let framing = if from.dialect == Dialect::G1 {
            Framing::Grpc(Frames::new(event_bytes))
        } else {
            let parser = sse::Parser::new(sse::Limits { event: event_bytes, line: event_bytes });
            Framing::Sse { parser, waiting: VecDeque::new() }
        };
        let (base, from) = (from.address.base.clone(), (from.dialect, from.address.r3_bytes));
        Self { body, framing, seen: None, from, base, rpc_id, json }
    }

    /// A gRPC stream whose head says already how it ended.
    pub(crate) fn with_head(mut self, headers: &HeaderMap) -> Self {
        self.seen = Status::read(headers).map(|status| self.ended(&status));
        self
    }

    /// Waits for the next thing to happen. Nothing is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Result<Happened, EventsError> {
        if let Some(seen) = self.seen.take() {
            return seen;
        }
        if let Some(happened) = self.waiting()? {
            return Ok(happened);
        }
        match self.body.frame().await {
            None => self.finish(),
            Some(Err(_broken)) => Err(EventsError::Broken),
            Some(Ok(frame)) => {
                let bytes = match frame.into_data() {
                    Ok(bytes) => bytes,
                    Err(frame) => return self.trailers(frame.trailers_ref()),
                };
                match &mut self.framing {
                    Framing::Sse { parser, waiting } => waiting.extend(parser.push(&bytes).map_err(framing)?),
                    Framing::Grpc(frames) => frames.push(&bytes),
                }
                Ok(self.waiting()?.unwrap_or(Happened::Alive))
            }
        }
    }

    /// What has arrived whole and was not given yet.
    fn waiting(&mut self) -> Result<Option<Happened>, EventsError> {
        match &mut self.framing {
            Framing::Sse { waiting, .. } => match waiting.pop_front() {
                Some(frame) => self.decode(frame).map(Some),
                None => Ok(None),
            },
            Framing::Grpc(frames) => match frames.message().map_err(BadAnswer::from)? {
                Some(message) => {
                    let event = grpc::decode_event(&message, &self.json)?;
                    Ok(Some(Happened::Event(event, message.len())))
                }
                None => Ok(None),
            },
        }
    }

    /// Waits at most `moment` for the first event; gives it if it is the agent's error. Anything else comes with
    /// [`Events::next`].
    pub(crate) async fn early_fault(&mut self, moment: Duration) -> Option<(Fault, usize)> {
        let first = async {
            loop {
                match self.next().await {
                    Ok(Happened::Alive) => {}
                    other => return other,
                }
            }
        };
        match tokio::time::timeout(moment, first).await.ok()? {
            Ok(Happened::Fault(fault, size)) => Some((fault, size)),
            other => {
                self.seen = Some(other);
                None
            }
        }
    }

    fn finish(&self) -> Result<Happened, EventsError> {
        match &self.framing {
            Framing::Sse { parser, .. } => {
                parser.finish().map_err(framing)?;
                Ok(Happened::Ended)
            }
            // Without trailers nobody knows how it ended.
            Framing::Grpc(_) => Err(EventsError::Broken),
        }
    }

    fn trailers(&self, trailers: Option<&HeaderMap>) -> Result<Happened, EventsError> {
        match &self.framing {
            Framing::Sse { .. } => Ok(Happened::Alive),
            Framing::Grpc(frames) => {
                let status = trailers.and_then(Status::read).ok_or(EventsError::Broken)?;
                match frames.finish() {
                    Ok(()) => self.ended(&status),
                    Err(FrameError::Truncated) => Err(EventsError::Broken),
                    Err(error) => Err(BadAnswer::from(error).into()),
                }
            }
        }
    }

    fn ended(&self, status: &Status) -> Result<Happened, EventsError> {
        if status.is_ok() {
            return Ok(Happened::Ended);
        }
        match status.fault(OperationKind::SubscribeToTask) {
            Ok(fault) => Ok(Happened::Fault(tidy(fault, &self.base), 0)),
            Err(_not_there) => Err(EventsError::Broken),
        }
    }

    fn decode(&self, frame: Frame) -> Result<Happened, EventsError> {
        let Frame::Event { name, data } = frame else { return Ok(Happened::Alive) };
        let decoded = decode_event(self.from, &self.rpc_id, data.as_bytes(), name.as_deref(), &self.json)?;
        Ok(match decoded {
            Ok(event) => Happened::Event(event, data.len()),
            Err(fault) => Happened::Fault(tidy(fault, &self.base), data.len()),
        })
    }
}

fn framing(error: SseError) -> EventsError {
    match error {
        SseError::Truncated => EventsError::Broken,
        SseError::EventTooLong { .. } | SseError::InvalidUtf8 | SseError::LineTooLong { .. } => {
            EventsError::Framing(error)
        }
    }
}
