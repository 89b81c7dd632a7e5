//! The real binary against a running gateway: what it prints, and how it ends.

use std::process::{Command, Stdio};

use http::StatusCode;
use serde_json::{Value, json};

use crate::admin::{Desk, TOKEN, card_spec, policy_spec};
use crate::harness::DEADLINE;

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the binary with these variables and nothing else of ours.
async fn run_with(variables: &[(&str, &str)], args: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chancery"));
    command.args(args).env_clear().envs(variables.iter().copied()).stdin(Stdio::null());
    // The gateway runs on this test's own thread, so that one must not wait.
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

impl Desk {
    /// Runs a command as this desk's administrator.
    pub(crate) async fn run(&self, args: &[&str]) -> Ran {
        let (url, file) = (self.url(), self.token_file.display().to_string());
        let variables =
            [("CHANCERY_ADMIN_URL", &*url), ("CHANCERY_ADMIN_TOKEN_FILE", &file), ("CHANCERY_TENANT", "acme")];
        run_with(&variables, args).await
    }

    async fn says(&self, args: &[&str], code: i32, parts: &[&str]) -> Ran {
        let ran = self.run(args).await;
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        let text = if code == 0 { &ran.out } else { &ran.err };
        for part in parts {
            assert!(text.contains(part), "{args:?}: {part} in {text}");
        }
        assert!(!format!("{ran:?}").contains(TOKEN));
        ran
    }
}

#[tokio::test]
async fn wrong_usage_is_2_and_failure_is_1() {
    let desk = Desk::acme().await;
    let (url, folder) = (desk.url(), tempfile::tempdir().unwrap());
    let with = async |variables: &[(&str, &str)], code: i32, part: &str| {
        let ran = run_with(variables, &["tenant", "list"]).await;
        assert!(ran.code == code && ran.err.contains(part), "{ran:?}");
    };
    with(&[("CHANCERY_ADMIN_URL", &url)], 2, "no admin token: give --admin-token").await;
    let nowhere = folder.path().join("no.token").display().to_string();
    with(&[("CHANCERY_ADMIN_TOKEN_FILE", &nowhere)], 2, "can't be read from").await;
    with(&[("CHANCERY_ADMIN_URL", "localhost:8101"), ("CHANCERY_ADMIN_TOKEN", "x")], 2, "--admin-url must be").await;
    with(&[("CHANCERY_ADMIN_URL", &url), ("CHANCERY_ADMIN_TOKEN", "wrong")], 1, "token was refused (401)").await;
    with(&[("CHANCERY_ADMIN_URL", "http://127.0.0.1:9"), ("CHANCERY_ADMIN_TOKEN", "x")], 1, "is the gateway running?")
        .await;
    let agents = format!("http://{}", desk.h.agents.address);
    with(&[("CHANCERY_ADMIN_URL", &agents), ("CHANCERY_ADMIN_TOKEN", "x")], 1, "is no admin API").await;

    desk.says(&["robot"], 2, &["unrecognized subcommand"]).await;
    desk.says(&["card", "get", "a/../../x"], 2, &["is no name"]).await;
    desk.says(&["card", "list", "--tenant", ".."], 2, &["is no name"]).await;
    desk.says(&["tenant", "update", "acme"], 2, &["nothing to change"]).await;
    desk.says(&["tenant", "update", "acme", "--set", "state"], 2, &["KEY=VALUE"]).await;
    desk.says(&["tenant", "update", "acme", "--file", &nowhere], 2, &["can't be read"]).await;
    desk.says(&["tenant", "get", "nobody"], 1, &["this tenant does not exist (404)"]).await;
    desk.says(&["audit", "query", "--limit", "0"], 2, &["1..=500"]).await;
    desk.h.finish().await;
}

#[tokio::test]
async fn help_of_every_command_fits_a_screen() {
    for command in [
        "tenant",
        "card",
        "principal",
        "grant",
        "policy",
        "key",
        "audit",
        "changes",
        "conditions",
        "apply",
        "call",
        "health",
        "demo",
        "issuer",
        "signing-key",
        "live",
        "stats",
    ] {
        let ran = run_with(&[], &[command, "--help"]).await;
        assert_eq!(ran.code, 0);
        assert!(ran.out.lines().count() <= 50, "{command}: {} lines", ran.out.lines().count());
    }
}

#[tokio::test]
async fn signing_keys_and_issuers_are_looked_after_from_a_shell() {
    let desk = Desk::acme().await;
    let id_of = |ran: &Ran| ran.out.split(' ').next().unwrap_or_default().trim().to_owned();
    let next = id_of(&desk.says(&["signing-key", "create"], 0, &["is next (card, "]).await);
    let token = id_of(&desk.says(&["signing-key", "create", "--purpose", "token"], 0, &["is next (token, "]).await);
    desk.says(&["signing-key", "list"], 0, &["SIGNS", &next, &token]).await;
    desk.says(&["signing-key", "retire", &next], 1, &["not from next to retiring"]).await;
    desk.says(&["signing-key", "activate", &next], 0, &["is active (card, "]).await;
    desk.says(&["signing-key", "retire", &next], 0, &["is retiring"]).await;
    desk.says(&["signing-key", "erase", &next], 0, &["is gone"]).await;
    desk.says(&["signing-key", "erase", "sig-ghost"], 1, &["this key does not exist"]).await;

    desk.says(&["principal", "create", "staff"], 0, &["made principal staff"]).await;
    let subjects = "principals={\"CN=bot,O=Acme\":\"staff\"}";
    let spec = ["--set", "kind=certificate", "--set", subjects];
    desk.says(&[&["issuer", "create", "certs"], &spec[..]].concat(), 0, &["made issuer certs"]).await;
    desk.says(&["issuer", "keys", "certs"], 0, &["not fetched yet"]).await;
    desk.says(&["issuer", "keys", "ghost"], 1, &["this issuer does not exist"]).await;
    desk.h.finish().await;
}

#[tokio::test]
async fn everything_of_a_tenant_is_made_from_a_shell() {
    let desk = Desk::open().await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, value: &Value| {
        let path = folder.path().join(name);
        std::fs::write(&path, value.to_string()).unwrap();
        path.display().to_string()
    };
    desk.says(&["tenant", "create", "acme", "--set", "display_name=Acme"], 0, &["made tenant acme (acme)"]).await;
    desk.says(&["tenant", "create", "acme"], 1, &["a tenant of this name", "(409)"]).await;
    desk.says(&["tenant", "create", "Bad Name"], 1, &["name: must be 1 to 63"]).await;
    desk.says(&["tenant", "list"], 0, &["NAME", "acme  active"]).await;

    let policy = file("policy.json", &policy_spec("heron"));
    desk.says(&["policy", "create", "words", "-f", &policy], 0, &["made policy words (pol-"]).await;
    desk.says(
        &["policy", "create", "bad", "--set", "mode=never"],
        1,
        &["spec.mode", "spec.surfaces", "spec.detectors"],
    )
    .await;
    desk.says(&["policy", "list"], 0, &["words  pol-"]).await;
    let card =
        file("card.json", &json!({"kind": "Card", "name": "x", "spec": card_spec("Echo", "http://127.0.0.1:9")}));
    desk.says(&["card", "create", "echo", "-f", &card], 0, &["made card echo (card-"]).await;
    desk.says(&["card", "update", "echo", "--set", "policy=words"], 0, &["changed card echo"]).await;
    desk.says(&["policy", "delete", "words"], 1, &["card echo would lose its guard"]).await;
    desk.says(&["card", "update", "echo", "--set", "policy=ghost"], 1, &["spec.policy"]).await;

    desk.says(&["principal", "create", "bot", "--set", "kind=service"], 0, &["made principal bot (prn-"]).await;
    desk.says(&["principal", "list"], 0, &["bot   service  active"]).await;
    let pairs = ["--set", "principal=bot", "--set", "cards=[\"echo\"]", "--set", "operations=[\"send\",\"list\"]"];
    desk.says(&[&["grant", "create", "calls"], &pairs[..]].concat(), 0, &["made grant calls (grt-"]).await;
    desk.says(&["grant", "list"], 0, &["calls  bot        echo   send,list"]).await;
    let key = desk.says(&["key", "create", "--principal", "bot", "--label", "ci"], 0, &[]).await.out.trim().to_owned();
    assert!(key.starts_with("sk_brutor_api_") && !key.contains(char::is_whitespace), "a script can take it");
    let listed = desk.says(&["key", "list"], 0, &["bot        ci"]).await.out;
    assert!(!listed.contains(&key));
    let id = listed.lines().nth(1).unwrap().split(' ').next().unwrap();
    let expired = ["key", "create", "--principal", "bot", "--expires-at", "2001-01-01T00:00:00Z"];
    desk.says(&expired, 1, &["expires_at: must lie in the future"]).await;
    desk.says(&["key", "revoke", id], 0, &["revoked key-"]).await;
    desk.says(&["key", "revoke", "key-ghost"], 1, &["this key does not exist"]).await;

    desk.says(&["grant", "delete", "calls"], 0, &["removed calls"]).await;
    desk.says(&["principal", "update", "bot", "--set", "state=disabled"], 0, &["changed principal bot"]).await;
    let got = desk.says(&["principal", "get", "bot"], 0, &[]).await;
    assert_eq!(serde_json::from_str::<Value>(&got.out).unwrap()["spec"]["state"], "disabled");
    let json = desk.says(&["tenant", "list", "--json"], 0, &[]).await;
    assert_eq!(serde_json::from_str::<Value>(&json.out).unwrap()[0]["name"], "acme");
    desk.h.finish().await;
}

#[tokio::test]
async fn policies_go_back_from_a_shell() {
    let desk = Desk::acme().await;
    let made = desk.make("/tenants/acme/policies", "words", &policy_spec("heron")).await;
    let revision = made["revision"].as_i64().unwrap();
    let changed = desk.put("/tenants/acme/policies/words", &policy_spec("stork"), revision).await;
    assert_eq!(changed.status, StatusCode::OK);
    desk.says(&["policy", "history", "words"], 0, &["VERSION", "2  ", "1  ", "admin"]).await;
    desk.says(&["policy", "version", "words", "1"], 0, &["heron"]).await;
    desk.says(&["policy", "diff", "words"], 0, &["version 1 → 2", "/detectors: ", "stork"]).await;
    desk.says(&["policy", "restore", "words", "--to", "7"], 1, &["there is no such version"]).await;
    desk.says(&["policy", "restore", "words", "--to", "1"], 0, &["changed policy words"]).await;
    assert_eq!(desk.read("/tenants/acme/policies/words").await["spec"], policy_spec("heron"));
    desk.says(&["policy", "history", "words"], 0, &["3  ", "as version 1"]).await;
    desk.says(&["policy", "restore", "ghost", "--to", "1"], 1, &["does not exist (404)"]).await;
    desk.h.finish().await;
}

#[tokio::test]
async fn cards_are_imported_signed_compared_and_verified() {
    let desk = Desk::acme().await;
    let echo = desk.h.agents.echo_url.clone();
    desk.says(
        &["card", "import", &echo, "--name", "echo"],
        0,
        &["card read from", "v10_jsonrpc", "registered card echo"],
    )
    .await;
    desk.says(&["card", "import", &echo, "--name", "echo"], 1, &["a card of this name"]).await;
    desk.says(&["card", "import", "http://169.254.169.254/"], 1, &["may not connect", "egress.allow"]).await;
    desk.says(&["card", "list"], 0, &["echo  published", &echo]).await;
    desk.says(&["card", "sign", "echo"], 0, &["\"signatures\"", "\"view\""]).await;
    desk.says(&["card", "update", "echo", "--set", "card.version=\"7\""], 0, &["changed card echo"]).await;
    desk.says(&["card", "diff", "echo"], 0, &["version 1 → 2", "/card/version: ", "→ \"7\""]).await;
    desk.says(&["card", "history", "echo"], 0, &["VERSION", "imported"]).await;
    desk.says(&["card", "diff", "echo", "--from", "8", "--to", "9"], 1, &["no version 9", "history"]).await;
    desk.says(&["card", "version", "echo", "1"], 0, &["\"skills\""]).await;
    desk.says(&["card", "restore", "echo", "--to", "1"], 0, &["changed card echo"]).await;
    desk.says(&["card", "history", "echo"], 0, &["as version 1"]).await;
    desk.says(&["card", "restore", "echo", "--to", "9"], 1, &["there is no such version"]).await;

    let served = format!("http://{}/a2a/acme/echo", desk.h.public);
    desk.says(&["card", "verify", &served], 0, &["holds for the", "verified; trust what"]).await;
    let registry = format!("http://{}/.well-known/agent-card/acme/echo", desk.h.public);
    desk.says(&["card", "verify", &registry], 0, &["verified"]).await;
    desk.make("/tenants", "globex", &json!({})).await;
    let others = format!("http://{}/.well-known/a2a-jwks/globex", desk.h.public);
    desk.says(&["card", "verify", &served, "--jwks", &others], 1, &["no signature holds"]).await;
    let own = format!("http://{}/.well-known/a2a-jwks/acme", desk.h.public);
    desk.says(&["card", "verify", &desk.h.agents.hello_url, "--jwks", &own], 1, &["carries no signature"]).await;

    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("credential.json");
    std::fs::write(&secret, r#"{"type":"bearer","token":"very-secret"}"#).unwrap();
    let ran = desk
        .says(&["card", "credential", "echo", "-f", &secret.display().to_string()], 0, &["changed card echo"])
        .await;
    assert!(!format!("{ran:?}").contains("very-secret"));
    desk.says(&["card", "get", "echo"], 0, &["\"type\": \"bearer\""]).await;
    desk.says(&["card", "state", "echo", "disabled"], 0, &["moved card echo"]).await;
    desk.says(&["card", "state", "echo", "asleep"], 2, &["possible values"]).await;
    assert_eq!(desk.h.get("/.well-known/agent-card/acme/echo").send().await.status, StatusCode::NOT_FOUND);
    desk.says(&["card", "verify", &served], 1, &["no agent card at"]).await;
    desk.says(&["card", "delete", "echo"], 0, &["removed echo"]).await;
    desk.h.finish().await;
}

#[tokio::test]
async fn call_prints_what_the_agent_says_and_keeps_the_key_at_home() {
    let desk = Desk::acme().await;
    let echo = desk.h.agents.echo_url.clone();
    desk.says(&["call", &echo, "hello there"], 0, &["hello there"]).await;
    desk.says(&["call", &echo, "hello there", "--stream"], 0, &["hello there"]).await;
    desk.says(&["call", &echo, "hi", "--dialect", "v03_jsonrpc"], 0, &["hi"]).await;
    desk.says(&["call", &echo, "hi", "--dialect", "morse"], 2, &["v10_jsonrpc"]).await;
    desk.says(&["call", "http://127.0.0.1:9/", "hi"], 1, &["no agent card at http://127.0.0.1:9/"]).await;
    desk.says(&["call", "nonsense", "hi"], 2, &["not an http or https URL"]).await;
    desk.says(&["call", &desk.h.agents.hello_url, "hi", "--verify"], 2, &["name the key set with --jwks"]).await;
    desk.says(&["call", &echo, "hi", "--verify"], 1, &["no keys to check", "404"]).await;
    desk.says(&["call", &echo, "hi", "--jwks", "/nowhere/keys.json"], 2, &["reading the keys in /nowhere"]).await;
    desk.says(&["call", &echo, "hi", "--file", "/nowhere/file"], 2, &["reading /nowhere/file"]).await;
    desk.says(&["call", &echo, "fail now"], 1, &["the task did not complete"]).await;
    let asked = desk.says(&["call", &echo, "ask me"], 0, &["What shall I echo?"]).await;
    let id = asked.err.rsplit("--task ").next().unwrap().trim().to_owned();
    desk.says(&["call", &echo, "an answer", "--task", &id], 0, &["an answer"]).await;
    desk.says(&["call", &echo, "stream 3 abcdef", "--stream"], 0, &["abcdef\n"]).await;
    desk.says(&["call", &echo, "hi", "--no-wait"], 0, &["[task "]).await;
    desk.says(&["call", &echo, "hi", "--task", "nobodys"], 1, &["TASK_NOT_FOUND", "another caller"]).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.csv");
    std::fs::write(&file, "a,b\n").unwrap();
    let file = file.display().to_string();
    desk.says(&["call", &echo, "hi", "--file", &file], 0, &["[text/csv a.csv: 4 bytes]"]).await;
    let raw = desk.says(&["call", &echo, "hi", "--json"], 0, &[]).await;
    assert!(serde_json::from_str::<Value>(raw.out.trim()).unwrap()["task"].is_object(), "{raw:?}");
    // The card at the gateway names the public URL; the key was given for another address.
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", &echo)).await;
    let served = format!("http://{}/a2a/acme/echo", desk.h.public);
    desk.says(&["call", &served, "hi", "--key", "sk_x"], 1, &["the card leads to https://gw.test"]).await;
    // Verified before anything is sent to where it leads.
    let keys = |tenant: &str| format!("http://{}/.well-known/a2a-jwks/{tenant}", desk.h.public);
    desk.make("/tenants", "globex", &json!({})).await;
    desk.says(&["call", &served, "hi", "--verify"], 1, &["card verified", "was not reached"]).await;
    desk.says(&["call", &served, "hi", "--jwks", &keys("acme")], 1, &["card verified"]).await;
    desk.says(&["call", &served, "hi", "--jwks", &keys("globex")], 1, &["no signature of the card holds"]).await;
    desk.says(&["call", &echo, "hi", "--jwks", &keys("acme")], 1, &["carries no signature"]).await;
    desk.h.finish().await;
}

#[tokio::test]
async fn audit_is_searched_by_name() {
    let desk = Desk::acme().await;
    let echo = desk.h.agents.echo_url.clone();
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", &echo)).await;
    let key = desk.caller("acme", "bot").await["key"].as_str().unwrap().to_owned();
    for _ in 0..3 {
        desk.h.get("/a2a/acme/echo/tasks").header("a2a-version", "1.0").key(&key).send().await;
    }
    let arrive = async {
        while desk.read("/audit?tenant=acme&limit=3").await["items"].as_array().unwrap().len() < 3 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, arrive).await.expect("the records arrive");
    desk.says(&["audit", "query", "--principal", "bot"], 0, &["PRINCIPAL", "bot", "echo", "list"]).await;
    desk.says(&["audit", "query", "--principal", "ghost"], 1, &["there is no principal \"ghost\""]).await;
    let page = desk.says(&["audit", "query", "--limit", "2", "--json"], 0, &["\"principal_id\": \"prn-"]).await;
    assert_eq!(serde_json::from_str::<Value>(&page.out).unwrap().as_array().unwrap().len(), 2);
    let cursor = page.err.trim().rsplit(' ').next().unwrap();
    let rest = desk.says(&["audit", "query", "--cursor", cursor, "--json"], 0, &[]).await;
    assert_eq!(serde_json::from_str::<Value>(&rest.out).unwrap().as_array().unwrap().len(), 1, "{page:?}");
    let root = serde_json::from_str::<Value>(&rest.out).unwrap()[0]["root"].as_str().unwrap().to_owned();
    let tree = desk.says(&["audit", "query", "--root", &root, "--json"], 0, &[&root]).await;
    assert_eq!(serde_json::from_str::<Value>(&tree.out).unwrap().as_array().unwrap().len(), 1, "{tree:?}");
    desk.h.finish().await;
}

#[tokio::test]
async fn description_and_health() {
    let desk = Desk::acme().await;
    let printed = desk.says(&["openapi"], 0, &[]).await;
    let served = desk.ask(http::Method::GET, "/api/openapi.json", &[], Vec::new()).await;
    assert_eq!(serde_json::from_str::<Value>(&printed.out).unwrap(), served.json());
    desk.says(&["health", "--address", &desk.h.admin.to_string()], 0, &["ready"]).await;
    desk.says(&["health", "--address", "127.0.0.1:9"], 1, &["127.0.0.1:9 does not answer"]).await;
    desk.says(&["health", "--address", "nowhere"], 2, &["invalid"]).await;
    desk.h.finish().await;
}
