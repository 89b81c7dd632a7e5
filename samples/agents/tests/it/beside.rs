//! What is beside the agents: directory, cards, the identity provider, the sinks; and who answers at the root.

use std::time::Duration;

use json::Json;
use sample_agents::{EXTENSION, Forwarding, PushReach, Root, Running, Settings, start};

use crate::client::{exchange, get, post, text_at};

const V10: (&str, &str) = ("a2a-version", "1.0");

fn settings() -> Settings {
    Settings { root: Root::Echo, ..Settings::at(([127, 0, 0, 1], 0).into()) }
}

async fn run() -> Running {
    start(settings()).await.unwrap()
}

#[tokio::test]
async fn the_directory_leads_to_every_agent() {
    let agents = run().await;
    let directory = get(&format!("{}/a2a", agents.base_url)).await.json();
    let entries = directory.get("agents").and_then(Json::as_array).unwrap();
    assert_eq!(entries.len(), 7);
    for entry in entries {
        let url = text_at(entry, "/jsonRpcUrl");
        assert_eq!(url, agents.url_of(&text_at(entry, "/id")));
        for card_url in [text_at(entry, "/cardUrl"), url.clone()] {
            let card = get(&card_url).await;
            assert_eq!((card.text_at("/name"), card.text_at("/url")), (text_at(entry, "/name"), url.clone()));
            assert_eq!(card.text_at("/supportedInterfaces/3/protocolVersion"), "0.3");
            assert_eq!(card.text_at("/additionalInterfaces/1/transport"), "HTTP+JSON");
        }
        let legacy = get(&text_at(entry, "/legacyCardUrl")).await.json();
        assert_eq!((text_at(&legacy, "/url"), legacy.get("supportedInterfaces")), (url, None));
        let tasks = exchange("GET", &format!("{}/tasks", text_at(entry, "/restUrl")), &[V10], None).await;
        assert_eq!(tasks.status, 200, "{}", tasks.text);
    }
}

#[tokio::test]
async fn the_default_agent_is_echo_and_its_card_lists_the_others() {
    let agents = run().await;
    for path in ["/.well-known/agent-card.json", "/a2a/.well-known/agent-card.json"] {
        let card = get(&format!("{}{path}", agents.base_url)).await;
        assert_eq!(card.text_at("/url"), agents.echo_url);
        assert_eq!(card.text_at("/capabilities/extensions/0/uri"), EXTENSION);
        let listed = card.json();
        let listed = listed.pointer("/capabilities/extensions/0/params/agents").unwrap().as_array().unwrap();
        assert_eq!(listed.len(), 7);
    }
    let legacy = get(&format!("{}/.well-known/agent.json", agents.base_url)).await;
    assert_eq!(
        (legacy.text_at("/url"), legacy.text_at("/preferredTransport")),
        (agents.echo_url.clone(), "JSONRPC".into())
    );
    let send = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#;
    let sent = exchange("POST", &format!("{}/a2a", agents.base_url), &[V10], Some(send)).await;
    let id = sent.text_at("/result/task/id");
    assert_eq!(exchange("GET", &format!("{}/tasks/{id}", agents.echo_url), &[V10], None).await.status, 200);
}

#[tokio::test]
async fn hello_moves_aside_for_echo_at_the_root() {
    let agents = run().await;
    assert_eq!(agents.hello_url, format!("{}/hello", agents.base_url));
    let card = get(&format!("{}/.well-known/agent-card.json", agents.hello_url)).await;
    assert_eq!(card.text_at("/supportedInterfaces/0/url"), agents.hello_url);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"parts":[{"text":"you"}]}}}"#;
    let sent = post(&format!("{}/message:send", agents.hello_url), body).await;
    assert_eq!(sent.text_at("/result/artifacts/0/parts/0/text"), "Hello from Brutor A2A sample! You said: you");
}

#[tokio::test]
async fn cards_have_tags_and_follow_a_proxy_only_when_it_is_trusted() {
    let forwarded = [("forwarded", "proto=https;host=gw.example")];
    for (forwarding, expected) in [(Forwarding::Ignored, None), (Forwarding::Trusted, Some("https://gw.example"))] {
        let agents = start(Settings { forwarding, ..settings() }).await.unwrap();
        let expected = expected.map_or_else(|| agents.base_url.clone(), str::to_owned);
        let url = format!("{}/.well-known/agent-card.json", agents.url_of("weather"));
        let card = exchange("GET", &url, &forwarded, None).await;
        assert_eq!(card.text_at("/url"), format!("{expected}/a2a/weather"));
        assert!(card.headers["cache-control"].to_str().unwrap().contains("max-age"));
        let tag = card.headers["etag"].to_str().unwrap();
        let again = exchange("GET", &url, &[forwarded[0], ("if-none-match", tag)], None).await;
        assert_eq!((again.status, again.text.as_str()), (304, ""));
        let directory = exchange("GET", &format!("{}/a2a", agents.base_url), &forwarded, None).await;
        assert_eq!(directory.text_at("/agents/0/jsonRpcUrl"), format!("{expected}/a2a/echo"));
    }
    let public =
        start(Settings { public_url: Some("https://agents.example/".to_owned()), ..settings() }).await.unwrap();
    let card = get(&format!("http://{}/a2a/flaky/.well-known/agent-card.json", public.address)).await;
    assert_eq!(card.text_at("/url"), "https://agents.example/a2a/flaky");
}

#[tokio::test]
async fn tokens_are_for_known_clients_and_verify_with_the_published_key() {
    let agents = run().await;
    let url = format!("{}/oauth/token", agents.base_url);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |secret: Option<&str>, form: &[(&str, &str)]| {
        let mut request = client.post(&url).form(form);
        if let Some(secret) = secret {
            request = request.basic_auth("rustybin", Some(secret));
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.headers().clone(), crate::client::parse(&answer.text().await.unwrap()))
    };
    let grant = [("grant_type", "client_credentials")];
    let in_form = [grant[0], ("client_id", "rustybin"), ("client_secret", "secret")];
    for (secret, form) in [(Some("secret"), &grant[..]), (None, &in_form[..])] {
        let (status, headers, token) = ask(secret, form).await;
        assert_eq!((status, text_at(&token, "/token_type").as_str()), (200, "Bearer"));
        assert_eq!(headers["cache-control"], "no-store");
    }
    for (secret, form, status, error) in [
        (Some("wrong"), &grant[..], 401, "invalid_client"),
        (None, &grant[..], 401, "invalid_client"),
        (Some("secret"), &[("grant_type", "password")][..], 400, "unsupported_grant_type"),
        (Some("secret"), &[][..], 400, "invalid_request"),
    ] {
        let (got, _, body) = ask(secret, form).await;
        assert_eq!((got, text_at(&body, "/error").as_str()), (status, error));
    }
    let metadata = get(&format!("{}/.well-known/oauth-authorization-server", agents.base_url)).await;
    assert_eq!(metadata.text_at("/token_endpoint"), url);
    let keys = get(&metadata.text_at("/jwks_uri")).await.json();
    assert_eq!((text_at(&keys, "/keys/0/kty").as_str(), text_at(&keys, "/keys/0/e").as_str()), ("RSA", "AQAB"));
    let (_, _, token) = ask(Some("secret"), &grant).await;
    verified(&text_at(&token, "/access_token"), &text_at(&keys, "/keys/0/n"));
}

/// Checks RS256 with the modulus of a key set alone.
fn verified(token: &str, modulus: &str) {
    use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
    use base64::Engine as _;
    let decode = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let key = RsaPublicKeyComponents { n: decode(modulus), e: vec![1, 0, 1] };
    key.verify(&RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), &decode(signature)).unwrap();
}

#[tokio::test]
async fn sinks_take_show_and_forget() {
    let agents = run().await;
    let url = format!("{}/a2a/webhook-sink/my.sink_1", agents.base_url);
    let empty = get(&url).await;
    assert_eq!((empty.status, empty.json().get("notifications")), (200, Some(&Vec::new().into())));
    assert_eq!(exchange("POST", &url, &[("x-a2a-notification-token", "t")], Some(r#"{"a":1}"#)).await.status, 200);
    assert_eq!(exchange("POST", &url, &[], Some("not json")).await.status, 200);
    let shown = get(&url).await;
    assert_eq!(shown.text_at("/notifications/0/headers/x-a2a-notification-token"), "t");
    assert_eq!(shown.json().pointer("/notifications/0/body/a"), Some(&1.into()));
    assert_eq!(shown.text_at("/notifications/1/body"), "not json");
    assert_eq!(exchange("DELETE", &url, &[], None).await.status, 200);
    assert_eq!(get(&url).await.json().get("notifications"), Some(&Vec::new().into()));
    assert_eq!(exchange("PUT", &url, &[], None).await.status, 405);
    for bad in ["", "a%20b", &"x".repeat(65)] {
        assert_eq!(get(&format!("{}/a2a/webhook-sink/{bad}", agents.base_url)).await.status, 400, "{bad}");
    }
}

#[tokio::test]
async fn on_the_open_internet_there_are_fewer_sinks() {
    let agents = start(Settings { sinks: 2, ..settings() }).await.unwrap();
    let sink = |name: &str| format!("{}/a2a/webhook-sink/{name}", agents.base_url);
    for name in ["a", "b", "c"] {
        post(&sink(name), "{}").await;
    }
    let mut kept = Vec::new();
    for name in ["a", "b", "c"] {
        kept.push(get(&sink(name)).await.json().get("notifications").unwrap().as_array().unwrap().len());
    }
    assert_eq!(kept, [0, 1, 1]);
}

/// Sends to the travel planner with this webhook; gives the status.
async fn with_webhook(agents: &Running, url: &str) -> u16 {
    let body = format!(
        r#"{{"message":{{"messageId":"m","role":"ROLE_USER","metadata":{{"stepDelayMs":0}},"parts":[{{"text":"trip"}}]}},"configuration":{{"taskPushNotificationConfig":{{"url":"{url}"}}}}}}"#
    );
    exchange("POST", &format!("{}/message:send", agents.url_of("travel-planner")), &[V10], Some(&body)).await.status
}

#[tokio::test]
async fn webhooks_are_the_own_sinks_and_listed_hosts() {
    let other = run().await;
    let listed = other.address.to_string();
    let agents = start(Settings { push_allow: vec![listed.clone()], ..settings() }).await.unwrap();
    let own = agents.base_url.clone();
    for (url, status) in [
        ("/a2a/webhook-sink/a".to_owned(), 200),
        (format!("{own}/a2a/webhook-sink/b"), 200),
        (format!("http://{listed}/a2a/webhook-sink/c"), 200),
        (format!("{own}/a2a/webhook-sink/no%2Fname"), 400),
        (format!("{own}/elsewhere"), 400),
        ("http://127.1/x".to_owned(), 400),
        ("https://[::ffff:10.0.0.1]/x".to_owned(), 400),
        ("https://hooks.example.com/x".to_owned(), 400),
    ] {
        assert_eq!(with_webhook(&agents, &url).await, status, "{url}");
    }
    let waiting = async {
        agents.sinks.wait_for("a", "TASK_STATE_COMPLETED").await;
        agents.sinks.wait_for("b", "TASK_STATE_COMPLETED").await;
        other.sinks.wait_for("c", "TASK_STATE_COMPLETED").await;
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap();
}

#[tokio::test]
async fn an_open_agent_takes_any_webhook_and_bad_entries_stop_the_start() {
    let other = run().await;
    let agents = start(Settings { push_reach: PushReach::Anything, ..settings() }).await.unwrap();
    assert_eq!(with_webhook(&agents, &format!("{}/a2a/webhook-sink/d", other.base_url)).await, 200);
    assert_eq!(with_webhook(&agents, "http://169.254.169.254/x").await, 200);
    other.sinks.wait_for("d", "TASK_STATE_COMPLETED").await;
    let bad = start(Settings { push_allow: vec!["http://x/y".to_owned()], ..settings() }).await;
    assert!(bad.unwrap_err().to_string().contains("RUSTYBIN_A2A_PUSH_ALLOWLIST"));
}
