//! Who may come in: the admin token on every request, and for browsers a known host and origin.
//!
//! The host check is against DNS rebinding (a page that makes its own name resolve to loopback), the origin check
//! against forged writes from other sites. Refuses with 401 or 403; never says which part of a token was wrong.

use super::Shared;
use super::error::ApiError;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Lets a request with the admin token pass.
pub async fn require_token(State(admin): State<Shared>, request: Request, next: Next) -> Response {
    let mut given = request.headers().get_all(AUTHORIZATION).iter();
    let token = match (given.next(), given.next()) {
        (Some(value), None) => value.to_str().ok().and_then(bearer),
        (None | Some(_), _) => None,
    };
    let hash: [u8; 32] = Sha256::digest(token.unwrap_or_default().as_bytes()).into();
    if token.is_none() || !bool::from(hash.ct_eq(&admin.token_hash)) {
        return ApiError::unauthenticated().into_response();
    }
    next.run(request).await
}

/// Lets a request with a known host, and no foreign origin, pass.
pub async fn check_host_and_origin(State(admin): State<Shared>, request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|value| value.to_str().ok()).or_else(|| request.uri().host());
    let known_host = admin.hosts.is_empty() || host.is_some_and(|host| admin.hosts.iter().any(|known| known == host));
    let origin = request.headers().get(ORIGIN);
    let known_origin = origin.is_none_or(|origin| admin.origins.iter().any(|known| known.as_bytes() == origin.as_bytes()));
    if !known_host || !known_origin {
        return ApiError::forbidden_origin().into_response();
    }
    next.run(request).await
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start())
}
