//! Tree → bytes: compact, members in order, numbers as they were read, only what must be escaped is escaped.

use crate::tree::Json;

/// Bytes looked at together; the loop over one block compiles to vector instructions.
const BLOCK: usize = 32;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The document as compact JSON.
#[must_use]
pub fn write(json: &Json) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    write_into(json, &mut out);
    out
}

/// Appends the document to `out`.
pub fn write_into(json: &Json, out: &mut Vec<u8>) {
    match json {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Number(number) => out.extend_from_slice(number.as_text().as_bytes()),
        Json::String(text) => write_string(text, out),
        Json::Array(elements) => {
            out.push(b'[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_into(element, out);
            }
            out.push(b']');
        }
        Json::Object(object) => {
            out.push(b'{');
            for (at, (key, value)) in object.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_string(key, out);
                out.push(b':');
                write_into(value, out);
            }
            out.push(b'}');
        }
    }
}

/// A string with its quotes. RFC 8785 §3.2.2.2 asks for exactly these escapes, so both writers share it.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut stretches = text.as_bytes().chunks(STRETCH).peekable();
    while let Some(stretch) = stretches.next() {
        write_stretch(stretch, out);
        if stretches.peek().is_some() {
            // Others wait for this thread's processor.
            std::thread::yield_now();
        }
    }
    out.push(b'"');
}

/// Bytes of a string that are written without a pause.
const STRETCH: usize = 256 * 1024;

fn write_stretch(stretch: &[u8], out: &mut Vec<u8>) {
    let mut rest = stretch;
    loop {
        let (clean, tail) = rest.split_at(clean_length(rest));
        out.extend_from_slice(clean);
        let Some((&byte, after)) = tail.split_first() else { break };
        write_escape(byte, out);
        rest = after;
    }
}

/// How many bytes from the start can be copied as they are.
fn clean_length(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let clean = blocks.iter().take_while(|block| !block.iter().fold(false, |dirty, byte| dirty | must_escape(*byte)));
    let start = clean.count() * BLOCK;
    let end = bytes.iter().skip(start).position(|byte| must_escape(*byte));
    end.map_or(bytes.len(), |end| start + end)
}

const fn must_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x09 => b't',
        0x0A => b'n',
        0x0C => b'f',
        0x0D => b'r',
        control => {
            let [high, low] =
                [control >> 4, control & 0x0F].map(|digit| HEX.get(usize::from(digit)).copied().unwrap_or(b'0'));
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(json: impl Into<Json>) -> String {
        String::from_utf8(write(&json.into())).unwrap()
    }

    #[test]
    fn only_quote_backslash_and_controls_are_escaped() {
        for character in ('\0'..='\u{2100}').chain(['\u{FEFF}', '\u{FFFF}', '\u{10FFFF}']) {
            let expected = serde_json::to_string(&character).unwrap();
            assert_eq!(written(character.to_string()), expected, "U+{:04X}", u32::from(character));
        }
    }

    #[test]
    fn an_escape_is_found_at_every_place_of_a_block() {
        for length in 0..3 * BLOCK {
            for at in 0..length {
                let text = format!("{}\"{}", "x".repeat(at), "y".repeat(length - at));
                assert_eq!(written(text.clone()), serde_json::to_string(&text).unwrap());
            }
        }
    }

    #[test]
    fn members_and_elements_keep_their_order() {
        let json = Json::from([("b", Json::from(vec![Json::from(1), Json::Null])), ("a", Json::from([("\n", false)]))]);
        assert_eq!(written(json), r#"{"b":[1,null],"a":{"\n":false}}"#);
    }

    #[test]
    fn writing_appends() {
        let mut out = b"data: ".to_vec();
        write_into(&Json::Bool(true), &mut out);
        assert_eq!(out, b"data: true");
    }

    #[test]
    fn a_long_string_is_written_as_its_stretches_are() {
        let piece = "é\"\\\n𝄞a";
        let text = piece.repeat(STRETCH * 2 / piece.len() + 1);
        let mut written = Vec::new();
        write_string(&text, &mut written);
        let expected = format!("\"{}\"", r#"é\"\\\n𝄞a"#.repeat(text.len() / piece.len()));
        assert!(written == expected.as_bytes());
    }
}
