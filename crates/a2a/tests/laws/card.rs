//! Cards: whatever can be published can be signed, verifies, says the gateway's address and no other, and no change goes
//! unnoticed.

use a2a::{
    Version,
    rewrite::{Binding, Gateway, GrpcAddress, Relays, Scheme, SchemeKind, generation, interfaces, publish},
    sign::{SigningKey, sign, verify},
};
use json::{Json, Limits, Object};

const URL: &str = "https://gw.test/a2a/acme/echo";

/// One agent card.
pub(crate) fn card_parse(bytes: &[u8]) {
    let Ok(Json::Object(card)) = json::read(bytes, &Limits::default()) else { return };
    let key = SigningKey::from_seed(&[7; 32], None, Some("https://gw.test/jwks".to_owned()));
    let forged = verify(&card, &[key.public()]);
    assert!(forged.iter().all(|verdict| verdict.outcome.is_err()), "a key that signed nothing verifies");
    let _ = (generation(&card), interfaces(&card));
    if let Ok(signed) = sign(&card, &key) {
        verifies(&signed, &key);
    }
    match publish(&card, &gateway()) {
        Err(problems) => assert!(problems.iter().all(|problem| problem.path.starts_with('/')), "{problems:?}"),
        Ok(published) => {
            let signed = sign(&published, &key).expect("what is published can be signed");
            verifies(&signed, &key);
            assert_eq!(publish(&signed, &gateway()).as_ref(), Ok(&published), "published twice");
            for interface in interfaces(&signed) {
                let ours = interface.url == URL || interface.url == "gw.test:443";
                assert!(ours, "{} is not the gateway", interface.url);
            }
        }
    }
}

/// As a client gets it: read from the bytes that are served.
fn verifies(signed: &Object, key: &SigningKey) {
    let served = json::write(&Json::Object(signed.clone()));
    let Ok(Json::Object(served)) = json::read(&served, &Limits::default()) else { panic!("a served card is not read") };
    let verdicts = verify(&served, &[key.public()]);
    assert!(!verdicts.is_empty());
    for verdict in &verdicts {
        assert!(verdict.outcome.is_ok(), "{verdict:?}");
    }
    let mut changed = served;
    let name = changed.str("name").unwrap_or_default().to_owned();
    changed.insert("name", format!("{name}!"));
    for verdict in verify(&changed, &[key.public()]) {
        assert!(verdict.outcome.is_err(), "a changed name goes unnoticed: {verdict:?}");
    }
}

fn gateway() -> Gateway {
    Gateway {
        url: URL.to_owned(),
        interfaces: vec![
            (Binding::JsonRpc, Version::V10),
            (Binding::HttpJson, Version::V10),
            (Binding::JsonRpc, Version::V03),
        ],
        grpc: Some(GrpcAddress { authority: "gw.test:443".to_owned(), tenant: "echo".to_owned() }),
        security: vec![Scheme {
            name: "key".to_owned(),
            scope: "a2a".to_owned(),
            kind: SchemeKind::ApiKey { header: "X-API-Key".to_owned() },
        }],
        relays: Relays { streaming: true, push_notifications: false, extended_card: true },
    }
}
