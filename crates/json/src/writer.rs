//! Tree → bytes: compact, members in order, numbers as they were read, only what must be escaped is escaped.

use crate::tree::Json;

/// The document as compact JSON.
#[must_use]
pub fn write(json: &Json) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    write_into(json, &mut out);
    out
}

/// Appends the document to `out`.
pub fn write_into(json: &Json, out: &mut Vec<u8>) {
    let _ = (json, out);
    todo!()
}
