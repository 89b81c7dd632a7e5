//! What a policy's author wrote down: lists of words, patterns, addresses. One detector each, on one view of a text.
//!
//! Gives spans of the view. Knows no rule and no action; which views it reads it says itself.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

use std::ops::Range;

use crate::detector::builtin::Reach;
use crate::detector::pattern::Pattern;
use crate::detector::url::{self, Addresses};
use crate::detector::words::Words;
use crate::detector::{Tail, ceil, floor};
use crate::normalise::{self, View};

/// What a policy's author wrote down.
#[derive(Debug)]
pub(crate) enum Custom {
    Words(Words),
    Pattern(Pattern),
    Url(Addresses),
    /// Fails in the way it is told to by the text.
    #[cfg(test)]
    Broken,
}

impl Custom {
    pub(super) fn reach(&self) -> Reach {
        match self {
            Self::Words(words) => Reach { longest: words.longest, before: 1 },
            Self::Pattern(pattern) => Reach { longest: pattern.longest, before: 4 },
            Self::Url(_) => Reach { longest: url::LONGEST, before: 32 },
            #[cfg(test)]
            Self::Broken => Reach { longest: 1, before: 1 },
        }
    }

    pub(super) fn settles(&self) -> bool {
        match self {
            Self::Words(words) => words.settles(),
            Self::Pattern(pattern) => pattern.settles,
            Self::Url(_) => false,
            #[cfg(test)]
            Self::Broken => false,
        }
    }

    /// Odd spelling hides words only; addresses are read as they are written.
    pub(super) fn reads(&self, view: &str) -> bool {
        match self {
            Self::Words(_) => true,
            Self::Pattern(_) => view != "spelled",
            Self::Url(_) => matches!(view, "source" | "escaped" | "encoded" | "tags"),
            #[cfg(test)]
            Self::Broken => view == "source",
        }
    }

    pub(super) fn phrase(&self, text: &str) -> Option<View<'static>> {
        match self {
            Self::Words(words) => words.folded(text),
            Self::Pattern(_) | Self::Url(_) => None,
            #[cfg(test)]
            Self::Broken => None,
        }
    }

    /// What of a match its hash is made of, if not what is written.
    pub(super) fn told(&self, matched: &str) -> Option<String> {
        match self {
            Self::Words(words) => words.told(matched),
            Self::Pattern(_) | Self::Url(_) => None,
            #[cfg(test)]
            Self::Broken => None,
        }
    }

    /// Fewest bytes of ASCII text that it can find.
    pub(super) const fn shortest(&self) -> usize {
        match self {
            Self::Words(words) => words.shortest,
            Self::Pattern(pattern) => pattern.shortest,
            Self::Url(_) => url::SHORTEST,
            #[cfg(test)]
            Self::Broken => 0,
        }
    }

    pub(super) fn scan(&self, text: &str) -> Option<Vec<(&'static str, Range<usize>, Tail)>> {
        let plain = |kind: &'static str, spans: Vec<Range<usize>>| {
            spans.into_iter().map(|span| (kind, span, Tail::None)).collect()
        };
        match self {
            Self::Words(words) => words.scan(text).map(|spans| plain("words", spans)),
            Self::Pattern(pattern) => pattern.scan(text).map(|spans| plain("pattern", spans)),
            Self::Url(addresses) => {
                Some(addresses.scan(text).into_iter().map(|found| (found.kind, found.span, found.tail)).collect())
            }
            #[cfg(test)]
            Self::Broken => match text {
                "panic" => panic!("the detector's own failure"),
                "lie" => Some(vec![("broken", 1..9, Tail::None)]),
                "empty" => Some(vec![("broken", 0..0, Tail::None)]),
                _ => Some(Vec::new()),
            },
        }
    }

    pub(super) fn live(&self, base: &str) -> usize {
        match self {
            Self::Words(words) => {
                let from = floor(base, base.len().saturating_sub(words.longest * 8));
                let end = base.get(from..).unwrap_or_default();
                let phrase = normalise::phrase(end, words.case);
                let looked = phrase.as_ref().map_or(end, |phrase| phrase.text());
                let live = words.live(looked);
                let live = if live >= looked.len() {
                    end.len()
                } else {
                    phrase.map_or(live, |phrase| phrase.source(live..ceil(phrase.text(), live + 1)).start)
                };
                (from + live).min(spelled_start(base))
            }
            Self::Pattern(pattern) => pattern.live(base),
            Self::Url(_) => base.len(),
            #[cfg(test)]
            Self::Broken => base.len(),
        }
    }
}

/// The start of a row of single letters at the end of the text.
fn spelled_start(text: &str) -> usize {
    const MOST: usize = 1024;
    let least = floor(text, text.len().saturating_sub(MOST));
    let bytes = text.as_bytes().get(least..).unwrap_or_default();
    let mut start = text.len();
    let mut letters = 0;
    for (at, byte) in bytes.iter().enumerate().rev() {
        letters = if byte.is_ascii_alphanumeric() { letters + 1 } else { 0 };
        if letters > 1 || !(byte.is_ascii_alphanumeric() || b" .-_*/,\n".contains(byte)) {
            break;
        }
        let alone = at.checked_sub(1).and_then(|at| bytes.get(at)).is_none_or(|before| !before.is_ascii_alphanumeric());
        if letters == 1 && alone {
            start = least + at;
        }
    }
    start
}
