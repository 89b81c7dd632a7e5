//! `reject`: rejects every task.

use a2a_agent::{Card, Outcome, Server, Skill, Turn};

use crate::settings::Ground;

/// Where it answers.
pub const PATH: &str = "/a2a/reject";

pub(crate) fn card() -> Card {
    let skill = Skill::new("reject", "Reject", "Rejects whatever it is asked.", &["rejection", "demo"]);
    Card::new("Reject Agent", "Rejects every task.").skill(skill)
}

pub(crate) fn server(ground: &Ground) -> Server {
    ground.agent(card(), PATH).on_message(answer).into_server()
}

async fn answer(turn: Turn) -> Outcome {
    drop(turn);
    Outcome::Rejected("This agent rejects every task.".to_owned())
}
