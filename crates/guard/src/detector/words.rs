//! Detector `words`: a list of words and phrases, found in folded text (NFKC, and lower case unless the policy minds
//! case). Linear in the text whatever the list is.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::detector::{Detector, Scan};
use crate::normalise::{Case, Folded};

/// Most words of one list, and most bytes of all of them.
pub(crate) const MOST_WORDS: usize = 10_000;
/// See [`MOST_WORDS`].
pub(crate) const MOST_BYTES: usize = 256 * 1024;
/// Longest word, in characters.
pub(crate) const LONGEST: usize = 256;

/// Matches looked at in one text before it counts as a flood: nested words can match at every character.
const MOST_MATCHES: usize = 200_000;

/// NFKC can make one character of a base and its marks.
const CHARACTERS_PER_FOLDED: usize = 4;

/// What may stand next to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edges {
    /// The match must not be a piece of a longer word.
    WholeWord,
    /// Anything.
    Anywhere,
}

/// A compiled list.
pub(crate) struct Words {
    automaton: AhoCorasick,
    case: Case,
    edges: Edges,
    reach: usize,
}

impl Words {
    /// Compiles a list the policy has checked; the error is for the policy's author.
    pub(crate) fn new(words: &[&str], case: Case, edges: Edges) -> Result<Self, String> {
        let folded: Vec<String> = words.iter().map(|word| Folded::compatible(word, case).text().to_owned()).collect();
        let longest = folded.iter().map(|word| word.chars().count()).max().unwrap_or(0);
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(&folded)
            .map_err(|error| format!("the list cannot be compiled: {error}"))?;
        let reach = longest.saturating_mul(CHARACTERS_PER_FOLDED).saturating_add(1);
        Ok(Self { automaton, case, edges, reach })
    }

    /// Adds the source spans of all matches in one folded copy; `false` if there are too many.
    fn find(&self, folded: &Folded<'_>, spans: &mut Vec<Range<usize>>) -> bool {
        let text = folded.text();
        // Overlapping, because a longer word that fails at its edge must not hide a shorter one inside.
        let Ok(matches) = self.automaton.try_find_overlapping_iter(text) else { return false };
        for (count, found) in matches.enumerate() {
            if count >= MOST_MATCHES {
                return false;
            }
            if self.edges == Edges::Anywhere || is_whole_word(text, found.range()) {
                spans.push(folded.source(found.range()));
            }
        }
        true
    }
}

impl Detector for Words {
    fn kind(&self) -> &'static str {
        "words"
    }

    fn scan(&self, text: &str) -> Scan {
        let mut spans = Vec::new();
        let mut complete = self.find(&Folded::compatible(text, self.case), &mut spans);
        // A mark behind a word makes another character of its last letter in NFKC, but hides nothing from a reader.
        if complete && !text.is_ascii() {
            complete = self.find(&Folded::cased(text, self.case), &mut spans);
        }
        if complete { Scan::from_unsorted(spans) } else { Scan::Flood }
    }

    fn reach(&self) -> usize {
        self.reach
    }
}

fn is_whole_word(text: &str, span: Range<usize>) -> bool {
    let matched = text.get(span.clone()).unwrap_or_default();
    let before = text.get(..span.start).and_then(|before| before.chars().next_back());
    let after = text.get(span.end..).and_then(|after| after.chars().next());
    let starts_inside = continues_word(before) && continues_word(matched.chars().next());
    let ends_inside = continues_word(matched.chars().next_back()) && continues_word(after);
    !starts_inside && !ends_inside
}

/// Whether a character is part of a word whose end can be seen. Scripts written without spaces have no such words.
fn continues_word(character: Option<char>) -> bool {
    character.is_some_and(|character| {
        let spaceless = matches!(u32::from(character),
            0x0E00..=0x0EFF // Thai, Lao
            | 0x1000..=0x109F // Myanmar
            | 0x1780..=0x17FF // Khmer
            | 0x3040..=0x30FF // Hiragana, Katakana
            | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF // Han
        );
        character == '_' || (character.is_alphanumeric() && !spaceless)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched<'a>(words: &[&str], case: Case, edges: Edges, text: &'a str) -> Vec<&'a str> {
        match Words::new(words, case, edges).unwrap().scan(text) {
            Scan::Spans(spans) => spans.into_iter().map(|span| &text[span]).collect(),
            Scan::Flood => vec!["(flood)"],
        }
    }

    fn whole<'a>(words: &[&str], text: &'a str) -> Vec<&'a str> {
        matched(words, Case::Folded, Edges::WholeWord, text)
    }

    #[test]
    fn case_width_and_composition_do_not_hide_a_word() {
        for text in ["a SECRET b", "a ｓｅｃｒｅｔ b", "a ＳＥＣＲＥＴ b", "a 𝐬𝐞𝐜𝐫𝐞𝐭 b", "a ⓢⓔⓒⓡⓔⓣ b"]
        {
            assert_eq!(whole(&["Secret"], text), [text.trim_matches(['a', 'b', ' '])], "{text}");
        }
        assert_eq!(whole(&["café"], "x CAFE\u{301} y"), ["CAFE\u{301}"]);
        assert_eq!(whole(&["cafe\u{301}"], "x café y"), ["café"]);
        assert_eq!(whole(&["office"], "the oﬃce"), ["oﬃce"]);
        assert_eq!(whole(&["ΟΔΟΣ"], "η οδος"), ["οδος"]);
        assert_eq!(whole(&["한글"], "x 한글 y"), ["한글"]);
    }

    #[test]
    fn a_mark_behind_the_word_does_not_hide_it() {
        assert_eq!(whole(&["cafe"], "a cafe\u{301}"), ["cafe"]);
    }

    #[test]
    fn whole_words_end_where_words_end() {
        assert_eq!(whole(&["key"], "monkey keys key_ key-ring key."), ["key", "key"]);
        assert_eq!(whole(&["++"], "c++a"), ["++"]);
        assert_eq!(whole(&["机密"], "这是机密文件"), ["机密"]);
        assert_eq!(matched(&["key"], Case::Folded, Edges::Anywhere, "monkeys"), ["key"]);
    }

    #[test]
    fn a_longer_word_hides_no_shorter_one() {
        assert_eq!(whole(&["foo bar", "foo", "bar"], "foo barx"), ["foo"]);
        assert_eq!(whole(&["a b", "b c"], "x a b c y"), ["a b c"]);
    }

    #[test]
    fn case_is_minded_where_asked() {
        assert_eq!(matched(&["Key"], Case::Kept, Edges::WholeWord, "key Key KEY"), ["Key"]);
        assert_eq!(matched(&["Key"], Case::Kept, Edges::WholeWord, "Ｋｅｙ"), ["Ｋｅｙ"]);
    }

    #[test]
    fn spans_are_in_the_source_behind_text_that_changes_length() {
        let text = "İİ ﬃ ½ Ⅷ 😀 secret ﷺ";
        assert_eq!(whole(&["secret"], text), ["secret"]);
    }

    #[test]
    fn nested_words_on_a_long_text_are_a_flood() {
        let words: Vec<String> = (1..=100).map(|length| "a".repeat(length)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(matched(&words, Case::Folded, Edges::Anywhere, &"a".repeat(1 << 20)), ["(flood)"]);
    }
}
