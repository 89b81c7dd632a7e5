//! `POST …/cards/{name}/try`: one message to the agent of a card, as the gateway would send it, also before the card is
//! published. What comes back is told as it comes, in server-sent events.
//!
//! Takes a text. Sends in the agent's own dialect, with the card's credential, under the egress rules, with the card's
//! policies at work on the message, on the answer and on each event by itself. Unlike on calls, text that is spread over
//! several events is not joined, an agent's fault is told as it is, and guards outside are not asked. Events: `sent`,
//! `event` and `answer` (v1.0 shapes), `fault`, `blocked`, `failed`, at last `done`.
//! No principal calls here, so nothing is claimed for one; one record of the audit (`entrance` is `try`) names the
//! administrator who tried, which card, and how it ended.

use super::Shared;
use super::access::Who;
use super::body::Document;
use super::error::{ApiError, FieldProblem};
use super::extract::{Path, State};
use super::resource::{new_id, tenant_id};
use crate::audit::{Closing, Opening, Outcome, Slot};
use crate::clock::Clock;
use crate::registry::{Card, Direction, Interface, Snapshot};
use crate::upstream::credential::{self, CredentialError};
use crate::upstream::events::{Events, Happened};
use crate::upstream::receive;
use crate::upstream::request::{self, Stamps};
use crate::upstream::{Repeat, Upstream};
use a2a::dialect::{Minted, Received, SubscribeVerb, decode_answer, encode_call};
use a2a::{Call, Dialect, Fault, OperationKind, Version};
use axum::extract::{ConnectInfo, Extension};
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use bytes::Bytes;
use futures_util::{Stream, stream};
use guard::{Outcome as Judged, Surface};
use http::Request;
use http_body_util::{BodyExt as _, Limited};
use json::Json;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store::CardState;
use tokio::time::{Instant, timeout, timeout_at};
use utoipa::ToSchema;

/// What to say to the agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrialText {
    /// The message's text.
    text: String,
}

/// One thing that happened.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TrialEvent {
    /// `sent`, `event`, `answer`, `fault`, `blocked`, `failed`, `done`: the event's name.
    event: String,
}

/// A try under way.
struct Trial {
    card: Arc<Card>,
    queue: VecDeque<Event>,
    events: Option<Events>,
    began: Instant,
    ended: bool,
    record: TrialRecord,
}

/// The record of a try while it is under way.
struct TrialRecord {
    clock: Clock,
    slot: Option<Slot>,
    closing: Closing,
    outcome: Option<Outcome>,
}

impl TrialRecord {
    /// Takes the slot; without one nothing is tried.
    async fn open(admin: &Shared, opening: &Opening) -> Result<Self, ApiError> {
        let slot = admin.audit.open(opening).map_err(|_full| ApiError::unrecorded())?;
        slot.opened().await.map_err(|_lost| ApiError::unrecorded())?;
        let clock = admin.clock.clone();
        Ok(Self { clock, slot: Some(slot), closing: Closing::default(), outcome: None })
    }

    /// The first of these is how it ended.
    fn ended_by(&mut self, outcome: Outcome) {
        self.outcome.get_or_insert(outcome);
    }

    fn close(&mut self) {
        let Some(slot) = self.slot.take() else { return };
        self.closing.at_us = self.clock.now();
        self.closing.outcome = self.outcome.unwrap_or(Outcome::Ok);
        slot.close_detached(&self.closing);
    }
}

impl Drop for TrialRecord {
    /// Whoever tried has left before the end.
    fn drop(&mut self) {
        self.ended_by(Outcome::CallerGone);
        self.close();
    }
}

/// Sends one message to the card's agent and tells what comes back, as server-sent events.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/cards/{name}/try", tag = "cards",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = TrialText,
    responses((status = 200, description = "a stream of events", body = TrialEvent, content_type = "text/event-stream"),
        (status = 404, body = ApiError), (status = 422, body = ApiError)))]
pub(super) async fn run(
    State(admin): State<Shared>,
    who: Who,
    Extension(ConnectInfo(peer)): Extension<ConnectInfo<SocketAddr>>,
    Path((tenant, name)): Path<(String, String)>,
    Document { typed, .. }: Document<TrialText>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let card = compiled(&admin, &tenant, &name).await?;
    tracing::info!(admin = who.name, tenant, card = name, "an agent is tried");
    let now = admin.clock.now();
    let id = new_id("try-", now)?;
    let opening = Opening {
        at_us: now,
        tenant: tenant.clone(),
        card: Some(name),
        admin: Some(who.name),
        peer: peer.ip().to_string(),
        correlation_id: id.clone(),
        method: String::from("POST"),
        entrance: String::from("try"),
        ..Opening::default()
    };
    let record = TrialRecord::open(&admin, &opening).await?;
    let mut trial = Trial { card, queue: VecDeque::new(), events: None, began: Instant::now(), ended: false, record };
    if let Err(error) = trial.begin(&admin, &tenant, (id, &typed.text)).await {
        trial.record.ended_by(Outcome::Refused);
        return Err(error);
    }
    let events = stream::unfold(trial, |mut trial| async move {
        let event = trial.next().await?;
        Some((Ok(event), trial))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// The card as it would be served, whatever state it is in.
async fn compiled(admin: &Shared, tenant: &str, name: &str) -> Result<Arc<Card>, ApiError> {
    let rows = admin.store.load_tenant(&tenant_id(tenant)?).await?;
    let mut rows = rows.ok_or_else(|| ApiError::not_found("this tenant"))?;
    rows.cards.retain(|card| card.name == name);
    let row = rows.cards.first_mut().ok_or_else(|| ApiError::not_found("this card"))?;
    row.state = CardState::Published;
    let world = admin.compiler.tenant(&rows, &Snapshot::default()).world;
    let world = world.ok_or_else(|| ApiError::refused("tenant_suspended", "a suspended tenant calls nobody"))?;
    world.cards.get(name).cloned().ok_or_else(|| {
        let problems = world.bad_rows.iter().filter(|row| row.kind == "card").flat_map(|row| &row.problems);
        let fields = problems.map(|one| FieldProblem { path: one.path.clone(), problem: one.problem.clone() });
        ApiError::refused("unusable", "the card can't be used as it is").with_fields(fields.collect())
    })
}

impl Trial {
    /// Sends the message and waits for the head of the answer.
    async fn begin(&mut self, admin: &Shared, tenant: &str, (id, text): (String, &str)) -> Result<(), ApiError> {
        let card = Arc::clone(&self.card);
        let interface = card.upstream.interfaces.first();
        let interface = interface.ok_or_else(|| ApiError::refused("unusable", "the card names no address"))?;
        let streams = card.streaming || interface.dialect == Dialect::G1;
        let kind = if streams { OperationKind::SendStreamingMessage } else { OperationKind::SendMessage };
        self.record.closing.operation = Some(kind.name().to_owned());
        self.record.closing.dialect = Some(interface.dialect.name().to_owned());
        let (there, _) = surfaces(card.direction);
        let mut params = message(&id, text);
        if let Some(rule) = self.stopped(there, &mut params) {
            self.blocked(there, &rule);
            return Ok(());
        }
        let params = params.as_object().cloned().unwrap_or_default();
        let call = Call { kind, params, origin: Version::V10 };
        let minted = Minted { rpc_id: &id, message_id: &id };
        let outgoing = encode_call(interface.dialect, &call, &interface.address, minted, SubscribeVerb::default());
        let Ok(outgoing) = outgoing else {
            return Err(ApiError::refused("unusable", "the agent's dialect has no way to say this"));
        };
        let stamps = Stamps {
            headers: stamps(admin, tenant, &id),
            extensions: Vec::new(),
            version: interface.dialect.version(),
        };
        let carried = credential::without_caller(&card.upstream, &admin.upstream.tokens).await;
        let carried = carried.map_err(|error| match error {
            CredentialError::NothingToForward => {
                ApiError::refused("unusable", "the card's credential is made of its caller, and a try has none")
            }
            CredentialError::NoSigner
            | CredentialError::Token(_)
            | CredentialError::InTask(_)
            | CredentialError::Unwritable => ApiError::refused("unusable", "the card's credential can't be had"),
        })?;
        let request = request::build(outgoing, &stamps, carried.as_ref());
        let request =
            request.ok_or_else(|| ApiError::refused("unusable", "the address or credential can't be sent"))?;
        self.tell(
            "sent",
            &json!({"url": interface.address.base, "dialect": interface.dialect.name(), "operation": kind.name()}),
        );
        self.send(&admin.upstream, request, interface, (kind, id)).await;
        Ok(())
    }

    async fn send(
        &mut self,
        upstream: &Upstream,
        request: Request<Bytes>,
        interface: &Interface,
        (kind, id): (OperationKind, String),
    ) {
        let Ok(client) = upstream.client(&self.card, interface.dialect) else {
            return self.fail("the certificate of the card's credential can't be used");
        };
        let response = match upstream.send(request, LONGEST, Repeat::Unsent, &client).await {
            Ok(response) => response,
            Err(error) => return self.fail(&sent_problem(&error)),
        };
        let (parts, body) = response.into_parts();
        let limits = json::Limits::default();
        let grpc = interface.dialect == Dialect::G1;
        if grpc || kind.is_streaming() && parts.status.is_success() && receive::is_event_stream(&parts.headers) {
            let events = Events::new(body, interface, id, EVENT_BYTES, limits);
            self.events = Some(if grpc { events.with_head(&parts.headers) } else { events });
            return;
        }
        let whole = timeout(LONGEST, Limited::new(body, ANSWER_BYTES).collect()).await;
        let Ok(Ok(whole)) = whole else {
            return self.fail("the answer did not arrive whole in a minute, or is larger than 4 MiB");
        };
        let bytes = whole.to_bytes();
        let received = Received {
            status: parts.status.as_u16(),
            content_type: receive::content_type(&parts.headers),
            body: &bytes,
            r3_bytes: interface.address.r3_bytes,
        };
        match decode_answer(interface.dialect, kind, &id, received, &limits) {
            Ok(Ok(answer)) => self.hear("answer", answer.body),
            Ok(Err(fault)) => self.fault(&receive::tidy(fault, &interface.address.base)),
            Err(bad) => self.fail(&format!("the agent answered {} and no A2A answer: {bad}", parts.status.as_u16())),
        }
        self.finish();
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            let Some(events) = self.events.as_mut() else {
                self.finish();
                continue;
            };
            match timeout_at(self.began + LONGEST, events.next()).await {
                Err(_elapsed) => self.fail("the agent was still at it after a minute; a try does not wait longer"),
                Ok(Err(error)) => self.fail(&error.to_string()),
                Ok(Ok(Happened::Alive)) => {}
                Ok(Ok(Happened::Ended)) => self.finish(),
                Ok(Ok(Happened::Event(event, _))) => self.hear("event", event.body),
                Ok(Ok(Happened::Fault(fault, _))) => {
                    self.fault(&fault);
                    self.finish();
                }
            }
        }
    }

    /// Something the agent said, if the card's policies let it through.
    fn hear(&mut self, name: &str, mut body: Json) {
        let (_, back) = surfaces(self.card.direction);
        if let Some(rule) = self.stopped(back, &mut body) {
            return self.blocked(back, &rule);
        }
        let text = String::from_utf8(json::write(&body)).unwrap_or_default();
        self.queue.push_back(Event::default().event(name).data(text));
    }

    /// The rule that stops this, if one does; redactions are made in place.
    fn stopped(&self, surface: Surface, body: &mut Json) -> Option<String> {
        self.card.policies.iter().filter(|policy| policy.guards(surface)).find_map(|policy| {
            match policy.inspect(surface, body, &|_| false).outcome {
                Judged::Allowed | Judged::Redacted => None,
                Judged::Blocked { rule } => Some(rule),
            }
        })
    }

    fn blocked(&mut self, surface: Surface, rule: &str) {
        self.record.ended_by(Outcome::Blocked);
        self.tell("blocked", &json!({"surface": surface.name(), "rule": rule}));
        self.finish();
    }

    fn fault(&mut self, fault: &Fault) {
        self.record.ended_by(Outcome::AgentFault);
        self.tell("fault", &json!({"message": fault.message, "reason": fault.kind.reason()}));
    }

    fn fail(&mut self, message: &str) {
        self.record.ended_by(Outcome::UpstreamError);
        self.tell("failed", &json!({"message": message}));
        self.finish();
    }

    fn finish(&mut self) {
        if !self.ended {
            self.ended = true;
            self.events = None;
            let took = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.tell("done", &json!({"took_us": took}));
            self.record.close();
        }
    }

    fn tell(&mut self, name: &str, data: &serde_json::Value) {
        self.queue.push_back(Event::default().event(name).data(data.to_string()));
    }
}

/// The surface of what goes to the agent, and of what comes back (D13a).
const fn surfaces(direction: Direction) -> (Surface, Surface) {
    match direction {
        Direction::Inbound => (Surface::Inbound, Surface::Outbound),
        Direction::Outbound => (Surface::Outbound, Surface::Inbound),
    }
}

fn message(id: &str, text: &str) -> Json {
    let parts = Json::from(vec![Json::from([("text", text)])]);
    let message = Json::from([("messageId", Json::from(id)), ("role", Json::from("ROLE_USER")), ("parts", parts)]);
    Json::from([("message", message)])
}

fn stamps(admin: &Shared, tenant: &str, id: &str) -> Vec<(http::HeaderName, http::HeaderValue)> {
    let value = |text: &str| http::HeaderValue::from_str(text).ok();
    let tenant = value(tenant).map(|value| (admin.tenant_header.clone(), value));
    let correlation = value(id).map(|value| (crate::pipeline::head::CORRELATION_ID, value));
    tenant.into_iter().chain(correlation).collect()
}

fn sent_problem(error: &egress::EgressError) -> String {
    match error {
        egress::EgressError::Connect(egress::ConnectError::Denied(denied)) | egress::EgressError::Denied(denied) => {
            format!("the gateway may not connect there: {denied}")
        }
        egress::EgressError::Connect(error) => format!("the agent can't be reached: {error}"),
        egress::EgressError::Sent(_) => String::from("the agent closed the connection before it answered"),
        egress::EgressError::Timeout => String::from("the agent did not answer within a minute"),
    }
}

const LONGEST: Duration = Duration::from_secs(60);
const EVENT_BYTES: usize = 1 << 20;
const ANSWER_BYTES: usize = 4 << 20;
