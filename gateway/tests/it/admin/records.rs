//! The audit query: filters, pages, and principals by name.

use http::StatusCode;
use serde_json::{Value, json};

use super::{Desk, card_spec, problem_paths};
use crate::delegation::given;
use crate::harness::Db;
use crate::rig::says;
use sample_agents::hostile::{Behaviour, start};

/// Waits until the store has `count` records, as shipping takes its time.
async fn shipped(desk: &Desk, count: usize) -> Vec<Value> {
    let all = async {
        loop {
            let page = desk.read("/audit?tenant=acme&limit=500").await;
            let items = page["items"].as_array().unwrap().clone();
            if items.len() >= count && items.iter().all(|item| item["closed_at"].is_string()) {
                return items;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::harness::DEADLINE, all).await.expect("the records arrive")
}

async fn records_are_found(db: Db) {
    let Some(desk) = Desk::open_with(db, &[]).await else { return };
    desk.make("/tenants", "acme", &json!({})).await;
    let echo = desk.h.agents.echo_url.clone();
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", &echo)).await;
    desk.make("/tenants/acme/cards", "other", &card_spec("Other", &echo)).await;
    let (anna, bert) = (desk.caller("acme", "anna").await, desk.caller("acme", "bert").await);
    let call = async |card: &str, key: &Value| {
        let asking = desk.h.get(&format!("/a2a/acme/{card}/tasks")).header("a2a-version", "1.0");
        asking.key(key["key"].as_str().unwrap()).send().await
    };
    for card in ["echo", "echo", "other"] {
        assert_eq!(call(card, &anna).await.status, StatusCode::OK);
    }
    assert_eq!(call("echo", &bert).await.status, StatusCode::OK);
    assert_eq!(call("ghost", &bert).await.status, StatusCode::NOT_FOUND);
    let all = shipped(&desk, 5).await;

    let anna_id = desk.read("/tenants/acme/principals/anna").await["id"].as_str().unwrap().to_owned();
    let count = async |query: &str| {
        let page = desk.read(&format!("/audit?tenant=acme&{query}")).await;
        page["items"].as_array().unwrap().len()
    };
    assert_eq!(count("principal=anna").await, 3);
    assert_eq!(count(&format!("principal={anna_id}")).await, 3);
    assert_eq!(count("principal=anna&card=other").await, 1);
    assert_eq!(count("operation=list").await, count("card=echo").await + count("card=other").await);
    assert_eq!(count("until=2001-01-01T00:00:00Z").await, 0);
    assert_eq!(count("from=2001-01-01T00:00:00Z").await, 5);
    let one = all.iter().find(|record| record["principal"] == "bert" && record["card"] == "echo").unwrap();
    let id = one["correlation_id"].as_str().unwrap();
    assert_eq!(count(&format!("correlation_id={id}")).await, 1);
    assert_eq!(count(&format!("outcome={}", one["outcome"].as_str().unwrap())).await, 4);
    let by_anna: Vec<&Value> = all.iter().filter(|record| record["principal"] == "anna").collect();
    assert!(by_anna.len() == 3 && by_anna.iter().all(|record| record["principal_id"] == anna_id.as_str()));

    // Pages: newest first, every record once.
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = desk.read(&format!("/audit?tenant=acme&limit=2&cursor={cursor}")).await;
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].clone()));
        match page["next_cursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => break,
        }
    }
    assert_eq!(seen, all.iter().map(|item| item["id"].clone()).collect::<Vec<_>>());

    // A removed principal is still asked for and shown by its id.
    desk.delete("/tenants/acme/principals/anna").await;
    assert_eq!(count(&format!("principal={anna_id}")).await, 3);
    let gone = desk.get("/audit?tenant=acme&principal=anna").await;
    assert_eq!(problem_paths(&gone), ["principal"]);
    let shown = desk.read(&format!("/audit?tenant=acme&principal={anna_id}")).await;
    assert_eq!(shown["items"][0]["principal"], anna_id.as_str());
    desk.h.finish().await;
}

#[tokio::test]
async fn records_are_found_on_sqlite() {
    records_are_found(Db::Sqlite).await;
}

#[tokio::test]
async fn records_are_found_on_postgres() {
    records_are_found(Db::Postgres).await;
}

async fn a_tree_of_delegations_is_found(db: Db) {
    let Some(desk) = Desk::open_with(db, &[]).await else { return };
    desk.make("/tenants", "acme", &json!({})).await;
    let agent = start(Behaviour::Honest).await.unwrap();
    let (ann, one) = (desk.caller("acme", "ann").await, desk.caller("acme", "one").await);
    for card in ["a", "b", "c", "d"] {
        let mut spec = card_spec(card, &agent.url());
        spec["bound_principal"] = json!("one");
        desk.make("/tenants/acme/cards", card, &spec).await;
    }
    let send = async |who: &Value, card: &str, headers: &[(String, String)]| {
        let body: Value = serde_json::from_str(&says("hi")).unwrap();
        let asking = desk.h.post(&format!("/a2a/acme/{card}/message:send"), &body).header("a2a-version", "1.0");
        let asking = asking.key(who["key"].as_str().unwrap());
        let asking = headers.iter().fold(asking, |asking, (name, value)| asking.header(name, value));
        assert_eq!(asking.send().await.status, StatusCode::OK, "{card}");
        given(&agent.requests().pop().unwrap())
    };
    // Two trees whose callers chose one name for their first calls, grown at once.
    let chosen = [("x-correlation-id".to_owned(), "mine".to_owned())];
    let first = send(&ann, "a", &chosen).await;
    let other = send(&ann, "a", &chosen).await;
    let second = send(&one, "b", &first).await;
    send(&one, "b", &other).await;
    send(&one, "c", &second).await;
    send(&one, "d", &first).await;
    send(&one, "d", &[]).await;
    shipped(&desk, 7).await;

    let named = desk.read("/audit?tenant=acme&correlation_id=mine").await;
    let roots: Vec<&str> =
        named["items"].as_array().unwrap().iter().map(|item| item["root"].as_str().unwrap()).collect();
    assert_eq!(roots.len(), 2);
    assert_ne!(roots[0], roots[1], "no caller chooses a root");
    let tree = async |query: &str| {
        let page = desk.read(&format!("/audit?tenant=acme&{query}")).await;
        let cards = page["items"].as_array().unwrap().iter().map(|item| item["card"].as_str().unwrap().to_owned());
        (cards.collect::<Vec<_>>(), page["next_cursor"].as_str().map(str::to_owned))
    };
    // Newest first: the later of the two is the other.
    let root = roots[1];
    assert_eq!(tree(&format!("root={root}")).await, (vec!["a".into(), "b".into(), "c".into(), "d".into()], None));
    assert_eq!(tree(&format!("root={}", roots[0])).await, (vec!["a".into(), "b".into()], None));
    assert_eq!(tree(&format!("root={root}&principal=ann")).await.0, ["a"]);
    let (cards, cursor) = tree(&format!("root={root}&limit=3")).await;
    assert_eq!(cards, ["a", "b", "c"]);
    assert_eq!(tree(&format!("root={root}&limit=3&cursor={}", cursor.unwrap())).await, (vec!["d".into()], None));
    assert_eq!(tree("root=mine").await, (Vec::new(), None), "only the gateway's own ids are roots");
    let shown = desk.read(&format!("/audit?tenant=acme&root={root}")).await;
    let items = shown["items"].as_array().unwrap();
    assert!(items[1..].iter().all(|item| item["delegation"]["root"] == root && item["root"] == root), "{items:?}");
    assert_eq!(items[2]["delegation"]["parent"], items[1]["correlation_id"]);
    desk.h.finish().await;
}

#[tokio::test]
async fn a_tree_of_delegations_is_found_by_its_root_on_sqlite() {
    a_tree_of_delegations_is_found(Db::Sqlite).await;
}

#[tokio::test]
async fn a_tree_of_delegations_is_found_by_its_root_on_postgres() {
    a_tree_of_delegations_is_found(Db::Postgres).await;
}

/// Of a whole answer and of a stream: each part within the whole, none counted twice.
#[tokio::test]
async fn a_record_says_how_long_each_part_took() {
    let desk = Desk::acme().await;
    let echo = desk.h.agents.echo_url.clone();
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", &echo)).await;
    let key = desk.caller("acme", "anna").await["key"].as_str().unwrap().to_owned();
    let began = std::time::Instant::now();
    for method in ["SendMessage", "SendStreamingMessage"] {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}});
        let answer = desk.h.post("/a2a/acme/echo", &body).header("a2a-version", "1.0").key(&key).send().await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    }
    let records = shipped(&desk, 2).await;
    let most = u64::try_from(began.elapsed().as_micros()).unwrap();
    for record in &records {
        let stages = record["detail"]["closed"]["stages"].as_object().unwrap_or_else(|| panic!("{record}"));
        let took = |part: &str| stages.get(part).and_then(Value::as_u64).unwrap_or_default();
        // Who calls, what is said and what the agent answers take a microsecond on any machine.
        assert!(took("admit_us") > 0 && took("read_us") > 0 && took("agent_us") > 0, "{stages:?}");
        let sum: u64 = stages.values().map(|us| us.as_u64().unwrap()).sum();
        assert!(sum <= most, "{sum} of {most}: {stages:?}");
        let known = ["admit_us", "read_us", "guard_in_us", "agent_us", "rest_us", "guard_out_us", "end_us"];
        assert!(stages.keys().all(|part| known.contains(&part.as_str())), "{stages:?}");
    }
    let id = records[0]["correlation_id"].as_str().unwrap();
    let ran = desk.run(&["audit", "show", id]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    for part in ["outcome     ok", "principal   anna", "PART", "MICROSECONDS", "waiting for the agent"] {
        assert!(ran.out.contains(part), "{part} in {}", ran.out);
    }
    let json = desk.run(&["audit", "show", id, "--json"]).await;
    let shown: Value = serde_json::from_str(&json.out).unwrap();
    assert!(shown["detail"]["closed"]["stages"]["agent_us"].as_u64().unwrap() > 0);
    let nobody = desk.run(&["audit", "show", "ghost"]).await;
    assert!(nobody.code == 1 && nobody.err.contains("no record of"), "{nobody:?}");
    desk.h.finish().await;
}

#[tokio::test]
async fn questions_that_make_no_sense_are_refused() {
    let desk = Desk::acme().await;
    for (query, path) in [
        ("tenant=acme&from=yesterday", "from"),
        ("tenant=acme&until=2024", "until"),
        ("tenant=acme&cursor=made-up", "cursor"),
        ("tenant=acme&limit=501", "limit"),
        ("tenant=acme&colour=red", "colour"),
        ("", "tenant"),
    ] {
        let refused = desk.get(&format!("/audit?{query}")).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{query}");
        assert_eq!(problem_paths(&refused), [path], "{query}: {}", refused.text());
    }
    assert_eq!(desk.get("/audit?tenant=nobody").await.status, StatusCode::NOT_FOUND);
    assert_eq!(desk.read("/audit/refusals?tenant=acme").await["items"], json!([]));
    desk.h.finish().await;
}
