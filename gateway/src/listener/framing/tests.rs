//! Every violation at every place where its bytes can be cut, and what is legal in any pieces.

use super::*;

const START: &str = "POST /a2a/acme/echo HTTP/1.1\r\nHost: gw.test\r\n";
const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n";

fn with(rest: &str) -> String {
    format!("{START}{rest}")
}

fn chunked(rest: &str) -> String {
    format!("{CHUNKED}{rest}")
}

/// What is found, and after how many bytes in all.
fn found(pieces: &[&[u8]]) -> Result<Framing, Stop> {
    let (mut framing, mut before) = (Framing::new(), 0);
    for piece in pieces {
        framing.read(piece).map_err(|stop| Stop { at: before + stop.at, ..stop })?;
        before += piece.len();
    }
    Ok(framing)
}

/// The same, however the bytes are cut: once anywhere, or everywhere.
fn found_in_any_pieces(bytes: &[u8]) -> Result<State, Stop> {
    let whole = found(&[bytes]).map(|framing| framing.state);
    for at in 0..=bytes.len() {
        let (one, two) = bytes.split_at(at);
        assert_eq!(
            found(&[one, two]).map(|framing| framing.state),
            whole,
            "cut at {at}: {:?}",
            bytes.escape_ascii().to_string()
        );
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(found(&single).map(|framing| framing.state), whole, "byte by byte");
    whole
}

fn violations_of_heads() -> Vec<(String, Violation)> {
    let mut all = vec![
        (with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), Violation::LengthAndCoding),
        (with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"), Violation::LengthAndCoding),
        (with("content-length:0\r\nX: y\r\nTRANSFER-ENCODING:chunked\r\n\r\n"), Violation::LengthAndCoding),
        (with("Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"), Violation::Repeated),
        (with("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), Violation::Repeated),
        (with("Content-Length: 5\r\nX: y\r\ncontent-LENGTH: 5\r\n\r\nhello"), Violation::Repeated),
        (with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), Violation::Repeated),
        (with("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"), Violation::Repeated),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(), Violation::CodingInHttp10),
        // Line ends.
        ("GET / HTTP/1.1\nHost: a\r\n\r\n".to_owned(), Violation::BareLineEnd),
        ("GET / HTTP/1.1\rX\r\nHost: a\r\n\r\n".to_owned(), Violation::BareLineEnd),
        ("GET /\rX HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), Violation::BareLineEnd),
        ("GET / HTTP/1.1\r\nHost: a\n\r\n".to_owned(), Violation::BareLineEnd),
        ("GET / HTTP/1.1\r\nHost: a\r\n\n".to_owned(), Violation::BareLineEnd),
        ("GET / HTTP/1.1\r\nHost: a\r\n\rX".to_owned(), Violation::BareLineEnd),
        ("GET / HTTP/1.1\r\n\n".to_owned(), Violation::BareLineEnd),
        ("GET / HTTP/1.1\r\nHost\n\r\n".to_owned(), Violation::BareLineEnd),
        ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), Violation::BareLineEnd),
        ("\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), Violation::BareLineEnd),
        ("\rGET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), Violation::BareLineEnd),
        (with("X: a\rb\r\n\r\n"), Violation::BareLineEnd),
        (with("X: a\r\r\n\r\n"), Violation::BareLineEnd),
        (with("X: a\nContent-Length: 5\r\n\r\n"), Violation::BareLineEnd),
    ];
    all.extend(violations_of_names());
    for coding in [
        "",
        "identity",
        "gzip",
        "gzip, chunked",
        "chunked, chunked",
        "chunked, identity",
        "chunked;q=1",
        "\"chunked\"",
        "xchunked",
        "chunke",
        "chunked,",
        ", chunked",
        "\u{b}chunked",
        "chunked\u{c}",
        "chun ked",
        "c\u{4b}unked\u{130}",
        "chunked                                                        ",
    ] {
        all.push((with(&format!("Transfer-Encoding: {coding}\r\n\r\n0\r\n\r\n")), Violation::Coding));
    }
    for length in [
        "",
        "+5",
        "-5",
        "5,5",
        "5, 5",
        "5 5",
        "0x5",
        "5.0",
        "5e0",
        "five",
        "\u{664}",
        "5;",
        "\"5\"",
        "\u{b}5",
        "18446744073709551616",
        "99999999999999999999999999999999999999999999",
    ] {
        all.push((with(&format!("Content-Length: {length}\r\n\r\nhello")), Violation::Length));
    }
    all
}

fn violations_of_names() -> Vec<(String, Violation)> {
    vec![
        (with("X: a\r\n b\r\n\r\n"), Violation::FoldedLine),
        (with("Transfer-Encoding:\r\n\tchunked\r\n\r\n"), Violation::Coding),
        ("GET / HTTP/1.1\r\n Host: a\r\n\r\n".to_owned(), Violation::FoldedLine),
        (with("Transfer-Encoding : chunked\r\n\r\n"), Violation::FieldName),
        (with("Transfer-Encoding\t: chunked\r\n\r\n"), Violation::FieldName),
        (with("Transfer\u{b}Encoding: chunked\r\n\r\n"), Violation::FieldName),
        (with("Transfer_Encoding: chunked\r\n\r\n"), Violation::FieldName),
        (with("Content_Length: 5\r\n\r\n"), Violation::FieldName),
        (with("Content Length: 5\r\n\r\n"), Violation::FieldName),
        (with("[x]: 5\r\n\r\n"), Violation::FieldName),
        (with(": 5\r\n\r\n"), Violation::FieldName),
        (with("X\0: 5\r\n\r\n"), Violation::FieldName),
        (with("X\u{e9}: 5\r\n\r\n"), Violation::FieldName),
        (with("no colon\r\n\r\n"), Violation::FieldName),
        ("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), Violation::ControlByte),
        ("\0GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), Violation::ControlByte),
        (with("X: a\0b\r\n\r\n"), Violation::ControlByte),
    ]
}

fn violations_of_bodies() -> Vec<(String, Violation)> {
    let mut all = vec![
        (chunked("5;x=y\r\nhello\r\n0\r\n\r\n"), Violation::ChunkExtension),
        (chunked("5;\r\nhello\r\n0\r\n\r\n"), Violation::ChunkExtension),
        (chunked("5\nhello\r\n0\r\n\r\n"), Violation::BareLineEnd),
        (chunked("5\r\nhello\r\n0\n\r\n"), Violation::BareLineEnd),
        (chunked("5\rhello\r\n0\r\n\r\n"), Violation::BareLineEnd),
        (chunked("5\r\nhello\r\n0\r\n\n"), Violation::BareLineEnd),
        (chunked("5\r\nhello\r\n0\r\n\rX"), Violation::BareLineEnd),
        (chunked("\n5\r\nhello\r\n0\r\n\r\n"), Violation::BareLineEnd),
        (chunked("5\r\nhello\n0\r\n\r\n"), Violation::ChunkEnd),
        (chunked("5\r\nhello\r0\r\n\r\n"), Violation::ChunkEnd),
        (chunked("5\r\nhello!\r\n0\r\n\r\n"), Violation::ChunkEnd),
        (chunked("5\r\nhello0\r\n\r\n"), Violation::ChunkEnd),
        (chunked("0\r\nContent-Length: 5\r\n\r\n"), Violation::Trailer),
        (chunked("0\r\ntransfer-encoding: chunked\r\n\r\n"), Violation::Trailer),
        (chunked("0\r\nX: a\r\n b\r\n\r\n"), Violation::FoldedLine),
        (chunked("0\r\nX : a\r\n\r\n"), Violation::FieldName),
        (chunked("0\r\nX: a\0\r\n\r\n"), Violation::ControlByte),
        (chunked("0\r\nGET / HTTP/1.1\r\n\r\n"), Violation::FieldName),
    ];
    for size in ["5 ", "5\t", " 5", "", "+5", "-5", "0x5", "5h", "g", "5\0", "00000000000000005", "fffffffffffffffff"] {
        all.push((chunked(&format!("{size}\r\nhello\r\n0\r\n\r\n")), Violation::ChunkSize));
    }
    all
}

/// T-SMUG-1, T-SMUG-2, T-HDR-4
#[test]
fn a_head_that_two_readers_may_read_differently_is_stopped_before_its_end_however_it_is_cut() {
    for (bytes, violation) in violations_of_heads() {
        let stop = found_in_any_pieces(bytes.as_bytes()).expect_err(&bytes);
        assert_eq!(stop.violation, violation, "{bytes:?}");
        let passed = &bytes.as_bytes()[..stop.at];
        assert!(matches!(stop.part, Part::Nothing | Part::Head), "{bytes:?}");
        assert!(!passed.windows(4).any(|end| end == b"\r\n\r\n"), "the head stays open: {bytes:?}");
        assert_eq!(
            stop.part == Part::Nothing,
            passed.iter().all(|byte| b"\r\n".contains(byte)) && passed.len() != 1,
            "{bytes:?}"
        );
    }
}

/// T-SMUG-1
#[test]
fn a_chunked_body_that_two_readers_may_read_differently_is_stopped_before_its_end_however_it_is_cut() {
    for (bytes, violation) in violations_of_bodies() {
        let stop = found_in_any_pieces(bytes.as_bytes()).expect_err(&bytes);
        assert_eq!((stop.violation, stop.part), (violation, Part::Body), "{bytes:?}");
        assert!(stop.at >= CHUNKED.len(), "the head has been passed: {bytes:?}");
        assert!(!bytes.as_bytes()[CHUNKED.len()..stop.at].ends_with(b"0\r\n\r\n"), "the body stays open: {bytes:?}");
    }
}

/// What stands behind a good request is judged like the first, and the good one is passed whole.
#[test]
fn a_violation_behind_good_requests_is_found_at_its_own_place() {
    let good = format!("{}{}", with("Content-Length: 5\r\n\r\nhel\nl"), chunked("3\r\na\nb\r\n0\r\nX: y\r\n\r\n"));
    for (bytes, violation) in violations_of_heads().into_iter().chain(violations_of_bodies()) {
        let alone = found(&[bytes.as_bytes()]).unwrap_err();
        let both = format!("{good}{bytes}");
        let stop = found(&[both.as_bytes()]).unwrap_err();
        assert_eq!((stop.at, stop.violation, stop.part), (good.len() + alone.at, violation, alone.part), "{bytes:?}");
    }
}

#[test]
fn legal_requests_pass_however_they_are_cut() {
    let big = "x".repeat(300);
    for bytes in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
        "POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
        "PRI /x HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        with("Content-Length:\t 00300 \t\r\n\r\n") + &big,
        with("Content-Length: 0\r\n\r\n"),
        with("Content-Length: 5\r\n\r\n\r\n\0\n\rPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n\n"),
        with("transfer-encoding:CHUNKED\r\n\r\n0\r\n\r\n"),
        with("X-Empty:\r\nX_Name: a\tb \u{e9}\r\nTransfer-Encodings: gzip\r\nX-Content-Length: 9\r\n\r\n"),
        chunked(&format!("12c\r\n{big}\r\nA\r\n0123456789\r\n0000000000000000\r\n\r\n")),
        chunked("2\r\n\r\n\r\n1\r\n0\r\n0\r\nX-Trailer: y\r\nZ:\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        with("Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}"),
    ] {
        assert_eq!(found_in_any_pieces(bytes.as_bytes()), Ok(State::Rest), "{bytes:?}");
    }
}

/// T-SMUG-4 is hyper's and h2's; here only that HTTP/2 is left alone, and that nothing else passes as it.
#[test]
fn http2_is_left_alone_and_nothing_else_passes_for_it() {
    let frames = [PREFACE, b"\0\0\0\x04\0\0\0\0\0 anything\n at: all\0"].concat();
    assert_eq!(found_in_any_pieces(&frames), Ok(State::Untouched));
    for at in 1..PREFACE.len() {
        let near = [&PREFACE[..at], b"\0", &PREFACE[at..]].concat();
        assert!(found_in_any_pieces(&near).is_err(), "{at}");
    }
    let late = [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".as_slice(), PREFACE, b"\0"].concat();
    assert!(found_in_any_pieces(&late).is_err());
}
