//! `chancery apply -f PATH… [--prune] [--dry-run]`: make the gateway hold what the files say.
//!
//! Prints one line a document (`+` made, `~` changed, `=` as it was, `-` removed) and is idempotent. Keys are never
//! part of documents: they are shown once by `chancery key create`.

use crate::cli::api::{AdminApi, AdminArgs};
use crate::cli::document::{self, Document, Kind};
use crate::cli::output;
use clap::Args;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Arguments of `apply`.
#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    /// Files or folders of YAML or JSON documents.
    #[arg(short, long = "file", required = true)]
    file: Vec<PathBuf>,
    /// Also remove what the named tenants hold and the files don't (never tenants themselves).
    #[arg(long)]
    prune: bool,
    /// Only say what would change.
    #[arg(long)]
    dry_run: bool,
}

/// What became of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Effect {
    Made,
    Changed(Vec<String>),
    Same,
    Removed,
}

/// Runs the command.
///
/// # Errors
/// A file is no document, or the admin API refused something (what came before it stays applied, and is printed).
pub(super) async fn run(args: ApplyArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let mut documents = document::read_all(&args.file)?;
    documents.sort_by_key(|document| document.kind);
    let api = admin.connect()?;
    for document in &documents {
        let effect = apply_one(&api, document, args.dry_run).await?;
        report(document.kind, document.tenant.as_deref(), &document.name, &effect)?;
    }
    if args.prune {
        prune(&api, &documents, args.dry_run).await?;
    }
    Ok(())
}

async fn apply_one(api: &AdminApi, document: &Document, dry_run: bool) -> anyhow::Result<Effect> {
    let collection = document.collection_path();
    let path = format!("{collection}/{}", document.name);
    let now = api.send(Method::GET, &path, None, None).await?;
    if now.status == StatusCode::NOT_FOUND {
        if !dry_run {
            api.post(&collection, &json!({"name": document.name, "spec": document.spec})).await?;
        }
        return Ok(Effect::Made);
    }
    let now = now.ok()?;
    let changes = differences(&now["spec"], &document.spec);
    if changes.is_empty() {
        return Ok(Effect::Same);
    }
    if !dry_run {
        let body = json!({"spec": document.spec});
        api.send(Method::PUT, &path, Some(&body), now["revision"].as_i64()).await?.ok()?;
    }
    Ok(Effect::Changed(changes))
}

/// Removes what the mentioned tenants hold beyond the documents, dependants first.
async fn prune(api: &AdminApi, documents: &[Document], dry_run: bool) -> anyhow::Result<()> {
    let mut wanted: BTreeMap<(Kind, &str), BTreeSet<&str>> = BTreeMap::new();
    let mut tenants: BTreeSet<&str> = BTreeSet::new();
    for document in documents {
        let tenant = document.tenant.as_deref().unwrap_or(&document.name);
        tenants.insert(tenant);
        wanted.entry((document.kind, tenant)).or_default().insert(&document.name);
    }
    for tenant in tenants {
        for kind in [Kind::Grant, Kind::Principal, Kind::Card, Kind::Policy] {
            let collection = document::collection_path(kind, tenant);
            for item in api.list(&collection).await? {
                let name = item["name"].as_str().unwrap_or_default();
                if wanted.get(&(kind, tenant)).is_some_and(|names| names.contains(name)) {
                    continue;
                }
                if !dry_run {
                    api.delete(&format!("{collection}/{name}")).await?;
                }
                report(kind, Some(tenant), name, &Effect::Removed)?;
            }
        }
    }
    Ok(())
}

fn report(kind: Kind, tenant: Option<&str>, name: &str, effect: &Effect) -> anyhow::Result<()> {
    let (sign, detail) = match effect {
        Effect::Made => ('+', String::new()),
        Effect::Changed(paths) => ('~', format!(": {}", paths.join(", "))),
        Effect::Same => ('=', String::new()),
        Effect::Removed => ('-', String::new()),
    };
    let place = tenant.map(|tenant| format!("{tenant}/")).unwrap_or_default();
    output::line(&format!("{sign} {kind:?} {place}{name}{detail}"))
}

/// Where `wanted` differs from `now`. Members that `wanted` does not mention keep their value, so they don't differ;
/// a credential is write-only and always counts as different when it carries a secret.
fn differences(now: &Value, wanted: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    compare(now, wanted, String::new(), &mut paths);
    paths
}

fn compare(now: &Value, wanted: &Value, path: String, paths: &mut Vec<String>) {
    match (now, wanted) {
        (Value::Object(now), Value::Object(wanted)) => {
            for (key, value) in wanted {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                compare(now.get(key).unwrap_or(&Value::Null), value, path, paths);
            }
        }
        (now, wanted) if now == wanted => {}
        _ => paths.push(if path.is_empty() { String::from("spec") } else { path }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_document_says_is_compared() {
        let now = json!({"state": "published", "upstream": {"interfaces": [1], "colon": "auto"}});
        assert_eq!(differences(&now, &json!({"upstream": {"interfaces": [1]}})), Vec::<String>::new());
        assert_eq!(
            differences(&now, &json!({"upstream": {"colon": "literal"}, "policy": "x"})),
            ["upstream.colon", "policy"]
        );
    }
}
