//! `flaky`: every task fails unless its text contains "succeed".

use a2a_agent::{Card, Outcome, Server, Skill, Turn, part};

use crate::settings::Ground;

/// Where it answers.
pub const PATH: &str = "/a2a/flaky";

pub(crate) fn card() -> Card {
    let skill = Skill::new("try", "Try", "Fails, unless it is told to succeed.", &["failure", "demo"]);
    Card::new("Flaky Agent", "Every task fails, unless the text contains \"succeed\".")
        .skill(skill.examples(&["succeed"]))
}

pub(crate) fn server(ground: &Ground) -> Server {
    ground.agent(card(), PATH).on_message(answer).into_server()
}

async fn answer(turn: Turn) -> Outcome {
    let task = turn.start();
    task.progress("Trying.");
    if turn.text().to_lowercase().contains("succeed") {
        return Outcome::artifact("result", [part::text("It worked this time.")]);
    }
    Outcome::Failed("It failed, as it always does. Say \"succeed\" to make it work.".to_owned())
}
