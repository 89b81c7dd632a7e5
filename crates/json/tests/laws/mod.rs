//! What holds for every document, whatever its bytes. `corpus.rs` runs it on the files of `fuzz/corpus/jcs`, the fuzz
//! target `jcs` on whatever the fuzzer makes of them.
//!
//! Takes bytes; panics where a law is broken, and gives nothing.

use json::{Json, Leaf, Limits, Number, ReadError};

/// One document: writing and reading are inverse, the canonical form is a fixed point that keeps every value, another
/// reader agrees, and the walk shows every string.
pub(crate) fn jcs(bytes: &[u8]) {
    let other: Result<serde_json::Value, _> = serde_json::from_slice(bytes);
    let json = match (json::read(bytes, &Limits::default()), other) {
        (Ok(json), Ok(other)) => {
            assert!(same(&json, &other), "another reader takes it for another document");
            json
        }
        // It rounds less exactly next to the largest double.
        (Ok(_), Err(error)) if error.to_string().starts_with("number out of range") => return,
        (Ok(_), Err(error)) => panic!("only we accept it: {error}"),
        (Err(ReadError::Syntax { problem, .. }), Ok(_)) => panic!("only we refuse it: {problem}"),
        // Stricter by design: repeated keys and limits.
        (Err(_), _) => return,
    };
    assert_eq!(json::read(&json::write(&json), &Limits::default()).as_ref(), Ok(&json), "written and read back");
    canonical_form(&json);
    every_string_is_shown(&json);
}

fn canonical_form(json: &Json) {
    let once = json::canonical(json).expect("the reader takes finite numbers only");
    let again = json::read(&once, &Limits::default()).expect("the canonical form is JSON");
    assert!(alike(json, &again), "the canonical form says something else");
    assert_eq!(json::canonical(&again).as_deref(), Ok(once.as_slice()), "the canonical form is its own");
    let reversed = json::canonical(&reversed(json)).expect("the same numbers");
    assert_eq!(reversed, once, "the order of members shows in the canonical form");
}

/// The pointer of every leaf leads back to it, and as many strings are shown as there are.
fn every_string_is_shown(json: &Json) {
    let mut shown = 0;
    json::walk(json, &mut |path, leaf| match leaf {
        Leaf::Text(text) => {
            shown += 1;
            assert_eq!(json.pointer(&path.to_string()).and_then(Json::as_str), Some(text), "{path}");
        }
        Leaf::Number(number) => {
            assert_eq!(json.pointer(&path.to_string()).and_then(Json::as_number), Some(number), "{path}");
        }
        Leaf::Key(_) => shown += 1,
    });
    assert_eq!(shown, strings(json));
}

fn strings(json: &Json) -> usize {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
        Json::String(_) => 1,
        Json::Array(elements) => elements.iter().map(strings).sum(),
        Json::Object(object) => object.iter().map(|(_, value)| 1 + strings(value)).sum(),
    }
}

/// Equal but for the order of members and the digits of numbers.
fn alike(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => left.as_f64() == right.as_f64(),
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| alike(left, right))
        }
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| alike(value, other)))
        }
        (left, right) => left == right,
    }
}

fn reversed(json: &Json) -> Json {
    match json {
        Json::Array(elements) => Json::Array(elements.iter().map(reversed).collect()),
        Json::Object(object) => {
            let mut members: Vec<(String, Json)> =
                object.iter().map(|(key, value)| (key.to_owned(), reversed(value))).collect();
            members.reverse();
            Json::Object(members.into_iter().collect())
        }
        leaf @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => leaf.clone(),
    }
}

/// Whether the other reader's value is the tree, numbers compared as doubles.
fn same(json: &Json, other: &serde_json::Value) -> bool {
    match (json, other) {
        (Json::Null, serde_json::Value::Null) => true,
        (Json::Bool(left), serde_json::Value::Bool(right)) => left == right,
        (Json::Number(left), serde_json::Value::Number(right)) => close(left, right),
        (Json::String(left), serde_json::Value::String(right)) => left == right,
        (Json::Array(left), serde_json::Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Json::Object(left), serde_json::Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|((key, value), (name, other))| key == name && same(value, other))
        }
        (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_), _) => false,
    }
}

/// The other reader may be one unit in the last place off without its `float_roundtrip` feature.
fn close(left: &Number, right: &serde_json::Number) -> bool {
    let (left, right) = (left.as_f64(), right.as_f64().unwrap_or(f64::NAN));
    (left - right).abs() <= left.abs() * 1e-15 || left.to_bits().abs_diff(right.to_bits()) <= 1
}
