//! Documents of `apply` and `create -f`: YAML or JSON, one or many in a file, files or folders.
//!
//! Gives `{"kind","tenant","name","spec"}` objects in the order of the files; every problem names its file.

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// One declared thing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    /// Which kind.
    pub kind: Kind,
    /// The tenant it belongs to; for a tenant itself, nothing.
    #[serde(default)]
    pub tenant: Option<String>,
    /// Its name.
    pub name: String,
    /// What it should be.
    #[serde(default)]
    pub spec: Value,
}

/// Kinds in the order in which they must be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub(super) enum Kind {
    /// A tenant.
    Tenant,
    /// A guardrail policy.
    Policy,
    /// A card.
    Card,
    /// A principal.
    Principal,
    /// A grant.
    Grant,
}

impl Kind {
    /// The collection's name in the admin API.
    #[must_use]
    pub(super) const fn collection(self) -> &'static str {
        match self {
            Self::Tenant => "tenants",
            Self::Policy => "policies",
            Self::Card => "cards",
            Self::Principal => "principals",
            Self::Grant => "grants",
        }
    }
}

impl Document {
    /// The collection's path below `/api/v1`.
    #[must_use]
    pub(super) fn collection_path(&self) -> String {
        collection_path(self.kind, self.tenant.as_deref().unwrap_or_default())
    }
}

/// The path of a kind's collection in a tenant.
#[must_use]
pub(super) fn collection_path(kind: Kind, tenant: &str) -> String {
    match kind {
        Kind::Tenant => String::from("/tenants"),
        Kind::Policy | Kind::Card | Kind::Principal | Kind::Grant => {
            format!("/tenants/{tenant}/{}", kind.collection())
        }
    }
}

/// Reads every document below `paths` (`.yaml`, `.yml`, `.json`; folders are walked in name order).
///
/// # Errors
/// A file can't be read or is no document; all problems of all files are listed.
pub(super) fn read_all(paths: &[PathBuf]) -> anyhow::Result<Vec<Document>> {
    let mut files = Vec::new();
    for path in paths {
        collect(path, &mut files)?;
    }
    let mut documents = Vec::new();
    let mut problems = Vec::new();
    for file in &files {
        match read(file) {
            Ok(found) => documents.extend(found),
            Err(error) => problems.push(format!("{}: {error:#}", file.display())),
        }
    }
    if !problems.is_empty() {
        bail!("{}", problems.join("\n"));
    }
    Ok(documents)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
        .with_context(|| format!("reading {}", path.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    entries.sort();
    for entry in entries {
        let is_document = entry
            .extension()
            .and_then(|ending| ending.to_str())
            .is_some_and(|ending| matches!(ending, "yaml" | "yml" | "json"));
        if entry.is_dir() || is_document {
            collect(&entry, files)?;
        }
    }
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<Vec<Document>> {
    let text = std::fs::read_to_string(file).context("can't be read")?;
    let documents = parse(&text, file.extension().is_some_and(|ending| ending == "json"))?;
    for document in &documents {
        match (document.kind, &document.tenant) {
            (Kind::Tenant, Some(_)) => bail!("a Tenant has no tenant of its own; take the member out"),
            (Kind::Policy | Kind::Card | Kind::Principal | Kind::Grant, None) => {
                bail!("{:?} {:?} needs a member tenant", document.kind, document.name)
            }
            _ => {}
        }
    }
    Ok(documents)
}

/// Text → documents: a JSON object or array, or a YAML stream.
///
/// # Errors
/// The text is no document; the message names the member.
pub(super) fn parse(text: &str, is_json: bool) -> anyhow::Result<Vec<Document>> {
    if is_json {
        let value: Value = serde_json::from_str(text)?;
        let items = if let Value::Array(items) = value { items } else { vec![value] };
        return items.into_iter().map(|item| serde_json::from_value(item).map_err(Into::into)).collect();
    }
    Ok(serde_saphyr::from_multiple(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yaml_stream_and_a_json_array_give_the_same_documents() {
        let yaml = "kind: Tenant\nname: acme\n---\nkind: Grant\ntenant: acme\nname: g\nspec:\n  principal: bot\n  cards: [echo]\n";
        let json = r#"[{"kind":"Tenant","name":"acme"},{"kind":"Grant","tenant":"acme","name":"g","spec":{"principal":"bot","cards":["echo"]}}]"#;
        let from_yaml = parse(yaml, false).unwrap();
        assert_eq!(from_yaml, parse(json, true).unwrap());
        assert_eq!(from_yaml[1].collection_path(), "/tenants/acme/grants");
    }

    #[test]
    fn an_unknown_kind_or_member_is_refused_by_name() {
        assert!(parse("kind: Robot\nname: x\n", false).unwrap_err().to_string().contains("Robot"));
        assert!(parse(r#"{"kind":"Card","name":"x","extra":1}"#, true).unwrap_err().to_string().contains("extra"));
    }
}
