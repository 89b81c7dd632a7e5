//! `secure`: needs a token of the built-in identity provider. Without one the task waits in AUTH_REQUIRED; the same task goes on
//! when the next message brings one. Its extended card is for callers with a token.

use std::sync::Arc;

use a2a_agent::{Audience, Card, Outcome, Server, Skill, Turn, bearer_token, part, unauthenticated};
use http::header::AUTHORIZATION;
use json::Json;

use crate::identity::Provider;
use crate::session;
use crate::settings::Ground;

/// Where it answers.
pub const PATH: &str = "/a2a/secure";

pub(crate) fn card() -> Card {
    let skill = Skill::new("whoami", "Who am I", "Tells who the token stands for.", &["identity", "demo"]);
    Card::new("Secure Agent", "Works only for callers with an access token.")
        .output("application/json")
        .skill(skill.examples(&["who am I?"]))
        .bearer("bearer", Some("JWT"))
}

pub(crate) fn server(ground: &Ground, provider: &Arc<Provider>) -> Server {
    let audit = Skill::new("audit", "Audit", "Only callers with a token learn of this skill.", &["identity", "demo"]);
    let provider = Arc::clone(provider);
    let agent = ground.agent(card(), PATH).extended(card().skill(audit), Audience::Proven).callers(move |head| {
        let caller = session::caller(head);
        if !head.headers.contains_key(AUTHORIZATION) {
            return Ok(caller);
        }
        let subject = bearer_token(head).and_then(|token| provider.subject(token)).ok_or_else(unauthenticated)?;
        Ok(caller.with_identity(subject))
    });
    agent.on_message(answer).into_server()
}

async fn answer(turn: Turn) -> Outcome {
    let Some(subject) = turn.caller().identity() else {
        let text = "Send this again with the task's id and a token: Authorization: Bearer … from POST /oauth/token.";
        return Outcome::AuthRequired(text.to_owned());
    };
    let identity = Json::from([("subject", subject)]);
    Outcome::artifact("identity", [part::text(format!("You are {subject}.")), part::structured(identity)])
}
