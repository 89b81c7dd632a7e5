//! What a hostile caller or agent tries, found by attacking a running gateway: each a way round a check that once worked.

use crate::rig::{CardSpec, INJECTION, P1, Plan, SECRET, rpc, says};
use crate::wire::{Ask, DEADLINE, exchange};
use a2a::Dialect;
use sample_agents::hostile::{Behaviour, Gate, Reply, Scripted, start};

const WORKING: &str = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
const DONE: &str = r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

fn chunk(members: &str, text: &str) -> String {
    format!(
        r#"{{"artifactUpdate":{{"taskId":"t1","contextId":"c1",{members}"artifact":{{"artifactId":"a","parts":[{{"text":"{text}"}}]}}}}}}"#
    )
}

/// T-GRD-2: what the caller can join is never the whole secret, whatever the agent says about where a text ends.
#[tokio::test]
async fn a_secret_in_pieces_is_never_completed() {
    let (one, two) = SECRET.split_at(8);
    let snapshot = format!(
        r#"{{"task":{{"id":"t1","contextId":"c1","status":{{"state":"TASK_STATE_WORKING"}},"artifacts":[{{"artifactId":"a","parts":[{{"text":"use {one}"}}]}}]}}}}"#
    );
    let after_a_snapshot = vec![snapshot, chunk(r#""append":true,"#, two)];
    let after_the_last_chunk =
        vec![WORKING.to_owned(), chunk(r#""lastChunk":true,"#, one), chunk(r#""append":true,"#, two)];
    for events in [after_a_snapshot, after_the_last_chunk] {
        let reply = events.iter().fold(Reply::sse(), |reply, event| reply.event(event)).event(DONE).end();
        let agent = Scripted::start(reply).await.unwrap();
        let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1).guarded()).start().await;
        let heard = rig.call(rpc("SendStreamingMessage", &says("hi"))).await;
        assert!(!heard.text().contains(two), "{}", heard.text());
        assert_eq!(heard.events().last().unwrap().code(), -32042, "{}", heard.text());
        assert_eq!(rig.outcome().await, "blocked");
    }
}

/// T-TASK-3: an event that does not say whose task it is about can't be checked, so it is no event.
#[tokio::test]
async fn an_event_without_its_task_is_no_event() {
    for nameless in [
        r#"{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"whose?"}]}}}"#,
        r#"{"statusUpdate":{"taskId":"","status":{"state":"TASK_STATE_COMPLETED"}}}"#,
        r#"{"task":{"status":{"state":"TASK_STATE_COMPLETED"}}}"#,
    ] {
        let agent = Scripted::start(Reply::sse().event(WORKING).event(nameless).end()).await.unwrap();
        let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
        let heard = rig.call(rpc("SendStreamingMessage", &says("hi"))).await;
        let events = heard.events();
        assert_eq!((events.len(), events.last().unwrap().code()), (2, -32006), "{nameless}: {}", heard.text());
        assert_eq!(rig.outcome().await, "upstream_abort");
    }
}

/// T-GRD-1: headers that are passed on are looked at like the body; what is no URI is no extension.
#[tokio::test]
async fn headers_do_not_go_round_the_guard() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1).guarded()).start().await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let extension = format!("https://ext.test/?k={SECRET}");
    let state = format!("a={SECRET}");
    let by_extension = rpc("SendMessage", &says("hi")).header("A2A-Extensions", &extension);
    let by_trace = rpc("SendMessage", &says("hi")).header("traceparent", trace).header("tracestate", &state);
    for ask in [by_extension, by_trace] {
        let heard = rig.call(ask).await;
        assert_eq!(heard.code(), -32042, "{}", heard.text());
    }
    assert_eq!(agent.seen().connections, 0);
    let spaced = rpc("SendMessage", &says("hi")).header("A2A-Extensions", &format!("{INJECTION}, u:1"));
    assert_eq!(rig.call(spaced).await.status, 200);
    assert_eq!(agent.requests().pop().unwrap().header("a2a-extensions").as_deref(), Some("u:1"));
}

/// An id is free text of its maker: what was blocked does not enter the records by way of one.
#[tokio::test]
async fn what_was_blocked_is_not_kept_as_an_id() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1).guarded()).start().await;
    let params = format!(
        r#"{{"message":{{"messageId":"m1","contextId":"{SECRET}","role":"ROLE_USER","parts":[{{"text":"hi"}}]}}}}"#
    );
    assert_eq!(rig.call(rpc("SendMessage", &params)).await.code(), -32042);
    let record = rig.records(1).await.pop().unwrap();
    assert_eq!(record.outcome, "blocked");
    assert!(!String::from_utf8_lossy(&record.document).contains(SECRET));
}

/// A webhook under the other generation's name is one all the same.
#[tokio::test]
async fn an_inline_push_configuration_is_refused_under_every_name() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
    for name in ["taskPushNotificationConfig", "pushNotificationConfig", "pushNotification"] {
        let params = format!(
            r#"{{"message":{{"messageId":"m1","role":"ROLE_USER","parts":[{{"text":"hi"}}]}},"configuration":{{"{name}":{{"url":"http://169.254.169.254/"}}}}}}"#
        );
        let heard = rig.call(rpc("SendMessage", &params)).await;
        assert!([-32003, -32602].contains(&heard.code()), "{name}: {}", heard.text());
    }
    assert_eq!(agent.seen().connections, 0);
}

/// Two readers must agree where a request ends.
#[tokio::test]
async fn ambiguous_framing_is_refused() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
    let head = |lines: &str| {
        format!(
            "POST /a2a/acme/echo HTTP/1.1\r\n{lines}Authorization: Bearer {P1}\r\nA2A-Version: 1.0\r\n\
             Content-Type: application/json\r\nConnection: close\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
        )
    };
    for lines in [
        "Host: gw.test\r\nTransfer-Encoding: gzip, chunked\r\n",
        "Host: gw.test\r\nTransfer-Encoding: chunked, chunked\r\n",
        "Host: gw.test\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\n",
    ] {
        assert_eq!(exchange(rig.address, head(lines).as_bytes()).await.status, 400, "{lines:?}");
    }
    assert_eq!(agent.seen().connections, 0);
}

/// F17 F19: an agent without streams answers with a whole; a task that only works must not look finished by that.
#[tokio::test]
async fn a_whole_answer_to_a_stream_keeps_its_shape_and_its_truth() {
    let working =
        r#"{"jsonrpc":"2.0","id":"ID","result":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let agent = Scripted::start(sample_agents::hostile::Script::by(move |request| {
        let id = request.json().get("id").and_then(json::Json::as_str).unwrap_or_default().to_owned();
        let sent = working.replace("ID", &id);
        let streams = request.json().get("method").and_then(json::Json::as_str) != Some("SendMessage");
        Reply::json(200, if streams { sent } else { sent.replace(r#""result":{"#, r#""result":{"task":{"#) + "}" })
    }))
    .await
    .unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
    assert_eq!(rig.call(rpc("SendMessage", &says("hi"))).await.at("/result/task/id"), "t1");
    let heard = rig.call(rpc("SubscribeToTask", r#"{"id":"t1"}"#)).await;
    let events = heard.events();
    assert_eq!(events[0].at("/result/task/id"), "t1", "{}", heard.text());
    assert_eq!(events.last().unwrap().name.as_deref(), Some("error"), "{}", heard.text());
}

/// A key that expires ends what was begun with it, as a revoked one does.
#[tokio::test]
async fn a_stream_ends_when_its_key_expires() {
    let gate = Gate::new();
    let agent = Scripted::start(Reply::sse().event(WORKING).wait(&gate).end()).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).expiring(1_500_000).start().await;
    let stream = rig.call(
        Ask::post("/a2a/acme/echo")
            .key(P1)
            .v10()
            .json(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{}}}"#, says("hi"))),
    );
    let heard = tokio::time::timeout(DEADLINE, stream).await.expect("the stream ends in time");
    let last = heard.events().pop().unwrap();
    assert_eq!((last.name.as_deref(), last.code()), (Some("error"), -32040), "{}", heard.text());
}
