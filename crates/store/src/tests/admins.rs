//! Administrators: the first is made once, names are unique while they live, sessions end when they must.

use super::*;
use crate::{AdminEdit, AdminSessionRow, AdminState, Error, NewAdmin, NewAdminToken, Table};

fn admin(name: &str) -> NewAdmin {
    NewAdmin {
        id: format!("adm-{name}"),
        name: name.to_owned(),
        display_name: name.to_owned(),
        password: Some("hash".to_owned()),
        roles: b"[]".to_vec(),
    }
}

fn session(id: &str, admin: &str, at: i64) -> AdminSessionRow {
    AdminSessionRow {
        id: id.to_owned(),
        admin_id: format!("adm-{admin}"),
        source: "::1".to_owned(),
        created: at,
        seen: at,
    }
}

on_both! {
    async fn the_first_account_is_made_once(given) {
        let store = given.store;
        assert_eq!(store.has_admins().await, Ok(false));
        let (ann, bob) = (admin("ann"), admin("bob"));
        let made = tokio::join!(store.create_first_admin(&ann, 1), store.create_first_admin(&bob, 1));
        assert!(made.0.unwrap() != made.1.unwrap());
        assert_eq!(store.has_admins().await, Ok(true));
        assert_eq!(store.create_first_admin(&admin("eve"), 2).await, Ok(false));
        assert_eq!(store.admins(FIRST).await.unwrap().len(), 1);
    }

    async fn an_account_changes_only_at_the_revision_that_was_read(given) {
        let store = given.store;
        store.create_admin(&admin("ann"), 1).await.unwrap();
        assert_eq!(store.create_admin(&admin("ann"), 1).await, Err(Error::NameTaken { table: Table::Admins }));
        let edit = AdminEdit { display_name: "Ann".to_owned(), roles: b"[1]".to_vec(), state: AdminState::Active };
        assert_eq!(store.update_admin("ann", IfMatch::Revision(7), &edit, 2).await, Err(Error::Conflict { current: 1 }));
        store.update_admin("ann", IfMatch::Revision(1), &edit, 2).await.unwrap();
        let row = store.admin("ann").await.unwrap().unwrap();
        assert_eq!((row.display_name.as_str(), row.roles.as_slice(), row.revision), ("Ann", b"[1]".as_slice(), 2));
        store.delete_admin("ann", IfMatch::Revision(2), 3).await.unwrap();
        assert_eq!(store.admin("ann").await, Ok(None));
        assert_eq!(store.admin_by_id("adm-ann").await, Ok(None));
        let again = NewAdmin { id: "adm-2".to_owned(), ..admin("ann") };
        store.create_admin(&again, 4).await.unwrap();
    }

    async fn sessions_end_with_what_they_rest_on(given) {
        let store = given.store;
        for name in ["ann", "bob"] {
            store.create_admin(&admin(name), 1).await.unwrap();
        }
        for (id, of) in [("a1", "ann"), ("a2", "ann"), ("a3", "ann"), ("b1", "bob")] {
            store.open_admin_session(&session(id, of, 10), 0).await.unwrap();
        }
        assert_eq!(store.admin("ann").await.unwrap().unwrap().signed_in, Some(10));
        store.touch_admin_session("a1", 20).await.unwrap();
        assert_eq!(store.admin_session("a1").await.unwrap().unwrap().seen, 20);
        store.end_admin_session("a1").await.unwrap();
        assert_eq!(store.admin_session("a1").await, Ok(None));
        store.set_admin_password("ann", "other", "a2", 30).await.unwrap();
        assert!(store.admin_session("a2").await.unwrap().is_some());
        assert_eq!(store.admin_session("a3").await, Ok(None));
        let edit = AdminEdit { display_name: String::new(), roles: Vec::new(), state: AdminState::Disabled };
        store.update_admin("ann", IfMatch::Any, &edit, 40).await.unwrap();
        assert_eq!(store.admin_session("a2").await, Ok(None));
        assert!(store.admin_session("b1").await.unwrap().is_some());
        // A session that began before the absolute limit is forgotten when the next one opens.
        store.open_admin_session(&session("b2", "bob", 50), 11).await.unwrap();
        assert_eq!(store.admin_session("b1").await, Ok(None));
    }

    async fn tokens_are_found_by_hash_and_stay_when_revoked(given) {
        let store = given.store;
        let token = NewAdminToken {
            id: "tok-1".to_owned(), name: "ci".to_owned(), hash: "h".to_owned(), hint: "…x".to_owned(),
            roles: b"[]".to_vec(), made_by: "ann".to_owned(), expires: Some(9),
        };
        store.create_admin_token(&token, 1).await.unwrap();
        store.touch_admin_token("tok-1", 5).await.unwrap();
        store.revoke_admin_token("tok-1", 6).await.unwrap();
        store.revoke_admin_token("tok-1", 7).await.unwrap();
        let row = store.admin_token("h").await.unwrap().unwrap();
        assert_eq!((row.revoked, row.used, row.expires), (Some(6), Some(5), Some(9)));
        assert_eq!(store.admin_tokens(FIRST).await.unwrap().len(), 1);
        assert_eq!(store.admin_token("other").await, Ok(None));
        let missing = Err(Error::NotFound { table: Table::AdminTokens });
        assert_eq!(store.revoke_admin_token("tok-2", 7).await, missing);
    }

    async fn tokens_end_with_the_account_that_made_them(given) {
        let store = given.store;
        for name in ["ann", "bob"] {
            store.create_admin(&admin(name), 1).await.unwrap();
        }
        for (id, made_by) in [("a", "ann"), ("b", "bob"), ("c", "(bootstrap)")] {
            let token = NewAdminToken {
                id: id.to_owned(), name: "ci".to_owned(), hash: id.to_owned(), hint: String::new(),
                roles: b"[]".to_vec(), made_by: made_by.to_owned(), expires: None,
            };
            store.create_admin_token(&token, 1).await.unwrap();
        }
        let edit = AdminEdit { display_name: String::new(), roles: Vec::new(), state: AdminState::Disabled };
        store.update_admin("ann", IfMatch::Any, &edit, 40).await.unwrap();
        let revoked = async |hash| store.admin_token(hash).await.unwrap().unwrap().revoked;
        assert_eq!((revoked("a").await, revoked("b").await, revoked("c").await), (Some(40), None, None));
        store.delete_admin("bob", IfMatch::Any, 50).await.unwrap();
        assert_eq!((revoked("a").await, revoked("b").await, revoked("c").await), (Some(40), Some(50), None));
    }
}
