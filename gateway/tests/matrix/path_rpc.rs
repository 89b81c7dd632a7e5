//! `path_rpc`: REST paths with JSON-RPC envelopes around 0.3 objects. Its agents know send and stream alone; its callers
//! ask for the rest by path, without an envelope.

use crate::tongue::{Asked, Each, Op, Refusal, Said, Told, Tongue, bytes};
use crate::v03;
use crate::v10::Side;
use a2a::Dialect;

pub(crate) const PATH_RPC: Tongue = Tongue {
    dialect: Dialect::PathRpc,
    name: "path_rpc",
    card: "path-rpc",
    asks,
    sends,
    gets,
    refused,
    asked,
    answers,
    wraps,
};

const PATHS: Each<(&str, &str)> = [
    ("POST", "/message:send"),
    ("POST", "/message:stream"),
    ("GET", "/tasks/t1?historyLength=2"),
    (
        "GET",
        "/tasks?contextId=c1&status=TASK_STATE_COMPLETED&pageSize=5&historyLength=2&statusTimestampAfter=2026-01-02T03%3A04%3A05.678Z&includeArtifacts=true",
    ),
    ("POST", "/tasks/t1:cancel"),
    ("GET", "/tasks/t1:subscribe"),
    ("POST", "/tasks/t1/pushNotificationConfigs"),
    ("GET", "/tasks/t1/pushNotificationConfigs/p1"),
    ("GET", "/tasks/t1/pushNotificationConfigs"),
    ("DELETE", "/tasks/t1/pushNotificationConfigs/p1"),
    ("GET", "/extendedAgentCard"),
];

fn asks(op: Op, card: &str) -> Said {
    let (verb, path) = PATHS[op as usize];
    let said = Said::new(verb, format!("/a2a/acme/{card}{path}"));
    match op {
        Op::SendMessage => sends(op, card, v03::send().as_bytes()),
        Op::SendStreamingMessage => sends(op, card, v03::PARAMS[op as usize].as_bytes()),
        Op::CreatePushConfig => said.json(v03::PUSH),
        Op::GetTask
        | Op::ListTasks
        | Op::CancelTask
        | Op::SubscribeToTask
        | Op::GetPushConfig
        | Op::ListPushConfigs
        | Op::DeletePushConfig
        | Op::GetExtendedCard => said,
    }
}

fn sends(op: Op, card: &str, params: &[u8]) -> Said {
    let (method, params) = (method(op), String::from_utf8_lossy(params));
    Said::new("POST", format!("/a2a/acme/{card}{}", PATHS[op as usize].1))
        .json(format!(r#"{{"jsonrpc":"2.0","id":"r-1","method":"{method}","params":{params}}}"#))
}

const fn method(op: Op) -> &'static str {
    if op.is_streaming() { "message/stream" } else { "message/send" }
}

/// The id of the envelope; calls without one are answered under none.
fn id(op: Op) -> &'static str {
    if matches!(op, Op::SendMessage | Op::SendStreamingMessage) { "\"r-1\"" } else { "null" }
}

fn gets(op: Op, card: &str) -> Told {
    let results = v03::results(op, Side::Caller(card));
    if !op.is_streaming() && op != Op::SendMessage {
        return Told::json(200, "application/json", &results.concat());
    }
    let told: Vec<String> =
        results.iter().map(|result| format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id(op))).collect();
    if op.is_streaming() { Told::events(told) } else { Told::json(200, "application/json", &told.concat()) }
}

fn refused(op: Op, no: &Refusal) -> Told {
    let Refusal { code, rpc, text, http: (status, _), .. } = no;
    let body = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":{code},"message":"{text}"}}}}"#, id(op));
    match op {
        Op::SendStreamingMessage | Op::SubscribeToTask => Told::events([body]),
        Op::SendMessage => Told::json(*rpc, "application/json", &body),
        Op::GetTask
        | Op::ListTasks
        | Op::CancelTask
        | Op::CreatePushConfig
        | Op::GetPushConfig
        | Op::ListPushConfigs
        | Op::DeletePushConfig
        | Op::GetExtendedCard => Told::json(*status, "application/json", &body),
    }
}

fn asked(op: Op) -> Asked {
    let send = v03::send();
    let params = if op == Op::SendMessage { &send } else { v03::PARAMS[op as usize] };
    let (line, accept) = if op.is_streaming() {
        ("POST /message%3Astream HTTP/1.1", "accept: text/event-stream")
    } else {
        ("POST /message%3Asend HTTP/1.1", "accept: application/json")
    };
    let body = format!(r#"{{"jsonrpc":"2.0","id":"$ID","method":"{}","params":{params}}}"#, method(op));
    Asked::new(line, &[accept, "content-type: application/json"], &body)
}

fn answers(op: Op) -> Vec<Vec<u8>> {
    bytes(v03::results(op, Side::Agent))
}

fn wraps(result: &[u8]) -> Vec<u8> {
    [br#"{"jsonrpc":"2.0","id":"$ID","result":"#, result, b"}"].concat()
}
