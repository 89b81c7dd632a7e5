//! Which of a card's interfaces to call.
//!
//! The agent's order decides the binding; within a binding 1.0 goes before 0.3 (A2A 1.0 §5.2, as the official clients
//! do). A dialect that the user names is taken or refused, never replaced.

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

/// The card has no interface that can be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the card offers {}; none of these can be called{}", offered(.offers), asked_for(*.wanted))]
pub struct NoInterface {
    /// What it offers: binding and version.
    pub offers: Vec<(String, String)>,
    /// What was asked for.
    pub wanted: Option<Dialect>,
}

/// Chooses an interface of `card`, which was found at `card_url`.
///
/// # Errors
/// [`NoInterface`], naming what the card offers.
pub fn choose(card: &Object, card_url: &Url, wanted: Option<Dialect>) -> Result<Chosen, NoInterface> {
    let offered = interfaces(card);
    let callable: Vec<_> = offered.iter().filter_map(|one| callable(one, card_url, wanted)).collect();
    let best = callable.first().map(|first| first.dialect.binding());
    let preferred = callable
        .iter()
        .filter(|one| Some(one.dialect.binding()) == best)
        .min_by_key(|one| match one.dialect.version() {
            Version::V10 => 0,
            Version::V03 => 1,
        })
        .cloned();
    preferred.ok_or_else(|| {
        let offers = offered.into_iter().map(|one| (one.binding.name().to_owned(), one.version)).collect();
        NoInterface { offers, wanted }
    })
}

fn callable(interface: &Interface, card_url: &Url, wanted: Option<Dialect>) -> Option<Chosen> {
    // This client speaks no HTTP/2, so no gRPC.
    let spoken = interface.dialect().filter(|spoken| *spoken != Dialect::G1);
    let dialect = match wanted {
        // No card can say path RPC; its agents say JSON-RPC.
        Some(Dialect::PathRpc) => {
            spoken.filter(|spoken| spoken.binding() == Binding::JsonRpc).map(|_| Dialect::PathRpc)?
        }
        Some(wanted) => spoken.filter(|spoken| *spoken == wanted)?,
        None => spoken?,
    };
    let mut base = absolute(&interface.url, card_url)?;
    if dialect.binding() != Binding::JsonRpc {
        // Paths are appended; JSON-RPC goes to the very URL, slash and all.
        base.truncate(base.trim_end_matches('/').len());
    }
    let address = AgentAddress {
        base,
        tenant: interface.tenant.clone(),
        colon: Colon::Literal,
        path_body: PathBody::Envelope,
        r3_bytes: R3Bytes::Auto,
        r3_objects: R3Objects::Proto,
    };
    Some(Chosen { dialect, address })
}

/// Absolute URLs are kept byte for byte; relative ones are resolved against the card's.
fn absolute(url: &str, card_url: &Url) -> Option<String> {
    let absolute = match Url::parse(url) {
        Ok(_) => url.to_owned(),
        Err(url::ParseError::RelativeUrlWithoutBase) => card_url.join(url).ok()?.into(),
        Err(_) => return None,
    };
    let web = absolute.starts_with("http://") || absolute.starts_with("https://");
    web.then_some(absolute)
}

fn offered(offers: &[(String, String)]) -> String {
    if offers.is_empty() {
        return "no interface".to_owned();
    }
    offers.iter().map(|(binding, version)| format!("{binding} {version}")).collect::<Vec<_>>().join(", ")
}

fn asked_for(dialect: Option<Dialect>) -> String {
    dialect.map(|dialect| format!(" as {}", dialect.name())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use json::{Json, Limits};

    use super::*;

    fn chosen(interfaces: &str, wanted: Option<Dialect>) -> Result<(Dialect, String), String> {
        let card = format!(r#"{{"name":"a",{interfaces}}}"#);
        let Ok(Json::Object(card)) = json::read(card.as_bytes(), &Limits::default()) else { panic!("{card}") };
        let card_url = Url::parse("https://up.test/a/.well-known/agent-card.json").unwrap();
        choose(&card, &card_url, wanted)
            .map(|chosen| (chosen.dialect, chosen.address.base))
            .map_err(|error| error.to_string())
    }

    const BOTH: &str = r#""supportedInterfaces":[{"url":"grpc://u:1","protocolBinding":"GRPC","protocolVersion":"1.0"},{"url":"http://u/rest/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"},{"url":"http://u/old/","protocolBinding":"JSONRPC","protocolVersion":"0.3"},{"url":"../rpc/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]"#;

    #[test]
    fn the_agents_order_decides_the_binding_and_the_newer_version_goes_first() {
        assert_eq!(chosen(BOTH, None), Ok((Dialect::R1, "http://u/rest".to_owned())));
        let rpc_first = BOTH.replace("HTTP+JSON", "other");
        assert_eq!(chosen(&rpc_first, None), Ok((Dialect::J1, "https://up.test/a/rpc/".to_owned())));
        let old = r#""url":"http://u/a/","protocolVersion":"0.3.0""#;
        assert_eq!(chosen(old, None), Ok((Dialect::J3, "http://u/a/".to_owned())));
    }

    #[test]
    fn a_dialect_that_was_named_is_taken_or_refused() {
        assert_eq!(chosen(BOTH, Some(Dialect::J3)), Ok((Dialect::J3, "http://u/old/".to_owned())));
        assert_eq!(chosen(BOTH, Some(Dialect::PathRpc)), Ok((Dialect::PathRpc, "http://u/old".to_owned())));
        let old = r#""url":"http://u/a/""#;
        let refused = "the card offers JSONRPC 0.3.0; none of these can be called as v10_jsonrpc";
        assert_eq!(chosen(old, Some(Dialect::J1)), Err(refused.to_owned()));
    }

    #[test]
    fn what_the_card_offers_is_named_when_nothing_can_be_called() {
        let strange = r#""supportedInterfaces":[{"url":"ftp://u","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"http://u","protocolBinding":"JSONRPC","protocolVersion":"2.0"}]"#;
        let refused = "the card offers JSONRPC 1.0, JSONRPC 2.0; none of these can be called";
        assert_eq!(chosen(strange, None), Err(refused.to_owned()));
        let none = "the card offers no interface; none of these can be called";
        assert_eq!(chosen(r#""x":1"#, None), Err(none.to_owned()));
    }
}
