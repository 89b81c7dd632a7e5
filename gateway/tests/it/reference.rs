//! `docs/config.md` and `docs/errors.md`, made from the settings and from the table of faults: compared, or written with
//! `UPDATE_DOCS=1`.

use a2a::{FaultKind, Version};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Fails where the page says otherwise.
fn compare(name: &str, made: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    if std::fs::read_to_string(&path).unwrap_or_default() == made {
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "a switch of the test, not a setting")]
    let update = std::env::var("UPDATE_DOCS").is_ok_and(|value| value == "1");
    assert!(
        update,
        "docs/{name} is not what the code says; UPDATE_DOCS=1 cargo test -p chancery --test it reference writes it"
    );
    std::fs::write(&path, made).unwrap();
}

/// The version that first had every key that no line of [`LATER`] names.
const FIRST: &str = "0.1.0";
/// Keys that came later, and when.
const LATER: [(&str, &str); 0] = [];

#[test]
fn the_page_of_the_configuration_is_current() {
    let schema = chancery::config::schema::schema();
    let defaults = toml::Value::Table(chancery::config::load::DEFAULTS.parse().unwrap());
    let mut page = String::from(CONFIG);
    let (mut keys, mut told) = (0, 0);
    // In the order of the file.
    for name in chancery::config::load::DEFAULTS.lines().filter_map(header) {
        let section = name.split('.').fold(&schema, |at, step| &at["properties"][step]);
        let of_file = name.split('.').fold(&defaults, |at, step| &at[step]);
        let _ = writeln!(page, "\n## `[{name}]`\n{}\n", one_line(section["description"].as_str().unwrap()));
        page.push_str("| key | what it takes | default | meaning | since |\n|---|---|---|---|---|\n");
        for (key, property) in in_order(name, section) {
            let default = of_file.get(key);
            let shown = default.map_or_else(|| "–".to_owned(), |value| format!("`{value}`"));
            let path = format!("{name}.{key}");
            let since = LATER.iter().find(|(later, _)| *later == path).map_or(FIRST, |(_, since)| since);
            let meaning = one_line(property["description"].as_str().unwrap());
            let _ = writeln!(page, "| `{key}` | {} | {shown} | {meaning} | {since} |", takes(property, default));
            keys += 1;
        }
        told += 1;
    }
    assert_eq!(told, sections(&schema), "every section is there");
    assert!(keys > 60, "{keys}");
    compare("config.md", &page);
}

const CONFIG: &str = "# Settings
<!-- made by gateway/tests/it/reference.rs from gateway/src/config/{raw.rs,default.toml}; UPDATE_DOCS=1 cargo test -p chancery --test it reference -->

A TOML file, `chancery.toml` in the working directory or `--config FILE`. The environment wins over it: `CHANCERY__SECTION__KEY`, such as
`CHANCERY__PUBLIC__LISTEN`, lists separated by commas. `chancery config show` prints what is in force, `config check` names every problem at once,
`config schema` is for editors. A **duration** is a text such as `\"250ms\"`, `\"5s\"`, `\"5m\"`, `\"24h\"`; a **size** is a number of bytes or a text such
as `\"64KiB\"`, `\"4MiB\"`, `\"1GiB\"`. What is unknown or out of range is refused at the start, never ignored.
";

/// The name of a section, on the line that begins it.
fn header(line: &str) -> Option<&str> {
    Some(line.strip_prefix('[')?.split_once(']')?.0)
}

/// How many sections there are below this.
fn sections(of: &Value) -> usize {
    let below = of["properties"].as_object().into_iter().flat_map(|properties| properties.values());
    below.filter(|property| property["properties"].is_object()).map(|section| 1 + sections(section)).sum()
}

/// The section's keys as the file has them; one that it does not have comes last.
fn in_order<'a>(name: &str, section: &'a Value) -> Vec<(&'a str, &'a Value)> {
    let file = chancery::config::load::DEFAULTS.lines();
    let of_file: Vec<&str> = file
        .skip_while(|line| header(line) != Some(name))
        .skip(1)
        .take_while(|line| header(line).is_none())
        .filter_map(|line| line.split(' ').next())
        .collect();
    let place = |key: &str| of_file.iter().position(|known| *known == key).unwrap_or(usize::MAX);
    let properties = section["properties"].as_object().unwrap().iter();
    let own = properties.filter(|(_, property)| !property["properties"].is_object());
    let mut keys: Vec<(&str, &Value)> = own.map(|(key, property)| (key.as_str(), property)).collect();
    keys.sort_by_key(|(key, _)| (place(key), *key));
    keys
}

fn takes(property: &Value, default: Option<&toml::Value>) -> &'static str {
    let is_duration = |text: &str| {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
        !digits.is_empty() && digits.len() < text.len() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    match (&property["type"], default) {
        (Value::Array(_), _) => "size",
        (Value::String(kind), Some(toml::Value::String(text))) if kind == "string" && is_duration(text) => "duration",
        (Value::String(kind), _) => match kind.as_str() {
            "string" => "text",
            "boolean" => "`true`, `false`",
            "integer" => "number",
            "array" => "list of texts",
            "object" => "table of lists",
            other => panic!("{other}: {property}"),
        },
        (other, _) => panic!("{other}: {property}"),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[test]
fn the_page_of_the_errors_is_current() {
    let mut page = String::from(ERRORS);
    for kind in FaultKind::ALL {
        let (reason, own) = (kind.reason().unwrap(), kind.domain("") != FaultKind::TaskNotFound.domain(""));
        let (new, old) = (kind.rpc_code(Version::V10), kind.rpc_code(Version::V03));
        let code = if new == old { format!("`{new}`") } else { format!("`{new}`, 0.3: `{old}`") };
        let (when, what_to_do) = told(kind);
        let _ = writeln!(
            page,
            "| `{reason}`{} | {code} | {} | {} `{}` | `{}` | {when} | {what_to_do} |",
            if own { " ◦" } else { "" },
            kind.rpc_status(),
            kind.http_status(),
            kind.status_name(),
            kind.grpc_status_name(),
        );
    }
    page.push_str(AFTER);
    compare("errors.md", &page);
}

const ERRORS: &str = "# Errors
<!-- made by gateway/tests/it/reference.rs from crates/a2a/src/fault.rs; UPDATE_DOCS=1 cargo test -p chancery --test it reference -->

Every refusal is told in the caller's own dialect, from one table. Programs of 1.0 look at `reason`: it stands in `google.rpc.ErrorInfo` (JSON-RPC:
`error.data[0].reason`; HTTP+JSON: `error.details[0].reason`; gRPC: `grpc-status-details-bin`), with `domain` `a2a-protocol.org`, or the gateway's own
host name where A2A has no such reason (◦). 0.3 has codes: JSON-RPC and `path_rpc` say `{\"code\", \"message\"}` (`path_rpc` with the status of HTTP+JSON but
for `message:send`), HTTP+JSON `{\"code\", \"type\", \"message\"}`, where `type` is the reason in camel case (`TaskNotFoundError`). In a stream the same object
comes as `event: error`, then the stream ends. Every answer carries `x-correlation-id`; the audit record of the exchange has the same id and says more
than the caller is told.

| reason | JSON-RPC code | HTTP status of JSON-RPC | HTTP+JSON | gRPC | when | what to do |
|---|---|---|---|---|---|---|
";

const AFTER: &str = "
An agent's own error keeps its code and text, cut to 1 KiB, and passes the guardrails like an answer; over HTTP+JSON it is 500 `INTERNAL`, over gRPC
`INTERNAL`. Codes that A2A defines keep their meaning between dialects; an agent cannot use the gateway's own reasons. JSON-RPC tells an
unknown method by its code alone.

`429` and `503` come with `Retry-After` in seconds (gRPC: `google.rpc.RetryInfo`) where it is known when to come back. `401` names the schemes that the tenant
takes in `WWW-Authenticate`. A card, task or context that is another's is answered exactly as one that is not there. Errors of the admin API are
another form: `{\"code\", \"message\", \"fields\": [{\"path\", \"problem\"}], \"correlation_id\"}`; its description is at `/api/openapi.json`.
";

/// When it comes, and what to do about it.
#[rustfmt::skip]
fn told(kind: FaultKind) -> (&'static str, &'static str) {
    match kind {
        FaultKind::TaskNotFound => ("no such task, or somebody else's", "look at the id, and whether the same principal asks that made the task; tasks may be forgotten after the tenant's `task_retention_days`"),
        FaultKind::TaskNotCancelable => ("the agent says the task has ended", "nothing; read the task"),
        FaultKind::PushNotSupported => ("push notifications are asked for, and not mediated", "take `pushNotificationConfig` out; subscribe or poll"),
        FaultKind::UnsupportedOperation => ("the agent, its dialect or the gateway can't do it", "look at the card's capabilities and docs/dialects.md; narrow a list by its context"),
        FaultKind::ContentTypeNotSupported => ("a media type inside the message is not accepted", "look at the card's `defaultInputModes`"),
        FaultKind::InvalidAgentResponse => ("the agent's answer is no A2A answer, too large, or about another's task", "the agent's operator: compare its card's binding and version with what it speaks (`chancery card import`)"),
        FaultKind::ExtendedCardNotConfigured => ("there is no extended card", "use the public one"),
        FaultKind::ExtensionRequired => ("the agent wants an extension", "activate it with `A2A-Extensions`"),
        FaultKind::VersionNotSupported => ("`A2A-Version` names another version, or there is none and the card is strict", "send `A2A-Version: 1.0` or `0.3`"),
        FaultKind::InvalidRequest => ("JSON, but no request", "compare it with the specification"),
        FaultKind::Parse => ("no JSON, or with a key twice, broken text, too deep", "send one JSON document in UTF-8"),
        FaultKind::MethodNotFound => ("no such method in this version", "look at its spelling: `SendMessage` in 1.0, `message/send` in 0.3"),
        FaultKind::InvalidParams => ("the parameters are wrong, or the context is another's", "the text names the member"),
        FaultKind::Internal => ("the gateway's own mistake", "tell the operator the correlation id"),
        FaultKind::AgentNotFound => ("no such tenant or card, or no grant for it", "look at the address; ask for a grant (`chancery authz explain`)"),
        FaultKind::Unauthenticated => ("no credential, or one that is wrong, over or revoked", "send a valid one: [guides/authentication.md](guides/authentication.md)"),
        FaultKind::PermissionDenied => ("the operation is not granted", "ask for it (`chancery authz explain`)"),
        FaultKind::GuardrailBlocked => ("a guardrail said no; metadata has `surface`, `policy`, `rule`", "take out what the rule is about, or talk to who owns the policy"),
        FaultKind::RateLimited => ("a rate, quota or number of calls is used up, or the tenant has its share of a busy node", "wait as long as `Retry-After` says"),
        FaultKind::UpstreamUnavailable => ("the agent cannot be reached, broke off, or redirects", "ask whether a message had an effect before you send it again; the agent's operator: is it up, and where `egress` allows?"),
        FaultKind::UpstreamTimeout => ("the agent took too long", "ask for the task; it may still run"),
        FaultKind::UpstreamAuthFailed => ("the agent refused the gateway's credential, or there is none to be had; the record's `reason` says if it was for a task in AUTH_REQUIRED", "the card's owner: look at its credential and the token endpoint"),
        FaultKind::Overloaded => ("no room, no record can be written, or the gateway stops", "try again after `Retry-After`"),
        FaultKind::GuardUnavailable => ("a guard outside cannot be asked and the policy fails closed", "try again after a while; the operator: is the guard up?"),
        FaultKind::DelegationInvalid => ("a chain of delegations that does not hold; the record says why", "pass the delegation headers on as they came: [guides/delegation.md](guides/delegation.md)"),
        FaultKind::PayloadTooLarge => ("the body is larger than `limits.request_bytes` or the card allows", "send less; give files by their address"),
        FaultKind::ContentTypeHeader => ("the request's `Content-Type` is none we read", "send `application/json` or `application/a2a+json`"),
        FaultKind::ContentEncoding => ("the request is compressed", "send it as it is"),
        FaultKind::MethodNotAllowed => ("a known path, another verb", "`Allow` names the verbs"),
        FaultKind::PathNotFound => ("no such path below a card", "compare it with the card's interface"),
        FaultKind::AmbiguousRequest => ("two credentials, a single header twice, a body that breaks off or comes too slowly, an ambiguous path", "send one of each; the text says which"),
        FaultKind::Agent { .. } => ("an agent's own code", "ask the agent's operator"),
    }
}
