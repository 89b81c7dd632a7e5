//! Policy document → checked, compiled pipeline.
//!
//! ```json
//! {"surfaces": ["a2a_inbound", "a2a_outbound"], "mode": "enforce", "on_error": "block", "on_unscannable": "flag",
//!  "detectors": [
//!    {"id": "words", "name": "code-names", "words": ["Blue Heron"], "whole_word": true, "case_sensitive": false, "action": "block"},
//!    {"id": "pattern", "name": "aws-key", "pattern": "AKIA[0-9A-Z]{16}", "max_length": 20, "action": "redact"}]}
//! ```
//! `surfaces` and `detectors` are required, and `id` and `action` of a detector; `mode`, `on_error` and `on_unscannable`
//! have the values shown where they are missing, `name` is the `id`, `max_length` is 4096. Everything that is wrong is
//! named at once; what is unknown is refused, because a rule that is skipped guards nothing.

use std::collections::HashSet;
use std::sync::Arc;

use json::{Json, Object};

use crate::detector::words::{Edges, Words};
use crate::detector::{Detector, Scan, pattern, words};
use crate::finding::{Action, Mode};
use crate::hash::MatchKey;
use crate::normalise::Case;
use crate::pipeline::{OnError, OnUnscannable, Pipeline, Rule};
use crate::redact;
use crate::surface::Surface;

/// Most detectors of one policy.
const MOST_DETECTORS: usize = 100;
/// Longest detector name, in bytes.
const LONGEST_NAME: usize = 64;

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
    check.members(policy, "", &["surfaces", "mode", "detectors", "on_error", "on_unscannable"]);
    let pipeline = Pipeline {
        policy: Arc::from(options.policy),
        version: options.version,
        key: MatchKey::new(options.key),
        surfaces: check.surfaces(policy),
        mode: check.choice(policy, "", "mode", Mode::from_name, "enforce, shadow").unwrap_or(Mode::Enforce),
        rules: check.rules(policy),
        on_error: check.choice(policy, "", "on_error", OnError::from_name, "block, allow").unwrap_or(OnError::Block),
        on_unscannable: check
            .choice(policy, "", "on_unscannable", OnUnscannable::from_name, "flag, block, allow")
            .unwrap_or(OnUnscannable::Flag),
    };
    check.tokens(&pipeline.rules);
    if check.problems.is_empty() { Ok(pipeline) } else { Err(PolicyError { problems: check.problems }) }
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

    fn rules(&mut self, policy: &Object) -> Vec<Rule> {
        let Some(detectors) = policy.get("detectors").and_then(Json::as_array) else {
            self.refuse("/detectors", "must be a list of detectors");
            return Vec::new();
        };
        if detectors.len() > MOST_DETECTORS {
            self.refuse("/detectors", format!("more than {MOST_DETECTORS} detectors"));
            return Vec::new();
        }
        let mut names = HashSet::new();
        let mut rules = Vec::new();
        for (at, detector) in detectors.iter().enumerate() {
            let path = format!("/detectors/{at}");
            match detector.as_object() {
                Some(detector) => rules.extend(self.rule(detector, &path, &mut names)),
                None => self.refuse(path, "a detector is an object"),
            }
        }
        // `allow` switches a detector off; it is checked all the same.
        rules.retain(|rule| rule.action > Action::Allow);
        rules
    }

    fn rule<'a>(&mut self, detector: &'a Object, path: &str, names: &mut HashSet<&'a str>) -> Option<Rule> {
        let id = detector.str("id");
        let name = self.name(detector, path, names);
        let action = self.choice(detector, path, "action", Action::from_name, "allow, monitor, redact, block");
        if !detector.contains("action") {
            self.refuse(join(path, "action"), "is missing; one of: allow, monitor, redact, block");
        }
        let looks: Option<Box<dyn Detector>> = match id {
            Some("words") => self.words(detector, path).map(|words| Box::new(words) as _),
            Some("pattern") => self.pattern(detector, path).map(|pattern| Box::new(pattern) as _),
            Some(other) => {
                self.refuse(join(path, "id"), format!("unknown detector {}; known: words, pattern", quoted(other)));
                None
            }
            None => {
                self.refuse(join(path, "id"), "must be one of: words, pattern");
                None
            }
        };
        Some(Rule { name: name?, action: action?, detector: looks? })
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

    fn words(&mut self, detector: &Object, path: &str) -> Option<Words> {
        self.members(detector, path, &["id", "name", "action", "words", "whole_word", "case_sensitive"]);
        let whole_word = self.flag(detector, path, "whole_word").unwrap_or(true);
        let case_sensitive = self.flag(detector, path, "case_sensitive").unwrap_or(false);
        let edges = if whole_word { Edges::WholeWord } else { Edges::Anywhere };
        let case = if case_sensitive { Case::Kept } else { Case::Folded };
        let path = join(path, "words");
        let Some(list) = detector.get("words").and_then(Json::as_array).filter(|list| !list.is_empty()) else {
            self.refuse(path, "must be a list of at least one word");
            return None;
        };
        let before = self.problems.len();
        let words: Vec<&str> = list.iter().enumerate().filter_map(|(at, word)| self.word(word, &path, at)).collect();
        if list.len() > words::MOST_WORDS || words.iter().map(|word| word.len()).sum::<usize>() > words::MOST_BYTES {
            let (most, bytes) = (words::MOST_WORDS, words::MOST_BYTES);
            self.refuse(path.as_str(), format!("more than {most} words or {bytes} bytes"));
        }
        if self.problems.len() > before {
            return None;
        }
        Words::new(&words, case, edges).map_err(|problem| self.refuse(path, problem)).ok()
    }

    fn word<'a>(&mut self, word: &'a Json, path: &str, at: usize) -> Option<&'a str> {
        let fits = |word: &&str| !word.is_empty() && word.trim() == *word && word.chars().count() <= words::LONGEST;
        let word = word.as_str().filter(fits);
        if word.is_none() {
            let problem = format!("must be 1 to {} characters without space around them", words::LONGEST);
            self.refuse(format!("{path}/{at}"), problem);
        }
        word
    }

    fn pattern(&mut self, detector: &Object, path: &str) -> Option<pattern::Pattern> {
        self.members(detector, path, &["id", "name", "action", "pattern", "max_length"]);
        let longest = pattern::LONGEST_MATCH;
        let max_length = match detector.get("max_length") {
            None => Some(longest),
            Some(value) => {
                let bound =
                    value.as_number().and_then(json::Number::as_i64).and_then(|bound| usize::try_from(bound).ok());
                bound.filter(|bound| (1..=longest).contains(bound))
            }
        };
        if max_length.is_none() {
            self.refuse(join(path, "max_length"), format!("must be a whole number from 1 to {longest}"));
        }
        let Some(source) = detector.str("pattern") else {
            self.refuse(join(path, "pattern"), "must be a regular expression");
            return None;
        };
        let compiled = pattern::Pattern::new(source, max_length.unwrap_or(longest));
        compiled.map_err(|problem| self.refuse(join(path, "pattern"), problem)).ok()
    }

    /// A token that is itself a finding would turn every redaction into a block.
    fn tokens(&mut self, rules: &[Rule]) {
        for redacting in rules.iter().filter(|rule| rule.action == Action::Redact) {
            let token = redact::token(&redacting.name);
            for minding in rules.iter().filter(|rule| rule.action >= Action::Redact) {
                if minding.detector.scan(&token) != Scan::Spans(Vec::new()) {
                    let problem =
                        format!("{} finds the replacement text {token}; change it or the name", quoted(&minding.name));
                    self.refuse("/detectors", problem);
                }
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
