//! Callers of every dialect × agents of every dialect × every operation, through a live gateway.
//!
//! | file | holds |
//! |---|---|
//! | `tongue` | what there is to say of a dialect |
//! | `j1`, `r1`, `g1`, `j3`, `r3`, `path_rpc` | a dialect each: its callers and its agents, byte for byte by hand |
//! | `v10`, `v03`, `proto` | the objects that bindings share |
//! | `caller`, `agent`, `world` | sockets on both sides, and the gateway between them |
//! | `cells` | the matrix itself; `page` puts it into `docs/dialects.md` |
//! | `refusals` | what callers are refused with; `gate` every reason to turn a caller away; `same` what must look missing |
//! | `shapes`, `errors` | messages, states and errors of agents, each in every caller's words |
//! | `losses`, `exact`, `gated` | what translation drops, what relays keep, that no event is held back |
//! | `cases` | faults from the field in every caller's words |
//!
//! The codecs under test are used by neither side. `UPDATE_DOCS=1` writes the page instead of comparing it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test, as the tests themselves do"
)]

mod agent;
mod caller;
mod cases;
mod cells;
mod errors;
mod exact;
mod g1;
mod gate;
mod gated;
mod j1;
mod j3;
mod losses;
mod page;
mod path_rpc;
mod proto;
mod r1;
mod r3;
mod refusals;
mod same;
mod shapes;
mod tongue;
mod v03;
mod v10;
mod world;

#[path = "../it/rig.rs"]
#[expect(dead_code, reason = "shared with the other integration tests, which use all of it")]
mod rig;
#[path = "../it/start.rs"]
mod start;
#[path = "../it/wire.rs"]
#[expect(dead_code, reason = "shared with the other integration tests, which use all of it")]
mod wire;

use tongue::Tongue;

/// Every dialect, in the order of the page.
const TONGUES: [Tongue; 6] = [j1::J1, r1::R1, g1::G1, j3::J3, r3::R3, path_rpc::PATH_RPC];
