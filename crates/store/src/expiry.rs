//! The end of ownership: which tasks and contexts are older than a tenant keeps them, and forgetting those.
//!
//! Looks with a reader and deletes row by row, so that a search through many rows never holds the writer. A context
//! goes when its owner has made no task on the card since; until then somebody else could walk into a conversation.

use crate::open::Durability;
use crate::{Result, Store, TenantId, revision};

row! {
    /// A task or a context that is too old.
    pub(crate) Expired in Tasks {
        id: String,
        card_id: String,
    }
}

impl Store {
    /// Forgets up to `limit` tasks of a tenant that were first seen before `before`; gives how many.
    pub async fn expire_tasks(&self, tenant: &TenantId, before: i64, limit: u32) -> Result<u64> {
        let mut reader = self.reader().await?;
        let old = q!(reader, Expired, OLD_TASKS, tenant.as_str(), before, revision::limit(limit))?;
        drop(reader);
        let mut gone = 0;
        for batch in old.chunks(BATCH) {
            let mut tx = self.begin(Durability::Written).await?;
            for row in batch {
                gone += x!(tx, EXPIRE_TASK, tenant.as_str(), row.card_id.as_str(), row.id.as_str(), before)?;
            }
            tx.commit().await?;
        }
        Ok(gone)
    }

    /// The same for contexts whose owner has no task on the card that is younger.
    pub async fn expire_contexts(&self, tenant: &TenantId, before: i64, limit: u32) -> Result<u64> {
        let mut reader = self.reader().await?;
        let old = q!(reader, Expired, OLD_CONTEXTS, tenant.as_str(), before, revision::limit(limit))?;
        drop(reader);
        let mut gone = 0;
        for batch in old.chunks(BATCH) {
            let mut tx = self.begin(Durability::Written).await?;
            for row in batch {
                gone += x!(tx, EXPIRE_CONTEXT, tenant.as_str(), row.card_id.as_str(), row.id.as_str(), before)?;
            }
            tx.commit().await?;
        }
        Ok(gone)
    }
}

/// Rows in one transaction: on SQLite ownership claims wait for it, and not for long.
const BATCH: usize = 100;

statements! {
    both {
        OLD_TASKS = "SELECT task_id AS id, card_id FROM tasks WHERE tenant = $1 AND created < $2 LIMIT $3";
        OLD_CONTEXTS = "SELECT context_id AS id, card_id FROM contexts WHERE tenant = $1 AND created < $2
            AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.tenant = contexts.tenant
                AND tasks.card_id = contexts.card_id AND tasks.principal_id = contexts.principal_id
                AND tasks.created >= $2) LIMIT $3";
        EXPIRE_TASK = "DELETE FROM tasks WHERE tenant = $1 AND card_id = $2 AND task_id = $3 AND created < $4";
        EXPIRE_CONTEXT = "DELETE FROM contexts WHERE tenant = $1 AND card_id = $2 AND context_id = $3 AND created < $4";
    }
}
