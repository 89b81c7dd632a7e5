//! Paths and query strings of requests: what does not fit is answered in the API's one error shape.
//!
//! Gives the same as axum's extractors of these names; never lets their plain-text refusals out.

use super::error::ApiError;
use super::{Admin, Shared};
use axum::extract::FromRequestParts;
use axum::extract::rejection::QueryRejection;
use http::request::Parts;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize as _, Deserializer};
use std::convert::Infallible;
use std::sync::Arc;

/// The administration under the name of whoever asks. There is no other way for a handler to reach the store, so what it
/// writes is signed.
pub(super) struct State<T>(pub T);

impl FromRequestParts<Arc<Admin>> for State<Shared> {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, admin: &Arc<Admin>) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get::<Shared>().cloned().unwrap_or_else(|| Shared::of(admin))))
    }
}

/// The variables of the path.
pub(super) struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path(inner)| Self(inner)).map_err(|_| ApiError::not_found("this path"))
    }
}

/// The query string.
pub(super) struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let query = axum::extract::Query::try_from_uri(&parts.uri);
        query.map(|axum::extract::Query(inner)| Self(inner)).map_err(|rejection| refusal(&rejection))
    }
}

/// Names the member where the reader does.
fn refusal(rejection: &QueryRejection) -> ApiError {
    let text = rejection.body_text();
    let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
    let is_name = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    match text.split_once(": ") {
        Some((name, problem)) if is_name(name) => ApiError::invalid_field(name, problem),
        Some(_) | None => ApiError::invalid_field("query", text),
    }
}

/// A number of items from 1 to `MAX`.
pub(super) fn limit<'de, D: Deserializer<'de>, const MAX: u32>(from: D) -> Result<Option<u32>, D::Error> {
    let limit = u32::deserialize(from)?;
    if (1..=MAX).contains(&limit) { Ok(Some(limit)) } else { Err(D::Error::custom(format!("must be 1 to {MAX}"))) }
}
