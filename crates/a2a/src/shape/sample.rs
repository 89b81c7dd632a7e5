//! Canonical trees from the tables: for every place where a peer can write text, the smallest tree that has it there.
//!
//! For tests that must reach every member, those of tomorrow's tables too. Takes an operation and what to write; knows
//! no dialect.

use json::{Json, Object};

use super::{Field, Name, Shape, v10};
use crate::OperationKind;

/// Which half of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The parameters.
    Asked,
    /// The result; of a stream, one event.
    Answered,
}

/// A tree with the text at one place.
#[derive(Clone, Debug)]
pub struct Planted {
    /// Where: members joined by `/`, lists not counted.
    pub place: String,
    /// The tree.
    pub tree: Json,
}

/// Every place of an operation's half. `text` is written as it is; `bytes` where bytes are written, as base64.
#[must_use]
pub fn planted(kind: OperationKind, half: Half, text: &str, bytes: &str) -> Vec<Planted> {
    let shape = match half {
        Half::Asked => v10::params(kind),
        Half::Answered => v10::result(kind),
    };
    let mut all = Vec::new();
    places(shape, "", &mut |place, tree| all.push(Planted { place, tree: Json::Object(tree) }), &(text, bytes));
    all
}

/// What an object must have to be one.
fn least(shape: &Shape) -> Object {
    let text_part = || vec![Json::from([("text", "x")])];
    let status = || Json::from([("state", "TASK_STATE_WORKING")]);
    match shape.name {
        Name::Message => Object::from([
            ("messageId", Json::from("m1")),
            ("role", Json::from("ROLE_USER")),
            ("parts", Json::from(text_part())),
        ]),
        Name::Part => Object::from([("text", Json::from("x"))]),
        Name::Task => Object::from([("id", Json::from("t1")), ("contextId", Json::from("c1")), ("status", status())]),
        Name::Status => Object::from([("state", Json::from("TASK_STATE_WORKING"))]),
        Name::Artifact => Object::from([("artifactId", Json::from("a1")), ("parts", Json::from(text_part()))]),
        Name::StatusUpdate => {
            Object::from([("taskId", Json::from("t1")), ("contextId", Json::from("c1")), ("status", status())])
        }
        Name::ArtifactUpdate => {
            let artifact = Json::from([("artifactId", Json::from("a1")), ("parts", Json::from(text_part()))]);
            Object::from([("taskId", Json::from("t1")), ("contextId", Json::from("c1")), ("artifact", artifact)])
        }
        Name::Push | Name::InlinePush => Object::from([
            ("taskId", Json::from("t1")),
            ("id", Json::from("p1")),
            ("url", Json::from("https://x.test/")),
        ]),
        Name::Authentication => Object::from([("scheme", Json::from("Bearer"))]),
        Name::Plain if shape.knows("message") => {
            let message = least(&v10::MESSAGE);
            Object::from([("message", Json::Object(message))])
        }
        Name::Plain if shape.knows("taskId") => {
            let mut object = Object::from([("taskId", Json::from("t1"))]);
            if shape.knows("id") {
                object.insert("id", "p1");
            }
            object
        }
        Name::Plain if shape.knows("id") => Object::from([("id", Json::from("t1"))]),
        Name::PushList => Object::from([("configs", Json::from(Vec::<Json>::new()))]),
        Name::TaskList => Object::from([("tasks", Json::from(Vec::<Json>::new()))]),
        Name::Plain | Name::Event | Name::Configuration | Name::File => Object::new(),
    }
}

/// Shows the tree for every place of the shape.
fn places(shape: &'static Shape, at: &str, see: &mut dyn FnMut(String, Object), plant: &(&str, &str)) {
    let (text, bytes) = *plant;
    let mut put = |name: &str, note: &str, value: Json| {
        let mut object = least(shape);
        if matches!(name, "text" | "raw" | "url" | "data") && shape.name == Name::Part {
            object.remove("text");
        }
        object.insert(name, value);
        see(format!("{at}/{name}{note}"), object);
    };
    for (name, field) in shape.fields {
        match field {
            Field::Text | Field::Id => put(name, "", text.into()),
            Field::Texts => put(name, "", vec![Json::from(text)].into()),
            Field::Bytes => put(name, "", bytes.into()),
            Field::Struct | Field::Value => {
                put(name, ".key", Json::from([(text, 1_i64)]));
                put(name, ".value", Json::from([("k", text)]));
                put(name, ".deep", Json::from([("k", Json::from(vec![Json::from([("k", text)])]))]));
                if matches!(field, Field::Value) {
                    put(name, "", text.into());
                }
            }
            Field::Flag | Field::Whole | Field::State | Field::Role | Field::Object(_) | Field::List(_) => {}
        }
    }
    put("x-unknown", "", text.into());
    for (name, field) in shape.fields {
        let (inner, list) = match field {
            Field::Object(inner) => (*inner, false),
            Field::List(inner) => (*inner, true),
            Field::Text
            | Field::Id
            | Field::Texts
            | Field::Flag
            | Field::Whole
            | Field::Bytes
            | Field::Struct
            | Field::Value
            | Field::State
            | Field::Role => continue,
        };
        let below = format!("{at}/{name}");
        let mut lift = |place: String, child: Object| {
            let mut object = least(shape);
            object.insert(*name, if list { vec![Json::Object(child)].into() } else { Json::Object(child) });
            see(place, object);
        };
        places(inner, &below, &mut lift, plant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_places_and_the_text_is_at_each() {
        for kind in OperationKind::ALL {
            for half in [Half::Asked, Half::Answered] {
                let all = planted(kind, half, "plant", "cGxhbnQ=");
                assert!(!all.is_empty(), "{kind:?} {half:?}");
                for one in &all {
                    let written = String::from_utf8(json::write(&one.tree)).unwrap();
                    assert!(written.contains("plant") || written.contains("cGxhbnQ="), "{}", one.place);
                }
            }
        }
        let send = planted(OperationKind::SendMessage, Half::Asked, "plant", "cGxhbnQ=");
        assert!(send.iter().any(|one| one.place == "/message/parts/metadata.deep"));
        assert!(planted(OperationKind::GetTask, Half::Answered, "p", "p").len() > 60);
    }
}
