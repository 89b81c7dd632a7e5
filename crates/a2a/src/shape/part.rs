//! The content of a part: exactly one of text, inline file, file by URL, data (protocol 2.2).
//!
//! v0.3 puts files one level deeper. Read, their members move up to the v1.0 names and the `file` object stays in place
//! as a form whose places are null, so that writing v0.3 again gives back order and unknown members.

use json::{Json, Object};

use super::Flaw;
use crate::Version;

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
    hoist(part, "file", &FILE)?;
    exactly_one_content(part)
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
        keep_in_metadata(part, kind);
    }
    if !part.contains("kind") {
        part.insert("kind", kind);
    }
}

/// What v0.3 has no member for goes into metadata of ours.
fn keep_in_metadata(part: &mut Object, kind: &str) {
    for (name, kept) in KEPT {
        let Some(value) = part.remove(name) else { continue };
        let default = (kind == "text" && value.as_str() == Some("text/plain"))
            || (kind == "data" && value.as_str() == Some("application/json"));
        if !default {
            metadata(part).map(|metadata| metadata.insert(kept, value));
        }
    }
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
    let Some(Json::Object(metadata)) = part.get_mut("metadata") else { return };
    let mut found = Vec::new();
    if !is_file {
        for (name, kept) in KEPT {
            found.extend(metadata.remove(kept).map(|value| (name, value)));
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
