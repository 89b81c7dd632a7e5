//! `GET /api/v1/stats`: rates, latencies and outcomes of a tenant over time, who calls whom, and how agents fare, all
//! from its records; so the figures are those of every replica, and of before the last start.

#![expect(unused_qualifications, reason = "written by the macro that describes the handlers")]

use super::Shared;
use super::error::ApiError;
use super::extract::{Query, State, limit};
use super::resource::{existing_tenant, rfc3339};
use axum::Json;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use store::{AuditEdge, AuditSlot};
use utoipa::{IntoParams, ToSchema};

/// Which figures.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct StatsQuery {
    /// Whose.
    pub tenant: String,
    /// How far back (1 to 10 080, default 60).
    #[serde(default, deserialize_with = "limit::<_, 10080>")]
    pub minutes: Option<u32>,
}

/// A tenant's figures.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Stats {
    /// RFC 3339.
    pub from: String,
    /// RFC 3339.
    pub until: String,
    /// How long each slot is.
    pub step_seconds: i64,
    /// Slots in order, the empty ones too.
    pub slots: Vec<Slot>,
    /// All slots together.
    pub total: Slot,
    /// Who called which card.
    pub edges: Vec<Edge>,
    /// How each agent that was called fares.
    pub agents: Vec<AgentHealth>,
    /// Exchanges that a policy in shadow mode would have blocked, counted by this process since its start.
    pub would_block: u64,
    /// Since when `would_block` counts (RFC 3339).
    pub would_block_since: String,
    /// Streams of the tenant that are open on this process.
    pub streams_open: usize,
}

/// One slot of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub(super) struct Slot {
    /// When it begins (RFC 3339).
    pub at: String,
    /// Exchanges that began in it.
    pub count: i64,
    /// The same by outcome.
    pub outcomes: BTreeMap<String, i64>,
    /// Milliseconds, interpolated: half took less.
    pub p50_ms: Option<f64>,
    /// Milliseconds, interpolated.
    pub p95_ms: Option<f64>,
    /// Milliseconds, interpolated.
    pub p99_ms: Option<f64>,
}

/// Calls of one principal to one card.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Edge {
    /// Who, by name.
    pub principal: String,
    /// Whom.
    pub card: String,
    /// How often.
    pub count: i64,
    /// How often it failed at the agent or on our side.
    pub errors: i64,
    /// How often a policy or a permit stopped it.
    pub stopped: i64,
    /// The last time (RFC 3339).
    pub last_at: String,
}

/// How an agent fares, as far as calls have told.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct AgentHealth {
    /// Its card.
    pub card: String,
    /// `ok`, or `failing` when the last call that reached out failed.
    pub state: &'static str,
    /// Calls.
    pub count: i64,
    /// Of them failed at the agent.
    pub errors: i64,
    /// The last good answer (RFC 3339).
    pub last_ok_at: Option<String>,
    /// The last failure (RFC 3339).
    pub last_error_at: Option<String>,
}

/// A tenant's figures over the last minutes.
#[utoipa::path(get, path = "/api/v1/stats", tag = "live", params(StatsQuery),
    responses((status = 200, body = Stats), (status = 404, body = ApiError)))]
pub(super) async fn read(
    State(admin): State<Shared>,
    Query(query): Query<StatsQuery>,
) -> Result<Json<Stats>, ApiError> {
    let tenant = existing_tenant(&admin.store, &query.tenant).await?;
    let minutes = i64::from(query.minutes.unwrap_or(60));
    let step = step(minutes);
    let last = admin.clock.now().div_euclid(step);
    let first = last - minutes * 60 * SECOND / step + 1;
    let slots = admin.store.audit_slots(&tenant, first * step, step).await?;
    let edges = admin.store.audit_edges(&tenant, first * step).await?;
    let world = admin.registry.snapshot();
    let name = |id: &str| {
        let known = world.tenants.get(tenant.as_str()).and_then(|tenant| tenant.principals.get(id));
        known.map_or_else(|| id.to_owned(), |principal| principal.name.clone())
    };
    let (shadow, since) = admin.live.shadow(tenant.as_str());
    Ok(Json(Stats {
        from: rfc3339(first * step),
        until: rfc3339(admin.clock.now()),
        step_seconds: step / SECOND,
        slots: (first..=last)
            .map(|slot| summed(rfc3339(slot * step), slots.iter().filter(|one| one.slot == slot)))
            .collect(),
        total: summed(rfc3339(first * step), slots.iter()),
        agents: agents(&edges),
        edges: joined(&edges, name),
        would_block: shadow.would_block,
        would_block_since: rfc3339(since),
        streams_open: admin.live.open_streams(Some(tenant.as_str())).len(),
    }))
}

/// Slots of a length that gives about sixty of them.
fn step(minutes: i64) -> i64 {
    let steps = [10, 60, 300, 900, 3_600, 10_800];
    let found = steps.into_iter().find(|seconds| minutes * 60 / seconds <= 90);
    found.unwrap_or(10_800) * SECOND
}

fn summed<'a>(at: String, rows: impl Iterator<Item = &'a AuditSlot>) -> Slot {
    let mut slot = Slot { at, ..Slot::default() };
    let mut buckets = [0_i64; BOUNDS_MS.len() + 1];
    for row in rows {
        slot.count += row.count;
        *slot.outcomes.entry(row.outcome.clone()).or_default() += row.count;
        let bucket = usize::try_from(row.bucket).ok().and_then(|bucket| buckets.get_mut(bucket));
        if let Some(bucket) = bucket {
            *bucket += row.count;
        }
    }
    slot.p50_ms = quantile(&buckets, 0.50);
    slot.p95_ms = quantile(&buckets, 0.95);
    slot.p99_ms = quantile(&buckets, 0.99);
    slot
}

/// A quantile between a bucket's bounds, as if its exchanges lay evenly in it.
#[expect(clippy::cast_precision_loss, reason = "counts of exchanges in a chart")]
fn quantile(buckets: &[i64], part: f64) -> Option<f64> {
    let all: i64 = buckets.iter().sum();
    let wanted = all as f64 * part;
    let (mut seen, mut low) = (0.0, 0.0);
    for (count, high) in buckets.iter().zip(BOUNDS_MS.into_iter().chain([60_000.0])) {
        let count = *count as f64;
        if count > 0.0 && seen + count >= wanted {
            let value: f64 = low + (high - low) * ((wanted - seen) / count).clamp(0.0, 1.0);
            return Some((value * 10.0).round() / 10.0);
        }
        seen += count;
        low = high;
    }
    None
}

fn is_error(outcome: &str) -> bool {
    matches!(outcome, "upstream_error" | "upstream_abort" | "stream_incomplete" | "abandoned" | "interrupted")
}

fn is_stopped(outcome: &str) -> bool {
    matches!(outcome, "blocked" | "refused" | "could_not_scan")
}

fn joined(rows: &[AuditEdge], name: impl Fn(&str) -> String) -> Vec<Edge> {
    let mut edges: BTreeMap<(&str, &str), Edge> = BTreeMap::new();
    for row in rows {
        let edge = edges.entry((&row.principal, &row.card)).or_insert_with(|| Edge {
            principal: name(&row.principal),
            card: row.card.clone(),
            count: 0,
            errors: 0,
            stopped: 0,
            last_at: String::new(),
        });
        edge.count += row.count;
        edge.errors += if is_error(&row.outcome) { row.count } else { 0 };
        edge.stopped += if is_stopped(&row.outcome) { row.count } else { 0 };
        let last = rfc3339(row.last);
        if last > edge.last_at {
            edge.last_at = last;
        }
    }
    let mut edges: Vec<_> = edges.into_values().collect();
    edges.sort_by_key(|edge| std::cmp::Reverse(edge.count));
    edges
}

fn agents(rows: &[AuditEdge]) -> Vec<AgentHealth> {
    #[derive(Default)]
    struct Seen {
        count: i64,
        errors: i64,
        ok: Option<i64>,
        failed: Option<i64>,
    }
    let mut cards: BTreeMap<&str, Seen> = BTreeMap::new();
    for row in rows {
        let seen = cards.entry(&row.card).or_default();
        seen.count += row.count;
        if matches!(row.outcome.as_str(), "upstream_error" | "upstream_abort" | "stream_incomplete") {
            seen.errors += row.count;
            seen.failed = seen.failed.max(Some(row.last));
        } else if matches!(row.outcome.as_str(), "ok" | "agent_fault") {
            seen.ok = seen.ok.max(Some(row.last));
        }
    }
    let health = |(card, seen): (&str, Seen)| AgentHealth {
        card: card.to_owned(),
        state: if seen.failed > seen.ok { "failing" } else { "ok" },
        count: seen.count,
        errors: seen.errors,
        last_ok_at: seen.ok.map(rfc3339),
        last_error_at: seen.failed.map(rfc3339),
    };
    cards.into_iter().map(health).collect()
}

const SECOND: i64 = 1_000_000;
/// Upper bounds of all buckets but the last, in milliseconds; the store's statement has the same.
const BOUNDS_MS: [f64; 12] = [1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 5_000.0, 30_000.0];

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(outcome: &str, count: i64, last: i64) -> AuditEdge {
        AuditEdge { card: "echo".to_owned(), principal: "prn-1".to_owned(), outcome: outcome.to_owned(), count, last }
    }

    #[test]
    fn slots_sum_up_and_quantiles_lie_in_their_bucket() {
        let row = |outcome: &str, bucket, count| AuditSlot { outcome: outcome.to_owned(), slot: 1, bucket, count };
        let rows = [row("ok", 3, 90), row("blocked", 6, 10)];
        let slot = summed(String::new(), rows.iter());
        assert_eq!((slot.count, slot.outcomes["blocked"]), (100, 10));
        assert!((5.0..=10.0).contains(&slot.p50_ms.unwrap()) && (50.0..=100.0).contains(&slot.p95_ms.unwrap()));
        assert_eq!(summed(String::new(), [].iter()).p50_ms, None);
    }

    #[test]
    fn there_are_about_sixty_slots_whatever_the_span() {
        for minutes in [1, 15, 60, 360, 1_440, 10_080] {
            let slots = minutes * 60 * SECOND / step(minutes);
            assert!((6..=90).contains(&slots), "{minutes}: {slots}");
        }
    }

    #[test]
    fn an_agent_fails_when_its_last_call_did() {
        let rows = [edge("ok", 5, 10), edge("upstream_error", 1, 20), edge("blocked", 2, 30)];
        let health = agents(&rows);
        assert_eq!((health[0].state, health[0].count, health[0].errors), ("failing", 8, 1));
        assert_eq!(agents(&[edge("upstream_error", 1, 5), edge("ok", 1, 6)])[0].state, "ok");
        let edges = joined(&rows, |_| "bot".to_owned());
        assert_eq!((edges[0].count, edges[0].errors, edges[0].stopped), (8, 1, 2));
    }
}
