//! `chancery policy …`: the common commands, and the policy's versions.

use crate::cli::api::AdminArgs;
use crate::cli::document::Kind;
use crate::cli::resource::{self, ResourceCommand};
use crate::cli::versions::{self, VersionsCommand};
use clap::Subcommand;

/// Commands on policies.
#[derive(Debug, Subcommand)]
pub(super) enum PolicyCommand {
    /// List, get, create, update, delete.
    #[command(flatten)]
    Common(ResourceCommand),
    /// Its versions.
    #[command(flatten)]
    Versions(VersionsCommand),
}

/// Runs the command.
///
/// # Errors
/// The admin API refused, or what was given can't be read.
pub(super) async fn run(command: PolicyCommand, admin: &AdminArgs) -> anyhow::Result<()> {
    match command {
        PolicyCommand::Common(command) => resource::run(Kind::Policy, command, admin).await,
        PolicyCommand::Versions(command) => versions::run(Kind::Policy, command, admin).await,
    }
}
