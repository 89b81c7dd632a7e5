//! `POST …/cards/{name}/try`: one message to the agent of a card, as the gateway would send it, also before the card is
//! published. What comes back is told as it comes, in server-sent events.
//!
//! Takes a text. Sends in the agent's own dialect, with the card's credential, under the egress rules, with the card's
//! policies at work on the message, on the answer and on each event by itself. Unlike on calls, text that is spread over
//! several events is not joined, an agent's fault is told as it is, and guards outside are not asked. Events: `sent`,
//! `event` and `answer` (v1.0 shapes), `fault`, `blocked`, `failed`, at last `done`.
//! No principal calls here, so nothing is claimed for one and no record of a call is made; the log names who tried.

use super::Shared;
use super::access::Who;
use super::body::Document;
use super::error::{ApiError, FieldProblem};
use super::extract::Path;
use super::resource::{new_id, tenant_id};
use crate::registry::{Card, Direction, Interface, Snapshot};
use crate::upstream::credential::{self, CredentialError};
use crate::upstream::events::{Events, Happened};
use crate::upstream::receive;
use crate::upstream::request::{self, Stamps};
use crate::upstream::{Repeat, Upstream};
use a2a::dialect::{Minted, Received, SubscribeVerb, decode_answer, encode_call};
use a2a::{Call, Dialect, Fault, OperationKind, Version};
use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use bytes::Bytes;
use futures_util::{Stream, stream};
use guard::{Outcome, Surface};
use http::Request;
use http_body_util::{BodyExt as _, Limited};
use json::Json;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::VecDeque;
use std::convert::Infallible;
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
}

/// Sends one message to the card's agent and tells what comes back, as server-sent events.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/cards/{name}/try", tag = "cards",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = TrialText,
    responses((status = 200, description = "a stream of events", body = TrialEvent, content_type = "text/event-stream"),
        (status = 404, body = ApiError), (status = 422, body = ApiError)))]
pub(super) async fn run(
    State(admin): State<Shared>,
    who: Who,
    Path((tenant, name)): Path<(String, String)>,
    Document { typed, .. }: Document<TrialText>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let card = compiled(&admin, &tenant, &name).await?;
    tracing::info!(admin = who.name, tenant, card = name, "an agent is tried");
    let mut trial = Trial { card, queue: VecDeque::new(), events: None, began: Instant::now(), ended: false };
    trial.begin(&admin, &tenant, &typed.text).await?;
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
    async fn begin(&mut self, admin: &Shared, tenant: &str, text: &str) -> Result<(), ApiError> {
        let card = Arc::clone(&self.card);
        let interface = card.upstream.interfaces.first();
        let interface = interface.ok_or_else(|| ApiError::refused("unusable", "the card names no address"))?;
        let id = new_id("try-", admin.clock.now())?;
        let streams = card.streaming || interface.dialect == Dialect::G1;
        let kind = if streams { OperationKind::SendStreamingMessage } else { OperationKind::SendMessage };
        let (there, _) = surfaces(card.direction);
        let mut params = message(&id, text);
        if let Some(rule) = self.stopped(there, &mut params) {
            self.tell("blocked", &json!({"surface": there.name(), "rule": rule}));
            self.finish();
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
            CredentialError::NoSigner | CredentialError::Token(_) | CredentialError::Unwritable => {
                ApiError::refused("unusable", "the card's credential can't be had")
            }
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
            self.tell("blocked", &json!({"surface": back.name(), "rule": rule}));
            return self.finish();
        }
        let text = String::from_utf8(json::write(&body)).unwrap_or_default();
        self.queue.push_back(Event::default().event(name).data(text));
    }

    /// The rule that stops this, if one does; redactions are made in place.
    fn stopped(&self, surface: Surface, body: &mut Json) -> Option<String> {
        self.card.policies.iter().filter(|policy| policy.guards(surface)).find_map(|policy| {
            match policy.inspect(surface, body, &|_| false).outcome {
                Outcome::Allowed | Outcome::Redacted => None,
                Outcome::Blocked { rule } => Some(rule),
            }
        })
    }

    fn fault(&mut self, fault: &Fault) {
        self.tell("fault", &json!({"message": fault.message, "reason": fault.kind.reason()}));
    }

    fn fail(&mut self, message: &str) {
        self.tell("failed", &json!({"message": message}));
        self.finish();
    }

    fn finish(&mut self) {
        if !self.ended {
            self.ended = true;
            self.events = None;
            let took = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.tell("done", &json!({"took_us": took}));
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
