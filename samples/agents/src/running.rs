//! All sample agents on one address: hello at `/`, the others at `/a2a/{name}`.

use std::io;
use std::net::SocketAddr;

use a2a_agent::listen;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::echo;
use crate::hello::Hello;

/// The sample agents while they run. Dropping it ends them at once; [`shutdown`](Self::shutdown) lets them finish.
#[derive(Debug)]
pub struct Running {
    /// Where they listen.
    pub address: SocketAddr,
    /// The base URL of `hello-world-a2a`.
    pub hello_url: String,
    /// The base URL of `echo`.
    pub echo_url: String,
    stop: CancellationToken,
    server: JoinSet<()>,
}

/// Starts all sample agents on one address. Their cards name `public_url`, else the address itself.
///
/// # Errors
/// When the address cannot be bound.
pub async fn start_all(address: SocketAddr, public_url: Option<&str>) -> io::Result<Running> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let base = public_url.map_or_else(|| reachable(address), |url| url.trim_end_matches('/').to_owned());
    let stop = CancellationToken::new();
    let mut server = JoinSet::new();
    server.spawn(serve(listener, stop.clone(), base.clone()));
    Ok(Running { address, echo_url: format!("{base}{}", echo::PATH), hello_url: base, stop, server })
}

impl Running {
    /// Stops accepting, lets open calls end (a few seconds at most), and returns when all is over.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        while self.server.join_next().await.is_some() {}
    }
}

async fn serve(listener: TcpListener, stop: CancellationToken, base: String) {
    let hello = Hello::new(&base);
    let echo = echo::server(&base);
    let mount = echo.mount().to_owned();
    let draining = echo.clone();
    let answer = move |request: http::Request<hyper::body::Incoming>| {
        let (hello, echo) = (hello.clone(), echo.clone());
        let to_echo = request.uri().path().starts_with(&mount);
        async move { if to_echo { echo.answer(request).await } else { hello.answer(request).await } }
    };
    tokio::join!(listen(listener, stop.clone(), answer), async {
        stop.cancelled().await;
        draining.drain().await;
    });
}

/// The address as a URL that the same machine can call.
fn reachable(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    format!("http://{address}")
}
