//! A client of A2A agents: find the card, check who signed it, choose an interface, call.
//!
//! Takes the URL that somebody was given and a credential; gives answers and events in v1.0 shape, whatever dialect the
//! agent speaks. Connects through [`egress`] alone, follows no redirect, sends its credential to the origin it was
//! given for and nowhere else, and never fetches a key that a card names.
//!
//! | module | what |
//! |---|---|
//! | [`resolve`](mod@resolve) | the places where agents keep their card, tried in order |
//! | [`trust`] | verdicts on a card's signatures, and the part of the card they cover |
//! | [`choose`](mod@choose) | which of the card's interfaces to call |
//! | [`credential`] | what proves the caller |
//! | [`agent`] | the calls |
//! | [`events`] | a stream, event by event |
//! | [`calls`] | the eleven operations as [`Call`](a2a::Call)s |

pub mod agent;
pub mod calls;
pub mod choose;
pub mod credential;
pub mod events;
pub mod resolve;
pub mod trust;

pub use agent::{Agent, CallError, CallLimits};
pub use choose::{Chosen, NoInterface, choose};
pub use credential::Credential;
pub use events::Events;
pub use resolve::{Found, ResolveError, resolve};
pub use trust::{Proof, fetch_keys};

use std::sync::Arc;

use egress::rules::parse_allow;
use egress::{Client, ClientSettings, Connector, ConnectorSettings, Plaintext, Rules};

/// The connections of a program whose user names the addresses: every address may be called, also without TLS.
///
/// # Errors
/// When TLS cannot be set up.
pub fn connections(settings: ConnectorSettings) -> Result<Client, NoTls> {
    // Both networks are well formed.
    let everywhere = parse_allow(&["0.0.0.0/0", "::/0"]).unwrap_or_default();
    let rules = Rules::new(everywhere, Vec::new(), Plaintext::Listed, "the command line");
    let connector = Connector::new(Arc::new(rules), settings).map_err(|error| NoTls(error.to_string()))?;
    Ok(Client::new(connector, &ClientSettings::default()))
}

/// TLS could not be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("TLS cannot be set up: {0}")]
pub struct NoTls(String);
