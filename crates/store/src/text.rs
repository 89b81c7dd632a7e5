//! Which texts can be stored. PostgreSQL refuses the zero character and long index entries, SQLite takes both; the
//! store answers alike for both.

use std::borrow::Cow;

use crate::{Error, Result};

/// The longest key, in bytes: four of them fit an index entry of PostgreSQL.
const MAX_KEY: usize = 512;

/// Whether a text can be a key: not empty, no zero character, not long.
pub(crate) fn is_key(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_KEY && !text.contains('\0')
}

/// Refuses what can't be a key.
pub(crate) fn key(column: &'static str, text: &str) -> Result<()> {
    if is_key(text) { Ok(()) } else { Err(Error::InvalidText { column }) }
}

/// Refuses what can't be stored at all.
pub(crate) fn free(column: &'static str, text: &str) -> Result<()> {
    if text.contains('\0') { Err(Error::InvalidText { column }) } else { Ok(()) }
}

/// Cuts and cleans a text so that it can be stored and indexed whatever it was. For records, which must not be refused.
pub(crate) fn clip(text: &str) -> Cow<'_, str> {
    let cut = text.get(..text.floor_char_boundary(MAX_KEY)).unwrap_or(text);
    if cut.contains('\0') { Cow::Owned(cut.replace('\0', "\u{1a}")) } else { Cow::Borrowed(cut) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_neither_empty_nor_long_nor_cut_by_zero() {
        assert!(is_key("a") && is_key(&"x".repeat(512)));
        assert!(!is_key("") && !is_key(&"x".repeat(513)) && !is_key("a\0b"));
    }

    #[test]
    fn clipped_text_keeps_whole_characters_and_no_zero() {
        assert_eq!(clip("plain"), "plain");
        assert_eq!(clip("a\0b"), "a\u{1a}b");
        let long = "é".repeat(300);
        assert_eq!(clip(&long), "é".repeat(256));
        assert_eq!(clip(&format!("x{long}")).len(), 511);
    }
}
