//! Detector `schema`: data parts against a JSON Schema of the policy.
//!
//! The part of JSON Schema 2020-12 that says something about one value: types, enumerations, bounds, properties, items,
//! patterns (linear ones), `allOf`, `anyOf`, `oneOf`, `not`, and `$ref` into the schema's own `$defs`. What is not known
//! is refused when the policy is saved: a keyword that is skipped checks nothing. Nothing is ever fetched.

use json::{Json, Number, Object};
use regex::{Regex, RegexBuilder};
use std::collections::BTreeMap;

/// Most nodes of one schema.
const MOST_NODES: usize = 2_000;
/// How deep schemas and references may go.
const DEEPEST: usize = 32;
/// Steps that checking the data parts of one message may take; behind that they do not conform.
const MOST_STEPS: usize = 100_000;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Schema {
    root: Json,
    patterns: BTreeMap<String, Regex>,
    nodes: usize,
    /// Whether a message must have a data part at all.
    required: bool,
}

const KEYWORDS: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "$ref",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "properties",
    "patternProperties",
    "additionalProperties",
    "required",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "allOf",
    "anyOf",
    "oneOf",
];

impl Schema {
    /// Checks a policy's schema. Each error is a pointer into it and what is wrong there.
    pub(crate) fn new(root: &Json, required: bool) -> Result<Self, Vec<(String, String)>> {
        let mut check = Check { root, problems: Vec::new(), patterns: BTreeMap::new(), nodes: 0 };
        check.schema(root, "", 0);
        if check.problems.is_empty() {
            Ok(Self { root: root.clone(), patterns: check.patterns, nodes: check.nodes, required })
        } else {
            Err(check.problems)
        }
    }

    /// Names every data part that does not conform.
    pub(crate) fn check(&self, json: &Json, mind: &mut dyn FnMut(String)) {
        let mut seen = false;
        self.descend(json, &mut String::new(), (&mut seen, &mut 0), mind);
        if self.required && !seen && json.pointer("/message").is_some() {
            mind("/message/parts".to_owned());
        }
    }

    /// How many times as much as our own detectors a byte may cost.
    pub(crate) fn weight(&self) -> usize {
        1_usize.saturating_add(self.nodes / 2)
    }

    fn descend(
        &self,
        json: &Json,
        at: &mut String,
        (seen, steps): (&mut bool, &mut usize),
        mind: &mut dyn FnMut(String),
    ) {
        let length = at.len();
        match json {
            Json::Object(object) => {
                for (key, value) in object.iter() {
                    at.push('/');
                    at.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    match (key, value.as_array()) {
                        ("parts", Some(parts)) => {
                            for (index, part) in parts.iter().enumerate() {
                                if let Some(data) = part.get("data") {
                                    *seen = true;
                                    if !self.holds(&self.root, data, 0, steps) {
                                        mind(format!("{at}/{index}/data"));
                                    }
                                }
                            }
                        }
                        _ => self.descend(value, at, (&mut *seen, &mut *steps), mind),
                    }
                    at.truncate(length);
                }
            }
            Json::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    at.push('/');
                    at.push_str(&index.to_string());
                    self.descend(element, at, (&mut *seen, &mut *steps), mind);
                    at.truncate(length);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }

    fn holds(&self, schema: &Json, value: &Json, depth: usize, steps: &mut usize) -> bool {
        *steps = steps.saturating_add(1);
        if depth > DEEPEST.saturating_mul(2) || *steps > MOST_STEPS {
            return false;
        }
        let schema = match schema {
            Json::Bool(all) => return *all,
            Json::Object(schema) => schema,
            Json::Null | Json::Number(_) | Json::String(_) | Json::Array(_) => return false,
        };
        let deeper = depth.saturating_add(1);
        let list = |name: &str| schema.get(name).and_then(Json::as_array).unwrap_or_default();
        let reference = schema.str("$ref").is_none_or(|to| {
            to.strip_prefix('#')
                .and_then(|at| self.root.pointer(at))
                .is_some_and(|to| self.holds(to, value, deeper, steps))
        });
        if !reference || !is_of_type(schema, value) || !is_listed(schema, value) {
            return false;
        }
        if !list("allOf").iter().all(|one| self.holds(one, value, deeper, steps)) {
            return false;
        }
        if schema.contains("anyOf") && !list("anyOf").iter().any(|one| self.holds(one, value, deeper, steps)) {
            return false;
        }
        if schema.contains("oneOf")
            && list("oneOf").iter().filter(|one| self.holds(one, value, deeper, steps)).count() != 1
        {
            return false;
        }
        if schema.get("not").is_some_and(|not| self.holds(not, value, deeper, steps)) {
            return false;
        }
        match value {
            Json::Number(number) => is_within(schema, number),
            Json::String(text) => self.is_text(schema, text),
            Json::Array(elements) => self.are_items(schema, elements, deeper, steps),
            Json::Object(object) => self.are_properties(schema, object, deeper, steps),
            Json::Null | Json::Bool(_) => true,
        }
    }

    fn is_text(&self, schema: &Object, text: &str) -> bool {
        let length = text.chars().count();
        let pattern = schema.str("pattern").and_then(|source| self.patterns.get(source));
        at_least(schema, "minLength", length)
            && at_most(schema, "maxLength", length)
            && pattern.is_none_or(|one| one.is_match(text))
    }

    fn are_items(&self, schema: &Object, elements: &[Json], depth: usize, steps: &mut usize) -> bool {
        let first = schema.get("prefixItems").and_then(Json::as_array).unwrap_or_default();
        let count = elements.len();
        let unique = schema.get("uniqueItems").and_then(Json::as_bool) == Some(true);
        let repeats = || {
            elements.iter().enumerate().any(|(at, one)| elements.get(..at).is_some_and(|before| before.contains(one)))
        };
        at_least(schema, "minItems", count)
            && at_most(schema, "maxItems", count)
            && !(unique && (count > 1_000 || repeats()))
            && first.iter().zip(elements).all(|(schema, one)| self.holds(schema, one, depth, steps))
            && schema
                .get("items")
                .is_none_or(|schema| elements.iter().skip(first.len()).all(|one| self.holds(schema, one, depth, steps)))
    }

    fn are_properties(&self, schema: &Object, object: &Object, depth: usize, steps: &mut usize) -> bool {
        let known = schema.get("properties").and_then(Json::as_object);
        let patterns = schema.get("patternProperties").and_then(Json::as_object);
        let required = schema.get("required").and_then(Json::as_array).unwrap_or_default();
        let bounds = at_least(schema, "minProperties", object.len()) && at_most(schema, "maxProperties", object.len());
        if !bounds || !required.iter().filter_map(Json::as_str).all(|name| object.contains(name)) {
            return false;
        }
        object.iter().all(|(key, value)| {
            let mut named = false;
            if let Some(schema) = known.and_then(|known| known.get(key)) {
                named = true;
                if !self.holds(schema, value, depth, steps) {
                    return false;
                }
            }
            for (source, schema) in patterns.into_iter().flat_map(Object::iter) {
                if self.patterns.get(source).is_some_and(|pattern| pattern.is_match(key)) {
                    named = true;
                    if !self.holds(schema, value, depth, steps) {
                        return false;
                    }
                }
            }
            let name = Json::from(key);
            let names = schema.get("propertyNames").is_none_or(|schema| self.holds(schema, &name, depth, steps));
            let others = schema.get("additionalProperties").filter(|_| !named);
            names && others.is_none_or(|schema| self.holds(schema, value, depth, steps))
        })
    }
}

fn is_of_type(schema: &Object, value: &Json) -> bool {
    let is = |name: &str| match (name, value) {
        ("null", Json::Null)
        | ("boolean", Json::Bool(_))
        | ("number", Json::Number(_))
        | ("string", Json::String(_)) => true,
        ("array", Json::Array(_)) | ("object", Json::Object(_)) => true,
        ("integer", Json::Number(number)) => number.as_f64().fract() == 0.0,
        _ => false,
    };
    match schema.get("type") {
        Some(Json::String(name)) => is(name),
        Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).any(is),
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_)) | None => true,
    }
}

fn is_listed(schema: &Object, value: &Json) -> bool {
    let same = |one: &Json| match (one, value) {
        (Json::Number(one), Json::Number(other)) => one.as_f64() == other.as_f64(),
        _ => one == value,
    };
    schema.get("enum").and_then(Json::as_array).is_none_or(|list| list.iter().any(same))
        && schema.get("const").is_none_or(same)
}

fn is_within(schema: &Object, number: &Number) -> bool {
    let value = number.as_f64();
    let bound = |name: &str| schema.get(name).and_then(Json::as_number).map(Number::as_f64);
    bound("minimum").is_none_or(|least| value >= least)
        && bound("maximum").is_none_or(|most| value <= most)
        && bound("exclusiveMinimum").is_none_or(|least| value > least)
        && bound("exclusiveMaximum").is_none_or(|most| value < most)
        && bound("multipleOf").is_none_or(|step| ((value / step) - (value / step).round()).abs() < 1e-9)
}

fn count(schema: &Object, name: &str) -> Option<usize> {
    schema.get(name).and_then(Json::as_number).and_then(Number::as_i64).and_then(|count| usize::try_from(count).ok())
}

fn at_least(schema: &Object, name: &str, length: usize) -> bool {
    count(schema, name).is_none_or(|least| length >= least)
}

fn at_most(schema: &Object, name: &str, length: usize) -> bool {
    count(schema, name).is_none_or(|most| length <= most)
}

/// Collects what is wrong with a schema.
struct Check<'a> {
    root: &'a Json,
    problems: Vec<(String, String)>,
    patterns: BTreeMap<String, Regex>,
    nodes: usize,
}

impl Check<'_> {
    fn refuse(&mut self, at: &str, problem: impl Into<String>) {
        self.problems.push((at.to_owned(), problem.into()));
    }

    fn schema(&mut self, schema: &Json, at: &str, depth: usize) {
        self.nodes = self.nodes.saturating_add(1);
        if depth > DEEPEST || self.nodes > MOST_NODES {
            if self.nodes <= MOST_NODES.saturating_add(1) {
                self.refuse(at, format!("the schema is deeper than {DEEPEST} or larger than {MOST_NODES} nodes"));
            }
            return;
        }
        let schema = match schema {
            Json::Bool(_) => return,
            Json::Object(schema) => schema,
            Json::Null | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                return self.refuse(at, "a schema is an object or a boolean");
            }
        };
        for (key, value) in schema.iter() {
            let here = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
            self.keyword(key, value, &here, depth);
        }
    }

    fn keyword(&mut self, key: &str, value: &Json, at: &str, depth: usize) {
        let deeper = depth.saturating_add(1);
        match key {
            "$ref" => self.reference(value, at),
            "pattern" => match value.as_str() {
                Some(source) => self.pattern(source, at),
                None => self.refuse(at, "must be a regular expression"),
            },
            "properties" | "$defs" | "patternProperties" => match value.as_object() {
                Some(object) => {
                    for (name, schema) in object.iter() {
                        let here = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                        if key == "patternProperties" {
                            self.pattern(name, &here);
                        }
                        self.schema(schema, &here, deeper);
                    }
                }
                None => self.refuse(at, "must be an object of schemas"),
            },
            "additionalProperties" | "items" | "propertyNames" | "not" => self.schema(value, at, deeper),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => match value.as_array() {
                Some(list) if !list.is_empty() => {
                    for (index, schema) in list.iter().enumerate() {
                        self.schema(schema, &format!("{at}/{index}"), deeper);
                    }
                }
                Some(_) | None => self.refuse(at, "must be a list of at least one schema"),
            },
            "type" => {
                let known = |one: &Json| {
                    one.as_str().is_some_and(|name| {
                        ["null", "boolean", "number", "integer", "string", "array", "object"].contains(&name)
                    })
                };
                if !known(value) && !value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(known)) {
                    self.refuse(at, "must be a JSON type or a list of them");
                }
            }
            "enum" | "required" if value.as_array().is_none() => self.refuse(at, "must be a list"),
            "multipleOf" if value.as_number().is_none_or(|step| step.as_f64() <= 0.0) => {
                self.refuse(at, "must be a number above 0")
            }
            _ if KEYWORDS.contains(&key) => {}
            _ => self.refuse(at, "is no keyword that is checked here"),
        }
    }

    fn reference(&mut self, value: &Json, at: &str) {
        let target = value.as_str().and_then(|to| to.strip_prefix('#'));
        let known = target
            .filter(|to| to.is_empty() || to.starts_with("/$defs/"))
            .is_some_and(|to| self.root.pointer(to).is_some());
        if !known {
            self.refuse(at, "must point into this schema's own $defs, such as #/$defs/name");
        }
    }

    fn pattern(&mut self, source: &str, at: &str) {
        match RegexBuilder::new(source).size_limit(1 << 20).build() {
            Ok(regex) => {
                self.patterns.insert(source.to_owned(), regex);
            }
            Err(error) => self.refuse(at, format!("the pattern is not valid: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use json::{Limits, read};

    fn parse(source: &str) -> Json {
        read(source.as_bytes(), &Limits::default()).unwrap()
    }

    fn minded(schema: &str, data: &str) -> usize {
        let schema = Schema::new(&parse(schema), false).unwrap();
        let mut count = 0;
        schema.check(&parse(&format!(r#"{{"message":{{"parts":[{{"text":"x"}},{{"data":{data}}}]}}}}"#)), &mut |_| {
            count += 1
        });
        count
    }

    #[test]
    fn data_parts_are_held_to_the_schema() {
        let schema = r##"{"type":"object","required":["id"],"additionalProperties":false,
            "properties":{"id":{"type":"integer","minimum":1},"tags":{"type":"array","items":{"$ref":"#/$defs/tag"},"maxItems":2}},
            "$defs":{"tag":{"type":"string","pattern":"^[a-z]+$"}}}"##;
        for (data, expected) in [
            (r#"{"id":1}"#, 0),
            (r#"{"id":1.0,"tags":["a","b"]}"#, 0),
            (r#"{"id":0}"#, 1),
            (r#"{"id":1.5}"#, 1),
            (r#"{"id":1,"tags":["A"]}"#, 1),
            (r#"{"id":1,"tags":["a","b","c"]}"#, 1),
            (r#"{"id":1,"more":1}"#, 1),
            (r#"{}"#, 1),
            ("[]", 1),
        ] {
            assert_eq!(minded(schema, data), expected, "{data}");
        }
        assert_eq!(minded(r#"{"oneOf":[{"type":"string"},{"const":1}],"not":{"enum":["x"]}}"#, "1.0"), 0);
        assert_eq!(minded(r#"{"oneOf":[{"type":"string"},{"const":1}],"not":{"enum":["x"]}}"#, r#""x""#), 1);
    }

    #[test]
    fn what_is_not_checked_is_refused() {
        for (schema, at) in [
            (r#"{"$ref":"https://example.test/s.json"}"#, "/$ref"),
            (r##"{"$ref":"#/$defs/none"}"##, "/$ref"),
            (r#"{"pattern":"(a)\\1"}"#, "/pattern"),
            (r#"{"format":"email"}"#, "/format"),
            (r#"{"items":{"type":"text"}}"#, "/items/type"),
            (r#"{"anyOf":[]}"#, "/anyOf"),
            ("3", ""),
        ] {
            let problems = Schema::new(&parse(schema), false).unwrap_err();
            assert_eq!(problems.first().map(|(at, _)| at.as_str()), Some(at), "{schema}");
        }
        let deep = format!("{}true{}", r#"{"not":"#.repeat(40), "}".repeat(40));
        assert!(Schema::new(&parse(&deep), false).is_err());
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        assert_eq!(minded(r##"{"$ref":"#"}"##, "1"), 1);
        assert_eq!(
            minded(
                r##"{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}}}"##,
                "1"
            ),
            1
        );
    }
}
