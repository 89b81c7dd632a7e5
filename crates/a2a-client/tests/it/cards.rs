//! Cards in every place, the credential on its way there, and cards that are none.

use a2a_client::resolve::Problem;
use a2a_client::{
    Auth, CallLimits, ConnectError, Credential, Dialect, Options, Reach, ResolveError, connect, connections, resolve,
};
use egress::{Client, ConnectorSettings};
use http::StatusCode;

use crate::server::{JSON, TASK, agent, answer, card, object, serve};

fn clients() -> Client {
    connections(ConnectorSettings::default()).unwrap()
}

/// F23
#[tokio::test]
async fn a_card_is_found_wherever_agents_keep_it() {
    for (place, tried) in [
        ("GET /v3/a2a/42/.well-known/agent-card.json ", 0),
        ("GET /v3/a2a/42/.well-known/agent.json ", 1),
        ("GET /.well-known/agent-card.json ", 2),
        ("GET /.well-known/agent.json ", 3),
        ("GET /.well-known/42/agent-card.json ", 4),
        ("GET /v3/a2a/42/ ", 5),
    ] {
        let server = serve(|base| vec![(place, answer(200, JSON, &card("A", base)))]).await;
        let found = resolve(&clients(), &format!("{}/v3/a2a/42/", server.base), &Credential::None).await.unwrap();
        assert_eq!(found.card.str("name"), Some("A"), "{place}");
        assert_eq!(found.tried.len(), tried, "{place}");
        assert_eq!(found.also, None);
    }
}

/// F23
#[tokio::test]
async fn another_agent_at_the_root_is_not_passed_over_in_silence() {
    let script = |other: &'static str| {
        move |base: &str| {
            vec![
                ("GET /a/.well-known/agent-card.json", answer(200, JSON, &card("near", base))),
                ("GET /.well-known/agent-card.json", answer(200, JSON, &card(other, base))),
            ]
        }
    };
    for (other, also) in [("far", Some("far")), ("near", None)] {
        let server = serve(script(other)).await;
        let found = resolve(&clients(), &format!("{}/a", server.base), &Credential::None).await.unwrap();
        assert_eq!(found.card.str("name"), Some("near"));
        assert_eq!(found.also.as_ref().and_then(|also| also.card.str("name")), also);
    }
}

#[tokio::test]
async fn a_registry_record_is_opened_and_the_credential_goes_along() {
    let mut server = serve(|base| {
        let record = format!(r#"{{"id":"card-1","tenant_id":"acme","card":{}}}"#, card("A", base));
        vec![("GET /.well-known/agent-card/acme/echo ", answer(200, JSON, &record))]
    })
    .await;
    let url = format!("{}/.well-known/agent-card/acme/echo", server.base);
    let found = resolve(&clients(), &url, &Credential::api_key("k-1")).await.unwrap();
    assert_eq!(found.card.str("name"), Some("A"));
    let request = server.requests.recv().await.unwrap();
    assert!(request.contains("x-api-key: k-1\r\n") && request.contains("a2a-version: 1.0\r\n"), "{request}");
}

#[tokio::test]
async fn every_place_without_a_card_is_named() {
    let server = serve(|_| {
        vec![
            ("GET /a/.well-known/agent-card.json", answer(200, JSON, "[1]")),
            ("GET /a/.well-known/agent.json", answer(200, JSON, r#"{"hello":"world"}"#)),
            ("GET /.well-known/agent-card.json", "HTTP/1.1 302 X\r\nlocation: /b\r\nconnection: close\r\n\r\n".into()),
            ("GET /.well-known/agent.json", answer(200, JSON, r#"{"a":1,"a":2}"#)),
            ("GET /.well-known/a/agent-card.json", answer(200, JSON, &" ".repeat(300 * 1024))),
        ]
    })
    .await;
    let refused = connect(&format!("{}/a", server.base)).await;
    let Err(ConnectError::Card(ResolveError::NoCard(tried))) = refused else { panic!("{refused:?}") };
    let problems: Vec<_> = tried.into_iter().map(|one| one.problem).collect();
    let [array, no_card, moved, repeated, huge, itself] = problems.as_slice() else { panic!("{problems:?}") };
    assert_eq!((array, no_card), (&Problem::NotAnObject, &Problem::NotACard));
    assert!(matches!(moved, Problem::Unreachable(text) if text.contains("redirects are not followed")));
    assert_eq!(repeated, &Problem::Unreadable(json::ReadError::RepeatedKey));
    assert!(matches!(huge, Problem::Unreachable(text) if text.contains("larger than")), "{huge:?}");
    assert_eq!(itself, &Problem::Status(StatusCode::NOT_FOUND));
}

#[tokio::test]
async fn where_nothing_is_found_every_address_is_named() {
    let server = serve(|_| Vec::new()).await;
    let refused = connect(&format!("{}/x", server.base)).await.unwrap_err().to_string();
    for place in
        ["/x/.well-known/agent-card.json (answered 404", "/.well-known/agent.json (answered 404", "/x (answered"]
    {
        assert!(refused.contains(place), "{refused}");
    }
    assert!(matches!(connect("ftp://u/").await, Err(ConnectError::Card(ResolveError::BadUrl))));
}

#[tokio::test]
async fn a_card_is_asked_for_with_the_credential_only_where_it_is_refused_without() {
    let mut open = serve(|base| vec![("GET /.well-known/agent-card.json", answer(200, JSON, &card("A", base)))]).await;
    Options::new().auth(Credential::bearer("t-1")).connect(&open.base).await.unwrap();
    assert!(!open.requests.recv().await.unwrap().contains("t-1"), "nobody asked for it");

    let mut closed = serve(|_| vec![("GET /.well-known/agent-card.json", answer(401, JSON, "{}"))]).await;
    let asked = Auth::asked(|url| async move {
        assert!(url.starts_with("http://127.0.0.1:"));
        Ok(Credential::bearer("t-2"))
    });
    Options::new().auth(asked).connect(&closed.base).await.unwrap_err();
    let mut requests = Vec::new();
    while let Ok(request) = closed.requests.try_recv() {
        requests.push(request.contains("authorization: Bearer t-2\r\n"));
    }
    assert_eq!(requests, [false, false, false, true, true, true]);
}

#[tokio::test]
async fn a_function_without_a_credential_stops_the_call_before_it_leaves() {
    let mut server = serve(|_| Vec::new()).await;
    let auth = Auth::asked(|_| async { Err("the token endpoint is down".into()) });
    let url = format!("{}/.well-known/agent-card.json", server.base);
    let agent = Options::new().auth(auth).connect_card(object(&card("A", &server.base)), &url).await.unwrap();
    let refused = agent.send("hello").await.unwrap_err();
    assert_eq!(std::error::Error::source(&refused).unwrap().to_string(), "the token endpoint is down");
    assert!(refused.nothing_was_sent() && server.requests.try_recv().is_err());
}

#[tokio::test]
async fn what_the_caller_adds_to_requests_is_sent_and_what_the_protocol_needs_stays() {
    let old_task = TASK.replace("TASK_STATE_COMPLETED", "completed").replacen('{', r#"{"kind":"task","#, 1);
    let (new_answer, old_answer) = (
        format!(r#"{{"jsonrpc":"2.0","id":"RPC_ID","result":{{"task":{TASK}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":"RPC_ID","result":{old_task}}}"#),
    );
    let mut server =
        serve(|_| vec![("POST /rpc ", answer(200, JSON, &new_answer)), ("POST /old ", answer(200, JSON, &old_answer))])
            .await;
    let url = format!("{}/.well-known/agent-card.json", server.base);
    for (dialect, name) in [(Dialect::J1, "a2a-extensions"), (Dialect::J3, "x-a2a-extensions")] {
        let options = Options::new()
            .only([dialect])
            .header("x-trace", "7")
            .header("content-type", "text/html")
            .extension("https://x/1")
            .extension("https://x/2");
        let agent = options.connect_card(object(&card("A", &server.base)), &url).await.unwrap();
        agent.send("hello").await.unwrap();
        let request = server.requests.recv().await.unwrap();
        assert!(request.contains(&format!("\r\n{name}: https://x/1, https://x/2\r\n")), "{request}");
        assert!(request.contains("x-trace: 7\r\n") && request.contains("content-type: application/json\r\n"));
        assert_eq!(request.contains("a2a-version: 1.0\r\n"), dialect == Dialect::J1, "{request}");
    }
    let bad = Options::new().header("x", "a\r\nb: c").connect(&server.base).await;
    assert!(matches!(bad, Err(ConnectError::BadHeader(_))));
}

/// A2A 1.0: the `tenant` of the interface goes with every call to it, in HTTP+JSON in the path.
#[tokio::test]
async fn the_interfaces_tenant_is_sent() {
    let sent = answer(200, JSON, &format!(r#"{{"task":{TASK}}}"#));
    let mut server = serve(|_| vec![("POST /rest/acme/message:send ", sent)]).await;
    agent(&server, Dialect::R1, CallLimits::default()).await.send("hello").await.unwrap();
    server.requests.recv().await.unwrap();
    let card = card("A", &server.base).replace("/rpc\"", "/rpc\",\"tenant\":\"acme\"");
    let options = Options::new().only([Dialect::J1]);
    let agent = options.connect_card(object(&card), &server.base).await.unwrap();
    agent.send("hello").await.unwrap_err();
    let request = server.requests.recv().await.unwrap();
    assert!(request.contains(r#""tenant":"acme""#), "{request}");
}

/// A stranger's card must not lead inside.
#[tokio::test]
async fn a_program_for_strangers_addresses_calls_the_public_internet_alone() {
    let server = serve(|base| vec![("GET /.well-known/agent-card.json", answer(200, JSON, &card("A", base)))]).await;
    let refused = Options::new().reach(Reach::PublicOnly).connect(&server.base).await;
    assert!(matches!(refused, Err(ConnectError::Card(_))), "{refused:?}");
    let url = "https://agents.example/.well-known/agent-card.json";
    let options = Options::new().reach(Reach::PublicOnly);
    let agent = options.connect_card(object(&card("A", &server.base)), url).await.unwrap();
    let refused = agent.send("hello").await.unwrap_err();
    assert!(matches!(refused, a2a_client::CallError::NotReached(_)), "{refused:?}");
}
