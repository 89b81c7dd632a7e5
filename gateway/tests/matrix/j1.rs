//! `J1`: JSON-RPC of A2A 1.0 (specification §9).

use crate::tongue::{Asked, Each, Op, Refusal, Said, Told, Tongue, bytes};
use crate::v10::{self, Side};
use a2a::Dialect;

pub(crate) const J1: Tongue =
    Tongue { dialect: Dialect::J1, name: "J1", card: "j1", asks, sends, gets, refused, asked, answers, wraps };

const METHODS: Each<&str> = [
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard",
];

fn asks(op: Op, card: &str) -> Said {
    let params = if op == Op::SendMessage { v10::send() } else { v10::PARAMS[op as usize].to_owned() };
    sends(op, card, params.as_bytes())
}

fn sends(op: Op, card: &str, params: &[u8]) -> Said {
    let (method, params) = (METHODS[op as usize], String::from_utf8_lossy(params));
    Said::new("POST", format!("/a2a/acme/{card}"))
        .with("a2a-version", "1.0")
        .json(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#))
}

fn gets(op: Op, card: &str) -> Told {
    let results = v10::results(op, Side::Caller(card));
    let told: Vec<String> =
        results.iter().map(|result| format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)).collect();
    if op.is_streaming() { Told::events(told) } else { Told::json(200, "application/json", &told.concat()) }
}

fn refused(_: Op, no: &Refusal) -> Told {
    let Refusal { code, rpc, reason, text, .. } = no;
    // A method that nobody knows has no details (protocol 3.1).
    let details = if *code == -32601 {
        String::new()
    } else {
        format!(
            r#","data":[{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{reason}","domain":"a2a-protocol.org"}}]"#
        )
    };
    let body = format!(r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":{code},"message":"{text}"{details}}}}}"#);
    Told::json(*rpc, "application/json", &body)
}

fn asked(op: Op) -> Asked {
    let send = v10::send();
    let params = match v10::PARAMS[op as usize] {
        "" => &send,
        _ if op == Op::ListTasks => v10::LIST,
        params => params,
    };
    let accept = if op.is_streaming() { "accept: text/event-stream" } else { "accept: application/json" };
    let body = format!(r#"{{"jsonrpc":"2.0","id":"$ID","method":"{}","params":{params}}}"#, METHODS[op as usize]);
    Asked::new("POST / HTTP/1.1", &[accept, "a2a-version: 1.0", "content-type: application/json"], &body)
}

fn answers(op: Op) -> Vec<Vec<u8>> {
    bytes(v10::results(op, Side::Agent))
}

fn wraps(result: &[u8]) -> Vec<u8> {
    [br#"{"jsonrpc":"2.0","id":"$ID","result":"#, result, b"}"].concat()
}
