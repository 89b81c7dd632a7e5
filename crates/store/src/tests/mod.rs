//! The store's tests, each on SQLite in a file, SQLite in memory and PostgreSQL.

mod admin_changes;
mod admins;
mod audit;
mod cards;
mod conditions;
mod isolation;
mod issuers;
mod keys;
mod marks;
mod permits;
mod policies;
mod revision;
mod schema;
mod statements;
mod tasks;
mod tenants;
mod world;

use std::time::Duration;

use crate::testing::TestStore;
use crate::{
    CardState, IfMatch, NewCard, NewGrant, NewIssuer, NewKey, NewPolicy, NewPrincipal, NewSigningKey, Page,
    PrincipalKind, Store, TenantFields, TenantId, TenantState, TrustTier,
};
use crate::{KeyPurpose, SigningKeyState};

/// Makes three tests of one scenario.
macro_rules! on_both {
    ($($(#[$meta:meta])* async fn $name:ident($given:ident) $body:block)+) => {$(
        $(#[$meta])*
        async fn $name($given: crate::testing::TestStore) $body

        mod $name {
            #[tokio::test]
            async fn sqlite_file() {
                crate::tests::within_a_minute(super::$name(crate::testing::sqlite_file().await)).await;
            }

            #[tokio::test]
            async fn sqlite_memory() {
                crate::tests::within_a_minute(super::$name(crate::testing::sqlite_memory().await)).await;
            }

            #[tokio::test]
            async fn postgres() {
                if let Some(given) = crate::testing::postgres().await {
                    crate::tests::within_a_minute(super::$name(given)).await;
                }
            }
        }
    )+};
}
use on_both;

async fn within_a_minute(scenario: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_secs(60), scenario).await.expect("the scenario ends");
}

fn tenant_id(name: &str) -> TenantId {
    TenantId::new(name).expect("a legal name")
}

fn tenant_fields() -> TenantFields {
    TenantFields {
        display_name: "Acme, Inc.".to_owned(),
        state: TenantState::Active,
        default_card: Some("echo".to_owned()),
        default_policy: None,
        floor_policy: Some("floor".to_owned()),
        settings: b"{}".to_vec(),
    }
}

fn new_card(id: &str, name: &str) -> NewCard {
    NewCard {
        id: id.to_owned(),
        name: name.to_owned(),
        document: b"{\"name\":1.0}".to_vec(),
        settings: b"{\"direction\":\"inbound\"}".to_vec(),
        sealed_credential: Some(vec![0, 255, 1]),
        state: CardState::Draft,
        trust_tier: TrustTier::Unsigned,
        changed_by: "ada".to_owned(),
        note: "first".to_owned(),
    }
}

fn new_principal(id: &str, name: &str) -> NewPrincipal {
    NewPrincipal { id: id.to_owned(), name: name.to_owned(), kind: PrincipalKind::Service }
}

fn new_key(id: &str, principal_id: &str) -> NewKey {
    NewKey {
        id: id.to_owned(),
        principal_id: principal_id.to_owned(),
        label: "laptop".to_owned(),
        hash: format!("hash of {id}").into_bytes(),
        hint: "sk_…abc".to_owned(),
        expires: Some(9_000),
    }
}

fn new_grant(id: &str, name: &str, principal_id: &str) -> NewGrant {
    NewGrant {
        id: id.to_owned(),
        name: name.to_owned(),
        principal_id: principal_id.to_owned(),
        document: b"{\"cards\":[]}".to_vec(),
    }
}

fn new_issuer(id: &str, name: &str) -> NewIssuer {
    NewIssuer { id: id.to_owned(), name: name.to_owned(), document: b"{\"issuer\":\"https://idp.test\"}".to_vec() }
}

fn new_policy(id: &str, name: &str) -> NewPolicy {
    NewPolicy {
        id: id.to_owned(),
        name: name.to_owned(),
        document: b"{\"mode\":\"enforce\"}".to_vec(),
        changed_by: "ada".to_owned(),
        note: "first".to_owned(),
    }
}

fn new_signing_key(id: &str, kid: &str) -> NewSigningKey {
    NewSigningKey {
        id: id.to_owned(),
        kid: kid.to_owned(),
        purpose: KeyPurpose::Card,
        public: vec![1, 2],
        sealed_private: vec![3, 4],
        state: SigningKeyState::Active,
    }
}

/// A tenant with one of everything, ids ending in the tenant's name.
async fn furnish(store: &Store, name: &str) -> TenantId {
    let tenant = tenant_id(name);
    store.create_tenant(&tenant, &tenant_fields(), 1).await.expect("tenant");
    store.create_card(&tenant, &new_card(&format!("card-{name}"), "echo"), 2).await.expect("card");
    store.create_principal(&tenant, &new_principal(&format!("prn-{name}"), "bot"), 3).await.expect("principal");
    let principal = format!("prn-{name}");
    store.create_key(&tenant, &new_key(&format!("key-{name}"), &principal), 4).await.expect("key");
    store.create_grant(&tenant, &new_grant(&format!("grt-{name}"), "all", &principal), 5).await.expect("grant");
    store.create_policy(&tenant, &new_policy(&format!("pol-{name}"), "floor"), 6).await.expect("policy");
    let signing = new_signing_key(&format!("sig-{name}"), "kid-1");
    store.create_signing_key(&tenant, &signing, 7).await.expect("signing key");
    tenant
}

const FIRST: Page<'_> = Page { after: "", limit: 100 };
