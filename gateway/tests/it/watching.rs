//! What people watch with from a shell: the live feed, figures, a try of an agent.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::admin::{Desk, card_spec, policy_spec};
use crate::harness::DEADLINE;

/// A desk with the card `echo`, which a policy that stops herons guards, and a caller's key.
async fn guarded() -> (Desk, String) {
    let desk = Desk::acme().await;
    let mut card = card_spec("Echo", &desk.h.agents.echo_url.clone());
    card["policy"] = json!("words");
    desk.make("/tenants/acme/policies", "words", &policy_spec("heron")).await;
    desk.make("/tenants/acme/cards", "echo", &card).await;
    let key = desk.caller("acme", "bot").await["key"].as_str().unwrap().to_owned();
    (desk, key)
}

async fn say(desk: &Desk, key: &str, text: &str) -> StatusCode {
    let params = json!({"message": {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    desk.h.post("/a2a/acme/echo", &body).header("a2a-version", "1.0").key(key).send().await.status
}

/// A command under way. A test that fails does not leave it behind.
struct Following(Child);

impl Drop for Following {
    fn drop(&mut self) {
        // One that has ended by itself can't be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `chancery live …` under way: it has told what is open, so from now on it hears everything. The gateway runs on the
/// test's own thread, so whatever waits for the command waits on another.
async fn following(desk: &Desk, args: &[&str]) -> Following {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chancery"));
    command
        .arg("live")
        .args(args)
        .env_clear()
        .env("CHANCERY_ADMIN_URL", desk.url())
        .env("CHANCERY_ADMIN_TOKEN_FILE", &desk.token_file)
        .env("CHANCERY_TENANT", "acme")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut live = Following(command.spawn().unwrap());
    let notes = live.0.stderr.take().unwrap();
    let started = spawn_blocking(move || {
        let mut notes = BufReader::new(notes).lines();
        let first = notes.next().unwrap().unwrap();
        // Somebody has to read what it goes on to say.
        std::thread::spawn(move || notes.for_each(drop));
        first
    });
    let first = timeout(DEADLINE, started).await.expect("it says what is open").unwrap();
    assert!(first.ends_with("streams open"), "{first}");
    live
}

async fn ended(mut live: Following) -> String {
    let mut told = live.0.stdout.take().unwrap();
    let read = spawn_blocking(move || {
        let mut text = String::new();
        told.read_to_string(&mut text).map(|_| text)
    });
    let text = timeout(DEADLINE, read).await.expect("it stops after --count").unwrap().unwrap();
    // Whoever has closed its output ends; the gateway is not needed for that.
    let status = live.0.wait().unwrap();
    assert!(status.success(), "{status}: {text}");
    text
}

#[tokio::test]
async fn the_live_feed_is_followed_from_a_shell_through_every_filter() {
    let (desk, key) = guarded().await;
    let table = following(&desk, &["--count", "2"]).await;
    let documents = following(&desk, &["--json", "--count", "1", "--outcome", "blocked", "--card", "echo"]).await;
    let kind = following(&desk, &["--json", "--count", "1", "--finding", "words", "--principal", "bot"]).await;
    let named = following(&desk, &["--json", "--count", "1", "--finding", "words:words"]).await;
    let mut never = following(&desk, &["--json", "--finding", "word"]).await;
    say(&desk, &key, "hello").await;
    say(&desk, &key, "the blue heron").await;
    let table = ended(table).await;
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("OPENED") && lines.len() == 3, "{table}");
    assert!(lines[1].contains("bot") && lines[1].contains(" ok ") && lines[2].contains(" blocked "), "{table}");
    for told in [documents, kind, named] {
        let told = ended(told).await;
        let one: Value = serde_json::from_str(told.trim()).unwrap();
        assert_eq!((&one["outcome"], &one["principal"]), (&json!("blocked"), &json!("bot")), "{told}");
        assert!(!told.contains("heron"), "metadata only: {told}");
    }
    assert!(never.0.try_wait().unwrap().is_none(), "half a kind is no kind, so it still waits");
    drop(never);
    let refused = desk.run(&["live", "--tenant", "nobody", "--json"]).await;
    assert_ne!(refused.code, 0, "{refused:?}");
    desk.h.finish().await;
}

#[tokio::test]
async fn figures_edges_and_agents_are_shown_from_a_shell() {
    let (desk, key) = guarded().await;
    say(&desk, &key, "hello").await;
    say(&desk, &key, "the blue heron").await;
    let counted = async {
        while desk.read("/stats?tenant=acme&minutes=5").await["total"]["count"] != 2 {
            tokio::task::yield_now().await;
        }
    };
    timeout(DEADLINE, counted).await.expect("records reach the store");
    let ran = desk.run(&["stats", "--minutes", "5", "--slots"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    for part in
        ["blocked 1, ok 1", "0 streams open", "AGENT  STATE", "echo   ok", "PRINCIPAL  CALLED", "bot        echo"]
    {
        assert!(ran.out.contains(part), "{part} in {}", ran.out);
    }
    let json = desk.run(&["stats", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&json.out).unwrap()["total"]["count"], 2);
    assert_eq!(desk.run(&["stats", "--minutes", "0"]).await.code, 2);
    desk.h.finish().await;
}

#[tokio::test]
async fn a_draft_is_tried_from_a_shell() {
    let desk = Desk::acme().await;
    desk.make("/tenants/acme/policies", "words", &policy_spec("heron")).await;
    let url = desk.h.agents.echo_url.clone();
    let body = json!({"url": url, "name": "echo", "settings": {"state": "draft", "policy": "words"}});
    assert_eq!(desk.post("/tenants/acme/cards/import", &body).await.status, StatusCode::CREATED);
    let fine = desk.run(&["card", "try", "echo", "is anybody there"]).await;
    assert_eq!(fine.code, 0, "{fine:?}");
    assert!(fine.out.contains("is anybody there") && fine.err.contains("sent stream in v10_jsonrpc"), "{fine:?}");
    let told = desk.run(&["card", "try", "echo", "hello", "--json"]).await;
    let events: Vec<Value> = told.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&events[0]["event"], &events[events.len() - 1]["event"]), (&json!("sent"), &json!("done")));
    let blocked = desk.run(&["card", "try", "echo", "a heron"]).await;
    assert!(blocked.code == 1 && blocked.err.contains("the policy stops this: words"), "{blocked:?}");
    desk.make("/tenants/acme/cards", "gone", &card_spec("Gone", "http://127.0.0.1:1")).await;
    let gone = desk.run(&["card", "try", "gone", "hello"]).await;
    assert_eq!(gone.code, 1, "{gone:?}");
    let nobody = desk.run(&["card", "try", "nobody", "hello"]).await;
    assert!(nobody.code == 1 && nobody.err.contains("does not exist (404)"), "{nobody:?}");
    // Each try of a card that is there.
    desk.h.expect_records(4);
    desk.h.finish().await;
}
