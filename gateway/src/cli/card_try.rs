//! `chancery card try`: one message to the agent of a card, as the gateway would send it, also while it is a draft.
//!
//! What the agent says goes to standard output as it comes, what there is to say about it to standard error. Exit code 1
//! where it was blocked, answered with a fault, or failed.

use crate::cli::api::{AdminArgs, segment};
use crate::cli::events::{Event, Events};
use crate::cli::output;
use crate::cli::resource::Named;
use anyhow::{anyhow, bail};
use clap::Args;
use serde_json::{Value, json};

/// Arguments of `try`.
#[derive(Debug, Args)]
pub(super) struct TryArgs {
    /// Which card.
    #[command(flatten)]
    named: Named,
    /// What to say.
    text: String,
}

/// Sends, and prints what comes.
///
/// # Errors
/// The admin API refused, or the agent did not answer as it should.
pub(super) async fn run(args: TryArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let (tenant, name) = (segment(&args.named.place.tenant)?, segment(&args.named.name)?);
    let path = format!("/tenants/{tenant}/cards/{name}/try");
    let mut events = Events::new(admin.connect()?.follow(&path, Some(&json!({"text": args.text}))).await?);
    let mut failure = None;
    loop {
        let Some(event) = events.next().await? else { bail!("the gateway ended the try before the agent was done") };
        if admin.json {
            output::line(&json!({"event": event.name, "data": event.data}).to_string())?;
        }
        match event.name.as_str() {
            "done" => return failure.map_or(Ok(()), Err),
            "event" | "answer" if !admin.json => said(&event.data)?,
            _ => failure = problem(&event).or(failure),
        }
    }
}

fn problem(event: &Event) -> Option<anyhow::Error> {
    let text = |name: &str| event.data[name].as_str().unwrap_or_default().to_owned();
    match event.name.as_str() {
        "blocked" => Some(anyhow!("the policy stops this: {} ({})", text("rule"), text("surface"))),
        "fault" => Some(anyhow!("the agent answered with a fault: {} {}", text("reason"), text("message"))),
        "failed" => Some(anyhow!("{}", text("message"))),
        "sent" => {
            let (operation, dialect, url) = (text("operation"), text("dialect"), text("url"));
            output::note(&format!("sent {operation} in {dialect} to {url}"));
            None
        }
        _ => None,
    }
}

/// The texts of an answer or event, in order; other parts as JSON.
fn said(data: &Value) -> anyhow::Result<()> {
    for part in parts(data) {
        match part["text"].as_str() {
            Some(text) => output::line(&output::cell(Some(&json!(text))))?,
            None => output::line(&part.to_string())?,
        }
    }
    Ok(())
}

/// Parts of whatever this is: a message, a task, a status or an artifact.
fn parts(data: &Value) -> Vec<&Value> {
    let own = |holder: &'static str| data.pointer(holder).and_then(Value::as_array).into_iter().flatten();
    let listed = own("/task/artifacts").filter_map(|artifact| artifact["parts"].as_array()).flatten();
    own("/message/parts")
        .chain(own("/task/status/message/parts"))
        .chain(listed)
        .chain(own("/statusUpdate/status/message/parts"))
        .chain(own("/artifactUpdate/artifact/parts"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_wherever_an_agent_says_something() {
        let part = json!({"text": "hi"});
        for data in [
            json!({"message": {"parts": [part]}}),
            json!({"task": {"status": {"message": {"parts": [part]}}}}),
            json!({"task": {"artifacts": [{"parts": [part]}]}}),
            json!({"statusUpdate": {"status": {"message": {"parts": [part]}}}}),
            json!({"artifactUpdate": {"artifact": {"parts": [part]}}}),
        ] {
            assert_eq!(parts(&data), [&part], "{data}");
        }
        assert!(parts(&json!({"task": {"status": {}}})).is_empty());
    }
}
