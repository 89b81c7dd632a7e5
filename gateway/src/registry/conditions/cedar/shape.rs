//! How deep a text of policies goes, and how dear its patterns are, before anything reads it: the parser works by
//! recursion, a pattern is tried from every place of a text, and whoever writes a document must be able neither to end
//! the process with one nor to hold it up.
//!
//! Counts brackets and operators of each policy, past strings and comments. Knows nothing else of the language.

use super::check::place;
use crate::registry::document::Problem;
use std::iter::Peekable;
use std::str::CharIndices;

/// Most brackets within each other.
const DEEPEST: usize = 24;
/// Most characters and words of one policy that join expressions.
const MOST_JOINTS: usize = 400;
/// Most bytes of all patterns together, each from its first star on.
const MOST_PATTERN: usize = 2_048;
const WORDS: [&str; 7] = ["if", "then", "else", "in", "is", "has", "like"];

/// What of a text goes deeper than any sound policy.
pub(super) fn problems(text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let (mut depth, mut joints, mut word, mut rest) = (0_usize, 0_usize, String::new(), text.char_indices().peekable());
    let (mut patterns, mut is_pattern) = (0_usize, false);
    while let Some((at, letter)) = rest.next() {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
            continue;
        }
        joints = joints.saturating_add(usize::from(WORDS.contains(&word.as_str())));
        is_pattern = is_pattern && word.is_empty() || word == "like";
        word.clear();
        match letter {
            '"' => {
                let from_star = string(&mut rest);
                patterns = patterns.saturating_add(if is_pattern { from_star } else { 0 });
                is_pattern = false;
            }
            '/' if rest.peek().is_some_and(|(_, next)| *next == '/') => {
                while rest.next_if(|(_, inner)| *inner != '\n').is_some() {}
            }
            '(' | '[' | '{' => depth = depth.saturating_add(1),
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '&' | '|' | '+' | '-' | '*' | '/' | '%' | '=' | '<' | '>' | '!' | '.' => joints = joints.saturating_add(1),
            ';' => joints = 0,
            _ => {}
        }
        let told = if depth > DEEPEST {
            format!("more than {DEEPEST} brackets within each other")
        } else if joints > MOST_JOINTS {
            format!("more than {MOST_JOINTS} operators in one policy; make it several")
        } else if patterns > MOST_PATTERN {
            format!("more than {MOST_PATTERN} bytes of patterns in all policies, each from its first star on")
        } else {
            continue;
        };
        problems.push(Problem::new("/policies", format!("{}: {told}", place(text, at))));
        break;
    }
    problems
}

/// Goes past a string that has begun; gives how many bytes there are from its first star on.
fn string(rest: &mut Peekable<CharIndices<'_>>) -> usize {
    let mut star = None;
    while let Some((at, inner)) = rest.next() {
        match inner {
            '\\' => drop(rest.next()),
            '*' => drop(star.get_or_insert(at)),
            '"' => return star.map_or(0, |star| at.saturating_sub(star)),
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_sound(when: &str) -> bool {
        problems(&format!("@id(\"a\") forbid(principal, action, resource) when {{ {when} }};")).is_empty()
    }

    #[test]
    fn brackets_and_operators_are_bounded_wherever_they_stand() {
        let nested = |depth: usize| format!("{}true{}", "(".repeat(depth), ")".repeat(depth));
        assert!(is_sound(&nested(DEEPEST - 1)) && !is_sound(&nested(DEEPEST)));
        assert!(is_sound(&"true && ".repeat(MOST_JOINTS / 2)) && !is_sound(&"true && ".repeat(MOST_JOINTS / 2 + 1)));
        assert!(!is_sound(&"if true then true else ".repeat(MOST_JOINTS / 3 + 1)));
        assert!(!is_sound(&format!("context{}", ".a".repeat(MOST_JOINTS + 1))));
        // Each policy has its own count, and what is only text has none.
        assert!(problems(&"forbid(principal, action, resource) when { a.b.c.d };".repeat(300)).is_empty());
        assert!(is_sound(&format!("\"{}\\\"{}\" == \"x\"", "(".repeat(99), "&".repeat(999))));
        assert!(is_sound(&format!("true // {}\n", "(".repeat(99))));
        assert!(!is_sound(&format!("// \"\n {}", nested(DEEPEST))));
        assert!(!is_sound(&format!("\"\\\\\" == {}", nested(DEEPEST))));
    }

    /// A pattern is tried from every place of a text: 64 KiB of them would hold a call up for tens of milliseconds.
    #[test]
    fn patterns_are_bounded_over_all_policies() {
        let like =
            |pattern: &str| format!("forbid(principal, action, resource) when {{ principal.name like {pattern} }};");
        let long = "a".repeat(MOST_PATTERN - 1);
        assert!(problems(&like(&format!("\"*{long}\""))).is_empty());
        assert!(problems(&like(&format!("\"{long}{long}*\""))).is_empty(), "a mere beginning is tried once");
        for dear in [format!("\"*{long}b\""), format!("// *\n\"*{long}b\""), format!("\"\\\"*{long}b\"")] {
            assert!(!problems(&like(&dear)).is_empty(), "{dear}");
        }
        assert!(!problems(&like("\"*aaaaaaa\"").repeat(MOST_PATTERN / 8 + 1)).is_empty());
        assert!(
            problems(&format!("forbid(principal, action, resource) when {{ principal.name == \"*{long}b\" }};"))
                .is_empty()
        );
    }
}
