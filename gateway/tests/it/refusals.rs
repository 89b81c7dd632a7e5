//! Every operation, refused in every way, in every caller's dialect; and nothing reaches the agent.

use crate::rig::{CardSpec, G1, GrantSpec, P1, Plan, Rig, rpc_as, says};
use crate::wire::{Ask, Heard};
use a2a::{Dialect, OperationKind};
use sample_agents::hostile::{Behaviour, Scripted, start};

const SEND_BODY: &str = r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;

/// Every operation as JSON-RPC v1.0, HTTP+JSON v1.0 and JSON-RPC v0.3, without a credential.
fn every_operation(card: &str) -> Vec<(OperationKind, Ask)> {
    let says = says("hi");
    let old = r#"{"message":{"messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]}}"#;
    let push = r#"{"taskId":"t1","url":"https://hook.test/x"}"#;
    let rpc = |kind, method: &str, params: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        (kind, Ask::post(card).v10().json(&body))
    };
    let old_rpc = |kind, method: &str, params: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        (kind, Ask::post(card).json(&body))
    };
    let post = |kind, path: &str, body: &str| (kind, Ask::post(&format!("{card}/{path}")).v10().json(body));
    let other = |kind, method: &str, path: &str| (kind, Ask::new(method, &format!("{card}/{path}")).v10());
    use OperationKind as Kind;
    vec![
        rpc(Kind::SendMessage, "SendMessage", &says),
        rpc(Kind::SendStreamingMessage, "SendStreamingMessage", &says),
        rpc(Kind::GetTask, "GetTask", r#"{"id":"t1"}"#),
        rpc(Kind::ListTasks, "ListTasks", "{}"),
        rpc(Kind::CancelTask, "CancelTask", r#"{"id":"t1"}"#),
        rpc(Kind::SubscribeToTask, "SubscribeToTask", r#"{"id":"t1"}"#),
        rpc(Kind::CreatePushConfig, "CreateTaskPushNotificationConfig", push),
        rpc(Kind::GetPushConfig, "GetTaskPushNotificationConfig", r#"{"taskId":"t1","id":"c1"}"#),
        rpc(Kind::ListPushConfigs, "ListTaskPushNotificationConfigs", r#"{"taskId":"t1"}"#),
        rpc(Kind::DeletePushConfig, "DeleteTaskPushNotificationConfig", r#"{"taskId":"t1","id":"c1"}"#),
        rpc(Kind::GetExtendedCard, "GetExtendedAgentCard", "{}"),
        post(Kind::SendMessage, "message:send", &says),
        post(Kind::SendStreamingMessage, "message:stream", &says),
        other(Kind::GetTask, "GET", "tasks/t1"),
        other(Kind::ListTasks, "GET", "tasks"),
        post(Kind::CancelTask, "tasks/t1:cancel", "{}"),
        other(Kind::SubscribeToTask, "GET", "tasks/t1:subscribe"),
        post(Kind::CreatePushConfig, "tasks/t1/pushNotificationConfigs", push),
        other(Kind::GetPushConfig, "GET", "tasks/t1/pushNotificationConfigs/c1"),
        other(Kind::ListPushConfigs, "GET", "tasks/t1/pushNotificationConfigs"),
        other(Kind::DeletePushConfig, "DELETE", "tasks/t1/pushNotificationConfigs/c1"),
        other(Kind::GetExtendedCard, "GET", "extendedAgentCard"),
        old_rpc(Kind::SendMessage, "message/send", old),
        old_rpc(Kind::SendStreamingMessage, "message/stream", old),
        old_rpc(Kind::GetTask, "tasks/get", r#"{"id":"t1"}"#),
        old_rpc(Kind::CancelTask, "tasks/cancel", r#"{"id":"t1"}"#),
        old_rpc(Kind::SubscribeToTask, "tasks/resubscribe", r#"{"id":"t1"}"#),
        old_rpc(Kind::GetExtendedCard, "agent/getAuthenticatedExtendedCard", "{}"),
    ]
}

async fn echo() -> (Scripted, Rig) {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig =
        Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).set("limits.bad_keys_per_minute", "100000").start().await;
    (agent, rig)
}

#[test]
fn the_table_has_every_operation() {
    let table = every_operation("/a2a/acme/echo");
    for kind in OperationKind::ALL {
        assert!(table.iter().filter(|(of, _)| *of == kind).count() >= 2, "{kind:?}");
    }
}

#[tokio::test]
async fn without_a_good_credential_every_operation_is_401_with_challenges() {
    let (agent, rig) = echo().await;
    let long = format!("Bearer {}", "x".repeat(8_000));
    let bad: [&[(&str, &str)]; 12] = [
        &[],
        &[("Authorization", "Bearer")],
        &[("Authorization", "Bearer nonsense")],
        &[("Authorization", "Bearer sk_test_acme_1x")],
        &[("Authorization", "Bearer sk_test_acme_")],
        &[("Authorization", "bearer SK_TEST_ACME_1")],
        &[("Authorization", "Basic c2tfdGVzdF9hY21lXzE6")],
        &[("Authorization", "sk_test_acme_1")],
        &[("Authorization", "Bearer ' OR '1'='1")],
        &[("Authorization", &long)],
        &[("X-API-Key", "nonsense")],
        &[("X-API-Key", "Bearer sk_test_acme_1")],
    ];
    for (kind, ask) in every_operation("/a2a/acme/echo") {
        for headers in bad {
            let ask = headers.iter().fold(ask.clone(), |ask, (name, value)| ask.header(name, value));
            let heard = rig.call(ask).await;
            assert_eq!(heard.status, 401, "{kind:?} {headers:?}: {}", heard.text());
            let challenges = heard.headers("www-authenticate");
            assert!(challenges[0].starts_with("Bearer realm=\"a2a/acme\""), "{challenges:?}");
            assert_eq!(challenges[1], "ApiKey realm=\"a2a/acme\"");
        }
    }
    assert_eq!(agent.seen().connections, 0);
    assert!(rig.records(0).await.is_empty());
}

#[tokio::test]
async fn a_bad_credential_is_refused_alike_whether_or_not_the_card_exists() {
    let (_agent, rig) = echo().await;
    let of = |card: &str| Ask::post(card).key("nonsense").v10().json("{}");
    let there = rig.call(of("/a2a/acme/echo")).await;
    for card in ["/a2a/acme/none", "/a2a/none/echo"] {
        let heard = rig.call(of(card)).await;
        assert_eq!((heard.status, &heard.body), (there.status, &there.body), "{card}");
    }
}

/// Field case F35: a key is the whole key, in any spelling of its scheme, and nothing else is.
#[tokio::test]
async fn a_key_is_whole_or_it_is_nobodys() {
    let (_agent, rig) = echo().await;
    let of = |name: &str, value: &str| {
        Ask::post("/a2a/acme/echo")
            .v10()
            .header(name, value)
            .json(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}}"#, says("hi")))
    };
    for (name, value) in [
        ("Authorization", format!("bearer {P1}")),
        ("Authorization", format!("BEARER {P1}")),
        ("Authorization", format!("ApiKey {P1}")),
        ("X-API-Key", P1.to_owned()),
    ] {
        assert_eq!(rig.call(of(name, &value)).await.status, 200, "{name}: {value}");
    }
    // The first four thousand bytes of a credential decide nothing (T-AUTH-4).
    let long = format!("{P1}{}", "a".repeat(4_096));
    for value in [
        format!("Bearer {}", &P1[..P1.len() - 1]),
        format!("Bearer {P1}x"),
        format!("Bearer {long}"),
        format!("Bearer {long}b"),
        format!("Bearer {P1}.x.y"),
        format!("Bearer {P1} {P1}"),
        format!("Bearer Bearer {P1}"),
        format!("Token {P1}"),
        format!("Bearer,{P1}"),
    ] {
        assert_eq!(rig.call(of("Authorization", &value)).await.status, 401, "{value}");
    }
    let two = of("Authorization", &format!("Bearer {P1}")).header("Authorization", "Bearer other");
    assert_eq!(rig.call(two).await.status, 400);
}

#[tokio::test]
async fn two_credentials_are_400_in_every_operation() {
    let (agent, rig) = echo().await;
    for (kind, ask) in every_operation("/a2a/acme/echo") {
        let heard = rig.call(ask.key(P1).header("X-API-Key", P1)).await;
        assert_eq!(heard.status, 400, "{kind:?}");
    }
    assert_eq!(agent.seen().connections, 0);
}

#[tokio::test]
async fn what_a_caller_may_not_see_is_byte_for_byte_missing() {
    let (agent, rig) = echo().await;
    let told = |heard: Heard| (heard.status, heard.header("content-type"), heard.body);
    for ((kind, foreign), (_, missing)) in
        every_operation("/a2a/acme/echo").into_iter().zip(every_operation("/a2a/acme/none"))
    {
        let foreign = told(rig.call(foreign.key(G1)).await);
        let missing = told(rig.call(missing.key(P1)).await);
        assert_eq!(foreign, missing, "{kind:?}");
        assert_eq!(foreign.0, 404, "{kind:?}");
    }
    let nowhere = told(rig.call(rpc_as(G1, "/a2a/nowhere/echo", "SendMessage", &says("hi"))).await);
    let foreign = told(rig.call(rpc_as(G1, "/a2a/acme/echo", "SendMessage", &says("hi"))).await);
    assert_eq!(nowhere, foreign);
    assert_eq!(agent.seen().connections, 0);
}

#[tokio::test]
async fn a_foreign_principal_is_recorded_under_its_own_tenant() {
    let (_agent, rig) = echo().await;
    rig.call(rpc_as(G1, "/a2a/acme/echo", "SendMessage", &says("hi"))).await;
    let records = rig.records(1).await;
    assert_eq!((records[0].tenant.as_str(), records[0].outcome.as_str()), ("globex", "refused"));
    assert_eq!(records[0].card.as_deref(), Some("acme/echo"));
}

#[tokio::test]
async fn an_operation_that_is_not_granted_is_403() {
    let agent = start(Behaviour::Honest).await.unwrap();
    for (kind, ask) in every_operation("/a2a/acme/echo") {
        let others = OperationKind::ALL.into_iter().filter(|other| *other != kind).collect();
        let grant = GrantSpec { operations: others, ..GrantSpec::default() };
        let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).grant(grant).start().await;
        let heard = rig.call(ask.key(P1)).await;
        assert_eq!(heard.status, 403, "{kind:?}: {}", heard.text());
        let record = &rig.records(1).await[0];
        assert_eq!((record.outcome.as_str(), record.fault.as_deref()), ("refused", Some("PERMISSION_DENIED")));
    }
    assert_eq!(agent.seen().connections, 0);
}

#[tokio::test]
async fn the_operation_is_judged_before_its_parameters() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let grant = GrantSpec { operations: vec![OperationKind::GetTask], ..GrantSpec::default() };
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).grant(grant).start().await;
    assert_eq!(rig.call(crate::rig::rpc("SendMessage", r#"{"nonsense":true}"#)).await.status, 403);
}

#[tokio::test]
async fn an_expired_revoked_or_disabled_credential_looks_unknown() {
    let (_agent, rig) = echo().await;
    let ask = || crate::rig::rpc("SendMessage", &says("hi"));
    let unknown = rig.call(rpc_as("nonsense", "/a2a/acme/echo", "SendMessage", &says("hi"))).await;
    rig.world().keys.values().for_each(|credential| credential.cancelled.cancel());
    let revoked = rig.call(ask()).await;
    assert_eq!((revoked.status, &revoked.body), (401, &unknown.body));
}

#[tokio::test]
async fn push_is_not_supported_yet_anywhere() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
    let task = rig.call(crate::rig::rpc("SendMessage", &says("hi"))).await.at("/result/task/id");
    let config = format!(r#"{{"taskId":"{task}","url":"https://hook.test/x"}}"#);
    let heard = rig.call(crate::rig::rpc("CreateTaskPushNotificationConfig", &config)).await;
    assert_eq!(heard.code(), -32003, "{}", heard.text());
    let inline = says("hi").replacen(
        '{',
        r#"{"configuration":{"taskPushNotificationConfig":{"url":"https://hook.test/x"}},"#,
        1,
    );
    assert_eq!(rig.call(crate::rig::rpc("SendMessage", &inline)).await.code(), -32003);
    assert_eq!(agent.requests().len(), 1);
}

#[tokio::test]
async fn a_version_nobody_speaks_is_refused() {
    let (agent, rig) = echo().await;
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}}"#, says("hi"));
    for version in ["2.0", "abc", "1.0, 0.3", "0.3"] {
        let heard = rig.call(Ask::post("/a2a/acme/echo").key(P1).header("A2A-Version", version).json(&body)).await;
        assert_eq!(heard.code(), -32009, "{version}: {}", heard.text());
    }
    assert_eq!(agent.seen().connections, 0);
}

/// F55
#[tokio::test]
async fn the_audit_full_means_no_service() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1))
        .set("audit.segment_bytes", "64KiB")
        .set("audit.max_bytes", "1MiB")
        .start()
        .await;
    // Nothing can be shipped, so nothing leaves the spool.
    rig.app.store.close().await;
    let mut last = rig.call(crate::rig::rpc("SendMessage", &says("hi"))).await;
    assert_eq!(last.status, 200);
    for _ in 0..4_000 {
        if last.status != 200 {
            break;
        }
        last = rig.call(crate::rig::rpc("SendMessage", &says("hi"))).await;
    }
    assert_eq!((last.status, last.code()), (503, -32047));
    assert!(last.header("retry-after").is_some());
}

/// Every scheme that a challenge offers is accepted, and two credentials stay two.
#[tokio::test]
async fn every_scheme_of_the_challenges_proves_the_principal() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let ask = || Ask::post("/a2a/acme/echo/message:send").v10();
    let challenged = rig.call(ask().json(SEND_BODY)).await;
    for challenge in challenged.headers("www-authenticate") {
        let scheme = challenge.split(' ').next().unwrap().to_owned();
        let heard = rig.call(ask().header("Authorization", &format!("{scheme} {P1}")).json(SEND_BODY)).await;
        assert_eq!(heard.status, 200, "{scheme}: {}", heard.text());
        let two = ask().header("Authorization", &format!("{scheme} {P1}")).header("X-API-Key", P1);
        assert_eq!(rig.call(two.json(SEND_BODY)).await.status, 400, "{scheme}");
    }
}

/// T-AUTH-3: guesses are slowed down, and nobody but the guesser hears of it.
#[tokio::test]
async fn a_source_of_many_bad_credentials_waits_and_good_ones_are_served() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let plan = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1));
    let rig = plan.set("limits.bad_keys_per_minute", "3").start().await;
    let ask = |key: &str| Ask::post("/a2a/acme/echo/message:send").v10().key(key).json(SEND_BODY);
    for _ in 0..3 {
        assert_eq!(rig.call(ask("guess")).await.status, 401);
    }
    for target in ["/a2a/acme/echo/message:send", "/a2a/none/none"] {
        let heard = rig.call(Ask::post(target).v10().key("another guess").json(SEND_BODY)).await;
        let wait: u64 = heard.header("retry-after").unwrap().parse().unwrap();
        assert_eq!((heard.status, heard.headers("www-authenticate").len()), (429, 0), "{target}");
        assert!((1..=60).contains(&wait), "{wait}");
    }
    assert_eq!(rig.call(ask(P1)).await.status, 200);
    let without = rig.call(Ask::post("/a2a/acme/echo/message:send").v10().json(SEND_BODY)).await;
    assert_eq!(without.status, 401, "who presents nothing guesses nothing");
    assert_eq!(rig.app.metrics.refusals.with_label_values(&["throttled"]).get(), 2);
    assert_eq!(rig.records(1).await.len(), 1);
}
