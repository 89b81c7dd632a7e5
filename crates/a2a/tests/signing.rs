//! Card signatures against vectors that the official SDKs have judged, and against cards changed afterwards.
//!
//! `vectors/signing/*.json` hold RFC 8032 test keys, cards, canonical texts, signatures and the measured verdicts of
//! a2a-sdk 1.3.0 and 0.3.26 (Python) and @a2a-js/sdk 1.3.0.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot read its vectors must stop")]

use std::path::PathBuf;

use a2a::rewrite::{CardFault, Problem};
use a2a::sign::jwks::{JwkError, key_set, read_key_set, thumbprint};
use a2a::sign::{PublicKey, Refusal, SignError, SignatureVerdict, SigningKey, View, sign, sign_view, verify, views};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use json::{Json, Limits, Object, read};
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

fn object(text: &str) -> Object {
    match read(text.as_bytes(), &Limits::default()) {
        Ok(Json::Object(object)) => object,
        other => panic!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Vector {
    name: String,
    document: Object,
}

impl Vector {
    fn all() -> Vec<Self> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/signing");
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        let read = |path: PathBuf| Self {
            name: path.display().to_string(),
            document: object(&std::fs::read_to_string(path).expect("a file")),
        };
        let all: Vec<_> = paths.into_iter().map(read).collect();
        assert_eq!(all.len(), 3);
        all
    }

    fn at(&self, pointer: &str) -> Json {
        let document = Json::Object(self.document.clone());
        document.pointer(pointer).cloned().unwrap_or_else(|| panic!("{} has no {pointer}", self.name))
    }

    fn text(&self, pointer: &str) -> String {
        self.at(pointer).as_str().expect("text").to_owned()
    }

    fn card(&self, pointer: &str) -> Object {
        self.at(pointer).as_object().expect("an object").clone()
    }

    fn signatures(&self) -> usize {
        self.at("/signatures").as_array().expect("a list").len()
    }

    /// The key, with the `jku` that the vector's headers have.
    fn key(&self) -> SigningKey {
        let digits = self.text("/key/seed_hex");
        let byte = |at: usize| digits.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok()).expect("hex");
        let seed: Vec<u8> = (0..64).step_by(2).map(byte).collect();
        let header = object(&self.text("/signatures/0/protected_header_json"));
        let jku = header.str("jku").map(str::to_owned);
        SigningKey::from_seed(&seed.try_into().expect("32 bytes"), Some(self.text("/key/public_jwk/kid")), jku)
    }

    fn outcomes(&self, card: &Object) -> Vec<Result<View, Refusal>> {
        verify(card, &[self.key().public()]).into_iter().map(|verdict| verdict.outcome).collect()
    }
}

fn view(name: &str) -> View {
    View::ALL.into_iter().find(|view| view.name() == name).expect("a view")
}

/// The card with the value at `pointer` replaced.
fn changed(card: &Object, pointer: &str, value: impl Into<Json>) -> Object {
    let mut card = Json::Object(card.clone());
    *card.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value.into();
    card.as_object().expect("an object").clone()
}

fn only_signature(card: &Object, at: usize) -> Object {
    let entry = card.get("signatures").and_then(Json::as_array).and_then(|all| all.get(at)).expect("an entry");
    let mut card = card.clone();
    card.insert("signatures", vec![entry.clone()]);
    card
}

#[test]
fn canonical_texts_and_signatures_are_those_of_the_vectors() {
    for vector in Vector::all() {
        let (card, key) = (vector.card("/card_unsigned"), vector.key());
        for at in 0..vector.signatures() {
            let field = |name: &str| vector.text(&format!("/signatures/{at}/{name}"));
            let view = view(&field("view"));
            let canonical = views::bytes(&card, view).expect("canonical");
            assert_eq!(String::from_utf8_lossy(&canonical), field("canonical_utf8"), "{} {view}", vector.name);
            assert_eq!(hex(&Sha256::digest(&canonical)), field("canonical_sha256_hex"));
            let entry = sign_view(&card, view, &key).expect("signed");
            assert_eq!(entry.str("protected"), Some(field("protected").as_str()));
            assert_eq!(entry.str("signature"), Some(field("signature").as_str()));
            let input = format!("{}.{}", field("protected"), URL_SAFE_NO_PAD.encode(&canonical));
            assert_eq!(input, field("signing_input"));
        }
    }
}

#[test]
fn public_keys_are_those_of_the_vectors() {
    for vector in Vector::all() {
        let jwk = vector.card("/key/public_jwk");
        let public = vector.key().public();
        assert_eq!(public.to_jwk(), jwk);
        assert_eq!(PublicKey::from_jwk(&jwk), Ok(public.clone()));
        assert_eq!(PublicKey::from_jwk(&vector.card("/key/private_jwk")), Err(JwkError::Private));
        assert_eq!(read_key_set(&Json::Object(key_set(std::slice::from_ref(&public)))), [public]);
    }
}

#[test]
fn signed_cards_of_the_vectors_are_accepted_by_the_view_they_cover() {
    let accepted: Vec<_> = Vector::all().iter().map(|vector| vector.outcomes(&vector.card("/signed_card"))).collect();
    // The first card has no empty value, so its one signature covers every form of 1.0; the first in order is named.
    let expected = [vec![Ok(View::Spec)], vec![Ok(View::V1)], vec![Ok(View::Spec), Ok(View::Raw), Ok(View::V03)]];
    let [first, second, third] = expected;
    // `securityRequirements` of the third card has an empty scope list, which the letter of the specification keeps.
    let third = third.into_iter().map(|view| if view == Ok(View::Spec) { Ok(View::V1) } else { view }).collect();
    assert_eq!(accepted, [first, second, third]);
}

#[test]
fn tampered_cards_of_the_vectors_get_the_verdicts_that_were_measured() {
    for vector in Vector::all() {
        let card = vector.card("/signed_card");
        let refused = |card: &Object| vector.outcomes(card).into_iter().all(|outcome| outcome == Err(Refusal::NoMatch));
        assert!(refused(&changed(&card, "/description", "tampered")), "{}", vector.name);
        let moved = changed(&card, "/supportedInterfaces/0/url", "http://evil.example/");
        // The 0.3 view does not cover the interfaces of 1.0.
        let expected = if vector.signatures() == 3 {
            vec![Err(Refusal::NoMatch), Err(Refusal::NoMatch), Ok(View::V03)]
        } else {
            vec![Err(Refusal::NoMatch)]
        };
        assert_eq!(vector.outcomes(&moved), expected, "{}", vector.name);
        let old = only_signature(&card, vector.signatures() - 1);
        assert_eq!(vector.outcomes(&old).len(), 1);
        assert!(vector.outcomes(&old).iter().all(Result::is_ok));
    }
}

#[test]
fn a_requirement_without_scope_is_covered_by_the_raw_view_alone() {
    let vectors = Vector::all();
    let vector = vectors.last().expect("the union card");
    let mut card = vector.card("/signed_card");
    card.remove("securityRequirements");
    let expected = vec![Ok(View::Spec), Err(Refusal::NoMatch), Ok(View::V03)];
    assert_eq!(vector.outcomes(&card), expected);
}

#[test]
fn signing_a_vector_card_gives_its_signature() {
    let vectors = Vector::all();
    let plain = vectors.first().expect("the plain card");
    assert_eq!(sign(&plain.card("/card_unsigned"), &plain.key()), Ok(plain.card("/signed_card")));
    let scopeless = vectors.get(1).expect("the card with empties");
    let problem = Problem { path: "/securityRequirements/1".to_owned(), fault: CardFault::ScopelessRequirement };
    let card = scopeless.card("/card_unsigned");
    assert_eq!(sign(&card, &scopeless.key()), Err(SignError::Card(vec![problem])));
    let mut requirement = card.get("securityRequirements").and_then(Json::as_array).expect("a list").to_vec();
    requirement.pop();
    let mut card = card;
    card.insert("securityRequirements", requirement);
    let signed = sign(&card, &scopeless.key()).expect("signed");
    let signature = Json::Object(signed.clone()).pointer("/signatures/0/signature").cloned();
    assert_eq!(signature, Some(Json::from(scopeless.text("/signatures/0/signature"))));
    assert_eq!(scopeless.outcomes(&signed), [Ok(View::Spec)]);
}

/// The card of A2A discussion 2249, where signers and verifiers disagree about explicit defaults.
const DISPUTED: &str = r#"{"name":"Echo","description":"","version":"1.0.0","supportedInterfaces":[{"url":"https://gw.test/a2a/acme/echo","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":false,"extensions":[{"uri":"https://ext.test/x","required":false}]},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[]}"#;
const DISPUTED_HEADER: &str = "eyJhbGciOiJFZERTQSIsInR5cCI6IkpPU0UiLCJraWQiOiJhY21lLTIwMjYtMSJ9";

/// F25
#[test]
fn disputed_readings_of_defaults_are_named_or_refused_by_rule() {
    let cases = [
        (
            "7RbawYPY2QtedtkIIuVFgfrh6yfIjTrlWSzVNpPSXaKLFK098g0YVl8LG9qPgGnFehW7G7mLu2FEb5OnG_FzDg",
            "e03c4dd15176682096f6886798d9572a13294f745e3c1ee753b2b3c95274720d",
            Ok(View::Spec),
        ),
        (
            "WaDaUF7MGpttAjn4ZUsJngAIAnYN_ohUxIYvPFqP6laKp_LuveDVoIVNrP-tqJnK3BSKUiZ1Zry0DoE5SrY4Dw",
            "d4f32ef19de1b1237931961b6dbedc7246ce1aea907d6e5b7dfc32d50d27f7c5",
            Ok(View::Raw),
        ),
        (
            "sa5vfJzN8HWH49arTZAQfo2-6k_5zCTFITkgUSq8d1woLjOPTX_qylAVuNWAJh19uzBLuCAjj237vaHuiEkvDQ",
            "6967fd5f0504dcc84388ba4eb0b998a3de13115de76b1a857e48ab9cbf357696",
            Err(Refusal::OptionalDefaultsDropped),
        ),
    ];
    let keys = disputed_keys();
    for (signature, digest, outcome) in cases {
        let mut card = object(DISPUTED);
        if let Ok(view) = outcome {
            assert_eq!(hex(&Sha256::digest(views::bytes(&card, view).expect("canonical"))), digest);
        }
        card.insert("signatures", vec![Json::from([("protected", DISPUTED_HEADER), ("signature", signature)])]);
        let expected = SignatureVerdict { kid: Some("acme-2026-1".to_owned()), outcome };
        assert_eq!(verify(&card, &keys), [expected]);
    }
    assert!(Refusal::OptionalDefaultsDropped.to_string().contains("§8.4.1 rule 1"));
}

/// The key of RFC 8037 appendix A, under the name the disputed card gives it.
fn disputed_keys() -> [PublicKey; 1] {
    let jwk = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"acme-2026-1"}"#;
    [PublicKey::from_jwk(&object(jwk)).expect("a key")]
}

#[test]
fn thumbprints_are_those_of_the_rfc() {
    let [key] = disputed_keys();
    assert_eq!(thumbprint(key.as_bytes()), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    let unnamed = PublicKey::from_bytes(key.as_bytes(), None).expect("a key");
    assert_eq!(unnamed.kid(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    assert_eq!(SigningKey::from_seed(&[7; 32], None, None).public().kid().len(), 43);
}

#[test]
fn key_sets_are_read_leniently_and_only_for_our_keys() {
    let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    let ours = [
        format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}","alg":"Ed25519"}}"#),
        format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}=","use":"sig","key_ops":["verify"],"x5t":"?"}}"#),
    ];
    for jwk in &ours {
        assert!(PublicKey::from_jwk(&object(jwk)).is_ok(), "{jwk}");
    }
    let others = [
        (r#"{"kty":"EC","crv":"P-256","x":"a","y":"b"}"#.to_owned(), JwkError::OtherType),
        (r#"{"kty":"OKP","crv":"X25519","x":"a"}"#.to_owned(), JwkError::OtherType),
        (format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}","use":"enc"}}"#), JwkError::OtherPurpose),
        (format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}","alg":"ES256"}}"#), JwkError::OtherPurpose),
        (format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}","key_ops":["sign"]}}"#), JwkError::OtherPurpose),
        (format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}","d":"{x}"}}"#), JwkError::Private),
        (r#"{"kty":"OKP","crv":"Ed25519"}"#.to_owned(), JwkError::Value),
        (r#"{"kty":"OKP","crv":"Ed25519","x":"AQID"}"#.to_owned(), JwkError::Value),
        // The identity: a point of small order that "verifies" anything.
        (
            r#"{"kty":"OKP","crv":"Ed25519","x":"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#.to_owned(),
            JwkError::Value,
        ),
    ];
    for (jwk, fault) in &others {
        assert_eq!(PublicKey::from_jwk(&object(jwk)), Err(*fault), "{jwk}");
    }
    let all: Vec<_> = ours.iter().chain(others.iter().map(|(jwk, _)| jwk)).map(|jwk| object(jwk).into()).collect();
    assert_eq!(read_key_set(&Json::from([("keys", all)])).len(), 2);
    assert_eq!(read_key_set(&Json::Null), []);
}

#[test]
fn a_published_key_never_says_ed25519_as_its_algorithm() {
    let jwk = SigningKey::from_seed(&[7; 32], Some("k".to_owned()), None).public().to_jwk();
    assert_eq!(jwk.keys().collect::<Vec<_>>(), ["kty", "crv", "x", "kid", "use", "alg"]);
    assert_eq!(jwk.str("alg"), Some("EdDSA"));
}

#[test]
fn the_secret_is_not_in_the_debug_text() {
    let key = SigningKey::from_seed(&[7; 32], Some("k".to_owned()), Some("https://gw.test/jwks".to_owned()));
    assert_eq!(format!("{key:?}"), r#"SigningKey { kid: "k", .. }"#);
}

/// A small card of both generations with something in every corner.
fn union_card() -> Object {
    object(
        r#"{"name":"é\u2028😀","description":"d","version":"1","supportedInterfaces":[{"url":"https://gw.test/a2a/t/c","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"https://gw.test/a2a/t/c","protocolBinding":"JSONRPC","protocolVersion":"0.3"}],"protocolVersion":"0.3.0","url":"https://gw.test/a2a/t/c","preferredTransport":"JSONRPC","additionalInterfaces":[{"url":"https://gw.test/a2a/t/c","transport":"JSONRPC"}],"provider":{"organization":"o","url":"https://o.test"},"capabilities":{"streaming":false,"extendedAgentCard":true,"extensions":[{"uri":"urn:x","required":false,"params":{"n":1.50,"e":1e21,"i":-0,"l":[1,"",{"k":null}]}}]},"supportsAuthenticatedExtendedCard":true,"securitySchemes":{"bearer":{"type":"http","scheme":"Bearer","httpAuthSecurityScheme":{"scheme":"Bearer"}}},"security":[{"bearer":["a2a.invoke"]}],"securityRequirements":[{"schemes":{"bearer":{"list":["a2a.invoke"]}}}],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"i","name":"n","description":"d","tags":["t"],"examples":["e"],"extra":7}]}"#,
    )
}

fn union_key() -> SigningKey {
    SigningKey::from_seed(&[9; 32], None, Some("https://gw.test/.well-known/a2a-jwks/t".to_owned()))
}

#[test]
fn a_union_card_gets_one_signature_per_view_and_old_ones_are_dropped() {
    let key = union_key();
    let mut card = union_card();
    card.insert("signatures", vec![Json::from([("protected", "e30"), ("signature", "AA")])]);
    let signed = sign(&card, &key).expect("signed");
    let outcomes: Vec<_> = verify(&signed, &[key.public()]).into_iter().map(|verdict| verdict.outcome).collect();
    assert_eq!(outcomes, [Ok(View::Spec), Ok(View::Raw), Ok(View::V03)]);
    assert_eq!(sign(&signed, &key), Ok(signed.clone()), "signing is stable");
    let expected = r#"{"additionalInterfaces":[{"transport":"JSONRPC","url":"https://gw.test/a2a/t/c"}],"capabilities":{"extensions":[{"params":{"e":1e+21,"i":0,"l":[1],"n":1.5},"uri":"urn:x"}],"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"d","name":"\u00e9\u2028\ud83d\ude00","provider":{"organization":"o","url":"https://o.test"},"security":[{"bearer":["a2a.invoke"]}],"securitySchemes":{"bearer":{"scheme":"Bearer"}},"skills":[{"description":"d","examples":["e"],"id":"i","name":"n","tags":["t"]}],"supportsAuthenticatedExtendedCard":true,"url":"https://gw.test/a2a/t/c","version":"1"}"#;
    let old = views::bytes(&signed, View::V03).expect("canonical");
    assert_eq!(String::from_utf8_lossy(&old), expected);
}

#[test]
fn signatures_that_cannot_be_judged_are_refused_by_name() {
    let key = union_key();
    let signed = sign(&union_card(), &key).expect("signed");
    let header = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let good = "A".repeat(86);
    let cases = [
        (header(r#"{"alg":"ES256","kid":"k"}"#), good.clone(), Refusal::UnsupportedAlgorithm { alg: "ES256".into() }),
        (header(r#"{"alg":"none","kid":"k"}"#), String::new(), Refusal::UnsupportedAlgorithm { alg: "none".into() }),
        (header(r#"{"alg":"EdDSA","kid":"k","crit":["exp"],"exp":1}"#), good.clone(), Refusal::CriticalHeader),
        (header(r#"{"alg":"EdDSA","kid":"k","b64":false}"#), good.clone(), Refusal::CriticalHeader),
        (header(r#"{"alg":"EdDSA","kid":"k"}"#), good.clone(), Refusal::UnknownKey { kid: "k".into() }),
        (header(r#"{"alg":"EdDSA"}"#), good.clone(), Refusal::Malformed("the protected header names no key (kid)")),
        (header(r#"{"kid":"k"}"#), good.clone(), Refusal::Malformed("the protected header names no algorithm (alg)")),
        (
            header(r#"{"alg":"EdDSA","alg":"EdDSA","kid":"k"}"#),
            good.clone(),
            Refusal::Malformed("the protected header is no base64url JSON object"),
        ),
        ("é".to_owned(), good, Refusal::Malformed("the protected header is no base64url JSON object")),
        (
            header(r#"{"alg":"EdDSA","kid":"k"}"#),
            "AAAA".to_owned(),
            Refusal::Malformed("the signature is no base64url of 64 bytes"),
        ),
    ];
    for (protected, signature, refusal) in cases {
        let mut card = signed.clone();
        card.insert("signatures", vec![Json::from([("protected", protected), ("signature", signature)]), Json::Null]);
        let outcomes: Vec<_> = verify(&card, &[key.public()]).into_iter().map(|verdict| verdict.outcome).collect();
        assert_eq!(outcomes, [Err(refusal), Err(Refusal::Malformed("no protected header"))]);
    }
}

#[test]
fn another_key_of_the_same_name_and_too_many_signatures_are_refused() {
    let key = union_key();
    let signed = sign(&union_card(), &key).expect("signed");
    let impostor = SigningKey::from_seed(&[8; 32], Some(key.kid().to_owned()), None).public();
    let outcomes = |card: &Object, keys: &[PublicKey]| -> Vec<_> {
        verify(card, keys).into_iter().map(|verdict| verdict.outcome).collect()
    };
    assert!(outcomes(&signed, std::slice::from_ref(&impostor)).iter().all(|one| *one == Err(Refusal::NoMatch)));
    assert!(outcomes(&signed, &[impostor, key.public()]).iter().all(Result::is_ok));
    let entry = signed.get("signatures").and_then(Json::as_array).and_then(|all| all.first()).expect("one").clone();
    let mut card = signed;
    card.insert("signatures", vec![entry; 18]);
    let refused: Vec<_> = outcomes(&card, &[key.public()]).into_iter().skip(16).collect();
    assert_eq!(refused, vec![Err(Refusal::TooMany { limit: 16 }); 2]);
    card.remove("signatures");
    assert_eq!(verify(&card, &[key.public()]), []);
}

#[test]
fn cards_that_readers_round_differently_are_not_signed() {
    let key = union_key();
    for number in ["9007199254740992", "-9007199254740992"] {
        let text = String::from_utf8(json::write(&Json::Object(union_card()))).expect("text");
        let card = object(&text.replace("1.50", number));
        let problem =
            Problem { path: "/capabilities/extensions/0/params/n".to_owned(), fault: CardFault::NumberTooBig };
        assert_eq!(sign(&card, &key), Err(SignError::Card(vec![problem])));
    }
}

#[test]
fn a_card_that_our_own_reader_refuses_is_not_signed() {
    let mut card = Json::Object(union_card());
    let params = card.pointer_mut("/capabilities/extensions/0/params").and_then(Json::as_object_mut).expect("there");
    params.insert("k".repeat(300), true);
    let card = card.as_object().expect("an object");
    assert_eq!(sign(card, &union_key()), Err(SignError::Unreadable(json::ReadError::KeyTooLong { limit: 256 })));
}

/// Every place of a tree that holds a value, as pointers.
fn places(json: &Json, at: &str, found: &mut Vec<String>) {
    let steps: Vec<(String, &Json)> = match json {
        Json::Object(object) => object.iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        Json::Array(elements) => elements.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => return found.push(at.to_owned()),
    };
    for (step, value) in steps {
        places(value, &format!("{at}/{step}"), found);
    }
}

#[test]
fn any_changed_member_is_noticed_by_the_views_that_cover_it() {
    let key = union_key();
    let signed = sign(&union_card(), &key).expect("signed");
    let mut found = Vec::new();
    let mut unsigned = signed.clone();
    unsigned.remove("signatures");
    places(&Json::Object(unsigned), "", &mut found);
    assert!(found.len() > 30);
    for pointer in found {
        let card = changed(&signed, &pointer, "changed");
        let outcomes: Vec<_> = verify(&card, &[key.public()]).into_iter().map(|verdict| verdict.outcome).collect();
        assert_eq!(outcomes.get(1), Some(&Err(Refusal::NoMatch)), "{pointer}");
        for (view, outcome) in [View::V1, View::V03].into_iter().zip([outcomes.first(), outcomes.get(2)]) {
            let covered = views::project(&card, view) != views::project(&signed, view);
            assert_eq!(outcome.is_some_and(Result::is_err), covered, "{pointer} in {view}");
        }
    }
}

#[test]
fn what_a_view_does_not_cover_is_not_in_its_projection() {
    let card = union_card();
    let keys = |view| views::project(&card, view).keys().map(str::to_owned).collect::<Vec<_>>();
    for member in ["url", "preferredTransport", "protocolVersion", "additionalInterfaces", "security"] {
        assert!(!keys(View::V1).contains(&member.to_owned()), "{member}");
    }
    for member in ["supportedInterfaces", "securityRequirements"] {
        assert!(!keys(View::V03).contains(&member.to_owned()), "{member}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_flipped_bit_of_an_entry_is_refused(at in any::<prop::sample::Index>(), bit in 0_u8..7) {
        let key = union_key();
        let signed = sign(&union_card(), &key).expect("signed");
        let entry = Json::Object(only_signature(&signed, 1)).pointer("/signatures/0").cloned().expect("an entry");
        let field = if bit % 2 == 0 { "protected" } else { "signature" };
        let mut text = entry.get(field).and_then(Json::as_str).expect("text").as_bytes().to_vec();
        let at = at.index(text.len());
        if let Some(byte) = text.get_mut(at) {
            *byte ^= 1 << bit;
        }
        if let Ok(text) = String::from_utf8(text) {
            let card = changed(&only_signature(&signed, 1), &format!("/signatures/0/{field}"), text);
            prop_assert!(verify(&card, &[key.public()]).iter().all(|verdict| verdict.outcome.is_err()));
        }
    }

    #[test]
    fn any_card_text_signs_and_verifies(name in "\\PC{1,20}", description in ".{1,20}", extra in any::<f64>()) {
        prop_assume!(extra.is_finite());
        let key = union_key();
        let mut card = union_card();
        card.insert("name", name);
        card.insert("description", description);
        let number = object(&format!(r#"{{"n":{extra:e}}}"#));
        let card = changed(&card, "/capabilities/extensions/0/params", number);
        let signed = sign(&card, &key).expect("signed");
        prop_assert!(verify(&signed, &[key.public()]).iter().all(|verdict| verdict.outcome.is_ok()));
    }
}
