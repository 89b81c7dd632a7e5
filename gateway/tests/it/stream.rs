//! Event streams, from the agent's bytes to the caller's events.

use crate::rig::{CardSpec, P1, P2, Plan, Rig, rpc, rpc_as, says};
use crate::wire::Ask;
use a2a::Dialect;
use sample_agents::hostile::{Asked, Behaviour, Gate, Reply, Script, Scripted, Spoken, State, start};
use std::time::Duration;

const ECHO: &str = "/a2a/acme/echo";
const WORKING: &str = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
const DONE: &str = r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

async fn gateway(reply: Reply) -> (Scripted, Rig) {
    let agent = Scripted::start(reply).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    (agent, rig)
}

/// The same stream request as J1, R1, J3 and path RPC.
fn stream_asks() -> [Ask; 4] {
    let old = r#"{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]}}}"#;
    [
        rpc("SendStreamingMessage", &says("hi")),
        Ask::post(&format!("{ECHO}/message:stream")).key(P1).v10().json(&says("hi")),
        Ask::post(ECHO).key(P1).json(old),
        Ask::post(&format!("{ECHO}/message:stream")).key(P1).json(old),
    ]
}

#[tokio::test]
async fn every_caller_hears_every_agent() {
    for dialect in Dialect::JSON {
        let agent = start(Behaviour::Honest).await.unwrap();
        let rig = Plan::echo(CardSpec::of(&agent.url(), dialect)).start().await;
        for ask in stream_asks() {
            let heard = rig.call(ask).await;
            assert_eq!(heard.header("content-type").as_deref(), Some("text/event-stream"));
            let events = heard.events();
            assert_eq!(events.len(), 2, "{dialect:?}: {}", heard.text());
            let all = heard.text().to_lowercase();
            assert!(all.contains("working") && all.contains("completed"), "{all}");
        }
        assert!(rig.records(4).await.iter().all(|record| record.outcome == "ok"));
    }
}

/// F13
#[tokio::test]
async fn events_do_not_depend_on_how_their_bytes_were_cut() {
    let wire = format!("data: {}\r\ndata: {}\r\n\r\n: note\r\n\r\ndata:{DONE}\r\n\r\n", &WORKING[..30], &WORKING[30..]);
    let asked = || Ask::post(&format!("{ECHO}/message:stream")).key(P1).v10().json(&says("hi"));
    let cuts: Vec<usize> = (1..wire.len()).collect();
    let (_agent, rig) = gateway(Reply::sse().chunks_cut_at(&wire, &cuts, Duration::ZERO).end()).await;
    let whole = rig.call(asked()).await.events();
    assert_eq!(whole.len(), 2);
    assert_eq!(whole[0].at("/task/status/state"), "TASK_STATE_WORKING");
    for cut in (1..wire.len()).step_by(7) {
        let (_agent, rig) = gateway(Reply::sse().chunks_cut_at(&wire, &[cut], Duration::from_millis(2)).end()).await;
        assert_eq!(rig.call(asked()).await.events(), whole, "{cut}");
    }
}

/// F14
#[tokio::test]
async fn a_mark_before_the_first_event_and_a_letter_cut_in_two_are_read_well() {
    let text = r#"{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a","parts":[{"text":"café"}]}}}"#;
    let at = text.find('é').unwrap() + 1;
    let reply = Reply::sse()
        .chunk(format!("\u{feff}data:{WORKING}\r\rdata:"))
        .chunk(&text.as_bytes()[..at])
        .pause(Duration::from_millis(5))
        .chunk(&text.as_bytes()[at..])
        .chunk(format!("\r\rdata: {DONE}\r\r"))
        .end();
    let (_agent, rig) = gateway(reply).await;
    let events = rig.call(stream_asks()[1].clone()).await.events();
    assert_eq!(events.len(), 3);
    assert_eq!(events[1].at("/artifactUpdate/artifact/parts/0/text"), "café");
}

/// F14
#[tokio::test]
async fn invalid_utf8_ends_the_stream_with_an_error() {
    let bad = [b"data: {\"message\":\"".as_slice(), b"\xc3\x28", b"\"}\n\n"].concat();
    let (_agent, rig) = gateway(Reply::sse().event(WORKING).chunk(bad).event(DONE).end()).await;
    let events = rig.call(rpc("SendStreamingMessage", &says("hi"))).await.events();
    assert_eq!(events.len(), 2);
    assert_eq!((events[1].name.as_deref(), events[1].code()), (Some("error"), -32006));
    assert_eq!(rig.outcome().await, "upstream_abort");
}

/// F16
#[tokio::test]
async fn half_an_event_is_never_sent_and_the_break_is_told() {
    for (dialect, ask) in
        [(Dialect::J1, rpc("SendStreamingMessage", &says("hi"))), (Dialect::R1, stream_asks()[1].clone())]
    {
        let agent = start(Behaviour::ResetMidEvent).await.unwrap();
        let rig = Plan::echo(CardSpec::of(&agent.url(), dialect)).start().await;
        let heard = rig.call(ask).await;
        let events = heard.events();
        assert_eq!(events.len(), 2, "{}", heard.text());
        assert_eq!(events[1].name.as_deref(), Some("error"));
        assert!([-32044, 502].contains(&events[1].code()), "{}", heard.text());
        if dialect == Dialect::J1 {
            assert_eq!(events[1].at("/id"), "1");
        }
        assert!(!heard.text().contains("statusUp"));
        assert_eq!(rig.outcome().await, "upstream_abort");
    }
}

/// F17
#[tokio::test]
async fn an_agent_that_fails_at_once_is_never_an_empty_success() {
    for behaviour in [Behaviour::Unavailable, Behaviour::Refuse] {
        let agent = start(behaviour).await.unwrap();
        for dialect in Dialect::JSON {
            let rig = Plan::echo(CardSpec::of(&agent.url(), dialect)).start().await;
            for (at, ask) in stream_asks().into_iter().enumerate() {
                let heard = rig.call(ask).await;
                assert!(heard.text().contains("-32044") || heard.at("/error/code") == "502", "{}", heard.text());
                assert_eq!(heard.status, if at == 1 { 502 } else { 200 });
                assert!(!heard.text().contains("internal detail"), "{}", heard.text());
            }
            assert!(rig.records(4).await.iter().all(|record| record.outcome == "upstream_error"));
        }
    }
}

/// F17
#[tokio::test]
async fn an_error_in_place_of_a_stream_is_told_in_the_callers_words() {
    let agent = start(Behaviour::ErrorToStream).await.unwrap();
    for dialect in Dialect::JSON {
        let rig = Plan::echo(CardSpec::of(&agent.url(), dialect)).start().await;
        for ask in stream_asks() {
            let heard = rig.call(ask).await;
            assert!(
                heard.text().contains("-32004") || heard.text().contains("UNSUPPORTED_OPERATION"),
                "{dialect:?} {}",
                heard.text()
            );
        }
        assert!(rig.records(4).await.iter().all(|record| record.outcome == "agent_fault"));
    }
}

#[tokio::test]
async fn an_answer_in_place_of_a_stream_is_told_as_one_event() {
    let task = WORKING.replace("WORKING", "COMPLETED");
    let (_agent, rig) = gateway(Reply::json(200, &task)).await;
    let events = rig.call(rpc("SendStreamingMessage", &says("hi"))).await.events();
    assert_eq!((events.len(), events[0].at("/result/task/id").as_str()), (1, "t1"));
}

/// F17
#[tokio::test]
async fn each_event_leaves_before_the_next_is_written() {
    let gates = [Gate::new(), Gate::new()];
    let reply = Reply::sse().event(WORKING).wait(&gates[0]).event(WORKING).wait(&gates[1]).event(DONE).end();
    let (_agent, rig) = gateway(reply).await;
    let mut live = rig.live(rpc("SendStreamingMessage", &says("hi"))).await;
    assert_eq!(live.event().await.unwrap().at("/result/task/id"), "t1");
    gates[0].open();
    assert_eq!(live.event().await.unwrap().at("/result/task/id"), "t1");
    gates[1].open();
    assert_eq!(live.event().await.unwrap().at("/result/statusUpdate/status/state"), "TASK_STATE_COMPLETED");
    assert_eq!(live.event().await, None);
}

/// F18
#[tokio::test]
async fn a_stream_may_outlast_the_wait_for_a_unary_answer() {
    let mut reply = Reply::sse().event(WORKING);
    for _ in 0..8 {
        reply = reply.pause(Duration::from_millis(100)).event(WORKING);
    }
    let agent = Scripted::start(reply.event(DONE).end()).await.unwrap();
    let plan = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1));
    let rig = plan.set("limits.unary_timeout", "300ms").set("limits.stream_idle_timeout", "5s").start().await;
    assert_eq!(rig.call(rpc("SendStreamingMessage", &says("hi"))).await.events().len(), 10);
    assert_eq!(rig.outcome().await, "ok");
}

/// F18
#[tokio::test]
async fn silence_ends_a_stream_and_the_agents_connection() {
    let agent = Scripted::start(Reply::sse().event(WORKING).hang()).await.unwrap();
    let rig =
        Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).set("limits.stream_idle_timeout", "300ms").start().await;
    let events = rig.call(rpc("SendStreamingMessage", &says("hi"))).await.events();
    assert_eq!((events[1].name.as_deref(), events[1].code()), (Some("error"), -32045));
    agent.wait_for_hang_ups(1).await.unwrap();
    assert_eq!(rig.outcome().await, "upstream_abort");
}

#[tokio::test]
async fn pings_of_the_agent_end_its_silence() {
    let mut reply = Reply::sse().event(WORKING);
    for _ in 0..12 {
        reply = reply.pause(Duration::from_millis(100)).chunk(": ping\n\n");
    }
    let agent = Scripted::start(reply.event(DONE).end()).await.unwrap();
    let rig =
        Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).set("limits.stream_idle_timeout", "700ms").start().await;
    assert_eq!(rig.call(rpc("SendStreamingMessage", &says("hi"))).await.events().len(), 2);
}

/// F18
#[tokio::test]
async fn an_agent_that_answers_no_head_in_time_is_a_timeout() {
    let agent = start(Behaviour::Hang).await.unwrap();
    for (ask, status) in [(stream_asks()[1].clone(), 504), (rpc("SendMessage", &says("hi")), 200)] {
        let rig =
            Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).set("limits.unary_timeout", "200ms").start().await;
        let heard = rig.call(ask).await;
        assert_eq!(heard.status, status);
        assert!([504, -32045].contains(&heard.code()), "{}", heard.text());
        assert_eq!(rig.outcome().await, "upstream_error");
    }
}

/// F19, T-SSE-1
#[tokio::test]
async fn a_stream_that_stops_unfinished_is_not_called_finished() {
    for dialect in Dialect::JSON {
        let agent = start(Behaviour::StopsUnfinished).await.unwrap();
        let rig = Plan::echo(CardSpec::of(&agent.url(), dialect)).start().await;
        let heard = rig.call(rpc("SendStreamingMessage", &says("hi"))).await;
        let events = heard.events();
        assert_eq!((events.len(), events[1].name.as_deref()), (2, Some("error")), "{}", heard.text());
        assert!(!heard.text().contains("COMPLETED"));
        assert_eq!(rig.outcome().await, "stream_incomplete");
    }
}

/// Agents of the Python SDK 0.3 tell a cancellation to the canceller alone. They are asked once where the task stands, and
/// what they say is the last event, in one record.
#[tokio::test]
async fn the_state_that_a_stream_left_out_is_asked_for_once() {
    for dialect in [Dialect::J1, Dialect::R1, Dialect::J3, Dialect::R3] {
        let agent = Scripted::start(Script::by(|request| {
            let spoken = Spoken::of(request);
            match spoken.asked {
                Asked::Get => spoken.answer(spoken.task("t1", State::Canceled, "gone")),
                Asked::Subscribe => Reply::sse().end(),
                Asked::Send | Asked::Stream | Asked::List | Asked::Cancel | Asked::Card | Asked::Other => {
                    Reply::sse().event(spoken.event(spoken.sent(spoken.task("t1", State::Working, "")))).end()
                }
            }
        }))
        .await
        .unwrap();
        let rig = Plan::echo(CardSpec::of(&agent.url(), dialect)).start().await;
        let [newer, bare, older, _] = stream_asks();
        for ask in [newer, bare, older] {
            let heard = rig.call(ask).await;
            let events = heard.events();
            assert!(events.iter().all(|event| event.name.is_none()), "{dialect:?}: {}", heard.text());
            assert_eq!(events.len(), 2, "{dialect:?}: {}", heard.text());
            assert!(heard.text().to_lowercase().contains("canceled"), "{dialect:?}: {}", heard.text());
        }
        // The agent told nothing at all here; a stream of 1.0 still begins with the task.
        let heard = rig.call(rpc("SubscribeToTask", r#"{"id":"t1"}"#)).await;
        let events = heard.events();
        assert_eq!(events.len(), 2, "{dialect:?}: {}", heard.text());
        assert_eq!(events[0].at("/result/task/id"), "t1");
        assert_eq!(events[1].at("/result/statusUpdate/status/state"), "TASK_STATE_CANCELED", "{}", heard.text());
        assert!(rig.records(4).await.iter().all(|record| record.outcome == "ok"), "{dialect:?}");
        let gets = agent.requests().iter().filter(|request| Spoken::of(request).asked == Asked::Get).count();
        assert_eq!(gets, 4, "{dialect:?}");
    }
}

/// Somebody else's task, no task, or none at rest is not what the stream left out.
#[tokio::test]
async fn what_is_no_state_of_the_task_does_not_finish_a_stream() {
    for told in ["another", "working", "nothing"] {
        let agent = Scripted::start(Script::by(move |request| {
            let spoken = Spoken::of(request);
            match (spoken.asked, told) {
                (Asked::Get, "another") => spoken.answer(spoken.task("t2", State::Canceled, "")),
                (Asked::Get, "working") => spoken.answer(spoken.task("t1", State::Working, "")),
                (Asked::Get, _) => spoken.error(-32001, 404, "TASK_NOT_FOUND", "gone"),
                _ => Reply::sse().event(spoken.event(spoken.sent(spoken.task("t1", State::Working, "")))).end(),
            }
        }))
        .await
        .unwrap();
        let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
        let events = rig.call(rpc("SendStreamingMessage", &says("hi"))).await.events();
        assert_eq!((events.len(), events[1].name.as_deref()), (2, Some("error")), "{told}");
        assert_eq!(rig.outcome().await, "stream_incomplete", "{told}");
        assert_eq!(agent.requests().len(), 2, "{told}");
    }
}

#[tokio::test]
async fn a_stream_may_end_where_the_task_rests() {
    let message = r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#;
    let asks = WORKING.replace("WORKING", "INPUT_REQUIRED");
    let auth = WORKING.replace("WORKING", "AUTH_REQUIRED");
    let failed = WORKING.replace("WORKING", "FAILED");
    for last in [message, &asks, &auth, &failed, DONE] {
        let (_agent, rig) = gateway(Reply::sse().event(last).end()).await;
        let events = rig.call(rpc("SendStreamingMessage", &says("hi"))).await.events();
        assert!(events.iter().all(|event| event.name.is_none()), "{last}");
        assert_eq!(rig.outcome().await, "ok", "{last}");
    }
}

#[tokio::test]
async fn a_v10_stream_begins_with_a_task_also_if_the_agents_does_not() {
    let (_agent, rig) = gateway(Reply::sse().event(DONE.replace("COMPLETED", "WORKING")).event(DONE).end()).await;
    let events = rig.call(rpc("SendStreamingMessage", &says("hi"))).await.events();
    assert_eq!(events.len(), 3);
    assert_eq!(events[0].at("/result/task/id"), "t1");
    assert_eq!(events[0].at("/result/task/status/state"), "TASK_STATE_WORKING");
    assert_eq!(events[1].at("/result/statusUpdate/taskId"), "t1");
    let old = rig.call(stream_asks()[2].clone()).await.events();
    assert_eq!((old.len(), old[0].at("/result/kind").as_str()), (2, "status-update"));
}

/// F05
#[tokio::test]
async fn both_verbs_subscribe_and_the_agents_verb_is_learned() {
    for (behaviour, lines) in [
        (Behaviour::SubscribeByGetOnly, vec!["POST", "GET", "GET"]),
        (Behaviour::SubscribeByPostOnly, vec!["POST", "POST"]),
    ] {
        let agent = start(behaviour).await.unwrap();
        let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
        let task = rig.call(rpc("SendMessage", &says("hi"))).await.at("/result/task/id");
        let target = format!("{ECHO}/tasks/{task}:subscribe");
        let by_get = rig.call(Ask::get(&target).key(P1).v10().header("Accept", "text/event-stream")).await;
        let by_post = rig.call(Ask::post(&target).key(P1).v10().header("Content-Length", "0")).await;
        assert_eq!((by_get.status, by_post.status), (200, 200));
        assert_eq!(by_get.events(), by_post.events());
        let seen = agent.requests();
        let verbs: Vec<&str> = seen[1..].iter().map(sample_agents::hostile::RawRequest::method).collect();
        assert_eq!(verbs, lines);
    }
}

/// F19
#[tokio::test]
async fn last_event_id_replays_nothing_to_anybody() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let task = rig.call(rpc("SendMessage", &says("hi"))).await.at("/result/task/id");
    let ask = |key| Ask::post(&format!("{ECHO}/tasks/{task}:subscribe")).key(key).v10().header("Last-Event-ID", "7");
    let events = rig.call(ask(P1)).await.events();
    assert_eq!(events[0].at("/task/id"), task);
    assert_eq!(rig.call(ask(P2)).await.status, 404);
}

/// F21, F17
#[tokio::test]
async fn the_head_of_a_stream_is_ours_and_comes_before_the_first_event() {
    let gate = Gate::new();
    let headers = [
        ("Content-Type", "text/event-stream; charset=utf-8"),
        ("Connection", "keep-alive, X-Internal"),
        ("Keep-Alive", "timeout=5"),
        ("X-Internal", "10.0.0.7"),
        ("Transfer-Encoding", "chunked"),
    ];
    let (_agent, rig) = gateway(Reply::head("200 OK", &headers).wait(&gate).event(DONE).end()).await;
    let mut live = rig.live(rpc("SendStreamingMessage", &says("hi")).header("Accept-Encoding", "gzip, br")).await;
    let head = live.head.to_ascii_lowercase();
    for absent in ["keep-alive", "x-internal", "content-encoding", "content-length"] {
        assert!(!head.contains(absent), "{head}");
    }
    assert!(head.contains("cache-control: no-cache") && head.contains("x-accel-buffering: no"), "{head}");
    gate.open();
    assert!(live.event().await.is_some());
}

/// F21
#[tokio::test]
async fn an_http2_caller_gets_no_connection_headers() {
    use http_body_util::{BodyExt as _, Full};
    let headers =
        [("Content-Type", "text/event-stream"), ("Connection", "keep-alive"), ("Transfer-Encoding", "chunked")];
    let (_agent, rig) = gateway(Reply::head("200 OK", &headers).event(DONE).end()).await;
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
        .http2_only(true)
        .build_http::<Full<bytes::Bytes>>();
    let request = http::Request::post(format!("http://{}{ECHO}/message:stream", rig.address))
        .header("authorization", format!("Bearer {P1}"))
        .header("a2a-version", "1.0")
        .header("content-type", "application/json")
        .body(Full::from(says("hi")))
        .unwrap();
    let response = client.request(request).await.unwrap();
    assert_eq!((response.status(), response.version()), (http::StatusCode::OK, http::Version::HTTP_2));
    for absent in ["connection", "keep-alive", "transfer-encoding"] {
        assert!(!response.headers().contains_key(absent));
    }
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("COMPLETED"));
}

/// T-SSE-1
#[tokio::test]
async fn an_event_or_line_beyond_the_limit_ends_the_stream() {
    let agent = start(Behaviour::LongLine { bytes: 1 << 20 }).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).set("limits.event_bytes", "64KiB").start().await;
    let events = rig.call(rpc("SendStreamingMessage", &says("hi"))).await.events();
    assert_eq!((events.len(), events[1].code()), (2, -32006));
    agent.wait_for_hang_ups(1).await.unwrap();
}

/// T-SSE-1
#[tokio::test]
async fn nothing_of_an_agents_framing_reaches_the_caller() {
    let reply = Reply::sse()
        .chunk(format!("id: 7\nretry: 1\nevent: message\n: canary\nX-Canary: 1\ndata: {WORKING}\n\n"))
        .chunk(format!("event: canary\ndata: {DONE}\n\n"))
        .end();
    let (_agent, rig) = gateway(reply).await;
    let heard = rig.call(rpc("SendStreamingMessage", &says("hi"))).await;
    assert_eq!(heard.events().len(), 2, "{}", heard.text());
    for absent in ["id: 7", "retry", "canary", "event:"] {
        assert!(!heard.text().contains(absent), "{}", heard.text());
    }
}

#[tokio::test]
async fn an_event_of_another_request_breaks_the_stream() {
    let agent = Scripted::start(Script::by(|request| {
        let spoken = Spoken::of(request);
        let stranger = spoken.clone().with_rpc_id("somebody-else");
        let event = stranger.event(spoken.sent(spoken.task("t1", State::Working, "x")));
        Reply::sse().event(event).end()
    }))
    .await
    .unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
    let heard = rig.call(rpc_as(P1, ECHO, "SendStreamingMessage", &says("hi"))).await;
    assert!(heard.text().contains("-32006"), "{}", heard.text());
}

#[tokio::test]
async fn the_sample_agents_answer_every_caller() {
    let agents = sample_agents::start_all(std::net::SocketAddr::from(([127, 0, 0, 1], 0)), None).await.unwrap();
    for (url, dialect, said) in [
        (&agents.hello_url, Dialect::PathRpc, "Hello from Brutor A2A sample! You said: hi"),
        (&agents.echo_url, Dialect::J1, "hi"),
        (&agents.echo_url, Dialect::R1, "hi"),
        (&agents.echo_url, Dialect::J3, "hi"),
    ] {
        let rig = Plan::echo(CardSpec::of(url.trim_end_matches('/'), dialect)).start().await;
        for ask in stream_asks() {
            let heard = rig.call(ask).await;
            let events = heard.events();
            assert!(
                events.len() >= 2 && events.iter().all(|event| event.name.is_none()),
                "{dialect:?}: {}",
                heard.text()
            );
            assert!(heard.text().contains(said), "{dialect:?}: {}", heard.text());
        }
        let old = r#"{"jsonrpc":"2.0","id":"x","method":"message/send","params":{"message":{"role":"user","parts":[{"kind":"text","text":"hi"}]}}}"#;
        // Callers of path RPC send no id of the message; all others must.
        let named = old.replace(r#""role""#, r#""messageId":"m1","role""#);
        for ask in [
            rpc("SendMessage", &says("hi")),
            Ask::post(&format!("{ECHO}/message:send")).key(P1).v10().json(&says("hi")),
            Ask::post(ECHO).key(P1).json(&named),
            Ask::post(&format!("{ECHO}/message:send")).key(P1).json(old),
        ] {
            let heard = rig.call(ask).await;
            assert!(heard.status == 200 && heard.text().contains(said), "{dialect:?}: {}", heard.text());
        }
        let records = rig.records(8).await;
        assert!(records.len() == 8 && records.iter().all(|record| record.outcome == "ok"), "{records:?}");
    }
    agents.shutdown().await;
}
