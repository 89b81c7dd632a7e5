//! Questions that no test may ask of a clock: does a foreign card or task cost what a missing one costs, does a tenant
//! suffer from a neighbour at twenty times its limits, and how long does what was revoked go on working?
//!
//! `bash gateway/benches/gate/run [timing] [neighbour] [revocation]` prints the numbers, and whether they are within what
//! product and threat model promise; without a word all three run. It fails where they are not. `SCALE` multiplies the
//! rounds. What is compared runs in turn, so that whatever else the machine does meets both.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that people start to see numbers"
)]

mod aside;
mod neighbour;
mod revocation;
mod timing;

#[path = "../../tests/it/harness.rs"]
#[expect(dead_code, reason = "shared with the integration tests, which use all of it")]
mod harness;
#[path = "../../tests/it/replica.rs"]
mod replica;
#[path = "../../tests/it/rig.rs"]
#[expect(dead_code, reason = "shared with the integration tests, which use all of it")]
mod rig;
#[path = "../../tests/it/start.rs"]
mod start;
#[path = "../../tests/it/wire.rs"]
#[expect(dead_code, reason = "shared with the integration tests, which use all of it")]
mod wire;

use bytes::Bytes;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[tokio::main]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if aside::play(&words.iter().map(String::as_str).collect::<Vec<_>>()).await {
        return ExitCode::SUCCESS;
    }
    // `cargo test --all-targets` and listings start it too.
    if !words.iter().any(|word| word == "--bench") {
        return ExitCode::SUCCESS;
    }
    let all = words.iter().all(|word| word.starts_with("--"));
    let wanted = |name: &str| all || words.iter().any(|word| word == name);
    let mut met = true;
    if wanted("timing") {
        met &= timing::run().await;
    }
    if wanted("neighbour") {
        met &= neighbour::run().await;
    }
    if wanted("revocation") {
        met &= revocation::run().await;
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How many times the rounds of a short run.
#[expect(clippy::disallowed_methods, reason = "a setting of the run, not of the gateway")]
fn scale() -> usize {
    std::env::var("SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1).max(1)
}

/// A client that keeps its connections.
#[derive(Clone)]
struct Client {
    http: reqwest::Client,
    at: SocketAddr,
}

impl Client {
    fn new(at: SocketAddr) -> Self {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap();
        Self { http, at }
    }

    /// Asks, reads all of the answer; gives the status and how long it took. 0 is no answer.
    async fn ask(&self, key: &str, path: &str, body: Option<impl Into<Bytes>>) -> (u16, Duration) {
        let url = format!("http://{}{path}", self.at);
        let request = match body {
            Some(body) => self.http.post(url).header("content-type", "application/json").body(body.into()),
            None => self.http.get(url),
        };
        let request = request.header("authorization", format!("Bearer {key}")).header("a2a-version", "1.0");
        let began = Instant::now();
        let status = match request.send().await {
            Ok(response) => {
                let status = response.status().as_u16();
                let _ = response.bytes().await;
                status
            }
            Err(_) => 0,
        };
        (status, began.elapsed())
    }
}

/// The place `of` 1000 in the sorted times.
fn permille(times: &mut [Duration], of: usize) -> Duration {
    times.sort_unstable();
    times.get((times.len() * of / 1000).min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

const fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "NOT MET" }
}
