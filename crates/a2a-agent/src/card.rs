//! The agent's card: one document that clients of both generations can read.
//!
//! Takes what the author says about the agent, what it offers and its address; gives the union of the v1.0 and the v0.3 card, or
//! the v0.3 card alone where only clients of that generation ask. v1.0 interfaces come first, because some clients take the first
//! entry of a binding. Never has empty members.

use std::hash::{DefaultHasher, Hash, Hasher};

use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use json::{Json, Object};

use crate::listen::Body;
use crate::request::document;
use crate::server::Shared;

/// What an agent says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    name: String,
    description: String,
    version: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
    skills: Vec<Skill>,
    extensions: Vec<Json>,
    schemes: Vec<Scheme>,
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
    /// What one could say.
    pub examples: Vec<String>,
}

/// A way to authenticate: bearer tokens, under this name and perhaps of this format.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Scheme {
    name: String,
    format: Option<String>,
}

/// What the agent can do besides its skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offers {
    pub(crate) extended: bool,
    pub(crate) push: bool,
}

impl Skill {
    /// A skill. It should have at least one tag.
    #[must_use]
    pub fn new(id: &str, name: &str, description: &str, tags: &[&str]) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            examples: Vec::new(),
        }
    }

    /// What one could say, for example.
    #[must_use]
    pub fn examples(mut self, examples: &[&str]) -> Self {
        self.examples = examples.iter().map(|example| (*example).to_owned()).collect();
        self
    }

    fn document(&self) -> Json {
        let mut skill = Object::from([
            ("id", Json::from(self.id.as_str())),
            ("name", self.name.as_str().into()),
            ("description", self.description.as_str().into()),
            ("tags", texts(&self.tags)),
        ]);
        if !self.examples.is_empty() {
            skill.insert("examples", texts(&self.examples));
        }
        skill.into()
    }
}

impl Card {
    /// A card with version 1.0.0, text in and out, and no skills yet.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            version: "1.0.0".to_owned(),
            inputs: vec!["text/plain".to_owned()],
            outputs: vec!["text/plain".to_owned()],
            skills: Vec::new(),
            extensions: Vec::new(),
            schemes: Vec::new(),
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
        let media_type = media_type.into();
        self.inputs.push(media_type.clone());
        self.outputs.push(media_type);
        self
    }

    /// What it takes besides text.
    #[must_use]
    pub fn input(mut self, media_type: impl Into<String>) -> Self {
        self.inputs.push(media_type.into());
        self
    }

    /// What it gives besides text.
    #[must_use]
    pub fn output(mut self, media_type: impl Into<String>) -> Self {
        self.outputs.push(media_type.into());
        self
    }

    /// One more skill.
    #[must_use]
    pub fn skill(mut self, skill: Skill) -> Self {
        self.skills.push(skill);
        self
    }

    /// One more extension, in v1.0 shape (`{"uri": …}`).
    #[must_use]
    pub fn extension(mut self, extension: Object) -> Self {
        self.extensions.push(extension.into());
        self
    }

    /// Says that callers authenticate with a bearer token, by the scheme of this name; `format` may be `JWT`.
    #[must_use]
    pub fn bearer(mut self, name: &str, format: Option<&str>) -> Self {
        self.schemes.retain(|scheme| scheme.name != name);
        self.schemes.push(Scheme { name: name.to_owned(), format: format.map(str::to_owned) });
        self
    }

    /// The name of the agent.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn document(&self, url: &str, offers: Offers) -> Json {
        let interface = |(binding, version): (&str, &str)| {
            Json::from([("url", url), ("protocolBinding", binding), ("protocolVersion", version)])
        };
        let legacy = |binding: &&str| Json::from([("url", url), ("transport", *binding)]);
        let mut capabilities = Object::from([
            ("streaming", true),
            ("pushNotifications", offers.push),
            ("extendedAgentCard", offers.extended),
        ]);
        if !self.extensions.is_empty() {
            capabilities.insert("extensions", self.extensions.clone());
        }
        let mut card = Object::from([
            ("name", Json::from(self.name.as_str())),
            ("description", self.description.as_str().into()),
            ("version", self.version.as_str().into()),
            ("supportedInterfaces", INTERFACES.map(interface).to_vec().into()),
            ("url", url.into()),
            ("preferredTransport", "JSONRPC".into()),
            ("protocolVersion", "0.3.0".into()),
            ("additionalInterfaces", LEGACY.iter().map(legacy).collect::<Vec<_>>().into()),
            ("capabilities", capabilities.into()),
            ("supportsAuthenticatedExtendedCard", offers.extended.into()),
            ("defaultInputModes", texts(&self.inputs)),
            ("defaultOutputModes", texts(&self.outputs)),
            ("skills", self.skills.iter().map(Skill::document).collect::<Vec<_>>().into()),
        ]);
        if !self.schemes.is_empty() {
            let schemes: Object = self.schemes.iter().map(|scheme| (scheme.name.as_str(), scheme.document())).collect();
            let flat = |scheme: &Scheme| Json::from([(scheme.name.as_str(), Json::from(Vec::new()))]);
            let nested = |scheme: &Scheme| {
                let list = Json::from([(scheme.name.as_str(), Json::from([("list", Json::from(Vec::new()))]))]);
                Json::from([("schemes", list)])
            };
            card.insert("securitySchemes", schemes);
            card.insert("securityRequirements", self.schemes.iter().map(nested).collect::<Vec<_>>());
            card.insert("security", self.schemes.iter().map(flat).collect::<Vec<_>>());
        }
        card.into()
    }
}

/// The interfaces in order of preference.
const INTERFACES: [(&str, &str); 4] =
    [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "0.3")];

/// The transports of v0.3.
const LEGACY: [&str; 2] = ["JSONRPC", "HTTP+JSON"];

/// What only clients of v1.0 read.
const V10_ONLY: [&str; 2] = ["supportedInterfaces", "securityRequirements"];

impl Scheme {
    /// Flat members for v0.3, the oneof member for v1.0, both saying the same.
    fn document(&self) -> Json {
        let mut bearer = Object::from([("scheme", "bearer")]);
        if let Some(format) = &self.format {
            bearer.insert("bearerFormat", format.as_str());
        }
        let mut scheme = Object::from([("type", "http")]);
        for (key, value) in bearer.iter() {
            scheme.insert(key, value.clone());
        }
        scheme.insert("httpAuthSecurityScheme", bearer);
        scheme.into()
    }
}

/// Which generations a card is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    Both,
    /// `agent.json`, where v0.3 had it before 0.3.0 and still looks.
    Legacy,
}

impl Shared {
    /// The public card, as the sender of this request should see it; 304 if that is what it has.
    pub(crate) fn public_card(&self, head: &Parts, readers: Readers) -> Response<Body> {
        let mut card = self.card.document(&self.url(head), self.offers);
        if let (Readers::Legacy, Json::Object(card)) = (readers, &mut card) {
            card.retain(|key, _| !V10_ONLY.contains(&key));
        }
        let mut response = document(&card);
        let tag = entity_tag(&json::write(&card));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
        if !self.url.contains("://") {
            // The card names the host it was asked at.
            response.headers_mut().insert(header::VARY, HeaderValue::from_static("host, forwarded"));
        }
        let known = head.headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let mut known = known.flat_map(|value| value.split(',').map(str::trim));
        if known.any(|known| known == "*" || known.trim_start_matches("W/") == tag) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::default();
            response.headers_mut().remove(header::CONTENT_TYPE);
        }
        response
    }
}

fn entity_tag(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

fn texts(texts: &[String]) -> Json {
    texts.iter().map(|text| Json::from(text.as_str())).collect::<Vec<_>>().into()
}
