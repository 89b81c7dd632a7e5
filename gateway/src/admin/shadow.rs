//! `GET /api/v1/audit/shadow`: what policies and grants in shadow mode would have done to the calls of the last hours, and
//! what policies that are enforced did; of how many calls. Before something is enforced, one looks here.
//!
//! Counted from the marks that records are found by: each number is one range of an index, and counting stops at
//! 100 000. So the figures are those of every replica, and of before the last start, but only of records that were
//! marked: not of those from before there were marks, nor of the last moment, which is still on its way to the store.

#![expect(unused_qualifications, reason = "written by the macro that describes the handlers")]

use super::Shared;
use super::error::ApiError;
use super::extract::{Query, State, limit};
use super::resource::{existing_tenant, rfc3339};
use crate::audit::ship::rows::Mark;
use crate::registry::{TenantWorld, grants};
use axum::Json;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use store::{AuditCalls, Page, TenantId};
use utoipa::{IntoParams, ToSchema};

/// Since when.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ShadowQuery {
    /// Whose.
    pub tenant: String,
    /// How far back (1 to 720, default 24).
    #[serde(default, deserialize_with = "limit::<_, 720>")]
    pub hours: Option<u32>,
}

/// What would have happened.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Shadows {
    /// RFC 3339.
    pub from: String,
    /// RFC 3339.
    pub until: String,
    /// Counting stops here: a number that is as great may be greater.
    pub most: u32,
    /// Calls of the tenant in that time.
    pub calls: i64,
    /// Policies by name, then grants in shadow mode.
    pub items: Vec<ShadowView>,
    /// There are more policies or grants than are counted here.
    pub more: bool,
}

/// One policy or grant.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ShadowView {
    /// `policy` or `grant`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// How it is now: `enforce` or `shadow`; absent where it can't be used as it is.
    pub mode: Option<&'static str>,
    /// Calls to the agents that it guards now; for a grant, of the whole tenant.
    pub of: i64,
    /// Calls that it would have stopped; the audit finds them by `would_block_by`, a grant's by `would_deny_by`.
    pub would_block: i64,
    /// Calls in which it would have changed what was said; `would_change_by`.
    pub would_change: i64,
    /// Calls that it stopped; `blocked_by`.
    pub blocked: i64,
    /// When the last call began that it would have stopped or changed (RFC 3339).
    pub last_at: Option<String>,
}

/// What policies and grants would have done, and did.
#[utoipa::path(get, path = "/api/v1/audit/shadow", tag = "audit", params(ShadowQuery),
    responses((status = 200, body = Shadows), (status = 404, body = ApiError)))]
pub(super) async fn read(
    State(admin): State<Shared>,
    Query(query): Query<ShadowQuery>,
) -> Result<Json<Shadows>, ApiError> {
    let tenant = existing_tenant(&admin.store, &query.tenant).await?;
    let until = admin.clock.now();
    let from = until - i64::from(query.hours.unwrap_or(24)) * HOUR;
    let snapshot = admin.registry.snapshot();
    let world = snapshot.tenants.get(tenant.as_str()).map(AsRef::as_ref);
    let policies = admin.store.policies(&tenant, Page { after: "", limit: POLICIES }).await?;
    let shadow_grants: BTreeSet<String> = world.map(shadow_grants).unwrap_or_default();
    let more = policies.len() >= POLICIES as usize || shadow_grants.len() > GRANTS;
    let calls = admin.store.audit_calls(&tenant, from, MOST).await?;
    let all = calls.iter().map(|one| one.count).sum();
    let count = Counting { admin: &admin, tenant: &tenant, from };
    let mut items = Vec::new();
    for name in policies.iter().map(|row| row.name.as_str()) {
        let of = world.map_or(0, |world| guarded(world, name, &calls));
        items.push(count.policy(name, world, of).await?);
    }
    for name in shadow_grants.iter().take(GRANTS) {
        items.push(count.grant(name, all).await?);
    }
    Ok(Json(Shadows { from: rfc3339(from), until: rfc3339(until), most: MOST, calls: all, items, more }))
}

struct Counting<'a> {
    admin: &'a Shared,
    tenant: &'a TenantId,
    from: i64,
}

impl Counting<'_> {
    async fn policy(&self, name: &str, world: Option<&TenantWorld>, of: i64) -> Result<ShadowView, ApiError> {
        let mode = world.and_then(|world| world.policies.get(name)).map(|policy| policy.pipeline.mode().name());
        let (would_block, last_block) = self.marked(Mark::WouldBlock(name)).await?;
        let (would_change, last_change) = self.marked(Mark::WouldChange(name)).await?;
        let (blocked, _) = self.marked(Mark::Blocked(name)).await?;
        let last_at = last_block.max(last_change).map(rfc3339);
        Ok(ShadowView { kind: "policy", name: name.to_owned(), mode, of, would_block, would_change, blocked, last_at })
    }

    async fn grant(&self, name: &str, of: i64) -> Result<ShadowView, ApiError> {
        let (would_block, last) = self.marked(Mark::WouldDeny(name)).await?;
        let (would_change, blocked) = (0, 0);
        let (mode, last_at) = (Some(grants::Mode::Shadow.name()), last.map(rfc3339));
        Ok(ShadowView { kind: "grant", name: name.to_owned(), mode, of, would_block, would_change, blocked, last_at })
    }

    async fn marked(&self, mark: Mark<'_>) -> Result<(i64, Option<i64>), ApiError> {
        let found = self.admin.store.audit_mark_count(self.tenant, &mark.to_string(), self.from, MOST).await?;
        Ok((found.count, found.last))
    }
}

/// Calls to the cards that have this policy now.
fn guarded(world: &TenantWorld, policy: &str, calls: &[AuditCalls]) -> i64 {
    let counts: BTreeMap<&str, i64> = calls.iter().map(|one| (one.card.as_str(), one.count)).collect();
    let has = |card: &crate::registry::Card| card.policies.iter().any(|pipeline| pipeline.name() == policy);
    world.cards.values().filter(|card| has(card)).filter_map(|card| counts.get(card.name.as_str())).sum()
}

fn shadow_grants(world: &TenantWorld) -> BTreeSet<String> {
    let own = world.principals.values().map(|principal| &principal.grants);
    let all = own.chain(world.groups.values().map(AsRef::as_ref)).flat_map(|set| set.iter());
    all.filter(|grant| grant.mode == grants::Mode::Shadow).map(|grant| grant.name.clone()).collect()
}

const HOUR: i64 = 3_600_000_000;
const MOST: u32 = 100_000;
/// Most policies and grants that are counted in one answer.
const POLICIES: u32 = 100;
const GRANTS: usize = 100;
