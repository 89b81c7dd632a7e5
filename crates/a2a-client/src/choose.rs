//! Which of a card's interfaces to call.
//!
//! The agent's order decides the binding; within a binding 1.0 goes before 0.3 (A2A 1.0 §5.2, as the official clients
//! do). A dialect that the user names is taken or refused, never replaced.

use a2a::dialect::{AgentAddress, Colon, PathBody};
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
    let spoken = interface.dialect();
    let dialect = match wanted {
        // No card can say path RPC; its agents say JSON-RPC.
        Some(Dialect::PathRpc) => {
            spoken.filter(|spoken| spoken.binding() == Binding::JsonRpc).map(|_| Dialect::PathRpc)?
        }
        Some(wanted) => spoken.filter(|spoken| *spoken == wanted)?,
        None => spoken?,
    };
    let base = absolute(&interface.url, card_url)?;
    let address =
        AgentAddress { base, tenant: interface.tenant.clone(), colon: Colon::Literal, path_body: PathBody::Envelope };
    Some(Chosen { dialect, address })
}

/// Absolute URLs are kept byte for byte but for trailing slashes; relative ones are resolved against the card's.
fn absolute(url: &str, card_url: &Url) -> Option<String> {
    let absolute = match Url::parse(url) {
        Ok(_) => url.to_owned(),
        Err(url::ParseError::RelativeUrlWithoutBase) => card_url.join(url).ok()?.into(),
        Err(_) => return None,
    };
    let web = absolute.starts_with("http://") || absolute.starts_with("https://");
    web.then(|| absolute.trim_end_matches('/').to_owned())
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
