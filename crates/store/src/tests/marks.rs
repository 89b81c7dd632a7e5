//! Marks of audit records, and the audit at a size: whatever is searched for, an index leads to each page.

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, ConnectOptions, Row};

use super::*;
use crate::audit::STATEMENTS as AUDIT;
use crate::marks::STATEMENTS as MARKS;
use crate::{AuditCalls, AuditCursor, AuditFilter, AuditMark, AuditMarkCount, AuditRecord, testing};
use crate::{Pools, Trouble};

/// Rows that the audit holds here, times `SCALE`.
fn many() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "how much is tested")]
    let scale = std::env::var("SCALE").ok().and_then(|scale| scale.parse::<i64>().ok());
    100_000 * scale.unwrap_or(1).max(1)
}

fn mark(mark: &str, seq: i64) -> AuditMark {
    AuditMark { tenant: "acme".to_owned(), mark: mark.to_owned(), at_open: 1_000 + seq, writer: "w1".to_owned(), seq }
}

fn at(record: &AuditRecord) -> AuditCursor {
    AuditCursor { at_open: record.at_open, writer: record.writer.clone(), seq: record.seq }
}

on_both! {
    async fn marks_are_kept_once_and_lead_to_their_records(given) {
        let (store, acme) = (given.store, tenant_id("acme"));
        let records: Vec<_> = (0..40).map(audit::closed).collect();
        let marks: Vec<_> = (0..40).filter(|seq| seq % 3 == 0).map(|seq| mark("would_block:strict", seq)).collect();
        store.append_audit_marks(&marks).await.unwrap();
        store.append_audit_marks(&marks).await.unwrap();
        store.append_audit_marks(&[mark("finding:words", 7), mark("would_block:strict", 99)]).await.unwrap();
        store.append_audit(&records).await.unwrap();
        let any = AuditFilter::default();
        let found = store.audit_marked(&acme, "would_block:strict", &any, None, 5).await.unwrap();
        assert_eq!(found.iter().map(|row| row.seq).collect::<Vec<_>>(), [39, 36, 33, 30, 27]);
        let rest = store.audit_marked(&acme, "would_block:strict", &any, Some(&at(&found[4])), 100).await.unwrap();
        assert_eq!(rest.iter().map(|row| row.seq).collect::<Vec<_>>(), [24, 21, 18, 15, 12, 9, 6, 3, 0]);
        let narrow = AuditFilter { from: Some(1_006), until: Some(1_013), outcome: Some("ok".to_owned()), ..any.clone() };
        let narrow = store.audit_marked(&acme, "would_block:strict", &narrow, None, 100).await.unwrap();
        assert_eq!(narrow.iter().map(|row| row.seq).collect::<Vec<_>>(), [12, 9, 6]);
        let blocked = AuditFilter { outcome: Some("blocked".to_owned()), ..any.clone() };
        assert!(store.audit_marked(&acme, "would_block:strict", &blocked, None, 100).await.unwrap().is_empty());
        assert!(store.audit_marked(&tenant_id("other"), "finding:words", &any, None, 9).await.unwrap().is_empty());
        let count = store.audit_mark_count(&acme, "would_block:strict", 1_030, 100).await.unwrap();
        assert_eq!(count, AuditMarkCount { count: 5, first: Some(1_030), last: Some(1_099) });
        assert_eq!(store.audit_mark_count(&acme, "would_block:strict", 0, 3).await.unwrap().count, 3, "it stops there");
        let nothing = AuditMarkCount { count: 0, first: None, last: None };
        assert_eq!(store.audit_mark_count(&acme, "nobody:knows", 0, 3).await.unwrap(), nothing);
        let calls = |count| vec![AuditCalls { card: "echo".to_owned(), count }];
        assert_eq!(store.audit_calls(&acme, 1_030, 100).await.unwrap(), calls(10));
        assert_eq!(store.audit_calls(&acme, 0, 7).await.unwrap(), calls(7));
    }

    async fn a_store_says_whether_it_takes_writes(given) {
        assert_eq!(given.store.takes_writes().await, Ok(true));
        assert_eq!(given.store.takes_writes().await, Ok(true), "asking changes nothing");
        let closed = if given.url.starts_with("postgres") {
            let joint = if given.url.contains('?') { '&' } else { '?' };
            let url = format!("{}{joint}options[default_transaction_read_only]=on", given.url);
            Store::open(&url, Pools::default()).await.unwrap()
        } else {
            testing::execute_on(&given.store, "PRAGMA query_only = 1").await;
            given.store.clone()
        };
        assert_eq!(closed.takes_writes().await, Ok(false));
        let refused = closed.create_tenant(&tenant_id("late"), &tenant_fields(), 1).await.unwrap_err();
        assert_eq!(refused.trouble(), Some(Trouble::ReadOnly), "{refused:?}");
        assert_eq!(closed.revision().await, Ok(0), "it can still be read");
    }
}

#[tokio::test]
async fn a_store_without_room_says_so() {
    let given = testing::sqlite_file().await;
    let acme = furnish(&given.store, "acme").await;
    // Not less than it has: no page more.
    testing::execute_on(&given.store, "PRAGMA max_page_count = 1").await;
    let policy = NewPolicy { document: vec![b' '; 1 << 20], ..new_policy("pol-large", "large") };
    let refused = given.store.create_policy(&acme, &policy, 9).await.unwrap_err();
    assert_eq!(refused.trouble(), Some(Trouble::Full), "{refused:?}");
    let sqlstate = |code: &str| crate::Error::Unavailable { cause: crate::Cause::Code(code.to_owned()) }.trouble();
    assert_eq!([sqlstate("53100"), sqlstate("25006")], [Some(Trouble::Full), Some(Trouble::ReadOnly)]);
    assert_eq!([sqlstate("08006"), sqlstate("5"), sqlstate("")], [None; 3]);
    assert_eq!(sqlstate("1032"), Some(Trouble::ReadOnly), "an extended code of SQLite");
}

/// The first and the last page of a walk, each read again and again: the least time of each.
async fn pages(store: &Store, acme: &TenantId, marked: Option<&str>) -> (usize, Duration, Duration) {
    let read = async |after: Option<&AuditCursor>| {
        let any = AuditFilter::default();
        match marked {
            Some(mark) => store.audit_marked(acme, mark, &any, after, 500).await.unwrap(),
            None => store.audit_query(acme, &any, after, 500).await.unwrap(),
        }
    };
    let (mut seen, mut after, mut last): (usize, Option<AuditCursor>, Option<AuditCursor>) = (0, None, None);
    let mut before = i64::MAX;
    loop {
        let page = read(after.as_ref()).await;
        for row in &page {
            assert!(row.seq < before, "newest first, each once");
            before = row.seq;
        }
        seen += page.len();
        if page.len() < 500 {
            break;
        }
        (last, after) = (after, page.last().map(at));
    }
    let mut least = [Duration::MAX; 2];
    for _ in 0..15 {
        for (place, least) in [None, last.as_ref()].into_iter().zip(&mut least) {
            let began = Instant::now();
            assert_eq!(read(place).await.len(), 500);
            *least = began.elapsed().min(*least);
        }
    }
    (seen, least[0], least[1])
}

/// The last page costs what the first does: nothing is skipped over, nothing sorted.
async fn every_page_costs_the_same(given: TestStore) {
    given.fill_audit(many()).await;
    let acme = tenant_id("acme");
    let all = usize::try_from(many()).unwrap();
    for (marked, expected) in [(None, all), (Some("would_block:strict"), all / 10)] {
        let (seen, first, last) = pages(&given.store, &acme, marked).await;
        assert_eq!(seen, expected);
        assert!(last < first * 4 + Duration::from_millis(2), "{marked:?}: the last page {last:?}, the first {first:?}");
        println!(
            "{expected} rows, {marked:?}: last page / first page = {:.2}",
            last.as_secs_f64() / first.as_secs_f64()
        );
    }
    // One in a hundred thousand is found by its index, not by looking at all.
    for filter in [
        AuditFilter { correlation_id: Some("cor-17".to_owned()), ..AuditFilter::default() },
        AuditFilter { task_id: Some("task-3".to_owned()), ..AuditFilter::default() },
    ] {
        let expected = if filter.task_id.is_some() { 10 } else { 1 };
        assert_eq!(given.store.audit_query(&acme, &filter, None, 500).await.unwrap().len(), expected);
    }
}

#[tokio::test]
async fn every_page_of_a_large_audit_costs_the_same_on_sqlite() {
    every_page_costs_the_same(testing::sqlite_file().await).await;
}

#[tokio::test]
async fn every_page_of_a_large_audit_costs_the_same_on_postgres() {
    let Some(given) = testing::postgres().await else { return };
    every_page_costs_the_same(given).await;
}

/// Statements of the audit view, and the index that each has to use.
const PLANS: &[(&str, &str)] = &[
    ("QUERY", "audit_records_by_time"),
    ("BY_CORRELATION", "audit_records_by_correlation"),
    ("BY_TASK", "audit_records_by_task"),
    ("TREE", "audit_records_by_root"),
    ("MARKED", "audit_marks"),
    ("COUNT", "audit_marks"),
    ("CALLS", "audit_records_by_time"),
];

fn statement(name: &str) -> &'static str {
    let all = [AUDIT.both, MARKS.both].concat();
    all.iter().find(|(own, _)| *own == name).unwrap_or_else(|| panic!("{name} is a statement")).1
}

#[tokio::test]
async fn every_search_uses_its_index_on_sqlite() {
    let given = testing::sqlite_file().await;
    given.fill_audit(many()).await;
    let options: sqlx::sqlite::SqliteConnectOptions = given.url.parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    for (name, index) in PLANS {
        let sql = format!("EXPLAIN QUERY PLAN {}", statement(name));
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind("acme");
        query = match *name {
            "COUNT" => query.bind("would_block:strict").bind(0_i64).bind(100_000_i64),
            "CALLS" => query.bind(0_i64).bind(500_i64),
            _ => query
                .bind(i64::MIN)
                .bind(i64::MAX)
                .bind(None::<&str>)
                .bind(None::<&str>)
                .bind(None::<&str>)
                .bind(None::<&str>)
                .bind((*name == "BY_CORRELATION").then_some("cor-17"))
                .bind((*name == "BY_TASK").then_some("task-3"))
                .bind(i64::MAX)
                .bind("")
                .bind(0_i64)
                .bind(101_i64),
        };
        query = match *name {
            "TREE" => query.bind("cor-17"),
            "MARKED" => query.bind("would_block:strict"),
            _ => query,
        };
        let rows = query.fetch_all(&mut connection).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get::<String, _>("detail")).collect();
        let plan = plan.join("\n");
        let is_used =
            plan.contains(index) || *index == "audit_marks" && plan.contains("SEARCH audit_marks USING PRIMARY KEY");
        assert!(is_used && !plan.contains("SCAN audit_"), "{name}: {plan}");
        assert!(!plan.contains("USE TEMP B-TREE FOR ORDER BY"), "{name} sorts: {plan}");
    }
}

#[tokio::test]
async fn every_search_uses_its_index_on_postgres() {
    let Some(given) = testing::postgres().await else { return };
    given.fill_audit(20_000).await;
    let options: sqlx::postgres::PgConnectOptions = given.url.parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    let text = "'acme'";
    let arguments = |name: &str| match name {
        "COUNT" => format!("{text}, 'would_block:strict', 0, 100000"),
        "CALLS" => format!("{text}, 0, 500"),
        _ => {
            let (correlation, task) = ("'cor-17'", "'task-3'");
            let correlation = if name == "BY_CORRELATION" { correlation } else { "NULL" };
            let task = if name == "BY_TASK" { task } else { "NULL" };
            let more = match name {
                "TREE" => ", 'cor-17'",
                "MARKED" => ", 'would_block:strict'",
                _ => "",
            };
            format!(
                "{text}, 0, {}, NULL, NULL, NULL, NULL, {correlation}, {task}, 9000000000, 'w', 0, 101{more}",
                i64::MAX
            )
        }
    };
    // As the planner sees it with the values known, and without.
    for mode in ["force_custom_plan", "force_generic_plan"] {
        for (name, index) in PLANS {
            for sql in [
                format!("SET plan_cache_mode = {mode}"),
                String::from("DEALLOCATE ALL"),
                format!("PREPARE asked AS {}", statement(name)),
            ] {
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
            }
            let sql = format!("EXPLAIN EXECUTE asked({})", arguments(name));
            let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get::<String, _>(0)).collect();
            let plan = plan.join("\n");
            assert!(plan.contains(index) && !plan.contains("Seq Scan"), "{name}, {mode}: {plan}");
        }
    }
}
