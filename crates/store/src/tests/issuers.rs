//! Issuers: made, changed, removed, found again by name.

use super::*;
use crate::{ChangeKind, Error, Table};

on_both! {
    async fn an_issuer_lives_by_its_name(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        store.create_issuer(&acme, &new_issuer("iss-acme", "corp"), 8).await.unwrap();
        let taken = store.create_issuer(&acme, &new_issuer("iss-2", "corp"), 9).await;
        assert_eq!(taken, Err(Error::NameTaken { table: Table::Issuers }));
        let before = store.issuer(&acme, "corp").await.unwrap().unwrap();
        let stale = IfMatch::Revision(before.revision - 1);
        let conflict = Err(Error::Conflict { current: before.revision });
        assert_eq!(store.update_issuer(&acme, "corp", stale, b"{}", 10).await, conflict);
        let revision = store.update_issuer(&acme, "corp", IfMatch::Revision(before.revision), b"{}", 10).await.unwrap();
        let changes = store.changes(revision - 1).await.unwrap().unwrap();
        assert_eq!((changes.len(), changes[0].kind, changes[0].id.as_str()), (1, ChangeKind::Issuer, "iss-acme"));
        let after = store.issuer(&acme, "corp").await.unwrap().unwrap();
        assert_eq!((after.document.as_slice(), after.updated, after.revision), (b"{}".as_slice(), 10, revision));
        assert_eq!(store.load_tenant(&acme).await.unwrap().unwrap().issuers, [after]);
        store.delete_issuer(&acme, "corp", IfMatch::Any, 11).await.unwrap();
        assert_eq!(store.issuer(&acme, "corp").await, Ok(None));
        assert!(store.load_tenant(&acme).await.unwrap().unwrap().issuers.is_empty());
        store.create_issuer(&acme, &new_issuer("iss-3", "corp"), 12).await.unwrap();
        assert_eq!(store.issuers(&acme, FIRST).await.unwrap().len(), 1);
    }

    async fn a_key_rotates_with_overlap(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let (first, second) = (new_key("key-2", "prn-acme"), new_key("key-3", "prn-acme"));
        let revision = store.rotate_key(&acme, "key-acme", &first, 500, 20).await.unwrap();
        let old = store.key(&acme, "key-acme").await.unwrap().unwrap();
        assert_eq!((old.expires, old.revision, old.revoked), (Some(500), revision, None));
        assert_eq!(store.key(&acme, "key-2").await.unwrap().unwrap().revision, revision);
        assert_eq!(store.changes(revision - 1).await.unwrap().unwrap().len(), 2);
        // It never lives longer than before.
        store.rotate_key(&acme, "key-acme", &second, 900, 21).await.unwrap();
        assert_eq!(store.key(&acme, "key-acme").await.unwrap().unwrap().expires, Some(500));
        // All or nothing.
        let taken = store.rotate_key(&acme, "key-2", &second, 100, 22).await;
        assert_eq!(taken, Err(Error::NameTaken { table: Table::Keys }));
        assert_eq!(store.key(&acme, "key-2").await.unwrap().unwrap().expires, Some(9_000));
        store.revoke_key(&acme, "key-2", 23).await.unwrap();
        let gone = store.rotate_key(&acme, "key-2", &new_key("key-4", "prn-acme"), 100, 24).await;
        assert_eq!(gone, Err(Error::NotFound { table: Table::Keys }));
    }
}
