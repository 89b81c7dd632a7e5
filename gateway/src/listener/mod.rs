//! The accept loops: connections in, requests out to [`dispatch`], within the limits of a connection.
//!
//! Takes a bound socket and a function from request to response. HTTP/1.1 and HTTP/2 with prior knowledge; no upgrades.
//! Refuses connections beyond the limit by closing them, and requests whose end two readers may see at different
//! places ([`framing`]). When the process stops: accepts no more, tells every connection to finish (`connection:
//! close`, GOAWAY), and leaves waiting for them to whoever drains the tasks. Never looks at a request.

pub mod dispatch;
pub mod forwarded;
mod framing;
pub mod grpc;
mod guarded;
mod half_closed;
pub mod health;
mod progress;
pub mod refusal;
mod socket;
mod stall;
pub mod tls;

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use prometheus::IntGauge;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use self::guarded::Guarded;
use self::progress::Progress;
use self::refusal::{Refusal, Refuse};
use self::socket::Socket;
use self::tls::Tls;
use crate::config::ConnectionLimits;
use crate::registry::certificate::ClientCertificate;
use crate::tasks::{StreamTasks, Tasks};
use crate::telemetry::Metrics;

/// Who is at the other end of a connection.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The other end of the connection.
    pub peer: SocketAddr,
    /// The same, or whoever a trusted proxy says it speaks for.
    pub source: SocketAddr,
    /// Cancelled when the caller has sent its last byte: it may still listen, or be gone. Over HTTP/1 only.
    pub half_closed: CancellationToken,
}

/// What an accept loop needs besides its socket.
#[derive(Clone, Debug)]
pub struct Acceptor {
    /// `public` or `admin`, for logs and metrics.
    pub name: &'static str,
    /// What a connection may do.
    pub limits: ConnectionLimits,
    /// Where connections run.
    pub tasks: Tasks,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// TLS, where it is served here.
    pub tls: Option<Arc<Tls>>,
}

impl Acceptor {
    /// Accepts until the process stops. `refuse` answers what no request can be made of, `answer` the requests.
    pub async fn run<A, F, B, R>(self, socket: TcpListener, refuse: R, answer: A)
    where
        R: Fn(SocketAddr) -> Refuse,
        A: Fn(Caller, Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let room = Arc::new(Semaphore::new(self.limits.connections));
        let stopping = self.tasks.stopping();
        loop {
            let accepted = tokio::select! {
                // Who knocks when the process stops is not let in.
                biased;
                () = stopping.cancelled() => return,
                accepted = socket.accept() => accepted,
            };
            match (accepted, Arc::clone(&room).try_acquire_owned()) {
                (Ok((stream, peer)), Ok(place)) => {
                    let from = Accepted { peer, refuse: refuse(peer), place };
                    let work = self.clone().connection(stream, from, answer.clone());
                    self.tasks.spawn("connection", work);
                }
                (Ok(_), Err(_)) => {
                    self.metrics.connections_refused.with_label_values(&[self.name]).inc();
                }
                (Err(error), _) => {
                    // Out of descriptors, as a rule: others must end before the next can come.
                    tracing::warn!(listener = self.name, kind = ?error.kind(), "no connection could be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    async fn connection<A, F, B>(self, stream: TcpStream, accepted: Accepted, answer: A)
    where
        A: Fn(Caller, Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Accepted { peer, refuse, place } = accepted;
        let _open = Open::new(self.metrics.connections.with_label_values(&[self.name]), place);
        // Events are small and must leave at once.
        let _ = stream.set_nodelay(true);
        let Some((stream, certificate)) = self.shaken(stream, &refuse).await else { return };
        let mut lost = std::pin::pin!(Self::lost(self.tls.clone(), certificate.clone()));
        let spoken = Arc::new(AtomicBool::new(false));
        let (heard, progress) = (Arc::clone(&spoken), Arc::new(Progress::default()));
        let caller = Caller { peer, source: peer, half_closed: CancellationToken::new() };
        let guarded = Guarded::new(stream, Arc::clone(&refuse), Arc::clone(&progress), caller.half_closed.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            heard.store(true, Ordering::Relaxed);
            if let Some(certificate) = &certificate {
                request.extensions_mut().insert(Arc::clone(certificate));
            }
            let turn = progress.asked();
            let response = answer(caller.clone(), request);
            async move {
                turn.begin();
                Ok::<_, Infallible>(response.await.map(|body| turn.through(body)))
            }
        });
        let io = TokioIo::new(stall::Stalling::new(guarded, WRITE_PATIENCE));
        let builder = self.builder();
        let mut connection = std::pin::pin!(builder.serve_connection(io, service));
        let stopping = self.tasks.stopping();
        // hyper's own limit begins with the first byte of a head; this one also ends peers that never send any.
        let mut silence = std::pin::pin!(tokio::time::sleep(self.limits.head_timeout * 2));
        let mut phase = Phase::Silent;
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
                            let _answered_by_hyper = refuse(Refusal::Syntax);
                        }
                        tracing::debug!(listener = self.name, %error, "a connection ended early");
                    }
                    return;
                }
                () = silence.as_mut(), if phase == Phase::Silent => {
                    if !spoken.load(Ordering::Relaxed) {
                        return;
                    }
                    phase = Phase::Serving;
                }
                () = lost.as_mut() => {
                    tracing::info!(listener = self.name, "a connection ended: its client's certificate is believed no more");
                    return;
                }
                () = stopping.cancelled(), if phase != Phase::Draining => {
                    phase = Phase::Draining;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }

    /// Completes when the caller's certificate is believed no more.
    async fn lost(tls: Option<Arc<Tls>>, certificate: Option<Arc<ClientCertificate>>) {
        match (tls, certificate) {
            (Some(tls), Some(certificate)) => tls.lost(&certificate).await,
            (None, _) | (_, None) => std::future::pending().await,
        }
    }

    /// The connection after its handshake, where there is one, and the certificate that the caller has proven to hold.
    async fn shaken(&self, stream: TcpStream, refuse: &Refuse) -> Option<(Socket, Option<Arc<ClientCertificate>>)> {
        let Some(tls) = &self.tls else { return Some((Socket::Plain(stream), None)) };
        let stopping = self.tasks.stopping();
        let shaken = tokio::select! {
            () = stopping.cancelled() => return None,
            shaken = tokio::time::timeout(self.limits.head_timeout, tls.accept(stream)) => shaken,
        };
        match shaken {
            Ok(Ok(shaken)) => Some(shaken),
            Ok(Err(error)) => {
                tracing::debug!(listener = self.name, kind = ?error.kind(), "a TLS handshake failed");
                if let Some(refusal) = tls::refused(&error) {
                    let _nobody_to_hear = refuse(refusal);
                }
                None
            }
            Err(_late) => None,
        }
    }

    fn builder(&self) -> auto::Builder<StreamTasks> {
        let limits = &self.limits;
        let mut builder = auto::Builder::new(StreamTasks(self.tasks.clone()));
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_timeout)
            .max_headers(limits.header_fields)
            .max_buf_size(limits.header_bytes + limits.url_bytes);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(limits.h2_streams)
            .initial_stream_window_size(limits.h2_stream_window)
            .initial_connection_window_size(limits.h2_connection_window)
            .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
            .max_send_buf_size(limits.send_buffer_bytes)
            .max_pending_accept_reset_streams(limits.h2_resets)
            .max_local_error_reset_streams(limits.h2_resets)
            .keep_alive_interval(H2_PING)
            .keep_alive_timeout(H2_PING);
        builder
    }
}

/// A connection's peer, how it is refused, and its place among the others.
struct Accepted {
    peer: SocketAddr,
    refuse: Refuse,
    place: OwnedSemaphorePermit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing was asked yet.
    Silent,
    /// At least one request came.
    Serving,
    /// The process stops.
    Draining,
}

/// Counts an open connection, and holds its place among them.
struct Open {
    gauge: IntGauge,
    _place: OwnedSemaphorePermit,
}

impl Open {
    fn new(gauge: IntGauge, place: OwnedSemaphorePermit) -> Self {
        gauge.inc();
        Self { gauge, _place: place }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.gauge.dec();
    }
}

/// How long a write may wait for the peer to read.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);
/// How often a quiet HTTP/2 peer is asked whether it is still there, and how long it may take to answer.
const H2_PING: Duration = Duration::from_secs(20);
