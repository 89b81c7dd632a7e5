//! A token proves somebody only if every claim that matters is as it must be, and only where and when it is meant for.

use super::world::{ISS, KEYS, NOW, audience, world};
use a2a::sign::SigningKey;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chancery::clock::Micros;
use chancery::pipeline::authenticate::{Identity, Scheme, identify};
use chancery::pipeline::head::Head;
use chancery::registry::Snapshot;
use chancery::registry::key_set::{self, VerifyingKey};
use chancery::registry::token::TokenKey;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Made once: reading them takes longer than what is to be tried out.
static VECTORS: LazyLock<Value> = LazyLock::new(|| {
    let read = serde_json::from_str(include_str!("../it/issuers/vectors.json"));
    read.expect("the vectors are JSON")
});

const ISSUER_KID: &str = "law-1";
const GATEWAY_KID: &str = "own-1";
const OWN_ISS: &str = "https://gw.test/oauth/acme";
/// What stands before a header that the gateway's own key is to sign.
const OWN: &[u8] = b"own ";
const DAY: Micros = 24 * 3_600_000_000;

/// A token → whom it proves (T-JWT-1, T-JWT-2, T-JWT-4).
pub(crate) fn jwt_verify(bytes: &[u8]) {
    let mut lines = bytes.splitn(2, |byte| *byte == b'\n');
    let (first, claims) = (lines.next().unwrap_or_default(), lines.next());
    match (first.strip_prefix(OWN), claims) {
        (Some(header), Some(claims)) => signed_by_the_gateway(header, claims),
        (None, Some(claims)) => signed_by_the_issuer(first, claims),
        (_, None) => as_it_is(bytes),
    }
}

fn key(seed: u8, kid: &str) -> SigningKey {
    SigningKey::from_seed(&[seed; 32], Some(kid.to_owned()), None)
}

/// Nobody can sign, so only what was signed for us proves anybody.
fn as_it_is(text: &[u8]) {
    let jwks = serde_json::to_vec(&VECTORS["jwks"]).expect("a key set");
    let world = world(key_set::read(&jwks).expect("keys"), None);
    if proven(text, "acme", &world, NOW).is_none() {
        return;
    }
    let good = VECTORS["good"].as_array().into_iter().flatten().filter_map(|one| one["token"].as_str());
    let signed = |token: &[u8]| token.rsplitn(2, |byte| *byte == b'.').nth(1).map(<[u8]>::to_vec);
    let said = signed(text.trim_ascii());
    assert!(good.into_iter().any(|token| signed(token.as_bytes()) == said), "a token that nobody made");
}

fn signed_by_the_issuer(header: &[u8], claims: &[u8]) {
    let signer = key(9, ISSUER_KID);
    let world = world(HashMap::from([(ISSUER_KID.to_owned(), VerifyingKey::Ed25519(signer.public()))]), own_key());
    let token = token(&signer, header, claims);
    let Some(identity) = proven(&token, "acme", &world, NOW) else { return };
    assert_eq!(identity.scheme(), Scheme::IssuerToken);
    let Some((header, claims)) = read(header, claims) else { return };
    header_is_sound(&header, ISSUER_KID, &["jwt", "at+jwt"], true);
    times_are_sound(&claims);
    assert_eq!(claims["iss"], ISS);
    let wanted = audience("acme");
    let is_for_us = match claims["aud"].as_array() {
        Some(all) => all.iter().all(Value::is_string) && all.iter().any(|one| *one == wanted),
        None => claims["aud"] == wanted,
    };
    assert!(is_for_us, "{}", claims["aud"]);
    let principal = match claims["sub"].as_str() {
        Some("u1") => "p1",
        Some("u2") => "p2",
        other => panic!("{other:?} is nobody, or disabled"),
    };
    assert_eq!(identity.principal().name, principal);
    let groups: Vec<&str> = match claims.get("groups") {
        None => Vec::new(),
        Some(Value::Array(all)) => all.iter().map(|one| one.as_str().expect("a text")).collect(),
        Some(one) => vec![one.as_str().expect("a group")],
    };
    assert_eq!(identity.groups(), groups);
    holds_here_and_now_alone(&token, &world);
}

fn signed_by_the_gateway(header: &[u8], claims: &[u8]) {
    let world = world(HashMap::new(), own_key());
    let token = token(&key(7, GATEWAY_KID), header, claims);
    let Some(identity) = proven(&token, "acme", &world, NOW) else { return };
    assert_eq!(identity.scheme(), Scheme::GatewayToken);
    let Some((header, claims)) = read(header, claims) else { return };
    header_is_sound(&header, GATEWAY_KID, &["at+jwt"], false);
    times_are_sound(&claims);
    assert_eq!((&claims["iss"], &claims["aud"]), (&OWN_ISS.into(), &audience("acme").into()));
    let at = KEYS.iter().position(|known| known.works).expect("one works");
    assert_eq!(
        (claims["key_id"].as_str(), claims["sub"].as_str()),
        (Some(format!("key-{at}").as_str()), Some("prn-p1"))
    );
    assert_eq!(identity.principal().id, "prn-p1");
    holds_here_and_now_alone(&token, &world);
}

fn own_key() -> Option<TokenKey> {
    let own = key(7, GATEWAY_KID);
    Some(TokenKey { public: own.public(), signing: Some(own) })
}

fn token(signer: &SigningKey, header: &[u8], claims: &[u8]) -> Vec<u8> {
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = URL_SAFE_NO_PAD.encode(signer.signature(signed.as_bytes()));
    format!("{signed}.{signature}").into_bytes()
}

fn proven(token: &[u8], tenant: &str, world: &Snapshot, now: Micros) -> Option<Identity> {
    let value = http::HeaderValue::from_bytes(&[b"Bearer ", token].concat()).ok()?;
    let mut request = http::Request::new(());
    request.headers_mut().insert(http::header::AUTHORIZATION, value);
    identify(&Head::read(&request.into_parts().0, now), tenant, world, now).ok()
}

/// By another reader. It refuses numbers beyond a double, where ours reads no further than it must.
fn read(header: &[u8], claims: &[u8]) -> Option<(Value, Value)> {
    let read = |bytes: &[u8]| match serde_json::from_slice(bytes) {
        Ok(value) => Some(value),
        Err(error) if error.to_string().starts_with("number out of range") => None,
        Err(error) => panic!("only we read it: {error}"),
    };
    Some((read(header)?, read(claims)?))
}

fn header_is_sound(header: &Value, kid: &str, types: &[&str], may_lack_one: bool) {
    assert!(header["alg"] == "EdDSA" || header["alg"] == "Ed25519", "{header}");
    assert_eq!(header["kid"], kid);
    for member in ["crit", "jku", "jwk", "x5c", "x5u"] {
        assert!(header.get(member).is_none(), "{header}");
    }
    match header.get("typ") {
        None => assert!(may_lack_one, "{header}"),
        Some(typ) => {
            let typ = typ.as_str().expect("a text").to_ascii_lowercase();
            assert!(types.contains(&typ.strip_prefix("application/").unwrap_or(&typ)), "{header}");
        }
    }
}

/// In seconds; with the leeway of a minute, and one for what is rounded.
fn times_are_sound(claims: &Value) {
    let now = 1_800_000_000.0;
    let at = |name: &str| claims.get(name).map(|value| value.as_f64().expect("a number"));
    let end = at("exp").expect("an end");
    assert!(end > now - 61.0, "{claims}");
    assert!(end - at("iat").unwrap_or(now) <= 86_400.0 + 121.0, "{claims}");
    assert!(at("iat").is_none_or(|at| at < now + 61.0) && at("nbf").is_none_or(|at| at < now + 61.0), "{claims}");
}

/// A token that is good proves nobody at another tenant, on another day, or with one bit of its signature changed.
fn holds_here_and_now_alone(token: &[u8], world: &Snapshot) {
    for tenant in ["globex", "nobody"] {
        assert!(proven(token, tenant, world, NOW).is_none(), "at {tenant}");
    }
    assert!(proven(token, "acme", world, NOW + DAY + DAY / 10).is_none(), "it works for longer than any may");
    let dot = token.iter().rposition(|byte| *byte == b'.').expect("three parts");
    let (signed, signature) = token.split_at(dot + 1);
    let mut signature = URL_SAFE_NO_PAD.decode(signature).expect("a signature");
    for at in [0, 31, 32, 63] {
        *signature.get_mut(at).expect("64 bytes") ^= 1;
        let forged = [signed, URL_SAFE_NO_PAD.encode(&signature).as_bytes()].concat();
        assert!(proven(&forged, "acme", world, NOW).is_none(), "byte {at} of the signature");
        *signature.get_mut(at).expect("64 bytes") ^= 1;
    }
}
