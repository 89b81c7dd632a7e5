//! The load comparison: an agent alone, behind a bare proxy, and behind Chancery, in one run on one machine.
//!
//! `gateway/benches/run` builds and starts it. (a) the agent stub, (b) a bare hyper reverse proxy before it, (c) the
//! `chancery` program before it with key, grant, guard, ownership and audit on, SQLite, everything else as by default.
//! Each is a process of its own on loopback; one load generator calls them in turns, round by round, so that what the
//! machine does besides hits all three. Counts are fixed and every wait has a deadline. The numbers go to standard
//! output and to `docs/performance.md`. `--only parts` measures instead what the parts of a gateway cost on the bare proxy
//! ([`parts`]), and writes nothing.
//!
//! Without `--bench` (as `cargo test --all-targets` calls it) it does nothing.

mod agent;
mod client;
mod machine;
mod measure;
mod parts;
mod peer;
mod proxy;
mod report;
mod serve;
mod spoken;
// The same processes and rows as in the kill rounds.
#[path = "../../tests/chaos/process.rs"]
mod process;
#[path = "../../tests/chaos/world.rs"]
mod world;

use anyhow::{Context as _, bail};
use std::net::SocketAddr;
use std::path::Path;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match arguments.as_slice() {
        ["--role", "agent"] => runtime.block_on(agent::run()),
        ["--role", "proxy", upstream] => {
            let upstream: SocketAddr = upstream.parse().context("the agent's address")?;
            runtime.block_on(proxy::run(upstream))
        }
        ["--role", "parts", stage, upstream, dir] => {
            let stage = parts::Stage::of(stage).context("a stage of the parts")?;
            let upstream: SocketAddr = upstream.parse().context("the agent's address")?;
            runtime.block_on(parts::run(stage, upstream, Path::new(dir)))
        }
        arguments if arguments.contains(&"--bench") => {
            let plan = measure::Plan::of(arguments)?;
            let measured = runtime.block_on(measure::run(&plan))?;
            report::write(&plan, &measured)
        }
        // `cargo test --all-targets` and listings.
        [] | ["--list" | "--test", ..] => Ok(()),
        _ => bail!("usage: load --bench [--rounds N] [--requests N] [--connections N] [--only gateway|parts]"),
    }
}
