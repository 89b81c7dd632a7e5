//! The laws that the fuzz targets run, under one roof. They are written next to the ordinary tests, which replay the
//! corpus with them; nothing is tested here that `make test` could not test.

#[path = "../../gateway/tests/laws/mod.rs"]
mod callers;
#[path = "../../crates/json/tests/laws/mod.rs"]
mod documents;
#[path = "../../crates/a2a/tests/laws/mod.rs"]
mod protocol;

/// An agent card: published, signed, verified, changed.
pub fn card_parse(bytes: &[u8]) {
    protocol::card_parse(bytes);
}

/// The headers that say who calls.
pub fn credential(bytes: &[u8]) {
    callers::credential(bytes);
}

/// A request of a caller, in any dialect.
pub fn decode_call(bytes: &[u8]) {
    protocol::decode_call(bytes);
}

/// An answer, event or fault of an agent, in any dialect.
pub fn decode_reply(bytes: &[u8]) {
    protocol::decode_reply(bytes);
}

/// The headers that say on whose behalf.
pub fn header_chain(bytes: &[u8]) {
    callers::header_chain(bytes);
}

/// A JSON document: read, written, canonical.
pub fn jcs(bytes: &[u8]) {
    documents::jcs(bytes);
}

/// A token, or what one says.
pub fn jwt_verify(bytes: &[u8]) {
    callers::jwt_verify(bytes);
}

/// The raw path of a request.
pub fn path_route(bytes: &[u8]) {
    protocol::path_route(bytes);
}

/// A stream of server-sent events or gRPC messages, and where it is cut.
pub fn sse_frames(bytes: &[u8]) {
    protocol::sse_frames(bytes);
}
