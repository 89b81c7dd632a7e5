//! Files in messages (T-FILE-1), and one event of several changed in a stream (F49).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use a2a::Dialect;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sample_agents::hostile::{Behaviour, Reply, Script, Scripted, start};

use crate::rig::{CardSpec, P1, Plan, policy, rpc, says};
use crate::wire::{Ask, Told};

const ECHO: &str = "/a2a/acme/echo";

/// A send of one file.
fn sends(bytes: &[u8], media_type: &str) -> Ask {
    let raw = STANDARD.encode(bytes);
    let part = format!(r#"{{"raw":"{raw}","mediaType":"{media_type}","filename":"report"}}"#);
    let params = format!(r#"{{"message":{{"messageId":"m1","role":"ROLE_USER","parts":[{part}]}}}}"#);
    Ask::post(&format!("{ECHO}/message:send")).key(P1).v10().json(&params)
}

/// The head of a zip archive whose one entry says that it inflates to 10 GiB from 10 KB.
fn bomb() -> Vec<u8> {
    let mut zip = b"PK\x03\x04\x2d\0\0\0\x08\0\0\0\0\0\0\0\0\0".to_vec();
    zip.extend(10_240_u32.to_le_bytes());
    zip.extend(u32::MAX.to_le_bytes());
    zip.extend(b"\x05\0\0\0zeros");
    zip.resize(zip.len() + 10_240, 0);
    zip
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";

/// A picture that is an archive too: readers of zip look at the end.
fn picture_and_archive() -> Vec<u8> {
    [PNG, b"IEND", b"PK\x05\x06\0\0\0\0\x01\0\x01\0\x2e\0\0\0\x20\0\0\0\0\0"].concat()
}

/// T-FILE-1: a bomb, a polyglot and a wrong media type do not pass; nothing is inflated to find out.
#[tokio::test]
async fn files_are_taken_for_what_they_are() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let mut spec = CardSpec::of(&agent.url(), Dialect::R1);
    spec.policies = vec![policy(
        r#"{"surfaces":["a2a_inbound"],"on_unscannable":"allow","detectors":[{"id":"file","action":"block"},
            {"id":"secret","action":"block"}]}"#,
    )];
    let rig = Plan::echo(spec).start().await;
    let blocked: [(&str, Vec<u8>, &str); 7] = [
        ("a bomb", bomb(), "application/zip"),
        ("a bomb called a picture", bomb(), "image/png"),
        ("a gzip bomb", [b"\x1f\x8b\x08".as_slice(), &[0; 64]].concat(), "application/octet-stream"),
        ("a picture that is an archive too", picture_and_archive(), "image/png"),
        ("a picture that is a document too", [b"GIF89a\n%PDF-1.7\n".as_slice(), &[0; 32]].concat(), "image/gif"),
        ("a program called a picture", b"\x7fELF\x02\x01\x01".to_vec(), "image/png"),
        ("text called a picture", b"just some words".to_vec(), "image/png"),
    ];
    for (what, bytes, media_type) in &blocked {
        let heard = rig.call(sends(bytes, media_type)).await;
        assert_eq!(heard.status, 403, "{what}: {}", heard.text());
        assert!(heard.text().contains("file"), "{what}: {}", heard.text());
    }
    assert_eq!(agent.seen().connections, 0, "nothing of them was sent on");
    let heard = rig.call(sends(b"key AKIAIOSFODNN7EXAMPLE", "text/plain")).await;
    assert_eq!(heard.status, 403, "text inside a file is read: {}", heard.text());
    for (bytes, media_type) in [(PNG, "image/png"), (b"just some words", "text/plain")] {
        assert_eq!(rig.call(sends(bytes, media_type)).await.status, 200, "{media_type}");
    }
    let records = rig.records(blocked.len() + 3).await;
    let kinds: String = records.iter().map(|record| String::from_utf8_lossy(&record.document).into_owned()).collect();
    for kind in ["file.archive", "file.program", "file.mismatch"] {
        assert!(kinds.contains(kind), "{kind}");
    }
}

/// `on_unscannable`: what can't be looked into is recorded, refused or passed over, as the policy says.
#[tokio::test]
async fn an_archive_follows_on_unscannable() {
    let agent = start(Behaviour::Honest).await.unwrap();
    for (says, status, recorded) in [("block", 403, true), ("flag", 200, true), ("allow", 200, false)] {
        let mut spec = CardSpec::of(&agent.url(), Dialect::R1);
        spec.policies = vec![policy(&format!(
            r#"{{"surfaces":["a2a_inbound"],"on_unscannable":"{says}","detectors":[{{"id":"secret","action":"redact"}}]}}"#
        ))];
        let rig = Plan::echo(spec).start().await;
        let before = agent.requests().len();
        let heard = rig.call(sends(&bomb(), "application/zip")).await;
        assert_eq!(heard.status, status, "{says}: {}", heard.text());
        assert_eq!(agent.requests().len() - before, usize::from(status == 200), "{says}");
        let record = rig.records(1).await.remove(0);
        let document = String::from_utf8_lossy(&record.document);
        assert_eq!(document.contains("unscannable:unscannable"), recorded, "{says}: {document}");
        assert_eq!(record.outcome, if status == 403 { "blocked" } else { "ok" });
    }
}

/// Three events in one write of the agent's, the second with an address. `last`: it is the last one, too.
fn three(last: bool) -> String {
    let e1 = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"},"metadata":{"z":1.50,"a":1e3,"big":12345678901234567890}}}"#;
    let status = |state: &str, text: &str, more: &str| {
        format!(
            r#"{{"statusUpdate":{{"taskId":"t1","contextId":"c1","status":{{"state":"{state}","message":{{"messageId":"m2","role":"ROLE_AGENT","parts":[{{"text":"{text}"}}]}}}}{more}}}}}"#
        )
    };
    let mail = "mail me at a@b.test";
    let e2 = if last {
        status("TASK_STATE_COMPLETED", mail, r#","metadata":{"n":0.10,"b":2}"#)
    } else {
        status("TASK_STATE_WORKING", mail, r#","metadata":{"n":0.10,"b":2}"#)
    };
    let e3 = if last {
        status("TASK_STATE_WORKING", "more", r#","metadata":{"y":2.00,"x":[1,1.0]}"#)
    } else {
        status("TASK_STATE_COMPLETED", "done", r#","metadata":{"y":2.00,"x":[1,1.0]}"#)
    };
    let (second, third) = if last { (&e3, &e2) } else { (&e2, &e3) };
    format!("id: 1\nevent: message\ndata: {e1}\n\nid: 2\ndata: {second}\n\n: c\n\ndata: {third}\n\n")
}

/// F49: one event is changed, its neighbours in the same write are not, and how the bytes were cut does not matter.
#[tokio::test]
async fn one_event_is_masked_and_its_neighbours_stay() {
    // At every place; with the address last, at every seventh.
    for (last, step) in [(false, 1), (true, 7)] {
        let wire = three(last);
        let sent: Vec<&str> = wire.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        let masked = sent.iter().map(|data| data.replace("a@b.test", "********")).collect::<Vec<_>>();
        assert_ne!(sent, masked);
        let (cut, bytes) = (AtomicUsize::new(0), wire.clone());
        let reply = move |_: &_| {
            let at = cut.fetch_add(step, Ordering::Relaxed);
            let cuts: &[usize] = if at == 0 { &[] } else { &[at] };
            Reply::sse().chunks_cut_at(&bytes, cuts, Duration::from_millis(1)).end()
        };
        let agent = Scripted::start(Script::by(reply)).await.unwrap();
        let mut spec = CardSpec::of(&agent.url(), Dialect::R1);
        spec.policies =
            vec![policy(r#"{"surfaces":["a2a_outbound"],"detectors":[{"id":"pii.email","action":"mask"}]}"#)];
        let rig = Plan::echo(spec).start().await;
        for at in (0..wire.len()).step_by(step) {
            let ask = Ask::post(&format!("{ECHO}/message:stream")).key(P1).v10().json(&says("hi"));
            let heard: Vec<Told> = rig.call(ask).await.events();
            let data: Vec<&str> = heard.iter().map(|event| event.data.as_str()).collect();
            assert_eq!(data, masked, "cut at {at}, the address last: {last}");
        }
    }
}

/// F46, the bytes of the case: a message that inflates to the injection phrase.
const COMPRESSED: &str = "H4sIAAAAAAACA6tWyk0tLk5MT1WyqoYxPVOUrJRyDZV0lIryc4ASSkH+Pq7xocGuQUChgsSikmIlq+hqpZLUihKgZGZ6Xn5RqkJiTo5CQVFqWWZ+abFCZl5xSVFpcklmfl6xUm1sbS0ACN5W5GcAAAA=";

/// F46: what the guard could not read does not pass, whatever it is said to be, and neither does an agent's answer of such bytes.
#[tokio::test]
async fn compressed_bytes_do_not_pass() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1).guarded()).start().await;
    let compressed = STANDARD.decode(COMPRESSED).unwrap();
    let plain = format!(r#"{{"message":{{"messageId":"m1","role":"ROLE_USER","parts":[{{"text":"{}"}}]}}}}"#, "hi");
    let post = |body: &[u8], headers: &[(&str, &str)]| {
        let ask = Ask::post(&format!("{ECHO}/message:send")).key(P1).v10();
        headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value)).body(body)
    };
    let json = ("Content-Type", "application/a2a+json");
    for coding in ["gzip", "gzip, gzip", "br", "x-unknown"] {
        for body in [&compressed, plain.as_bytes()] {
            let heard = rig.call(post(body, &[json, ("Content-Encoding", coding)])).await;
            assert_eq!(heard.status, 415, "{coding}: {}", heard.text());
        }
    }
    for media_type in
        ["multipart/form-data; boundary=b", "application/json; charset=utf-16", "application/json; charset=utf-7"]
    {
        let heard = rig.call(post(plain.as_bytes(), &[("Content-Type", media_type)])).await;
        assert_eq!(heard.status, 415, "{media_type}: {}", heard.text());
    }
    // Without the header they are no JSON.
    assert_eq!(rig.call(post(&compressed, &[json])).await.status, 400);
    assert_eq!(agent.seen().connections, 0, "nothing of them was sent on");

    let head = [("Content-Type", "text/event-stream"), ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked")];
    let agent = Scripted::start(Reply::head("200 OK", &head).chunk(&compressed).end()).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1).guarded()).start().await;
    let heard = rig.call(rpc("SendStreamingMessage", &says("hi"))).await;
    assert!(heard.text().contains("-32006"), "{}", heard.text());
    assert!(!heard.body.windows(8).any(|bytes| compressed.starts_with(bytes)), "no unread byte is relayed");
}
