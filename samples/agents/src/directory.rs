//! The directory of the agents, and the list that the default card carries as an extension.

use a2a_agent::{Body, Card};
use http::{Response, StatusCode};
use json::{Json, Object};

use crate::{approval, echo, flaky, reject, reply, secure, travel, weather};

/// The extension of the default card that lists all agents.
pub const EXTENSION: &str = "urn:sample-agents:directory:v1";

/// One agent as the directory has it.
struct Entry {
    path: &'static str,
    card: Card,
    description: &'static str,
    needs: Needs,
}

/// What an agent wants of its callers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Token,
}

impl Entry {
    fn id(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

fn entries() -> [Entry; 7] {
    let entry = |path, card, description, needs| Entry { path, card, description, needs };
    [
        entry(echo::PATH, echo::card(), "Echoes every part; the default agent", Needs::Nothing),
        entry(weather::PATH, weather::card(), "A made-up forecast for three days", Needs::Nothing),
        entry(travel::PATH, travel::card(), "Long work that can be watched", Needs::Nothing),
        entry(approval::PATH, approval::card(), "Asks, and waits for approve or deny", Needs::Nothing),
        entry(flaky::PATH, flaky::card(), "Fails unless told to succeed", Needs::Nothing),
        entry(secure::PATH, secure::card(), "Needs a token of /oauth/token", Needs::Token),
        entry(reject::PATH, reject::card(), "Rejects every task", Needs::Nothing),
    ]
}

/// All agents, at this origin.
pub(crate) fn document(origin: &str) -> Response<Body> {
    let agents: Vec<Json> = entries()
        .iter()
        .map(|entry| {
            let url = format!("{origin}{}", entry.path);
            Json::from([
                ("id", Json::from(entry.id())),
                ("name", entry.card.name().into()),
                ("description", entry.description.into()),
                ("default", (entry.path == echo::PATH).into()),
                ("requiresAuth", (entry.needs == Needs::Token).into()),
                ("cardUrl", format!("{url}/.well-known/agent-card.json").into()),
                ("legacyCardUrl", format!("{url}/.well-known/agent.json").into()),
                ("jsonRpcUrl", url.as_str().into()),
                ("restUrl", format!("{url}/v1").into()),
                ("grpcTenant", entry.id().into()),
            ])
        })
        .collect();
    reply::document(StatusCode::OK, &[("agents", agents)].into())
}

/// The extension of the default card.
pub(crate) fn extension() -> Object {
    let agents: Vec<Json> = entries()
        .iter()
        .map(|entry| {
            let card = format!("{}/.well-known/agent-card.json", entry.path);
            Json::from([("id", entry.id()), ("name", entry.card.name()), ("card", &card)])
        })
        .collect();
    Object::from([
        ("uri", Json::from(EXTENSION)),
        ("description", "Every agent at this address".into()),
        ("params", [("agents", agents)].into()),
    ])
}
