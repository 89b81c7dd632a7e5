//! Detector `words`: a list of words and phrases, found in text as a careful reader reads it: without case (unless the
//! policy minds it), marks, look-alikes, odd spaces and spellings. Linear in the text whatever the list is.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::normalise::{self, Case, View};
use crate::pace::Pace;

/// Most words of one list, and most bytes of all of them.
pub(crate) const MOST_WORDS: usize = 10_000;
/// See [`MOST_WORDS`].
pub(crate) const MOST_BYTES: usize = 256 * 1024;
/// Longest word, in characters.
pub(crate) const LONGEST: usize = 256;

/// Matches looked at in one text before it counts as a flood: nested words can match at every character.
const MOST_MATCHES: usize = 200_000;

/// What may stand next to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edges {
    /// The match must not be a piece of a longer word.
    WholeWord,
    /// Anything.
    Anywhere,
}

/// A compiled list.
#[derive(Debug)]
pub(crate) struct Words {
    automaton: AhoCorasick,
    /// Folded and sorted, to see what a text may still become.
    words: Vec<String>,
    pub(crate) case: Case,
    edges: Edges,
    /// Longest word, in folded characters, and one for what its edge needs to see.
    pub(crate) longest: usize,
    /// Shortest word, in folded bytes.
    pub(crate) shortest: usize,
}

impl Words {
    /// Compiles a list the policy has checked; the error is for the policy's author.
    pub(crate) fn new(words: &[&str], case: Case, edges: Edges) -> Result<Self, String> {
        let mut words: Vec<String> = words.iter().map(|word| fold(word, case)).collect();
        if words.iter().any(|word| word.trim().is_empty()) {
            return Err("a word consists of characters that are not shown".to_owned());
        }
        words.sort_unstable();
        words.dedup();
        let longest = words.iter().map(|word| word.chars().count()).max().unwrap_or(0).saturating_add(1);
        let shortest = words.iter().map(String::len).min().unwrap_or(0);
        // Without case, so that plain text need not be folded for it.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(case == Case::Folded)
            .build(&words)
            .map_err(|error| format!("the list cannot be compiled: {error}"))?;
        Ok(Self { automaton, words, case, edges, longest, shortest })
    }

    /// The text folded for [`Words::scan`]; none if that would change nothing that the scan minds.
    pub(crate) fn folded(&self, text: &str) -> Option<View<'static>> {
        if normalise::is_even(text) { None } else { normalise::phrase(text, self.case) }
    }

    /// What was matched, as every spelling of it is written in a hash.
    pub(crate) fn told(&self, matched: &str) -> Option<String> {
        let upper = self.case == Case::Folded && matched.bytes().any(|byte| byte.is_ascii_uppercase());
        upper.then(|| matched.to_ascii_lowercase())
    }

    /// Whether a match stays one whatever follows it.
    pub(crate) fn settles(&self) -> bool {
        self.edges == Edges::Anywhere
    }

    /// Every match in a text that was folded by [`Words::folded`]; none if there are too many.
    pub(crate) fn scan(&self, folded: &str) -> Option<Vec<Range<usize>>> {
        let (mut spans, mut pace) = (Vec::new(), Pace::default());
        // Overlapping, because a longer word that fails at its edge must not hide a shorter one inside.
        let matches = self.automaton.try_find_overlapping_iter(folded).ok()?;
        for (count, found) in matches.enumerate() {
            pace.at(found.end());
            if count >= MOST_MATCHES {
                return None;
            }
            if self.edges == Edges::Anywhere || is_whole_word(folded, found.range()) {
                spans.push(found.range());
            }
        }
        Some(spans)
    }

    /// Where the earliest word may have begun whose end is not seen yet; the end of the text if none has.
    pub(crate) fn live(&self, folded: &str) -> usize {
        let starts = folded.char_indices().rev().take(self.longest).map(|(at, _)| at);
        let grows = |at: &usize| {
            let begun = folded.get(*at..).unwrap_or_default();
            let next = self.words.partition_point(|word| word.as_str() < begun);
            self.words.get(next).is_some_and(|word| word.starts_with(begun))
        };
        starts.filter(grows).min().unwrap_or(folded.len())
    }
}

/// The list's own words, folded as the text is.
fn fold(word: &str, case: Case) -> String {
    let plain = normalise::plain(word);
    let plain = plain.as_ref().map_or(word, |view| view.text());
    normalise::phrase(plain, case).map_or_else(|| plain.to_owned(), |view| view.text().to_owned())
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

    fn matched(words: &[&str], case: Case, edges: Edges, text: &str) -> Vec<String> {
        let words = Words::new(words, case, edges).unwrap();
        let folded = fold(text, case);
        match words.scan(&folded) {
            Some(spans) => spans.into_iter().map(|span| folded[span].to_owned()).collect(),
            None => vec!["(flood)".to_owned()],
        }
    }

    fn whole(words: &[&str], text: &str) -> Vec<String> {
        matched(words, Case::Folded, Edges::WholeWord, text)
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
        assert_eq!(whole(&["a b", "b c"], "x a b c y"), ["a b", "b c"]);
    }

    #[test]
    fn case_is_minded_where_asked() {
        assert_eq!(matched(&["Key"], Case::Kept, Edges::WholeWord, "key Key KEY"), ["Key"]);
        assert_eq!(matched(&["Key"], Case::Kept, Edges::WholeWord, "Ｋｅｙ"), ["Key"]);
    }

    #[test]
    fn plain_text_is_read_without_a_copy_and_says_the_same() {
        let words = Words::new(&["Blue Heron", "ca\u{fe}\u{e9}"], Case::Folded, Edges::WholeWord).unwrap();
        for text in ["a BLUE heron, a Blue  Heron", "a\nBlue\nHeron", "bLUE HERON", " blue heron ", "CAÞÉ caþe", "bluE"]
        {
            let copied = normalise::phrase(text, Case::Folded);
            let copied = copied.as_ref().map_or(text, |view| view.text());
            let folded = words.folded(text);
            let spans = |read: &str, view: Option<&View<'_>>| -> Vec<Range<usize>> {
                let spans = words.scan(read).unwrap().into_iter();
                spans.map(|span| view.map_or_else(|| span.clone(), |view| view.source(span.clone()))).collect()
            };
            let told = |read: &str| -> Vec<String> {
                let told =
                    |span: Range<usize>| words.told(&read[span.clone()]).unwrap_or_else(|| read[span].to_owned());
                words.scan(read).unwrap().into_iter().map(told).collect()
            };
            let read = folded.as_ref().map_or(text, |view| view.text());
            assert_eq!(told(read), told(copied), "{text:?}");
            let by_copy = normalise::phrase(text, Case::Folded);
            assert_eq!(spans(read, folded.as_ref()), spans(copied, by_copy.as_ref()), "{text:?}");
        }
        assert!(words.folded("a Blue Heron.").is_none() && words.folded("a  Blue Heron").is_some());
    }

    #[test]
    fn nested_words_on_a_long_text_are_a_flood() {
        let words: Vec<String> = (1..=100).map(|length| "a".repeat(length)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(matched(&words, Case::Folded, Edges::Anywhere, &"a".repeat(1 << 20)), ["(flood)"]);
    }

    #[test]
    fn what_may_still_become_a_word_is_live() {
        let words = Words::new(&["blue heron", "herald"], Case::Folded, Edges::WholeWord).unwrap();
        for (text, live) in
            [("a blue her", 2), ("a blue hex", 10), ("x her", 2), ("blue heron", 0), ("blue heron ", 11), ("", 0)]
        {
            assert_eq!(words.live(text), live, "{text}");
        }
    }
}
