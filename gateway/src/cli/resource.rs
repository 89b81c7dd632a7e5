//! What `tenant`, `card`, `principal`, `grant` and `policy` have in common: list, get, create, update, delete.
//!
//! Specs come from files (YAML or JSON) or `--set key=value` pairs; everything goes through the admin API.

use crate::cli::Misuse;
use crate::cli::api::{AdminArgs, segment};
use crate::cli::document::{Kind, collection_path};
use crate::cli::output;
use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What can be done with every kind.
#[derive(Debug, Subcommand)]
pub(super) enum ResourceCommand {
    /// List them.
    List(InTenant),
    /// Show one.
    Get(Named),
    /// Make one from a spec.
    Create(Written),
    /// Replace one's spec.
    Update(Written),
    /// Remove one.
    Delete(Named),
}

/// The tenant that things belong to.
#[derive(Debug, Args)]
pub(super) struct InTenant {
    /// The tenant.
    #[arg(short, long, env = "CHANCERY_TENANT", default_value = "default")]
    pub tenant: String,
}

/// One thing by name.
#[derive(Debug, Args)]
pub(super) struct Named {
    /// Its name.
    pub name: String,
    /// Where it is.
    #[command(flatten)]
    pub place: InTenant,
}

/// One thing and what it should be.
#[derive(Debug, Args)]
pub(super) struct Written {
    /// Its name.
    name: String,
    /// Where it is.
    #[command(flatten)]
    place: InTenant,
    /// File with the spec (YAML or JSON), `-` for standard input.
    #[arg(short, long)]
    file: Option<PathBuf>,
    /// One member of the spec, such as `state=disabled` or `cards=["echo"]`; a value that is JSON is taken as JSON.
    #[arg(short, long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Runs a command on one kind.
///
/// # Errors
/// The admin API refused, or what was given can't be read.
pub(super) async fn run(kind: Kind, command: ResourceCommand, admin: &AdminArgs) -> anyhow::Result<()> {
    let api = admin.connect()?;
    match command {
        ResourceCommand::List(place) => {
            let items = api.list(&collection_path(kind, &place.tenant)?).await?;
            if admin.json { output::json(&Value::Array(items)) } else { output::table(columns(kind), &items) }
        }
        ResourceCommand::Get(named) => output::json(&api.get(&path(kind, &named.place, &named.name)?).await?),
        ResourceCommand::Create(written) => {
            let body = json!({"name": written.name, "spec": spec(&written)?});
            let made = api.post(&collection_path(kind, &written.place.tenant)?, &body).await?;
            report(admin, &made, "made")
        }
        ResourceCommand::Update(written) => {
            if written.file.is_none() && written.set.is_empty() {
                return Err(Misuse(String::from("nothing to change: give --set KEY=VALUE or --file")).into());
            }
            let path = path(kind, &written.place, &written.name)?;
            let now = api.get(&path).await?;
            let changes = spec(&written)?;
            let mut wanted = if written.file.is_some() { json!({}) } else { now["spec"].clone() };
            if kind == Kind::Card && changes.get("card").is_none() {
                // A card that is not sent stays, digit by digit.
                wanted.as_object_mut().and_then(|wanted| wanted.remove("card"));
            }
            merge(&mut wanted, changes);
            let changed = api
                .send(reqwest::Method::PUT, &path, Some(&json!({"spec": wanted})), now["revision"].as_i64())
                .await?
                .ok()?;
            report(admin, &changed, "changed")
        }
        ResourceCommand::Delete(named) => {
            api.delete(&path(kind, &named.place, &named.name)?).await?;
            output::line(&format!("removed {}", named.name))
        }
    }
}

/// Prints what became of one thing.
///
/// # Errors
/// Standard output is closed.
pub(super) fn report(admin: &AdminArgs, item: &Value, verb: &str) -> anyhow::Result<()> {
    if admin.json {
        return output::json(item);
    }
    let word = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
    output::line(&format!("{verb} {} {} ({})", word("kind").to_lowercase(), word("name"), word("id")))
}

fn path(kind: Kind, place: &InTenant, name: &str) -> anyhow::Result<String> {
    Ok(format!("{}/{}", collection_path(kind, &place.tenant)?, segment(name)?))
}

const fn columns(kind: Kind) -> &'static [(&'static str, &'static str)] {
    match kind {
        Kind::Tenant => &[("NAME", "/name"), ("STATE", "/spec/state"), ("DEFAULT CARD", "/spec/default_card")],
        Kind::Policy => &[("NAME", "/name"), ("ID", "/id"), ("MODE", "/spec/mode"), ("UPDATED", "/updated_at")],
        Kind::Card => &[
            ("NAME", "/name"),
            ("STATE", "/spec/state"),
            ("TRUST", "/spec/trust_tier"),
            ("AGENT", "/spec/upstream/interfaces/0/url"),
            ("BINDING", "/spec/upstream/interfaces/0/binding"),
            ("VERSION", "/spec/upstream/interfaces/0/version"),
        ],
        Kind::Principal => &[
            ("NAME", "/name"),
            ("KIND", "/spec/kind"),
            ("STATE", "/spec/state"),
            ("GROUPS", "/spec/groups"),
            ("ID", "/id"),
        ],
        Kind::Issuer => {
            &[("NAME", "/name"), ("ISSUER", "/spec/issuer"), ("AUDIENCES", "/spec/audiences"), ("STATE", "/spec/state")]
        }
        Kind::Conditions => {
            &[("NAME", "/name"), ("MODE", "/spec/mode"), ("OTHERWISE", "/spec/otherwise"), ("UPDATED", "/updated_at")]
        }
        Kind::Grant => &[
            ("NAME", "/name"),
            ("PRINCIPAL", "/spec/principal"),
            ("CARDS", "/spec/cards"),
            ("OPERATIONS", "/spec/operations"),
            ("GROUP", "/spec/group"),
            ("EFFECT", "/spec/effect"),
            ("MODE", "/spec/mode"),
        ],
    }
}

/// The spec from the file, then the pairs over it.
fn spec(written: &Written) -> anyhow::Result<Value> {
    let mut spec = match &written.file {
        Some(path) => read_spec(path)?,
        None => json!({}),
    };
    for pair in &written.set {
        let Some((key, text)) = pair.split_once('=') else {
            return Err(Misuse(format!("--set takes KEY=VALUE, not {pair:?}")).into());
        };
        let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
        let place = key.split('.').fold(&mut spec, |place, key| {
            if !place.is_object() {
                *place = json!({});
            }
            &mut place[key]
        });
        *place = value;
    }
    Ok(spec)
}

/// A spec from a file. A whole `apply` document is taken too: its spec counts.
///
/// # Errors
/// It can't be read, or is neither JSON nor YAML.
pub(super) fn read_spec(path: &std::path::Path) -> anyhow::Result<Value> {
    let text = if path.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin()).context("reading standard input")?
    } else {
        let text = std::fs::read_to_string(path);
        text.map_err(|error| Misuse(format!("{} can't be read: {error}", path.display())))?
    };
    let value: Value = match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(_) => serde_saphyr::from_str(&text)
            .map_err(|error| Misuse(format!("{} is neither JSON nor YAML: {error}", path.display())))?,
    };
    let is_document = value["kind"].is_string() && value["spec"].is_object();
    Ok(if is_document { value["spec"].clone() } else { value })
}

/// Puts `from` over `into`, member by member.
pub(super) fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_reach_inner_members_and_keep_json_types() {
        let written = Written {
            name: String::from("x"),
            place: InTenant { tenant: String::from("t") },
            file: None,
            set: vec![
                String::from("upstream.colon=literal"),
                String::from("limits.per_minute=5"),
                String::from("cards=[\"a\"]"),
            ],
        };
        assert_eq!(
            spec(&written).unwrap(),
            json!({"upstream": {"colon": "literal"}, "limits": {"per_minute": 5}, "cards": ["a"]})
        );
    }
}
