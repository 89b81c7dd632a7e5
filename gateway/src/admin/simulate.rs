//! Trying a policy before it is in force: texts in, what it would say to them out; or recorded exchanges, and what would
//! have become of their findings. Nothing is stored or recorded.

use super::Shared;
use super::body::{Document, under, value};
use super::error::ApiError;
use super::extract::{Path, State, limit};
use super::resource::{existing_tenant, micros, rfc3339};
use crate::audit::Closing;
use crate::simulate::recorded::{Exchange, Replayed, Written, replay};
use crate::simulate::{Simulated, simulate, surface};
use axum::Json;
use guard::Surface;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use store::{AuditCursor, AuditFilter, AuditRecord, TenantId};
use utoipa::ToSchema;

/// Most texts of one try.
const MOST_TEXTS: usize = 1_000;
/// Most recorded exchanges that are read.
const MOST_EXCHANGES: u32 = 10_000;
/// Exchanges that are weighed where nothing else is asked for.
const EXCHANGES: u32 = 1_000;
/// Records of one page.
const PAGE: u32 = 500;
/// Most earlier versions of policies that are compiled anew.
const MOST_VERSIONS: usize = 50;

/// What to try.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Try {
    /// The texts.
    #[serde(default)]
    texts: Vec<String>,
    /// Recorded exchanges to weigh: what their findings would have become.
    #[serde(default)]
    recorded: Option<Recorded>,
    /// `a2a_inbound`, `a2a_outbound` or `card`; by default the first that the policy guards.
    #[serde(default)]
    surface: Option<String>,
    /// A draft to try in place of the stored policy.
    #[serde(default)]
    #[expect(dead_code, reason = "read from the tree, which keeps its digits")]
    spec: Option<serde_json::Value>,
}

/// Which recorded exchanges.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Recorded {
    /// Begun at or after (RFC 3339).
    #[serde(default)]
    from: Option<String>,
    /// Begun before (RFC 3339).
    #[serde(default)]
    until: Option<String>,
    /// Of which card.
    #[serde(default)]
    card: Option<String>,
    /// Also those that this policy did not judge, as if it had.
    #[serde(default)]
    all: bool,
    /// At most this many, the newest (1 to 10 000, default 1 000).
    #[serde(default, deserialize_with = "limit::<_, MOST_EXCHANGES>")]
    limit: Option<u32>,
}

/// What it came to.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Tried {
    /// Which version was tried; 0 is a draft.
    version: i64,
    /// On which surface.
    surface: &'static str,
    /// One for each text.
    results: Vec<Simulated>,
    /// What the records say, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<Replayed>,
}

/// Says what a policy, or a draft of it, would do to some texts, and what would have become of the findings in recorded
/// exchanges. Texts of exchanges are not kept, so `recorded.unknown` says what can't be known. Nothing is stored.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/policies/{name}/simulate", tag = "policies",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = Try,
    responses((status = 200, body = Tried), (status = 400, body = ApiError), (status = 404, body = ApiError)))]
pub(super) async fn simulate_policy(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Document { typed, tree }: Document<Try>,
) -> Result<Json<Tried>, ApiError> {
    if typed.texts.len() > MOST_TEXTS {
        return Err(ApiError::invalid_field("texts", format!("more than {MOST_TEXTS} texts")));
    }
    let asked = match typed.surface.as_deref() {
        None => None,
        Some(name) => Some(
            Surface::from_name(name)
                .ok_or_else(|| ApiError::invalid_field("surface", "must be one of: a2a_inbound, a2a_outbound, card"))?,
        ),
    };
    let owner = existing_tenant(&admin.store, &tenant).await?;
    let (version, document) = match tree.get("spec") {
        Some(spec) => (0, json::write(spec)),
        None => {
            let row = admin.store.policy(&owner, &name).await?;
            let row = row.ok_or_else(|| ApiError::not_found("this policy"))?;
            (row.version, row.document)
        }
    };
    let compiled = admin.compiler.pipeline(&tenant, &name, version, &document);
    let pipeline = compiled.map_err(|problems| ApiError::invalid(under("spec", problems)))?;
    let surface = surface(&pipeline, asked);
    let draft = Written { pipeline, document: value(&document)? };
    let weighed = match &typed.recorded {
        Some(recorded) => Some(read_records(&admin, &owner, &name, recorded).await?),
        None => None,
    };
    let texts = typed.texts;
    let work = tokio::task::spawn_blocking(move || {
        let results = texts.iter().map(|text| simulate(&draft.pipeline, surface, text)).collect::<Vec<_>>();
        let recorded = weighed.map(|all| replay(&name, &draft, &all.known, &all.exchanges, all.more));
        (results, recorded)
    });
    let (results, recorded) = work.await.map_err(|_| ApiError::internal())?;
    Ok(Json(Tried { version, surface: surface.name(), results, recorded }))
}

/// What is to be weighed.
struct Weighed {
    exchanges: Vec<Exchange>,
    more: bool,
    /// The versions of policies that judged them, as far as they are kept.
    known: BTreeMap<String, Written>,
}

/// The newest exchanges that were asked for and are over, and what judged them.
async fn read_records(admin: &Shared, tenant: &TenantId, name: &str, asked: &Recorded) -> Result<Weighed, ApiError> {
    let filter = AuditFilter {
        from: asked.from.as_deref().map(|text| micros("recorded.from", text)).transpose()?,
        until: asked.until.as_deref().map(|text| micros("recorded.until", text)).transpose()?,
        card: asked.card.clone(),
        ..AuditFilter::default()
    };
    let most = asked.limit.unwrap_or(EXCHANGES) as usize;
    let (mut exchanges, mut after, mut read) = (Vec::new(), None, 0_usize);
    let more = loop {
        let rows = admin.store.audit_query(tenant, &filter, after.as_ref(), PAGE).await?;
        let full = rows.len() == PAGE as usize;
        let last = rows.last().map(cursor_of);
        read = read.saturating_add(rows.len());
        let judged = |one: &Exchange| asked.all || one.policies.iter().any(|by| is_version_of(by, name));
        exchanges.extend(rows.into_iter().filter_map(exchange).filter(judged));
        if exchanges.len() > most {
            exchanges.truncate(most);
            break true;
        }
        // What fits may be rare: no more is read than may be told.
        if !full || read >= MOST_EXCHANGES as usize {
            break full;
        }
        after = last;
    };
    let known = versions(admin, tenant, &exchanges).await?;
    Ok(Weighed { exchanges, more, known })
}

fn cursor_of(row: &AuditRecord) -> AuditCursor {
    AuditCursor { at_open: row.at_open, writer: row.writer.clone(), seq: row.seq }
}

fn is_version_of(by: &str, name: &str) -> bool {
    by.rsplit_once('@').is_some_and(|(policy, _)| policy == name)
}

/// None while it is open: nobody knows yet how it ends.
fn exchange(row: AuditRecord) -> Option<Exchange> {
    #[derive(Deserialize)]
    struct Document {
        closed: Option<Closing>,
    }
    let closed = serde_json::from_slice::<Document>(&row.document).ok()?.closed?;
    let policies = closed.policy.as_deref().unwrap_or_default().split(", ");
    Some(Exchange {
        id: format!("{}-{}", row.writer, row.seq),
        opened_at: rfc3339(row.at_open),
        card: row.card,
        outcome: row.outcome,
        policies: policies.filter(|policy| !policy.is_empty()).map(str::to_owned).collect(),
        findings: closed.findings,
    })
}

/// The versions of policies that judged the exchanges. One that is gone, or does not compile any more, is left out.
async fn versions(
    admin: &Shared,
    tenant: &TenantId,
    exchanges: &[Exchange],
) -> Result<BTreeMap<String, Written>, ApiError> {
    let named: BTreeSet<&str> = exchanges.iter().flat_map(|one| &one.policies).map(String::as_str).collect();
    let mut known = BTreeMap::new();
    for by in named.into_iter().take(MOST_VERSIONS) {
        let Some((policy, version)) = by.rsplit_once('@') else { continue };
        let (Some(row), Ok(version)) = (admin.store.policy(tenant, policy).await?, version.parse::<i64>()) else {
            continue;
        };
        let kept = admin.store.policy_history(tenant, &row.id, version.saturating_add(1), 1).await?;
        let Some(kept) = kept.into_iter().find(|kept| kept.version == version) else { continue };
        let Ok(pipeline) = admin.compiler.pipeline(tenant.as_str(), policy, version, &kept.document) else { continue };
        known.insert(by.to_owned(), Written { pipeline, document: value(&kept.document)? });
    }
    Ok(known)
}
