//! Which request of an HTTP/1 connection is being answered.
//!
//! The service of a connection *says* when a request comes, when its answer begins to be made and when its last byte
//! was taken; the socket ([`super::guarded`]) *reads* it, to know what the end of the caller's bytes means. One
//! connection answers one request at a time, in one task. Over HTTP/2 it says nothing that anybody reads.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};

/// Shared between service and socket.
#[derive(Debug, Default)]
pub(super) struct Progress {
    requests: AtomicU32,
    phase: AtomicU8,
}

/// What the connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No request is being answered.
    Idle,
    /// A request has been read; nobody has looked at it yet.
    Asked,
    /// It is being answered.
    Answering,
}

impl Progress {
    pub(super) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            ASKED => Phase::Asked,
            ANSWERING => Phase::Answering,
            _ => Phase::Idle,
        }
    }

    /// How many requests have come.
    pub(super) fn requests(&self) -> u32 {
        self.requests.load(Ordering::Relaxed)
    }

    /// A request has come.
    pub(super) fn asked(self: &Arc<Self>) -> Turn {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.phase.store(ASKED, Ordering::Relaxed);
        Turn { progress: Arc::clone(self) }
    }
}

/// One request, until it is dropped: with the last of its answer, or with the connection.
#[derive(Debug)]
pub(super) struct Turn {
    progress: Arc<Progress>,
}

impl Turn {
    /// Somebody looks at it now.
    pub(super) fn begin(&self) {
        self.progress.phase.store(ANSWERING, Ordering::Relaxed);
    }

    /// A body that ends the turn with its last byte.
    pub(super) fn through<B>(self, body: B) -> Answer<B> {
        Answer { body, _turn: self }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.progress.phase.store(IDLE, Ordering::Relaxed);
    }
}

/// The body of an answer, with its turn.
pub(super) struct Answer<B> {
    body: B,
    _turn: Turn,
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

const IDLE: u8 = 0;
const ASKED: u8 = 1;
const ANSWERING: u8 = 2;
