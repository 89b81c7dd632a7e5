//! The query of an explanation: who wants to do what with which card.

use serde::Deserialize;
use utoipa::IntoParams;

/// Who wants what.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(in crate::admin) struct Question {
    /// A principal by name.
    #[serde(default)]
    pub(in crate::admin) principal: String,
    /// A card by name.
    #[serde(default)]
    pub(in crate::admin) card: String,
    /// An operation by its short name, such as `send`.
    #[serde(default)]
    pub(in crate::admin) operation: String,
    /// Groups that the caller's token names, separated by commas.
    #[serde(default)]
    pub(in crate::admin) groups: Option<String>,
    /// When the call is made (RFC 3339); now if absent. This and what follows is for the tenant's conditions.
    #[serde(default)]
    pub(in crate::admin) at: Option<String>,
    /// The caller's address; 127.0.0.1 if absent.
    #[serde(default)]
    pub(in crate::admin) source: Option<String>,
    /// How the caller is proven: api_key, certificate, gateway_token, issuer_token.
    #[serde(default)]
    pub(in crate::admin) scheme: Option<String>,
    /// Extensions that the call declares, separated by commas.
    #[serde(default)]
    pub(in crate::admin) extensions: Option<String>,
    /// The message's metadata, a JSON object.
    #[serde(default)]
    pub(in crate::admin) metadata: Option<String>,
    /// The request's metadata, a JSON object.
    #[serde(default)]
    pub(in crate::admin) request_metadata: Option<String>,
    /// The calls behind it, the first one first: `principal>card`, separated by commas.
    #[serde(default)]
    pub(in crate::admin) via: Option<String>,
}
