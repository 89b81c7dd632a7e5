//! How fast text is looked at: `cargo bench -p guard`. Numbers go to docs/guardrails-quality.md, never into a test.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends where its own input is wrong"
)]

use guard::{Extent, Inspector, Options, Passage, Pipeline, Surface};
use json::{Json, Limits, read};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    // `cargo bench -p guard -- patterns`: that call alone, often enough for a profiler.
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    if let Some(only) = only {
        let detectors = if only == "patterns" { PATTERNS } else { DETECTORS };
        return (0..20).for_each(|_| one_call(&only, detectors));
    }
    for bytes in [4 << 10, 64 << 10, 1 << 20] {
        whole_text(bytes);
    }
    for (name, detectors) in [("words and patterns", PATTERNS), ("all our detectors", DETECTORS)] {
        one_call(name, detectors);
    }
    one_token_of_a_stream();
    memory();
    unpleasant_texts();
}

/// What a stream that waits and a compiled policy keep, by the pages of this process.
fn memory() {
    let pages = || {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4
    };
    let pipeline = pipeline();
    let leaves = ["/artifactUpdate/artifact/parts/0/text".to_owned()];
    let idle = || {
        let mut inspector = pipeline.inspector(Surface::Outbound);
        for word in PROSE.split_inclusive(' ').cycle().take(2_000) {
            let passage = Passage { channel: "t/a", leaves: &leaves, extent: Extent::Continues };
            black_box(inspector.event(&mut event(word), &|_| false, &[passage], false));
        }
        inspector
    };
    let kept = (0..50).map(|_| idle()).collect::<Vec<_>>();
    let before = pages();
    let more = (0..200).map(|_| idle()).collect::<Vec<_>>();
    println!("an idle stream keeps {} KiB ({} streams)", (pages() - before) / more.len(), kept.len() + more.len());
    let before = pages();
    let policies = (0..20).map(|_| self::pipeline()).collect::<Vec<_>>();
    println!("a compiled policy with all detectors keeps {} KiB", (pages() - before) / policies.len());
}

/// What costs most: 64 KiB, the most that is looked at in one go.
fn unpleasant_texts() {
    let pipeline = pipeline();
    // Beginnings of keys, which are none.
    #[rustfmt::skip]
    const SEEDS: [&str; 16] = ["a", "%41", "&#65; ", "4111 1111 ", "é", "a b c d e ", "ignore all your ", "sk-ant-", "b@a.com ", "::1 ", "aGVsbG8gd29ybGQs", "1gn0r3 ", "\u{e0041}", "password=a1b2c3d4 ", "sk-ant-api03-Zq9_", "-----BEGIN PRIVATE KEY"];
    for seed in SEEDS {
        let text: String = seed.chars().cycle().take(64 << 10).collect();
        let json = Json::from([("message", text.as_str())]);
        let took = timed(|| _ = black_box(pipeline.inspect(Surface::Outbound, &mut json.clone(), &|_| false)), 20);
        println!("64 KiB of {seed:?}: {:?}", took.iter().min().unwrap());
    }
}

const DETECTORS: &str = r#"{"id":"secret","action":"redact"},{"id":"pii","action":"redact"},{"id":"injection","action":"block"},{"id":"text.hidden","action":"monitor"}"#;

const PROSE: &str = "An agent answers in events, and each event carries a piece of what it has to say. The gateway looks at every piece, \
together with what came before, and lets it go as soon as nothing that follows could change the verdict. Most of the time that is at \
once; in 2024 we measured a few characters on average, mostly the word that is being written (see section 3.1). ";

/// What a tenant would have as a start.
const PATTERNS: &str = r#"
    {"id":"words","name":"code-names","words":["Blue Heron","Project Cassowary","Night Kestrel"],"whole_word":true,"action":"block"},
    {"id":"pattern","name":"injection","pattern":"(?i)ignore\\s{1,8}all\\s{1,8}previous\\s{1,8}instructions","max_length":200,"action":"block"},
    {"id":"pattern","name":"aws-key","pattern":"AKIA[0-9A-Z]{16}","max_length":20,"action":"redact"},
    {"id":"pattern","name":"github-token","pattern":"gh[pousr]_[A-Za-z0-9]{36}","max_length":44,"action":"redact"}"#;

/// A call and its answer, 2 KB of both, as they stand on the wire.
fn one_call(name: &str, detectors: &str) {
    let prose = |bytes: usize| PROSE.chars().cycle().take(bytes).collect::<String>();
    let asked = format!(
        r#"{{"message":{{"messageId":"5f0c2b9e-8a51-4f57-9d0e-3f6f0c9b7a11","role":"ROLE_USER","parts":[{{"text":"{}"}}]}}}}"#,
        prose(880)
    );
    let answered = format!(
        r#"{{"task":{{"id":"7a510001-4a7d-4c1b-9e3f-0000000000d7","contextId":"c0e70002-4a7d-4c1b-9e3f-0000000000d7","status":{{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-01T00:00:00Z"}},"artifacts":[{{"artifactId":"artifact-1","name":"answer","parts":[{{"text":"{}"}}]}}]}}}}"#,
        prose(740)
    );
    let pipeline = pipeline_of(detectors);
    let trees = [asked, answered].map(|text| read(text.as_bytes(), &Limits::default()).unwrap());
    let look = || {
        for tree in &trees {
            let mut tree = tree.clone();
            black_box(pipeline.inspect(Surface::Outbound, &mut tree, &|_| false));
        }
    };
    let mut took = timed(look, 5_000);
    took.sort_unstable();
    println!("a call and its answer, {name}: median {:?}, p99 {:?}", took[took.len() / 2], took[took.len() * 99 / 100]);
}

fn pipeline() -> Arc<Pipeline> {
    pipeline_of(DETECTORS)
}

fn pipeline_of(detectors: &str) -> Arc<Pipeline> {
    let document = format!(r#"{{"surfaces":["a2a_outbound"],"detectors":[{detectors}]}}"#);
    let document = read(document.as_bytes(), &Limits::default()).unwrap();
    Arc::new(Pipeline::compile(&document, &Options { key: b"bench", policy: "bench", version: 1 }).unwrap())
}

fn message(bytes: usize) -> Json {
    let text: String = PROSE.chars().cycle().take(bytes).collect();
    Json::from([("message", Json::from([("parts", Json::from(vec![Json::from([("text", text.as_str())])]))]))])
}

fn whole_text(bytes: usize) {
    let (pipeline, json) = (pipeline(), message(bytes));
    let look = || {
        let mut json = json.clone();
        black_box(pipeline.inspect(Surface::Outbound, &mut json, &|_| false));
    };
    let mut took = timed(look, (64 << 20) / bytes.max(1));
    took.sort_unstable();
    let median = took[took.len() / 2];
    let late = took[took.len() * 99 / 100];
    let rate = f64::from(u32::try_from(bytes).unwrap()) / median.as_secs_f64() / 1e6;
    println!("{bytes} bytes of harmless prose: {rate:.0} MB/s, median {median:?}, p99 {late:?}");
}

fn timed(mut work: impl FnMut(), times: usize) -> Vec<Duration> {
    let mut once = || {
        let began = Instant::now();
        work();
        began.elapsed()
    };
    (0..times.clamp(20, 5_000)).map(|_| once()).collect()
}

fn event(text: &str) -> Json {
    Json::from([(
        "artifactUpdate",
        Json::from([("artifact", Json::from([("parts", Json::from(vec![Json::from([("text", text)])]))]))]),
    )])
}

fn one_token_of_a_stream() {
    let pipeline = pipeline();
    let leaves = ["/artifactUpdate/artifact/parts/0/text".to_owned()];
    let mut inspector = pipeline.inspector(Surface::Outbound);
    let pass = |inspector: &mut Inspector, text: &str| {
        let mut json = event(text);
        let passage = Passage { channel: "t/a", leaves: &leaves, extent: Extent::Continues };
        black_box(inspector.event(&mut json, &|_| false, &[passage], false));
    };
    for word in PROSE.split_inclusive(' ').cycle().take(1_000) {
        pass(&mut inspector, word);
    }
    let mut words = PROSE.split_inclusive(' ').cycle();
    let mut took = timed(|| pass(&mut inspector, words.next().unwrap()), 5_000);
    took.sort_unstable();
    println!(
        "one word in an event of a stream: median {:?}, p99 {:?}",
        took[took.len() / 2],
        took[took.len() * 99 / 100]
    );
}
