//! `R3`: HTTP+JSON of A2A 0.3, in the JSON of 0.3's own protobuf (`a2a.v1`).

use crate::tongue::{Asked, Each, Op, Refusal, Said, Told, Tongue, bytes};
use crate::v03::CARD;
use crate::v10::{OWN_LIST, Side, union_card};
use a2a::Dialect;

pub(crate) const R3: Tongue =
    Tongue { dialect: Dialect::R3, name: "R3", card: "r3", asks, sends, gets, refused, asked, answers, wraps };

/// Verb and path below the interface's URL. The proto has no list; the specification's prose names its path.
const PATHS: Each<(&str, &str)> = [
    ("POST", "/v1/message:send"),
    ("POST", "/v1/message:stream"),
    ("GET", "/v1/tasks/t1?historyLength=2"),
    (
        "GET",
        "/v1/tasks?contextId=c1&status=TASK_STATE_COMPLETED&pageSize=5&historyLength=2&statusTimestampAfter=2026-01-02T03%3A04%3A05.678Z&includeArtifacts=true",
    ),
    ("POST", "/v1/tasks/t1:cancel"),
    ("GET", "/v1/tasks/t1:subscribe"),
    ("POST", "/v1/tasks/t1/pushNotificationConfigs"),
    ("GET", "/v1/tasks/t1/pushNotificationConfigs/p1"),
    ("GET", "/v1/tasks/t1/pushNotificationConfigs"),
    ("DELETE", "/v1/tasks/t1/pushNotificationConfigs/p1"),
    ("GET", "/v1/card"),
];

const LINES: Each<&str> = [
    "POST /v1/message%3Asend HTTP/1.1",
    "POST /v1/message%3Astream HTTP/1.1",
    "GET /v1/tasks/t1?historyLength=2 HTTP/1.1",
    "",
    "POST /v1/tasks/t1%3Acancel HTTP/1.1",
    "POST /v1/tasks/t1%3Asubscribe HTTP/1.1",
    "",
    "",
    "",
    "",
    "GET /v1/card HTTP/1.1",
];

const SEND: &str = r#"{"message":{"messageId":"m1","contextId":"c1","taskId":"t1","role":"ROLE_USER","content":[
    {"text":"Grüße 🎈"},
    {"file":{"fileWithBytes":"aGVsbG8=","name":"a.txt","mimeType":"text/plain"}},
    {"file":{"fileWithUri":"https://files.test/a.png","name":"a.png","mimeType":"image/png"}},
    {"data":{"data":{"list":[],"no":false,"zero":0,"nothing":null,"deep":{"at":[1,"x"]}}},"metadata":{"part":"p"}}],
    "metadata":{"note":"n","flag":false,"a2a-gw/referenceTaskIds":["t1"]},"extensions":["https://ext.test/x"]},
    "configuration":{"acceptedOutputModes":["text/plain","image/png"],"historyLength":3,"blocking":false},
    "metadata":{"trip":"one"}}"#;

const STREAM: &str =
    r#"{"message":{"messageId":"m2","role":"ROLE_USER","content":[{"text":"go"}]},"configuration":{"blocking":false}}"#;

/// As the Python SDK writes it.
const PUSH: &str = r#"{"parent":"tasks/t1","configId":"p1","config":{"name":"tasks/t1/pushNotificationConfigs/p1","pushNotificationConfig":{"id":"p1","url":"https://hook.test/","token":"tok","authentication":{"schemes":["Bearer"],"credentials":"c"}}}}"#;

const TASK: &str = r#"{"id":"t1","contextId":"c1",
    "status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m3","contextId":"c1","taskId":"t1","role":"ROLE_AGENT","content":[{"text":"Which one?"}]},"timestamp":"2026-01-02T03:04:05.678Z"},
    "artifacts":[{"artifactId":"a1","name":"answer","description":"what came of it","parts":[
        {"text":"Grüße 🎈"},
        {"file":{"fileWithBytes":"aGVsbG8=","name":"a.txt","mimeType":"text/plain"}},
        {"file":{"fileWithUri":"https://files.test/b.png","mimeType":"image/png"}},
        {"data":{"data":{"list":[],"no":false,"zero":0,"nothing":null}}}],"metadata":{"weight":1.5},"extensions":["https://ext.test/x"]}],
    "history":[{"messageId":"m0","contextId":"c1","taskId":"t1","role":"ROLE_USER","content":[{"text":"hi"}],"metadata":{"note":"n"}}],
    "metadata":{"flag":false}}"#;

/// With two L.
const CANCELLED: &str = r#"{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_CANCELLED"}}"#;

const EVENTS: [&str; 4] = [
    r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#,
    r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m4","role":"ROLE_AGENT","content":[{"text":"at it"}]},"timestamp":"2026-01-02T03:04:05.678Z"},"final":false,"metadata":{"step":1}}}"#,
    r#"{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"text":"half"}]},"append":true,"lastChunk":true,"metadata":{"piece":"last"}}}"#,
    r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"final":true}}"#,
];

fn results(op: Op, side: Side<'_>) -> Vec<String> {
    let sent = format!(r#"{{"task":{TASK}}}"#);
    let card = match side {
        Side::Agent => CARD.to_owned(),
        Side::Caller(card) => union_card(card),
    };
    let all: Each<Vec<&str>> = [
        vec![&sent],
        EVENTS.to_vec(),
        vec![TASK],
        vec![OWN_LIST],
        vec![CANCELLED],
        vec![EVENTS[0], EVENTS[3]],
        vec![],
        vec![],
        vec![],
        vec![],
        vec![&card],
    ];
    all[op as usize].iter().map(|document| (*document).to_owned()).collect()
}

fn asks(op: Op, card: &str) -> Said {
    let (verb, path) = PATHS[op as usize];
    let said = Said::new(verb, format!("/a2a/acme/{card}{path}"));
    match op {
        Op::SendMessage => said.json(SEND),
        Op::SendStreamingMessage => said.json(STREAM),
        Op::CancelTask => said.json(r#"{"name":"tasks/t1"}"#),
        Op::CreatePushConfig => said.json(PUSH),
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
    Said::new("POST", format!("/a2a/acme/{card}{}", PATHS[op as usize].1)).json(params)
}

fn gets(op: Op, card: &str) -> Told {
    let results = results(op, Side::Caller(card));
    if op.is_streaming() { Told::events(results) } else { Told::json(200, "application/json", &results.concat()) }
}

fn refused(_: Op, no: &Refusal) -> Told {
    let Refusal { code, http: (status, _), name, text, .. } = no;
    let body = format!(r#"{{"code":{code},"type":"{name}","message":"{text}"}}"#);
    Told::json(*status, "application/json", &body)
}

fn asked(op: Op) -> Asked {
    let body = match op {
        Op::SendMessage => SEND,
        Op::SendStreamingMessage => STREAM,
        Op::GetTask
        | Op::ListTasks
        | Op::CancelTask
        | Op::SubscribeToTask
        | Op::CreatePushConfig
        | Op::GetPushConfig
        | Op::ListPushConfigs
        | Op::DeletePushConfig
        | Op::GetExtendedCard => "",
    };
    let mut headers = vec![if op.is_streaming() { "accept: text/event-stream" } else { "accept: application/json" }];
    if !body.is_empty() {
        headers.push("content-type: application/json");
    }
    Asked::new(LINES[op as usize], &headers, body)
}

fn answers(op: Op) -> Vec<Vec<u8>> {
    let mut results = results(op, Side::Agent);
    // Protobuf's JSON leaves `false` out.
    for result in &mut results {
        *result = result.replace(r#""final":false,"#, "");
    }
    bytes(results)
}

fn wraps(result: &[u8]) -> Vec<u8> {
    result.to_vec()
}
