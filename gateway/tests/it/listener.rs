//! The two listeners: what is where, what is refused, how they stop.

use http::{Method, StatusCode};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::{DEADLINE, Harness};

#[tokio::test]
async fn health_is_on_both_and_administration_on_one() {
    let h = Harness::start().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(h.get(path).send().await.status, StatusCode::OK, "{path}");
        assert_eq!(h.admin_get(path).await.status, StatusCode::OK, "{path}");
    }
    assert_eq!(h.get("/readyz").send().await.json(), json!({"status": "ready"}));
    let full = h.admin_get("/readyz").await.json();
    assert_eq!(full["checks"], json!({"registry": true, "audit": true, "running": true}));
    assert_eq!(full["relaxed"], json!([]));

    // T-ADM-4: nothing administrative answers on the public listener.
    for path in ["/metrics", "/api/v1/tenants", "/api/openapi.json", "/", "/admin"] {
        assert_eq!(h.get(path).send().await.status, StatusCode::NOT_FOUND, "{path}");
    }
    assert!(h.admin_get("/metrics").await.text().contains("chancery_registry_revision"));
    h.finish().await;
}

#[tokio::test]
async fn admin_listener_knows_its_own_names_only() {
    let settings = [("CHANCERY__ADMIN__ORIGINS", "https://admin.example.com")];
    let h = Harness::start_with(crate::harness::Db::Sqlite, chancery::clock::Clock::System, &settings).await.unwrap();
    let ask = async |host: &str, origin: Option<&str>| {
        let mut stream = tokio::net::TcpStream::connect(h.admin).await.unwrap();
        let origin = origin.map_or_else(String::new, |origin| format!("Origin: {origin}\r\n"));
        let head = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n{origin}Connection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    for host in ["127.0.0.1:1", "localhost", "[::1]:8101", "10.1.2.3", "admin.example.com"] {
        assert_eq!(ask(host, None).await, 200, "{host}");
    }
    // A site under the attacker's name that resolves to us (DNS rebinding).
    for host in ["evil.test", "localhost.evil.test", "admin.example.com.evil.test", "admin.example.com:1", ""] {
        assert_eq!(ask(host, None).await, 421, "{host}");
    }
    assert_eq!(ask("127.0.0.1", Some("https://evil.test")).await, 421);
    assert_eq!(ask("127.0.0.1", Some("null")).await, 421);
    assert_eq!(ask("127.0.0.1:8101", Some("http://127.0.0.1:8101")).await, 200);
    assert_eq!(ask("admin.example.com", Some("https://admin.example.com")).await, 200);
    h.finish().await;
}

#[tokio::test]
async fn heads_beyond_the_limits_are_refused() {
    let h = Harness::start().await;
    let status = |answer: Vec<u8>| {
        String::from_utf8_lossy(&answer).split(' ').nth(1).and_then(|code| code.parse::<u16>().ok()).unwrap_or(0)
    };
    let long = "x".repeat(9_000);
    let head = format!("GET /{long} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    assert_eq!(status(h.raw(head.as_bytes()).await), 414);
    let big = format!("GET /healthz HTTP/1.1\r\nhost: a\r\nx: {}\r\nconnection: close\r\n\r\n", "y".repeat(45_000));
    assert_eq!(status(h.raw(big.as_bytes()).await), 431);
    let many: String = (0..120).map(|at| format!("x-{at}: 1\r\n")).collect();
    let many = format!("GET /healthz HTTP/1.1\r\nhost: a\r\n{many}connection: close\r\n\r\n");
    assert_eq!(status(h.raw(many.as_bytes()).await), 431);
    h.finish().await;
}

#[tokio::test]
async fn peers_that_say_nothing_are_let_go() {
    let settings = [("CHANCERY__LIMITS__HEAD_TIMEOUT", "50ms")];
    let h = Harness::start_with(crate::harness::Db::Sqlite, chancery::clock::Clock::System, &settings).await.unwrap();
    for said in ["", "P", "GET /healthz HT", "GET /healthz HTTP/1.1\r\nhost: a\r\n"] {
        let answer = h.raw(said.as_bytes()).await;
        assert!(!String::from_utf8_lossy(&answer).contains("200"), "{said:?}");
    }
    assert_eq!(h.get("/healthz").send().await.status, StatusCode::OK);
    h.finish().await;
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed() {
    let settings = [("CHANCERY__LIMITS__CONNECTIONS", "2")];
    let h = Harness::start_with(crate::harness::Db::Sqlite, chancery::clock::Clock::System, &settings).await.unwrap();
    let hold = async || {
        let mut stream = tokio::net::TcpStream::connect(h.public).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).await.map(|_| stream)
    };
    let (first, second) = (hold().await.unwrap(), hold().await.unwrap());
    assert!(hold().await.is_err(), "the third is closed");
    drop(first);
    // The place becomes free when the gateway has seen the end.
    let again = tokio::time::timeout(DEADLINE, async {
        loop {
            if let Ok(stream) = hold().await {
                return stream;
            }
        }
    });
    drop((again.await.unwrap(), second));
    h.finish().await;
}

#[tokio::test]
async fn method_and_route_override_headers_change_nothing() {
    let h = Harness::start().await;
    let overrides = [
        ("x-http-method-override", "GET"),
        ("x-original-url", "/healthz"),
        ("x-rewrite-url", "/healthz"),
        ("x-forwarded-host", "evil.test"),
        ("x-forwarded-prefix", "/a2a"),
    ];
    for (name, value) in overrides {
        assert_eq!(h.post("/nothing", &json!({})).header(name, value).send().await.status, StatusCode::NOT_FOUND);
        assert_eq!(
            h.request(Method::DELETE, "/healthz").header(name, value).send().await.status,
            StatusCode::NOT_FOUND
        );
    }
    h.finish().await;
}

#[tokio::test]
async fn idle_connections_end_when_the_gateway_stops() {
    let h = Harness::start().await;
    let mut stream = tokio::net::TcpStream::connect(h.public).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.unwrap();
    h.begin_shutdown();
    let mut rest = Vec::new();
    tokio::time::timeout(DEADLINE, stream.read_to_end(&mut rest)).await.expect("closed in time").unwrap();
    assert!(tokio::net::TcpStream::connect(h.public).await.is_err(), "nothing new is accepted");
    h.finish().await;
}

#[tokio::test]
async fn a_connection_lives_on_when_the_body_of_a_refused_request_came_late() {
    let h = Harness::start().await;
    let mut stream = tokio::net::TcpStream::connect(h.public).await.unwrap();
    let head = "POST /a2a/acme/echo/message:send HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
                content-length: 2\r\n\r\n";
    for round in 0..3 {
        stream.write_all(head.as_bytes()).await.unwrap();
        assert_eq!(status_of_next(&mut stream).await, 401, "round {round}");
        stream.write_all(b"{}").await.unwrap();
    }
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert_eq!(status_of_next(&mut stream).await, 200);
    drop(stream);
    h.finish().await;
}

/// Reads one whole answer; leaves the connection open.
async fn status_of_next(stream: &mut tokio::net::TcpStream) -> u16 {
    let mut answer = Vec::new();
    let whole = async {
        loop {
            let read = stream.read_buf(&mut answer).await.unwrap();
            assert_ne!(read, 0, "closed after {:?}", String::from_utf8_lossy(&answer));
            let text = String::from_utf8_lossy(&answer).to_ascii_lowercase();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            if length.is_some_and(|length| length.parse() == Ok(body.len())) {
                return text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
            }
        }
    };
    tokio::time::timeout(DEADLINE, whole).await.expect("an answer in time")
}

/// R4: a stream that is open when the gateway stops ends with a legal error event, and its record is closed.
#[tokio::test]
async fn open_stream_is_told_when_the_gateway_stops() {
    let h = Harness::start().await;
    let agent = sample_agents::hostile::Scripted::start(sample_agents::hostile::Reply::sse().hang()).await.unwrap();
    h.tenant("acme").await;
    h.card("acme", "slow", &agent.url(), "v10_jsonrpc").await;
    let caller = h.caller("acme", "bot", &["slow"], &["stream"]).await;
    let call = json!({
        "jsonrpc": "2.0", "id": "1", "method": "SendStreamingMessage",
        "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}
    });
    let stream = h.post("/a2a/acme/slow", &call).header("a2a-version", "1.0").key(&caller.key).open().await;
    assert_eq!(stream.status(), StatusCode::OK);
    agent.wait_for_requests(1).await.unwrap();
    h.begin_shutdown();
    let rest = tokio::time::timeout(DEADLINE, stream.text()).await.expect("the stream ends in time").unwrap();
    assert!(rest.contains("event: error"), "{rest}");
    assert!(rest.contains("-32047"), "{rest}");
    let counted = h.app.metrics.requests.with_label_values(&["draining", "v10_jsonrpc", "stream"]);
    let records = h.finish().await;
    assert_eq!(records[0].operation.as_deref(), Some("stream"));
    assert_eq!(counted.get(), 1);
}

/// HTTP/2 with prior knowledge speaks to the same gateway.
#[tokio::test]
async fn http2_is_spoken_with_prior_knowledge() {
    let h = Harness::start().await;
    h.tenant("acme").await;
    h.card("acme", "echo", &h.agents.echo_url.clone(), "v10_jsonrpc").await;
    let http = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().unwrap();
    let answer = http.get(format!("http://{}/a2a/acme/echo", h.public)).send().await.unwrap();
    assert_eq!((answer.status(), answer.version()), (StatusCode::OK, http::Version::HTTP_2));
    let head = http.head(format!("http://{}/a2a/acme/echo", h.public)).send().await.unwrap();
    assert!(head.headers().contains_key("etag"));
    assert_eq!(head.bytes().await.unwrap().len(), 0);
    drop(http);
    h.finish().await;
}
