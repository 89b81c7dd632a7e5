//! The part of Hurl's format that the pages below `tests/pages` use: requests, captures and assertions. Anything else stops the
//! test.

use json::{Json, Limits};
use reqwest::header::HeaderMap;

/// One request of a page and what must hold of its answer.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) line: usize,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) basic: Option<(String, String)>,
    pub(crate) form: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) status: u16,
    pub(crate) captures: Vec<(String, String)>,
    pub(crate) asserts: Vec<String>,
    pub(crate) retried: bool,
}

/// Where in an entry a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Head,
    Body,
    Basic,
    Form,
    Options,
    Status,
    Captures,
    Asserts,
}

pub(crate) fn entries(page: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut section = Section::Asserts;
    for (at, line) in page.lines().enumerate() {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        if let Some((method, url)) = line.split_once(' ').filter(|(word, _)| ["GET", "POST", "DELETE"].contains(word)) {
            entries.push(Entry { line: at + 1, method: method.into(), url: url.into(), ..Entry::default() });
            section = Section::Head;
            continue;
        }
        let entry = entries.last_mut().unwrap();
        if let Some(status) = line.strip_prefix("HTTP ") {
            (entry.status, section) = (status.parse().unwrap(), Section::Status);
            continue;
        }
        let named = match line {
            "[BasicAuth]" => Some(Section::Basic),
            "[Form]" => Some(Section::Form),
            "[Options]" => Some(Section::Options),
            "[Captures]" => Some(Section::Captures),
            "[Asserts]" => Some(Section::Asserts),
            _ => None,
        };
        if let Some(named) = named {
            section = named;
            continue;
        }
        if section == Section::Head && line.starts_with('{') {
            section = Section::Body;
        }
        let pair = || {
            let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("line {}: {line}", at + 1));
            (name.to_owned(), value.to_owned())
        };
        match section {
            Section::Head => entry.headers.push(pair()),
            Section::Body => entry.body += line,
            Section::Basic => entry.basic = Some(pair()),
            Section::Form => entry.form.push(pair()),
            Section::Options => entry.retried = true,
            Section::Captures => entry.captures.push(pair()),
            Section::Asserts => entry.asserts.push(line.to_owned()),
            Section::Status => panic!("line {}: {line}", at + 1),
        }
    }
    entries
}

/// What was answered.
pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

/// A quoted argument and what follows it.
pub(crate) fn argument(text: &str) -> (String, &str) {
    let rest = text.strip_prefix('"').unwrap_or_else(|| panic!("no quoted text: {text}"));
    let mut end = rest.find('"').unwrap();
    while rest[..end].ends_with('\\') {
        end += 1 + rest[end + 1..].find('"').unwrap();
    }
    (rest[..end].replace("\\\"", "\""), rest[end + 1..].trim_start())
}

pub(crate) fn holds(assert: &str, heard: &Heard) -> bool {
    if let Some(rest) = assert.strip_prefix("body contains ") {
        return heard.text.contains(&argument(rest).0);
    }
    if let Some(rest) = assert.strip_prefix("header ") {
        let (name, rest) = argument(rest);
        let wanted = argument(rest.strip_prefix("contains ").unwrap()).0;
        return heard.headers.get(&name).is_some_and(|value| value.to_str().unwrap().contains(&wanted));
    }
    let (path, rest) = argument(assert.strip_prefix("jsonpath ").unwrap_or_else(|| panic!("unknown: {assert}")));
    let found = find(&parse(&heard.text), &path);
    if rest == "not exists" {
        return found.is_empty();
    }
    if let Some(wanted) = rest.strip_prefix("count == ") {
        let count = found.first().and_then(Json::as_array).map(<[Json]>::len);
        return count == Some(wanted.parse().unwrap());
    }
    if let Some(wanted) = rest.strip_prefix("contains ") {
        let wanted = parse(wanted);
        let within = |found: &Json| found.as_str().is_some_and(|text| text.contains(wanted.as_str().unwrap()));
        return if path.contains("[*]") { found.contains(&wanted) } else { found.iter().any(within) };
    }
    let (found, wanted) = match rest.strip_prefix("nth ") {
        Some(rest) => {
            let (index, rest) = rest.split_once(' ').unwrap();
            (found.get(index.parse::<usize>().unwrap()), rest)
        }
        None => (found.first(), rest),
    };
    let wanted = parse(wanted.strip_prefix("== ").unwrap_or_else(|| panic!("unknown: {assert}")));
    found == Some(&wanted)
}

/// What a JSONPath of the kinds that the pages use selects.
pub(crate) fn find(json: &Json, path: &str) -> Vec<Json> {
    let mut found = vec![json.clone()];
    let mut rest = path.strip_prefix('$').unwrap();
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (step, behind) = inner.split_once(']').unwrap();
            rest = behind;
            found = found.iter().flat_map(|json| select(json, step)).collect();
        } else {
            let name = rest.strip_prefix('.').unwrap();
            let end = name.find(['.', '[']).unwrap_or(name.len());
            found = found.iter().filter_map(|json| json.get(&name[..end]).cloned()).collect();
            rest = &name[end..];
        }
    }
    found
}

fn select(json: &Json, step: &str) -> Vec<Json> {
    let items = json.as_array().unwrap_or_default();
    if step == "*" {
        return items.to_vec();
    }
    if let Some(name) = step.strip_prefix('\'').and_then(|step| step.strip_suffix('\'')) {
        return json.get(name).cloned().into_iter().collect();
    }
    if let Some(filter) = step.strip_prefix("?(@.").and_then(|step| step.strip_suffix(')')) {
        let (name, value) = filter.split_once(" == ").unwrap();
        let value = Json::from(value.trim_matches('\''));
        return items.iter().filter(|item| item.get(name) == Some(&value)).cloned().collect();
    }
    items.get(step.parse::<usize>().unwrap()).cloned().into_iter().collect()
}

pub(crate) fn parse(text: &str) -> Json {
    json::read(text.as_bytes(), &Limits::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn assertions_can_fail() {
    let text = r#"{"a":[{"id":"x","n":1},{"id":"y","n":2}],"s":"hello"}"#;
    let headers = HeaderMap::from_iter([("content-type".parse().unwrap(), "text/plain".parse().unwrap())]);
    let heard = Heard { status: 200, headers, text: text.to_owned() };
    for (assert, expected) in [
        (r#"jsonpath "$.a[*].id" contains "x""#, true),
        (r#"jsonpath "$.a[*].id" contains "z""#, false),
        (r#"jsonpath "$.a[?(@.id == 'y')].n" nth 0 == 2"#, true),
        (r#"jsonpath "$.a[?(@.id == 'y')].n" nth 0 == 1"#, false),
        (r#"jsonpath "$.a" count == 2"#, true),
        (r#"jsonpath "$.a" count == 3"#, false),
        (r#"jsonpath "$.s" == "hello""#, true),
        (r#"jsonpath "$.s" == "other""#, false),
        (r#"jsonpath "$.s" contains "ell""#, true),
        (r#"jsonpath "$.s" not exists"#, false),
        (r#"jsonpath "$.t" not exists"#, true),
        (r#"header "Content-Type" contains "plain""#, true),
        (r#"header "Content-Type" contains "html""#, false),
        (r#"body contains "\"s\":\"hello\"""#, true),
        (r#"body contains "nothing""#, false),
    ] {
        assert_eq!(holds(assert, &heard), expected, "{assert}");
    }
}
