//! Neighbouring strings read together: who reads `parts[0].text` reads `parts[1].text` next, so a phrase cut in two is
//! still a phrase.
//!
//! Strings are neighbours when their pointers differ in the index of their innermost array only; elements without such a
//! string in between (a data part, a file part) do not part them. Only the surroundings of each joint are joined, as far
//! as a match can reach.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::ops::Range;

use json::{Path, Segment};

use crate::scan::{self, is_continuous};

/// What readers put between two parts.
pub(crate) const SEPARATORS: [&str; 3] = ["", " ", "\n"];

/// The strings of a tree by neighbourhood, in document order.
#[derive(Default)]
pub(crate) struct Siblings<'a> {
    groups: Vec<Group<'a>>,
    /// Neighbourhood → place in `groups`. A hash of the pointer stands for it; its key is random, so nobody can make two
    /// pointers collide.
    by_pointer: HashMap<u64, usize>,
    hash: RandomState,
}

#[derive(Default)]
struct Group<'a> {
    /// One string, however it was cut (threat-model Annex D 1).
    continuous: bool,
    members: Vec<Member<'a>>,
}

struct Member<'a> {
    ordinal: usize,
    text: &'a str,
    rigid: bool,
}

/// A piece of a leaf inside a window.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The leaf's number in document order.
    pub(crate) ordinal: usize,
    /// Whether the leaf can't be changed.
    pub(crate) rigid: bool,
    range: Range<usize>,
    /// Where in the leaf the piece begins.
    offset: usize,
}

/// Pieces of neighbouring leaves, joined.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) text: String,
    pub(crate) pieces: Vec<Piece>,
    /// Whether something stands between the pieces.
    pub(crate) separated: bool,
}

impl<'a> Siblings<'a> {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Notes a string; one outside every array has no neighbours. `true` if it is a piece of a continuous text, and so
    /// nothing by itself. `structural` names what can't be changed.
    pub(crate) fn add(
        &mut self,
        path: &Path<'_>,
        ordinal: usize,
        text: &'a str,
        structural: &dyn Fn(&Path<'_>) -> bool,
    ) -> bool {
        let Some(innermost) = path.segments.iter().rposition(|segment| matches!(segment, Segment::Index(_))) else {
            return false;
        };
        let rigid = structural(path);
        let continuous = !rigid && is_continuous(path);
        let mut hasher = self.hash.build_hasher();
        for (at, segment) in path.segments.iter().enumerate() {
            match segment {
                Segment::Key(key) => (0_u8, key).hash(&mut hasher),
                Segment::Index(_) if at == innermost => 1_u8.hash(&mut hasher),
                Segment::Index(index) => (2_u8, index).hash(&mut hasher),
            }
        }
        let fresh = self.groups.len();
        let group = *self.by_pointer.entry(hasher.finish()).or_insert(fresh);
        if group == fresh {
            self.groups.push(Group { continuous, members: Vec::new() });
        }
        if let Some(group) = self.groups.get_mut(group) {
            group.members.push(Member { ordinal, text, rigid });
        }
        continuous
    }

    /// Shows every continuous text whole.
    pub(crate) fn continuous(&self, see: &mut dyn FnMut(&Window)) {
        for group in self.groups.iter().filter(|group| group.continuous) {
            let mut window = Window::default();
            for member in &group.members {
                window.append("", member, 0..member.text.len());
            }
            see(&window);
        }
    }

    /// Shows every row of neighbours: number and length of each.
    pub(crate) fn rows(&self, see: &mut dyn FnMut(Vec<(usize, usize)>)) {
        for group in self.groups.iter().filter(|group| group.members.len() > 1) {
            see(group.members.iter().map(|member| (member.ordinal, member.text.len())).collect());
        }
    }

    /// Shows every window around joints: `reach` characters of each side, shorter leaves whole.
    pub(crate) fn windows(&self, separator: &str, reach: usize, see: &mut dyn FnMut(&Window)) {
        let of_many = self.groups.iter().filter(|group| group.members.len() > 1);
        for group in of_many.filter(|group| !group.continuous || !separator.is_empty()) {
            let mut window = Window::default();
            for member in &group.members {
                let (head, tail) = ends(member.text, reach);
                window.append(separator, member, 0..head);
                if head < tail {
                    window.show(see);
                    window = Window::default();
                    window.append(separator, member, tail..member.text.len());
                }
            }
            window.show(see);
        }
    }
}

/// Where the first `reach` characters end and the last `reach` begin; both the end of the text if they meet.
fn ends(text: &str, reach: usize) -> (usize, usize) {
    let whole = (text.len(), text.len());
    if text.len() <= reach.saturating_mul(2) {
        return whole;
    }
    let head = text.char_indices().nth(reach).map_or(text.len(), |(at, _)| at);
    let tail = text.char_indices().rev().take(reach).last().map_or(text.len(), |(at, _)| at);
    if head < tail { (head, tail) } else { whole }
}

impl Window {
    fn append(&mut self, separator: &str, member: &Member<'_>, range: Range<usize>) {
        if !self.pieces.is_empty() {
            self.text.push_str(separator);
            self.separated |= !separator.is_empty();
        }
        let start = self.text.len();
        self.text.push_str(member.text.get(range.clone()).unwrap_or_default());
        let (ordinal, rigid) = (member.ordinal, member.rigid);
        self.pieces.push(Piece { ordinal, rigid, range: start..self.text.len(), offset: range.start });
    }

    fn show(&self, see: &mut dyn FnMut(&Self)) {
        if self.pieces.len() > 1 {
            see(self);
        }
    }

    /// What a span covers of each leaf.
    pub(crate) fn cover(&self, span: &Range<usize>) -> Vec<scan::Piece> {
        let touched = self.touched(span).iter();
        touched
            .map(|piece| scan::Piece { ordinal: piece.ordinal, pointer: "".into(), span: piece.local(span) })
            .collect()
    }

    /// The pieces of which `span` holds at least one byte.
    pub(crate) fn touched(&self, span: &Range<usize>) -> &[Piece] {
        let first = self.pieces.partition_point(|piece| piece.range.end <= span.start);
        let behind = self.pieces.partition_point(|piece| piece.range.start < span.end);
        self.pieces.get(first..behind).unwrap_or_default()
    }
}

impl Piece {
    /// What `span` covers of the leaf.
    pub(crate) fn local(&self, span: &Range<usize>) -> Range<usize> {
        let in_leaf = |at: usize| {
            at.clamp(self.range.start, self.range.end).saturating_sub(self.range.start).saturating_add(self.offset)
        };
        in_leaf(span.start)..in_leaf(span.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use json::{Leaf, Limits, read, walk};

    fn windows(source: &str, separator: &str, reach: usize) -> Vec<String> {
        let json = read(source.as_bytes(), &Limits::default()).unwrap();
        let mut siblings = Siblings::new();
        let mut ordinal = 0;
        walk(&json, &mut |path, leaf| {
            if let Leaf::Text(text) = leaf {
                siblings.add(path, ordinal, text, &|_| false);
            }
            ordinal += 1;
        });
        let mut texts = Vec::new();
        siblings.windows(separator, reach, &mut |window| {
            for piece in &window.pieces {
                assert!(window.text.get(piece.range.clone()).is_some());
            }
            texts.push(window.text.clone());
        });
        texts
    }

    #[test]
    fn strings_at_the_same_place_of_sibling_elements_are_joined() {
        let source = r#"{"parts":[{"text":"a","mediaType":"x"},{"data":{"text":"no"}},{"text":"b","mediaType":"y"}],"tags":["c","d"]}"#;
        assert_eq!(windows(source, "|", 9), ["a|b", "x|y", "c|d"]);
    }

    #[test]
    fn strings_of_different_innermost_arrays_are_not() {
        let source = r#"{"history":[{"parts":[{"text":"a"}]},{"parts":[{"text":"b"}]}],"x":"c","y":"d"}"#;
        assert!(windows(source, "|", 9).is_empty());
    }

    #[test]
    fn long_leaves_give_their_ends_only() {
        assert_eq!(windows(r#"["aaaaaéb","cé123456789éd","e","éfffff"]"#, "-", 2), ["éb-cé", "éd-e-éf"]);
        assert_eq!(windows(r#"["ab","cdef","gh"]"#, "", 2), ["abcdefgh"]);
    }
}
