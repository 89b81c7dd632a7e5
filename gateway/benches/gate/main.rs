//! Two questions that no test may ask of a clock: does a foreign card or task cost what a missing one costs, and does a
//! tenant suffer from a neighbour at twenty times its limits?
//!
//! `cargo bench -p chancery --bench gate -- timing` prints ratios of medians; `… -- neighbour` prints the errors and the p99
//! of the quiet tenant, alone and beside the loud one in five ways. Without a word both run.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a program that people start to see numbers"
)]

mod neighbour;
mod timing;

#[path = "../../tests/it/rig.rs"]
#[expect(dead_code, reason = "shared with the integration tests, which use all of it")]
mod rig;
#[path = "../../tests/it/start.rs"]
mod start;
#[path = "../../tests/it/wire.rs"]
#[expect(dead_code, reason = "shared with the integration tests, which use all of it")]
mod wire;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

#[tokio::main]
async fn main() {
    let what = std::env::args().skip(1).find(|word| !word.starts_with("--")).unwrap_or_default();
    if what.is_empty() || what == "timing" {
        timing::run().await;
    }
    if what.is_empty() || what == "neighbour" {
        neighbour::run().await;
    }
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
    async fn ask(&self, key: &str, path: &str, body: Option<String>) -> (u16, Duration) {
        let url = format!("http://{}{path}", self.at);
        let request = match body {
            Some(body) => self.http.post(url).header("content-type", "application/json").body(body),
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
