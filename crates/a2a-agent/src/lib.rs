//! Build an A2A agent in Rust: describe it, say what it does with a message, and serve it.
//!
//! The kit speaks A2A 1.0 and A2A 0.3, both over JSON-RPC and HTTP+JSON, at one URL, keeps tasks in bounded memory, and
//! streams. See [`Agent`] for a whole agent in ten lines.
//!
//! | module | holds |
//! |---|---|
//! | `agent` | [`Agent`], the description; [`Server`], the running agent |
//! | `card` | [`Card`] and [`Skill`]: the document both generations read |
//! | `turn` | [`Turn`], [`Outcome`], [`TaskHandle`]: what the author's code sees and gives |
//! | [`part`] | parts and [`Artifact`]s |
//! | `request` | HTTP in, HTTP out |
//! | `send` | runs the author's code |
//! | `task`, `tasks`, `list` | one task, all tasks, what a caller wants listed |
//! | `listen` | [`listen()`]: the accept loop |
//!
//! Invariants: a stream begins with the task and misses nothing after it; a finished task never changes; a panic in the
//! author's code fails one task.

mod agent;
mod card;
mod list;
mod listen;
pub mod part;
mod request;
mod send;
mod task;
mod tasks;
mod turn;

pub use agent::{Agent, Server};
pub use card::{Card, Skill};
pub use listen::{Body, DRAIN, listen};
pub use part::Artifact;
pub use request::BODY_LIMIT;
pub use turn::{OpenArtifact, Outcome, Step, TaskHandle, Turn};
