//! The audit as it stands in the store, and what must be true of it.

use crate::caller::DEADLINE;
use crate::ledger::Entries;
use crate::world::TENANT;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use store::{AuditCursor, AuditFilter, AuditRecord, Store, TenantId};
use tokio::time::Instant;

/// Waits until the spool below `dir` holds nothing of earlier processes.
pub(crate) async fn shipped(dir: &Path) {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let writers = writers(&dir.join("audit"));
        if writers.len() <= 1 {
            return;
        }
        assert!(Instant::now() < deadline, "the spool still holds records of {writers:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn writers(spool: &Path) -> BTreeSet<String> {
    let files = std::fs::read_dir(spool).unwrap().map(|entry| entry.unwrap().file_name());
    let names = files.filter_map(|name| name.into_string().ok());
    let names: Vec<String> = names.collect();
    assert!(!names.iter().any(|name| name.starts_with("rejected")), "the store refused records: {names:?}");
    let segments = names.iter().filter_map(|name| name.strip_suffix(".seg")?.rsplit_once('-'));
    segments.map(|(writer, _)| writer.to_owned()).collect()
}

/// Every record of the tenant.
pub(crate) async fn all(store: &Store) -> Vec<AuditRecord> {
    let tenant = TenantId::new(TENANT).unwrap();
    let (mut all, mut after): (Vec<AuditRecord>, Option<AuditCursor>) = (Vec::new(), None);
    loop {
        let page = store.audit_query(&tenant, &AuditFilter::default(), after.as_ref(), 1000).await.unwrap();
        let Some(last) = page.last() else { return all };
        after = Some(AuditCursor { at_open: last.at_open, writer: last.writer.clone(), seq: last.seq });
        all.extend(page);
    }
}

/// What was found, for people.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) records: usize,
    pub(crate) acknowledged: usize,
    pub(crate) interrupted: usize,
}

/// Every acknowledged request has exactly one record, closed as `ok`; no record is doubled, open or about a request
/// that was never sent.
pub(crate) fn check(records: &[AuditRecord], entries: &Entries) -> Found {
    let mut by_id: BTreeMap<&str, Vec<&AuditRecord>> = BTreeMap::new();
    for record in records {
        by_id.entry(&record.correlation_id).or_default().push(record);
    }
    for (id, of_one) in &by_id {
        assert_eq!(of_one.len(), 1, "{id} has more than one record: {of_one:?}");
        assert!(entries.sent.contains(*id), "nobody sent {id}: {of_one:?}");
        assert!(of_one.iter().all(|record| record.at_close.is_some()), "a record is still open: {of_one:?}");
        // Answered, whether or not the answer was read to its end; or killed before it was.
        let ended = |record: &&AuditRecord| matches!(record.outcome.as_str(), "interrupted" | "ok");
        assert!(of_one.iter().all(ended), "{of_one:?}");
    }
    for (id, answer) in &entries.answered {
        assert_eq!(answer.correlation_id.as_ref(), Some(id), "the answer names another exchange");
        let Some([record]) = by_id.get(id.as_str()).map(Vec::as_slice) else { panic!("no record of {id}: {answer:?}") };
        assert_eq!(record.status, Some(i64::from(answer.status)), "{record:?}");
        assert_eq!((answer.status, record.outcome.as_str()), (200, "ok"), "{record:?}");
    }
    let outcome = |name: &str| records.iter().filter(|record| record.outcome == name).count();
    Found { records: records.len(), acknowledged: entries.answered.len(), interrupted: outcome("interrupted") }
}
