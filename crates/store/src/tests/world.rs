//! Loading a whole tenant, and what happens when a row can't be read.

use super::*;
use crate::{Error, Table};

on_both! {
    async fn world_is_everything_of_one_tenant(given) {
        let store = given.store;
        furnish(&store, "other").await;
        let acme = furnish(&store, "acme").await;
        let rows = store.load_tenant(&acme).await.unwrap().unwrap();
        assert_eq!(rows.revision, 14);
        assert_eq!(Some(rows.tenant), store.tenant(&acme).await.unwrap());
        assert_eq!(rows.cards, store.cards(&acme, FIRST).await.unwrap());
        assert_eq!(rows.principals, store.principals(&acme, FIRST).await.unwrap());
        assert_eq!(rows.keys, store.keys(&acme, FIRST).await.unwrap());
        assert_eq!(rows.grants, store.grants(&acme, FIRST).await.unwrap());
        assert_eq!(rows.policies, store.policies(&acme, FIRST).await.unwrap());
        assert_eq!(rows.signing_keys, store.signing_keys(&acme, FIRST).await.unwrap());
        let counts = [rows.cards.len(), rows.principals.len(), rows.keys.len(), rows.grants.len()];
        assert_eq!((counts, rows.policies.len(), rows.signing_keys.len()), ([1; 4], 1, 1));
        assert_eq!(store.load_tenant(&tenant_id("none")).await, Ok(None));
    }
}

on_both! {
    /// One row that can't be read closes itself; everything else of the tenant, and every other tenant, is there.
    async fn unreadable_row_is_left_out_and_named_and_not_quoted(given) {
        let store = &given.store;
        let (acme, other) = (furnish(store, "acme").await, furnish(store, "other").await);
        let whole = store.load_tenant(&acme).await.unwrap().unwrap();
        assert_eq!(whole.unreadable, []);
        given.execute("UPDATE cards SET state = 'canary' WHERE tenant = 'acme'").await;
        given.execute("UPDATE principals SET state = 'canary' WHERE tenant = 'acme'").await;
        let rows = store.load_tenant(&acme).await.unwrap().unwrap();
        let named: Vec<(Table, &str, &str)> =
            rows.unreadable.iter().map(|row| (row.table, row.id.as_str(), row.name.as_str())).collect();
        let expected = [(Table::Cards, "card-acme", "echo"), (Table::Principals, "prn-acme", "bot")];
        assert_eq!(named, expected);
        assert!(!format!("{:?}", rows.unreadable).contains("canary"));
        assert_eq!((rows.cards.len(), rows.principals.len(), rows.keys), (0, 0, whole.keys));
        assert_eq!((rows.grants, rows.policies, rows.signing_keys), (whole.grants, whole.policies, whole.signing_keys));
        assert_eq!(store.load_tenant(&other).await.unwrap().unwrap().unreadable, []);
        let corrupt = Error::Corrupt { table: Table::Cards, id: "card-acme".to_owned() };
        assert!(!format!("{corrupt} {corrupt:?}").contains("canary"));
        assert_eq!(store.card(&acme, "echo").await, Err(corrupt));
        given.execute("UPDATE tenants SET state = 'canary' WHERE name = 'acme'").await;
        let corrupt = store.load_tenant(&acme).await;
        assert!(matches!(corrupt, Err(Error::Corrupt { table: Table::Tenants, .. })), "{corrupt:?}");
    }
}
