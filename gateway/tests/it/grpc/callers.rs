//! Callers over gRPC, whatever the agent speaks.

use super::client::{self, Agent, Grpc, Step};
use super::{DONE, WORKING, base64, call, echo, scripted, text_at};
use crate::harness::{Harness, document};
use crate::rig::{CardSpec, G1, GrantSpec, INJECTION, P1, P2, Plan, SECRET, UPSTREAM_SECRET, rpc, says};
use crate::wire::{Ask, DEADLINE};
use a2a::{Dialect, FaultKind, OperationKind};
use sample_agents::hostile::{Behaviour, start};
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;

#[tokio::test]
async fn every_operation_is_answered_whatever_the_agent_speaks() {
    use OperationKind as Kind;
    for dialect in [Dialect::J1, Dialect::R1, Dialect::J3, Dialect::R3, Dialect::G1] {
        let (agents, rig) = echo(dialect).await;
        let sent = call(&rig, Kind::SendMessage, &says("Grüße")).send().await.unwrap();
        assert_eq!(text_at(&sent.body, "/task/artifacts/0/parts/0/text"), "Grüße", "{dialect:?}");
        let id = sent.task_id().unwrap().to_owned();
        let of_task = format!(r#"{{"id":"{id}"}}"#);
        let got = call(&rig, Kind::GetTask, &of_task).send().await.unwrap();
        assert_eq!((got.task_id(), text_at(&got.body, "/status/state")), (Some(&*id), "TASK_STATE_COMPLETED"));
        let listed = call(&rig, Kind::ListTasks, "{}").send().await;
        match (dialect, listed) {
            (Dialect::J3 | Dialect::R3, Err(fault)) => assert_eq!(fault.kind, FaultKind::UnsupportedOperation),
            (_, Ok(list)) => assert_eq!(text_at(&list.body, "/tasks/0/id"), id, "{dialect:?}"),
            (_, Err(fault)) => panic!("{dialect:?}: {fault:?}"),
        }
        let fault = call(&rig, Kind::CancelTask, &of_task).send().await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::TaskNotCancelable, "{dialect:?}");
        let (events, ended) = call(&rig, Kind::SendStreamingMessage, &says("stream 3 abcdef")).events().await;
        assert_eq!(ended, Ok(()), "{dialect:?}");
        assert_eq!(events[0].payload().unwrap().0, "task");
        let pieces: String = events
            .iter()
            .filter_map(|event| event.body.pointer("/artifactUpdate/artifact/parts/0/text")?.as_str())
            .collect();
        assert_eq!(pieces, "abcdef", "{dialect:?}");
        assert!(events.last().unwrap().is_terminal());
        let (events, ended) = call(&rig, Kind::SubscribeToTask, &of_task).events().await;
        assert_eq!((events.len(), ended.unwrap_err().kind), (0, FaultKind::UnsupportedOperation), "{dialect:?}");
        let push = format!(r#"{{"taskId":"{id}","id":"c1","url":"https://hook.test/"}}"#);
        for kind in [Kind::CreatePushConfig, Kind::GetPushConfig, Kind::ListPushConfigs, Kind::DeletePushConfig] {
            for push in [&push, &push.replace(&id, "never-was")] {
                let fault = call(&rig, kind, push).send().await.unwrap_err();
                assert_eq!(fault.kind, FaultKind::PushNotSupported, "{dialect:?} {kind:?} {push}");
            }
        }
        let records = rig.records(10).await;
        assert!(records.iter().all(|record| record.at_close.is_some()), "{records:?}");
        agents.shutdown().await;
    }
}

#[tokio::test]
async fn the_extended_card_comes_as_a_message_with_the_tenants_signatures() {
    for dialect in ["v10_jsonrpc", "v10_grpc"] {
        let h = Harness::start().await;
        h.tenant("acme").await;
        let settings = json!({"upstream": {"interfaces": [{"url": h.agents.echo_url}], "dialect": dialect}});
        let mut offers = document("Echo");
        offers["capabilities"]["extendedAgentCard"] = json!(true);
        h.card_with("acme", "echo", &settings, &offers).await;
        let caller = h.caller("acme", "caller", &["echo"], &["*"]).await;
        let call = Grpc::call(h.public, "echo", OperationKind::GetExtendedCard, "{}").key(&caller.key);
        let card = call.send().await.unwrap().body;
        assert_eq!(text_at(&card, "/skills/1/id"), "trace", "{dialect}");
        let text = String::from_utf8(json::write(&card)).unwrap();
        assert!(!text.contains(&h.agents.address.to_string()), "the agent's address: {text}");
        let set = h.get("/.well-known/a2a-jwks/acme").send().await.body;
        let keys = a2a::sign::jwks::read_key_set(&json::read(&set, &json::Limits::default()).unwrap());
        let verdicts = a2a::sign::verify(card.as_object().unwrap(), &keys);
        assert!(verdicts.iter().any(|verdict| verdict.outcome.is_ok()), "{dialect}: {verdicts:?}");
        h.expect_records(1);
        h.finish().await;
    }
}

#[tokio::test]
async fn the_published_card_lists_grpc_after_the_other_bindings_of_1_0() {
    let h = Harness::start().await;
    h.tenant("acme").await;
    h.card("acme", "echo", &h.agents.echo_url, "v10_jsonrpc").await;
    let card = h.get("/a2a/acme/echo").send().await.json();
    let grpc = json!({"url": "gw.test:443", "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": "echo"});
    let listed = card["supportedInterfaces"].as_array().unwrap();
    assert_eq!(listed[2], grpc, "{listed:?}");
    assert!(listed[..2].iter().all(|one| one["protocolVersion"] == "1.0" && one.get("tenant").is_none()));
    assert!(listed[3..].iter().all(|one| one["protocolVersion"] == "0.3"));
    h.finish().await;
}

#[tokio::test]
async fn the_credential_decides_the_tenant_and_the_message_names_the_card() {
    let (acme, globex) = (start(Behaviour::Honest).await.unwrap(), start(Behaviour::Honest).await.unwrap());
    let plan = Plan::default()
        .card("acme/echo", CardSpec::of(&acme.url(), Dialect::R1))
        .card("globex/echo", CardSpec::of(&globex.url(), Dialect::R1))
        .card("globex/other", CardSpec::of(&globex.url(), Dialect::R1));
    let rig = plan.start().await;
    let send = |card: &str, key: &str| Grpc::call(rig.address, card, OperationKind::SendMessage, &says("hi")).key(key);
    send("echo", P1).send().await.unwrap();
    assert_eq!((acme.requests().len(), globex.requests().len()), (1, 0));
    send("echo", G1).send().await.unwrap();
    assert_eq!((acme.requests().len(), globex.requests().len()), (1, 1));
    // Another tenant's card, a card that nobody has, names that no card can have, no name at all: one answer.
    let unknown = send("nobody", P1).open().await;
    let expected: Vec<String> =
        ["grpc-status", "grpc-message", "grpc-status-details-bin"].map(|name| unknown.told(name).to_owned()).into();
    assert_eq!(expected[0], "5");
    for card in ["other", "acme/echo", "globex/other", "ECHO", "écho", "../echo", "", &"x".repeat(70_000)] {
        let open = send(card, P1).open().await;
        let told = ["grpc-status", "grpc-message", "grpc-status-details-bin"].map(|name| open.told(name).to_owned());
        assert_eq!(told.to_vec(), expected, "{card:.20}");
    }
    assert_eq!((acme.requests().len(), globex.requests().len()), (1, 1));
    let records = rig.records(11).await;
    assert_eq!(records.len(), 11);
    assert!(records.iter().all(|record| record.tenant.as_str() == "acme" || record.outcome == "ok"), "{records:?}");
}

#[tokio::test]
async fn metadata_carries_the_credential_and_without_a_good_one_there_is_one_answer() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let bare = || Grpc::call(rig.address, "echo", OperationKind::SendMessage, &says("hi"));
    assert!(bare().with("x-api-key", P1).send().await.is_ok());
    assert!(bare().with("authorization", &format!("bearer {P1}")).send().await.is_ok());
    for call in
        [bare(), bare().key("sk_test_acme_9"), bare().with("authorization", "Basic x"), bare().with("x-api-key", "")]
    {
        let mut open = call.open().await;
        assert!(open.message().await.is_none());
        assert_eq!(open.told("grpc-status"), "16");
        assert!(open.told("www-authenticate").starts_with("Bearer realm="));
    }
    let both = bare().key(P1).with("x-api-key", P1).open().await;
    assert_eq!(both.told("grpc-status"), "3");
    // A caller that nobody knows hears of that first, whatever card it names.
    let stranger = Grpc::call(rig.address, "nobody", OperationKind::GetTask, r#"{"id":"t"}"#).open().await;
    assert_eq!(stranger.told("grpc-status"), "16");
    assert_eq!(agent.requests().len(), 2);
    let canary = agent.requests().iter().any(|request| String::from_utf8_lossy(&request.headers).contains(P1));
    assert!(!canary, "the caller's key went on to the agent");
}

#[tokio::test]
async fn operations_that_are_not_granted_and_foreign_tasks_are_refused_in_grpcs_words() {
    let agents = sample_agents::start_all(SocketAddr::from(([127, 0, 0, 1], 0)), None).await.unwrap();
    let grant =
        GrantSpec { operations: vec![OperationKind::SendMessage, OperationKind::GetTask], ..GrantSpec::default() };
    let rig = Plan::echo(CardSpec::of(&agents.echo_url, Dialect::J1)).grant(grant).start().await;
    let denied = call(&rig, OperationKind::CancelTask, r#"{"id":"t"}"#).open().await;
    assert_eq!(denied.told("grpc-status"), "7");
    let task = call(&rig, OperationKind::SendMessage, &says("hi")).send().await.unwrap();
    let of_task = format!(r#"{{"id":"{}"}}"#, task.task_id().unwrap());
    let foreign = Grpc::call(rig.address, "echo", OperationKind::GetTask, &of_task).key(P2).open().await;
    let missing = Grpc::call(rig.address, "echo", OperationKind::GetTask, r#"{"id":"none"}"#).key(P2).open().await;
    for name in ["grpc-status", "grpc-message", "grpc-status-details-bin"] {
        assert_eq!(foreign.told(name), missing.told(name));
    }
    assert_eq!(foreign.told("grpc-status"), "5");
    agents.shutdown().await;
}

#[tokio::test]
async fn versions_timeouts_and_extensions_travel_in_metadata() {
    let (agent, rig) = scripted().await;
    let task = r#"{"id":"t1"}"#;
    for version in ["0.3", "2.0", "1.0, 0.3"] {
        let open = call(&rig, OperationKind::GetTask, task).with("a2a-version", version).open().await;
        assert_eq!(open.told("grpc-status"), "9", "{version}");
    }
    agent.feed([Step::event(WORKING), Step::event(DONE), Step::status(None)]);
    let asked = call(&rig, OperationKind::SendStreamingMessage, &says("hi"))
        .without("a2a-version")
        .with("a2a-extensions", "https://ext.test/a")
        .with("grpc-timeout", "50S");
    let (events, ended) = asked.events().await;
    assert_eq!((events.len(), ended), (2, Ok(())));
    let seen = agent.seen().remove(0);
    assert_eq!(seen.path, "/lf.a2a.v1.A2AService/SendStreamingMessage");
    let header = |name: &str| seen.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    assert_eq!((header("a2a-version"), header("a2a-extensions")), ("1.0".into(), "https://ext.test/a".into()));
    assert_eq!((header("te"), header("content-type")), ("trailers".into(), "application/grpc".into()));
    assert_eq!(header("authorization"), format!("Bearer {UPSTREAM_SECRET}"));
    let left = a2a::grpc::timeout(&header("grpc-timeout")).unwrap();
    assert!(left > Duration::from_secs(20) && left <= Duration::from_secs(50), "{left:?}");
    // The agent is told its own tenant, never the caller's card.
    assert_eq!(a2a::grpc::card_name(OperationKind::SendStreamingMessage, &seen.body).unwrap(), None);
}

#[tokio::test]
async fn the_agents_own_tenant_is_set_in_its_messages() {
    let agent = Agent::start().await;
    let mut spec = CardSpec::of(&agent.url(), Dialect::G1);
    spec.upstream_tenant = Some("theirs".to_owned());
    let rig = Plan::echo(spec).start().await;
    for ask in
        [rpc("SendMessage", &says("hi")), rpc("SendMessage", &says("hi").replacen('{', r#"{"tenant":"mine","#, 1))]
    {
        agent.feed([
            Step::event(r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#),
            Step::status(None),
        ]);
        assert_eq!(rig.call(ask).await.at("/result/message/parts/0/text"), "x");
    }
    for seen in agent.seen() {
        let named = a2a::grpc::card_name(OperationKind::SendMessage, &seen.body).unwrap();
        assert_eq!(named.as_deref(), Some("theirs"));
    }
}

#[tokio::test]
async fn a_deadline_that_passes_ends_the_call_and_the_agents_work() {
    for kind in [OperationKind::SendMessage, OperationKind::SendStreamingMessage] {
        let (agent, rig) = scripted().await;
        let open = call(&rig, kind, &says("hi")).with("grpc-timeout", "200m");
        let fault =
            if kind.is_streaming() { open.events().await.1.unwrap_err() } else { open.send().await.unwrap_err() };
        assert!(matches!(fault.kind, FaultKind::UpstreamUnavailable), "{fault:?}");
        tokio::time::timeout(DEADLINE, agent.hung_up.cancelled()).await.expect("the agent's call is cancelled");
        assert_ne!(rig.outcome().await, "ok");
    }
}

#[tokio::test]
async fn a_caller_that_resets_its_stream_cancels_the_agents() {
    let (agent, rig) = scripted().await;
    agent.feed([Step::event(WORKING)]);
    let mut open = call(&rig, OperationKind::SendStreamingMessage, &says("hi")).open().await;
    assert_eq!(open.event().await.unwrap().task_id(), Some("t1"));
    drop(open);
    tokio::time::timeout(DEADLINE, agent.hung_up.cancelled()).await.expect("the agent's call is cancelled");
    assert_eq!(rig.outcome().await, "caller_gone");
}

#[tokio::test]
async fn a_caller_that_resets_a_unary_call_cancels_the_agents() {
    let (agent, rig) = scripted().await;
    let open = call(&rig, OperationKind::SendMessage, &says("hi")).open();
    let asked = async {
        while agent.seen().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = open => panic!("nobody answered yet"),
        asked = tokio::time::timeout(DEADLINE, asked) => asked.expect("the agent is asked"),
    }
    tokio::time::timeout(DEADLINE, agent.hung_up.cancelled()).await.expect("the agent's call is cancelled");
    assert_eq!(rig.outcome().await, "caller_gone");
}

#[tokio::test]
async fn a_caller_that_vanishes_inside_its_message_leaves_one_record() {
    let (agent, rig) = scripted().await;
    let http2 = client::http2_of_pieces();
    let (pieces, feed) = tokio::sync::mpsc::channel(1);
    let request = http::Request::post(format!("http://{}/lf.a2a.v1.A2AService/GetTask", rig.address))
        .header("content-type", "application/grpc")
        .header("authorization", format!("Bearer {P1}"))
        .body(client::Pieces(feed))
        .unwrap();
    let mut asked = Box::pin(http2.request(request));
    pieces.send(bytes::Bytes::from_static(b"\0\0\0\0\x07\x0a\x04ec")).await.unwrap();
    let read = async {
        while rig.app.calls.limits.bytes_in_flight() == 0 {
            let _ = futures_util::poll!(&mut asked);
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, read).await.expect("the beginning of the message is read");
    drop((asked, pieces, http2));
    // The reset is seen by whoever looks first: the reader of the body, or hyper, which drops the call.
    let outcome = rig.outcome().await;
    assert!(["caller_gone", "refused"].contains(&outcome.as_str()), "{outcome}");
    assert_eq!(rig.app.calls.limits.bytes_in_flight(), 0);
    assert!(agent.seen().is_empty());
}

/// T-H2-1
#[tokio::test]
async fn calls_that_are_reset_at_once_are_cancelled_and_leave_one_record_each() {
    let (agent, rig) = scripted().await;
    let first = call(&rig, OperationKind::SendStreamingMessage, &says("hi"));
    let http2 = client::http2();
    for _ in 0..50 {
        let mut open = first.clone().open_on(&http2);
        // Sent, and dropped before there is an answer.
        let _ = futures_util::poll!(&mut open);
        let seen = agent.seen().len();
        let asked = async {
            while agent.seen().len() == seen {
                let _ = futures_util::poll!(&mut open);
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEADLINE, asked).await.expect("the agent is asked");
        drop(open);
    }
    let records = rig.records(50).await;
    assert_eq!(records.len(), 50);
    assert!(records.iter().all(|record| record.outcome == "caller_gone"), "{records:?}");
    let limits = &rig.app.calls.limits;
    assert_eq!((limits.open_streams(), limits.bytes_in_flight()), (0, 0));
}

#[tokio::test]
async fn many_calls_share_one_connection_and_each_gets_its_own_answer() {
    let (agents, rig) = echo(Dialect::G1).await;
    let calls = (0..40).map(|at| {
        let call = call(&rig, OperationKind::SendMessage, &says(&format!("number {at}")));
        async move { text_at(&call.send().await.unwrap().body, "/task/artifacts/0/parts/0/text").to_owned() }
    });
    let answers = futures_util::future::join_all(calls).await;
    let expected: Vec<String> = (0..40).map(|at| format!("number {at}")).collect();
    assert_eq!(answers, expected);
    assert!(rig.records(40).await.iter().all(|record| record.outcome == "ok"));
    agents.shutdown().await;
}

#[tokio::test]
async fn each_event_leaves_before_the_agent_sends_the_next() {
    let (agent, rig) = scripted().await;
    agent.feed([Step::event(WORKING)]);
    let mut open = call(&rig, OperationKind::SendStreamingMessage, &says("hi")).open().await;
    assert_eq!(open.event().await.unwrap().payload().unwrap().0, "task");
    agent.feed([Step::event(DONE)]);
    assert!(open.event().await.unwrap().is_terminal());
    agent.feed([Step::status(None)]);
    assert!(open.event().await.is_none());
    assert!(open.status().is_ok());
    assert_eq!(rig.outcome().await, "ok");
}

#[tokio::test]
async fn what_is_no_call_is_refused_by_its_code() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).set("limits.request_bytes", "64KiB").start().await;
    let get = || call(&rig, OperationKind::GetTask, r#"{"id":"t"}"#);
    let with_body = |body: &[u8]| {
        let mut call = get();
        call.body = body.to_vec();
        call
    };
    let frame = |message: &[u8]| {
        let mut body = vec![0];
        body.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
        body.extend_from_slice(message);
        body
    };
    let named = |rest: &[u8]| frame(&[b"\x0a\x04echo", rest].concat());
    for (call, code, what) in [
        (get().at("/lf.a2a.v1.A2AService/Unknown"), "12", "an unknown method"),
        (get().at("/lf.a2a.v1.A2AService/getTask"), "12", "a method in another case"),
        (get().at("/a2a.v1.A2AService/GetTask"), "12", "the service of 0.3"),
        (get().at("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"), "12", "reflection"),
        (with_body(b""), "3", "no message"),
        (with_body(b"\0\0\0\0\x05abc"), "3", "a message that breaks off"),
        (with_body(&[named(b""), named(b"")].concat()), "3", "two messages"),
        (with_body(b"\x01\0\0\0\0"), "12", "a compressed message"),
        (with_body(&named(b"\xff")), "3", "no protobuf"),
        (with_body(&named(b"\x0a\x05other")), "3", "two cards"),
        (with_body(&named(b"\x12\x01t\x12\x01u")), "3", "two ids"),
        (with_body(&named(b"\x12\x02\xff\xff")), "3", "an id that is no text"),
        (with_body(&named(b"")), "3", "no id"),
        (with_body(&named(&[b"\x12\x80\x80\x08", [b'x'; 131_072].as_slice()].concat())), "8", "a large message"),
    ] {
        let mut open = call.open().await;
        assert!(open.message().await.is_none(), "{what}");
        assert_eq!(open.told("grpc-status"), code, "{what}: {}", open.told("grpc-message"));
        assert_eq!(open.head.headers["content-type"], "application/grpc", "{what}");
    }
    let json = get().with("content-type", "application/grpc+json").open().await;
    assert_eq!(json.head.status, 415);
    assert_eq!(agent.requests().len(), 0);
    assert_eq!(rig.app.calls.limits.bytes_in_flight(), 0);
    let heard = rig
        .call(
            Ask::post("/lf.a2a.v1.A2AService/GetTask")
                .key(P1)
                .header("Content-Type", "application/grpc")
                .body(b"\0\0\0\0\0"),
        )
        .await;
    assert_eq!(heard.status, 505);
    // Below a card the type of the body changes nothing of the way a request goes: it is refused and recorded there.
    let below = Ask::post("/a2a/acme/echo").key(P1).v10().header("Content-Type", "application/grpc").body(b"{}");
    // Ten of the refusals above came after the caller was known: all but the unknown methods and the types of bodies.
    assert_eq!(rig.records(10).await.len(), 10);
    assert_eq!(rig.call(below).await.status, 415);
    assert_eq!(rig.records(11).await.len(), 11);
}

#[tokio::test]
async fn rates_and_counts_hold_and_say_when_to_come_again() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let grant = GrantSpec { per_minute: Some(1), ..GrantSpec::default() };
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).grant(grant).start().await;
    call(&rig, OperationKind::SendMessage, &says("hi")).send().await.unwrap();
    let refused = call(&rig, OperationKind::SendMessage, &says("hi")).open().await;
    assert_eq!(refused.told("grpc-status"), "8");
    assert!(refused.told("retry-after").parse::<u64>().unwrap() >= 1);
    let details = base64(refused.told("grpc-status-details-bin"));
    let text = String::from_utf8_lossy(&details).into_owned();
    assert!(
        text.contains("RATE_LIMITED") && text.contains("google.rpc.RetryInfo") && text.contains("gw.test"),
        "{text}"
    );
}

#[tokio::test]
async fn guards_see_what_is_said_and_heard_over_grpc() {
    let agent = Agent::start().await;
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::G1).guarded()).start().await;
    let hidden = [
        says(INJECTION),
        says("x").replace(r#""text":"x""#, &format!(r#""data":{{"deep":[{{"{INJECTION}":1}}]}}"#)),
        says("x").replace(r#""role""#, &format!(r#""metadata":{{"k":["{INJECTION}"]}},"role""#)),
        says("x").replace(r#"{"text":"x"}"#, &format!(r#"{{"url":"https://x.test/","filename":"{INJECTION}"}}"#)),
    ];
    for params in &hidden {
        let open = call(&rig, OperationKind::SendMessage, params).open().await;
        assert_eq!(open.told("grpc-status"), "7", "{params}");
        let details = String::from_utf8_lossy(&base64(open.told("grpc-status-details-bin"))).into_owned();
        assert!(details.contains("GUARDRAIL_BLOCKED") && details.contains("a2a_inbound"), "{details}");
        assert!(!details.contains(INJECTION));
    }
    assert!(agent.seen().is_empty());
    // What is redacted leaves redacted, in both directions.
    let reply = format!(r#"{{"message":{{"messageId":"m","role":"ROLE_AGENT","parts":[{{"text":"key {SECRET}"}}]}}}}"#);
    agent.feed([Step::event(&reply), Step::status(None)]);
    let answer = call(&rig, OperationKind::SendMessage, &says(&format!("my {SECRET}"))).send().await.unwrap();
    assert!(!text_at(&answer.body, "/message/parts/0/text").contains(SECRET), "{answer:?}");
    let seen = agent.seen().remove(0);
    assert!(!String::from_utf8_lossy(&seen.body).contains(SECRET));
    // A block in the middle of a stream ends it by its status and cancels the agent's.
    let bad = format!(
        r#"{{"artifactUpdate":{{"taskId":"t1","contextId":"c1","artifact":{{"artifactId":"a","parts":[{{"text":"{INJECTION}"}}]}}}}}}"#
    );
    agent.feed([Step::event(WORKING), Step::event(&bad)]);
    let mut open = call(&rig, OperationKind::SendStreamingMessage, &says("hi")).open().await;
    assert!(open.event().await.is_some());
    assert!(open.event().await.is_none());
    assert_eq!(open.told("grpc-status"), "7");
    tokio::time::timeout(DEADLINE, agent.hung_up.cancelled()).await.expect("the agent's call is cancelled");
}

#[tokio::test]
async fn health_is_told_and_only_of_what_is_here() {
    let rig = Plan::default().start().await;
    let check = |message: &[u8]| {
        let mut call = Grpc::call(rig.address, "", OperationKind::GetTask, r#"{"id":"t"}"#);
        call.body = message.to_vec();
        call.at("/grpc.health.v1.Health/Check")
    };
    let service = [b"\0\0\0\0\x16\x0a\x14".as_slice(), b"lf.a2a.v1.A2AService"].concat();
    for body in [b"\0\0\0\0\0".as_slice(), &service] {
        let mut open = check(body).open().await;
        assert_eq!(open.message().await.as_deref(), Some(b"\x08\x01".as_slice()));
        assert!(open.message().await.is_none());
        assert!(open.status().is_ok());
    }
    assert_eq!(check(b"\0\0\0\0\x04\x0a\x02xy").open().await.told("grpc-status"), "5");
    assert_eq!(check(b"").open().await.told("grpc-status"), "3");
}

#[tokio::test]
async fn grpc_that_is_switched_off_is_neither_served_nor_listed() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).set("public.grpc", "false").start().await;
    assert_eq!(call(&rig, OperationKind::SendMessage, &says("hi")).open().await.told("grpc-status"), "12");
    assert!(rig.app.settings.public.urls.iter().all(|url| url.grpc_authority().is_none()));
}
