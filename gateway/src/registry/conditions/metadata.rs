//! Metadata as conditions see it: a JSON tree → values by type and name, within bounds.
//!
//! A member goes by its own name, one further inside by its JSON pointer, so that no name of a caller's choosing can pass
//! for another place. What has no type here (null, fractions, numbers beyond 64 bits, long texts, mixed lists) is left
//! out, and its name stays among `keys`. Never converts a number to a float.

use json::{Json, Object};

/// Most values that are looked at; a call with more is denied by conditions that read metadata.
const MOST_VALUES: usize = 256;
/// Longest text.
const LONGEST_TEXT: usize = 512;
/// Longest list.
const LONGEST_LIST: usize = 64;
/// Longest name: one tells the whole way to its value, and each value has one.
const LONGEST_NAME: usize = 512;

/// Values by type and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Every name.
    pub keys: Vec<String>,
    /// Texts.
    pub text: Vec<(String, String)>,
    /// Whole numbers.
    pub number: Vec<(String, i64)>,
    /// Flags.
    pub flag: Vec<(String, bool)>,
    /// Lists of texts.
    pub list: Vec<(String, Vec<String>)>,
    /// There are more values than are looked at, or deeper ones.
    pub excess: bool,
}

impl Metadata {
    /// Of a `metadata` member.
    #[must_use]
    pub fn of(value: Option<&Json>) -> Self {
        let mut metadata = Self::default();
        if let Some(members) = value.and_then(Json::as_object) {
            metadata.members(members, None);
        }
        metadata
    }

    fn members(&mut self, members: &Object, place: Option<&str>) {
        for (key, value) in members.iter() {
            if self.keys.len() >= MOST_VALUES {
                self.excess = true;
                return;
            }
            let pointer = format!("{}/{}", place.unwrap_or_default(), key.replace('~', "~0").replace('/', "~1"));
            if pointer.len() > LONGEST_NAME {
                self.excess = true;
                return;
            }
            // A name that looks like a pointer is reached by its own pointer.
            let name = if place.is_none() && !key.starts_with('/') { key.to_owned() } else { pointer.clone() };
            self.keys.push(name.clone());
            match value {
                Json::Bool(flag) => self.flag.push((name, *flag)),
                Json::Number(number) => self.number.extend(number.as_i64().map(|number| (name, number))),
                Json::String(text) if text.len() <= LONGEST_TEXT => self.text.push((name, text.clone())),
                Json::Array(items) => self.list.extend(list(items).map(|items| (name, items))),
                Json::Object(members) => self.members(members, Some(&pointer)),
                Json::Null | Json::String(_) => {}
            }
        }
    }
}

fn list(items: &[Json]) -> Option<Vec<String>> {
    let text = |item: &Json| item.as_str().filter(|text| text.len() <= LONGEST_TEXT).map(str::to_owned);
    if items.len() > LONGEST_LIST { None } else { items.iter().map(text).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Metadata {
        Metadata::of(Some(&json::read(text.as_bytes(), &json::Limits::default()).unwrap()))
    }

    #[test]
    fn every_value_goes_by_its_type_and_place() {
        let read = of(r#"{"a":"x","n":-7,"f":true,"l":["p","q"],"in":{"deep":{"a":"y"}},"https://e.test/k":"z"}"#);
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(read.text, [pair("a", "x"), pair("/in/deep/a", "y"), pair("https://e.test/k", "z")]);
        assert_eq!(read.number, [("n".to_owned(), -7)]);
        assert_eq!(read.flag, [("f".to_owned(), true)]);
        assert_eq!(read.list, [("l".to_owned(), vec!["p".to_owned(), "q".to_owned()])]);
        assert_eq!(read.keys, ["a", "n", "f", "l", "in", "/in/deep", "/in/deep/a", "https://e.test/k"]);
    }

    #[test]
    fn what_has_no_type_is_left_out_and_named() {
        let long = "x".repeat(LONGEST_TEXT + 1);
        let read = of(&format!(r#"{{"z":null,"d":1.5,"big":9223372036854775808,"mixed":["a",1],"long":"{long}"}}"#));
        assert_eq!(read.keys, ["z", "d", "big", "mixed", "long"]);
        assert_eq!(Metadata { keys: Vec::new(), ..read }, Metadata::default());
        assert_eq!(of("[1]"), Metadata::default());
    }

    #[test]
    fn no_name_passes_for_another_place() {
        let read = of(r#"{"/in/a":"forged","in":{"a":"true"},"in/a":"other"}"#);
        let of_place = |place: &str| {
            let found: Vec<&str> =
                read.text.iter().filter(|(name, _)| name == place).map(|(_, text)| text.as_str()).collect();
            found.join("+")
        };
        assert_eq!(of_place("/in/a"), "true");
        assert_eq!(of_place("/~1in~1a"), "forged");
    }

    /// A name tells the whole way to its value, so that a deep one costs for each value what the way costs once.
    #[test]
    fn deep_names_cost_no_more_than_what_was_sent() {
        let (deep, key) = (40, "~".repeat(120));
        let values: Vec<String> = (0..200).map(|at| format!(r#""k{at}":true"#)).collect();
        let sent = format!("{}{{{}}}{}", format!(r#"{{"{key}":"#).repeat(deep), values.join(","), "}".repeat(deep));
        let read = of(&sent);
        let kept: usize = read.keys.iter().chain(read.flag.iter().map(|(name, _)| name)).map(String::len).sum();
        assert!(kept < 20 * sent.len(), "{kept} bytes are kept of {}", sent.len());
        assert!(read.excess, "what is not looked at is told");
    }

    #[test]
    fn more_than_is_looked_at_is_told() {
        let many = |count: usize| {
            let members: Vec<String> = (0..count).map(|at| format!(r#""k{at}":{at}"#)).collect();
            of(&format!("{{{}}}", members.join(",")))
        };
        assert!(!many(MOST_VALUES).excess);
        let more = many(MOST_VALUES + 1);
        assert!(more.excess && more.keys.len() == MOST_VALUES);
    }
}
