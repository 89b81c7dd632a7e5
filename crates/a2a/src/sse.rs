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
    place: Place,
    line: Vec<u8>,
    event: Pending,
    fault: Option<SseError>,
}

/// Where in the stream the next byte falls, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the first line, which alone may begin with a byte order mark.
    FirstLine,
    /// Right after a CR, whose LF may still come.
    AfterCr,
    /// Anywhere else.
    Within,
}

/// The event being collected.
#[derive(Debug, Default)]
struct Pending {
    name: Option<String>,
    data: Option<String>,
    size: usize,
}

impl Parser {
    /// A parser at the start of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, place: Place::FirstLine, line: Vec::new(), event: Pending::default(), fault: None }
    }

    /// Reads the next piece. Frames that were complete before a fault are given first; the fault then comes with the
    /// next call of `push` or [`finish`](Self::finish), and every call after it gives the fault again.
    ///
    /// # Errors
    /// [`SseError`]: the stream is broken, nothing after this point may be relayed.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, SseError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let mut frames = Vec::new();
        let Err(fault) = self.read(bytes, &mut frames) else { return Ok(frames) };
        self.line = Vec::new();
        self.event = Pending::default();
        self.fault = Some(fault.clone());
        if frames.is_empty() { Err(fault) } else { Ok(frames) }
    }

    /// The other side closed the stream.
    ///
    /// # Errors
    /// [`SseError::Truncated`] inside an event, else the fault that `push` still owed.
    pub fn finish(&self) -> Result<(), SseError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let open = match self.place {
            Place::FirstLine => without_bom(&self.line),
            Place::AfterCr | Place::Within => &self.line,
        };
        let whole = (open.is_empty() || open.starts_with(b":")) && !self.event.is_begun();
        if whole { Ok(()) } else { Err(SseError::Truncated) }
    }

    fn read(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), SseError> {
        let mut rest = bytes;
        if self.place == Place::AfterCr && !rest.is_empty() {
            self.place = Place::Within;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some((line, end)) = rest.iter().position(|b| matches!(b, b'\r' | b'\n')).map(|at| rest.split_at(at)) {
            self.end_line(line, frames)?;
            rest = match end {
                [b'\r', b'\n', after @ ..] => after,
                [b'\r'] => {
                    self.place = Place::AfterCr;
                    &[]
                }
                [_, after @ ..] => after,
                [] => end,
            };
        }
        self.keep(rest)
    }

    /// Keeps the beginning of a line whose end has not come yet.
    fn keep(&mut self, piece: &[u8]) -> Result<(), SseError> {
        if self.line.len().saturating_add(piece.len()) > self.limits.line {
            return Err(SseError::LineTooLong { limit: self.limits.line });
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    /// A line is complete: what was kept of it, and `piece`.
    fn end_line(&mut self, piece: &[u8], frames: &mut Vec<Frame>) -> Result<(), SseError> {
        if self.line.is_empty() && piece.len() <= self.limits.line {
            return self.take_line(piece, frames);
        }
        self.keep(piece)?;
        let mut line = std::mem::take(&mut self.line);
        let taken = self.take_line(&line, frames);
        line.clear();
        self.line = line;
        taken
    }

    fn take_line(&mut self, line: &[u8], frames: &mut Vec<Frame>) -> Result<(), SseError> {
        let line = match std::mem::replace(&mut self.place, Place::Within) {
            Place::FirstLine => without_bom(line),
            Place::AfterCr | Place::Within => line,
        };
        let line = std::str::from_utf8(line).map_err(|_| SseError::InvalidUtf8)?;
        if line.is_empty() {
            frames.extend(self.event.dispatch());
        } else if line.starts_with(':') {
            frames.push(Frame::Comment);
        } else {
            self.event.size = self.event.size.saturating_add(line.len()).saturating_add(1);
            if self.event.size > self.limits.event {
                return Err(SseError::EventTooLong { limit: self.limits.event });
            }
            self.event.take_field(line);
        }
        Ok(())
    }
}

impl Pending {
    const fn is_begun(&self) -> bool {
        self.name.is_some() || self.data.is_some()
    }

    fn take_field(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => self.add_data(value),
            "event" => self.name = (!value.is_empty()).then(|| value.to_owned()),
            _ => {}
        }
    }

    /// Some agents begin each `data:` with an RFC 7464 record separator; it is no part of the JSON text.
    fn add_data(&mut self, value: &str) {
        let value = value.strip_prefix('\u{1e}').unwrap_or(value);
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => self.data = Some(value.to_owned()),
        }
    }

    /// A blank line: gives the event, if there was any data.
    fn dispatch(&mut self) -> Option<Frame> {
        let Self { name, data, size: _ } = std::mem::take(self);
        data.map(|data| Frame::Event { name, data })
    }
}

fn without_bom(line: &[u8]) -> &[u8] {
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
}

/// Appends one event. Line ends inside `data` become further `data:` lines, so nothing in it can start a new field.
pub fn write_event(name: Option<&str>, data: &[u8], out: &mut Vec<u8>) {
    out.reserve(data.len().saturating_add(16));
    if let Some(name) = name {
        out.extend_from_slice(b"event: ");
        out.extend(name.bytes().filter(|byte| !byte.is_ascii_control()));
        out.push(b'\n');
    }
    write_lines(b"data: ", data, out);
    out.push(b'\n');
}

/// Appends a comment; `write_comment("ping", …)` keeps a connection alive.
pub fn write_comment(text: &str, out: &mut Vec<u8>) {
    write_lines(b": ", text.as_bytes(), out);
    out.push(b'\n');
}

fn write_lines(prefix: &[u8], text: &[u8], out: &mut Vec<u8>) {
    let mut rest = Some(text);
    while let Some(text) = rest {
        out.extend_from_slice(prefix);
        let (line, end) = match text.iter().position(|b| matches!(b, b'\r' | b'\n')) {
            Some(at) => text.split_at(at),
            None => (text, &[][..]),
        };
        out.extend_from_slice(line);
        out.push(b'\n');
        rest = match end {
            [] => None,
            [b'\r', b'\n', after @ ..] | [_, after @ ..] => Some(after),
        };
    }
}

#[cfg(test)]
mod tests;
