//! What conditions cost a call: `cargo bench -p chancery --bench conditions`. By hand; prints one line a document.
//!
//! Each document is compiled once, as when a tenant is loaded, and asked many times about one call of usual size, and
//! about one with as much metadata as is looked at.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints what it found, or ends")]

use a2a::OperationKind;
use chancery::registry::conditions::{Asked, AskedMessage, Conditions, Metadata};
use std::hint::black_box;
use std::time::{Duration, Instant};

fn main() {
    let small = r#"{"customer":"acme","level":3}"#.to_owned();
    let members: Vec<String> = (0..256).map(|at| format!(r#""k{at}":"{}""#, "v".repeat(500))).collect();
    let large = format!("{{{}}}", members.join(","));
    println!("{:<44} {:>12} {:>12} {:>12}", "document", "compile", "usual call", "large call");
    for (name, text) in documents() {
        let began = Instant::now();
        let document = serde_json::json!({"policies": text}).to_string();
        let conditions = Conditions::compile("house", (1, 1), document.as_bytes()).unwrap();
        let compiled = began.elapsed();
        let times = [&small, &large].map(|metadata| time(&conditions, &asked(metadata)));
        println!("{name:<44} {compiled:>12.1?} {:>12.1?} {:>12.1?}", times[0], times[1]);
    }
}

fn documents() -> Vec<(&'static str, String)> {
    let network = |at: usize| {
        format!(
            "@id(\"n{at}\") forbid(principal, action, resource) when {{ context.source.isInRange(ip(\"192.0.{at}.0/24\")) }};\n"
        )
    };
    let customer = |at: usize| {
        format!(
            "@id(\"c{at}\") forbid(principal, action, resource) when {{ context has message && \
             context.message.metadata.text.hasTag(\"customer\") && \
             context.message.metadata.text.getTag(\"customer\") == \"no-{at}\" }};\n"
        )
    };
    let many = |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<String>();
    // The dearest text that fits: patterns of stars over every long value.
    let pattern = "*a".repeat(7);
    let dear = |at: usize| {
        format!(
            "@id(\"d{at}\") forbid(principal, action, resource) when {{ context has message && \
             context.message.metadata.text.hasTag(\"k{at}\") && \
             context.message.metadata.text.getTag(\"k{at}\") like \"{pattern}\" }};\n"
        )
    };
    vec![
        ("1 policy, network", many(1, &network)),
        ("20 policies, network", many(20, &network)),
        ("200 policies, network", many(200, &network)),
        ("1 policy, metadata", many(1, &customer)),
        ("20 policies, metadata", many(20, &customer)),
        ("200 policies, metadata", many(200, &customer)),
        ("140 policies, as many stars as may be", many(140, &dear)),
    ]
}

fn asked(metadata: &str) -> Asked {
    let read = |text: &str| Metadata::of(Some(&json::read(text.as_bytes(), &json::Limits::default()).unwrap()));
    Asked {
        principal: "ann".to_owned(),
        groups: vec!["finance".to_owned(), "staff".to_owned()],
        scheme: "api_key",
        card: "books".to_owned(),
        tags: vec!["internal".to_owned()],
        direction: "inbound",
        release: Some("2.1.0".to_owned()),
        revision: 7,
        operation: OperationKind::SendMessage,
        now: 1_796_068_440_000_000,
        source: "10.1.2.3".parse().unwrap(),
        extensions: vec!["https://e.test/v1".to_owned()],
        delegation: None,
        metadata: Metadata::default(),
        message: Some(AskedMessage { metadata: read(metadata), parts: 1, ..AskedMessage::default() }),
    }
}

/// The middle of many rounds.
fn time(conditions: &Conditions, asked: &Asked) -> Duration {
    let mut rounds: Vec<Duration> = (0..201)
        .map(|_| {
            let began = Instant::now();
            black_box(conditions.judge(black_box(asked)));
            began.elapsed()
        })
        .collect();
    rounds.sort_unstable();
    rounds[rounds.len() / 2]
}
