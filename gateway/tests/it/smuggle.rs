//! Requests whose end two readers may see at different places, over a raw socket (T-SMUG-1…3, T-HDR-4).

use crate::rig::{CardSpec, P1, Plan, Rig};
use crate::wire::{DEADLINE, exchange};
use a2a::Dialect;
use sample_agents::hostile::{Behaviour, Scripted, start};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const SEND: &str = r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;

async fn world() -> (Rig, Scripted) {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    (rig, agent)
}

/// The head of a good call, up to the headers that frame its body.
fn head(target: &str) -> String {
    format!(
        "POST {target} HTTP/1.1\r\nHost: gw.test\r\nAuthorization: Bearer {P1}\r\nA2A-Version: 1.0\r\n\
         Content-Type: application/json\r\n"
    )
}

/// A good call.
fn good() -> String {
    format!("{}Content-Length: {}\r\n\r\n{SEND}", head("/a2a/acme/echo/message:send"), SEND.len())
}

fn chunked(framing: &str, body: &str) -> String {
    format!("{}Transfer-Encoding: {framing}\r\n\r\n{body}", head("/a2a/acme/echo/message:send"))
}

/// A good call whose body comes in chunks.
fn good_in_chunks() -> String {
    let (one, two) = SEND.split_at(20);
    chunked("chunked", &format!("{:x}\r\n{one}\r\n{:X}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len()))
}

/// Everything that comes back until the gateway closes.
async fn told(rig: &Rig, pieces: &[&[u8]]) -> String {
    let mut socket = TcpStream::connect(rig.address).await.unwrap();
    socket.set_nodelay(true).unwrap();
    let mut answer = Vec::new();
    let talk = async {
        let (mut read, mut write) = socket.split();
        let send = async {
            for piece in pieces {
                // A refused caller may find the connection closed.
                if write.write_all(piece).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        let hear = async {
            let _ = read.read_to_end(&mut answer).await;
        };
        tokio::join!(send, hear);
    };
    tokio::time::timeout(DEADLINE, talk).await.expect("the gateway closes in time");
    String::from_utf8(answer).unwrap()
}

fn answers(told: &str) -> usize {
    told.matches("HTTP/1.1 ").count()
}

/// Headers that frame a body in more than one way, or in none.
const FRAMINGS: [&str; 28] = [
    "Content-Length: 77\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 77\r\n",
    "Transfer-Encoding: chunked\r\nX: y\r\ncontent-length:0\r\n",
    "Content-Length: 77\r\nContent-Length: 77\r\n",
    "Content-Length: 77\r\nContent-Length: 0\r\n",
    "Content-Length: 0\r\nX: y\r\nCONTENT-LENGTH: 0\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\nContent-Length: 77\r\n",
    "Content-Length: 77\n",
    "X: a\nTransfer-Encoding: chunked\r\n",
    "X: a\rTransfer-Encoding: chunked\r\n",
    "X: a\r\n Transfer-Encoding: chunked\r\n",
    "X: a\r\n\tb\r\nContent-Length: 77\r\n",
    "Transfer-Encoding:\r\n chunked\r\n",
    "Content-Length:\r\n 77\r\n",
    "Transfer-Encoding : chunked\r\n",
    "Transfer-Encoding\t: chunked\r\n",
    "Content-Length : 77\r\n",
    " Content-Length: 77\r\n",
    "Transfer_Encoding: chunked\r\n",
    "Content_Length: 77\r\n",
    "Transfer\u{b}Encoding: chunked\r\n",
    "Transfer-Encoding\0: chunked\r\n",
    "X: a\0\r\nContent-Length: 77\r\n",
    "X\r\nContent-Length: 77\r\n",
    ": a\r\nContent-Length: 77\r\n",
    "X: a\r\r\nContent-Length: 77\r\n",
];

/// Heads: each is a whole attack, with what it would smuggle behind it.
fn attacks() -> Vec<String> {
    let head = head("/a2a/acme/echo/message:send");
    let mut framings: Vec<String> = FRAMINGS.map(str::to_owned).into();
    for coding in [
        "",
        "identity",
        "gzip",
        "gzip, chunked",
        "chunked, chunked",
        "chunked, identity",
        "chunked,",
        ", chunked",
        "chunked;q=1",
        "\"chunked\"",
        "xchunked",
        "chunke",
        "chun ked",
        "\u{b}chunked",
        "chunked\u{c}",
        "deflate",
        "chunked\0",
    ] {
        framings.push(format!("Transfer-Encoding: {coding}\r\n"));
    }
    for length in [
        "",
        "+77",
        "-1",
        "77,77",
        "77, 77",
        "7 7",
        "0x4d",
        "77.0",
        "7e1",
        "\u{667}",
        "77;",
        "\"77\"",
        "\u{b}77",
        "18446744073709551616",
        "99999999999999999999999",
        "77\0",
    ] {
        framings.push(format!("Content-Length: {length}\r\n"));
    }
    let mut all: Vec<String> = framings.into_iter().map(|framing| format!("{head}{framing}\r\n0\r\n\r\n")).collect();
    all.extend([
        format!("{}0\r\n\r\n", head.replace("HTTP/1.1", "HTTP/1.0") + "Transfer-Encoding: chunked\r\n\r\n"),
        format!("{}Content-Length: 2\r\n\n{{}}", head),
        format!("{}Content-Length: 2\r\n\r{{}}", head),
        head.replace("\r\n", "\n") + "Content-Length: 2\n\n{}",
        head.replacen("HTTP/1.1\r\n", "HTTP/1.1\n", 1) + "Content-Length: 2\r\n\r\n{}",
        head.replacen("HTTP/1.1\r\n", "HTTP/1.1\r", 1) + "Content-Length: 2\r\n\r\n{}",
        head.replacen("HTTP/1.1\r\n", "HTTP/1.1\r\n X: y\r\n", 1) + "Content-Length: 2\r\n\r\n{}",
        head.replacen(" HTTP/1.1", "\0 HTTP/1.1", 1) + "Content-Length: 2\r\n\r\n{}",
        format!("\n{head}Content-Length: 2\r\n\r\n{{}}"),
        format!("\0{head}Content-Length: 2\r\n\r\n{{}}"),
        format!("\r{head}Content-Length: 2\r\n\r\n{{}}"),
    ]);
    all
}

/// T-SMUG-1, T-SMUG-2, T-HDR-4
#[tokio::test]
async fn an_ambiguous_head_is_refused_and_nothing_behind_it_is_answered() {
    let (rig, agent) = world().await;
    let attacks = attacks();
    assert!(attacks.len() >= 70, "{}", attacks.len());
    for attack in &attacks {
        let told = told(&rig, &[format!("{attack}{}", good()).as_bytes()]).await;
        assert!(told.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{attack:?}: {told}");
        assert_eq!(answers(&told), 1, "{attack:?}: {told}");
        let (head, body) = told.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("\r\nconnection: close"), "{attack:?}: {told}");
        assert!(head.contains("\r\nx-correlation-id: "), "{attack:?}: {told}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            (&body["error"]["code"], &body["error"]["status"]),
            (&400.into(), &"INVALID_ARGUMENT".into()),
            "{attack:?}"
        );
    }
    assert_eq!(agent.seen().connections, 0);
    let counted = rig.app.metrics.refusals.with_label_values(&["bad_framing"]).get();
    assert_eq!(counted, u64::try_from(attacks.len()).unwrap());
    assert!(rig.drain().await);
}

/// An earlier good request keeps its answer, wherever the bytes behind it are cut; the bad one gets its own after it.
#[tokio::test]
async fn a_refusal_waits_for_the_answers_before_it() {
    let (rig, agent) = world().await;
    let bad = format!("{}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", head("/a2a/acme/echo"));
    let mut rounds = 0;
    for (first, second) in
        [(good(), bad.clone()), (good_in_chunks(), bad), (good(), "\n\n".to_owned()), (good(), "\0".to_owned())]
    {
        let bytes = format!("{first}{second}");
        for cut in [first.len() - 1, first.len(), first.len() + 1, bytes.len()] {
            let (one, two) = bytes.as_bytes().split_at(cut);
            let told = told(&rig, &[one, two]).await;
            assert_eq!(answers(&told), 2, "cut at {cut}: {told}");
            assert!(told.starts_with("HTTP/1.1 200 OK\r\n"), "cut at {cut}: {told}");
            assert!(told.contains("HTTP/1.1 400 Bad Request\r\n"), "cut at {cut}: {told}");
            rounds += 1;
        }
    }
    assert_eq!(agent.requests().len(), rounds);
    assert_eq!(rig.records(rounds).await.len(), rounds);
}

/// T-SMUG-1: whose body is ambiguous is told so in its own words, leaves its record, and is not sent on.
#[tokio::test]
async fn an_ambiguous_body_is_refused_and_nothing_behind_it_is_answered() {
    let (rig, agent) = world().await;
    let size = SEND.len();
    let bodies = [
        format!("{size:x} \r\n{SEND}\r\n0\r\n\r\n"),
        format!("{size:x}\t\r\n{SEND}\r\n0\r\n\r\n"),
        format!(" {size:x}\r\n{SEND}\r\n0\r\n\r\n"),
        format!("{size:x};a=b\r\n{SEND}\r\n0\r\n\r\n"),
        format!("{size:x}\r\n{SEND}\r\n0;a\r\n\r\n"),
        format!("{size:x}\n{SEND}\r\n0\r\n\r\n"),
        format!("{size:x}\r\n{SEND}\n0\r\n\r\n"),
        format!("{size:x}\r\n{SEND}\r\n0\n\r\n"),
        format!("{size:x}\r\n{SEND}\r\n0\r\n\n"),
        format!("{size:x}\r\n{SEND}0\r\n\r\n"),
        format!("0x{size:x}\r\n{SEND}\r\n0\r\n\r\n"),
        format!("+{size:x}\r\n{SEND}\r\n0\r\n\r\n"),
        format!("-1\r\n{SEND}\r\n0\r\n\r\n"),
        format!("1000000000000000{size:x}\r\n{SEND}\r\n0\r\n\r\n"),
        format!("{size:x}\r\n{SEND}\r\n\r\n"),
        format!("{size:x}\r\n{SEND}\r\n0\r\nContent-Length: 9\r\n\r\n"),
        format!("{size:x}\r\n{SEND}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"),
        format!("{size:x}\r\n{SEND}\r\n0\r\nX: y\r\n z\r\n\r\n"),
    ];
    for body in &bodies {
        let told = told(&rig, &[format!("{}{}", chunked("chunked", body), good()).as_bytes()]).await;
        assert!(told.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{body:?}: {told}");
        assert_eq!(answers(&told), 1, "{body:?}: {told}");
        let (head, body) = told.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("\r\nconnection: close"), "{told}");
        assert!(body.contains(r#""status":"INVALID_ARGUMENT""#), "{told}");
    }
    assert_eq!(agent.seen().connections, 0);
    let records = rig.records(bodies.len()).await;
    assert_eq!(records.len(), bodies.len());
    assert!(records.iter().all(|record| record.outcome == "refused"), "{records:?}");
}

/// What is legal stays so: many requests on one connection, in one piece, in single bytes, one after the other.
#[tokio::test]
async fn legal_requests_are_answered_in_any_pieces() {
    let (rig, agent) = world().await;
    let card = "GET /a2a/acme/echo HTTP/1.1\r\nHost: gw.test\r\n\r\n";
    let unread = "GET /healthz HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 5\r\n\r\nhello";
    let trailer = chunked("Chunked", &format!("{:x}\r\n{SEND}\r\n000\r\nX-Sum: 1\r\n\r\n", SEND.len()));
    let last = "\r\nGET /healthz HTTP/1.1\r\nHost: gw.test\r\nConnection: close\r\n\r\n";
    let all = [&good(), &good_in_chunks(), card, unread, &trailer, &good(), last].concat();
    // A body that nobody reads ends the connection unless all of it is there.
    let read = all.replace(unread, "");
    let single: Vec<&[u8]> = read.as_bytes().chunks(1).collect();
    for (told, count) in [(told(&rig, &[all.as_bytes()]).await, 7), (told(&rig, &single).await, 6)] {
        assert_eq!((answers(&told), told.matches("HTTP/1.1 200 OK").count()), (count, count - 1), "{told}");
        // The rig's card is in no store, so it cannot be served; what counts is that it was asked for.
        assert_eq!(told.matches("HTTP/1.1 404").count(), 1, "{told}");
    }
    assert_eq!(agent.requests().len(), 8);
    assert_eq!(rig.records(8).await.len(), 8);
    let counted = rig.app.metrics.refusals.with_label_values(&["bad_framing"]).get();
    assert_eq!(counted, 0);
}

/// A caller that waits for `100 Continue` gets it, and its connection can be used again.
#[tokio::test]
async fn a_caller_may_wait_for_leave_to_send_its_body() {
    let (rig, agent) = world().await;
    let mut socket = TcpStream::connect(rig.address).await.unwrap();
    for round in 0..2 {
        let head = format!(
            "{}Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
            head("/a2a/acme/echo/message:send"),
            SEND.len()
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut leave = [0; 25];
        tokio::time::timeout(DEADLINE, socket.read_exact(&mut leave)).await.expect("leave in time").unwrap();
        assert_eq!(&leave, b"HTTP/1.1 100 Continue\r\n\r\n", "round {round}");
        socket.write_all(SEND.as_bytes()).await.unwrap();
        let mut heard = Vec::new();
        while !heard.ends_with(b"}") {
            let read = tokio::time::timeout(DEADLINE, socket.read_buf(&mut heard)).await.expect("an answer in time");
            assert_ne!(read.unwrap(), 0, "closed after {:?}", String::from_utf8_lossy(&heard));
        }
        assert!(heard.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", String::from_utf8_lossy(&heard));
    }
    assert_eq!(agent.requests().len(), 2);
}

/// T-SMUG-3: nothing is switched to another protocol, and a tunnel is no request.
#[tokio::test]
async fn no_request_leaves_http() {
    let (rig, agent) = world().await;
    let upgrade = good().replacen(
        "\r\n",
        "\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
        1,
    );
    let heard = exchange(rig.address, upgrade.replacen("Upgrade, HTTP2", "close, Upgrade, HTTP2", 1).as_bytes()).await;
    assert_eq!(heard.status, 200, "{}", heard.head);
    for tunnel in [
        "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n",
        "CONNECT gw.test:80 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
    ] {
        let mut socket = TcpStream::connect(rig.address).await.unwrap();
        socket
            .write_all(format!("{tunnel}GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").as_bytes())
            .await
            .unwrap();
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(DEADLINE, socket.read_to_end(&mut answer)).await.expect("closed in time");
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 40"), "{answer}");
    }
    assert_eq!(agent.requests().len(), 1);
}

/// A refused caller that goes on sending does not hold its connection for long, and one that reads gets its answer.
#[tokio::test]
async fn a_refused_caller_reads_its_answer_while_it_is_still_sending() {
    let (rig, _agent) = world().await;
    let flood = vec![b'x'; 512 * 1024];
    let told =
        told(&rig, &[b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", &flood]).await;
    assert!(told.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{told}");
    let mut socket = TcpStream::connect(rig.address).await.unwrap();
    socket.write_all(b"\nGET / HTTP/1.1\r\n").await.unwrap();
    let mut answer = Vec::new();
    // It neither closes nor sends: the gateway ends it all the same.
    let ended = tokio::time::timeout(DEADLINE, socket.read_to_end(&mut answer)).await;
    assert!(ended.is_ok() && answer.starts_with(b"HTTP/1.1 400"), "{}", String::from_utf8_lossy(&answer));
    assert!(tokio::time::timeout(Duration::from_secs(10), rig.drain()).await.is_ok_and(|drained| drained));
}

/// On the admin listener the refusal has the form of the admin API.
#[tokio::test]
async fn the_admin_listener_refuses_in_its_own_form() {
    let h = crate::harness::Harness::start().await;
    let heard = exchange(
        h.admin,
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
    )
    .await;
    assert_eq!((heard.status, heard.at("/code").as_str()), (400, "ambiguous_request"), "{}", heard.head);
    h.finish().await;
}
