//! Audit records and the sums of early refusals. Both arrive from a writer's spool, perhaps more than once and out of
//! order: (writer, sequence) names a record, and an open one never replaces a closed one.

use crate::{Result, Store, TenantId};

row! {
    /// One exchange.
    AuditRecord in AuditRecords {
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
        /// All the rest (JSON).
        document: Vec<u8>,
    }
}

row! {
    /// Refusals before a principal was proven, counted.
    AuditSummary in AuditSummaries {
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
    /// Writes records, at most 500 in a transaction. Repeating it changes nothing; a closed record stays as it is.
    pub async fn append_audit(&self, records: &[AuditRecord]) -> Result<()> {
        todo!()
    }

    /// Writes sums of refusals. Repeating it changes nothing: the greater count of a window stays.
    pub async fn append_audit_summaries(&self, summaries: &[AuditSummary]) -> Result<()> {
        todo!()
    }

    /// A tenant's records, newest first.
    pub async fn audit_query(
        &self,
        tenant: &TenantId,
        filter: &AuditFilter,
        after: Option<&AuditCursor>,
        limit: u32,
    ) -> Result<Vec<AuditRecord>> {
        todo!()
    }

    /// A tenant's sums of windows that began in `[from, until)`, newest first.
    pub async fn audit_summaries(
        &self,
        tenant: &TenantId,
        from: i64,
        until: i64,
        limit: u32,
    ) -> Result<Vec<AuditSummary>> {
        todo!()
    }

    /// The highest sequence stored of a writer: where shipping may go on.
    pub async fn audit_high_water(&self, writer: &str) -> Result<Option<i64>> {
        todo!()
    }
}
