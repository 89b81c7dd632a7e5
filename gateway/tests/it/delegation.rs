//! Chains of delegations, over the wire: agents that copy their headers call on through the gateway.

use crate::grpc::client::Grpc;
use crate::harness::{Caller, Db, Harness, document};
use a2a::OperationKind;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chancery::clock::Clock;
use http::StatusCode;
use sample_agents::hostile::{Behaviour, RawRequest, Script, Scripted, Spoken, start};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use store::AuditRecord;

pub(crate) const PREFIX: &str = "x-brutor-delegation-";
const ALL: &[&str] = &["send", "stream", "get", "list", "cancel"];

fn said(text: &str) -> Value {
    let message = json!({"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}]});
    json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}})
}

/// The delegation headers that an agent was given.
pub(crate) fn given(request: &RawRequest) -> Vec<(String, String)> {
    let lower = request.header_list().into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
    lower.filter(|(name, _)| name.starts_with(PREFIX)).collect()
}

/// An agent that calls the card `next` on, as itself, with every delegation header it was given, before it answers.
async fn calls_on(gateway: SocketAddr, key: String, next: &str) -> Scripted {
    let path = format!("/a2a/acme/{next}");
    let script = Script::by(move |request| {
        let body = said("on").to_string();
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nHost: gw.test\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
             A2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
        for (name, value) in given(request) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        // Scripts answer at once, on a thread of the runtime: what waits there must not hold up the gateway's own work.
        let answer = tokio::task::block_in_place(|| {
            let mut socket = std::net::TcpStream::connect(gateway).unwrap();
            socket.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
            socket.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
            let mut answer = String::new();
            socket.read_to_string(&mut answer).unwrap();
            answer
        });
        let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
        Spoken::of(request).honest("http://agent.test", &format!("{path} answered {status}"))
    });
    Scripted::start(script).await.unwrap()
}

/// Tenant acme with these cards, each bound to the principal that its agent is.
struct World {
    h: Harness,
}

impl World {
    async fn open() -> Self {
        let h = Harness::start().await;
        h.tenant("acme").await;
        Self { h }
    }

    async fn caller(&self, name: &str, cards: &[&str]) -> Caller {
        self.h.caller("acme", name, cards, ALL).await
    }

    async fn card(&self, name: &str, url: &str, bound: &str) {
        let upstream = json!({"interfaces": [{"url": url}], "dialect": "v10_jsonrpc"});
        let settings = json!({"upstream": upstream, "bound_principal": bound});
        self.h.card_with("acme", name, &settings, &document(name)).await;
    }

    async fn send(&self, key: &str, card: &str, chain: &[(String, String)]) -> crate::harness::Answer {
        let asking = self.h.post(&format!("/a2a/acme/{card}"), &said("go")).header("a2a-version", "1.0");
        chain.iter().fold(asking.key(key), |asking, (name, value)| asking.header(name, value)).send().await
    }
}

fn detail(record: &AuditRecord) -> Value {
    serde_json::from_slice(&record.document).unwrap()
}

fn refused(answer: &crate::harness::Answer) {
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.text());
    let body = answer.json();
    assert_eq!(body["error"]["code"], -32049, "{body}");
    assert_eq!(body["error"]["message"], "the delegation chain is not valid");
}

/// Why the records of refused calls say they were refused, in the order of the calls.
fn reasons(records: &[AuditRecord]) -> Vec<String> {
    let mut refused: Vec<&AuditRecord> = records.iter().filter(|record| record.outcome == "refused").collect();
    refused.sort_by_key(|record| record.seq);
    refused.iter().map(|record| detail(record)["closed"]["reason"].as_str().unwrap_or_default().to_owned()).collect()
}

/// T-DEL-1
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_delegate_three_hops_deep_is_recorded_with_root_actor_and_subject() {
    let world = World::open().await;
    let user = world.caller("user", &["*"]).await;
    let (one, two, three) =
        (world.caller("one", &["*"]).await, world.caller("two", &["*"]).await, world.caller("three", &["*"]).await);
    let last = start(Behaviour::Honest).await.unwrap();
    let third = calls_on(world.h.public, three.key.clone(), "d").await;
    let second = calls_on(world.h.public, two.key.clone(), "c").await;
    let first = calls_on(world.h.public, one.key.clone(), "b").await;
    world.card("a", &first.url(), "one").await;
    world.card("b", &second.url(), "two").await;
    world.card("c", &third.url(), "three").await;
    world.card("d", &last.url(), "three").await;
    world.h.expect_records(3);

    let answer = world.send(&user.key, "a", &[]).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    assert!(answer.text().contains("/a2a/acme/b answered 200"), "{}", answer.text());
    let root = answer.header("x-correlation-id").to_owned();

    let seen = given(&last.requests()[0]);
    let value = |name: &str| seen.iter().find(|(known, _)| known == &format!("{PREFIX}{name}")).unwrap().1.clone();
    assert_eq!((seen.len(), value("depth")), (7, "4".to_owned()));
    assert_eq!(value("root"), root);
    assert_eq!(value("subject"), format!("agent:{}", user.principal_id));
    assert_eq!(value("actor"), format!("agent:{}", three.principal_id));

    let records = world.h.finish().await;
    let of = |card: &str| records.iter().find(|record| record.card.as_deref() == Some(card)).unwrap();
    assert_eq!(detail(of("a"))["opened"].get("delegation"), None);
    let mut before = of("a");
    for (depth, card, actor, caller) in [(1, "b", &user, &one), (2, "c", &one, &two), (3, "d", &two, &three)] {
        let record = of(card);
        let delegation = &detail(record)["opened"]["delegation"];
        assert_eq!(record.principal.as_deref(), Some(&*caller.principal_id));
        assert_eq!(delegation["root"], *root, "{card}");
        assert_eq!(delegation["parent"], *before.correlation_id, "{card}");
        assert_eq!(delegation["depth"], depth, "{card}");
        assert_eq!(delegation["actor"], format!("agent:{}", actor.principal_id), "{card}");
        assert_eq!(delegation["subject"], format!("agent:{}", user.principal_id), "{card}");
        assert_eq!(record.outcome, "ok");
        before = record;
    }
}

/// T-DEL-1. Whoever could choose the root could have calls of its own shown in another's tree.
#[tokio::test]
async fn no_caller_chooses_the_root_of_a_chain() {
    let world = World::open().await;
    let user = world.caller("user", &["*"]).await;
    let one = world.caller("one", &["*"]).await;
    let agent = start(Behaviour::Honest).await.unwrap();
    for card in ["a", "b"] {
        world.card(card, &agent.url(), "one").await;
    }
    let chosen = [("x-correlation-id".to_owned(), "somebody-elses-call".to_owned())];
    let answer = world.send(&user.key, "a", &chosen).await;
    assert_eq!(answer.header("x-correlation-id"), chosen[0].1);
    let chain = given(&agent.requests()[0]);
    let value = |name: &str| chain.iter().find(|(known, _)| known == &format!("{PREFIX}{name}")).unwrap().1.clone();
    assert_eq!(value("parent"), chosen[0].1);
    assert_eq!(world.send(&one.key, "b", &chain).await.status, StatusCode::OK);

    let records = world.h.finish().await;
    let of = |card: &str| detail(records.iter().find(|record| record.card.as_deref() == Some(card)).unwrap());
    let (first, second) = (of("a"), of("b"));
    // The first call's record holds both ids, so its tree is found from either.
    assert_eq!(first["opened"]["correlation_id"], *chosen[0].1);
    assert_eq!(first["opened"]["own_id"], *value("root"));
    assert_eq!(second["opened"]["delegation"]["root"], *value("root"));
    assert_eq!(value("root").len(), 32);
    assert!(second["opened"].get("own_id").is_none(), "its correlation id is our own");
}

/// T-DEL-1
#[tokio::test]
async fn a_chain_is_worth_something_to_its_agent_alone_and_only_whole() {
    let world = World::open().await;
    let (user, one, mallory) =
        (world.caller("user", &["*"]).await, world.caller("one", &["*"]).await, world.caller("mallory", &["*"]).await);
    let agent = start(Behaviour::Honest).await.unwrap();
    for card in ["a", "b", "c"] {
        world.card(card, &agent.url(), "one").await;
    }
    world.send(&user.key, "a", &[]).await;
    let chain = given(&agent.requests()[0]);

    // Once for each of its calls.
    assert_eq!(world.send(&one.key, "b", &chain).await.status, StatusCode::OK);
    assert_eq!(world.send(&one.key, "c", &chain).await.status, StatusCode::OK);
    let calls = agent.requests().len();
    // Stolen, by a stranger and by the one whom it is for.
    refused(&world.send(&mallory.key, "b", &chain).await);
    refused(&world.send(&user.key, "b", &chain).await);
    // Forged, shortened, led back.
    let forged: Vec<_> = chain
        .iter()
        .map(|(name, value)| {
            let value =
                if name.ends_with("-subject") { format!("agent:{}", mallory.principal_id) } else { value.clone() };
            (name.clone(), value)
        })
        .collect();
    refused(&world.send(&one.key, "b", &forged).await);
    refused(&world.send(&one.key, "a", &chain).await);
    for missing in 0..chain.len() {
        let mut some = chain.clone();
        let (name, _) = some.remove(missing);
        let answer = world.send(&one.key, "b", &some).await;
        // Without a subject it would be the actor, who it is here.
        let expected = if name.ends_with("-subject") { StatusCode::OK } else { StatusCode::BAD_REQUEST };
        assert_eq!(answer.status, expected, "{name}");
    }
    assert_eq!(agent.requests().len(), calls + 1, "what was refused reached nobody");
    let records = world.h.finish().await;
    let expected = ["audience", "audience", "mac", "loop"].into_iter().chain(["incomplete"; 6]);
    assert_eq!(reasons(&records), expected.collect::<Vec<_>>());
}

/// T-DEL-1
#[tokio::test]
async fn a_bad_chain_is_refused_in_the_words_of_every_caller() {
    let world = World::open().await;
    let one = world.caller("one", &["*"]).await;
    let agent = start(Behaviour::Honest).await.unwrap();
    world.card("b", &agent.url(), "one").await;
    let v03 = json!({"jsonrpc": "2.0", "id": 7, "method": "message/send", "params": {"message":
        {"kind": "message", "messageId": "m1", "role": "user", "parts": [{"kind": "text", "text": "go"}]}}});
    let bare = said("go")["params"].clone();
    for (path, version, body, code) in [
        ("/a2a/acme/b", "1.0", said("go"), Some(-32049)),
        ("/a2a/acme/b", "0.3", v03, Some(-32049)),
        ("/a2a/acme/b/message:send", "1.0", bare, Some(403)),
    ] {
        let mut asking = world.h.post(path, &body).header("a2a-version", version).key(&one.key);
        for name in ["root", "parent", "depth", "actor", "subject", "chain", "sig"] {
            asking = asking.header(&format!("{PREFIX}{name}"), "v1.1-x.1.x.AAAA");
        }
        let answer = asking.send().await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path} {version}: {}", answer.text());
        assert_eq!(answer.json()["error"]["code"].as_i64(), code, "{}", answer.text());
        assert!(!answer.text().contains("key"), "no reason: {}", answer.text());
    }
    assert_eq!(agent.seen().connections, 0);
    assert_eq!(reasons(&world.h.finish().await), ["key", "key", "key"]);
}

/// T-DEL-1: metadata of gRPC carries a chain like headers do, whole or not at all, one answer or a stream.
#[tokio::test]
async fn a_chain_in_grpcs_metadata_is_judged_like_any_other() {
    let clock = Clock::manual(1_800_000_000_000_000);
    let h = Harness::start_with(Db::Sqlite, clock, &[]).await.unwrap();
    h.tenant("acme").await;
    let world = World { h };
    let (user, one, mallory) = (
        world.caller("user", &["a", "b"]).await,
        world.caller("one", &["*"]).await,
        world.caller("mallory", &["*"]).await,
    );
    let agent = start(Behaviour::Honest).await.unwrap();
    for card in ["a", "b", "c"] {
        world.card(card, &agent.url(), "one").await;
    }
    world.send(&user.key, "a", &[]).await;
    let chain = given(&agent.requests()[0]);
    let call = |key: &str, card: &str, kind| {
        world.h.expect_records(1);
        Grpc::call(world.h.public, card, kind, &said("go")["params"].to_string()).key(key)
    };
    let kinds = [OperationKind::SendMessage, OperationKind::SendStreamingMessage];
    let told = async |call: Grpc| {
        let mut open = call.open().await;
        assert!(open.message().await.is_none());
        let details = STANDARD_NO_PAD.decode(open.told("grpc-status-details-bin")).unwrap();
        let details = String::from_utf8_lossy(&details).into_owned();
        assert!(!details.contains("mac") && !details.contains("audience"), "no reason: {details}");
        (open.told("grpc-status").to_owned(), open.told("grpc-message").to_owned(), details)
    };
    let with =
        |call: Grpc, chain: &[(String, String)]| chain.iter().fold(call, |call, (name, value)| call.with(name, value));
    let mut expected = Vec::new();
    for kind in kinds {
        for (key, card, altered, why) in [
            (&mallory.key, "b", None, "audience"),
            (&user.key, "b", None, "audience"),
            (&one.key, "b", Some(("subject", format!("agent:{}", mallory.principal_id))), "mac"),
            (&one.key, "b", Some(("depth", "2".to_owned())), "mac"),
            (&one.key, "b", Some(("sig", "v2.1-x.1.x.-.AAAA".to_owned())), "key"),
            (&one.key, "a", None, "loop"),
            (&one.key, "c", None, "not_permitted"),
        ] {
            let call = with(call(key, card, kind), &chain);
            let call = match altered {
                Some((name, value)) => call.with(&format!("{PREFIX}{name}"), &value),
                None => call,
            };
            let (status, message, details) = told(call).await;
            assert_eq!((status.as_str(), message.as_str()), ("7", "the delegation chain is not valid"), "{why}");
            assert!(details.contains("DELEGATION_INVALID"), "{details}");
            expected.push(why);
        }
        let whole = || with(call(&one.key, "b", kind), &chain);
        let some = ["root", "parent", "depth", "actor", "chain", "sig"]
            .map(|name| whole().without(&format!("{PREFIX}{name}")));
        let twice = whole().also(&format!("{PREFIX}root"), "another");
        for call in some.into_iter().chain([twice]) {
            assert_eq!(told(call).await.0, "3");
            expected.push("incomplete");
        }
    }
    assert_eq!(agent.requests().len(), 1, "what was refused reached nobody");
    // As it should be, and after its time.
    assert!(with(call(&one.key, "b", kinds[0]), &chain).send().await.is_ok());
    let next = given(&agent.requests()[1]);
    assert!(next.contains(&(format!("{PREFIX}depth"), "2".to_owned())), "{next:?}");
    world.h.app.clock.advance(721_000_000);
    assert_eq!(told(with(call(&one.key, "b", kinds[0]), &chain)).await.0, "7");
    expected.push("expired");
    assert_eq!(reasons(&world.h.finish().await), expected);
}

/// T-DEL-2
#[tokio::test]
async fn nobody_gets_done_by_an_agent_what_it_may_not_do_itself() {
    let world = World::open().await;
    let user = world.caller("user", &["a"]).await;
    let clerk = world.h.caller("acme", "clerk", &["a", "b"], &["get"]).await;
    world.h.grant("acme", &clerk.principal_id, &json!({"cards": ["a"], "operations": ["send"]})).await;
    let one = world.caller("one", &["*"]).await;
    let agent = start(Behaviour::Honest).await.unwrap();
    for card in ["a", "b"] {
        world.card(card, &agent.url(), "one").await;
    }
    world.send(&user.key, "a", &[]).await;
    world.send(&clerk.key, "a", &[]).await;
    let requests = agent.requests();
    assert_eq!(world.send(&one.key, "b", &[]).await.status, StatusCode::OK, "by itself it may");
    // The one may not see the card; the other may only read there.
    refused(&world.send(&one.key, "b", &given(&requests[0])).await);
    refused(&world.send(&one.key, "b", &given(&requests[1])).await);
    world.h.grant("acme", &user.principal_id, &json!({"cards": ["b"], "operations": ["send"]})).await;
    assert_eq!(world.send(&one.key, "b", &given(&requests[0])).await.status, StatusCode::OK);
    let records = world.h.finish().await;
    assert_eq!(reasons(&records), ["not_permitted", "not_permitted"]);
}

/// How deep a chain may be is the grant's to say, up to eight.
#[tokio::test]
async fn a_grant_says_how_deep_a_chain_may_be() {
    let world = World::open().await;
    let user = world.caller("user", &["*"]).await;
    let one = world.h.principal("acme", "one").await;
    let (_, key) = world.h.key("acme", &one, None).await;
    for (card, depth) in [("b", json!(1)), ("c", json!(2)), ("d", Value::Null)] {
        let mut grant = json!({"cards": [card], "operations": ["send"]});
        if depth.is_u64() {
            grant["max_delegation_depth"] = depth;
        }
        world.h.grant("acme", &one, &grant).await;
    }
    let agent = start(Behaviour::Honest).await.unwrap();
    for card in ["a", "b", "c", "d"] {
        world.card(card, &agent.url(), "one").await;
    }
    world.send(&user.key, "a", &[]).await;
    let chain = given(&agent.requests()[0]);
    refused(&world.send(&key, "b", &chain).await);
    assert_eq!(world.send(&key, "c", &chain).await.status, StatusCode::OK);
    let deeper = given(&agent.requests()[1]);
    assert_eq!(world.send(&key, "d", &deeper).await.status, StatusCode::OK, "four are usual");
    // So is whether it may lead back.
    refused(&world.send(&key, "c", &deeper).await);
    let loops = json!({"cards": ["c"], "operations": ["send"], "delegation_loops": true});
    world.h.grant("acme", &one, &loops).await;
    assert_eq!(world.send(&key, "c", &deeper).await.status, StatusCode::OK);
    // What is only tried gives nobody a deeper chain.
    let tried = json!({"cards": ["b"], "operations": ["send"], "mode": "shadow", "max_delegation_depth": 8});
    world.h.grant("acme", &one, &tried).await;
    refused(&world.send(&key, "b", &chain).await);
    let mut reasons = reasons(&world.h.finish().await);
    reasons.sort();
    assert_eq!(reasons, ["depth", "depth", "loop"]);
}

/// Only agents whose card names their principal, and takes stamps, are told.
#[tokio::test]
async fn no_chain_is_stamped_where_nobody_could_present_it() {
    let world = World::open().await;
    let user = world.caller("user", &["*"]).await;
    world.h.principal("acme", "one").await;
    let agent = start(Behaviour::Honest).await.unwrap();
    let upstream = json!({"interfaces": [{"url": agent.url()}], "dialect": "v10_jsonrpc"});
    world.h.card_with("acme", "unbound", &json!({"upstream": upstream}), &document("unbound")).await;
    let mut silent = upstream;
    silent["stamp_headers"] = json!(false);
    let settings = json!({"upstream": silent, "bound_principal": "one"});
    world.h.card_with("acme", "silent", &settings, &document("silent")).await;
    for card in ["unbound", "silent"] {
        assert_eq!(world.send(&user.key, card, &[]).await.status, StatusCode::OK);
        assert_eq!(given(&agent.requests().pop().unwrap()), [], "{card}");
    }
    world.h.finish().await;
}
