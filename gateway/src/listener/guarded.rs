//! The socket of a connection, with [`Framing`] between it and hyper.
//!
//! Wraps the bytes of a connection, gives the same stream up to the first byte that may not be read. Behind a violation in a head
//! stands our own answer: hyper asks for more of a head only when it has written all earlier answers, so it is written
//! here, straight to the socket, and the connection ends. Behind one in a body stands an error of the body: whoever
//! reads it refuses the request in the caller's own words. Either way nothing after the violation is ever a request,
//! and the caller gets time to read the answer before the connection is gone.
//!
//! The end of the caller's bytes is told to hyper only where it means the end: inside a request, or between two. While
//! a request is being answered it may mean either "I have asked, now I listen" or "I am gone"; [`HalfClosed`] finds
//! out which (docs/adr/0007). Never delays or keeps legal bytes.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Buf as _;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;

use super::framing::{Framing, Part, Stop};
use super::half_closed::{HalfClosed, INTERIM, Line};
use super::progress::{Phase, Progress};
use super::refusal::{Refusal, Refuse};
use super::socket::Socket;

/// The wrapped stream.
pub(super) struct Guarded {
    stream: Socket,
    framing: Framing,
    refuse: Refuse,
    progress: Arc<Progress>,
    half_closed: CancellationToken,
    written: Written,
    state: State,
}

/// What hyper has written.
struct Written {
    /// The number of the last request of whose answer something was written.
    request: u32,
    /// Whether something waits until the peer reads.
    waits: bool,
}

enum State {
    Open,
    /// The caller has sent its last byte while a request was being answered.
    HalfClosed(HalfClosed),
    /// The connection broke.
    Lost(io::ErrorKind),
    /// A body broke off.
    Broken,
    /// A head was refused.
    Leaving(Farewell),
    Over,
}

impl Guarded {
    /// `refuse` counts a violation of a head and gives the answer to it.
    /// `half_closed` is cancelled when the caller has sent its last byte.
    pub(super) fn new(stream: Socket, refuse: Refuse, progress: Arc<Progress>, half_closed: CancellationToken) -> Self {
        let written = Written { request: 0, waits: false };
        Self { stream, framing: Framing::new(), refuse, progress, half_closed, written, state: State::Open }
    }

    fn read_on(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let (before, room) = (buf.filled().len(), buf.remaining());
        if let Err(error) = ready!(Pin::new(&mut self.stream).poll_read(cx, buf)) {
            self.state = State::Lost(error.kind());
            return self.lost(error.kind(), cx);
        }
        if buf.filled().len() == before && room > 0 {
            return self.ended(cx);
        }
        if let Err(stop) = self.framing.read(buf.filled().get(before..).unwrap_or_default()) {
            self.stop(stop, before, buf);
            if buf.filled().len() == before {
                return self.after(cx);
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Keeps what may be passed on, and settles what comes after it.
    fn stop(&mut self, stop: Stop, before: usize, buf: &mut ReadBuf<'_>) {
        let mut keep = before + stop.at;
        if stop.part == Part::Nothing {
            // Without a byte of this request hyper would take our refusal for a caller who has left, and drop the
            // call before it. One letter is the beginning of any method.
            if let Some(byte) = buf.filled_mut().get_mut(keep) {
                *byte = b'X';
                keep += 1;
            }
        }
        buf.set_filled(keep);
        self.state = match stop.part {
            Part::Nothing | Part::Head => {
                State::Leaving(Farewell::new((self.refuse)(Refusal::Framing(stop.violation.problem()))))
            }
            Part::Body => State::Broken,
        };
    }

    /// The caller has sent its last byte.
    fn ended(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.framing.is_between_requests() {
            return Poll::Ready(Ok(()));
        }
        match (self.progress.phase(), self.written.waits) {
            (Phase::Idle, false) => return Poll::Ready(Ok(())),
            // Whatever comes of it, the request was made: somebody must see it first, and leave a record.
            (Phase::Asked, _) => return later(cx),
            // A caller of HTTP/1.0 cannot be asked whether it is there (RFC 9110 §15.2).
            (Phase::Answering, _) if self.framing.is_http10() => return Poll::Ready(Ok(())),
            (Phase::Idle | Phase::Answering, _) => {}
        }
        // Past TLS nothing can be written to find out; a caller that ends its side of TLS counts as gone.
        let Some(stream) = self.stream.plain() else { return Poll::Ready(Ok(())) };
        let answer_has_begun = self.written.waits || self.written.request == self.progress.requests();
        let line = if answer_has_begun { Line::Taken } else { Line::Free };
        if !matches!(self.state, State::HalfClosed(_)) {
            self.half_closed.cancel();
            self.state = State::HalfClosed(HalfClosed::new());
        }
        let State::HalfClosed(watch) = &mut self.state else { return Poll::Pending };
        watch.poll(stream, line, cx).map(Err)
    }

    /// The connection broke. A request that came over it is seen by somebody before it goes down with it.
    fn lost(&self, kind: io::ErrorKind, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.progress.phase() {
            Phase::Asked => later(cx),
            Phase::Idle | Phase::Answering => Poll::Ready(Err(kind.into())),
        }
    }

    fn wrote(&mut self, first: &[u8], progress: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.written.waits = progress.is_pending();
        let request = self.progress.requests();
        if self.written.request != request && !first.starts_with(INTERIM) {
            self.written.request = request;
        }
        progress
    }

    /// What there is to read after a violation.
    fn after(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.state {
            State::Leaving(farewell) => ready!(farewell.poll(&mut self.stream, cx)),
            State::Open | State::HalfClosed(_) | State::Lost(_) | State::Broken | State::Over => {}
        }
        if matches!(self.state, State::Leaving(_)) {
            self.state = State::Over;
        }
        Poll::Ready(Err(io::ErrorKind::InvalidData.into()))
    }
}

impl AsyncRead for Guarded {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.state {
            State::Open => self.read_on(cx, buf),
            State::HalfClosed(_) => self.ended(cx),
            State::Lost(kind) => self.lost(kind, cx),
            State::Broken | State::Leaving(_) | State::Over => self.after(cx),
        }
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.wrote(buf, progress)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if matches!(this.state, State::Broken) {
            this.state = State::Leaving(Farewell::new(Bytes::new()));
        }
        match &mut this.state {
            State::Leaving(farewell) => farewell.poll(&mut this.stream, cx).map(Ok),
            State::Open | State::HalfClosed(_) | State::Lost(_) | State::Broken | State::Over => {
                Pin::new(&mut this.stream).poll_shutdown(cx)
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.wrote(bufs.first().map(|first| &**first).unwrap_or_default(), progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

fn later<T>(cx: &Context<'_>) -> Poll<T> {
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// The last answer of a connection: written, then the peer's remaining bytes are read and forgotten for a while, for
/// a socket that is closed over unread bytes resets the connection, and takes the answer with it.
struct Farewell {
    answer: Bytes,
    step: Step,
    deadline: Pin<Box<Sleep>>,
    left: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Write,
    Shut,
    Discard,
}

impl Farewell {
    fn new(answer: Bytes) -> Self {
        Self { answer, step: Step::Write, deadline: Box::pin(tokio::time::sleep(PATIENCE)), left: MOST }
    }

    fn poll(&mut self, stream: &mut Socket, cx: &mut Context<'_>) -> Poll<()> {
        match self.go_on(stream, cx) {
            Poll::Ready(_ended) => Poll::Ready(()),
            Poll::Pending => self.deadline.as_mut().poll(cx),
        }
    }

    fn go_on(&mut self, stream: &mut Socket, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.step == Step::Write {
            if self.answer.is_empty() {
                self.step = Step::Shut;
                break;
            }
            let written = ready!(Pin::new(&mut *stream).poll_write(cx, &self.answer))?;
            self.answer.advance(written);
        }
        if self.step == Step::Shut {
            ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
            self.step = Step::Discard;
        }
        let mut scratch = [0; 2048];
        loop {
            let mut unread = ReadBuf::new(&mut scratch);
            ready!(Pin::new(&mut *stream).poll_read(cx, &mut unread))?;
            match self.left.checked_sub(unread.filled().len()) {
                Some(left) if !unread.filled().is_empty() => self.left = left,
                Some(_) | None => return Poll::Ready(Ok(())),
            }
        }
    }
}

/// How long a refused peer may take to read its answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How much of what it still sends is read for that.
const MOST: usize = 1024 * 1024;
