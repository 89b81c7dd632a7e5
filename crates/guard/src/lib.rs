//! The guardrail engine: looks at every key, string and number of a JSON tree and says what may pass.
//!
//! A tenant's policy document is compiled once into a [`Pipeline`]; the pipeline inspects calls, answers, events and
//! cards on its [`Surface`]s, redacts in place, and gives a [`Verdict`] whose [`Finding`]s name where something was
//! seen, never what. No I/O, no clock, and no knowledge of A2A: which leaves are structure (ids, enums) is the caller's
//! word.
//!
//! | module | holds |
//! |---|---|
//! | [`surface`], [`finding`], [`verdict`] | the vocabulary |
//! | [`policy`] | document → checked, compiled [`Pipeline`] |
//! | [`pipeline`] | run the detectors, the worst action wins |
//! | [`stream`] | the same for text that arrives in events |
//! | `detector` | what looks: words, patterns |
//! | `scan`, `view` | one look at a tree: its leaves, and neighbouring leaves joined |
//! | `normalise`, `redact`, `hash` | folding with offsets, replacing spans, the keyed hash of what matched |
//!
//! Invariants: a blocked tree is unchanged; a redacted tree has the same keys, lengths and types as before, and a second
//! inspection finds nothing more to redact or block in it; shadow mode changes nothing; unknown members, detectors and
//! actions are refused, never skipped.
//!
//! Not yet: base64 (inline bytes, `data:` URLs) is not decoded, `on_unscannable` says what happens to it; text is not
//! normalised beyond case and NFKC; a match spread over stream events is cut off, not redacted (see [`stream`]).

#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod detector;
pub mod finding;
mod hash;
mod normalise;
pub mod pipeline;
pub mod policy;
mod redact;
mod scan;
pub mod stream;
pub mod surface;
pub mod verdict;
mod view;

pub use finding::{Action, Finding, Mode, Place};
pub use pipeline::{Pipeline, inspect_all};
pub use policy::{Options, PolicyError, Problem};
pub use stream::{Extent, Inspector, Passage};
pub use surface::Surface;
pub use verdict::{Outcome, Verdict};
