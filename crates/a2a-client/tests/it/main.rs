//! The client against real sockets: the sample agents, agents that misbehave, and scripted ones.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set itself up must stop")]

mod broken;
mod cards;
mod cut;
#[path = "../../examples/every_operation.rs"]
mod every_operation;
mod samples;
mod server;
mod streams;
mod tls;
mod trust;
mod wire;
