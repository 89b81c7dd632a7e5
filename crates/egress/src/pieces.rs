//! A whole body that is handed out piece by piece.
//!
//! Megabytes in one piece are one call of the system, in which nobody else has the processor for milliseconds. Between two pieces the
//! thread offers its place to others.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// Most bytes of a piece; a body that is no longer is one.
pub const PIECE: usize = 128 * 1024;

/// Bytes in memory as a body whose length is known.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    rest: Bytes,
}

impl From<Bytes> for Pieces {
    fn from(bytes: Bytes) -> Self {
        Pieces { rest: bytes }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        if !self.rest.is_empty() {
            std::thread::yield_now();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;

    #[tokio::test]
    async fn every_byte_comes_once_in_pieces_of_a_bounded_size() {
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, PIECE * 3 + 7] {
            let bytes: Bytes = (0..=u8::MAX).cycle().take(length).collect();
            let mut body = Pieces::from(bytes.clone());
            let mut came = Vec::new();
            while !body.is_end_stream() {
                assert_eq!(body.size_hint().exact(), Some((length - came.len()) as u64));
                let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
                assert!((1..=PIECE).contains(&piece.len()));
                came.extend_from_slice(&piece);
            }
            assert!(came == bytes && body.frame().await.is_none(), "{length}");
        }
    }
}
