//! Texts that arrive in pieces, on the wire: over events, over artifacts, over messages (T-GRD-2, F42), and a stream put
//! together again beside the task it was about.

use std::collections::BTreeMap;

use a2a::Dialect;
use json::Json;
use sample_agents::hostile::{Asked, Reply, Script, Scripted, Spoken};

use crate::rig::{CardSpec, Plan, Rig, SECRET, policy, rpc, says};
use crate::wire::{Heard, Told};

const WORKING: &str = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
const DONE: &str = r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
const TEXT: &str = "/result/artifactUpdate/artifact/parts/0/text";

/// `more` are members of the update.
fn piece(artifact: &str, text: &str, more: &str) -> String {
    format!(
        r#"{{"artifactUpdate":{{"taskId":"t1","contextId":"c1","artifact":{{"artifactId":"{artifact}","parts":[{{"text":"{text}"}}]}}{more}}}}}"#
    )
}

fn more(artifact: &str, text: &str) -> String {
    piece(artifact, text, r#","append":true"#)
}

fn status(text: &str) -> String {
    format!(
        r#"{{"statusUpdate":{{"taskId":"t1","contextId":"c1","status":{{"state":"TASK_STATE_WORKING","message":{{"messageId":"m2","role":"ROLE_AGENT","parts":[{{"text":"{text}"}}]}}}}}}}}"#
    )
}

/// A card over this agent that redacts keys in what its agent says.
async fn redacting(agent: &Scripted) -> Rig {
    let mut spec = CardSpec::of(&agent.url(), Dialect::R1);
    spec.policies = vec![policy(r#"{"surfaces":["a2a_outbound"],"detectors":[{"id":"secret","action":"redact"}]}"#)];
    Plan::echo(spec).start().await
}

/// The stream of these events, as the caller hears it.
async fn streamed(events: &[String]) -> (Scripted, Rig, Heard) {
    let first = Reply::sse().event(WORKING);
    let reply = events.iter().fold(first, |reply, event| reply.event(event)).event(DONE).end();
    let agent = Scripted::start(reply).await.unwrap();
    let rig = redacting(&agent).await;
    let heard = rig.call(rpc("SendStreamingMessage", &says("hi"))).await;
    (agent, rig, heard)
}

/// The half of a key that is out cannot be taken back, so the stream is cut before the other half is.
#[tokio::test]
async fn a_match_over_artifacts_or_messages_cuts_the_stream() {
    let (one, two) = SECRET.split_at(8);
    let (start, end) = (format!("use {one}"), format!("{two} now"));
    let spread = [
        ("two artifacts", vec![piece("a", &start, ""), piece("b", &end, "")]),
        ("an artifact whose last chunk it was, and another", {
            vec![piece("a", &start, r#","lastChunk":true"#), piece("b", &end, r#","append":true"#)]
        }),
        ("two messages", vec![status(&start), status(&end)]),
        ("a message and an artifact", vec![status(&start), piece("a", &end, "")]),
        ("an artifact and a message", vec![piece("a", &start, ""), status(&end)]),
        ("three artifacts", {
            let (middle, rest) = two.split_at(6);
            vec![piece("a", &start, ""), piece("b", middle, ""), piece("c", rest, "")]
        }),
    ];
    for (how, events) in spread {
        let (_agent, rig, heard) = streamed(&events).await;
        assert_eq!(heard.last_code(), -32042, "{how}: {} {}", heard.head, heard.text());
        let last = &two[two.len() - 4..];
        assert!(!heard.text().contains(SECRET) && !heard.text().contains(last), "{how}: {}", heard.text());
        assert_eq!(rig.outcome().await, "blocked", "{how}");
    }
    let apart = [piece("a", &format!("{start}."), ""), status(&format!("and {end}")), piece("b", "well", "")];
    let (_agent, rig, heard) = streamed(&apart).await;
    assert_eq!(heard.events().last().unwrap().at("/result/statusUpdate/status/state"), "TASK_STATE_COMPLETED");
    assert_eq!(rig.outcome().await, "ok");
}

/// What each artifact says after these events, put together as a caller would.
fn folded(events: &[Told]) -> BTreeMap<String, String> {
    let mut artifacts: BTreeMap<String, String> = BTreeMap::new();
    for event in events {
        let event = event.json();
        let Some(update) = event.pointer("/result/artifactUpdate") else { continue };
        let text = |at: &str| update.pointer(at).and_then(Json::as_str).unwrap_or_default().to_owned();
        let append = update.get("append").and_then(Json::as_bool).unwrap_or(false);
        let said = artifacts.entry(text("/artifact/artifactId")).or_default();
        if !append {
            said.clear();
        }
        said.push_str(&text("/artifact/parts/0/text"));
    }
    artifacts
}

/// F42 in its variants: the stream put together is what `GetTask` tells, and both are what redacting the whole gives.
#[tokio::test]
async fn a_stream_put_together_reads_as_the_task() {
    let key = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let token = format!("sk-ant-api03-{}AA", "Qb7uR9xY2mKp4LwZ8vTnC1sDfGhJ3aE6".repeat(3));
    let pieces = |text: &str, size: usize| -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        letters.chunks(size).map(|piece| more("a", &piece.iter().collect::<String>())).collect()
    };
    let whole = format!("first {SECRET} then {key} and {token}, in the end AKIA");
    let redacted = "first [REDACTED:secret.aws_access_key] then [REDACTED:secret.github] and [REDACTED:secret.anthropic], in the end AKIA";
    let mut between = Vec::new();
    for (at, event) in pieces(&whole, 7).into_iter().enumerate() {
        between.push(event);
        between.push(if at % 2 == 0 { more("b", "and so on, ") } else { status("still at it") });
    }
    for (how, events) in [
        ("in six pieces", pieces(&whole, whole.len() / 6 + 1)),
        ("letter by letter", pieces(&whole, 1)),
        ("with others in between", between),
        ("no last chunk", pieces(&whole, 31)),
        ("a last chunk", [pieces(&whole, 31), vec![piece("a", "", r#","append":true,"lastChunk":true"#)]].concat()),
    ] {
        let b = if how == "with others in between" { whole.chars().count().div_ceil(7).div_ceil(2) } else { 0 };
        let other = "and so on, ".repeat(b);
        let artifact = |id: &str, text: &str| format!(r#"{{"artifactId":"{id}","parts":[{{"text":"{text}"}}]}}"#);
        let artifacts =
            if b > 0 { format!("{},{}", artifact("a", &whole), artifact("b", &other)) } else { artifact("a", &whole) };
        let task = format!(
            r#"{{"id":"t1","contextId":"c1","status":{{"state":"TASK_STATE_COMPLETED"}},"artifacts":[{artifacts}]}}"#
        );
        let stream = events.iter().fold(Reply::sse().event(WORKING), |reply, event| reply.event(event));
        let stream = stream.event(DONE).end();
        let agent = Scripted::start(Script::by(move |request| match Spoken::of(request).asked {
            Asked::Get => Reply::json(200, &task),
            Asked::Send
            | Asked::Stream
            | Asked::List
            | Asked::Cancel
            | Asked::Subscribe
            | Asked::Card
            | Asked::Other => stream.clone(),
        }))
        .await
        .unwrap();
        let rig = redacting(&agent).await;
        let heard = rig.call(rpc("SendStreamingMessage", &says("hi"))).await;
        let mut got = folded(&heard.events());
        got.retain(|_, text| !text.is_empty());
        let told = rig.call(rpc("GetTask", r#"{"id":"t1"}"#)).await;
        let whole_task: BTreeMap<String, String> = (0..=usize::from(b > 0))
            .map(|at| {
                let of = |member: &str| told.at(&format!("/result/artifacts/{at}/{member}"));
                (of("artifactId"), of("parts/0/text"))
            })
            .collect();
        assert_eq!(got, whole_task, "{how}: {}", heard.text());
        assert_eq!(got["a"], redacted, "{how}");
        assert!(!heard.text().contains(&SECRET[4..12]) && !heard.text().contains(&key[4..12]), "{how}");
        assert!(heard.events().iter().any(|event| event.at(TEXT).contains("REDACTED")), "{how}");
    }
}
