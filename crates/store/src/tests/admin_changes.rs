//! The trail of changes: a row in the transaction of each, none without one, and nobody sees another tenant's.

use super::*;
use crate::{
    AdminChangeCursor, AdminChangeFilter, AdminChangeOutcome, AdminEdit, AdminState, Author, Error, NewAdmin,
    PolicyEdit, RefusedChange,
};

fn author(id: &str, at: i64, action: &str) -> Author {
    Author {
        id: id.to_owned(),
        at,
        actor: "ada".to_owned(),
        role: "tenant_admin".to_owned(),
        way: "session".to_owned(),
        way_id: "0123".to_owned(),
        source: "::1".to_owned(),
        action: action.to_owned(),
    }
}

const ANY: AdminChangeFilter = AdminChangeFilter {
    from: None,
    until: None,
    kind: None,
    name: None,
    action: None,
    actor: None,
    outcome: None,
    code: None,
};

/// Kind, name, action and revisions of each.
type Short = (String, String, String, Option<i64>, Option<i64>);

async fn told(store: &Store, filter: &AdminChangeFilter) -> Vec<Short> {
    let rows = store.all_changes(filter, None, 100).await.unwrap();
    rows.into_iter().map(|row| (row.kind, row.name, row.action, row.revision_before, row.revision_after)).collect()
}

fn short(kind: &str, name: &str, action: &str, before: Option<i64>, after: Option<i64>) -> Short {
    (kind.to_owned(), name.to_owned(), action.to_owned(), before, after)
}

on_both! {
    async fn each_change_leaves_its_row_and_what_failed_leaves_none(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        assert_eq!(told(&store, &ANY).await, Vec::new(), "nobody's changes are not told");
        let revision = store.revision().await.unwrap();
        let edit = PolicyEdit { document: b"{}".to_vec(), changed_by: "ada".to_owned(), note: String::new() };

        let made = store.by(author("chg-1", 10, "create")).create_policy(&acme, &new_policy("pol-2", "words"), 10).await;
        assert_eq!(made, Ok(revision + 1));
        let by = store.by(author("chg-2", 20, "update"));
        let stale = by.update_policy(&acme, "words", IfMatch::Revision(1), &edit, 20).await;
        assert_eq!(stale, Err(Error::Conflict { current: revision + 1 }));
        assert_eq!(by.create_policy(&acme, &new_policy("pol-3", "words"), 20).await, Err(Error::NameTaken { table: crate::Table::Policies }));
        by.update_policy(&acme, "words", IfMatch::Any, &edit, 20).await.unwrap();
        by.set_card_state(&acme, "echo", IfMatch::Any, CardState::Disabled, 20).await.unwrap();
        store.by(author("chg-3", 30, "rotate")).rotate_key(&acme, "key-acme", &new_key("key-2", "prn-acme"), 99, 30).await.unwrap();
        store.by(author("chg-4", 40, "create")).create_grant(&acme, &new_grant("grt-2", "more", "prn-acme"), 40).await.unwrap();
        let other = tenant_id("other");
        store.by(author("chg-5", 50, "create")).create_tenant(&other, &tenant_fields(), 50).await.unwrap();
        let suspended = TenantFields { state: TenantState::Suspended, ..tenant_fields() };
        store.by(author("chg-6", 60, "update")).update_tenant(&other, IfMatch::Any, &suspended, 60).await.unwrap();
        let at = |more: i64| Some(revision + more);
        let card = store.tenant_changes(&acme, &AdminChangeFilter { kind: Some("card".to_owned()), ..ANY }, None, 9).await.unwrap();
        assert_eq!(card.len(), 1);
        let old_key = told(&store, &AdminChangeFilter { name: Some("key-acme".to_owned()), ..ANY }).await;
        assert_eq!(old_key, [short("key", "key-acme", "rotate", Some(4), at(4))]);
        assert_eq!(told(&store, &ANY).await, [
            short("tenant", "other", "update", at(6), at(7)),
            short("tenant", "other", "create", None, at(6)),
            short("grant", "more", "create", None, at(5)),
            short("key", "key-2", "rotate", None, at(4)),
            short("key", "key-acme", "rotate", Some(4), at(4)),
            short("card", "echo", "update", card[0].revision_before, at(3)),
            short("policy", "words", "update", at(1), at(2)),
            short("policy", "words", "create", None, at(1)),
        ]);
    }

    async fn accounts_are_changed_by_somebody_too(given) {
        let store = given.store;
        let ann = NewAdmin {
            id: "adm-ann".to_owned(), name: "ann".to_owned(), display_name: String::new(), password: None,
            roles: b"[]".to_vec(),
        };
        let edit = AdminEdit { display_name: "Ann".to_owned(), roles: b"[]".to_vec(), state: AdminState::Active };
        store.by(author("chg-1", 1, "create")).create_admin(&ann, 1).await.unwrap();
        store.by(author("chg-2", 2, "update")).update_admin("ann", IfMatch::Any, &edit, 2).await.unwrap();
        store.by(author("chg-3", 3, "password")).set_admin_password("ann", "hash", None, 3).await.unwrap();
        store.by(author("chg-4", 4, "delete")).delete_admin("ann", IfMatch::Any, 4).await.unwrap();
        assert_eq!(store.by(author("chg-5", 5, "delete")).delete_admin("ann", IfMatch::Any, 5).await,
            Err(Error::NotFound { table: crate::Table::Admins }));
        assert_eq!(told(&store, &ANY).await, [
            short("admin", "ann", "delete", Some(3), Some(4)),
            short("admin", "ann", "password", Some(2), Some(3)),
            short("admin", "ann", "update", Some(1), Some(2)),
            short("admin", "ann", "create", None, Some(1)),
        ]);
    }

    async fn changes_are_found_by_page_and_filter_and_tenant(given) {
        let store = given.store;
        let (acme, other) = (furnish(&store, "acme").await, tenant_id("other"));
        store.create_tenant(&other, &tenant_fields(), 1).await.unwrap();
        for at in 1..=5 {
            let by = store.by(author(&format!("chg-{at}"), at, "create"));
            by.create_policy(&acme, &new_policy(&format!("pol-{at}"), &format!("p{at}")), at).await.unwrap();
        }
        let refused = RefusedChange {
            tenant: "other".to_owned(), kind: "card".to_owned(), name: "a\0b".to_owned(), code: "forbidden".to_owned(),
        };
        store.tell_refused(&refused).await.unwrap();
        store.by(author("chg-6", 6, "delete")).tell_refused(&refused).await.unwrap();
        let mut seen = Vec::new();
        let mut cursor: Option<AdminChangeCursor> = None;
        loop {
            let page = store.tenant_changes(&acme, &ANY, cursor.as_ref(), 2).await.unwrap();
            let Some(last) = page.last() else { break };
            cursor = Some(AdminChangeCursor { at: last.at, id: last.id.clone(), seq: last.seq });
            seen.extend(page.into_iter().map(|row| row.at));
        }
        assert_eq!(seen, [5, 4, 3, 2, 1]);
        let of_other = store.tenant_changes(&other, &ANY, None, 9).await.unwrap();
        assert_eq!(of_other.iter().map(|row| (row.outcome, row.code.as_deref(), row.name.as_str())).collect::<Vec<_>>(),
            [(AdminChangeOutcome::Refused, Some("forbidden"), "a\u{1a}b")]);
        let count = async |filter: AdminChangeFilter| store.all_changes(&filter, None, 100).await.unwrap().len();
        assert_eq!(count(ANY).await, 6);
        assert_eq!(count(AdminChangeFilter { outcome: Some(AdminChangeOutcome::Done), ..ANY }).await, 5);
        assert_eq!(count(AdminChangeFilter { code: Some("forbidden".to_owned()), ..ANY }).await, 1);
        assert_eq!(count(AdminChangeFilter { action: Some("delete".to_owned()), ..ANY }).await, 1);
        assert_eq!(count(AdminChangeFilter { actor: Some("eve".to_owned()), ..ANY }).await, 0);
        assert_eq!(count(AdminChangeFilter { name: Some("p3".to_owned()), ..ANY }).await, 1);
        assert_eq!(count(AdminChangeFilter { from: Some(2), until: Some(4), ..ANY }).await, 2);
    }
}
