//! RFC 8785 (JCS): the one form that is signed.
//!
//! Takes a tree, gives the one byte string all JCS implementations agree on. A number counts as the double it names
//! (RFC 8785 §3.2.2.3), so `1`, `1.0` and `10e-1` are one document; text beyond a double's range has no form.

use crate::tree::{Json, Number, Object};
use crate::writer::write_string;

/// Why a document has no canonical form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// A number that is no finite double.
    #[error("a number is out of the range of a double")]
    NumberOutOfRange,
}

/// The canonical bytes (UTF-8): keys sorted by UTF-16 code units, numbers as ECMAScript prints them.
///
/// # Errors
/// [`CanonicalError`] for numbers that are no finite double.
pub fn canonical(json: &Json) -> Result<Vec<u8>, CanonicalError> {
    let mut out = Vec::with_capacity(256);
    canonical_into(json, &mut out)?;
    Ok(out)
}

fn canonical_into(json: &Json, out: &mut Vec<u8>) -> Result<(), CanonicalError> {
    match json {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Number(number) => canonical_number(number, out)?,
        Json::String(text) => write_string(text, out),
        Json::Array(elements) => {
            out.push(b'[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                canonical_into(element, out)?;
            }
            out.push(b']');
        }
        Json::Object(object) => canonical_object(object, out)?,
    }
    Ok(())
}

fn canonical_object(object: &Object, out: &mut Vec<u8>) -> Result<(), CanonicalError> {
    let mut members: Vec<(&str, &Json)> = object.iter().collect();
    // RFC 8785 §3.2.3: UTF-16 code units, which puts U+1F600 (a surrogate pair) before U+FB33.
    members.sort_unstable_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
    out.push(b'{');
    for (at, (key, value)) in members.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_string(key, out);
        out.push(b':');
        canonical_into(value, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn canonical_number(number: &Number, out: &mut Vec<u8>) -> Result<(), CanonicalError> {
    let double = number.as_f64();
    if !double.is_finite() {
        return Err(CanonicalError::NumberOutOfRange);
    }
    out.extend_from_slice(ryu_js::Buffer::new().format_finite(double).as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests;
