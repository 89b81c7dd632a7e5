//! Audit records and the sums of early refusals. Both arrive from a writer's spool, perhaps more than once and out of
//! order: (writer, sequence) names a record, and an open one never replaces a closed one.

use std::collections::BTreeMap;

use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;

use crate::open::Durability;
use crate::sql::Lane;
use crate::text::clip;
use crate::{Result, Store, TenantId, revision};

row! {
    /// One exchange.
    pub AuditRecord in AuditRecords {
        /// The process that wrote it.
        writer: String,
        /// Its number there.
        seq: i64,
        /// Whose exchange.
        tenant: String,
        /// When it began, microseconds.
        at_open: i64,
        /// When it ended; none while it is open.
        at_close: Option<i64>,
        /// Who called.
        principal: Option<String>,
        /// With which key.
        key_id: Option<String>,
        /// Which card.
        card: Option<String>,
        /// Which operation.
        operation: Option<String>,
        /// Which dialect.
        dialect: Option<String>,
        /// How it ended, in one word.
        outcome: String,
        /// The fault, if one was answered.
        fault: Option<String>,
        /// The HTTP status answered.
        status: Option<i64>,
        /// The id that callers are told.
        correlation_id: String,
        /// Which task.
        task_id: Option<String>,
        /// The id of the call that its tree of delegations began with: its own, where it was the first. None in records
        /// from before there was this column.
        chain_root: Option<String>,
        /// All the rest (JSON).
        document: Vec<u8>,
    }
}

row! {
    /// Refusals before a principal was proven, counted.
    pub AuditSummary in AuditSummaries {
        /// The process that counted.
        writer: String,
        /// The tenant addressed; empty when none could be told.
        tenant: String,
        /// Why refused.
        reason: String,
        /// From where.
        source: String,
        /// When the window began, microseconds.
        window_start: i64,
        /// How many.
        count: i64,
    }
}

row! {
    /// Exchanges that began in one slot of time, ended in one way and took about as long.
    pub AuditSlot in AuditRecords {
        /// How they ended.
        outcome: String,
        /// Which slot: the beginning, divided by the slots' length.
        slot: i64,
        /// Which range of durations, from 0: below 1, 2, 5, 10, 25, 50, 100, 250, 500, 1 000, 5 000, 30 000 ms, above.
        bucket: i64,
        /// How many.
        count: i64,
    }
}

row! {
    /// Exchanges of one principal with one card that ended in one way.
    pub AuditEdge in AuditRecords {
        /// Whom.
        card: String,
        /// Who, by id.
        principal: String,
        /// How they ended.
        outcome: String,
        /// How many.
        count: i64,
        /// When the last one began.
        last: i64,
    }
}

/// Which records; `None` is any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in AuditRecord")]
pub struct AuditFilter {
    /// Begun at or after.
    pub from: Option<i64>,
    /// Begun before.
    pub until: Option<i64>,
    pub principal: Option<String>,
    pub card: Option<String>,
    pub operation: Option<String>,
    pub outcome: Option<String>,
    pub correlation_id: Option<String>,
    pub task_id: Option<String>,
    pub chain_root: Option<String>,
}

/// The last record of the page before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in AuditRecord")]
pub struct AuditCursor {
    pub at_open: i64,
    pub writer: String,
    pub seq: i64,
}

impl Store {
    /// Writes records, at most 500 in a transaction; all are on disk when it returns. Repeating it changes nothing; a
    /// closed record stays as it is.
    pub async fn append_audit(&self, records: &[AuditRecord]) -> Result<()> {
        let records = settle(records);
        let mut batches = records.chunks(self.audit_batch()).peekable();
        while let Some(batch) = batches.next() {
            // The last commit brings those before it to disk too, so that claims wait for the disk once and not each time.
            let durability = if batches.peek().is_some() { Durability::Written } else { Durability::Synced };
            let mut tx = self.begin_audit(durability).await?;
            match tx.lane() {
                Lane::Pg(connection) => append_postgres(connection, batch).await?,
                Lane::Lite(connection) => append_sqlite(connection, batch).await?,
            }
            tx.commit().await?;
        }
        Ok(())
    }

    /// Writes sums of refusals. Repeating it changes nothing: the greater count of a window stays.
    pub async fn append_audit_summaries(&self, summaries: &[AuditSummary]) -> Result<()> {
        let mut summaries: Vec<&AuditSummary> = summaries.iter().collect();
        summaries.sort_by_key(|sum| (&sum.writer, &sum.tenant, &sum.reason, &sum.source, sum.window_start));
        for batch in summaries.chunks(self.audit_batch()) {
            let mut tx = self.begin_audit(Durability::Synced).await?;
            for sum in batch {
                let (writer, tenant) = (clip(&sum.writer), clip(&sum.tenant));
                let (reason, source) = (clip(&sum.reason), clip(&sum.source));
                x!(tx, SUM, &*writer, &*tenant, &*reason, &*source, sum.window_start, sum.count)?;
            }
            tx.commit().await?;
        }
        Ok(())
    }

    /// A tenant's records: those of one tree of delegations from its first call on, all others newest first.
    pub async fn audit_query(
        &self,
        tenant: &TenantId,
        filter: &AuditFilter,
        after: Option<&AuditCursor>,
        limit: u32,
    ) -> Result<Vec<AuditRecord>> {
        let start = if filter.chain_root.is_some() { i64::MIN } else { i64::MAX };
        let (at_open, writer, seq) = after.map_or((start, "", 0), |at| (at.at_open, at.writer.as_str(), at.seq));
        let (mut from, mut until) = (filter.from.unwrap_or(i64::MIN), filter.until.unwrap_or(i64::MAX));
        // The place of the cursor bounds the time, too, so that no planner begins at the first page's end again.
        if filter.chain_root.is_some() {
            from = from.max(at_open);
        } else {
            until = until.min(at_open.saturating_add(1));
        }
        let mut reader = self.audit_reader().await?;
        if let Some(root) = &filter.chain_root {
            return q!(
                reader,
                AuditRecord,
                TREE,
                tenant.as_str(),
                from,
                until,
                filter.principal.as_deref().map(clip),
                filter.card.as_deref().map(clip),
                filter.operation.as_deref().map(clip),
                filter.outcome.as_deref().map(clip),
                filter.correlation_id.as_deref().map(clip),
                filter.task_id.as_deref().map(clip),
                at_open,
                writer,
                seq,
                revision::limit(limit),
                clip(root),
            );
        }
        let statement = match (&filter.correlation_id, &filter.task_id) {
            (Some(_), _) => BY_CORRELATION,
            (None, Some(_)) => BY_TASK,
            (None, None) => QUERY,
        };
        q!(
            reader,
            AuditRecord,
            statement,
            tenant.as_str(),
            from,
            until,
            filter.principal.as_deref().map(clip),
            filter.card.as_deref().map(clip),
            filter.operation.as_deref().map(clip),
            filter.outcome.as_deref().map(clip),
            filter.correlation_id.as_deref().map(clip),
            filter.task_id.as_deref().map(clip),
            at_open,
            writer,
            seq,
            revision::limit(limit),
        )
    }

    /// A tenant's sums of windows that began in `[from, until)`, newest first.
    pub async fn audit_summaries(
        &self,
        tenant: &TenantId,
        from: i64,
        until: i64,
        limit: u32,
    ) -> Result<Vec<AuditSummary>> {
        let mut reader = self.audit_reader().await?;
        q!(reader, AuditSummary, SUMS, tenant.as_str(), from, until, revision::limit(limit))
    }

    /// How many exchanges of a tenant began since `from`, by slots of `step` microseconds, outcome and duration.
    pub async fn audit_slots(&self, tenant: &TenantId, from: i64, step: i64) -> Result<Vec<AuditSlot>> {
        let mut reader = self.audit_reader().await?;
        q!(reader, AuditSlot, SLOTS, tenant.as_str(), from, step.max(1))
    }

    /// Who of a tenant called which card since `from`: the 500 most frequent.
    pub async fn audit_edges(&self, tenant: &TenantId, from: i64) -> Result<Vec<AuditEdge>> {
        let mut reader = self.audit_reader().await?;
        q!(reader, AuditEdge, EDGES, tenant.as_str(), from)
    }

    /// The highest sequence stored of a writer: where shipping may go on.
    pub async fn audit_high_water(&self, writer: &str) -> Result<Option<i64>> {
        let mut reader = self.audit_reader().await?;
        Ok(one!(reader, HighWater, HIGH_WATER, writer)?.and_then(|row| row.seq))
    }
}

/// One record for each (writer, sequence), the closed one if there is one, in the order that every writer keeps.
/// A statement can't touch a row twice, and two writers in different orders would wait for each other.
fn settle(records: &[AuditRecord]) -> Vec<&AuditRecord> {
    let mut settled: BTreeMap<(&str, i64), &AuditRecord> = BTreeMap::new();
    for record in records {
        settled
            .entry((&record.writer, record.seq))
            .and_modify(|kept| {
                if kept.at_close.is_none() && record.at_close.is_some() {
                    *kept = record;
                }
            })
            .or_insert(record);
    }
    settled.into_values().collect()
}

/// One statement for the whole batch: each statement is a round trip.
async fn append_postgres(connection: &mut PgConnection, batch: &[&AuditRecord]) -> Result<()> {
    let text = |column: &dyn Fn(&AuditRecord) -> &str| {
        batch.iter().map(|record| clip(column(record)).into_owned()).collect::<Vec<_>>()
    };
    let maybe = |column: &dyn Fn(&AuditRecord) -> Option<&str>| {
        batch.iter().map(|record| column(record).map(|text| clip(text).into_owned())).collect::<Vec<_>>()
    };
    sqlx::query(PG_APPEND)
        .bind(text(&|r| &r.writer))
        .bind(batch.iter().map(|r| r.seq).collect::<Vec<_>>())
        .bind(text(&|r| &r.tenant))
        .bind(batch.iter().map(|r| r.at_open).collect::<Vec<_>>())
        .bind(batch.iter().map(|r| r.at_close).collect::<Vec<_>>())
        .bind(maybe(&|r| r.principal.as_deref()))
        .bind(maybe(&|r| r.key_id.as_deref()))
        .bind(maybe(&|r| r.card.as_deref()))
        .bind(maybe(&|r| r.operation.as_deref()))
        .bind(maybe(&|r| r.dialect.as_deref()))
        .bind(text(&|r| &r.outcome))
        .bind(maybe(&|r| r.fault.as_deref()))
        .bind(batch.iter().map(|r| r.status).collect::<Vec<_>>())
        .bind(text(&|r| &r.correlation_id))
        .bind(maybe(&|r| r.task_id.as_deref()))
        .bind(maybe(&|r| r.chain_root.as_deref()))
        .bind(batch.iter().map(|r| r.document.as_slice()).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(())
}

/// Many in one statement: each statement is a turn of the database's thread.
async fn append_sqlite(connection: &mut SqliteConnection, batch: &[&AuditRecord]) -> Result<()> {
    let (full, rest) = batch.as_chunks::<TOGETHER>();
    let full = full.iter().map(|records| (LITE_APPEND_MANY, records.as_slice()));
    for (statement, records) in full.chain(rest.chunks(1).map(|record| (LITE_APPEND, record))) {
        let mut query = sqlx::query(statement);
        for record in records {
            query = query
                .bind(clip(&record.writer))
                .bind(record.seq)
                .bind(clip(&record.tenant))
                .bind(record.at_open)
                .bind(record.at_close)
                .bind(record.principal.as_deref().map(clip))
                .bind(record.key_id.as_deref().map(clip))
                .bind(record.card.as_deref().map(clip))
                .bind(record.operation.as_deref().map(clip))
                .bind(record.dialect.as_deref().map(clip))
                .bind(clip(&record.outcome))
                .bind(record.fault.as_deref().map(clip))
                .bind(record.status)
                .bind(clip(&record.correlation_id))
                .bind(record.task_id.as_deref().map(clip))
                .bind(record.chain_root.as_deref().map(clip))
                .bind(record.document.as_slice());
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

/// As many as [`LITE_APPEND_MANY`] has places for.
const TOGETHER: usize = 20;

macro_rules! lite_append {
    ($places:expr) => {
        concat!(
            "INSERT INTO audit_records (writer, seq, tenant, at_open, at_close, principal, key_id, card,
            operation, dialect, outcome, fault, status, correlation_id, task_id, chain_root, document) VALUES ",
            $places,
            " ON CONFLICT (writer, seq) DO UPDATE SET
                at_close = excluded.at_close, principal = excluded.principal, key_id = excluded.key_id,
                card = excluded.card, operation = excluded.operation, dialect = excluded.dialect,
                outcome = excluded.outcome, fault = excluded.fault, status = excluded.status,
                correlation_id = excluded.correlation_id, task_id = excluded.task_id,
                chain_root = excluded.chain_root, document = excluded.document
            WHERE audit_records.at_close IS NULL AND excluded.at_close IS NOT NULL"
        )
    };
}

macro_rules! place {
    () => {
        "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    };
}

macro_rules! five {
    () => {
        concat!(place!(), ", ", place!(), ", ", place!(), ", ", place!(), ", ", place!())
    };
}

/// A filter that is NULL holds for all. The comparison stands first, so that it gives the value its type.
macro_rules! search {
    ($at_open:expr, $correlation:expr, $task:expr) => {
        concat!(
            "SELECT writer, seq, tenant, at_open, at_close, principal, key_id, card,
            operation, dialect, outcome, fault, status, correlation_id, task_id, chain_root, document
            FROM audit_records
            WHERE tenant = $1 AND ",
            $at_open,
            " >= $2 AND ",
            $at_open,
            " < $3 AND (principal = $4 OR $4 IS NULL) AND (card = $5 OR $5 IS NULL)
                AND (operation = $6 OR $6 IS NULL) AND (outcome = $7 OR $7 IS NULL) AND ",
            $correlation,
            " AND ",
            $task,
            " AND (",
            $at_open,
            ", writer, seq) < ($10, $11, $12)
            ORDER BY at_open DESC, writer DESC, seq DESC LIMIT $13"
        )
    };
}

row! {
    HighWater in AuditRecords {
        seq: Option<i64>,
    }
}

statements! {
    both {
        SUM = "INSERT INTO audit_summaries (writer, tenant, reason, source, window_start, count)
            VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (writer, tenant, reason, source, window_start) DO UPDATE SET count = excluded.count
            WHERE audit_summaries.count < excluded.count";
        // Statements of their own, so that the index of what is asked for is used whatever the planner knows of the filters:
        // a `+` keeps SQLite from walking the index of times instead.
        QUERY = search!("at_open", "(correlation_id = $8 OR $8 IS NULL)", "(task_id = $9 OR $9 IS NULL)");
        BY_CORRELATION = search!("+at_open", "correlation_id = $8", "(task_id = $9 OR $9 IS NULL)");
        BY_TASK = search!("+at_open", "(correlation_id = $8 OR $8 IS NULL)", "task_id = $9");
        TREE = "SELECT writer, seq, tenant, at_open, at_close, principal, key_id, card,
            operation, dialect, outcome, fault, status, correlation_id, task_id, chain_root, document
            FROM audit_records
            WHERE tenant = $1 AND chain_root = $14 AND +at_open >= $2 AND +at_open < $3
                AND (principal = $4 OR $4 IS NULL) AND (card = $5 OR $5 IS NULL)
                AND (operation = $6 OR $6 IS NULL) AND (outcome = $7 OR $7 IS NULL)
                AND (correlation_id = $8 OR $8 IS NULL) AND (task_id = $9 OR $9 IS NULL)
                AND (+at_open, writer, seq) > ($10, $11, $12)
            ORDER BY at_open, writer, seq LIMIT $13";
        SUMS = "SELECT writer, tenant, reason, source, window_start, count FROM audit_summaries
            WHERE tenant = $1 AND window_start >= $2 AND window_start < $3
            ORDER BY window_start DESC, writer, reason, source LIMIT $4";
        SLOTS = "SELECT outcome, slot, bucket, COUNT(*) AS count FROM (
                SELECT outcome, at_open / CAST($3 AS BIGINT) AS slot, CAST(CASE
                    WHEN took < 1000 THEN 0 WHEN took < 2000 THEN 1 WHEN took < 5000 THEN 2 WHEN took < 10000 THEN 3
                    WHEN took < 25000 THEN 4 WHEN took < 50000 THEN 5 WHEN took < 100000 THEN 6 WHEN took < 250000 THEN 7
                    WHEN took < 500000 THEN 8 WHEN took < 1000000 THEN 9 WHEN took < 5000000 THEN 10
                    WHEN took < 30000000 THEN 11 ELSE 12 END AS BIGINT) AS bucket
                FROM (SELECT outcome, at_open, COALESCE(at_close, at_open) - at_open AS took FROM audit_records
                    WHERE tenant = $1 AND at_open >= $2) AS times) AS slots
            GROUP BY outcome, slot, bucket";
        EDGES = "SELECT card, principal, outcome, COUNT(*) AS count, MAX(at_open) AS last FROM audit_records
            WHERE tenant = $1 AND at_open >= $2 AND card IS NOT NULL AND principal IS NOT NULL
            GROUP BY card, principal, outcome ORDER BY COUNT(*) DESC, card, principal LIMIT 500";
        HIGH_WATER = "SELECT MAX(seq) AS seq FROM audit_records WHERE writer = $1";
    }
    postgres {
        PG_APPEND = "INSERT INTO audit_records (writer, seq, tenant, at_open, at_close, principal, key_id, card,
            operation, dialect, outcome, fault, status, correlation_id, task_id, chain_root, document)
            SELECT * FROM UNNEST($1::TEXT[], $2::BIGINT[], $3::TEXT[], $4::BIGINT[], $5::BIGINT[], $6::TEXT[],
                $7::TEXT[], $8::TEXT[], $9::TEXT[], $10::TEXT[], $11::TEXT[],
                $12::TEXT[], $13::BIGINT[], $14::TEXT[], $15::TEXT[], $16::TEXT[], $17::BYTEA[])
            ON CONFLICT (writer, seq) DO UPDATE SET
                at_close = excluded.at_close, principal = excluded.principal, key_id = excluded.key_id,
                card = excluded.card, operation = excluded.operation, dialect = excluded.dialect,
                outcome = excluded.outcome, fault = excluded.fault, status = excluded.status,
                correlation_id = excluded.correlation_id, task_id = excluded.task_id,
                chain_root = excluded.chain_root, document = excluded.document
            WHERE audit_records.at_close IS NULL AND excluded.at_close IS NOT NULL";
    }
    sqlite {
        LITE_APPEND = lite_append!(place!());
        LITE_APPEND_MANY = lite_append!(concat!(five!(), ", ", five!(), ", ", five!(), ", ", five!()));
    }
}
