//! Build an A2A agent in Rust.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@listen`] | the accept loop: one listener, HTTP/1.1 and h2c, drained on stop |

pub mod listen;

pub use listen::{Body, listen};
