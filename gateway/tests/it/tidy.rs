//! The repository's own rules: who may depend on whom, whose licences come in, what never appears in the code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What each crate of ours may use of the others (ARCHITECTURE.md).
const MAY_USE: [(&str, &[&str]); 9] = [
    ("json", &[]),
    ("a2a", &["json"]),
    ("guard", &["json"]),
    ("egress", &[]),
    ("store", &[]),
    ("a2a-agent", &["a2a", "egress", "json"]),
    ("a2a-client", &["a2a", "egress", "json"]),
    ("sample-agents", &["a2a", "a2a-agent", "egress", "json"]),
    ("chancery", &["a2a", "a2a-client", "egress", "guard", "json", "sample-agents", "store"]),
];

/// Libraries that a crate without I/O must not know.
const DOES_IO: [&str; 6] = ["tokio", "hyper", "reqwest", "tracing", "sqlx", "getrandom"];

#[test]
fn crates_use_only_what_the_architecture_allows() {
    for (name, manifest) in manifests() {
        let (_, allowed) = MAY_USE.iter().find(|(known, _)| *known == name).expect("a crate that the table names");
        let used = dependencies(&manifest);
        for (ours, _) in MAY_USE {
            assert!(!used.contains(ours) || allowed.contains(&ours), "{name} must not use {ours}");
        }
        if ["json", "a2a", "guard"].contains(&name.as_str()) {
            for io in DOES_IO {
                assert!(!used.contains(io), "{name} does no I/O, so it must not use {io}");
            }
        }
        assert!(
            name == "store" || name == "a2a-agent" || !used.contains("sqlx"),
            "SQL belongs in store, not in {name}"
        );
    }
}

#[test]
fn only_permissive_licences_come_in() {
    let allowed = [
        "0BSD",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "CDLA-Permissive-2.0",
        "ISC",
        "MIT",
        "MIT-0",
        "OpenSSL",
        "Unicode-3.0",
        "Unlicense",
        "Zlib",
    ];
    let rustc = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&rustc.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names the host");
    // What other platforms need was perhaps never downloaded.
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 100, "the whole tree is looked at");
    for package in packages {
        let licence = package["license"].as_str().unwrap_or("none");
        // `A OR B` is ours to choose from; `A AND B` binds to both.
        let acceptable = licence
            .split(" OR ")
            .flat_map(|part| part.split('/'))
            .any(|choice| choice.split(" AND ").all(|part| allowed.contains(&part.trim_matches(['(', ')', ' ']))));
        assert!(acceptable, "{} has licence {licence:?}", package["name"]);
        let registry = package["source"].as_str().is_none_or(|source| source.starts_with("registry+"));
        assert!(registry, "{} does not come from a registry", package["name"]);
    }
}

#[test]
fn outside_bytes_are_read_by_our_own_reader_only() {
    let guarded = ["gateway/src/pipeline", "gateway/src/upstream", "crates/a2a/src", "crates/guard/src"];
    for folder in guarded {
        for (path, text) in sources(&root().join(folder)) {
            assert!(!text.contains("serde_json"), "{} reads with serde_json", path.display());
        }
    }
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("the manifest is readable");
    let line = manifest.lines().find(|line| line.starts_with("serde_json")).expect("serde_json is named");
    assert!(!line.contains("raw_value") && !line.contains("arbitrary_precision"), "{line}");
}

#[test]
fn sql_is_never_put_together() {
    for (path, text) in sources(&root().join("crates/store/src")) {
        let of_tests = path.ends_with("testing.rs") || path.components().any(|part| part.as_os_str() == "tests");
        assert!(of_tests || !text.contains("AssertSqlSafe"), "{} puts SQL together", path.display());
    }
}

#[test]
fn every_source_file_says_what_it_is_for() {
    for folder in ["crates", "gateway", "samples"] {
        for (path, text) in sources(&root().join(folder)) {
            assert!(text.starts_with("//!") || text.starts_with("#!"), "{} begins without `//!`", path.display());
        }
    }
}

fn manifests() -> Vec<(String, toml::Table)> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root().join("crates"))
        .expect("crates are there")
        .map(|entry| entry.expect("a folder").path())
        .collect();
    folders.extend([root().join("gateway"), root().join("samples/agents")]);
    let manifests: Vec<(String, toml::Table)> = folders
        .into_iter()
        .map(|folder| {
            let text = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
            let table: toml::Table = text.parse().expect("the manifest is TOML");
            (table["package"]["name"].as_str().expect("a name").to_owned(), table)
        })
        .collect();
    assert_eq!(manifests.len(), MAY_USE.len(), "every crate has its line in MAY_USE");
    manifests
}

/// What the crate itself uses; tests may use more.
fn dependencies(manifest: &toml::Table) -> BTreeSet<&str> {
    manifest
        .get("dependencies")
        .and_then(toml::Value::as_table)
        .into_iter()
        .flat_map(|table| table.keys())
        .map(String::as_str)
        .collect()
}

fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            if !path.ends_with("node_modules") && !path.ends_with("target") {
                found.extend(sources(&path));
            }
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).expect("a readable source");
            found.push((path, text));
        }
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}
