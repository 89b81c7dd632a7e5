//! What a policy would say to some texts, without a call: for `chancery guard test` and the admin API's `simulate`.
//! What it would have made of recorded exchanges is in [`recorded`].
//!
//! Takes a compiled policy and texts. Gives outcomes, the texts as they would go on, and findings with their spans.
//! Never keeps or logs a text.

pub mod recorded;

use guard::{Outcome, Pipeline, Surface};
use json::Json;
use serde::Serialize;
use utoipa::ToSchema;

/// What became of one text.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Simulated {
    /// `allowed`, `redacted` or `blocked`.
    pub outcome: &'static str,
    /// The rule that blocks it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// As it would go on; nothing if it would not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What was seen.
    pub findings: Vec<Noticed>,
    /// Guards outside that would be asked too, and were not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_asked: Vec<String>,
}

/// Something a detector saw in a text.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Noticed {
    /// What kind of thing.
    pub detector: String,
    /// The rule's name in the policy.
    pub name: String,
    /// What follows; in shadow mode, what would have.
    pub action: &'static str,
    /// `enforce` or `shadow`.
    pub mode: &'static str,
    /// First byte.
    pub start: usize,
    /// One past the last.
    pub end: usize,
    /// In what disguise it was.
    pub view: &'static str,
    /// How sure, out of 100.
    pub score: u8,
}

/// The surface to try a policy on: the one that is asked for, else the first it guards.
#[must_use]
pub fn surface(pipeline: &Pipeline, asked: Option<Surface>) -> Surface {
    asked.or_else(|| Surface::ALL.into_iter().find(|surface| pipeline.guards(*surface))).unwrap_or(Surface::Inbound)
}

/// What the policy says to a text, as the one part of a message.
#[must_use]
pub fn simulate(pipeline: &Pipeline, surface: Surface, text: &str) -> Simulated {
    let part = Json::from(vec![Json::from([("text", text)])]);
    let mut message = Json::from([("message", Json::from([("parts", part)]))]);
    let verdict = pipeline.inspect(surface, &mut message, &|_| false);
    let after = message.pointer("/message/parts/0/text").and_then(Json::as_str).map(str::to_owned);
    let (outcome, rule) = match verdict.outcome {
        Outcome::Allowed => ("allowed", None),
        Outcome::Redacted => ("redacted", None),
        Outcome::Blocked { rule } => ("blocked", Some(rule)),
    };
    let findings = verdict.findings.iter().map(|finding| Noticed {
        detector: finding.detector.to_owned(),
        name: finding.name.to_string(),
        action: finding.action.name(),
        mode: finding.mode.name(),
        start: finding.start,
        end: finding.end,
        view: finding.view,
        score: finding.score,
    });
    Simulated {
        outcome,
        text: after.filter(|_| rule.is_none()),
        rule,
        findings: findings.collect(),
        not_asked: pipeline.externals().iter().map(|external| external.name.to_string()).collect(),
    }
}
