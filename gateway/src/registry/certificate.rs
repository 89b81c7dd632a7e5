//! Client certificates: the names that one bears, and which tenant takes which names for whom.
//!
//! Takes a chain that a handshake has proven. Gives its SPIFFE id (the one URI of its SAN), its subject as text, and
//! its end. A tenant may name authorities of its own: then only a chain to one of those counts for it, whatever else
//! the listener lets in, so that one tenant's authority never makes another tenant's caller. Never fetches; revocation
//! lists are not read.

use std::sync::Arc;

use rustls::server::danger::ClientCertVerifier;
use rustls_pki_types::{CertificateDer, UnixTime};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::issuer::Subjects;
use crate::clock::Micros;

mod der;

/// A certificate that its holder has proven to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    chain: Vec<CertificateDer<'static>>,
    /// What it can be known by: its SPIFFE id first, then its subject (`CN=…,O=…`, RFC 4514, most specific first).
    pub names: Vec<String>,
    /// From then on it proves nobody.
    pub ends: Micros,
    /// SHA-256 of it, in hexadecimal.
    pub fingerprint: String,
}

impl ClientCertificate {
    /// Reads the end-entity certificate of a chain, which comes first.
    #[must_use]
    pub fn read(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let first = chain.first()?;
        let facts = der::facts(first)?;
        let certificate = webpki::EndEntityCert::try_from(first).ok()?;
        let mut uris = certificate.valid_uri_names();
        // A certificate with two identities is none's (SPIFFE X.509-SVID §2).
        let spiffe = match (uris.next(), uris.next()) {
            (Some(only), None) => Some(only).filter(|uri| uri.starts_with("spiffe://")),
            (None | Some(_), _) => None,
        };
        Some(Self {
            names: spiffe.map(str::to_owned).into_iter().chain(facts.subject).collect(),
            ends: facts.ends.checked_mul(1_000_000)?,
            fingerprint: crate::pipeline::head::hex(&Sha256::digest(first)),
            chain: chain.iter().map(|one| one.clone().into_owned()).collect(),
        })
    }

    /// Whether it chains to one of `authorities`.
    #[must_use]
    pub fn is_of(&self, authorities: &dyn ClientCertVerifier, now: Micros) -> bool {
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_micros(u64::try_from(now).unwrap_or(0)));
        match self.chain.split_first() {
            Some((first, rest)) => authorities.verify_client_cert(first, rest, now).is_ok(),
            None => false,
        }
    }
}

/// Whose certificates are a tenant's callers.
#[derive(Debug)]
pub struct CertificateIssuer {
    /// `iss-…`
    pub id: String,
    /// The revision of its row.
    pub revision: i64,
    /// The tenant's own authorities; without, those of the listener are believed.
    pub authorities: Option<Arc<dyn ClientCertVerifier>>,
    /// Which name is which principal.
    pub subjects: Subjects,
    /// Cancelled when it is removed, disabled or changed.
    pub cancelled: CancellationToken,
}
