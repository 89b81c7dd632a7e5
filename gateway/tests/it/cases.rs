//! Abuse and faults from the field, in the spellings that the modules by subject leave out.
//!
//! The letters before a test are the case's name in `docs/cases.md`.

mod bodies;
mod streams;

use crate::harness::{CANARY, Db, Harness, document, logs};
use crate::rig::{CardSpec, G1, P1, P2, Plan, UPSTREAM_SECRET, rest, rpc, says};
use crate::route::disguises;
use crate::wire::{Ask, Heard, Told};
use a2a::Dialect;
use bytes::Bytes;
use http_body_util::Full;
use sample_agents::hostile::{Behaviour, Script, Scripted, Spoken, State, start};
use serde_json::json;
use std::net::SocketAddr;
use tokio::task::JoinSet;

const ECHO: &str = "/a2a/acme/echo";

/// A v0.3 JSON-RPC request.
fn old(key: &str, card: &str, method: &str, params: &str) -> Ask {
    Ask::post(card).key(key).json(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#))
}

/// A v0.3 message with one more member.
fn old_message(member: &str) -> String {
    format!(
        r#"{{"message":{{"kind":"message","messageId":"m1","role":"user","parts":[{{"kind":"text","text":"hi"}}],{member}}}}}"#
    )
}

/// The only thing that was told: the one event of a stream, or the whole answer.
fn only(heard: &Heard) -> Told {
    let streamed = heard.header("content-type").is_some_and(|media| media.contains("event-stream"));
    if !streamed {
        return Told { name: None, data: heard.text() };
    }
    let mut events = heard.events();
    assert_eq!(events.len(), 1, "{}", heard.text());
    events.remove(0)
}

/// An HTTP/2 connection to a gateway; it lives as long as the second half.
async fn http2(address: SocketAddr) -> (hyper::client::conn::http2::SendRequest<Full<Bytes>>, JoinSet<()>) {
    let socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let io = hyper_util::rt::TokioIo::new(socket);
    let executor = hyper_util::rt::TokioExecutor::new();
    let (sender, connection) = hyper::client::conn::http2::handshake(executor, io).await.unwrap();
    let mut running = JoinSet::new();
    running.spawn(async move { drop(connection.await) });
    (sender, running)
}

/// A send to `acme/echo` over HTTP/2 under any authority.
fn over_http2(authority: &str, path: &str, headers: &[(&str, &str)]) -> http::Request<Full<Bytes>> {
    let mut request = http::Request::post(format!("http://{authority}{ECHO}/{path}"))
        .header("authorization", format!("Bearer {P1}"))
        .header("a2a-version", "1.0")
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::from(says("hi"))).unwrap()
}

/// T-ROUTE-3, T-HDR-1
#[tokio::test]
async fn over_http2_too_the_path_alone_chooses_and_our_headers_are_ours() {
    let (acme, globex) = (start(Behaviour::Honest).await.unwrap(), start(Behaviour::Honest).await.unwrap());
    let plan = Plan::echo(CardSpec::of(&acme.url(), Dialect::R1));
    let rig = plan.card("globex/echo", CardSpec::of(&globex.url(), Dialect::R1)).start().await;
    let (mut sender, _running) = http2(rig.address).await;
    for headers in [
        &[][..],
        &[("host", "globex.test")],
        &[("x-forwarded-host", "globex.test"), ("x-original-url", "/a2a/globex/echo/message:send")],
        &[("x-brutor-tenant-id", "globex")],
    ] {
        let answer = sender.send_request(over_http2("globex.test", "message:send", headers)).await.unwrap();
        assert_eq!(answer.status(), http::StatusCode::OK, "{headers:?}");
        let seen = acme.requests().pop().unwrap();
        assert_eq!(seen.line, "POST /message%3Asend HTTP/1.1");
        assert_eq!(seen.header("x-brutor-tenant-id").as_deref(), Some("acme"));
        assert!(!seen.headers_text().contains("globex"), "{}", seen.headers_text());
    }
    assert_eq!(globex.seen().connections, 0);
}

/// T-HDR-4
#[tokio::test]
async fn over_http2_too_a_single_header_sent_twice_is_refused() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let (mut sender, _running) = http2(rig.address).await;
    for twice in [
        &[("authorization", "Bearer sk_test_acme_2")][..],
        &[("a2a-version", "1.0")],
        &[("content-type", "application/json")],
        &[("x-api-key", P1), ("x-api-key", P2)],
    ] {
        let answer = sender.send_request(over_http2("gw.test", "message:send", twice)).await.unwrap();
        assert_eq!(answer.status(), http::StatusCode::BAD_REQUEST, "{twice:?}");
    }
    assert_eq!(agent.seen().connections, 0);
}

/// T-HDR-1
#[tokio::test]
async fn a_correlation_id_that_is_not_taken_over_is_kept_in_the_record_alone() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let heard = rig.call(rest(&says("hi")).header("X-Correlation-Id", "not one of ours!")).await;
    let seen = agent.requests().pop().unwrap();
    assert!(!format!("{}{}", heard.head, seen.headers_text()).contains("not one of ours"));
    let record = rig.records(1).await.remove(0);
    assert!(String::from_utf8_lossy(&record.document).contains("not one of ours!"));
    assert_eq!(Some(record.correlation_id), heard.header("x-correlation-id"));
}

/// T-ROUTE-1
#[tokio::test]
async fn no_spelling_of_a_name_shows_a_hidden_card() {
    let h = Harness::start().await;
    let settings = json!({"upstream": {"interfaces": [{"url": "http://127.0.0.1:9"}]}, "visibility": "hidden"});
    for tenant in ["acme", "globex"] {
        h.tenant(tenant).await;
        h.card_with(tenant, "echo", &settings, &document("Concealed")).await;
    }
    let mut asked = 0;
    for tenant in ["acme", "globex"] {
        for name in disguises(tenant).into_iter().chain([tenant.to_owned()]) {
            for path in [format!("/a2a/{name}/echo"), format!("/.well-known/agent-card/{name}/echo")] {
                let head = format!("GET {path} HTTP/1.1\r\nhost: gw.test\r\nconnection: close\r\n\r\n");
                let answer = String::from_utf8_lossy(&h.raw(head.as_bytes()).await).into_owned();
                let status = answer.split(' ').nth(1).unwrap_or_default();
                assert!(["400", "401", "404"].contains(&status), "{path}: {answer}");
                assert!(!answer.contains("Concealed"), "{path}: {answer}");
                asked += 1;
            }
        }
    }
    assert!(asked >= 400, "{asked}");
    h.finish().await;
}

/// F24
#[tokio::test]
async fn an_absolute_request_target_does_not_reach_a_signed_card() {
    let h = Harness::start().await;
    h.tenant("acme").await;
    h.card("acme", "echo", "http://127.0.0.1:9", "v10_jsonrpc").await;
    for path in ["/.well-known/agent-card/acme/echo", "/a2a/acme/echo", "/a2a/acme"] {
        let head = format!("GET http://evil.test{path} HTTP/1.1\r\nhost: evil.test\r\nconnection: close\r\n\r\n");
        let answer = String::from_utf8_lossy(&h.raw(head.as_bytes()).await).into_owned();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("https://gw.test/a2a/acme"), "{path}: {answer}");
        assert!(!answer.contains("evil.test"), "{path}: {answer}");
    }
    h.finish().await;
}

/// F10, T-ROUTE-4
#[tokio::test]
async fn the_tenant_member_of_no_operation_selects_a_tenant() {
    let (acme, globex) = (start(Behaviour::Honest).await.unwrap(), start(Behaviour::Honest).await.unwrap());
    for dialect in [Dialect::J1, Dialect::R1] {
        let plan = Plan::echo(CardSpec::of(&acme.url(), dialect));
        let rig = plan.card("globex/echo", CardSpec::of(&globex.url(), dialect)).start().await;
        let task = rig.call(rpc("SendMessage", &says("hi"))).await.at("/result/task/id");
        let message = says("hi").replacen('{', "", 1);
        let (id, of) = (format!(r#""id":"{task}"}}"#), format!(r#""taskId":"{task}","#));
        for (method, params) in [
            ("SendMessage", message.clone()),
            ("SendStreamingMessage", message),
            ("GetTask", id.clone()),
            ("ListTasks", r#""pageSize":5}"#.to_owned()),
            ("SubscribeToTask", id.clone()),
            ("CancelTask", id),
            ("CreateTaskPushNotificationConfig", format!(r#"{of}"url":"https://hook.test/x"}}"#)),
            ("GetTaskPushNotificationConfig", format!(r#"{of}"id":"c1"}}"#)),
            ("ListTaskPushNotificationConfigs", format!(r#"{of}"pageSize":5}}"#)),
            ("DeleteTaskPushNotificationConfig", format!(r#"{of}"id":"c1"}}"#)),
            ("GetExtendedAgentCard", r#""x":1}"#.to_owned()),
        ] {
            let heard = rig.call(rpc(method, &format!(r#"{{"tenant":"globex",{params}"#))).await;
            assert_eq!(heard.status, 200, "{method}: {}", heard.text());
        }
        for path in ["tasks", &format!("tasks/{task}"), &format!("tasks/{task}:subscribe")] {
            let heard = rig.call(Ask::get(&format!("{ECHO}/{path}?tenant=globex")).key(P1).v10()).await;
            assert_eq!(heard.status, 200, "{path}: {}", heard.text());
        }
        let inline = Ask::post(&format!("{ECHO}/globex/message:send")).key(P1).v10().json(&says("hi"));
        assert_eq!(rig.call(inline).await.status, 404);
    }
    assert_eq!(globex.seen().connections, 0);
    let seen = acme.requests();
    assert!(seen.len() >= 16, "{}", seen.len());
    for request in seen {
        let all = format!("{}\n{}\n{}", request.line, request.headers_text(), request.body_text());
        assert!(!all.contains("globex"), "{all}");
    }
}

/// F08, T-ROUTE-2
#[tokio::test]
async fn the_agents_query_is_made_of_known_parameters() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let task = rig.call(rpc("SendMessage", &says("hi"))).await.at("/result/task/id");
    let get = |query: &str| Ask::get(&format!("{ECHO}/tasks/{task}?{query}")).key(P1).v10();
    for query in ["historyLength=2&evil=canary&%2e%2e%2f=1&tenant=x", "evil=%0d%0aX:1&history_length=2&url=http://x"] {
        assert_eq!(rig.call(get(query)).await.status, 200, "{query}");
        assert_eq!(agent.requests().pop().unwrap().target(), format!("/tasks/{task}?historyLength=2"));
    }
    let sent = agent.requests().len();
    for query in
        ["historyLength=1&historyLength=2", "historyLength=1&history_length=2", "historyLength=%ff", "historyLength=x"]
    {
        assert_eq!(rig.call(get(query)).await.status, 400, "{query}");
    }
    assert_eq!(agent.requests().len(), sent);
}

/// F08
#[tokio::test]
async fn an_id_that_an_agent_made_up_never_changes_where_a_call_goes() {
    let agent = Scripted::start(Script::by(|request| {
        let (spoken, text) = (Spoken::of(request), request.body_text());
        let id = text.split("make ").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("t-x");
        spoken.answer(spoken.sent(spoken.task(id, State::Completed, "done")))
    }))
    .await
    .unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let ids = ["../../admin", "..", ".", "t1?x=1", "t1#", "a/b", "@evil.test", "t 1", "t1%2f..%2fadmin", "t1;x"];
    for id in ids {
        rig.call(rpc("SendMessage", &says(&format!("make {id}")))).await;
        for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
            let heard = rig.call(rpc(method, &format!(r#"{{"id":"{id}"}}"#))).await;
            assert!(heard.text().contains("-32001"), "{method} {id}: {}", heard.text());
        }
        let escaped: String = id.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for (verb, end) in
            [("GET", ""), ("POST", ":cancel"), ("GET", ":subscribe"), ("GET", "/pushNotificationConfigs")]
        {
            let ask = Ask::new(verb, &format!("{ECHO}/tasks/{escaped}{end}")).key(P1).v10();
            let status = rig.call(ask).await.status;
            assert!([400, 404].contains(&status), "{verb} {id}{end}: {status}");
        }
    }
    assert_eq!(agent.requests().len(), ids.len());
    assert!(agent.requests().iter().all(|request| request.target() == "/message%3Asend"));
}

/// F39, T-TASK-1, T-TASK-2
#[tokio::test]
async fn a_foreign_task_is_a_missing_one_in_the_older_generation_too() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let spec = CardSpec::of(&agent.url(), Dialect::J3);
    let plan = Plan::echo(spec.clone()).card("acme/weather", spec.clone()).card("globex/echo", spec);
    let rig = plan.start().await;
    let task = rig.call(old(P1, ECHO, "message/send", &old_message(r#""metadata":{}"#))).await.at("/result/id");
    assert!(!task.is_empty());
    let naming = |key: &str, card: &str, id: &str| {
        let by_id = format!(r#"{{"id":"{id}"}}"#);
        [
            ("tasks/get", by_id.clone()),
            ("tasks/cancel", by_id.clone()),
            ("tasks/resubscribe", by_id),
            ("message/send", old_message(&format!(r#""taskId":"{id}""#))),
            ("message/stream", old_message(&format!(r#""taskId":"{id}""#))),
            ("message/send", old_message(&format!(r#""referenceTaskIds":["{id}"]"#))),
        ]
        .map(|(method, params)| (method, old(key, card, method, &params)))
    };
    let told = |heard: Heard, id: &str| (heard.status, heard.header("content-type"), heard.text().replace(id, "ID"));
    for (key, card) in [(P2, ECHO), (P1, "/a2a/acme/weather"), (G1, "/a2a/globex/echo")] {
        for ((method, foreign), (_, missing)) in
            naming(key, card, &task).into_iter().zip(naming(key, card, "never-was"))
        {
            let foreign = told(rig.call(foreign).await, &task);
            assert_eq!(foreign, told(rig.call(missing).await, "never-was"), "{method} {key} {card}");
            assert!(foreign.2.contains("-32001"), "{method}: {foreign:?}");
        }
    }
    assert_eq!(agent.requests().len(), 1);
}

/// T-EGR-1
#[tokio::test]
async fn nothing_that_a_caller_writes_chooses_where_the_gateway_connects() {
    let (agent, bystander) = (start(Behaviour::Honest).await.unwrap(), start(Behaviour::Honest).await.unwrap());
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let (url, host) = (bystander.url(), bystander.address().to_string());
    let member = |member: String| says("hi").replacen('{', &format!("{{{member},"), 1);
    let inside = |member: String| says("hi").replace(r#""messageId""#, &format!(r#"{member},"messageId""#));
    let mut asks: Vec<Ask> =
        ["X-Forwarded-Host", "X-Target-Url", "X-Upstream", "Destination", "A2A-Extensions", "Referer"]
            .iter()
            .flat_map(|name| [(name, &url), (name, &host)])
            .map(|(name, value)| rest(&says("hi")).header(name, value))
            .collect();
    asks.push(rest(&says("hi")).header("Forwarded", &format!("host={host}")));
    asks.extend(["url", "upstream", "agentUrl", "endpoint"].map(|name| rest(&member(format!(r#""{name}":"{url}""#)))));
    asks.push(rest(&member(format!(r#""metadata":{{"url":"{url}","upstream":{{"url":"{url}"}}}}"#))));
    asks.push(rest(&inside(format!(r#""metadata":{{"url":"{url}"}}"#))));
    asks.push(rest(&inside(format!(r#""extensions":["{url}"]"#))));
    asks.push(rest(&says("hi").replace(r#""text":"hi""#, &format!(r#""url":"{url}/file.png""#))));
    let answered = asks.len();
    for query in ["url", "upstream", "tenant", "callback"] {
        let target = format!("{ECHO}/message:send?{query}={url}");
        asks.push(Ask::post(&target).key(P1).v10().json(&says("hi")));
    }
    for ask in asks {
        let shown = String::from_utf8_lossy(&ask.bytes()).into_owned();
        assert_eq!(rig.call(ask).await.status, 200, "{shown}");
    }
    let push = member(format!(r#""configuration":{{"taskPushNotificationConfig":{{"url":"{url}"}}}}"#));
    assert_eq!(rig.call(rest(&push)).await.status, 400);
    let absolute = Ask::post(&format!("{url}{ECHO}/message:send")).key(P1).v10().json(&says("hi"));
    assert_eq!(rig.call(absolute).await.status, 200);
    assert_eq!(bystander.seen().connections, 0);
    let seen = agent.requests();
    assert_eq!(seen.len(), answered + 5);
    let credential = format!("Bearer {UPSTREAM_SECRET}");
    assert!(seen.iter().all(|request| request.header("authorization").as_ref() == Some(&credential)));
}

/// T-HDR-5
#[tokio::test]
async fn neither_credentials_nor_words_get_into_logs_or_records() {
    let h = Harness::start_with(Db::Sqlite, chancery::clock::Clock::System, &[]).await.unwrap();
    h.tenant("acme").await;
    h.card("acme", "echo", &h.agents.echo_url.clone(), "v10_jsonrpc").await;
    let caller = h.caller("acme", "bot", &["*"], &["*"]).await;
    let call = json!({
        "jsonrpc": "2.0", "id": CANARY, "method": "SendMessage",
        "params": {"message": {"messageId": CANARY, "role": "ROLE_USER", "parts": [{"text": format!("say {CANARY}")}]}}
    });
    let path = format!("{ECHO}?token={CANARY}");
    let ask = || h.post(&path, &call).header("a2a-version", "1.0").header("cookie", &format!("s={CANARY}"));
    let heard = ask().key(&caller.key).send().await;
    assert!(heard.text().contains(&format!("say {CANARY}")), "{}", heard.text());
    assert_eq!(ask().bad_key(CANARY).send().await.status, http::StatusCode::UNAUTHORIZED);
    assert_eq!(h.post(&path, &call).header("x-api-key", CANARY).send().await.status, http::StatusCode::UNAUTHORIZED);
    let broken = h.post(&path, &json!([CANARY])).header("a2a-version", "1.0").key(&caller.key).send().await;
    assert_eq!(broken.json()["error"]["code"], -32600, "{}", broken.text());

    let detectors = json!([{"id": "words", "name": "w", "words": [CANARY], "action": "block"}]);
    h.policy("acme", "strict", &json!({"surfaces": ["a2a_inbound"], "detectors": detectors})).await;
    h.change_tenant("acme", |fields| fields.default_policy = Some("strict".to_owned())).await;
    let heard = ask().key(&caller.key).send().await;
    assert_eq!(heard.json()["error"]["code"], -32042, "{}", heard.text());
    let records = h.finish().await;
    assert_eq!(records.iter().filter(|record| record.outcome == "blocked").count(), 1);
    assert!(!logs().contains(&caller.key));
    assert!(records.iter().all(|record| !format!("{record:?}").contains(&caller.key)));
}
