//! Documents of ours (settings, grants, credentials): JSON → a typed shape, every problem with its path.
//!
//! The shape's serde derive is the only description; when the whole document does not fit, its members are tried one
//! by one, so that an author hears of all mistakes at once. Every member of such a shape must be optional to serde.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// One thing wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Problem {
    /// RFC 6901 pointer into the document; empty for the whole.
    pub path: String,
    /// What is wrong, for its author.
    pub problem: String,
}

impl Problem {
    /// A problem at `path`.
    #[must_use]
    pub fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }
}

/// Reads `bytes` as a `T`.
///
/// # Errors
/// Everything that does not fit.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Vec<Problem>> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        vec![Problem::new("", format!("is no JSON (line {}, column {})", error.line(), error.column()))]
    })?;
    if !value.is_object() {
        return Err(vec![Problem::new("", "must be an object")]);
    }
    let fits = |value: Value| serde_json::from_value::<T>(value).map(drop).map_err(|error| error.to_string());
    match serde_json::from_value(value.clone()) {
        Ok(document) => Ok(document),
        Err(_) => {
            let mut problems = Vec::new();
            locate(&fits, &value, "", &mut problems);
            Err(problems)
        }
    }
}

type Fits<'a> = &'a dyn Fn(Value) -> Result<(), String>;

/// Notes the deepest members that do not fit by themselves.
fn locate(fits: Fits<'_>, value: &Value, path: &str, problems: &mut Vec<Problem>) {
    let Err(message) = fits(value.clone()) else { return };
    let before = problems.len();
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let at = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                let alone = |inner: Value| fits(Value::Object(Map::from_iter([(key.clone(), inner)])));
                match alone(Value::Null) {
                    Err(unknown) if unknown.starts_with("unknown field") => problems.push(Problem::new(at, unknown)),
                    Ok(()) | Err(_) => locate(&alone, member, &at, problems),
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let alone = |inner: Value| fits(Value::Array(vec![inner]));
                locate(&alone, item, &format!("{path}/{index}"), problems);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    if problems.len() == before {
        problems.push(Problem::new(path, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, serde::Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Outer {
        count: Option<u32>,
        inner: Option<Inner>,
        list: Option<Vec<Inner>>,
    }

    #[derive(Debug, Default, serde::Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Inner {
        name: Option<String>,
    }

    #[test]
    fn every_wrong_member_is_named() {
        let text = br#"{"count":"x","inner":{"name":1,"extra":{"a":1}},"list":[{"name":"fine"},{"name":2}],"more":1}"#;
        let problems = read::<Outer>(text).unwrap_err();
        let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(paths, ["/count", "/inner/name", "/inner/extra", "/list/1/name", "/more"]);
    }

    #[test]
    fn documents_that_are_no_objects_are_refused() {
        assert_eq!(read::<Outer>(b"[]").unwrap_err()[0].problem, "must be an object");
        assert!(read::<Outer>(b"{").is_err());
        assert!(read::<Outer>(b"{}").is_ok());
    }
}
