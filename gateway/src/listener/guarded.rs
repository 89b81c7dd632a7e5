//! The socket of a connection, with [`Framing`] between it and hyper.
//!
//! Wraps a TCP stream, gives the same stream up to the first byte that may not be read. Behind a violation in a head
//! stands our own answer: hyper asks for more of a head only when it has written all earlier answers, so it is written
//! here, straight to the socket, and the connection ends. Behind one in a body stands an error of the body: whoever
//! reads it refuses the request in the caller's own words. Either way nothing after the violation is ever a request,
//! and the caller gets time to read the answer before the connection is gone. Never delays or keeps legal bytes.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Buf as _;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::framing::{Framing, Part, Stop};
use super::refusal::{Refusal, Refuse};

/// The wrapped stream.
pub(super) struct Guarded {
    stream: TcpStream,
    framing: Framing,
    refuse: Refuse,
    state: State,
}

enum State {
    Open,
    /// A body broke off.
    Broken,
    /// A head was refused.
    Leaving(Farewell),
    Over,
}

impl Guarded {
    /// `refuse` counts a violation of a head and gives the answer to it.
    pub(super) fn new(stream: TcpStream, refuse: Refuse) -> Self {
        Self { stream, framing: Framing::new(), refuse, state: State::Open }
    }

    fn read_on(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
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

    /// What there is to read after a violation.
    fn after(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.state {
            State::Leaving(farewell) => ready!(farewell.poll(&mut self.stream, cx)),
            State::Open | State::Broken | State::Over => {}
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
            State::Broken | State::Leaving(_) | State::Over => self.after(cx),
        }
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
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
            State::Open | State::Broken | State::Over => Pin::new(&mut this.stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
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

    fn poll(&mut self, stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        match self.go_on(stream, cx) {
            Poll::Ready(_ended) => Poll::Ready(()),
            Poll::Pending => self.deadline.as_mut().poll(cx),
        }
    }

    fn go_on(&mut self, stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
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
