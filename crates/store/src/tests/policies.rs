//! Policies and their history.

use super::*;
use crate::{Error, PolicyEdit, PolicyRow, PolicyVersion, Table};

on_both! {
    async fn each_edit_is_a_version(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let edit = PolicyEdit { document: b"{}".to_vec(), changed_by: "bob".to_owned(), note: "second".to_owned() };
        let conflict = Err(Error::Conflict { current: 6 });
        assert_eq!(store.update_policy(&acme, "floor", IfMatch::Revision(5), &edit, 20).await, conflict);
        assert_eq!(store.update_policy(&acme, "floor", IfMatch::Revision(6), &edit, 20).await, Ok(8));
        let row = PolicyRow {
            id: "pol-acme".to_owned(), tenant: acme.clone(), name: "floor".to_owned(), version: 2,
            document: b"{}".to_vec(), created: 6, updated: 20, revision: 8,
        };
        assert_eq!(store.policy(&acme, "floor").await, Ok(Some(row.clone())));
        assert_eq!(store.policy_by_id(&acme, "pol-acme").await, Ok(Some(row.clone())));
        assert_eq!(store.policies(&acme, FIRST).await, Ok(vec![row]));
        let second = PolicyVersion {
            policy_id: "pol-acme".to_owned(), version: 2, document: b"{}".to_vec(), changed_by: "bob".to_owned(),
            at: 20, note: "second".to_owned(),
        };
        let first = PolicyVersion {
            policy_id: "pol-acme".to_owned(), version: 1, document: b"{\"mode\":\"enforce\"}".to_vec(),
            changed_by: "ada".to_owned(), at: 6, note: "first".to_owned(),
        };
        assert_eq!(store.policy_history(&acme, "pol-acme", i64::MAX, 9).await, Ok(vec![second, first.clone()]));
        assert_eq!(store.policy_history(&acme, "pol-acme", 2, 9).await, Ok(vec![first]));
    }

    async fn deleted_policy_frees_its_name(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let taken = Err(Error::NameTaken { table: Table::Policies });
        assert_eq!(store.create_policy(&acme, &new_policy("pol-2", "floor"), 9).await, taken);
        assert_eq!(store.delete_policy(&acme, "floor", IfMatch::Revision(1), 9).await, Err(Error::Conflict { current: 6 }));
        store.delete_policy(&acme, "floor", IfMatch::Revision(6), 9).await.unwrap();
        assert_eq!(store.policy(&acme, "floor").await, Ok(None));
        assert_eq!(store.policy_by_id(&acme, "pol-acme").await, Ok(None));
        assert_eq!(store.policies(&acme, FIRST).await, Ok(Vec::new()));
        store.create_policy(&acme, &new_policy("pol-2", "floor"), 9).await.unwrap();
    }
}
