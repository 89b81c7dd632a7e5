//! `echo`: gives back what it was told, and plays every way a call can go when it is asked to.
//!
//! | text begins with | then |
//! |---|---|
//! | `msg:` (or metadata `reply` is `"message"`) | a direct message instead of a task |
//! | `slow` | the task stays WORKING until it is cancelled, ten minutes at most |
//! | `ask` | INPUT_REQUIRED; the next message is echoed |
//! | `fail`, `reject` | FAILED, REJECTED |
//! | `stream N` | the rest of the text in N pieces of one artifact; metadata `stepDelayMs` sets the pace |
//! | anything else | a completed task with an `echo` artifact |

use std::time::Duration;

use a2a_agent::{Audience, Card, Outcome, Server, Skill, Step, Turn, part};
use json::Json;

use crate::directory;
use crate::settings::Ground;

/// Where it answers below the sample server.
pub const PATH: &str = "/a2a/echo";

pub(crate) fn server(ground: &Ground) -> Server {
    let trace = Skill::new("trace", "Trace", "Only the extended card tells of this skill.", &["echo"]);
    ground
        .agent(card().extension(directory::extension()), PATH)
        .extended(card().skill(trace), Audience::Everybody)
        .on_message(answer)
        .into_server()
}

pub(crate) fn card() -> Card {
    Card::new("Echo Agent", "Echoes every part of a message: text, data and files.")
        .media_type("application/json")
        .media_type("application/octet-stream")
        .skill(Skill::new("echo", "Echo", "Gives back every part it was sent.", &["echo", "demo"]))
}

async fn answer(turn: Turn) -> Outcome {
    match Wish::of(&turn) {
        Wish::Echo => Outcome::artifact("echo", turn.parts()),
        Wish::Message => Outcome::Message(turn.parts().to_vec()),
        Wish::Slow => slow(&turn).await,
        Wish::Ask => Outcome::InputRequired("What shall I echo?".to_owned()),
        Wish::Fail => Outcome::Failed("This task fails, as was asked for.".to_owned()),
        Wish::Reject => Outcome::Rejected("This task is rejected, as was asked for.".to_owned()),
        Wish::Stream { pieces } => pour(&turn, pieces).await,
    }
}

/// What a message asks for.
enum Wish {
    Echo,
    Message,
    Slow,
    Ask,
    Fail,
    Reject,
    Stream { pieces: Vec<String> },
}

impl Wish {
    fn of(turn: &Turn) -> Self {
        let text = turn.text();
        if turn.step() == Step::FollowUp {
            return Self::Echo;
        }
        if text.starts_with("msg:") || turn.metadata("reply").and_then(Json::as_str) == Some("message") {
            return Self::Message;
        }
        let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
        if word == "stream" {
            let (count, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            if let Ok(count @ 1..=PIECES_LIMIT) = count.parse() {
                return Self::Stream { pieces: pieces(rest, count) };
            }
        }
        let starts = [("slow", Self::Slow), ("ask", Self::Ask), ("fail", Self::Fail), ("reject", Self::Reject)];
        starts.into_iter().find(|(start, _)| text.starts_with(start)).map_or(Self::Echo, |(_, wish)| wish)
    }
}

/// What a listener can be behind without missing pieces.
const PIECES_LIMIT: usize = 200;

/// How long a slow task goes on if nobody cancels it.
const SLOW: Duration = Duration::from_mins(10);

async fn slow(turn: &Turn) -> Outcome {
    let task = turn.start();
    task.progress("Taking my time; cancel me if you are in a hurry.");
    tokio::select! {
        () = task.canceled() => {}
        () = tokio::time::sleep(SLOW) => {}
    }
    Outcome::artifact("echo", turn.parts())
}

async fn pour(turn: &Turn, pieces: Vec<String>) -> Outcome {
    let task = turn.start();
    let pace = turn.metadata("stepDelayMs").and_then(Json::as_number).and_then(json::Number::as_i64);
    let pace = Duration::from_millis(pace.and_then(|pace| u64::try_from(pace).ok()).unwrap_or(0).min(5_000));
    let mut artifact = task.open_artifact("echo");
    let last = pieces.len().saturating_sub(1);
    for (at, piece) in pieces.into_iter().enumerate() {
        if task.is_canceled() {
            break;
        }
        if at == last {
            artifact.close([part::text(piece)]);
            break;
        }
        artifact.push([part::text(piece)]);
        tokio::time::sleep(pace).await;
    }
    Outcome::Completed(Vec::new())
}

/// The text cut into `count` pieces of about the same length; without a text, pieces that count themselves.
fn pieces(text: &str, count: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() < count {
        return (1..=count).map(|at| format!("piece {at} of {count}")).collect();
    }
    let cut = |at: usize| at * letters.len() / count;
    (0..count).map(|at| letters.get(cut(at)..cut(at + 1)).unwrap_or_default().iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_to_the_text() {
        for count in [1, 2, 3, 7, 11] {
            let pieces = pieces("grüße, welt", count);
            assert_eq!((pieces.len(), pieces.concat().as_str()), (count, "grüße, welt"));
            assert!(pieces.iter().all(|piece| !piece.is_empty()));
        }
        assert_eq!(pieces("", 2), ["piece 1 of 2", "piece 2 of 2"]);
    }
}
