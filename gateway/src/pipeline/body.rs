//! The body of every answer: whole bytes, or frames that come through a bounded channel.
//!
//! Never knows a dialect; never buffers more than the channel holds.

use bytes::Bytes;
use egress::Pieces;
use http::HeaderMap;
use http_body::Frame;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// What a caller is sent.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A body of these bytes.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Pieces::from(bytes.into()).boxed_unsync()
}

/// A body without a byte.
#[must_use]
pub fn empty() -> Body {
    full(Bytes::new())
}

/// Something that must live until the last byte has been taken, like a reservation of memory.
pub(crate) fn holding<T: Send + Unpin + 'static>(body: Body, held: T) -> Body {
    Holding { body, _held: held }.boxed_unsync()
}

/// A body of these bytes and what follows them.
pub(crate) fn with_trailers(bytes: impl Into<Bytes>, trailers: HeaderMap) -> Body {
    Pieces::from(bytes.into()).with_trailers(async { Some(Ok(trailers)) }).boxed_unsync()
}

/// A body fed through `frames`; it ends when the other side is dropped.
pub(crate) fn channel(frames: mpsc::Receiver<Frame<Bytes>>) -> Body {
    Channel { frames }.boxed_unsync()
}

struct Holding<T> {
    body: Body,
    _held: T,
}

impl<T: Unpin> http_body::Body for Holding<T> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

struct Channel {
    frames: mpsc::Receiver<Frame<Bytes>>,
}

impl http_body::Body for Channel {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.frames.poll_recv(cx).map(|frame| frame.map(Ok))
    }
}
