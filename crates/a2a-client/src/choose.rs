//! Which of a card's interfaces to call.
//!
//! The agent's order decides the binding; within a binding 1.0 goes before 0.3 (A2A 1.0 §5.2, as the official clients
//! do). What the caller prefers goes before that; a dialect that the caller insists on is taken or refused, never
//! replaced. Interfaces that cannot be called are named with the reason.

use std::fmt;

use a2a::dialect::{AgentAddress, Colon, PathBody, R3Bytes, R3Objects};
use a2a::rewrite::{Interface, interfaces};
use a2a::{Binding, Dialect, Version};
use json::Object;
use url::Url;

/// An interface that can be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// What is spoken there.
    pub dialect: Dialect,
    /// Where.
    pub address: AgentAddress,
}

/// What the caller wants of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Any that can be called, in the agent's order.
    #[default]
    AgentsOrder,
    /// These first, in this order, then any other.
    Prefer(Vec<Dialect>),
    /// These alone, in this order.
    Only(Vec<Dialect>),
}

/// Where a credential may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origins {
    /// There is none to protect: anywhere the card leads.
    Any,
    /// The card's own origin, gRPC at the same host on any port, and these.
    CardAnd(Vec<String>),
}

/// Why an interface is not called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyNot {
    /// Its URL is none that this binding can be called at.
    #[error("its URL is not an absolute or relative http(s) URL without credentials")]
    BadUrl,
    /// It leads away from where the credential was given for.
    #[error("the card leads to {0}; call that address yourself if you trust it with the key")]
    OtherOrigin(String),
    /// Nobody here speaks its binding or version.
    #[error("this client does not speak it")]
    Unspoken,
    /// The caller wants another one.
    #[error("it was not asked for")]
    Unwanted,
}

/// An interface that is not called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Its binding, as written in the card.
    pub binding: String,
    /// Its version, as written in the card.
    pub version: String,
    /// Its URL, as written in the card.
    pub url: String,
    /// Why.
    pub why: WhyNot,
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { binding, version, url, why } = self;
        let text = format!("{binding} {version} at {url}: {why}");
        f.write_str(&text.chars().filter(|letter| !letter.is_control()).collect::<String>())
    }
}

/// The card has no interface that can be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("none of the card's interfaces can be called{}", listed(.0))]
pub struct NoInterface(pub Vec<Passed>);

/// The interfaces of `card` that can be called, the best first; `card_url` is where it was found.
///
/// # Errors
/// [`NoInterface`], naming what the card offers and why it is not called.
pub fn choose(card: &Object, card_url: &Url, wanted: &Wanted, origins: &Origins) -> Result<Vec<Chosen>, NoInterface> {
    let (mut usable, mut passed) = (Vec::new(), Vec::new());
    for one in interfaces(card) {
        match callable(&one, card_url, wanted, origins) {
            Ok(chosen) => usable.push(chosen),
            Err(why) => {
                let Interface { url, binding, version, tenant: _ } = one;
                passed.push(Passed { binding: binding.name().to_owned(), version, url, why });
            }
        }
    }
    sort(&mut usable, wanted);
    usable.dedup();
    if usable.is_empty() { Err(NoInterface(passed)) } else { Ok(usable) }
}

/// By the caller's wish, then by the agent's first mention of the binding, then the newer version first.
fn sort(usable: &mut [Chosen], wanted: &Wanted) {
    let mentioned: Vec<Binding> = usable.iter().map(|one| one.dialect.binding()).collect();
    usable.sort_by_key(|one| {
        let wish = match wanted {
            Wanted::AgentsOrder => None,
            Wanted::Prefer(list) | Wanted::Only(list) => list.iter().position(|dialect| *dialect == one.dialect),
        };
        let binding = mentioned.iter().position(|binding| *binding == one.dialect.binding());
        let age = match one.dialect.version() {
            Version::V10 => 0,
            Version::V03 => 1,
        };
        (wish.unwrap_or(usize::MAX), binding, age)
    });
}

fn callable(one: &Interface, card_url: &Url, wanted: &Wanted, origins: &Origins) -> Result<Chosen, WhyNot> {
    let spoken = one.dialect().filter(|dialect| *dialect != Dialect::G1 || cfg!(feature = "grpc"));
    let dialect = as_wanted(spoken.ok_or(WhyNot::Unspoken)?, wanted).ok_or(WhyNot::Unwanted)?;
    let (mut base, url) =
        if dialect == Dialect::G1 { of_host(&one.url, card_url) } else { absolute(&one.url, card_url) }
            .ok_or(WhyNot::BadUrl)?;
    may_go(&url, dialect, card_url, origins)?;
    if dialect.binding() != Binding::JsonRpc {
        // Paths are appended; JSON-RPC goes to the very URL, slash and all.
        base.truncate(base.trim_end_matches('/').len());
    }
    let address = AgentAddress {
        base,
        tenant: one.tenant.clone(),
        colon: Colon::Literal,
        path_body: PathBody::Envelope,
        r3_bytes: R3Bytes::Auto,
        r3_objects: R3Objects::Proto,
    };
    Ok(Chosen { dialect, address })
}

fn as_wanted(spoken: Dialect, wanted: &Wanted) -> Option<Dialect> {
    match wanted {
        Wanted::AgentsOrder | Wanted::Prefer(_) => Some(spoken),
        Wanted::Only(list) if list.contains(&spoken) => Some(spoken),
        // No card can say path RPC; its agents say JSON-RPC.
        Wanted::Only(list) if spoken.binding() == Binding::JsonRpc && list.contains(&Dialect::PathRpc) => {
            Some(Dialect::PathRpc)
        }
        Wanted::Only(_) => None,
    }
}

/// Absolute URLs are kept byte for byte; relative ones are resolved against the card's.
fn absolute(url: &str, card_url: &Url) -> Option<(String, Url)> {
    let (text, url) = match Url::parse(url) {
        Ok(parsed) => (url.to_owned(), parsed),
        Err(url::ParseError::RelativeUrlWithoutBase) => {
            let joined = card_url.join(url).ok()?;
            (joined.as_str().to_owned(), joined)
        }
        Err(_) => return None,
    };
    let written_as_read = text.starts_with("http://") || text.starts_with("https://");
    (written_as_read && is_plain(&url)).then_some((text, url))
}

/// gRPC is addressed as `host:port`. Nothing says whether it wants TLS, so it is believed to want what the card's own
/// address has.
fn of_host(address: &str, card_url: &Url) -> Option<(String, Url)> {
    let text = match address.split_once("://") {
        None => format!("{}://{address}", card_url.scheme()),
        Some(("grpc", rest)) => format!("http://{rest}"),
        Some(("grpcs", rest)) => format!("https://{rest}"),
        Some(_) => address.to_owned(),
    };
    let url = Url::parse(&text).ok()?;
    is_plain(&url).then_some((text, url))
}

fn is_plain(url: &Url) -> bool {
    let clean = url.username().is_empty() && url.password().is_none();
    matches!(url.scheme(), "http" | "https") && url.has_host() && clean && url.fragment().is_none()
}

/// A card must not take a credential elsewhere.
fn may_go(url: &Url, dialect: Dialect, card_url: &Url, origins: &Origins) -> Result<(), WhyNot> {
    let Origins::CardAnd(others) = origins else { return Ok(()) };
    let origin = url.origin().ascii_serialization();
    let same_host = dialect == Dialect::G1 && url.scheme() == card_url.scheme() && url.host() == card_url.host();
    if url.origin() == card_url.origin() || same_host || others.contains(&origin) {
        return Ok(());
    }
    Err(WhyNot::OtherOrigin(origin))
}

fn listed(passed: &[Passed]) -> String {
    if passed.is_empty() {
        return ": it names none".to_owned();
    }
    let each: Vec<String> = passed.iter().map(ToString::to_string).collect();
    format!(": {}", each.join("; "))
}

#[cfg(test)]
mod tests {
    use json::{Json, Limits};

    use super::*;

    fn chosen_among(interfaces: &str, wanted: &Wanted, origins: &Origins) -> Result<Vec<(Dialect, String)>, String> {
        let card = format!(r#"{{"name":"a",{interfaces}}}"#);
        let Ok(Json::Object(card)) = json::read(card.as_bytes(), &Limits::default()) else { panic!("{card}") };
        let card_url = Url::parse("https://up.test/a/.well-known/agent-card.json").unwrap();
        choose(&card, &card_url, wanted, origins)
            .map(|all| all.into_iter().map(|one| (one.dialect, one.address.base)).collect())
            .map_err(|error| error.to_string())
    }

    fn chosen(interfaces: &str, wanted: &Wanted) -> Result<(Dialect, String), String> {
        chosen_among(interfaces, wanted, &Origins::Any).map(|mut all| all.remove(0))
    }

    const BOTH: &str = r#""supportedInterfaces":[{"url":"http://u/rest/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"},{"url":"grpc://u:1","protocolBinding":"GRPC","protocolVersion":"1.0"},{"url":"http://u/old/","protocolBinding":"JSONRPC","protocolVersion":"0.3"},{"url":"../rpc/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]"#;

    #[test]
    fn the_agents_order_decides_the_binding_and_the_newer_version_goes_first() {
        let all = chosen_among(BOTH, &Wanted::AgentsOrder, &Origins::Any).unwrap();
        let mut expected = vec![
            (Dialect::R1, "http://u/rest".to_owned()),
            (Dialect::G1, "http://u:1".to_owned()),
            (Dialect::J1, "https://up.test/a/rpc/".to_owned()),
            (Dialect::J3, "http://u/old/".to_owned()),
        ];
        expected.retain(|(dialect, _)| *dialect != Dialect::G1 || cfg!(feature = "grpc"));
        assert_eq!(all, expected);
        let old = r#""url":"http://u/a/","protocolVersion":"0.3.0""#;
        assert_eq!(chosen(old, &Wanted::AgentsOrder), Ok((Dialect::J3, "http://u/a/".to_owned())));
    }

    #[test]
    fn a_union_card_is_read_once_and_its_newer_half_goes_first() {
        let union = r#""url":"https://up.test/a","preferredTransport":"JSONRPC","protocolVersion":"0.3.0","additionalInterfaces":[{"url":"https://up.test/a","transport":"HTTP+JSON"}],"supportedInterfaces":[{"url":"https://up.test/a","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"https://up.test/a","protocolBinding":"JSONRPC","protocolVersion":"0.3"}]"#;
        let all = chosen_among(union, &Wanted::AgentsOrder, &Origins::Any).unwrap();
        let dialects: Vec<Dialect> = all.into_iter().map(|(dialect, _)| dialect).collect();
        assert_eq!(dialects, [Dialect::J1, Dialect::J3, Dialect::R3]);
    }

    #[test]
    fn a_wish_goes_before_the_agents_order_and_an_order_is_obeyed_or_refused() {
        let prefer = Wanted::Prefer(vec![Dialect::R3, Dialect::J3]);
        assert_eq!(chosen(BOTH, &prefer), Ok((Dialect::J3, "http://u/old/".to_owned())));
        let only = |dialect| Wanted::Only(vec![dialect]);
        assert_eq!(chosen(BOTH, &only(Dialect::J3)), Ok((Dialect::J3, "http://u/old/".to_owned())));
        assert_eq!(chosen(BOTH, &only(Dialect::PathRpc)), Ok((Dialect::PathRpc, "http://u/old".to_owned())));
        let refused = "none of the card's interfaces can be called: JSONRPC 0.3.0 at http://u/a/: it was not asked for"
            .to_owned();
        assert_eq!(chosen(r#""url":"http://u/a/""#, &only(Dialect::J1)), Err(refused));
    }

    #[test]
    fn odd_urls_are_refused_with_the_reason() {
        for url in ["ftp://u", "http:u", "https://me:secret@u/", "https://u/#x", "https://", "mailto:a@b"] {
            let card = format!(
                r#""supportedInterfaces":[{{"url":"{url}","protocolBinding":"JSONRPC","protocolVersion":"1.0"}}]"#
            );
            let refused = chosen(&card, &Wanted::AgentsOrder).unwrap_err();
            assert!(refused.contains(&WhyNot::BadUrl.to_string()), "{url}: {refused}");
        }
        let future =
            r#""supportedInterfaces":[{"url":"http://u","protocolBinding":"JSONRPC","protocolVersion":"2.0"}]"#;
        assert!(chosen(future, &Wanted::AgentsOrder).unwrap_err().contains("does not speak"));
        let none = "none of the card's interfaces can be called: it names none";
        assert_eq!(chosen(r#""x":1"#, &Wanted::AgentsOrder), Err(none.to_owned()));
    }

    #[test]
    fn a_card_takes_the_credential_nowhere() {
        let guarded = |others: &[&str]| Origins::CardAnd(others.iter().map(|&one| one.to_owned()).collect());
        let only_rpc = vec![(Dialect::J1, "https://up.test/a/rpc/".to_owned())];
        assert_eq!(chosen_among(BOTH, &Wanted::AgentsOrder, &guarded(&[])), Ok(only_rpc));
        let trusted = chosen_among(BOTH, &Wanted::AgentsOrder, &guarded(&["http://u"])).unwrap();
        assert_eq!(trusted.len(), 3, "gRPC is at another port of another host");
        let elsewhere = r#""url":"https://evil.test/a""#;
        let refused = chosen_among(elsewhere, &Wanted::AgentsOrder, &guarded(&[])).unwrap_err();
        assert!(refused.contains("the card leads to https://evil.test; call that address yourself"), "{refused}");
        let plain = r#""url":"http://up.test/a""#;
        assert!(chosen_among(plain, &Wanted::AgentsOrder, &guarded(&[])).is_err(), "not without TLS");
        let grpc = r#""supportedInterfaces":[{"url":"up.test:9","protocolBinding":"GRPC","protocolVersion":"1.0"}]"#;
        let same_host = chosen_among(grpc, &Wanted::AgentsOrder, &guarded(&[]));
        assert_eq!(same_host.is_ok(), cfg!(feature = "grpc"), "{same_host:?}");
    }
}
