//! The agent's card: one document that clients of both generations can read.
//!
//! Takes what the author says about the agent and its address; gives the union of the v1.0 and the v0.3 card. v1.0
//! interfaces come first, because some clients take the first entry of a binding. Never has empty members.

use json::{Json, Object};

/// What an agent says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    name: String,
    description: String,
    version: String,
    media_types: Vec<String>,
    skills: Vec<Skill>,
}

/// One thing an agent can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
}

impl Skill {
    /// A skill. It should have at least one tag.
    #[must_use]
    pub fn new(id: &str, name: &str, description: &str, tags: &[&str]) -> Self {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        Self { id: id.to_owned(), name: name.to_owned(), description: description.to_owned(), tags }
    }

    fn document(&self) -> Json {
        let tags: Vec<Json> = self.tags.iter().map(|tag| tag.as_str().into()).collect();
        Json::from([
            ("id", Json::from(self.id.as_str())),
            ("name", self.name.as_str().into()),
            ("description", self.description.as_str().into()),
            ("tags", tags.into()),
        ])
    }
}

/// Whether the agent has an extended card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extended {
    Offered,
    Missing,
}

impl Card {
    /// A card with version 1.0.0, text in and out, and no skills yet.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            version: "1.0.0".to_owned(),
            media_types: vec!["text/plain".to_owned()],
            skills: Vec::new(),
        }
    }

    /// The agent's own version.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// What it takes and gives besides text.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_types.push(media_type.into());
        self
    }

    /// One more skill.
    #[must_use]
    pub fn skill(mut self, skill: Skill) -> Self {
        self.skills.push(skill);
        self
    }

    pub(crate) fn document(&self, url: &str, extended: Extended) -> Json {
        let media_types =
            || Json::from(self.media_types.iter().map(|name| Json::from(name.as_str())).collect::<Vec<_>>());
        let interface = |binding: &str, version: &str| {
            Json::from([("url", url), ("protocolBinding", binding), ("protocolVersion", version)])
        };
        let interfaces = [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "0.3")];
        let interfaces: Vec<Json> = interfaces.iter().map(|(binding, version)| interface(binding, version)).collect();
        let transport = |name: &str| Json::from([("url", url), ("transport", name)]);
        let offered = extended == Extended::Offered;
        let capabilities =
            Object::from([("streaming", true), ("pushNotifications", false), ("extendedAgentCard", offered)]);
        Json::from([
            ("name", Json::from(self.name.as_str())),
            ("description", self.description.as_str().into()),
            ("version", self.version.as_str().into()),
            ("supportedInterfaces", interfaces.into()),
            ("url", url.into()),
            ("preferredTransport", "JSONRPC".into()),
            ("protocolVersion", "0.3.0".into()),
            ("additionalInterfaces", vec![transport("JSONRPC"), transport("HTTP+JSON")].into()),
            ("capabilities", capabilities.into()),
            ("supportsAuthenticatedExtendedCard", offered.into()),
            ("defaultInputModes", media_types()),
            ("defaultOutputModes", media_types()),
            ("skills", self.skills.iter().map(Skill::document).collect::<Vec<_>>().into()),
        ])
    }
}
