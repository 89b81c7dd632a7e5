//! The extended card on its way through: whose addresses it names, who signed it.

use a2a::sign::{self, jwks};
use http::StatusCode;
use serde_json::json;

use crate::harness::{Harness, PUBLIC_URL, document};

#[tokio::test]
async fn extended_card_names_the_gateway_alone_and_is_signed_by_the_tenant() {
    let h = Harness::start().await;
    h.tenant("acme").await;
    let settings = json!({"upstream": {"interfaces": [{"url": h.agents.echo_url}], "dialect": "v10_jsonrpc"}});
    let mut offers = document("Echo");
    offers["capabilities"]["extendedAgentCard"] = json!(true);
    h.card_with("acme", "echo", &settings, &offers).await;
    let caller = h.caller("acme", "caller", &["echo"], &["*"]).await;

    let answer = h.get("/a2a/acme/echo/extendedAgentCard").header("a2a-version", "1.0").key(&caller.key).send().await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    assert!(answer.header("cache-control").contains("no-store"));
    assert!(!answer.text().contains(&h.agents.address.to_string()), "the agent's address: {}", answer.text());
    let card = answer.json();
    assert_eq!(card["url"], format!("{PUBLIC_URL}/a2a/acme/echo"));
    assert_eq!(card["skills"][1]["id"], "trace", "{card}");

    let read = |body: &[u8]| json::read(body, &json::Limits::default()).unwrap();
    let keys = jwks::read_key_set(&read(&h.get("/.well-known/a2a-jwks/acme").send().await.body));
    let card = read(&answer.body);
    let verdicts = sign::verify(card.as_object().unwrap(), &keys);
    assert!(!verdicts.is_empty() && verdicts.iter().all(|verdict| verdict.outcome.is_ok()), "{verdicts:?}");
    h.finish().await;
}
