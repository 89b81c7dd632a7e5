//! Documents of `apply` and `create -f`: YAML or JSON, one or many in a file, files or folders.
//!
//! Gives `{"kind","tenant","name","spec"}` objects in the order of the files; every problem names its file.

use crate::cli::Misuse;
use crate::cli::api::segment;
use anyhow::Context as _;
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
    /// Where it was read.
    #[serde(skip)]
    pub file: PathBuf,
}

/// Kinds in the order in which they must be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub(super) enum Kind {
    /// A tenant.
    Tenant,
    /// A guardrail policy.
    Policy,
    /// A principal.
    Principal,
    /// An issuer, which may name principals.
    Issuer,
    /// A card, which may name a policy and a principal.
    Card,
    /// The conditions under which grants hold; before them, so that no grant is ever in force without.
    Conditions,
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
            Self::Issuer => "issuers",
            Self::Grant => "grants",
            Self::Conditions => "conditions",
        }
    }
}

impl Document {
    /// The collection's path below `/api/v1`.
    ///
    /// # Errors
    /// The tenant's name can be none.
    pub(super) fn collection_path(&self) -> anyhow::Result<String> {
        collection_path(self.kind, self.tenant.as_deref().unwrap_or_default())
    }

    /// What and where it is, for an error.
    #[must_use]
    pub(super) fn place(&self) -> String {
        let tenant = self.tenant.as_deref().map(|tenant| format!("{tenant}/")).unwrap_or_default();
        format!("{}: {:?} {tenant}{} was not applied", self.file.display(), self.kind, self.name)
    }

    fn is_same_thing(&self, other: &Self) -> bool {
        (self.kind, &self.tenant, &self.name) == (other.kind, &other.tenant, &other.name)
    }

    fn problem(&self) -> Option<String> {
        let needs_tenant = self.kind != Kind::Tenant;
        match &self.tenant {
            Some(_) if !needs_tenant => Some(String::from("has no tenant of its own; take the member out")),
            None if needs_tenant => Some(String::from("needs a member tenant")),
            Some(tenant) if segment(tenant).is_err() => Some(format!("{tenant:?} is no tenant's name")),
            Some(_) | None if segment(&self.name).is_err() => {
                Some(String::from("has no name that can be one: a-z, 0-9 and inner dashes"))
            }
            Some(_) | None if !self.spec.is_object() => Some(String::from("needs a spec that is an object")),
            Some(_) | None => None,
        }
    }
}

/// The path of a kind's collection in a tenant.
///
/// # Errors
/// The tenant's name can be none.
pub(super) fn collection_path(kind: Kind, tenant: &str) -> anyhow::Result<String> {
    match kind {
        Kind::Tenant => Ok(String::from("/tenants")),
        Kind::Policy | Kind::Card | Kind::Principal | Kind::Issuer | Kind::Grant | Kind::Conditions => {
            Ok(format!("/tenants/{}/{}", segment(tenant)?, kind.collection()))
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
    let mut documents: Vec<Document> = Vec::new();
    let mut problems = Vec::new();
    for file in &files {
        for found in read(file) {
            match found {
                Ok(document) => match documents.iter().find(|other| other.is_same_thing(&document)) {
                    Some(other) => problems.push(format!(
                        "{}: {:?} {:?} is declared in {} as well",
                        file.display(),
                        document.kind,
                        document.name,
                        other.file.display()
                    )),
                    None => documents.push(document),
                },
                Err(problem) => problems.push(format!("{}: {problem}", file.display())),
            }
        }
    }
    if !problems.is_empty() {
        return Err(Misuse(problems.join("\n")).into());
    }
    if documents.is_empty() {
        return Err(Misuse(String::from("there is no document in these files (.yaml, .yml, .json)")).into());
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

/// Every document of a file, or what is wrong with it.
fn read(file: &Path) -> Vec<Result<Document, String>> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return vec![Err(format!("can't be read: {error}"))],
    };
    let mut documents = parse(&text, file.extension().is_some_and(|ending| ending == "json"));
    for document in documents.iter_mut().flatten() {
        file.clone_into(&mut document.file);
    }
    documents
}

/// Text → documents: a JSON object or array, or a YAML stream. A problem names the document by its place and name.
pub(super) fn parse(text: &str, is_json: bool) -> Vec<Result<Document, String>> {
    let items = if is_json {
        serde_json::from_str(text)
            .map(|value| if let Value::Array(items) = value { items } else { vec![value] })
            .map_err(|error| error.to_string())
    } else {
        serde_saphyr::from_multiple::<Value>(text).map_err(|error| error.to_string())
    };
    match items {
        Err(problem) => vec![Err(problem)],
        Ok(items) => items
            .into_iter()
            .filter(|item| !item.is_null())
            .enumerate()
            .map(|(at, item)| one(item).map_err(|(name, problem)| format!("document {} ({name}): {problem}", at + 1)))
            .collect(),
    }
}

fn one(item: Value) -> Result<Document, (String, String)> {
    let word = |key: &str| item[key].as_str().unwrap_or("?").to_owned();
    let name = format!("{} {}", word("kind"), word("name"));
    let mut document: Document = serde_json::from_value(item).map_err(|error| (name.clone(), error.to_string()))?;
    if document.spec.is_null() {
        document.spec = Value::Object(serde_json::Map::new());
    }
    document.problem().map_or(Ok(document), |problem| Err((name, problem)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yaml_stream_and_a_json_array_give_the_same_documents() {
        let yaml = "kind: Tenant\nname: acme\n---\nkind: Grant\ntenant: acme\nname: g\nspec:\n  principal: bot\n  cards: [echo]\n";
        let json = r#"[{"kind":"Tenant","name":"acme"},{"kind":"Grant","tenant":"acme","name":"g","spec":{"principal":"bot","cards":["echo"]}}]"#;
        let from_yaml = parse(yaml, false);
        assert_eq!(from_yaml, parse(json, true));
        assert_eq!(from_yaml[1].as_ref().unwrap().collection_path().unwrap(), "/tenants/acme/grants");
    }

    #[test]
    fn an_unknown_kind_or_member_is_refused_by_name() {
        let problem = |text: &str, is_json| parse(text, is_json)[0].clone().unwrap_err();
        assert!(problem("kind: Robot\nname: x\n", false).contains("Robot"));
        assert!(problem(r#"{"kind":"Card","name":"x","extra":1}"#, true).contains("extra"));
        assert!(problem("kind: Card\nname: x\n", false).contains("needs a member tenant"));
        assert!(problem("kind: Card\ntenant: t\nname: ..\n", false).contains("has no name"));
    }
}
