//! `chancery key …`: make (shown once), list, set an end, rotate, revoke.

use crate::cli::api::{AdminArgs, segment};
use crate::cli::output;
use crate::cli::resource::InTenant;
use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};

/// Commands on keys.
#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// List them, without the keys themselves.
    List(InTenant),
    /// Make one and print it, this once.
    Create(CreateArgs),
    /// Set when one stops working.
    Expire(ExpireArgs),
    /// Make another one of the same principal and print it, this once; the old one ends after the overlap.
    Rotate(RotateArgs),
    /// Revoke one; it stops working everywhere within seconds.
    Revoke(RevokeArgs),
}

/// Arguments of `create`.
#[derive(Debug, Args)]
pub(super) struct CreateArgs {
    /// The principal that it proves.
    #[arg(long)]
    principal: String,
    /// Where.
    #[command(flatten)]
    place: InTenant,
    /// For people.
    #[arg(long, default_value = "")]
    label: String,
    /// When it stops working (RFC 3339).
    #[arg(long)]
    expires_at: Option<String>,
}

/// Arguments of `expire`.
#[derive(Debug, Args)]
pub(super) struct ExpireArgs {
    /// The key's id (`key-…`).
    id: String,
    /// Where.
    #[command(flatten)]
    place: InTenant,
    /// When it stops working (RFC 3339), or `never`.
    #[arg(long)]
    at: String,
}

/// Arguments of `rotate`.
#[derive(Debug, Args)]
pub(super) struct RotateArgs {
    /// The id of the key that is replaced (`key-…`).
    id: String,
    /// Where.
    #[command(flatten)]
    place: InTenant,
    /// How long the old key still works.
    #[arg(long, default_value = "24h")]
    overlap: String,
    /// When the new key stops working (RFC 3339) [default: after the old one's lifetime].
    #[arg(long)]
    expires_at: Option<String>,
}

/// Arguments of `revoke`.
#[derive(Debug, Args)]
pub(super) struct RevokeArgs {
    /// The key's id (`key-…`).
    id: String,
    /// Where.
    #[command(flatten)]
    place: InTenant,
}

/// Runs the command.
///
/// # Errors
/// The admin API refused.
pub(super) async fn run(command: KeyCommand, admin: &AdminArgs) -> anyhow::Result<()> {
    let api = admin.connect()?;
    match command {
        KeyCommand::List(place) => {
            let items = api.list(&keys(&place)?).await?;
            if admin.json {
                return output::json(&Value::Array(items));
            }
            let columns = [
                ("ID", "/id"),
                ("PRINCIPAL", "/principal"),
                ("LABEL", "/label"),
                ("KEY", "/hint"),
                ("EXPIRES", "/expires_at"),
                ("REVOKED", "/revoked_at"),
                ("LAST USED", "/last_used_at"),
            ];
            output::table(&columns, &items)
        }
        KeyCommand::Create(args) => {
            let body = json!({"principal": args.principal, "label": args.label, "expires_at": args.expires_at});
            let made = api.post(&keys(&args.place)?, &body).await?;
            if admin.json {
                return output::json(&made);
            }
            output::line(made["key"].as_str().unwrap_or_default())
        }
        KeyCommand::Expire(args) => {
            let path = format!("{}/{}", keys(&args.place)?, segment(&args.id)?);
            let revision = api.get(&path).await?["revision"].as_i64();
            let at = (args.at != "never").then_some(&args.at);
            let changed = api.send(Method::PUT, &path, Some(&json!({"expires_at": at})), revision).await?.ok()?;
            if admin.json {
                return output::json(&changed);
            }
            output::line(&format!("{} expires {}", args.id, changed["expires_at"].as_str().unwrap_or("never")))
        }
        KeyCommand::Rotate(args) => {
            let mut body = json!({"overlap": args.overlap});
            if let Some(at) = args.expires_at {
                body["expires_at"] = at.into();
            }
            let path = format!("{}/{}/rotate", keys(&args.place)?, segment(&args.id)?);
            let made = api.post(&path, &body).await?;
            if admin.json {
                return output::json(&made);
            }
            output::line(made["key"].as_str().unwrap_or_default())
        }
        KeyCommand::Revoke(args) => {
            api.delete(&format!("{}/{}", keys(&args.place)?, segment(&args.id)?)).await?;
            output::line(&format!("revoked {}", args.id))
        }
    }
}

fn keys(place: &InTenant) -> anyhow::Result<String> {
    Ok(format!("/tenants/{}/keys", segment(&place.tenant)?))
}
