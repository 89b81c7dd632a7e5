//! The reader on a table of documents in the manner of JSONTestSuite (`accepted` = y_, `refused` = n_ and those i_ where
//! readers differ), on every limit, and on documents made to be expensive.

use super::*;
use crate::writer::write;

fn with_defaults(bytes: &[u8]) -> Result<Json, ReadError> {
    read(bytes, &Limits::default())
}

fn roomy() -> Limits {
    Limits { depth: 64, nodes: 10_000_000, key: 1 << 20, digits: 4_000 }
}

/// Documents and what they are when written again.
const ACCEPTED: &[(&str, &str)] = &[
    ("null", "null"),
    ("true", "true"),
    ("false", "false"),
    ("0", "0"),
    ("-0", "-0"),
    ("-0.0", "-0.0"),
    ("1E22", "1E22"),
    ("1e-2", "1e-2"),
    ("1E+2", "1E+2"),
    ("123.456e78", "123.456e78"),
    ("1e-99999", "1e-99999"),
    ("9007199254740993", "9007199254740993"),
    ("1234567890123456789012345678901234567890", "1234567890123456789012345678901234567890"),
    ("\"\"", "\"\""),
    ("\"a/b\"", "\"a/b\""),
    ("\"a\\/b\"", "\"a/b\""),
    ("\"\\u0061\\u00e9\\u20AC\"", "\"aé€\""),
    ("\"\\ud83d\\ude00\"", "\"😀\""),
    ("\"\\uDBFF\\uDFFF\"", "\"\u{10FFFF}\""),
    ("\"\\u0000\"", "\"\\u0000\""),
    ("\"\\b\\f\\n\\r\\t\\\"\\\\\"", "\"\\b\\f\\n\\r\\t\\\"\\\\\""),
    ("\"\u{7f}\u{80}\u{feff}\u{ffff}\u{2028}\"", "\"\u{7f}\u{80}\u{feff}\u{ffff}\u{2028}\""),
    ("[]", "[]"),
    ("[ ]", "[]"),
    ("[[]   ]", "[[]]"),
    (" \t\r\n[1 , 2]\n ", "[1,2]"),
    ("[null,1,\"1\",{}]", "[null,1,\"1\",{}]"),
    ("{}", "{}"),
    ("{\"\":0}", "{\"\":0}"),
    ("{\"b\":1,\"a\":2}", "{\"b\":1,\"a\":2}"),
    ("{\"foo\\u0000bar\": 42}", "{\"foo\\u0000bar\":42}"),
    ("{\"a\":{\"a\":{\"a\":1}}}", "{\"a\":{\"a\":{\"a\":1}}}"),
    ("[{\"a\":1},{\"a\":1}]", "[{\"a\":1},{\"a\":1}]"),
    ("{\"a\":1,\"A\":2}", "{\"a\":1,\"A\":2}"),
    ("{\"é\":1,\"e\\u0301\":2}", "{\"é\":1,\"e\u{301}\":2}"),
    (
        "{\"$serde_json::private::Number\":\"1\",\"$serde_json::private::RawValue\":\"[\"}",
        "{\"$serde_json::private::Number\":\"1\",\"$serde_json::private::RawValue\":\"[\"}",
    ),
];

#[test]
fn valid_documents_are_read_and_written_compactly() {
    for (source, compact) in ACCEPTED {
        let json = with_defaults(source.as_bytes()).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(String::from_utf8_lossy(&write(&json)), *compact, "{source}");
    }
}

const REFUSED: &[&[u8]] = &[
    // Nothing, or nothing but space.
    b"",
    b" ",
    b"\n",
    // Byte order marks and other encodings.
    b"\xEF\xBB\xBF{}",
    b"\xEF\xBB\xBF",
    b"\xFE\xFF\0{\0}",
    b"\xFF\xFE{\0}\0",
    b"[\0]",
    b"\0",
    // After the document.
    b"{}{}",
    b"{} x",
    b"1 2",
    b"[]]",
    b"{}}",
    b"{}\0",
    b"{}#",
    b"{}//",
    b"null,",
    b"\"a\"b",
    // Unclosed.
    b"[",
    b"{",
    b"\"",
    b"\"\\",
    b"\"\\u",
    b"\"\\u00",
    b"\"\\\"",
    b"[1",
    b"[1,",
    b"[\"",
    b"{\"",
    b"{\"a",
    b"{\"a\"",
    b"{\"a\":",
    b"{\"a\":1",
    b"{\"a\":1,",
    b"[{",
    // Commas and colons.
    b"[1,]",
    b"[,1]",
    b"[1,,2]",
    b"[1 2]",
    b"[1:2]",
    b"[\"a\",\n4\n,1,",
    b"{\"a\":1,}",
    b"{,}",
    b"{\"a\":1,,\"b\":2}",
    b"{\"a\" 1}",
    b"{\"a\"::1}",
    b"{\"a\",1}",
    b"{\"a\":1 \"b\":2}",
    b"{\"a\":}",
    b"{:1}",
    b"]",
    b"}",
    b"[}",
    b"{]",
    b"{\"a\":1]",
    b"[\"a\"}",
    b",",
    b":",
    // Keys that are no strings.
    b"{a:1}",
    b"{1:1}",
    b"{'a':1}",
    b"{null:1}",
    b"{[]:1}",
    // Words.
    b"nul",
    b"nulll",
    b"Null",
    b"True",
    b"TRUE",
    b"fals",
    b"undefined",
    b"NaN",
    b"-NaN",
    b"nan",
    b"Infinity",
    b"-Infinity",
    b"+Infinity",
    b"Inf",
    b"-Inf",
    b"[NaN]",
    b"{\"a\":Infinity}",
    // Numbers.
    b"+1",
    b"-",
    b"--1",
    b"-a",
    b"01",
    b"-01",
    b"00",
    b"012",
    b".5",
    b"-.5",
    b"5.",
    b"5.e1",
    b"1e",
    b"1e+",
    b"1e-",
    b"1eE2",
    b"1e1.5",
    b"1.2.3",
    b"0x1F",
    b"0e",
    b"1_000",
    b"1,000",
    b"1 000",
    b"- 1",
    b"1e999",
    b"-1e999",
    b"1e99999",
    b"[1e99999]",
    b"\xEF\xBC\x91",
    b"0.3e",
    b"9.e+",
    b"1a",
    b"1f",
    b"1L",
    // Strings.
    b"'a'",
    b"a",
    b"\"\x00\"",
    b"\"\x1F\"",
    b"\"\n\"",
    b"\"\t\"",
    b"\"\r\"",
    b"\"\\x41\"",
    b"\"\\a\"",
    b"\"\\'\"",
    b"\"\\0\"",
    b"\"\\U0041\"",
    b"\"\\u004\"",
    b"\"\\u00G0\"",
    b"\"\\u+041\"",
    b"\"\\\n\"",
    b"\"\\\xE2\x98\x83\"",
    b"{\"a\x01\":1}",
    // Surrogates alone or the wrong way round.
    b"\"\\ud800\"",
    b"\"\\udc00\"",
    b"\"\\uD83D\"",
    b"\"\\uD83Dx\"",
    b"\"\\uD83D\\n\"",
    b"\"\\uD83D\\u0041\"",
    b"\"\\uD83D\\uD83D\"",
    b"\"\\uDE00\\uD83D\"",
    b"\"\\uD83D\\u\"",
    b"\"\\uD83D\\\"",
    b"{\"\\ud800\":1}",
    // Bytes that are no UTF-8: lone continuation, cut, overlong, surrogate, beyond U+10FFFF.
    b"\"\x80\"",
    b"\"\xC3\"",
    b"\"\xE2\x82\"",
    b"\"\xF0\x9F\x98\"",
    b"\"\xC0\x80\"",
    b"\"\xC0\xAF\"",
    b"\"\xE0\x80\xAF\"",
    b"\"\xED\xA0\x80\"",
    b"\"\xED\xA0\xBD\xED\xB8\x80\"",
    b"\"\xF4\x90\x80\x80\"",
    b"\"\xFF\"",
    b"\"\\n\xFF\"",
    b"{\"\xFF\":1}",
    b"\xFF",
    // Space and comments of other languages.
    b"\xC2\xA0{}",
    b"\x0C{}",
    b"\x0B{}",
    b"\xE2\x81\xA0{}",
    b"/**/{}",
    b"{/**/}",
    b"[1 // x\n]",
    b"{\"a\":/*x*/1}",
];

#[test]
fn invalid_documents_are_refused_as_syntax() {
    for source in REFUSED {
        let result = with_defaults(source);
        assert!(matches!(result, Err(ReadError::Syntax { .. })), "{:?}: {result:?}", source.escape_ascii().to_string());
    }
}

#[test]
fn position_is_where_the_document_goes_wrong() {
    for (source, at) in [("[1,x]", 3), ("{\"a\":1,}", 7), ("{} x", 3), ("[1e999]", 1), ("\"a\u{1}\"", 2)] {
        let Err(ReadError::Syntax { at: found, .. }) = with_defaults(source.as_bytes()) else { panic!("{source}") };
        assert_eq!(found, at, "{source}");
    }
}

#[test]
fn errors_hold_no_piece_of_the_document() {
    for source in ["{\"canary\":1,\"canary\":2}", "[\"canary\", canary]", "{\"a\":\"canary\\ud800\"}", "{\"canary\" 1}"]
    {
        let Err(error) = with_defaults(source.as_bytes()) else { panic!("{source}") };
        assert!(!format!("{error} {error:?}").contains("canary"), "{source}");
    }
}

/// F09, T-JSON-1
#[test]
fn repeated_keys_are_refused_at_any_depth_and_spelling() {
    for source in [
        r#"{"a":1,"a":1}"#,
        r#"{"text":1,"te\u0078t":2}"#,
        r#"{"te\u0078t":1,"\u0074ext":2}"#,
        r#"{"":1,"":2}"#,
        r#"{"a/b":1,"a\/b":2}"#,
        r#"{"x":[{"y":{"a":1,"b":2,"a":3}}]}"#,
        r#"[{"😀":1,"\ud83d\ude00":2}]"#,
        r#"{"\u0000":1,"\u0000":2}"#,
    ] {
        assert_eq!(with_defaults(source.as_bytes()), Err(ReadError::RepeatedKey), "{source}");
    }
}

/// An object of `count` members; the last has the key of member `twin`.
fn object_with_twin(count: usize, twin: usize) -> String {
    let members: Vec<String> = (0..count - 1).chain([twin]).map(|key| format!("\"{key}\":0")).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn repeated_keys_are_found_in_objects_of_every_size() {
    for count in [2, 3, FEW, FEW + 1, FEW + 2, 1_000] {
        for twin in [0, (count - 1) / 2, count - 2] {
            let source = object_with_twin(count, twin);
            assert_eq!(read(source.as_bytes(), &roomy()), Err(ReadError::RepeatedKey), "{count} {twin}");
        }
        let source = object_with_twin(count, count - 1);
        assert_eq!(read(source.as_bytes(), &roomy()).map(|json| json.as_object().map(Object::len)), Ok(Some(count)));
    }
}

#[test]
fn limits_hold_exactly() {
    let limits = Limits { depth: 3, nodes: 5, key: 4, digits: 6 };
    let cases: [(&str, Result<(), ReadError>); 14] = [
        ("[[[]]]", Ok(())),
        ("[[[[]]]]", Err(ReadError::TooDeep { limit: 3 })),
        ("{\"a\":{\"b\":{}}}", Ok(())),
        ("{\"a\":[{\"b\":{}}]}", Err(ReadError::TooDeep { limit: 3 })),
        ("[1,2,3,4]", Ok(())),
        ("[1,2,3,4,5]", Err(ReadError::TooManyNodes { limit: 5 })),
        ("{\"a\":[1,2,3]}", Ok(())),
        ("{\"a\":[1,2,3],\"b\":0}", Err(ReadError::TooManyNodes { limit: 5 })),
        ("{\"abcd\":1}", Ok(())),
        ("{\"abcde\":1}", Err(ReadError::KeyTooLong { limit: 4 })),
        ("{\"\\u0061\\u0062\\u0063d\":1}", Ok(())),
        ("-123.45e6", Ok(())),
        ("-123.45e60", Err(ReadError::NumberTooLong { limit: 6 })),
        ("0000001", Err(ReadError::Syntax { at: 1, problem: "invalid number" })),
    ];
    for (source, expected) in cases {
        assert_eq!(read(source.as_bytes(), &limits).map(|_| ()), expected, "{source}");
    }
}

const MIB: usize = 1 << 20;

fn repeat(piece: &str) -> String {
    piece.repeat(MIB / piece.len())
}

/// T-JSON-2
#[test]
fn a_mebibyte_of_nesting_is_refused_without_recursion() {
    let deep = Limits { depth: usize::MAX, ..roomy() };
    for piece in ["[", "{\"a\":", "[[],", "[{\"a\":"] {
        let source = repeat(piece);
        assert_eq!(with_defaults(source.as_bytes()), Err(ReadError::TooDeep { limit: 64 }), "{piece}");
        assert_eq!(read(source.as_bytes(), &deep), Err(ReadError::TooDeep { limit: DEEPEST }), "{piece}");
    }
}

#[test]
fn the_deepest_document_fits_a_small_stack() {
    let source = format!("{}{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
    let thread = std::thread::Builder::new().stack_size(512 * 1024).spawn(move || {
        let json = read(source.as_bytes(), &Limits { depth: DEEPEST, ..roomy() });
        json.map(|json| write(&json).len() + crate::canonical(&json.clone()).map_or(0, |bytes| bytes.len()))
    });
    assert_eq!(thread.unwrap().join().unwrap(), Ok(4 * DEEPEST));
}

/// How many values were made: the cost of reading, whatever the clock says.
fn count(json: &Json) -> usize {
    1 + match json {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
        Json::Array(elements) => elements.iter().map(count).sum(),
        Json::Object(object) => object.iter().map(|(_, value)| count(value)).sum(),
    }
}

#[test]
fn a_mebibyte_makes_no_more_values_than_it_writes() {
    let keys: String = (0..100_000).map(|key| format!("\"{key}\":0,")).collect();
    let escapes = repeat("\\ud83d\\ude00");
    let cases = [
        (format!("[{}0]", repeat("0,")), 2 + MIB / 2),
        (format!("[{}[]]", repeat("[],")), 2 + MIB / 3),
        (format!("{{{keys}\"\":0}}"), 100_002),
        (format!("[{}{{}}]", repeat("{\"a\":{\"b\":0}},")), 2 + 3 * (MIB / "{\"a\":{\"b\":0}},".len())),
        (format!("\"{escapes}\""), 1),
        (format!("\"{}\"", repeat("\\\\")), 1),
        (format!("{}null", repeat(" \t\r\n")), 1),
    ];
    for (source, values) in cases {
        assert_eq!(read(source.as_bytes(), &roomy()).map(|json| count(&json)), Ok(values));
    }
}

/// T-JSON-2
#[test]
fn expensive_documents_stop_at_the_default_limits() {
    let flat = format!("[{}0]", repeat("0,"));
    assert_eq!(with_defaults(flat.as_bytes()), Err(ReadError::TooManyNodes { limit: 50_000 }));
    let number = repeat("9");
    assert_eq!(with_defaults(number.as_bytes()), Err(ReadError::NumberTooLong { limit: 40 }));
    let fraction = format!("0.{number}");
    assert_eq!(with_defaults(fraction.as_bytes()), Err(ReadError::NumberTooLong { limit: 40 }));
    let exponent = format!("1e{number}");
    assert_eq!(with_defaults(exponent.as_bytes()), Err(ReadError::NumberTooLong { limit: 40 }));
    let key = format!("{{\"{}\":0}}", repeat("k"));
    assert_eq!(with_defaults(key.as_bytes()), Err(ReadError::KeyTooLong { limit: 256 }));
}
