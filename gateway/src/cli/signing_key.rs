//! `chancery signing-key …`: the keys that sign a tenant's cards and tokens: next → active → retiring → gone.

use crate::cli::api::{AdminArgs, segment};
use crate::cli::output;
use crate::cli::resource::{InTenant, Named};
use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde_json::{Value, json};

/// Commands on signing keys.
#[derive(Debug, Subcommand)]
pub(super) enum SigningKeyCommand {
    /// List them, without their private halves.
    List(InTenant),
    /// Make one as the next: published, not yet signing.
    Create(CreateArgs),
    /// Sign with one from now on.
    Activate(Named),
    /// Sign with one no more; it stays published.
    Retire(Named),
    /// Publish one no more, and erase its private half: what it signed verifies no longer.
    Erase(Named),
}

/// Arguments of `create`.
#[derive(Debug, Args)]
pub(super) struct CreateArgs {
    #[command(flatten)]
    place: InTenant,
    /// What it signs.
    #[arg(long, value_enum, default_value_t)]
    purpose: Purpose,
}

/// What a key signs.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Purpose {
    /// Agent cards.
    #[default]
    Card,
    /// Tokens of the gateway.
    Token,
}

/// Runs the command.
///
/// # Errors
/// The admin API refused.
pub(super) async fn run(command: SigningKeyCommand, admin: &AdminArgs) -> anyhow::Result<()> {
    match command {
        SigningKeyCommand::List(place) => list(&place, admin).await,
        SigningKeyCommand::Create(args) => create(&args, admin).await,
        SigningKeyCommand::Activate(named) => step(&named, "active", admin).await,
        SigningKeyCommand::Retire(named) => step(&named, "retiring", admin).await,
        SigningKeyCommand::Erase(named) => step(&named, "gone", admin).await,
    }
}

async fn list(place: &InTenant, admin: &AdminArgs) -> anyhow::Result<()> {
    let items = admin.connect()?.list(&keys(place)?).await?;
    if admin.json {
        return output::json(&Value::Array(items));
    }
    let columns = [
        ("ID", "/id"),
        ("SIGNS", "/purpose"),
        ("STATE", "/state"),
        ("KID", "/kid"),
        ("MADE", "/created_at"),
        ("ACTIVATED", "/activated_at"),
        ("RETIRED", "/retired_at"),
    ];
    output::table(&columns, &items)
}

async fn create(args: &CreateArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let purpose = match args.purpose {
        Purpose::Card => "card",
        Purpose::Token => "token",
    };
    let made = admin.connect()?.post(&keys(&args.place)?, &json!({"purpose": purpose, "state": "next"})).await?;
    report(&made, admin)
}

async fn step(named: &Named, state: &str, admin: &AdminArgs) -> anyhow::Result<()> {
    let api = admin.connect()?;
    let path = format!("{}/{}", keys(&named.place)?, segment(&named.name)?);
    let revision = api.get(&path).await?["revision"].as_i64();
    let changed = api.send(Method::PUT, &path, Some(&json!({"state": state})), revision).await?.ok()?;
    report(&changed, admin)
}

fn report(key: &Value, admin: &AdminArgs) -> anyhow::Result<()> {
    if admin.json {
        return output::json(key);
    }
    let word = |member: &str| key[member].as_str().unwrap_or_default().to_owned();
    output::line(&format!("{} is {} ({}, {})", word("id"), word("state"), word("purpose"), word("kid")))
}

fn keys(place: &InTenant) -> anyhow::Result<String> {
    Ok(format!("/tenants/{}/signing-keys", segment(&place.tenant)?))
}
