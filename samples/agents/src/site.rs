//! Who answers which path: the agents below `/a2a`, one of them at `/`, the identity provider and the sinks beside them.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use a2a_agent::store::{PushKey, SqlStore};
use a2a_agent::{Agents, Body, Server};
use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;

use crate::hello::Hello;
use crate::identity::{JWKS_PATH, METADATA_PATHS, Provider, TOKEN_PATH};
use crate::settings::{Ground, Root, Settings, StartError};
use crate::sink::{self, Sinks};
use crate::{approval, directory, echo, flaky, origin, reject, reply, secure, travel, weather};

/// Everything that answers at one address. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// By their paths, or their names in gRPC, where echo is the one that needs none.
    agents: Agents,
    /// The default agent as it answers at `/`.
    at_root: Server,
    hello: Hello,
    provider: Arc<Provider>,
    sinks: Arc<Sinks>,
    settings: Arc<Settings>,
}

/// How long a database keeps a task that rests.
const KEPT: Duration = Duration::from_hours(24 * 7);

impl Site {
    pub(crate) async fn build(settings: Settings, base: &str, sinks: Arc<Sinks>) -> Result<Self, StartError> {
        let provider = Arc::new(Provider::default());
        let ground = Ground::new(&settings, &sinks)?;
        let mut stores = Vec::new();
        if let Some(data) = &settings.data {
            std::fs::create_dir_all(data)?;
            let url = format!("sqlite://{}/tasks.db", data.display());
            let key = push_key(data)?;
            for path in PATHS {
                let store = SqlStore::open(&url, path, KEPT).await?.sealed_with(key.clone());
                store.fail_unfinished("the agent was restarted").await?;
                stores.push(Arc::new(store));
            }
        }
        let ground = ground.with_stores(stores);
        let echo = echo::server(&ground);
        let agents = [
            echo.clone(),
            weather::server(&ground),
            travel::server(&ground),
            approval::server(&ground),
            flaky::server(&ground),
            secure::server(&ground, &provider),
            reject::server(&ground),
            echo.also_at("/a2a"),
        ];
        let mount = if settings.root == Root::Hello { "" } else { HELLO };
        Ok(Self {
            agents: agents.into_iter().collect(),
            at_root: echo.also_at(""),
            hello: Hello::new(base, mount),
            provider,
            sinks,
            settings: Arc::new(settings),
        })
    }

    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path();
        if let Some(name) = path.strip_prefix(sink::PATH).map(str::to_owned) {
            return self.beside(request, |head, body| self.sinks.answer(head, &name, body)).await;
        }
        if path == "/a2a" && request.method() == Method::GET {
            return directory::document(&self.origin(&request.into_parts().0));
        }
        if self.agents.has(path) {
            return self.agents.answer(request).await;
        }
        if path == TOKEN_PATH {
            return self.beside(request, |head, body| self.provider.token(head, &body, &self.origin(head))).await;
        }
        if path == JWKS_PATH {
            return self.provider.key_set();
        }
        if METADATA_PATHS.contains(&path) {
            return Provider::metadata(&self.origin(&request.into_parts().0));
        }
        match self.settings.root {
            Root::Echo if path.starts_with("/.well-known/") || path == "/health" => self.at_root.answer(request).await,
            Root::Hello | Root::Echo => self.hello.answer(request).await,
        }
    }

    /// Lets everything that goes on end.
    pub(crate) async fn drain(&self) {
        self.agents.drain().await;
    }

    fn origin(&self, head: &Parts) -> String {
        let public = self.settings.public_url.clone();
        public.unwrap_or_else(|| origin::of(head, self.settings.forwarding))
    }

    async fn beside(
        &self,
        request: Request<Incoming>,
        answer: impl FnOnce(&Parts, Bytes) -> Response<Body>,
    ) -> Response<Body> {
        let (head, body) = request.into_parts();
        match Limited::new(body, sink::BODY_LIMIT).collect().await {
            Ok(body) => answer(&head, body.to_bytes()),
            Err(_) => reply::error(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large, or broke off"),
        }
    }
}

/// Where `hello-world-a2a` is when it is not at `/`.
pub(crate) const HELLO: &str = "/hello";

/// The agents below `/a2a`, by name.
pub const NAMES: [&str; 7] = ["echo", "weather", "travel-planner", "approval", "flaky", "secure", "reject"];

/// The same by their paths.
pub(crate) const PATHS: [&str; 7] =
    [echo::PATH, weather::PATH, travel::PATH, approval::PATH, flaky::PATH, secure::PATH, reject::PATH];

/// The key that seals webhook credentials, in a file beside the database that only its owner can read; made when it is missing.
fn push_key(data: &Path) -> Result<PushKey, StartError> {
    let file = data.join("push.key");
    if !file.exists() {
        let mut bytes = [0_u8; 32];
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| std::io::Error::other("no randomness"))?;
        let mut made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file)?;
        made.write_all(&bytes)?;
    }
    let bytes: [u8; 32] = std::fs::read(&file)?
        .try_into()
        .map_err(|_| std::io::Error::other(format!("{} does not have 32 bytes", file.display())))?;
    Ok(PushKey::new(&bytes)?)
}
