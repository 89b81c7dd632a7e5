//! The second half of an exchange: the agent is asked, its reply judged, recorded and written.
//!
//! *Takes* what `run` has settled. *Gives* the response. A whole answer leaves when its record is on disk; a stream
//! begins when the opening is, and its relay closes the record. *Never* sends a byte that was not guarded.

use crate::app::App;
use crate::audit::Outcome;
use crate::config::PublicUrl;
use crate::discovery::publish::{self, PublishError};
use crate::pipeline::audit::Trail;
use crate::pipeline::body::Body;
use crate::pipeline::event::EventPath;
use crate::pipeline::forward::{self, ForwardError, Reply, Way};
use crate::pipeline::guard::{Findings, GuardError, Guards};
use crate::pipeline::head::Head;
use crate::pipeline::limit::Slot;
use crate::pipeline::long::{self, Turns};
use crate::pipeline::owner::Ownership;
use crate::pipeline::owner::list::{self, Step};
use crate::pipeline::refusal::{Manner, rejected_answer};
use crate::pipeline::stopwatch::{FirstByte, Stage};
use crate::pipeline::{Done, Exchange, Permit, encode};
use crate::registry::CardMembers;
use crate::registry::compile::Compiler;
use crate::reject::Reject;
use crate::upstream::credential::in_task;
use crate::upstream::events::Events;
use crate::upstream::last_state::LastState;
use crate::upstream::relay::{Relay, Timing, WAITING};
use a2a::dialect::{BadAnswer, Wire};
use a2a::{Answer, Call, Dialect, Event, Fault, FaultKind, OperationKind, Version};
use http::Response;
use http::header::{self, HeaderValue};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use json::Json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Asks the agent, page by page for a list.
pub(super) async fn ask(
    call: &Call,
    ownership: &Ownership,
    slot: &mut Slot,
    way: Way<'_>,
    trail: &mut Trail,
) -> Result<Reply, Reject> {
    if call.kind == OperationKind::GetExtendedCard && !way.permit.card().extended_card {
        let fault = Fault::of(FaultKind::ExtendedCardNotConfigured);
        return Err(ForwardError::Unsupported(fault).into());
    }
    let began = std::time::Instant::now();
    let first = FirstByte::awaited(began);
    let way = Way { first_byte: Some(&first), ..way };
    let reply = if call.kind == OperationKind::ListTasks {
        Box::pin(walk(call, ownership, slot, way)).await
    } else {
        // A task that waits for authorisation gets it with the message that goes on with it.
        let given = in_task::carried(call, slot, way).await.map_err(ForwardError::from)?;
        trail.authorised(given.as_ref());
        forward::send(call, slot, Way { in_task: given.as_ref(), ..way }).await.map_err(Reject::from)
    };
    trail.waited(began.elapsed(), &first);
    reply
}

/// A list: every page of the agent's, cut down to what is the caller's.
async fn walk(call: &Call, ownership: &Ownership, slot: &mut Slot, way: Way<'_>) -> Result<Reply, Reject> {
    let (mut walk, mut step) = list::begin(call, ownership).await?;
    let mut bytes = 0_usize;
    loop {
        let asked = match step {
            Step::Done(answer) => return Ok(Reply::Answer(answer, bytes)),
            Step::Ask(asked) => asked,
        };
        match forward::send(&asked, slot, way).await? {
            Reply::Answer(page, size) => {
                bytes = bytes.saturating_add(size);
                step = walk.take(page, call, ownership).await?;
            }
            other @ (Reply::Fault(..) | Reply::Events(_)) => return Ok(other),
        }
    }
}

/// Claims the ids of a reply and inspects it. Events go through [`EventPath`] one by one.
pub(super) async fn heard(
    reply: Reply,
    ownership: &Ownership,
    guards: &Guards,
    findings: &mut Findings,
) -> Result<Reply, Reject> {
    Ok(match reply {
        Reply::Answer(answer, size) => {
            ownership.answered(&answer).await?;
            Reply::Answer(guards.answer(answer, size, findings).await?, size)
        }
        Reply::Fault(fault, size) => Reply::Fault(guards.fault(fault, size, findings).await?, size),
        Reply::Events(events) => Box::pin(early(*events, guards, findings)).await?,
    })
}

/// An agent that answers a stream request with an error at once gets its error told as one (F06, F17): the head of the
/// answer waits a moment for that, and no longer.
async fn early(mut events: Events, guards: &Guards, findings: &mut Findings) -> Result<Reply, Reject> {
    const MOMENT: Duration = Duration::from_millis(100);
    Ok(match events.early_fault(MOMENT).await {
        Some((fault, size)) => Reply::Fault(guards.fault(fault, size, findings).await?, size),
        None => Reply::Events(Box::new(events)),
    })
}

/// An agent's extended card as the gateway publishes it: with the gateway's addresses in place of the agent's, under
/// the public URL that the caller used, and the tenant's signatures over what is left after the guard (protocol 6.3).
/// Callers of 1.0 get the members of 1.0 alone. What the card guard flags is not signed, and nobody can have reviewed
/// it: it is not told either (T-CARD-1).
pub(super) fn published(
    reply: Reply,
    (kind, version): (OperationKind, Version),
    (permit, compiler): (&Permit, &Compiler),
    public_url: Option<(usize, &PublicUrl)>,
) -> Result<Reply, Reject> {
    match reply {
        Reply::Answer(mut answer, size) if kind == OperationKind::GetExtendedCard => {
            let bad =
                || Reject::from(ForwardError::BadAnswer(BadAnswer::Shape { member: "card", problem: "is no card" }));
            if let Some(rule) = compiler.flagged_by(&json::write(&answer.body)) {
                let policy = "card guard".to_owned();
                return Err(GuardError::Blocked { surface: guard::Surface::Card, policy, rule }.into());
            }
            let document = answer.body.as_object().ok_or_else(bad)?;
            let public_url = public_url.ok_or(Reject::Internal)?;
            let members = match version {
                Version::V10 => CardMembers::V10,
                Version::V03 => CardMembers::Union,
            };
            let signed = publish::signed(document, permit.tenant(), (&permit.card().name, members), public_url);
            answer.body = Json::from(signed.map_err(|error| match error {
                PublishError::Document(_) => bad(),
                PublishError::NoSigner | PublishError::Sign(_) => Reject::Internal,
            })?);
            Ok(Reply::Answer(answer, size))
        }
        other @ (Reply::Answer(..) | Reply::Events(_) | Reply::Fault(..)) => Ok(other),
    }
}

/// Writes what may be heard.
pub(super) async fn answer(exchange: &Exchange<'_>, done: Done, manner: Manner, mut trail: Trail) -> Response<Body> {
    let (head, voice) = (exchange.head, &manner.voice);
    trail.enter(Stage::End);
    let Done { reply, call, permit, ownership, guards, slot } = done;
    let (wire, outcome) = match reply {
        Reply::Events(events) => {
            let path = EventPath::new(ownership, guards, voice.clone());
            return Box::pin(stream(exchange, *events, path, Streaming { permit, call, slot, manner, trail })).await;
        }
        Reply::Answer(answer, size) => {
            trail.answered(&answer);
            (long::work(size, || whole(&manner, call, answer)), Outcome::Ok)
        }
        Reply::Fault(fault, _) => {
            trail.faulted(fault.kind);
            (voice.fault(&fault, &manner.refusals.own_domain), Outcome::AgentFault)
        }
    };
    trail.sent(wire.body.len());
    if trail.close(outcome, wire.status).await.is_err() {
        return Box::pin(refuse(head, &Reject::Audit, &manner, &mut trail)).await;
    }
    let mut response = encode::whole(wire, head, slot);
    if call == OperationKind::GetExtendedCard {
        // It is for this caller alone (T-CARD-5), whatever stands between.
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
        headers.insert(header::VARY, HeaderValue::from_static("Authorization, X-API-Key"));
    }
    response
}

/// A whole answer; to a caller who asked for a stream it is a stream of one event.
fn whole(manner: &Manner, kind: OperationKind, answer: Answer) -> Wire {
    if !manner.voice.streaming {
        return manner.answer(kind, answer);
    }
    let event = Event { body: answer.body, origin: answer.origin };
    let unfinished = event.state().is_some_and(|state| !state.rests());
    let (mut body, mut broken) = (manner.voice.event(event), None);
    if unfinished {
        // The agent said no more than that it works: the stream must not look finished (F19).
        let fault =
            Fault::new(FaultKind::UpstreamUnavailable, "the agent answered without a stream; ask for the task later");
        body.extend(manner.voice.fault_event(&fault, &manner.refusals.own_domain));
        broken = Some(fault);
    }
    let trailers = manner.voice.trailers(broken.as_ref(), &manner.refusals.own_domain);
    Wire { status: 200, content_type: manner.voice.stream_type(), body, trailers }
}

/// What a stream takes with it.
struct Streaming {
    permit: Permit,
    call: OperationKind,
    slot: Slot,
    manner: Manner,
    trail: Trail,
}

async fn stream(exchange: &Exchange<'_>, events: Events, path: EventPath, with: Streaming) -> Response<Body> {
    let Exchange { app, head, caller, .. } = *exchange;
    let Streaming { permit, call, slot, manner, mut trail } = with;
    if trail.opened().await.is_err() {
        return Box::pin(refuse(head, &Reject::Audit, &manner, &mut trail)).await;
    }
    trail.enter(Stage::Rest);
    let (out, frames) = mpsc::channel(WAITING);
    let content_type = manner.voice.stream_type();
    let limits = &app.settings.limits.upstream;
    let card = permit.card().limits;
    let relay = Relay {
        events,
        path,
        trail,
        slot,
        out,
        withdrawal: permit.withdrawal(call, &app.registry, &app.clock),
        stopping: app.tasks.stopping(),
        half_closed: caller.half_closed.clone(),
        timing: Timing {
            idle: card.stream_idle.unwrap_or(limits.stream_idle),
            total: head.within(card.stream_total.unwrap_or(limits.stream_total)),
        },
        refusals: manner.refusals,
        last_state: LastState { app: Arc::clone(app), permit, head: head.without_credentials() },
    };
    app.tasks.spawn("relay", relay.run());
    encode::stream(frames, content_type, head)
}

/// Writes a refusal, or the legal task that stands for it.
pub(super) async fn refuse(head: &Head, reject: &Reject, manner: &Manner, trail: &mut Trail) -> Response<Body> {
    if let Some((kind, answer)) = rejected_answer(reject, manner) {
        trail.answered(&answer);
        let wire = whole(manner, kind, answer);
        trail.refuse(reject, wire.status).await;
        return encode::whole(wire, head, ());
    }
    let mut fault = manner.refusals.fault(reject);
    if let (Dialect::G1, Some(wait)) = (manner.voice.dialect, reject.retry_after()) {
        // What `Retry-After` is to HTTP.
        let delay = format!("{}s", encode::whole_seconds(wait));
        let kind = "type.googleapis.com/google.rpc.RetryInfo";
        fault.data = Some(vec![Json::from([("@type", kind), ("retryDelay", &delay)])].into());
    }
    let wire = manner.refusal(reject, &fault);
    trail.refuse(reject, wire.status).await;
    encode::refusal(wire, reject, &manner.realm, head)
}

/// Reads on for a while after a refusal, so that a caller who is still sending can read why it was refused before the
/// connection is closed (F59), or can use it again: hyper closes it unannounced when a body was left unread. A caller
/// that waits for `100 Continue` is not sending, and must not be asked to.
pub(super) fn linger(app: &Arc<App>, head: &Head, mut body: Incoming) {
    const LONGEST: Duration = Duration::from_secs(2);
    const MOST: usize = 32 * 1024 * 1024;
    if body.is_end_stream() || head.expects_continue {
        return;
    }
    app.tasks.spawn("unread body", async move {
        let (mut left, mut turns) = (MOST, Turns::default());
        let discard = async {
            while let Some(Ok(frame)) = body.frame().await {
                let read = frame.data_ref().map_or(0, bytes::Bytes::len);
                let Some(rest) = left.checked_sub(read) else { return };
                left = rest;
                turns.after(read).await;
            }
        };
        let _ = tokio::time::timeout(LONGEST, discard).await;
    });
}
