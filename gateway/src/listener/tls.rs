//! TLS of the public listener: certificate, key, and which client certificates are asked for.
//!
//! Takes files; gives accepted connections and the client's certificate, proven by the handshake to chain to one of the
//! operator's authorities, to be held by the client and, where there are revocation lists, to be on none of them. With
//! lists it fails closed: what no list speaks of, or only one that is out of date, is refused, and no session is resumed,
//! because that would skip the question. TLS 1.2 and 1.3, HTTP/2 or HTTP/1.1 by ALPN, no early data.
//! The files are read again when they change or on SIGHUP; files that cannot be used leave what is in force as it is.
//! Open connections keep the server's certificate that they began with, and end where theirs would not be let in any more.
//! Whose principal a certificate is, is not asked here.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use rustls::crypto::CryptoProvider;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{CertificateError, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::refusal::Refusal;
use super::socket::Socket;
use crate::clock::Clock;
use crate::config::{ClientAuth, TlsFiles};
use crate::registry::certificate::ClientCertificate;

/// Why TLS can't be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The authorities of client certificates.
    #[error("the authorities of client certificates can't be used: {0}")]
    Authorities(String),
    /// A file.
    #[error("{path} can't be read as PEM ({what})")]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Key and certificate do not belong together, or are of no use.
    #[error("certificate and key can't be used")]
    Pair(#[source] rustls::Error),
    /// Others may read the key.
    #[error("{path} can be read by everybody (mode {mode:o}); only the gateway's user should: chmod 600")]
    Public {
        /// Which.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
}

/// TLS as it is in force.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    current: ArcSwap<InForce>,
    renewed: watch::Sender<()>,
}

/// What was read of the files.
#[derive(Debug)]
struct InForce {
    config: Arc<ServerConfig>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError`]
    pub fn new(files: TlsFiles) -> Result<Self, TlsError> {
        let current = ArcSwap::from_pointee(read(&files)?);
        Ok(Self { files, current, renewed: watch::Sender::new(()) })
    }

    /// Completes when a certificate that was let in would not be any more.
    pub(super) async fn lost(&self, certificate: &ClientCertificate) {
        let mut renewed = self.renewed.subscribe();
        while certificate.is_of(&*self.current.load_full().verifier, Clock::System.now()) {
            if renewed.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// The server's side of the handshake.
    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<(Socket, Option<Arc<ClientCertificate>>)> {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.current.load().config));
        let stream = acceptor.accept(stream).await?;
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let certificate = match chain.is_empty() {
            true => None,
            // What our own reader can't read proves nobody; the connection has been proven either way.
            false => ClientCertificate::read(chain).map(Arc::new),
        };
        Ok((Socket::Tls(Box::new(stream)), certificate))
    }

    /// Reads the files again; connections that are open are asked about their clients' certificates again.
    ///
    /// # Errors
    /// [`TlsError`]; what was in force stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        self.current.store(Arc::new(read(&self.files)?));
        self.renewed.send_replace(());
        Ok(())
    }

    /// Reloads when a file has changed or on SIGHUP, until `stop`.
    pub async fn watch(self: Arc<Self>, stop: CancellationToken) {
        let mut hangup = signal(SignalKind::hangup()).ok();
        let mut seen = self.stamps();
        loop {
            let asked = async {
                match &mut hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            let is_asked = tokio::select! {
                () = stop.cancelled() => return,
                _ = asked => true,
                () = tokio::time::sleep(PERIOD) => false,
            };
            let now = self.stamps();
            if !is_asked && now == seen {
                continue;
            }
            seen = now;
            match self.reload() {
                Ok(()) => tracing::info!("the certificate of the public listener was read again"),
                Err(error) => tracing::error!(%error, "the new certificate can't be used; the old one stays in force"),
            }
        }
    }

    fn stamps(&self) -> Vec<Option<(SystemTime, u64)>> {
        let TlsFiles { certificate, key, client_cas, client_crls, client_auth: _ } = &self.files;
        let stamp = |path: &PathBuf| {
            let file = std::fs::metadata(path).ok()?;
            Some((file.modified().ok()?, file.len()))
        };
        [certificate, key].into_iter().chain(client_cas).chain(client_crls).map(stamp).collect()
    }
}

/// What is counted of a handshake that failed: a certificate that was not believed.
pub(super) fn refused(error: &io::Error) -> Option<Refusal> {
    let rustls::Error::InvalidCertificate(why) = error.get_ref()?.downcast_ref::<rustls::Error>()? else { return None };
    let is_unknown = matches!(
        why,
        CertificateError::UnknownRevocationStatus
            | CertificateError::ExpiredRevocationList
            | CertificateError::ExpiredRevocationListContext { .. }
    );
    let revoked = *why == CertificateError::Revoked;
    let refusals = [(revoked, Refusal::CertificateRevoked), (is_unknown, Refusal::RevocationUnknown)];
    Some(refusals.into_iter().find(|(is, _)| *is).map_or(Refusal::BadCertificate, |(_, refusal)| refusal))
}

fn read(files: &TlsFiles) -> Result<InForce, TlsError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let chain = certificates(&files.certificate)?;
    let key = private_key(&files.key)?;
    let verifier = verifier(files, &provider)?;
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(TlsError::Pair)?.with_client_cert_verifier(Arc::clone(&verifier));
    let mut config = builder.with_single_cert(chain, key).map_err(TlsError::Pair)?;
    if !files.client_crls.is_empty() {
        config.session_storage = Arc::new(NoServerSessionStorage {});
    }
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(InForce { config: Arc::new(config), verifier })
}

fn verifier(files: &TlsFiles, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    if files.client_auth == ClientAuth::None {
        return Ok(WebPkiClientVerifier::no_client_auth());
    }
    let mut roots = Vec::new();
    for path in &files.client_cas {
        roots.extend(certificates(path)?);
    }
    let mut crls = Vec::new();
    for path in &files.client_crls {
        crls.extend(revocations(path)?);
    }
    authorities(roots, crls, files.client_auth, provider)
}

/// What proves that a client certificate chains to one of `roots`, and that no certificate of the chain is revoked if there
/// are `crls`.
pub(crate) fn authorities(
    roots: Vec<CertificateDer<'static>>,
    crls: Vec<CertificateRevocationListDer<'static>>,
    client_auth: ClientAuth,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let unusable = |error: &dyn std::error::Error| TlsError::Authorities(error.to_string());
    let mut store = RootCertStore::empty();
    for root in roots {
        store.add(root).map_err(|error| unusable(&error))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider));
    let builder = builder.with_crls(crls).enforce_revocation_expiration();
    let builder = match client_auth {
        ClientAuth::None | ClientAuth::Optional => builder.allow_unauthenticated(),
        ClientAuth::Required => builder,
    };
    builder.build().map(|verifier| verifier as Arc<dyn ClientCertVerifier>).map_err(|error| unusable(&error))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = |what: String| TlsError::File { path: path.to_owned(), what };
    let found: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?.collect();
    let found = found.map_err(|error| wrong(error.to_string()))?;
    if found.is_empty() { Err(wrong("it holds no certificate".to_owned())) } else { Ok(found) }
}

fn revocations(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let wrong = |what: String| TlsError::File { path: path.to_owned(), what };
    let found: Result<Vec<_>, _> =
        CertificateRevocationListDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?.collect();
    let found = found.map_err(|error| wrong(error.to_string()))?;
    if found.is_empty() { Err(wrong("it holds no revocation list".to_owned())) } else { Ok(found) }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    use std::os::unix::fs::PermissionsExt as _;
    let wrong = |what: String| TlsError::File { path: path.to_owned(), what };
    let mode = std::fs::metadata(path).map_err(|error| wrong(error.kind().to_string()))?.permissions().mode() & 0o777;
    if mode & 0o006 != 0 {
        return Err(TlsError::Public { path: path.to_owned(), mode });
    }
    PrivateKeyDer::from_pem_file(path).map_err(|error| wrong(error.to_string()))
}

/// How often files are looked at.
const PERIOD: Duration = Duration::from_secs(2);
