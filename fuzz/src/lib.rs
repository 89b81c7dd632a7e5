//! The laws that the fuzz targets run, under one roof. They are written next to the ordinary tests, which replay the
//! corpus with them; nothing is tested here that `make test` could not test.

#[path = "../../crates/json/tests/laws/mod.rs"]
mod documents;
#[path = "../../crates/a2a/tests/laws/mod.rs"]
mod protocol;

/// An agent card: published, signed, verified, changed.
pub fn card_parse(bytes: &[u8]) {
    protocol::card_parse(bytes);
}

/// A request of a caller, in any dialect.
pub fn decode_call(bytes: &[u8]) {
    protocol::decode_call(bytes);
}

/// An answer, event or fault of an agent, in any dialect.
pub fn decode_reply(bytes: &[u8]) {
    protocol::decode_reply(bytes);
}

/// A JSON document: read, written, canonical.
pub fn jcs(bytes: &[u8]) {
    documents::jcs(bytes);
}

/// The raw path of a request.
pub fn path_route(bytes: &[u8]) {
    protocol::path_route(bytes);
}

/// A stream of server-sent events or gRPC messages, and where it is cut.
pub fn sse_frames(bytes: &[u8]) {
    protocol::sse_frames(bytes);
}
