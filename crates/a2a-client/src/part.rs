//! One part of a message or an artifact: text, data or a file.
//!
//! Wraps the JSON tree it came in, so that members this crate does not know are kept; a wrong member reads as a missing
//! one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use json::{Json, Object};

use crate::tree::newtype;

newtype! {
    /// A part, in the shape of A2A 1.0.
    Part
}

/// What a part holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// Text.
    Text(&'a str),
    /// Any JSON value.
    Data(&'a Json),
    /// The bytes of a file.
    Bytes(Vec<u8>),
    /// The address of a file. Fetching it is for the reader to decide.
    Link(&'a str),
    /// Bytes that are no base64, or nothing that this version of A2A knows.
    Unreadable,
}

impl Part {
    /// A part of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self(Object::from([("text", text.into())]))
    }

    /// A part of data.
    #[must_use]
    pub fn data(data: impl Into<Json>) -> Self {
        Self(Object::from([("data", data.into())]))
    }

    /// A file with its bytes.
    #[must_use]
    pub fn bytes(bytes: impl AsRef<[u8]>, media_type: impl Into<String>) -> Self {
        Self(Object::from([("raw", STANDARD.encode(bytes)), ("mediaType", media_type.into())]))
    }

    /// A file by its address.
    #[must_use]
    pub fn link(url: impl Into<String>, media_type: impl Into<String>) -> Self {
        Self(Object::from([("url", url.into()), ("mediaType", media_type.into())]))
    }

    /// The same with the name of a file.
    #[must_use]
    pub fn named(mut self, filename: impl Into<String>) -> Self {
        self.0.insert("filename", filename.into());
        self
    }

    /// The same with a fact beside its content.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<Json>) -> Self {
        crate::tree::add_metadata(&mut self.0, key, value.into());
        self
    }

    /// What it holds.
    #[must_use]
    pub fn content(&self) -> Content<'_> {
        if let Some(text) = self.0.str("text") {
            return Content::Text(text);
        }
        if let Some(data) = self.0.get("data") {
            return Content::Data(data);
        }
        if let Some(url) = self.0.str("url") {
            return Content::Link(url);
        }
        let bytes = self.0.str("raw").and_then(|raw| STANDARD.decode(raw).ok());
        bytes.map_or(Content::Unreadable, Content::Bytes)
    }

    /// Its text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        self.0.str("text")
    }

    /// The name of a file.
    #[must_use]
    pub fn filename(&self) -> Option<&str> {
        self.0.str("filename")
    }

    /// Its media type.
    #[must_use]
    pub fn media_type(&self) -> Option<&str> {
        self.0.str("mediaType")
    }

    /// Facts beside its content.
    #[must_use]
    pub fn metadata(&self) -> Option<&Object> {
        self.0.get("metadata")?.as_object()
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// The texts of `parts`, one after the other.
pub(crate) fn joined(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_is_what_is_read() {
        assert_eq!(Part::text("a").content(), Content::Text("a"));
        assert_eq!(Part::data(7).content(), Content::Data(&7.into()));
        let file = Part::bytes(b"\0\xff", "image/png").named("a.png").with_metadata("k", "v");
        assert_eq!(file.content(), Content::Bytes(vec![0, 255]));
        assert_eq!((file.filename(), file.media_type()), (Some("a.png"), Some("image/png")));
        assert_eq!(file.metadata().and_then(|facts| facts.str("k")), Some("v"));
        assert_eq!(Part::link("https://u/f", "text/plain").content(), Content::Link("https://u/f"));
    }

    #[test]
    fn unknown_members_survive_and_wrong_ones_are_unreadable() {
        let tree = Object::from([("raw", "not base64!"), ("x-own", "kept")]);
        let part = Part::from(tree.clone());
        assert_eq!(part.content(), Content::Unreadable);
        assert_eq!(part.into_object(), tree);
    }
}
