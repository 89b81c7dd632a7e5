//! What a policy would make of a finding of which only the facts are left: no tree, no text.
//!
//! Takes a finding's kind, its surface and its score, as they stand in a record. Gives the action that would follow, or says
//! that it can't be told: what a policy's author wrote (words, patterns, addresses, sizes, schemas, guards outside) is judged
//! by text alone, so it is known only where the rule is the very one that made the finding. Never guesses.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::detector::builtin::INJECTION;
use crate::engine::{HIDDEN, NESTED};
use crate::finding::{Action, Mode};
use crate::pipeline::{Looks, Pipeline, UNSCANNABLE};
use crate::surface::Surface;

/// A finding's facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts<'a> {
    /// Where it was made.
    pub surface: Surface,
    /// Its kind, as [`crate::Finding::detector`].
    pub kind: &'a str,
    /// The rule that made it, if the policy in question has that very rule, but for its action.
    pub same_rule: Option<&'a str>,
    /// How sure the detector was, where that was recorded.
    pub score: Option<u8>,
}

/// What a policy would make of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recast {
    /// This follows, or would in shadow mode.
    Follows {
        /// The worst that a rule asks for.
        action: Action,
        /// Whether the policy carries it out.
        mode: Mode,
        /// The rule.
        rule: Arc<str>,
    },
    /// The policy does not mind it.
    Nothing,
    /// The facts do not say.
    Unknown(Unknown),
}

/// Why it can't be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unknown {
    /// A rule of the policy's author may mind the same text or not.
    OwnRule,
    /// The score was not recorded, and the policy minds from a higher one on.
    Score,
    /// It was about how inspecting went, not about the text.
    Inspection,
}

impl Pipeline {
    /// What this policy would make of a finding.
    #[must_use]
    pub fn recast(&self, facts: &Facts<'_>) -> Recast {
        if !self.guards(facts.surface) {
            return Recast::Nothing;
        }
        let kind = facts.kind;
        if kind == UNSCANNABLE {
            return self.follows(self.on_unscannable.action(), &Arc::from(UNSCANNABLE));
        }
        if kind == INJECTION {
            return self.injected(facts.score);
        }
        let ours = match kind {
            HIDDEN => Some(&self.engine.hidden),
            NESTED => Some(&self.engine.nested),
            _ => self.engine.by_kind.get(kind),
        };
        if let Some(rules) = ours {
            return self.worst(rules.iter().copied());
        }
        if kind.starts_with("secret.") || kind.starts_with("pii.") || matches!(kind, HIDDEN | NESTED) {
            return Recast::Nothing;
        }
        if kind == "failed" || kind.starts_with("stream.") || kind == "external.could_not_scan" {
            return Recast::Unknown(Unknown::Inspection);
        }
        facts.same_rule.map_or(Recast::Unknown(Unknown::OwnRule), |name| self.named(name))
    }

    /// What our own detectors are asked for, and the score from which on it is minded (0 but for injection).
    #[must_use]
    pub fn asks(&self) -> BTreeMap<&'static str, u8> {
        let mut asked: BTreeMap<&'static str, u8> = self.engine.by_kind.keys().map(|kind| (*kind, 0)).collect();
        if let Some(from) = self.engine.injection.iter().map(|(_, from)| *from).min() {
            asked.insert(INJECTION, from);
        }
        for (kind, rules) in [(HIDDEN, &self.engine.hidden), (NESTED, &self.engine.nested)] {
            if !rules.is_empty() {
                asked.insert(kind, 0);
            }
        }
        asked
    }

    /// The names of the rules that the policy's author wrote, guards outside among them.
    #[must_use]
    pub fn own_rules(&self) -> Vec<&str> {
        let rules = self.rules.iter().filter(|rule| !matches!(rule.looks, Looks::Ours)).map(|rule| &*rule.name);
        rules.chain(self.externals.iter().map(|external| &*external.name)).collect()
    }

    fn injected(&self, score: Option<u8>) -> Recast {
        let rules = &self.engine.injection;
        match score {
            Some(score) => self.worst(rules.iter().filter(|(_, from)| score >= *from).map(|(rule, _)| *rule)),
            None if rules.is_empty() => Recast::Nothing,
            None => Recast::Unknown(Unknown::Score),
        }
    }

    /// A rule that was switched off is in no list any more.
    fn named(&self, name: &str) -> Recast {
        let rule = self.rules.iter().find(|rule| &*rule.name == name).map(|rule| (rule.action, &rule.name));
        let outside = || self.externals.iter().find(|one| &*one.name == name).map(|one| (one.action, &one.name));
        rule.or_else(outside).map_or(Recast::Nothing, |(action, name)| self.follows(action, name))
    }

    fn worst(&self, rules: impl Iterator<Item = usize>) -> Recast {
        let worst = rules.filter_map(|rule| self.rules.get(rule)).max_by_key(|rule| rule.action);
        worst.map_or(Recast::Nothing, |rule| self.follows(rule.action, &rule.name))
    }

    fn follows(&self, action: Action, rule: &Arc<str>) -> Recast {
        if action == Action::Allow {
            return Recast::Nothing;
        }
        Recast::Follows { action, mode: self.mode, rule: Arc::clone(rule) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Options;

    fn pipeline(document: &str) -> Pipeline {
        let document = json::read(document.as_bytes(), &json::Limits::default()).unwrap();
        Pipeline::compile(&document, &Options { key: b"key", policy: "p", version: 1 }).unwrap()
    }

    fn facts(kind: &str) -> Facts<'_> {
        Facts { surface: Surface::Inbound, kind, same_rule: None, score: None }
    }

    #[test]
    fn a_finding_is_recast_by_kind_and_score() {
        let policy = pipeline(
            r#"{"surfaces":["a2a_inbound"],"on_unscannable":"block","detectors":[{"id":"pii","action":"mask"},
            {"id":"pii.email","action":"block"},{"id":"injection","threshold":70,"action":"block"},
            {"id":"words","name":"birds","words":["heron"],"action":"redact"}]}"#,
        );
        let action = |facts: &Facts<'_>| match policy.recast(facts) {
            Recast::Follows { action, .. } => Some(action),
            Recast::Nothing | Recast::Unknown(_) => None,
        };
        assert_eq!(action(&facts("pii.card")), Some(Action::Mask));
        assert_eq!(action(&facts("pii.email")), Some(Action::Block), "the worst of two");
        assert_eq!(action(&facts("unscannable")), Some(Action::Block));
        assert_eq!(policy.recast(&facts("secret.github")), Recast::Nothing);
        assert_eq!(policy.recast(&Facts { surface: Surface::Outbound, ..facts("pii.email") }), Recast::Nothing);
        assert_eq!(policy.recast(&facts("injection")), Recast::Unknown(Unknown::Score));
        assert_eq!(policy.recast(&Facts { score: Some(69), ..facts("injection") }), Recast::Nothing);
        assert_eq!(action(&Facts { score: Some(70), ..facts("injection") }), Some(Action::Block));
        assert_eq!(policy.recast(&facts("words")), Recast::Unknown(Unknown::OwnRule));
        assert_eq!(action(&Facts { same_rule: Some("birds"), ..facts("words") }), Some(Action::Redact));
        assert_eq!(policy.recast(&Facts { same_rule: Some("gone"), ..facts("words") }), Recast::Nothing);
        assert_eq!(policy.recast(&facts("stream.holdback")), Recast::Unknown(Unknown::Inspection));
        assert_eq!(policy.asks().get("injection"), Some(&70));
        assert!(policy.asks().contains_key("pii.email") && !policy.asks().contains_key("secret.github"));
        assert_eq!(policy.own_rules(), ["birds"]);
    }
}
