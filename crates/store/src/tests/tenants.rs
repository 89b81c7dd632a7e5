//! Tenants.

use super::*;
use crate::{ChangeKind, Error, Table, TenantRow};

on_both! {
    async fn tenant_is_kept_as_written(given) {
        let store = given.store;
        let acme = tenant_id("acme");
        assert_eq!(store.tenant(&acme).await, Ok(None));
        assert_eq!(store.create_tenant(&acme, &tenant_fields(), 10).await, Ok(1));
        let mut wanted = TenantRow {
            name: acme.clone(),
            display_name: "Acme, Inc.".to_owned(),
            state: TenantState::Active,
            default_card: Some("echo".to_owned()),
            default_policy: None,
            floor_policy: Some("floor".to_owned()),
            settings: b"{}".to_vec(),
            created: 10,
            updated: 10,
            revision: 1,
        };
        assert_eq!(store.tenant(&acme).await, Ok(Some(wanted.clone())));
        let fields = TenantFields { state: TenantState::Suspended, default_card: None, ..tenant_fields() };
        assert_eq!(store.update_tenant(&acme, IfMatch::Revision(1), &fields, 20).await, Ok(2));
        wanted = TenantRow { state: TenantState::Suspended, default_card: None, updated: 20, revision: 2, ..wanted };
        assert_eq!(store.tenant(&acme).await, Ok(Some(wanted)));
    }

    async fn stale_edits_conflict(given) {
        let store = given.store;
        let acme = tenant_id("acme");
        store.create_tenant(&acme, &tenant_fields(), 1).await.unwrap();
        store.update_tenant(&acme, IfMatch::Any, &tenant_fields(), 2).await.unwrap();
        let conflict = Err(Error::Conflict { current: 2 });
        assert_eq!(store.update_tenant(&acme, IfMatch::Revision(1), &tenant_fields(), 3).await, conflict);
        assert_eq!(store.delete_tenant(&acme, IfMatch::Revision(1), 3).await, conflict);
        let missing = Err(Error::NotFound { table: Table::Tenants });
        assert_eq!(store.update_tenant(&tenant_id("other"), IfMatch::Any, &tenant_fields(), 3).await, missing);
    }

    async fn deleted_tenant_is_gone_and_its_name_stays_taken(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let revision = store.delete_tenant(&acme, IfMatch::Any, 9).await.unwrap();
        assert_eq!(store.tenant(&acme).await, Ok(None));
        assert_eq!(store.load_tenant(&acme).await, Ok(None));
        assert_eq!(store.load_all_tenants().await, Ok(Vec::new()));
        assert_eq!(store.tenants(FIRST).await, Ok(Vec::new()));
        let last = store.changes(revision - 1).await.unwrap().unwrap();
        assert_eq!((last[0].kind, last[0].id.as_str(), last.len()), (ChangeKind::Tenant, "acme", 1));
        let taken = Err(Error::NameTaken { table: Table::Tenants });
        assert_eq!(store.create_tenant(&acme, &tenant_fields(), 10).await, taken);
        let missing = Err(Error::NotFound { table: Table::Tenants });
        assert_eq!(store.create_card(&acme, &new_card("card-2", "new"), 10).await, missing);
        assert_eq!(store.set_card_state(&acme, "echo", IfMatch::Any, CardState::Published, 10).await, missing);
    }

    async fn tenants_are_listed_by_name_in_pages(given) {
        let store = given.store;
        for name in ["b-c", "a", "b", "b1"] {
            store.create_tenant(&tenant_id(name), &tenant_fields(), 1).await.unwrap();
        }
        let names = |rows: Vec<TenantRow>| rows.into_iter().map(|row| row.name.to_string()).collect::<Vec<_>>();
        let page = store.tenants(Page { after: "", limit: 2 }).await.unwrap();
        assert_eq!(names(page), ["a", "b"]);
        let page = store.tenants(Page { after: "b", limit: 2 }).await.unwrap();
        assert_eq!(names(page), ["b-c", "b1"]);
        assert_eq!(store.tenants(Page { after: "b1", limit: 2 }).await, Ok(Vec::new()));
        let all = store.load_all_tenants().await.unwrap();
        assert_eq!(all, ["a", "b", "b-c", "b1"].map(tenant_id));
    }

    async fn zero_characters_are_refused_alike(given) {
        let fields = TenantFields { display_name: "a\0b".to_owned(), ..tenant_fields() };
        let refused = given.store.create_tenant(&tenant_id("acme"), &fields, 1).await;
        assert_eq!(refused, Err(Error::InvalidText { column: "display_name" }));
    }
}
