//! Reading what was sent: strictly once, by our own reader, then by type.
//!
//! Repeated keys, lone surrogates and over-long numbers are refused here as they are on the request path, so that a
//! document means the same to the administrator, to the gateway and to those who verify a card.

use super::error::{ApiError, FieldProblem};
use crate::registry::document::{self, Problem};
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, HeaderValue};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Largest document, in bytes.
const LIMIT: usize = 2 << 20;

/// A JSON document: its tree (digits and order kept) and its typed reading.
pub(super) struct Document<T> {
    /// As it was sent.
    pub tree: json::Json,
    /// As it is understood.
    pub typed: T,
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Document<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        // Also what keeps a page of another site from writing: a browser asks before it sends this type.
        let is_json = request.headers().get(CONTENT_TYPE).is_some_and(is_json);
        if !is_json {
            return Err(ApiError::unsupported_media_type());
        }
        let body: Body = request.into_body();
        let bytes = to_bytes(body, LIMIT).await.map_err(|_| ApiError::too_large(LIMIT))?;
        read(&bytes)
    }
}

fn is_json(value: &HeaderValue) -> bool {
    let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<Document<T>, ApiError> {
    let tree =
        json::read(bytes, &json::Limits::default()).map_err(|error| ApiError::invalid_field("", error.to_string()))?;
    let typed = typed(&tree)?;
    Ok(Document { tree, typed })
}

/// The typed reading of a tree.
///
/// # Errors
/// 400 that names every member that is unknown or of the wrong type.
pub(super) fn typed<T: DeserializeOwned>(tree: &json::Json) -> Result<T, ApiError> {
    document::read(&json::write(tree)).map_err(|problems| ApiError::invalid(under("", problems)))
}

/// An answer that keeps the digits of a document that somebody wrote.
pub(super) struct Written(pub json::Json);

impl IntoResponse for Written {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "application/json")], json::write(&self.0)).into_response()
    }
}

/// What the API says, as a tree into which documents can be put.
///
/// # Errors
/// 500; our own shapes always serialise.
pub(super) fn tree(shape: &impl Serialize) -> Result<json::Json, ApiError> {
    stored_tree(&serde_json::to_vec(shape).map_err(|_| ApiError::internal())?)
}

/// A stored document as it was written.
///
/// # Errors
/// 500 when it can't be read, which compile would have reported.
pub(super) fn stored_tree(bytes: &[u8]) -> Result<json::Json, ApiError> {
    json::read(bytes, &json::Limits::default()).map_err(|_| ApiError::internal())
}

/// A tree as the admin API's JSON value (documents that were checked before: digits beyond a double are refused).
///
/// # Errors
/// 500 when a stored document can't be read, which compile would have reported.
pub(super) fn value(bytes: &[u8]) -> Result<serde_json::Value, ApiError> {
    serde_json::from_slice(bytes).map_err(|_| ApiError::internal())
}

/// Problems of a document that was sent as the member `path`; empty for the whole body.
pub(super) fn under(path: &str, problems: impl IntoIterator<Item = Problem>) -> Vec<FieldProblem> {
    let dotted = |pointer: &str| format!("{path}{}", pointer.replace('/', ".")).trim_start_matches('.').to_owned();
    problems.into_iter().map(|one| FieldProblem { path: dotted(&one.path), problem: one.problem }).collect()
}
