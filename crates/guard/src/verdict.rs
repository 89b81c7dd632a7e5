//! What the engine says about one call, answer, event or card.

use crate::finding::Finding;

/// What happened to the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It may pass as it is.
    Allowed,
    /// It may pass; text was replaced in place.
    Redacted,
    /// It may not pass; the tree is as it came in.
    Blocked {
        /// The name of the detector (or `unscannable`, `stream`) that decided.
        rule: String,
    },
}

/// The outcome and what led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What happened to the tree.
    pub outcome: Outcome,
    /// Everything that was seen, in document order, per policy.
    pub findings: Vec<Finding>,
    /// How many findings more there were than `findings` holds; the worst are kept.
    pub omitted: usize,
}

impl Verdict {
    /// Most findings one verdict lists.
    pub const MOST: usize = 256;

    /// Nothing was looked for or nothing was found.
    #[must_use]
    pub const fn allowed() -> Self {
        Self { outcome: Outcome::Allowed, findings: Vec::new(), omitted: 0 }
    }

    /// The rule that blocks, if one does.
    #[must_use]
    pub fn blocked_by(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Blocked { rule } => Some(rule),
            Outcome::Allowed | Outcome::Redacted => None,
        }
    }
}
