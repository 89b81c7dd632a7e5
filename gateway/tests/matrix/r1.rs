//! `R1`: HTTP+JSON of A2A 1.0 (specification §11).

use crate::tongue::{Asked, Each, Op, Refusal, Said, Told, Tongue, bytes};
use crate::v10::{self, Side};
use a2a::Dialect;

pub(crate) const R1: Tongue =
    Tongue { dialect: Dialect::R1, name: "R1", card: "r1", asks, sends, gets, refused, asked, answers, wraps };

/// Verb and path below the interface's URL, as callers write them.
const PATHS: Each<(&str, &str)> = [
    ("POST", "/message:send"),
    ("POST", "/message:stream"),
    ("GET", "/tasks/t1?historyLength=2"),
    (
        "GET",
        "/tasks?contextId=c1&status=TASK_STATE_COMPLETED&pageSize=5&historyLength=2&statusTimestampAfter=2026-01-02T03%3A04%3A05.678Z&includeArtifacts=true",
    ),
    ("POST", "/tasks/t1:cancel"),
    ("POST", "/tasks/t1:subscribe"),
    ("POST", "/tasks/t1/pushNotificationConfigs"),
    ("GET", "/tasks/t1/pushNotificationConfigs/p1"),
    ("GET", "/tasks/t1/pushNotificationConfigs"),
    ("DELETE", "/tasks/t1/pushNotificationConfigs/p1"),
    ("GET", "/extendedAgentCard"),
];

/// What an agent's request line says.
const LINES: Each<&str> = [
    "POST /message%3Asend HTTP/1.1",
    "POST /message%3Astream HTTP/1.1",
    "GET /tasks/t1?historyLength=2 HTTP/1.1",
    "GET /tasks?contextId=c1&status=TASK_STATE_COMPLETED&pageSize=100&historyLength=2&statusTimestampAfter=2026-01-02T03%3A04%3A05.678Z&includeArtifacts=true HTTP/1.1",
    "POST /tasks/t1%3Acancel HTTP/1.1",
    "POST /tasks/t1%3Asubscribe HTTP/1.1",
    "",
    "",
    "",
    "",
    "GET /extendedAgentCard HTTP/1.1",
];

fn asks(op: Op, card: &str) -> Said {
    let (verb, path) = PATHS[op as usize];
    let said = Said::new(verb, format!("/a2a/acme/{card}{path}")).with("a2a-version", "1.0");
    match op {
        Op::SendMessage => sends(op, card, v10::send().as_bytes()),
        Op::SendStreamingMessage => sends(op, card, v10::PARAMS[op as usize].as_bytes()),
        // The Python SDK repeats the id.
        Op::CancelTask => said.json(r#"{"id":"t1"}"#),
        Op::CreatePushConfig => said.json(v10::PUSH),
        Op::GetTask
        | Op::ListTasks
        | Op::SubscribeToTask
        | Op::GetPushConfig
        | Op::ListPushConfigs
        | Op::DeletePushConfig
        | Op::GetExtendedCard => said,
    }
}

fn sends(op: Op, card: &str, params: &[u8]) -> Said {
    let said = Said::new("POST", format!("/a2a/acme/{card}{}", PATHS[op as usize].1));
    said.with("a2a-version", "1.0").json(params).with("content-type", "application/a2a+json")
}

fn gets(op: Op, card: &str) -> Told {
    let results = v10::results(op, Side::Caller(card));
    if op.is_streaming() { Told::events(results) } else { Told::json(200, "application/a2a+json", &results.concat()) }
}

fn refused(_: Op, no: &Refusal) -> Told {
    let Refusal { http: (status, name), reason, text, .. } = no;
    let info = format!(
        r#"{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{reason}","domain":"a2a-protocol.org"}}"#
    );
    let body = format!(r#"{{"error":{{"code":{status},"status":"{name}","message":"{text}","details":[{info}]}}}}"#);
    Told::json(*status, "application/a2a+json", &body)
}

fn asked(op: Op) -> Asked {
    let send = v10::send();
    let body = match op {
        Op::SendMessage => send.as_str(),
        Op::SendStreamingMessage => v10::PARAMS[op as usize],
        Op::CancelTask => "{}",
        Op::GetTask
        | Op::ListTasks
        | Op::SubscribeToTask
        | Op::CreatePushConfig
        | Op::GetPushConfig
        | Op::ListPushConfigs
        | Op::DeletePushConfig
        | Op::GetExtendedCard => "",
    };
    let mut headers = vec!["a2a-version: 1.0"];
    headers.push(if op.is_streaming() {
        "accept: text/event-stream"
    } else {
        "accept: application/a2a+json, application/json"
    });
    if !body.is_empty() {
        headers.push("content-type: application/json");
    }
    Asked::new(LINES[op as usize], &headers, body)
}

fn answers(op: Op) -> Vec<Vec<u8>> {
    bytes(v10::results(op, Side::Agent))
}

fn wraps(result: &[u8]) -> Vec<u8> {
    result.to_vec()
}
