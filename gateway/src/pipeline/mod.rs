//! The path of a request, top to bottom. Every call of an agent goes through [`handle`]; no stage calls another.
//!
//! | stage | gives | refuses with |
//! |---|---|---|
//! | [`route`] | names and target, by syntax | ambiguous heads and paths |
//! | [`authenticate`] | the principal | no, bad or two credentials |
//! | [`early`] | the card that a gRPC message names | messages that cannot be read |
//! | [`authorize`] | the permit | hidden cards |
//! | [`delegation`] | the permit under the chain that the call came with | chains that do not hold |
//! | [`audit`] | the slot, and at the end the record | a spool that is full |
//! | [`limit`] | a place in all counts | rates, calls, bytes |
//! | [`decode`] | the call | bodies, versions, operations |
//! | [`authorize::condition`] | what the tenant's conditions say to it | what they deny |
//! | [`owner`] | leave to name tasks; later their claim | foreign tasks and contexts |
//! | [`guard`] | what may be said and heard | blocks |
//! | [`forward`] | the agent's reply | agents that cannot be reached or understood |
//! | [`encode`] | the response | nothing |

pub mod audit;
pub mod authenticate;
pub mod authorize;
pub mod body;
pub mod decode;
pub mod delegation;
pub mod early;
pub mod encode;
pub mod event;
pub mod external;
pub mod forward;
pub mod guard;
pub mod head;
pub mod legacy;
pub mod limit;
pub(crate) mod long;
pub mod owner;
mod parts;
pub mod refusal;
mod respond;
pub mod route;
pub mod said;
pub mod stopwatch;

pub use body::{Body, empty, full};
pub use parts::Parts;

use crate::app::App;
use crate::clock::Micros;
use crate::config::PublicUrl;
use crate::listener::{Caller, forwarded};
use crate::registry::Snapshot;
use crate::reject::Reject;
use audit::Trail;
use authorize::Permit;
use forward::Reply;
use guard::{Findings, Guards};
use head::Head;
use http::{Request, Response};
use hyper::body::Incoming;
use legacy::Entrance;
use owner::Ownership;
use refusal::Manner;
use route::RouteError;
use said::{Said, SaidError};
use std::sync::Arc;
use stopwatch::Stage;

/// What one request is judged by: the time, the world and the head, all taken once.
#[derive(Debug)]
struct Exchange<'a> {
    app: &'a Arc<App>,
    world: &'a Snapshot,
    head: &'a Head,
    caller: &'a Caller,
    public_url: Option<(usize, &'a PublicUrl)>,
    /// What it says about its chain and its run, unproven.
    presented: delegation::Presented,
    said: Result<Said, SaidError>,
    now: Micros,
}

/// A reply that may be heard, and what rides with it to the last byte.
struct Done {
    reply: Reply,
    call: a2a::OperationKind,
    permit: Permit,
    ownership: Ownership,
    guards: Guards,
    slot: limit::Slot,
}

/// Answers one request below `/a2a/{tenant}/{card}`.
pub async fn handle(app: Arc<App>, caller: Caller, request: Request<Incoming>) -> Response<Body> {
    let (parts, mut body) = request.into_parts();
    let (now, world) = (app.clock.now(), app.registry.snapshot());
    let head = Head::read(&parts, now);
    // How to answer, also when refusing; every stage may sharpen it.
    let mut manner = Manner::unknown(&head, &app.calls.own_domain);
    // Becomes one record once a principal is proven; refusals before that are counted.
    let mut trail = Trail::new(&app, caller.source, &head, now);
    let public_url = forwarded::public_url(caller.peer, &parts, &app.settings.public);
    let presented = app.calls.delegation.presented(&parts.headers);
    let said = Said::read(&parts.headers, &app.settings.headers.prefix);
    let exchange =
        Exchange { app: &app, world: &world, head: &head, caller: &caller, public_url, presented, said, now };
    let mut response = match run(&exchange, &mut body, &mut manner, &mut trail).await {
        Ok(done) => respond::answer(&exchange, done, manner, trail).await,
        Err(reject) => {
            respond::linger(&app, &head, body);
            Box::pin(respond::refuse(&head, &reject, &manner, &mut trail)).await
        }
    };
    if let Ok(said) = &exchange.said {
        response.headers_mut().extend(said.told_back(&app.settings.headers.prefix));
    }
    response
}

async fn run(
    exchange: &Exchange<'_>,
    body: &mut Incoming,
    manner: &mut Manner,
    trail: &mut Trail,
) -> Result<Done, Reject> {
    let Exchange { app, world, head, now, .. } = *exchange;
    // Who is addressed? Path and method only; what exists is nobody's business yet.
    let mut route = route::resolve(head)?;
    manner.routed(&route, head);
    trail.routed(&route, world);
    if let Entrance::Legacy(_) = route.entrance {
        trail.entered_by("legacy");
    }
    head.check()?;
    if app.tasks.stopping().is_cancelled() {
        return Err(Reject::Draining);
    }

    // Who calls? Credentials stop here. The body is still unread.
    let throttled = |error| app.calls.throttle.judge(error, exchange.caller.source.ip(), now);
    let identity = authenticate::identify(head, &route.tenant, world, now).map_err(throttled)?;
    trail.identified(&identity);
    trail.said(exchange.said.as_ref().map_err(|error| RouteError::from(*error))?);

    // Over gRPC the credential has decided the tenant, and the message names the card.
    trail.enter(Stage::Read);
    let early = early::address(&mut route, &identity, head, body, (app, world)).await?;
    trail.enter(Stage::Admit);
    trail.addressed(&route);

    // May they? The permit is the only way on; no grant looks like no card.
    let permit = authorize::permit(&route, &identity, world)?;
    manner.permitted(permit.card());

    // On whose behalf? A chain that holds stays with the permit.
    let permit = delegation::accept(&exchange.presented, permit, &app.calls.delegation, now)?;
    trail.delegated(permit.chain());
    trail.open()?;
    let (early, mut slot) = match early {
        Some(mut early) => {
            early.slot.admit(&permit, route.operation(), now)?;
            legacy::check_skill(early.legacy.as_ref(), &permit, app).await?;
            (Some(early.body), early.slot)
        }
        None => (None, limit::admit(&permit, route.operation(), &app.calls.limits, now)?),
    };

    // What do they ask? The operation is checked before its parameters are read.
    trail.enter(Stage::Read);
    let limits = &app.settings.limits;
    let asked = decode::Asked { head, target: &route.target, permit: &permit, limits: &limits.body, now };
    let decode::Decoded { call, size } = decode::call(&asked, body, early, &mut slot, &mut manner.voice).await?;
    manner.decoded(permit.card());
    trail.spoken(manner.voice.dialect);
    trail.called(&call, size);
    trail.shadowed(permit.would_deny(call.kind));
    manner.called(&call);
    delegation::allow(&permit, call.kind)?;

    // Under these conditions? A tenant without any is not asked.
    let permit = permit.conditioned(&call, (head, exchange.caller.source.ip()), now);
    trail.ruled(permit.ruling());
    permit.check_conditions()?;

    // Push is not mediated, so it is refused before anybody looks whose task it is about (A2A 1.0 §3.3.4).
    forward::refuse_push(&call)?;

    // Whose tasks are named? A foreign one is a missing one.
    let ownership = owner::check(&call, &permit, &app.calls.owners, now).await?;

    // May it be said? Redacted or refused; findings are recorded either way.
    trail.enter(Stage::GuardIn);
    let guards = Guards::of(&permit, (head, &call), limits.guard_inline_bytes, &app.calls.outside);
    let guards = guards.through(route.entrance);
    trail.judged_by(guards.names());
    let mut findings = Findings::default();
    let said = guards.request(call, size, head, &mut findings).await;
    trail.inspected(findings);
    let call = said.inspect_err(|_| trail.forget_names())?;

    // Ask the agent, in its dialect and under its own credentials, once the record may say so.
    trail.enter(Stage::End);
    trail.opened_before_forward().await?;
    trail.enter(Stage::Agent);
    let way = app.calls.way(&permit, head, &app.settings);
    let reply = respond::ask(&call, &ownership, &mut slot, way, trail).await?;

    // New ids become the caller's before it sees them. May it be heard? Events are judged as they pass.
    if !matches!(reply, Reply::Events(_)) {
        trail.enter(Stage::GuardOut);
    }
    let mut findings = Findings::default();
    let heard = respond::heard(reply, &ownership, &guards, &mut findings).await;
    trail.inspected(findings);
    let heard = heard.inspect_err(|_| trail.forget_names())?;
    let version = manner.voice.dialect.version();
    let reply = respond::published(heard, (call.kind, version), (&permit, &app.compiler), exchange.public_url)?;
    Ok(Done { reply, call: call.kind, permit, ownership, guards, slot })
}
