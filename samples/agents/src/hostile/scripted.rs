//! The scripted agent: a raw socket that records what was sent, byte for byte, and answers what the script says.
//!
//! Takes a [`Script`], gives a running server on a free loopback port. It is torn down when it is dropped. It never
//! speaks a protocol of its own accord, so nothing between the test and the wire can hide a difference.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::script::{Script, Step};
use super::{RawRequest, raw_request};

/// A running scripted agent.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use sample_agents::hostile::{Reply, Scripted};
/// let agent = Scripted::start(Reply::json(200, r#"{"jsonrpc":"2.0","id":1,"result":null}"#)).await?;
/// // … call agent.url() …
/// let seen = agent.wait_for_requests(1).await?;
/// assert_eq!(seen[0].line, "POST /message%3Asend HTTP/1.1");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Scripted {
    address: SocketAddr,
    seen: watch::Receiver<Seen>,
    /// Keeps a port reserved on which nobody listens.
    _unheard: Option<TcpSocket>,
    /// Aborted on drop, with every connection.
    _running: JoinSet<()>,
}

/// What a scripted agent has seen so far.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Whole requests, in the order their last byte came.
    pub requests: Vec<RawRequest>,
    /// Connections accepted.
    pub connections: usize,
    /// Connections that the peer closed or broke while an answer was being given.
    pub hang_ups: usize,
}

/// A scripted agent did not see in time what a test waits for.
#[derive(Debug, thiserror::Error)]
#[error("not seen within {DEADLINE:?}; so far: {0:?}")]
pub struct NotSeen(pub Seen);

/// How long the waits below wait; an event should come long before.
pub const DEADLINE: Duration = Duration::from_secs(20);

impl Scripted {
    /// Starts it on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start(script: impl Into<Script>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (tell, seen) = watch::channel(Seen::default());
        let mut running = JoinSet::new();
        running.spawn(accept(listener, script.into(), tell));
        Ok(Self { address, seen, _unheard: None, _running: running })
    }

    /// An address that refuses every connection for as long as this lives.
    ///
    /// # Errors
    /// When no port can be bound.
    pub fn refusing() -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = socket.local_addr()?;
        let (_, seen) = watch::channel(Seen::default());
        Ok(Self { address, seen, _unheard: Some(socket), _running: JoinSet::new() })
    }

    /// `http://127.0.0.1:PORT`, without a trailing slash.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// All requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<RawRequest> {
        self.seen.borrow().requests.clone()
    }

    /// Requests, connections and hang-ups so far.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// Waits until `count` requests came; gives all.
    ///
    /// # Errors
    /// [`NotSeen`] after [`DEADLINE`].
    pub async fn wait_for_requests(&self, count: usize) -> Result<Vec<RawRequest>, NotSeen> {
        self.wait_until(|seen| seen.requests.len() >= count).await.map(|seen| seen.requests)
    }

    /// Waits until the peer has hung up `count` times while an answer was being given.
    ///
    /// # Errors
    /// [`NotSeen`] after [`DEADLINE`].
    pub async fn wait_for_hang_ups(&self, count: usize) -> Result<Seen, NotSeen> {
        self.wait_until(|seen| seen.hang_ups >= count).await
    }

    /// Waits until `enough` says so.
    ///
    /// # Errors
    /// [`NotSeen`] after [`DEADLINE`].
    pub async fn wait_until(&self, mut enough: impl FnMut(&Seen) -> bool) -> Result<Seen, NotSeen> {
        let mut seen = self.seen.clone();
        match tokio::time::timeout(DEADLINE, seen.wait_for(|seen| enough(seen))).await {
            Ok(Ok(seen)) => Ok(seen.clone()),
            Ok(Err(_)) | Err(_) => Err(NotSeen(self.seen())),
        }
    }
}

async fn accept(listener: TcpListener, script: Script, tell: watch::Sender<Seen>) {
    let mut connections = JoinSet::new();
    let mut count = 0;
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => {
                let Ok((socket, _)) = accepted else { return };
                tell.send_modify(|seen| seen.connections += 1);
                connections.spawn(converse(socket, count, script.clone(), tell.clone()));
                count += 1;
            }
        }
    }
}

/// One connection: request, answer, request, answer …
async fn converse(mut socket: TcpStream, connection: usize, script: Script, tell: watch::Sender<Seen>) {
    // Each write of the script should leave as a segment of its own.
    let _ = socket.set_nodelay(true);
    let mut buffer = BytesMut::new();
    while let Ok(Some(request)) = raw_request::next(&mut socket, &mut buffer, connection).await {
        tell.send_modify(|seen| seen.requests.push(request.clone()));
        for step in script.reply(&request).steps {
            match play(step, &mut socket, &mut buffer).await {
                Played::On => {}
                Played::Ended => return,
                Played::PeerGone => return tell.send_modify(|seen| seen.hang_ups += 1),
            }
        }
    }
}

enum Played {
    On,
    Ended,
    PeerGone,
}

async fn play(step: Step, socket: &mut TcpStream, buffer: &mut BytesMut) -> Played {
    match step {
        Step::Bytes(bytes) => write(socket, &bytes).await,
        Step::Forever(bytes) => loop {
            if let Played::PeerGone = write(socket, &bytes).await {
                return Played::PeerGone;
            }
        },
        Step::Wait(gate) => tokio::select! {
            () = gate.opened() => Played::On,
            () = gone(socket, buffer) => Played::PeerGone,
        },
        Step::Pause(pause) => tokio::select! {
            () = tokio::time::sleep(pause) => Played::On,
            () = gone(socket, buffer) => Played::PeerGone,
        },
        Step::Hang => {
            gone(socket, buffer).await;
            Played::PeerGone
        }
        Step::Close => {
            let _ = socket.shutdown().await;
            // Closing with unread bytes would send RST instead of FIN: hear the peer out first.
            gone(socket, buffer).await;
            Played::Ended
        }
        Step::Reset => {
            let _ = socket.set_zero_linger();
            Played::Ended
        }
    }
}

async fn write(socket: &mut TcpStream, bytes: &[u8]) -> Played {
    match socket.write_all(bytes).await {
        Ok(()) => Played::On,
        Err(_) => Played::PeerGone,
    }
}

/// Returns when the peer has closed; what it still sends is kept for the next request.
async fn gone(socket: &mut TcpStream, buffer: &mut BytesMut) {
    while let Ok(read) = socket.read_buf(buffer).await {
        if read == 0 {
            return;
        }
    }
}
