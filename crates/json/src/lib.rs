//! The ordered JSON tree that every call, answer and card lives in.
//!
//! Outside bytes become a [`Json`] through exactly one strict reader ([`read`]) and leave through one writer
//! ([`write()`]). Members keep their order, numbers keep their source text, and what a caller or an agent could use to
//! make two readers disagree (repeated keys, lone surrogates, invalid UTF-8, over-long numbers) is refused.
//!
//! | module | holds |
//! |---|---|
//! | [`tree`] | the tree itself: [`Json`], [`Object`], [`Number`] |
//! | [`reader`] | bytes → tree, within [`Limits`] |
//! | [`writer`] | tree → bytes |
//! | [`pointer`](mod@pointer) | RFC 6901 look-up and the walk over every leaf |
//! | [`canonical`](mod@canonical) | RFC 8785 (JCS) |
//!
//! No I/O, no clock, no panic on any input.

pub mod canonical;
pub mod pointer;
pub mod reader;
pub mod tree;
pub mod writer;

pub use canonical::{CanonicalError, canonical};
pub use pointer::{Leaf, Path, Segment, walk, walk_mut};
pub use reader::{Limits, ReadError, read};
pub use tree::{Json, Number, Object};
pub use writer::{write, write_into};
