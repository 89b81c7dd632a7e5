//! Who owns which task and which context, by tenant, card and principal. The first claim wins and is never changed;
//! an id that one agent made can't be claimed through another card. Claims do not bump the revision.

use crate::{Result, Store, TenantId};

row! {
    /// The owner of a task.
    TaskRow in Tasks {
        /// The task.
        task_id: String,
        /// Whose.
        principal_id: String,
        /// The context it was first seen in.
        context_id: Option<String>,
        /// Microseconds.
        created: i64,
    }
}

row! {
    /// The owner of a context.
    ContextRow in Contexts {
        /// The context.
        context_id: String,
        /// Whose.
        principal_id: String,
        /// Microseconds.
        created: i64,
    }
}

row! {
    /// Who owns what was claimed: the claimant, or whoever came first.
    Owner in Tasks {
        /// The owner.
        principal_id: String,
        /// Microseconds.
        created: i64,
    }
}

/// A claim of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in TaskRow")]
pub struct TaskClaim {
    pub tenant: TenantId,
    pub card_id: String,
    pub task_id: String,
    pub principal_id: String,
    pub context_id: Option<String>,
    pub created: i64,
}

/// A claim of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in ContextRow")]
pub struct ContextClaim {
    pub tenant: TenantId,
    pub card_id: String,
    pub context_id: String,
    pub principal_id: String,
    pub created: i64,
}

/// The last task of the page before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCursor {
    /// Its time.
    pub created: i64,
    /// Its id.
    pub task_id: String,
}

impl Store {
    /// Claims a task; gives its owner, who may be another.
    pub async fn claim_task(&self, claim: &TaskClaim) -> Result<Owner> {
        todo!()
    }

    /// Claims a context; gives its owner, who may be another.
    pub async fn claim_context(&self, claim: &ContextClaim) -> Result<Owner> {
        todo!()
    }

    /// Claims many tasks (the replay after an outage); gives the owners in the claims' order.
    pub async fn claim_tasks(&self, claims: &[TaskClaim]) -> Result<Vec<Owner>> {
        todo!()
    }

    /// Claims many contexts (the replay after an outage); gives the owners in the claims' order.
    pub async fn claim_contexts(&self, claims: &[ContextClaim]) -> Result<Vec<Owner>> {
        todo!()
    }

    /// The owner of a task seen through this card.
    pub async fn task_owner(&self, tenant: &TenantId, card_id: &str, task_id: &str) -> Result<Option<TaskRow>> {
        todo!()
    }

    /// The owners of several tasks seen through this card, in no order; unknown ones are left out.
    pub async fn task_owners(&self, tenant: &TenantId, card_id: &str, task_ids: &[&str]) -> Result<Vec<TaskRow>> {
        todo!()
    }

    /// The owner of a context seen through this card.
    pub async fn context_owner(
        &self,
        tenant: &TenantId,
        card_id: &str,
        context_id: &str,
    ) -> Result<Option<ContextRow>> {
        todo!()
    }

    /// A principal's tasks on a card, newest first.
    pub async fn tasks_of(
        &self,
        tenant: &TenantId,
        card_id: &str,
        principal_id: &str,
        after: Option<&TaskCursor>,
        limit: u32,
    ) -> Result<Vec<TaskRow>> {
        todo!()
    }
}
