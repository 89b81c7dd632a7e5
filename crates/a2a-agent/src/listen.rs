//! The accept loop: one listener, HTTP/1.1 and h2c, every connection drained when it is time to stop.
//!
//! Takes a bound listener, the signal to stop, and a function from request to response. Gives nothing back; returns when
//! the last connection has ended or [`DRAIN`] is over. Knows nothing of A2A.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Every response body an agent gives: whole documents and endless streams alike.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Where a request came from; among the extensions of every request that [`listen()`] hands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Accepts connections until `stop`, then lets open ones finish within [`DRAIN`].
pub async fn listen<A, F>(listener: TcpListener, stop: CancellationToken, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let draining = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, peer)) => { connections.spawn(connection((socket, Peer(peer)), answer.clone(), &draining)); }
                // Out of descriptors, as a rule: waiting is all that helps.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
    drop(listener);
    if tokio::time::timeout(DRAIN, draining.shutdown()).await.is_err() {
        tracing::warn!("connections were still open when the drain was over");
    }
    connections.shutdown().await;
}

/// How long open connections may take to finish once it is time to stop.
pub const DRAIN: Duration = Duration::from_secs(10);

/// How long a peer may take to send the head of a request.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

fn connection<A, F>(
    (socket, peer): (TcpStream, Peer),
    answer: A,
    draining: &GracefulShutdown,
) -> impl Future<Output = ()> + Send + 'static + use<A, F>
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    // Events are small and must leave at once.
    let _ = socket.set_nodelay(true);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
    builder.http2().timer(TokioTimer::new());
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        let response = answer(request);
        async move { Ok::<_, Infallible>(response.await) }
    });
    let connection = builder.serve_connection(TokioIo::new(socket), service).into_owned();
    let watched = draining.watch(connection);
    async move {
        if let Err(error) = watched.await {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}
