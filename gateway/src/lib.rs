//! Chancery: a multi-tenant A2A (Agent2Agent) security gateway.
//!
//! # Life of a request
//! `listener` accepts a connection and hands each request either to `discovery` (cards, key sets, health) or to
//! [`pipeline`]: route → authenticate → authorise → audit slot → limit → decode → owner → guard in → forward →
//! owner (new ids) → guard out → encode → record. Tenants, cards, keys and policies come from one immutable
//! [`registry::Snapshot`]; the only other waits are named in `docs/life-of-a-request.md`.
//!
//! | module | what |
//! |---|---|
//! | [`audit`] | one record per exchange: spool, recovery, shipping |
//! | [`clock`] [`tasks`] | time and background tasks, both passed in |
//! | [`config`] | file and environment → settings |
//! | [`app`] [`cli`] | parts in order, begin and end · commands |
//! | [`listener`] | connections → requests → who answers |
//! | [`discovery`] | signed cards, key sets, directories |
//! | [`oauth`] | the token endpoint |
//! | [`pipeline`] [`upstream`] [`reject`] | calls of agents, the way to them, our refusals |
//! | [`admin`] [`live`] | the admin API and its page · what happens now |
//! | [`registry`] [`seal`] | rows → compiled snapshot, kept fresh · secrets at rest |
//! | [`simulate`] | what a policy would say to a text, and to what was recorded |
//! | [`telemetry`] | logs and metrics |

pub mod admin;
pub mod app;
pub mod audit;
pub mod cli;
pub mod clock;
pub mod config;
pub mod discovery;
pub mod listener;
pub mod live;
pub mod oauth;
pub mod pipeline;
pub mod registry;
pub mod reject;
pub mod seal;
pub mod simulate;
pub mod tasks;
pub mod telemetry;
pub mod upstream;
