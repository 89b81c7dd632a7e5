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
pub fn walk(json: &Json, see: &mut dyn FnMut(&Path<'_>, Leaf<'_>)) {
    descend(json, &mut Vec::new(), see);
}

fn descend<'a>(json: &'a Json, segments: &mut Vec<Segment<'a>>, see: &mut dyn FnMut(&Path<'_>, Leaf<'_>)) {
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
