//! What administrators watch: exchanges as they end, open streams, figures, a try of an agent.

use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Desk, TOKEN, card_spec, policy_spec};
use crate::harness::DEADLINE;

/// Reads server-sent events until `enough` says so.
async fn events(response: reqwest::Response, enough: impl Fn(&[(String, Value)]) -> bool) -> Vec<(String, Value)> {
    let mut response = response;
    let (mut text, mut seen) = (String::new(), Vec::new());
    let read = async {
        while !enough(&seen) {
            let Some(piece) = response.chunk().await.unwrap() else { break };
            text.push_str(std::str::from_utf8(&piece).unwrap());
            while let Some((event, rest)) = text.clone().split_once("\n\n") {
                let named = |name: &str| {
                    event.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
                };
                if let (Some(name), Some(data)) = (named("event:"), named("data:")) {
                    seen.push((name, serde_json::from_str(&data).unwrap()));
                }
                text = rest.to_owned();
            }
        }
    };
    timeout(DEADLINE, read).await.expect("the events come");
    seen
}

async fn follow(desk: &Desk, query: &str) -> reqwest::Response {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let response = client.get(format!("{}/api/v1/live?{query}", desk.url())).bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response
}

async fn say(desk: &Desk, key: &str, text: &str) -> StatusCode {
    let params = json!({"message": {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    desk.h.post("/a2a/acme/echo", &body).header("a2a-version", "1.0").key(key).send().await.status
}

#[tokio::test]
async fn an_exchange_is_seen_live_with_its_caller_and_counted() {
    let desk = Desk::acme().await;
    desk.make("/tenants", "other", &json!({})).await;
    let mut card = card_spec("Echo", &desk.h.agents.echo_url.clone());
    card["policy"] = json!("words");
    desk.make("/tenants/acme/policies", "words", &policy_spec("heron")).await;
    desk.make("/tenants/acme/cards", "echo", &card).await;
    let key = desk.caller("acme", "bot").await["key"].as_str().unwrap().to_owned();
    let (all, blocked, foreign) = (
        follow(&desk, "tenant=acme&principal=bot&card=echo").await,
        follow(&desk, "tenant=acme&outcome=blocked").await,
        follow(&desk, "tenant=other").await,
    );
    say(&desk, &key, "hello").await;
    say(&desk, &key, "the blue heron").await;
    let is_exchange = |(name, _): &&(String, Value)| name == "exchange";
    let seen = events(all, |seen| seen.iter().filter(is_exchange).count() == 2).await;
    let exchanges: Vec<_> = seen.iter().filter(is_exchange).map(|(_, data)| data).collect();
    assert_eq!((&exchanges[0]["outcome"], &exchanges[0]["principal"]), (&json!("ok"), &json!("bot")));
    assert_eq!((&exchanges[1]["outcome"], &exchanges[1]["card"]), (&json!("blocked"), &json!("echo")));
    assert!(!exchanges[1].to_string().contains("heron"), "no text: {}", exchanges[1]);
    let seen = events(blocked, |seen| seen.iter().any(|(name, _)| name == "exchange")).await;
    assert_eq!(seen.iter().find(|(name, _)| name == "exchange").unwrap().1["outcome"], "blocked");
    let seen = events(foreign, |seen| seen.iter().filter(|(name, _)| name == "now").count() == 2).await;
    assert!(seen.iter().all(|(name, _)| name == "now"), "nothing of another tenant: {seen:?}");
    assert!(seen.iter().all(|(_, now)| now["in_flight"].is_number()), "{seen:?}");

    let counted = async {
        loop {
            let stats = desk.read("/stats?tenant=acme&minutes=5").await;
            if stats["total"]["count"] == 2 {
                break stats;
            }
            tokio::task::yield_now().await;
        }
    };
    let stats = timeout(DEADLINE, counted).await.expect("records reach the store");
    assert_eq!(stats["total"]["outcomes"], json!({"blocked": 1, "ok": 1}));
    assert_eq!((&stats["edges"][0]["principal"], &stats["edges"][0]["stopped"]), (&json!("bot"), &json!(1)));
    assert_eq!((&stats["agents"][0]["card"], &stats["agents"][0]["state"]), (&json!("echo"), &json!("ok")));
    assert_eq!(desk.read("/stats?tenant=other").await["total"]["count"], 0);
    desk.h.finish().await;
}

#[tokio::test]
async fn whoever_is_revoked_sees_nothing_more() {
    let desk = Desk::acme().await;
    let made =
        desk.post("/tokens", &json!({"name": "eye", "roles": [{"role": "auditor", "tenant": "acme"}]})).await.json();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/api/v1/live?tenant=acme", desk.url());
    let watch = client.get(&url).bearer_auth(made["token"].as_str().unwrap()).send().await.unwrap();
    let path = format!("/tokens/{}", made["id"].as_str().unwrap());
    assert_eq!(desk.send(http::Method::DELETE, &path, None, None).await.status, StatusCode::NO_CONTENT);
    // The stream ends by itself.
    let seen = events(watch, |_| false).await;
    let now = seen.iter().find(|(name, _)| name == "now");
    assert!(
        now.is_none_or(|(_, now)| now["in_flight"].is_null()),
        "what all tenants do is for those who see all: {seen:?}"
    );
    desk.h.finish().await;
}

async fn attempt(desk: &Desk, card: &str, text: &str) -> Vec<(String, Value)> {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/api/v1/tenants/acme/cards/{card}/try", desk.url());
    let response = client.post(url).bearer_auth(TOKEN).json(&json!({"text": text})).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    events(response, |_| false).await
}

#[tokio::test]
async fn a_draft_can_be_tried_as_the_gateway_would_call_it() {
    let desk = Desk::acme().await;
    desk.make("/tenants/acme/policies", "words", &policy_spec("heron")).await;
    let url = desk.h.agents.echo_url.clone();
    let body = json!({"url": url, "name": "echo", "settings": {"state": "draft", "policy": "words"}});
    assert_eq!(desk.post("/tenants/acme/cards/import", &body).await.status, StatusCode::CREATED);
    let names = |seen: &[(String, Value)]| seen.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let seen = attempt(&desk, "echo", "is anybody there").await;
    assert_eq!((names(&seen).first().unwrap().as_str(), names(&seen).last().unwrap().as_str()), ("sent", "done"));
    assert!(
        seen.iter().any(|(name, data)| name == "event" && data.to_string().contains("is anybody there")),
        "{seen:?}"
    );
    assert_eq!(names(&attempt(&desk, "echo", "a heron").await), ["blocked", "done"]);
    let gone = card_spec("Gone", "http://127.0.0.1:1");
    desk.make("/tenants/acme/cards", "gone", &gone).await;
    let seen = attempt(&desk, "gone", "hello").await;
    assert_eq!(names(&seen), ["sent", "failed", "done"]);
    desk.h.expect_records(3);
    let records = desk.h.finish().await;
    let told = |outcome: &str, card: &str| {
        let record = records.iter().find(|record| record.outcome == outcome).unwrap_or_else(|| panic!("{records:#?}"));
        let opened = &serde_json::from_slice::<Value>(&record.document).unwrap()["opened"];
        assert_eq!((&opened["entrance"], &opened["admin"]), (&json!("try"), &json!("admin")), "{opened}");
        assert_eq!((record.card.as_deref(), record.principal.as_deref()), (Some(card), None), "{opened}");
    };
    told("ok", "echo");
    told("blocked", "echo");
    told("upstream_error", "gone");
}

#[tokio::test]
async fn a_dry_run_says_what_an_import_would_find_and_keeps_nothing() {
    let desk = Desk::acme().await;
    let url = desk.h.agents.echo_url.clone();
    let body = json!({"url": url, "dry_run": true});
    let found = desk.post("/tenants/acme/cards/import", &body).await;
    assert_eq!(found.status, StatusCode::OK, "{}", found.text());
    let found = found.json();
    assert_eq!(found["preview"]["problems"], json!([]));
    assert!(
        found["preview"]["spec"]["card"]["name"].is_string() && found["import"]["interfaces"][0]["dialect"].is_string()
    );
    assert_eq!(desk.read("/tenants/acme/cards").await["items"], json!([]));
    let name = found["preview"]["name"].as_str().unwrap().to_owned();
    assert_eq!(
        desk.post("/tenants/acme/cards/import", &json!({"url": url, "name": name})).await.status,
        StatusCode::CREATED
    );
    desk.h.finish().await;
}
