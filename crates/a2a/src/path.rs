//! A request's path as segments, by the rule that leaves no two readings (threat-model Annex B).
//!
//! Takes the raw path of the request target, gives its segments, decoded once. Splits on `/` *before* it decodes, so
//! that `%2F` never makes a segment. Refuses what an agent or a proxy might read differently. Never looks at a header.

/// Why a path was refused. No variant holds a piece of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// `%` without two hex digits after it, or bytes that are not UTF-8.
    #[error("the path is not percent-encoded UTF-8")]
    BadEncoding,
    /// `.` or `..`.
    #[error("the path has a dot segment")]
    DotSegment,
    /// Nothing between two slashes.
    #[error("the path has an empty segment")]
    EmptySegment,
    /// A slash, backslash, `;`, control character or second layer of encoding inside a segment.
    #[error("a segment of the path holds a character that is not allowed there")]
    ForbiddenCharacter,
    /// Tenant or card with a character outside ASCII.
    #[error("the path names a tenant or card with a character outside ASCII")]
    NotAscii,
    /// The path does not begin with `/`.
    #[error("the path does not begin with a slash")]
    NotRooted,
}

/// The segments of `raw`, each decoded once. One trailing slash is stripped before the split.
///
/// # Errors
/// [`PathError`] for every path of Annex B.
pub fn split(raw: &str) -> Result<Vec<String>, PathError> {
    let rest = raw.strip_prefix('/').ok_or(PathError::NotRooted)?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() {
        return if raw.len() > 1 { Err(PathError::EmptySegment) } else { Ok(Vec::new()) };
    }
    rest.split('/').map(segment).collect()
}

/// Whether `id` can be the id of a task or of a push configuration; others are missing by definition (Annex B).
#[must_use]
pub fn is_task_id(id: &str) -> bool {
    (1..=128).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-'))
        && id != "."
        && id != ".."
}

fn segment(raw: &str) -> Result<String, PathError> {
    let decoded = decode(raw)?;
    if decoded.is_empty() {
        return Err(PathError::EmptySegment);
    }
    if decoded == "." || decoded == ".." {
        return Err(PathError::DotSegment);
    }
    if decoded.chars().any(|c| matches!(c, '/' | '\\' | ';') || c.is_control()) || has_escape(&decoded) {
        return Err(PathError::ForbiddenCharacter);
    }
    Ok(decoded)
}

/// Percent-decodes strictly: a stray `%` is an error, not a character.
fn decode(raw: &str) -> Result<String, PathError> {
    let mut bytes = raw.bytes();
    let mut out = Vec::with_capacity(raw.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|hex| char::from(hex).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else { return Err(PathError::BadEncoding) };
        out.push(u8::try_from(high * 16 + low).map_err(|_| PathError::BadEncoding)?);
    }
    String::from_utf8(out).map_err(|_| PathError::BadEncoding)
}

/// Whether a second decoding would change the text.
fn has_escape(text: &str) -> bool {
    text.as_bytes()
        .windows(3)
        .any(|w| matches!(w, [b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_split_before_anything_is_decoded() {
        assert_eq!(split("/a2a/acme/echo/message%3Asend").unwrap(), ["a2a", "acme", "echo", "message:send"]);
        assert_eq!(split("/a2a/acme%2Fecho"), Err(PathError::ForbiddenCharacter));
    }

    #[test]
    fn one_trailing_slash_is_stripped_and_only_one() {
        assert_eq!(split("/a2a/acme/echo/").unwrap(), ["a2a", "acme", "echo"]);
        assert_eq!(split("/a2a/acme/echo//"), Err(PathError::EmptySegment));
        assert_eq!(split("/").unwrap(), Vec::<String>::new());
        assert_eq!(split("//"), Err(PathError::EmptySegment));
    }

    /// T-ROUTE-1
    #[test]
    fn every_second_reading_is_refused() {
        for (raw, why) in [
            ("a2a", PathError::NotRooted),
            ("/a//b", PathError::EmptySegment),
            ("/a/./b", PathError::DotSegment),
            ("/a/%2e%2E/b", PathError::DotSegment),
            ("/a/x%5cy", PathError::ForbiddenCharacter),
            ("/a/x;y", PathError::ForbiddenCharacter),
            ("/a/%3b", PathError::ForbiddenCharacter),
            ("/a/%252e", PathError::ForbiddenCharacter),
            ("/a/%00", PathError::ForbiddenCharacter),
            ("/a/%0d%0ax", PathError::ForbiddenCharacter),
            ("/a/%7f", PathError::ForbiddenCharacter),
            ("/a/%c2%85", PathError::ForbiddenCharacter),
            ("/a/%", PathError::BadEncoding),
            ("/a/%4", PathError::BadEncoding),
            ("/a/%zz", PathError::BadEncoding),
            ("/a/%c0%af", PathError::BadEncoding),
            ("/a/%ff", PathError::BadEncoding),
        ] {
            assert_eq!(split(raw), Err(why), "{raw}");
        }
    }

    /// F08
    #[test]
    fn task_ids_have_a_narrow_alphabet() {
        assert!(is_task_id("3f1c-A.b_c:9"));
        for bad in ["", ".", "..", "@evil.test", "t1?x=1", "t#", "t 1", "..\u{e9}"] {
            assert!(!is_task_id(bad), "{bad}");
        }
        assert!(!is_task_id(&"a".repeat(129)));
    }
}
