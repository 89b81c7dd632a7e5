//! The sample agents: what people try a gateway with, and the real upstreams of its tests.
//!
//! | module | holds |
//! |---|---|
//! | [`hello`] | `hello-world-a2a`: JSON-RPC envelopes on REST paths, the smallest agent as people write it |
//! | [`echo`] | `echo`: the default agent; every way a call can go |
//! | [`weather`], [`travel`], [`approval`], [`flaky`], [`secure`], [`reject`] | the other agents, one way of working each |
//! | `directory` | the list of them |
//! | `identity` | the identity provider that `secure` trusts |
//! | [`sink`] | webhooks that show what they were sent |
//! | `session`, `origin` | whose tasks a request sees; what its sender calls this place |
//! | `settings`, `site`, `running` | how they run: [`Settings`], who answers which path, [`start`] |
//! | [`tck`] | the agent for the official compatibility kit, a program of its own |
//! | [`hostile`] | agents that misbehave on purpose, and the scripted one that records raw requests |

pub mod approval;
mod directory;
pub mod echo;
pub mod flaky;
pub mod hello;
pub mod hostile;
mod id;
mod identity;
mod origin;
pub mod reject;
mod reply;
mod running;
pub mod secure;
mod session;
mod settings;
pub mod sink;
mod site;
pub mod tck;
pub mod travel;
pub mod weather;

pub use directory::EXTENSION;
pub use origin::Forwarding;
pub use running::{Running, start, start_all};
pub use session::SESSION;
pub use settings::{PUSH_ALLOW_LIST, PushReach, Root, Settings, StartError};
pub use site::NAMES;
