//! Client certificates: the connection's, where the addressed tenant takes it for somebody.
//!
//! *Takes* a certificate whose holder the handshake has proven. *Gives* the principal that one of the tenant's issuers
//! makes of its names. *Refuses* one that has ended since, or that does not chain to the tenant's own authorities
//! where it names some. *Never* reads a header that somebody in front may have written.

use super::{Identity, Scheme, identity};
use crate::clock::Micros;
use crate::registry::certificate::ClientCertificate;
use crate::registry::{Snapshot, TenantWorld};
use std::sync::Arc;

/// Whom a certificate proves in `tenant`, or in whichever tenant it can mean where that is empty (gRPC).
pub(super) fn prove(certificate: &ClientCertificate, tenant: &str, world: &Snapshot, now: Micros) -> Option<Identity> {
    if !tenant.is_empty() {
        return prove_in(certificate, world.tenants.get(tenant)?, now);
    }
    let taking = world.certificate_tenants.iter().filter_map(|name| world.tenants.get(name));
    let mut proven = taking.filter_map(|tenant| prove_in(certificate, tenant, now));
    let first = proven.next()?;
    proven.next().is_none().then_some(first)
}

fn prove_in(certificate: &ClientCertificate, tenant: &TenantWorld, now: Micros) -> Option<Identity> {
    if now >= certificate.ends || tenant.cancelled.is_cancelled() {
        return None;
    }
    let mut found = tenant.certificates.iter().filter_map(|issuer| {
        let principal = certificate.names.iter().find_map(|name| issuer.subjects.principal(name))?;
        let believed = issuer.authorities.as_ref().is_none_or(|own| certificate.is_of(own.as_ref(), now));
        let lives = !issuer.cancelled.is_cancelled() && !principal.cancelled.is_cancelled();
        (believed && lives).then_some((issuer, principal))
    });
    let (issuer, principal) = found.next()?;
    // Two issuers that know it: as long as they disagree, it is nobody.
    if found.any(|(_, other)| other.id != principal.id) {
        return None;
    }
    Some(Identity::vouched(identity::Vouched {
        scheme: Scheme::Certificate,
        principal: Arc::clone(principal),
        credential_id: format!("{}/{}", issuer.id, certificate.fingerprint.get(..16).unwrap_or_default()),
        groups: Vec::new(),
        expires_at: Some(certificate.ends),
        revoked: issuer.cancelled.clone(),
    }))
}
