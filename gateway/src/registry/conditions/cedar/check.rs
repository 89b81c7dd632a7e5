//! The text of policies → policies with their ids, or everything that is wrong with them, line by line.

use super::{Otherwise, permits};
use crate::registry::conditions::MOST_POLICIES;
use crate::registry::document::Problem;
use cedar_policy::{Policy, PolicyId, PolicySet, Schema, ValidationMode, ValidationWarning, Validator};
use miette::Diagnostic;
use std::collections::BTreeSet;

/// Reads, names and validates the policies of a text.
///
/// # Errors
/// Everything that is wrong with them.
pub(super) fn policies(text: &str, otherwise: Otherwise, schema: &Schema) -> Result<Vec<Policy>, Vec<Problem>> {
    let read: PolicySet = text.parse().map_err(|errors: cedar_policy::ParseErrors| {
        errors.iter().map(|error| located(text, error, &error.to_string())).collect::<Vec<_>>()
    })?;
    let mut problems = Vec::new();
    if read.num_of_templates() > 0 {
        problems.push(wrong("has a slot (?principal, ?resource), and nothing here could fill it"));
    }
    if read.num_of_policies() > MOST_POLICIES {
        problems.push(wrong(format!("are {}; at most {MOST_POLICIES} are allowed", read.num_of_policies())));
        return Err(problems);
    }
    let named = named(text, &read, &mut problems);
    let permitting = named.iter().any(permits);
    match otherwise {
        Otherwise::Permit if permitting => {
            problems.push(wrong(
                "a permit means nothing where everything is permitted; write forbid … unless, or set otherwise to deny",
            ));
        }
        Otherwise::Deny if !permitting => {
            problems.push(wrong("permit nothing, and otherwise denies: nobody could call"))
        }
        Otherwise::Permit | Otherwise::Deny => {}
    }
    if let Ok(set) = PolicySet::from_policies(named.iter().cloned()) {
        problems.extend(mistakes(text, &set, schema));
    }
    if problems.is_empty() { Ok(named) } else { Err(problems) }
}

/// Whether a policy is only tried.
pub(super) fn is_shadow(policy: &Policy) -> bool {
    policy.annotation("mode") == Some("shadow")
}

/// The policies in the order of the text, by the ids that they give themselves.
fn named(text: &str, read: &PolicySet, problems: &mut Vec<Problem>) -> Vec<Policy> {
    let mut policies: Vec<&Policy> = read.policies().collect();
    policies.sort_by_key(|policy| policy.id().to_string().trim_start_matches("policy").parse::<usize>().unwrap_or(0));
    let mut ids = BTreeSet::new();
    let mut named = Vec::with_capacity(policies.len());
    for (at, policy) in policies.into_iter().enumerate() {
        let place = text.find(&policy.to_string()).map_or_else(|| format!("policy {}", at + 1), |at| place(text, at));
        for (key, value) in policy.annotations() {
            match (key, value) {
                ("id" | "note", _) | ("mode", "enforce" | "shadow") => {}
                ("mode", other) => problems.push(wrong(format!("{place}: @mode is enforce or shadow, not {other:?}"))),
                (other, _) => {
                    problems.push(wrong(format!("{place}: @{other} is unknown; there are @id, @mode, @note")))
                }
            }
        }
        match policy.annotation("id") {
            Some(id) if store::TenantId::new(id).is_none() => {
                problems
                    .push(wrong(format!("{place}: @id {id:?} must be lower-case letters, digits and inner dashes")));
            }
            Some(id) if !ids.insert(id.to_owned()) => problems.push(wrong(format!("{place}: @id {id:?} is taken"))),
            Some(id) => named.push(policy.new_id(PolicyId::new(id))),
            None => problems.push(wrong(format!("{place}: needs a name, such as @id(\"office-hours\")"))),
        }
    }
    named
}

/// What the schema says against them. A policy that can never apply is a mistake too.
fn mistakes(text: &str, set: &PolicySet, schema: &Schema) -> Vec<Problem> {
    let result = Validator::new(schema.clone()).validate(set, ValidationMode::Strict);
    let errors = result.validation_errors().map(|error| located(text, error, &error.to_string()));
    let warnings = result.validation_warnings().filter_map(|warning| match warning {
        ValidationWarning::ImpossiblePolicy(_) | ValidationWarning::InvalidActionApplication(_) => {
            Some(located(text, warning, &warning.to_string()))
        }
        ValidationWarning::BidiCharsInIdentifier(_)
        | ValidationWarning::BidiCharsInString(_)
        | ValidationWarning::ConfusableIdentifier(_)
        | ValidationWarning::MixedScriptIdentifier(_)
        | ValidationWarning::MixedScriptString(_) => None,
        // The library may come to know more.
        _ => None,
    });
    errors.chain(warnings).collect()
}

fn wrong(problem: impl Into<String>) -> Problem {
    Problem::new("/policies", problem)
}

/// A problem with the line that it is on, and what would help.
fn located(text: &str, error: &dyn Diagnostic, said: &str) -> Problem {
    let at = error.labels().and_then(|mut labels| labels.next()).map(|label| label.offset());
    let place = at.map(|at| format!("{}: ", place(text, at))).unwrap_or_default();
    let help = error.help().map(|help| format!(" ({help})")).unwrap_or_default();
    let words: Vec<&str> = said.split_whitespace().collect();
    wrong(format!("{place}{}{help}", words.join(" ")))
}

/// Where in the text, for people.
pub(super) fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {line}, column {column}")
}
