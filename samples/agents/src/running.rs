//! All sample agents on one address while they run.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use a2a_agent::listen;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::echo;
use crate::settings::{Root, Settings, StartError};
use crate::sink::Sinks;
use crate::site::{HELLO, Site};

/// The sample agents while they run. Dropping it ends them at once; [`shutdown`](Self::shutdown) lets them finish.
#[derive(Debug)]
pub struct Running {
    /// Where they listen.
    pub address: SocketAddr,
    /// What their URLs begin with.
    pub base_url: String,
    /// The base URL of `hello-world-a2a`.
    pub hello_url: String,
    /// The base URL of `echo`.
    pub echo_url: String,
    /// The webhook sinks.
    pub sinks: Arc<Sinks>,
    stop: CancellationToken,
    server: JoinSet<()>,
}

/// Starts all sample agents on one address, `hello-world-a2a` at its root. Their cards name `public_url`, else what a request
/// names.
///
/// # Errors
/// When the address cannot be bound.
pub async fn start_all(address: SocketAddr, public_url: Option<&str>) -> io::Result<Running> {
    let settings = Settings { public_url: public_url.map(str::to_owned), ..Settings::at(address) };
    start(settings).await.map_err(|error| match error {
        StartError::Bind(error) => error,
        other @ (StartError::PushList(..) | StartError::Push(_) | StartError::Store(_) | StartError::Tasks(_)) => {
            io::Error::other(other)
        }
    })
}

/// Starts all sample agents.
///
/// # Errors
/// [`StartError`].
pub async fn start(mut settings: Settings) -> Result<Running, StartError> {
    let listener = TcpListener::bind(settings.address).await?;
    let address = listener.local_addr()?;
    settings.public_url = settings.public_url.map(|url| url.trim_end_matches('/').to_owned());
    let base = settings.public_url.clone().unwrap_or_else(|| reachable(address));
    let (stop, sinks) = (CancellationToken::new(), Sinks::new(settings.sinks));
    let hello = if settings.root == Root::Hello { base.clone() } else { format!("{base}{HELLO}") };
    let site = Site::build(settings, &hello, Arc::clone(&sinks)).await?;
    let mut server = JoinSet::new();
    server.spawn(serve(listener, stop.clone(), site));
    Ok(Running {
        address,
        echo_url: format!("{base}{}", echo::PATH),
        hello_url: hello,
        base_url: base,
        sinks,
        stop,
        server,
    })
}

impl Running {
    /// Stops accepting, lets open calls end (a few seconds at most), and returns when all is over.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        while self.server.join_next().await.is_some() {}
    }

    /// The base URL of the agent with this name, such as `weather`.
    #[must_use]
    pub fn url_of(&self, name: &str) -> String {
        format!("{}/a2a/{name}", self.base_url)
    }
}

async fn serve(listener: TcpListener, stop: CancellationToken, site: Site) {
    let draining = site.clone();
    let answer = move |request: http::Request<hyper::body::Incoming>| {
        let site = site.clone();
        async move { site.answer(request).await }
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
