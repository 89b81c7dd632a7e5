//! RFC 8785 (JCS): the one form that is signed.

use crate::tree::Json;

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
    let _ = json;
    todo!()
}
