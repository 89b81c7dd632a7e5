//! `chancery guard test`: what a policy would say to a text, with the spans; works on a file without any gateway.
//! `chancery guard simulate`: what a draft would have made of the exchanges that the gateway recorded.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use guard::{Options, Pipeline, Surface};
use serde_json::{Value, json};

use super::api::{AdminArgs, segment};
use super::document::{Kind, collection_path};
use super::{Failure, Misuse, output};
use crate::simulate::{Simulated, simulate, surface};

/// Try guardrail policies.
#[derive(Debug, Subcommand)]
pub(super) enum GuardCommand {
    /// Say what a policy would do to texts; without any, to the lines of standard input.
    Test(TestArgs),
    /// Say what a policy, or a draft of it, would have made of recorded exchanges.
    Simulate(SimulateArgs),
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

/// Arguments of `simulate`.
#[derive(Debug, Args)]
pub(super) struct SimulateArgs {
    /// The policy that is to be changed.
    name: String,
    /// Its tenant.
    #[arg(short, long, env = "CHANCERY_TENANT", default_value = "default")]
    tenant: String,
    /// A file with the draft (YAML or JSON); without one, the policy as it is now.
    #[arg(short, long)]
    file: Option<PathBuf>,
    /// Exchanges of this card alone.
    #[arg(long)]
    card: Option<String>,
    /// Begun at or after (RFC 3339).
    #[arg(long)]
    from: Option<String>,
    /// Begun before (RFC 3339).
    #[arg(long)]
    until: Option<String>,
    /// At most this many, the newest.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Also exchanges that this policy did not judge.
    #[arg(long)]
    all: bool,
}

/// Runs the command. Exit code 1 when a text would be blocked.
///
/// # Errors
/// The policy can't be read or is wrong, or a text would be blocked.
pub(super) async fn run(command: GuardCommand, admin: &AdminArgs) -> Result<(), Failure> {
    let args = match command {
        GuardCommand::Test(args) => args,
        GuardCommand::Simulate(args) => return simulate_recorded(args, admin).await.map_err(Failure::from),
    };
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

async fn simulate_recorded(args: SimulateArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let policies = collection_path(Kind::Policy, &args.tenant)?;
    let path = format!("{policies}/{}/simulate", segment(&args.name)?);
    let mut body = json!({"recorded": {"from": args.from, "until": args.until, "card": args.card, "all": args.all,
        "limit": args.limit}});
    if let Some(file) = &args.file {
        body["spec"] = read(file)?;
    }
    let answer = admin.connect()?.post(&path, &body).await?;
    let told = &answer["recorded"];
    if admin.json {
        return output::json(told);
    }
    let text = |pointer: &str| told.pointer(pointer).and_then(Value::as_str).unwrap_or("-").to_owned();
    let more = if told["more"].as_bool() == Some(true) { "; there are older ones" } else { "" };
    output::line(&format!("{} exchanges, {} to {}{more}", told["exchanges"], text("/oldest"), text("/newest")))?;
    let tables: [(&str, &[(&str, &str)]); 4] = [
        ("fates", &[("THEN", "/was"), ("UNDER THE DRAFT", "/would"), ("EXCHANGES", "/exchanges")]),
        (
            "findings",
            &[
                ("FOUND", "/detector"),
                ("RULE", "/name"),
                ("SURFACE", "/surface"),
                ("THEN", "/was"),
                ("UNDER THE DRAFT", "/would"),
                ("FINDINGS", "/findings"),
                ("EXCHANGES", "/exchanges"),
            ],
        ),
        ("not_looked_for", &[("NOT LOOKED FOR THEN", "/what"), ("SURFACE", "/surface"), ("EXCHANGES", "/exchanges")]),
        (
            "examples",
            &[
                ("EXCHANGE", "/id"),
                ("BEGAN", "/opened_at"),
                ("CARD", "/card"),
                ("THEN", "/was"),
                ("UNDER THE DRAFT", "/would"),
                ("BY", "/rule"),
            ],
        ),
    ];
    for (member, columns) in tables {
        if let Some(items) = told[member].as_array().filter(|items| !items.is_empty()) {
            output::line("")?;
            output::table(columns, items)?;
        }
    }
    output::line("")?;
    told["unknown"].as_array().into_iter().flatten().filter_map(Value::as_str).try_for_each(output::line)
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
