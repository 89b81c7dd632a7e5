//! `chancery apply` against a running gateway.

use std::path::{Path, PathBuf};

use http::StatusCode;
use serde_json::json;

use crate::admin::{Desk, policy_spec};
use crate::commands::Ran;

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples/apply")
}

async fn apply(desk: &Desk, path: &Path, more: &[&str]) -> Ran {
    let path = path.display().to_string();
    desk.run(&[&["apply", "-f", &path], more].concat()).await
}

fn signs(ran: &Ran) -> String {
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out.lines().filter_map(|line| line.chars().next()).collect()
}

/// A folder with the samples, to be changed.
fn copied() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(samples()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    folder
}

fn change(folder: &Path, file: &str, from: &str, to: &str) {
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    assert!(text.contains(from), "{file} holds {from}");
    std::fs::write(folder.join(file), text.replace(from, to)).unwrap();
}

#[tokio::test]
async fn samples_are_applied_once_and_then_as_they_were() {
    let desk = Desk::open().await;
    let dry = apply(&desk, &samples(), &["--dry-run"]).await;
    assert_eq!(signs(&dry), "+++++", "{dry:?}");
    assert_eq!(desk.get("/tenants/acme").await.status, StatusCode::NOT_FOUND, "a dry run makes nothing");
    let first = apply(&desk, &samples(), &[]).await;
    assert_eq!(first.out, dry.out, "and says what will come");
    assert!(first.out.contains("+ Card acme/echo\n") && first.out.contains("+ Tenant acme\n"), "{}", first.out);
    let tenant = desk.read("/tenants/acme").await;
    assert_eq!(
        (&tenant["spec"]["default_policy"], &tenant["spec"]["default_card"]),
        (&json!("code-names"), &json!("echo"))
    );
    let revision = tenant["revision"].clone();
    assert_eq!(signs(&apply(&desk, &samples(), &[]).await), "=====");
    assert_eq!(desk.read("/tenants/acme").await["revision"], revision, "nothing was written");
    desk.h.finish().await;
}

#[tokio::test]
async fn changes_are_named_and_what_is_not_mentioned_stays() {
    let desk = Desk::open().await;
    apply(&desk, &samples(), &[]).await;
    // What an administrator set beside the documents.
    let card = desk.read("/tenants/acme/cards/echo").await;
    let mut spec = card["spec"].clone();
    spec["visibility"] = json!("tenant");
    desk.put("/tenants/acme/cards/echo", &spec, card["revision"].as_i64().unwrap()).await;
    assert_eq!(signs(&apply(&desk, &samples(), &[]).await), "=====");

    let folder = copied();
    change(
        folder.path(),
        "echo.json",
        "\"tags\": [\"demo\"]\n  }",
        "\"tags\": [\"finance\"], \"policy\": \"code-names\"\n  }",
    );
    change(folder.path(), "echo.json", "\"version\": \"1.0.0\"", "\"version\": \"1.0.1\"");
    change(folder.path(), "callers.yaml", "per_minute: 60", "per_minute: 6");
    change(folder.path(), "policies.yaml", "  mode: enforce\n", "");
    let dry = apply(&desk, folder.path(), &["--dry-run"]).await;
    assert_eq!(desk.read("/tenants/acme/cards/echo").await["spec"]["card"]["version"], "1.0.0", "{dry:?}");
    let changed = apply(&desk, folder.path(), &[]).await;
    assert_eq!(changed.out, dry.out);
    for line in [
        "~ Card acme/echo: card.version, tags, policy",
        "~ Grant acme/billing-bot-calls: limits.per_minute",
        "~ Policy acme/code-names: mode",
        "= Principal acme/billing-bot",
    ] {
        assert!(changed.out.lines().any(|one| one == line), "{line} in {}", changed.out);
    }
    assert_eq!(signs(&apply(&desk, folder.path(), &[]).await), "=====");
    let card = desk.read("/tenants/acme/cards/echo").await;
    assert_eq!((&card["spec"]["visibility"], &card["spec"]["tags"]), (&json!("tenant"), &json!(["finance"])));
    assert_eq!(desk.read("/tenants/acme/policies/code-names").await["spec"].get("mode"), None);
    // `null` takes a setting back.
    change(folder.path(), "echo.json", "\"policy\": \"code-names\"", "\"policy\": null, \"visibility\": null");
    let back = apply(&desk, folder.path(), &[]).await;
    assert!(back.out.contains("~ Card acme/echo: policy, visibility"), "{back:?}");
    assert_eq!(desk.read("/tenants/acme/cards/echo").await["spec"].get("policy"), None);
    desk.h.finish().await;
}

#[tokio::test]
async fn pruning_removes_dependants_first_and_only_in_named_tenants() {
    let desk = Desk::open().await;
    desk.make("/tenants", "other", &json!({})).await;
    desk.caller("other", "stranger").await;
    apply(&desk, &samples(), &[]).await;
    let key = desk.caller("acme", "extra").await;
    desk.make("/tenants/acme/policies", "extra", &policy_spec("x")).await;
    let mut card = crate::admin::card_spec("Extra", "http://127.0.0.1:9");
    card["policy"] = json!("extra");
    card["bound_principal"] = json!("extra");
    desk.make("/tenants/acme/cards", "extra", &card).await;

    let dry = apply(&desk, &samples(), &["--prune", "--dry-run"]).await;
    let removed: Vec<&str> = dry.out.lines().filter(|line| line.starts_with('-')).collect();
    assert_eq!(removed, ["- Grant acme/extra", "- Card acme/extra", "- Principal acme/extra", "- Policy acme/extra"]);
    assert_eq!(desk.get("/tenants/acme/cards/extra").await.status, StatusCode::OK);
    let pruned = apply(&desk, &samples(), &["--prune"]).await;
    assert_eq!(pruned.out, dry.out, "{pruned:?}");
    for kind in ["grants", "cards", "principals", "policies"] {
        assert_eq!(desk.get(&format!("/tenants/acme/{kind}/extra")).await.status, StatusCode::NOT_FOUND, "{kind}");
    }
    let key = desk.read(&format!("/tenants/acme/keys/{}", key["id"].as_str().unwrap())).await;
    assert!(key["revoked_at"].is_string(), "{key}");
    assert_eq!(desk.get("/tenants/other/principals/stranger").await.status, StatusCode::OK);
    assert_eq!(signs(&apply(&desk, &samples(), &["--prune"]).await), "=====");
    desk.h.finish().await;
}

#[tokio::test]
async fn bad_documents_are_listed_whole_and_nothing_is_applied() {
    let desk = Desk::open().await;
    let folder = copied();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("bad.yaml", "kind: Robot\nname: r\n---\nkind: Card\nname: c\n---\nkind: Tenant\nname: t\ntenant: t\n");
    write("twice.json", r#"[{"kind":"Principal","tenant":"acme","name":"billing-bot"}, {"kind":"Grant","nmae":"g"}]"#);
    write("broken.yml", "kind: [\n");
    let ran = apply(&desk, folder.path(), &[]).await;
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    for part in [
        "bad.yaml: document 1 (Robot r): unknown variant `Robot`",
        "bad.yaml: document 2 (Card c): needs a member tenant",
        "bad.yaml: document 3 (Tenant t): has no tenant of its own",
        "twice.json: Principal \"billing-bot\" is declared in",
        "twice.json: document 2 (Grant ?): unknown field `nmae`",
        "broken.yml: ",
    ] {
        assert!(ran.err.contains(part), "{part} in {}", ran.err);
    }
    assert_eq!(desk.get("/tenants/acme").await.status, StatusCode::NOT_FOUND);
    let missing = apply(&desk, &folder.path().join("nothing.yaml"), &[]).await;
    assert!(missing.code == 2 && missing.err.contains("nothing.yaml: can't be read"), "{missing:?}");
    desk.h.finish().await;
}

#[tokio::test]
async fn refusal_of_the_gateway_names_file_document_and_problems() {
    let desk = Desk::open().await;
    let folder = copied();
    change(folder.path(), "callers.yaml", "[send, stream, get, cancel]", "[send, fly]");
    let ran = apply(&desk, folder.path(), &[]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    for part in
        ["callers.yaml: Grant acme/billing-bot-calls was not applied", "spec.operations.1: \"fly\" is no operation"]
    {
        assert!(ran.err.contains(part), "{part} in {}", ran.err);
    }
    assert!(ran.out.contains("+ Card acme/echo"), "what came before is said: {}", ran.out);
    // Put right, the rest follows, the tenant's references included.
    assert_eq!(signs(&apply(&desk, &samples(), &[]).await).matches('+').count(), 1);
    assert_eq!(desk.read("/tenants/acme").await["spec"]["default_card"], "echo");
    let delete = desk.delete("/tenants/acme/policies/code-names").await;
    assert_eq!(delete.status, StatusCode::UNPROCESSABLE_ENTITY, "the tenant's default policy is in use");
    desk.h.finish().await;
}
