//! Bodies that two readers could understand differently never reach the agent.

use crate::rig::{CardSpec, GrantSpec, P1, Plan, rest, rpc, says};
use crate::wire::Ask;
use a2a::Dialect;
use sample_agents::hostile::{Behaviour, start};

/// F01, T-JSON-3
#[tokio::test]
async fn a_batch_is_one_refusal_and_counts_once() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let grant = GrantSpec { per_minute: Some(6), ..GrantSpec::default() };
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).grant(grant).start().await;
    let batch = format!(
        r#"[{{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{{"id":"t1"}}}},{{"jsonrpc":"2.0","id":2,"method":"SendMessage","params":{}}}]"#,
        says("hi")
    );
    let one = r#"[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t1"}}]"#;
    for body in [batch.as_str(), &format!(" \r\n\t{batch}"), one, "[]"] {
        let heard = rig.call(Ask::post("/a2a/acme/echo").key(P1).v10().json(body)).await;
        assert_eq!((heard.status, heard.code(), heard.at("/id").as_str()), (200, -32600, ""), "{body}");
    }
    let heard = rig.call(Ask::post("/a2a/acme/echo/message:send").key(P1).v10().json(&batch)).await;
    assert!([-32600, 400].contains(&heard.code()), "{}", heard.text());
    assert_eq!(rig.call(rpc("SendMessage", &says("hi"))).await.status, 200);
    assert_eq!(rig.call(rpc("SendMessage", &says("hi"))).await.status, 429);
    assert_eq!(agent.requests().len(), 1);
    assert_eq!(rig.records(7).await.len(), 7);
}

/// F09, T-JSON-1, T-JSON-2
#[tokio::test]
async fn what_is_written_twice_is_refused() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1).guarded()).start().await;
    let parts = |first: &str, second: &str| {
        format!(
            r#"{{"message":{{"messageId":"m1","role":"ROLE_USER","parts":[{{"text":"{first}"}}],"parts":[{{"text":"{second}"}}]}}}}"#
        )
    };
    for body in [
        parts(crate::rig::INJECTION, "hi"),
        parts("hi", crate::rig::INJECTION),
        r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi","te\u0078t":"x"}]}}"#.to_owned(),
        r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi","data":{"a":1}}]}}"#.to_owned(),
        r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"url":"http://a.test","raw":"aGk="}]}}"#
            .to_owned(),
        r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}],"taskId":"a","task_id":"b"}}"#
            .to_owned(),
        r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]},"params":{"message":{}}}"#
            .to_owned(),
        "{\"message\":{\"messageId\":\"m1\",\"role\":\"ROLE_USER\",\"parts\":[{\"text\":\"\\ud800\"}]}}".to_owned(),
        format!("\u{feff}{}", says("hi")),
        format!("{}x", says("hi")),
    ] {
        let heard = rig.call(rest(&body)).await;
        assert_eq!(heard.status, 400, "{body}: {}", heard.text());
    }
    let envelope = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","m\u0065thod":"SendMessage","params":{"id":"t1"}}"#;
    let heard = rig.call(Ask::post("/a2a/acme/echo").key(P1).v10().json(envelope)).await;
    assert!([-32700, -32600].contains(&heard.code()), "{}", heard.text());
    assert_eq!(agent.seen().connections, 0);
}

/// F09
#[tokio::test]
async fn an_answer_with_a_key_twice_is_the_agents_fault() {
    let agent = start(Behaviour::RepeatedKeys).await.unwrap();
    for dialect in Dialect::JSON {
        let rig = Plan::echo(CardSpec::of(&agent.url(), dialect)).start().await;
        assert_eq!(rig.call(rpc("SendMessage", &says("hi"))).await.code(), -32006, "{dialect:?}");
        assert_eq!(rig.outcome().await, "upstream_error");
    }
}

/// T-JSON-2, F59
#[tokio::test]
async fn costly_documents_are_refused_quickly() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let deep = "[".repeat(1 << 20);
    let wide = format!("[{}1]", "1,".repeat(400_000));
    let keys: String = (0..60_000).map(|at| format!("\"k{at}\":1,")).collect();
    for body in [deep, wide, format!("{{{keys}\"z\":1}}"), format!("{{\"a\":{}}}", "9".repeat(1_000))] {
        let heard = rig.call(rest(&body)).await;
        assert_eq!(heard.status, 400, "{}", heard.text());
    }
    assert_eq!(agent.seen().connections, 0);
}

/// T-JSON-3
#[tokio::test]
async fn envelopes_that_are_none_are_invalid_requests() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
    let params = says("hi");
    for (body, code) in [
        (format!(r#"{{"jsonrpc":"1.0","id":1,"method":"SendMessage","params":{params}}}"#), -32600),
        (format!(r#"{{"jsonrpc":"2.0","id":{{}},"method":"SendMessage","params":{params}}}"#), -32600),
        (format!(r#"{{"jsonrpc":"2.0","id":1.5,"method":"SendMessage","params":{params}}}"#), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":[]}"#.to_owned(), -32602),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"method":"Send","params":{params}}}"#), -32601),
        (r#"{"jsonrpc":"2.0","id":1}"#.to_owned(), -32600),
        ("not json".to_owned(), -32700),
        (String::new(), -32700),
    ] {
        let heard = rig.call(Ask::post("/a2a/acme/echo").key(P1).v10().json(&body)).await;
        assert_eq!((heard.status, heard.code()), (200, code), "{body}: {}", heard.text());
    }
    assert_eq!(agent.seen().connections, 0);
}
