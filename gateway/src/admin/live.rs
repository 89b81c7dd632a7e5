//! `GET /api/v1/live`: exchanges as they end and streams that are open, as server-sent events. Metadata only.
//!
//! Events: `exchange` (one that ended), `now` (the streams that are open and the calls in flight, every few seconds),
//! `dropped` (how many this watcher was too slow for). Whoever loses the right to watch loses the stream.

#![expect(unused_qualifications, reason = "written by the macro that describes the handlers")]

use super::Shared;
use super::access::{self, Who};
use super::error::ApiError;
use super::extract::{Query, State};
use super::health::AuditState;
use super::resource::{existing_tenant, rfc3339};
use crate::audit::{Closing, Opening};
use crate::live::{Exchange, OpenStream, would_block};
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::{Stream, stream};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;
use tokio::time::{Interval, MissedTickBehavior, interval};
use utoipa::{IntoParams, ToSchema};

/// Which exchanges.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct LiveQuery {
    /// Whose; `*` for all, which needs a role in all.
    pub tenant: String,
    /// Which card.
    pub card: Option<String>,
    /// Who called, by name or id.
    pub principal: Option<String>,
    /// How it ended.
    pub outcome: Option<String>,
    /// What a detector saw: its kind (`words`), or its kind and name (`words:phrases`).
    pub finding: Option<String>,
}

/// An exchange that has ended.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LiveExchange {
    /// The id that the caller was told; its record has the same.
    pub correlation_id: String,
    /// Whose exchange.
    pub tenant: String,
    /// RFC 3339.
    pub opened_at: String,
    /// Microseconds from its head to its last byte.
    pub took_us: i64,
    /// Who called, by name.
    pub principal: Option<String>,
    /// Who called, by id.
    pub principal_id: Option<String>,
    /// Which card.
    pub card: Option<String>,
    /// Which operation.
    pub operation: Option<String>,
    /// Which dialect the caller spoke.
    pub dialect: Option<String>,
    /// How it ended.
    pub outcome: &'static str,
    /// The fault's reason.
    pub fault: Option<String>,
    /// The HTTP status answered.
    pub status: Option<u16>,
    /// Which task.
    pub task_id: Option<String>,
    /// Stream events relayed.
    pub events: u64,
    /// Microseconds until the agent's head.
    pub upstream_us: u64,
    /// Microseconds of inspection.
    pub guard_us: u64,
    /// What detectors saw: `detector action/mode`, without text.
    pub findings: Vec<String>,
    /// A policy in shadow mode would have blocked it.
    pub would_block: bool,
}

/// What is open now.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LiveOpen {
    /// Streams that are open, the oldest first; at most 100.
    pub streams: Vec<LiveStream>,
    /// How many streams are open.
    pub count: usize,
    /// Calls being served by this process, of all tenants; only for those with a role in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<i64>,
    /// How far this process's records are behind.
    pub audit: AuditState,
}

/// A stream that is open.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LiveStream {
    /// The id that the caller was told.
    pub correlation_id: String,
    /// Whose.
    pub tenant: String,
    /// RFC 3339.
    pub opened_at: String,
    /// Who called, by name.
    pub principal: Option<String>,
    /// Which card.
    pub card: Option<String>,
    /// Which operation.
    pub operation: Option<String>,
}

struct Watch {
    admin: Shared,
    who: Who,
    query: LiveQuery,
    heard: broadcast::Receiver<Arc<Exchange>>,
    tick: Interval,
    ticks: u32,
}

/// Exchanges as they end, as server-sent events `exchange`, `now` and `dropped`.
#[utoipa::path(get, path = "/api/v1/live", tag = "live", params(LiveQuery),
    responses((status = 200, description = "a stream of events", body = LiveExchange, content_type = "text/event-stream"),
        (status = 400, body = ApiError), (status = 404, body = ApiError)))]
pub(super) async fn watch(
    State(admin): State<Shared>,
    who: Who,
    Query(query): Query<LiveQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    if query.tenant != "*" {
        // Whoever watches a tenant that is not there would wait for ever.
        existing_tenant(&admin.store, &query.tenant).await?;
    }
    let heard = admin.live.watch();
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let watch = Watch { admin, who, query, heard, tick, ticks: 0 };
    let events = stream::unfold(watch, |mut watch| async move {
        let event = watch.next().await?;
        Some((Ok(event), watch))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(TICK)))
}

impl Watch {
    async fn next(&mut self) -> Option<Event> {
        let stopping = self.admin.stopping.clone();
        loop {
            tokio::select! {
                () = stopping.cancelled() => return None,
                heard = self.heard.recv() => match heard {
                    Ok(exchange) => {
                        if let Some(view) = self.wanted(&exchange) {
                            return event("exchange", &view);
                        }
                    }
                    Err(broadcast::error::RecvError::Lagged(count)) => {
                        return event("dropped", &serde_json::json!({"count": count}));
                    }
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
                _ = self.tick.tick() => {
                    self.ticks = self.ticks.wrapping_add(1);
                    if self.ticks.is_multiple_of(ASK_AGAIN)
                        && !access::still_in(&self.admin, &self.who, &self.query.tenant).await
                    {
                        return None;
                    }
                    return event("now", &self.open());
                }
            }
        }
    }

    fn tenant(&self) -> Option<&str> {
        Some(self.query.tenant.as_str()).filter(|tenant| *tenant != "*")
    }

    fn wanted(&self, exchange: &Exchange) -> Option<LiveExchange> {
        let (opening, closing) = (&exchange.opening, &exchange.closing);
        let query = &self.query;
        let named = principal(&self.admin, opening);
        let is = |wanted: &Option<String>, told: Option<&str>| wanted.is_none() || wanted.as_deref() == told;
        let fits = self.tenant().is_none_or(|tenant| tenant == opening.tenant)
            && is(&query.card, opening.card.as_deref())
            && is(&query.outcome, Some(closing.outcome.as_str()))
            && query.finding.as_deref().is_none_or(|wanted| closing.findings.iter().any(|one| one.is_of(wanted)))
            && (is(&query.principal, named.as_deref()) || is(&query.principal, opening.principal.as_deref()));
        fits.then(|| show(opening, closing, named))
    }

    fn open(&self) -> LiveOpen {
        let streams = self.admin.live.open_streams(self.tenant());
        let count = streams.len();
        let shown = streams.into_iter().take(100).map(|one| show_stream(&self.admin, one)).collect();
        let in_flight = self.who.roles.sees("*").then(|| self.admin.metrics.in_flight.get());
        LiveOpen { streams: shown, count, in_flight, audit: AuditState::of(&self.admin.audit.backlog()) }
    }
}

fn event(name: &str, data: &impl Serialize) -> Option<Event> {
    Event::default().event(name).json_data(data).ok()
}

/// The caller's name, as the registry has it now.
pub(super) fn principal(admin: &Shared, opening: &Opening) -> Option<String> {
    let id = opening.principal.as_deref()?;
    let world = admin.registry.snapshot();
    let found = world.tenants.get(&opening.tenant).and_then(|tenant| tenant.principals.get(id));
    Some(found.map_or_else(|| id.to_owned(), |principal| principal.name.clone()))
}

fn show(opening: &Opening, closing: &Closing, principal: Option<String>) -> LiveExchange {
    let findings = closing.findings.iter().map(|one| format!("{} {}", one.detector, one.action));
    LiveExchange {
        correlation_id: opening.correlation_id.clone(),
        tenant: opening.tenant.clone(),
        opened_at: rfc3339(opening.at_us),
        took_us: closing.at_us.saturating_sub(opening.at_us),
        principal,
        principal_id: opening.principal.clone(),
        card: opening.card.clone(),
        operation: closing.operation.clone(),
        dialect: closing.dialect.clone().or_else(|| opening.dialect.clone()),
        outcome: closing.outcome.as_str(),
        fault: closing.fault.clone(),
        status: closing.status,
        task_id: closing.task_id.clone(),
        events: closing.events,
        upstream_us: closing.upstream_us,
        guard_us: closing.guard_us,
        findings: findings.collect(),
        would_block: would_block(closing),
    }
}

fn show_stream(admin: &Shared, stream: OpenStream) -> LiveStream {
    LiveStream {
        principal: principal(admin, &stream.opening),
        correlation_id: stream.opening.correlation_id,
        tenant: stream.opening.tenant,
        opened_at: rfc3339(stream.opening.at_us),
        card: stream.opening.card,
        operation: stream.operation,
    }
}

const TICK: Duration = Duration::from_secs(3);
/// Every so many ticks the watcher's right to watch is looked up again.
const ASK_AGAIN: u32 = 2;
