//! The client against real sockets: bytes on the wire, names that lie, redirects, deadlines, TLS.

#![expect(clippy::unwrap_used, reason = "test servers; the lint's exception covers test functions only")]
#![expect(clippy::disallowed_methods, reason = "test servers live as long as the test's runtime")]

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use egress::{
    Client, ClientSettings, ConnectError, Connector, ConnectorSettings, Denied, EgressError, FetchError, FetchLimits,
    Net, Own, Plaintext, Protocol, Rules, Script, Why, rules::parse_allow,
};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const KEY: &str = "egress.allow";

/// A server that answers every request with the same bytes and reports each request head it read.
struct Server {
    address: SocketAddr,
    heads: mpsc::Receiver<String>,
}

async fn serve(answer: &'static [u8]) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, heads) = mpsc::channel(64);
    tokio::task::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let sender = sender.clone();
            tokio::task::spawn(async move {
                while let Some(head) = read_head(&mut stream).await {
                    let _ = sender.send(head).await;
                    if stream.write_all(answer).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    Server { address, heads }
}

async fn read_head(stream: &mut tokio::net::TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(head).unwrap())
}

fn client(allow: &[String], own: Vec<Own>, settings: ConnectorSettings) -> Client {
    let rules = Rules::new(parse_allow(allow).unwrap(), own, Plaintext::Listed, KEY);
    Client::new(Connector::new(Arc::new(rules), settings).unwrap(), &ClientSettings::default())
}

fn allowing(address: SocketAddr) -> Client {
    client(&[address.to_string()], Vec::new(), ConnectorSettings::default())
}

fn scripted(allow: &[String], script: &Arc<Script>) -> Client {
    let net = Net::Scripted(Arc::clone(script));
    client(allow, Vec::new(), ConnectorSettings { net, ..ConnectorSettings::default() })
}

fn get(url: &str) -> Request<Bytes> {
    Request::builder().uri(url).body(Bytes::new()).unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[tokio::test]
async fn paths_leave_byte_for_byte() {
    let mut server = serve(OK).await;
    let client = allowing(server.address);
    for path in
        ["/a/message%3Asend", "/a/message:send", "/a/message%3asend", "/a/./b/../c//d", "/a/%2e%2e/x%2Fy", "/?q=%7E~"]
    {
        let url = format!("http://{}{path}", server.address);
        let mut request = get(&url);
        *request.method_mut() = Method::POST;
        let response = client.request(request).await.unwrap();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "ok");
        let head = server.heads.recv().await.unwrap();
        assert!(head.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{head}");
        assert!(head.contains(&format!("host: {}\r\n", server.address)), "{head}");
    }
}

#[tokio::test]
async fn names_that_lead_inside_are_refused_before_anything_is_dialled() {
    let script = Arc::new(Script::default());
    script.name("mixed.test", &[ip("8.8.8.8"), ip("10.0.0.5")]);
    script.name("six.test", &[ip("::1")]);
    script.name("cname.test", &[ip("127.0.0.1")]);
    script.name("mapped.test", &[ip("::ffff:169.254.169.254")]);
    script.name("empty.test", &[]);
    let client = scripted(&[], &script);
    for name in ["mixed.test", "six.test", "cname.test", "mapped.test"] {
        let error = client.request(get(&format!("https://{name}/"))).await.unwrap_err();
        assert!(matches!(&error, EgressError::Denied(Denied { why: Why::Address { .. }, .. })), "{name}: {error:?}");
    }
    for name in ["gone.test", "empty.test"] {
        let error = client.request(get(&format!("https://{name}/"))).await.unwrap_err();
        assert!(matches!(&error, EgressError::Connect(ConnectError::Resolve)), "{name}: {error:?}");
        assert!(error.nothing_was_sent());
    }
    assert_eq!(script.dialled(), []);
}

#[tokio::test]
async fn a_name_that_flips_is_refused_on_its_next_connection() {
    let mut server = serve(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
    let script = Arc::new(Script::default());
    script.name("rebind.test", &[ip("8.8.8.8")]);
    script.name("rebind.test", &[ip("127.0.0.1")]);
    script.lead("8.8.8.8:80".parse().unwrap(), server.address);
    script.lead("127.0.0.1:80".parse().unwrap(), server.address);
    let client = scripted(&["8.8.8.8".to_owned()], &script);
    let first = client.request(get("http://rebind.test/one")).await.unwrap();
    drop(first.into_body().collect().await);
    let head = server.heads.recv().await.unwrap();
    assert!(head.contains("host: rebind.test\r\n"), "{head}");
    let error = loop {
        match client.request(get("http://rebind.test/two")).await {
            Err(error) => break error,
            // The closed connection may still have been taken from the pool; it leads to the address that was checked.
            Ok(_) => assert_eq!(script.dialled().len(), 1),
        }
    };
    assert!(matches!(error, EgressError::Denied(_)), "{error:?}");
    assert_eq!(script.dialled(), ["8.8.8.8:80".parse().unwrap()]);
}

#[tokio::test]
async fn literal_addresses_are_judged_without_the_resolver() {
    let server = serve(OK).await;
    let client = client(&[], Vec::new(), ConnectorSettings::default());
    let port = server.address.port();
    for host in ["127.0.0.1", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "localhost"] {
        for scheme in ["http", "https"] {
            let error = client.request(get(&format!("{scheme}://{host}:{port}/"))).await.unwrap_err();
            assert!(matches!(error, EgressError::Denied(_)), "{host}: {error:?}");
        }
    }
}

#[tokio::test]
async fn our_own_listener_is_never_reached() {
    let server = serve(OK).await;
    let port = server.address.port();
    let own = vec![Own::Address(SocketAddr::new(ip("0.0.0.0"), port))];
    let allow = ["127.0.0.0/8".to_owned(), format!("localhost:{port}"), "::/0".to_owned()];
    let client = client(&allow, own, ConnectorSettings::default());
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "127.0.0.53"] {
        let error = client.request(get(&format!("http://{host}:{port}/"))).await.unwrap_err();
        assert!(matches!(&error, EgressError::Denied(Denied { why: Why::Own, key: None })), "{host}: {error:?}");
    }
}

/// F28
#[tokio::test]
async fn redirects_are_answers_not_instructions() {
    let answer =
        b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest/meta-data\r\ncontent-length: 0\r\n\r\n";
    let mut server = serve(answer).await;
    let client = allowing(server.address);
    let url = format!("http://{}/card", server.address);
    let response = client.request(get(&url)).await.unwrap();
    assert_eq!(response.status(), 302);
    let error = client.fetch(&url, HeaderMap::new(), FetchLimits::default()).await.unwrap_err();
    assert!(matches!(error, FetchError::Redirected(status) if status == 302));
    server.heads.recv().await.unwrap();
    server.heads.recv().await.unwrap();
    assert!(server.heads.try_recv().is_err());
}

/// F28
#[tokio::test]
async fn fetched_text_never_appears_in_an_error() {
    let answers: [&'static [u8]; 4] = [
        b"HTTP/1.1 200 OK\r\ncontent-length: 30\r\n\r\nroot:x:0:0",
        b"root:x:0:0 HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 10\r\n\r\nroot:x:0:0",
        b"HTTP/1.1 307 root:x:0:0\r\nlocation: /root:x:0:0\r\ncontent-length: 10\r\n\r\nroot:x:0:0",
    ];
    for answer in answers {
        let server = serve(answer).await;
        let client = allowing(server.address);
        let url = format!("http://{}/", server.address);
        let limits = FetchLimits { total: Duration::from_millis(300), ..FetchLimits::default() };
        let error = client.fetch(&url, HeaderMap::new(), limits).await.unwrap_err();
        let texts = format!("{error} {error:?} {}", chain(&error));
        assert!(!texts.contains("root"), "{texts}");
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(error.source(), |error| error.source()).map(|error| error.to_string()).collect()
}

/// F28
#[tokio::test]
async fn large_and_endless_documents_are_cut() {
    let server =
        serve(b"HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n0123456789012345678901234567890123456789").await;
    let client = allowing(server.address);
    let url = format!("http://{}/", server.address);
    let small = FetchLimits { bytes: 39, total: Duration::from_secs(30) };
    assert!(matches!(client.fetch(&url, HeaderMap::new(), small).await, Err(FetchError::TooLarge(39))));
    let short = FetchLimits { bytes: 4000, total: Duration::from_millis(200) };
    assert!(matches!(client.fetch(&url, HeaderMap::new(), short).await, Err(FetchError::TimedOut(_))));
}

#[tokio::test]
async fn errors_tell_whether_bytes_may_have_left() {
    let refused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let client = allowing(refused);
    let error = client.request(get(&format!("http://{refused}/"))).await.unwrap_err();
    assert!(matches!(error, EgressError::Connect(ConnectError::Dial(_))) && error.nothing_was_sent());

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::task::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            read_head(&mut stream).await;
        }
    });
    let error = allowing(address).request(get(&format!("http://{address}/"))).await.unwrap_err();
    assert!(matches!(error, EgressError::Sent(_)) && !error.nothing_was_sent(), "{error:?}");

    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let request = get(&format!("http://{address}/"));
    let error = allowing(address).request_within(request, Duration::from_millis(100)).await.unwrap_err();
    assert!(matches!(error, EgressError::Timeout) && !error.nothing_was_sent(), "{error:?}");
}

/// A TLS server for `agent.test`, its certificate, and what it agreed on with each client.
async fn serve_tls() -> (SocketAddr, CertificateDer<'static>, mpsc::Receiver<Option<Vec<u8>>>) {
    serve_tls_between(1975, 4096).await
}

/// The same with a certificate that is good from one year's beginning to another's.
async fn serve_tls_between(
    from: i32,
    to: i32,
) -> (SocketAddr, CertificateDer<'static>, mpsc::Receiver<Option<Vec<u8>>>) {
    let mut params = rcgen::CertificateParams::new(["agent.test".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(from, 1, 1);
    params.not_after = rcgen::date_time_ymd(to, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let (sender, agreed) = mpsc::channel(64);
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::task::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, sender) = (acceptor.clone(), sender.clone());
            tokio::task::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let protocol = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
                let _ = sender.send(protocol.clone()).await;
                if protocol.as_deref() == Some(b"h2") {
                    return serve_http2(hyper_util::rt::TokioIo::new(stream)).await;
                }
                let mut buffer = [0; 1024];
                while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
                    let _ = stream.write_all(OK).await;
                }
            });
        }
    });
    (address, certificate, agreed)
}

/// Answers every request of an HTTP/2 connection.
async fn serve_http2<I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static>(io: I) {
    let answer = hyper::service::service_fn(|request: Request<hyper::body::Incoming>| async move {
        assert_eq!(request.version(), http::Version::HTTP_2);
        Ok::<_, std::convert::Infallible>(http::Response::new(Full::new(Bytes::from_static(b"two"))))
    });
    let executor = hyper_util::rt::TokioExecutor::new();
    let _ = hyper::server::conn::http2::Builder::new(executor).serve_connection(io, answer).await;
}

#[tokio::test]
async fn the_client_of_http2_speaks_it_in_clear_and_over_tls_under_the_same_rules() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::task::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::task::spawn(serve_http2(hyper_util::rt::TokioIo::new(stream)));
        }
    });
    let (secure, certificate, mut agreed) = serve_tls().await;
    let script = Arc::new(Script::default());
    script.name("agent.test", &[ip("8.8.8.8")]);
    script.lead("8.8.8.8:443".parse().unwrap(), secure);
    let speaking = |allow: &[String], protocol, net| {
        let rules = Rules::new(parse_allow(allow).unwrap(), Vec::new(), Plaintext::Listed, KEY);
        let settings =
            ConnectorSettings { extra_roots: vec![certificate.clone()], net, ..ConnectorSettings::default() };
        let connector = Connector::new(Arc::new(rules), settings).unwrap();
        Client::new(connector, &ClientSettings { protocol, ..ClientSettings::default() })
    };
    let clear = speaking(&[address.to_string()], Protocol::Http2, Net::System);
    let response = clear.request(get(&format!("http://{address}/"))).await.unwrap();
    assert_eq!(response.version(), http::Version::HTTP_2);
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "two");
    let denied = speaking(&[], Protocol::Http2, Net::System).request(get(&format!("http://{address}/"))).await;
    assert!(matches!(denied.unwrap_err(), EgressError::Denied(_)));
    for (protocol, name, version) in [
        (Protocol::Http2, b"h2".as_slice(), http::Version::HTTP_2),
        (Protocol::Http1, b"http/1.1", http::Version::HTTP_11),
    ] {
        let client = speaking(&[], protocol, Net::Scripted(Arc::clone(&script)));
        assert_eq!(client.request(get("https://agent.test/")).await.unwrap().version(), version);
        assert_eq!(agreed.recv().await.unwrap().as_deref(), Some(name));
    }
}

#[tokio::test]
async fn certificates_are_checked_against_the_name() {
    let (server, certificate, _agreed) = serve_tls().await;
    let script = Arc::new(Script::default());
    for name in ["agent.test", "other.test"] {
        script.name(name, &[ip("8.8.8.8")]);
    }
    script.lead("8.8.8.8:443".parse().unwrap(), server);
    let settings = |extra_roots| ConnectorSettings {
        extra_roots,
        net: Net::Scripted(Arc::clone(&script)),
        ..ConnectorSettings::default()
    };
    let trusting = client(&[], Vec::new(), settings(vec![certificate]));
    assert_eq!(trusting.request(get("https://agent.test/")).await.unwrap().status(), 200);
    let wrong_name = trusting.request(get("https://other.test/")).await.unwrap_err();
    let unknown_root =
        client(&[], Vec::new(), settings(Vec::new())).request(get("https://agent.test/")).await.unwrap_err();
    for error in [wrong_name, unknown_root] {
        assert!(matches!(&error, EgressError::Connect(ConnectError::Tls(_))), "{error:?}");
    }
}

/// T-TLS-1
#[tokio::test]
async fn certificates_are_good_in_their_time_alone() {
    for (from, to, is_good) in [(1975, 4096, true), (1975, 2020, false), (4000, 4096, false)] {
        let (server, certificate, _agreed) = serve_tls_between(from, to).await;
        let script = Arc::new(Script::default());
        script.name("agent.test", &[ip("8.8.8.8")]);
        script.lead("8.8.8.8:443".parse().unwrap(), server);
        let settings = ConnectorSettings {
            extra_roots: vec![certificate],
            net: Net::Scripted(script),
            ..ConnectorSettings::default()
        };
        match client(&[], Vec::new(), settings).request(get("https://agent.test/")).await {
            Ok(answer) => assert!(is_good && answer.status() == 200, "{from} to {to}"),
            Err(error) => {
                let is_tls = matches!(&error, EgressError::Connect(ConnectError::Tls(_)));
                assert!(!is_good && is_tls, "{from} to {to}: {error:?}");
            }
        }
    }
}
