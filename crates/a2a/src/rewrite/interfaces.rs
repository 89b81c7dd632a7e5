//! Where an agent says it listens: both generations' members, read into one list.

use json::{Json, Object};

use super::{Binding, Generation, Interface};
use crate::Dialect;

impl Binding {
    /// As a card spells it; case is forgiven.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        for binding in [Self::JsonRpc, Self::HttpJson, Self::Grpc] {
            if name.eq_ignore_ascii_case(binding.name()) {
                return binding;
            }
        }
        Self::Other(name.to_owned())
    }

    /// The name that cards use.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::HttpJson => "HTTP+JSON",
            Self::Grpc => "GRPC",
            Self::Other(name) => name,
        }
    }
}

impl Interface {
    /// The dialect that is spoken there, if we speak it.
    #[must_use]
    pub fn dialect(&self) -> Option<Dialect> {
        Dialect::of_interface(self.binding.name(), &self.version)
    }

    fn is_same_as(&self, other: &Self) -> bool {
        let major = |one: &Self| one.version.split('.').next().map(str::to_owned);
        self.url == other.url && self.binding == other.binding && major(self) == major(other)
    }
}

/// Where the agent of this card listens, preferred first; the members of both generations are read.
#[must_use]
pub fn interfaces(card: &Object) -> Vec<Interface> {
    let mut found = Vec::new();
    for entry in objects(card, "supportedInterfaces") {
        let version = text(entry, "protocolVersion").or_else(|| text(card, "protocolVersion"));
        let read = interface(entry, "protocolBinding", version.unwrap_or_default());
        found.extend(read.filter(|interface| !found.contains(interface)));
    }
    for old in v03_interfaces(card) {
        if !found.iter().any(|known: &Interface| known.is_same_as(&old)) {
            found.push(old);
        }
    }
    found
}

/// Which generations' members the card has; `None` if it names no address at all.
#[must_use]
pub fn generation(card: &Object) -> Option<Generation> {
    let v10 = objects(card, "supportedInterfaces").any(|entry| text(entry, "url").is_some());
    match (v10, text(card, "url").is_some()) {
        (true, true) => Some(Generation::Union),
        (true, false) => Some(Generation::V10),
        (false, true) => Some(Generation::V03),
        (false, false) => None,
    }
}

/// `url` with its `preferredTransport`, then `additionalInterfaces`; the card has one version for all.
fn v03_interfaces(card: &Object) -> Vec<Interface> {
    let version = text(card, "protocolVersion").unwrap_or("0.3.0");
    let Some(url) = text(card, "url") else { return Vec::new() };
    let binding = Binding::from_name(text(card, "preferredTransport").unwrap_or("JSONRPC"));
    let mut found = vec![Interface { url: url.to_owned(), binding, version: version.to_owned(), tenant: None }];
    for entry in objects(card, "additionalInterfaces") {
        let read = interface(entry, "transport", version);
        found.extend(read.filter(|interface| !found.contains(interface)));
    }
    found
}

fn interface(entry: &Object, binding: &str, version: &str) -> Option<Interface> {
    Some(Interface {
        url: text(entry, "url")?.to_owned(),
        binding: Binding::from_name(text(entry, binding)?),
        version: version.to_owned(),
        tenant: text(entry, "tenant").map(str::to_owned),
    })
}

fn objects<'a>(card: &'a Object, member: &str) -> impl Iterator<Item = &'a Object> {
    card.get(member).and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_object)
}

fn text<'a>(object: &'a Object, member: &str) -> Option<&'a str> {
    object.str(member).filter(|text| !text.is_empty())
}
