//! What administrators are told when the store takes no writes, has no room, or is behind; exports of the audit; and what
//! policies and grants in shadow mode would have done.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use store::AuditRecord;
use store::testing::execute_on;
use tokio::time::timeout;

use super::{Desk, card_spec, policy_spec};
use crate::harness::{DEADLINE, Db};

async fn say(desk: &Desk, key: &str, text: &str) {
    let params = json!({"message": {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    desk.h.post("/a2a/acme/echo", &body).header("a2a-version", "1.0").key(key).send().await;
}

/// Reads `path` until it is as it should be.
async fn until(desk: &Desk, path: &str, enough: impl Fn(&Value) -> bool) -> Value {
    let read = async {
        loop {
            let seen = desk.read(path).await;
            if enough(&seen) {
                return seen;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(DEADLINE, read).await.unwrap_or_else(|_| panic!("{path} becomes what is waited for"))
}

fn count(page: &Value) -> usize {
    page["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_store_that_takes_no_writes_says_so_and_can_be_read() {
    let desk = Desk::acme().await;
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", &desk.h.agents.echo_url.clone())).await;
    let key = desk.caller("acme", "bot").await["key"].as_str().unwrap().to_owned();
    let made =
        desk.post("/tokens", &json!({"name": "eye", "roles": [{"role": "auditor", "tenant": "acme"}]})).await.json();
    let health = desk.read("/health").await;
    assert_eq!((&health["store"], &health["audit"]["state"]), (&json!("writable"), &json!("ready")));

    execute_on(&desk.h.app.store, "PRAGMA query_only = 1").await;
    let refused = desk.post("/tenants/acme/principals", &json!({"name": "late", "spec": {}})).await;
    assert_eq!((refused.status, &refused.json()["code"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("store_read_only")));
    assert_eq!(desk.read("/health").await["store"], "read_only");
    assert_eq!(count(&desk.read("/tenants/acme/cards").await), 1);
    // A token that was never used before is not turned away because that can't be noted.
    let bearer = format!("Bearer {}", made["token"].as_str().unwrap());
    let read = desk.ask(Method::GET, "/api/v1/tenants/acme/cards", &[("authorization", &bearer)], Vec::new()).await;
    assert_eq!(read.status, StatusCode::OK, "{}", read.text());
    // Calls go on; their records wait where they are safe, and administrators see it.
    say(&desk, &key, "hello").await;
    let behind = until(&desk, "/health", |health| health["audit"]["store_failures"].as_u64() > Some(0)).await;
    assert!(behind["audit"]["spool_bytes"].as_u64() > Some(0), "{behind}");

    execute_on(&desk.h.app.store, "PRAGMA query_only = 0").await;
    until(&desk, "/audit?tenant=acme", |page| count(page) == 1).await;
    until(&desk, "/health", |health| health["audit"]["store_failures"] == 0 && health["store"] == "writable").await;
    desk.h.finish().await;
}

#[tokio::test]
async fn a_postgres_that_takes_no_writes_says_so_and_can_be_read() {
    let Some(desk) = Desk::open_with(Db::Postgres, &[]).await else { return };
    desk.make("/tenants", "acme", &json!({})).await;
    let closed = "DO $$ BEGIN
        EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
        PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid();
        END $$";
    desk.h.execute(closed).await;
    let refused = async {
        loop {
            // Connections that were cut are noticed one by one.
            let answer = desk.post("/tenants/acme/principals", &json!({"name": "late", "spec": {}})).await;
            assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.text());
            if answer.json()["code"] == "store_read_only" {
                break;
            }
        }
    };
    timeout(DEADLINE, refused).await.expect("the database says that it is read-only");
    let health = async {
        loop {
            let answer = desk.get("/health").await;
            if answer.status == StatusCode::OK {
                break answer.json();
            }
        }
    };
    assert_eq!(timeout(DEADLINE, health).await.expect("it can be read")["store"], "read_only");
    desk.h.stop_only().await;
}

#[tokio::test]
async fn a_store_without_room_says_so() {
    let desk = Desk::acme().await;
    execute_on(&desk.h.app.store, "PRAGMA max_page_count = 1").await;
    let mut policy = policy_spec("heron");
    policy["description"] = json!("x".repeat(200_000));
    let refused = desk.post("/tenants/acme/policies", &json!({"name": "large", "spec": policy})).await;
    assert_eq!((refused.status, &refused.json()["code"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("store_full")));
    desk.h.stop_only().await;
}

async fn shadows_are_counted_and_found(db: Db) {
    let Some(desk) = Desk::open_with(db, &[]).await else { return };
    desk.make("/tenants", "acme", &json!({})).await;
    let shadow = |word: &str| {
        let mut spec = policy_spec(word);
        spec["mode"] = json!("shadow");
        spec
    };
    desk.make("/tenants/acme/policies", "strict", &shadow("heron")).await;
    desk.make("/tenants/acme/policies", "unused", &shadow("egret")).await;
    let mut card = card_spec("Echo", &desk.h.agents.echo_url.clone());
    card["policy"] = json!("strict");
    desk.make("/tenants/acme/cards", "echo", &card).await;
    let key = desk.caller("acme", "bot").await["key"].as_str().unwrap().to_owned();
    desk.make("/tenants/acme/principals", "ghost", &json!({})).await;
    let grant = json!({"principal": "ghost", "mode": "shadow", "cards": ["*"], "operations": ["*"]});
    desk.make("/tenants/acme/grants", "maybe", &grant).await;
    let ghost = desk.post("/tenants/acme/keys", &json!({"principal": "ghost"})).await.json();
    for text in ["hello", "a heron", "two heron"] {
        say(&desk, &key, text).await;
    }
    say(&desk, ghost["key"].as_str().unwrap(), "boo").await;
    until(&desk, "/audit?tenant=acme", |page| count(page) == 4).await;

    let told = desk.read("/audit/shadow?tenant=acme").await;
    let of = |kind: &str, name: &str| {
        let items = told["items"].as_array().unwrap();
        items.iter().find(|one| one["kind"] == kind && one["name"] == name).unwrap_or_else(|| panic!("{name}: {told}"))
    };
    let strict = of("policy", "strict");
    assert_eq!((&strict["mode"], &strict["would_block"], &strict["of"]), (&json!("shadow"), &json!(2), &json!(4)));
    assert!(strict["last_at"].is_string() && strict["blocked"] == 0, "{strict}");
    assert_eq!((&of("policy", "unused")["would_block"], &of("policy", "unused")["of"]), (&json!(0), &json!(0)));
    assert_eq!((&of("grant", "maybe")["would_block"], &of("grant", "maybe")["of"]), (&json!(1), &json!(4)));
    let found = desk.read("/audit?tenant=acme&would_block_by=strict").await;
    assert_eq!((count(&found), &found["items"][0]["principal"]), (2, &json!("bot")));
    assert_eq!(count(&desk.read("/audit?tenant=acme&would_deny_by=maybe").await), 1);
    for (query, expected) in [
        ("finding=words", 2),
        ("finding=words:words", 2),
        ("finding=authz:maybe", 1),
        ("finding=word", 0),
        ("blocked_by=strict", 0),
        ("would_change_by=strict", 0),
        ("would_block_by=strict&principal=ghost", 0),
    ] {
        assert_eq!(count(&desk.read(&format!("/audit?tenant=acme&{query}")).await), expected, "{query}");
    }
    let finding = &found["items"][0]["detail"]["closed"]["findings"][0];
    assert_eq!((&finding["by"], &finding["action"]), (&json!("strict@1"), &json!("block/shadow")));
    assert!(finding["span"][1].as_u64() > finding["span"][0].as_u64(), "where, not what: {finding}");

    // Pages of a marked search go on where the one before ended.
    let first = desk.read("/audit?tenant=acme&would_block_by=strict&limit=1").await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = desk.read(&format!("/audit?tenant=acme&would_block_by=strict&limit=1&cursor={cursor}")).await;
    assert_eq!([&first["items"][0], &second["items"][0]], [&found["items"][0], &found["items"][1]]);
    let context = found["items"][0]["detail"]["closed"]["context_id"].as_str().unwrap();
    assert_eq!(count(&desk.read(&format!("/audit?tenant=acme&context_id={context}")).await), 1);
    for query in ["finding=words&context_id=x", "would_block_by=strict&root=x"] {
        assert_eq!(desk.get(&format!("/audit?tenant=acme&{query}")).await.status, StatusCode::BAD_REQUEST, "{query}");
    }
    let shown = desk.run(&["audit", "shadow"]).await;
    assert!(shown.code == 0 && shown.out.contains("strict") && shown.out.contains("maybe"), "{shown:?}");
    let listed = desk.run(&["audit", "query", "--would-block-by", "strict", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&listed.out).unwrap().as_array().unwrap().len(), 2, "{listed:?}");
    desk.h.finish().await;
}

#[tokio::test]
async fn shadows_are_counted_and_found_on_sqlite() {
    shadows_are_counted_and_found(Db::Sqlite).await;
}

#[tokio::test]
async fn shadows_are_counted_and_found_on_postgres() {
    shadows_are_counted_and_found(Db::Postgres).await;
}

/// Cells of a CSV, every one of them quoted.
fn cells(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut letters) = (Vec::new(), Vec::new(), String::new(), text.chars().peekable());
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        match (letter, quoted) {
            ('"', true) if letters.peek() == Some(&'"') => cell.extend(letters.next()),
            ('"', _) => quoted = !quoted,
            (',', false) => row.push(std::mem::take(&mut cell)),
            ('\r', false) => {}
            ('\n', false) => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            (letter, _) => cell.push(letter),
        }
    }
    rows
}

#[tokio::test]
async fn an_export_has_every_record_and_no_formula() {
    let desk = Desk::acme().await;
    let payloads = concat!(env!("CARGO_MANIFEST_DIR"), "/../admin-ui/tests/payloads.json");
    let mut payloads: Vec<String> = serde_json::from_slice(&std::fs::read(payloads).unwrap()).unwrap();
    payloads.extend(["=1+1", "+1", "-1", "@SUM(A1)", " =1", "＝1", "\t=1", "a\",\"=1"].map(str::to_owned));
    // Past the gateway, which lets few of these come so far.
    let record = |(seq, payload): (usize, &String)| AuditRecord {
        writer: "w".to_owned(),
        seq: i64::try_from(seq).unwrap(),
        tenant: "acme".to_owned(),
        at_open: 1_700_000_000_000_000,
        at_close: Some(1_700_000_000_000_001),
        principal: Some(payload.clone()),
        key_id: Some(payload.clone()),
        card: Some(payload.clone()),
        operation: Some(payload.clone()),
        dialect: Some(payload.clone()),
        outcome: if seq % 2 == 0 { "agent_fault".to_owned() } else { payload.clone() },
        fault: Some(payload.clone()),
        status: Some(200),
        correlation_id: payload.clone(),
        task_id: Some(payload.clone()),
        chain_root: None,
        document: b"{}".to_vec(),
    };
    // More than one page, so that the export has to go on.
    let all: Vec<&String> = payloads.iter().cycle().take(700).collect();
    let records: Vec<AuditRecord> = all.iter().enumerate().map(|(seq, payload)| record((seq, payload))).collect();
    desk.h.store().append_audit(&records).await.unwrap();
    desk.h.expect_records(records.len());

    let csv = desk.get("/audit/export/csv?tenant=acme").await;
    assert_eq!(
        (csv.status, csv.header("content-disposition")),
        (StatusCode::OK, "attachment; filename=\"audit-acme.csv\"")
    );
    let rows = cells(&csv.text());
    assert_eq!((rows.len(), rows[0].len(), rows[0][14].as_str()), (all.len() + 1, 15, "task_id"));
    for row in &rows {
        assert_eq!(row.len(), 15, "{row:?}");
        for cell in row {
            assert!(
                !cell.trim_start().starts_with(['=', '+', '-', '@', '＝']) && !cell.starts_with(['\t', '\r']),
                "{row:?}"
            );
        }
    }
    assert!(rows.iter().any(|row| row[14] == "'=1+1") && rows.iter().any(|row| row[14] == "a\",\"=1"), "{rows:?}");
    let told = |row: &Vec<String>| row[14].strip_prefix('\'').unwrap_or(&row[14]).to_owned();
    let told: Vec<String> = rows[1..].iter().rev().map(told).collect();
    assert!(
        told.iter().zip(&all).all(|(told, payload)| told.as_str() == payload.trim_start_matches('\'')),
        "each as it was"
    );

    let jsonl = desk.get("/audit/export/jsonl?tenant=acme&outcome=agent_fault").await;
    let lines: Vec<Value> = jsonl.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let page = desk.read("/audit?tenant=acme&limit=500&outcome=agent_fault").await;
    assert_eq!((lines.len(), json!(lines)), (350, page["items"].clone()));
    assert_eq!(desk.get("/audit/export/xml?tenant=acme").await.status, StatusCode::NOT_FOUND);
    assert_eq!(desk.get("/audit/export/csv?tenant=acme&limit=3").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(desk.get("/audit/export/csv?tenant=acme&cursor=x").await.status, StatusCode::BAD_REQUEST);
    let exported = desk.run(&["audit", "export", "--format", "csv"]).await;
    assert_eq!((exported.code, exported.out), (0, csv.text()));
    desk.h.finish().await;
}
