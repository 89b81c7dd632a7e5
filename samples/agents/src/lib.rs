//! The sample agents: what people try a gateway with, and the real upstreams of its tests.
//!
//! | module | holds |
//! |---|---|
//! | [`hello`] | `hello-world-a2a`: JSON-RPC envelopes on REST paths, the smallest agent as people write it |
//! | [`echo`] | `echo`: A2A 1.0 and 0.3, every way a call can go |
//! | [`hostile`] | agents that misbehave on purpose, and the scripted one that records raw requests |
//! | `running` | [`start_all`]: the demo's agents on one address |

pub mod echo;
pub mod hello;
pub mod hostile;
mod id;
mod running;

pub use running::{Running, start_all};
