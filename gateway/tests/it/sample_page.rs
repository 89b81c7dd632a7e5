//! The page that describes the sample agents, through the gateway: every request and assertion that can cross it, with a key added.

use std::collections::HashMap;

use http::StatusCode;
use json::Json;
use serde_json::{Value, json};

use crate::admin::Desk;
use crate::harness::PUBLIC_URL;

#[path = "../../../samples/agents/tests/it/hurl.rs"]
mod hurl;

use hurl::{Entry, Heard, argument, entries, find, holds, parse};

const PAGE: &str = include_str!("../../../samples/agents/tests/pages/agents.hurl");

/// What the page's URLs begin with, and what stands in their place here.
const THEIRS: &str = "{{base_url}}/a2a/";
const OURS: &str = "/a2a/acme/";

/// Why a request of the page has no meaning at a gateway; `None` if it has.
fn stays(entry: &Entry) -> Option<&'static str> {
    let Some(path) = entry.url.strip_prefix(THEIRS) else {
        let provider = entry.basic.is_some() && !entry.form.is_empty();
        return Some(if provider {
            "the agents' own identity provider"
        } else {
            "the agents' own directory or default card"
        });
    };
    if path.starts_with("webhook-sink/") || entry.retried {
        return Some("the agents' own sink");
    }
    if entry.headers.iter().any(|(name, _)| name == "Authorization") {
        return Some("a caller's own bearer: at a gateway, that header is for the gateway");
    }
    if entry.body.contains("taskPushNotificationConfig") {
        return Some("push notifications do not pass the gateway: -32003");
    }
    None
}

#[tokio::test]
async fn the_page_holds_through_the_gateway() {
    let desk = Desk::acme().await;
    for name in sample_agents::NAMES {
        let agent = json!({"url": desk.h.agents.url_of(name), "name": name, "settings": {"version_mode": "strict"}});
        let made = desk.post("/tenants/acme/cards/import", &agent).await;
        assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
        assert!(made.text().contains(&format!("\"tenant\":\"{name}\"")), "gRPC by its tenant: {}", made.text());
    }
    let key = desk.caller("acme", "bot").await["key"].as_str().unwrap().to_owned();
    let mut variables: HashMap<String, String> = HashMap::new();
    let (crossing, staying): (Vec<Entry>, Vec<Entry>) =
        entries(PAGE).into_iter().partition(|entry| stays(entry).is_none());
    assert_eq!((crossing.len(), staying.len()), (16, 8));
    for entry in &crossing {
        let heard = ask(&desk, entry, &variables, &key).await;
        assert_eq!(heard.status, entry.status, "line {}: {}", entry.line, heard.text);
        for (name, query) in &entry.captures {
            let (path, _) = argument(query.strip_prefix("jsonpath ").unwrap());
            let found = find(&parse(&heard.text), &path).first().and_then(Json::as_str).unwrap().to_owned();
            variables.insert(name.clone(), found);
        }
        for assert in &entry.asserts {
            let assert = filled(&assert.replace(THEIRS, &format!("{PUBLIC_URL}{OURS}")), &variables);
            assert!(holds(&assert, &heard), "line {}: {assert}\n{}", entry.line, heard.text);
        }
    }
    desk.h.finish().await;
}

async fn ask(desk: &Desk, entry: &Entry, variables: &HashMap<String, String>, key: &str) -> Heard {
    let path = filled(&entry.url.replace(THEIRS, OURS), variables);
    let mut asking = if entry.body.is_empty() {
        desk.h.request(entry.method.parse().unwrap(), &path)
    } else {
        let body: Value = serde_json::from_str(&filled(&entry.body, variables)).unwrap();
        desk.h.post(&path, &body)
    };
    for (name, value) in entry.headers.iter().filter(|(name, _)| name != "Content-Type") {
        asking = asking.header(name, value);
    }
    let answer = asking.key(key).send().await;
    Heard { status: answer.status.as_u16(), headers: answer.headers.clone(), text: answer.text().to_owned() }
}

fn filled(text: &str, variables: &HashMap<String, String>) -> String {
    variables.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{{{name}}}}}"), value))
}
