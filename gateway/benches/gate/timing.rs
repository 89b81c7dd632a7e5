//! Foreign against missing: does how long an answer takes tell that something is there?
//!
//! Three are asked in turn: the foreign one, a missing one, and a second missing one, which shows what the noise alone
//! makes of two that are alike. Which comes first changes each time.

use crate::rig::{CardSpec, G1, P1, P2, Plan, says};
use crate::{Client, permille, scale, verdict};
use a2a::Dialect;
use sample_agents::hostile::{Behaviour, start};
use std::time::Duration;

const BLOCKS: usize = 40;
const ROUNDS: usize = 50;
/// What a ratio may be off beside what the noise makes of two that are alike.
const TOLERATED: f64 = 0.02;

/// What is asked about something: a name → path and body.
struct Question {
    what: &'static str,
    key: &'static str,
    status: u16,
    names: [String; 3],
    path: fn(&str) -> String,
    body: fn(&str) -> Option<String>,
}

/// All of one length, so that no byte is moved more for one than for another.
fn questions(task: &str) -> Vec<Question> {
    let cards = || ["echo".to_owned(), "none".to_owned(), "nope".to_owned()];
    let missing = |end: &str| format!("{}{end}", &task[..task.len() - 1]);
    let ends: Vec<&str> = ["x", "y", "z"].into_iter().filter(|end| !task.ends_with(end)).collect();
    let tasks = || [task.to_owned(), missing(ends[0]), missing(ends[1])];
    let of_task = |what, path, body| Question { what, key: P2, status: 404, names: tasks(), path, body };
    let of_card = |what, status, path, body| Question { what, key: G1, status, names: cards(), path, body };
    vec![
        of_card(
            "card of another tenant, GetTask over HTTP+JSON",
            404,
            |card| format!("/a2a/acme/{card}/tasks/t1"),
            |_| None,
        ),
        of_card(
            "card of another tenant, SendMessage over HTTP+JSON",
            404,
            |card| format!("/a2a/acme/{card}/message:send"),
            |_| Some(says("hi")),
        ),
        of_task("task of another principal, GetTask", |task| format!("/a2a/acme/echo/tasks/{task}"), |_| None),
        of_task(
            "task of another principal, CancelTask",
            |task| format!("/a2a/acme/echo/tasks/{task}:cancel"),
            |_| Some("{}".to_owned()),
        ),
        of_task(
            "task of another principal, SubscribeToTask",
            |task| format!("/a2a/acme/echo/tasks/{task}:subscribe"),
            |_| None,
        ),
        of_task(
            "task of another principal, SendMessage to it",
            |_| "/a2a/acme/echo/message:send".to_owned(),
            |task| Some(says("hi").replace(r#""messageId""#, &format!(r#""taskId":"{task}","messageId""#))),
        ),
    ]
}

pub(crate) async fn run() -> bool {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
    let sent = rig.call(crate::rig::rpc_as(P1, "/a2a/acme/echo", "SendMessage", &says("hi"))).await;
    let task = sent.at("/result/task/id");
    let client = Client::new(rig.address);
    println!("| asked | median, µs | foreign : missing | two missing, 90 % of blocks | |\n|---|---|---|---|---|");
    let mut all = true;
    for question in questions(&task) {
        let met = ask(&client, &question, BLOCKS * scale()).await;
        all &= met;
    }
    all
}

/// The ratio of the medians of each block, foreign to missing and missing to missing.
async fn ask(client: &Client, question: &Question, blocks: usize) -> bool {
    let (mut foreign, mut control, mut medians) = (Vec::new(), Vec::new(), Vec::new());
    // The first block warms the caches.
    for block in 0..=blocks {
        let mut times = [const { Vec::new() }; 3];
        for round in 0..ROUNDS {
            for turn in 0..3 {
                let which = (turn + round) % 3;
                let name = &question.names[which];
                let (status, took) = client.ask(question.key, &(question.path)(name), (question.body)(name)).await;
                assert_eq!(status, question.status, "{}", question.what);
                times[which].push(took);
            }
        }
        if block > 0 {
            let [theirs, none, neither] = times.each_mut().map(|times| permille(times, 500));
            foreign.push(ratio(theirs, none));
            control.push(ratio(neither, none));
            medians.push(none);
        }
    }
    let told = middle(&mut foreign, 500);
    let (low, high) = (middle(&mut control, 50), middle(&mut control, 950));
    let met = (low - TOLERATED..=high + TOLERATED).contains(&told);
    let median = permille(&mut medians, 500).as_micros();
    println!("| {} | {median} | {told:.3} | {low:.3} to {high:.3} | {} |", question.what, verdict(met));
    met
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn middle(ratios: &mut [f64], of: usize) -> f64 {
    ratios.sort_unstable_by(f64::total_cmp);
    ratios[ratios.len() * of / 1000]
}
