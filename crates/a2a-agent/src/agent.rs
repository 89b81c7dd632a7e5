//! An agent as its author describes it.
//!
//! Takes a card, an address and the author's code; gives a [`Server`]. Both generations are spoken at one URL. Unless the
//! author says otherwise, whoever can reach the agent may call it, and all callers see the same tasks.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use a2a::Fault;
use a2a::dialect::VersionMode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::request::Parts;
use time::OffsetDateTime;
use tokio_util::task::TaskTracker;

use crate::caller::{Caller, Callers, Tokens};
use crate::card::{Card, Generations, Grpc, Offers, http_date};
use crate::push::Push;
use crate::server::{Server, Shared};
use crate::store::{Bounds, MemoryStore, TaskStore};
use crate::tasks::{Clock, Tasks};
use crate::turn::{Outcome, Turn};

/// The author's code.
pub(crate) type Author = Arc<dyn Fn(Turn) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// The scheme and authority that a request came to, `https://agent.example`.
pub(crate) type Origin = Arc<dyn Fn(&Parts) -> String + Send + Sync>;

/// Who may have the extended card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Every caller.
    Everybody,
    /// Callers who have proven who they are.
    Proven,
}

/// The `Content-Type` of answers over HTTP+JSON of 1.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonType {
    /// `application/a2a+json`, as the specification recommends (A2A 1.0 §11.1).
    #[default]
    A2a,
    /// `application/json`, for clients that were made for its release candidates and want nothing else.
    Plain,
}

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
    extended: Option<(Card, Audience)>,
    url: String,
    mount: Option<String>,
    origin: Origin,
    versions: VersionMode,
    generations: Generations,
    grpc: Option<Grpc>,
    json_type: JsonType,
    author: Author,
    patience: Duration,
    stream_limit: Duration,
    callers: Callers,
    push: Option<Push>,
    clock: Clock,
    bounds: Bounds,
    store: Option<Arc<dyn TaskStore>>,
}

impl Agent {
    /// An agent with this card, which rejects every message so far.
    #[must_use]
    pub fn new(card: Card) -> Self {
        Self {
            card,
            extended: None,
            url: String::new(),
            mount: None,
            origin: Arc::new(origin_of_host),
            versions: VersionMode::Lenient,
            generations: Generations::default(),
            grpc: None,
            json_type: JsonType::default(),
            author: Arc::new(|_| async { Outcome::Rejected("this agent takes no messages".to_owned()) }.boxed()),
            patience: PATIENCE,
            stream_limit: STREAM_LIMIT,
            callers: Arc::new(|_| Ok(Caller::default())),
            push: None,
            clock: OffsetDateTime::now_utc,
            bounds: Bounds::default(),
            store: None,
        }
    }

    /// Where callers find the agent: a URL, or only its path; then the card names the host that a request came to.
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

    /// How the scheme and authority of the agent's URL follow from a request (`https://agent.example`), instead of `http://` and
    /// the `Host` header. Only for agents that are [`at`](Self::at) a path.
    #[must_use]
    pub fn origin(mut self, origin: impl Fn(&Parts) -> String + Send + Sync + 'static) -> Self {
        self.origin = Arc::new(origin);
        self
    }

    /// A second card that is only given on request.
    #[must_use]
    pub fn extended(mut self, card: Card, audience: Audience) -> Self {
        self.extended = Some((card, audience));
        self
    }

    /// Whether v1.0 calls must name their version.
    #[must_use]
    pub const fn versions(mut self, mode: VersionMode) -> Self {
        self.versions = mode;
        self
    }

    /// Which generations of A2A it speaks; both, unless this says otherwise.
    #[must_use]
    pub const fn generations(mut self, generations: Generations) -> Self {
        self.generations = generations;
        self
    }

    /// How callers of gRPC reach it; the card lists it accordingly. Without this, an agent at the root of its address is reached by
    /// the address, an agent below a path not at all.
    #[must_use]
    pub fn grpc(mut self, grpc: Grpc) -> Self {
        self.grpc = Some(grpc);
        self
    }

    /// The `Content-Type` of answers over HTTP+JSON of 1.0. What callers may send does not depend on it.
    #[must_use]
    pub const fn answers_in(mut self, json_type: JsonType) -> Self {
        self.json_type = json_type;
        self
    }

    /// How long a send waits for its task before it answers with the task as it is.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long a stream may go on. A caller can subscribe again.
    #[must_use]
    pub const fn stream_limit(mut self, limit: Duration) -> Self {
        self.stream_limit = limit;
        self
    }

    /// How to find out who calls. It refuses with [`unauthenticated`](crate::unauthenticated), as a rule.
    #[must_use]
    pub fn callers(mut self, callers: impl Fn(&Parts) -> Result<Caller, Fault> + Send + Sync + 'static) -> Self {
        self.callers = Arc::new(callers);
        self
    }

    /// Takes only callers with one of these bearer tokens. Each stands for an identity, which sees its own tasks only; the card
    /// says so.
    #[must_use]
    pub fn bearer_tokens<T, I>(mut self, tokens: impl IntoIterator<Item = (T, I)>) -> Self
    where
        T: Into<String>,
        I: Into<String>,
    {
        let tokens = Tokens(tokens.into_iter().map(|(token, identity)| (token.into(), identity.into())).collect());
        self.callers = Arc::new(move |head| tokens.caller(head));
        self.card = self.card.bearer("bearer", None);
        self
    }

    /// Takes push notification configurations.
    #[must_use]
    pub fn push(mut self, push: Push) -> Self {
        self.push = Some(push);
        self
    }

    /// How many tasks are kept, and how long, unless there is another [`store`](Self::store).
    #[must_use]
    pub const fn bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Where tasks rest, if not in memory.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn TaskStore>) -> Self {
        self.store = Some(store);
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
        let path = match self.url.split_once("://") {
            Some((_, rest)) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default().to_owned(),
            None => self.url.clone(),
        };
        let by_path = if path.is_empty() { Grpc::Alone } else { Grpc::Off };
        let offers = Offers {
            extended: self.extended.is_some(),
            push: self.push.is_some(),
            generations: self.generations,
            grpc: self.grpc.unwrap_or(by_path),
        };
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::new(self.bounds)));
        let post = self.push.as_ref().map(|push| Arc::clone(push.post()));
        let shared = Shared {
            card: self.card,
            extended: self.extended,
            offers,
            json_type: self.json_type,
            made: http_date((self.clock)()),
            url: self.url,
            origin: self.origin,
            versions: self.versions,
            author: self.author,
            patience: self.patience,
            stream_limit: self.stream_limit,
            callers: self.callers,
            tasks: Tasks::new(self.clock, store, self.bounds.idle, post.clone()),
            post,
            turns: TaskTracker::new(),
        };
        Server::new(shared, self.mount.unwrap_or(path))
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("card", &self.card).field("url", &self.url).finish_non_exhaustive()
    }
}

/// How long a send waits for its task.
const PATIENCE: Duration = Duration::from_secs(100);

/// How long a stream may go on.
const STREAM_LIMIT: Duration = Duration::from_hours(24);

/// `http://` and the host that the request names.
fn origin_of_host(head: &Parts) -> String {
    format!("http://{}", host(head).unwrap_or("localhost"))
}

/// The authority that a request was sent to: of its URI (HTTP/2), else its `Host` header. `None` if it is none.
#[must_use]
pub fn host(head: &Parts) -> Option<&str> {
    let in_header = || head.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
    let host = head.uri.authority().map(http::uri::Authority::as_str).or_else(in_header)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']');
    Some(host).filter(|host| !host.is_empty() && host.bytes().all(plain))
}
