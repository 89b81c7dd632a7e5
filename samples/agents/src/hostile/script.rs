//! What a scripted agent answers: replies as lists of bytes, pauses and endings.
//!
//! A [`Reply`] is written byte by byte as the script says, so it can be as wrong as a test needs. A [`Script`] chooses the
//! reply to each request.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::RawRequest;

/// Which reply each request gets.
#[derive(Clone)]
pub struct Script(Arc<dyn Fn(&RawRequest) -> Reply + Send + Sync>);

impl Script {
    /// The same reply to every request.
    #[must_use]
    pub fn always(reply: Reply) -> Self {
        Self::by(move |_| reply.clone())
    }

    /// One reply after the other, over all connections; the last one repeats.
    #[must_use]
    pub fn each(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        let next = AtomicUsize::new(0);
        Self::by(move |_| {
            let at = next.fetch_add(1, Ordering::Relaxed);
            replies.get(at).or_else(|| replies.last()).cloned().unwrap_or_default()
        })
    }

    /// The reply that `choose` makes of the request.
    #[must_use]
    pub fn by(choose: impl Fn(&RawRequest) -> Reply + Send + Sync + 'static) -> Self {
        Self(Arc::new(choose))
    }

    pub(super) fn reply(&self, request: &RawRequest) -> Reply {
        (self.0)(request)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

impl From<Reply> for Script {
    fn from(reply: Reply) -> Self {
        Self::always(reply)
    }
}

/// Steps of an answer, built front to back. What is not said is not sent: after the last step the connection simply waits
/// for the next request, so a stream without [`end`](Self::end), [`close`](Self::close) or [`reset`](Self::reset) hangs.
///
/// ```
/// use sample_agents::hostile::{Gate, Reply};
/// let go = Gate::new();
/// let reply = Reply::sse().event(r#"{"kind":"status-update"}"#).wait(&go).bytes("7\r\ndata: {").reset();
/// # let _ = reply;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reply {
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Bytes(Bytes),
    Wait(Gate),
    Pause(Duration),
    Forever(Bytes),
    Hang,
    Close,
    Reset,
}

impl Reply {
    /// Nothing yet; also the answer that never comes.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// A whole answer with `Content-Length`; the connection stays open.
    #[must_use]
    pub fn whole(status: u16, media_type: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status} Status\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n");
        Self::nothing().bytes([head.as_bytes(), body].concat())
    }

    /// A whole `application/json` answer.
    #[must_use]
    pub fn json(status: u16, body: impl AsRef<[u8]>) -> Self {
        Self::whole(status, "application/json", body)
    }

    /// The head of an event stream with chunked framing.
    #[must_use]
    pub fn sse() -> Self {
        Self::head("200 OK", &[("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])
    }

    /// A status line and headers, then the empty line.
    #[must_use]
    pub fn head(status: &str, headers: &[(&str, &str)]) -> Self {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        Self::nothing().bytes(format!("HTTP/1.1 {status}\r\n{headers}\r\n"))
    }

    /// Bytes as they are, in one write.
    #[must_use]
    pub fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Bytes(Bytes::from(bytes.into())));
        self
    }

    /// One chunk of chunked framing, in one write.
    #[must_use]
    pub fn chunk(self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        self.bytes([format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
    }

    /// The text in several chunks, cut at these byte positions, with `gap` between the writes.
    #[must_use]
    pub fn chunks_cut_at(mut self, bytes: impl AsRef<[u8]>, cuts: &[usize], gap: Duration) -> Self {
        let bytes = bytes.as_ref();
        let ends = cuts.iter().copied().chain([bytes.len()]);
        let mut start = 0;
        for end in ends {
            self = self.chunk(bytes.get(start..end).unwrap_or_default()).pause(gap);
            start = end;
        }
        self
    }

    /// One event with this data on one line, as one chunk.
    #[must_use]
    pub fn event(self, data: impl AsRef<str>) -> Self {
        self.chunk(format!("data: {}\n\n", data.as_ref()))
    }

    /// The clean end of chunked framing; the connection stays open.
    #[must_use]
    pub fn end(self) -> Self {
        self.bytes("0\r\n\r\n")
    }

    /// Goes on when the gate opens.
    #[must_use]
    pub fn wait(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Wait(gate.clone()));
        self
    }

    /// Goes on after a while.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        if !pause.is_zero() {
            self.steps.push(Step::Pause(pause));
        }
        self
    }

    /// Writes these bytes again and again until the peer is gone.
    #[must_use]
    pub fn forever(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Forever(Bytes::from(bytes.into())));
        self
    }

    /// Says nothing more and keeps the connection until the peer is gone.
    #[must_use]
    pub fn hang(mut self) -> Self {
        self.steps.push(Step::Hang);
        self
    }

    /// The same bytes, so many at a time, with a pause after each write.
    #[must_use]
    pub fn in_drops(self, size: usize, pause: Duration) -> Self {
        let drops = self.steps.into_iter().flat_map(|step| match step {
            Step::Bytes(bytes) => {
                let drops = bytes.chunks(size.max(1)).map(Bytes::copy_from_slice).collect::<Vec<_>>();
                drops.into_iter().flat_map(|drop| [Step::Bytes(drop), Step::Pause(pause)]).collect()
            }
            other @ (Step::Wait(_) | Step::Pause(_) | Step::Forever(_) | Step::Hang | Step::Close | Step::Reset) => {
                vec![other]
            }
        });
        Self { steps: drops.collect() }
    }

    /// Closes the connection in order (FIN).
    #[must_use]
    pub fn close(mut self) -> Self {
        self.steps.push(Step::Close);
        self
    }

    /// Tears the connection down (RST).
    #[must_use]
    pub fn reset(mut self) -> Self {
        self.steps.push(Step::Reset);
        self
    }
}

/// A signal a test gives once; every reply that waits for it goes on.
#[derive(Clone, Debug, Default)]
pub struct Gate(CancellationToken);

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it, for good.
    pub fn open(&self) {
        self.0.cancel();
    }

    pub(super) async fn opened(&self) {
        self.0.cancelled().await;
    }
}
