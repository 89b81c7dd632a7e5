//! Spool facts → rows of the store.
//!
//! The columns are what is searched for; the document is the spool's own JSON, `{"opened":…,"closed":…}`, byte for byte.

use serde::Deserialize;
use store::{AuditRecord, AuditSummary};

use crate::audit::record::{Closing, Opening};
use crate::audit::summary::Sum;
use crate::clock::Micros;

/// The tenant of a record whose opening was damaged.
const UNKNOWN: &str = "unknown";

/// A record that is still open.
pub(crate) fn open(writer: &str, seq: u64, opening: &Opening, json: &[u8]) -> AuditRecord {
    AuditRecord {
        writer: writer.to_owned(),
        seq: i64::try_from(seq).unwrap_or(i64::MAX),
        tenant: opening.tenant.clone(),
        at_open: opening.at_us,
        at_close: None,
        principal: opening.principal.clone(),
        key_id: opening.key_id.clone(),
        card: opening.card.clone(),
        operation: None,
        dialect: opening.dialect.clone(),
        outcome: "open".to_owned(),
        fault: None,
        status: None,
        correlation_id: opening.correlation_id.clone(),
        task_id: None,
        chain_root: root(opening).map(str::to_owned),
        document: [b"{\"opened\":", json, b"}"].concat(),
    }
}

/// The call that the tree of this one began with: that of its chain, else itself, by the id that no caller chose. None where
/// the opening was damaged.
fn root(opening: &Opening) -> Option<&str> {
    let chain = opening.delegation.as_ref().map(|chain| &chain.root);
    let own = opening.own_id.as_ref().unwrap_or(&opening.correlation_id);
    Some(chain.unwrap_or(own).as_str()).filter(|root| !root.is_empty())
}

/// A closed record, both halves in one.
pub(crate) fn closed(writer: &str, seq: u64, opened: Option<(&Opening, &[u8])>, json: &[u8]) -> AuditRecord {
    let closing: Closing = serde_json::from_slice(json).unwrap_or_default();
    let lost = Opening { at_us: closing.at_us, tenant: UNKNOWN.to_owned(), ..Opening::default() };
    let (opening, opened) = opened.unwrap_or((&lost, b"null"));
    AuditRecord {
        at_close: Some(closing.at_us),
        operation: closing.operation,
        dialect: closing.dialect.or_else(|| opening.dialect.clone()),
        outcome: closing.outcome.as_str().to_owned(),
        fault: closing.fault,
        status: closing.status.map(i64::from),
        task_id: closing.task_id,
        document: [b"{\"opened\":", opened, b",\"closed\":", json, b"}"].concat(),
        ..open(writer, seq, opening, b"")
    }
}

/// A sum of refusals.
pub(crate) fn summary(writer: &str, json: &[u8]) -> Option<AuditSummary> {
    let sum: Sum = serde_json::from_slice(json).ok()?;
    Some(AuditSummary {
        writer: writer.to_owned(),
        tenant: sum.tenant,
        reason: sum.reason,
        source: sum.source,
        window_start: sum.window_us,
        count: i64::try_from(sum.count).unwrap_or(i64::MAX),
    })
}

#[derive(Deserialize)]
struct Gap {
    count: i64,
    from_us: Micros,
}

/// Calls that were served without a record, by choice: told as a sum under a reason of its own.
pub(crate) fn gap(writer: &str, json: &[u8]) -> Option<AuditSummary> {
    let gap: Gap = serde_json::from_slice(json).ok()?;
    Some(AuditSummary {
        writer: writer.to_owned(),
        tenant: String::new(),
        reason: "unrecorded".to_owned(),
        source: String::new(),
        window_start: gap.from_us,
        count: gap.count,
    })
}
