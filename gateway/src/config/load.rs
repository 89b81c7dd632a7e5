//! File and environment → [`Settings`]. Takes where to look, gives settings or every problem at once.
//!
//! Order of precedence: environment, file, `default.toml`. This is the one place that reads the environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use toml::{Table, Value};

use super::gather::Gather;
use super::raw::Raw;
use super::{Problem, Problems, Settings, Store, settings};

/// The defaults, which are also their documentation.
pub const DEFAULTS: &str = include_str!("default.toml");

/// What environment variables of ours begin with.
const PREFIX: &str = "CHANCERY__";

/// Sections within a section: their keys are laid over each other one by one, as those of a section are.
const NESTED: [(&str, &str); 1] = [("admin", "oidc")];

/// Secrets that no file of settings holds.
const ENVIRONMENT_ALONE: [&str; 2] = ["admin.oidc.client_secret", "secrets.master_key"];

/// Where the configuration comes from.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The file, if any.
    pub file: Option<PathBuf>,
    /// Environment variables; those that don't begin with `CHANCERY__` are ignored.
    pub environment: Vec<(String, String)>,
}

impl Source {
    /// `file`, else `chancery.toml` where it exists, and the process's environment.
    #[must_use]
    pub fn of_process(file: Option<PathBuf>) -> Self {
        let fallback = || Some(PathBuf::from("chancery.toml")).filter(|path| path.exists());
        Self { file: file.or_else(fallback), environment: std::env::vars().collect() }
    }
}

/// The whole configuration, for `serve` and `config check`.
///
/// # Errors
/// Every problem, with its file or variable and key.
pub fn load(source: &Source) -> Result<Settings, Problems> {
    let gathered = gather(source);
    let mut gather = Gather::new(gathered.origins, gathered.problems);
    let settings = settings::settings(&gathered.raw, &mut gather);
    match gather.finish(settings)? {
        Some(settings) => Ok(settings),
        // A missing master key has been noted, so `finish` has failed above.
        None => Err(Problems(Vec::new())),
    }
}

/// The store alone, for commands that need nothing else.
///
/// # Errors
/// Every problem of the file, and those of `[store]`.
pub fn load_store(source: &Source) -> Result<Store, Problems> {
    let gathered = gather(source);
    let mut gather = Gather::new(gathered.origins, gathered.problems);
    let store = settings::store(&gathered.raw.store, &mut gather);
    gather.finish(store)
}

/// What is in force, as TOML, without secrets.
///
/// # Errors
/// Problems of the file's form; values are shown unchecked.
pub fn show(source: &Source) -> Result<String, Problems> {
    let gathered = gather(source);
    let mut raw = gathered.raw;
    if let Some(url) = &mut raw.store.url {
        *url = without_password(url);
    }
    let oidc = raw.admin.oidc.as_mut().map(|oidc| &mut oidc.client_secret);
    for secret in [Some(&mut raw.secrets.master_key), oidc].into_iter().flatten() {
        *secret = secret.take().map(|_| "***".to_owned());
    }
    let text = toml::to_string_pretty(&raw).map_err(|error| {
        Problems(vec![Problem { origin: "configuration".into(), key: String::new(), problem: error.to_string() }])
    })?;
    Gather::new(gathered.origins, gathered.problems).finish(text)
}

fn without_password(text: &str) -> String {
    match url::Url::parse(text) {
        Ok(mut url) if url.password().is_some() => {
            // Only fails for URLs that can't have a password, and this one has one.
            let _ = url.set_password(Some("***"));
            url.into()
        }
        Ok(_) | Err(_) => text.to_owned(),
    }
}

struct Gathered {
    raw: Raw,
    origins: BTreeMap<String, String>,
    problems: Vec<Problem>,
}

/// Lays environment over file over defaults, keeping only keys that exist and have the right type.
fn gather(source: &Source) -> Gathered {
    let mut gathered = Gathered { raw: Raw::default(), origins: BTreeMap::new(), problems: Vec::new() };
    let mut merged = Table::new();
    merge(&mut merged, &mut gathered, "default", &parse(DEFAULTS).unwrap_or_default());
    if let Some(path) = &source.file {
        let origin = path.display().to_string();
        match read(path) {
            Ok(table) => merge(&mut merged, &mut gathered, &origin, &table),
            Err(problem) => gathered.problems.push(Problem { origin, key: String::new(), problem }),
        }
    }
    for (name, text) in source.environment.iter().filter(|(name, _)| name.starts_with(PREFIX)) {
        merge_variable(&mut merged, &mut gathered, name, text);
    }
    match Raw::deserialize(merged) {
        Ok(raw) => gathered.raw = raw,
        Err(error) => gathered.problems.push(Problem {
            origin: "configuration".into(),
            key: String::new(),
            problem: error.message().to_owned(),
        }),
    }
    gathered
}

fn read(path: &Path) -> Result<Table, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("can't be read ({})", error.kind()))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Table, String> {
    text.parse::<Table>().map_err(|error| {
        let line = error.span().map_or(1, |span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
        format!("line {line}: {}", error.message())
    })
}

fn merge(merged: &mut Table, gathered: &mut Gathered, origin: &str, table: &Table) {
    for (section, keys) in table {
        let Value::Table(keys) = keys else {
            note(gathered, origin, section, "is no section; settings stand in sections such as [public]".to_owned());
            continue;
        };
        for (key, value) in keys {
            if let Value::Table(inner) = value
                && NESTED.contains(&(section.as_str(), key.as_str()))
            {
                for (name, value) in inner {
                    merge_value(merged, gathered, origin, (section, &format!("{key}.{name}")), value);
                }
            } else {
                merge_value(merged, gathered, origin, (section, key), value);
            }
        }
    }
}

fn merge_value(merged: &mut Table, gathered: &mut Gathered, origin: &str, (section, key): (&str, &str), value: &Value) {
    let path = format!("{section}.{key}");
    if ENVIRONMENT_ALONE.contains(&path.as_str()) {
        note(gathered, origin, &path, format!("must not stand in a file; use {path}_file or the environment"));
        return;
    }
    match fits(section, key, value) {
        Ok(()) => put(merged, gathered, origin, (section, key), value.clone()),
        Err(problem) => note(gathered, origin, &path, problem),
    }
}

fn merge_variable(merged: &mut Table, gathered: &mut Gathered, name: &str, text: &str) {
    let path = name.trim_start_matches(PREFIX).to_ascii_lowercase();
    let Some((section, key)) = path.split_once("__") else {
        note(gathered, name, "", "must be named CHANCERY__SECTION__KEY".to_owned());
        return;
    };
    let nested = key.split_once("__").filter(|(outer, _)| NESTED.contains(&(section, *outer)));
    let key = &nested.map_or_else(|| key.to_owned(), |(outer, inner)| format!("{outer}.{inner}"));
    let mut first_problem = None;
    for value in readings(text) {
        match fits(section, key, &value) {
            Ok(()) => return put(merged, gathered, name, (section, key), value),
            Err(problem) => first_problem = first_problem.or(Some(problem)),
        }
    }
    note(gathered, name, &format!("{section}.{key}"), first_problem.unwrap_or_default());
}

/// What a variable's text may mean; the first that fits the key's type is taken.
fn readings(text: &str) -> Vec<Value> {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    let mut readings = vec![Value::String(text.to_owned())];
    if let Some(value) = format!("v = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("v")) {
        readings.insert(usize::from(!value.is_integer()), value);
    }
    readings.push(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()));
    readings
}

/// Whether `key` exists in `section` and takes `value`.
fn fits(section: &str, key: &str, value: &Value) -> Result<(), String> {
    let alone = |key: Option<(&str, &Value)>| {
        let keys = key.map(|(key, value)| (key.to_owned(), value.clone())).into_iter().collect();
        let table = Table::from_iter([(section.to_owned(), Value::Table(keys))]);
        Raw::deserialize(table).map(drop).map_err(|error| error.message().trim().to_owned())
    };
    alone(None)?;
    let (key, value) = unnested(key, value.clone());
    alone(Some((key, &value)))
}

/// `outer.inner = value` as `outer = {inner = value}`.
fn unnested(key: &str, value: Value) -> (&str, Value) {
    match key.split_once('.') {
        Some((outer, inner)) => (outer, Value::Table(Table::from_iter([(inner.to_owned(), value)]))),
        None => (key, value),
    }
}

fn put(merged: &mut Table, gathered: &mut Gathered, origin: &str, (section, key): (&str, &str), value: Value) {
    let entry = merged.entry(section).or_insert_with(|| Value::Table(Table::new()));
    let Value::Table(keys) = entry else { return };
    let (outer, value) = unnested(key, value);
    match (keys.get_mut(outer), value) {
        (Some(Value::Table(nested)), Value::Table(inner)) if outer != key => nested.extend(inner),
        (_, value) => drop(keys.insert(outer.to_owned(), value)),
    }
    gathered.origins.insert(format!("{section}.{key}"), origin.to_owned());
}

fn note(gathered: &mut Gathered, origin: &str, key: &str, problem: String) {
    gathered.problems.push(Problem { origin: origin.to_owned(), key: key.to_owned(), problem });
}
