//! The conditions of a tenant and their history: at most one living document, in both databases.

use super::*;
use crate::{ConditionsEdit, ConditionsRow, ConditionsVersion, Error, NewConditions, Table};

fn new_conditions(id: &str, name: &str) -> NewConditions {
    NewConditions {
        id: id.to_owned(),
        name: name.to_owned(),
        document: b"{\"mode\":\"off\"}".to_vec(),
        changed_by: "ada".to_owned(),
        note: "first".to_owned(),
    }
}

on_both! {
    async fn each_edit_is_a_version_and_a_revision(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        assert_eq!(store.create_conditions(&acme, &new_conditions("cnd-1", "house"), 8).await, Ok(8));
        let edit = ConditionsEdit { document: b"{}".to_vec(), changed_by: "bob".to_owned(), note: "second".to_owned() };
        let conflict = Err(Error::Conflict { current: 8 });
        assert_eq!(store.update_conditions(&acme, "house", IfMatch::Revision(7), &edit, 20).await, conflict);
        assert_eq!(store.update_conditions(&acme, "house", IfMatch::Revision(8), &edit, 20).await, Ok(9));
        let row = ConditionsRow {
            id: "cnd-1".to_owned(), tenant: acme.clone(), name: "house".to_owned(), version: 2,
            document: b"{}".to_vec(), created: 8, updated: 20, revision: 9,
        };
        assert_eq!(store.conditions_named(&acme, "house").await, Ok(Some(row.clone())));
        assert_eq!(store.conditions(&acme, FIRST).await, Ok(vec![row.clone()]));
        assert_eq!(store.load_tenant(&acme).await.unwrap().unwrap().conditions, vec![row]);
        let version = |version, document: &[u8], by: &str, at, note: &str| ConditionsVersion {
            conditions_id: "cnd-1".to_owned(), version, document: document.to_vec(), changed_by: by.to_owned(), at,
            note: note.to_owned(),
        };
        let (second, first) = (version(2, b"{}", "bob", 20, "second"), version(1, b"{\"mode\":\"off\"}", "ada", 8, "first"));
        assert_eq!(store.conditions_history(&acme, "cnd-1", i64::MAX, 9).await, Ok(vec![second, first.clone()]));
        assert_eq!(store.conditions_history(&acme, "cnd-1", 2, 9).await, Ok(vec![first]));
        let changes = store.changes(7).await.unwrap().unwrap();
        assert!(changes.iter().all(|change| change.kind == crate::ChangeKind::Conditions && change.id == "cnd-1"));
        assert_eq!(changes.len(), 2);
    }

    async fn a_tenant_has_one_document_and_may_have_another_after_it(given) {
        let store = given.store;
        let (acme, other) = (furnish(&store, "acme").await, furnish(&store, "other").await);
        store.create_conditions(&acme, &new_conditions("cnd-1", "house"), 9).await.unwrap();
        let taken = Err(Error::NameTaken { table: Table::Conditions });
        for name in ["house", "another"] {
            assert_eq!(store.create_conditions(&acme, &new_conditions("cnd-2", name), 9).await, taken);
        }
        // Another tenant neither sees them nor is kept from its own.
        assert_eq!(store.conditions_named(&other, "house").await, Ok(None));
        assert_eq!(store.conditions(&other, FIRST).await, Ok(Vec::new()));
        assert_eq!(store.conditions_history(&other, "cnd-1", i64::MAX, 9).await, Ok(Vec::new()));
        let edit = ConditionsEdit { document: Vec::new(), changed_by: String::new(), note: String::new() };
        let missing = Err(Error::NotFound { table: Table::Conditions });
        assert_eq!(store.update_conditions(&other, "house", IfMatch::Any, &edit, 9).await, missing);
        assert_eq!(store.delete_conditions(&other, "house", IfMatch::Any, 9).await, missing);
        store.create_conditions(&other, &new_conditions("cnd-3", "house"), 9).await.unwrap();
        store.delete_conditions(&acme, "house", IfMatch::Any, 9).await.unwrap();
        assert_eq!(store.load_tenant(&acme).await.unwrap().unwrap().conditions, Vec::new());
        store.create_conditions(&acme, &new_conditions("cnd-2", "another"), 9).await.unwrap();
        assert_eq!(store.load_tenant(&other).await.unwrap().unwrap().conditions.len(), 1);
    }
}
