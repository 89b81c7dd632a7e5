//! The request path, as far as it exists: until its stages land, calls are refused as overload.

use std::net::SocketAddr;
use std::sync::Arc;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;

use crate::app::App;
use crate::config::Settings;
use crate::listener::dispatch;
use crate::tasks::Tasks;

/// The body of every answer.
pub type Body = dispatch::Body;

/// What the stages share over all requests.
#[derive(Debug)]
pub struct Parts {}

impl Parts {
    /// Nothing in flight.
    #[must_use]
    pub fn new(_: &Settings, _: store::Store, _: egress::Client, _: owner::PageKey) -> Self {
        Self {}
    }

    /// Nothing runs in the background.
    pub fn start(&self, _: &Tasks) {}
}

/// Answers one call.
pub async fn handle(_: Arc<App>, _: SocketAddr, _: Request<Incoming>) -> Response<Body> {
    dispatch::document(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "calls are not served yet").map(dispatch::full)
}

/// Owners of tasks.
pub mod owner {
    /// Seals page tokens.
    #[derive(Debug)]
    pub struct PageKey;

    impl PageKey {
        /// The key with these bytes.
        #[must_use]
        pub fn new(_: &[u8; 32]) -> Option<Self> {
            Some(Self)
        }
    }
}

/// Paths.
pub mod path {
    /// The segments of a path; `None` where two readers could differ.
    ///
    /// # Errors
    /// A path with two readings.
    pub fn split(raw: &str) -> Result<Vec<String>, ()> {
        let rest = raw.strip_prefix('/').ok_or(())?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let segment = |raw: &str| {
            let text = percent_encoding::percent_decode_str(raw).decode_utf8().map_err(|_| ())?.into_owned();
            let odd = text.is_empty() || text == "." || text == ".." || text.contains(['/', '\\', '%', ';']);
            if odd { Err(()) } else { Ok(text) }
        };
        rest.split('/').map(segment).collect()
    }
}

/// Heads.
pub mod head {
    /// The credential of a head.
    #[derive(Debug)]
    pub struct Head {
        pub(super) key: Option<Vec<u8>>,
    }

    impl Head {
        /// What is worth keeping.
        #[must_use]
        pub fn read(parts: &http::request::Parts) -> Self {
            let bearer = parts.headers.get(http::header::AUTHORIZATION).map(http::HeaderValue::as_bytes);
            let key = bearer.and_then(|value| value.strip_prefix(b"Bearer "));
            Self {
                key: key
                    .or_else(|| parts.headers.get("x-api-key").map(http::HeaderValue::as_bytes))
                    .map(<[u8]>::to_vec),
            }
        }
    }
}

/// Who calls.
pub mod authenticate {
    use std::sync::Arc;

    use sha2::Digest as _;

    use super::head::Head;
    use crate::clock::Micros;
    use crate::registry::{Credential, Principal, Snapshot};

    /// A proven principal.
    #[derive(Debug)]
    pub struct Identity(Arc<Credential>);

    impl Identity {
        /// Who calls.
        #[must_use]
        pub fn principal(&self) -> &Arc<Principal> {
            &self.0.principal
        }
    }

    /// Finds out who calls.
    ///
    /// # Errors
    /// Nobody is proven.
    pub fn identify(head: &Head, world: &Snapshot, now: Micros) -> Result<Identity, ()> {
        let digest: [u8; 32] = sha2::Sha256::digest(head.key.as_deref().ok_or(())?).into();
        let found = world.keys.get(&digest).filter(|key| key.expires_at.is_none_or(|at| now < at));
        found.map(|key| Identity(Arc::clone(key))).ok_or(())
    }
}
