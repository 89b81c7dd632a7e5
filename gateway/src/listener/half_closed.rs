//! A caller who has sent its last byte: it may only have shut its sending side, or be gone. Both look the same.
//!
//! *Takes* the socket after the end of the caller's bytes, while a request is being answered. *Gives* an error when
//! the caller turns out to be gone, and nothing while it listens. Only a byte that is sent tells the difference: a
//! peer that is gone answers with a reset. Before the answer has begun that byte is an interim response (RFC 9110
//! §15.2: a client must bear any number of them, asked for or not); after that it is the stream's own ping, which is
//! asked for by cancelling a token. *Never* writes into an answer that has begun.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// Whether something may be written now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Nothing of the answer has been written, and nothing is waiting to be.
    Free,
    /// The answer has begun.
    Taken,
}

/// The watch over one such caller.
pub(super) struct HalfClosed {
    tick: Pin<Box<Sleep>>,
    wait: Duration,
    asked: Asked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// A byte is on its way, or is not needed.
    Yes,
    /// One is to be sent.
    No,
}

impl HalfClosed {
    pub(super) fn new() -> Self {
        Self { tick: Box::pin(tokio::time::sleep(FIRST)), wait: FIRST, asked: Asked::No }
    }

    /// Pending while the caller listens, as far as anybody can tell; else why it does not.
    pub(super) fn poll(&mut self, stream: &TcpStream, line: Line, cx: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            if self.asked == Asked::No {
                self.asked = Asked::Yes;
                if line == Line::Free
                    && let Err(error) = ask(stream)
                {
                    return Poll::Ready(error);
                }
            }
            ready!(self.tick.as_mut().poll(cx));
            // A reset after the peer's end is no event of its own; it is asked for.
            match stream.take_error() {
                Ok(None) => {}
                Ok(Some(error)) | Err(error) => return Poll::Ready(error),
            }
            self.wait = self.wait.saturating_mul(2).min(LAST);
            if self.wait == LAST {
                self.asked = Asked::No;
            }
            self.tick.as_mut().reset(Instant::now() + self.wait);
        }
    }
}

fn ask(stream: &TcpStream) -> io::Result<()> {
    match stream.try_write(INTERIM) {
        Ok(written) if written == INTERIM.len() => Ok(()),
        // Half a response cannot be taken back.
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        // Nothing fits: the peer does not read, and other limits look after that.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(error),
    }
}

/// What hyper writes to callers who wait for leave to send.
pub(super) const INTERIM: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// The first look for an answer to the question; each next one waits twice as long.
const FIRST: Duration = Duration::from_millis(10);
/// At most so long; and so often a caller who listens is asked again.
const LAST: Duration = Duration::from_secs(5);
