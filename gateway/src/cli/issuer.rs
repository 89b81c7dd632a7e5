//! `chancery issuer …`: the common commands, and the keys of an issuer as the gateway holds them.

use crate::cli::api::{AdminArgs, segment};
use crate::cli::document::Kind;
use crate::cli::output;
use crate::cli::resource::{self, Named, ResourceCommand};
use clap::Subcommand;

/// Commands on issuers.
#[derive(Debug, Subcommand)]
pub(super) enum IssuerCommand {
    /// List, get, create, update, delete.
    #[command(flatten)]
    Common(ResourceCommand),
    /// Show its keys as the gateway holds them, and why they could not be fetched.
    Keys(Named),
}

/// Runs the command.
///
/// # Errors
/// The admin API refused, or what was given can't be read.
pub(super) async fn run(command: IssuerCommand, admin: &AdminArgs) -> anyhow::Result<()> {
    match command {
        IssuerCommand::Common(command) => resource::run(Kind::Issuer, command, admin).await,
        IssuerCommand::Keys(named) => keys(&named, admin).await,
    }
}

async fn keys(named: &Named, admin: &AdminArgs) -> anyhow::Result<()> {
    let path = format!("/tenants/{}/issuers/{}/keys", segment(&named.place.tenant)?, segment(&named.name)?);
    let state = admin.connect()?.get(&path).await?;
    if admin.json {
        return output::json(&state);
    }
    let fetched = state["fetched_at"].as_str();
    output::line(&fetched.map_or_else(|| String::from("not fetched yet"), |at| format!("fetched {at}")))?;
    if let Some(problem) = state["problem"].as_str() {
        output::line(&format!("the last fetch failed: {problem}"))?;
    }
    match state["keys"].as_array() {
        Some(keys) if !keys.is_empty() => output::table(&[("KID", "/kid"), ("ALGORITHM", "/alg")], keys),
        Some(_) | None => Ok(()),
    }
}
