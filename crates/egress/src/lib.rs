//! Where this program may connect, and the only way it does.
//!
//! Takes the operator's lists and an address somebody else chose (a card's interface, a webhook, a key set). Gives a connection to an
//! address that was checked, or a [`Denied`] that names the setting which would open it. It never follows redirects, never reads proxy
//! variables, never dials an address it did not judge, and never puts fetched bytes into an error.
//!
//! | module | what |
//! |---|---|
//! | [`address`] | the deny table: one IP address → its class |
//! | [`rules`] | allow list, own listeners, judging URLs and addresses |
//! | [`net`] | name lookup and dialling; a scripted stand-in for tests |
//! | [`connect`] | the connector: judge, resolve, judge every answer, dial, TLS |
//! | [`client`] | pooled client on the connector, HTTP/1.1 or HTTP/2; request bytes leave as given |
//! | [`fetch`] | small documents: cards and key sets, with size and time caps |
//! | [`pieces`] | bytes in memory as a body that lets others have their turn |
//!
//! Invariants: every connection is made by [`Connector`]; a literal address is judged like a resolved one (client stacks skip their
//! resolver for literals); all addresses of a name must pass, then one of those very addresses is dialled; our own listeners can never
//! be opened by a list.

pub mod address;
pub mod client;
pub mod connect;
pub mod fetch;
pub mod net;
pub mod pieces;
pub mod rules;

pub use client::{Client, ClientSettings, EgressError};
pub use connect::{ConnectError, Connector, ConnectorSettings, Protocol, TlsIdentity};
pub use fetch::{FetchError, FetchLimits, Fetched};
pub use net::{Net, Script};
pub use pieces::Pieces;
pub use rules::{AllowEntry, BadEntry, Denied, Own, Plaintext, Rules, Scheme, Target, Why};
