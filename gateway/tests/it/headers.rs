//! What of a head reaches the agent, and what of the agent's reaches the caller.

use crate::rig::{CardSpec, P1, P2, Plan, UPSTREAM_SECRET, rest, rpc, says};
use crate::wire::{Ask, exchange};
use a2a::Dialect;
use sample_agents::hostile::{Behaviour, Reply, Scripted, start};

const SEND: &str = r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;

/// T-HDR-1, T-HDR-2, T-HDR-3
#[tokio::test]
async fn our_headers_are_stamped_once_whatever_the_caller_sends() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let spoofs: [&[(&str, &str)]; 8] = [
        &[("X-Brutor-Tenant-Id", "canary")],
        &[("x-brutor-tenant-id", "canary"), ("X-BRUTOR-TENANT-ID", "canary")],
        &[("X_Brutor_Tenant_Id", "canary")],
        &[("x-brutor_tenant-id", "canary")],
        &[("X-Brutor-Anything", "canary")],
        &[("Connection", "x-brutor-tenant-id, authorization"), ("X-Brutor-Tenant-Id", "canary")],
        &[("X-Correlation-Id", "canary one"), ("X-Forwarded-For", "canary")],
        &[("X_Correlation_Id", "canary"), ("Cookie", "canary=1"), ("Via", "canary"), ("X-Real-Ip", "canary")],
    ];
    for headers in spoofs {
        let ask = headers.iter().fold(rest(SEND), |ask, (name, value)| ask.header(name, value));
        let heard = rig.call(ask).await;
        assert_eq!(heard.status, 200, "{headers:?}");
        let seen = agent.requests().pop().unwrap();
        assert!(!seen.headers_text().contains("canary"), "{headers:?}: {}", seen.headers_text());
        let stamps: Vec<_> = seen
            .header_list()
            .into_iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("x-brutor-tenant-id"))
            .collect();
        assert_eq!(stamps.len(), 1);
        assert_eq!(stamps[0].1, "acme");
        assert_eq!(seen.header("x-correlation-id"), heard.header("x-correlation-id"));
        assert_eq!(seen.header("authorization").as_deref(), Some(&*format!("Bearer {UPSTREAM_SECRET}")));
    }
}

/// T-HDR-2
#[tokio::test]
async fn only_the_allowed_headers_reach_the_agent() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let ask = rest(SEND)
        .header("traceparent", trace)
        .header("tracestate", "v=1")
        .header("A2A-Extensions", "https://x.test/a, https://x.test/b")
        .header("X-A2A-Extensions", "https://x.test/b")
        .header("Accept-Encoding", "gzip, br")
        .header("TE", "trailers")
        .header("Priority", "u=1")
        .header("X-Api-Canary", "1")
        .header("X-Correlation-Id", "abc-123");
    assert_eq!(rig.call(ask).await.header("x-correlation-id").as_deref(), Some("abc-123"));
    let seen = agent.requests().pop().unwrap();
    let mut names: Vec<String> = seen.header_list().into_iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    names.sort();
    let allowed = [
        "a2a-extensions",
        "a2a-version",
        "accept",
        "accept-encoding",
        "authorization",
        "content-length",
        "content-type",
        "host",
        "traceparent",
        "tracestate",
        "user-agent",
        "x-brutor-tenant-id",
        "x-correlation-id",
    ];
    assert_eq!(names, allowed);
    assert_eq!(seen.header("a2a-extensions").as_deref(), Some("https://x.test/a, https://x.test/b"));
    assert_eq!(seen.header("accept-encoding").as_deref(), Some("identity"));
    assert_eq!(seen.header("x-correlation-id").as_deref(), Some("abc-123"));
    assert_eq!(seen.header("traceparent").as_deref(), Some(trace));
}

/// T-HDR-4
#[tokio::test]
async fn a_single_header_sent_twice_is_refused() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    for (name, value) in [
        ("Authorization", "Bearer sk_test_acme_2"),
        ("A2A-Version", "1.0"),
        ("Content-Type", "application/json"),
        ("Host", "gw.test"),
        ("Content-Length", "1"),
    ] {
        let heard = rig.call(rest(SEND).header(name, value)).await;
        assert_eq!(heard.status, 400, "{name}");
    }
    let twice = Ask::post("/a2a/acme/echo/message:send").header("X-API-Key", P1).header("X-API-Key", P2);
    assert_eq!(rig.call(twice.v10().json(SEND)).await.status, 400);
    assert_eq!(agent.seen().connections, 0);
}

/// T-HDR-5
#[tokio::test]
async fn no_credential_of_the_caller_reaches_the_agent() {
    let agent = start(Behaviour::Mirror).await.unwrap();
    for dialect in Dialect::JSON {
        let rig = Plan::echo(CardSpec::of(&agent.url(), dialect)).start().await;
        let by_key = Ask::post("/a2a/acme/echo").header("X-API-Key", P1).v10();
        for ask in [rpc("SendMessage", &says("hi")), by_key.json(r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}}"#)] {
            assert_eq!(rig.call(ask.header("Cookie", "session=sk_test_cookie")).await.status, 200);
        }
        for request in agent.requests() {
            let all = format!("{}{}{}", request.line, request.headers_text(), request.body_text());
            assert!(!all.contains("sk_test_"), "{all}");
        }
    }
}

/// T-HDR-5, F21
#[tokio::test]
async fn no_header_of_the_agent_reaches_the_caller() {
    let body = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
    let length = body.len().to_string();
    let headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", length.as_str()),
        ("Set-Cookie", "canary=1"),
        ("WWW-Authenticate", "Basic realm=canary"),
        ("X-Internal", "canary"),
        ("Server", "canary"),
        ("Location", "http://canary.test"),
        ("X-Correlation-Id", "canary"),
        ("Cache-Control", "public, max-age=9"),
        ("Access-Control-Allow-Origin", "http://canary.test"),
    ];
    let agent = Scripted::start(Reply::head("200 OK", &headers).bytes(body)).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let heard = rig.call(rest(SEND)).await;
    assert_eq!(heard.status, 200);
    assert!(!heard.head.contains("canary") && !heard.head.contains("max-age"), "{}", heard.head);
    assert_eq!(heard.header("content-type").as_deref(), Some("application/a2a+json"));
}

#[tokio::test]
async fn a_content_coding_is_refused_in_both_directions() {
    let agent = start(Behaviour::Gzip).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
    for coding in ["gzip", "deflate, gzip", "br", "GZIP"] {
        assert_eq!(rig.call(rest(SEND).header("Content-Encoding", coding)).await.status, 415, "{coding}");
    }
    assert_eq!(agent.seen().connections, 0);
    assert_eq!(rig.call(rpc("SendMessage", &says("hi"))).await.code(), -32006);
}

/// A2A 1.0 §11.1 and §11.6 name `application/a2a+json`; who says what it takes and does not name that gets plain JSON. An answer is
/// what the specification says, whoever asks.
#[tokio::test]
async fn errors_are_called_what_the_caller_takes() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let (a2a, json) = ("application/a2a+json", "application/json");
    for (accept, media) in [
        (None, a2a),
        (Some("application/a2a+json, application/json"), a2a),
        (Some("text/html, Application/A2A+JSON; q=0.5"), a2a),
        (Some("*/*"), json),
        (Some("application/json"), json),
        (Some("text/event-stream"), json),
    ] {
        let with = |ask: Ask| accept.map_or_else(|| ask.clone(), |accept| ask.clone().header("Accept", accept));
        let missing = rig.call(with(Ask::get("/a2a/acme/echo/tasks/never-was").key(P1).v10())).await;
        assert_eq!((missing.status, missing.header("content-type").as_deref()), (404, Some(media)), "{accept:?}");
        let unheard = rig.call(with(Ask::get("/a2a/acme/echo/tasks/never-was").v10())).await;
        assert_eq!((unheard.status, unheard.header("content-type").as_deref()), (401, Some(media)), "{accept:?}");
        let sent = rig.call(with(rest(SEND))).await;
        assert_eq!((sent.status, sent.header("content-type").as_deref()), (200, Some(a2a)), "{accept:?}");
    }
}

/// F04
#[tokio::test]
async fn media_types_are_read_by_their_meaning() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1).guarded()).start().await;
    let injection = SEND.replace("hi", crate::rig::INJECTION);
    let ask = |content_type: Option<&str>| {
        let ask = Ask::post("/a2a/acme/echo/message:send").key(P1).v10();
        let ask = content_type.map_or_else(|| ask.clone(), |value| ask.clone().header("Content-Type", value));
        ask.body(injection.as_bytes())
    };
    for known in ["application/a2a+json", "application/json", "application/a2a+json; charset=utf-8", "APPLICATION/JSON"]
    {
        let heard = rig.call(ask(Some(known))).await;
        assert_eq!((heard.status, heard.at("/error/details/0/reason").as_str()), (403, "GUARDRAIL_BLOCKED"), "{known}");
        assert_eq!(heard.header("content-type").as_deref(), Some("application/a2a+json"));
    }
    for unknown in
        [Some("application/x-www-form-urlencoded"), Some("text/plain"), Some("application/json, text/plain"), None]
    {
        assert_eq!(rig.call(ask(unknown)).await.status, 415, "{unknown:?}");
    }
    assert_eq!(agent.seen().connections, 0);
}

/// F59
#[tokio::test]
async fn a_head_that_is_not_http_is_closed() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let head = format!("Host: gw.test\r\nAuthorization: Bearer {P1}\r\nContent-Type: application/json\r\n");
    for framing in
        ["Content-Length: 80\r\nTransfer-Encoding: chunked\r\n", "Content-Length: +80\r\n", "Content-Length: 8,8\r\n"]
    {
        let bytes =
            format!("POST /a2a/acme/echo/message:send HTTP/1.1\r\n{head}{framing}Connection: close\r\n\r\n{SEND}");
        let heard = exchange(rig.address, bytes.as_bytes()).await;
        assert_eq!(heard.status, 400, "{framing}");
    }
    assert_eq!(agent.seen().connections, 0);
}

#[tokio::test]
async fn a_single_header_sent_twice_is_refused_over_http2_too() {
    use http_body_util::Full;
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
        .http2_only(true)
        .build_http::<Full<bytes::Bytes>>();
    for twice in ["", "authorization", "a2a-version", "content-type"] {
        let bearer = format!("Bearer {P1}");
        let mut request = http::Request::post(format!("http://{}/a2a/acme/echo/message:send", rig.address));
        for (name, value) in [("authorization", &*bearer), ("a2a-version", "1.0"), ("content-type", "application/json")]
        {
            request = request.header(name, value);
            if name == twice {
                request = request.header(name, value);
            }
        }
        let response = client.request(request.body(Full::from(SEND)).unwrap()).await.unwrap();
        assert_eq!(response.status(), if twice.is_empty() { 200 } else { 400 }, "{twice}");
    }
    assert_eq!(agent.requests().len(), 1);
}
