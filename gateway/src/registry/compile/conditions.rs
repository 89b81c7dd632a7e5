//! The tenant's conditions: their row → compiled policies. A row that can't be read allows nothing; an unchanged one is
//! not compiled again.

use std::sync::Arc;

use store::Table;

use super::Tenant;
use crate::registry::Standing;
use crate::registry::conditions::Conditions;

impl Tenant<'_> {
    /// The conditions, and since when they are what they are.
    pub(super) fn conditions(&mut self) -> (Option<Arc<Conditions>>, Standing) {
        let conditions = self.compiled();
        let since = conditions.as_ref().map_or(0, |conditions| conditions.revision);
        let old = self.old.map(|old| &old.conditioned).filter(|old| old.since == since);
        (conditions, old.cloned().unwrap_or_else(|| Standing { since, ..Standing::default() }))
    }

    fn compiled(&mut self) -> Option<Arc<Conditions>> {
        let rows = self.rows;
        if let Some(unreadable) = rows.unreadable.iter().find(|row| row.table == Table::Conditions) {
            return Some(Arc::new(Conditions::unreadable(&unreadable.name, UNREADABLE)));
        }
        let row = rows.conditions.first()?;
        let old = self.old.and_then(|old| old.conditions.as_ref());
        if let Some(old) = old.filter(|old| old.revision == row.revision && old.name == row.name) {
            return Some(Arc::clone(old));
        }
        match Conditions::compile(&row.name, (row.version, row.revision), &row.document) {
            Ok(conditions) => Some(Arc::new(conditions)),
            Err(problems) => {
                self.note("conditions", &row.name, problems);
                Some(Arc::new(Conditions::unreadable(&row.name, row.revision)))
            }
        }
    }
}

/// No row is ever at this revision.
const UNREADABLE: i64 = -1;
