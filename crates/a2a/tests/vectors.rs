//! Wire facts, one file each: `vectors/<version>/<binding>/<operation>/<name>.json`. Walked, not listed.
//!
//! A file holds `origin` (where the fact was taken from) and either `request` (what a caller sends) with `call` or
//! `refusal` and, optionally, `upstream` (what agents of each dialect get), or `received` (what an agent sends) with
//! `answer`, `event`, `fault` or `bad` and, optionally, `voices` (what callers of each dialect get).

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use a2a::{
    Call, Dialect, Envelope, OperationKind,
    dialect::{
        AgentAddress, BadAnswer, Colon, Minted, PathBody, R3Bytes, R3Objects, Received, RequestFacts, SubscribeVerb,
        VersionMode, Voice, decode_answer, decode_event, encode_call, target,
    },
};
use json::{Json, Limits, Object};

const OWN_DOMAIN: &str = "gw.test";
const MINTED: Minted<'static> = Minted { rpc_id: "rpc-1", message_id: "minted-1" };

#[test]
fn every_vector_holds() {
    let mut files = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"), &mut files);
    assert!(files.len() >= 150, "only {} vectors found", files.len());
    let failed = files.iter().filter(|file| std::panic::catch_unwind(|| hold(file)).is_err()).count();
    assert_eq!(failed, 0, "of {} vectors", files.len());
}

fn hold(path: &Path) {
    let vector = json::read(&fs::read(path).unwrap(), &Limits::default())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string();
    assert!(vector.get("origin").is_some(), "{name}: no origin");
    if vector.get("request").is_some() { request(&name, &vector) } else { received(&name, &vector) }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.ends_with("vectors/signing") || path.ends_with("vectors/grpc") {
            // Cards, which `signing.rs` walks; messages, which the tests of `grpc` walk.
        } else if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
}

fn request(name: &str, vector: &Json) {
    let asked = vector.get("request").unwrap();
    let written = text(asked, "path");
    let (path, query) = written.split_once('?').map_or((written, None), |(path, query)| (path, Some(query)));
    let rest: Vec<String> = path.split('/').filter(|segment| !segment.is_empty()).map(decode).collect();
    let method = text(asked, "method").parse().unwrap();
    let facts = RequestFacts {
        versions: asked.get("version").and_then(Json::as_str).into_iter().collect(),
        query,
        content_type: asked.get("content_type").and_then(Json::as_str),
        user_agent: asked.get("user_agent").and_then(Json::as_str),
        accept: asked.get("accept").and_then(Json::as_str),
    };
    let body = match (asked.get("body"), asked.get("body_text")) {
        (Some(body), _) => json::write(body),
        (None, Some(body)) => body.as_str().unwrap().as_bytes().to_vec(),
        (None, None) => Vec::new(),
    };
    let mode = match asked.get("version_mode") {
        Some(_) => VersionMode::Strict,
        None => VersionMode::Lenient,
    };
    let target = target(&method, &rest).unwrap_or_else(|error| panic!("{name}: {error}"));
    let outcome = match Envelope::open(&target, &facts, mode, &body, &Limits::default()) {
        Err(refusal) => Err((refusal.voice, refusal.fault)),
        Ok(envelope) => {
            let voice = envelope.voice().clone();
            if let Some(expected) = vector.get("voice") {
                assert_eq!(Some(voice.dialect.name()), expected.as_str(), "{name}: voice");
            }
            envelope.call().map_err(|fault| (voice, fault))
        }
    };
    match (outcome, vector.get("call"), vector.get("refusal")) {
        (Ok(call), Some(expected), None) => {
            assert_eq!(Some(call.kind.name()), expected.get("operation").and_then(Json::as_str), "{name}: operation");
            assert_same(name, "params", &Json::Object(call.params.clone()), expected.get("params").unwrap());
            upstream(name, vector, &call);
        }
        (Err((voice, fault)), None, Some(expected)) => {
            let wire = voice.fault(&fault, OWN_DOMAIN);
            assert_eq!(
                expected.get("status").and_then(Json::as_number).unwrap().as_i64(),
                Some(wire.status.into()),
                "{name}: {fault:?}"
            );
            let body = match expected.get("stream") {
                Some(_) => data_of(name, &wire.body),
                None => parse(&wire.body),
            };
            assert_same(name, "refusal", &body, expected.get("body").unwrap());
        }
        (outcome, _, _) => panic!("{name}: {outcome:?}"),
    }
}

fn upstream(name: &str, vector: &Json, call: &Call) {
    for (dialect, expected) in vector.get("upstream").and_then(Json::as_object).into_iter().flat_map(Object::iter) {
        let setting = |key: &str| expected.get(key).and_then(Json::as_str);
        let address = AgentAddress {
            base: setting("base").unwrap_or("http://up.test/agent").to_owned(),
            tenant: setting("tenant").map(str::to_owned),
            colon: if setting("colon") == Some("literal") { Colon::Literal } else { Colon::Percent },
            path_body: if setting("path_body") == Some("bare") { PathBody::Bare } else { PathBody::Envelope },
            r3_bytes: bytes_of(expected),
            r3_objects: if setting("r3_objects") == Some("schema") { R3Objects::Schema } else { R3Objects::Proto },
        };
        let dialect = Dialect::from_name(dialect).unwrap();
        match encode_call(dialect, call, &address, MINTED, SubscribeVerb::Post) {
            Ok(outgoing) => {
                assert_eq!(setting("url"), Some(outgoing.url.as_str()), "{name}: url");
                assert_eq!(setting("method").unwrap_or("POST"), outgoing.method.as_str(), "{name}: verb");
                let version = outgoing.headers.iter().find(|(key, _)| *key == "a2a-version").map(|(_, value)| *value);
                assert_eq!(version, (dialect.version() == a2a::Version::V10).then_some("1.0"), "{name}: version");
                match (expected.get("body"), outgoing.body) {
                    (Some(body), Some(sent)) => assert_same(name, "upstream", &parse(&sent), body),
                    (None, None) => {}
                    (expected, sent) => panic!("{name}: body {expected:?} / {sent:?}"),
                }
            }
            Err(fault) => {
                let code = expected.get("code").and_then(Json::as_number).and_then(json::Number::as_i64);
                assert_eq!(code, Some(fault.kind.rpc_code(a2a::Version::V10)), "{name}: {fault:?}");
            }
        }
    }
}

fn received(name: &str, vector: &Json) {
    let sent = vector.get("received").unwrap();
    let dialect = Dialect::from_name(text(sent, "dialect")).unwrap();
    let kind = OperationKind::from_name(text(sent, "operation")).unwrap();
    let body = match (sent.get("body"), sent.get("body_text")) {
        (Some(body), _) => json::write(body),
        (None, Some(body)) => body.as_str().unwrap().as_bytes().to_vec(),
        (None, None) => Vec::new(),
    };
    let limits = Limits::default();
    if sent.get("event").is_some() {
        let name_of_event = sent.get("event").and_then(Json::as_str).filter(|name| !name.is_empty());
        let outcome = decode_event((dialect, bytes_of(sent)), "rpc-1", &body, name_of_event, &limits);
        let outcome = outcome.map(|inner| inner.map(|event| (event.body.clone(), Said::Event(event))));
        return judge(name, vector, kind, outcome);
    }
    let status = sent.get("status").and_then(Json::as_number).and_then(json::Number::as_i64).unwrap_or(200);
    let received = Received {
        status: u16::try_from(status).unwrap(),
        content_type: Some(sent.get("content_type").and_then(Json::as_str).unwrap_or("application/json")),
        body: &body,
        r3_bytes: bytes_of(sent),
    };
    let outcome = decode_answer(dialect, kind, "rpc-1", received, &limits);
    judge(name, vector, kind, outcome.map(|inner| inner.map(|answer| (answer.body.clone(), Said::Answer(answer)))));
}

enum Said {
    Answer(a2a::Answer),
    Event(a2a::Event),
    Fault(a2a::Fault),
}

fn judge(name: &str, vector: &Json, kind: OperationKind, outcome: Result<Result<(Json, Said), a2a::Fault>, BadAnswer>) {
    let said = match outcome {
        Ok(Ok((body, said))) => {
            assert_same(name, "answer", &body, vector.get("answer").unwrap_or_else(|| panic!("{name}: {body:?}")));
            said
        }
        Ok(Err(fault)) => {
            let expected = vector.get("fault").unwrap_or_else(|| panic!("{name}: {fault:?}"));
            assert_eq!(expected.as_str(), Some(format!("{:?}", fault.kind).as_str()), "{name}: fault");
            Said::Fault(fault)
        }
        Err(bad) => {
            let expected = vector.get("bad").unwrap_or_else(|| panic!("{name}: {bad:?}"));
            return assert_eq!(expected.as_str(), Some(bad.to_string().as_str()), "{name}: bad answer");
        }
    };
    for (dialect, expected) in vector.get("voices").and_then(Json::as_object).into_iter().flat_map(Object::iter) {
        let dialect = Dialect::from_name(dialect).unwrap();
        let r3_bytes = bytes_of(vector);
        let voice = Voice {
            dialect,
            rpc_id: Json::from("c1"),
            streaming: kind.is_streaming(),
            enveloped: true,
            r3_bytes,
            ..Voice::unknown()
        };
        let body = match &said {
            Said::Answer(answer) => parse(&voice.answer(kind, answer.clone()).body),
            Said::Event(event) => data_of(name, &voice.event(event.clone())),
            Said::Fault(fault) if voice.streaming => data_of(name, &voice.fault_event(fault, OWN_DOMAIN)),
            Said::Fault(fault) => parse(&voice.fault(fault, OWN_DOMAIN).body),
        };
        assert_same(name, dialect.name(), &body, expected);
    }
}

/// Equal with order and digits.
fn assert_same(name: &str, what: &str, actual: &Json, expected: &Json) {
    let (actual, expected) = (json::write(actual), json::write(expected));
    assert_eq!(String::from_utf8(actual).unwrap(), String::from_utf8(expected).unwrap(), "{name}: {what}");
}

fn parse(bytes: &[u8]) -> Json {
    json::read(bytes, &Limits::default()).unwrap()
}

fn data_of(name: &str, frame: &[u8]) -> Json {
    let frame = std::str::from_utf8(frame).unwrap();
    assert!(frame.ends_with("\n\n"), "{name}: {frame:?}");
    let data = frame.lines().find_map(|line| line.strip_prefix("data:")).unwrap();
    parse(data.trim_start().as_bytes())
}

fn bytes_of(json: &Json) -> R3Bytes {
    match json.get("r3_bytes").and_then(Json::as_str) {
        Some("double") => R3Bytes::Double,
        Some("single") => R3Bytes::Single,
        _ => R3Bytes::Auto,
    }
}

fn text<'a>(json: &'a Json, key: &str) -> &'a str {
    json.get(key).and_then(Json::as_str).unwrap_or_else(|| panic!("no {key}"))
}

fn decode(segment: &str) -> String {
    percent_encoding::percent_decode_str(segment).decode_utf8().unwrap().into_owned()
}
