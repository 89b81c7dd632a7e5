//! The load generator: connections that each send one request after the other, a fixed number in all.

use crate::peer::Peer;
use crate::spoken::{self, Binding, Said};
use anyhow::{Context as _, ensure};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// One kind of call, as often as it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) binding: Binding,
    pub(crate) said: Said,
    pub(crate) connections: usize,
    pub(crate) requests: usize,
}

/// How long things took.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// Until the end of the answer.
    pub(crate) whole: Vec<Duration>,
    /// Until its first bytes.
    pub(crate) first: Vec<Duration>,
}

/// Calls `peer`; every answer must be 200 and whole.
pub(crate) async fn run(peer: &Peer, load: Load) -> anyhow::Result<Times> {
    let left = Arc::new(AtomicUsize::new(load.requests));
    let mut connections = JoinSet::new();
    for _ in 0..load.connections {
        let stream = TcpStream::connect(peer.address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let caller = Caller { request: request(peer, load)?, body: spoken::request(load.binding, load.said), load };
        let left = Arc::clone(&left);
        connections.spawn(async move {
            tokio::select! {
                times = caller.call_all(sender, &left) => times,
                ended = connection => ended.map(|()| Times::default()).context("the connection ended early"),
            }
        });
    }
    let mut all = Times::default();
    let gather = async {
        while let Some(times) = connections.join_next().await {
            let times = times??;
            all.whole.extend(times.whole);
            all.first.extend(times.first);
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, gather).await.context("a round takes too long")??;
    ensure!(all.whole.len() == load.requests, "{} answers to {} requests", all.whole.len(), load.requests);
    Ok(all)
}

struct Caller {
    request: Request<()>,
    body: Bytes,
    load: Load,
}

impl Caller {
    async fn call_all(self, mut sender: SendRequest<Full<Bytes>>, left: &AtomicUsize) -> anyhow::Result<Times> {
        let mut times = Times::default();
        while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
            sender.ready().await?;
            let request = self.request.clone().map(|()| Full::new(self.body.clone()));
            let began = Instant::now();
            let response = sender.send_request(request).await?;
            let status = response.status();
            let mut body = response.into_body();
            let (mut bytes, mut events) = (0, 0);
            while let Some(frame) = body.frame().await {
                let data = frame?.into_data().unwrap_or_default();
                if bytes == 0 {
                    times.first.push(began.elapsed());
                }
                bytes += data.len();
                events += data.windows(6).filter(|window| window == b"data: ").count();
            }
            times.whole.push(began.elapsed());
            ensure!(status == 200, "an answer is {status}");
            match self.load.said {
                Said::Send => ensure!(bytes > 900, "an answer of {bytes} bytes"),
                Said::Stream(wanted) => ensure!(events == wanted + 2, "{events} events, not {}", wanted + 2),
            }
        }
        Ok(times)
    }
}

fn request(peer: &Peer, load: Load) -> anyhow::Result<Request<()>> {
    Ok(Request::post(peer.path(load.binding, load.said))
        .header("host", "gateway.test")
        .header("authorization", format!("Bearer {}", peer.key()))
        .header("a2a-version", "1.0")
        .header("content-type", load.binding.content_type())
        .header("accept", "application/json, text/event-stream")
        .header("user-agent", "load/1")
        .body(())?)
}

/// Longest round.
const PATIENCE: Duration = Duration::from_secs(120);
