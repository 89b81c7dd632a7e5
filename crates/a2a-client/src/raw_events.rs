//! A stream as one connection carries it, event by event, until the agent closes it.
//!
//! Never closes because of a task's state: the agent decides when a stream ends. A stream that breaks ends with an
//! error, never as if it were finished. Dropping it hangs up.

use std::collections::VecDeque;

use a2a::dialect::decode_event;
use a2a::grpc::{self, Frames, Status};
use a2a::sse::{Frame, Parser, SseError};
use a2a::{Answer, Event, OperationKind, Version};
use http::Response;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::error::CallError;
use crate::exchange::{check_grpc_head, ended_well, framing, of_fault};
use crate::{CallLimits, Chosen};

/// The events of one connection.
#[derive(Debug)]
pub(crate) struct RawEvents {
    chosen: Chosen,
    rpc_id: String,
    limits: CallLimits,
    source: Source,
    /// An event that was looked at and given back.
    given_back: Option<Event>,
}

/// Where events come from.
#[derive(Debug)]
enum Source {
    Sse {
        body: Incoming,
        parser: Parser,
        waiting: VecDeque<Frame>,
    },
    Grpc {
        body: Incoming,
        frames: Frames,
    },
    /// The one result of an agent that does not stream.
    Answer(Answer),
    /// Nothing comes any more.
    Ended,
}

/// What reading on has brought.
enum Next {
    Event(Event),
    /// Bytes, perhaps of an event.
    More,
    End,
}

impl RawEvents {
    pub(crate) fn sse(chosen: Chosen, rpc_id: String, body: Incoming, limits: CallLimits) -> Self {
        let source = Source::Sse { body, parser: Parser::new(limits.events), waiting: VecDeque::new() };
        Self { chosen, rpc_id, limits, source, given_back: None }
    }

    pub(crate) fn answer(chosen: Chosen, answer: Answer, limits: CallLimits) -> Self {
        Self { chosen, rpc_id: String::new(), limits, source: Source::Answer(answer), given_back: None }
    }

    /// A gRPC stream, unless its head says already that there is none.
    pub(crate) fn grpc(chosen: Chosen, response: Response<Incoming>, limits: CallLimits) -> Result<Self, CallError> {
        check_grpc_head(&response)?;
        let (head, body) = response.into_parts();
        let source = match Status::read(&head.headers) {
            Some(status) => {
                ended_well(&status, OperationKind::SubscribeToTask)?;
                Source::Ended
            }
            None => Source::Grpc { body, frames: Frames::new(limits.events.event) },
        };
        Ok(Self { chosen, rpc_id: String::new(), limits, source, given_back: None })
    }

    /// The next event; `None` once the agent has closed the stream, or after an error.
    pub(crate) async fn next(&mut self) -> Option<Result<Event, CallError>> {
        if let Some(event) = self.given_back.take() {
            return Some(Ok(event));
        }
        loop {
            let read = match self.waiting() {
                Ok(Next::More) => self.read_on().await,
                other => other,
            };
            match read {
                Ok(Next::Event(event)) => return Some(Ok(event)),
                Ok(Next::More) => {}
                Ok(Next::End) => {
                    self.source = Source::Ended;
                    return None;
                }
                Err(error) => {
                    self.source = Source::Ended;
                    return Some(Err(error));
                }
            }
        }
    }

    /// Gives an event back, to come next again.
    pub(crate) fn give_back(&mut self, event: Event) {
        self.given_back = Some(event);
    }

    /// Whether a subscription here begins with the task as it is (A2A 1.0 §3.1.6).
    pub(crate) fn begins_with_task(&self) -> bool {
        self.chosen.dialect.version() == Version::V10
    }

    /// What has arrived whole and was not given yet.
    fn waiting(&mut self) -> Result<Next, CallError> {
        match &mut self.source {
            Source::Sse { waiting, .. } => match waiting.pop_front() {
                None => Ok(Next::More),
                Some(Frame::Comment) => self.waiting(),
                Some(Frame::Event { name, data }) => self.decode(name.as_deref(), &data),
            },
            Source::Grpc { frames, .. } => match frames.message().map_err(framing)? {
                None => Ok(Next::More),
                Some(message) => Ok(Next::Event(grpc::decode_event(&message, &self.limits.json)?)),
            },
            Source::Answer(_) => Ok(self.take_answer()),
            Source::Ended => Ok(Next::End),
        }
    }

    fn take_answer(&mut self) -> Next {
        match std::mem::replace(&mut self.source, Source::Ended) {
            Source::Answer(Answer { body, origin }) => Next::Event(Event { body, origin }),
            Source::Sse { .. } | Source::Grpc { .. } | Source::Ended => Next::End,
        }
    }

    fn decode(&self, name: Option<&str>, data: &str) -> Result<Next, CallError> {
        let Chosen { dialect, address } = &self.chosen;
        let from = (*dialect, address.r3_bytes);
        match decode_event(from, &self.rpc_id, data.as_bytes(), name, &self.limits.json)? {
            Ok(event) => Ok(Next::Event(event)),
            Err(fault) => Err(of_fault(fault, dialect.version())),
        }
    }

    /// Reads the next piece of the stream.
    async fn read_on(&mut self) -> Result<Next, CallError> {
        let idle = self.limits.idle;
        let body = match &mut self.source {
            Source::Sse { body, .. } | Source::Grpc { body, .. } => body,
            Source::Answer(_) | Source::Ended => return Ok(Next::End),
        };
        let frame = tokio::time::timeout(idle, body.frame()).await.map_err(|_| CallError::TimedOut(idle))?;
        let frame = frame.transpose().map_err(CallError::cut)?;
        match &mut self.source {
            Source::Sse { parser, waiting, .. } => match frame {
                Some(frame) => {
                    let piece = frame.into_data().unwrap_or_default();
                    waiting.extend(parser.push(&piece).map_err(CallError::Stream)?);
                    Ok(Next::More)
                }
                None => parser.finish().map(|()| Next::End).map_err(CallError::Stream),
            },
            Source::Grpc { frames, .. } => match frame.map(hyper::body::Frame::into_data) {
                Some(Ok(piece)) => {
                    frames.push(&piece);
                    Ok(Next::More)
                }
                Some(Err(trailers)) => {
                    let status = trailers.trailers_ref().and_then(Status::read);
                    let status = status.ok_or(CallError::Stream(SseError::Truncated))?;
                    frames.finish().map_err(framing)?;
                    ended_well(&status, OperationKind::SubscribeToTask)?;
                    Ok(Next::End)
                }
                // Without trailers nobody knows how it ended.
                None => Err(CallError::Stream(SseError::Truncated)),
            },
            Source::Answer(_) | Source::Ended => Ok(Next::End),
        }
    }
}
