//! What a detector saw: where, by whom, and what follows. Never the text itself.

use std::sync::Arc;

use json::{Json, Number};

use crate::surface::Surface;

/// What follows from a finding; a worse action is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Nothing, not even a finding.
    Allow,
    /// It is recorded.
    Monitor,
    /// The matched text is replaced by `[kind#hash]`: equal texts stay equal, so that agents can still tell them apart.
    Tokenise,
    /// The matched text is replaced by as many asterisks; of a card number the last four digits stay.
    Mask,
    /// The matched text is replaced by `[REDACTED:kind]`.
    Redact,
    /// The whole call, answer, event or card is refused.
    Block,
}

impl Action {
    /// Every action, mildest first.
    pub const ALL: [Self; 6] = [Self::Allow, Self::Monitor, Self::Tokenise, Self::Mask, Self::Redact, Self::Block];

    /// The name in policies and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Monitor => "monitor",
            Self::Tokenise => "tokenise",
            Self::Mask => "mask",
            Self::Redact => "redact",
            Self::Block => "block",
        }
    }

    /// The action called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }
}

/// Whether a policy acts or only records what it would have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Findings have their action.
    Enforce,
    /// Findings are recorded, nothing is changed or refused.
    Shadow,
}

impl Mode {
    /// The name in policies and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Shadow => "shadow",
        }
    }

    /// The mode called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Enforce, Self::Shadow].into_iter().find(|mode| mode.name() == name)
    }
}

/// In what kind of text a finding lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A string value.
    Text,
    /// The source text of a number.
    Number,
    /// The key of a member.
    Key,
    /// Text inside inline bytes.
    Bytes,
    /// Something about the message as a whole: its size, a part's form.
    Whole,
    /// Text that only exists once neighbouring elements of an array are read together.
    Joined,
    /// Text that only exists once neighbouring events of a stream are read together.
    Stream,
}

impl Place {
    /// The name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Key => "key",
            Self::Bytes => "bytes",
            Self::Whole => "whole",
            Self::Joined => "joined",
            Self::Stream => "stream",
        }
    }
}

/// One thing seen by one detector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The policy whose detector this is.
    pub policy: Arc<str>,
    /// The policy's version.
    pub version: i64,
    /// The kind of thing (`secret.github`, `pii.card`, `words`), or `unscannable` for content that cannot be looked into.
    pub detector: &'static str,
    /// The name the policy gives the detector.
    pub name: Arc<str>,
    /// What follows; in shadow mode, what would have.
    pub action: Action,
    /// Whether `action` was carried out or only recorded.
    pub mode: Mode,
    /// Where guarding happened.
    pub surface: Surface,
    /// In what kind of text.
    pub place: Place,
    /// In what disguise: `source` in none, `plain`, `tags`, `escaped`, `encoded`, `spelled`.
    pub view: &'static str,
    /// How sure, out of 100.
    pub score: u8,
    /// RFC 6901 pointer to the leaf (for joined text: to the leaf in which the match ends). Keys that are themselves
    /// matched are replaced by `[REDACTED]`, so it is for reading, not for look-up.
    pub pointer: String,
    /// First byte of the match in the leaf as it came in.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// HMAC-SHA256 of the matched text under the tenant's key, first 16 hexadecimal digits: equal matches can be
    /// counted, and cannot be read.
    pub hash: String,
}

impl Finding {
    /// The finding as it stands in records.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::from([
            ("policy", Json::from(&*self.policy)),
            ("version", Json::from(self.version)),
            ("detector", Json::from(self.detector)),
            ("name", Json::from(&*self.name)),
            ("action", Json::from(self.action.name())),
            ("mode", Json::from(self.mode.name())),
            ("surface", Json::from(self.surface.name())),
            ("place", Json::from(self.place.name())),
            ("view", Json::from(self.view)),
            ("score", Json::from(i64::from(self.score))),
            ("pointer", Json::from(self.pointer.as_str())),
            ("start", offset(self.start)),
            ("end", offset(self.end)),
            ("hash", Json::from(self.hash.as_str())),
        ])
    }
}

fn offset(bytes: usize) -> Json {
    Json::Number(Number::from(i64::try_from(bytes).unwrap_or(i64::MAX)))
}
