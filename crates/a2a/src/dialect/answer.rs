//! The agent's wire → [`Answer`], [`Event`], [`Fault`]. Lenient in what agents are known to do, strict where two
//! readers might differ. Errors never quote what the agent sent.

use json::Limits;

use crate::{Answer, Event, Fault, OperationKind, dialect::Dialect};

/// What an agent sent back to a call.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// The whole body.
    pub body: &'a [u8],
}

/// Why an agent's answer is none. No variant holds content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    /// An explicit `kind` or the dialect contradicts the members.
    #[error("the answer's members contradict its kind")]
    Contradiction,
    /// Neither `result` nor `error`.
    #[error("the answer has neither a result nor an error")]
    Empty,
    /// Not JSON by its content type (`text/html` and such).
    #[error("the answer is not JSON by its content type")]
    NotJson,
    /// The document is unreadable.
    #[error("the answer is unreadable: {0}")]
    Read(#[from] json::ReadError),
    /// An HTTP error without an A2A error in it.
    #[error("HTTP status {0} without an A2A error")]
    Status(u16),
    /// Two results where one belongs.
    #[error("the answer has more than one result")]
    Two,
    /// No known shape.
    #[error("the answer has no known shape: {0}")]
    UnknownShape(&'static str),
    /// Another request's id.
    #[error("the answer carries another request's id")]
    WrongId,
}

/// Reads the whole answer to a call that is no stream (or the plain answer to one that should have been).
///
/// # Errors
/// [`BadAnswer`] when it is no A2A answer; the agent's own errors are the inner [`Fault`].
#[expect(clippy::todo, reason = "the interface lands before the body")]
pub fn decode_answer(
    dialect: Dialect,
    kind: OperationKind,
    rpc_id: &str,
    received: Received<'_>,
    limits: &Limits,
) -> Result<Result<Answer, Fault>, BadAnswer> {
    let _ = (dialect, kind, rpc_id, received, limits);
    todo!()
}

/// Reads one event of a stream: the joined `data:` lines and the `event:` name.
///
/// # Errors
/// [`BadAnswer`] when it is no A2A event; the agent's own errors are the inner [`Fault`].
#[expect(clippy::todo, reason = "the interface lands before the body")]
pub fn decode_event(
    dialect: Dialect,
    rpc_id: &str,
    data: &[u8],
    event_name: Option<&str>,
    limits: &Limits,
) -> Result<Result<Event, Fault>, BadAnswer> {
    let _ = (dialect, rpc_id, data, event_name, limits);
    todo!()
}
