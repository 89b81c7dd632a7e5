//! The accept loop of both stubs: HTTP/1.1 with keep-alive, until whoever started the process is gone.

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io::Write as _;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Says the address on standard output, serves until standard input ends.
pub(crate) async fn serve<A, F, B>(answer: A) -> anyhow::Result<()>
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let socket = TcpListener::bind("127.0.0.1:0").await?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", socket.local_addr()?)?;
    out.flush()?;
    let (gone, parent) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        drop(gone);
    });
    let mut parent = parent;
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            _ = &mut parent => return Ok(()),
            Some(_) = connections.join_next() => continue,
            accepted = socket.accept() => accepted?.0,
        };
        stream.set_nodelay(true)?;
        let answer = answer.clone();
        let service = service_fn(move |request| {
            let response = answer(request);
            async move { Ok::<_, Infallible>(response.await) }
        });
        connections.spawn(async move {
            // A caller that breaks off notices by itself.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
