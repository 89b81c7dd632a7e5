//! A stream, event by event, until the agent closes it.
//!
//! Never closes because of a task's state: the agent decides when a stream ends. A stream that breaks ends with an
//! error, never as if it were finished.

use std::collections::VecDeque;

use a2a::dialect::{R3Bytes, decode_event};
use a2a::sse::{Frame, Parser};
use a2a::{Answer, Dialect, Event};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::{CallError, CallLimits};

/// The events of one call.
#[derive(Debug)]
pub struct Events {
    dialect: Dialect,
    rpc_id: String,
    limits: CallLimits,
    parser: Parser,
    waiting: VecDeque<Frame>,
    source: Source,
}

/// Where events come from.
#[derive(Debug)]
enum Source {
    /// The agent's stream.
    Wire(Incoming),
    /// The one result of an agent that does not stream.
    Answer(Answer),
    /// Nothing comes any more.
    Ended,
}

impl Events {
    pub(crate) fn new(dialect: Dialect, rpc_id: String, body: Incoming, limits: CallLimits) -> Self {
        let parser = Parser::new(limits.events);
        Self { dialect, rpc_id, limits, parser, waiting: VecDeque::new(), source: Source::Wire(body) }
    }

    pub(crate) fn of_answer(dialect: Dialect, answer: Answer, limits: CallLimits) -> Self {
        let parser = Parser::new(limits.events);
        let source = Source::Answer(answer);
        Self { dialect, rpc_id: String::new(), limits, parser, waiting: VecDeque::new(), source }
    }

    /// The next event; `None` once the agent has closed the stream, or after an error.
    pub async fn next(&mut self) -> Option<Result<Event, CallError>> {
        loop {
            match self.waiting.pop_front() {
                Some(Frame::Comment) => {}
                Some(Frame::Event { name, data }) => {
                    let event = self.decode(name.as_deref(), &data);
                    return Some(event.inspect_err(|_| self.end()));
                }
                None => match self.more().await {
                    Ok(More::Frames) => {}
                    Ok(More::Event(event)) => return Some(Ok(event)),
                    Ok(More::Nothing) => return None,
                    Err(error) => {
                        self.end();
                        return Some(Err(error));
                    }
                },
            }
        }
    }

    fn end(&mut self) {
        self.source = Source::Ended;
        self.waiting.clear();
    }

    fn decode(&self, name: Option<&str>, data: &str) -> Result<Event, CallError> {
        let event =
            decode_event((self.dialect, R3Bytes::Auto), &self.rpc_id, data.as_bytes(), name, &self.limits.json)?;
        event.map_err(CallError::Agent)
    }

    /// Reads the next piece of the stream.
    async fn more(&mut self) -> Result<More, CallError> {
        let body = match &mut self.source {
            Source::Wire(body) => body,
            Source::Answer(answer) => {
                let Answer { body, origin } = answer.clone();
                self.source = Source::Ended;
                return Ok(More::Event(Event { body, origin }));
            }
            Source::Ended => return Ok(More::Nothing),
        };
        match tokio::time::timeout(self.limits.idle, body.frame()).await {
            Err(_) => Err(CallError::TimedOut(self.limits.idle)),
            Ok(Some(frame)) => {
                let piece = frame.map_err(CallError::Cut)?.into_data().unwrap_or_default();
                self.waiting.extend(self.parser.push(&piece)?);
                Ok(More::Frames)
            }
            Ok(None) => {
                self.source = Source::Ended;
                self.parser.finish()?;
                Ok(More::Nothing)
            }
        }
    }
}

/// What reading on has brought.
enum More {
    Event(Event),
    Frames,
    Nothing,
}
