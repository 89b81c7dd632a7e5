//! The sample agents: what people try a gateway with, and the real upstreams of its tests.
//!
//! | module | holds |
//! |---|---|
//! | [`hello`] | `hello-world-a2a`: JSON-RPC envelopes on REST paths, the smallest agent as people write it |
//! | [`hostile`] | agents that misbehave on purpose, and the scripted one that records raw requests |

pub mod hello;
pub mod hostile;
mod id;
