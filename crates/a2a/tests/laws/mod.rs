//! What holds for every call, answer, stream, path and card, whatever their bytes. `corpus.rs` runs these laws on the
//! files of `fuzz/corpus`, the fuzz targets of the same names on whatever the fuzzer makes of them.
//!
//! | law | takes |
//! |---|---|
//! | [`decode_call`] | an HTTP request as it stands on the wire: `POST /message:send`, headers, blank line, body |
//! | [`decode_reply`] | `dialect operation status` (or `event`, `event=NAME`), headers, blank line, body |
//! | [`sse_frames`] | how many cuts, where, then the bytes of a stream |
//! | [`path_route`] | a raw path |
//! | [`card_parse`] | an agent card |
//!
//! Each takes bytes, panics where a law is broken, and gives nothing.

mod call;
mod card;
mod frames;
mod reply;
mod route;
mod wire;

pub(crate) use call::decode_call;
pub(crate) use card::card_parse;
pub(crate) use frames::sse_frames;
pub(crate) use reply::decode_reply;
pub(crate) use route::path_route;
