//! Policy document → checked, compiled pipeline.
//!
//! ```json
//! {"surfaces": ["a2a_inbound", "a2a_outbound"], "mode": "enforce", "on_error": "block", "on_unscannable": "flag", "hold": "exact",
//!  "detectors": [
//!    {"id": "secret", "action": "redact"},
//!    {"id": "pii.card", "action": "mask"},
//!    {"id": "injection", "threshold": 70, "action": "block"},
//!    {"id": "words", "name": "code-names", "words": ["Blue Heron"], "whole_word": true, "case_sensitive": false, "action": "block"},
//!    {"id": "pattern", "name": "ticket", "pattern": "ACME-[0-9]{1,8}", "max_length": 20, "action": "redact"}]}
//! ```
//! `surfaces` and `detectors` are required, and `id` and `action` of a detector; the other members have the values shown
//! where they are missing, `name` is the `id`, `max_length` is 4096. Everything that is wrong is named at once; what is
//! unknown is refused, because a rule that is skipped guards nothing.

mod detectors;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use json::{Json, Object};

use crate::detector::builtin::Builtins;
use crate::detector::injection::Quotes;
use crate::engine::{Custom, Engine};
use crate::external::External;
use crate::finding::{Action, Mode};
use crate::hash::MatchKey;
use crate::pipeline::{Hold, Looks, OnError, OnUnscannable, Pipeline, Rule};
use crate::redact;
use crate::surface::Surface;

/// Most detectors of one policy.
const MOST_DETECTORS: usize = 100;
/// Longest detector name, in bytes.
const LONGEST_NAME: usize = 64;
/// The actions a policy may name.
const ACTIONS: &str = "allow, monitor, tokenise, mask, redact, block";

/// What a policy is compiled with.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Key of the HMAC over matched text.
    pub key: &'a [u8],
    /// The policy's name, for findings.
    pub policy: &'a str,
    /// Its version, for findings.
    pub version: i64,
}

/// One thing wrong with a policy document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// RFC 6901 pointer into the document.
    pub path: String,
    /// What is wrong, in words for its author.
    pub problem: String,
}

/// Everything that is wrong with a policy document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the policy has {} problem(s)", problems.len())]
pub struct PolicyError {
    /// In document order, missing members after those that are there.
    pub problems: Vec<Problem>,
}

pub(crate) fn compile(document: &Json, options: &Options<'_>) -> Result<Pipeline, PolicyError> {
    let mut check = Checker::default();
    let nothing = Object::new();
    let policy = document.as_object().unwrap_or_else(|| {
        check.refuse("", "a policy is an object");
        &nothing
    });
    check.members(policy, "", &["surfaces", "mode", "detectors", "on_error", "on_unscannable", "hold", "description"]);
    let surfaces = check.surfaces(policy);
    let mode = check.choice(policy, "", "mode", Mode::from_name, "enforce, shadow").unwrap_or(Mode::Enforce);
    let parts = check.rules(policy);
    let quotes = if surfaces == [Surface::Card] { Quotes::Count } else { Quotes::Dampen };
    let pipeline = Pipeline {
        policy: Arc::from(options.policy),
        version: options.version,
        surfaces,
        mode,
        on_error: check.choice(policy, "", "on_error", OnError::from_name, "block, allow").unwrap_or(OnError::Block),
        on_unscannable: check
            .choice(policy, "", "on_unscannable", OnUnscannable::from_name, "flag, block, allow")
            .unwrap_or(OnUnscannable::Flag),
        hold: check.choice(policy, "", "hold", Hold::from_name, "exact, message").unwrap_or(Hold::Exact),
        engine: check.engine(&parts, MatchKey::new(options.key), quotes),
        rules: parts.rules,
        externals: parts.externals,
    };
    check.engine_custom(pipeline, parts.custom)
}

/// What the detectors of a document come to.
#[derive(Default)]
struct Parts {
    rules: Vec<Rule>,
    externals: Vec<External>,
    /// Kind → the rules that want it.
    by_kind: HashMap<&'static str, Vec<usize>>,
    injection: Vec<(usize, u8)>,
    custom: Vec<(usize, Custom)>,
    hidden: Vec<usize>,
    nested: Vec<usize>,
}

/// What one detector of a document comes to.
enum Part {
    Kinds(Vec<&'static str>),
    Injection(u8),
    Custom(Custom),
    Hidden,
    Nested,
    Looks(Looks),
    External(External),
}

/// Collects problems.
#[derive(Default)]
struct Checker {
    problems: Vec<Problem>,
}

impl Checker {
    fn refuse(&mut self, path: impl Into<String>, problem: impl Into<String>) {
        self.problems.push(Problem { path: path.into(), problem: problem.into() });
    }

    /// Refuses members that are not `known`.
    fn members(&mut self, object: &Object, path: &str, known: &[&str]) {
        for key in object.keys().filter(|key| !known.contains(key)) {
            self.refuse(join(path, key), format!("unknown member; known: {}", known.join(", ")));
        }
    }

    /// A member that is one of a few names.
    fn choice<T>(
        &mut self,
        object: &Object,
        path: &str,
        key: &str,
        parse: fn(&str) -> Option<T>,
        known: &str,
    ) -> Option<T> {
        let value = object.get(key)?;
        let parsed = value.as_str().and_then(parse);
        if parsed.is_none() {
            self.refuse(join(path, key), format!("must be one of: {known}"));
        }
        parsed
    }

    fn flag(&mut self, object: &Object, path: &str, key: &str) -> Option<bool> {
        let value = object.get(key)?;
        if value.as_bool().is_none() {
            self.refuse(join(path, key), "must be true or false");
        }
        value.as_bool()
    }

    fn surfaces(&mut self, policy: &Object) -> Vec<Surface> {
        let Some(names) = policy.get("surfaces").and_then(Json::as_array).filter(|names| !names.is_empty()) else {
            self.refuse("/surfaces", "must be a list of at least one of: a2a_inbound, a2a_outbound, card");
            return Vec::new();
        };
        let mut surfaces = Vec::new();
        for (at, name) in names.iter().enumerate() {
            match name.as_str().and_then(Surface::from_name) {
                Some(surface) if surfaces.contains(&surface) => {
                    self.refuse(format!("/surfaces/{at}"), "is named twice")
                }
                Some(surface) => surfaces.push(surface),
                None => self.refuse(format!("/surfaces/{at}"), "must be one of: a2a_inbound, a2a_outbound, card"),
            }
        }
        surfaces
    }

    fn rules(&mut self, policy: &Object) -> Parts {
        let mut parts = Parts::default();
        let Some(detectors) = policy.get("detectors").and_then(Json::as_array) else {
            self.refuse("/detectors", "must be a list of detectors");
            return parts;
        };
        if detectors.len() > MOST_DETECTORS {
            self.refuse("/detectors", format!("more than {MOST_DETECTORS} detectors"));
            return parts;
        }
        let mut names = HashSet::new();
        for (at, detector) in detectors.iter().enumerate() {
            let path = format!("/detectors/{at}");
            match detector.as_object() {
                Some(detector) => self.rule(detector, &path, &mut names, &mut parts),
                None => self.refuse(path, "a detector is an object"),
            }
        }
        parts
    }

    fn rule<'a>(&mut self, detector: &'a Object, path: &str, names: &mut HashSet<&'a str>, parts: &mut Parts) {
        let id = detector.str("id");
        let name = self.name(detector, path, names);
        let action = self.choice(detector, path, "action", Action::from_name, ACTIONS);
        if !detector.contains("action") {
            self.refuse(join(path, "action"), format!("is missing; one of: {ACTIONS}"));
        }
        let part = match id {
            Some(id) => self.part(id, detector, path, action),
            None => {
                self.refuse(join(path, "id"), format!("must be one of: {}", detectors::known()));
                None
            }
        };
        // `allow` switches a detector off; it is checked all the same.
        let (Some(name), Some(action), Some(part)) = (name, action.filter(|action| *action > Action::Allow), part)
        else {
            return;
        };
        let at = parts.rules.len();
        let looks = match part {
            Part::External(external) => {
                parts.externals.push(External { name: Arc::clone(&name), action, ..external });
                return;
            }
            Part::Kinds(kinds) => {
                for kind in kinds {
                    parts.by_kind.entry(kind).or_default().push(at);
                }
                Looks::Ours
            }
            Part::Injection(threshold) => {
                parts.injection.push((at, threshold));
                Looks::Ours
            }
            Part::Custom(custom) => {
                parts.custom.push((at, custom));
                Looks::Custom
            }
            Part::Hidden => {
                parts.hidden.push(at);
                Looks::Ours
            }
            Part::Nested => {
                parts.nested.push(at);
                Looks::Ours
            }
            Part::Looks(looks) => looks,
        };
        parts.rules.push(Rule { name, action, looks });
    }

    fn engine(&mut self, parts: &Parts, key: MatchKey, quotes: Quotes) -> Engine {
        let mut kinds: BTreeSet<&'static str> = parts.by_kind.keys().copied().collect();
        if !parts.injection.is_empty() {
            kinds.insert(crate::detector::builtin::INJECTION);
        }
        let builtins = Builtins::new(&kinds).unwrap_or_else(|problem| {
            self.refuse("/detectors", format!("our own detectors do not compile: {problem}"));
            Builtins::none()
        });
        Engine {
            key,
            builtins,
            by_kind: parts.by_kind.clone(),
            injection: parts.injection.clone(),
            custom: Vec::new(),
            hidden: parts.hidden.clone(),
            nested: parts.nested.clone(),
            quotes,
        }
    }

    /// The finished pipeline, if nothing was wrong.
    fn engine_custom(mut self, mut pipeline: Pipeline, custom: Vec<(usize, Custom)>) -> Result<Pipeline, PolicyError> {
        pipeline.engine.custom = custom;
        self.tokens(&pipeline);
        if self.problems.is_empty() { Ok(pipeline) } else { Err(PolicyError { problems: self.problems }) }
    }

    /// Names stand in tokens and records, so they are short, plain and unique.
    fn name<'a>(&mut self, detector: &'a Object, path: &str, names: &mut HashSet<&'a str>) -> Option<Arc<str>> {
        let key = if detector.contains("name") { "name" } else { "id" };
        let plain = |name: &&str| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
            (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(allowed)
        };
        match detector.str(key).filter(plain) {
            Some(name) if names.insert(name) => Some(Arc::from(name)),
            Some(name) => {
                self.refuse(join(path, key), format!("a second detector is called {}; give it a name", quoted(name)));
                None
            }
            None if key == "name" => {
                self.refuse(join(path, key), format!("must be 1 to {LONGEST_NAME} of: letters, digits, '.', '_', '-'"));
                None
            }
            // The id itself is wrong or missing and is named as such.
            None => None,
        }
    }

    /// A token that is itself a finding would turn every redaction into a block.
    fn tokens(&mut self, pipeline: &Pipeline) {
        for (at, redacting) in pipeline.rules.iter().enumerate().filter(|(_, rule)| rule.action == Action::Redact) {
            let token = redact::token(pipeline.label(Some(at), &redacting.name));
            let seen = pipeline.engine.scan(&token).matches;
            let minding = seen
                .iter()
                .filter_map(|found| pipeline.rules.get(found.rule))
                .find(|rule| rule.action > Action::Monitor);
            if let Some(minding) = minding {
                let problem =
                    format!("{} finds the replacement text {token}; change it or the name", quoted(&minding.name));
                self.refuse("/detectors", problem);
            }
        }
    }
}

fn join(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// A piece of the document in a message, cut to a readable length.
fn quoted(text: &str) -> String {
    format!("'{}'", text.chars().take(LONGEST_NAME).collect::<String>())
}

#[cfg(test)]
mod tests;
