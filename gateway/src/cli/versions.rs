//! What everything that keeps its versions has in common: history, one version, what changed between two, going back.

use crate::cli::api::{AdminApi, AdminArgs, segment};
use crate::cli::document::{Kind, collection_path};
use crate::cli::output;
use crate::cli::resource::{Named, report};
use anyhow::bail;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

/// What can be done with versions.
#[derive(Debug, Subcommand)]
pub(super) enum VersionsCommand {
    /// List the versions, newest first.
    History(Named),
    /// Show what one version said.
    Version(VersionArgs),
    /// Show what changed between two versions (the last two if none are named).
    Diff(DiffArgs),
    /// Put an earlier version into force again; it becomes the next one.
    #[command(alias = "rollback")]
    Restore(RestoreArgs),
}

/// Arguments of `version`.
#[derive(Debug, Args)]
pub(super) struct VersionArgs {
    /// Of what.
    #[command(flatten)]
    named: Named,
    /// The version's number, as `history` shows it.
    #[arg(value_name = "VERSION")]
    number: i64,
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    /// Of what.
    #[command(flatten)]
    named: Named,
    /// The older version.
    #[arg(long, value_name = "VERSION")]
    from: Option<i64>,
    /// The newer version.
    #[arg(long, value_name = "VERSION")]
    to: Option<i64>,
}

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// Of what.
    #[command(flatten)]
    named: Named,
    /// The version's number, as `history` shows it.
    #[arg(long, value_name = "VERSION")]
    to: i64,
}

/// Runs a command on one kind.
///
/// # Errors
/// The admin API refused, or there is no such version.
pub(super) async fn run(kind: Kind, command: VersionsCommand, admin: &AdminArgs) -> anyhow::Result<()> {
    let api = admin.connect()?;
    match command {
        VersionsCommand::History(named) => {
            let items = newest(&api, &path(kind, &named)?, None).await?;
            if admin.json { output::json(&Value::Array(items)) } else { output::table(VERSIONS, &items) }
        }
        VersionsCommand::Version(args) => {
            let found = one(&api, &path(kind, &args.named)?, args.number).await?;
            output::json(if admin.json { &found } else { &found["spec"] })
        }
        VersionsCommand::Diff(args) => diff(&api, &path(kind, &args.named)?, &args).await,
        VersionsCommand::Restore(args) => {
            let path = path(kind, &args.named)?;
            let revision = api.get(&path).await?["revision"].as_i64();
            let (at, body) = (format!("{path}/version"), json!({"version": args.to}));
            let changed = api.send(reqwest::Method::PUT, &at, Some(&body), revision).await?.ok()?;
            report(admin, &changed, "changed")
        }
    }
}

/// The newest versions, or those below one.
async fn newest(api: &AdminApi, path: &str, before: Option<i64>) -> anyhow::Result<Vec<Value>> {
    let before = before.map_or_else(String::new, |before| format!("&before={before}"));
    let answer = api.get(&format!("{path}/history?limit=100{before}")).await?;
    Ok(answer["items"].as_array().cloned().unwrap_or_default())
}

async fn one(api: &AdminApi, path: &str, version: i64) -> anyhow::Result<Value> {
    let items = newest(api, path, Some(version.saturating_add(1))).await?;
    match items.into_iter().next().filter(|item| item["version"].as_i64() == Some(version)) {
        Some(item) => Ok(item),
        None => bail!("there is no version {version}; `history` lists them"),
    }
}

async fn diff(api: &AdminApi, path: &str, args: &DiffArgs) -> anyhow::Result<()> {
    let new = match args.to {
        Some(version) => one(api, path, version).await?,
        None => newest(api, path, None).await?.into_iter().next().unwrap_or_default(),
    };
    let number = new["version"].as_i64().unwrap_or_default();
    let old = one(api, path, args.from.unwrap_or_else(|| number.saturating_sub(1))).await?;
    let mut lines = Vec::new();
    compare(&old["spec"], &new["spec"], "", &mut lines);
    output::line(&format!("version {} → {number}", old["version"]))?;
    lines.iter().try_for_each(|line| output::line(line))
}

/// One line for each member that differs: its pointer, the old value, the new one. Longer texts differ line by line.
fn compare(old: &Value, new: &Value, path: &str, lines: &mut Vec<String>) {
    match (old, new) {
        (old, new) if old == new => {}
        (Value::Object(old), Value::Object(new)) => {
            let keys: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in keys {
                let member = |object: &serde_json::Map<String, Value>| object.get(key).cloned().unwrap_or_default();
                compare(&member(old), &member(new), &format!("{path}/{key}"), lines);
            }
        }
        (Value::String(old), Value::String(new)) if old.contains('\n') || new.contains('\n') => {
            let only = |these: &str, those: &str, sign: char| -> Vec<String> {
                let those: std::collections::HashSet<&str> = those.lines().collect();
                these.lines().filter(|line| !those.contains(line)).map(|line| format!("  {sign} {line}")).collect()
            };
            lines.push(format!("{path}:"));
            lines.extend(only(old, new, '-'));
            lines.extend(only(new, old, '+'));
        }
        (old, new) => lines.push(format!("{path}: {old} → {new}")),
    }
}

fn path(kind: Kind, named: &Named) -> anyhow::Result<String> {
    Ok(format!("{}/{}", collection_path(kind, &named.place.tenant)?, segment(&named.name)?))
}

const VERSIONS: &[(&str, &str)] = &[("VERSION", "/version"), ("AT", "/at"), ("BY", "/changed_by"), ("NOTE", "/note")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_names_only_what_changed() {
        let mut lines = Vec::new();
        compare(&json!({"a": 1, "b": {"c": "x"}}), &json!({"a": 1, "b": {"c": "y", "d": true}}), "", &mut lines);
        assert_eq!(lines, ["/b/c: \"x\" → \"y\"", "/b/d: null → true"]);
        lines.clear();
        compare(&json!({"p": "one\ntwo\n"}), &json!({"p": "one\nthree\n"}), "", &mut lines);
        assert_eq!(lines, ["/p:", "  - two", "  + three"]);
    }
}
