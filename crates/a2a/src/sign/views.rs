//! The forms of a card that signatures cover: which members, which defaults, which bytes.
//!
//! Takes a card and a view, gives the members or the bytes that a verifier of that view rebuilds. A signature says
//! nothing about members outside its view.

use json::{CanonicalError, Json, Object};

use super::ascii;
use super::members::{Member, Presence, Shape, V03, V10};
use crate::rewrite::prune;

/// One form of a card. Order is the order in which a verifier tries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// A2A 1.0 §8.4.1 by the letter: members of the 1.0 proto, defaults out, required and explicitly set ones in.
    Spec,
    /// As the official SDKs do it: members of the 1.0 proto, every empty value out.
    V1,
    /// The whole document without `signatures`.
    Raw,
    /// As the 0.3 SDK does it: members of 0.3, its defaults and every empty value out, serialised by its rules.
    V03,
}

impl View {
    /// In the order in which a verifier tries them.
    pub const ALL: [Self; 4] = [Self::Spec, Self::V1, Self::Raw, Self::V03];

    /// The short name used in verdicts and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::V1 => "v1",
            Self::Raw => "raw",
            Self::V03 => "v03",
        }
    }
}

impl std::fmt::Display for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The members of the card that a signature over this view covers. Trust nothing else of a card verified by it.
#[must_use]
pub fn project(card: &Object, view: View) -> Object {
    match view {
        View::Spec => select(card, V10, Explicit::Kept),
        View::V1 => pruned(select(card, V10, Explicit::Kept)),
        View::Raw => {
            let mut card = card.clone();
            card.remove("signatures");
            card
        }
        View::V03 => pruned(select(card, V03, Explicit::Kept)),
    }
}

/// The bytes that are signed.
///
/// # Errors
/// [`CanonicalError`] for numbers that are no finite double.
pub fn bytes(card: &Object, view: View) -> Result<Vec<u8>, CanonicalError> {
    let projected = Json::Object(project(card, view));
    match view {
        View::Spec | View::V1 | View::Raw => json::canonical(&projected),
        View::V03 => ascii::write_sorted(&projected),
    }
}

/// The bytes of signers who drop optional members that are set to a default (§8.4.3 step 3 read without §8.4.1).
/// Known only to name the mistake.
pub(super) fn bytes_without_explicit_defaults(card: &Object) -> Result<Vec<u8>, CanonicalError> {
    json::canonical(&Json::Object(select(card, V10, Explicit::Dropped)))
}

/// What becomes of optional members that are set to a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Explicit {
    Kept,
    Dropped,
}

fn pruned(mut card: Object) -> Object {
    prune(&mut card);
    card
}

/// The known members that a typed reader would give back.
fn select(object: &Object, members: &[Member], explicit: Explicit) -> Object {
    let known = |key: &str| members.iter().find(|member| member.name == key);
    let kept = object.iter().filter_map(|(key, value)| {
        let member = known(key)?;
        let value = select_value(value, &member.shape, explicit);
        is_kept(&value, member, explicit).then_some((key, value))
    });
    kept.collect()
}

/// A value of the wrong type is left as it is: such a card matches no view of an honest signer.
fn select_value(value: &Json, shape: &Shape, explicit: Explicit) -> Json {
    match (shape, value) {
        (Shape::Message(members), Json::Object(object)) => Json::Object(select(object, members, explicit)),
        (Shape::Messages(members), Json::Array(elements)) => {
            let message = Shape::Message(members);
            Json::Array(elements.iter().map(|element| select_value(element, &message, explicit)).collect())
        }
        (Shape::Map(members), Json::Object(entries)) => {
            let message = Shape::Message(members);
            let entries = entries.iter().map(|(key, entry)| (key, select_value(entry, &message, explicit)));
            Json::Object(entries.collect())
        }
        (Shape::Plain | Shape::Message(_) | Shape::Messages(_) | Shape::Map(_), _) => value.clone(),
    }
}

fn is_kept(value: &Json, member: &Member, explicit: Explicit) -> bool {
    if value.is_null() {
        return false;
    }
    match member.presence {
        Presence::Required => true,
        // A message that is set is no default, even if it is empty.
        Presence::Explicit => {
            explicit == Explicit::Kept || matches!(member.shape, Shape::Message(_)) || !is_default(value)
        }
        Presence::Implicit => !is_default(value),
        Presence::Unless(default) => value.as_str() != Some(default),
    }
}

fn is_default(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Bool(value) => !value,
        Json::Number(number) => number.as_f64() == 0.0,
        Json::String(text) => text.is_empty(),
        Json::Array(elements) => elements.is_empty(),
        Json::Object(object) => object.is_empty(),
    }
}
