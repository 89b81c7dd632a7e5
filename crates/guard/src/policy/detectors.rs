//! One detector of a policy document, by its id.

use json::{Json, Number, Object};

use super::{Checker, Part, join, quoted};
use crate::detector::file::Files;
use crate::detector::url::{Addresses, MOST_HOSTS};
use crate::detector::words::{Edges, Words};
use crate::detector::{builtin, pattern, words};
use crate::engine::{Custom, HIDDEN, NESTED};
use crate::external::External;
use crate::finding::Action;
use crate::measure::Sizes;
use crate::normalise::Case;
use crate::pipeline::Looks;
use crate::schema::Schema;

/// Ids that are not kinds of our own detectors.
const OTHERS: [&str; 9] = ["words", "pattern", "url", "file", "size", "schema", "external", HIDDEN, NESTED];

/// The score from which on injection is minded, by action.
const THRESHOLD_BLOCK: u8 = 70;
/// See [`THRESHOLD_BLOCK`].
const THRESHOLD_MONITOR: u8 = 40;

/// What a policy's author may write as id: groups, and a few words more.
pub(super) fn known() -> String {
    let mut known: Vec<&str> = vec!["secret", "secret.<provider>", "pii", "pii.<kind>", builtin::INJECTION];
    known.extend(OTHERS);
    known.join(", ")
}

impl Checker {
    pub(super) fn part(&mut self, id: &str, detector: &Object, path: &str, action: Option<Action>) -> Option<Part> {
        match id {
            "words" => self.words(detector, path).map(|words| Part::Custom(Custom::Words(words))),
            "pattern" => self.pattern(detector, path).map(|pattern| Part::Custom(Custom::Pattern(pattern))),
            "url" => self.url(detector, path).map(|addresses| Part::Custom(Custom::Url(addresses))),
            "file" => {
                self.unredactable(id, path, action);
                self.file(detector, path).map(|files| Part::Looks(Looks::File(files)))
            }
            "size" => {
                self.unredactable(id, path, action);
                Some(Part::Looks(Looks::Size(self.size(detector, path))))
            }
            "schema" => {
                self.unredactable(id, path, action);
                self.schema(detector, path).map(|schema| Part::Looks(Looks::Schema(Box::new(schema))))
            }
            "external" => self.external(detector, path).map(Part::External),
            builtin::INJECTION => {
                self.unredactable(id, path, action);
                self.injection(detector, path, action)
            }
            HIDDEN | NESTED => {
                self.unredactable(id, path, action);
                self.members(detector, path, &["id", "name", "action"]);
                Some(if id == HIDDEN { Part::Hidden } else { Part::Nested })
            }
            other => self.kinds(other, detector, path),
        }
    }

    /// Our own kinds: `secret` means all its kinds, `pii` all that are not a single state's.
    fn kinds(&mut self, id: &str, detector: &Object, path: &str) -> Option<Part> {
        self.members(detector, path, &["id", "name", "action"]);
        let of_group = |kind: &str| kind.strip_prefix(id).is_some_and(|rest| rest.starts_with('.'));
        let kinds: Vec<&'static str> = builtin::kinds()
            .filter(|(kind, grouped)| *kind == id || (*grouped && of_group(kind)))
            .map(|(kind, _)| kind)
            .collect();
        if kinds.is_empty() {
            self.refuse(join(path, "id"), format!("unknown detector {}; known: {}", quoted(id), known()));
            return None;
        }
        Some(Part::Kinds(kinds))
    }

    /// There is no span that could be replaced.
    fn unredactable(&mut self, id: &str, path: &str, action: Option<Action>) {
        if matches!(action, Some(Action::Redact | Action::Mask | Action::Tokenise)) {
            self.refuse(join(path, "action"), format!("{id} can be monitored or blocked, not redacted"));
        }
    }

    fn injection(&mut self, detector: &Object, path: &str, action: Option<Action>) -> Option<Part> {
        self.members(detector, path, &["id", "name", "action", "threshold"]);
        let by_action = if action == Some(Action::Block) { THRESHOLD_BLOCK } else { THRESHOLD_MONITOR };
        let threshold = self.whole(detector, path, "threshold", 1..=100)?;
        let threshold = threshold.and_then(|threshold| u8::try_from(threshold).ok()).unwrap_or(by_action);
        Some(Part::Injection(threshold))
    }

    fn file(&mut self, detector: &Object, path: &str) -> Option<Files> {
        self.members(detector, path, &["id", "name", "action", "allow", "max_bytes"]);
        let allow = self.strings(detector, path, "allow", 200)?;
        let max_bytes = self.whole(detector, path, "max_bytes", 1..=64 << 20)?;
        Some(Files { allow, max_bytes })
    }

    fn size(&mut self, detector: &Object, path: &str) -> Sizes {
        self.members(detector, path, &["id", "name", "action", "max_text", "max_total", "max_parts"]);
        let mut bound = |key: &str| self.whole(detector, path, key, 1..=1 << 30).flatten();
        let sizes = Sizes { max_text: bound("max_text"), max_total: bound("max_total"), max_parts: bound("max_parts") };
        if sizes == Sizes::default() {
            self.refuse(path, "names no bound: max_text, max_total or max_parts");
        }
        sizes
    }

    fn schema(&mut self, detector: &Object, path: &str) -> Option<Schema> {
        self.members(detector, path, &["id", "name", "action", "schema", "required"]);
        let required = self.flag(detector, path, "required").unwrap_or(false);
        let Some(schema) = detector.get("schema") else {
            self.refuse(join(path, "schema"), "is missing");
            return None;
        };
        let problems = match Schema::new(schema, required) {
            Ok(schema) => return Some(schema),
            Err(problems) => problems,
        };
        for (at, problem) in problems {
            self.refuse(format!("{path}/schema{at}"), problem);
        }
        None
    }

    fn external(&mut self, detector: &Object, path: &str) -> Option<External> {
        self.members(detector, path, &["id", "name", "action", "url", "format", "timeout_ms", "on_error", "window"]);
        let timeout = self.whole(detector, path, "timeout_ms", 10..=5_000)?.unwrap_or(300);
        let window = self.whole(detector, path, "window", 256..=65_536)?.unwrap_or(4_096);
        let Some(url) = detector.str("url") else {
            self.refuse(join(path, "url"), "must be the address of a guard");
            return None;
        };
        let sound = url::Url::parse(url).is_ok_and(|url| {
            matches!(url.scheme(), "https" | "http") && url.host().is_some() && url.username().is_empty()
        });
        if !sound {
            self.refuse(join(path, "url"), "must be an http or https address without a user in it");
        }
        let format = self.choice(detector, path, "format", crate::external::Format::from_name, "chancery, openai");
        let on_error = self.choice(detector, path, "on_error", crate::pipeline::OnError::from_name, "block, allow");
        Some(External::new(url, format.unwrap_or(crate::external::Format::Chancery), on_error, (timeout, window)))
    }

    fn url(&mut self, detector: &Object, path: &str) -> Option<Addresses> {
        self.members(detector, path, &["id", "name", "action", "allow", "deny", "schemes", "deceptive"]);
        let allow = self.hosts(detector, path, "allow")?;
        let deny = self.hosts(detector, path, "deny")?;
        let schemes = self.strings(detector, path, "schemes", 20)?;
        let deceptive = self.flag(detector, path, "deceptive").unwrap_or(true);
        Some(Addresses { allow, deny, schemes, deceptive })
    }

    fn hosts(&mut self, detector: &Object, path: &str, key: &str) -> Option<Vec<String>> {
        let hosts = self.strings(detector, path, key, MOST_HOSTS)?;
        let mut plain = Vec::with_capacity(hosts.len());
        for (at, host) in hosts.iter().enumerate() {
            match url::Host::parse(host.trim_start_matches("*.")) {
                Ok(url::Host::Domain(name)) => plain.push(name),
                Ok(host @ (url::Host::Ipv4(_) | url::Host::Ipv6(_))) => plain.push(host.to_string()),
                Err(_) => self.refuse(format!("{path}/{key}/{at}"), "must be a host, such as example.com"),
            }
        }
        Some(plain)
    }

    /// A list of short texts; none if it is wrong.
    fn strings(&mut self, detector: &Object, path: &str, key: &str, most: usize) -> Option<Vec<String>> {
        let Some(value) = detector.get(key) else { return Some(Vec::new()) };
        let list = value.as_array().filter(|list| list.len() <= most);
        let texts = list.and_then(|list| {
            list.iter()
                .map(|one| one.as_str().filter(|text| (1..=256).contains(&text.len())).map(str::to_lowercase))
                .collect()
        });
        if texts.is_none() {
            self.refuse(join(path, key), format!("must be a list of at most {most} texts of 1 to 256 bytes"));
        }
        texts
    }

    /// A whole number within bounds; the outer none if it is wrong.
    #[expect(clippy::option_option, reason = "missing and wrong are two things")]
    fn whole(
        &mut self,
        detector: &Object,
        path: &str,
        key: &str,
        bounds: std::ops::RangeInclusive<usize>,
    ) -> Option<Option<usize>> {
        let Some(value) = detector.get(key) else { return Some(None) };
        let number = value.as_number().and_then(Number::as_i64).and_then(|number| usize::try_from(number).ok());
        let number = number.filter(|number| bounds.contains(number));
        if number.is_none() {
            self.refuse(join(path, key), format!("must be a whole number from {} to {}", bounds.start(), bounds.end()));
        }
        number.map(Some)
    }

    fn words(&mut self, detector: &Object, path: &str) -> Option<Words> {
        self.members(detector, path, &["id", "name", "action", "words", "whole_word", "case_sensitive"]);
        let whole_word = self.flag(detector, path, "whole_word").unwrap_or(true);
        let case_sensitive = self.flag(detector, path, "case_sensitive").unwrap_or(false);
        let edges = if whole_word { Edges::WholeWord } else { Edges::Anywhere };
        let case = if case_sensitive { Case::Kept } else { Case::Folded };
        let path = join(path, "words");
        let Some(list) = detector.get("words").and_then(Json::as_array).filter(|list| !list.is_empty()) else {
            self.refuse(path, "must be a list of at least one word");
            return None;
        };
        let before = self.problems.len();
        let words: Vec<&str> = list.iter().enumerate().filter_map(|(at, word)| self.word(word, &path, at)).collect();
        if list.len() > words::MOST_WORDS || words.iter().map(|word| word.len()).sum::<usize>() > words::MOST_BYTES {
            let (most, bytes) = (words::MOST_WORDS, words::MOST_BYTES);
            self.refuse(path.as_str(), format!("more than {most} words or {bytes} bytes"));
        }
        if self.problems.len() > before {
            return None;
        }
        Words::new(&words, case, edges).map_err(|problem| self.refuse(path, problem)).ok()
    }

    fn word<'a>(&mut self, word: &'a Json, path: &str, at: usize) -> Option<&'a str> {
        let fits = |word: &&str| !word.is_empty() && word.trim() == *word && word.chars().count() <= words::LONGEST;
        let word = word.as_str().filter(fits);
        if word.is_none() {
            let problem = format!("must be 1 to {} characters without space around them", words::LONGEST);
            self.refuse(format!("{path}/{at}"), problem);
        }
        word
    }

    fn pattern(&mut self, detector: &Object, path: &str) -> Option<pattern::Pattern> {
        self.members(detector, path, &["id", "name", "action", "pattern", "max_length"]);
        let longest = pattern::LONGEST_MATCH;
        let max_length = match detector.get("max_length") {
            None => Some(longest),
            Some(value) => {
                let bound = value.as_number().and_then(Number::as_i64).and_then(|bound| usize::try_from(bound).ok());
                bound.filter(|bound| (1..=longest).contains(bound))
            }
        };
        if max_length.is_none() {
            self.refuse(join(path, "max_length"), format!("must be a whole number from 1 to {longest}"));
        }
        let Some(source) = detector.str("pattern") else {
            self.refuse(join(path, "pattern"), "must be a regular expression");
            return None;
        };
        let compiled = pattern::Pattern::new(source, max_length.unwrap_or(longest));
        compiled.map_err(|problem| self.refuse(join(path, "pattern"), problem)).ok()
    }
}
