//! What the parser makes of streams met in the field, whole, cut anywhere, and hostile.

use proptest::prelude::*;

use super::*;

/// Everything a stream gives until it ends or breaks.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    frames: Vec<Frame>,
    end: Result<(), SseError>,
}

fn outcome<'a>(limits: Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut parser = Parser::new(limits);
    let mut frames = Vec::new();
    for piece in pieces {
        match parser.push(piece) {
            Ok(more) => frames.extend(more),
            Err(fault) => return Outcome { frames, end: Err(fault) },
        }
    }
    Outcome { frames, end: parser.finish() }
}

fn whole(stream: &[u8]) -> Outcome {
    outcome(Limits::default(), [stream])
}

/// Checks that no cut changes what comes out, and gives what comes out.
fn however_cut(stream: &[u8]) -> Outcome {
    let expected = whole(stream);
    for at in 0..=stream.len() {
        let (left, right) = stream.split_at(at);
        assert_eq!(outcome(Limits::default(), [left, right]), expected, "cut at {at}");
    }
    assert_eq!(outcome(Limits::default(), stream.chunks(1)), expected, "byte by byte");
    expected
}

fn event(data: &str) -> Frame {
    Frame::Event { name: None, data: data.to_owned() }
}

/// F13
#[test]
fn one_event_over_many_lines_survives_every_cut() {
    let stream = b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\r\ndata: \"result\":{\"statusUpdate\":{\"taskId\":\"t1\",\"contextId\":\"c1\",\r\ndata: \"secret\":\"sk_live_1\",\r\ndata: \"status\":{\"state\":\"TASK_STATE_WORKING\"}}}}\r\n\r\n";
    let Outcome { frames, end } = however_cut(stream);
    let expected = "{\"jsonrpc\":\"2.0\",\"id\":1,\n\"result\":{\"statusUpdate\":{\"taskId\":\"t1\",\"contextId\":\"c1\",\n\"secret\":\"sk_live_1\",\n\"status\":{\"state\":\"TASK_STATE_WORKING\"}}}}";
    assert_eq!((frames, end), (vec![event(expected)], Ok(())));
}

/// F14
#[test]
fn a_leading_bom_lone_crs_and_cut_characters_are_read() {
    let stream = "\u{feff}data:{\"id\":1}\r\rdata:{\"text\":\"café\"}\r\r".as_bytes();
    let Outcome { frames, end } = however_cut(stream);
    assert_eq!((frames, end), (vec![event("{\"id\":1}"), event("{\"text\":\"café\"}")], Ok(())));
}

/// F14
#[test]
fn invalid_utf8_ends_the_stream_after_the_events_before_it() {
    let stream = b"data:{\"id\":1}\r\rdata:{\"text\":\"caf\xc3\x28\"}\r\rdata: later\n\n";
    let Outcome { frames, end } = however_cut(stream);
    assert_eq!((frames, end), (vec![event("{\"id\":1}")], Err(SseError::InvalidUtf8)));
}

/// F14
#[test]
fn a_bom_before_a_later_event_is_no_part_of_the_syntax() {
    let Outcome { frames, .. } = however_cut("data: 1\n\n\u{feff}data: 2\n\ndata: 3\n\n".as_bytes());
    assert_eq!(frames, vec![event("1"), event("3")]);
}

#[test]
fn the_end_inside_an_event_is_told_and_the_half_event_never_given() {
    for half in ["data: {\"half", "data: {\"half\"\n", "da", "event: error\n", "data: 2\r"] {
        let stream = format!("data: 1\n\n{half}");
        let Outcome { frames, end } = however_cut(stream.as_bytes());
        assert_eq!((frames, end), (vec![event("1")], Err(SseError::Truncated)), "{half:?}");
    }
}

#[test]
fn a_stream_may_end_after_an_event_or_a_comment() {
    for end in ["", "\n", ": bye\n", ": bye", "id: 7\n", "\r"] {
        assert_eq!(however_cut(format!("data: 1\n\n{end}").as_bytes()).end, Ok(()), "{end:?}");
    }
    assert_eq!(however_cut("\u{feff}".as_bytes()).end, Ok(()));
    assert_eq!(however_cut(b"").end, Ok(()));
}

#[test]
fn names_are_kept_and_ids_and_retries_are_not() {
    let Outcome { frames, end } =
        however_cut(b": hi\nevent: error\nid: 1\nretry: 9\ndata: x\nunknown\n\ndata: y\n\nevent: lost\n\n");
    let named = Frame::Event { name: Some("error".to_owned()), data: "x".to_owned() };
    assert_eq!((frames, end), (vec![Frame::Comment, named, event("y")], Ok(())));
}

#[test]
fn one_space_and_one_record_separator_are_taken_off() {
    let Outcome { frames, .. } = however_cut(b"data: \x1e{}\n\ndata:\x1e{}\n\ndata:  a\n\ndata\n\ndata:\n\n");
    assert_eq!(frames, vec![event("{}"), event("{}"), event(" a"), event(""), event("")]);
}

/// T-SSE-1
#[test]
fn endless_lines_and_events_are_cut_off() {
    let limits = Limits { event: 64, line: 32 };
    let long_line = [b"data: 1\n\ndata: ".as_slice(), &[b'x'; 100]].concat();
    let long_event = [b"data: 1\n\n".as_slice(), &b"data: xxxxxxxxxxxxxxxx\n".repeat(4)].concat();
    let ignored = [b"data: 1\n\n".as_slice(), &b"id: xxxxxxxxxxxxxxxxxx\n".repeat(4)].concat();
    let cases = [
        (long_line, SseError::LineTooLong { limit: 32 }),
        (long_event, SseError::EventTooLong { limit: 64 }),
        (ignored, SseError::EventTooLong { limit: 64 }),
    ];
    for (stream, fault) in cases {
        for size in 1..stream.len() {
            let Outcome { frames, end } = outcome(limits, stream.chunks(size));
            assert_eq!((frames, end), (vec![event("1")], Err(fault.clone())), "pieces of {size}");
        }
    }
}

/// T-SSE-1
#[test]
fn a_flood_of_comments_holds_no_memory() {
    let mut parser = Parser::new(Limits { event: 64, line: 32 });
    for _ in 0..1000 {
        assert_eq!(parser.push(b": ping\n").map(|frames| frames.len()), Ok(1));
    }
    assert!(parser.line.capacity() <= 64);
    assert_eq!(parser.finish(), Ok(()));
}

#[test]
fn a_fault_is_final() {
    let mut parser = Parser::new(Limits::default());
    assert_eq!(parser.push(b"data: 1\n\ndata: \xff\n"), Ok(vec![event("1")]));
    assert_eq!(parser.push(b"data: 2\n\n"), Err(SseError::InvalidUtf8));
    assert_eq!(parser.push(b"data: 3\n\n"), Err(SseError::InvalidUtf8));
    assert_eq!(parser.finish(), Err(SseError::InvalidUtf8));
}

/// T-SSE-1
#[test]
fn nothing_in_data_or_name_starts_a_field() {
    let mut out = Vec::new();
    write_event(Some("err\r\ndata: forged\n\nor"), b"a\r\nevent: forged\r\rid: 1\n\ndata: x\n", &mut out);
    write_comment("ping\n\ndata: forged\n\n", &mut out);
    let named = Frame::Event {
        name: Some("errdata: forgedor".to_owned()),
        data: "a\nevent: forged\n\nid: 1\n\ndata: x\n".to_owned(),
    };
    let Outcome { frames, end } = whole(&out);
    assert_eq!(frames.first(), Some(&named));
    assert!(frames.iter().skip(1).all(|frame| *frame == Frame::Comment), "{frames:?}");
    assert_eq!(end, Ok(()));
}

/// Pieces of streams, so that random ones are mostly meaningful.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(b"data:".to_vec()),
        2 => Just(b"data: ".to_vec()),
        1 => Just(b"event: e".to_vec()),
        2 => Just(b":c".to_vec()),
        3 => Just(b"\r".to_vec()),
        3 => Just(b"\n".to_vec()),
        3 => Just(b"\r\n".to_vec()),
        1 => Just("\u{feff}".as_bytes().to_vec()),
        2 => "[a-c é\u{1e}]{0,6}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..3),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_cutting_changes_what_comes_out(stream in stream(), cuts in prop::collection::vec(1_usize..9, 0..200)) {
        let limits = Limits { event: 60, line: 40 };
        let mut rest = stream.as_slice();
        let mut pieces = Vec::new();
        for size in cuts {
            let (piece, after) = rest.split_at(size.min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces.push(rest);
        prop_assert_eq!(outcome(limits, pieces), outcome(limits, [stream.as_slice()]));
    }

    #[test]
    fn what_is_written_is_read_back(name in "[a-z]{0,8}", data in "[a-c\r\n:é ]{0,40}") {
        let mut out = Vec::new();
        write_event(Some(&name), data.as_bytes(), &mut out);
        let name = (!name.is_empty()).then_some(name);
        let data = data.replace("\r\n", "\n").replace('\r', "\n");
        prop_assert_eq!(whole(&out), Outcome { frames: vec![Frame::Event { name, data }], end: Ok(()) });
    }
}
