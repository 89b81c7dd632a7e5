//! The objects of A2A 1.0 in JSON, as callers and agents of both JSON bindings write them.

use crate::tongue::Each;

const MESSAGE: &str = r#"{"messageId":"m1","contextId":"c1","taskId":"t1","role":"ROLE_USER","parts":[
    {"text":"Grüße 🎈"},
    {"raw":"aGVsbG8=","filename":"a.txt","mediaType":"text/plain"},
    {"url":"https://files.test/a.png","filename":"a.png","mediaType":"image/png"},
    {"data":{"list":[],"no":false,"zero":0,"nothing":null,"deep":{"at":[1,"x"]}},"metadata":{"part":"p"}}],
    "metadata":{"note":"n","flag":false},"extensions":["https://ext.test/x"],"referenceTaskIds":["t1"]}"#;

/// The parameters of a send.
pub(crate) fn send() -> String {
    format!(
        r#"{{"message":{MESSAGE},
        "configuration":{{"acceptedOutputModes":["text/plain","image/png"],"historyLength":3,"returnImmediately":true}},
        "metadata":{{"trip":"one"}}}}"#
    )
}

/// The parameters of every operation but the send, as callers write them.
pub(crate) const PARAMS: Each<&str> = [
    "",
    r#"{"message":{"messageId":"m2","role":"ROLE_USER","parts":[{"text":"go"}]},"configuration":{"returnImmediately":true}}"#,
    r#"{"id":"t1","historyLength":2}"#,
    r#"{"contextId":"c1","status":"TASK_STATE_COMPLETED","pageSize":5,"historyLength":2,"statusTimestampAfter":"2026-01-02T03:04:05.678Z","includeArtifacts":true}"#,
    r#"{"id":"t1"}"#,
    r#"{"id":"t1"}"#,
    PUSH,
    r#"{"taskId":"t1","id":"p1"}"#,
    r#"{"taskId":"t1"}"#,
    r#"{"taskId":"t1","id":"p1"}"#,
    "{}",
];

/// A push configuration.
pub(crate) const PUSH: &str = r#"{"taskId":"t1","id":"p1","url":"https://hook.test/","token":"tok","authentication":{"scheme":"Bearer","credentials":"c"}}"#;

/// What agents are asked in place of the caller's page.
pub(crate) const LIST: &str = r#"{"contextId":"c1","status":"TASK_STATE_COMPLETED","pageSize":100,"historyLength":2,"statusTimestampAfter":"2026-01-02T03:04:05.678Z","includeArtifacts":true}"#;

pub(crate) const TASK: &str = r#"{"id":"t1","contextId":"c1",
    "status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m3","contextId":"c1","taskId":"t1","role":"ROLE_AGENT","parts":[{"text":"Which one?"}]},"timestamp":"2026-01-02T03:04:05.678Z"},
    "artifacts":[{"artifactId":"a1","name":"answer","description":"what came of it","parts":[
        {"text":"Grüße 🎈"},
        {"raw":"aGVsbG8=","filename":"a.txt","mediaType":"text/plain"},
        {"url":"https://files.test/b.png","mediaType":"image/png"},
        {"data":{"list":[],"no":false,"zero":0,"nothing":null}}],"metadata":{"weight":1.5},"extensions":["https://ext.test/x"]}],
    "history":[{"messageId":"m0","contextId":"c1","taskId":"t1","role":"ROLE_USER","parts":[{"text":"hi"}],"metadata":{"note":"n"}}],
    "metadata":{"flag":false}}"#;

pub(crate) const CANCELED: &str = r#"{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_CANCELED"}}"#;

/// An agent's list holds somebody else's task, too.
pub(crate) const LISTED: &str = r#"{"tasks":[
    {"id":"t9","contextId":"c9","status":{"state":"TASK_STATE_COMPLETED"}},
    {"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}],"nextPageToken":"","pageSize":100,"totalSize":2}"#;

/// What is the caller's of [`LISTED`].
pub(crate) const OWN_LIST: &str = r#"{"tasks":[{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}],
    "nextPageToken":"","pageSize":5,"totalSize":1}"#;

pub(crate) const EVENTS: [&str; 4] = [
    r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#,
    r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m4","role":"ROLE_AGENT","parts":[{"text":"at it"}]},"timestamp":"2026-01-02T03:04:05.678Z"},"metadata":{"step":1}}}"#,
    r#"{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"text":"half"}]},"append":true,"lastChunk":true,"metadata":{"piece":"last"}}}"#,
    r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#,
];

/// An agent's extended card, with an address that nobody may see.
pub(crate) const CARD: &str = r#"{"name":"Full","description":"Everything","version":"2",
    "supportedInterfaces":[{"url":"http://10.0.0.7:9100/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
    "capabilities":{"streaming":true,"extendedAgentCard":true},"defaultInputModes":["text/plain"],
    "defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"d","tags":["t"]}]}"#;

/// The documents that an agent answers with, and those that a caller of the card `card` gets: the one of an answer, or
/// the events.
pub(crate) fn results(op: crate::tongue::Op, side: Side<'_>) -> Vec<String> {
    let sent = format!(r#"{{"task":{TASK}}}"#);
    let card = match side {
        Side::Agent => CARD.to_owned(),
        Side::Caller(card) => own_card(card),
    };
    let listed = match side {
        Side::Agent => LISTED,
        Side::Caller(_) => OWN_LIST,
    };
    let all: Each<Vec<&str>> = [
        vec![&sent],
        EVENTS.to_vec(),
        vec![TASK],
        vec![listed],
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

/// Who speaks.
#[derive(Clone, Copy)]
pub(crate) enum Side<'a> {
    Agent,
    /// To a caller of this card.
    Caller(&'a str),
}

/// The extended card that callers of 1.0 read, whatever the agent speaks: the members of 1.0 and one signature, because
/// they are the whole card.
fn own_card(card: &str) -> String {
    let union = json::read(union_card(card).as_bytes(), &json::Limits::default()).unwrap();
    let mut own = union.as_object().unwrap().clone();
    let newer = [
        "name",
        "description",
        "version",
        "supportedInterfaces",
        "capabilities",
        "securitySchemes",
        "securityRequirements",
        "defaultInputModes",
        "defaultOutputModes",
        "skills",
    ];
    own.retain(|member, _| newer.contains(&member));
    let schemes = own.get_mut("securitySchemes").and_then(json::Json::as_object_mut).unwrap();
    for name in ["bearer", "apiKey", "oauth2"] {
        let scheme = schemes.get_mut(name).and_then(json::Json::as_object_mut).unwrap();
        scheme.retain(|member, _| member.ends_with("SecurityScheme"));
    }
    own.insert("signatures", 1_i64);
    String::from_utf8(json::write(&own.into())).unwrap()
}

/// The one card that callers of both generations read, whatever the agent speaks. Its signatures are counted: one for each view.
pub(crate) fn union_card(card: &str) -> String {
    let url = format!("https://gw.test/a2a/acme/{card}");
    format!(
        r#"{{"name":"Full","description":"Everything","version":"2",
        "supportedInterfaces":[
            {{"url":"{url}","protocolBinding":"JSONRPC","protocolVersion":"1.0"}},
            {{"url":"{url}","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}},
            {{"url":"gw.test:443","protocolBinding":"GRPC","protocolVersion":"1.0","tenant":"{card}"}},
            {{"url":"{url}","protocolBinding":"JSONRPC","protocolVersion":"0.3"}},
            {{"url":"{url}","protocolBinding":"HTTP+JSON","protocolVersion":"0.3"}}],
        "protocolVersion":"0.3.0","url":"{url}","preferredTransport":"JSONRPC",
        "additionalInterfaces":[{{"url":"{url}","transport":"JSONRPC"}},{{"url":"{url}","transport":"HTTP+JSON"}}],
        "capabilities":{{"streaming":true,"pushNotifications":false,"extendedAgentCard":true}},
        "supportsAuthenticatedExtendedCard":true,
        "securitySchemes":{{
            "bearer":{{"type":"http","scheme":"Bearer","httpAuthSecurityScheme":{{"scheme":"Bearer"}}}},
            "apiKey":{{"type":"apiKey","in":"header","name":"X-API-Key","apiKeySecurityScheme":{{"location":"header","name":"X-API-Key"}}}},
            "oauth2":{{"type":"oauth2","flows":{{"clientCredentials":{{"tokenUrl":"https://gw.test/oauth/token","scopes":{{"a2a.invoke":"Call this agent"}}}}}},"oauth2SecurityScheme":{{"flows":{{"clientCredentials":{{"tokenUrl":"https://gw.test/oauth/token","scopes":{{"a2a.invoke":"Call this agent"}}}}}}}}}}}},
        "security":[{{"bearer":["a2a.invoke"]}},{{"apiKey":["a2a.invoke"]}},{{"oauth2":["a2a.invoke"]}}],
        "securityRequirements":[{{"schemes":{{"bearer":{{"list":["a2a.invoke"]}}}}}},{{"schemes":{{"apiKey":{{"list":["a2a.invoke"]}}}}}},{{"schemes":{{"oauth2":{{"list":["a2a.invoke"]}}}}}}],
        "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
        "skills":[{{"id":"s","name":"S","description":"d","tags":["t"]}}],"signatures":3}}"#
    )
}
