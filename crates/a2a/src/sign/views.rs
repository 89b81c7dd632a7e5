//! The forms of a card that signatures cover: which members, which defaults, which bytes.

use json::Object;

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
    let _ = (card, view);
    todo!()
}

/// The bytes that are signed.
///
/// # Errors
/// [`json::CanonicalError`] for numbers that are no finite double.
pub fn bytes(card: &Object, view: View) -> Result<Vec<u8>, json::CanonicalError> {
    let _ = (card, view);
    todo!()
}
