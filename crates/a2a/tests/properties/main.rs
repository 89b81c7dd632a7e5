//! What holds for every call, answer, event and byte sequence.
//!
//! | file | holds |
//! |---|---|
//! | `generate` | values in the shapes of 1.0 |
//! | `wire` | carrying them over a dialect and back |
//! | `translation` | every dialect: what survives the way there and back, and what is dropped |
//! | `one_generation` | JSON-RPC of either generation: strangers, digits and order are kept |
//! | `http_json_v03` | HTTP+JSON of 0.3, whose proto decides |
//! | `hostile` | bytes, broken documents and paths of anybody |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod generate;
mod hostile;
mod http_json_v03;
mod one_generation;
mod translation;
mod wire;

use proptest::prelude::ProptestConfig;

fn config() -> ProptestConfig {
    ProptestConfig { cases: 96, max_shrink_iters: 2000, failure_persistence: None, ..ProptestConfig::default() }
}
