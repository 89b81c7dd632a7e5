//! An agent as its author describes it, and the running [`Server`] made of it.
//!
//! Takes a card, an address and the author's code; gives an HTTP function ([`Server::answer`]) and a whole server
//! ([`Server::serve`]). Speaks both generations at one URL. Does not authenticate anybody: whoever can reach it may call
//! it and see every task.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use a2a::dialect::VersionMode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use json::Json;
use time::OffsetDateTime;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::card::{Card, Extended};
use crate::listen::listen;
use crate::tasks::{Clock, TASK_LIMIT, Tasks};
use crate::turn::{Outcome, Turn};

/// The author's code.
pub(crate) type Author = Arc<dyn Fn(Turn) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// An agent that is being described.
///
/// ```
/// use a2a_agent::{Agent, Card, Outcome, Skill, part};
///
/// let card = Card::new("Shout", "Says it louder.").skill(Skill::new("shout", "Shout", "Upper case.", &["text"]));
/// let server = Agent::new(card)
///     .at("http://127.0.0.1:9100/shout")
///     .on_message(|turn| async move { Outcome::artifact("shout", [part::text(turn.text().to_uppercase())]) })
///     .into_server();
/// # let _ = server;
/// ```
pub struct Agent {
    card: Card,
    extended: Option<Card>,
    url: String,
    mount: Option<String>,
    versions: VersionMode,
    author: Author,
    patience: Duration,
    clock: Clock,
    task_limit: usize,
}

impl Agent {
    /// An agent with this card, which rejects every message so far.
    #[must_use]
    pub fn new(card: Card) -> Self {
        Self {
            card,
            extended: None,
            url: "http://127.0.0.1:9100".to_owned(),
            mount: None,
            versions: VersionMode::Lenient,
            author: Arc::new(|_| async { Outcome::Rejected("this agent takes no messages".to_owned()) }.boxed()),
            patience: PATIENCE,
            clock: OffsetDateTime::now_utc,
            task_limit: TASK_LIMIT,
        }
    }

    /// The URL that callers use; its path is where the agent answers, unless [`mounted_at`](Self::mounted_at) says else.
    #[must_use]
    pub fn at(mut self, url: impl Into<String>) -> Self {
        self.url = url.into().trim_end_matches('/').to_owned();
        self
    }

    /// The path where requests arrive, if something in front of the agent changes it. No slash at the end.
    #[must_use]
    pub fn mounted_at(mut self, path: impl Into<String>) -> Self {
        self.mount = Some(path.into());
        self
    }

    /// A second card that is only given on request.
    #[must_use]
    pub fn extended(mut self, card: Card) -> Self {
        self.extended = Some(card);
        self
    }

    /// Whether v1.0 calls must name their version.
    #[must_use]
    pub const fn versions(mut self, mode: VersionMode) -> Self {
        self.versions = mode;
        self
    }

    /// How long a send waits for its task before it answers with the task as it is.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Most tasks kept; finished ones make room.
    #[must_use]
    pub const fn task_limit(mut self, limit: usize) -> Self {
        self.task_limit = limit;
        self
    }

    /// Where the time comes from.
    #[must_use]
    pub const fn clock(mut self, clock: fn() -> OffsetDateTime) -> Self {
        self.clock = clock;
        self
    }

    /// The code that takes every message. It may panic: that fails the task, not the agent.
    #[must_use]
    pub fn on_message<A, F>(mut self, author: A) -> Self
    where
        A: Fn(Turn) -> F + Send + Sync + 'static,
        F: Future<Output = Outcome> + Send + 'static,
    {
        self.author = Arc::new(move |turn| author(turn).boxed());
        self
    }

    /// The agent, ready to answer.
    #[must_use]
    pub fn into_server(self) -> Server {
        let offered = if self.extended.is_some() { Extended::Offered } else { Extended::Missing };
        let path = self.url.split_once("://").map_or(&*self.url, |(_, rest)| rest);
        let in_url = path.find('/').and_then(|at| path.get(at..)).unwrap_or_default();
        Server(Arc::new(Shared {
            card: self.card.document(&self.url, offered),
            extended: self.extended.map(|card| card.document(&self.url, offered)),
            mount: self.mount.unwrap_or_else(|| in_url.to_owned()),
            versions: self.versions,
            author: self.author,
            patience: self.patience,
            tasks: Tasks::new(self.clock, self.task_limit),
            turns: TaskTracker::new(),
        }))
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("card", &self.card).field("url", &self.url).finish_non_exhaustive()
    }
}

/// How long a send waits for its task.
const PATIENCE: Duration = Duration::from_secs(100);

/// How long turns may go on once it is time to stop; then they are cancelled.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// A running agent. Cheap to clone; all clones are the same agent.
#[derive(Clone)]
pub struct Server(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) card: Json,
    pub(crate) extended: Option<Json>,
    /// The path of the agent's URL, without a slash at the end.
    pub(crate) mount: String,
    pub(crate) versions: VersionMode,
    pub(crate) author: Author,
    pub(crate) patience: Duration,
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) turns: TaskTracker,
}

impl Server {
    /// Answers on a listener of its own until `stop`, then drains.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) {
        let server = self.clone();
        let answer = move |request| {
            let server = server.clone();
            async move { server.answer(request).await }
        };
        tokio::join!(listen(listener, stop.clone(), answer), async {
            stop.cancelled().await;
            self.drain().await;
        });
    }

    /// Lets turns end; after a few seconds cancels their tasks, which ends every stream and every waiting send.
    pub async fn drain(&self) {
        self.0.turns.close();
        if tokio::time::timeout(LAST_WORDS, self.0.turns.wait()).await.is_err() {
            self.0.tasks.cancel_busy();
        }
    }

    /// The path below which the agent answers.
    #[must_use]
    pub fn mount(&self) -> &str {
        &self.0.mount
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("mount", &self.0.mount).finish_non_exhaustive()
    }
}
