//! Agent cards as a caller reads them.

use a2a::rewrite::{Interface, interfaces};
use json::{Json, Object};

use crate::tree::{newtype, text};

newtype! {
    /// A card of either generation, as it was served.
    Card
}

impl Card {
    /// The agent's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.str("name").unwrap_or_default()
    }

    /// What it says it does.
    #[must_use]
    pub fn description(&self) -> &str {
        self.0.str("description").unwrap_or_default()
    }

    /// The agent's own version.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        text(&self.0, "version")
    }

    /// Where it listens, of both generations.
    #[must_use]
    pub fn interfaces(&self) -> Vec<Interface> {
        interfaces(&self.0)
    }

    /// Whether it says that it streams.
    #[must_use]
    pub fn streams(&self) -> bool {
        self.has_capability("streaming")
    }

    /// Whether it says that it sends push notifications.
    #[must_use]
    pub fn pushes(&self) -> bool {
        self.has_capability("pushNotifications")
    }

    /// Whether it says that authenticated callers get a larger card.
    #[must_use]
    pub fn has_extended_card(&self) -> bool {
        self.has_capability("extendedAgentCard")
            || self.0.get("supportsAuthenticatedExtendedCard").and_then(Json::as_bool) == Some(true)
    }

    /// The ids of its skills.
    pub fn skills(&self) -> impl Iterator<Item = &str> {
        let skills = self.0.get("skills").and_then(Json::as_array).unwrap_or_default();
        skills.iter().filter_map(|skill| skill.get("id")?.as_str())
    }

    /// The URIs of extensions that a caller must know to call it; see
    /// [`Options::extension`](crate::Options::extension).
    pub fn required_extensions(&self) -> impl Iterator<Item = &str> {
        let capabilities = self.0.get("capabilities");
        let extensions = capabilities.and_then(|all| all.get("extensions")).and_then(Json::as_array);
        let required = |one: &&Json| one.get("required").and_then(Json::as_bool) == Some(true);
        extensions.unwrap_or_default().iter().filter(required).filter_map(|one| one.get("uri")?.as_str())
    }

    fn has_capability(&self, name: &str) -> bool {
        self.0.get("capabilities").and_then(|all| all.get(name)).and_then(Json::as_bool) == Some(true)
    }
}

impl From<Card> for Object {
    fn from(card: Card) -> Self {
        card.into_object()
    }
}
