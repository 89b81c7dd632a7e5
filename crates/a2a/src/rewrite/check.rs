//! What a card must be like to be published and signed: every problem, with its place.

use std::fmt::Write as _;

use json::{Json, Object};

use super::{CardFault, Problem};

/// Deepest nesting of a card; the official Python verifier gives up at 128.
const DEPTH: usize = 32;
/// From here on, readers that keep doubles change the number.
const BIGGEST: f64 = 9_007_199_254_740_991.0;

/// Requirements that name a scheme without a scope: pruning would take them away. Run before pruning.
pub(super) fn requirements(card: &Object) -> Vec<Problem> {
    let mut report = Report::default();
    report.requirements(card, "");
    for (at, skill) in elements(card, "skills").iter().enumerate() {
        if let Some(skill) = skill.as_object() {
            report.requirements(skill, &format!("/skills/{at}"));
        }
    }
    report.problems
}

/// Everything else, on the pruned card.
pub(super) fn card(card: &Object) -> Vec<Problem> {
    let mut report = Report::default();
    for member in ["name", "description", "version"] {
        report.text(card, member, "");
    }
    for member in ["defaultInputModes", "defaultOutputModes"] {
        report.texts(card, member, "");
    }
    report.interfaces(card);
    report.capabilities(card);
    report.skills(card);
    report.schemes(card);
    report.values(&Json::Object(card.clone()), &mut String::new(), 1);
    report.problems
}

fn elements<'a>(card: &'a Object, member: &str) -> &'a [Json] {
    card.get(member).and_then(Json::as_array).unwrap_or_default()
}

#[derive(Default)]
struct Report {
    problems: Vec<Problem>,
}

impl Report {
    fn add(&mut self, path: impl Into<String>, fault: CardFault) {
        self.problems.push(Problem { path: path.into(), fault });
    }

    /// A string that is there and not empty.
    fn text(&mut self, object: &Object, member: &str, at: &str) {
        match object.get(member) {
            Some(Json::String(text)) if !text.is_empty() => {}
            None | Some(Json::Null | Json::String(_)) => self.add(format!("{at}/{member}"), CardFault::Missing),
            Some(Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_)) => {
                self.add(format!("{at}/{member}"), CardFault::WrongType { expected: "a string" });
            }
        }
    }

    /// A list of strings that is not empty.
    fn texts(&mut self, object: &Object, member: &str, at: &str) {
        let path = format!("{at}/{member}");
        for (index, element) in self.list(object, member, &path).iter().enumerate() {
            if element.as_str().is_none() {
                self.add(format!("{path}/{index}"), CardFault::WrongType { expected: "a string" });
            }
        }
    }

    /// A list that is not empty; its elements.
    fn list<'a>(&mut self, object: &'a Object, member: &str, path: &str) -> &'a [Json] {
        match object.get(member) {
            Some(Json::Array(elements)) if !elements.is_empty() => return elements,
            None | Some(Json::Null | Json::Array(_)) => self.add(path, CardFault::Missing),
            Some(Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_)) => {
                self.add(path, CardFault::WrongType { expected: "a list" });
            }
        }
        &[]
    }

    /// The objects of a list; whatever else is in it is a problem.
    fn objects<'a>(&mut self, elements: &'a [Json], path: &str) -> Vec<(String, &'a Object)> {
        let mut objects = Vec::new();
        for (index, element) in elements.iter().enumerate() {
            let path = format!("{path}/{index}");
            match element.as_object() {
                Some(object) => objects.push((path, object)),
                None => self.add(path, CardFault::WrongType { expected: "an object" }),
            }
        }
        objects
    }

    fn interfaces(&mut self, card: &Object) {
        let path = "/supportedInterfaces";
        let interfaces = self.list(card, "supportedInterfaces", path);
        for (at, interface) in self.objects(interfaces, path) {
            for member in ["url", "protocolBinding", "protocolVersion"] {
                self.text(interface, member, &at);
            }
        }
    }

    fn capabilities(&mut self, card: &Object) {
        let Some(capabilities) = card.get("capabilities").and_then(Json::as_object) else {
            let fault = match card.get("capabilities") {
                None => CardFault::Missing,
                Some(_) => CardFault::WrongType { expected: "an object" },
            };
            return self.add("/capabilities", fault);
        };
        let path = "/capabilities/extensions";
        if !capabilities.contains("extensions") {
            return;
        }
        let extensions = self.list(capabilities, "extensions", path);
        for (at, extension) in self.objects(extensions, path) {
            self.text(extension, "uri", &at);
        }
    }

    fn skills(&mut self, card: &Object) {
        let skills = self.list(card, "skills", "/skills");
        for (at, skill) in self.objects(skills, "/skills") {
            for member in ["id", "name", "description"] {
                self.text(skill, member, &at);
            }
            self.texts(skill, "tags", &at);
        }
    }

    /// `flows` is a oneof: readers of 1.0 fail on two, or silently keep one.
    fn schemes(&mut self, card: &Object) {
        let Some(schemes) = card.get("securitySchemes") else { return };
        let Some(schemes) = schemes.as_object() else {
            return self.add("/securitySchemes", CardFault::WrongType { expected: "an object" });
        };
        for (name, scheme) in schemes.iter() {
            let oauth2 = scheme.get("oauth2SecurityScheme").unwrap_or(scheme);
            let flows = oauth2.get("flows").and_then(Json::as_object).map_or(0, Object::len);
            if flows > 1 {
                self.add(format!("/securitySchemes/{}", escaped(name)), CardFault::SeveralFlows);
            }
        }
    }

    fn requirements(&mut self, object: &Object, at: &str) {
        let unscoped = |scopes: &Json| !scopes.as_array().is_some_and(|scopes| scopes.iter().any(is_scope));
        for (index, requirement) in elements(object, "securityRequirements").iter().enumerate() {
            let schemes = requirement.get("schemes").and_then(Json::as_object);
            if schemes.is_none_or(|all| all.iter().any(|(_, scopes)| scopes.get("list").is_none_or(unscoped))) {
                self.add(format!("{at}/securityRequirements/{index}"), CardFault::ScopelessRequirement);
            }
        }
        for (index, requirement) in elements(object, "security").iter().enumerate() {
            if requirement.as_object().is_none_or(|all| all.iter().any(|(_, scopes)| unscoped(scopes))) {
                self.add(format!("{at}/security/{index}"), CardFault::ScopelessRequirement);
            }
        }
    }

    /// Numbers and depth, anywhere.
    fn values(&mut self, value: &Json, path: &mut String, depth: usize) {
        match value {
            Json::Number(number) => {
                let value = number.as_f64();
                let whole = !number.as_text().contains(['.', 'e', 'E']);
                if !value.is_finite() || (whole && value.abs() > BIGGEST) {
                    self.add(path.clone(), CardFault::NumberTooBig);
                }
            }
            Json::Array(_) | Json::Object(_) if depth > DEPTH => {
                self.add(path.clone(), CardFault::TooDeep { limit: DEPTH });
            }
            Json::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.step(element, path, &index.to_string(), depth);
                }
            }
            Json::Object(members) => {
                for (key, member) in members.iter() {
                    self.step(member, path, &escaped(key), depth);
                }
            }
            Json::Null | Json::Bool(_) | Json::String(_) => {}
        }
    }

    fn step(&mut self, value: &Json, path: &mut String, segment: &str, depth: usize) {
        let parent = path.len();
        // Writing to a string cannot fail.
        let _ = write!(path, "/{segment}");
        self.values(value, path, depth.saturating_add(1));
        path.truncate(parent);
    }
}

fn is_scope(scope: &Json) -> bool {
    scope.as_str().is_some_and(|scope| !scope.is_empty())
}

/// A key as a step of an RFC 6901 pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
