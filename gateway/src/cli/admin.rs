//! `chancery admin …`: accounts of administrators and tokens of programs, over the admin API.
//!
//! Passwords are read from a file or standard input, never from an argument that others on the machine could see.

use crate::cli::Misuse;
use crate::cli::api::{AdminApi, AdminArgs};
use crate::cli::output;
use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Commands on administrators.
#[derive(Debug, Subcommand)]
pub(super) enum AdminCommand {
    /// List them.
    List,
    /// Show one.
    Get(Account),
    /// Make an account; the password is read from standard input or a file.
    Create(Create),
    /// Change an account's roles, its name for people, or whether it may sign in. Roles of single sign-on are the provider's.
    Update(Update),
    /// Give an account a new password; all its sessions end, and its tokens are revoked.
    Password(Password),
    /// Remove an account.
    Delete(Account),
    /// Tokens of programs.
    #[command(subcommand)]
    Token(TokenCommand),
}

/// Commands on tokens.
#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// List them, without the tokens themselves.
    List,
    /// Make one and print it, this once.
    Create(CreateToken),
    /// Revoke one at once.
    Revoke {
        /// The token's id (`tok-…`).
        id: String,
    },
}

/// One account.
#[derive(Debug, Args)]
pub(super) struct Account {
    /// Its name.
    name: String,
}

/// Roles to give.
#[derive(Debug, Args)]
pub(super) struct Given {
    /// A role, `ROLE@TENANT` or `ROLE` for all tenants: platform_admin, tenant_admin, operator, auditor. May be repeated.
    #[arg(short, long = "role", value_name = "ROLE[@TENANT]")]
    roles: Vec<String>,
}

/// Arguments of `create`.
#[derive(Debug, Args)]
pub(super) struct Create {
    /// Its name.
    name: String,
    #[command(flatten)]
    given: Given,
    /// For people.
    #[arg(long, default_value = "")]
    display_name: String,
    /// File with the password, `-` for standard input.
    #[arg(long, default_value = "-")]
    password_file: PathBuf,
}

/// Arguments of `update`.
#[derive(Debug, Args)]
pub(super) struct Update {
    /// Its name.
    name: String,
    #[command(flatten)]
    given: Given,
    /// For people.
    #[arg(long)]
    display_name: Option<String>,
    /// `active` or `disabled`.
    #[arg(long)]
    state: Option<String>,
}

/// Arguments of `password`.
#[derive(Debug, Args)]
pub(super) struct Password {
    /// Its name.
    name: String,
    /// File with the password, `-` for standard input.
    #[arg(long, default_value = "-")]
    password_file: PathBuf,
}

/// Arguments of `token create`.
#[derive(Debug, Args)]
pub(super) struct CreateToken {
    /// What it is for.
    name: String,
    #[command(flatten)]
    given: Given,
    /// When it stops working (RFC 3339).
    #[arg(long)]
    expires_at: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// The admin API refused, or what was given can't be read.
pub(super) async fn run(command: AdminCommand, admin: &AdminArgs) -> anyhow::Result<()> {
    let api = admin.connect()?;
    match command {
        AdminCommand::List => {
            let items = api.list("/admins").await?;
            let columns = [
                ("NAME", "/name"),
                ("SIGNS IN WITH", "/source"),
                ("STATE", "/spec/state"),
                ("ROLES", "/spec/roles"),
                ("SIGNED IN", "/signed_in_at"),
            ];
            if admin.json { output::json(&Value::Array(items)) } else { output::table(&columns, &items) }
        }
        AdminCommand::Get(account) => output::json(&api.get(&path(&account.name)?).await?),
        AdminCommand::Create(create) => {
            let spec = json!({"display_name": create.display_name, "roles": roles(&create.given)?});
            let password = password(&create.password_file)?;
            let body = json!({"name": create.name, "password": password.as_str(), "spec": spec});
            told(admin, &api.post("/admins", &body).await?, &format!("made administrator {}", create.name))
        }
        AdminCommand::Update(update) => change(&api, admin, update).await,
        AdminCommand::Password(given) => {
            let body = json!({"password": password(&given.password_file)?.as_str()});
            let path = format!("{}/password", path(&given.name)?);
            api.send(reqwest::Method::PUT, &path, Some(&body), None).await?.ok()?;
            output::line(&format!("set the password of {}", given.name))
        }
        AdminCommand::Delete(account) => {
            api.delete(&path(&account.name)?).await?;
            output::line(&format!("removed {}", account.name))
        }
        AdminCommand::Token(command) => token(&api, admin, command).await,
    }
}

async fn change(api: &AdminApi, admin: &AdminArgs, update: Update) -> anyhow::Result<()> {
    let path = path(&update.name)?;
    let now = api.get(&path).await?;
    let mut spec = now["spec"].clone();
    if !update.given.roles.is_empty() {
        spec["roles"] = roles(&update.given)?;
    }
    if let Some(name) = update.display_name {
        spec["display_name"] = name.into();
    }
    if let Some(state) = update.state {
        spec["state"] = state.into();
    }
    if spec == now["spec"] {
        return Err(Misuse(String::from("nothing to change: give --role, --display-name or --state")).into());
    }
    let body = json!({"spec": spec});
    let changed = api.send(reqwest::Method::PUT, &path, Some(&body), now["revision"].as_i64()).await?.ok()?;
    told(admin, &changed, &format!("changed administrator {}", update.name))
}

async fn token(api: &AdminApi, admin: &AdminArgs, command: TokenCommand) -> anyhow::Result<()> {
    match command {
        TokenCommand::List => {
            let items = api.list("/tokens").await?;
            let columns = [
                ("ID", "/id"),
                ("NAME", "/name"),
                ("TOKEN", "/hint"),
                ("ROLES", "/roles"),
                ("EXPIRES", "/expires_at"),
                ("REVOKED", "/revoked_at"),
                ("LAST USED", "/last_used_at"),
            ];
            if admin.json { output::json(&Value::Array(items)) } else { output::table(&columns, &items) }
        }
        TokenCommand::Create(create) => {
            let mut body = json!({"name": create.name, "roles": roles(&create.given)?});
            if let Some(at) = create.expires_at {
                body["expires_at"] = at.into();
            }
            let made = api.post("/tokens", &body).await?;
            if admin.json { output::json(&made) } else { output::line(made["token"].as_str().unwrap_or_default()) }
        }
        TokenCommand::Revoke { id } => {
            let path = format!("/tokens/{}", super::api::segment(&id)?);
            api.send(reqwest::Method::DELETE, &path, None, None).await?.ok()?;
            output::line(&format!("revoked {id}"))
        }
    }
}

fn told(admin: &AdminArgs, item: &Value, text: &str) -> anyhow::Result<()> {
    if admin.json { output::json(item) } else { output::line(text) }
}

fn path(name: &str) -> anyhow::Result<String> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-_@+".contains(&byte);
    if name.is_empty() || !name.bytes().all(legal) || name.starts_with('.') {
        return Err(Misuse(format!("{name:?} is no administrator's name")).into());
    }
    Ok(format!("/admins/{name}"))
}

fn roles(given: &Given) -> anyhow::Result<Value> {
    if given.roles.is_empty() {
        return Err(Misuse(String::from("give at least one --role, such as --role operator@default")).into());
    }
    let role = |text: &String| {
        let (role, tenant) = text.split_once('@').unwrap_or((text.as_str(), "*"));
        json!({"role": role, "tenant": tenant})
    };
    Ok(Value::Array(given.roles.iter().map(role).collect()))
}

fn password(file: &Path) -> anyhow::Result<Zeroizing<String>> {
    let text = if file.as_os_str() == "-" {
        let mut line = Zeroizing::new(String::new());
        output::note("password:");
        std::io::stdin().read_line(&mut line).context("reading the password from standard input")?;
        line
    } else {
        let text = std::fs::read_to_string(file);
        Zeroizing::new(text.map_err(|error| Misuse(format!("{} can't be read: {error}", file.display())))?)
    };
    Ok(Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_written_with_their_tenant_or_for_all() {
        let given = Given { roles: vec!["operator@acme".to_owned(), "auditor".to_owned()] };
        let wanted = json!([{"role": "operator", "tenant": "acme"}, {"role": "auditor", "tenant": "*"}]);
        assert_eq!(roles(&given).unwrap(), wanted);
        assert!(path("ann@example.com").is_ok() && path("../x").is_err() && path("a/b").is_err());
    }
}
