//! Conditions in a build without the feature `cedar`: no document can be saved, and what another build has stored
//! denies, because nobody here knows what it says.

use super::{Asked, ConditionsMode, Objection, Otherwise};
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
    pub(super) fn judge(&self, _asked: &Asked) -> (Option<Objection>, bool) {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was stored by another build is then unreadable, and that denies.
    #[test]
    fn a_build_without_conditions_takes_none() {
        for text in ["", "@id(\"a\") forbid(principal, action, resource);"] {
            for otherwise in [Otherwise::Permit, Otherwise::Deny] {
                let Err(problems) = Rules::compile(text, otherwise, ConditionsMode::Off);
                assert!(problems[0].problem.contains("built without conditions (feature cedar)"), "{problems:?}");
            }
        }
        let _judge: fn(&Rules, &Asked) -> (Option<Objection>, bool) = Rules::judge;
    }
}
