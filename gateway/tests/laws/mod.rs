//! What holds for whatever a caller sends to say who it is, or on whose behalf it calls. `it/corpus.rs` runs these laws on
//! the files of `fuzz/corpus`, the fuzz targets of the same names on whatever the fuzzer makes of them.
//!
//! | law | takes |
//! |---|---|
//! | [`credential`] | headers, one a line |
//! | [`jwt_verify`] | a token; or its header and its claims on two lines, which the law signs itself |
//! | [`header_chain`] | headers, one a line; a proof of `v2.KEY.….MAC` is made by the law itself |
//!
//! Each takes bytes, panics where a law is broken, and gives nothing.

mod chain;
mod credential;
mod token;
mod world;

pub(crate) use chain::header_chain;
pub(crate) use credential::credential;
pub(crate) use token::jwt_verify;

use http::request::Parts;
use http::{HeaderName, HeaderValue};

/// Header fields that a listener lets through.
const MOST_FIELDS: usize = 100;

/// A request with these headers. What no HTTP message can carry is left out.
fn request(lines: &[u8]) -> Parts {
    let mut request = http::Request::new(());
    for line in lines.split(|byte| *byte == b'\n').take(MOST_FIELDS) {
        let mut halves = line.splitn(2, |byte| *byte == b':');
        let name = halves.next().and_then(|name| HeaderName::from_bytes(name).ok());
        let value = halves.next().and_then(|value| HeaderValue::from_bytes(value.trim_ascii()).ok());
        if let (Some(name), Some(value)) = (name, value) {
            request.headers_mut().append(name, value);
        }
    }
    request.into_parts().0
}
