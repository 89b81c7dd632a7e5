//! `echo` over every dialect it speaks, as callers use it.

use std::net::SocketAddr;
use std::time::Duration;

use json::Json;
use reqwest::Response;
use sample_agents::{Running, start_all};

use crate::client::{Answer, exchange, get, parse, post, text_at};

/// The dialects of the agent, as a caller writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    J1,
    R1,
    J3,
}

const ALL: [Dialect; 3] = [Dialect::J1, Dialect::R1, Dialect::J3];
const V10: (&str, &str) = ("a2a-version", "1.0");

/// The operations as (J1 method, J3 method, R1 verb, R1 path).
type Operation = (&'static str, &'static str, &'static str, &'static str);
const SEND: Operation = ("SendMessage", "message/send", "POST", "/message:send");
const STREAM: Operation = ("SendStreamingMessage", "message/stream", "POST", "/message:stream");
const GET: Operation = ("GetTask", "tasks/get", "GET", "/tasks/{id}");
const CANCEL: Operation = ("CancelTask", "tasks/cancel", "POST", "/tasks/{id}:cancel");
const SUBSCRIBE: Operation = ("SubscribeToTask", "tasks/resubscribe", "POST", "/tasks/{id}:subscribe");

impl Dialect {
    /// The parameters of a send with this text.
    fn message(self, text: &str, more: &str) -> String {
        match self {
            Self::J1 | Self::R1 => {
                format!(r#"{{"message":{{"messageId":"m-1","role":"ROLE_USER","parts":[{{"text":"{text}"}}]{more}}}}}"#)
            }
            Self::J3 => format!(
                r#"{{"message":{{"kind":"message","messageId":"m-1","role":"user","parts":[{{"kind":"text","text":"{text}"}}]{more}}}}}"#
            ),
        }
    }

    async fn call(self, base: &str, operation: Operation, params: &str) -> Answer {
        let (request, _) = self.request(base, operation, params);
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, text: response.text().await.unwrap() }
    }

    async fn open(self, base: &str, operation: Operation, params: &str) -> Stream {
        let (request, enveloped) = self.request(base, operation, params);
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Stream { response, text: String::new(), enveloped }
    }

    fn request(self, base: &str, operation: Operation, params: &str) -> (reqwest::RequestBuilder, bool) {
        let (j1, j3, verb, path) = operation;
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let method = if self == Self::J1 { j1 } else { j3 };
        let envelope = format!(r#"{{"jsonrpc":"2.0","id":"rpc-1","method":"{method}","params":{params}}}"#);
        let request = match self {
            Self::J1 => client.post(base).header(V10.0, V10.1).body(envelope),
            Self::J3 => client.post(base).body(envelope),
            Self::R1 => {
                let id = parse(params).get("id").and_then(Json::as_str).unwrap_or_default().to_owned();
                let url = format!("{base}{}", path.replace("{id}", &id));
                let request = client.request(verb.parse().unwrap(), url).header(V10.0, V10.1);
                if verb == "GET" { request } else { request.body(params.to_owned()) }
            }
        };
        (request.header("content-type", "application/json"), self != Self::R1)
    }

    /// The result without its envelope.
    fn result(self, answer: &Answer) -> Json {
        assert_eq!(answer.status, 200, "{}", answer.text);
        let json = answer.json();
        if self == Self::R1 {
            return json;
        }
        assert_eq!(json.get("id"), Some(&"rpc-1".into()));
        json.get("result").cloned().unwrap_or_else(|| panic!("no result: {}", answer.text))
    }

    /// The task a send answered with.
    fn task(self, answer: &Answer) -> Json {
        let result = self.result(answer);
        match self {
            Self::J1 | Self::R1 => result.get("task").cloned().unwrap_or_else(|| panic!("no task: {}", answer.text)),
            Self::J3 => {
                assert_eq!(text_at(&result, "/kind"), "task");
                result
            }
        }
    }

    /// The JSON-RPC code (J) or the reason (R) of a fault.
    fn fault(self, answer: &Answer) -> Json {
        let pointer = if self == Self::R1 { "/error/details/0/reason" } else { "/error/code" };
        answer.json().pointer(pointer).cloned().unwrap_or_else(|| panic!("no fault: {}", answer.text))
    }

    fn faulted(self, answer: &Answer, code: i64, reason: &str) {
        let expected = if self == Self::R1 { Json::from(reason) } else { Json::from(code) };
        assert_eq!(self.fault(answer), expected, "{self:?}: {}", answer.text);
    }

    fn state(self, name: &str) -> String {
        match self {
            Self::J1 | Self::R1 => format!("TASK_STATE_{}", name.to_uppercase().replace('-', "_")),
            Self::J3 => name.to_owned(),
        }
    }

    /// A status update in its words: state, or nothing if the event is another.
    fn update(self, event: &Json) -> Option<String> {
        let update = match self {
            Self::J1 | Self::R1 => event.get("statusUpdate")?,
            Self::J3 => Some(event).filter(|event| event.get("kind") == Some(&"status-update".into()))?,
        };
        Some(text_at(update, "/status/state"))
    }
}

/// A stream that is being read.
struct Stream {
    response: Response,
    text: String,
    enveloped: bool,
}

impl Stream {
    /// The next event without its envelope; `None` at the end.
    async fn next(&mut self) -> Option<Json> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let Some(event) = event.strip_prefix("data: ") else { continue };
                let event = parse(event);
                return Some(if self.enveloped { event.get("result").unwrap().clone() } else { event });
            }
            let chunk = tokio::time::timeout(Duration::from_secs(20), self.response.chunk()).await;
            self.text += std::str::from_utf8(&chunk.unwrap().unwrap()?).unwrap();
        }
    }

    async fn rest(mut self) -> Vec<Json> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

async fn start() -> Running {
    start_all(SocketAddr::from(([127, 0, 0, 1], 0)), None).await.unwrap()
}

fn id(task: &Json) -> String {
    text_at(task, "/id")
}

fn by_id(task: &str) -> String {
    format!(r#"{{"id":"{task}"}}"#)
}

#[tokio::test]
async fn a_send_is_echoed_as_a_completed_task_that_can_be_fetched() {
    let agents = start().await;
    for dialect in ALL {
        let answer = dialect.call(&agents.echo_url, SEND, &dialect.message("hello agent", "")).await;
        let task = dialect.task(&answer);
        assert_eq!(text_at(&task, "/status/state"), dialect.state("completed"));
        assert_eq!(text_at(&task, "/artifacts/0/name"), "echo");
        assert_eq!(text_at(&task, "/artifacts/0/parts/0/text"), "hello agent");
        assert_eq!(text_at(&task, "/history/0/parts/0/text"), "hello agent");
        assert!(text_at(&task, "/status/timestamp").ends_with('Z'));
        let fetched = dialect.result(&dialect.call(&agents.echo_url, GET, &by_id(&id(&task))).await);
        assert_eq!(fetched, task);
    }
}

#[tokio::test]
async fn every_kind_of_part_comes_back_as_it_was() {
    let agents = start().await;
    let parts = r#"[{"text":"a"},{"data":{"n":1.50,"deep":[null,true]}},{"raw":"aGk=","filename":"f","mediaType":"text/plain"},{"url":"https://files.example/x","mediaType":"image/png"}]"#;
    let body = format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":{parts}}}}}"#);
    let answer = exchange("POST", &format!("{}/message%3Asend", agents.echo_url), &[V10], Some(&body)).await;
    assert_eq!(answer.headers["content-type"], "application/a2a+json");
    assert_eq!(answer.json().pointer("/task/artifacts/0/parts"), Some(&parse(parts)));
}

#[tokio::test]
async fn a_direct_message_has_no_task() {
    let agents = start().await;
    for dialect in ALL {
        for (text, more) in [("msg: no task please", ""), ("hi", r#","metadata":{"reply":"message"}"#)] {
            let answer = dialect.call(&agents.echo_url, SEND, &dialect.message(text, more)).await;
            let result = dialect.result(&answer);
            let (message, role) = match dialect {
                Dialect::J1 | Dialect::R1 => (result.get("message").unwrap(), "ROLE_AGENT"),
                Dialect::J3 => (&result, "agent"),
            };
            assert_eq!((text_at(message, "/role").as_str(), text_at(message, "/parts/0/text").as_str()), (role, text));
            assert!(result.get("task").is_none() && message.get("taskId").is_none());
            let events = dialect.open(&agents.echo_url, STREAM, &dialect.message(text, more)).await.rest().await;
            assert_eq!(events.len(), 1);
        }
    }
}

#[tokio::test]
async fn a_stream_begins_with_the_task_and_ends_with_its_last_state() {
    let agents = start().await;
    for dialect in ALL {
        let message = dialect.message("stream 3 one two three", "");
        let events = dialect.open(&agents.echo_url, STREAM, &message).await.rest().await;
        let first = events.first().unwrap();
        let task = if dialect == Dialect::J3 { first } else { first.get("task").unwrap() };
        assert_eq!(text_at(task, "/status/state"), dialect.state("submitted"), "{dialect:?}");
        let states: Vec<String> = events.iter().filter_map(|event| dialect.update(event)).collect();
        assert_eq!(states, [dialect.state("working"), dialect.state("completed")]);
        assert_eq!(dialect.update(events.last().unwrap()), Some(dialect.state("completed")));
        let pieces: Vec<&Json> = match dialect {
            Dialect::J1 | Dialect::R1 => events.iter().filter_map(|event| event.get("artifactUpdate")).collect(),
            Dialect::J3 => events.iter().filter(|event| event.get("artifact").is_some()).collect(),
        };
        let flag = |piece: &Json, name: &str| piece.get(name).and_then(Json::as_bool).unwrap_or(false);
        let flags: Vec<_> = pieces.iter().map(|piece| (flag(piece, "append"), flag(piece, "lastChunk"))).collect();
        assert_eq!(flags, [(false, false), (true, false), (true, true)]);
        let text: String = pieces.iter().map(|piece| text_at(piece, "/artifact/parts/0/text")).collect();
        assert_eq!(text, "one two three");
        if dialect == Dialect::J3 {
            let finals: Vec<bool> = events.iter().map(|event| flag(event, "final")).collect();
            assert_eq!(finals.iter().filter(|last| **last).count(), 1);
            assert_eq!(finals.last(), Some(&true));
        }
        let stored = dialect.result(&dialect.call(&agents.echo_url, GET, &by_id(&id(task))).await);
        assert_eq!(stored.pointer("/artifacts/0/parts").unwrap().as_array().unwrap().len(), 3);
    }
}

#[tokio::test]
async fn a_slow_task_can_be_followed_and_cancelled_once() {
    let agents = start().await;
    for dialect in ALL {
        let mut stream = dialect.open(&agents.echo_url, STREAM, &dialect.message("slow, please", "")).await;
        let first = stream.next().await.unwrap();
        let task = id(if dialect == Dialect::J3 { &first } else { first.get("task").unwrap() });
        assert_eq!(dialect.update(&stream.next().await.unwrap()), Some(dialect.state("working")));

        let mut follower = dialect.open(&agents.echo_url, SUBSCRIBE, &by_id(&task)).await;
        let opening = follower.next().await.unwrap();
        let opening = if dialect == Dialect::J3 { &opening } else { opening.get("task").unwrap() };
        assert_eq!((id(opening), text_at(opening, "/status/state")), (task.clone(), dialect.state("working")));

        let canceled = dialect.result(&dialect.call(&agents.echo_url, CANCEL, &by_id(&task)).await);
        assert_eq!(text_at(&canceled, "/status/state"), dialect.state("canceled"));
        for stream in [stream, follower] {
            let last = stream.rest().await.pop().unwrap();
            assert_eq!(dialect.update(&last), Some(dialect.state("canceled")));
        }
        let again = dialect.call(&agents.echo_url, CANCEL, &by_id(&task)).await;
        dialect.faulted(&again, -32002, "TASK_NOT_CANCELABLE");
    }
}

#[tokio::test]
async fn both_verbs_subscribe() {
    let agents = start().await;
    let body = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"slow"}]},"configuration":{"returnImmediately":true}}"#;
    let answer = exchange("POST", &format!("{}/message:send", agents.echo_url), &[V10], Some(body)).await;
    let task = answer.text_at("/task/id");
    assert_eq!(answer.text_at("/task/status/state"), "TASK_STATE_WORKING");
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for verb in ["GET", "POST"] {
        let url = format!("{}/tasks/{task}%3Asubscribe", agents.echo_url);
        let request = client.request(verb.parse().unwrap(), url).header(V10.0, V10.1);
        let response = request.send().await.unwrap();
        let mut stream = Stream { response, text: String::new(), enveloped: false };
        assert_eq!(text_at(&stream.next().await.unwrap(), "/task/id"), task);
    }
}

#[tokio::test]
async fn asking_interrupts_and_the_next_message_completes() {
    let agents = start().await;
    for dialect in ALL {
        let asked = dialect.task(&dialect.call(&agents.echo_url, SEND, &dialect.message("ask me", "")).await);
        assert_eq!(text_at(&asked, "/status/state"), dialect.state("input-required"));
        let (task, context) = (id(&asked), text_at(&asked, "/contextId"));
        let elsewhere = dialect.message("blue", &format!(r#","taskId":"{task}","contextId":"c-other""#));
        dialect.faulted(&dialect.call(&agents.echo_url, SEND, &elsewhere).await, -32602, "INVALID_PARAMS");
        let more = dialect.message("blue", &format!(r#","taskId":"{task}","contextId":"{context}""#));
        let done = dialect.task(&dialect.call(&agents.echo_url, SEND, &more).await);
        assert_eq!((id(&done), text_at(&done, "/status/state")), (task, dialect.state("completed")));
        assert_eq!(text_at(&done, "/artifacts/0/parts/0/text"), "blue");
        assert_eq!(done.get("history").unwrap().as_array().unwrap().len(), 2);
        dialect.faulted(&dialect.call(&agents.echo_url, SEND, &more).await, -32004, "UNSUPPORTED_OPERATION");
    }
}

#[tokio::test]
async fn tasks_fail_and_are_rejected_on_request() {
    let agents = start().await;
    for dialect in ALL {
        for (text, state) in [("fail now", "failed"), ("reject this", "rejected")] {
            let task = dialect.task(&dialect.call(&agents.echo_url, SEND, &dialect.message(text, "")).await);
            assert_eq!(text_at(&task, "/status/state"), dialect.state(state));
            assert!(text_at(&task, "/status/message/parts/0/text").contains("as was asked for"));
        }
    }
}

#[tokio::test]
async fn tasks_are_listed_newest_first_in_pages() {
    let agents = start().await;
    let mut sent = Vec::new();
    for text in ["1", "2", "3", "fail"] {
        let answer = Dialect::J1.call(&agents.echo_url, SEND, &Dialect::J1.message(text, "")).await;
        sent.insert(0, id(&Dialect::J1.task(&answer)));
    }
    let list = async |query: &str| exchange("GET", &format!("{}/tasks{query}", agents.echo_url), &[V10], None).await;
    let ids = |page: &Json| -> Vec<String> { page.get("tasks").unwrap().as_array().unwrap().iter().map(id).collect() };
    let first = list("?pageSize=3").await.json();
    assert_eq!(
        (ids(&first), first.get("totalSize"), first.get("pageSize")),
        (sent[..3].to_vec(), Some(&4.into()), Some(&3.into()))
    );
    assert!(first.pointer("/tasks/1/artifacts").is_none() && first.pointer("/tasks/1/history").is_none());
    let token = text_at(&first, "/nextPageToken");
    let second = list(&format!("?pageSize=3&pageToken={token}&includeArtifacts=true&historyLength=1")).await.json();
    assert_eq!((ids(&second), text_at(&second, "/nextPageToken")), (sent[3..].to_vec(), String::new()));
    assert_eq!(text_at(&second, "/tasks/0/artifacts/0/parts/0/text"), "1");
    assert_eq!(text_at(&second, "/tasks/0/history/0/parts/0/text"), "1");
    assert_eq!(ids(&list("?status=TASK_STATE_FAILED").await.json()), sent[..1]);
    let rpc = r#"{"jsonrpc":"2.0","id":"rpc-1","method":"ListTasks","params":{"pageSize":1}}"#;
    let rpc = exchange("POST", &agents.echo_url, &[V10], Some(rpc)).await;
    assert_eq!(ids(&Dialect::J1.result(&rpc)), sent[..1]);
    for query in ["?pageSize=0", "?pageSize=101", "?pageToken=x", "?status=DONE"] {
        let refused = list(query).await;
        assert_eq!((refused.status, Dialect::R1.fault(&refused)), (400, "INVALID_PARAMS".into()), "{query}");
    }
}

#[tokio::test]
async fn history_length_limits_what_is_shown() {
    let agents = start().await;
    let answer = Dialect::R1.call(&agents.echo_url, SEND, &Dialect::R1.message("hi", "")).await;
    let task = id(&Dialect::R1.task(&answer));
    for (query, shown) in [("", true), ("?historyLength=0", false), ("?historyLength=1", true)] {
        let fetched = exchange("GET", &format!("{}/tasks/{task}{query}", agents.echo_url), &[V10], None).await;
        assert_eq!(fetched.json().get("history").is_some(), shown, "{query}");
    }
}

#[tokio::test]
async fn push_configurations_are_kept_in_every_dialect() {
    let agents = start().await;
    let answer = Dialect::R1.call(&agents.echo_url, SEND, &Dialect::R1.message("hi", "")).await;
    let task = id(&Dialect::R1.task(&answer));
    let url = format!("{}/tasks/{task}/pushNotificationConfigs", agents.echo_url);
    let config =
        r#"{"id":"c1","url":"/a2a/webhook-sink/x","authentication":{"scheme":"Bearer","credentials":"s3cret"}}"#;
    let made = exchange("POST", &url, &[V10], Some(config)).await;
    assert_eq!((made.status, made.text_at("/url")), (200, "/a2a/webhook-sink/x".to_owned()), "{}", made.text);
    let j3 = |method: &str, params: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"rpc-1","method":"tasks/pushNotificationConfig/{method}","params":{params}}}"#
        )
    };
    let set = j3(
        "set",
        &format!(r#"{{"taskId":"{task}","pushNotificationConfig":{{"id":"c2","url":"/a2a/webhook-sink/y"}}}}"#),
    );
    let set = Dialect::J3.result(&post(&agents.echo_url, &set).await);
    assert_eq!(text_at(&set, "/pushNotificationConfig/url"), "/a2a/webhook-sink/y");
    let listed = Dialect::J3.result(&post(&agents.echo_url, &j3("list", &by_id(&task))).await);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert!(!String::from_utf8(json::write(&listed)).unwrap().contains("s3cret"));
    let gone = j3("delete", &format!(r#"{{"id":"{task}","pushNotificationConfigId":"c1"}}"#));
    assert_eq!(Dialect::J3.result(&post(&agents.echo_url, &gone).await), Json::Null);
    let listed = exchange("GET", &url, &[V10], None).await.json();
    assert_eq!((text_at(&listed, "/configs/0/id"), listed.pointer("/configs/1")), ("c2".to_owned(), None));
}

#[tokio::test]
async fn cards_name_the_url_and_the_extended_one_tells_more() {
    let agents = start().await;
    for path in ["", "/", "/.well-known/agent-card.json"] {
        let card = get(&format!("{}{path}", agents.echo_url)).await.json();
        for url in ["/url", "/supportedInterfaces/0/url", "/supportedInterfaces/1/url", "/additionalInterfaces/0/url"] {
            assert_eq!(text_at(&card, url), agents.echo_url);
        }
        assert_eq!((card.pointer("/skills/0/id"), card.pointer("/skills/1")), (Some(&"echo".into()), None));
        assert_eq!(card.pointer("/capabilities/extendedAgentCard"), Some(&true.into()));
    }
    let operation = ("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard", "GET", "/extendedAgentCard");
    for dialect in ALL {
        let card = dialect.result(&dialect.call(&agents.echo_url, operation, "{}").await);
        assert_eq!(text_at(&card, "/skills/1/id"), "trace", "{dialect:?}");
    }
    assert_eq!(parse(&get(&format!("{}/health", agents.echo_url)).await.text), parse(r#"{"status":"ok"}"#));
}

#[tokio::test]
async fn tasks_nobody_made_are_not_found() {
    let agents = start().await;
    for dialect in ALL {
        for operation in [GET, CANCEL, SUBSCRIBE] {
            let answer = dialect.call(&agents.echo_url, operation, &by_id("no-such-task")).await;
            if dialect == Dialect::J3 && operation == SUBSCRIBE {
                assert_eq!(text_at(&answer.events()[0], "/error/message"), "task not found");
                continue;
            }
            dialect.faulted(&answer, -32001, "TASK_NOT_FOUND");
            assert_eq!(answer.status, if dialect == Dialect::R1 { 404 } else { 200 });
        }
        let follow_up = dialect.message("hi", r#","taskId":"no-such-task""#);
        dialect.faulted(&dialect.call(&agents.echo_url, SEND, &follow_up).await, -32001, "TASK_NOT_FOUND");
    }
}

#[tokio::test]
async fn bad_input_is_refused_in_the_callers_dialect() {
    let agents = start().await;
    let url = agents.echo_url.as_str();
    let send = format!("{url}/message:send");
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"SendMessage"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"NoSuchThing"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":[]}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"SendMessage","params":{}}"#, -32700),
    ] {
        let answer = exchange("POST", url, &[V10], Some(body)).await;
        assert_eq!(Dialect::J1.fault(&answer), Json::from(code), "{body}");
    }
    for message in [
        r#"{"role":"ROLE_USER","parts":[{"text":"no id"}]}"#,
        r#"{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"not the user"}]}"#,
        r#"{"messageId":"m","role":"ROLE_USER","parts":[]}"#,
        r#"{"messageId":"m","role":"ROLE_USER"}"#,
        r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a","data":{}}]}"#,
    ] {
        let answer = exchange("POST", &send, &[V10], Some(&format!(r#"{{"message":{message}}}"#))).await;
        assert_eq!((answer.status, Dialect::R1.fault(&answer)), (400, "INVALID_PARAMS".into()), "{message}");
    }
    let good = Dialect::R1.message("hi", "");
    let versions = exchange("POST", &send, &[("a2a-version", "7.0")], Some(&good)).await;
    assert_eq!((versions.status, Dialect::R1.fault(&versions)), (400, "VERSION_NOT_SUPPORTED".into()));
    let verb = exchange("DELETE", &send, &[V10], None).await;
    assert_eq!((verb.status, verb.headers["allow"].to_str().unwrap()), (405, "POST"));
    assert_eq!(exchange("GET", &format!("{url}/nothing"), &[V10], None).await.status, 404);
    assert_eq!(exchange("GET", &format!("{url}x"), &[V10], None).await.status, 404);
    let large = format!(r#"{{"pad":"{}"}}"#, "x".repeat(a2a_agent::BODY_LIMIT));
    assert_eq!(exchange("POST", &send, &[V10], Some(&large)).await.status, 413);
}

#[tokio::test]
async fn hello_and_echo_share_an_address_and_stop_together() {
    let agents = start().await;
    let card = get(&format!("{}/.well-known/agent-card.json", agents.hello_url)).await;
    assert_eq!(card.text_at("/supportedInterfaces/0/url"), agents.hello_url);
    assert_eq!(agents.echo_url, format!("{}/a2a/echo", agents.hello_url));
    let (address, echo) = (agents.address, agents.echo_url.clone());
    let slow = Dialect::R1.open(&echo, STREAM, &Dialect::R1.message("slow", "")).await;
    let (events, ()) = tokio::join!(slow.rest(), agents.shutdown());
    assert_eq!(Dialect::R1.update(events.last().unwrap()), Some("TASK_STATE_CANCELED".into()));
    let refused = tokio::net::TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}
