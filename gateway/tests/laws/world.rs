//! Two tenants with principals, keys and an issuer each, as the registry would compile them.

use chancery::clock::Micros;
use chancery::registry::grants::GrantSet;
use chancery::registry::issuer::{Issuer, IssuerDocument, KeyCell, Keys, Subjects};
use chancery::registry::key_set::VerifyingKey;
use chancery::registry::meter::Metered;
use chancery::registry::token::{TokenIssuer, TokenKey};
use chancery::registry::{Credential, Principal, Snapshot, Standing, TenantWorld};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// When all laws are judged.
pub(super) const NOW: Micros = 1_800_000_000_000_000;
/// `iss` of both tenants' issuers: only their keys and audiences tell them apart.
pub(super) const ISS: &str = "https://idp.test";

/// A key of tenant `acme`, and what has become of it.
pub(super) struct Known {
    pub(super) key: &'static str,
    pub(super) principal: &'static str,
    pub(super) works: bool,
}

/// Every key that there is or was.
pub(super) const KEYS: [Known; 4] = [
    Known { key: "sk_test_acme_1", principal: "p1", works: true },
    Known { key: "sk_test_acme_old", principal: "p1", works: false },
    Known { key: "sk_test_acme_gone", principal: "p1", works: false },
    Known { key: "sk_test_acme_off", principal: "off", works: false },
];

/// What `aud` says of tokens for a tenant.
pub(super) fn audience(tenant: &str) -> String {
    format!("https://gw.test/a2a/{tenant}")
}

/// The two tenants. `verifying` are the keys of the issuer of `acme`, `signing` the gateway's own for its tokens.
pub(super) fn world(verifying: HashMap<String, VerifyingKey>, signing: Option<TokenKey>) -> Snapshot {
    let mut world = Snapshot { revision: 1, ..Snapshot::default() };
    let mut acme = tenant("acme", verifying);
    acme.tokens.keys.extend(signing);
    for (at, known) in KEYS.iter().enumerate() {
        let credential = credential(&acme, known, at);
        acme.credentials.insert(credential.key_id.clone(), Arc::clone(&credential));
        world.keys.insert(credential.hash, credential);
    }
    world.tenants.insert("acme".to_owned(), Arc::new(acme));
    // Another's keys are never asked.
    world.tenants.insert("globex".to_owned(), Arc::new(tenant("globex", HashMap::new())));
    world
}

fn tenant(name: &str, verifying: HashMap<String, VerifyingKey>) -> TenantWorld {
    let mut world = TenantWorld::closed(name, Vec::new(), CancellationToken::new());
    world.tokens = TokenIssuer::new("https://gw.test", name);
    for who in ["p1", "p2", "off"] {
        let principal = principal(name, who);
        if who == "off" {
            principal.cancelled.cancel();
        }
        world.principals.insert(principal.id.clone(), Arc::new(principal));
    }
    let listed = [("u1", "p1"), ("u2", "p2"), ("u3", "off")].map(|(subject, who)| (subject.to_owned(), who.to_owned()));
    let document = IssuerDocument { principals: Some(listed.into()), ..IssuerDocument::default() };
    let keys = KeyCell::default();
    if keys.begin(NOW) {
        keys.end(Ok(Keys { by_kid: verifying, fetched_at: NOW }));
    }
    world.issuers.push(Arc::new(Issuer {
        id: format!("iss-{name}"),
        revision: 1,
        iss: ISS.to_owned(),
        audiences: vec![audience(name)],
        jwks_uri: None,
        subject_claim: "sub".to_owned(),
        groups_claim: "groups".to_owned(),
        subjects: Subjects::new(&document, &world.principals),
        keys: Arc::new(keys),
        cancelled: CancellationToken::new(),
    }));
    world
}

fn principal(tenant: &str, name: &str) -> Principal {
    Principal {
        id: format!("prn-{name}"),
        tenant: tenant.to_owned(),
        name: name.to_owned(),
        grants: GrantSet::default(),
        groups: Vec::new(),
        metered: Metered::default(),
        cancelled: CancellationToken::new(),
        standing: Standing::default(),
    }
}

fn credential(tenant: &TenantWorld, known: &Known, at: usize) -> Arc<Credential> {
    let principal = tenant.principals.get(&format!("prn-{}", known.principal)).expect("it is a principal");
    let credential = Credential {
        key_id: format!("key-{at}"),
        hash: Sha256::digest(known.key).into(),
        principal: Arc::clone(principal),
        expires_at: known.key.ends_with("_old").then_some(NOW),
        last_use: Arc::default(),
        cancelled: CancellationToken::new(),
    };
    if known.key.ends_with("_gone") {
        credential.cancelled.cancel();
    }
    Arc::new(credential)
}
