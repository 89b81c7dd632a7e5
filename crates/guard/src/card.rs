//! The card guard: what in an agent card is written for the model that reads it, or to deceive the person.
//!
//! Looks at every string of a card. A [`Severity::Flag`] keeps a card from being published until somebody has reviewed
//! it; a [`Severity::Note`] is only shown. Never changes a card.

use std::collections::BTreeSet;

use json::{Json, Leaf, Path, Segment, walk};
use regex::{Regex, RegexBuilder};
use url::{Host, Url};

use crate::normalise;
use crate::pipeline::Pipeline;
use crate::policy::{Options, PolicyError};
use crate::surface::Surface;

/// Whether a remark holds a card back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth a look.
    Note,
    /// Not to be published without a review.
    Flag,
}

/// Something about a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// What kind of thing.
    pub rule: String,
    /// RFC 6901 pointer to the string.
    pub pointer: String,
    /// Whether it holds the card back.
    pub severity: Severity,
}

impl Remark {
    /// What is the matter, in words for the person who registers the card: what is behind "the text …".
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self.rule.as_str() {
            "injection" => "tells the model that reads it what to do",
            "card.imperative" => "tells the reader which agent to use, or what to send it",
            "card.markup" => "holds markup that a page would run or load",
            "card.data_url" => "holds a whole document in an address",
            "card.scheme" => "leads somewhere unusual",
            "card.superlative" => "praises itself",
            "card.recommended" => "says that somebody vouches for it",
            "card.length" => "is unusually long",
            "card.skills" => "lists unusually many skills",
            "card.tags" => "has unusually many tags",
            "card.internal_host" => "names an address of an inner network",
            "card.other_host" => "leads to a host that is not the agent's",
            "card.security" => "asks callers for no proof any more, which it did before",
            "text.hidden" => "holds characters that are not shown, or turn the text around",
            "encoding.nested" => "holds text in a double disguise",
            rule if rule.starts_with("secret.") => "holds what looks like a key or password",
            _ => "was found by the card guard",
        }
    }
}

/// Compiled rules.
pub struct CardGuard {
    pipeline: Pipeline,
    rules: Vec<(&'static str, Severity, Regex)>,
}

impl std::fmt::Debug for CardGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CardGuard").finish_non_exhaustive()
    }
}

/// Detectors that look at every string of a card; quotation is no excuse here.
const DETECTORS: &str = r#"{"surfaces":["card"],"detectors":[
    {"id":"secret","action":"block"},{"id":"injection","threshold":40,"action":"block"},
    {"id":"text.hidden","action":"block"},{"id":"encoding.nested","action":"block"}]}"#;

/// Written to the reader, or to a browser.
const RULES: [(&str, Severity, &str); 6] = [
    (
        "card.imperative",
        Severity::Flag,
        r"\b(always|must|should|only)\W{1,3}(use|choose|select|call|prefer|pick|route|delegate|trust)\W{1,3}(this|our|my|me)\b|\b(ignore|avoid|never\W{1,3}(use|call|choose)|do\W{1,3}not\W{1,3}(use|call|choose)|don.t\W{1,3}(use|call))\W{1,3}(all\W{1,3}|any\W{1,3}|the\W{1,3})?(other|another|competing|previous)\W{1,3}(agents?|tools?|skills?|services?)|\b(before|after|when)\W{1,3}(calling|using|you\W{1,3}(call|use))\W{1,3}[^.\n]{0,60}\b(send|share|include|provide|attach|forward|pass)\b",
    ),
    (
        "card.markup",
        Severity::Flag,
        r"<\s{0,3}/?\s{0,3}(script|img|svg|iframe|object|embed|link|style|form|input|meta|base|video|audio)\b|\bjavascript:|\bvbscript:|!\[[^\]\n]{0,200}\]\(|\bon(error|load|click|mouseover)\s{0,3}=",
    ),
    ("card.data_url", Severity::Flag, r"^\s{0,3}data:"),
    ("card.scheme", Severity::Flag, r"^\s{0,3}//|^\s{0,3}(file|ftp|gopher|ldap|jar|blob):"),
    (
        "card.superlative",
        Severity::Note,
        r"\b(best|most\W{1,3}(accurate|powerful|trusted|secure|reliable)|number\W{1,3}one|#1|perfect|100\s?%|guaranteed|the\W{1,3}only\W{1,3}agent)\b",
    ),
    (
        "card.recommended",
        Severity::Note,
        r"\b(recommended|official|verified|certified|approved)\W{1,3}(by|agent|partner)\b",
    ),
];

/// Longest strings by member, in characters.
const LONGEST: [(&str, usize); 3] = [("name", 128), ("description", 2_000), ("examples", 500)];
const MOST_SKILLS: usize = 64;
const MOST_TAGS: usize = 16;

impl CardGuard {
    /// Compiles the rules; `key` is that of the findings' hashes.
    ///
    /// # Errors
    /// A mistake in our own tables.
    pub fn new(key: &[u8]) -> Result<Self, PolicyError> {
        let document = json::read(DETECTORS.as_bytes(), &json::Limits::default()).unwrap_or_default();
        let pipeline = Pipeline::compile(&document, &Options { key, policy: "card guard", version: 1 })?;
        let compile = |(name, severity, source): &(&'static str, Severity, &str)| {
            let regex = RegexBuilder::new(source).case_insensitive(true).multi_line(false).build().ok()?;
            Some((*name, *severity, regex))
        };
        Ok(Self { pipeline, rules: RULES.iter().filter_map(compile).collect() })
    }

    /// Everything about the card, the worst first. `before` is what was reviewed last.
    #[must_use]
    pub fn remarks(&self, card: &Json, before: Option<&Json>) -> Vec<Remark> {
        let mut remarks = Vec::new();
        let verdict = self.pipeline.inspect(Surface::Card, &mut card.clone(), &|_| true);
        for finding in verdict.findings {
            remarks.push(Remark {
                rule: finding.detector.to_owned(),
                pointer: finding.pointer,
                severity: Severity::Flag,
            });
        }
        let own = hosts(card);
        walk(card, &mut |path, leaf| {
            let (Leaf::Text(text) | Leaf::Key(text)) = leaf else { return };
            self.text(path, text, &own, &mut remarks);
        });
        counts(card, &mut remarks);
        if before.is_some_and(|before| requires(before) && !requires(card)) {
            remarks.push(Remark {
                rule: "card.security".to_owned(),
                pointer: "/security".to_owned(),
                severity: Severity::Flag,
            });
        }
        remarks.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.pointer.cmp(&b.pointer)));
        remarks.dedup();
        remarks
    }

    fn text(&self, path: &Path<'_>, text: &str, own: &BTreeSet<String>, remarks: &mut Vec<Remark>) {
        let mut remark = |rule: &str, severity| {
            remarks.push(Remark { rule: rule.to_owned(), pointer: path.to_string(), severity });
        };
        let plain = normalise::plain(text);
        let shown = plain.as_ref().map_or(text, |view| view.text());
        for (rule, severity, regex) in &self.rules {
            if regex.is_match(shown) {
                remark(rule, *severity);
            }
        }
        let member = path.segments.iter().rev().find_map(|segment| match segment {
            Segment::Key(key) => Some(*key),
            Segment::Index(_) => None,
        });
        let longest = LONGEST.iter().find(|(name, _)| member == Some(name));
        if longest.is_some_and(|(_, most)| text.chars().count() > *most) {
            remark("card.length", Severity::Flag);
        }
        if is_address(path) {
            return;
        }
        for url in urls(shown) {
            match url.host() {
                Some(host) if own.contains(&host.to_string()) => {}
                Some(host) if is_internal(&host) => remark("card.internal_host", Severity::Flag),
                Some(_) => remark("card.other_host", Severity::Note),
                None => {}
            }
        }
    }
}

/// Skeletons: two names that a reader takes for one have the same.
#[must_use]
pub fn skeleton(name: &str) -> String {
    let plain = normalise::plain(name);
    let shown = plain.as_ref().map_or(name, |view| view.text());
    let letter = |one: char| match one.to_ascii_lowercase() {
        '0' => 'o',
        '1' | 'l' | '|' | 'i' => 'i',
        '5' => 's',
        '_' | ' ' | '.' => '-',
        other => other,
    };
    shown.chars().map(letter).collect::<String>().replace("rn", "m").replace("vv", "w")
}

fn counts(card: &Json, remarks: &mut Vec<Remark>) {
    let skills = card.get("skills").and_then(Json::as_array).unwrap_or_default();
    let mut many = |rule: &str, pointer: String| {
        remarks.push(Remark { rule: rule.to_owned(), pointer, severity: Severity::Flag });
    };
    if skills.len() > MOST_SKILLS {
        many("card.skills", "/skills".to_owned());
    }
    for (at, skill) in skills.iter().enumerate() {
        if skill.get("tags").and_then(Json::as_array).is_some_and(|tags| tags.len() > MOST_TAGS) {
            many("card.tags", format!("/skills/{at}/tags"));
        }
    }
}

/// Whether callers must prove who they are.
fn requires(card: &Json) -> bool {
    let some = |name: &str| {
        card.get(name).is_some_and(|value| match value {
            Json::Object(object) => !object.is_empty(),
            Json::Array(list) => !list.is_empty(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
        })
    };
    some("security") || some("securityRequirements")
}

/// Where the agent itself listens: its own business, and checked when it is connected to.
fn is_address(path: &Path<'_>) -> bool {
    matches!(
        path.segments,
        [Segment::Key("url")]
            | [Segment::Key("supportedInterfaces" | "additionalInterfaces"), Segment::Index(_), Segment::Key("url")]
    )
}

fn hosts(card: &Json) -> BTreeSet<String> {
    let mut hosts = BTreeSet::new();
    walk(card, &mut |path, leaf| {
        if let Leaf::Text(text) = leaf
            && is_address(path)
        {
            hosts.extend(Url::parse(text).ok().and_then(|url| url.host().map(|host| host.to_string())));
        }
    });
    hosts
}

fn urls(text: &str) -> impl Iterator<Item = Url> {
    text.match_indices("://").filter_map(move |(at, _)| {
        let head = text.get(..at)?;
        let start = head.rfind(|one: char| !one.is_ascii_alphanumeric()).map_or(0, |at| at.saturating_add(1));
        let rest = text.get(start..)?;
        let end = rest.find(|one: char| one.is_whitespace() || "\"'<>`)]}".contains(one)).unwrap_or(rest.len());
        Url::parse(rest.get(..end)?).ok()
    })
}

/// Names and addresses that mean something else inside than outside.
fn is_internal(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let inside =
                [".local", ".internal", ".lan", ".corp", ".home", ".intranet", ".localdomain", ".svc", ".localhost"];
            name == "localhost" || !name.contains('.') || inside.iter().any(|end| name.ends_with(end))
        }
        Host::Ipv4(address) => {
            address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
                || matches!(address.octets(), [100, 64..=127, ..])
        }
        Host::Ipv6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || matches!(address.segments(), [0xfc00..=0xfdff | 0xfe80..=0xfebf, ..])
        }
    }
}

#[cfg(test)]
mod tests;
