//! Streams: where the bytes were cut never shows, what was read can be written and read again.

use a2a::{
    grpc,
    sse::{Frame, Limits, Parser, SseError, write_event},
};

/// Small, so that a fuzzer reaches them.
const LIMITS: Limits = Limits { event: 600, line: 200 };

/// The first byte says how many pieces, that many bytes say how long each is (over and over), the rest is the stream.
pub(crate) fn sse_frames(bytes: &[u8]) {
    let Some((count, rest)) = bytes.split_first() else { return };
    let (sizes, stream) = rest.split_at(usize::from(count % 9).min(rest.len()));
    let whole = read([stream]);
    assert_eq!(read(pieces(stream, sizes)), whole, "cut into {sizes:?}");
    assert_eq!(read(pieces(stream, &[1])), whole, "cut into bytes");
    for frame in &whole.0 {
        written_again(frame);
    }
    let messages = grpc_messages([stream]);
    assert_eq!(grpc_messages(pieces(stream, sizes)), messages, "gRPC, cut into {sizes:?}");
}

/// Pieces of the given sizes, in turn; sizes of zero are taken as one byte.
fn pieces<'a>(stream: &'a [u8], sizes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = stream;
    let mut sizes = sizes.iter().cycle();
    std::iter::from_fn(move || {
        let size = sizes.next().map_or(rest.len(), |size| usize::from(*size).max(1));
        let (piece, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// All frames before the fault, and the fault.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Frame>, Result<(), SseError>) {
    let mut parser = Parser::new(LIMITS);
    let mut frames = Vec::new();
    for piece in pieces {
        match parser.push(piece) {
            Ok(more) => frames.extend(more),
            Err(fault) => {
                assert_eq!(parser.push(b"data: x\n\n"), Err(fault.clone()), "a broken stream goes on");
                return (frames, Err(fault));
            }
        }
    }
    (frames, parser.finish())
}

/// An event that is relayed is one event with the same data, and nothing in it starts another field.
fn written_again(frame: &Frame) {
    let Frame::Event { name, data } = frame else { return };
    let mut out = Vec::new();
    write_event(name.as_deref(), data.as_bytes(), &mut out);
    let mut parser = Parser::new(Limits::default());
    let again = parser.push(&out).expect("our own frame is read");
    assert_eq!(parser.finish(), Ok(()));
    let [Frame::Event { name: again_name, data: again_data }] = again.as_slice() else {
        panic!("one event became {again:?}");
    };
    // A record separator at the start of a line is no part of the data, however many there are.
    let plain =
        |data: &str| data.split('\n').map(|line| line.trim_start_matches('\u{1e}').to_owned()).collect::<Vec<_>>();
    assert_eq!(plain(again_data), plain(data));
    let printable = |name: &Option<String>| {
        name.as_deref().unwrap_or_default().chars().filter(|c| !c.is_ascii_control()).collect::<String>()
    };
    assert_eq!(printable(again_name), printable(name));
}

/// The messages of a gRPC stream, whether it broke, and whether it may end there.
fn grpc_messages<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, Result<(), grpc::FrameError>) {
    let mut frames = grpc::Frames::new(LIMITS.event);
    let mut messages = Vec::new();
    for piece in pieces {
        frames.push(piece);
        loop {
            match frames.message() {
                Ok(Some(message)) => messages.push(message.to_vec()),
                Ok(None) => break,
                Err(error) => return (messages, Err(error)),
            }
        }
    }
    (messages, frames.finish())
}
