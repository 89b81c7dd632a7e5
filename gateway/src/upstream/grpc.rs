//! An agent's answer over gRPC: one message and its trailers, or trailers alone.
//!
//! Takes the response's head and body; gives the answer or the agent's fault, within limits. Streams are
//! [`Events`](super::events::Events)' business.

use crate::pipeline::limit::Slot;
use crate::upstream::receive::ReceiveError;
use a2a::dialect::BadAnswer;
use a2a::grpc::{self, FrameError, Status};
use a2a::{Answer, Fault, OperationKind};
use http::HeaderMap;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

/// Why there is no whole answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GrpcError {
    /// It is no answer.
    #[error(transparent)]
    Bad(#[from] BadAnswer),
    /// It did not come.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
}

impl From<FrameError> for GrpcError {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::TooLarge { limit } => Self::Receive(ReceiveError::TooLarge { limit }),
            FrameError::Truncated => Self::Receive(ReceiveError::Broken),
            FrameError::Compressed | FrameError::Flags | FrameError::NotOne => Self::Bad(error.into()),
        }
    }
}

/// What an answer may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) bytes: usize,
    pub(crate) deadline: Instant,
    pub(crate) json: json::Limits,
}

/// Whether the head is one of gRPC at all.
pub(crate) fn check_head(status: http::StatusCode, headers: &HeaderMap) -> Result<(), BadAnswer> {
    if !status.is_success() {
        return Err(BadAnswer::Status(status.as_u16()));
    }
    let content_type = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if content_type.is_some_and(grpc::is_grpc) { Ok(()) } else { Err(BadAnswer::NotGrpc) }
}

/// Reads the answer to a call that is no stream, and the bytes it was written in.
pub(crate) async fn answer(
    kind: OperationKind,
    headers: &HeaderMap,
    body: &mut Incoming,
    bounds: Bounds,
    slot: &mut Slot,
) -> Result<(Result<Answer, Fault>, usize), GrpcError> {
    let mut frames = grpc::Frames::new(bounds.bytes);
    let (mut message, mut status, mut size) = (None, Status::read(headers), 0_usize);
    while status.is_none() {
        let frame = match timeout_at(bounds.deadline, body.frame()).await {
            Err(_elapsed) => return Err(ReceiveError::TimedOut.into()),
            Ok(None) => break,
            Ok(Some(frame)) => frame.map_err(|_| ReceiveError::Broken)?,
        };
        let piece = match frame.into_data() {
            Ok(piece) => piece,
            Err(frame) => {
                status = frame.trailers_ref().and_then(Status::read);
                break;
            }
        };
        size = size.saturating_add(piece.len());
        slot.grow(piece.len()).map_err(ReceiveError::from)?;
        frames.push(&piece);
        while let Some(next) = frames.message()? {
            if message.replace(next).is_some() {
                return Err(FrameError::NotOne.into());
            }
        }
    }
    let status = status.ok_or(ReceiveError::Broken)?;
    if !status.is_ok() {
        return Ok((Err(status.fault(kind)?), size));
    }
    frames.finish()?;
    let message = message.ok_or(FrameError::NotOne)?;
    Ok((Ok(grpc::decode_answer(kind, &message, &bounds.json)?), size))
}
