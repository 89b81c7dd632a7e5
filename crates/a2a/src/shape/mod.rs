//! Names and checks of the v1.0 shapes, and accessors over the tree.

use json::{Json, Path, Segment};

/// Subtrees whose members mean nothing to A2A: kept exactly, never renamed, every leaf of them is content.
pub(crate) const OPAQUE: [&str; 4] = ["metadata", "data", "params", "header"];

/// Members whose value is protocol, not content: rewriting one would break the exchange.
const STRUCTURAL: [&str; 36] = [
    "id",
    "taskId",
    "contextId",
    "messageId",
    "artifactId",
    "referenceTaskIds",
    "extensions",
    "state",
    "role",
    "kind",
    "timestamp",
    "statusTimestampAfter",
    "status",
    "pageToken",
    "nextPageToken",
    "tenant",
    "raw",
    "mediaType",
    "scheme",
    "schemes",
    "acceptedOutputModes",
    "defaultInputModes",
    "defaultOutputModes",
    "inputModes",
    "outputModes",
    "protocolBinding",
    "protocolVersion",
    "preferredTransport",
    "transport",
    "uri",
    "type",
    "in",
    "location",
    "signature",
    "protected",
    "method",
];

/// Whether the leaf at `path` of a call's parameters, an answer or an event is protocol rather than content: an id, an
/// enum, a timestamp, a media type, an interface's URL. A guard may look at it but must not rewrite it (a finding
/// there blocks).
#[must_use]
pub fn structural(path: &Path<'_>) -> bool {
    let mut last = None;
    for segment in path.segments {
        match segment {
            Segment::Key(key) if OPAQUE.contains(key) => return false,
            Segment::Key(key) => last = Some(*key),
            Segment::Index(_) => {}
        }
    }
    let interface = path.segments.iter().any(|segment| {
        matches!(segment, Segment::Key("supportedInterfaces" | "additionalInterfaces" | "taskPushNotificationConfig"))
    });
    last.is_some_and(|key| STRUCTURAL.contains(&key) || (interface && key == "url"))
}

/// A whole number as ProtoJSON allows it: `5`, `5.0`, `"5"`.
pub(crate) fn whole_number(value: &Json) -> Option<i64> {
    match value {
        Json::Number(number) => number.as_i64(),
        Json::String(text) => text.parse().ok(),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}
