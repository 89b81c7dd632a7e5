//! Bodies: what is refused and how it is told, and that the agent reads what the guard read.

use super::{ECHO, old, old_message, only};
use crate::rig::{CardSpec, INJECTION, P1, Plan, rest, rpc, says};
use crate::wire::{Ask, Heard};
use a2a::{Dialect, OperationKind, Version};
use sample_agents::hostile::{Behaviour, start};

/// F01, T-JSON-3
#[tokio::test]
async fn a_batch_is_refused_unread_in_every_shape_and_recorded_as_refused() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1).guarded()).start().await;
    let new = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"SendMessage","params":{}}}"#, says(INJECTION));
    let older = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"message/send","params":{}}}"#, old_message(r#""x":1"#));
    let mut asked = 0;
    for batch in [format!("[{new}]"), format!(" \r\n\t[{new},{new}]"), format!("[{older}]"), "[]".to_owned()] {
        for path in [ECHO, "/a2a/acme/echo/message:send", "/a2a/acme/echo/message:stream"] {
            for ask in [Ask::post(path).key(P1).v10(), Ask::post(path).key(P1)] {
                let heard = rig.call(ask.json(&batch)).await;
                let code = only(&heard).code();
                assert!([-32600, 400].contains(&code), "{path} {batch}: {}", heard.text());
                asked += 1;
            }
        }
    }
    let records = rig.records(asked).await;
    assert_eq!(records.len(), asked);
    for record in records {
        assert_eq!((record.outcome.as_str(), record.fault.as_deref()), ("refused", Some("INVALID_REQUEST")));
    }
    assert_eq!(agent.seen().connections, 0);
}

/// T-JSON-3
#[tokio::test]
async fn a_request_without_an_id_is_answered_and_not_done() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
    for id in ["", r#""id":[1],"#, r#""id":true,"#, r#""id":{},"#, r#""id":1e3,"#] {
        let body = format!(r#"{{"jsonrpc":"2.0",{id}"method":"SendMessage","params":{}}}"#, says("hi"));
        let heard = rig.call(Ask::post(ECHO).key(P1).v10().json(&body)).await;
        assert_eq!((heard.status, heard.code(), heard.at("/id").as_str()), (200, -32600, ""), "{id}: {}", heard.text());
    }
    assert_eq!(agent.seen().connections, 0);
}

/// T-JSON-1
#[tokio::test]
async fn a_known_name_in_another_case_is_refused() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1).guarded()).start().await;
    let text = r#""text":"hi""#;
    for (known, twins) in [
        (r#"{"message""#, [r#"{"Message""#, r#"{"MESSAGE""#, r#"{"message":{},"Message""#]),
        (r#""messageId""#, [r#""messageID""#, r#""MessageId""#, r#""Message_Id""#]),
        (r#""parts""#, [r#""Parts""#, r#""part\u017f""#, r#""parts":[{"text":"x"}],"PARTS""#]),
        (text, [r#""Text":"hi""#, r#""text":"hi","TEXT":"x""#, r#""text":"hi","Data":{"a":1}"#]),
        (r#""role""#, [r#""Role""#, r#""role":"ROLE_USER","ROLE""#, r#""taskId":"a","TaskId":"b","role""#]),
    ] {
        for twin in twins {
            let params = says("hi").replacen(known, twin, 1);
            let heard = rig.call(rpc("SendMessage", &params)).await;
            assert_eq!(heard.code(), -32602, "{params}: {}", heard.text());
            assert_eq!(rig.call(rest(&params)).await.status, 400, "{params}");
        }
    }
    for twin in [r#""Method":"GetTask","#, r#""METHOD":"GetTask","#, r#""Params":{},"#, r#""ID":2,"#] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,{twin}"method":"SendMessage","params":{}}}"#, says("hi"));
        let heard = rig.call(Ask::post(ECHO).key(P1).v10().json(&body)).await;
        assert_eq!(heard.code(), -32600, "{twin}: {}", heard.text());
    }
    assert_eq!(agent.seen().connections, 0);
}

/// F09, T-JSON-1: an ordinary reader finds in the agent's body what the guard looked at.
#[tokio::test]
async fn every_accepted_spelling_reaches_the_guard_and_the_agent_alike() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let message = |members: &str| format!(r#"{{"message":{{"messageId":"m1","role":"ROLE_USER",{members}}}}}"#);
    let spellings = [
        message(r#""parts":[{"text":"TEXT"}]"#),
        message(r#""p\u0061rts":[{"te\u0078t":"TEXT"}]"#),
        message(r#""parts":[{"text":"TEXT","raw":null,"metadata":null}],"task_id":null,"contextId":"""#),
        message(r#""task_id":"","parts":[{"text":"TEXT","media_type":"text/plain"}],"reference_task_ids":[]"#),
        message(r#""parts":[{"text":"TEXT"}],"unknown_member":{"Parts":[{"text":"x"}]}"#).replace("\"ROLE_USER\"", "1"),
    ];
    let escape = |text: &str| text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect::<String>();
    for dialect in [Dialect::J1, Dialect::R1] {
        let rig = Plan::echo(CardSpec::of(&agent.url(), dialect).guarded()).start().await;
        for spelling in &spellings {
            for said in ["good day".to_owned(), escape("good day")] {
                let params = spelling.replace("TEXT", &said);
                assert_eq!(rig.call(rest(&params)).await.status, 200, "{params}");
                let body: serde_json::Value = serde_json::from_slice(&agent.requests().pop().unwrap().body).unwrap();
                let message = body.pointer("/params/message").or_else(|| body.pointer("/message")).unwrap();
                assert_eq!(message["parts"][0]["text"], "good day", "{body}");
                assert_eq!((&message["role"], &message["messageId"]), (&"ROLE_USER".into(), &"m1".into()), "{body}");
            }
            let sent = agent.requests().len();
            for said in [INJECTION.to_owned(), escape(INJECTION), INJECTION.replace(' ', "\\t")] {
                let params = spelling.replace("TEXT", &said);
                assert_eq!(rig.call(rest(&params)).await.status, 403, "{params}");
                assert_eq!(rig.call(rpc("SendMessage", &params)).await.code(), -32042, "{params}");
            }
            assert_eq!(agent.requests().len(), sent);
        }
    }
}

/// T-JSON-2
#[tokio::test]
async fn bytes_that_are_no_document_are_refused_in_every_shape() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    let insides: [&[u8]; 12] = [
        b"\"\xc3\x28\"",
        b"\"\xc0\xaf\"",
        b"\"\xed\xa0\x80\"",
        b"\"a\0b\"",
        b"\"a\nb\"",
        b"\"\\ud800\"",
        b"\"\\x41\"",
        b"NaN",
        b"01",
        b"[1,]",
        b"12345678901234567890123456789012345678901",
        deep.as_bytes(),
    ];
    for inside in insides {
        let before: &[u8] = br#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"data":{"a":"#;
        let bare = [before, inside, b"}}]}}"].concat();
        let shown = String::from_utf8_lossy(&bare).into_owned();
        let enveloped =
            [br#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":"#.as_slice(), &bare, b"}"].concat();
        let ask = |path: &str| Ask::post(path).key(P1).v10().header("Content-Type", "application/json");
        let by_path = rig.call(ask("/a2a/acme/echo/message:send").body(&bare)).await;
        assert_eq!((by_path.status, by_path.code()), (400, 400), "{shown}: {}", by_path.text());
        let by_rpc = rig.call(ask(ECHO).body(&enveloped)).await;
        assert_eq!(by_rpc.status, 200);
        assert!([-32700, -32602].contains(&by_rpc.code()), "{shown}: {}", by_rpc.text());
    }
    assert_eq!(agent.seen().connections, 0);
}

fn is_status(heard: &Heard, status: u16, what: &str) {
    assert_eq!((heard.status, heard.code()), (status, i64::from(status)), "{what}: {}", heard.text());
    assert_eq!(heard.header("content-type").as_deref(), Some("application/a2a+json"), "{what}");
    assert!(!heard.at("/error/status").is_empty() && !heard.at("/error/message").is_empty(), "{what}");
    assert_eq!(heard.at("/error/details/0/@type"), "type.googleapis.com/google.rpc.ErrorInfo", "{what}");
    assert!(!heard.at("/error/details/0/reason").is_empty(), "{what}: {}", heard.text());
}

/// Bad input is told in the words of the one who sent it: a status object on paths of HTTP+JSON.
#[tokio::test]
async fn bad_input_on_every_path_is_a_status_object() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let bodies = ["{", "{}", r#"{"message":1}"#, r#"{"message":{"role":"ROLE_USER","parts":[]}}"#, "7"];
    for path in ["message:send", "message:stream"] {
        for body in bodies {
            let heard = rig.call(Ask::post(&format!("{ECHO}/{path}")).key(P1).v10().json(body)).await;
            is_status(&heard, 400, &format!("{path} {body}"));
        }
    }
    for (verb, path, body, status) in [
        ("POST", "tasks/t1:cancel", Some("{"), 400),
        ("POST", "tasks/t1:cancel", Some(r#"{"id":"t2"}"#), 400),
        ("POST", "tasks/t1/pushNotificationConfigs", Some("{"), 400),
        ("POST", "tasks/t1/pushNotificationConfigs", Some(r#"{"url":7}"#), 400),
        ("GET", "tasks?pageSize=0", None, 400),
        ("GET", "tasks?pageSize=x", None, 400),
        ("GET", "tasks?status=nonsense", None, 400),
        ("GET", "tasks?pageToken=made-up", None, 400),
        ("GET", "tasks/t1?historyLength=-1", None, 400),
        ("GET", "tasks/a%20b", None, 404),
        ("GET", "tasks/a%20b:subscribe", None, 404),
        ("POST", "tasks/a%20b:cancel", None, 404),
        ("GET", "tasks/a%20b/pushNotificationConfigs", None, 404),
        ("GET", "tasks/t1/pushNotificationConfigs/a%20b", None, 404),
        ("DELETE", "tasks/t1/pushNotificationConfigs/a%20b", None, 404),
        ("GET", "extendedAgentCard", None, 400),
    ] {
        let ask = Ask::new(verb, &format!("{ECHO}/{path}")).key(P1).v10();
        let heard = rig.call(match body {
            Some(body) => ask.json(body),
            None => ask,
        });
        is_status(&heard.await, status, &format!("{verb} {path}"));
    }
    assert_eq!(agent.seen().connections, 0);
}

/// Bad input is told in the words of the one who sent it: a JSON-RPC error of the method's generation.
#[tokio::test]
async fn bad_input_to_every_method_is_an_error_of_its_generation() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
    for kind in OperationKind::ALL {
        for version in [Version::V10, Version::V03] {
            let Some(method) = kind.method(version) else { continue };
            let ask = old(P1, ECHO, method, "[]");
            let heard = rig.call(if version == Version::V10 { ask.v10() } else { ask }).await;
            assert_eq!(heard.status, 200, "{method}");
            let error = only(&heard).json();
            let number =
                |pointer: &str| error.pointer(pointer).and_then(json::Json::as_number).and_then(json::Number::as_i64);
            assert_eq!((number("/error/code"), number("/id")), (Some(-32602), Some(1)), "{method}: {}", heard.text());
            let reason = error.pointer("/error/data/0/reason").and_then(json::Json::as_str);
            assert_eq!(reason, (version == Version::V10).then_some("INVALID_PARAMS"), "{method}: {}", heard.text());
            // Callers of v0.3 who asked for a stream read nothing else.
            let media =
                if kind.is_streaming() && version == Version::V03 { "text/event-stream" } else { "application/json" };
            assert_eq!(heard.header("content-type").as_deref(), Some(media), "{method}");
        }
    }
    assert_eq!(agent.seen().connections, 0);
}
