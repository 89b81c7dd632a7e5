//! Build an A2A agent in Rust: describe it, say what it does with a message, and serve it.
//!
//! The kit speaks A2A 1.0 and 0.3 over JSON-RPC and HTTP+JSON at one URL, and 1.0 over gRPC at its address; it keeps tasks, streams them, sends push
//! notifications, and tells callers apart. A whole agent:
//!
//! ```no_run
//! use a2a_agent::{Agent, Card, Outcome, Skill, Turn, part};
//!
//! async fn answer(turn: Turn) -> Outcome {
//!     let question = turn.text();
//!     if !question.contains("INV-") {
//!         return Outcome::InputRequired("Which invoice number?".to_owned());
//!     }
//!     let task = turn.start();
//!     task.progress("Reading the invoice.");
//!     Outcome::artifact("summary", [part::text(format!("Summary for {question}"))])
//! }
//!
//! #[tokio::main]
//! async fn main() -> std::io::Result<()> {
//!     let card = Card::new("Invoice agent", "Reads invoices and answers questions about them.")
//!         .skill(Skill::new("summarize", "Summarize an invoice", "Totals, due date, line items.", &["invoices"]));
//!     let agent = Agent::new(card).at("/invoices").on_message(answer);
//!     a2a_agent::serve(agent.into_server(), "127.0.0.1:9100").await
//! }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `agent` | [`Agent`], the description |
//! | `agents` | [`Agents`], several at one address |
//! | `server` | [`Server`], the running agent; [`serve()`] |
//! | `card` | [`Card`] and [`Skill`]: the document both generations read |
//! | `caller` | [`Caller`]: who calls, and whose tasks it sees |
//! | `turn` | [`Turn`], [`Outcome`], [`TaskHandle`]: what the author's code sees and gives |
//! | [`part`] | parts and [`Artifact`]s |
//! | `request` | HTTP in, HTTP out |
//! | `send` | runs the author's code |
//! | `task`, `tasks`, `subscription`, `list` | one task, all living tasks, one listener, what a caller wants listed |
//! | [`store`] | where tasks rest: in memory, or in a database |
//! | [`push`] | push notifications |
//! | `listen` | [`listen()`]: the accept loop |
//!
//! Invariants: a stream begins with the task and misses nothing after it; a finished task never changes; a panic in the
//! author's code fails one task; a task of another caller is a missing one; what a blocking call answers is in the store.

mod agent;
mod agents;
mod caller;
mod card;
mod list;
mod listen;
pub mod part;
pub mod push;
mod request;
mod send;
mod server;
pub mod store;
mod subscription;
mod task;
mod tasks;
mod turn;

pub use agent::{Agent, Audience, JsonType, host};
pub use agents::Agents;
pub use caller::{Caller, bearer_token, unauthenticated};
pub use card::{Card, Generations, Grpc, Skill};
pub use listen::{Body, DRAIN, Peer, listen};
pub use part::Artifact;
pub use push::Push;
pub use request::BODY_LIMIT;
pub use server::{Server, serve};
pub use store::{Bounds, TaskStore};
pub use turn::{OpenArtifact, Outcome, Step, TaskHandle, Turn};

/// The guide's code is compiled with the crate's own examples.
#[cfg(all(doctest, feature = "sql"))]
#[doc = include_str!("../../../docs/guides/write-an-agent.md")]
struct Guide;
