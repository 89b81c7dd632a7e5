//! Who vouches for a tenant's principals: rows of issuers and of token keys → what the request path asks.
//!
//! What did not change keeps its cancellation token, and an issuer whose keys are still where they were keeps those
//! that were fetched. A row with a mistake vouches for nobody and is named.

use std::collections::HashMap;
use std::sync::Arc;

use a2a::sign::SigningKey;
use rustls::server::danger::ClientCertVerifier;
use store::{IssuerRow, KeyPurpose};

use super::{Problem, Tenant};
use crate::config::ClientAuth;
use crate::registry::Principal;
use crate::registry::certificate::CertificateIssuer;
use crate::registry::issuer::{Issuer, IssuerDocument, IssuerKind, IssuerState, Subjects};
use crate::registry::token::{TokenIssuer, TokenKey};

impl Tenant<'_> {
    pub(super) fn issuers(
        &mut self,
        principals: &HashMap<String, Arc<Principal>>,
    ) -> (Vec<Arc<Issuer>>, Vec<Arc<CertificateIssuer>>) {
        let (mut issuers, mut certificates) = (Vec::new(), Vec::new());
        for row in &self.rows.issuers {
            let document = match IssuerDocument::read(&row.document) {
                Ok(document) if document.state == Some(IssuerState::Disabled) => continue,
                Ok(document) => document,
                Err(problems) => {
                    self.note("issuer", &row.name, problems);
                    continue;
                }
            };
            let subjects = Subjects::new(&document, principals);
            match document.kind.unwrap_or_default() {
                // Nobody sees a certificate that the listener does not ask for, and no card may promise it.
                IssuerKind::Certificate if self.compiler.client_auth == ClientAuth::None => {}
                IssuerKind::Oidc => issuers.push(Arc::new(self.issuer(row, document, subjects))),
                IssuerKind::Certificate => match document.authorities() {
                    Ok(authorities) => certificates.push(Arc::new(self.certificates(row, authorities, subjects))),
                    Err(problem) => self.note("issuer", &row.name, vec![Problem::new("/authorities", problem)]),
                },
            }
        }
        (issuers, certificates)
    }

    /// Keys that were fetched stay, unless they are now to be found elsewhere.
    fn issuer(&self, row: &IssuerRow, document: IssuerDocument, subjects: Subjects) -> Issuer {
        let iss = document.issuer.unwrap_or_default();
        let old = self.old.and_then(|old| old.issuers.iter().find(|old| old.id == row.id));
        let same = old.filter(|old| old.revision == row.revision);
        let same_keys = old.filter(|old| old.iss == iss && old.jwks_uri == document.jwks_uri);
        Issuer {
            id: row.id.clone(),
            revision: row.revision,
            audiences: document.audiences.unwrap_or_default(),
            subject_claim: document.subject_claim.unwrap_or_else(|| "sub".to_owned()),
            groups_claim: document.groups_claim.unwrap_or_else(|| "groups".to_owned()),
            subjects,
            keys: same_keys.map_or_else(Arc::default, |old| Arc::clone(&old.keys)),
            cancelled: same.map_or_else(|| self.cancelled.child_token(), |old| old.cancelled.clone()),
            iss,
            jwks_uri: document.jwks_uri,
        }
    }

    fn certificates(
        &self,
        row: &IssuerRow,
        authorities: Option<Arc<dyn ClientCertVerifier>>,
        subjects: Subjects,
    ) -> CertificateIssuer {
        let old = self.old.and_then(|old| old.certificates.iter().find(|old| old.id == row.id));
        let same = old.filter(|old| old.revision == row.revision);
        CertificateIssuer {
            id: row.id.clone(),
            revision: row.revision,
            authorities,
            subjects,
            cancelled: same.map_or_else(|| self.cancelled.child_token(), |old| old.cancelled.clone()),
        }
    }

    /// Who speaks in the gateway's own tokens for this tenant. Its keys serve nothing else (D22).
    pub(super) fn token_issuer(&mut self) -> TokenIssuer {
        let public_url = self.compiler.public_urls.first().map_or("", String::as_str);
        let mut issuer = TokenIssuer::new(public_url, self.name());
        let mut bad = Vec::new();
        for row in self.keys_for(KeyPurpose::Token) {
            match self.halves(row) {
                Ok((public, seed)) => {
                    let signing = seed.map(|seed| SigningKey::from_seed(&seed, Some(row.kid.clone()), None));
                    issuer.keys.push(TokenKey { signing, public });
                }
                Err(problem) => bad.push((row.kid.clone(), problem)),
            }
        }
        for (kid, problem) in bad {
            self.note("signing_key", &kid, vec![problem]);
        }
        issuer
    }
}
