//! The real program, killed and stopped under load: no answer without its record, and none twice.
//!
//! Each test starts `chancery serve` as a process on free ports, drives it with callers on loopback, and looks into the
//! store afterwards. SQLite always; PostgreSQL where `TEST_POSTGRES_URL` names a server. `SCALE` multiplies the rounds,
//! `CHANCERY_TEST_SEED` repeats a run.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod caller;
mod kill;
mod ledger;
mod outage;
mod pause;
mod process;
mod records;
mod stop;
mod world;
