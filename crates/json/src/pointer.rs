//! Where a value stands: RFC 6901 pointers and the walk over every leaf.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use crate::tree::{Json, Number};

/// One step into a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// A member of an object.
    Key(&'a str),
    /// An element of an array.
    Index(usize),
}

/// The steps from the root to a value; `Display` prints the RFC 6901 pointer.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    /// The steps, outermost first.
    pub segments: &'a [Segment<'a>],
}

/// What the walk shows: every string, every number, and every object key.
#[derive(Debug)]
pub enum Leaf<'a> {
    /// A string value.
    Text(&'a str),
    /// A number, as its source text.
    Number(&'a Number),
    /// The key of a member (the path is the member's).
    Key(&'a str),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in self.segments {
            match segment {
                Segment::Key(key) => {
                    f.write_char('/')?;
                    write_escaped(key, f)?;
                }
                Segment::Index(index) => write!(f, "/{index}")?,
            }
        }
        Ok(())
    }
}

/// RFC 6901 §3: `~` is `~0`, `/` is `~1`.
fn write_escaped(key: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if !key.contains(['~', '/']) {
        return f.write_str(key);
    }
    for character in key.chars() {
        match character {
            '~' => f.write_str("~0")?,
            '/' => f.write_str("~1")?,
            plain => f.write_char(plain)?,
        }
    }
    Ok(())
}

/// Shows every key, string and number of the tree, in document order; a key comes before its value.
pub fn walk<'a>(json: &'a Json, see: &mut dyn FnMut(&Path<'_>, Leaf<'a>)) {
    descend(json, &mut Vec::new(), see);
}

fn descend<'a>(json: &'a Json, segments: &mut Vec<Segment<'a>>, see: &mut dyn FnMut(&Path<'_>, Leaf<'a>)) {
    match json {
        Json::Null | Json::Bool(_) => {}
        Json::Number(number) => see(&Path { segments }, Leaf::Number(number)),
        Json::String(text) => see(&Path { segments }, Leaf::Text(text)),
        Json::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                segments.push(Segment::Index(index));
                descend(element, segments, see);
                segments.pop();
            }
        }
        Json::Object(object) => {
            for (key, value) in object.iter() {
                segments.push(Segment::Key(key));
                see(&Path { segments }, Leaf::Key(key));
                descend(value, segments, see);
                segments.pop();
            }
        }
    }
}

/// Shows every string and number value to be changed in place (`see` gets a [`Json::String`] or [`Json::Number`]).
pub fn walk_mut(json: &mut Json, see: &mut dyn FnMut(&Path<'_>, &mut Json)) {
    descend_mut(json, &mut Vec::new(), see);
}

fn descend_mut<'a>(json: &'a mut Json, segments: &mut Vec<Segment<'a>>, see: &mut dyn FnMut(&Path<'_>, &mut Json)) {
    match json {
        Json::Null | Json::Bool(_) => {}
        Json::Number(_) | Json::String(_) => see(&Path { segments }, json),
        Json::Array(elements) => {
            for (index, element) in elements.iter_mut().enumerate() {
                segments.push(Segment::Index(index));
                descend_mut(element, segments, see);
                segments.pop();
            }
        }
        Json::Object(object) => {
            for (key, value) in object.iter_mut() {
                segments.push(Segment::Key(key));
                descend_mut(value, segments, see);
                segments.pop();
            }
        }
    }
}

impl Json {
    /// The value at an RFC 6901 pointer (`""` is the whole).
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Json> {
        let mut value = self;
        for token in tokens(pointer)? {
            value = match value {
                Json::Object(object) => object.get(&unescape(token)?)?,
                Json::Array(elements) => elements.get(index(token)?)?,
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => return None,
            };
        }
        Some(value)
    }

    /// The value at an RFC 6901 pointer, to change it.
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Json> {
        let mut value = self;
        for token in tokens(pointer)? {
            value = match value {
                Json::Object(object) => object.get_mut(&unescape(token)?)?,
                Json::Array(elements) => elements.get_mut(index(token)?)?,
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => return None,
            };
        }
        Some(value)
    }
}

/// The reference tokens, still escaped.
fn tokens(pointer: &str) -> Option<impl Iterator<Item = &str>> {
    let mut pieces = pointer.split('/');
    // The text before the first slash must be empty.
    pieces.next().filter(|start| start.is_empty())?;
    Some(pieces)
}

/// RFC 6901 §3: a `~` stands before `0` or `1` only.
fn unescape(token: &str) -> Option<Cow<'_, str>> {
    if !token.contains('~') {
        return Some(Cow::Borrowed(token));
    }
    let mut key = String::with_capacity(token.len());
    let mut characters = token.chars();
    while let Some(character) = characters.next() {
        match character {
            '~' => key.push(match characters.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            }),
            plain => key.push(plain),
        }
    }
    Some(Cow::Owned(key))
}

/// RFC 6901 §4: digits without a leading zero.
fn index(token: &str) -> Option<usize> {
    let plain = token == "0" || (!token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit()));
    if plain { token.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{Limits, read};

    fn parse(source: &str) -> Json {
        read(source.as_bytes(), &Limits::default()).unwrap()
    }

    #[test]
    fn the_examples_of_rfc_6901_resolve() {
        let json =
            parse(r#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#);
        assert_eq!(json.pointer(""), Some(&json));
        assert_eq!(json.pointer("/foo/0"), Some(&Json::from("bar")));
        let numbers = ["/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", "/k\"l", "/ ", "/m~0n"];
        for (expected, pointer) in (0_i64..).zip(numbers) {
            assert_eq!(json.pointer(pointer), Some(&Json::from(expected)), "{pointer}");
        }
    }

    #[test]
    fn a_pointer_to_nothing_gives_nothing() {
        let mut json = parse(r#"{"a":[1,2],"b~":3,"01":4,"n":null}"#);
        for pointer in [
            "a", "/x", "/a/2", "/a/-", "/a/00", "/a/01", "/a/+1", "/a/ 1", "/a/", "/a/0/", "/b~", "/b~2", "/n/x", "#/a",
        ] {
            assert_eq!(json.pointer(pointer), None, "{pointer}");
            assert_eq!(json.pointer_mut(pointer), None, "{pointer}");
        }
        assert_eq!(json.pointer("/01"), Some(&Json::from(4)));
        assert_eq!(json.pointer("/a/99999999999999999999999"), None);
    }

    #[test]
    fn a_value_is_changed_through_its_pointer() {
        let mut json = parse(r#"{"a":[{"b/c":1}]}"#);
        *json.pointer_mut("/a/0/b~1c").unwrap() = Json::from("x");
        assert_eq!(json, parse(r#"{"a":[{"b/c":"x"}]}"#));
    }

    #[test]
    fn the_walk_shows_keys_strings_and_numbers_in_document_order() {
        let json = parse(r#"{"z":"one","a/~":[true,2,{"k":null}],"n":-0.5}"#);
        let mut seen = Vec::new();
        walk(&json, &mut |path, leaf| {
            seen.push(match leaf {
                Leaf::Text(text) => format!("{path} text {text}"),
                Leaf::Number(number) => format!("{path} number {}", number.as_text()),
                Leaf::Key(key) => format!("{path} key {key}"),
            });
        });
        assert_eq!(
            seen,
            [
                "/z key z",
                "/z text one",
                "/a~1~0 key a/~",
                "/a~1~0/1 number 2",
                "/a~1~0/2/k key k",
                "/n key n",
                "/n number -0.5"
            ]
        );
    }

    #[test]
    fn every_walked_path_is_a_pointer_to_its_leaf() {
        let json = parse(r#"[{"":"a","~1":"b","/":["c"]},"d"]"#);
        let mut texts = String::new();
        walk(&json, &mut |path, leaf| {
            if let Leaf::Text(text) = leaf {
                assert_eq!(json.pointer(&path.to_string()), Some(&Json::from(text)));
                texts.push_str(text);
            }
        });
        assert_eq!(texts, "abcd");
    }

    #[test]
    fn the_mutable_walk_changes_values_and_nothing_else() {
        let mut json = parse(r#"{"a":["x",1,null,true],"b":{"c":"y"}}"#);
        let mut seen = Vec::new();
        walk_mut(&mut json, &mut |path, value| {
            seen.push(path.to_string());
            *value = Json::from("!");
        });
        assert_eq!(seen, ["/a/0", "/a/1", "/b/c"]);
        assert_eq!(json, parse(r#"{"a":["!","!",null,true],"b":{"c":"!"}}"#));
    }
}
