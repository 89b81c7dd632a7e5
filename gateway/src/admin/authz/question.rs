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
}
