//! `chancery card …`: the common commands, the card's versions, and what only cards have: import, state, credential, in-task,
//! sign, try, verify.

use crate::cli::api::{AdminArgs, segment};
use crate::cli::document::Kind;
use crate::cli::resource::{self, InTenant, Named, ResourceCommand};
use crate::cli::versions::{self, VersionsCommand};
use crate::cli::{Failure, card_try, card_verify, output};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Commands on cards.
#[derive(Debug, Subcommand)]
pub(super) enum CardCommand {
    /// List, get, create, update, delete.
    #[command(flatten)]
    Common(ResourceCommand),
    /// Register a running agent from its address.
    Import(ImportArgs),
    /// Publish, disable or otherwise move a card through its life.
    State(StateArgs),
    /// Replace the gateway's credential towards the agent.
    Credential(CredentialArgs),
    /// Replace the OAuth client by which the agent is authorised in the middle of a task, when the task waits for it.
    InTask(InTaskArgs),
    /// Show the card as it is served, signed, and what our own verifier says.
    Sign(Named),
    /// Its versions.
    #[command(flatten)]
    Versions(VersionsCommand),
    /// Send one message to the agent as the gateway would, also while the card is a draft.
    Try(card_try::TryArgs),
    /// Fetch a published card and check every signature, as a partner would.
    Verify(card_verify::VerifyArgs),
}

/// Arguments of `import`.
#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// The agent's address, or its card's when it ends in .json.
    url: String,
    /// Where to register it.
    #[command(flatten)]
    place: InTenant,
    /// The card's name here; from the agent's name if absent.
    #[arg(long)]
    name: Option<String>,
    /// Speak this dialect at the address (v10_jsonrpc, v10_http_json, v03_jsonrpc, v03_http_json, path_rpc) instead of asking
    /// the agent.
    #[arg(long)]
    dialect: Option<String>,
    /// Keep the address you gave, with the paths that the card names.
    #[arg(long)]
    use_address: bool,
    /// Settings of the card (YAML or JSON).
    #[arg(short, long)]
    file: Option<PathBuf>,
}

/// Arguments of `state`.
#[derive(Debug, Args)]
pub(super) struct StateArgs {
    /// Which card.
    #[command(flatten)]
    named: Named,
    /// Its next state.
    state: State,
}

/// A card's life.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum State {
    /// Being written.
    Draft,
    /// Waiting for approval.
    Pending,
    /// Approved, not yet served.
    Approved,
    /// Served.
    Published,
    /// Taken down.
    Disabled,
}

/// Arguments of `credential`.
#[derive(Debug, Args)]
pub(super) struct CredentialArgs {
    /// Which card.
    #[command(flatten)]
    named: Named,
    /// File with the credential, such as {"type":"bearer","token":"…"}; `-` for standard input.
    #[arg(short, long)]
    file: PathBuf,
}

/// Arguments of `in-task`.
#[derive(Debug, Args)]
pub(super) struct InTaskArgs {
    /// Which card.
    #[command(flatten)]
    named: Named,
    /// File with the client: {"type":"oauth2","token_url":"…","client_id":"…","client_secret":"…"}, with scope, audience and
    /// header where they are needed, or {"type":"none"}; `-` for standard input.
    #[arg(short, long)]
    file: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// The admin API refused, or what was given can't be read.
pub(super) async fn run(command: CardCommand, admin: &AdminArgs) -> Result<(), Failure> {
    let done = match command {
        CardCommand::Common(command) => resource::run(Kind::Card, command, admin).await,
        CardCommand::Import(args) => import(args, admin).await,
        CardCommand::State(args) => set_state(args, admin).await,
        CardCommand::Credential(args) => set_credential(args, admin).await,
        CardCommand::InTask(args) => set_in_task(args, admin).await,
        CardCommand::Sign(named) => sign(&named, admin).await,
        CardCommand::Versions(command) => versions::run(Kind::Card, command, admin).await,
        CardCommand::Try(args) => card_try::run(args, admin).await,
        CardCommand::Verify(args) => return card_verify::run(args).await,
    };
    done.map_err(Failure::from)
}

async fn set_state(args: StateArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let state = args.state.to_possible_value().map(|value| value.get_name().to_owned());
    let path = format!("{}/state", path(&args.named)?);
    let changed = admin.connect()?.post(&path, &json!({"state": state})).await?;
    resource::report(admin, &changed, "moved")
}

async fn set_credential(args: CredentialArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let body = resource::read_spec(&args.file)?;
    let path = format!("{}/credential", path(&args.named)?);
    let changed = admin.connect()?.send(reqwest::Method::PUT, &path, Some(&body), None).await?.ok()?;
    resource::report(admin, &changed, "changed")
}

async fn set_in_task(args: InTaskArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let client = resource::read_spec(&args.file)?;
    let (api, path) = (admin.connect()?, path(&args.named)?);
    let now = api.get(&path).await?;
    let mut spec = now["spec"].clone();
    // A card that is not sent stays, digit by digit.
    spec.as_object_mut().and_then(|spec| spec.remove("card"));
    resource::merge(&mut spec, json!({"upstream": {"in_task_authorisation": client}}));
    let body = json!({"spec": spec});
    let changed = api.send(reqwest::Method::PUT, &path, Some(&body), now["revision"].as_i64()).await?.ok()?;
    resource::report(admin, &changed, "changed")
}

async fn sign(named: &Named, admin: &AdminArgs) -> anyhow::Result<()> {
    let signed = admin.connect()?.post(&format!("{}/sign", path(named)?), &json!({})).await?;
    output::json(&signed)
}

async fn import(args: ImportArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let settings: Value = match &args.file {
        Some(path) => resource::read_spec(path)?,
        None => json!({}),
    };
    let body = json!({
        "url": args.url, "name": args.name, "dialect": args.dialect, "use_address": args.use_address,
        "settings": settings,
    });
    let imported =
        admin.connect()?.post(&format!("/tenants/{}/cards/import", segment(&args.place.tenant)?), &body).await?;
    if admin.json {
        return output::json(&imported);
    }
    let report = &imported["import"];
    output::line(&format!("card read from {}", report["card_url"].as_str().unwrap_or_default()))?;
    output::table(
        &[("INTERFACE", "/url"), ("CARD SAYS", "/declared"), ("SPOKEN", "/dialect"), ("WHY", "/evidence")],
        report["interfaces"].as_array().map(Vec::as_slice).unwrap_or_default(),
    )?;
    output::line(&format!("colon: {}", report["colon"].as_str().unwrap_or_default()))?;
    for warning in report["warnings"].as_array().into_iter().flatten() {
        output::line(&format!("warning: {}", warning.as_str().unwrap_or_default()))?;
    }
    resource::report(admin, &imported["card"], "registered")
}

fn path(named: &Named) -> anyhow::Result<String> {
    Ok(format!("/tenants/{}/cards/{}", segment(&named.place.tenant)?, segment(&named.name)?))
}
