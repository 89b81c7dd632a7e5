//! Names and checks of the shapes of both generations, over the tree.
//!
//! | file | holds |
//! |---|---|
//! | `v10`, `v03`, `proto_v03` | the tables: which members an object has, and what each is |
//! | `normalise` | one spelling, no nulls, right types, before anybody reads a member |
//! | `part` | the content of a part, in both generations |
//! | [`sample`] | trees with a text at every place, for tests |
//!
//! Takes trees as they were read; gives them with known members in lowerCamelCase, known enums by their v1.0 names, known
//! nulls gone. Never touches unknown members or opaque subtrees (`metadata`, `data`).

pub(crate) mod classify;
pub(crate) mod normalise;
pub(crate) mod part;
pub(crate) mod proto_v03;
pub mod sample;
pub(crate) mod v03;
pub(crate) mod v10;

use json::{Json, Object, Path, Segment};

/// What a known member holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field {
    /// A string.
    Text,
    /// A string; the empty one means absence.
    Id,
    /// Strings.
    Texts,
    /// A truth value.
    Flag,
    /// A whole number that is not negative.
    Whole,
    /// Base64.
    Bytes,
    /// An object that means nothing to A2A.
    Struct,
    /// Any value at all, null included.
    Value,
    /// A task state.
    State,
    /// A message's role.
    Role,
    /// An object of a known shape.
    Object(&'static Shape),
    /// Objects of one known shape.
    List(&'static Shape),
}

/// The members of one kind of object.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) name: Name,
    pub(crate) fields: &'static [(&'static str, Field)],
}

/// Which kind of object, whatever the generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Message,
    Part,
    File,
    Task,
    Status,
    Artifact,
    StatusUpdate,
    ArtifactUpdate,
    Event,
    Configuration,
    Authentication,
    /// A push configuration inside a send.
    InlinePush,
    /// A push configuration by itself, with its task.
    Push,
    PushList,
    TaskList,
    /// Parameters and results without rules of their own.
    Plain,
}

/// Why an object is not what it should be. Holds names of the protocol only, never content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{member}: {problem}")]
pub(crate) struct Flaw {
    pub(crate) member: &'static str,
    pub(crate) problem: &'static str,
}

impl Shape {
    pub(crate) fn field(&self, key: &str) -> Option<Field> {
        self.fields.iter().find(|(name, _)| *name == key).map(|(_, field)| *field)
    }

    pub(crate) fn knows(&self, key: &str) -> bool {
        self.field(key).is_some()
    }
}

/// Shows every object of a known shape in the tree, the inner ones first.
pub(crate) fn visit<E>(
    object: &mut Object,
    shape: &Shape,
    see: &mut dyn FnMut(&Shape, &mut Object) -> Result<(), E>,
) -> Result<(), E> {
    for (name, field) in shape.fields {
        match field {
            Field::Object(inner) => {
                if let Some(Json::Object(child)) = object.get_mut(name) {
                    visit(child, inner, see)?;
                }
            }
            Field::List(inner) => {
                for child in object.get_mut(name).and_then(Json::as_array_mut).into_iter().flatten() {
                    if let Json::Object(child) = child {
                        visit(child, inner, see)?;
                    }
                }
            }
            Field::Text
            | Field::Id
            | Field::Texts
            | Field::Flag
            | Field::Whole
            | Field::Bytes
            | Field::Struct
            | Field::Value
            | Field::State
            | Field::Role => {}
        }
    }
    see(shape, object)
}

/// Members whose subtree means nothing to A2A: kept exactly, every leaf is content.
const OPAQUE: [&str; 4] = ["metadata", "data", "params", "header"];

/// Members whose value is protocol, not content: rewriting one would break the exchange.
const STRUCTURAL: [&str; 37] = [
    "acceptedOutputModes",
    "artifactId",
    "bytes",
    "contextId",
    "defaultInputModes",
    "defaultOutputModes",
    "extensions",
    "fileWithBytes",
    "id",
    "in",
    "inputModes",
    "kind",
    "location",
    "mediaType",
    "messageId",
    "method",
    "nextPageToken",
    "outputModes",
    "pageToken",
    "preferredTransport",
    "protected",
    "protocolBinding",
    "protocolVersion",
    "raw",
    "referenceTaskIds",
    "role",
    "scheme",
    "schemes",
    "signature",
    "state",
    "status",
    "statusTimestampAfter",
    "taskId",
    "tenant",
    "timestamp",
    "transport",
    "uri",
];

/// Objects whose `url` is an address to talk to, not content.
const ADDRESSED: [&str; 3] = ["supportedInterfaces", "additionalInterfaces", "taskPushNotificationConfig"];

/// Whether the leaf at `path` of a call's parameters, an answer or an event is protocol rather than content: an id, an
/// enum, a timestamp, a media type, an interface's URL. A guard may look at it but must not rewrite it (a finding
/// there blocks).
#[must_use]
pub fn structural(path: &Path<'_>) -> bool {
    let mut last = None;
    let mut addressed = false;
    for segment in path.segments {
        match segment {
            Segment::Key(key) if OPAQUE.contains(key) => return false,
            Segment::Key(key) => {
                addressed |= ADDRESSED.contains(key);
                last = Some(*key);
            }
            Segment::Index(_) => {}
        }
    }
    last.is_some_and(|key| STRUCTURAL.contains(&key) || (addressed && key == "url"))
}

/// A whole number as ProtoJSON allows it: `5`, `5.0`, `"5"`.
pub(crate) fn whole_number(value: &Json) -> Option<i64> {
    match value {
        Json::Number(number) => number.as_i64(),
        Json::String(text) => text.parse().ok(),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use json::Leaf;

    use super::*;

    #[test]
    fn protocol_is_structural_and_content_is_not() {
        let part = Json::from([("text", "content"), ("mediaType", "protocol")]);
        let message = Json::from([
            ("messageId", Json::from("protocol")),
            ("role", "protocol".into()),
            ("parts", vec![part].into()),
            ("metadata", [("id", "content")].into()),
            ("referenceTaskIds", vec![Json::from("protocol")].into()),
        ]);
        let tree = Json::from([
            ("message", message),
            ("supportedInterfaces", vec![Json::from([("url", "protocol")])].into()),
            ("provider", [("url", "content")].into()),
        ]);
        let mut seen = 0;
        json::walk(&tree, &mut |path, leaf| {
            if let Leaf::Text(text) = leaf {
                assert_eq!(structural(path), text == "protocol", "{path}");
                seen += 1;
            }
        });
        assert_eq!(seen, 8);
    }
}
