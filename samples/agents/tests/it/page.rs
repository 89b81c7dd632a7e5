//! The pages below `tests/pages`, played against the running agents: every request, every assertion, as they are written.
//!
//! A request with `retry` is played again when something has arrived, not after a time.

use std::collections::HashMap;

use json::Json;
use sample_agents::{Root, Running, Settings};

use crate::hurl::{Entry, Heard, argument, entries, find, holds, parse};

const AGENTS: &str = include_str!("../pages/agents.hurl");

/// Plays entries one after the other, remembering what they capture.
struct Player<'a> {
    agents: &'a Running,
    client: reqwest::Client,
    variables: HashMap<String, String>,
}

impl Player<'_> {
    async fn play(&mut self, entry: &Entry) {
        let mut heard = self.ask(entry).await;
        if entry.retried {
            // The page polls; we know when the last notification is there.
            let name = entry.url.rsplit('/').next().unwrap();
            self.agents.sinks.wait_for(name, "TASK_STATE_COMPLETED").await;
            heard = self.ask(entry).await;
        }
        assert_eq!(heard.status, entry.status, "line {}: {}", entry.line, heard.text);
        for (name, query) in &entry.captures {
            let (path, _) = argument(query.strip_prefix("jsonpath ").unwrap());
            let found = find(&parse(&heard.text), &path);
            let found = found.first().and_then(Json::as_str);
            self.variables.insert(name.clone(), found.unwrap_or_else(|| panic!("{query}: {}", heard.text)).to_owned());
        }
        for assert in &entry.asserts {
            let assert = self.filled(assert);
            assert!(holds(&assert, &heard), "line {}: {assert}\n{}", entry.line, heard.text);
        }
    }

    async fn ask(&self, entry: &Entry) -> Heard {
        let mut request = self.client.request(entry.method.parse().unwrap(), self.filled(&entry.url));
        for (name, value) in &entry.headers {
            request = request.header(name, self.filled(value));
        }
        if let Some((name, secret)) = &entry.basic {
            request = request.basic_auth(name, Some(secret));
        }
        if !entry.form.is_empty() {
            request = request.form(&entry.form);
        }
        if !entry.body.is_empty() {
            request = request.body(self.filled(&entry.body));
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Heard { status, headers, text: response.text().await.unwrap() }
    }

    fn filled(&self, text: &str) -> String {
        let filled = self
            .variables
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{{{name}}}}}"), value));
        assert!(!filled.contains("{{"), "unknown variable in {filled}");
        filled
    }
}

#[tokio::test]
async fn every_request_and_assertion_of_the_page_holds() {
    let address = ([127, 0, 0, 1], 0).into();
    let agents = sample_agents::start(Settings { root: Root::Echo, ..Settings::at(address) }).await.unwrap();
    let variables = HashMap::from([("base_url".to_owned(), agents.base_url.clone())]);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut player = Player { agents: &agents, client, variables };
    let entries = entries(AGENTS);
    let asserts: usize = entries.iter().map(|entry| entry.asserts.len()).sum();
    assert_eq!((entries.len(), asserts), (24, 40));
    for entry in &entries {
        player.play(entry).await;
    }
    agents.shutdown().await;
}
