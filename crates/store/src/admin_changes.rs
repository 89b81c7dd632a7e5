//! The trail of what administrators change: a row in the very transaction of each change, and one for what was refused
//! to them. Takes an [`Author`], under whose name [`Store::by`] gives a store; what is written on that store is signed.
//! Never holds what was written: ids, names and revisions alone. Rows are never changed and never removed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::open::Durability;
use crate::sql::Tx;
use crate::text::clip;
use crate::{Result, Store, TenantId, revision};

word! {
    /// What became of a change.
    AdminChangeOutcome {
        /// It was made.
        Done = "done",
        /// It was not.
        Refused = "refused",
    }
}

row! {
    /// One change of one thing.
    pub AdminChangeRow in AdminChanges {
        /// `chg-…`; all that one request changed has one.
        id: String,
        /// Numbers the changes of the request, from 0.
        seq: i64,
        /// When the request came, microseconds.
        at: i64,
        /// Whose thing; empty where it is no tenant's.
        tenant: String,
        /// What kind of thing.
        kind: String,
        /// Its name, or its id where it has none; empty where the request did not come so far as to name one.
        name: String,
        /// What was done.
        action: String,
        /// Who did it.
        actor: String,
        /// As what.
        role: String,
        /// How the actor had come in.
        way: String,
        /// The token's id, or the beginning of the session's.
        way_id: String,
        /// From which address.
        source: String,
        /// The thing's revision that was found.
        revision_before: Option<i64>,
        /// The revision that was made.
        revision_after: Option<i64>,
        /// Whether it was made.
        outcome: AdminChangeOutcome,
        /// Why it was refused, in one word.
        code: Option<String>,
    }
}

/// Who changes something; meanings as in [`AdminChangeRow`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in AdminChangeRow")]
pub struct Author {
    pub id: String,
    pub at: i64,
    pub actor: String,
    pub role: String,
    pub way: String,
    pub way_id: String,
    pub source: String,
    pub action: String,
}

/// A thing that was not changed; meanings as in [`AdminChangeRow`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in AdminChangeRow")]
pub struct RefusedChange {
    pub tenant: String,
    pub kind: String,
    pub name: String,
    pub code: String,
}

/// Which changes; `None` is any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in AdminChangeRow")]
pub struct AdminChangeFilter {
    /// At or after.
    pub from: Option<i64>,
    /// Before.
    pub until: Option<i64>,
    pub kind: Option<String>,
    pub name: Option<String>,
    pub action: Option<String>,
    pub actor: Option<String>,
    pub outcome: Option<AdminChangeOutcome>,
    pub code: Option<String>,
}

/// The last change of the page before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in AdminChangeRow")]
pub struct AdminChangeCursor {
    pub at: i64,
    pub id: String,
    pub seq: i64,
}

/// An author and how much it has changed.
#[derive(Debug)]
pub(crate) struct Signature {
    author: Author,
    changes: AtomicI64,
}

/// What is changed, for the row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touched<'a> {
    /// Whose; empty where it is no tenant's.
    pub tenant: &'a str,
    pub kind: &'a str,
    pub name: &'a str,
    pub before: Option<i64>,
    pub after: Option<i64>,
}

impl Store {
    /// The same store; what is changed by way of it is told under this name.
    #[must_use]
    pub fn by(&self, author: Author) -> Self {
        let mut signed = self.clone();
        signed.author = Some(Arc::new(Signature { author, changes: AtomicI64::new(0) }));
        signed
    }

    /// Tells a change in its own transaction; a store without an author tells nothing.
    pub(crate) async fn sign(&self, tx: &mut Tx, touched: Touched<'_>) -> Result<()> {
        match &self.author {
            Some(signature) => signature.sign(tx, touched).await,
            None => Ok(()),
        }
    }

    /// Tells that a change was refused; a store without an author tells nothing.
    pub async fn tell_refused(&self, refused: &RefusedChange) -> Result<()> {
        let Some(signature) = &self.author else { return Ok(()) };
        let mut tx = self.begin(Durability::Written).await?;
        let RefusedChange { tenant, kind, name, code } = refused;
        let touched = Touched { tenant, kind, name, before: None, after: None };
        signature.write(&mut tx, touched, AdminChangeOutcome::Refused, Some(code)).await?;
        tx.commit().await
    }

    /// A tenant's changes, newest first, after those of the page before.
    pub async fn tenant_changes(
        &self,
        tenant: &TenantId,
        filter: &AdminChangeFilter,
        after: Option<&AdminChangeCursor>,
        limit: u32,
    ) -> Result<Vec<AdminChangeRow>> {
        let Bounds { from, until, at, id, seq } = Bounds::of(filter, after);
        let outcome = filter.outcome.map(AdminChangeOutcome::as_str);
        let mut reader = self.reader().await?;
        q!(
            reader,
            AdminChangeRow,
            LIST,
            tenant.as_str(),
            from,
            until,
            filter.kind.as_deref(),
            filter.name.as_deref(),
            filter.action.as_deref(),
            filter.actor.as_deref(),
            outcome,
            filter.code.as_deref(),
            at,
            id,
            seq,
            revision::limit(limit),
        )
    }

    /// Everybody's changes, those of accounts too, newest first, after those of the page before.
    pub async fn all_changes(
        &self,
        filter: &AdminChangeFilter,
        after: Option<&AdminChangeCursor>,
        limit: u32,
    ) -> Result<Vec<AdminChangeRow>> {
        let Bounds { from, until, at, id, seq } = Bounds::of(filter, after);
        let outcome = filter.outcome.map(AdminChangeOutcome::as_str);
        let mut reader = self.reader().await?;
        q!(
            reader,
            AdminChangeRow,
            LIST_ALL,
            from,
            until,
            filter.kind.as_deref(),
            filter.name.as_deref(),
            filter.action.as_deref(),
            filter.actor.as_deref(),
            outcome,
            filter.code.as_deref(),
            at,
            id,
            seq,
            revision::limit(limit),
        )
    }
}

impl Signature {
    /// Tells a change that is made.
    pub(crate) async fn sign(&self, tx: &mut Tx, touched: Touched<'_>) -> Result<()> {
        self.write(tx, touched, AdminChangeOutcome::Done, None).await
    }

    async fn write(
        &self,
        tx: &mut Tx,
        touched: Touched<'_>,
        outcome: AdminChangeOutcome,
        code: Option<&str>,
    ) -> Result<()> {
        let Author { id, at, actor, role, way, way_id, source, action } = &self.author;
        let seq = self.changes.fetch_add(1, Ordering::Relaxed);
        let Touched { tenant, kind, name, before, after } = touched;
        x!(
            tx,
            TELL,
            tenant,
            clip(id).as_ref(),
            seq,
            *at,
            kind,
            clip(name).as_ref(),
            action.as_str(),
            clip(actor).as_ref(),
            role.as_str(),
            way.as_str(),
            clip(way_id).as_ref(),
            clip(source).as_ref(),
            before,
            after,
            outcome.as_str(),
            code,
        )
        .map(drop)
    }
}

/// Between which times, and after which change.
struct Bounds<'a> {
    from: i64,
    until: i64,
    at: i64,
    id: &'a str,
    seq: i64,
}

impl<'a> Bounds<'a> {
    fn of(filter: &AdminChangeFilter, after: Option<&'a AdminChangeCursor>) -> Self {
        let (at, id, seq) = after.map_or((i64::MAX, "", 0), |after| (after.at, after.id.as_str(), after.seq));
        Self { from: filter.from.unwrap_or(i64::MIN), until: filter.until.unwrap_or(i64::MAX), at, id, seq }
    }
}

/// A filter that is NULL holds for all. The comparison stands first, so that it gives the value its type.
macro_rules! list {
    ($whose:expr, $from:expr, $until:expr, $kind:expr, $name:expr, $action:expr, $actor:expr, $outcome:expr, $code:expr,
     $place:expr, $limit:expr) => {
        concat!(
            "SELECT id, seq, at, tenant, kind, name, action, actor, role, way, way_id, source, revision_before,
            revision_after, outcome, code FROM admin_changes WHERE ",
            $whose,
            "at >= ",
            $from,
            " AND at < ",
            $until,
            " AND (kind = ",
            $kind,
            " OR ",
            $kind,
            " IS NULL) AND (name = ",
            $name,
            " OR ",
            $name,
            " IS NULL)",
            " AND (action = ",
            $action,
            " OR ",
            $action,
            " IS NULL) AND (actor = ",
            $actor,
            " OR ",
            $actor,
            " IS NULL)",
            " AND (outcome = ",
            $outcome,
            " OR ",
            $outcome,
            " IS NULL) AND (code = ",
            $code,
            " OR ",
            $code,
            " IS NULL)",
            " AND (at, id, seq) < ",
            $place,
            " ORDER BY at DESC, id DESC, seq DESC LIMIT ",
            $limit
        )
    };
}

statements! {
    both {
        TELL = "INSERT INTO admin_changes (tenant, id, seq, at, kind, name, action, actor, role, way, way_id, source,
                revision_before, revision_after, outcome, code)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
        LIST = list!("tenant = $1 AND ", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "($10, $11, $12)", "$13");
        LIST_ALL = list!("", "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "($9, $10, $11)", "$12");
    }
}
