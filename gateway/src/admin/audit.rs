//! Searching the audit trail. Records hold facts, never message text.

#![expect(unused_qualifications, reason = "written by the macro that describes the handlers")]

use super::Shared;
use super::body::value;
use super::error::ApiError;
use super::extract::{Query, State, limit};
use super::resource::{existing_tenant, micros, rfc3339};
use crate::audit::ship::rows::Mark;
use crate::audit::{DelegationFact, Opening};
use axum::Json;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use store::{AuditCursor, AuditFilter, AuditRecord, TenantId};
use utoipa::{IntoParams, ToSchema};

/// Which records.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditQuery {
    /// Whose.
    pub tenant: String,
    /// Begun at or after (RFC 3339).
    pub from: Option<String>,
    /// Begun before (RFC 3339).
    pub until: Option<String>,
    /// Who called: a principal's name, or its id (the only way to ask for one that was removed).
    pub principal: Option<String>,
    /// Which card.
    pub card: Option<String>,
    /// Which operation.
    pub operation: Option<String>,
    /// How it ended.
    pub outcome: Option<String>,
    /// The id that the caller was told.
    pub correlation_id: Option<String>,
    /// Which task.
    pub task_id: Option<String>,
    /// Which tree of delegations, by the `root` of any of its records. The first call comes first then, not the newest.
    pub root: Option<String>,
    /// Which context. Of this and the next five, one at a time; records from before they were kept are not found by them.
    pub context_id: Option<String>,
    /// What a detector saw: its kind (`words`), or its kind and name (`words:phrases`).
    pub finding: Option<String>,
    /// The policy that stopped it.
    pub blocked_by: Option<String>,
    /// The policy in shadow mode that would have stopped it.
    pub would_block_by: Option<String>,
    /// The policy in shadow mode that would have changed what was said.
    pub would_change_by: Option<String>,
    /// The grant in shadow mode that would have had it denied.
    pub would_deny_by: Option<String>,
    /// At most this many (1 to 500, default 50).
    #[serde(default, deserialize_with = "limit::<_, 500>")]
    pub limit: Option<u32>,
    /// From the page before.
    pub cursor: Option<String>,
}

/// One exchange.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RecordView {
    /// `{writer}-{sequence}`
    pub id: String,
    /// Whose exchange.
    pub tenant: String,
    /// RFC 3339.
    pub opened_at: String,
    /// RFC 3339; absent while it is open.
    pub closed_at: Option<String>,
    /// Who called, by name; by id if the principal was removed.
    pub principal: Option<String>,
    /// Who called, by id.
    pub principal_id: Option<String>,
    /// With which key.
    pub key_id: Option<String>,
    /// Which card.
    pub card: Option<String>,
    /// Which operation.
    pub operation: Option<String>,
    /// Which dialect the caller spoke.
    pub dialect: Option<String>,
    /// How it ended.
    pub outcome: String,
    /// The fault's reason, if one was answered.
    pub fault: Option<String>,
    /// The HTTP status answered.
    pub status: Option<i64>,
    /// The id that the caller was told.
    pub correlation_id: String,
    /// Which task.
    pub task_id: Option<String>,
    /// The gateway's own id of the call that its tree of delegations began with, which may be this one; asked for as `root`.
    /// Absent in records from before it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// On whose behalf, where the call came with a chain of delegations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegation: Option<DelegationView>,
    /// All the rest: findings, counts, and in `closed.stages` how long each part took, in microseconds: `admit_us` (who,
    /// and may it), `read_us`, `guard_in_us`, `agent_us` (to its first byte), `rest_us`, `guard_out_us`, `end_us`.
    pub detail: serde_json::Value,
}

/// The proven chain of an exchange.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DelegationView {
    /// The gateway's own id of the first call.
    pub root: String,
    /// The correlation id of the call that caused this one.
    pub parent: String,
    /// How many delegations there were.
    pub depth: u32,
    /// Who made the call that caused this one, by name; by id if it was removed.
    pub actor: String,
    /// Whom it is all for, by name; by id if it was removed.
    pub subject: String,
    /// The calls so far, `principal>card`, by id.
    pub chain: String,
}

/// A page of records, newest first; of one tree, the first call first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Records {
    /// Newest first; of one tree, the first call first.
    pub items: Vec<RecordView>,
    /// Send it as `cursor` for the rest; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Which sums of early refusals.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct SummaryQuery {
    /// Whose.
    pub tenant: String,
    /// Windows that began at or after (RFC 3339).
    pub from: Option<String>,
    /// Windows that began before (RFC 3339).
    pub until: Option<String>,
    /// At most this many (1 to 500, default 50).
    #[serde(default, deserialize_with = "limit::<_, 500>")]
    pub limit: Option<u32>,
}

/// Refusals before a principal was proven, counted over a window.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SummaryView {
    /// Why refused.
    pub reason: String,
    /// From where.
    pub source: String,
    /// RFC 3339.
    pub window_start: String,
    /// How many.
    pub count: i64,
}

/// Sums, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Summaries {
    /// Newest first.
    pub items: Vec<SummaryView>,
}

/// A tenant's records.
#[utoipa::path(get, path = "/api/v1/audit", tag = "audit", params(AuditQuery),
    responses((status = 200, body = Records), (status = 400, body = ApiError), (status = 404, body = ApiError)))]
pub(super) async fn query(
    State(admin): State<Shared>,
    Query(query): Query<AuditQuery>,
) -> Result<Json<Records>, ApiError> {
    let cursor = query.cursor.as_deref().filter(|cursor| !cursor.is_empty());
    let after = cursor.map(read_cursor).transpose()?;
    let limit = query.limit.unwrap_or(50);
    let search = Search::of(&admin, query).await?;
    let (items, next) = search.page(&admin, after.as_ref(), limit).await?;
    Ok(Json(Records { items, next_cursor: next.as_ref().map(write_cursor) }))
}

/// What is searched for, as the store takes it.
pub(super) struct Search {
    tenant: TenantId,
    mark: Option<String>,
    pub(super) filter: AuditFilter,
}

impl Search {
    /// What a query means, without its place and its limit.
    pub(super) async fn of(admin: &Shared, query: AuditQuery) -> Result<Self, ApiError> {
        let tenant = existing_tenant(&admin.store, &query.tenant).await?;
        let mark = mark(&query)?;
        let principal = match &query.principal {
            Some(who) => Some(principal_id(admin, &tenant, who).await?),
            None => None,
        };
        let filter = AuditFilter {
            from: query.from.as_deref().map(|text| micros("from", text)).transpose()?,
            until: query.until.as_deref().map(|text| micros("until", text)).transpose()?,
            principal,
            card: query.card,
            operation: query.operation,
            outcome: query.outcome,
            correlation_id: query.correlation_id,
            task_id: query.task_id,
            chain_root: query.root,
        };
        if mark.is_some() && filter.chain_root.is_some() {
            return Err(ApiError::invalid_field(
                "root",
                "can't be asked for together with a context, finding, policy or grant",
            ));
        }
        Ok(Self { tenant, mark, filter })
    }

    /// A page, and where the next one begins if there is one.
    pub(super) async fn page(
        &self,
        admin: &Shared,
        after: Option<&AuditCursor>,
        limit: u32,
    ) -> Result<(Vec<RecordView>, Option<AuditCursor>), ApiError> {
        let (tenant, filter, one_more) = (&self.tenant, &self.filter, limit.saturating_add(1));
        let mut rows = match &self.mark {
            Some(mark) => admin.store.audit_marked(tenant, mark, filter, after, one_more).await?,
            None => admin.store.audit_query(tenant, filter, after, one_more).await?,
        };
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next = if more { rows.last().map(cursor_at) } else { None };
        let names = names(admin, tenant, &rows).await?;
        let items = rows.into_iter().map(|row| show(row, &names)).collect::<Result<_, _>>()?;
        Ok((items, next))
    }
}

/// The one mark that is asked for.
fn mark(query: &AuditQuery) -> Result<Option<String>, ApiError> {
    let asked = [
        ("context_id", query.context_id.as_deref().map(Mark::Context)),
        ("finding", query.finding.as_deref().map(Mark::Finding)),
        ("blocked_by", query.blocked_by.as_deref().map(Mark::Blocked)),
        ("would_block_by", query.would_block_by.as_deref().map(Mark::WouldBlock)),
        ("would_change_by", query.would_change_by.as_deref().map(Mark::WouldChange)),
        ("would_deny_by", query.would_deny_by.as_deref().map(Mark::WouldDeny)),
    ];
    let mut asked = asked.into_iter().filter_map(|(name, mark)| Some((name, mark?)));
    let first = asked.next().map(|(_, mark)| mark.to_string());
    match asked.next() {
        Some((name, _)) => {
            Err(ApiError::invalid_field(name, "of context, finding, policy and grant one can be asked for"))
        }
        None => Ok(first),
    }
}

/// The id of a principal that was named; records hold ids.
async fn principal_id(admin: &Shared, tenant: &TenantId, who: &str) -> Result<String, ApiError> {
    if let Some(row) = admin.store.principal(tenant, who).await? {
        return Ok(row.id);
    }
    if who.starts_with("prn-") {
        return Ok(who.to_owned());
    }
    let problem = format!("there is no principal {who:?} in this tenant; ask for a removed one by its id (prn-…)");
    Err(ApiError::invalid_field("principal", problem))
}

/// The names of the principals of these records, by id: one look-up for each.
async fn names(admin: &Shared, tenant: &TenantId, rows: &[AuditRecord]) -> Result<HashMap<String, String>, ApiError> {
    let mut names = HashMap::new();
    let behind = rows.iter().filter_map(delegation).flat_map(|fact| [fact.actor, fact.subject]);
    let behind = behind.map(|agent| principal_of(&agent).to_owned());
    for id in rows.iter().filter_map(|row| row.principal.clone()).chain(behind) {
        if let Entry::Vacant(place) = names.entry(id) {
            let row = admin.store.principal_by_id(tenant, place.key()).await?;
            let name = row.map_or_else(|| place.key().clone(), |row| row.name);
            place.insert(name);
        }
    }
    Ok(names)
}

/// A tenant's sums of refusals before a principal was proven.
#[utoipa::path(get, path = "/api/v1/audit/refusals", tag = "audit", params(SummaryQuery),
    responses((status = 200, body = Summaries), (status = 404, body = ApiError)))]
pub(super) async fn summaries(
    State(admin): State<Shared>,
    Query(query): Query<SummaryQuery>,
) -> Result<Json<Summaries>, ApiError> {
    let tenant = existing_tenant(&admin.store, &query.tenant).await?;
    let from = query.from.as_deref().map(|text| micros("from", text)).transpose()?.unwrap_or(0);
    let until = query.until.as_deref().map(|text| micros("until", text)).transpose()?.unwrap_or(i64::MAX);
    let rows = admin.store.audit_summaries(&tenant, from, until, query.limit.unwrap_or(50)).await?;
    let items = rows
        .into_iter()
        .map(|row| SummaryView {
            reason: row.reason,
            source: row.source,
            window_start: rfc3339(row.window_start),
            count: row.count,
        })
        .collect();
    Ok(Json(Summaries { items }))
}

/// The chain of a record, if it has one.
fn delegation(row: &AuditRecord) -> Option<DelegationFact> {
    #[derive(Deserialize)]
    struct Document {
        opened: Option<Opening>,
    }
    serde_json::from_slice::<Document>(&row.document).ok()?.opened?.delegation
}

/// The id in `agent:<id>`.
fn principal_of(agent: &str) -> &str {
    agent.strip_prefix("agent:").unwrap_or(agent)
}

fn show(row: AuditRecord, names: &HashMap<String, String>) -> Result<RecordView, ApiError> {
    let named = |agent: &str| names.get(principal_of(agent)).map_or_else(|| agent.to_owned(), Clone::clone);
    let delegation = delegation(&row).map(|fact| DelegationView {
        actor: named(&fact.actor),
        subject: named(&fact.subject),
        root: fact.root,
        parent: fact.parent,
        depth: fact.depth,
        chain: fact.chain,
    });
    Ok(RecordView {
        delegation,
        id: format!("{}-{}", row.writer, row.seq),
        tenant: row.tenant,
        opened_at: rfc3339(row.at_open),
        closed_at: row.at_close.map(rfc3339),
        principal: row.principal.as_ref().map(|id| names.get(id).unwrap_or(id).clone()),
        principal_id: row.principal,
        key_id: row.key_id,
        card: row.card,
        operation: row.operation,
        dialect: row.dialect,
        outcome: row.outcome,
        fault: row.fault,
        status: row.status,
        correlation_id: row.correlation_id,
        task_id: row.task_id,
        root: row.chain_root,
        detail: value(&row.document)?,
    })
}

fn cursor_at(row: &AuditRecord) -> AuditCursor {
    AuditCursor { at_open: row.at_open, seq: row.seq, writer: row.writer.clone() }
}

fn write_cursor(at: &AuditCursor) -> String {
    URL_SAFE_NO_PAD.encode(format!("{} {} {}", at.at_open, at.seq, at.writer))
}

pub(super) fn read_cursor(text: &str) -> Result<AuditCursor, ApiError> {
    let parse = || {
        let plain = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let mut words = plain.splitn(3, ' ');
        Some(AuditCursor {
            at_open: words.next()?.parse().ok()?,
            seq: words.next()?.parse().ok()?,
            writer: words.next()?.to_owned(),
        })
    };
    parse().ok_or_else(|| ApiError::invalid_field("cursor", "must be the next_cursor of the page before"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_up_cursor_is_refused() {
        assert!(read_cursor("nonsense").is_err());
        assert!(read_cursor(&URL_SAFE_NO_PAD.encode("1 2")).is_err());
    }
}
