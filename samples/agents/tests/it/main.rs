//! The sample agents over real HTTP on loopback.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod agents;
mod beside;
mod client;
mod echo;
mod hello;
mod hostile;
mod hurl;
mod many;
mod page;
mod signal;
