//! The gateway's integration tests: one binary, every test against a live gateway in this process.
//!
//! `harness` makes rows as the admin API does; `rig` puts a snapshot in place by hand, where a test is about calls.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test, as the tests themselves do"
)]

mod admin;
mod adversary;
mod apply;
mod authz;
mod cases;
mod commands;
#[cfg(feature = "cedar")]
mod conditions;
mod config;
mod corpus;
mod credentials;
mod delegation;
mod delegation_streams;
mod delegation_vectors;
mod discovery;
mod expiry;
mod extended_card;
mod grpc;
mod guard;
mod guard_everywhere;
mod guard_external;
mod guard_files;
mod guard_matrix;
mod guard_policies;
mod guard_recorded;
mod guard_streams;
mod half_close;
mod harness;
mod headers;
mod http_json_v03;
mod import;
mod in_task;
mod issuers;
mod json;
#[path = "../laws/mod.rs"]
mod laws;
mod legacy;
mod limits;
mod listener;
mod oauth;
mod reference;
mod refusals;
mod registry;
mod relay;
mod replica;
mod replicas;
mod rig;
mod route;
mod sample_page;
mod seal;
mod serve;
mod smuggle;
mod start;
mod stream;
mod task;
mod tidy;
mod tls;
mod watching;
mod wire;
