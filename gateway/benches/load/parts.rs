//! The parts of a gateway on the bare proxy, one after another: what a call costs at the least that does this much.
//!
//! Each [`Stage`] does what the one before does and one thing more, with the gateway's own crates and in the shortest way: no
//! route, key, grant, limit, dialect or error of ours. What Chancery costs above the last stage is its pipeline; what the last
//! stage costs above the proxy, no pipeline can save.

use crate::serve::serve;
use crate::world::{POLICY, TENANT};
use anyhow::Context as _;
use bytes::Bytes;
use chancery::audit::{Audit, AuditSettings, Closing, Fsync, OnFull, OpenRecord, Opening, Outcome, Sink};
use chancery::clock::Clock;
use guard::{Options, Pipeline, Surface};
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use json::Json;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use store::{ContextClaim, Pools, Store, TaskClaim, TenantId};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Both bodies are taken whole.
    Bodies,
    /// They are read to trees and written from them.
    Json,
    /// The trees are inspected by the policy of the comparison.
    Guard,
    /// An opening and a closing record are written, and on disk before the answer.
    Record,
    /// The task and the context of the answer are claimed in SQLite before it, those of waiting calls in one transaction.
    Claims,
    /// The records are brought to SQLite.
    Shipped,
}

impl Stage {
    pub(crate) const ALL: [Self; 6] =
        [Self::Bodies, Self::Json, Self::Guard, Self::Record, Self::Claims, Self::Shipped];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bodies => "bodies",
            Self::Json => "json",
            Self::Guard => "guard",
            Self::Record => "record",
            Self::Claims => "claims",
            Self::Shipped => "shipped",
        }
    }

    /// In the words of the report.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Bodies => "proxy with whole bodies",
            Self::Json => "+ read and written as trees",
            Self::Guard => "+ inspected",
            Self::Record => "+ recorded on disk",
            Self::Claims => "+ ownership claimed",
            Self::Shipped => "+ records in the store",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

/// Serves as the proxy does, with the parts up to `stage`; store and spool lie in the folder `dir`.
pub(crate) async fn run(stage: Stage, upstream: SocketAddr, dir: &Path) -> anyhow::Result<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let store = Store::open(&format!("sqlite://{}/parts.db", dir.display()), Pools::default()).await?;
    store.migrate().await?;
    crate::world::furnish(&store, &[], Clock::System.now()).await?;
    let sink = if stage >= Stage::Shipped { Sink::Store(store.clone()) } else { Sink::Recorder(Arc::default()) };
    let settings = AuditSettings {
        dir: dir.join("audit"),
        fsync: Fsync::Always,
        on_full: OnFull::Reject,
        open: OpenRecord::Overlap,
        segment_bytes: 16 << 20,
        max_bytes: 1 << 30,
    };
    let (audit, shipper, _) = Audit::open_dir(&settings, Clock::System, sink)?;
    let (claims, wanted) = mpsc::unbounded_channel();
    #[expect(clippy::disallowed_methods, reason = "the stub ends with its process")]
    {
        if stage >= Stage::Shipped {
            tokio::spawn(shipper.run(CancellationToken::new()));
        }
        tokio::spawn(claim_all(store, wanted));
    }
    let document = json::read(POLICY.as_bytes(), &json::Limits::default())?;
    let options = Options { key: b"parts", policy: "start", version: 1 };
    let policy = Pipeline::compile(&document, &options).map_err(|error| anyhow::anyhow!("{:?}", error.problems))?;
    let parts = Arc::new(Parts {
        stage,
        client: Client::builder(TokioExecutor::new()).build(connector),
        authority: upstream.to_string().parse()?,
        policy,
        audit,
        claims,
    });
    serve(move |request| {
        let parts = Arc::clone(&parts);
        async move {
            parts.pass(request).await.unwrap_or_else(|error| {
                let mut response = Response::new(Full::from(error.to_string()));
                *response.status_mut() = http::StatusCode::BAD_GATEWAY;
                response
            })
        }
    })
    .await
}

struct Parts {
    stage: Stage,
    client: Client<HttpConnector, Full<Bytes>>,
    authority: Authority,
    policy: Pipeline,
    audit: Audit,
    claims: mpsc::UnboundedSender<Wanted>,
}

/// The ids that one call claims, and whom to tell.
type Wanted = (TaskClaim, ContextClaim, oneshot::Sender<()>);

impl Parts {
    async fn pass(&self, request: Request<Incoming>) -> anyhow::Result<Response<Full<Bytes>>> {
        let now = Clock::System.now();
        let (mut parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let slot = if self.stage >= Stage::Record { Some(self.audit.open(&opening(now))?) } else { None };
        let body = self.inspected(body, Surface::Inbound)?.0;
        let mut uri = std::mem::take(&mut parts.uri).into_parts();
        uri.scheme = Some(Scheme::HTTP);
        uri.authority = Some(self.authority.clone());
        parts.uri = Uri::from_parts(uri)?;
        parts.headers.remove(header::CONTENT_LENGTH);
        let response = self.client.request(Request::from_parts(parts, Full::new(body))).await?;
        let (mut parts, body) = response.into_parts();
        parts.headers.remove(header::CONTENT_LENGTH);
        let (body, tree) = self.inspected(body.collect().await?.to_bytes(), Surface::Outbound)?;
        let ids = tree.as_ref().and_then(ids);
        if self.stage >= Stage::Claims {
            let (task, context) = ids.context("an answer without ids")?;
            self.claim(task, context, now).await?;
        }
        if let Some(slot) = slot {
            slot.close(&closing(ids, now, body.len())).await?;
        }
        Ok(Response::from_parts(parts, Full::new(body)))
    }

    /// The body as it goes on, and its tree where there is one.
    fn inspected(&self, body: Bytes, surface: Surface) -> anyhow::Result<(Bytes, Option<Json>)> {
        if self.stage < Stage::Json {
            return Ok((body, None));
        }
        let mut tree = json::read(&body, &json::Limits::default())?;
        if self.stage >= Stage::Guard {
            let verdict = guard::inspect_all(&[&self.policy], surface, &mut tree, &|_| false);
            anyhow::ensure!(verdict.findings.is_empty(), "a finding in harmless text");
        }
        Ok((json::write(&tree).into(), Some(tree)))
    }

    async fn claim(&self, task: &str, context: &str, created: i64) -> anyhow::Result<()> {
        let tenant = TenantId::new(TENANT).context("the tenant's name is legal")?;
        let (card_id, principal_id) = ("card-1".to_owned(), "prn-1".to_owned());
        let context_claim = ContextClaim {
            tenant: tenant.clone(),
            card_id: card_id.clone(),
            context_id: context.to_owned(),
            principal_id: principal_id.clone(),
            created,
        };
        let task_claim =
            TaskClaim { tenant, card_id, task_id: task.to_owned(), principal_id, context_id: None, created };
        let (tell, told) = oneshot::channel();
        self.claims.send((task_claim, context_claim, tell)).ok().context("claims have ended")?;
        told.await.context("a claim was not taken")
    }
}

/// Claims what waits, up to 64 calls in a transaction.
async fn claim_all(store: Store, mut wanted: mpsc::UnboundedReceiver<Wanted>) -> anyhow::Result<()> {
    let mut group = Vec::new();
    while wanted.recv_many(&mut group, 64).await > 0 {
        let (mut tasks, mut contexts, mut tell) = (Vec::new(), Vec::new(), Vec::new());
        for (task, context, teller) in group.drain(..) {
            tasks.push(task);
            contexts.push(context);
            tell.push(teller);
        }
        store.claim_together(&tasks, &contexts).await?;
        for teller in tell {
            // The call may have ended.
            let _ = teller.send(());
        }
    }
    Ok(())
}

/// The answer's task and context, also inside a JSON-RPC envelope.
fn ids(tree: &Json) -> Option<(&str, &str)> {
    let Json::Object(answer) = tree else { return None };
    let answer = match answer.get("result") {
        Some(Json::Object(result)) => result,
        _ => answer,
    };
    let Some(Json::Object(task)) = answer.get("task") else { return None };
    Some((task.str("id")?, task.str("contextId")?))
}

/// As much as the gateway records of such a call.
fn opening(now: i64) -> Opening {
    Opening {
        at_us: now,
        tenant: TENANT.to_owned(),
        card: Some("rest".to_owned()),
        principal: Some("prn-01KAAAAAAAAAAAAAAAAAAAAAAA".to_owned()),
        key_id: Some("key-01KAAAAAAAAAAAAAAAAAAAAAAA".to_owned()),
        peer: "127.0.0.1".to_owned(),
        correlation_id: "01KAAAAAAAAAAAAAAAAAAAAAAA".to_owned(),
        method: "POST".to_owned(),
        entrance: "call".to_owned(),
        revision: Some(1),
        ..Opening::default()
    }
}

fn closing(ids: Option<(&str, &str)>, now: i64, bytes: usize) -> Closing {
    Closing {
        at_us: now,
        outcome: Outcome::Ok,
        operation: Some("SendMessage".to_owned()),
        dialect: Some("R1".to_owned()),
        status: Some(200),
        task_id: ids.map(|(task, _)| task.to_owned()),
        context_id: ids.map(|(_, context)| context.to_owned()),
        bytes_in: 1024,
        bytes_out: bytes as u64,
        ..Closing::default()
    }
}
