//! The agent for the official compatibility kit (a2aproject/a2a-tck), which says by the id of a message what shall happen.
//!
//! | the message's id begins with | then (the kit's `scenarios/*.feature`) |
//! |---|---|
//! | `tck-complete-task` | the task completes, saying `Hello from TCK` |
//! | `tck-artifact-…`, `tck-stream-…` | it completes with the artifact that the scenario names |
//! | `tck-message-response` | a message and no task |
//! | `tck-input-required` | the task waits for its caller |
//! | `tck-reject-task` | it is rejected |
//! | `test-resubscribe-message-id` | it is worked on for twice the kit's streaming time-out |
//! | another `tck-` | it completes |
//! | anything else (the kit for 0.3) | half a second of work, then it waits for its caller, who goes on with it or cancels it |
//!
//! Everything else that the kit looks at is what every agent of crate `a2a-agent` does.

use std::time::Duration;

use a2a::dialect::VersionMode;
use a2a_agent::push::{PushError, PushSettings};
use a2a_agent::{
    Agent, Artifact, Audience, Card, Generations, JsonType, Outcome, Push, Server, Skill, TaskHandle, Turn, part,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use egress::{AllowEntry, Plaintext, Rules};
use json::Json;

/// The agent, at the root of the address that requests name.
///
/// # Errors
/// When push notifications cannot be set up.
pub fn server(generations: Generations) -> Result<Server, PushError> {
    let skill = Skill::new("kit", "Kit", "Plays the scenarios of the compatibility kit.", &["test"]);
    let card = Card::new("Compatibility agent", "Does what the official compatibility kit asks for.").skill(skill);
    // The kit for 1.0 follows a release candidate, which had no media type of its own.
    let agent = Agent::new(card.clone())
        .generations(generations)
        .versions(VersionMode::Strict)
        .answers_in(JsonType::Plain)
        .extended(card, Audience::Everybody)
        .push(Push::new(to_this_machine())?)
        .on_message(answer);
    Ok(agent.into_server())
}

/// The kit's own webhook receiver is on this machine.
fn to_this_machine() -> PushSettings {
    let allow = ["127.0.0.0/8", "::1/128"].iter().filter_map(|entry| AllowEntry::parse(entry).ok()).collect();
    let rules = Rules::new(allow, Vec::new(), Plaintext::Listed, "the compatibility agent");
    PushSettings { rules, ..PushSettings::default() }
}

/// Twice the kit's streaming time-out of two seconds.
const LONG_WORK: Duration = Duration::from_secs(4);

/// Long enough to be found at work.
const SHORT_WORK: Duration = Duration::from_millis(500);

async fn answer(turn: Turn) -> Outcome {
    let named = turn.message().str("messageId").unwrap_or_default().to_owned();
    match Scenario::of(&named) {
        Scenario::Message => Outcome::say("Direct message response"),
        Scenario::InputRequired => {
            let _task = turn.start();
            Outcome::InputRequired("Please go on.".to_owned())
        }
        Scenario::Reject => Outcome::Rejected("rejected".to_owned()),
        Scenario::Say(text) => {
            let _task = turn.start();
            Outcome::say(text)
        }
        Scenario::Make(parts) => {
            let task = turn.start();
            task.artifact(Artifact::new("output", parts));
            Outcome::Completed(Vec::new())
        }
        Scenario::MakeInPieces => {
            let task = turn.start();
            let mut artifact = task.open_artifact("output");
            artifact.push([part::text("chunk-1 ")]);
            artifact.close([part::text("chunk-2")]);
            Outcome::Completed(Vec::new())
        }
        Scenario::Complete => {
            let _task = turn.start();
            Outcome::Completed(Vec::new())
        }
        Scenario::Long => {
            work(&turn.start(), LONG_WORK).await;
            Outcome::Completed(Vec::new())
        }
        Scenario::Converse => {
            let task = turn.start();
            work(&task, SHORT_WORK).await;
            let said = format!("You said: {}", turn.text());
            task.artifact(Artifact::new("response", [part::text(said.as_str())]));
            Outcome::InputRequired(said)
        }
    }
}

/// Until it is done, or cancelled.
async fn work(task: &TaskHandle, long: Duration) {
    tokio::select! {
        () = tokio::time::sleep(long) => {}
        () = task.canceled() => {}
    }
}

/// What the kit wants.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Scenario {
    Message,
    InputRequired,
    Reject,
    Say(&'static str),
    Make(Vec<Json>),
    MakeInPieces,
    Complete,
    Long,
    Converse,
}

/// What the name of a scenario begins with, and the scenario.
type Named = (&'static str, fn() -> Scenario);

impl Scenario {
    fn of(named: &str) -> Self {
        let begins = |start: &str| named.starts_with(start);
        if begins("test-resubscribe-message-id") {
            return Self::Long;
        }
        let Some(named) = named.strip_prefix("tck-") else { return Self::Converse };
        // The longer name first, where one begins like another.
        let scenarios: [Named; 15] = [
            ("complete-task", || Self::Say("Hello from TCK")),
            ("message-response", || Self::Message),
            ("input-required", || Self::InputRequired),
            ("reject-task", || Self::Reject),
            ("artifact-text", || Self::Make(vec![part::text("Generated text content")])),
            ("artifact-file-url", || {
                Self::Make(vec![part::url("https://example.com/output.txt", "output.txt", "text/plain")])
            }),
            ("artifact-file", || Self::Make(vec![file()])),
            ("artifact-data", || Self::Make(vec![data()])),
            ("stream-001", || Self::Make(vec![part::text("Stream hello from TCK")])),
            ("stream-003", || Self::Make(vec![part::text("Stream task lifecycle")])),
            ("stream-ordering-001", || Self::Make(vec![part::text("Ordered output")])),
            ("stream-artifact-text", || Self::Make(vec![part::text("Streamed text content")])),
            ("stream-artifact-file", || Self::Make(vec![file()])),
            ("stream-artifact-chunked", || Self::MakeInPieces),
            ("", || Self::Complete),
        ];
        let found = scenarios.iter().find(|(start, _)| named.starts_with(start));
        found.map_or(Self::Complete, |(_, scenario)| scenario())
    }
}

fn file() -> Json {
    part::raw(&STANDARD.encode("tck"), "output.txt", "text/plain")
}

fn data() -> Json {
    part::structured(Json::from([("key", Json::from("value")), ("count", 42.into())]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_two_names_wins() {
        assert_eq!(
            Scenario::of("tck-artifact-file-url-1"),
            Scenario::Make(vec![part::url("https://example.com/output.txt", "output.txt", "text/plain")])
        );
        assert_eq!(Scenario::of("tck-artifact-file-1"), Scenario::Make(vec![file()]));
        assert_eq!(Scenario::of("tck-unheard-of"), Scenario::Complete);
        assert_eq!(Scenario::of("m-1"), Scenario::Converse);
    }
}
