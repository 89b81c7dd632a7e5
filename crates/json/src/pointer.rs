//! Where a value stands: RFC 6901 pointers and the walk over every leaf.

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

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let _ = f;
        todo!()
    }
}

/// Shows every key, string and number of the tree, in document order.
pub fn walk(json: &Json, see: &mut dyn FnMut(&Path<'_>, Leaf<'_>)) {
    let _ = (json, see);
    todo!()
}

/// Shows every string and number value to be changed in place (`see` gets a [`Json::String`] or [`Json::Number`]).
pub fn walk_mut(json: &mut Json, see: &mut dyn FnMut(&Path<'_>, &mut Json)) {
    let _ = (json, see);
    todo!()
}

impl Json {
    /// The value at an RFC 6901 pointer (`""` is the whole).
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Json> {
        let _ = pointer;
        todo!()
    }

    /// The value at an RFC 6901 pointer, to change it.
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Json> {
        let _ = pointer;
        todo!()
    }
}
