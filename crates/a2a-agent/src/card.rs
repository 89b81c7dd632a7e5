//! The agent's card: one document that clients of both generations can read.
//!
//! Takes what the author says about the agent, what it offers and its address; gives the union of the v1.0 and the v0.3 card, or
//! the v0.3 card alone where only clients of that generation ask. v1.0 interfaces come first, because some clients take the first
//! entry of a binding. Never has empty members.

use std::hash::{DefaultHasher, Hash, Hasher};

use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use json::{Json, Object};
use time::{OffsetDateTime, UtcOffset};

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

/// What the agent can do besides its skills, and how it can be spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offers {
    pub(crate) extended: bool,
    pub(crate) push: bool,
    pub(crate) generations: Generations,
    pub(crate) grpc: Grpc,
}

/// Which generations of A2A an agent speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generations {
    /// 1.0 and 0.3, with a card that both can read.
    #[default]
    Both,
    /// 1.0 alone. The card has no member that 1.0 does not know; calls of 0.3 are refused with `VersionNotSupported`.
    V10,
}

/// How callers of gRPC reach an agent: gRPC has no place for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grpc {
    /// By the address alone. So it is unless said otherwise, for agents at the root of their address.
    Alone,
    /// By the address and this name in the `tenant` of every request, which clients copy from the card: for several agents at one
    /// address ([`Agents`](crate::Agents)).
    Tenant(String),
    /// Not at all. So it is unless said otherwise, for agents below a path.
    Off,
}

impl Grpc {
    pub(crate) fn tenant(&self) -> Option<&str> {
        match self {
            Self::Tenant(name) => Some(name),
            Self::Alone | Self::Off => None,
        }
    }

    /// What the card says of it.
    fn interface(&self, url: &str) -> Option<Json> {
        if *self == Self::Off {
            return None;
        }
        let mut interface = Object::from([
            ("url", Json::from(authority(url)?)),
            ("protocolBinding", "GRPC".into()),
            ("protocolVersion", "1.0".into()),
        ]);
        if let Some(tenant) = self.tenant() {
            interface.insert("tenant", tenant);
        }
        Some(interface.into())
    }
}

/// `host:port` of a URL, as clients of gRPC want it.
fn authority(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next().filter(|host| !host.is_empty())?;
    let port = host.rsplit_once(':').map(|(_, port)| port);
    if port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())) {
        return Some(host.to_owned());
    }
    Some(format!("{host}:{}", if scheme == "https" { 443 } else { 80 }))
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

    pub(crate) fn document(&self, url: &str, offers: &Offers) -> Json {
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
            ("supportedInterfaces", interfaces(url, offers).into()),
            ("capabilities", capabilities.into()),
            ("defaultInputModes", texts(&self.inputs)),
            ("defaultOutputModes", texts(&self.outputs)),
            ("skills", self.skills.iter().map(Skill::document).collect::<Vec<_>>().into()),
        ]);
        if offers.generations == Generations::Both {
            let legacy = |binding: &&str| Json::from([("url", url), ("transport", *binding)]);
            card.insert("url", url);
            card.insert("preferredTransport", "JSONRPC");
            card.insert("protocolVersion", "0.3.0");
            card.insert("additionalInterfaces", LEGACY.iter().map(legacy).collect::<Vec<_>>());
            card.insert("supportsAuthenticatedExtendedCard", offers.extended);
        }
        if !self.schemes.is_empty() {
            self.add_security(offers.generations, &mut card);
        }
        card.into()
    }

    fn add_security(&self, generations: Generations, card: &mut Object) {
        let named = |scheme: &Scheme| (scheme.name.clone(), scheme.document(generations));
        let flat = |scheme: &Scheme| Json::from([(scheme.name.as_str(), Json::from(Vec::new()))]);
        let nested = |scheme: &Scheme| {
            let list = Json::from([(scheme.name.as_str(), Json::from([("list", Json::from(Vec::new()))]))]);
            Json::from([("schemes", list)])
        };
        card.insert("securitySchemes", self.schemes.iter().map(named).collect::<Object>());
        card.insert("securityRequirements", self.schemes.iter().map(nested).collect::<Vec<_>>());
        if generations == Generations::Both {
            card.insert("security", self.schemes.iter().map(flat).collect::<Vec<_>>());
        }
    }
}

/// In order of preference; gRPC last, because not everything between a caller and an agent lets HTTP/2 through.
fn interfaces(url: &str, offers: &Offers) -> Vec<Json> {
    let spoken = match offers.generations {
        Generations::Both => &INTERFACES[..],
        Generations::V10 => &INTERFACES[..2],
    };
    let interface = |(binding, version): &(&str, &str)| {
        Json::from([("url", url), ("protocolBinding", *binding), ("protocolVersion", *version)])
    };
    spoken.iter().map(interface).chain(offers.grpc.interface(url)).collect()
}

/// Those at the agent's URL; of 1.0 first.
const INTERFACES: [(&str, &str); 4] =
    [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "0.3")];

/// The transports of v0.3.
const LEGACY: [&str; 2] = ["JSONRPC", "HTTP+JSON"];

/// What only clients of v1.0 read.
const V10_ONLY: [&str; 2] = ["supportedInterfaces", "securityRequirements"];

impl Scheme {
    /// Flat members for v0.3, the oneof member for v1.0, both saying the same.
    fn document(&self, generations: Generations) -> Json {
        let mut bearer = Object::from([("scheme", "bearer")]);
        if let Some(format) = &self.format {
            bearer.insert("bearerFormat", format.as_str());
        }
        let mut scheme = Object::new();
        if generations == Generations::Both {
            scheme.insert("type", "http");
            for (key, value) in bearer.iter() {
                scheme.insert(key, value.clone());
            }
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
        let mut card = self.card.document(&self.url(head), &self.offers);
        if let (Readers::Legacy, Json::Object(card)) = (readers, &mut card) {
            card.retain(|key, _| !V10_ONLY.contains(&key));
        }
        let mut response = document(&card);
        let tag = entity_tag(&json::write(&card));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        if let Ok(made) = HeaderValue::from_str(&self.made) {
            response.headers_mut().insert(header::LAST_MODIFIED, made);
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

/// A time as HTTP writes it (RFC 9110 §5.6.7).
pub(crate) fn http_date(at: OffsetDateTime) -> String {
    let at = at.to_offset(UtcOffset::UTC);
    let (weekday, month) = (at.weekday().to_string(), at.month().to_string());
    let short = |name: &str| name.get(..3).unwrap_or_default().to_owned();
    let (hour, minute, second) = at.to_hms();
    let (weekday, month) = (short(&weekday), short(&month));
    format!("{weekday}, {:02} {month} {:04} {hour:02}:{minute:02}:{second:02} GMT", at.day(), at.year())
}

fn entity_tag(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

fn texts(texts: &[String]) -> Json {
    texts.iter().map(|text| Json::from(text.as_str())).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_always_have_a_port() {
        for (url, expected) in [
            ("http://127.0.0.1:9100/a2a/echo", Some("127.0.0.1:9100")),
            ("https://agents.example/a", Some("agents.example:443")),
            ("http://agents.example", Some("agents.example:80")),
            ("https://[2001:db8::7]/a", Some("[2001:db8::7]:443")),
            ("http://[::1]:9100", Some("[::1]:9100")),
            ("/a2a/echo", None),
        ] {
            assert_eq!(authority(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn dates_are_written_as_http_wants_them() {
        let at = OffsetDateTime::from_unix_timestamp(784_111_777).unwrap();
        assert_eq!(http_date(at), "Sun, 06 Nov 1994 08:49:37 GMT");
    }
}
