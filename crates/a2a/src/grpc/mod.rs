//! The gRPC binding of A2A 1.0 (`lf.a2a.v1.A2AService`, A2A 1.0 §10): protobuf ↔ the canonical tree, message framing,
//! statuses. No service stack and no generated types: the tree is written and read directly, so that a guard sees every
//! leaf and one set of limits holds for every binding.
//!
//! | file | holds |
//! |---|---|
//! | `schema` | the messages of the specification as tables |
//! | `proto` | the protobuf wire: tags, varints, lengths |
//! | `read`, `write` | message ↔ tree, by the tables |
//! | `known` | `Struct`, `Value`, `Timestamp` |
//! | `frame` | the five bytes before a message, any chunking |
//! | `status` | trailers and `google.rpc.Status` ↔ [`Fault`](crate::Fault) |
//!
//! Fields that the specification does not have are dropped, as are empty values of fields without presence. Never does
//! I/O; compression is refused, not undone.

mod call;
mod frame;
mod known;
mod proto;
mod read;
mod schema;
mod status;
#[cfg(test)]
mod tests;
mod write;

pub use call::{card_name, decode_answer, decode_event};
pub(crate) use call::{event, params, request, result};
pub use frame::{FrameError, Frames, one};
pub use read::ReadError;
pub use status::{Status, timeout, timeout_value, trailers};

use http::Method;

use crate::{OperationKind, Target, Version, dialect::TargetError};

/// The service's full name.
pub const SERVICE: &str = "lf.a2a.v1.A2AService";

/// The `Content-Type` of calls and answers.
pub const CONTENT_TYPE: &str = "application/grpc";

/// What a raw path addresses: `None` where it is not this service's, an error for a method that it lacks. Nothing is
/// decoded: a method has one spelling.
#[must_use]
pub fn target(method: &Method, path: &str) -> Option<Result<Target, TargetError>> {
    let name = path.strip_prefix('/')?.strip_prefix(SERVICE)?.strip_prefix('/')?;
    let kind = OperationKind::ALL.into_iter().find(|kind| kind.method(Version::V10) == Some(name));
    Some(match kind {
        Some(_) if method != Method::POST => Err(TargetError::MethodNotAllowed { allow: "POST" }),
        Some(kind) => Ok(Target::Grpc(kind)),
        None => Err(TargetError::NotFound),
    })
}

/// The path of an operation.
pub(crate) fn path(kind: OperationKind) -> String {
    format!("/{SERVICE}/{}", kind.method(Version::V10).unwrap_or_default())
}

/// Whether a `Content-Type` is one of gRPC with protobuf.
#[must_use]
pub fn is_grpc(content_type: &str) -> bool {
    matches!(content_type.split(';').next().unwrap_or_default().trim(), CONTENT_TYPE | "application/grpc+proto")
}
