//! Administrators: the first is made once, names are unique while they live, sessions end when they must.

use super::*;
use crate::{
    AdminEdit, AdminSessionRow, AdminState, Error, NewAdmin, NewAdminToken, SsoEntry, SsoOutcome, SsoSubject, Table,
};

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

fn subject(issuer: &str, subject: &str) -> SsoSubject {
    SsoSubject { issuer: issuer.to_owned(), subject: subject.to_owned() }
}

/// A sign-in of `who`, numbered; its account would be called `name`.
fn entry(number: i64, who: &SsoSubject, name: &str, roles: &[u8]) -> SsoEntry {
    SsoEntry {
        state: format!("state-{number}"),
        subject: who.clone(),
        account: NewAdmin { id: format!("adm-{number}"), password: None, roles: roles.to_vec(), ..admin(name) },
        session: session(&format!("s{number}"), "nobody", number),
        stale: 0,
    }
}

fn token(id: &str, made_by: &str) -> NewAdminToken {
    NewAdminToken {
        id: id.to_owned(),
        name: "ci".to_owned(),
        hash: id.to_owned(),
        hint: String::new(),
        roles: b"[]".to_vec(),
        made_by: made_by.to_owned(),
        expires: None,
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
        store.set_admin_password("ann", "other", Some("a2"), 30).await.unwrap();
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
    async fn a_new_password_from_somebody_else_takes_the_tokens_too(given) {
        let store = given.store;
        store.create_admin(&admin("ann"), 1).await.unwrap();
        store.create_admin_token(&token("a", "ann"), 1).await.unwrap();
        store.set_admin_password("ann", "own", Some("none"), 20).await.unwrap();
        assert_eq!(store.admin_token("a").await.unwrap().unwrap().revoked, None);
        store.set_admin_password("ann", "reset", None, 30).await.unwrap();
        assert_eq!(store.admin_token("a").await.unwrap().unwrap().revoked, Some(30));
    }

    async fn who_is_vouched_for_is_found_by_issuer_and_subject(given) {
        let store = given.store;
        let ann = subject("https://idp.test", "u1");
        let entered = |outcome| match outcome {
            SsoOutcome::Entered(row) => *row,
            other @ (SsoOutcome::Disabled | SsoOutcome::NameTaken | SsoOutcome::Replayed) => panic!("{other:?}"),
        };
        let made = entered(store.enter_by_sso(&entry(1, &ann, "ann", b"[1]"), 1).await.unwrap());
        assert_eq!((made.name.as_str(), made.signed_in, made.revision), ("ann", Some(1), 1));
        assert_eq!((made.sso_issuer.as_deref(), made.sso_subject.as_deref()), (Some("https://idp.test"), Some("u1")));
        assert_eq!(store.admin_session("s1").await.unwrap().unwrap().admin_id, made.id);
        // Another name and other roles: the account stays, and has the roles of now.
        let again = entered(store.enter_by_sso(&entry(2, &ann, "anna", b"[2]"), 2).await.unwrap());
        assert_eq!((again.id, again.name, again.roles, again.revision), (made.id, made.name, b"[2]".to_vec(), 2));
        // The same sign-in a second time.
        assert_eq!(store.enter_by_sso(&entry(2, &ann, "ann", b"[9]"), 3).await, Ok(SsoOutcome::Replayed));
        assert_eq!(store.admin("ann").await.unwrap().unwrap().roles, b"[2]");
        // A name that somebody else has, by password or by another subject.
        store.create_admin(&admin("bob"), 1).await.unwrap();
        for (number, name) in [(4, "bob"), (5, "ann")] {
            let other = subject("https://idp.test", "u2");
            assert_eq!(store.enter_by_sso(&entry(number, &other, name, b"[9]"), 4).await, Ok(SsoOutcome::NameTaken));
            assert_eq!(store.admin_session(&format!("s{number}")).await, Ok(None));
        }
        assert_eq!(store.admin("bob").await.unwrap().unwrap().sso_subject, None);
        // The same subject of another issuer is another person.
        let other = subject("https://other.test", "u1");
        assert_eq!(store.enter_by_sso(&entry(6, &other, "ann", b"[9]"), 4).await, Ok(SsoOutcome::NameTaken));
        let edit = AdminEdit { display_name: String::new(), roles: b"[2]".to_vec(), state: AdminState::Disabled };
        store.update_admin("ann", IfMatch::Any, &edit, 5).await.unwrap();
        assert_eq!(store.enter_by_sso(&entry(7, &ann, "ann", b"[9]"), 6).await, Ok(SsoOutcome::Disabled));
        assert_eq!(store.admin_session("s7").await, Ok(None));
        store.delete_admin("ann", IfMatch::Any, 7).await.unwrap();
        let anew = entered(store.enter_by_sso(&entry(8, &ann, "ann", b"[3]"), 8).await.unwrap());
        assert_eq!(anew.id, "adm-8");
    }

    async fn a_sign_in_is_finished_once_whoever_is_faster(given) {
        let store = given.store;
        let ann = subject("https://idp.test", "u1");
        let (one, two) = (entry(1, &ann, "ann", b"[1]"), entry(1, &ann, "ann", b"[1]"));
        let (one, two) = tokio::join!(store.enter_by_sso(&one, 1), store.enter_by_sso(&two, 1));
        let replayed = [one, two].into_iter().filter(|outcome| *outcome == Ok(SsoOutcome::Replayed)).count();
        assert_eq!(replayed, 1);
    }

    async fn who_is_given_no_role_any_more_keeps_nothing(given) {
        let store = given.store;
        let ann = subject("https://idp.test", "u1");
        store.enter_by_sso(&entry(1, &ann, "ann", b"[1]"), 1).await.unwrap();
        store.create_admin_token(&token("a", "ann"), 1).await.unwrap();
        store.strip_sso_admin(&subject("https://idp.test", "u2"), b"[]", 2).await.unwrap();
        assert_eq!(store.admin_token("a").await.unwrap().unwrap().revoked, None);
        store.strip_sso_admin(&ann, b"[]", 3).await.unwrap();
        assert_eq!(store.admin("ann").await.unwrap().unwrap().roles, b"[]");
        assert_eq!(store.admin_session("s1").await, Ok(None));
        assert_eq!(store.admin_token("a").await.unwrap().unwrap().revoked, Some(3));
    }
    async fn a_database_from_before_single_sign_on_keeps_its_accounts(given) {
        let store = &given.store;
        store.create_admin(&admin("ann"), 1).await.unwrap();
        for undo in [
            "DROP INDEX admins_by_sso",
            "ALTER TABLE admins DROP COLUMN sso_issuer",
            "ALTER TABLE admins DROP COLUMN sso_subject",
            "DROP TABLE admin_sso_uses",
            "DELETE FROM _sqlx_migrations WHERE version = 8",
        ] {
            given.execute(undo).await;
        }
        assert_eq!(store.pending_migrations().await, Ok(vec![8]));
        store.migrate().await.unwrap();
        let row = store.admin("ann").await.unwrap().unwrap();
        assert_eq!((row.password.as_deref(), row.sso_issuer, row.sso_subject), (Some("hash"), None, None));
        let made = store.enter_by_sso(&entry(1, &subject("https://idp.test", "u1"), "bob", b"[1]"), 2).await;
        assert!(matches!(made, Ok(SsoOutcome::Entered(_))), "{made:?}");
    }
}
