//! `J3`: JSON-RPC of A2A 0.3.

use crate::tongue::{Asked, Each, Op, Refusal, Said, Told, Tongue, bytes};
use crate::v03;
use crate::v10::Side;
use a2a::Dialect;

pub(crate) const J3: Tongue =
    Tongue { dialect: Dialect::J3, name: "J3", card: "j3", asks, sends, gets, refused, asked, answers, wraps };

/// There is no method that lists; this is what one might try.
const METHODS: Each<&str> = [
    "message/send",
    "message/stream",
    "tasks/get",
    "tasks/list",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/pushNotificationConfig/set",
    "tasks/pushNotificationConfig/get",
    "tasks/pushNotificationConfig/list",
    "tasks/pushNotificationConfig/delete",
    "agent/getAuthenticatedExtendedCard",
];

fn asks(op: Op, card: &str) -> Said {
    let params = if op == Op::SendMessage { v03::send() } else { v03::PARAMS[op as usize].to_owned() };
    sends(op, card, params.as_bytes())
}

fn sends(op: Op, card: &str, params: &[u8]) -> Said {
    let (method, params) = (METHODS[op as usize], String::from_utf8_lossy(params));
    Said::new("POST", format!("/a2a/acme/{card}"))
        .json(format!(r#"{{"jsonrpc":"2.0","id":"seven","method":"{method}","params":{params}}}"#))
}

fn gets(op: Op, card: &str) -> Told {
    let results = v03::results(op, Side::Caller(card));
    let told: Vec<String> =
        results.iter().map(|result| format!(r#"{{"jsonrpc":"2.0","id":"seven","result":{result}}}"#)).collect();
    if op.is_streaming() { Told::events(told) } else { Told::json(200, "application/json", &told.concat()) }
}

fn refused(op: Op, no: &Refusal) -> Told {
    let Refusal { code, rpc, text, .. } = no;
    let body = format!(r#"{{"jsonrpc":"2.0","id":"seven","error":{{"code":{code},"message":"{text}"}}}}"#);
    // Clients of 0.3 lose a JSON error where they asked for a stream (protocol 3.3).
    if op.is_streaming() { Told::events([body]) } else { Told::json(*rpc, "application/json", &body) }
}

fn asked(op: Op) -> Asked {
    let send = v03::send();
    let params = match v03::PARAMS[op as usize] {
        "" => &send,
        params => params,
    };
    let accept = if op.is_streaming() { "accept: text/event-stream" } else { "accept: application/json" };
    let body = format!(r#"{{"jsonrpc":"2.0","id":"$ID","method":"{}","params":{params}}}"#, METHODS[op as usize]);
    Asked::new("POST / HTTP/1.1", &[accept, "content-type: application/json"], &body)
}

fn answers(op: Op) -> Vec<Vec<u8>> {
    bytes(v03::results(op, Side::Agent))
}

fn wraps(result: &[u8]) -> Vec<u8> {
    [br#"{"jsonrpc":"2.0","id":"$ID","result":"#, result, b"}"].concat()
}
