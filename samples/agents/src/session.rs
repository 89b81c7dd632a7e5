//! Whose tasks a request sees: those of its session, else those of its address.

use a2a_agent::{Caller, Peer};
use http::request::Parts;

/// The header that names a session.
pub const SESSION: &str = "x-rustybin-session";

/// Longest name of a session; what is longer is cut.
const SESSION_LIMIT: usize = 128;

pub(crate) fn caller(head: &Parts) -> Caller {
    let session = head.headers.get(SESSION).and_then(|value| value.to_str().ok()).filter(|name| !name.is_empty());
    match session {
        Some(name) => Caller::unknown(format!("session {}", name.get(..SESSION_LIMIT).unwrap_or(name))),
        None => {
            let peer = head.extensions.get::<Peer>().map(|peer| peer.0.ip().to_canonical().to_string());
            Caller::unknown(format!("address {}", peer.unwrap_or_default()))
        }
    }
}
