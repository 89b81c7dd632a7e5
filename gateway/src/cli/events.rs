//! Server-sent events of the admin API, one by one, as they come.
//!
//! Takes the answer of a request that streams; gives events with their data as JSON. What is too long or no JSON ends
//! the reading with an error. Comments, which only say that the other side is alive, are left out.

use a2a::sse::{Frame, Limits, Parser};
use anyhow::Context as _;
use serde_json::Value;
use std::collections::VecDeque;

/// One event.
pub(super) struct Event {
    /// Its name.
    pub name: String,
    /// What it tells.
    pub data: Value,
}

/// A stream of events that is being read.
pub(super) struct Events {
    response: reqwest::Response,
    parser: Parser,
    heard: VecDeque<Event>,
}

impl Events {
    /// Nothing is read yet.
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self { response, parser: Parser::new(Limits::default()), heard: VecDeque::new() }
    }

    /// The next event; nothing when the gateway has ended the stream.
    ///
    /// # Errors
    /// The connection broke, or what came is no event.
    pub(super) async fn next(&mut self) -> anyhow::Result<Option<Event>> {
        loop {
            if let Some(event) = self.heard.pop_front() {
                return Ok(Some(event));
            }
            let piece = self.response.chunk().await.context("the connection to the admin API broke")?;
            let Some(piece) = piece else { return Ok(None) };
            for frame in self.parser.push(&piece)? {
                let Frame::Event { name, data } = frame else { continue };
                let data = serde_json::from_str(&data).context("the admin API told something that is no JSON")?;
                self.heard.push_back(Event { name: name.unwrap_or_default(), data });
            }
        }
    }
}
