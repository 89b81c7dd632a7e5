//! The content of a part: exactly one of text, inline file, file by URL, data (protocol 2.2).
//!
//! v0.3 puts files one level deeper. Read, their members move up to the v1.0 names and the `file` object stays in place
//! as a form whose places are null, so that writing v0.3 again gives back order and unknown members.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use json::{Json, Object};

use super::{Flaw, normalise::standard_base64};
use crate::{Version, dialect::R3Bytes};

/// The members that can be a part's content, in v1.0 words.
pub(crate) const CONTENT: [&str; 4] = ["text", "raw", "url", "data"];

/// Places in v0.3's `file`, and the member of the v1.0 part each belongs to.
const FILE: [(&str, &str); 4] = [("bytes", "raw"), ("uri", "url"), ("name", "filename"), ("mimeType", "mediaType")];

/// Spellings of places that circulate, too.
const SYNONYMS: [(&str, &str); 2] = [("fileWithBytes", "bytes"), ("fileWithUri", "uri")];

/// Where a v1.0 part's media type and file name wait inside v0.3 metadata.
const KEPT: [(&str, &str); 2] = [("mediaType", "a2a-gw/mediaType"), ("filename", "a2a-gw/filename")];

/// Marks data that v0.3 could only carry wrapped (the convention of the Python SDK).
const WRAPPED: &str = "data_part_compat";

/// In a form's place for bytes: their second layer of base64 was taken off.
const UNWRAPPED: i64 = 2;

/// In a form's place for bytes: they are as they stood on the wire, and nobody knows how many layers that is.
const AS_SENT: i64 = 0;

/// In a form: what is inside bytes whose second layer was left on, for inspection alone. Never written; in no form that
/// was read, because reading gives it the name of its place.
const HIDDEN: &str = "fileWithBytes";

/// Refuses a part with no content or with two.
pub(crate) fn exactly_one_content(part: &Object) -> Result<(), Flaw> {
    match CONTENT.iter().filter(|name| part.contains(name)).count() {
        1 => Ok(()),
        0 => Err(Flaw { member: "parts", problem: "a part has no content" }),
        _ => Err(Flaw { member: "parts", problem: "a part has more than one content" }),
    }
}

/// v0.3 wire → canonical, in place.
pub(crate) fn lift(part: &mut Object) -> Result<(), Flaw> {
    // v0.3 data is an object, so null is absence there.
    if part.get("data").is_some_and(Json::is_null) && (part.contains("text") || part.contains("file")) {
        part.remove("data");
    }
    let content = if let Some(Json::Object(file)) = part.get_mut("file") {
        for (synonym, place) in SYNONYMS {
            if file.contains(synonym) && !file.rename(synonym, place) {
                return Err(Flaw { member: "file", problem: "has its content twice" });
            }
        }
        "file"
    } else if part.contains("data") {
        "data"
    } else {
        "text"
    };
    if part.str("kind").is_some_and(|kind| kind != content) {
        return Err(Flaw { member: "kind", problem: "contradicts the content of the part" });
    }
    let is_bytes = |raw: &Json| raw.as_str().and_then(standard_base64).is_some();
    if part.get("url").is_some_and(|url| url.as_str().is_none()) || part.get("raw").is_some_and(|raw| !is_bytes(raw)) {
        return Err(Flaw { member: "parts", problem: "a part has content of A2A 1.0" });
    }
    hoist(part, "file", &FILE)?;
    exactly_one_content(part)
}

/// Wire of v0.3's proto → canonical, in place. The form remembers how its bytes were wrapped, see [`UNWRAPPED`].
pub(crate) fn lift_proto(part: &mut Object, bytes: R3Bytes) -> Result<(), Flaw> {
    let kind = part.remove("kind");
    if part.get("data").is_some_and(Json::is_null) && (part.contains("text") || part.contains("file")) {
        part.remove("data");
    }
    if part.contains("raw") || part.contains("url") {
        return Err(Flaw { member: "parts", problem: "a part has content of A2A 1.0" });
    }
    if kind.as_ref().and_then(Json::as_str) != Some("data")
        && let Some(Json::Object(wrapper)) = part.get_mut("data")
        && wrapper.get("data").is_some_and(|data| data.as_object().is_some())
    {
        if wrapper.len() > 1 {
            return Err(Flaw { member: "data", problem: "has members that A2A 0.3 does not know" });
        }
        let data = wrapper.remove("data").unwrap_or_default();
        part.insert("data", data);
    }
    if let Some(Json::Object(file)) = part.get_mut("file") {
        for (synonym, place) in SYNONYMS {
            if file.contains(synonym) && !file.rename(synonym, place) {
                return Err(Flaw { member: "file", problem: "has its content twice" });
            }
        }
    }
    hoist(part, "file", &FILE)?;
    // Objects of the JSON schema carry files as JSON-RPC does.
    unwrap_bytes(part, if kind.is_some() { R3Bytes::Single } else { bytes });
    exactly_one_content(part)
}

/// Takes the outer layer of base64 off where the peer is known to put on two (protocol 8 #4). Where it stays, what may
/// be inside is put into the form, so that whoever inspects the part sees both layers.
fn unwrap_bytes(part: &mut Object, bytes: R3Bytes) {
    let Some(Json::String(raw)) = part.get_mut("raw") else { return };
    let (mark, hidden) = match (bytes, inner_base64(raw)) {
        (R3Bytes::Double, Some(inner)) => {
            *raw = inner;
            (Some(UNWRAPPED), None)
        }
        (R3Bytes::Double, None) => (None, None),
        (R3Bytes::Single, hidden) => (None, hidden),
        (R3Bytes::Auto, hidden) => (Some(AS_SENT), hidden),
    };
    if let Some(Json::Object(file)) = part.get_mut("file") {
        if let Some(mark) = mark {
            file.insert("bytes", mark);
        }
        if let Some(hidden) = hidden {
            file.insert(HIDDEN, hidden);
        }
    }
}

/// The text inside, if it is itself base64 as an encoder writes it.
fn inner_base64(outer: &str) -> Option<String> {
    let inner = String::from_utf8(STANDARD.decode(outer).ok()?).ok()?;
    let bytes = STANDARD.decode(&inner).ok()?;
    (inner.len() >= 4 && STANDARD.encode(bytes) == inner).then_some(inner)
}

/// Canonical → wire of v0.3's proto.
pub(crate) fn lower_proto(part: &mut Object, origin: Version, bytes: R3Bytes) {
    part.remove("kind");
    if part.contains("raw") || part.contains("url") {
        let mark = part.get("file").and_then(|file| file.get("bytes")).and_then(Json::as_number);
        let mark = mark.and_then(json::Number::as_i64);
        let wrap = match bytes {
            _ if mark == Some(AS_SENT) => false,
            R3Bytes::Double => true,
            R3Bytes::Auto => mark == Some(UNWRAPPED),
            R3Bytes::Single => false,
        };
        if let Some(Json::String(raw)) = part.get_mut("raw").filter(|_| wrap) {
            *raw = STANDARD.encode(raw.as_bytes());
        }
        sink(part, "file", &FILE);
        if let Some(Json::Object(file)) = part.get_mut("file") {
            for (proto, place) in SYNONYMS {
                file.remove(proto);
                file.rename(place, proto);
            }
        }
        return;
    }
    part.remove("file");
    let kind = if part.contains("data") { "data" } else { "text" };
    if origin == Version::V10 {
        keep_names(part, kind);
    }
    wrap_data(part);
    if let Some(data) = part.get_mut("data") {
        let inner = std::mem::take(data);
        *data = Json::from([("data", inner)]);
    }
}

/// Moves the members of `object[form]` up under other names, leaving the form with nulls in their places.
pub(crate) fn hoist(object: &mut Object, form: &'static str, places: &[(&str, &'static str)]) -> Result<(), Flaw> {
    for (place, name) in places {
        let Some(Json::Object(inner)) = object.get_mut(form) else { return Ok(()) };
        let Some(value) = inner.get_mut(place).map(std::mem::take) else { continue };
        if object.contains(name) {
            return Err(Flaw { member: form, problem: "is contradicted by a member beside it" });
        }
        object.insert(*name, value);
    }
    Ok(())
}

/// Moves members back into the form; makes one where there is none.
pub(crate) fn sink(object: &mut Object, form: &'static str, places: &[(&'static str, &str)]) {
    let mut inner = match object.get_mut(form).map(std::mem::take) {
        Some(Json::Object(inner)) => inner,
        _ => Object::new(),
    };
    if form == "file" {
        inner.remove(HIDDEN);
    }
    for (place, name) in places {
        match object.remove(name) {
            Some(value) => inner.insert(*place, value),
            None => inner.remove(place),
        };
    }
    object.insert(form, inner);
}

/// Canonical → v0.3 wire, in place. `origin` is the generation the part was written in.
pub(crate) fn lower(part: &mut Object, origin: Version) {
    let kind = if part.contains("raw") || part.contains("url") {
        sink(part, "file", &FILE);
        "file"
    } else if part.contains("data") {
        "data"
    } else {
        "text"
    };
    if origin == Version::V10 && kind != "file" {
        keep_names(part, kind);
        wrap_data(part);
    }
    if !part.contains("kind") {
        part.insert("kind", kind);
    }
}

/// What v0.3 has no member for goes into metadata of ours.
fn keep_names(part: &mut Object, kind: &str) {
    for (name, kept) in KEPT {
        let Some(value) = part.remove(name) else { continue };
        let default = (kind == "text" && value.as_str() == Some("text/plain"))
            || (kind == "data" && value.as_str() == Some("application/json"));
        if !default {
            metadata(part).map(|metadata| metadata.insert(kept, value));
        }
    }
}

/// Data that is no object, as v0.3 can carry it.
fn wrap_data(part: &mut Object) {
    if let Some(data) = part.get_mut("data")
        && data.as_object().is_none()
    {
        let bare = std::mem::take(data);
        *data = Json::from([("value", bare)]);
        metadata(part).map(|metadata| metadata.insert(WRAPPED, true));
    }
}

/// A part that v0.3 wrote → v1.0: takes back what [`lower`] (or the Python SDK) put into metadata.
pub(crate) fn restore(part: &mut Object) {
    let is_file = part.contains("raw") || part.contains("url");
    // v0.3 has no such members, so nobody has looked at what stands there.
    part.retain(|key, value| !KEPT.iter().any(|(name, _)| *name == key) || value.as_str().is_some());
    let Some(Json::Object(metadata)) = part.get_mut("metadata") else { return };
    let mut found = Vec::new();
    if !is_file {
        for (name, kept) in KEPT {
            if metadata.get(kept).is_some_and(|value| value.as_str().is_some()) {
                found.extend(metadata.remove(kept).map(|value| (name, value)));
            }
        }
    }
    let wrapped = metadata.get(WRAPPED).and_then(Json::as_bool) == Some(true);
    if wrapped {
        metadata.remove(WRAPPED);
    }
    if metadata.is_empty() && (wrapped || !found.is_empty()) {
        part.remove("metadata");
    }
    for (name, value) in found {
        part.insert(name, value);
    }
    if wrapped
        && let Some(data) = part.get_mut("data")
        && let Json::Object(wrapper) = data
        && wrapper.len() == 1
        && let Some(bare) = wrapper.remove("value")
    {
        *data = bare;
    }
}

fn metadata(object: &mut Object) -> Option<&mut Object> {
    if !object.contains("metadata") {
        object.insert("metadata", Object::new());
    }
    object.get_mut("metadata").and_then(Json::as_object_mut)
}
