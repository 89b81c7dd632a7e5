//! A client of A2A agents: find the card, check who signed it, choose an interface, call.
//!
//! Takes the URL that somebody was given and a credential; gives answers and events in the shape of A2A 1.0, whatever
//! dialect the agent speaks: JSON-RPC and HTTP+JSON of 1.0 and 0.3, and gRPC of 1.0 (feature `grpc`).
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let agents = sample_agents::start_all(([127, 0, 0, 1], 0).into(), None).await?;
//! # let url = agents.url_of("echo");
//! use a2a_client::{Event, connect};
//!
//! let agent = connect(&url).await?;
//! let reply = agent.send("hello").await?;
//! assert_eq!(reply.text(), "hello");
//!
//! let mut events = agent.stream("hello again").await?;
//! while let Some(event) = events.next().await {
//!     match event? {
//!         Event::Artifact(update) => print!("{}", update.artifact().text()),
//!         Event::Status(update) => println!("[{}]", update.state().name()),
//!         Event::Task(task) | Event::Resumed(task) => println!("[{}]", task.state().name()),
//!         Event::Message(message) => println!("{}", message.text()),
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! Invariants: every connection is made by [`egress`]; no redirect is followed; a credential goes to the origin it was
//! given for and nowhere else; a key that a card names is never fetched; a call is sent once, and only where no byte of
//! it can have left does another interface stand in; a stream that breaks never looks finished; members that this crate
//! does not know survive.
//!
//! | module | what |
//! |---|---|
//! | [`options`] | what a caller may want, and the way from a URL to an [`Agent`] |
//! | [`resolve`](mod@resolve) | the places where agents keep their card, tried in order |
//! | [`trust`] | verdicts on a card's signatures, and the part of the card they cover |
//! | [`choose`](mod@choose) | which of the card's interfaces to call |
//! | [`credential`] | what proves the caller |
//! | `connections`, `exchange`, `raw_events` | one request, one stream |
//! | [`agent`], `operations` | canonical calls; the eleven operations, typed |
//! | `events` | a stream over as many connections as it takes |
//! | `message`, `part`, `task`, `event`, `push`, `card` | what is said and heard |
//! | [`error`] | what can go wrong, and what to do then |
//! | [`calls`] | the eleven operations as [`Call`](a2a::Call)s |

pub mod agent;
pub mod calls;
mod card;
pub mod choose;
mod connections;
pub mod credential;
pub mod error;
mod event;
mod events;
mod exchange;
mod message;
mod operations;
pub mod options;
mod part;
mod push;
mod raw_events;
pub mod resolve;
mod task;
mod tree;
pub mod trust;

pub use a2a::dialect::R3Bytes;
pub use a2a::{Dialect, FaultKind, OperationKind, TaskState};
pub use agent::Agent;
pub use card::Card;
pub use choose::{Chosen, NoInterface, choose};
pub(crate) use connections::Connections;
pub use connections::{NoTls, Reach, connections};
pub use credential::{Auth, Credential};
pub use error::{AgentFault, CallError, Unauthorized};
pub use event::{ArtifactUpdate, Event, Reply, StatusUpdate};
pub use events::{Events, Resume};
pub use exchange::CallLimits;
pub use json::{Json, Object};
pub use message::{Message, Role};
pub use operations::Sending;
pub use options::{ConnectError, Options, connect};
pub use part::{Content, Part};
pub use push::PushConfig;
pub use resolve::{Found, ResolveError, resolve};
pub use task::{Artifact, Task, TaskFilter, TaskPage};
pub use trust::{Keys, KeysError, Proof, Signatures, fetch_keys};

/// The guide's code, compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/call-an-agent.md")]
mod guide {}
