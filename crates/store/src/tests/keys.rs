//! Principals, their keys and grants; signing keys.

use super::*;
use crate::{Change, ChangeKind, Error, GrantRow, KeyRow, KeyUse, PrincipalRow, PrincipalState, SigningKeyRow, Table};

on_both! {
    async fn principal_is_kept_as_written(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let row = PrincipalRow {
            id: "prn-acme".to_owned(), tenant: acme.clone(), name: "bot".to_owned(), kind: PrincipalKind::Service,
            state: PrincipalState::Active, settings: b"{}".to_vec(), created: 3, updated: 3, revision: 3,
        };
        assert_eq!(store.principal(&acme, "bot").await, Ok(Some(row.clone())));
        let conflict = Err(Error::Conflict { current: 3 });
        let disabled = PrincipalState::Disabled;
        assert_eq!(store.set_principal_state(&acme, "bot", IfMatch::Revision(2), disabled, 9).await, conflict);
        assert_eq!(store.set_principal_state(&acme, "bot", IfMatch::Revision(3), disabled, 9).await, Ok(8));
        let row = PrincipalRow { state: disabled, updated: 9, revision: 8, ..row };
        assert_eq!(store.principal_by_id(&acme, "prn-acme").await, Ok(Some(row.clone())));
        store.create_principal(&acme, &new_principal("prn-2", "ann"), 9).await.unwrap();
        let page = store.principals(&acme, Page { after: "ann", limit: 5 }).await;
        assert_eq!(page, Ok(vec![row]));
        let taken = store.create_principal(&acme, &new_principal("prn-3", "bot"), 9).await;
        assert_eq!(taken, Err(Error::NameTaken { table: Table::Principals }));
    }

    async fn key_is_kept_as_written(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let row = KeyRow {
            id: "key-acme".to_owned(), tenant: acme.clone(), principal_id: "prn-acme".to_owned(),
            label: "laptop".to_owned(), hash: b"hash of key-acme".to_vec(), hint: "sk_…abc".to_owned(), created: 4,
            expires: Some(9_000), revoked: None, last_used: None, revision: 4,
        };
        assert_eq!(store.key(&acme, "key-acme").await, Ok(Some(row.clone())));
        assert_eq!(store.set_key_expiry(&acme, "key-acme", Some(7_000)).await, Ok(8));
        assert_eq!(store.keys(&acme, FIRST).await, Ok(vec![KeyRow { expires: Some(7_000), revision: 8, ..row }]));
        assert_eq!(store.keys(&acme, Page { after: "key-acme", limit: 5 }).await, Ok(Vec::new()));
    }

    async fn hash_is_unique_over_all_tenants(given) {
        let store = given.store;
        furnish(&store, "acme").await;
        let other = furnish(&store, "other").await;
        let stolen = NewKey { hash: b"hash of key-acme".to_vec(), ..new_key("key-2", "prn-other") };
        assert_eq!(store.create_key(&other, &stolen, 9).await, Err(Error::NameTaken { table: Table::Keys }));
    }

    async fn revoking_twice_keeps_the_first_time(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        store.revoke_key(&acme, "key-acme", 50).await.unwrap();
        store.revoke_key(&acme, "key-acme", 60).await.unwrap();
        assert_eq!(store.key(&acme, "key-acme").await.unwrap().unwrap().revoked, Some(50));
        assert_eq!(store.load_tenant(&acme).await.unwrap().unwrap().keys, Vec::new());
        assert_eq!(store.revoke_key(&acme, "key-2", 60).await, Err(Error::NotFound { table: Table::Keys }));
    }

    async fn use_of_keys_is_noted_without_a_revision(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let used = |id: &str, at| KeyUse { tenant: acme.clone(), id: id.to_owned(), at };
        let last = async || store.key(&acme, "key-acme").await.unwrap().unwrap().last_used;
        store.touch_keys(&[used("key-acme", 70), used("key-gone", 70), used("key-acme", 90)]).await.unwrap();
        assert_eq!(last().await, Some(90));
        store.touch_keys(&[used("key-acme", 80)]).await.unwrap();
        assert_eq!(last().await, Some(90), "never back");
        store.touch_keys(&[]).await.unwrap();
        assert_eq!(store.revision().await, Ok(7));
    }

    async fn grant_is_kept_as_written(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let row = GrantRow {
            id: "grt-acme".to_owned(), tenant: acme.clone(), name: "all".to_owned(),
            principal_id: "prn-acme".to_owned(), group_name: None, document: b"{\"cards\":[]}".to_vec(), created: 5,
            updated: 5, revision: 5,
        };
        assert_eq!(store.grant(&acme, "all").await, Ok(Some(row.clone())));
        let conflict = Err(Error::Conflict { current: 5 });
        assert_eq!(store.update_grant(&acme, "all", IfMatch::Revision(4), b"{}", 9).await, conflict);
        assert_eq!(store.update_grant(&acme, "all", IfMatch::Revision(5), b"{}", 9).await, Ok(8));
        let row = GrantRow { document: b"{}".to_vec(), updated: 9, revision: 8, ..row };
        assert_eq!(store.grant_by_id(&acme, "grt-acme").await, Ok(Some(row.clone())));
        assert_eq!(store.grants(&acme, FIRST).await, Ok(vec![row]));
        let taken = store.create_grant(&acme, &new_grant("grt-2", "all", "prn-acme"), 9).await;
        assert_eq!(taken, Err(Error::NameTaken { table: Table::Grants }));
        assert_eq!(store.delete_grant(&acme, "all", IfMatch::Revision(1), 9).await, Err(Error::Conflict { current: 8 }));
        store.delete_grant(&acme, "all", IfMatch::Any, 9).await.unwrap();
        assert_eq!(store.grant(&acme, "all").await, Ok(None));
        store.create_grant(&acme, &new_grant("grt-2", "all", "prn-acme"), 9).await.unwrap();
    }

    async fn keys_and_grants_need_a_living_principal(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let missing = Err(Error::NotFound { table: Table::Principals });
        assert_eq!(store.create_key(&acme, &new_key("key-2", "prn-none"), 9).await, missing);
        assert_eq!(store.create_grant(&acme, &new_grant("grt-2", "two", "prn-none"), 9).await, missing);
    }

    async fn deleted_principal_takes_its_keys_and_grants_along(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        store.create_principal(&acme, &new_principal("prn-2", "ann"), 9).await.unwrap();
        store.create_key(&acme, &new_key("key-2", "prn-2"), 9).await.unwrap();
        let revision = store.delete_principal(&acme, "bot", IfMatch::Revision(3), 40).await.unwrap();
        assert_eq!(store.principal(&acme, "bot").await, Ok(None));
        assert_eq!(store.principal_by_id(&acme, "prn-acme").await, Ok(None));
        assert_eq!(store.key(&acme, "key-acme").await.unwrap().unwrap().revoked, Some(40));
        assert_eq!(store.key(&acme, "key-2").await.unwrap().unwrap().revoked, None);
        assert_eq!(store.grant(&acme, "all").await, Ok(None));
        let entry = |kind, id: &str| Change { revision, tenant: acme.clone(), kind, id: id.to_owned() };
        let wanted = vec![
            entry(ChangeKind::Grant, "grt-acme"),
            entry(ChangeKind::Key, "key-acme"),
            entry(ChangeKind::Principal, "prn-acme"),
        ];
        assert_eq!(store.changes(revision - 1).await, Ok(Some(wanted)));
        let missing = Err(Error::NotFound { table: Table::Principals });
        assert_eq!(store.create_key(&acme, &new_key("key-3", "prn-acme"), 41).await, missing);
        store.create_principal(&acme, &new_principal("prn-3", "bot"), 42).await.unwrap();
    }

    async fn signing_key_goes_through_its_life(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let next = NewSigningKey { state: SigningKeyState::Next, ..new_signing_key("sig-2", "kid-2") };
        store.create_signing_key(&acme, &next, 9).await.unwrap();
        let taken = store.create_signing_key(&acme, &new_signing_key("sig-3", "kid-2"), 9).await;
        assert_eq!(taken, Err(Error::NameTaken { table: Table::SigningKeys }));
        let mut row = SigningKeyRow {
            id: "sig-2".to_owned(), tenant: acme.clone(), kid: "kid-2".to_owned(), purpose: KeyPurpose::Card,
            public: vec![1, 2], sealed_private: Some(vec![3, 4]), state: SigningKeyState::Next, created: 9,
            activated: None, retired: None, revision: 8,
        };
        assert_eq!(store.signing_key(&acme, "sig-2").await, Ok(Some(row.clone())));
        store.set_signing_key_state(&acme, "sig-2", SigningKeyState::Active, 10).await.unwrap();
        store.set_signing_key_state(&acme, "sig-2", SigningKeyState::Active, 11).await.unwrap();
        store.set_signing_key_state(&acme, "sig-2", SigningKeyState::Retiring, 12).await.unwrap();
        row = SigningKeyRow {
            state: SigningKeyState::Retiring, activated: Some(10), retired: Some(12), revision: 11, ..row
        };
        assert_eq!(store.signing_key(&acme, "sig-2").await, Ok(Some(row.clone())));
        assert_eq!(store.load_tenant(&acme).await.unwrap().unwrap().signing_keys.len(), 2);
        store.set_signing_key_state(&acme, "sig-2", SigningKeyState::Gone, 13).await.unwrap();
        row = SigningKeyRow { state: SigningKeyState::Gone, sealed_private: None, revision: 12, ..row };
        assert_eq!(store.signing_keys(&acme, Page { after: "sig-1", limit: 1 }).await, Ok(vec![row]));
        assert_eq!(store.load_tenant(&acme).await.unwrap().unwrap().signing_keys.len(), 1);
        let active = store.signing_key(&acme, "sig-acme").await.unwrap().unwrap();
        assert_eq!((active.activated, active.retired), (Some(7), None));
    }
}
