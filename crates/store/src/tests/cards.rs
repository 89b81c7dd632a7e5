//! Cards, their life and their history.

use super::*;
use crate::{CardEdit, CardFacts, CardRow, CardVersion, Error, Table};

fn edit(document: &str) -> CardEdit {
    CardEdit {
        document: document.as_bytes().to_vec(),
        settings: b"{\"s\":2}".to_vec(),
        trust_tier: TrustTier::Pinned,
        changed_by: "bob".to_owned(),
        note: "second".to_owned(),
    }
}

on_both! {
    async fn card_is_kept_as_written(given) {
        let store = given.store;
        let acme = tenant_id("acme");
        store.create_tenant(&acme, &tenant_fields(), 1).await.unwrap();
        let card = NewCard { document: vec![0, 159, 146, 150, b'"'], ..new_card("card-1", "echo") };
        assert_eq!(store.create_card(&acme, &card, 5).await, Ok(2));
        let row = CardRow {
            id: "card-1".to_owned(),
            tenant: acme.clone(),
            name: "echo".to_owned(),
            document: card.document.clone(),
            settings: card.settings.clone(),
            sealed_credential: card.sealed_credential.clone(),
            state: CardState::Draft,
            trust_tier: TrustTier::Unsigned,
            version: 1,
            revision: 2,
            created: 5,
            updated: 5,
        };
        assert_eq!(store.card(&acme, "echo").await, Ok(Some(row.clone())));
        assert_eq!(store.card_by_id(&acme, "card-1").await, Ok(Some(row.clone())));
        let facts = CardFacts {
            id: row.id, tenant: row.tenant, name: row.name, settings: row.settings,
            sealed_credential: row.sealed_credential, state: row.state, trust_tier: row.trust_tier,
            version: 1, revision: 2, created: 5, updated: 5,
        };
        assert_eq!(store.card_facts(&acme, "card-1").await, Ok(Some(facts.clone())));
        assert_eq!(store.cards(&acme, FIRST).await, Ok(vec![facts]));
    }

    async fn each_edit_is_a_version(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        assert_eq!(store.update_card(&acme, "echo", IfMatch::Revision(2), &edit("{\"v\":2}"), 20).await, Ok(8));
        let card = store.card(&acme, "echo").await.unwrap().unwrap();
        assert_eq!((card.version, card.trust_tier, card.created, card.updated), (2, TrustTier::Pinned, 2, 20));
        assert_eq!(card.sealed_credential, Some(vec![0, 255, 1]), "an edit leaves the credential alone");
        let first = CardVersion {
            card_id: "card-acme".to_owned(), version: 1, document: b"{\"name\":1.0}".to_vec(),
            settings: b"{\"direction\":\"inbound\"}".to_vec(), changed_by: "ada".to_owned(), at: 2,
            note: "first".to_owned(),
        };
        let second = CardVersion {
            card_id: "card-acme".to_owned(), version: 2, document: b"{\"v\":2}".to_vec(),
            settings: b"{\"s\":2}".to_vec(), changed_by: "bob".to_owned(), at: 20, note: "second".to_owned(),
        };
        assert_eq!(store.card_history(&acme, "card-acme", i64::MAX, 10).await, Ok(vec![second.clone(), first.clone()]));
        assert_eq!(store.card_history(&acme, "card-acme", i64::MAX, 1).await, Ok(vec![second]));
        assert_eq!(store.card_history(&acme, "card-acme", 2, 10).await, Ok(vec![first]));
    }

    async fn state_and_credential_change_without_a_version(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        for (revision, state) in (8..).zip(CardState::ALL) {
            assert_eq!(store.set_card_state(&acme, "echo", IfMatch::Any, *state, 30).await, Ok(revision));
            assert_eq!(store.card(&acme, "echo").await.unwrap().unwrap().state, *state);
        }
        store.set_card_credential(&acme, "echo", IfMatch::Any, Some(b"sealed"), 31).await.unwrap();
        let card = store.card(&acme, "echo").await.unwrap().unwrap();
        assert_eq!((card.sealed_credential, card.updated), (Some(b"sealed".to_vec()), 31));
        store.set_card_credential(&acme, "echo", IfMatch::Revision(card.revision), None, 32).await.unwrap();
        let card = store.card(&acme, "echo").await.unwrap().unwrap();
        assert_eq!((card.sealed_credential, card.version), (None, 1));
        assert_eq!(store.card_history(&acme, "card-acme", i64::MAX, 10).await.unwrap().len(), 1);
    }

    async fn stale_edits_conflict(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        let stale = IfMatch::Revision(1);
        let conflict = Err(Error::Conflict { current: 2 });
        assert_eq!(store.update_card(&acme, "echo", stale, &edit("{}"), 9).await, conflict);
        assert_eq!(store.set_card_state(&acme, "echo", stale, CardState::Disabled, 9).await, conflict);
        assert_eq!(store.set_card_credential(&acme, "echo", stale, None, 9).await, conflict);
        assert_eq!(store.delete_card(&acme, "echo", stale, 9).await, conflict);
    }

    async fn deleted_card_frees_its_name_and_not_its_id(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        store.delete_card(&acme, "echo", IfMatch::Any, 9).await.unwrap();
        assert_eq!(store.card(&acme, "echo").await, Ok(None));
        assert_eq!(store.card_by_id(&acme, "card-acme").await, Ok(None));
        assert_eq!(store.card_facts(&acme, "card-acme").await, Ok(None));
        assert_eq!(store.cards(&acme, FIRST).await, Ok(Vec::new()));
        assert_eq!(store.card_history(&acme, "card-acme", i64::MAX, 10).await.unwrap().len(), 1);
        let missing = Err(Error::NotFound { table: Table::Cards });
        assert_eq!(store.delete_card(&acme, "echo", IfMatch::Any, 9).await, missing);
        assert_eq!(store.update_card(&acme, "echo", IfMatch::Any, &edit("{}"), 9).await, missing);
        let taken = Err(Error::NameTaken { table: Table::Cards });
        assert_eq!(store.create_card(&acme, &new_card("card-acme", "echo"), 9).await, taken);
        store.create_card(&acme, &new_card("card-2", "echo"), 9).await.unwrap();
        assert_eq!(store.card(&acme, "echo").await.unwrap().unwrap().id, "card-2");
        let mut session = store.reader().await.unwrap();
        let erased = "SELECT COUNT(*) FROM cards WHERE deleted IS NOT NULL AND sealed_credential IS NULL";
        assert_eq!(one!(session, i64, erased), Ok(Some(1)), "a tombstone holds no secret");
    }

    async fn cards_are_listed_by_name_in_pages(given) {
        let store = given.store;
        let acme = tenant_id("acme");
        store.create_tenant(&acme, &tenant_fields(), 1).await.unwrap();
        for name in ["b", "a-2", "a1", "a"] {
            store.create_card(&acme, &new_card(&format!("card-{name}"), name), 1).await.unwrap();
        }
        let names = |rows: Vec<CardFacts>| rows.into_iter().map(|row| row.name).collect::<Vec<_>>();
        assert_eq!(names(store.cards(&acme, Page { after: "", limit: 3 }).await.unwrap()), ["a", "a-2", "a1"]);
        assert_eq!(names(store.cards(&acme, Page { after: "a1", limit: 3 }).await.unwrap()), ["b"]);
        assert_eq!(names(store.cards(&acme, Page { after: "", limit: 0 }).await.unwrap()), ["a"]);
    }

    async fn names_that_no_database_can_hold_are_refused(given) {
        let store = given.store;
        let acme = furnish(&store, "acme").await;
        for name in ["", "a\0", &"x".repeat(600)] {
            let refused = store.create_card(&acme, &new_card("card-2", name), 9).await;
            assert_eq!(refused, Err(Error::InvalidText { column: "name" }));
        }
        let noted = NewCard { note: "\0".to_owned(), ..new_card("card-2", "two") };
        assert_eq!(store.create_card(&acme, &noted, 9).await, Err(Error::InvalidText { column: "note" }));
    }
}
