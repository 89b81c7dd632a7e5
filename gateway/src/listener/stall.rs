//! A socket whose writes must make progress: a peer that stops reading loses its connection.
//!
//! Wraps a stream, gives the same stream; an error of kind `TimedOut` when a write has been waiting for longer than
//! allowed. Reads wait as long as they like: other limits look after them.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// The wrapped stream.
pub(super) struct Stalling<S> {
    stream: S,
    patience: Duration,
    deadline: Pin<Box<Sleep>>,
    waiting: Waiting,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    No,
    Yes,
}

impl<S> Stalling<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, deadline: Box::pin(tokio::time::sleep(patience)), waiting: Waiting::No }
    }

    /// Starts, checks or ends the wait, by whether the write made progress.
    fn judge<T>(&mut self, cx: &mut Context<'_>, progress: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.waiting = Waiting::No;
            return progress;
        }
        if self.waiting == Waiting::No {
            self.waiting = Waiting::Yes;
            self.deadline.as_mut().reset(Instant::now() + self.patience);
        }
        ready!(self.deadline.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalling<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalling<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.judge(cx, progress)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(cx, progress)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.judge(cx, progress)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.judge(cx, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn peer_that_stops_reading_ends_the_write() {
        let (near, far) = tokio::io::duplex(16);
        let mut stream = Stalling::new(near, Duration::from_millis(1));
        let error = stream.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(far);
    }

    #[tokio::test]
    async fn peer_that_reads_gets_everything() {
        let (near, mut far) = tokio::io::duplex(16);
        let mut stream = Stalling::new(near, Duration::from_secs(60));
        let mut got = [0; 64];
        let (written, read) = tokio::join!(stream.write_all(&[7; 64]), far.read_exact(&mut got));
        written.unwrap();
        read.unwrap();
        assert_eq!(got, [7; 64]);
    }
}
