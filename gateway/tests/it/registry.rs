//! The registry follows the store: what is revoked stops working and its open streams end.

use chancery::clock::Clock;
use serde_json::json;
use store::{CardState, IfMatch, PrincipalState, TenantId, TenantState};
use tokio_util::sync::CancellationToken;

use crate::harness::{CANARY, DEADLINE, Db, Harness, document, logs};

/// Both databases: a change made by another process is in force without anybody asking for a refresh.
async fn follows_the_store(db: Db) {
    let Some(h) = Harness::start_with(db, Clock::System, &[]).await else { return };
    h.tenant("acme").await;
    h.card("acme", "echo", &h.agents.echo_url.clone(), "v10_jsonrpc").await;
    let caller = h.caller("acme", "bot", &["echo"], &["send"]).await;
    let world = h.app.registry.snapshot();
    let key = world.keys.values().find(|key| key.key_id == caller.key_id).unwrap().clone();
    assert!(!key.cancelled.is_cancelled());

    let acme = TenantId::new("acme").unwrap();
    h.store().revoke_key(&acme, &caller.key_id, h.now()).await.unwrap();
    ended(&key.cancelled).await;
    assert!(h.app.registry.snapshot().keys.is_empty());
    assert!(!key.principal.cancelled.is_cancelled(), "only the key lost its power");
    h.finish().await;
}

async fn ended(token: &CancellationToken) {
    tokio::time::timeout(DEADLINE, token.cancelled()).await.expect("the token is cancelled in time");
}

#[tokio::test]
async fn revoked_key_is_gone_without_restart_on_sqlite() {
    follows_the_store(Db::Sqlite).await;
}

#[tokio::test]
async fn revoked_key_is_gone_without_restart_on_postgres() {
    follows_the_store(Db::Postgres).await;
}

#[tokio::test]
async fn every_loss_of_power_cancels_its_token() {
    let h = Harness::start().await;
    let acme = h.tenant("acme").await;
    h.card("acme", "echo", &h.agents.echo_url.clone(), "v10_jsonrpc").await;
    let caller = h.caller("acme", "bot", &["echo"], &["send"]).await;
    let other = h.caller("acme", "other", &["echo"], &["send"]).await;
    let world = h.app.registry.snapshot();
    let tenant = &world.tenants["acme"];
    let (bot, echo) = (&tenant.principals[&caller.principal_id], &tenant.cards["echo"]);

    let grant = h.store().grants(&acme, store::Page { after: "", limit: 10 }).await.unwrap();
    let grant = grant.into_iter().find(|grant| grant.principal_id == caller.principal_id).unwrap();
    h.store().delete_grant(&acme, &grant.name, IfMatch::Any, h.now()).await.unwrap();
    h.refresh().await;
    assert!(bot.grants[0].cancelled.is_cancelled());
    assert!(!bot.cancelled.is_cancelled());

    h.store().set_principal_state(&acme, "bot", IfMatch::Any, PrincipalState::Disabled, h.now()).await.unwrap();
    h.refresh().await;
    assert!(bot.cancelled.is_cancelled());
    assert!(!tenant.principals[&other.principal_id].cancelled.is_cancelled());

    h.store().set_card_state(&acme, "echo", IfMatch::Any, CardState::Disabled, h.now()).await.unwrap();
    h.refresh().await;
    assert!(echo.cancelled.is_cancelled());

    h.change_tenant("acme", |fields| fields.state = TenantState::Suspended).await;
    assert!(tenant.cancelled.is_cancelled());
    assert!(tenant.principals[&other.principal_id].cancelled.is_cancelled(), "all of the tenant ends with it");
    assert!(h.app.registry.snapshot().tenants.is_empty());
    h.change_tenant("acme", |fields| fields.state = TenantState::Active).await;
    let again = h.app.registry.snapshot();
    assert!(!again.tenants["acme"].cancelled.is_cancelled());
    h.finish().await;
}

#[tokio::test]
async fn only_tenants_that_changed_are_compiled_again() {
    let h = Harness::start().await;
    h.tenant("acme").await;
    h.tenant("globex").await;
    h.card("acme", "echo", "http://127.0.0.1:9", "v10_jsonrpc").await;
    let before = h.app.registry.snapshot();
    h.card("globex", "echo", "http://127.0.0.1:9", "v10_jsonrpc").await;
    let after = h.app.registry.snapshot();
    assert!(std::sync::Arc::ptr_eq(&before.tenants["acme"], &after.tenants["acme"]));
    assert!(!std::sync::Arc::ptr_eq(&before.tenants["globex"], &after.tenants["globex"]));
    assert!(after.revision > before.revision);
    h.finish().await;
}

#[tokio::test]
async fn restart_reads_everything_again() {
    let h = Harness::start().await;
    h.tenant("acme").await;
    h.card("acme", "echo", "http://127.0.0.1:9", "v10_jsonrpc").await;
    let caller = h.caller("acme", "bot", &["echo"], &["send"]).await;
    h.app.refresh.load_all().await.unwrap();
    let world = h.app.registry.snapshot();
    assert!(world.tenants["acme"].cards.contains_key("echo"));
    let key = world.keys.values().find(|key| key.key_id == caller.key_id).unwrap();
    assert!(!key.cancelled.is_cancelled(), "a full reading revokes nothing");
    h.finish().await;
}

#[tokio::test]
async fn policy_of_a_card_is_compiled_with_the_floor_and_follows_its_document() {
    let h = Harness::start().await;
    let acme = h.tenant("acme").await;
    let words = |word: &str| {
        json!({
            "surfaces": ["a2a_inbound"],
            "detectors": [{"id": "words", "name": "w", "words": [word], "action": "block"}]
        })
    };
    h.policy("acme", "floor", &words("heron")).await;
    h.policy("acme", "own", &words("stork")).await;
    h.change_tenant("acme", |fields| fields.floor_policy = Some("floor".to_owned())).await;
    let settings = json!({"upstream": {"interfaces": [{"url": "http://127.0.0.1:9"}]}, "policy": "own"});
    h.card_with("acme", "echo", &settings, &document("Echo")).await;
    let before = h.app.registry.snapshot();
    let card = |world: &chancery::registry::Snapshot| world.tenants["acme"].cards["echo"].clone();
    assert_eq!(card(&before).policies.len(), 2);

    let edit = store::PolicyEdit {
        document: serde_json::to_vec(&words("crane")).unwrap(),
        changed_by: "test".to_owned(),
        note: String::new(),
    };
    h.store().update_policy(&acme, "own", IfMatch::Any, &edit, h.now()).await.unwrap();
    h.refresh().await;
    let after = h.app.registry.snapshot();
    let same = |at: usize| std::sync::Arc::ptr_eq(&card(&before).policies[at], &card(&after).policies[at]);
    assert!(same(0), "the floor did not change and is not compiled again");
    assert!(!same(1), "the card's own did");
    assert!(!card(&before).cancelled.is_cancelled(), "open streams go on under what they began with");

    // A policy that goes away closes the card: fail closed.
    h.store().delete_policy(&acme, "own", IfMatch::Any, h.now()).await.unwrap();
    h.refresh().await;
    assert!(h.app.registry.snapshot().tenants["acme"].cards.is_empty());
    h.finish().await;
}

/// One row that somebody damaged closes what it is, and nothing else; everybody who has to repair it can read its name.
async fn a_damaged_row_closes_itself_alone(db: Db) {
    let Some(h) = Harness::start_with(db, Clock::System, &[]).await else { return };
    let agent = h.agents.echo_url.clone();
    for tenant in ["acme", "globex"] {
        h.tenant(tenant).await;
        h.card(tenant, "echo", &agent, "v10_jsonrpc").await;
        h.card(tenant, "spare", &agent, "v10_jsonrpc").await;
    }
    let caller = h.caller("acme", "bot", &["*"], &["*"]).await;
    let stranger = h.caller("globex", "bot", &["*"], &["*"]).await;
    let card = h.app.registry.snapshot().tenants["acme"].cards["echo"].clone();
    let call = |tenant: &str, card: &str| {
        let call = json!({
            "jsonrpc": "2.0", "id": "1", "method": "SendMessage",
            "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
        });
        h.post(&format!("/a2a/{tenant}/{card}"), &call).header("a2a-version", "1.0")
    };
    let of = async |tenant: &str, card: &str, key: &str| call(tenant, card).key(key).send().await.status.as_u16();
    assert_eq!((of("acme", "echo", &caller.key).await, of("acme", "spare", &caller.key).await), (200, 200));

    h.damage("UPDATE cards SET state = 'canary-9d1f7c' WHERE tenant = 'acme' AND name = 'echo'").await;
    assert_eq!((of("acme", "echo", &caller.key).await, of("acme", "spare", &caller.key).await), (404, 200));
    assert_eq!(h.get("/a2a/acme/echo").send().await.status, 404, "its card is closed too");
    assert!(card.cancelled.is_cancelled(), "what was open ends");
    assert_eq!(of("globex", "echo", &stranger.key).await, 200);
    let closed = || {
        let world = h.app.registry.snapshot();
        let rows = world.bad_rows().map(|(tenant, row)| format!("{tenant} {} {}", row.kind, row.name));
        rows.collect::<Vec<_>>()
    };
    assert_eq!(closed(), ["acme card echo"]);
    let ready = h.admin_get("/readyz").await;
    let told = ready.json();
    assert_eq!((ready.status.as_u16(), &told["closed_rows"], &told["closed"]), (200, &json!(1), &json!(null)));
    assert!(!ready.text().contains("acme"), "names are for administrators");
    assert_eq!(h.get("/readyz").send().await.json(), json!({"status": "ready"}), "nobody else is told");
    assert!(h.admin_get("/metrics").await.text().contains("chancery_registry_bad_rows 1\n"));

    h.damage("UPDATE tenants SET state = 'canary-9d1f7c' WHERE name = 'globex'").await;
    // A key of a closed tenant proves nobody, so its call leaves no record.
    assert_eq!(call("globex", "echo").bad_key(&stranger.key).send().await.status, 401);
    assert_eq!(of("acme", "spare", &caller.key).await, 200);
    assert!(closed().contains(&"globex tenant globex".to_owned()), "{:?}", closed());
    // The store still follows: what others change is in force, whatever lies beside it.
    h.card("acme", "new", &agent, "v10_jsonrpc").await;
    assert_eq!(of("acme", "new", &caller.key).await, 200);

    h.damage("UPDATE tenants SET state = 'active' WHERE name = 'globex'").await;
    h.damage("UPDATE cards SET state = 'published' WHERE name = 'echo'").await;
    assert_eq!(h.admin_get("/readyz").await.json()["closed_rows"], json!(0));
    assert_eq!(of("acme", "echo", &caller.key).await, 200);
    let told: Vec<String> =
        logs().lines().filter(|line| line.contains("a row was left out")).map(str::to_owned).collect();
    for (kind, row) in [("card", "echo"), ("tenant", "globex")] {
        let names = |line: &String| {
            line.contains(&format!(r#""kind":"{kind}""#)) && line.contains(&format!(r#""row":"{row}""#))
        };
        assert!(told.iter().any(names), "{kind} {row}: {told:?}");
    }
    assert!(!told.concat().contains(CANARY));
    h.finish().await;
}

#[tokio::test]
async fn a_damaged_row_closes_itself_alone_on_sqlite() {
    a_damaged_row_closes_itself_alone(Db::Sqlite).await;
}

#[tokio::test]
async fn a_damaged_row_closes_itself_alone_on_postgres() {
    a_damaged_row_closes_itself_alone(Db::Postgres).await;
}

/// Whoever reads the log knows which policy, which card, and what to repair, without asking the database.
#[tokio::test]
async fn every_problem_of_a_policy_and_of_its_cards_is_named_in_the_log() {
    let h = Harness::start().await;
    h.tenant("acme").await;
    let broken = json!({
        "surfaces": ["a2a_inbound"],
        "detectors": [
            {"id": "pattern", "name": "open", "pattern": "(unclosed", "max_length": 9, "action": "block"},
            {"id": "nonsense-detector", "action": "block"}
        ]
    });
    h.policy("acme", "broken-policy", &broken).await;
    let settings = json!({"upstream": {"interfaces": [{"url": "http://127.0.0.1:9"}]}, "policy": "broken-policy"});
    h.card_with("acme", "hanging-card", &settings, &document("Echo")).await;
    let rows = h.app.registry.snapshot().tenants["acme"].bad_rows.clone();
    let names: Vec<(&str, &str)> = rows.iter().map(|row| (row.kind, row.name.as_str())).collect();
    assert_eq!(names, [("policy", "broken-policy"), ("card", "hanging-card")]);
    assert!(rows[0].problems.len() > 1, "{rows:?}");
    let lines: Vec<serde_json::Value> = logs()
        .lines()
        .filter(|line| line.contains("a row was left out"))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for row in &rows {
        for problem in &row.problems {
            let told = |line: &serde_json::Value| {
                let fields = &line["fields"];
                (&fields["row"], &fields["path"], &fields["problem"], &fields["tenant"])
                    == (&json!(row.name), &json!(problem.path), &json!(problem.problem), &json!("acme"))
            };
            assert!(lines.iter().any(told), "{row:?} {problem:?}: {lines:#?}");
        }
    }
    h.finish().await;
}
