//! Secrets at rest (T-SEC-1): a dump of the database holds none, and a row moved elsewhere does not open.

use chancery::registry::sealed::NewCredential;
use chancery::seal::{Place, SealError};
use store::TenantId;

use crate::harness::{CANARY, Harness};

#[tokio::test]
async fn stolen_database_holds_no_secret() {
    let h = Harness::start().await;
    h.tenant("acme").await;
    h.card("acme", "echo", "http://127.0.0.1:9", "v10_jsonrpc").await;
    let credential = NewCredential::Bearer { token: CANARY.into() };
    h.credential("acme", "echo", "http://127.0.0.1:9", &credential).await;
    let caller = h.caller("acme", "bot", &["*"], &["*"]).await;
    use secrecy::ExposeSecret as _;
    let path = h.app.settings.store.url.expose_secret().trim_start_matches("sqlite://").to_owned();
    let mut dump = std::fs::read(&path).unwrap();
    dump.extend(std::fs::read(format!("{path}-wal")).unwrap_or_default());
    let holds = |text: &str| dump.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("acme"), "the dump is one");
    for secret in [CANARY, &caller.key] {
        assert!(!holds(secret), "{secret}");
    }
    h.finish().await;
}

#[tokio::test]
async fn credential_moved_to_another_tenant_does_not_open() {
    let h = Harness::start().await;
    h.tenant("acme").await;
    h.tenant("globex").await;
    let id = h.card("acme", "echo", "http://127.0.0.1:9", "v10_jsonrpc").await;
    h.card("globex", "echo", "http://127.0.0.1:9", "v10_jsonrpc").await;
    let credential = NewCredential::Bearer { token: CANARY.into() };
    h.credential("acme", "echo", "http://127.0.0.1:9", &credential).await;
    let acme = TenantId::new("acme").unwrap();
    let blob = h.store().card(&acme, "echo").await.unwrap().unwrap().sealed_credential.unwrap();
    assert!(h.app.seal.open(Place::card_credential("acme", &id), &blob).is_ok());
    assert_eq!(h.app.seal.open(Place::card_credential("globex", &id), &blob).unwrap_err(), SealError::Refused);

    // Somebody writes it into the other tenant's row: that card closes, the first stays.
    let globex = TenantId::new("globex").unwrap();
    h.store().set_card_credential(&globex, "echo", store::IfMatch::Any, Some(&blob), h.now()).await.unwrap();
    h.refresh().await;
    let world = h.app.registry.snapshot();
    assert!(world.tenants["globex"].cards.is_empty());
    assert_eq!(world.tenants["globex"].bad_rows[0].name, "echo");
    assert!(world.tenants["acme"].cards.contains_key("echo"));
    h.finish().await;
}
