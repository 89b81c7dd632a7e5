//! The gateway's integration tests: one binary, every test against a live gateway in this process.

mod config;
mod discovery;
mod extended_card;
mod harness;
mod listener;
mod registry;
mod seal;
