//! Push notifications: what may be registered, what arrives, and what is never told again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use a2a_agent::push::{Push, PushSettings, Reach};
use a2a_agent::{Outcome, Server, Turn, part};
use bytes::Bytes;
use egress::{AllowEntry, Net, Own, Plaintext, Rules, Script};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use json::{Json, Limits};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{agent, hi, request, state, whole};

/// What arrived: the headers and the body.
type Arrived = (HeaderMap, Json);

/// A webhook that answers as told, in turn, and then 204.
pub(crate) struct Hook {
    address: SocketAddr,
    arrivals: mpsc::Receiver<Arrived>,
    _server: JoinSet<()>,
}

impl Hook {
    pub(crate) async fn start(answers: &[(u16, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, mut server) = (listener.local_addr().unwrap(), JoinSet::new());
        let (tell, arrivals) = mpsc::channel(64);
        let answers = Arc::new(std::sync::Mutex::new(std::collections::VecDeque::from(answers.to_vec())));
        let answer = move |request: Request<hyper::body::Incoming>| {
            let (tell, answers) = (tell.clone(), Arc::clone(&answers));
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                tell.send((head.headers, json::read(&body, &Limits::default()).unwrap())).await.unwrap();
                let (status, location) = answers.lock().unwrap().pop_front().unwrap_or((204, ""));
                let mut response = Response::new(Full::new(Bytes::new()).boxed_unsync());
                *response.status_mut() = StatusCode::from_u16(status).unwrap();
                response.headers_mut().insert("location", location.parse().unwrap());
                response
            }
        };
        server.spawn(a2a_agent::listen(listener, CancellationToken::new(), answer));
        Self { address, arrivals, _server: server }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Whether nothing has arrived.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.arrivals.try_recv().is_err()
    }

    async fn next(&mut self) -> Arrived {
        tokio::time::timeout(Duration::from_secs(20), self.arrivals.recv()).await.unwrap().unwrap()
    }

    /// Arrivals up to the one with this state.
    async fn until(&mut self, wanted: &str) -> Vec<Arrived> {
        let mut arrived = Vec::new();
        loop {
            let next = self.next().await;
            let found = next.1.pointer("/statusUpdate/status/state").and_then(Json::as_str) == Some(wanted);
            arrived.push(next);
            if found {
                return arrived;
            }
        }
    }
}

fn loopback() -> Rules {
    let allow = vec![AllowEntry::parse("127.0.0.0/8").unwrap()];
    Rules::new(allow, Vec::<Own>::new(), Plaintext::Listed, "TEST_PUSH")
}

fn push(settings: PushSettings) -> Push {
    Push::new(settings).unwrap()
}

pub(crate) fn quick() -> PushSettings {
    PushSettings { rules: loopback(), pauses: vec![Duration::ZERO; 2], ..PushSettings::default() }
}

/// An agent that takes a task up, tells of it, asks once and completes.
fn server(settings: PushSettings) -> Server {
    let work = |turn: Turn| async move {
        let task = turn.start();
        if turn.metadata("ask").is_some() {
            return Outcome::InputRequired("and?".to_owned());
        }
        task.progress("on it");
        Outcome::artifact("done", [part::text("done")])
    };
    agent().push(push(settings)).on_message(work).into_server()
}

fn inline(config: &str) -> String {
    hi(&format!(r#","configuration":{{"taskPushNotificationConfig":{config}}}"#))
}

async fn call(server: &Server, method: &str, path: &str, body: &str) -> (u16, Json) {
    let mut asked = request(path, body);
    *asked.method_mut() = method.parse().unwrap();
    let response = server.answer(asked).await;
    (response.status().as_u16(), whole(response).await)
}

#[tokio::test]
async fn every_update_arrives_in_order_with_token_and_credentials() {
    let mut hook = Hook::start(&[]).await;
    let config = format!(
        r#"{{"url":"{}","token":"t-1","authentication":{{"scheme":"Bearer","credentials":"s3cret"}}}}"#,
        hook.url()
    );
    let server = server(quick());
    let (status, sent) = call(&server, "POST", "/message:send", &inline(&config)).await;
    assert_eq!((status, state(&sent, "/task/status/state").as_str()), (200, "TASK_STATE_COMPLETED"));
    let arrived = hook.until("TASK_STATE_COMPLETED").await;
    for (headers, _) in &arrived {
        assert_eq!(headers["content-type"], "application/a2a+json");
        assert_eq!(headers["x-a2a-notification-token"], "t-1");
        assert_eq!(headers["authorization"], "Bearer s3cret");
    }
    let kinds: Vec<&str> = arrived.iter().map(|(_, body)| body.as_object().unwrap().keys().next().unwrap()).collect();
    assert_eq!(kinds, ["task", "statusUpdate", "statusUpdate", "artifactUpdate", "statusUpdate"]);
    assert_eq!(state(&arrived[0].1, "/task/id"), state(&sent, "/task/id"));
}

#[tokio::test]
async fn configurations_are_made_shown_listed_and_deleted_but_credentials_never_shown() {
    let server = server(quick());
    let sent = call(&server, "POST", "/message:send", &hi("")).await.1;
    let path = format!("/tasks/{}/pushNotificationConfigs", state(&sent, "/task/id"));
    let config = r#"{"id":"c1","url":"http://127.0.0.1:9/x","token":"t","authentication":{"scheme":"Bearer","credentials":"s3cret"}}"#;
    let made = call(&server, "POST", &path, config).await;
    let shown = call(&server, "GET", &format!("{path}/c1"), "").await;
    assert_eq!((made.0, shown.0), (200, 200));
    assert_eq!(made.1, shown.1);
    let text = String::from_utf8(json::write(&made.1)).unwrap();
    assert!(!text.contains("s3cret") && text.contains(r#""authentication":{"scheme":"Bearer"}"#), "{text}");
    let listed = call(&server, "GET", &path, "").await.1;
    assert_eq!(listed.pointer("/configs/0"), Some(&made.1));
    for _ in 0..2 {
        assert_eq!(call(&server, "DELETE", &format!("{path}/c1"), "").await, (200, json::Object::new().into()));
    }
    assert_eq!(call(&server, "GET", &format!("{path}/c1"), "").await.0, 404);
    assert_eq!(call(&server, "GET", "/tasks/none/pushNotificationConfigs", "").await.0, 404);
    for at in 0..10 {
        let config = format!(r#"{{"id":"n{at}","url":"http://127.0.0.1:9/x"}}"#);
        assert_eq!(call(&server, "POST", &path, &config).await.0, 200);
    }
    assert_eq!(call(&server, "POST", &path, r#"{"id":"n10","url":"http://127.0.0.1:9/x"}"#).await.0, 400);
    assert_eq!(call(&server, "POST", &path, r#"{"id":"n9","url":"http://127.0.0.1:9/y"}"#).await.0, 200);
}

#[tokio::test]
async fn urls_that_lead_inside_are_refused_when_they_are_registered() {
    let server = server(PushSettings { setting: "MY_SETTING", ..PushSettings::default() });
    for url in [
        "http://169.254.169.254/latest/meta-data",
        "https://169.254.169.254/latest/meta-data",
        "http://127.1/x",
        "https://127.1/x",
        "https://[::ffff:10.0.0.1]/x",
        "file:///etc/passwd",
        "nonsense",
    ] {
        let (status, refused) = call(&server, "POST", "/message:send", &inline(&format!(r#"{{"url":"{url}"}}"#))).await;
        assert_eq!((status, state(&refused, "/error/details/0/reason").as_str()), (400, "INVALID_PARAMS"), "{url}");
        assert!(state(&refused, "/error/message").contains("MY_SETTING"), "{refused:?}");
    }
    assert_eq!(call(&server, "GET", "/tasks", "").await.1.get("totalSize"), Some(&0.into()));
}

#[tokio::test]
async fn a_name_that_leads_inside_later_is_refused_when_it_is_called() {
    let (mut hook, script) = (Hook::start(&[]).await, Arc::new(Script::default()));
    let (outside, inside) = ("93.184.216.34".parse().unwrap(), "10.0.0.7".parse().unwrap());
    for (name, addresses) in [("good.example", [outside, outside]), ("rebind.example", [outside, inside])] {
        script.name(name, &addresses[..1]);
        script.name(name, &addresses[1..]);
    }
    script.lead(SocketAddr::new(outside, 8080), hook.address);
    script.lead(SocketAddr::new(inside, 8080), hook.address);
    let allow = ["good.example:8080", "203.0.113.0/24"].map(|entry| AllowEntry::parse(entry).unwrap()).to_vec();
    // Plain http to a public name needs an entry; the network above makes names pass until their address is seen.
    let rules = Rules::new(allow, Vec::new(), Plaintext::Listed, "TEST_PUSH");
    let settings = PushSettings { rules, net: Net::Scripted(Arc::clone(&script)), ..quick() };
    let server = server(settings);
    for name in ["rebind.example", "good.example"] {
        let config = format!(r#"{{"url":"http://{name}:8080/x","token":"{name}"}}"#);
        assert_eq!(call(&server, "POST", "/message:send", &inline(&config)).await.0, 200);
    }
    for (headers, _) in hook.until("TASK_STATE_COMPLETED").await {
        assert_eq!(headers["x-a2a-notification-token"], "good.example");
    }
    server.drain().await;
    assert!(script.dialled().iter().all(|dialled| dialled.ip() == outside), "{:?}", script.dialled());
}

#[tokio::test]
async fn failures_that_may_pass_are_tried_again_and_redirects_never_followed() {
    let mut inside = Hook::start(&[]).await;
    let location: &'static str = inside.url().leak();
    let mut hook = Hook::start(&[(503, ""), (500, ""), (204, ""), (302, location), (410, "")]).await;
    let server = server(quick());
    let (_, sent) = call(&server, "POST", "/message:send", &inline(&format!(r#"{{"url":"{}"}}"#, hook.url()))).await;
    let arrived = hook.until("TASK_STATE_COMPLETED").await;
    let tasks = arrived.iter().filter(|(_, body)| body.get("task").is_some()).count();
    // The first event three times; the two after it are refused once each.
    assert_eq!((tasks, arrived.len()), (3, 7), "{sent:?}");
    server.drain().await;
    assert!(inside.arrivals.try_recv().is_err());
}

#[tokio::test]
async fn what_was_registered_by_a_v03_client_gets_whole_tasks_of_its_generation() {
    let mut hook = Hook::start(&[]).await;
    let server = server(quick());
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"message/send","params":{{"message":{{"kind":"message","messageId":"m","role":"user","parts":[{{"kind":"text","text":"hi"}}]}},"configuration":{{"pushNotificationConfig":{{"url":"{}"}}}}}}}}"#,
        hook.url()
    );
    let mut asked = request("", &body);
    asked.headers_mut().remove("a2a-version");
    assert_eq!(server.answer(asked).await.status(), 200);
    loop {
        let (headers, task) = hook.next().await;
        assert_eq!(
            (headers["content-type"].to_str().unwrap(), state(&task, "/kind").as_str()),
            ("application/json", "task")
        );
        if state(&task, "/status/state") == "completed" {
            return;
        }
    }
}

#[tokio::test]
async fn notifications_go_on_when_a_task_that_waited_goes_on() {
    let mut hook = Hook::start(&[]).await;
    let server = server(PushSettings { reach: Reach::Hosts(vec![("127.0.0.1".to_owned(), None)]), ..quick() });
    let config = format!(r#"{{"url":"{}"}}"#, hook.url());
    let ask = format!(
        r#"{{"message":{{"messageId":"m","role":"ROLE_USER","metadata":{{"ask":1}},"parts":[{{"text":"hi"}}]}},"configuration":{{"taskPushNotificationConfig":{config}}}}}"#
    );
    let (_, asked) = call(&server, "POST", "/message:send", &ask).await;
    hook.until("TASK_STATE_INPUT_REQUIRED").await;
    let more = format!(
        r#"{{"message":{{"messageId":"m","role":"ROLE_USER","taskId":"{}","parts":[{{"text":"hi"}}]}}}}"#,
        state(&asked, "/task/id")
    );
    call(&server, "POST", "/message:send", &more).await;
    hook.until("TASK_STATE_COMPLETED").await;
    // Couriers of tasks that wait do not hold the drain up.
    call(&server, "POST", "/message:send", &ask).await;
    server.drain().await;
}

#[tokio::test]
async fn an_agent_without_push_says_so_and_refuses() {
    let server = agent().on_message(|_| async { Outcome::say("hi") }).into_server();
    let (_, card) = call(&server, "GET", "/.well-known/agent-card.json", "").await;
    assert_eq!(card.pointer("/capabilities/pushNotifications"), Some(&false.into()));
    let refused = call(&server, "POST", "/message:send", &inline(r#"{"url":"https://hooks.example/"}"#)).await.1;
    assert_eq!(state(&refused, "/error/details/0/reason"), "PUSH_NOTIFICATION_NOT_SUPPORTED");
}
