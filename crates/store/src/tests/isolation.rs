//! One tenant never reads or changes another's rows, with every function, even when it knows name and id.

use super::*;
use crate::{
    AuditFilter, AuditRecord, CardEdit, ContextClaim, Error, KeyUse, PolicyEdit, PrincipalState, Table, TaskClaim,
};

/// `other` holds rows of the same names; here it has none, so that only a leak could find one.
async fn two_tenants(store: &Store) -> (TenantId, TenantId) {
    let acme = furnish(store, "acme").await;
    store.create_issuer(&acme, &new_issuer("iss-acme", "corp"), 8).await.unwrap();
    let other = tenant_id("other");
    store.create_tenant(&other, &tenant_fields(), 1).await.unwrap();
    (acme, other)
}

on_both! {
    async fn reads_find_nothing_of_another_tenant(given) {
        let store = given.store;
        let (_, other) = two_tenants(&store).await;
        assert_eq!(store.card(&other, "echo").await, Ok(None));
        assert_eq!(store.card_by_id(&other, "card-acme").await, Ok(None));
        assert_eq!(store.card_facts(&other, "card-acme").await, Ok(None));
        assert_eq!(store.cards(&other, FIRST).await, Ok(Vec::new()));
        assert_eq!(store.card_history(&other, "card-acme", i64::MAX, 9).await, Ok(Vec::new()));
        assert_eq!(store.principal(&other, "bot").await, Ok(None));
        assert_eq!(store.principal_by_id(&other, "prn-acme").await, Ok(None));
        assert_eq!(store.principals(&other, FIRST).await, Ok(Vec::new()));
        assert_eq!(store.key(&other, "key-acme").await, Ok(None));
        assert_eq!(store.keys(&other, FIRST).await, Ok(Vec::new()));
        assert_eq!(store.grant(&other, "all").await, Ok(None));
        assert_eq!(store.grant_by_id(&other, "grt-acme").await, Ok(None));
        assert_eq!(store.grants(&other, FIRST).await, Ok(Vec::new()));
        assert_eq!(store.issuer(&other, "corp").await, Ok(None));
        assert_eq!(store.issuers(&other, FIRST).await, Ok(Vec::new()));
        assert_eq!(store.policy(&other, "floor").await, Ok(None));
        assert_eq!(store.policy_by_id(&other, "pol-acme").await, Ok(None));
        assert_eq!(store.policies(&other, FIRST).await, Ok(Vec::new()));
        assert_eq!(store.policy_history(&other, "pol-acme", i64::MAX, 9).await, Ok(Vec::new()));
        assert_eq!(store.signing_key(&other, "sig-acme").await, Ok(None));
        assert_eq!(store.signing_keys(&other, FIRST).await, Ok(Vec::new()));
        let world = store.load_tenant(&other).await.unwrap().unwrap();
        assert!(world.cards.is_empty() && world.principals.is_empty() && world.keys.is_empty());
        assert!(world.issuers.is_empty() && world.grants.is_empty() && world.policies.is_empty() && world.signing_keys.is_empty());
    }

    async fn changes_touch_nothing_of_another_tenant(given) {
        let store = given.store;
        let (acme, other) = two_tenants(&store).await;
        let before = (store.load_tenant(&acme).await.unwrap().unwrap(), store.revision().await.unwrap());
        let card = CardEdit {
            document: Vec::new(), settings: Vec::new(), trust_tier: TrustTier::Pinned, changed_by: String::new(),
            note: String::new(),
        };
        let policy = PolicyEdit { document: Vec::new(), changed_by: String::new(), note: String::new() };
        let missing = |table| Err(Error::NotFound { table });
        let (any, disabled) = (IfMatch::Any, PrincipalState::Disabled);
        assert_eq!(store.update_card(&other, "echo", any, &card, 9).await, missing(Table::Cards));
        assert_eq!(store.set_card_state(&other, "echo", any, CardState::Disabled, 9).await, missing(Table::Cards));
        assert_eq!(store.set_card_credential(&other, "echo", any, None, 9).await, missing(Table::Cards));
        assert_eq!(store.delete_card(&other, "echo", any, 9).await, missing(Table::Cards));
        assert_eq!(store.set_principal_state(&other, "bot", any, disabled, 9).await, missing(Table::Principals));
        assert_eq!(store.delete_principal(&other, "bot", any, 9).await, missing(Table::Principals));
        assert_eq!(store.create_key(&other, &new_key("key-2", "prn-acme"), 9).await, missing(Table::Principals));
        assert_eq!(store.revoke_key(&other, "key-acme", 9).await, missing(Table::Keys));
        assert_eq!(store.set_key_expiry(&other, "key-acme", None).await, missing(Table::Keys));
        assert_eq!(store.create_grant(&other, &new_grant("g", "g", "prn-acme"), 9).await, missing(Table::Principals));
        assert_eq!(store.update_grant(&other, "all", any, b"", 9).await, missing(Table::Grants));
        assert_eq!(store.delete_grant(&other, "all", any, 9).await, missing(Table::Grants));
        assert_eq!(store.update_issuer(&other, "corp", any, b"", 9).await, missing(Table::Issuers));
        assert_eq!(store.delete_issuer(&other, "corp", any, 9).await, missing(Table::Issuers));
        assert_eq!(store.rotate_key(&other, "key-acme", &new_key("key-3", "prn-acme"), 9, 9).await, missing(Table::Keys));
        assert_eq!(store.update_policy(&other, "floor", any, &policy, 9).await, missing(Table::Policies));
        assert_eq!(store.delete_policy(&other, "floor", any, 9).await, missing(Table::Policies));
        let gone = SigningKeyState::Gone;
        assert_eq!(store.set_signing_key_state(&other, "sig-acme", gone, 9).await, missing(Table::SigningKeys));
        store.touch_keys(&[KeyUse { tenant: other.clone(), id: "key-acme".to_owned(), at: 9 }]).await.unwrap();
        assert_eq!((store.load_tenant(&acme).await.unwrap().unwrap(), store.revision().await.unwrap()), before);
    }

    async fn changes_of_one_namesake_leave_the_other_alone(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let other = furnish(&store, "other").await;
        let before = store.load_tenant(&acme).await.unwrap().unwrap();
        store.set_card_state(&other, "echo", IfMatch::Any, CardState::Disabled, 9).await.unwrap();
        store.set_card_credential(&other, "echo", IfMatch::Any, None, 9).await.unwrap();
        store.delete_card(&other, "echo", IfMatch::Any, 9).await.unwrap();
        store.delete_policy(&other, "floor", IfMatch::Any, 9).await.unwrap();
        store.set_signing_key_state(&other, "sig-other", SigningKeyState::Gone, 9).await.unwrap();
        store.delete_principal(&other, "bot", IfMatch::Any, 9).await.unwrap();
        store.update_tenant(&other, IfMatch::Any, &TenantFields { default_card: None, ..tenant_fields() }, 9).await.unwrap();
        store.delete_tenant(&other, IfMatch::Any, 9).await.unwrap();
        let after = store.load_tenant(&acme).await.unwrap().unwrap();
        assert_eq!(crate::TenantRows { revision: before.revision, ..after }, before);
    }

    async fn ownership_is_of_one_tenant(given) {
        let store = given.store;
        let (acme, other) = (tenant_id("acme"), tenant_id("other"));
        let claim = |tenant: &TenantId, principal: &str| TaskClaim {
            tenant: tenant.clone(), card_id: "card-1".to_owned(), task_id: "t".to_owned(),
            principal_id: principal.to_owned(), context_id: None, created: 1,
        };
        store.claim_task(&claim(&acme, "ann")).await.unwrap();
        assert_eq!(store.task_owner(&other, "card-1", "t").await, Ok(None));
        assert_eq!(store.task_owners(&other, "card-1", &["t"]).await, Ok(Vec::new()));
        assert_eq!(store.tasks_of(&other, "card-1", "ann", None, 9).await, Ok(Vec::new()));
        assert_eq!(store.claim_task(&claim(&other, "bob")).await.unwrap().principal_id, "bob");
        assert_eq!(store.claim_tasks(&[claim(&acme, "bob")]).await.unwrap()[0].principal_id, "ann");
        let claim = |tenant: &TenantId, principal: &str| ContextClaim {
            tenant: tenant.clone(), card_id: "card-1".to_owned(), context_id: "c".to_owned(),
            principal_id: principal.to_owned(), created: 1,
        };
        store.claim_context(&claim(&acme, "ann")).await.unwrap();
        assert_eq!(store.context_owner(&other, "card-1", "c").await, Ok(None));
        assert_eq!(store.claim_context(&claim(&other, "bob")).await.unwrap().principal_id, "bob");
        assert_eq!(store.claim_contexts(&[claim(&acme, "bob")]).await.unwrap()[0].principal_id, "ann");
    }

    async fn audit_is_of_one_tenant(given) {
        let store = given.store;
        let record = AuditRecord {
            writer: "w".to_owned(), seq: 1, tenant: "acme".to_owned(), at_open: 1, at_close: None, principal: None,
            key_id: None, card: None, operation: None, dialect: None, outcome: "open".to_owned(), fault: None,
            status: None, correlation_id: "cor".to_owned(), task_id: None, chain_root: Some("cor".to_owned()),
            document: Vec::new(),
        };
        store.append_audit(std::slice::from_ref(&record)).await.unwrap();
        let sum = crate::AuditSummary {
            writer: "w".to_owned(), tenant: "acme".to_owned(), reason: "r".to_owned(), source: "s".to_owned(),
            window_start: 1, count: 1,
        };
        store.append_audit_summaries(std::slice::from_ref(&sum)).await.unwrap();
        let filter = AuditFilter { correlation_id: Some("cor".to_owned()), ..AuditFilter::default() };
        for (name, found, sums) in [("acme", vec![record], vec![sum]), ("other", vec![], vec![])] {
            let tree = AuditFilter { chain_root: Some("cor".to_owned()), ..AuditFilter::default() };
            for filter in [&filter, &tree] {
                assert_eq!(store.audit_query(&tenant_id(name), filter, None, 9).await.as_ref(), Ok(&found));
            }
            assert_eq!(store.audit_summaries(&tenant_id(name), 0, 9, 9).await, Ok(sums));
        }
    }
}
