//! A stream at the end of a chain of three hops: it ends with whatever any of them rests on, and with nothing else.

use crate::delegation::given;
use crate::harness::{Harness, document};
use crate::rig::says;
use crate::wire::{Ask, Live};
use http::StatusCode;
use sample_agents::hostile::{Behaviour, Gate, Reply, Script, Scripted, start};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use store::{IfMatch, PrincipalState, TenantId, TenantState};

/// Who calls whom: the user the card `a`, its agent the card `b`, and so on; `three` has the stream of `d`.
const EDGES: [(&str, &str); 4] = [("user", "a"), ("one", "b"), ("two", "c"), ("three", "d")];

/// A caller of the chain, and what it rests on.
struct Hop {
    name: &'static str,
    principal_id: String,
    key_id: String,
    key: String,
    /// What lets it call its card.
    edge: String,
    /// What lets it have done at the end what is done there.
    end: String,
}

/// A tenant of its own with a chain in it, so that whatever is revoked hurts no other.
struct Tree<'a> {
    h: &'a Harness,
    tenant: TenantId,
    hops: Vec<Hop>,
    chain: Vec<(String, String)>,
}

impl<'a> Tree<'a> {
    async fn grow(h: &'a Harness, name: &str, agent: &Scripted, streaming: &Scripted) -> Self {
        let tenant = h.tenant(name).await;
        let mut hops = Vec::new();
        for (who, card) in EDGES {
            let principal_id = h.principal(name, who).await;
            let (key_id, key) = h.key(name, &principal_id, None).await;
            let edge = h.grant(name, &principal_id, &json!({"cards": [card], "operations": ["send"]})).await;
            let end = h.grant(name, &principal_id, &json!({"cards": ["d"], "operations": ["stream"]})).await;
            hops.push(Hop { name: who, principal_id, key_id, key, edge, end });
        }
        for (at, (_, card)) in EDGES.into_iter().enumerate() {
            let (url, dialect) = match card {
                "d" => (streaming.url(), "v10_http_json"),
                _ => (agent.url(), "v10_jsonrpc"),
            };
            let upstream = json!({"interfaces": [{"url": url}], "dialect": dialect});
            let bound = EDGES[(at + 1) % EDGES.len()].0;
            let settings = json!({"upstream": upstream, "bound_principal": bound});
            h.card_with(name, card, &settings, &document(card)).await;
        }
        let mut tree = Self { h, tenant, hops, chain: Vec::new() };
        for (at, (_, card)) in EDGES.into_iter().take(3).enumerate() {
            let body: Value = serde_json::from_str(&says("go")).unwrap();
            let asking = h.post(&format!("/a2a/{name}/{card}/message:send"), &body).header("a2a-version", "1.0");
            let asking = tree.chain.iter().fold(asking, |asking, (name, value)| asking.header(name, value));
            // A chain is only as good as the permits of all its hops: what is asked for on the way is its own.
            for before in &tree.hops[..at] {
                h.grant(name, &before.principal_id, &json!({"cards": [card], "operations": ["send"]})).await;
            }
            let answer = asking.key(&tree.hops[at].key).send().await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
            tree.chain = given(&agent.requests().pop().unwrap());
        }
        tree
    }

    fn ask(&self) -> Ask {
        let path = format!("/a2a/{}/d/message:stream", self.tenant.as_str());
        let ask = Ask::post(&path).key(&self.hops[3].key).v10().json(&says("hi"));
        self.chain.iter().fold(ask, |ask, (name, value)| ask.header(name, value))
    }

    /// The stream at the end of the chain, after its first event.
    async fn open(&self) -> Live {
        self.h.expect_records(1);
        let mut live = Live::open(self.h.public, &self.ask().bytes()).await;
        let first = live.event().await.expect("the stream has begun");
        assert_eq!(first.name, None, "{:?}", live.status);
        live
    }

    /// The stream ends with an error; gives its reason. A new call by the same chain is refused.
    async fn ended(&self, mut live: Live, what: &str) -> String {
        let last = live.event().await.unwrap_or_else(|| panic!("{what}: the stream ends with a word"));
        assert_eq!(last.name.as_deref(), Some("error"), "{what}");
        assert_eq!(live.event().await, None, "{what}");
        self.h.expect_records(1);
        let again = crate::wire::exchange(self.h.public, &self.ask().bytes()).await;
        assert_eq!(again.status, 403, "{what}: {}", again.text());
        assert_eq!(again.at("/error/details/0/reason"), "DELEGATION_INVALID", "{what}");
        last.at("/error/details/0/reason")
    }

    async fn revoke(&self, hop: &Hop, what: &str) {
        let (store, now) = (self.h.store(), self.h.now());
        let done = match what {
            "key" => store.revoke_key(&self.tenant, &hop.key_id, now).await,
            "principal" => {
                let disabled = PrincipalState::Disabled;
                store.set_principal_state(&self.tenant, hop.name, IfMatch::Any, disabled, now).await
            }
            "edge" => store.delete_grant(&self.tenant, &hop.edge, IfMatch::Any, now).await,
            _ => store.delete_grant(&self.tenant, &hop.end, IfMatch::Any, now).await,
        };
        done.unwrap();
        self.h.refresh().await;
    }
}

async fn agents(gate: &Gate) -> (Scripted, Scripted) {
    let (waits, made) = (gate.clone(), AtomicUsize::new(0));
    let streaming = Script::by(move |_| {
        let id = made.fetch_add(1, Ordering::Relaxed);
        let status = r#"{"state":"TASK_STATE_WORKING"}"#;
        Reply::sse()
            .event(format!(r#"{{"task":{{"id":"t{id}","contextId":"c{id}","status":{status}}}}}"#))
            .wait(&waits)
            .end()
    });
    (start(Behaviour::Honest).await.unwrap(), Scripted::start(streaming).await.unwrap())
}

/// T-DEL-2, product.md §5
#[tokio::test]
async fn an_open_stream_ends_with_whatever_any_hop_of_its_chain_rests_on() {
    let h = Harness::start().await;
    let gate = Gate::new();
    let (agent, streaming) = agents(&gate).await;
    for (at, (who, _)) in EDGES.into_iter().take(3).enumerate() {
        for what in ["key", "principal", "edge", "end"] {
            let what_hop = format!("{what} of {who}");
            let tree = Tree::grow(&h, &format!("{what}-{who}"), &agent, &streaming).await;
            let live = tree.open().await;
            tree.revoke(&tree.hops[at], what).await;
            assert_eq!(tree.ended(live, &what_hop).await, "DELEGATION_INVALID", "{what_hop}");
        }
    }
    let tree = Tree::grow(&h, "suspended", &agent, &streaming).await;
    let mut live = tree.open().await;
    h.change_tenant("suspended", |fields| fields.state = TenantState::Suspended).await;
    assert_eq!(live.event().await.and_then(|last| last.name).as_deref(), Some("error"));
    assert_eq!(live.event().await, None);
    gate.open();
    h.finish().await;
}

/// What nobody in the chain used ends nothing, and what still allows it keeps it open.
#[tokio::test]
async fn an_open_stream_does_not_end_with_what_its_chain_does_not_rest_on() {
    let h = Harness::start().await;
    let gate = Gate::new();
    let (agent, streaming) = agents(&gate).await;
    let tree = Tree::grow(&h, "acme", &agent, &streaming).await;
    let (user, now) = (&tree.hops[0], h.now());
    let (other, _) = h.key("acme", &user.principal_id, None).await;
    let unused = h.grant("acme", &user.principal_id, &json!({"cards": ["b"], "operations": ["get"]})).await;
    let second = h.grant("acme", &user.principal_id, &json!({"cards": ["a", "d"], "operations": ["*"]})).await;
    let mut live = tree.open().await;
    h.store().revoke_key(&tree.tenant, &other, now).await.unwrap();
    h.store().delete_grant(&tree.tenant, &unused, IfMatch::Any, now).await.unwrap();
    // Each of these is replaced by the other grant, which still holds.
    tree.revoke(user, "edge").await;
    tree.revoke(user, "end").await;
    // The agent behind a card of the chain moves; the call was made.
    let upstream = json!({"interfaces": [{"url": "http://127.0.0.1:9"}], "dialect": "v10_jsonrpc"});
    let settings = json!({"upstream": upstream, "bound_principal": "one"});
    h.change_card("acme", "a", &settings, &document("a")).await;
    let silence = tokio::time::timeout(std::time::Duration::from_millis(300), live.event()).await;
    assert!(silence.is_err(), "still allowed, and open: {silence:?}");
    h.store().delete_grant(&tree.tenant, &second, IfMatch::Any, now).await.unwrap();
    h.refresh().await;
    tree.ended(live, "the last grant").await;
    gate.open();
    h.finish().await;
}
