//! Bytes that are written as text: inline files of parts, and `data:` URLs.

use json::{Json, Path, Segment};

/// Most bytes that are decoded.
const MOST: usize = 16 << 20;

/// Inline bytes and what they are said to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Inline {
    /// None if they cannot be decoded.
    pub(crate) bytes: Option<Vec<u8>>,
    /// The media type of a `data:` URL.
    pub(crate) declared: Option<String>,
}

/// The bytes at a leaf: `parts[n].raw`, `parts[n].file.bytes`, or a `data:` URL anywhere.
pub(crate) fn of(path: &Path<'_>, text: &str) -> Option<Inline> {
    let part = matches!(
        path.segments,
        [.., Segment::Key("parts"), Segment::Index(_), Segment::Key("raw" | "bytes")]
            | [.., Segment::Key("parts"), Segment::Index(_), Segment::Key("file"), Segment::Key("bytes")]
    );
    if part {
        return Some(Inline { bytes: decode(text), declared: None });
    }
    let head = text.get(..5)?;
    if !head.eq_ignore_ascii_case("data:") {
        return None;
    }
    let (head, body) = text.get(5..)?.split_once(',')?;
    let lower = head.to_ascii_lowercase();
    let media_type = lower.split(';').next().filter(|name| name.contains('/')).map(str::to_owned);
    if !lower.ends_with(";base64") {
        // Percent-encoded text is read as such with every other text.
        return None;
    }
    Some(Inline { bytes: decode(body), declared: media_type })
}

/// What the part says its bytes are.
pub(crate) fn declared(json: &Json, path: &Path<'_>) -> Option<String> {
    let (_, parent) = path.segments.split_last()?;
    let parent = json.pointer(&Path { segments: parent }.to_string())?;
    let name = parent.get("mediaType").or_else(|| parent.get("mimeType"))?;
    name.as_str().map(str::to_owned)
}

/// Base64 in either alphabet, padded or not, broken into lines or not.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len().min(MOST));
    let mut held = 0_u32;
    let mut count = 0_u32;
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        let sextet = match byte {
            b'A'..=b'Z' => byte.wrapping_sub(b'A'),
            b'a'..=b'z' => byte.wrapping_sub(b'a').wrapping_add(26),
            b'0'..=b'9' => byte.wrapping_sub(b'0').wrapping_add(52),
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(sextet)) & 0xFFFF;
        count = count.wrapping_add(6);
        if count >= 8 {
            count = count.wrapping_sub(8);
            bytes.push(u8::try_from(held >> count & 0xFF).unwrap_or_default());
        }
        if bytes.len() > MOST {
            return None;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_base64_is_read() {
        for text in ["aGVsbG8/", "aGVsbG8_", "aGVs\r\nbG8/"] {
            assert_eq!(decode(text).as_deref(), Some(&b"hello?"[..]), "{text}");
        }
        assert_eq!(decode("aGk=").as_deref(), Some(&b"hi"[..]));
        assert_eq!(decode("aGk").as_deref(), Some(&b"hi"[..]));
        assert_eq!(decode("a\u{e9}"), None);
    }
}
