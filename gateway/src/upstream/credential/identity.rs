//! Certificates that the gateway shows to agents: one client for each, made when it is first needed.
//!
//! Takes a certificate chain and a key, both PEM; gives a client under the same egress rules, limits and roots as every
//! other call to agents. Connections made with one certificate are never used with another.

use crate::registry::UpstreamCredential;
use egress::{Client, ClientSettings, Connector, ConnectorSettings, Protocol, Rules, TlsIdentity};
use quick_cache::sync::Cache;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::ExposeSecret as _;
use std::sync::Arc;
use std::time::Duration;

/// How many certificates' clients are kept.
const CLIENTS: usize = 1_000;

/// What every client to agents is made from.
#[derive(Debug)]
pub struct Making {
    /// Where agents may be.
    pub rules: Arc<Rules>,
    /// How long connecting may take.
    pub connect: Duration,
    /// Roots that are trusted besides the public ones.
    pub roots: Vec<CertificateDer<'static>>,
    /// Time and pool limits.
    pub client: ClientSettings,
}

/// The certificate or its key cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the certificate or its key cannot be used")]
pub(crate) struct BadIdentity(#[source] Option<rustls::Error>);

impl Making {
    /// A client that shows `identity`, if there is one.
    ///
    /// # Errors
    /// The certificate, its key or a root cannot be used.
    pub fn client(&self, identity: Option<TlsIdentity>, protocol: Protocol) -> Result<Client, rustls::Error> {
        let settings = ConnectorSettings {
            timeout: self.connect,
            extra_roots: self.roots.clone(),
            identity,
            ..ConnectorSettings::default()
        };
        let connector = Connector::new(Arc::clone(&self.rules), settings)?;
        Ok(Client::new(connector, &ClientSettings { protocol, ..self.client.clone() }))
    }
}

/// The clients by the fingerprint of the card's upstream and what is spoken.
pub(crate) struct Identities {
    making: Making,
    clients: Cache<([u8; 32], Protocol), Client>,
}

impl std::fmt::Debug for Identities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identities").field("clients", &self.clients.len()).finish_non_exhaustive()
    }
}

impl Identities {
    pub(crate) fn new(making: Making) -> Self {
        Self { making, clients: Cache::new(CLIENTS) }
    }

    /// The client that shows `credential`'s certificate; `None` for a credential without one.
    pub(crate) fn client(
        &self,
        fingerprint: [u8; 32],
        credential: &UpstreamCredential,
        protocol: Protocol,
    ) -> Option<Result<Client, BadIdentity>> {
        let UpstreamCredential::Mtls { certificate, key } = credential else { return None };
        let place = (fingerprint, protocol);
        if let Some(client) = self.clients.get(&place) {
            return Some(Ok(client));
        }
        let made = read(certificate, key.expose_secret())
            .ok_or(BadIdentity(None))
            .and_then(|identity| self.making.client(Some(identity), protocol).map_err(|why| BadIdentity(Some(why))));
        if let Ok(client) = &made {
            self.clients.insert(place, client.clone());
        }
        Some(made)
    }
}

/// A chain and its key.
pub(crate) fn read(certificate: &str, key: &str) -> Option<TlsIdentity> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty())?;
    Some(TlsIdentity { chain, key: PrivateKeyDer::from_pem_slice(key.as_bytes()).ok()? })
}

/// Whether a chain and its key fit together, found out before they are kept.
///
/// # Errors
/// [`BadIdentity`]
pub(crate) fn check(certificate: &str, key: &str) -> Result<(), BadIdentity> {
    let identity = read(certificate, key).ok_or(BadIdentity(None))?;
    let settings = ConnectorSettings { identity: Some(identity), ..ConnectorSettings::default() };
    let rules = Arc::new(Rules::public_only("egress.allow"));
    Connector::new(rules, settings).map(drop).map_err(|why| BadIdentity(Some(why)))
}
