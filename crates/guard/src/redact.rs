//! Replaces spans of string leaves by `[REDACTED:name]`.

use std::collections::BTreeMap;
use std::ops::Range;

use json::Json;

/// A span to replace.
pub(crate) struct Mark<'a> {
    /// The leaf.
    pub(crate) pointer: &'a str,
    pub(crate) span: Range<usize>,
    /// Whose token is written; where marks overlap, the one that begins first, then the one given first.
    pub(crate) name: &'a str,
}

/// What stands in place of matched text.
pub(crate) fn token(name: &str) -> String {
    format!("[REDACTED:{name}]")
}

/// Replaces all marks; overlapping ones become one token.
pub(crate) fn apply(json: &mut Json, marks: &[Mark<'_>]) {
    let mut by_leaf: BTreeMap<&str, Vec<&Mark<'_>>> = BTreeMap::new();
    for mark in marks {
        by_leaf.entry(mark.pointer).or_default().push(mark);
    }
    for (pointer, mut marks) in by_leaf {
        marks.sort_by_key(|mark| mark.span.start);
        if let Some(Json::String(text)) = json.pointer_mut(pointer) {
            *text = replaced(text, &marks);
        }
    }
}

/// `marks` are sorted by start.
fn replaced(text: &str, marks: &[&Mark<'_>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    let mut started = false;
    for mark in marks {
        if !started || mark.span.start >= done {
            out.push_str(text.get(done..mark.span.start).unwrap_or_default());
            out.push_str(&token(mark.name));
            started = true;
        }
        done = done.max(mark.span.end);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str, spans: &[(Range<usize>, &'static str)]) -> String {
        let mut json = Json::from([("a", Json::from(vec![Json::from(text)]))]);
        let marks: Vec<Mark<'_>> =
            spans.iter().map(|(span, name)| Mark { pointer: "/a/0", span: span.clone(), name }).collect();
        apply(&mut json, &marks);
        json.pointer("/a/0").and_then(Json::as_str).unwrap_or_default().to_owned()
    }

    #[test]
    fn spans_are_replaced_and_the_rest_stays() {
        assert_eq!(redacted("0123456789", &[(0..2, "x"), (8..10, "y")]), "[REDACTED:x]234567[REDACTED:y]");
        assert_eq!(redacted("é😀é", &[(2..6, "x")]), "é[REDACTED:x]é");
        assert_eq!(redacted("abc", &[(0..3, "x")]), "[REDACTED:x]");
        assert_eq!(redacted("abc", &[]), "abc");
    }

    #[test]
    fn overlapping_spans_share_the_token_of_the_first() {
        assert_eq!(redacted("0123456789", &[(4..8, "late"), (2..5, "early"), (3..4, "inner")]), "01[REDACTED:early]89");
        assert_eq!(redacted("0123456789", &[(2..5, "first"), (2..9, "second")]), "01[REDACTED:first]9");
    }

    #[test]
    fn touching_spans_keep_their_own_tokens() {
        assert_eq!(redacted("0123", &[(0..2, "x"), (2..4, "y")]), "[REDACTED:x][REDACTED:y]");
    }
}
