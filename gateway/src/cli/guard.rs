//! `chancery guard test`: what a policy would say to a text, with the spans. Works on a file without any gateway.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use guard::{Options, Pipeline, Surface};
use serde_json::Value;

use super::api::{AdminArgs, segment};
use super::document::{Kind, collection_path};
use super::{Failure, Misuse, output};
use crate::simulate::{Simulated, simulate, surface};

/// Try guardrail policies.
#[derive(Debug, Subcommand)]
pub(super) enum GuardCommand {
    /// Say what a policy would do to texts; without any, to the lines of standard input.
    Test(TestArgs),
}

/// Arguments of `test`.
#[derive(Debug, Args)]
pub(super) struct TestArgs {
    /// A file with a policy (YAML or JSON), or the name of one that the gateway holds.
    #[arg(long, short)]
    policy: String,
    /// The tenant of a named policy.
    #[arg(short, long, env = "CHANCERY_TENANT", default_value = "default")]
    tenant: String,
    /// `a2a_inbound`, `a2a_outbound` or `card`; by default the first that the policy guards.
    #[arg(long)]
    surface: Option<String>,
    /// The texts.
    texts: Vec<String>,
}

/// Runs the command. Exit code 1 when a text would be blocked.
///
/// # Errors
/// The policy can't be read or is wrong, or a text would be blocked.
pub(super) async fn run(command: GuardCommand, admin: &AdminArgs) -> Result<(), Failure> {
    let GuardCommand::Test(args) = command;
    let asked = match args.surface.as_deref() {
        None => None,
        Some(name) => Some(Surface::from_name(name).ok_or_else(|| {
            anyhow::Error::from(Misuse(format!("{name:?} is no surface: a2a_inbound, a2a_outbound, card")))
        })?),
    };
    let spec = spec(&args, admin).await?;
    let pipeline = compile(&args.policy, &spec)?;
    let surface = surface(&pipeline, asked);
    let mut blocked = 0_usize;
    for text in texts(args.texts)? {
        let result = simulate(&pipeline, surface, &text);
        blocked += usize::from(result.rule.is_some());
        show(&result, &text, admin.json)?;
    }
    if blocked == 0 { Ok(()) } else { Err(anyhow::anyhow!("{blocked} would be blocked").into()) }
}

fn texts(given: Vec<String>) -> anyhow::Result<Vec<String>> {
    if !given.is_empty() {
        return Ok(given);
    }
    std::io::stdin().lock().lines().collect::<Result<_, _>>().context("reading standard input")
}

async fn spec(args: &TestArgs, admin: &AdminArgs) -> anyhow::Result<Value> {
    let path = PathBuf::from(&args.policy);
    if path.exists() {
        return read(&path);
    }
    let name = segment(&args.policy)
        .map_err(|_| Misuse(format!("there is no file {:?}, and no policy can be called that", args.policy)))?;
    let policy = admin.connect()?.get(&format!("{}/{name}", collection_path(Kind::Policy, &args.tenant)?)).await?;
    Ok(policy["spec"].clone())
}

/// A policy's spec, alone or in its document.
fn read(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    // JSON is YAML too.
    let value: Value = serde_saphyr::from_str(&text).map_err(|error| Misuse(format!("{}: {error}", path.display())))?;
    Ok(if value.get("spec").is_some() { value["spec"].clone() } else { value })
}

fn compile(name: &str, spec: &Value) -> anyhow::Result<Pipeline> {
    let document = json::read(spec.to_string().as_bytes(), &json::Limits::default())?;
    let options = Options { key: b"chancery guard test", policy: name, version: 0 };
    Pipeline::compile(&document, &options).map_err(|error| {
        let problems = error.problems.iter().map(|one| format!("{}: {}", one.path, one.problem));
        Misuse(format!("the policy is wrong:\n{}", problems.collect::<Vec<_>>().join("\n"))).into()
    })
}

fn show(result: &Simulated, text: &str, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return output::json(&serde_json::to_value(result)?);
    }
    match (&result.rule, &result.text) {
        (Some(rule), _) => output::line(&format!("blocked by {rule}"))?,
        (None, Some(after)) if after != text => output::line(&format!("{}: {after}", result.outcome))?,
        (None, _) => output::line(result.outcome)?,
    }
    for one in &result.findings {
        let (start, end) = (one.start, one.end);
        let shown = text.get(start..end).unwrap_or_default();
        output::line(&format!(
            "  {start}..{end} {} ({}, {}{}) {shown:?}",
            one.detector,
            one.name,
            one.action,
            if one.view == "source" { String::new() } else { format!(", read as {}", one.view) },
        ))?;
    }
    Ok(())
}
