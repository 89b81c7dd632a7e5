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
//! | [`card`] | what in an agent card is written to a model, or to deceive |
//! | [`recast`] | what a policy would make of a finding of which only the facts are left |
//! | [`stream`] | the same for text that arrives in events, exactly |
//! | [`external`] | what a policy says about guards elsewhere; asking them is the gateway's work |
//! | `scan`, `view`, `inline` | one look at a tree: its leaves, neighbouring leaves joined, bytes inside them |
//! | `engine` | every detector on one text, in every view of it |
//! | `normalise` | views: what a text says once a disguise is undone, with the way back |
//! | `detector` | what looks: secrets, personal data, injection, words, patterns, addresses, files |
//! | `seek` | passing over what matters to nobody, quickly |
//! | `measure`, `schema` | what looks at the message as a whole |
//! | `redact`, `paint`, `hash` | replacing spans of texts and of trees; the keyed hash of what matched |
//!
//! Invariants: a blocked tree is unchanged; a redacted tree has the same keys, lengths and types as before, and a second
//! inspection finds nothing more to redact or block in it; shadow mode changes nothing; unknown members, detectors and
//! actions are refused, never skipped; text in events comes out as the whole text would, however it was cut.

#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub mod card;
mod detector;
mod engine;
pub mod external;
pub mod finding;
mod hash;
mod inline;
mod measure;
mod normalise;
mod pace;
mod paint;
pub mod pipeline;
pub mod policy;
pub mod recast;
mod redact;
mod scan;
mod schema;
mod seek;
pub mod stream;
pub mod surface;
pub mod verdict;
mod view;

pub use external::External;
pub use finding::{Action, Finding, Mode, Place};
pub use pipeline::{Hold, Pipeline, inspect_all};
pub use policy::{Options, PolicyError, Problem};
pub use recast::{Facts, Recast, Unknown};
pub use stream::{Extent, Flush, Inspector, Judged, Passage};
pub use surface::Surface;
pub use verdict::{Outcome, Verdict};
