//! Several agents at one address.
//!
//! Takes requests; gives them to the agent whose path they are for, and calls of gRPC, which have no path, to the agent whose name
//! is in their `tenant`. Knows nothing of what an agent says.

use std::error::Error;
use std::sync::Arc;

use a2a::{Fault, FaultKind, grpc};
use axum::Router;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::listen::{Body, listen};
use crate::request::{in_grpc, nowhere, read};
use crate::server::Server;

/// Agents at one address, told apart by their paths; in gRPC by [`Grpc::Tenant`](crate::Grpc::Tenant), where a call that names
/// nobody is for the first of them that speaks it. Cheap to clone.
///
/// ```
/// use a2a_agent::{Agent, Agents, Card, Grpc, Outcome};
///
/// let agent = |name: &str| {
///     let agent = Agent::new(Card::new(name, "Says its name.")).at(format!("/{name}")).grpc(Grpc::Tenant(name.to_owned()));
///     let name = name.to_owned();
///     agent.on_message(move |_| std::future::ready(Outcome::say(name.as_str()))).into_server()
/// };
/// let agents: Agents = ["one", "two"].map(agent).into_iter().collect();
/// assert!(agents.has("/one/tasks") && agents.has("/lf.a2a.v1.A2AService/SendMessage") && !agents.has("/three"));
/// ```
#[derive(Clone, Debug)]
pub struct Agents(Arc<[Server]>);

impl Agents {
    /// Whether a request with this path is for one of them.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.at(path).is_some() || (is_grpc(path) && self.0.iter().any(Server::speaks_grpc))
    }

    /// Answers one request; 404 where no agent is.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        if is_grpc(request.uri().path()) {
            return self.by_tenant(request).await;
        }
        match self.at(request.uri().path()) {
            Some(agent) => agent.answer(request).await,
            None => nowhere(),
        }
    }

    /// Answers on a listener of its own until `stop`, then drains.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) {
        let agents = self.clone();
        let answer = move |request| {
            let agents = agents.clone();
            async move { agents.answer(request).await }
        };
        tokio::join!(listen(listener, stop.clone(), answer), async {
            stop.cancelled().await;
            self.drain().await;
        });
    }

    /// A router that gives everything to these agents; merge others before it, or nest it.
    pub fn into_router(self) -> Router {
        Router::new().fallback(move |request: axum::extract::Request| {
            let agents = self.clone();
            async move { agents.answer(request).await }
        })
    }

    /// Drains all of them at once.
    pub async fn drain(&self) {
        futures_util::future::join_all(self.0.iter().map(Server::drain)).await;
    }

    /// Of paths that lie in each other, the inner one.
    fn at(&self, path: &str) -> Option<&Server> {
        let below = |mount: &str| path.strip_prefix(mount).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.0.iter().filter(|agent| below(agent.mount())).max_by_key(|agent| agent.mount().len())
    }

    /// The tenant is in the message, so that is read first, within the limits of every request.
    async fn by_tenant<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        let Some(Ok(a2a::Target::Grpc(kind))) = grpc::target(&head.method, head.uri.path()) else {
            return in_grpc(&FaultKind::PathNotFound.into());
        };
        let body = match read(body).await {
            Ok(body) => body,
            Err(fault) => return in_grpc(&fault),
        };
        let agent = grpc::card_name(kind, &body).and_then(|named| self.named(named.as_deref()));
        match agent {
            Ok(agent) => agent.answer(Request::from_parts(head, Full::new(body))).await,
            Err(fault) => in_grpc(&fault),
        }
    }

    fn named(&self, name: Option<&str>) -> Result<&Server, Fault> {
        let mut speaking = self.0.iter().filter(|agent| agent.speaks_grpc());
        let found = match name {
            // The only one needs no name.
            Some(name) if self.0.len() > 1 => speaking.find(|agent| agent.tenant() == Some(name)),
            Some(_) | None => speaking.next(),
        };
        found.ok_or_else(|| match name {
            Some(_) => Fault::invalid_params("tenant names no agent at this address"),
            None => FaultKind::PathNotFound.into(),
        })
    }
}

impl From<Server> for Agents {
    fn from(server: Server) -> Self {
        Self([server].into())
    }
}

impl FromIterator<Server> for Agents {
    fn from_iter<I: IntoIterator<Item = Server>>(servers: I) -> Self {
        Self(servers.into_iter().collect())
    }
}

/// Whether a path is one of the gRPC service, whatever the method.
fn is_grpc(path: &str) -> bool {
    path.strip_prefix('/').and_then(|path| path.strip_prefix(grpc::SERVICE)).is_some_and(|rest| rest.starts_with('/'))
}
