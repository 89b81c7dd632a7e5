//! Calls as agents answer them, and how they are refused.

use std::time::Duration;

use a2a_client::{CallError, CallLimits, Dialect, TaskFilter, TaskState, calls};
use http::StatusCode;

use crate::server::{JSON, Server, TASK, agent, agent_at, answer, named, serve};

#[tokio::test]
async fn a_message_is_sent_and_answered_in_each_dialect() {
    let old_task = TASK.replace("TASK_STATE_COMPLETED", "completed").replacen('{', r#"{"kind":"task","#, 1);
    let cases = [
        (Dialect::J1, "POST /rpc ", format!(r#"{{"jsonrpc":"2.0","id":"RPC_ID","result":{{"task":{TASK}}}}}"#)),
        (Dialect::R1, "POST /rest/", format!(r#"{{"task":{TASK}}}"#)),
        (Dialect::J3, "POST /old ", format!(r#"{{"jsonrpc":"2.0","id":"RPC_ID","result":{old_task}}}"#)),
    ];
    for (dialect, line, body) in cases {
        let mut server = serve(|_| vec![(line, answer(200, JSON, &body))]).await;
        let got = agent(&server, dialect, CallLimits::default()).await.send("hello").await;
        let got = got.unwrap_or_else(|error| panic!("{dialect:?}: {error:?}"));
        let task = got.task().unwrap();
        assert_eq!((task.id(), task.context_id()), ("t1", Some("c1")), "{dialect:?}");
        assert_eq!(task.state(), TaskState::Completed, "{dialect:?}");
        let request = server.requests.recv().await.unwrap();
        assert!(request.contains("authorization: Bearer t-1\r\n"), "{request}");
        assert!(request.contains(r#""text":"hello""#) && request.contains(r#""messageId":""#), "{request}");
    }
}

#[tokio::test]
async fn the_agents_errors_and_broken_answers_are_told_apart() {
    let cases = [
        (answer(200, JSON, r#"{"jsonrpc":"2.0","id":"RPC_ID","error":{"code":-32001,"message":"no"}}"#), "Fault"),
        (answer(200, JSON, r#"{"jsonrpc":"2.0","id":"other","result":null}"#), "Protocol"),
        (answer(200, "text/html", "<html>"), "Protocol"),
        (answer(502, "text/html", "<html>"), "Status"),
        (answer(302, "text/html\r\nlocation: https://elsewhere.example/", "moved"), "Status"),
        (answer(200, "application/json\r\ncontent-encoding: gzip", "x"), "Encoded"),
        (answer(200, JSON, &" ".repeat(2000)), "TooLarge"),
        ("HTTP/1.1 200 X\r\ncontent-length: 9\r\nconnection: close\r\n\r\n{".to_owned(), "Cut"),
        ("\x16\x03\x01 garbage\r\n\r\n".to_owned(), "Cut"),
    ];
    for (sent, expected) in cases {
        let server = serve(|_| vec![("POST /rpc ", sent.clone())]).await;
        let agent = agent(&server, Dialect::J1, CallLimits { answer: 1000, ..CallLimits::default() }).await;
        let error = agent.get_task("t1").await.unwrap_err();
        assert_eq!(named(&error), expected, "{sent}");
        assert!(!error.nothing_was_sent(), "{sent}");
        assert!(error.to_string().contains(';'), "says what to do: {error}");
    }
}

#[tokio::test]
async fn a_refused_credential_is_told_with_what_is_asked_for() {
    let blocked =
        r#"{"jsonrpc":"2.0","id":"RPC_ID","error":{"code":-32040,"message":"a valid credential is required"}}"#;
    let head = "application/json\r\nwww-authenticate: Bearer realm=\"agents\"";
    for (status, body, code) in [(401, blocked, Some(-32040)), (403, "{}", None), (401, "<html>", None)] {
        let server = serve(|_| vec![("POST /rpc ", answer(status, head, body))]).await;
        let refused = agent(&server, Dialect::J1, CallLimits::default()).await.send("hello").await.unwrap_err();
        let text = refused.to_string();
        assert!(text.contains("Bearer realm=") && text.contains("securitySchemes"), "{text}");
        assert_eq!(refused.fault().map(a2a_client::AgentFault::code), code);
        let CallError::Unauthorized(refused) = refused else { panic!("{refused:?}") };
        assert_eq!(refused.status.map(|status| status.as_u16()), Some(status));
    }
}

#[tokio::test]
async fn a_busy_agent_says_when_to_come_back() {
    let busy = answer(429, "text/plain\r\nretry-after: 7", "slow down");
    let server = serve(|_| vec![("POST /rpc ", busy)]).await;
    let refused = agent(&server, Dialect::J1, CallLimits::default()).await.send("hello").await;
    let Err(CallError::Status { status, retry_after }) = refused else { panic!("{refused:?}") };
    assert_eq!((status, retry_after), (StatusCode::TOO_MANY_REQUESTS, Some(Duration::from_secs(7))));
}

#[tokio::test]
async fn calls_of_the_wrong_kind_and_dead_agents_are_refused() {
    let server = serve(|_| Vec::new()).await;
    let agent_of = |dialect| agent(&server, dialect, CallLimits::default());
    let wrong = agent_of(Dialect::J1).await.call(&calls::subscribe("t")).await;
    assert!(matches!(wrong, Err(CallError::WrongKind(_))));
    let wrong = agent_of(Dialect::J1).await.open(&calls::cancel_task("t")).await;
    assert!(matches!(wrong, Err(CallError::WrongKind(_))));
    let unsayable = agent_of(Dialect::J3).await.list_tasks(TaskFilter::new()).await;
    assert!(matches!(unsayable, Err(CallError::Unsayable(_))), "{unsayable:?}");
    let dead = agent_at("http://127.0.0.1:1", Dialect::J1, CallLimits::default()).await;
    let unreached = dead.extended_card().await;
    assert!(matches!(unreached, Err(CallError::NotReached(_))), "{unreached:?}");
}

/// A task whose next page is the page that was asked for would be listed for ever.
#[tokio::test]
async fn a_page_that_leads_to_itself_ends_the_list() {
    use futures_util::TryStreamExt as _;
    let page = format!(r#"{{"jsonrpc":"2.0","id":"RPC_ID","result":{{"tasks":[{TASK}],"nextPageToken":"p2"}}}}"#);
    let server: Server = serve(|_| vec![("POST /rpc ", answer(200, JSON, &page))]).await;
    let agent = agent(&server, Dialect::J1, CallLimits::default()).await;
    let listed: Result<Vec<_>, _> = agent.all_tasks(TaskFilter::new()).try_collect().await;
    assert!(matches!(listed, Err(CallError::Protocol(_))), "{listed:?}");
}
