//! `chancery call URL TEXT`: a client. Resolves the card, says what its signature is worth, calls, prints parts as they come.

use crate::cli::{Failure, output};
use a2a_client::{Agent, CallLimits, Credential, calls, choose, connections, resolve};
use anyhow::{Context as _, anyhow};
use base64::Engine as _;
use clap::Args;
use egress::ConnectorSettings;
use json::{Json, Object};
use secrecy::{ExposeSecret as _, SecretString};
use std::path::{Path, PathBuf};

/// Arguments of `call`.
#[derive(Debug, Args)]
pub(super) struct CallArgs {
    /// The agent's address, such as http://localhost:8100/a2a/default/echo.
    url: String,
    /// What to say.
    text: String,
    /// Print what happens as it happens.
    #[arg(long)]
    stream: bool,
    /// A file to send along.
    #[arg(long)]
    file: Option<PathBuf>,
    /// The key or token.
    #[arg(long, env = "CHANCERY_KEY", hide_env_values = true)]
    key: Option<SecretString>,
    /// Speak this dialect (v10_jsonrpc, v10_http_json, v03_jsonrpc, v03_http_json) instead of the card's first.
    #[arg(long)]
    dialect: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// The agent can't be found or says no.
pub(super) async fn run(args: CallArgs, raw: bool) -> Result<(), Failure> {
    let dialect = match &args.dialect {
        None => None,
        Some(name) => Some(a2a::Dialect::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = a2a::Dialect::ALL.into_iter().map(a2a::Dialect::name).collect();
            Failure::Usage(anyhow!("--dialect must be one of {}", names.join(", ")))
        })?),
    };
    let connections = connections(ConnectorSettings::default()).map_err(anyhow::Error::from)?;
    let found = resolve(&connections, &args.url, &Credential::None).await.map_err(anyhow::Error::from)?;
    let chosen = choose(&found.card, &found.url, dialect).map_err(anyhow::Error::from)?;
    let given = url::Url::parse(&args.url).context("the address is no URL")?;
    let goes_to = url::Url::parse(&chosen.address.base).context("the card names no URL")?;
    // The key was given for the address typed in; a card must not take it elsewhere.
    if args.key.is_some() && goes_to.origin() != given.origin() {
        return Err(
            anyhow!("the card leads to {goes_to}; call that address yourself if you trust it with the key").into()
        );
    }
    let credential = args.key.as_ref().map_or(Credential::None, |key| Credential::bearer(key.expose_secret()));
    let agent = Agent::new(connections, chosen, credential, CallLimits::default());
    let message = message(&args)?;
    if args.stream {
        return stream(&agent, message, raw).await;
    }
    let answer = agent.call(&calls::send(message)).await.map_err(anyhow::Error::from)?;
    print(&answer.body, raw)?;
    Ok(())
}

async fn stream(agent: &Agent, message: Object, raw: bool) -> Result<(), Failure> {
    let mut events = agent.stream(&calls::stream(message)).await.map_err(anyhow::Error::from)?;
    while let Some(event) = events.next().await {
        print(&event.map_err(anyhow::Error::from)?.body, raw)?;
    }
    Ok(())
}

fn message(args: &CallArgs) -> anyhow::Result<Object> {
    let mut parts = vec![calls::text(&args.text)];
    if let Some(path) = &args.file {
        let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let raw = base64::engine::general_purpose::STANDARD.encode(bytes);
        parts.push(Json::from([("raw", raw.as_str()), ("filename", name.as_str()), ("mediaType", media_type(path))]));
    }
    Ok(calls::message(parts))
}

fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("txt" | "md") => "text/plain",
        Some("json") => "application/json",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("pdf") => "application/pdf",
        _ => "application/octet-stream",
    }
}

/// Prints states and parts of a task, a message or an event, in the order in which they stand.
fn print(body: &Json, raw: bool) -> anyhow::Result<()> {
    if raw {
        return output::line(&String::from_utf8_lossy(&json::write(body)));
    }
    let operation = |name: &str| body.get(name);
    let state = |holder: &Json| holder.pointer("/status/state").and_then(Json::as_str).map(str::to_owned);
    if let Some(task) = operation("task") {
        let id = task.get("id").and_then(Json::as_str).unwrap_or_default();
        output::line(&format!("[task {id}: {}]", state(task).unwrap_or_default()))?;
        print_parts(task.pointer("/status/message"))?;
        for artifact in task.get("artifacts").and_then(Json::as_array).unwrap_or_default() {
            print_parts(Some(artifact))?;
        }
    }
    if let Some(update) = operation("statusUpdate") {
        output::line(&format!("[{}]", state(update).unwrap_or_default()))?;
        print_parts(update.pointer("/status/message"))?;
    }
    print_parts(body.pointer("/artifactUpdate/artifact"))?;
    print_parts(operation("message"))
}

fn print_parts(holder: Option<&Json>) -> anyhow::Result<()> {
    let parts = holder.and_then(|holder| holder.get("parts")).and_then(Json::as_array).unwrap_or_default();
    for part in parts {
        let text = match (part.get("text").and_then(Json::as_str), part.get("url").and_then(Json::as_str)) {
            (Some(text), _) => text.to_owned(),
            (None, Some(url)) => url.to_owned(),
            (None, None) => String::from_utf8_lossy(&json::write(part)).into_owned(),
        };
        // An agent's text must not drive the terminal.
        let plain: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
        output::line(&plain)?;
    }
    Ok(())
}
