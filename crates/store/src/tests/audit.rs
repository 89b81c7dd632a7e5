//! Audit records and sums of refusals.

use super::*;
use crate::{AuditCursor, AuditFilter, AuditRecord, AuditSummary};

fn open(seq: i64) -> AuditRecord {
    AuditRecord {
        writer: "w1".to_owned(),
        seq,
        tenant: "acme".to_owned(),
        at_open: 1_000 + seq,
        at_close: None,
        principal: Some("prn-1".to_owned()),
        key_id: Some("key-1".to_owned()),
        card: Some("echo".to_owned()),
        operation: None,
        dialect: Some("v10/jsonrpc".to_owned()),
        outcome: "open".to_owned(),
        fault: None,
        status: None,
        correlation_id: format!("cor-{seq}"),
        task_id: None,
        chain_root: Some(format!("cor-{}", seq / 3 * 3)),
        document: b"{}".to_vec(),
    }
}

pub(super) fn closed(seq: i64) -> AuditRecord {
    AuditRecord {
        at_close: Some(2_000 + seq),
        operation: Some("send".to_owned()),
        outcome: "ok".to_owned(),
        fault: Some("none".to_owned()),
        status: Some(200),
        task_id: Some(format!("task-{seq}")),
        document: b"{\"findings\":[]}".to_vec(),
        ..open(seq)
    }
}

fn sum(reason: &str, window_start: i64, count: i64) -> AuditSummary {
    AuditSummary {
        writer: "w1".to_owned(),
        tenant: "acme".to_owned(),
        reason: reason.to_owned(),
        source: "192.0.2.1".to_owned(),
        window_start,
        count,
    }
}

async fn all(store: &Store) -> Vec<AuditRecord> {
    store.audit_query(&tenant_id("acme"), &AuditFilter::default(), None, 1000).await.unwrap()
}

on_both! {
    async fn record_is_kept_as_written(given) {
        let store = given.store;
        store.append_audit(&[]).await.unwrap();
        store.append_audit(&[open(1), closed(2)]).await.unwrap();
        assert_eq!(all(&store).await, [closed(2), open(1)]);
    }

    async fn closing_replaces_opening_and_nothing_replaces_closing(given) {
        let store = given.store;
        store.append_audit(&[open(1)]).await.unwrap();
        store.append_audit(&[AuditRecord { document: b"again".to_vec(), ..open(1) }]).await.unwrap();
        assert_eq!(all(&store).await, [open(1)], "an opening written twice stays as it was");
        store.append_audit(&[closed(1)]).await.unwrap();
        assert_eq!(all(&store).await, [closed(1)]);
        store.append_audit(&[open(1)]).await.unwrap();
        let other = AuditRecord { outcome: "interrupted".to_owned(), at_close: Some(9_999), ..closed(1) };
        store.append_audit(&[other]).await.unwrap();
        assert_eq!(all(&store).await, [closed(1)]);
    }

    async fn batch_may_hold_a_record_several_times_in_any_order(given) {
        let store = given.store;
        store.append_audit(&[closed(1), open(1), open(2), closed(2), open(2), open(3)]).await.unwrap();
        assert_eq!(all(&store).await, [open(3), closed(2), closed(1)]);
    }

    async fn batches_over_five_hundred_are_written_whole_and_once(given) {
        let store = given.store;
        let records: Vec<_> = (0..1_203).map(closed).collect();
        store.append_audit(&records).await.unwrap();
        store.append_audit(&records).await.unwrap();
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let page = store.audit_query(&tenant_id("acme"), &AuditFilter::default(), after.as_ref(), 1000).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(AuditCursor { at_open: last.at_open, writer: last.writer.clone(), seq: last.seq });
            seen.extend(page);
        }
        seen.reverse();
        assert_eq!(seen, records);
        assert_eq!(store.audit_high_water("w1").await, Ok(Some(1_202)));
        assert_eq!(store.audit_high_water("w2").await, Ok(None));
    }

    async fn writers_shipping_the_same_records_at_once_double_nothing(given) {
        let store = given.store;
        let mut running = tokio::task::JoinSet::new();
        for turn in 0..4 {
            let store = store.clone();
            let mut records: Vec<_> = (0..700).map(|seq| if turn == 0 { closed(seq) } else { open(seq) }).collect();
            if turn % 2 == 1 {
                records.reverse();
            }
            running.spawn(async move { store.append_audit(&records).await.unwrap() });
        }
        running.join_all().await;
        let mut stored = all(&store).await;
        stored.reverse();
        assert_eq!(stored, (0..700).map(closed).collect::<Vec<_>>());
    }

    async fn records_of_equal_time_page_without_gap_or_repeat(given) {
        let store = given.store;
        let same: Vec<_> = (0..7).map(|n| AuditRecord { writer: format!("w{}", n % 3), at_open: 5, ..closed(n) }).collect();
        store.append_audit(&same).await.unwrap();
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let page = store.audit_query(&tenant_id("acme"), &AuditFilter::default(), after.as_ref(), 2).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(AuditCursor { at_open: last.at_open, writer: last.writer.clone(), seq: last.seq });
            seen.extend(page.into_iter().map(|record| (record.writer, record.seq)));
        }
        let mut wanted: Vec<_> = same.into_iter().map(|record| (record.writer, record.seq)).collect();
        wanted.sort();
        wanted.reverse();
        assert_eq!(seen, wanted);
    }

    async fn filters_narrow(given) {
        let store = given.store;
        let odd = AuditRecord {
            principal: Some("prn-9".to_owned()), card: Some("other".to_owned()), operation: Some("cancel".to_owned()),
            outcome: "blocked".to_owned(), ..closed(5)
        };
        store.append_audit(&[closed(1), closed(2), closed(3), open(4), odd.clone()]).await.unwrap();
        let acme = tenant_id("acme");
        let find = async |filter: AuditFilter| {
            let found = store.audit_query(&acme, &filter, None, 100).await.unwrap();
            found.into_iter().map(|record| record.seq).collect::<Vec<_>>()
        };
        let any = AuditFilter::default;
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(find(AuditFilter { from: Some(1_003), until: Some(1_005), ..any() }).await, [4, 3]);
        assert_eq!(find(AuditFilter { principal: text("prn-9"), ..any() }).await, [5]);
        assert_eq!(find(AuditFilter { card: text("other"), ..any() }).await, [5]);
        assert_eq!(find(AuditFilter { operation: text("send"), ..any() }).await, [3, 2, 1]);
        assert_eq!(find(AuditFilter { outcome: text("open"), ..any() }).await, [4]);
        assert_eq!(find(AuditFilter { correlation_id: text("cor-2"), ..any() }).await, [2]);
        assert_eq!(find(AuditFilter { task_id: text("task-3"), ..any() }).await, [3]);
        assert_eq!(find(AuditFilter { task_id: text("task-3"), outcome: text("blocked"), ..any() }).await, []);
    }

    async fn a_tree_comes_from_its_first_call_on(given) {
        let store = given.store;
        // Of two replicas whose records arrive in any order; two calls began at once.
        let of = |writer: &str, seq: i64, at_open: i64, root: Option<&str>| AuditRecord {
            writer: writer.to_owned(), at_open, chain_root: root.map(str::to_owned), ..closed(seq)
        };
        let tree = [
            of("w2", 7, 10, Some("r")), of("w1", 1, 11, Some("r")), of("w2", 1, 11, Some("r")), of("w1", 9, 40, Some("r")),
        ];
        let mut rows = tree.to_vec();
        rows.extend([of("w1", 2, 12, Some("other")), of("w1", 3, 13, None), of("w2", 3, 41, Some("R"))]);
        rows.reverse();
        store.append_audit(&rows).await.unwrap();
        let acme = tenant_id("acme");
        let root = AuditFilter { chain_root: Some("r".to_owned()), ..AuditFilter::default() };
        assert_eq!(store.audit_query(&acme, &root, None, 9).await.as_deref(), Ok(&tree[..]));
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = store.audit_query(&acme, &root, after.as_ref(), 3).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(AuditCursor { at_open: last.at_open, writer: last.writer.clone(), seq: last.seq });
            seen.extend(page);
        }
        assert_eq!(seen, tree);
        let narrowed = AuditFilter { from: Some(11), until: Some(40), task_id: Some("task-1".to_owned()), ..root };
        assert_eq!(store.audit_query(&acme, &narrowed, None, 9).await.as_deref(), Ok(&tree[1..3]));
        let none = AuditFilter { chain_root: Some(String::new()), ..AuditFilter::default() };
        assert_eq!(store.audit_query(&acme, &none, None, 9).await, Ok(Vec::new()));
    }

    async fn an_older_database_learns_of_roots_and_keeps_its_records(given) {
        let store = &given.store;
        store.append_audit(&[open(9)]).await.unwrap();
        for statement in [
            "DROP INDEX audit_records_by_root",
            "ALTER TABLE audit_records DROP COLUMN chain_root",
            "DELETE FROM _sqlx_migrations WHERE version = 6",
        ] {
            given.execute(statement).await;
        }
        assert_eq!(store.pending_migrations().await, Ok(vec![6]));
        store.migrate().await.unwrap();
        assert_eq!(all(store).await, [AuditRecord { chain_root: None, ..open(9) }]);
        store.append_audit(&[closed(9)]).await.unwrap();
        assert_eq!(all(store).await, [closed(9)]);
    }

    async fn hostile_text_stops_no_batch_and_is_found_again(given) {
        let store = given.store;
        let long = "é".repeat(5_000);
        let hostile = AuditRecord { task_id: Some("a\0b".to_owned()), correlation_id: long.clone(), ..closed(1) };
        store.append_audit(&[hostile, closed(2)]).await.unwrap();
        assert_eq!(all(&store).await.len(), 2);
        for filter in [
            AuditFilter { task_id: Some("a\0b".to_owned()), ..AuditFilter::default() },
            AuditFilter { correlation_id: Some(long), ..AuditFilter::default() },
        ] {
            let found = store.audit_query(&tenant_id("acme"), &filter, None, 9).await.unwrap();
            assert_eq!(found.iter().map(|record| record.seq).collect::<Vec<_>>(), [1]);
        }
        store.append_audit_summaries(&[sum("\0", 1, 1)]).await.unwrap();
    }

    async fn sums_keep_the_greater_count(given) {
        let store = given.store;
        let acme = tenant_id("acme");
        store.append_audit_summaries(&[sum("bad_key", 10, 3), sum("no_key", 10, 1), sum("bad_key", 20, 7)]).await.unwrap();
        store.append_audit_summaries(&[sum("bad_key", 10, 5), sum("bad_key", 20, 2)]).await.unwrap();
        let wanted = vec![sum("bad_key", 20, 7), sum("bad_key", 10, 5), sum("no_key", 10, 1)];
        assert_eq!(store.audit_summaries(&acme, 0, 100, 10).await, Ok(wanted.clone()));
        assert_eq!(store.audit_summaries(&acme, 10, 20, 10).await, Ok(wanted[1..].to_vec()));
        assert_eq!(store.audit_summaries(&acme, 0, 100, 1).await, Ok(wanted[..1].to_vec()));
    }
}

on_both! {
    async fn figures_count_by_slot_outcome_and_duration(given) {
        let store = given.store;
        let record = |seq: i64, at_open: i64, took: i64, outcome: &str| AuditRecord {
            writer: "w".to_owned(), seq, tenant: "acme".to_owned(), at_open, at_close: Some(at_open + took),
            principal: Some("prn-1".to_owned()), key_id: None, card: Some("echo".to_owned()), operation: None,
            dialect: None, outcome: outcome.to_owned(), fault: None, status: None, correlation_id: format!("c{seq}"),
            task_id: None, chain_root: None, document: Vec::new(),
        };
        let records = [
            record(1, 60_000_000, 3_000, "ok"), record(2, 61_000_000, 4_000, "ok"),
            record(3, 119_999_999, 400_000, "blocked"), record(4, 120_000_000, 99_000_000, "ok"),
            record(5, 5, 1, "ok"),
        ];
        store.append_audit(&records).await.unwrap();
        let mut slots = store.audit_slots(&tenant_id("acme"), 60_000_000, 60_000_000).await.unwrap();
        slots.sort_by_key(|one| (one.slot, one.outcome.clone()));
        let told: Vec<_> = slots.iter().map(|one| (one.slot, one.outcome.as_str(), one.bucket, one.count)).collect();
        assert_eq!(told, vec![(1, "blocked", 8, 1), (1, "ok", 2, 2), (2, "ok", 12, 1)]);
        let edges = store.audit_edges(&tenant_id("acme"), 0).await.unwrap();
        let told: Vec<_> = edges.iter().map(|one| (one.outcome.as_str(), one.count, one.last)).collect();
        assert_eq!(told, vec![("ok", 4, 120_000_000), ("blocked", 1, 119_999_999)]);
        assert_eq!(store.audit_slots(&tenant_id("other"), 0, 1).await, Ok(Vec::new()));
        assert_eq!(store.audit_edges(&tenant_id("other"), 0).await, Ok(Vec::new()));
    }
}
