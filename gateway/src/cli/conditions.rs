//! `chancery conditions`: the tenant's conditions, their versions, and whether a file of them is sound.
//!
//! `check` needs no gateway: it compiles the file as saving would.

use crate::cli::Misuse;
use crate::cli::api::AdminArgs;
use crate::cli::document::Kind;
use crate::cli::output;
use crate::cli::resource::{self, ResourceCommand, read_spec};
use crate::cli::versions::{self, VersionsCommand};
use crate::registry::conditions::{Conditions, SCHEMA};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What can be done with conditions.
#[derive(Debug, Subcommand)]
pub(super) enum ConditionsCommand {
    #[command(flatten)]
    Resource(ResourceCommand),
    /// Say what is wrong with a file (YAML or JSON), without a gateway.
    Check(CheckArgs),
    #[command(flatten)]
    Versions(VersionsCommand),
    /// Print the Cedar schema that documents are validated against.
    Schema,
}

/// Which file.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// A spec or a whole document, `-` for standard input.
    file: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// The file has mistakes, or the admin API refused.
pub(super) async fn run(command: ConditionsCommand, admin: &AdminArgs) -> anyhow::Result<()> {
    match command {
        ConditionsCommand::Resource(command) => resource::run(Kind::Conditions, command, admin).await,
        ConditionsCommand::Check(args) => check(&args),
        ConditionsCommand::Versions(command) => versions::run(Kind::Conditions, command, admin).await,
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
