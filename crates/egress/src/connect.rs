//! The connector: the only code that opens an outgoing connection.
//!
//! Takes a request's URI; judges it, resolves its name, judges **every** answer, dials one of the judged addresses and speaks TLS with
//! the URI's host as the name to verify. All of it again for every connection. Gives a stream for hyper's pooled client or a
//! [`ConnectError`]; on any error no byte of a request was written. Certificate checks cannot be turned off.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::{TlsConnector, client::TlsStream};
use url::Host;

use crate::net::Net;
use crate::rules::{Denied, Rules, Scheme, Target, of_uri};

/// Why no connection was made. No byte of a request was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The rules refuse the destination.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// No address could be reached; the kind is that of the last one tried.
    #[error("could not connect: {0}")]
    Dial(io::ErrorKind),
    /// The name has no address.
    #[error("the host name could not be resolved")]
    Resolve,
    /// Not connected within the time allowed.
    #[error("could not connect in time")]
    TimedOut,
    /// The TLS handshake failed, for example over the certificate.
    #[error("the TLS handshake failed: {0}")]
    Tls(String),
}

/// A client certificate and its key, shown to servers that ask.
#[derive(Debug)]
pub struct TlsIdentity {
    /// Certificate chain, the leaf first.
    pub chain: Vec<CertificateDer<'static>>,
    /// The leaf's key.
    pub key: PrivateKeyDer<'static>,
}

/// What a connector is made from, besides its rules.
#[derive(Debug)]
pub struct ConnectorSettings {
    /// Name lookup, TCP and TLS together.
    pub timeout: Duration,
    /// Roots trusted besides the public ones.
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// Our own certificate, where an upstream wants one.
    pub identity: Option<TlsIdentity>,
    /// The network.
    pub net: Net,
}

impl Default for ConnectorSettings {
    fn default() -> Self {
        ConnectorSettings { timeout: Duration::from_secs(5), extra_roots: Vec::new(), identity: None, net: Net::System }
    }
}

/// The protocol of a connection: known beforehand in clear, agreed on in TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Protocol {
    /// HTTP/1.1
    #[default]
    Http1,
    /// HTTP/2
    Http2,
}

/// Opens checked connections.
#[derive(Clone)]
pub struct Connector {
    rules: Arc<Rules>,
    net: Net,
    tls: TlsConnector,
    timeout: Duration,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Connector {
    /// A connector that obeys `rules`. Fails when a root or the identity cannot be used.
    pub fn new(rules: Arc<Rules>, settings: ConnectorSettings) -> Result<Connector, rustls::Error> {
        let ConnectorSettings { timeout, extra_roots, identity, net } = settings;
        let tls = TlsConnector::from(Arc::new(tls_config(extra_roots, identity)?));
        Ok(Connector { rules, net, tls, timeout })
    }

    /// The rules it obeys.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    pub(crate) fn shared_rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules)
    }

    /// The same, offering `protocol` in TLS.
    #[must_use]
    pub fn speaking(self, protocol: Protocol) -> Connector {
        let mut config = ClientConfig::clone(self.tls.config());
        config.alpn_protocols = vec![match protocol {
            Protocol::Http1 => b"http/1.1".to_vec(),
            Protocol::Http2 => b"h2".to_vec(),
        }];
        Connector { tls: TlsConnector::from(Arc::new(config)), ..self }
    }

    /// Connects to the host of `uri`.
    pub async fn connect(&self, uri: &Uri) -> Result<Stream, ConnectError> {
        let target = of_uri(uri)?;
        self.rules.judge_target(&target)?;
        let deadline = Instant::now() + self.timeout;
        let work = async {
            let addresses = self.checked_addresses(&target).await?;
            let tcp = self.dial(&addresses, deadline).await?;
            self.secure(&target, tcp).await
        };
        timeout_at(deadline, work).await.map_err(|_| ConnectError::TimedOut)?
    }

    async fn checked_addresses(&self, target: &Target) -> Result<Vec<SocketAddr>, ConnectError> {
        let addresses = match (target.literal(), target.name()) {
            (Some(literal), _) => vec![SocketAddr::new(literal, target.port)],
            (None, Some(name)) => self.net.lookup(name, target.port).await.map_err(|_| ConnectError::Resolve)?,
            (None, None) => Vec::new(),
        };
        if addresses.is_empty() {
            return Err(ConnectError::Resolve);
        }
        for address in &addresses {
            self.rules.judge_dial(target, *address)?;
        }
        Ok(addresses)
    }

    /// Tries the addresses in order; a silent one costs its share of the time that is left, so that the next gets a turn.
    async fn dial(&self, addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, ConnectError> {
        let mut last = ConnectError::Resolve;
        for (tried, address) in addresses.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let turns = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
            match timeout_at(Instant::now() + left / turns, self.net.dial(*address)).await {
                Ok(Ok(tcp)) => return self.confirm(tcp),
                Ok(Err(error)) => last = ConnectError::Dial(error.kind()),
                Err(_) => last = ConnectError::TimedOut,
            }
        }
        Err(last)
    }

    fn confirm(&self, tcp: TcpStream) -> Result<TcpStream, ConnectError> {
        let ends = tcp.local_addr().and_then(|local| Ok((local, tcp.peer_addr()?)));
        let (local, peer) = ends.map_err(|error| ConnectError::Dial(error.kind()))?;
        self.rules.judge_connected(local, peer)?;
        // Small requests and answers suffer from waiting for more bytes; a socket that refuses the option still works.
        let _ = tcp.set_nodelay(true);
        Ok(tcp)
    }

    async fn secure(&self, target: &Target, tcp: TcpStream) -> Result<Stream, ConnectError> {
        match target.scheme {
            Scheme::Http => Ok(Stream::Plain(TokioIo::new(tcp))),
            Scheme::Https => {
                let name = server_name(&target.host)?;
                let tls = self.tls.connect(name, tcp).await.map_err(|error| ConnectError::Tls(error.to_string()))?;
                Ok(Stream::Tls(Box::new(TokioIo::new(tls))))
            }
        }
    }
}

fn server_name(host: &Host<String>) -> Result<ServerName<'static>, ConnectError> {
    match host {
        Host::Domain(name) => ServerName::try_from(name.strip_suffix('.').unwrap_or(name).to_owned())
            .map_err(|_| ConnectError::Tls("the host is not a DNS name".to_owned())),
        Host::Ipv4(v4) => Ok(ServerName::IpAddress(std::net::IpAddr::V4(*v4).into())),
        Host::Ipv6(v6) => Ok(ServerName::IpAddress(std::net::IpAddr::V6(*v6).into())),
    }
}

fn tls_config(
    extra_roots: Vec<CertificateDer<'static>>,
    identity: Option<TlsIdentity>,
) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for root in extra_roots {
        roots.add(root)?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let builder = builder.with_root_certificates(roots);
    let mut config = match identity {
        Some(TlsIdentity { chain, key }) => builder.with_client_auth_cert(chain, key)?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

impl tower::Service<Uri> for Connector {
    type Response = Stream;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { connector.connect(&uri).await })
    }
}

/// A connection to a checked address.
#[derive(Debug)]
pub enum Stream {
    /// Without TLS.
    Plain(TokioIo<TcpStream>),
    /// With TLS.
    Tls(Box<TokioIo<TlsStream<TcpStream>>>),
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(io) => Pin::new(io).poll_read(cx, buf),
            Stream::Tls(io) => Pin::new(io).poll_read(cx, buf),
        }
    }
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(io) => Pin::new(io).poll_write(cx, bytes),
            Stream::Tls(io) => Pin::new(io).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(io) => Pin::new(io).poll_flush(cx),
            Stream::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Stream::Tls(io) => Pin::new(io).poll_shutdown(cx),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Stream::Plain(io) => io.is_write_vectored(),
            Stream::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(io) => Pin::new(io).poll_write_vectored(cx, slices),
            Stream::Tls(io) => Pin::new(io).poll_write_vectored(cx, slices),
        }
    }
}
