//! The A2A protocol on the ordered JSON tree: canonical model, every dialect both ways, SSE framing, card signing.
//!
//! Every dialect is decoded to the canonical [`Call`] at the edge and encoded from the canonical [`Answer`], [`Event`]
//! or [`Fault`] at the edge; between the edges nobody asks which dialect it is. The canonical shape is A2A v1.0
//! (ProtoJSON of `lf.a2a.v1`), as a JSON tree, so that unknown members and digits survive.
//!
//! No I/O, no clock, no randomness, no panic on any input.

pub mod call;
pub mod dialect;
pub mod fault;
pub mod grpc;
pub mod operation;
pub mod path;
pub mod reply;
pub mod rewrite;
pub mod shape;
pub mod sign;
pub mod sse;

pub use call::Call;
pub use dialect::{Binding, Dialect, Envelope, Target, Version, Voice};
pub use fault::{Fault, FaultKind};
pub use operation::OperationKind;
pub use reply::{Answer, Event, TaskState};
pub use shape::structural;
