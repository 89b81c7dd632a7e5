//! JSON as Python's `json.dumps(…, sort_keys=True, separators=(",", ":"))` writes it: the bytes that the 0.3 SDK signs.
//!
//! Keys sorted by code points, everything outside printable ASCII as `\uXXXX`, floats as `repr` prints them.

use std::fmt::Write as _;

use json::{CanonicalError, Json, Number, Object};

/// The document as those bytes.
///
/// # Errors
/// [`CanonicalError`] for numbers that are no finite double.
pub(super) fn write_sorted(json: &Json) -> Result<Vec<u8>, CanonicalError> {
    let mut out = String::with_capacity(1024);
    write_value(json, &mut out)?;
    Ok(out.into_bytes())
}

fn write_value(json: &Json, out: &mut String) -> Result<(), CanonicalError> {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => write_number(number, out)?,
        Json::String(text) => write_text(text, out),
        Json::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_value(element, out)?;
            }
            out.push(']');
        }
        Json::Object(object) => write_object(object, out)?,
    }
    Ok(())
}

fn write_object(object: &Object, out: &mut String) -> Result<(), CanonicalError> {
    // UTF-8 sorts as code points do.
    let mut members: Vec<_> = object.iter().collect();
    members.sort_unstable_by_key(|(key, _)| *key);
    out.push('{');
    for (at, (key, value)) in members.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_text(key, out);
        out.push(':');
        write_value(value, out)?;
    }
    out.push('}');
    Ok(())
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// Whole numbers keep their digits (Python's integers have no limit), everything else is a double.
fn write_number(number: &Number, out: &mut String) -> Result<(), CanonicalError> {
    let source = number.as_text();
    if !source.contains(['.', 'e', 'E']) {
        out.push_str(if source == "-0" { "0" } else { source });
        return Ok(());
    }
    let value = number.as_f64();
    if !value.is_finite() {
        return Err(CanonicalError::NumberOutOfRange);
    }
    out.push_str(&repr(value));
    Ok(())
}

/// `repr(float)`: the shortest digits that read back; an exponent below 1e-4 and from 1e16 on.
fn repr(value: f64) -> String {
    let shortest = format!("{value:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        let plain = format!("{value}");
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_python_prints_them() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (-2.5, "-2.5"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1e-7, "1e-07"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (1e16, "1e+16"),
            (1e21, "1e+21"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
        ];
        for (value, printed) in cases {
            assert_eq!(repr(value), printed);
        }
    }

    #[test]
    fn keys_are_sorted_by_code_points_and_text_is_ascii() {
        let json = Json::from([("\u{1f600}", Json::from("é\u{7f}\u{1f}\n\"\\/")), ("\u{e000}", Json::Null)]);
        let expected = r#"{"\ue000":null,"\ud83d\ude00":"\u00e9\u007f\u001f\n\"\\/"}"#;
        assert_eq!(write_sorted(&json), Ok(expected.as_bytes().to_vec()));
    }
}
