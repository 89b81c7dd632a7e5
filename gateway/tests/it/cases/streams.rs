//! Streams and subscriptions: verbs, early failures, framing, heads.

use super::{ECHO, http2, old, only, over_http2};
use crate::rig::{CardSpec, P1, Plan, SECRET, rpc, says};
use crate::wire::Ask;
use a2a::Dialect;
use http_body_util::BodyExt as _;
use sample_agents::hostile::{Gate, RawRequest, Reply, Script, Scripted, Spoken};
use std::time::Duration;

const WORKING: &str = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
const DONE: &str = r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

/// An agent that sends honestly and answers a POST to `:subscribe` in its own way.
async fn subscribed(by_post: impl Fn(&Spoken) -> Reply + Send + Sync + 'static) -> Scripted {
    Scripted::start(Script::by(move |request| {
        let spoken = Spoken::of(request);
        let refused = spoken.wants_stream() && request.method() == "POST";
        if refused { by_post(&spoken) } else { spoken.honest("", &format!("the key {SECRET}")) }
    }))
    .await
    .unwrap()
}

/// F05: the agent that does not know the POST form is asked with GET, which is remembered.
#[tokio::test]
async fn a_subscribe_path_that_the_agent_does_not_know_is_asked_with_the_other_verb() {
    for reply in [Reply::json(404, r#"{"detail":"Not Found"}"#), Reply::whole(404, "text/html", "<p>nothing</p>")] {
        let agent = subscribed(move |_| reply.clone()).await;
        let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1).guarded()).start().await;
        let task = rig.call(rpc("SendMessage", &says("hi"))).await.at("/result/task/id");
        let target = format!("{ECHO}/tasks/{task}:subscribe");
        for verb in ["POST", "GET"] {
            let heard = rig.call(Ask::new(verb, &target).key(P1).v10()).await;
            assert_eq!(heard.status, 200, "{verb}: {}", heard.text());
            assert_eq!(heard.events().len(), 2, "{verb}: {}", heard.text());
            assert!(heard.text().contains("[REDACTED:aws-key]") && !heard.text().contains(SECRET), "{}", heard.text());
        }
        let seen = agent.requests();
        assert_eq!(seen[1..].iter().map(RawRequest::method).collect::<Vec<_>>(), ["POST", "GET", "GET"]);
        let records = rig.records(3).await;
        let subscribed = records.iter().filter(|record| record.operation.as_deref() == Some("subscribe"));
        assert_eq!(subscribed.filter(|record| record.outcome == "ok").count(), 2);
    }
}

/// F05, F06: a 404 that is an A2A error is the answer, not a wrong verb.
#[tokio::test]
async fn a_task_that_the_agent_does_not_know_is_not_asked_for_twice() {
    let agent = subscribed(|spoken| spoken.error(-32001, 404, "TASK_NOT_FOUND", "gone")).await;
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let task = rig.call(rpc("SendMessage", &says("hi"))).await.at("/result/task/id");
    let heard = rig.call(Ask::get(&format!("{ECHO}/tasks/{task}:subscribe")).key(P1).v10()).await;
    assert_eq!((heard.status, heard.at("/error/details/0/reason").as_str()), (404, "TASK_NOT_FOUND"));
    assert_eq!(agent.requests().len(), 2);
}

/// F17
#[tokio::test]
async fn a_subscription_that_fails_at_once_is_never_an_empty_success() {
    // Path RPC has no subscription.
    for dialect in [Dialect::J1, Dialect::R1, Dialect::J3] {
        for (fault, code, status) in [("503", -32044, 502), ("reset", -32044, 502), ("told", -32004, 400)] {
            let agent = Scripted::start(Script::by(move |request| {
                let spoken = Spoken::of(request);
                match fault {
                    _ if !spoken.wants_stream() => spoken.honest("", "an answer"),
                    "503" => Reply::json(503, r#"{"error":"internal detail"}"#),
                    "reset" => Reply::nothing().reset(),
                    _ => spoken.error(-32004, 400, "UNSUPPORTED_OPERATION", "not that task"),
                }
            }))
            .await
            .unwrap();
            let rig = Plan::echo(CardSpec::of(&agent.url(), dialect)).start().await;
            let task = rig.call(rpc("SendMessage", &says("hi"))).await.at("/result/task/id");
            let id = format!(r#"{{"id":"{task}"}}"#);
            for ask in [rpc("SubscribeToTask", &id), old(P1, ECHO, "tasks/resubscribe", &id)] {
                let heard = rig.call(ask).await;
                let told = only(&heard);
                assert_eq!(
                    (heard.status, told.code(), told.at("/id").as_str()),
                    (200, code, "1"),
                    "{dialect:?} {fault}"
                );
                assert!(!heard.text().contains("internal detail"), "{}", heard.text());
            }
            let heard = rig.call(Ask::post(&format!("{ECHO}/tasks/{task}:subscribe")).key(P1).v10()).await;
            assert_eq!((heard.status, heard.code()), (status, i64::from(status)), "{dialect:?} {fault}");
            assert!(!heard.header("content-type").unwrap().contains("event-stream"));
        }
    }
}

/// F13: lines of one event are one text, also for the guard, however they arrive.
#[tokio::test]
async fn a_secret_on_a_line_of_its_own_is_seen() {
    let wire = format!(
        "data: {{\"artifactUpdate\":{{\"taskId\":\"t1\",\"contextId\":\"c1\",\"artifact\":{{\"artifactId\":\"a\",\"parts\":[{{\"text\":\r\n\
         data: \"{SECRET}\"\r\ndata: }}]}}}}}}\r\n\r\n"
    );
    let cuts: Vec<usize> = (1..wire.len()).collect();
    let reply = Reply::sse().event(WORKING).chunks_cut_at(&wire, &cuts, Duration::ZERO).event(DONE).end();
    let agent = Scripted::start(reply).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1).guarded()).start().await;
    let heard = rig.call(rpc("SendStreamingMessage", &says("hi"))).await;
    let events = heard.events();
    // Whether the key ends there is known when the task does: the text waits for that.
    let text: String = events.iter().map(|event| event.at("/result/artifactUpdate/artifact/parts/0/text")).collect();
    assert_eq!((events.len(), text.as_str()), (4, "[REDACTED:aws-key]"), "{}", heard.text());
    assert!(!heard.text().contains(SECRET));
}

/// F09
#[tokio::test]
async fn an_event_with_a_key_twice_breaks_the_stream() {
    let twice = DONE.replace(r#""contextId":"c1""#, r#""contextId":"c1","task\u0049d":"t2""#);
    let agent = Scripted::start(Reply::sse().event(WORKING).event(twice).event(DONE).end()).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let events = rig.call(rpc("SendStreamingMessage", &says("hi"))).await.events();
    assert_eq!((events.len(), events[1].name.as_deref(), events[1].code()), (2, Some("error"), -32006));
    assert_eq!(rig.outcome().await, "upstream_abort");
}

/// F21
#[tokio::test]
async fn over_http2_the_head_of_a_stream_comes_before_the_first_event_and_is_ours() {
    let gate = Gate::new();
    let headers = [
        ("Content-Type", "text/event-stream"),
        ("Connection", "keep-alive, X-Internal"),
        ("Keep-Alive", "timeout=5"),
        ("X-Internal", "10.0.0.7"),
        ("Transfer-Encoding", "chunked"),
    ];
    let agent = Scripted::start(Reply::head("200 OK", &headers).wait(&gate).event(DONE).end()).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let (mut sender, _running) = http2(rig.address).await;
    let request = over_http2("gw.test", "message:stream", &[("accept-encoding", "gzip, br")]);
    let opened = tokio::time::timeout(crate::wire::DEADLINE, sender.send_request(request)).await;
    let response = opened.expect("a head while the agent is still silent").unwrap();
    let head = response.headers();
    for absent in ["connection", "keep-alive", "transfer-encoding", "x-internal", "content-encoding", "content-length"]
    {
        assert!(!head.contains_key(absent), "{absent}: {head:?}");
    }
    assert_eq!(
        (&head["cache-control"], &head["x-accel-buffering"]),
        (&"no-cache".parse().unwrap(), &"no".parse().unwrap())
    );
    gate.open();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("COMPLETED"));
}
