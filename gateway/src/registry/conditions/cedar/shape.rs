//! How deep a text of policies goes, before anything reads it: the parser works by recursion, and whoever writes a
//! document must not be able to end the process with one.
//!
//! Counts brackets and operators of each policy, past strings and comments. Knows nothing else of the language.

use super::check::place;
use crate::registry::document::Problem;

/// Most brackets within each other.
const DEEPEST: usize = 24;
/// Most characters and words of one policy that join expressions.
const MOST_JOINTS: usize = 400;
const WORDS: [&str; 7] = ["if", "then", "else", "in", "is", "has", "like"];

/// What of a text goes deeper than any sound policy.
pub(super) fn problems(text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let (mut depth, mut joints, mut word, mut rest) = (0_usize, 0_usize, String::new(), text.char_indices().peekable());
    while let Some((at, letter)) = rest.next() {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
            continue;
        }
        joints = joints.saturating_add(usize::from(WORDS.contains(&word.as_str())));
        word.clear();
        match letter {
            '"' => {
                while let Some((_, inner)) = rest.next() {
                    match inner {
                        '\\' => drop(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
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
        } else {
            continue;
        };
        problems.push(Problem::new("/policies", format!("{}: {told}", place(text, at))));
        break;
    }
    problems
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
}
