//! Cards: what is kept, what is refused, what is served.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Desk, card_spec, policy_spec, problem_paths};

const AGENT: &str = "http://127.0.0.1:9";
const CARD: &str = "/tenants/acme/cards/echo";
const SERVED: &str = "/.well-known/agent-card/acme/echo";

/// A card whose numbers and order a careless reader would change.
const DOCUMENT: &str = r#"{"version":"1","name":"Digits","description":"d","supportedInterfaces":[{"url":"http://a.internal/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true,"extensions":[{"uri":"https://ext.test/x","params":{"z":1.50,"a":9007199254740991,"e":1e2}}]},"defaultOutputModes":["text/plain"],"defaultInputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"d","tags":["t"]}]}"#;

#[tokio::test]
async fn document_keeps_its_digits_and_order() {
    let desk = Desk::acme().await;
    let body =
        format!(r#"{{"name":"echo","spec":{{"card":{DOCUMENT},"upstream":{{"interfaces":[{{"url":"{AGENT}"}}]}}}}}}"#);
    let made = desk.send_text(Method::POST, "/tenants/acme/cards", &body, None).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    assert!(made.text().contains(DOCUMENT), "{}", made.text());
    let read = desk.get(CARD).await;
    assert!(read.text().contains(DOCUMENT), "{}", read.text());

    // What was read, sent back as it is, changes nothing; what is not sent of the document stays.
    let revision = read.json()["revision"].as_i64();
    let text = read.text();
    let spec = &text[text.find("\"spec\":").unwrap()..text.len() - 1];
    let same = desk.send_text(Method::PUT, CARD, &format!("{{{spec}}}"), revision).await;
    assert_eq!((same.status, same.text()), (StatusCode::OK, read.text()));
    let tagged = json!({"upstream": {"interfaces": [{"url": AGENT}]}, "tags": ["x"]});
    let changed = desk.put(CARD, &tagged, revision.unwrap()).await;
    assert!(changed.text().contains(DOCUMENT) && changed.json()["spec"]["tags"] == json!(["x"]), "{}", changed.text());
    let history = desk.get(&format!("{CARD}/history")).await;
    assert_eq!(history.text().matches(DOCUMENT).count(), 2, "{}", history.text());
    let stale = desk.send_text(Method::PUT, CARD, &format!("{{{spec}}}"), revision).await;
    assert_eq!(stale.status, StatusCode::PRECONDITION_FAILED);
    desk.h.finish().await;
}

#[tokio::test]
async fn credential_is_written_never_read() {
    let desk = Desk::acme().await;
    let mut spec = card_spec("Echo", AGENT);
    spec["upstream"]["credential"] = json!({"type": "bearer", "token": "first-secret-of-the-agent"});
    let made = desk.make("/tenants/acme/cards", "echo", &spec).await;
    let shown = |card: &Value| card["spec"]["upstream"]["credential"].clone();
    assert_eq!(shown(&made), json!({"type": "bearer"}));
    let revision = made["revision"].as_i64().unwrap();
    let same = desk.put(CARD, &made["spec"], revision).await;
    assert_eq!(same.json(), made, "what GET gave changes nothing");

    // Another type alone, or a type where nothing is: there would be nothing to keep.
    let mut other = made["spec"].clone();
    other["upstream"]["credential"] = json!({"type": "basic"});
    assert_eq!(problem_paths(&desk.put(CARD, &other, revision).await), ["spec.upstream.credential"]);
    let mut bare = card_spec("Bare", AGENT);
    bare["upstream"]["credential"] = json!({"type": "bearer"});
    let refused = desk.post("/tenants/acme/cards", &json!({"name": "bare", "spec": bare})).await;
    assert_eq!(problem_paths(&refused), ["spec.upstream.credential"]);

    let header = json!({"type": "header", "name": "X-Key", "value": "second-secret-of-the-agent"});
    let path = format!("{CARD}/credential");
    let replaced = desk.send(Method::PUT, &path, Some(&header), None).await;
    assert_eq!((replaced.status, shown(&replaced.json())), (StatusCode::OK, json!({"type": "header"})));
    for bad in
        [json!({"type": "bearer", "token": "a\nb"}), json!({"type": "magic"}), json!({}), json!({"type": "basic"})]
    {
        let refused = desk.send(Method::PUT, &path, Some(&bad), None).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{bad}: {}", refused.text());
    }
    let everything = [CARD, "/tenants/acme/cards", &format!("{CARD}/history")];
    for path in everything {
        assert!(!desk.get(path).await.text().contains("-secret-of-the-agent"), "{path}");
    }
    let none = desk.send(Method::PUT, &path, Some(&json!({"type": "none"})), None).await;
    assert_eq!(shown(&none.json()), json!({"type": "none"}));
    desk.h.finish().await;
}

/// T-HDR-1
#[tokio::test]
async fn a_credential_goes_into_no_header_of_the_gateways() {
    let desk = Desk::acme().await;
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", AGENT)).await;
    for name in ["X-Brutor-Tenant-Id", "Host", "Content-Length", "Transfer-Encoding", "A2A-Version", "traceparent"] {
        let header = json!({"type": "header", "name": name, "value": "globex"});
        let mut spec = card_spec("Other", AGENT);
        spec["upstream"]["credential"] = header.clone();
        let made = desk.post("/tenants/acme/cards", &json!({"name": "other", "spec": spec})).await;
        assert_eq!(problem_paths(&made), ["spec.upstream.credential"], "{name}");
        let replaced = desk.send(Method::PUT, &format!("{CARD}/credential"), Some(&header), None).await;
        assert_eq!(problem_paths(&replaced), ["spec.upstream.credential"], "{name}");
        assert!(replaced.text().contains(&name.to_lowercase()), "{}", replaced.text());
    }
    assert_eq!(desk.get(CARD).await.json()["spec"]["upstream"]["credential"], json!({"type": "none"}));
    desk.h.finish().await;
}

/// T-CARD-6.
#[tokio::test]
async fn credential_does_not_follow_the_agent_to_another_server() {
    let desk = Desk::acme().await;
    let mut spec = card_spec("Echo", AGENT);
    spec["upstream"]["credential"] = json!({"type": "bearer", "token": "secret"});
    let made = desk.make("/tenants/acme/cards", "echo", &spec).await;
    let revision = made["revision"].as_i64().unwrap();
    let mut moved = made["spec"].clone();
    moved["upstream"]["interfaces"][0]["url"] = json!("http://127.0.0.1:10");
    let refused = desk.put(CARD, &moved, revision).await;
    assert_eq!(problem_paths(&refused), ["spec.upstream.credential"]);
    assert!(refused.text().contains("send the credential for the new server"), "{}", refused.text());
    assert_eq!(desk.read(CARD).await, made, "nothing was saved");

    // Another path of the same server is no move; with a new credential a move is allowed.
    let mut path_only = made["spec"].clone();
    path_only["upstream"]["interfaces"][0]["url"] = json!("http://127.0.0.1:9/other");
    let stayed = desk.put(CARD, &path_only, revision).await.json();
    assert_eq!(stayed["spec"]["upstream"]["credential"], json!({"type": "bearer"}), "{stayed}");
    moved["upstream"]["credential"] = json!({"type": "bearer", "token": "other"});
    let went = desk.put(CARD, &moved, stayed["revision"].as_i64().unwrap()).await;
    assert_eq!(went.status, StatusCode::OK, "{}", went.text());
    assert!(desk.h.app.registry.snapshot().tenants["acme"].cards.contains_key("echo"), "it is served with it");

    // Several servers can't share one, and an egress rule holds for every address.
    let mut two = card_spec("Two", AGENT);
    two["upstream"]["interfaces"] = json!([{"url": AGENT}, {"url": "http://127.0.0.1:10"}]);
    two["upstream"]["credential"] = json!({"type": "bearer", "token": "secret"});
    let refused = desk.post("/tenants/acme/cards", &json!({"name": "two", "spec": two})).await;
    assert_eq!(problem_paths(&refused), ["spec.upstream.credential"]);
    let metadata = card_spec("Cloud", "http://169.254.169.254/latest");
    let refused = desk.post("/tenants/acme/cards", &json!({"name": "cloud", "spec": metadata})).await;
    assert_eq!(problem_paths(&refused), ["spec.upstream.interfaces"]);
    desk.h.finish().await;
}

#[tokio::test]
async fn life_decides_what_is_served() {
    let desk = Desk::acme().await;
    let echo = desk.h.agents.echo_url.clone();
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", &echo)).await;
    let caller = desk.caller("acme", "bot").await;
    let key = caller["key"].as_str().unwrap();
    let list = async || desk.h.get("/a2a/acme/echo/tasks").header("a2a-version", "1.0").key(key).send().await.status;
    assert_eq!((desk.h.get(SERVED).send().await.status, list().await), (StatusCode::OK, StatusCode::OK));
    for state in ["draft", "pending", "approved", "disabled"] {
        let moved = desk.post(&format!("{CARD}/state"), &json!({"state": state})).await;
        assert_eq!((moved.status, &moved.json()["spec"]["state"]), (StatusCode::OK, &json!(state)));
        assert_eq!(desk.h.get(SERVED).send().await.status, StatusCode::NOT_FOUND, "{state}");
        assert_eq!(list().await, StatusCode::NOT_FOUND, "{state}");
    }
    assert_eq!(problem_paths(&desk.post(&format!("{CARD}/state"), &json!({})).await), ["state"]);
    desk.post(&format!("{CARD}/state"), &json!({"state": "published"})).await;
    assert_eq!((desk.h.get(SERVED).send().await.status, list().await), (StatusCode::OK, StatusCode::OK));
    desk.h.finish().await;
}

#[tokio::test]
async fn unfinished_draft_is_kept_but_not_published() {
    let desk = Desk::acme().await;
    let draft = json!({"card": {"name": "Half"}, "state": "draft"});
    let made = desk.make("/tenants/acme/cards", "echo", &draft).await;
    let refused = desk.post(&format!("{CARD}/state"), &json!({"state": "published"})).await;
    assert_eq!((refused.status, &refused.json()["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("unpublishable")));
    let named = problem_paths(&refused);
    for path in ["spec.upstream.interfaces", "spec.card.version"] {
        assert!(named.iter().any(|one| one == path), "{path} in {named:?}");
    }
    assert_eq!(desk.read(CARD).await["spec"]["state"], "draft");
    let mut published = made["spec"].clone();
    published["state"] = json!("published");
    assert_eq!(desk.put(CARD, &published, made["revision"].as_i64().unwrap()).await.status, StatusCode::BAD_REQUEST);
    desk.h.finish().await;
}

#[tokio::test]
async fn signed_card_comes_with_our_own_verdicts() {
    let desk = Desk::acme().await;
    desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", AGENT)).await;
    let signed = desk.post(&format!("{CARD}/sign"), &json!({})).await.json();
    let kid = desk.read("/tenants/acme/signing-keys").await["items"][0]["kid"].clone();
    let verdicts = signed["signatures"].as_array().unwrap();
    assert!(!verdicts.is_empty());
    assert!(verdicts.iter().all(|verdict| verdict["kid"] == kid && verdict["view"].is_string()), "{signed}");
    let served = desk.h.get(SERVED).send().await.json();
    assert_eq!(signed["card"], served["card"], "it is the card that is served");
    assert_eq!(desk.post("/tenants/acme/cards/ghost/sign", &json!({})).await.status, StatusCode::NOT_FOUND);
    desk.h.finish().await;
}

#[tokio::test]
async fn settled_colon_stays_while_the_agent_does() {
    let desk = Desk::acme().await;
    let mut spec = card_spec("Echo", AGENT);
    spec["upstream"]["settled_colon"] = json!("literal");
    let made = desk.make("/tenants/acme/cards", "echo", &spec).await;
    let colon = |card: &Value| card["spec"]["upstream"]["settled_colon"].clone();
    let mut change = card_spec("Echo renamed", AGENT);
    let kept = desk.put(CARD, &change, made["revision"].as_i64().unwrap()).await.json();
    assert_eq!(colon(&kept), "literal", "{kept}");
    change["upstream"]["interfaces"][0]["url"] = json!("http://127.0.0.1:10");
    let moved = desk.put(CARD, &change, kept["revision"].as_i64().unwrap()).await.json();
    assert_eq!(colon(&moved), Value::Null, "another agent, another colon");
    desk.h.finish().await;
}

/// Digits and order too; the state and the credential are what they are now.
#[tokio::test]
async fn an_earlier_version_is_had_again_as_it_was() {
    let desk = Desk::acme().await;
    let body = format!(
        r#"{{"name":"echo","spec":{{"card":{DOCUMENT},"tags":["first"],"upstream":{{"interfaces":[{{"url":"{AGENT}"}}],"credential":{{"type":"bearer","token":"secret-of-the-agent"}}}}}}}}"#
    );
    let made = desk.send_text(Method::POST, "/tenants/acme/cards", &body, None).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    let mut other = card_spec("Other", AGENT);
    other["state"] = json!("disabled");
    let changed = desk.put(CARD, &other, made.json()["revision"].as_i64().unwrap()).await.json();
    let revision = changed["revision"].as_i64().unwrap();
    let back = async |version: i64, revision: i64| {
        desk.send(Method::PUT, &format!("{CARD}/version"), Some(&json!({"version": version})), Some(revision)).await
    };
    assert_eq!(back(1, revision - 1).await.status, StatusCode::PRECONDITION_FAILED);
    assert_eq!(problem_paths(&back(7, revision).await), ["version"]);
    let again = back(1, revision).await;
    assert_eq!(again.status, StatusCode::OK, "{}", again.text());
    assert!(again.text().contains(DOCUMENT), "{}", again.text());
    let spec = &again.json()["spec"];
    assert_eq!((&spec["tags"], &spec["state"], &spec["version"]), (&json!(["first"]), &json!("disabled"), &json!(3)));
    assert_eq!(spec["upstream"]["credential"], json!({"type": "bearer"}));
    assert_eq!(desk.read(&format!("{CARD}/history")).await["items"][0]["note"], "as version 1");
    desk.h.finish().await;
}

/// As the admin page sends what was typed: long numbers and trailing zeros arrive as they are. A number that others would read
/// as another one keeps a card from being published; a draft may have it.
#[tokio::test]
async fn numbers_beyond_a_double_arrive_digit_by_digit() {
    let desk = Desk::acme().await;
    let exact = r#""params":{"z":12345678901234567890,"a":1.10}"#;
    let document = DOCUMENT.replace(r#""params":{"z":1.50,"a":9007199254740991,"e":1e2}"#, exact);
    let body =
        format!(r#"{{"name":"echo","spec":{{"card":{document},"upstream":{{"interfaces":[{{"url":"{AGENT}"}}]}}}}}}"#);
    let refused = desk.send_text(Method::POST, "/tenants/acme/cards", &body, None).await;
    assert_eq!(problem_paths(&refused), ["spec.card.capabilities.extensions.0.params.z"], "{}", refused.text());
    let draft = body.replacen(r#""spec":{"#, r#""spec":{"state":"draft","#, 1);
    let made = desk.send_text(Method::POST, "/tenants/acme/cards", &draft, None).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    assert!(made.text().contains(exact) && desk.get(CARD).await.text().contains(exact), "{}", made.text());
    let acme = store::TenantId::new("acme").unwrap();
    let stored = desk.h.store().card(&acme, "echo").await.unwrap().unwrap().document;
    assert!(String::from_utf8(stored).unwrap().contains(exact));
    desk.h.finish().await;
}

#[tokio::test]
async fn history_tells_who_changed_what_when() {
    let desk = Desk::acme().await;
    desk.make("/tenants/acme/policies", "words", &policy_spec("heron")).await;
    let mut revision = desk.make("/tenants/acme/cards", "echo", &card_spec("Echo", AGENT)).await["revision"].clone();
    for name in ["Two", "Three"] {
        let mut spec = card_spec(name, AGENT);
        spec["policy"] = json!("words");
        revision = desk.put(CARD, &spec, revision.as_i64().unwrap()).await.json()["revision"].clone();
    }
    let history = desk.read(&format!("{CARD}/history?limit=2")).await;
    let names = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["spec"]["card"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&history), ["Three", "Two"]);
    assert_eq!((&history["items"][0]["changed_by"], &history["items"][0]["version"]), (&json!("admin"), &json!(3)));
    let before = history["next_before"].as_i64().unwrap();
    let older = desk.read(&format!("{CARD}/history?limit=2&before={before}")).await;
    assert_eq!((names(&older), older.get("next_before")), (vec!["Echo".to_owned()], None));
    assert_eq!(older["items"][0]["note"], "created");
    assert_eq!(desk.get("/tenants/acme/cards/ghost/history").await.status, StatusCode::NOT_FOUND);
    let policy = desk.read("/tenants/acme/policies/words/history").await;
    assert_eq!(policy["items"][0]["spec"], policy_spec("heron"));
    desk.h.finish().await;
}
