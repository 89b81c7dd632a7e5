//! What agents say: parts and artifacts in v1.0 shape.

use json::{Json, Object};

/// A text part.
#[must_use]
pub fn text(text: impl Into<String>) -> Json {
    [("text", Json::from(text.into()))].into()
}

/// A part with structured content.
#[must_use]
pub fn structured(value: impl Into<Json>) -> Json {
    [("data", value.into()), ("mediaType", "application/json".into())].into()
}

/// A part that points at a file.
#[must_use]
pub fn url(url: &str, filename: &str, media_type: &str) -> Json {
    [("url", url), ("filename", filename), ("mediaType", media_type)].into()
}

/// A part that is a file; `base64` is its content.
#[must_use]
pub fn raw(base64: &str, filename: &str, media_type: &str) -> Json {
    [("raw", base64), ("filename", filename), ("mediaType", media_type)].into()
}

/// Something a task has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Its name; the id is minted.
    pub name: String,
    /// Its content, in v1.0 shape. Must not be empty.
    pub parts: Vec<Json>,
}

impl Artifact {
    /// An artifact with this name and content.
    #[must_use]
    pub fn new(name: impl Into<String>, parts: impl Into<Vec<Json>>) -> Self {
        Self { name: name.into(), parts: parts.into() }
    }

    pub(crate) fn document(self, id: &str) -> Object {
        Object::from([("artifactId", Json::from(id)), ("name", self.name.into()), ("parts", self.parts.into())])
    }
}
