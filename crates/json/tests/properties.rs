//! Laws of the crate: writing and reading are inverse, the canonical form is a fixed point, the reader survives
//! anything, and an independent reader agrees about what was read.

use json::{Json, Limits, Number, Object, ReadError, canonical, read, walk, walk_mut, write};
use proptest::prelude::*;

fn limits() -> Limits {
    Limits::default()
}

/// Numbers exist only as source text, so they are made by reading.
fn number() -> impl Strategy<Value = Json> {
    "-?(0|[1-9][0-9]{0,12})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?"
        .prop_filter_map("a number by the JSON grammar", |text| read(text.as_bytes(), &limits()).ok())
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z~/\"\\\\\u{0}-\u{1f}]{0,40}",
        "[\u{d7ff}\u{e000}-\u{ffff}\u{10000}-\u{10ffff}]{0,9}"
    ]
}

fn tree() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        number(),
        text().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 80, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Json::from),
            prop::collection::vec((text(), inner), 0..24)
                .prop_map(|members| Json::Object(members.into_iter().collect::<Object>())),
        ]
    })
}

/// A valid document with a few bytes changed: most are almost JSON.
fn almost_json() -> impl Strategy<Value = Vec<u8>> {
    let edit = (
        any::<prop::sample::Index>(),
        prop_oneof![
            Just(b"".to_vec()),
            Just(b"\"".to_vec()),
            Just(b",".to_vec()),
            Just(b"\\u".to_vec()),
            Just(b"{}".to_vec()),
            Just(b"1e9".to_vec()),
            any::<[u8; 1]>().prop_map(|byte| byte.to_vec())
        ],
    );
    (tree(), prop::collection::vec(edit, 0..4)).prop_map(|(json, edits)| {
        let mut bytes = write(&json);
        for (at, piece) in edits {
            let at = at.index(bytes.len());
            bytes.splice(at..=at, piece);
            if bytes.is_empty() {
                bytes.push(b' ');
            }
        }
        bytes
    })
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

proptest! {
    #[test]
    fn reading_what_was_written_gives_the_tree(json in tree()) {
        prop_assert_eq!(read(&write(&json), &limits()), Ok(json));
    }

    #[test]
    fn the_canonical_form_is_its_own_canonical_form(json in tree()) {
        let once = canonical(&json).expect("finite numbers");
        let again = canonical(&read(&once, &limits()).expect("canonical form is JSON")).expect("finite numbers");
        prop_assert_eq!(once, again);
    }

    #[test]
    fn the_canonical_form_forgets_member_order(json in tree()) {
        let mut turned = json.clone();
        reverse_members(&mut turned);
        prop_assert_eq!(canonical(&json), canonical(&turned));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes, &limits());
    }

    #[test]
    fn another_reader_agrees(bytes in almost_json()) {
        let other: Result<serde_json::Value, _> = serde_json::from_slice(&bytes);
        match (read(&bytes, &limits()), other) {
            (Ok(json), Ok(other)) => prop_assert!(same(&json, &other), "{} / {}", bytes.escape_ascii(), other),
            (Ok(_), Err(error)) => prop_assert!(false, "only we accept {}: {}", bytes.escape_ascii(), error),
            (Err(ReadError::Syntax { problem, .. }), Ok(_)) => prop_assert!(false, "only we refuse {}: {}", bytes.escape_ascii(), problem),
            // Stricter by design: repeated keys and limits.
            (Err(_), _) => {}
        }
    }

    #[test]
    fn both_walks_see_the_same_values(json in tree()) {
        let (mut seen, mut seen_mut) = (Vec::new(), Vec::new());
        walk(&json, &mut |path, leaf| if !matches!(leaf, json::Leaf::Key(_)) { seen.push(path.to_string()) });
        let mut copy = json.clone();
        walk_mut(&mut copy, &mut |path, _| seen_mut.push(path.to_string()));
        prop_assert_eq!(&seen, &seen_mut);
        prop_assert_eq!(&copy, &json);
        prop_assert!(seen.iter().all(|pointer| json.pointer(pointer).is_some()));
    }
}

fn reverse_members(json: &mut Json) {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        Json::Array(elements) => elements.iter_mut().for_each(reverse_members),
        Json::Object(object) => {
            let mut members: Vec<(String, Json)> = std::mem::take(object).into_iter().collect();
            members.reverse();
            members.iter_mut().for_each(|(_, value)| reverse_members(value));
            *object = members.into_iter().collect();
        }
    }
}
