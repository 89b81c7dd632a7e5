//! Who may name which task and context.

use crate::rig::{CardSpec, G1, P1, P2, Plan, Rig, rpc_as, says};
use crate::wire::{Ask, Heard};
use a2a::Dialect;
use chancery::registry::TaskScope;
use sample_agents::hostile::{Behaviour, Reply, Script, Scripted, Spoken, start};

const ECHO: &str = "/a2a/acme/echo";

async fn two_cards(dialect: Dialect) -> (Scripted, Rig) {
    let agent = start(Behaviour::Honest).await.unwrap();
    let spec = CardSpec::of(&agent.url(), dialect);
    let plan = Plan::echo(spec.clone()).card("acme/weather", spec.clone()).card("globex/echo", spec);
    (agent, plan.start().await)
}

async fn new_task(rig: &Rig) -> String {
    let heard = rig.call(rpc_as(P1, ECHO, "SendMessage", &says("hi"))).await;
    let task = heard.at("/result/task/id");
    assert!(!task.is_empty(), "{}", heard.text());
    task
}

fn message_with(member: &str) -> String {
    format!(r#"{{"message":{{"messageId":"m1","role":"ROLE_USER","parts":[{{"text":"hi"}}],{member}}}}}"#)
}

/// Every call that names `task`, in both bindings, but those of push.
fn naming(key: &str, card: &str, task: &str) -> Vec<Ask> {
    let rpc = |method: &str, params: String| rpc_as(key, card, method, &params);
    let get = |path: String| Ask::get(&format!("{card}/{path}")).key(key).v10();
    let post = |path: String, body: String| Ask::post(&format!("{card}/{path}")).key(key).v10().json(&body);
    vec![
        rpc("GetTask", format!(r#"{{"id":"{task}"}}"#)),
        rpc("CancelTask", format!(r#"{{"id":"{task}"}}"#)),
        rpc("SubscribeToTask", format!(r#"{{"id":"{task}"}}"#)),
        rpc("SendMessage", message_with(&format!(r#""taskId":"{task}""#))),
        rpc("SendMessage", message_with(&format!(r#""referenceTaskIds":["{task}"]"#))),
        rpc("SendStreamingMessage", message_with(&format!(r#""taskId":"{task}""#))),
        get(format!("tasks/{task}")),
        get(format!("tasks/{task}:subscribe")),
        post(format!("tasks/{task}:cancel"), "{}".to_owned()),
        post("message:send".to_owned(), message_with(&format!(r#""taskId":"{task}""#))),
        post("message:stream".to_owned(), message_with(&format!(r#""referenceTaskIds":["{task}"]"#))),
    ]
}

/// Every call about the push configurations of `task`, in every JSON dialect.
fn configuring(key: &str, card: &str, task: &str) -> Vec<Ask> {
    const URL: &str = r#""url":"https://hook.test/x""#;
    let new = |members: &str| format!(r#"{{"taskId":"{task}",{members}}}"#);
    let rpc = |method: &str, params: String| rpc_as(key, card, method, &params);
    let old = |method: &str, params: String| {
        let method = format!("tasks/pushNotificationConfig/{method}");
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        Ask::post(card).key(key).json(&body)
    };
    let mut asks = vec![
        rpc("CreateTaskPushNotificationConfig", new(URL)),
        rpc("GetTaskPushNotificationConfig", new(r#""id":"c1""#)),
        rpc("ListTaskPushNotificationConfigs", new(r#""pageSize":5"#)),
        rpc("DeleteTaskPushNotificationConfig", new(r#""id":"c1""#)),
        old("set", new(&format!(r#""pushNotificationConfig":{{{URL}}}"#))),
        old("get", format!(r#"{{"id":"{task}"}}"#)),
        old("list", format!(r#"{{"id":"{task}"}}"#)),
        old("delete", format!(r#"{{"id":"{task}","pushNotificationConfigId":"c1"}}"#)),
    ];
    // HTTP+JSON of 1.0, path RPC, HTTP+JSON of 0.3.
    for (below, version) in [("tasks", Some("1.0")), ("tasks", None), ("v1/tasks", None)] {
        let of = |verb: &str, end: &str| {
            let ask = Ask::new(verb, &format!("{card}/{below}/{task}/pushNotificationConfigs{end}")).key(key);
            version.map_or_else(|| ask.clone(), |version| ask.clone().header("A2A-Version", version))
        };
        let made = of("POST", "").json(&format!("{{{URL}}}"));
        asks.extend([made, of("GET", ""), of("GET", "/c1"), of("DELETE", "/c1")]);
    }
    asks
}

/// A2A 1.0 §3.3.4: whoever asks, and whatever the task, push is told to be unsupported as long as it is not mediated.
#[tokio::test]
async fn push_is_unsupported_whatever_the_task() {
    let (agent, rig) = two_cards(Dialect::J1).await;
    let task = new_task(&rig).await;
    for (key, card) in [(P1, ECHO), (P2, ECHO), (P1, "/a2a/acme/weather"), (G1, "/a2a/globex/echo")] {
        for (real, missing) in configuring(key, card, &task).into_iter().zip(configuring(key, card, "never-was")) {
            let shown = String::from_utf8_lossy(&real.bytes()).into_owned();
            let real = told(rig.call(real).await, &task);
            assert_eq!(real, told(rig.call(missing).await, "never-was"), "{shown}");
            let code = if real.2.contains("\"details\"") { "PUSH_NOTIFICATION_NOT_SUPPORTED" } else { "-32003" };
            assert!(real.2.contains(code), "{shown}: {real:?}");
        }
    }
    assert_eq!(agent.requests().len(), 1);
}

fn told(heard: Heard, id: &str) -> (u16, Option<String>, String) {
    (heard.status, heard.header("content-type"), heard.text().replace(id, "ID"))
}

/// F39, F06, T-TASK-1
#[tokio::test]
async fn a_foreign_task_is_byte_for_byte_a_missing_one() {
    let (agent, rig) = two_cards(Dialect::J1).await;
    let task = new_task(&rig).await;
    for (key, card) in [(P2, ECHO), (P1, "/a2a/acme/weather"), (G1, "/a2a/globex/echo")] {
        for (foreign, missing) in naming(key, card, &task).into_iter().zip(naming(key, card, "never-was")) {
            let foreign = told(rig.call(foreign).await, &task);
            assert_eq!(foreign, told(rig.call(missing).await, "never-was"), "{key} {card}");
            assert!(foreign.2.contains("-32001") || foreign.0 == 404, "{foreign:?}");
        }
    }
    assert_eq!(agent.requests().len(), 1);
    assert_eq!(rig.call(rpc_as(P1, ECHO, "GetTask", &format!(r#"{{"id":"{task}"}}"#))).await.at("/result/id"), task);
}

#[tokio::test]
async fn a_task_is_shared_where_the_card_says_so_and_never_between_tenants() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let mut spec = CardSpec::of(&agent.url(), Dialect::J1);
    spec.task_scope = TaskScope::Tenant;
    let rig = Plan::echo(spec.clone()).card("globex/echo", spec).start().await;
    let task = new_task(&rig).await;
    let get = |key, card| rpc_as(key, card, "GetTask", &format!(r#"{{"id":"{task}"}}"#));
    assert_eq!(rig.call(get(P2, ECHO)).await.at("/result/id"), task);
    assert_eq!(rig.call(get(G1, "/a2a/globex/echo")).await.code(), -32001);
}

/// F39, T-TASK-2
#[tokio::test]
async fn an_unknown_context_becomes_the_callers_and_a_foreign_one_is_invalid() {
    let (agent, rig) = two_cards(Dialect::J1).await;
    let in_context = |key| rpc_as(key, ECHO, "SendMessage", &message_with(r#""contextId":"c-mine""#));
    assert_eq!(rig.call(in_context(P1)).await.status, 200);
    assert_eq!(rig.call(in_context(P1)).await.at("/error/code"), "");
    let heard = rig.call(in_context(P2)).await;
    assert_eq!(heard.code(), -32602, "{}", heard.text());
    // The honest agent puts its tasks into c-1, which is p1's by now.
    let minted = rig.call(rpc_as(P2, ECHO, "SendMessage", &message_with(r#""contextId":"c-1""#))).await;
    assert_eq!(minted.code(), -32602);
    assert_eq!(agent.requests().len(), 2);
}

/// T-TASK-3
#[tokio::test]
async fn an_answer_about_somebody_elses_task_is_withheld() {
    let agent = start(Behaviour::OthersTask { id: "t-theirs".to_owned() }).await.unwrap();
    for dialect in Dialect::JSON {
        let rig = Plan::echo(CardSpec::of(&agent.url(), dialect)).start().await;
        assert_eq!(rig.call(rpc_as(P1, ECHO, "SendMessage", &says("hi"))).await.at("/result/task/id"), "t-theirs");
        let heard = rig.call(rpc_as(P2, ECHO, "SendMessage", &says("hi"))).await;
        assert_eq!(heard.code(), -32006, "{dialect:?}: {}", heard.text());
        assert!(!heard.text().contains("t-theirs"));
        let heard = rig.call(rpc_as(P2, ECHO, "SendStreamingMessage", &says("hi"))).await;
        assert!(heard.text().contains("-32006") && !heard.text().contains("t-theirs"), "{}", heard.text());
    }
}

/// T-TASK-3
#[tokio::test]
async fn an_answer_about_another_task_than_asked_for_is_withheld() {
    let agent = Scripted::start(Script::by(|request| {
        let spoken = Spoken::of(request);
        let mut other = spoken.clone();
        if spoken.task.is_some() {
            other.task = Some("t-other".to_owned());
        }
        other.honest("", "an answer")
    }))
    .await
    .unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
    let task = new_task(&rig).await;
    for method in ["GetTask", "CancelTask"] {
        let heard = rig.call(rpc_as(P1, ECHO, method, &format!(r#"{{"id":"{task}"}}"#))).await;
        assert_eq!(heard.code(), -32006, "{method}");
    }
}

/// F39
#[tokio::test]
async fn an_id_cannot_be_taken_by_naming_it_first() {
    let (_agent, rig) = two_cards(Dialect::J1).await;
    let first = rpc_as(P2, ECHO, "SendMessage", &message_with(r#""taskId":"t-future""#));
    assert_eq!(rig.call(first).await.code(), -32001);
}

#[tokio::test]
async fn owners_are_known_after_the_cache_is_gone() {
    let (_agent, rig) = two_cards(Dialect::J1).await;
    let task = new_task(&rig).await;
    let tenant = store::TenantId::new("acme").unwrap();
    let row = rig.app.store.task_owner(&tenant, "card-acme-echo", &task).await.unwrap().unwrap();
    assert_eq!(row.principal_id, "prn-p1");
    let context = rig.app.store.context_owner(&tenant, "card-acme-echo", "c-1").await.unwrap().unwrap();
    assert_eq!(context.principal_id, "prn-p1");
}

#[tokio::test]
async fn with_the_store_away_known_tasks_go_on_and_unknown_ones_are_not_called_missing() {
    let (agent, rig) = two_cards(Dialect::J1).await;
    let before = new_task(&rig).await;
    rig.app.store.close().await;
    let during = new_task(&rig).await;
    assert_eq!(rig.app.calls.owners.pending(), 1);
    let get = |key, task: &str| rpc_as(key, ECHO, "GetTask", &format!(r#"{{"id":"{task}"}}"#));
    for task in [&before, &during] {
        assert_eq!(rig.call(get(P1, task)).await.at("/result/id"), **task);
    }
    let sent = agent.requests().len();
    for (key, task) in [(P1, "never-was"), (P2, &*before), (P2, &*during)] {
        let heard = rig.call(get(key, task)).await;
        assert_eq!((heard.status, heard.code()), (503, -32047), "{key} {task}");
    }
    assert_eq!(agent.requests().len(), sent);
}

fn list(key: &str, query: &str) -> Ask {
    Ask::get(&format!("{ECHO}/tasks{query}")).key(key).v10()
}

/// F39, T-TASK-3
#[tokio::test]
async fn a_list_holds_the_callers_tasks_and_counts_only_them() {
    let agent = Scripted::start(Script::by(|request| {
        let spoken = Spoken::of(request);
        if request.path().ends_with("/tasks") {
            let ids: Vec<String> = (0..60).map(|at| format!("t-{at}")).collect();
            return spoken.answer(spoken.list(&ids.iter().map(String::as_str).collect::<Vec<_>>(), "a secret answer"));
        }
        let text = request.body_text();
        let id = text.split("make ").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("t-x").to_owned();
        // Tasks of different callers are in different contexts.
        let context = if id == "t-5" { "c-of-p2" } else { "c-of-p1" };
        Reply::json(
            200,
            format!(
                r#"{{"task":{{"id":"{id}","contextId":"{context}","status":{{"state":"TASK_STATE_COMPLETED"}}}}}}"#
            ),
        )
    }))
    .await
    .unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    for (key, at) in [(P1, 3), (P2, 5), (P1, 7), (P1, 50)] {
        let heard = rig.call(rpc_as(key, ECHO, "SendMessage", &says(&format!("make t-{at}")))).await;
        assert_eq!(heard.status, 200, "{}", heard.text());
    }
    let first = rig.call(list(P1, "?pageSize=2")).await;
    assert_eq!(
        (first.at("/tasks/0/id"), first.at("/tasks/1/id"), first.at("/totalSize")),
        ("t-3".into(), "t-7".into(), "3".into())
    );
    let token = first.at("/nextPageToken");
    let second = rig.call(list(P1, &format!("?pageSize=2&pageToken={token}"))).await;
    assert_eq!(
        (second.at("/tasks/0/id"), second.at("/tasks/1/id"), second.at("/nextPageToken")),
        ("t-50".into(), String::new(), String::new())
    );
    let theirs = rig.call(list(P2, "")).await;
    assert_eq!((theirs.at("/tasks/0/id"), theirs.at("/totalSize")), ("t-5".into(), "1".into()));
    // A token is good for the caller and the query it was made for.
    for stolen in [
        list(P2, &format!("?pageSize=2&pageToken={token}")),
        list(P1, &format!("?pageSize=3&pageToken={token}")),
        list(P1, "?pageToken=t-3"),
    ] {
        assert_eq!(rig.call(stolen).await.status, 400);
    }
    let before = agent.requests().len();
    let foreign = rig.call(list(P2, "?contextId=c-of-p1")).await;
    assert_eq!((foreign.at("/totalSize"), foreign.at("/tasks/0/id")), ("0".into(), String::new()));
    assert_eq!(agent.requests().len(), before);
}

#[tokio::test]
async fn a_list_longer_than_can_be_walked_is_an_error_and_not_a_wrong_total() {
    let agent = Scripted::start(Script::by(|request| {
        let spoken = Spoken::of(request);
        let json::Json::Object(mut page) = spoken.list(&["t-1"], "x") else { return Reply::nothing() };
        page.insert("nextPageToken", "more");
        spoken.answer(page.into())
    }))
    .await
    .unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    assert_eq!(rig.call(list(P1, "")).await.status, 400);
    assert_eq!(agent.requests().len(), 20);
}

/// F06
#[tokio::test]
async fn a_finished_task_cannot_be_subscribed_to_and_says_so_plainly() {
    for streamed in [false, true] {
        let agent = Scripted::start(Script::by(move |request| {
            let spoken = Spoken::of(request);
            if !spoken.wants_stream() {
                return spoken.honest("", "an answer");
            }
            let error = r#"{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"done","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org"}]}}"#;
            if streamed { Reply::sse().chunk(format!("event: error\ndata: {error}\n\n")).end() } else { Reply::json(501, error) }
        }))
        .await
        .unwrap();
        let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
        let task = new_task(&rig).await;
        let heard = rig.call(Ask::post(&format!("{ECHO}/tasks/{task}:subscribe")).key(P1).v10()).await;
        assert_eq!(
            (heard.status, heard.at("/error/details/0/reason").as_str()),
            (400, "UNSUPPORTED_OPERATION"),
            "{}",
            heard.text()
        );
        assert!(!heard.header("content-type").unwrap().contains("event-stream"));
        let heard = rig.call(rpc_as(P1, ECHO, "SubscribeToTask", &format!(r#"{{"id":"{task}"}}"#))).await;
        assert!(heard.text().contains("-32004"), "{}", heard.text());
    }
}
