//! A hundred rules that mean harm: each is refused with the reason, or costs no more than its weight says.
//!
//! A gateway looks at `64 KiB / weight` bytes in one go and at more off its reactor. Times are compared with those of our
//! own detectors on as many bytes, never with a clock's.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test, as the tests themselves do")]

use guard::{Options, Pipeline, Surface};
use json::{Json, Limits, read};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What is looked at in one go.
const SLICE: usize = 64 << 10;

fn compile(detector: &Json) -> Result<Pipeline, String> {
    let document = Json::from([
        ("surfaces", Json::from(vec![Json::from("a2a_inbound")])),
        ("detectors", Json::from(vec![detector.clone()])),
    ]);
    Pipeline::compile(&document, &Options { key: b"key", policy: "p", version: 1 })
        .map_err(|error| error.problems.into_iter().map(|one| one.problem).collect::<Vec<_>>().join("; "))
}

fn pattern(source: &str) -> Json {
    Json::from([("id", "pattern"), ("name", "p"), ("pattern", source), ("action", "block")])
}

fn schema(source: &str) -> Json {
    let schema = read(source.as_bytes(), &Limits::default()).unwrap();
    Json::from([("id", Json::from("schema")), ("schema", schema), ("action", Json::from("block"))])
}

/// Patterns that are slow, large or endless in one engine or another, each in several sizes.
fn patterns() -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for least in [2, 8, 40, 200, 1_000, 3_000] {
        all.push(format!("(a|aa){{1,{least}}}$"));
        all.push(format!("(a|b|ab){{{least}}}c"));
        all.push(format!("[01]{{1,{least}}}1[01]{{{least}}}"));
        all.push(format!("(x{{1,{least}}}){{1,{least}}}y"));
        all.push(format!("(?:[ab]{{0,{least}}}[ac]{{0,{least}}})x"));
        all.push(format!(r"\w{{1,{least}}}@\w{{1,{least}}}"));
        all.push(format!(r"(?i)\pL{{1,{least}}}9"));
        all.push(format!(".{{0,{least}}}z"));
        all.push(format!("(a?){{{least}}}a{{{least}}}"));
        all.push(format!(r"(\s{{1,{least}}}\S{{1,{least}}}){{2}}!"));
        all.push(format!("{}a", "(a|".repeat(least.min(200))));
        all.push(format!("{}{}", "a?".repeat(least), "a".repeat(least)));
    }
    for endless in [
        "(a+)+$",
        "(a*)*b",
        "(a|aa)+$",
        "(.*)*x",
        "([a-z]+)*1",
        ".*.*.*=",
        "a{3,}",
        r"(?=a+)b",
        r"(a)\1",
        "[",
        "",
        "(?s).*",
    ] {
        all.push(endless.to_owned());
    }
    all
}

/// Schemas that branch, refer to themselves, or compare everything with everything.
fn schemas() -> Vec<String> {
    let mut all = Vec::new();
    for width in [2, 8, 16] {
        let branch = |inner: &str| format!(r#"{{"anyOf":[{}]}}"#, vec![inner; width].join(","));
        all.push(branch(&branch(&branch(r#"{"type":"null"}"#))));
        all.push(format!(
            r##"{{"$defs":{{"a":{}}},"$ref":"#/$defs/a"}}"##,
            branch(r##"{"items":{"$ref":"#/$defs/a"}}"##)
        ));
        all.push(format!(r#"{{"type":"array","uniqueItems":true,"items":{}}}"#, branch(r#"{"type":"null"}"#)));
        all.push(format!(r#"{{"type":"string","pattern":"(a|aa){{1,{width}}}$"}}"#));
        all.push(format!(r#"{{"patternProperties":{{"^(a|b){{1,{width}}}$":{{"type":"null"}}}}}}"#));
    }
    all.push(r#"{"$ref":"https://evil.test/schema.json"}"#.to_owned());
    all.push(r#"{"type":"string","pattern":"(a+)+\\1"}"#.to_owned());
    all
}

/// So long takes a look at the most unpleasant text, the best of three times.
fn took(pipeline: &Pipeline, message: &Json) -> Duration {
    let once = || {
        let mut message = message.clone();
        let began = Instant::now();
        pipeline.inspect(Surface::Inbound, &mut message, &|_| false);
        began.elapsed()
    };
    (0..3).map(|_| once()).min().unwrap()
}

fn text(seed: &str, bytes: usize) -> Json {
    let text: String = seed.chars().cycle().take(bytes).collect();
    Json::from([("message", Json::from([("parts", Json::from(vec![Json::from([("text", text.as_str())])]))]))])
}

fn data(bytes: usize) -> Json {
    let element = Json::from(vec![Json::from("aaaaaaaa"), Json::from(vec![Json::from("aaaaaaab")])]);
    let elements = vec![element; bytes / 26 + 1];
    let part = |elements: Vec<Json>| Json::from([("data", Json::from(elements))]);
    Json::from([("message", Json::from([("parts", Json::from(vec![part(elements)]))]))])
}

type Message = (&'static str, Box<dyn Fn(usize) -> Json>);

/// What a message of so many bytes costs our own detectors.
struct Usual {
    ours: Pipeline,
    known: HashMap<&'static str, Duration>,
}

impl Usual {
    fn of(&mut self, (seed, message): &Message) -> Duration {
        let ours = &self.ours;
        let measured = || took(ours, &message(SLICE)).max(Duration::from_micros(500));
        *self.known.entry(*seed).or_insert_with(measured)
    }
}

#[test]
fn a_hundred_hostile_rules_are_refused_or_bounded() {
    let ours = read(br#"{"id":"secret","action":"monitor"}"#, &Limits::default()).unwrap();
    let mut usual = Usual { ours: compile(&ours).unwrap(), known: HashMap::new() };
    let of = |seed: &'static str| -> Message { (seed, Box::new(move |bytes| text(seed, bytes))) };
    let texts: Vec<Message> = ["a", "01", "ab ", "x", "\u{e9}1"].map(of).into();
    let parts: Vec<Message> = vec![("data", Box::new(data))];
    let (mut refused, mut bounded, mut worst) = (0, 0, 0.0_f64);
    let rules = patterns().into_iter().map(|source| (pattern(&source), &texts));
    for (rule, messages) in rules.chain(schemas().into_iter().map(|source| (schema(&source), &parts))) {
        let pipeline = match compile(&rule) {
            Ok(pipeline) => pipeline,
            Err(reason) => {
                assert!(reason.len() > 10, "{reason}");
                refused += 1;
                continue;
            }
        };
        for message in messages {
            let slice = took(&pipeline, &(message.1)(SLICE / pipeline.weight()));
            let ratio = slice.as_secs_f64() / usual.of(message).as_secs_f64();
            worst = worst.max(ratio);
            let rule = String::from_utf8_lossy(&json::write(&rule)).into_owned();
            assert!(ratio < 20.0, "{ratio:.1} times {}, weight {}: {rule:.200}", message.0, pipeline.weight());
        }
        bounded += 1;
    }
    println!("{refused} refused, {bounded} bounded; the worst slice took {worst:.1} times what ours take");
    assert!(refused + bounded >= 100 && refused >= 20 && bounded >= 20);
}

#[test]
fn many_rules_weigh_as_much_as_all_of_them() {
    let one = compile(&pattern("(a|b|ab){200}c")).unwrap().weight();
    let many: Vec<Json> = (0..50)
        .map(|at| {
            let name = format!("p{at}");
            Json::from([("id", "pattern"), ("name", name.as_str()), ("pattern", "(a|b|ab){200}c"), ("action", "block")])
        })
        .collect();
    let document =
        Json::from([("surfaces", Json::from(vec![Json::from("a2a_inbound")])), ("detectors", Json::from(many))]);
    let all = Pipeline::compile(&document, &Options { key: b"key", policy: "p", version: 1 }).unwrap();
    assert!(one > 1 && all.weight() > 40 * (one - 1), "{one} {}", all.weight());
}
