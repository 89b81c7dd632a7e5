//! The objects of A2A 0.3 (its JSON schema), as callers and agents of JSON-RPC and of `path_rpc` write them.

use crate::tongue::{Each, Op};
use crate::v10::{Side, union_card};

/// The parameters of a send.
pub(crate) fn send() -> String {
    r#"{"message":{"kind":"message","messageId":"m1","contextId":"c1","taskId":"t1","role":"user","parts":[
    {"kind":"text","text":"Grüße 🎈"},
    {"kind":"file","file":{"bytes":"aGVsbG8=","name":"a.txt","mimeType":"text/plain"}},
    {"kind":"file","file":{"uri":"https://files.test/a.png","name":"a.png","mimeType":"image/png"}},
    {"kind":"data","data":{"list":[],"no":false,"zero":0,"nothing":null,"deep":{"at":[1,"x"]}},"metadata":{"part":"p"}}],
    "metadata":{"note":"n","flag":false},"extensions":["https://ext.test/x"],"referenceTaskIds":["t1"]},
    "configuration":{"acceptedOutputModes":["text/plain","image/png"],"historyLength":3,"blocking":false},
    "metadata":{"trip":"one"}}"#
        .to_owned()
}

/// The parameters of every operation but the send.
pub(crate) const PARAMS: Each<&str> = [
    "",
    r#"{"message":{"kind":"message","messageId":"m2","role":"user","parts":[{"kind":"text","text":"go"}]},"configuration":{"blocking":false}}"#,
    r#"{"id":"t1","historyLength":2}"#,
    // 0.3 has no list; path RPC asks for it by path.
    "{}",
    r#"{"id":"t1"}"#,
    r#"{"id":"t1"}"#,
    PUSH,
    r#"{"id":"t1","pushNotificationConfigId":"p1"}"#,
    r#"{"id":"t1"}"#,
    r#"{"id":"t1","pushNotificationConfigId":"p1"}"#,
    "{}",
];

/// A push configuration.
pub(crate) const PUSH: &str = r#"{"taskId":"t1","pushNotificationConfig":{"id":"p1","url":"https://hook.test/","token":"tok","authentication":{"schemes":["Bearer"],"credentials":"c"}}}"#;

const TASK: &str = r#"{"kind":"task","id":"t1","contextId":"c1",
    "status":{"state":"input-required","message":{"kind":"message","messageId":"m3","contextId":"c1","taskId":"t1","role":"agent","parts":[{"kind":"text","text":"Which one?"}]},"timestamp":"2026-01-02T03:04:05.678Z"},
    "artifacts":[{"artifactId":"a1","name":"answer","description":"what came of it","parts":[
        {"kind":"text","text":"Grüße 🎈"},
        {"kind":"file","file":{"bytes":"aGVsbG8=","name":"a.txt","mimeType":"text/plain"}},
        {"kind":"file","file":{"uri":"https://files.test/b.png","mimeType":"image/png"}},
        {"kind":"data","data":{"list":[],"no":false,"zero":0,"nothing":null}}],"metadata":{"weight":1.5},"extensions":["https://ext.test/x"]}],
    "history":[{"kind":"message","messageId":"m0","contextId":"c1","taskId":"t1","role":"user","parts":[{"kind":"text","text":"hi"}],"metadata":{"note":"n"}}],
    "metadata":{"flag":false}}"#;

const CANCELED: &str = r#"{"kind":"task","id":"t1","contextId":"c1","status":{"state":"canceled"}}"#;

/// The list that a path RPC caller gets: 1.0's envelope, 0.3's tasks.
const OWN_LIST: &str = r#"{"tasks":[{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed"}}],
    "nextPageToken":"","pageSize":5,"totalSize":1}"#;

pub(crate) const EVENTS: [&str; 4] = [
    r#"{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working"}}"#,
    r#"{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"working","message":{"kind":"message","messageId":"m4","role":"agent","parts":[{"kind":"text","text":"at it"}]},"timestamp":"2026-01-02T03:04:05.678Z"},"final":false,"metadata":{"step":1}}"#,
    r#"{"kind":"artifact-update","taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"kind":"text","text":"half"}]},"append":true,"lastChunk":true,"metadata":{"piece":"last"}}"#,
    r#"{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"completed"},"final":true}"#,
];

/// An agent's extended card, with addresses that nobody may see.
pub(crate) const CARD: &str = r#"{"name":"Full","description":"Everything","version":"2","protocolVersion":"0.3.0",
    "url":"http://10.0.0.7:9100/","preferredTransport":"JSONRPC",
    "additionalInterfaces":[{"url":"http://10.0.0.7:9100/rest","transport":"HTTP+JSON"}],
    "capabilities":{"streaming":true,"stateTransitionHistory":true},"supportsAuthenticatedExtendedCard":true,
    "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
    "skills":[{"id":"s","name":"S","description":"d","tags":["t"]}]}"#;

/// The documents that an agent answers with, and those that a caller of the card gets.
pub(crate) fn results(op: Op, side: Side<'_>) -> Vec<String> {
    let card = match side {
        Side::Agent => CARD.to_owned(),
        Side::Caller(card) => union_card(card),
    };
    let all: Each<Vec<&str>> = [
        vec![TASK],
        EVENTS.to_vec(),
        vec![TASK],
        vec![OWN_LIST],
        vec![CANCELED],
        vec![EVENTS[0], EVENTS[3]],
        vec![],
        vec![],
        vec![],
        vec![],
        vec![&card],
    ];
    all[op as usize].iter().map(|document| (*document).to_owned()).collect()
}
