//! `kill -9` under load, again and again (product.md D6): what was acknowledged is on disk, and is shipped once.

use crate::caller::{Ask, Binding, Caller, Mode, within};
use crate::ledger::Ledger;
use crate::process::Gateway;
use crate::records;
use crate::world::{self, CardOf};
use chancery::clock::Clock;
use std::sync::Arc;
use store::testing::{TestStore, postgres, sqlite_file};
use tokio::task::JoinSet;

/// Kills at SCALE = 1.
const ROUNDS: u32 = 20;

/// F55
#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_record_is_lost_or_doubled_by_kills_on_sqlite() {
    rounds("SQLite", &sqlite_file().await).await;
}

/// F55
#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_record_is_lost_or_doubled_by_kills_on_postgres() {
    if let Some(store) = postgres().await {
        rounds("PostgreSQL", &store).await;
    }
}

#[expect(clippy::print_stderr, reason = "the seed, without which a failure cannot be repeated")]
async fn rounds(name: &str, test: &TestStore) {
    let mut dice = Dice::new();
    eprintln!("{name}: CHANCERY_TEST_SEED={}", dice.seed);
    let dir = tempfile::tempdir().unwrap();
    let agents = sample_agents::start_all(([127, 0, 0, 1], 0).into(), None).await.unwrap();
    let cards = [
        CardOf { name: "rest", agent: &agents.echo_url, binding: "HTTP+JSON" },
        CardOf { name: "rpc", agent: &agents.echo_url, binding: "JSONRPC" },
    ];
    let key = world::furnish(&test.store, &cards, Clock::System.now()).await.unwrap();
    let ledger = Arc::new(Ledger::new());
    for round in 0..ROUNDS * scale() {
        let gateway = Gateway::start(PROGRAM, dir.path(), &test.url, &[]).unwrap();
        // Every other time the next load begins while the last process's records are still being shipped.
        if dice.below(2) == 0 {
            records::shipped(dir.path()).await;
            records::check(&records::all(&test.store).await, &ledger.entries());
        }
        let caller = Caller { gateway: gateway.public, key: key.clone(), ledger: Arc::clone(&ledger) };
        let mut callers = load(&caller, round);
        within(ledger.wait_for(10 + dice.below(150))).await;
        // SIGKILL.
        drop(gateway);
        while let Some(ended) = within(callers.join_next()).await {
            ended.unwrap();
        }
    }
    let last = Gateway::start(PROGRAM, dir.path(), &test.url, &[]).unwrap();
    records::shipped(dir.path()).await;
    let found = records::check(&records::all(&test.store).await, &ledger.entries());
    eprintln!("{name}: {found:?} of {} requests sent", ledger.entries().sent.len());
    assert!(found.records >= found.acknowledged, "{found:?}");
    assert!(found.interrupted > 0, "no kill hit an open exchange, so nothing was tried: {found:?}");
    drop(last);
    agents.shutdown().await;
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_chancery");

/// Unary calls and streams in both bindings, until the gateway is gone.
fn load(caller: &Caller, round: u32) -> JoinSet<()> {
    let mut callers = JoinSet::new();
    for number in 0..12 {
        let binding = if number % 2 == 0 { Binding::HttpJson } else { Binding::JsonRpc };
        let ask = if number < 8 {
            Ask { binding, mode: Mode::Unary, text: format!("hello {number}"), pace: 0 }
        } else {
            Ask { binding, mode: Mode::Stream, text: "stream 4 one two three four".to_owned(), pace: 3 }
        };
        callers.spawn(caller.clone().ask_until_gone(format!("r{round}-c{number}"), ask));
    }
    callers
}

/// Random numbers that a seed repeats (splitmix64).
struct Dice {
    seed: u64,
    state: u64,
}

impl Dice {
    fn new() -> Self {
        let given = setting("CHANCERY_TEST_SEED");
        let seed = given.unwrap_or_else(|| u64::try_from(Clock::System.now()).unwrap());
        Self { seed, state: seed }
    }

    fn below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }
}

/// `SCALE`, which multiplies what takes long.
pub(crate) fn scale() -> u32 {
    setting("SCALE").map_or(1, |scale| u32::try_from(scale).unwrap().max(1))
}

#[expect(clippy::disallowed_methods, reason = "the tests' own settings")]
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
