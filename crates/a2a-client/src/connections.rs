//! Connections: which addresses may be called, whose certificates are believed.
//!
//! Certificate checks cannot be turned off; redirects are not followed; proxy variables are not read.

use std::sync::Arc;

use egress::rules::parse_allow;
use egress::{Client, ClientSettings, Connector, ConnectorSettings, Plaintext, Protocol, Rules};

/// Which addresses may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// All, also without TLS: for programs whose own user names the addresses.
    #[default]
    Everywhere,
    /// The public internet over TLS alone: for programs that are told addresses by strangers. An agent's card may lead
    /// anywhere, so its interfaces are judged as well, each time a connection is made.
    PublicOnly,
}

/// TLS could not be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("TLS cannot be set up: {0}; check the certificates that were given")]
pub struct NoTls(pub(crate) String);

/// The connections of a program whose user names the addresses: every address may be called, also without TLS.
///
/// # Errors
/// When TLS cannot be set up.
pub fn connections(settings: ConnectorSettings) -> Result<Client, NoTls> {
    Connections::new(settings, Reach::Everywhere).map(|connections| connections.http1)
}

/// One pool a protocol.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    /// HTTP/1.1: everything but gRPC.
    pub(crate) http1: Client,
    /// HTTP/2: gRPC.
    pub(crate) http2: Client,
}

impl Connections {
    pub(crate) fn new(settings: ConnectorSettings, reach: Reach) -> Result<Self, NoTls> {
        let rules = match reach {
            // Both networks are well formed.
            Reach::Everywhere => {
                let everywhere = parse_allow(&["0.0.0.0/0", "::/0"]).unwrap_or_default();
                Rules::new(everywhere, Vec::new(), Plaintext::Listed, "the options of this client")
            }
            Reach::PublicOnly => Rules::public_only("the options of this client"),
        };
        let connector = Connector::new(Arc::new(rules), settings).map_err(|error| NoTls(error.to_string()))?;
        let http1 = Client::new(connector.clone(), &ClientSettings::default());
        let settings = ClientSettings { protocol: Protocol::Http2, ..ClientSettings::default() };
        Ok(Self { http1, http2: Client::new(connector, &settings) })
    }
}
