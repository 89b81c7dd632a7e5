//! Length-prefixed messages: one byte of flags, four of length, the message. Any chunking.
//!
//! Refuses compressed messages: none was agreed on. Never holds more than one unfinished message, within the limit.

use bytes::{Buf as _, Bytes, BytesMut};

/// Why bytes are no messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The message is compressed.
    #[error("the message is compressed")]
    Compressed,
    /// Flags that do not exist.
    #[error("the message has unknown flags")]
    Flags,
    /// Not exactly one message where one belongs.
    #[error("there is not exactly one message")]
    NotOne,
    /// The bytes end inside a message.
    #[error("the message breaks off")]
    Truncated,
    /// The message is too large.
    #[error("the message is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
}

/// Bytes before each message.
const HEAD: usize = 5;

/// The only message in `body`.
///
/// # Errors
/// [`FrameError`]
pub fn one(body: &[u8]) -> Result<&[u8], FrameError> {
    if body.is_empty() {
        return Err(FrameError::NotOne);
    }
    let (head, rest) = body.split_first_chunk::<HEAD>().ok_or(FrameError::Truncated)?;
    let length = length(*head)?;
    let (message, more) = rest.split_at_checked(length).ok_or(FrameError::Truncated)?;
    if more.is_empty() { Ok(message) } else { Err(FrameError::NotOne) }
}

/// `message` with its prefix.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len().saturating_add(HEAD));
    out.push(0);
    out.extend(u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(message);
    out
}

/// Cuts a stream of bytes into messages.
#[derive(Debug)]
pub struct Frames {
    buffer: BytesMut,
    limit: usize,
}

impl Frames {
    /// Messages of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), limit }
    }

    /// Takes bytes; [`Frames::message`] gives what is whole.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message.
    ///
    /// # Errors
    /// [`FrameError`]; nothing can be read after it.
    pub fn message(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some((head, rest)) = self.buffer.split_first_chunk::<HEAD>() else { return Ok(None) };
        let length = length(*head)?;
        if length > self.limit {
            return Err(FrameError::TooLarge { limit: self.limit });
        }
        if rest.len() < length {
            return Ok(None);
        }
        self.buffer.advance(HEAD);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }

    /// Whether the bytes may end here.
    ///
    /// # Errors
    /// [`FrameError::Truncated`]
    pub fn finish(&self) -> Result<(), FrameError> {
        if self.buffer.is_empty() { Ok(()) } else { Err(FrameError::Truncated) }
    }
}

fn length([flags, length @ ..]: [u8; HEAD]) -> Result<usize, FrameError> {
    match flags {
        0 => Ok(usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX)),
        1 => Err(FrameError::Compressed),
        _ => Err(FrameError::Flags),
    }
}
