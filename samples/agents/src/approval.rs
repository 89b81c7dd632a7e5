//! `approval`: a conversation of several turns. It asks, and goes on when a further message of the task says "approve" or
//! "deny".

use a2a_agent::{Card, Outcome, Server, Skill, Step, Turn, part};
use json::Json;

use crate::settings::Ground;

/// Where it answers.
pub const PATH: &str = "/a2a/approval";

pub(crate) fn card() -> Card {
    let skill = Skill::new("approve", "Approve", "Asks a person before something is done.", &["approval", "demo"]);
    Card::new("Approval Agent", "Asks for approval and waits for the answer: approve, or deny.")
        .output("application/json")
        .skill(skill.examples(&["Approve my 120 dollar taxi expense"]))
}

pub(crate) fn server(ground: &Ground) -> Server {
    ground.agent(card(), PATH).on_message(answer).into_server()
}

async fn answer(turn: Turn) -> Outcome {
    let text = turn.text();
    if turn.step() == Step::First {
        return Outcome::InputRequired(format!("{} Reply \"approve\" or \"deny\".", quoted(&text)));
    }
    let answer = text.to_lowercase();
    let approved = match (answer.contains("approve"), answer.contains("deny")) {
        (true, false) => true,
        (false, true) => false,
        (true, true) | (false, false) => {
            return Outcome::InputRequired("Please reply \"approve\" or \"deny\".".to_owned());
        }
    };
    let request = turn.task().and_then(|task| task.pointer("/history/0/parts/0/text")).and_then(Json::as_str);
    let request = request.unwrap_or_default();
    let decision = Json::from([("approved", Json::from(approved)), ("request", request.into())]);
    let told = format!("{} {}.", if approved { "Approved:" } else { "Denied:" }, request.trim_end_matches('.'));
    Outcome::artifact("decision", [part::structured(decision), part::text(told)])
}

fn quoted(text: &str) -> String {
    if text.is_empty() { "This needs approval.".to_owned() } else { format!("\"{text}\" needs approval.") }
}
