//! However a text is cut into events and parts, what comes out is what redacting the whole gives.
//!
//! `SCALE` multiplies the number of cuttings (10 000 at 1).

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test, as the tests themselves do")]

use guard::{Extent, Inspector, Options, Outcome, Passage, Pipeline, Surface};
use json::{Json, Limits, Path, read};
use std::sync::Arc;

/// A small generator of our own, so that a failing round can be named and tried again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % sides.max(1)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

const POLICIES: [&str; 5] = [
    r#"{"id":"secret","action":"redact"},{"id":"pii","action":"redact"}"#,
    r#"{"id":"pii","action":"mask"},{"id":"secret","action":"tokenise"},{"id":"pii.card","name":"cards","action":"redact"}"#,
    r#"{"id":"words","name":"w","words":["blue heron","heron","key","bluebird","ab"],"action":"redact"},{"id":"words","name":"any","words":["ret sec","secret"],"whole_word":false,"action":"mask"}"#,
    r#"{"id":"pattern","name":"a","pattern":"AKIA[0-9A-Z]{16}","action":"redact"},{"id":"pattern","name":"b","pattern":"(?i)ignore\\s{1,3}all|aba|\\bkey\\b|[0-9]{4,6}","action":"redact"},{"id":"url","deny":["evil.test"],"action":"redact"}"#,
    r#"{"id":"secret","action":"redact"},{"id":"pii.email","action":"mask"},{"id":"words","name":"w","words":["blue heron"],"action":"redact"},{"id":"pattern","name":"d","pattern":"[0-9]{3}-[0-9]{2}","action":"redact"},{"id":"injection","action":"monitor"}"#,
];

/// Looks like secrets and pieces of them; none ever opened anything.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "AKIAIOSFODNN7EXAMPLE", "AKIA", "IOSFODNN7", "EXAMPLE", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_", "sk-ant-api03-Qb7uR9xY2mKp4LwZ8vTnC1sDfGhJ3aE6",
    "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ", "eyJ", ".eyJ",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----", "-----BEGIN ", "-----BEGIN CERTIFICATE-----", "PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----",
    "password = \"hunter2Tr0ub4dor\"", "token: ", "api_key=a8Fk29sLq0Zx", "Bearer a8Fk29sLq0Zx81mN4", "postgres://u:Sw0rdf1sh@db.test/x", "://", "@",
    "4111 1111 1111 1111", "4111", "1111", "5500005555555559", "378282246310005", " 123", "DE89 3704 0044 0532 0130 00", "DE89", "GB82WEST12345698765432",
    "536-90-4399", "ssn 536904399", "bob@example.com", "a.b+c@mail.test", "+1 212 555 0123", "(212) 555-0123", "call me 5550123", "phone ", "10.1.2.3", "00:1a:2b:3c:4d:5e",
    "51641032-6169-4080-8c88-5b3196e8e45d", "51641032-6169-4080", "-8c88-5b3196e8e45d", "20a0ac3b-cb09-4471-be64-", "5f94b7ffc53d", "4d5e6f70-4111-1111-1111-1111abcdef01",
    "blue", " heron", "blue  heron", "key", "mon", "ab", "aba", "secret", "ret sec", "Ignore \n all", "1234", "56", "https://evil.test/a?b=c", "https://good.test",
    " ", "\n", ", and ", "é", "\u{200b}", "\u{301}", "А", "%41KIA", "QUtJQUlPU0ZPRE5ON0VYQU1QTEU=", "b l u e  h e r o n", "&#65;",
];

fn pipeline(detectors: &str) -> Arc<Pipeline> {
    let document = format!(r#"{{"surfaces":["a2a_outbound"],"detectors":[{detectors}]}}"#);
    let document = read(document.as_bytes(), &Limits::default()).unwrap();
    Arc::new(Pipeline::compile(&document, &Options { key: b"key", policy: "p", version: 1 }).unwrap())
}

fn free(_: &Path<'_>) -> bool {
    false
}

fn artifact(parts: &[String]) -> Json {
    let list: Vec<Json> = parts.iter().map(|part| Json::from([("text", part.as_str())])).collect();
    Json::from([("artifact", Json::from([("parts", Json::from(list))]))])
}

/// The whole at once; none if it is blocked.
fn whole(pipeline: &Pipeline, text: &str) -> Option<String> {
    let mut json = artifact(&[text.to_owned()]);
    let verdict = pipeline.inspect(Surface::Outbound, &mut json, &free);
    if verdict.blocked_by().is_some() {
        return None;
    }
    json.pointer("/artifact/parts/0/text").and_then(Json::as_str).map(str::to_owned)
}

fn text(dice: &mut Dice) -> String {
    let count = 1 + dice.roll(10);
    (0..count).map(|_| dice.pick(PIECES)).collect()
}

/// The text in pieces: events of one to three parts.
fn cut(dice: &mut Dice, text: &str) -> Vec<Vec<String>> {
    let most = [1, 2, 5, 20, 200][dice.roll(5)];
    let letters: Vec<char> = text.chars().collect();
    let mut events = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        let mut parts = Vec::new();
        for _ in 0..=dice.roll(3) {
            let end = (at + 1 + dice.roll(most)).min(letters.len());
            parts.push(letters[at..end].iter().collect::<String>());
            at = end;
        }
        events.push(parts);
    }
    events
}

/// What goes out, event by event; none if the stream is cut.
fn streamed(inspector: &mut Inspector, events: &[Vec<String>], ends: bool) -> Result<String, String> {
    let mut out = String::new();
    for (at, parts) in events.iter().enumerate() {
        let mut event = artifact(parts);
        let leaves: Vec<String> = (0..parts.len()).map(|at| format!("/artifact/parts/{at}/text")).collect();
        let last = ends && at + 1 == events.len();
        let extent = if last { Extent::Ends } else { Extent::Continues };
        let judged = inspector.event(&mut event, &free, &[Passage { channel: "a", leaves: &leaves, extent }], false);
        if let Some(rule) = judged.verdict.blocked_by() {
            return Err(rule.to_owned());
        }
        assert!(judged.flushes.is_empty());
        for leaf in &leaves {
            out.push_str(event.pointer(leaf).and_then(Json::as_str).unwrap());
        }
    }
    let judged = inspector.finish();
    if let Some(rule) = judged.verdict.blocked_by() {
        return Err(rule.to_owned());
    }
    out.extend(judged.flushes.into_iter().map(|flush| flush.text));
    Ok(out)
}

/// Whether the cutting itself makes a phrase for a reader who puts a space between parts: that cuts the stream.
fn phrase_between_parts(pipeline: &Pipeline, events: &[Vec<String>]) -> bool {
    let mut many = events.iter().filter(|parts| parts.len() > 1);
    many.any(|parts| pipeline.inspect(Surface::Outbound, &mut artifact(parts), &free).blocked_by().is_some())
}

fn scale() -> usize {
    #[expect(clippy::disallowed_methods, reason = "a test reads how long it may take")]
    std::env::var("SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

#[test]
fn every_cutting_gives_what_the_whole_gives() {
    let pipelines: Vec<Arc<Pipeline>> = POLICIES.iter().map(|detectors| pipeline(detectors)).collect();
    let cuttings = 10_000 * scale();
    let (mut compared, mut odd, mut mismatches) = (0_usize, 0_usize, 0_usize);
    for round in 0..cuttings {
        let mut dice =
            Dice(0x9E37_79B9_7F4A_7C15 ^ (u64::try_from(round).unwrap() + 1).wrapping_mul(0xD134_2543_DE82_EF95));
        let pipeline = &pipelines[dice.roll(pipelines.len())];
        let text = text(&mut dice);
        let events = cut(&mut dice, &text);
        let got = streamed(&mut pipeline.inspector(Surface::Outbound), &events, round % 2 == 0);
        let expected = whole(pipeline, &text);
        if got.is_err() && expected.is_some() && phrase_between_parts(pipeline, &events) {
            odd += 1;
            continue;
        }
        compared += 1;
        if got.as_ref().ok() != expected.as_ref() {
            println!("round {round}: {got:?} is not {expected:?}\n{text:?}\n{events:?}");
            mismatches += 1;
        }
    }
    println!(
        "{compared} of {cuttings} cuttings compared, {mismatches} mismatches; {odd} cut for a phrase between parts"
    );
    assert_eq!(mismatches, 0);
    assert!(compared * 10 > cuttings * 9);
}

/// A stream folded into a task reads as the redacted task does.
#[test]
fn a_folded_stream_equals_the_redacted_task() {
    let pipelines: Vec<Arc<Pipeline>> = POLICIES.iter().map(|detectors| pipeline(detectors)).collect();
    for round in 0..500 * scale() {
        let mut dice =
            Dice(0xD1B5_4A32_D192_ED03 ^ (u64::try_from(round).unwrap() + 1).wrapping_mul(0x9E6C_63D0_876A_9A47));
        let pipeline = &pipelines[dice.roll(pipelines.len())];
        let text = text(&mut dice);
        let events = cut(&mut dice, &text);
        let parts: Vec<Json> = events.iter().flatten().map(|part| Json::from([("text", part.as_str())])).collect();
        let mut task = Json::from([("artifacts", Json::from(vec![Json::from([("parts", Json::from(parts))])]))]);
        let verdict = pipeline.inspect(Surface::Outbound, &mut task, &free);
        let Ok(streamed) = streamed(&mut pipeline.inspector(Surface::Outbound), &events, true) else { continue };
        if matches!(verdict.outcome, Outcome::Blocked { .. }) {
            continue;
        }
        let count = events.iter().flatten().count();
        let text = |at: usize| {
            task.pointer(&format!("/artifacts/0/parts/{at}/text")).and_then(Json::as_str).unwrap().to_owned()
        };
        assert_eq!(streamed, (0..count).map(text).collect::<String>(), "round {round}");
    }
}
