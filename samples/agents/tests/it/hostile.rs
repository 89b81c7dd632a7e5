//! The scripted agent and the ready-made misbehaviours do on the wire what they say.

use std::time::Duration;

use json::Json;
use sample_agents::hostile::{self, Behaviour, Gate, Reply, Script, Scripted};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{exchange, get, parse, post, text_at};

const SEND: &str = r#"{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#;
const STREAM: &str = r#"{"jsonrpc":"2.0","id":7,"method":"message/stream","params":{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}}"#;

/// What the server writes to a hand-written request, until it closes, resets or says nothing more for good.
async fn raw(agent: &Scripted, request: &str) -> (String, std::io::Result<()>) {
    let mut socket = TcpStream::connect(agent.address()).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match socket.read(&mut buffer).await {
            Ok(0) => return (String::from_utf8_lossy(&text).into_owned(), Ok(())),
            Ok(read) => text.extend_from_slice(&buffer[..read]),
            Err(error) => return (String::from_utf8_lossy(&text).into_owned(), Err(error)),
        }
    }
}

#[tokio::test]
async fn requests_are_recorded_byte_for_byte() {
    let agent = Scripted::start(Reply::json(200, "{}").close()).await.unwrap();
    let sent = "POST /a%2fb/message%3Asend?x=%31 HTTP/1.1\r\nHOST: a\r\nX-Two:  spaced \r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n";
    raw(&agent, sent).await.1.unwrap();
    let seen = agent.requests();
    assert_eq!(seen[0].line, "POST /a%2fb/message%3Asend?x=%31 HTTP/1.1");
    assert_eq!((seen[0].method(), seen[0].path()), ("POST", "/a%2fb/message%3Asend"));
    assert_eq!(seen[0].headers_text(), "HOST: a\r\nX-Two:  spaced \r\nTransfer-Encoding: chunked\r\n");
    assert_eq!(seen[0].header("x-two").unwrap(), "spaced");
    assert_eq!(seen[0].body_text(), r#"{"a":1}"#);
}

#[tokio::test]
async fn one_connection_carries_several_exchanges_and_replies_follow_the_list() {
    let agent = Scripted::start(Script::each([Reply::json(200, "1"), Reply::json(503, "2")])).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for (status, body) in [(200, "1"), (503, "2"), (503, "2")] {
        let response = client.post(agent.url()).body("x").send().await.unwrap();
        assert_eq!((response.status().as_u16(), &*response.text().await.unwrap()), (status, body));
    }
    let seen = agent.wait_for_requests(3).await.unwrap();
    assert!(seen.iter().all(|request| request.connection == 0 && request.body_text() == "x"));
    assert_eq!(agent.seen().connections, 1);
}

#[tokio::test]
async fn a_gate_holds_the_answer_back_and_a_vanished_peer_is_noticed() {
    let gate = Gate::new();
    let agent = Scripted::start(Reply::sse().event("1").wait(&gate).event("2").end()).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut response = client.get(agent.url()).send().await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "data: 1\n\n");
    gate.open();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "data: 2\n\n");
    assert_eq!(response.chunk().await.unwrap(), None);

    let hanging = hostile::start(Behaviour::Hang).await.unwrap();
    let call = client.post(hanging.url()).body(SEND).timeout(Duration::from_millis(100)).send().await;
    assert!(call.unwrap_err().is_timeout());
    assert_eq!(hanging.wait_for_hang_ups(1).await.unwrap().requests.len(), 1);
}

#[tokio::test]
async fn an_honest_agent_speaks_each_dialect_back() {
    let agent = hostile::start(Behaviour::Honest).await.unwrap();
    let j1 = post(&agent.url(), SEND).await;
    assert_eq!(j1.text_at("/result/task/status/state"), "TASK_STATE_COMPLETED");
    assert_eq!(j1.json().get("id"), Some(&Json::from(7)));
    let r1 = post(&format!("{}/message:send", agent.url()), r#"{"message":{}}"#).await;
    assert_eq!(r1.text_at("/task/artifacts/0/parts/0/text"), hostile::ANSWER);
    let j3 = post(&agent.url(), STREAM).await.events();
    assert_eq!(text_at(&j3[0], "/result/status/state"), "working");
    assert_eq!(j3.last().unwrap().pointer("/result/final"), Some(&true.into()));
    let envelope = post(&format!("{}/message%3Astream", agent.url()), STREAM).await.events();
    assert_eq!(text_at(&envelope[1], "/result/kind"), "status-update");
    let got = get(&format!("{}/tasks/t-9", agent.url())).await;
    assert_eq!(got.text_at("/id"), "t-9");
    let card = get(&format!("{}/.well-known/agent-card.json", agent.url())).await;
    assert_eq!(card.text_at("/supportedInterfaces/0/url"), agent.url());
}

#[tokio::test]
async fn resets_come_as_resets_after_half_an_event() {
    let agent = hostile::start(Behaviour::ResetMidEvent).await.unwrap();
    let request = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{STREAM}", STREAM.len());
    let (text, end) = raw(&agent, &request).await;
    assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    assert!(text.contains(r#""state":"working""#) && text.ends_with("statusUp"), "{text}");
}

#[tokio::test]
async fn a_stream_that_stops_unfinished_ends_in_order() {
    let agent = hostile::start(Behaviour::StopsUnfinished).await.unwrap();
    let events = post(&agent.url(), STREAM).await.events();
    assert_eq!(events.len(), 1);
    assert_eq!(text_at(&events[0], "/result/status/state"), "working");
}

#[tokio::test]
async fn refusing_means_that_nobody_listens() {
    let agent = hostile::start(Behaviour::Refuse).await.unwrap();
    let error = TcpStream::connect(agent.address()).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn wrong_whole_answers_are_wrong_in_the_named_way() {
    let call = async |behaviour, body: &'static str| post(&hostile::start(behaviour).await.unwrap().url(), body).await;
    assert_eq!(call(Behaviour::Unavailable, SEND).await.status, 503);
    assert_eq!(call(Behaviour::WrongRpcId, SEND).await.text_at("/id"), "not-yours");
    assert_eq!(call(Behaviour::Html, SEND).await.headers["content-type"], "text/html");
    assert_eq!(call(Behaviour::Gzip, SEND).await.headers["content-encoding"], "gzip");
    let refused = call(Behaviour::ErrorToStream, STREAM).await;
    assert_eq!(refused.headers["content-type"], "application/json");
    assert_eq!(refused.json().pointer("/error/code"), Some(&(-32004).into()));
    assert!(call(Behaviour::Huge { bytes: 3_000_000 }, SEND).await.text.len() > 3_000_000);
    let repeated = call(Behaviour::RepeatedKeys, SEND).await;
    assert_eq!(repeated.text.matches("\"artifacts\":").count(), 2);
    assert_eq!(json::read(repeated.text.as_bytes(), &json::Limits::default()), Err(json::ReadError::RepeatedKey));
    let others = call(Behaviour::OthersTask { id: "theirs".into() }, SEND).await;
    assert_eq!(others.text_at("/result/task/id"), "theirs");
}

#[tokio::test]
async fn lists_and_verbs_and_colons_go_wrong_as_told() {
    let everybody = Behaviour::ListsEverybody { ids: vec!["a".into(), "b".into()] };
    let agent = hostile::start(everybody).await.unwrap();
    let list = get(&format!("{}/tasks", agent.url())).await;
    assert_eq!((list.text_at("/tasks/1/id"), list.json().pointer("/totalSize").cloned()), ("b".into(), Some(2.into())));

    for (behaviour, refused, served) in
        [(Behaviour::SubscribeByGetOnly, "POST", "GET"), (Behaviour::SubscribeByPostOnly, "GET", "POST")]
    {
        let agent = hostile::start(behaviour).await.unwrap();
        let url = format!("{}/tasks/t-1:subscribe", agent.url());
        assert_eq!(exchange(refused, &url, &[], None).await.status, 405);
        assert_eq!(exchange(served, &url, &[], None).await.events().len(), 2);
    }
    for (behaviour, refused, served) in [
        (Behaviour::LiteralColonOnly, "message%3Asend", "message:send"),
        (Behaviour::PercentColonOnly, "message:send", "message%3asend"),
    ] {
        let agent = hostile::start(behaviour).await.unwrap();
        assert_eq!(post(&format!("{}/{refused}", agent.url()), SEND).await.status, 404);
        assert_eq!(post(&format!("{}/{served}", agent.url()), SEND).await.status, 200);
    }
}

#[tokio::test]
async fn endless_streams_and_lines_go_on_until_the_peer_is_gone() {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for behaviour in [Behaviour::Endless, Behaviour::LongLine { bytes: 2_000_000 }] {
        let agent = hostile::start(behaviour).await.unwrap();
        let mut response = client.post(agent.url()).body(STREAM).send().await.unwrap();
        let mut read = 0;
        while read < 2_000_000 {
            read += response.chunk().await.unwrap().expect("the stream goes on").len();
        }
        drop(response);
        agent.wait_for_hang_ups(1).await.unwrap();
    }
}

#[tokio::test]
async fn the_mirror_shows_what_it_heard() {
    let agent = hostile::start(Behaviour::Mirror).await.unwrap();
    let url = format!("{}/message%3Asend", agent.url());
    let answer = exchange("POST", &url, &[("X-Brutor-Tenant-Id", "acme")], Some(SEND)).await;
    let heard = answer.text_at("/result/task/artifacts/0/parts/0/text");
    assert!(heard.starts_with("POST /message%3Asend HTTP/1.1\r\n"), "{heard}");
    assert!(heard.contains("x-brutor-tenant-id: acme\r\n") && heard.ends_with(SEND), "{heard}");
    assert_eq!(parse(SEND), agent.requests()[0].json());
}

#[tokio::test]
async fn garbage_is_no_http_at_all() {
    let agent = hostile::start(Behaviour::Garbage).await.unwrap();
    let (said, ended) =
        raw(&agent, &format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{SEND}", SEND.len())).await;
    assert!(ended.is_ok() && !said.is_empty() && !said.starts_with("HTTP/"), "{said:?}");
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    assert!(client.post(agent.url()).body(SEND).send().await.is_err());
}

#[tokio::test]
async fn a_slow_agent_says_the_honest_answer_in_drops() {
    let agent = hostile::start(Behaviour::Slow { pause: Duration::from_millis(1) }).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut response = client.post(agent.url()).body(SEND).send().await.unwrap();
    let (mut text, mut pieces) = (String::new(), 0);
    while let Some(piece) = response.chunk().await.unwrap() {
        text += std::str::from_utf8(&piece).unwrap();
        pieces += 1;
    }
    assert!(pieces > 3, "{pieces} pieces");
    assert_eq!(text_at(&parse(&text), "/result/task/status/state"), "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_rug_pulled_card_changes_after_it_was_believed() {
    let behaviour = Behaviour::RugPulledCard { fetches: 2, url: "http://elsewhere.example".to_owned() };
    let agent = hostile::start(behaviour).await.unwrap();
    let card = format!("{}/.well-known/agent-card.json", agent.url());
    let (first, second, third) = (get(&card).await, get(&card).await, get(&card).await);
    assert_eq!(first.json(), second.json());
    assert_ne!(first.json(), third.json());
    assert!(third.text.contains("http://elsewhere.example") && !third.text.contains(&agent.url()), "{}", third.text);
    assert_eq!(post(&agent.url(), SEND).await.text_at("/result/task/status/state"), "TASK_STATE_COMPLETED");
}
