//! Server-sent events: bytes in any pieces → frames, and frames → bytes.
//!
//! Takes what an agent streams (WHATWG HTML §9.2, read strictly: invalid UTF-8 and over-long lines or events end the
//! stream) and gives events and comments. Writes events that nothing inside their data can break out of. `id:` and
//! `retry:` mean nothing in A2A and are not kept. Never looks inside the data, never does I/O.

/// What one stream may make us hold, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All lines of one event together (comments apart).
    pub event: usize,
    /// One line.
    pub line: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { event: 1024 * 1024, line: 1024 * 1024 }
    }
}

/// One thing that happened on the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// An event: its `data:` lines joined by line feeds.
    Event {
        /// The value of `event:`, if it was given and not empty.
        name: Option<String>,
        /// The data.
        data: String,
    },
    /// A comment line: the other side is alive.
    Comment,
}

/// Why a stream cannot be read any further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// The lines of one event are too long together.
    #[error("an event is longer than {limit} bytes")]
    EventTooLong {
        /// The limit.
        limit: usize,
    },
    /// A line is not UTF-8.
    #[error("the stream is not valid UTF-8")]
    InvalidUtf8,
    /// A line is too long.
    #[error("a line is longer than {limit} bytes")]
    LineTooLong {
        /// The limit.
        limit: usize,
    },
    /// The stream ended inside an event.
    #[error("the stream ended inside an event")]
    Truncated,
}

/// Bytes → frames. What comes out does not depend on how the bytes were cut.
#[derive(Debug)]
pub struct Parser {
    limits: Limits,
}

impl Parser {
    /// A parser at the start of a stream.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self { limits }
    }

    /// Reads the next piece. Frames that were complete before a fault are given first; the fault then comes with the
    /// next call of `push` or [`finish`](Self::finish), and every call after it gives the fault again.
    ///
    /// # Errors
    /// [`SseError`]: the stream is broken, nothing after this point may be relayed.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, SseError> {
        let _ = (bytes, self.limits);
        todo!()
    }

    /// The other side closed the stream.
    ///
    /// # Errors
    /// [`SseError::Truncated`] inside an event, else the fault that `push` still owed.
    pub fn finish(&self) -> Result<(), SseError> {
        todo!()
    }
}

/// Appends one event. Line ends inside `data` become further `data:` lines, so nothing in it can start a new field.
pub fn write_event(name: Option<&str>, data: &[u8], out: &mut Vec<u8>) {
    let _ = (name, data, out);
    todo!()
}

/// Appends a comment; `write_comment("ping", …)` keeps a connection alive.
pub fn write_comment(text: &str, out: &mut Vec<u8>) {
    let _ = (text, out);
    todo!()
}
