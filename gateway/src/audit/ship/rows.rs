//! Spool facts → rows of the store.
//!
//! The columns are what is searched for; the document is the spool's own JSON, `{"opened":…,"closed":…}`, byte for byte.

use std::collections::BTreeSet;

use serde::Deserialize;
use store::{AuditMark, AuditRecord, AuditSummary};

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

/// A closed record, both halves in one, and what it is found by besides its columns.
pub(crate) fn closed(
    writer: &str,
    seq: u64,
    opened: Option<(&Opening, &[u8])>,
    json: &[u8],
) -> (AuditRecord, Vec<AuditMark>) {
    let closing: Closing = serde_json::from_slice(json).unwrap_or_default();
    let lost = Opening { at_us: closing.at_us, tenant: UNKNOWN.to_owned(), ..Opening::default() };
    let (opening, opened) = opened.unwrap_or((&lost, b"null"));
    let marks = marks(&closing);
    let record = AuditRecord {
        at_close: Some(closing.at_us),
        operation: closing.operation,
        dialect: closing.dialect.or_else(|| opening.dialect.clone()),
        outcome: closing.outcome.as_str().to_owned(),
        fault: closing.fault,
        status: closing.status.map(i64::from),
        task_id: closing.task_id,
        document: [b"{\"opened\":", opened, b",\"closed\":", json, b"}"].concat(),
        ..open(writer, seq, opening, b"")
    };
    let mark = |mark| AuditMark {
        mark,
        tenant: record.tenant.clone(),
        at_open: record.at_open,
        writer: record.writer.clone(),
        seq: record.seq,
    };
    let marks = marks.into_iter().map(mark).collect();
    (record, marks)
}

/// What the exchange is found by: its context, what detectors saw, whose policy stopped it, which policy or grant in shadow
/// mode would have. The admin API asks in these words ([`Mark`]).
fn marks(closing: &Closing) -> BTreeSet<String> {
    let mut marks = BTreeSet::new();
    marks.extend(closing.context_id.as_deref().map(|id| Mark::Context(id).to_string()));
    for finding in closing.findings.iter().filter(|finding| finding.detector != "more") {
        marks.insert(Mark::Finding(&finding.detector).to_string());
        marks.insert(Mark::Finding(finding.kind()).to_string());
        let (action, mode) = finding.action.split_once('/').unwrap_or((&finding.action, ""));
        let would = match (action, mode, finding.policy()) {
            ("block", "shadow", Some(policy)) => Mark::WouldBlock(policy),
            ("block", _, Some(policy)) => Mark::Blocked(policy),
            ("redact" | "mask" | "tokenise", "shadow", Some(policy)) => Mark::WouldChange(policy),
            ("deny", "shadow", None) => Mark::WouldDeny(finding.detector.split_once(':').map_or("", |(_, name)| name)),
            _ => continue,
        };
        marks.insert(would.to_string());
    }
    marks
}

/// What a record can be marked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark<'a> {
    /// This policy stopped it.
    Blocked(&'a str),
    /// It belongs to this context.
    Context(&'a str),
    /// A detector of this kind, or of this kind and name, saw something.
    Finding(&'a str),
    /// This policy, in shadow mode, would have stopped it.
    WouldBlock(&'a str),
    /// This policy, in shadow mode, would have changed what was said.
    WouldChange(&'a str),
    /// This grant, in shadow mode, would have had it denied.
    WouldDeny(&'a str),
}

impl std::fmt::Display for Mark<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, name) = match self {
            Self::Blocked(policy) => ("blocked", policy),
            Self::Context(id) => ("context", id),
            Self::Finding(detector) => ("finding", detector),
            Self::WouldBlock(policy) => ("would_block", policy),
            Self::WouldChange(policy) => ("would_change", policy),
            Self::WouldDeny(grant) => ("would_deny", grant),
        };
        write!(f, "{kind}:{name}")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::FindingFact;

    #[test]
    fn a_record_is_marked_with_what_it_will_be_asked_for_by() {
        let finding = |detector: &str, action: &str, policy: Option<&str>| FindingFact {
            detector: detector.to_owned(),
            action: action.to_owned(),
            by: policy.map(|name| format!("{name}@3")),
            ..FindingFact::default()
        };
        let findings = vec![
            finding("words:a", "block/shadow", Some("strict")),
            finding("words:b", "block/shadow", Some("strict")),
            finding("secret:key", "redact/shadow", Some("strict")),
            finding("secret:key", "redact/enforce", Some("floor")),
            finding("words:c", "block/enforce", Some("floor")),
            finding("words:c", "monitor/shadow", Some("strict")),
            finding("authz:calls", "deny/shadow", None),
            finding("more", "", None),
        ];
        let closing = Closing { findings, context_id: Some("ctx-1".to_owned()), ..Closing::default() };
        let expected = [
            "blocked:floor",
            "context:ctx-1",
            "finding:authz",
            "finding:authz:calls",
            "finding:secret",
            "finding:secret:key",
            "finding:words",
            "finding:words:a",
            "finding:words:b",
            "finding:words:c",
            "would_block:strict",
            "would_change:strict",
            "would_deny:calls",
        ];
        assert_eq!(marks(&closing).iter().map(String::as_str).collect::<Vec<_>>(), expected);
        assert!(marks(&Closing::default()).is_empty());
    }
}
