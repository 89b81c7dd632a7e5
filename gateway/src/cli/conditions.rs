//! `chancery conditions`: the tenant's conditions, their versions, and whether a file of them is sound.
//!
//! `check` needs no gateway: it compiles the file as saving would.

use crate::cli::Misuse;
use crate::cli::api::{AdminArgs, segment};
use crate::cli::document::{Kind, collection_path};
use crate::cli::output;
use crate::cli::resource::{self, Named, ResourceCommand, read_spec, report};
use crate::registry::conditions::{Conditions, SCHEMA};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What can be done with conditions.
#[derive(Debug, Subcommand)]
pub(super) enum ConditionsCommand {
    #[command(flatten)]
    Resource(ResourceCommand),
    /// Say what is wrong with a file (YAML or JSON), without a gateway.
    Check(CheckArgs),
    /// Show earlier versions.
    History(Named),
    /// Put an earlier version into force again.
    Rollback(Rollback),
    /// Print the Cedar schema that documents are validated against.
    Schema,
}

/// Which file.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// A spec or a whole document, `-` for standard input.
    file: PathBuf,
}

/// Which version.
#[derive(Debug, Args)]
pub(super) struct Rollback {
    #[command(flatten)]
    named: Named,
    /// The version's number, as `history` shows it.
    #[arg(long, value_name = "VERSION")]
    to: i64,
}

/// Runs the command.
///
/// # Errors
/// The file has mistakes, or the admin API refused.
pub(super) async fn run(command: ConditionsCommand, admin: &AdminArgs) -> anyhow::Result<()> {
    match command {
        ConditionsCommand::Resource(command) => resource::run(Kind::Conditions, command, admin).await,
        ConditionsCommand::Check(args) => check(&args),
        ConditionsCommand::History(named) => history(&named, admin).await,
        ConditionsCommand::Rollback(args) => rollback(&args, admin).await,
        ConditionsCommand::Schema => output::line(SCHEMA.trim_end()),
    }
}

fn check(args: &CheckArgs) -> anyhow::Result<()> {
    let spec = serde_json::to_vec(&read_spec(&args.file)?)?;
    match Conditions::compile("checked", (0, 0), &spec) {
        Ok(_) => output::line("sound"),
        Err(problems) => {
            let lines: Vec<String> =
                problems.iter().map(|problem| format!("{}: {}", problem.path, problem.problem)).collect();
            Err(Misuse(lines.join("\n")).into())
        }
    }
}

async fn history(named: &Named, admin: &AdminArgs) -> anyhow::Result<()> {
    let answer = admin.connect()?.get(&format!("{}/history?limit=100", path(named)?)).await?;
    let items = answer["items"].as_array().cloned().unwrap_or_default();
    if admin.json { output::json(&Value::Array(items)) } else { output::table(VERSIONS, &items) }
}

async fn rollback(args: &Rollback, admin: &AdminArgs) -> anyhow::Result<()> {
    let (api, path) = (admin.connect()?, path(&args.named)?);
    let now = api.get(&path).await?;
    let body = json!({"version": args.to});
    let changed = api
        .send(reqwest::Method::PUT, &format!("{path}/version"), Some(&body), now["revision"].as_i64())
        .await?
        .ok()?;
    report(admin, &changed, "changed")
}

fn path(named: &Named) -> anyhow::Result<String> {
    Ok(format!("{}/{}", collection_path(Kind::Conditions, &named.place.tenant)?, segment(&named.name)?))
}

const VERSIONS: &[(&str, &str)] =
    &[("VERSION", "/version"), ("AT", "/at"), ("BY", "/changed_by"), ("MODE", "/spec/mode"), ("NOTE", "/note")];
