//! A running agent: an HTTP function ([`Server::answer`]), a router, or a whole server ([`serve`]).

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use http::request::Parts;
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use a2a::dialect::VersionMode;

use crate::agent::{Audience, Author, JsonType, Origin};
use crate::agents::Agents;
use crate::caller::Callers;
use crate::card::{Card, Grpc, Offers};
use crate::push::Post;
use crate::tasks::Tasks;

/// How long turns may go on once it is time to stop; then they are cancelled.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// A running agent. Cheap to clone; all clones are the same agent.
#[derive(Clone)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
    /// Where requests arrive, without a slash at the end.
    pub(crate) mount: Arc<str>,
}

pub(crate) struct Shared {
    pub(crate) card: Card,
    pub(crate) extended: Option<(Card, Audience)>,
    pub(crate) offers: Offers,
    pub(crate) json_type: JsonType,
    /// Since when its card is what it is, as HTTP writes it.
    pub(crate) made: String,
    /// A URL, or a path.
    pub(crate) url: String,
    pub(crate) origin: Origin,
    pub(crate) versions: VersionMode,
    pub(crate) author: Author,
    pub(crate) patience: Duration,
    pub(crate) stream_limit: Duration,
    pub(crate) callers: Callers,
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) post: Option<Arc<Post>>,
    pub(crate) turns: TaskTracker,
}

impl Server {
    pub(crate) fn new(shared: Shared, mount: String) -> Self {
        Self { shared: Arc::new(shared), mount: mount.into() }
    }

    /// The same agent, the same tasks, answering below another path as well.
    #[must_use]
    pub fn also_at(&self, path: &str) -> Self {
        Self { shared: Arc::clone(&self.shared), mount: path.trim_end_matches('/').into() }
    }

    /// Answers on a listener of its own until `stop`, then drains.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) {
        Agents::from(self).serve(listener, stop).await;
    }

    /// A router that answers below the agent's path, to be merged with others. Whoever serves it should
    /// [`drain`](Self::drain) the agent in the end.
    pub fn into_router(self) -> Router {
        let mount = self.mount.to_string();
        let answer = move |request: axum::extract::Request| {
            let server = self.clone();
            async move { server.answer(request).await }
        };
        if mount.is_empty() {
            return Router::new().fallback(answer);
        }
        let below = format!("{mount}/{{*rest}}");
        Router::new().route(&mount, axum::routing::any(answer.clone())).route(&below, axum::routing::any(answer))
    }

    /// Lets turns end; after a few seconds cancels their tasks, which ends every stream and every waiting send. Then waits for
    /// what must still be saved or delivered, for a few seconds at most.
    pub async fn drain(&self) {
        let shared = &self.shared;
        shared.turns.close();
        if tokio::time::timeout(LAST_WORDS, shared.turns.wait()).await.is_err() {
            shared.tasks.cancel_busy();
        }
        let rest = async {
            shared.tasks.flush().await;
            if let Some(post) = &shared.post {
                shared.tasks.let_go();
                post.drain().await;
            }
        };
        if tokio::time::timeout(LAST_WORDS, rest).await.is_err() {
            tracing::warn!("something was still to be saved or delivered when the drain was over");
        }
    }

    pub(crate) fn speaks_grpc(&self) -> bool {
        self.shared.offers.grpc != Grpc::Off
    }

    /// The name of the agent among several at one address.
    pub(crate) fn tenant(&self) -> Option<&str> {
        self.shared.offers.grpc.tenant()
    }

    /// The path below which the agent answers.
    #[must_use]
    pub fn mount(&self) -> &str {
        &self.mount
    }
}

impl Shared {
    /// The agent's URL, as the sender of this request should use it.
    pub(crate) fn url(&self, head: &Parts) -> String {
        if self.url.contains("://") { self.url.clone() } else { format!("{}{}", (self.origin)(head), self.url) }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("mount", &self.mount).finish_non_exhaustive()
    }
}

/// Serves an agent, or several ([`Agents`]), on this address until the process is told to stop (SIGTERM, Ctrl-C), then drains it.
///
/// # Errors
/// When the address cannot be bound, or signals cannot be waited for.
pub async fn serve(agents: impl Into<Agents>, address: impl ToSocketAddrs) -> io::Result<()> {
    let agents = agents.into();
    let listener = TcpListener::bind(address).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = CancellationToken::new();
    let stopping = async {
        tokio::select! {
            stopped = tokio::signal::ctrl_c() => stopped?,
            _ = terminate.recv() => {}
        }
        stop.cancel();
        Ok(())
    };
    let ((), stopped) = tokio::join!(agents.serve(listener, stop.clone()), stopping);
    stopped
}
