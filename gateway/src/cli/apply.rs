//! `chancery apply -f PATH… [--prune] [--dry-run]`: make the gateway hold what the files say.
//!
//! Prints one line a document (`+` made, `~` changed and where, `=` as it was, `-` removed) and is idempotent. Settings
//! that a document does not mention stay as they are, `null` takes one back; agent cards, policies and issuers are replaced as a
//! whole. Keys are never part of documents: they are shown once by `chancery key create`.

use crate::cli::api::{AdminApi, AdminArgs};
use crate::cli::document::{self, Document, Kind};
use crate::cli::output;
use crate::cli::resource::merge;
use anyhow::Context as _;
use clap::Args;
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};
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

/// Members of a tenant that name what can only be made after it.
const REFERENCES: [&str; 3] = ["default_card", "default_policy", "floor_policy"];

/// Runs the command.
///
/// # Errors
/// A file is no document, or the admin API refused something (what came before it stays applied, and is printed).
pub(super) async fn run(args: ApplyArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let mut documents = document::read_all(&args.file)?;
    documents.sort_by_key(|document| document.kind);
    let api = admin.connect()?;
    let (tenants, others): (Vec<&Document>, Vec<&Document>) =
        documents.iter().partition(|document| document.kind == Kind::Tenant);
    let mut made = BTreeSet::new();
    for tenant in &tenants {
        if make_tenant(&api, tenant, args.dry_run).await.with_context(|| tenant.place())? {
            made.insert(tenant.name.as_str());
            report(tenant, &Effect::Made)?;
        }
    }
    for document in others {
        let effect = apply_one(&api, document, args.dry_run).await.with_context(|| document.place())?;
        report(document, &effect)?;
    }
    // Only now is there what a tenant may refer to.
    for tenant in tenants {
        let is_new = made.contains(tenant.name.as_str());
        if is_new && args.dry_run {
            continue;
        }
        let effect = apply_one(&api, tenant, args.dry_run).await.with_context(|| tenant.place())?;
        if !is_new {
            report(tenant, &effect)?;
        }
    }
    if args.prune {
        prune(&api, &documents, args.dry_run).await?;
    }
    Ok(())
}

/// Makes a tenant that is missing, without what it refers to.
async fn make_tenant(api: &AdminApi, tenant: &Document, dry_run: bool) -> anyhow::Result<bool> {
    let collection = tenant.collection_path()?;
    let now = api.send(Method::GET, &format!("{collection}/{}", tenant.name), None, None).await?;
    if now.status != StatusCode::NOT_FOUND {
        return now.ok().map(|_| false);
    }
    if !dry_run {
        let mut spec = without_nulls(&tenant.spec);
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|key, _| !REFERENCES.contains(&key.as_str()));
        }
        api.post(&collection, &json!({"name": tenant.name, "spec": spec})).await?;
    }
    Ok(true)
}

async fn apply_one(api: &AdminApi, document: &Document, dry_run: bool) -> anyhow::Result<Effect> {
    let collection = document.collection_path()?;
    let path = format!("{collection}/{}", document.name);
    let now = api.send(Method::GET, &path, None, None).await?;
    if now.status == StatusCode::NOT_FOUND {
        if !dry_run {
            let spec = without_nulls(&document.spec);
            api.post(&collection, &json!({"name": document.name, "spec": spec})).await?;
        }
        return Ok(Effect::Made);
    }
    let now = now.ok()?;
    let changes = differences(document.kind, &now["spec"], &document.spec);
    if changes.is_empty() {
        return Ok(Effect::Same);
    }
    if !dry_run {
        let body = json!({"spec": changed_spec(document.kind, &now["spec"], &document.spec)});
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
        let there = api.send(Method::GET, &format!("/tenants/{tenant}"), None, None).await?;
        if dry_run && there.status == StatusCode::NOT_FOUND {
            continue;
        }
        there.ok()?;
        for kind in [Kind::Grant, Kind::Conditions, Kind::Card, Kind::Issuer, Kind::Principal, Kind::Policy] {
            let names = wanted.get(&(kind, tenant));
            prune_kind(api, (kind, tenant), names, dry_run).await?;
        }
    }
    Ok(())
}

async fn prune_kind(
    api: &AdminApi,
    (kind, tenant): (Kind, &str),
    wanted: Option<&BTreeSet<&str>>,
    dry_run: bool,
) -> anyhow::Result<()> {
    let collection = document::collection_path(kind, tenant)?;
    for item in api.list(&collection).await? {
        let name = item["name"].as_str().unwrap_or_default();
        if wanted.is_some_and(|names| names.contains(name)) {
            continue;
        }
        if !dry_run {
            let removed = api.delete_at(&format!("{collection}/{name}"), item["revision"].as_i64()).await;
            removed.with_context(|| format!("removing {kind:?} {tenant}/{name}"))?;
        }
        output::line(&line(kind, Some(tenant), name, &Effect::Removed))?;
    }
    Ok(())
}

fn report(document: &Document, effect: &Effect) -> anyhow::Result<()> {
    output::line(&line(document.kind, document.tenant.as_deref(), &document.name, effect))
}

fn line(kind: Kind, tenant: Option<&str>, name: &str, effect: &Effect) -> String {
    let (sign, detail) = match effect {
        Effect::Made => ('+', String::new()),
        Effect::Changed(paths) => ('~', format!(": {}", paths.join(", "))),
        Effect::Same => ('=', String::new()),
        Effect::Removed => ('-', String::new()),
    };
    let place = tenant.map(|tenant| format!("{tenant}/")).unwrap_or_default();
    format!("{sign} {kind:?} {place}{name}{detail}")
}

/// How far an absent member counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    /// It stays as it is.
    Keeps,
    /// It goes.
    Removes,
}

/// Where `wanted` differs from `now`. A credential is write-only and always counts as different when it carries a secret.
fn differences(kind: Kind, now: &Value, wanted: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    compare(now, wanted, "", absent(kind), &mut paths);
    paths
}

const fn absent(kind: Kind) -> Absent {
    match kind {
        // Whom an issuer may vouch for is what the document says, and nobody else.
        Kind::Issuer | Kind::Policy | Kind::Conditions => Absent::Removes,
        Kind::Tenant | Kind::Principal | Kind::Card | Kind::Grant => Absent::Keeps,
    }
}

fn compare(now: &Value, wanted: &Value, path: &str, absent: Absent, paths: &mut Vec<String>) {
    match (now, wanted) {
        (Value::Object(now), Value::Object(wanted)) => {
            let gone = now.keys().filter(|key| absent == Absent::Removes && !wanted.contains_key(*key));
            for key in wanted.keys().chain(gone) {
                let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let absent = if at == "card" { Absent::Removes } else { absent };
                let member = |object: &Map<String, Value>| object.get(key).cloned().unwrap_or_default();
                compare(&member(now), &member(wanted), &at, absent, paths);
            }
        }
        (now, wanted) if now == wanted => {}
        // A client that is taken away is not shown.
        (Value::Null, wanted) if path == "upstream.in_task_authorisation" && wanted["type"] == "none" => {}
        (_, _) => paths.push(if path.is_empty() { String::from("spec") } else { path.to_owned() }),
    }
}

/// What to send so that `now` becomes what the document says.
fn changed_spec(kind: Kind, now: &Value, wanted: &Value) -> Value {
    if absent(kind) == Absent::Removes {
        return wanted.clone();
    }
    let mut spec = now.clone();
    let card = wanted.get("card").filter(|card| now.get("card") != Some(card));
    // A card that is not sent stays, digit by digit.
    spec.as_object_mut().and_then(|spec| spec.remove("card"));
    let mut rest = wanted.clone();
    rest.as_object_mut().and_then(|rest| rest.remove("card"));
    merge(&mut spec, rest);
    let mut spec = without_nulls(&spec);
    if let Some(card) = card {
        spec["card"] = card.clone();
    }
    spec
}

/// `null` takes a setting back. Documents of others (cards) may hold it for themselves.
fn without_nulls(value: &Value) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    let kept = members.iter().filter(|(_, value)| !value.is_null());
    let inner = |key: &String, value: &Value| if key == "card" { value.clone() } else { without_nulls(value) };
    Value::Object(kept.map(|(key, value)| (key.clone(), inner(key, value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_are_not_mentioned_stay() {
        let now =
            json!({"state": "published", "upstream": {"interfaces": [1], "colon": "auto"}, "card": {"name": "a"}});
        let differences = |wanted: &Value| differences(Kind::Card, &now, wanted);
        assert_eq!(differences(&json!({"upstream": {"interfaces": [1]}})), Vec::<String>::new());
        let wanted = json!({"upstream": {"colon": "literal"}, "policy": "x", "state": null});
        assert_eq!(differences(&wanted), ["upstream.colon", "policy", "state"]);
        let sent = changed_spec(Kind::Card, &now, &wanted);
        assert_eq!(sent, json!({"upstream": {"interfaces": [1], "colon": "literal"}, "policy": "x"}));
    }

    #[test]
    fn cards_and_policies_are_compared_and_replaced_as_a_whole() {
        let now = json!({"card": {"name": "a", "iconUrl": "https://a.test/i"}, "version": 3});
        let wanted = json!({"card": {"name": "a"}});
        assert_eq!(differences(Kind::Card, &now, &wanted), ["card.iconUrl"]);
        assert_eq!(changed_spec(Kind::Card, &now, &wanted), json!({"version": 3, "card": {"name": "a"}}));
        let (now, wanted) = (json!({"detectors": [], "mode": "monitor"}), json!({"detectors": []}));
        assert_eq!(differences(Kind::Policy, &now, &wanted), ["mode"]);
        assert_eq!(changed_spec(Kind::Policy, &now, &wanted), wanted);
    }
}
