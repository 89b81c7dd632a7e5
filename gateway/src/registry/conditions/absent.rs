//! Conditions in a build without the feature `cedar`: no document can be saved, and what another build has stored
//! denies, because nobody here knows what it says.

use super::{Asked, ConditionsMode, Otherwise, Why};
use crate::registry::document::Problem;

/// Never made.
#[derive(Debug)]
pub(super) enum Rules {}

impl Rules {
    /// Refuses every document.
    pub(super) fn compile(_text: &str, _otherwise: Otherwise, _mode: ConditionsMode) -> Result<Self, Vec<Problem>> {
        Err(vec![Problem::new("/policies", "this gateway was built without conditions (feature cedar)")])
    }

    /// Never asked.
    pub(super) fn judge(&self, _asked: &Asked) -> (Option<(Why, Vec<String>)>, bool) {
        match *self {}
    }
}
