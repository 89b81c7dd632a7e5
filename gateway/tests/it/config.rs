//! The command line and the configuration as operators meet them: exit codes, all problems at once, no secrets shown.

use std::io::Write as _;
use std::process::{Command, Output};

fn chancery(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chancery"));
    command.env_clear().args(arguments).envs(environment.iter().copied());
    command.current_dir(std::env::temp_dir()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const KEY: (&str, &str) = ("CHANCERY__SECRETS__MASTER_KEY", "q2Vb0b1Yh0mS4f0m7J8nT3x5v9c1L6w2ZkQeRtYuIoA=");

#[test]
fn bad_configuration_names_every_problem_and_exits_2() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"[public]\nlisten = \"nowhere\"\nsurprise = true\n[limits]\nparts = \"many\"\n").unwrap();
    let path = file.path().display().to_string();
    for command in ["config", "serve"] {
        let mut arguments = vec!["--config", path.as_str(), command];
        arguments.extend((command == "config").then_some("check"));
        let output = chancery(&arguments, &[("CHANCERY__AUDIT__FSYNC", "sometimes")]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        let said = text(&output.stderr);
        for expected in [
            format!("{path}: public.listen: "),
            format!("{path}: public.surprise: unknown field"),
            format!("{path}: limits.parts: "),
            "CHANCERY__AUDIT__FSYNC: audit.fsync: \"sometimes\" is unknown".to_owned(),
            "public.public_urls: is required".to_owned(),
            "secrets.master_key_file: is required".to_owned(),
        ] {
            assert!(said.contains(&expected), "{expected:?} is not in:\n{said}");
        }
    }
}

#[test]
fn good_configuration_is_fine_and_shown_without_secrets() {
    let environment = [
        KEY,
        ("CHANCERY__PUBLIC__PUBLIC_URLS", "https://gw.test"),
        ("CHANCERY__STORE__URL", "postgres://u:hunter2@db/chancery"),
    ];
    let output = chancery(&["config", "check"], &environment);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "the configuration is fine\n"));
    let shown = text(&chancery(&["config", "show"], &environment).stdout);
    assert!(shown.contains("public_urls = [\"https://gw.test\"]"), "{shown}");
    assert!(!shown.contains("hunter2") && !shown.contains(KEY.1), "{shown}");
}

#[test]
fn schema_describes_every_key() {
    let output = chancery(&["config", "schema"], &[]);
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let defaults: toml::Table = chancery::config::load::DEFAULTS.parse().unwrap();
    for (section, keys) in &defaults {
        every_key_is_described(section, keys, &schema["properties"][section]);
    }
}

/// Sections within a section are described key by key, too.
fn every_key_is_described(section: &str, keys: &toml::Value, described: &serde_json::Value) {
    for (key, value) in keys.as_table().unwrap() {
        let property = &described["properties"][key];
        assert!(property["description"].is_string(), "{section}.{key} has no description: {property}");
        if property["properties"].is_object() {
            every_key_is_described(&format!("{section}.{key}"), value, property);
        } else {
            assert!(!property["default"].is_null() && !property["type"].is_null(), "{section}.{key}: {property}");
        }
    }
}

#[test]
fn wrong_usage_exits_2_and_help_0() {
    assert_eq!(chancery(&["fly"], &[]).status.code(), Some(2));
    assert_eq!(chancery(&["--help"], &[]).status.code(), Some(0));
    assert_eq!(chancery(&["serve", "--help"], &[]).status.code(), Some(0));
}

#[test]
fn serve_without_migrations_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let (store, audit) = (format!("sqlite://{}/s.db", dir.path().display()), dir.path().join("audit"));
    let environment = [
        KEY,
        ("CHANCERY__PUBLIC__PUBLIC_URLS", "https://gw.test"),
        ("CHANCERY__PUBLIC__LISTEN", "127.0.0.1:0"),
        ("CHANCERY__ADMIN__LISTEN", "127.0.0.1:0"),
        ("CHANCERY__STORE__URL", &store),
        ("CHANCERY__AUDIT__DIR", audit.to_str().unwrap()),
    ];
    let output = chancery(&["serve"], &environment);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("chancery migrate"), "{}", text(&output.stderr));
    let migrated = chancery(&["migrate"], &environment);
    assert_eq!(migrated.status.code(), Some(0), "{}", text(&migrated.stderr));
    assert!(text(&migrated.stdout).contains("up to date"));
}
