//! The published vectors, replayed; they were made by another implementation (`docs/vectors/delegation.py`).

use chancery::clock::Micros;
use chancery::config::{MasterKey, MasterKeys};
use chancery::pipeline::delegation::{BadChain, Chain, Hop, Ids, Keys, Names, Presented, Written, verify};
use chancery::seal::Seal;
use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::{prop_assert, proptest};
use serde_json::Value;
use std::sync::Arc;

const VECTORS: &str = include_str!("../../../docs/vectors/delegation.json");

fn keys(vectors: &Value) -> Keys {
    let key = |text: &Value| MasterKey::parse(text.as_str().unwrap()).unwrap();
    let current = key(&vectors["master_key"]);
    let previous = vectors["previous_master_keys"].as_array().unwrap().iter().map(key).collect();
    Keys::new(Arc::new(Seal::new(&MasterKeys { current, previous }).unwrap()))
}

fn micros(seconds: &Value) -> Micros {
    seconds.as_i64().unwrap() * 1_000_000
}

/// What comes of one vector: `ok`, `incomplete`, or why not.
fn judged(case: &Value, keys: &Keys) -> Result<Chain, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in case["headers"].as_object().unwrap() {
        let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        for value in values {
            let name = HeaderName::from_bytes(format!("x-brutor-delegation-{name}").as_bytes()).unwrap();
            // What no HTTP message can carry ends before it gets here.
            let value = HeaderValue::from_bytes(value.as_str().unwrap().as_bytes()).map_err(|_| "header".to_owned())?;
            headers.append(name, value);
        }
    }
    let written = match Names::new("x-brutor-").read(&headers) {
        Presented::Absent => return Err("absent".to_owned()),
        Presented::Incomplete => return Err("incomplete".to_owned()),
        Presented::Written(written) => written,
    };
    held(&written, case, keys).map_err(|bad| bad.name().to_owned())
}

fn held(written: &Written, case: &Value, keys: &Keys) -> Result<Chain, BadChain> {
    let text = |name: &str| case[name].as_str().unwrap();
    let chain = verify(written, (text("tenant"), text("presenter")), keys, micros(&case["now"]))?;
    chain.check_loop(text("card"))?;
    chain.check_depth(u32::try_from(case["max_depth"].as_u64().unwrap()).unwrap())?;
    Ok(chain)
}

/// T-DEL-1
#[test]
fn every_published_vector_is_judged_as_it_says() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let keys = keys(&vectors);
    let cases = vectors["cases"].as_array().unwrap();
    assert!(cases.len() >= 40, "{}", cases.len());
    for case in cases {
        let name = case["name"].as_str().unwrap();
        match (judged(case, &keys), case["expect"].as_str().unwrap()) {
            (Ok(chain), "ok") => {
                assert_eq!(chain.root(), case["headers"]["root"], "{name}");
                assert_eq!(chain.text(), case["headers"]["chain"], "{name}");
                assert_eq!(chain.subject(), case["subject"], "{name}");
            }
            (Err(why), expected) => assert_eq!(why, expected, "{name}"),
            (Ok(_), expected) => panic!("{name} was taken, and should be {expected}"),
        }
    }
}

/// The other direction: what we write is what the other implementation writes, byte for byte.
#[test]
fn a_chain_is_written_as_published() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let keys = keys(&vectors);
    for made in vectors["written"].as_array().unwrap() {
        let text = |name: &str| made[name].as_str().unwrap();
        let now = micros(&made["now"]);
        let mut before: Option<Chain> = None;
        for hop in made["hops"].as_array().unwrap() {
            let at = |place: usize| hop[place].as_str().unwrap().to_owned();
            let credential = hop[3].as_str().map(str::to_owned);
            let (hop, id) = (Hop { principal: at(0), card: at(1), credential }, at(2));
            before = Some(Chain::next(before.as_ref(), hop, Ids { root: &id, call: &id }));
        }
        let key = keys.current(text("tenant"), now);
        let written = before.unwrap().written(text("tenant"), text("audience"), &key, now).unwrap();
        for (name, value) in Names::new("x-brutor-").write(&written) {
            let field = name.as_str().strip_prefix("x-brutor-delegation-").unwrap();
            assert_eq!(value.to_str().unwrap(), made["headers"][field], "{field}");
        }
    }
}

/// Whatever byte of whatever field is changed, the chain does not hold.
#[test]
fn any_changed_byte_is_noticed() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let keys = keys(&vectors);
    let cases = vectors["cases"].as_array().unwrap();
    let named = |name: &str| cases.iter().find(|case| case["name"] == name).unwrap();
    let both = [named("one hop"), named("one hop and what proved its caller")];
    for (case, field, value) in both.into_iter().flat_map(|case| {
        let Value::Object(fields) = &case["headers"] else { panic!("no headers") };
        fields.iter().map(move |(field, value)| (case, field, value))
    }) {
        let value = value.as_str().unwrap();
        for at in 0..value.len() {
            let mut bytes = value.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'a' { b'b' } else { b'a' };
            let mut changed = case.clone();
            changed["headers"][field] = String::from_utf8(bytes).unwrap().into();
            if changed["headers"][field] != *value {
                assert!(judged(&changed, &keys).is_err(), "{field} at {at}");
            }
        }
    }
}

proptest! {
    /// Whatever stands in the headers, nothing breaks and nobody is believed.
    #[test]
    fn no_headers_of_anybody_make_a_chain(
        fields in proptest::collection::vec(("(root|parent|depth|actor|subject|chain|sig|other)", "[!-~]{0,40}|v[12](\\.[a-z0-9+>-]{1,20}){3,6}|[ -~é]{0,20}"), 0..9),
        whole in proptest::bool::ANY,
    ) {
        let vectors: Value = serde_json::from_str(VECTORS).unwrap();
        let mut case = vectors["cases"][0].clone();
        let mut headers = if whole { case["headers"].as_object().unwrap().clone() } else { serde_json::Map::new() };
        let mut changed = !whole;
        for (name, value) in fields {
            changed |= headers.get(&name).and_then(Value::as_str) != Some(&*value);
            headers.insert(name, value.into());
        }
        case["headers"] = Value::Object(headers);
        prop_assert!(judged(&case, &keys(&vectors)).is_err() || !changed);
    }
}
