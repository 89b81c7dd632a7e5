//! Marks of audit records: what they are found by besides their columns (what a detector saw, what would have stopped
//! them, which context they belong to). Takes marks of the same (writer, sequence) as the records; counts them and gives
//! the records that carry one. What a mark means is its maker's.

use std::collections::BTreeSet;

use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;

use crate::audit::{AuditCursor, AuditFilter, AuditRecord};
use crate::open::Durability;
use crate::sql::Lane;
use crate::text::clip;
use crate::{Result, Store, TenantId, revision};

/// One mark of one record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "as in AuditRecord")]
pub struct AuditMark {
    pub tenant: String,
    /// What it is found by.
    pub mark: String,
    pub at_open: i64,
    pub writer: String,
    pub seq: i64,
}

row! {
    /// How many records carry a mark.
    pub AuditMarkCount in AuditMarks {
        /// How many.
        count: i64,
        /// When the oldest of them began, microseconds.
        first: Option<i64>,
        /// When the newest of them began.
        last: Option<i64>,
    }
}

row! {
    /// How many exchanges there were with one card.
    pub AuditCalls in AuditRecords {
        /// Whom.
        card: String,
        /// How many.
        count: i64,
    }
}

impl Store {
    /// Writes marks. Repeating it changes nothing. Write them before their records: those are on disk when
    /// [`Store::append_audit`] returns, and these with them.
    pub async fn append_audit_marks(&self, marks: &[AuditMark]) -> Result<()> {
        // Two writers in different orders would wait for each other.
        let marks: BTreeSet<&AuditMark> = marks.iter().collect();
        let marks: Vec<&AuditMark> = marks.into_iter().collect();
        for batch in marks.chunks(self.audit_batch()) {
            let mut tx = self.begin_audit(Durability::Written).await?;
            match tx.lane() {
                Lane::Pg(connection) => append_postgres(connection, batch).await?,
                Lane::Lite(connection) => append_sqlite(connection, batch).await?,
            }
            tx.commit().await?;
        }
        Ok(())
    }

    /// A tenant's records that carry a mark and fit the filter, newest first.
    pub async fn audit_marked(
        &self,
        tenant: &TenantId,
        mark: &str,
        filter: &AuditFilter,
        after: Option<&AuditCursor>,
        limit: u32,
    ) -> Result<Vec<AuditRecord>> {
        let (at_open, writer, seq) = after.map_or((i64::MAX, "", 0), |at| (at.at_open, at.writer.as_str(), at.seq));
        let mut reader = self.audit_reader().await?;
        q!(
            reader,
            AuditRecord,
            MARKED,
            tenant.as_str(),
            filter.from.unwrap_or(i64::MIN),
            // The place of the cursor bounds the time, too, so that no planner begins at the newest record again.
            filter.until.unwrap_or(i64::MAX).min(at_open.saturating_add(1)),
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
            clip(mark),
        )
    }

    /// How many of a tenant's records since `from` carry a mark; counting stops at `most`.
    pub async fn audit_mark_count(
        &self,
        tenant: &TenantId,
        mark: &str,
        from: i64,
        most: u32,
    ) -> Result<AuditMarkCount> {
        let mut reader = self.audit_reader().await?;
        let found = one!(reader, AuditMarkCount, COUNT, tenant.as_str(), clip(mark), from, i64::from(most))?;
        Ok(found.unwrap_or(AuditMarkCount { count: 0, first: None, last: None }))
    }

    /// How many exchanges a tenant had with each card since `from`; of the newest `most` alone.
    pub async fn audit_calls(&self, tenant: &TenantId, from: i64, most: u32) -> Result<Vec<AuditCalls>> {
        let mut reader = self.audit_reader().await?;
        q!(reader, AuditCalls, CALLS, tenant.as_str(), from, i64::from(most))
    }
}

async fn append_postgres(connection: &mut PgConnection, batch: &[&AuditMark]) -> Result<()> {
    let text = |column: &dyn Fn(&AuditMark) -> &str| {
        batch.iter().map(|mark| clip(column(mark)).into_owned()).collect::<Vec<_>>()
    };
    sqlx::query(PG_APPEND)
        .bind(text(&|m| &m.tenant))
        .bind(text(&|m| &m.mark))
        .bind(batch.iter().map(|m| m.at_open).collect::<Vec<_>>())
        .bind(text(&|m| &m.writer))
        .bind(batch.iter().map(|m| m.seq).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(())
}

/// Many in one statement: each statement is a turn of the database's thread.
async fn append_sqlite(connection: &mut SqliteConnection, batch: &[&AuditMark]) -> Result<()> {
    let (full, rest) = batch.as_chunks::<TOGETHER>();
    let full = full.iter().map(|marks| (LITE_APPEND_MANY, marks.as_slice()));
    for (statement, marks) in full.chain(rest.chunks(1).map(|mark| (LITE_APPEND, mark))) {
        let mut query = sqlx::query(statement);
        for mark in marks {
            query = query.bind(clip(&mark.tenant)).bind(clip(&mark.mark)).bind(mark.at_open);
            query = query.bind(clip(&mark.writer)).bind(mark.seq);
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

/// As many as [`LITE_APPEND_MANY`] has places for.
const TOGETHER: usize = 10;

macro_rules! lite_append {
    ($places:expr) => {
        concat!(
            "INSERT INTO audit_marks (tenant, mark, at_open, writer, seq) VALUES ",
            $places,
            " ON CONFLICT DO NOTHING"
        )
    };
}

macro_rules! five {
    () => {
        "(?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)"
    };
}

statements! {
    both {
        MARKED = "SELECT writer, seq, tenant, at_open, at_close, principal, key_id, card,
            operation, dialect, outcome, fault, status, correlation_id, task_id, chain_root, document
            FROM (SELECT at_open AS marked_at, writer AS marked_writer, seq AS marked_seq FROM audit_marks
                WHERE tenant = $1 AND mark = $14 AND at_open >= $2 AND at_open < $3
                    AND (at_open, writer, seq) < ($10, $11, $12)) AS marked
            JOIN audit_records ON writer = marked_writer AND seq = marked_seq AND tenant = $1
            WHERE (principal = $4 OR $4 IS NULL) AND (card = $5 OR $5 IS NULL)
                AND (operation = $6 OR $6 IS NULL) AND (outcome = $7 OR $7 IS NULL)
                AND (correlation_id = $8 OR $8 IS NULL) AND (task_id = $9 OR $9 IS NULL)
            ORDER BY marked_at DESC, marked_writer DESC, marked_seq DESC LIMIT $13";
        COUNT = "SELECT COUNT(*) AS count, MIN(at_open) AS first, MAX(at_open) AS last FROM (
                SELECT at_open FROM audit_marks WHERE tenant = $1 AND mark = $2 AND at_open >= $3
                ORDER BY at_open DESC LIMIT $4) AS marked";
        CALLS = "SELECT card, COUNT(*) AS count FROM (
                SELECT card FROM audit_records WHERE tenant = $1 AND at_open >= $2
                ORDER BY at_open DESC, writer DESC, seq DESC LIMIT $3) AS recent
            WHERE card IS NOT NULL GROUP BY card";
    }
    postgres {
        PG_APPEND = "INSERT INTO audit_marks (tenant, mark, at_open, writer, seq)
            SELECT * FROM UNNEST($1::TEXT[], $2::TEXT[], $3::BIGINT[], $4::TEXT[], $5::BIGINT[]) ON CONFLICT DO NOTHING";
    }
    sqlite {
        LITE_APPEND = lite_append!("(?, ?, ?, ?, ?)");
        LITE_APPEND_MANY = lite_append!(concat!(five!(), ", ", five!()));
    }
}
