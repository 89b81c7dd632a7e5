//! Signatures: which keys, which verdicts, and what an agent is called by when one is required.

use a2a::sign::{SigningKey, View, sign};
use a2a_client::{ConnectError, Keys, KeysError, Object, Options, Proof, Signatures, connections, fetch_keys};
use egress::ConnectorSettings;
use http::StatusCode;
use json::Json;

use crate::server::{JSON, answer, card, object, serve};

fn key_set(key: &SigningKey) -> String {
    String::from_utf8(json::write(&Json::Object(a2a::sign::jwks::key_set(&[key.public()])))).unwrap()
}

fn text(card: Object) -> String {
    String::from_utf8(json::write(&card.into())).unwrap()
}

#[tokio::test]
async fn signatures_are_checked_with_keys_fetched_from_a_trusted_address() {
    let key = SigningKey::from_seed(&[3; 32], None, None);
    let set = key_set(&key);
    let server = serve(|_| {
        vec![
            ("GET /keys ", answer(200, JSON, &set)),
            ("GET /none ", answer(200, JSON, r#"{"keys":[{"kty":"RSA"}]}"#)),
            ("GET /bad ", answer(200, JSON, "keys")),
        ]
    })
    .await;
    let connections = connections(ConnectorSettings::default()).unwrap();
    let at = |path: &str| format!("{}{path}", server.base);
    let keys = fetch_keys(&connections, &at("/keys")).await.unwrap();
    assert_eq!(keys, [key.public()]);
    assert!(matches!(fetch_keys(&connections, &at("/none")).await, Err(KeysError::Empty)));
    assert!(matches!(fetch_keys(&connections, &at("/bad")).await, Err(KeysError::Read(_))));
    assert!(matches!(fetch_keys(&connections, &at("/gone")).await, Err(KeysError::Status(StatusCode::NOT_FOUND))));

    let mut signed = sign(&object(&card("A", "https://u")), &key).unwrap();
    assert_eq!(Proof::of(&signed, &keys).view(), Some(View::Spec));
    signed.insert("extra", "not covered by what was signed as 1.0");
    let proof = Proof::of(&signed, &keys);
    assert_eq!(proof.view(), Some(View::Spec));
    assert_eq!(proof.covered(&signed).and_then(|covered| covered.get("extra").cloned()), None);
    signed.insert("name", "B");
    assert_eq!(Proof::of(&signed, &keys).covered(&signed), None);
}

#[tokio::test]
async fn an_agent_whose_card_must_be_signed_is_called_only_if_it_is() {
    let key = SigningKey::from_seed(&[3; 32], None, Some("https://attacker.example/keys".to_owned()));
    let other = SigningKey::from_seed(&[4; 32], None, None);
    let (set, others) = (key_set(&key), key_set(&other));
    let server = serve(|base| {
        let signed = sign(&object(&card("A", base)), &key).unwrap();
        let mut padded = signed.clone();
        padded.insert("url", "https://attacker.example/");
        let mut changed = signed.clone();
        changed.insert("name", "B");
        vec![
            ("GET /signed.json ", answer(200, JSON, &text(signed))),
            ("GET /padded.json ", answer(200, JSON, &text(padded))),
            ("GET /changed.json ", answer(200, JSON, &text(changed))),
            ("GET /plain.json ", answer(200, JSON, &card("A", base))),
            ("GET /keys ", answer(200, JSON, &set)),
        ]
    })
    .await;
    let at = |path: &str| format!("{}{path}", server.base);
    let required = |keys| Options::new().signatures(Signatures::Required(keys));
    let pinned = || Keys::from_json(set.as_bytes()).unwrap();

    let agent = required(pinned()).connect(&at("/signed.json")).await.unwrap();
    assert_eq!(agent.proof().and_then(Proof::view), Some(View::Spec));
    required(Keys::At(at("/keys"))).connect(&at("/signed.json")).await.unwrap();

    // What no signature covers leads nowhere.
    let agent = required(pinned()).connect(&at("/padded.json")).await.unwrap();
    assert!(!agent.card().as_object().contains("url") && agent.interfaces().len() == 3, "{:?}", agent.interfaces());

    let refused = required(pinned()).connect(&at("/changed.json")).await.unwrap_err();
    assert!(refused.to_string().contains("matches no view of this card"), "{refused}");
    let refused = required(pinned()).connect(&at("/plain.json")).await.unwrap_err();
    assert!(refused.to_string().contains("carries no signature"), "{refused}");
    let wrong = Keys::from_json(others.as_bytes()).unwrap();
    let refused = required(wrong.clone()).connect(&at("/signed.json")).await.unwrap_err();
    let ConnectError::Unverified(proof) = &refused else { panic!("{refused:?}") };
    assert!(!proof.verdicts.is_empty() && refused.to_string().contains("is not among the trusted keys"), "{refused}");
    let refused = required(Keys::At(at("/nowhere"))).connect(&at("/signed.json")).await.unwrap_err();
    assert!(matches!(refused, ConnectError::Keys(KeysError::Status(_))), "{refused:?}");

    let told = Options::new().signatures(Signatures::Reported(wrong)).connect(&at("/changed.json")).await.unwrap();
    assert_eq!(told.proof().map(Proof::view), Some(None), "called all the same");
    let ignored = Options::new().connect(&at("/changed.json")).await.unwrap();
    assert_eq!(ignored.proof(), None);
}

#[test]
fn keys_come_from_bytes_and_files_of_either_form() {
    let key = SigningKey::from_seed(&[3; 32], None, None);
    let jwk = text(key.public().to_jwk());
    let one = Keys::Pinned(vec![key.public()]);
    assert_eq!(Keys::from_json(jwk.as_bytes()).unwrap(), one);
    assert_eq!(Keys::from_json(key_set(&key).as_bytes()).unwrap(), one);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    std::fs::write(&path, &jwk).unwrap();
    assert_eq!(Keys::from_file(&path).unwrap(), one);
    assert!(matches!(Keys::from_file(folder.path().join("none")), Err(KeysError::File(_))));
    assert!(matches!(Keys::from_json(br#"{"kty":"RSA"}"#), Err(KeysError::Jwk(_))));
    assert!(matches!(Keys::from_json(b"[]"), Err(KeysError::Empty)));
}
