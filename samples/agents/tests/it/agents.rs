//! The agents besides echo, each in every dialect, as a caller finds them.

use std::time::Duration;

use json::Json;
use sample_agents::{Root, Running, Settings, start};

use crate::client::{Answer, exchange, parse, text_at};

/// A dialect as a caller writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    J1,
    R1,
    J3,
    R3,
}

const ALL: [Dialect; 4] = [Dialect::J1, Dialect::R1, Dialect::J3, Dialect::R3];
const V10: (&str, &str) = ("a2a-version", "1.0");

/// What a message says besides its text.
#[derive(Clone, Copy, Debug, Default)]
struct Said<'a> {
    text: &'a str,
    /// The task it goes on with.
    task: &'a str,
    /// Metadata, as JSON.
    metadata: &'a str,
    /// The configuration, as JSON.
    configuration: &'a str,
    /// `Authorization`.
    token: &'a str,
}

impl Dialect {
    fn is_legacy(self) -> bool {
        matches!(self, Self::J3 | Self::R3)
    }

    fn message(self, said: Said<'_>) -> String {
        let text = said.text;
        let mut message = match self {
            Self::J1 | Self::R1 => format!(r#""messageId":"m","role":"ROLE_USER","parts":[{{"text":"{text}"}}]"#),
            Self::J3 => {
                format!(r#""kind":"message","messageId":"m","role":"user","parts":[{{"kind":"text","text":"{text}"}}]"#)
            }
            Self::R3 => format!(r#""messageId":"m","role":"ROLE_USER","content":[{{"text":"{text}"}}]"#),
        };
        if !said.task.is_empty() {
            message += &format!(r#","taskId":"{}""#, said.task);
        }
        if !said.metadata.is_empty() {
            message += &format!(r#","metadata":{}"#, said.metadata);
        }
        let configuration = match said.configuration {
            "" => String::new(),
            configuration => format!(r#","configuration":{configuration}"#),
        };
        format!(r#"{{"message":{{{message}}}{configuration}}}"#)
    }

    /// Calls an operation: its v1.0 method, its v0.3 method, its verb and path.
    async fn call(self, url: &str, operation: Operation, params: &str, token: &str) -> Answer {
        let (v10, v03, verb, path) = operation;
        let authorization = format!("Bearer {token}");
        let mut headers = Vec::new();
        if !self.is_legacy() {
            headers.push(V10);
        }
        if !token.is_empty() {
            headers.push(("authorization", authorization.as_str()));
        }
        match self {
            Self::J1 | Self::J3 => {
                let method = if self == Self::J1 { v10 } else { v03 };
                let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
                exchange("POST", url, &headers, Some(&body)).await
            }
            Self::R1 | Self::R3 => {
                let id = parse(params).get("id").and_then(Json::as_str).unwrap_or_default().to_owned();
                let path = path.replace("{id}", &id);
                let body = (verb == "POST").then_some(params);
                exchange(verb, &format!("{url}/v1{path}"), &headers, body).await
            }
        }
    }

    async fn send(self, url: &str, said: Said<'_>) -> Json {
        let answer = self.call(url, SEND, &self.message(said), said.token).await;
        self.task(&answer)
    }

    /// The task in an answer, in the shape of v1.0.
    fn task(self, answer: &Answer) -> Json {
        assert_eq!(answer.status, 200, "{self:?}: {}", answer.text);
        let json = answer.json();
        let pointer = match self {
            Self::J1 => "/result/task",
            Self::J3 => "/result",
            Self::R1 | Self::R3 => "/task",
        };
        json.pointer(pointer).unwrap_or_else(|| panic!("no task: {}", answer.text)).clone()
    }

    fn state(self, name: &str) -> String {
        match self {
            Self::J3 => name.to_owned(),
            // The protobuf of v0.3 spells it with two l.
            Self::R3 if name == "canceled" => "TASK_STATE_CANCELLED".to_owned(),
            Self::J1 | Self::R1 | Self::R3 => format!("TASK_STATE_{}", name.to_uppercase().replace('-', "_")),
        }
    }

    fn is_in(self, task: &Json, state: &str) {
        assert_eq!(text_at(task, "/status/state"), self.state(state), "{self:?}");
    }

    /// Where the structured content of a part is.
    fn content(self) -> &'static str {
        match self {
            Self::R3 => "data/data",
            Self::J1 | Self::R1 | Self::J3 => "data",
        }
    }
}

type Operation = (&'static str, &'static str, &'static str, &'static str);
const SEND: Operation = ("SendMessage", "message/send", "POST", "/message:send");
const STREAM: Operation = ("SendStreamingMessage", "message/stream", "POST", "/message:stream");
const CANCEL: Operation = ("CancelTask", "tasks/cancel", "POST", "/tasks/{id}:cancel");
const EXTENDED: Operation = ("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard", "GET", "/card");

async fn run() -> Running {
    start(Settings { root: Root::Echo, ..Settings::at(([127, 0, 0, 1], 0).into()) }).await.unwrap()
}

fn says(text: &str) -> Said<'_> {
    Said { text, ..Said::default() }
}

#[tokio::test]
async fn every_agent_answers_in_every_dialect() {
    let agents = run().await;
    for dialect in ALL {
        for (name, text, state) in [
            ("echo", "hello", "completed"),
            ("weather", "weather in Paris", "completed"),
            ("travel-planner", "Weekend to Kyoto", "completed"),
            ("approval", "Approve my taxi", "input-required"),
            ("flaky", "do something", "failed"),
            ("flaky", "please succeed", "completed"),
            ("secure", "who am I?", "auth-required"),
            ("reject", "book a flight", "rejected"),
        ] {
            let said = Said { metadata: r#"{"stepDelayMs":0}"#, ..says(text) };
            dialect.is_in(&dialect.send(&agents.url_of(name), said).await, state);
        }
    }
}

#[tokio::test]
async fn the_weather_of_a_city_is_always_the_same() {
    let agents = run().await;
    let url = agents.url_of("weather");
    for dialect in ALL {
        let mut forecasts = Vec::new();
        for text in ["What is the weather in Paris?", "weather for Paris", "Paris"] {
            let task = dialect.send(&url, says(text)).await;
            let forecast = format!("/artifacts/0/parts/0/{}", dialect.content());
            forecasts.push(task.pointer(&forecast).unwrap_or_else(|| panic!("{dialect:?}: {task:?}")).clone());
        }
        assert_eq!(text_at(&forecasts[0], "/city"), "Paris");
        assert_eq!(forecasts[0].get("days").unwrap().as_array().unwrap().len(), 3);
        assert!(forecasts.iter().all(|forecast| *forecast == forecasts[0]));
    }
    let structured = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"city":"Rome"}}]}}"#;
    let rome = exchange("POST", &format!("{url}/message:send"), &[V10], Some(structured)).await;
    assert_eq!(rome.text_at("/task/artifacts/0/parts/0/data/city"), "Rome");
    assert!(rome.text_at("/task/artifacts/0/parts/1/text").starts_with("Weather in Rome: day 1 "));
}

#[tokio::test]
async fn a_trip_is_planned_in_pieces_and_ends_with_files() {
    let agents = run().await;
    let said = Said { metadata: r#"{"stepDelayMs":0}"#, ..says("Plan a 3 day trip to Lisbon") };
    let stream = Dialect::R1.call(&agents.url_of("travel-planner"), STREAM, &Dialect::R1.message(said), "").await;
    let events = stream.events();
    assert_eq!(text_at(&events[0], "/task/status/state"), "TASK_STATE_SUBMITTED");
    let news = events.iter().filter_map(|event| event.pointer("/statusUpdate/status/message/parts/0/text"));
    assert_eq!(news.collect::<Vec<_>>().len(), 3);
    let pieces: Vec<&Json> = events.iter().filter_map(|event| event.get("artifactUpdate")).collect();
    let named = |name: &'static str| pieces.iter().filter(move |piece| text_at(piece, "/artifact/name") == name);
    let flag = |piece: &Json, key: &str| piece.get(key).and_then(Json::as_bool).unwrap_or(false);
    let flags: Vec<_> = named("itinerary").map(|piece| (flag(piece, "append"), flag(piece, "lastChunk"))).collect();
    assert_eq!(flags, [(false, false), (true, false), (true, false), (true, true)]);
    assert_eq!(named("budget").count() + named("map").count() + named("calendar").count(), 3);
    let calendar = named("calendar").next().unwrap();
    assert_eq!(text_at(calendar, "/artifact/parts/0/filename"), "trip.ics");
    assert_eq!(text_at(named("map").next().unwrap(), "/artifact/parts/0/mediaType"), "application/pdf");
    assert_eq!(text_at(events.last().unwrap(), "/statusUpdate/status/state"), "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_trip_that_is_being_planned_can_be_cancelled() {
    let agents = run().await;
    let url = agents.url_of("travel-planner");
    for dialect in ALL {
        let at_once = if dialect.is_legacy() { r#"{"blocking":false}"# } else { r#"{"returnImmediately":true}"# };
        let said = Said { metadata: r#"{"stepDelayMs":5000}"#, configuration: at_once, ..says("trip to Oslo") };
        let task = dialect.send(&url, said).await;
        dialect.is_in(&task, "working");
        let params = format!(r#"{{"id":"{}"}}"#, text_at(&task, "/id"));
        let canceled = dialect.call(&url, CANCEL, &params, "").await;
        assert!(canceled.text.contains(&dialect.state("canceled")), "{dialect:?}: {}", canceled.text);
        let again = dialect.call(&url, CANCEL, &params, "").await;
        assert!(again.text.contains("-32002") || again.status == 400, "{dialect:?}: {}", again.text);
    }
}

#[tokio::test]
async fn approval_goes_on_when_it_is_answered() {
    let agents = run().await;
    let url = agents.url_of("approval");
    for dialect in ALL {
        for (answer, approved) in [("approve", true), ("I deny that", false)] {
            let asked = dialect.send(&url, says("Approve my 120 dollar taxi expense")).await;
            let id = text_at(&asked, "/id");
            let unclear = dialect.send(&url, Said { task: &id, ..says("perhaps") }).await;
            dialect.is_in(&unclear, "input-required");
            let done = dialect.send(&url, Said { task: &id, ..says(answer) }).await;
            dialect.is_in(&done, "completed");
            let decision = format!("/artifacts/0/parts/0/{}", dialect.content());
            let decision = done.pointer(&decision).unwrap();
            assert_eq!(decision.get("approved"), Some(&approved.into()));
            assert_eq!(text_at(decision, "/request"), "Approve my 120 dollar taxi expense");
        }
    }
}

async fn token(agents: &Running) -> String {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(format!("{}/oauth/token", agents.base_url)).basic_auth("rustybin", Some("secret"));
    let answer = request.form(&[("grant_type", "client_credentials")]).send().await.unwrap();
    text_at(&parse(&answer.text().await.unwrap()), "/access_token")
}

#[tokio::test]
async fn the_secure_agent_wants_a_token_and_tells_whose_it_is() {
    let agents = run().await;
    let (url, token) = (agents.url_of("secure"), token(&agents).await);
    for dialect in ALL {
        let asked = dialect.send(&url, says("who am I?")).await;
        dialect.is_in(&asked, "auth-required");
        let id = text_at(&asked, "/id");
        let done = dialect.send(&url, Said { task: &id, token: &token, ..says("who am I?") }).await;
        dialect.is_in(&done, "completed");
        assert_eq!(text_at(&done, "/artifacts/0/parts/0/text"), "You are rustybin.");
        let refused = dialect.call(&url, EXTENDED, "{}", "").await;
        let (path, legacy) = (if dialect == Dialect::R1 { "/extendedAgentCard" } else { "/card" }, dialect.is_legacy());
        let extended = (EXTENDED.0, EXTENDED.1, EXTENDED.2, path);
        let card = dialect.call(&url, extended, "{}", &token).await;
        assert_eq!((refused.status, card.status), (401, 200), "{dialect:?}: {}", card.text);
        assert!(card.text.contains("\"audit\""), "{dialect:?} {legacy}: {}", card.text);
    }
    let public = exchange("GET", &format!("{url}/.well-known/agent-card.json"), &[], None).await;
    assert!(!public.text.contains("\"audit\""));
    assert_eq!(public.text_at("/securitySchemes/bearer/bearerFormat"), "JWT");
}

#[tokio::test]
async fn tokens_of_others_are_refused() {
    let agents = run().await;
    let (url, good) = (agents.url_of("secure"), token(&agents).await);
    let other = token(&run().await).await;
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let (head, claims) = signed.split_once('.').unwrap();
    // {"alg":"none"}
    let unsigned = format!("eyJhbGciOiJub25lIn0.{claims}.");
    let swapped = format!("{head}.{}.{signature}", other.split('.').nth(1).unwrap());
    for bad in [other.as_str(), &unsigned, &swapped, "x", "a.b.c"] {
        let answer = Dialect::R1.call(&url, SEND, &Dialect::R1.message(says("hi")), bad).await;
        assert_eq!((answer.status, answer.headers["www-authenticate"].to_str().unwrap()), (401, "Bearer"), "{bad}");
    }
    let fine = Dialect::R1.send(&url, Said { token: &good, ..says("hi") }).await;
    Dialect::R1.is_in(&fine, "completed");
}

#[tokio::test]
async fn sessions_do_not_see_each_others_tasks() {
    let agents = run().await;
    let url = agents.url_of("weather");
    let send = Dialect::R1.message(says("Paris"));
    let (one, two) = (("x-rustybin-session", "one"), ("x-rustybin-session", "two"));
    let sent = exchange("POST", &format!("{url}/message:send"), &[V10, one], Some(&send)).await;
    let id = sent.text_at("/task/id");
    for (session, status, total) in [(vec![V10, one], 200, 1), (vec![V10, two], 404, 0), (vec![V10], 404, 0)] {
        assert_eq!(exchange("GET", &format!("{url}/tasks/{id}"), &session, None).await.status, status);
        let listed = exchange("GET", &format!("{url}/tasks"), &session, None).await.json();
        assert_eq!(listed.get("totalSize"), Some(&total.into()));
    }
    // The same session at another agent is another one.
    let elsewhere = exchange("GET", &format!("{}/tasks/{id}", agents.url_of("echo")), &[V10, one], None).await;
    assert_eq!(elsewhere.status, 404);
}

#[tokio::test]
async fn tasks_in_a_folder_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let settings = || Settings { data: Some(folder.path().to_owned()), ..Settings::at(([127, 0, 0, 1], 0).into()) };
    let agents = start(settings()).await.unwrap();
    let asked = Dialect::R1.send(&agents.url_of("approval"), says("Approve this")).await;
    let slow =
        Said { metadata: r#"{"stepDelayMs":5000}"#, configuration: r#"{"returnImmediately":true}"#, ..says("trip") };
    let left = Dialect::R1.send(&agents.url_of("travel-planner"), slow).await;
    drop(agents);
    let agents = start(settings()).await.unwrap();
    let id = text_at(&asked, "/id");
    let done = Dialect::R1.send(&agents.url_of("approval"), Said { task: &id, ..says("approve") }).await;
    Dialect::R1.is_in(&done, "completed");
    let url = format!("{}/tasks/{}", agents.url_of("travel-planner"), text_at(&left, "/id"));
    let failed = exchange("GET", &url, &[V10], None).await;
    assert_eq!(failed.text_at("/status/state"), "TASK_STATE_FAILED");
    assert_eq!(failed.text_at("/status/message/parts/0/text"), "the agent was restarted");
}

#[tokio::test]
async fn many_tasks_and_streams_are_bounded_and_end() {
    let bounds = a2a_agent::Bounds { tasks: 20, tasks_per_owner: 20, idle: Duration::from_hours(1) };
    let agents = start(Settings { bounds, ..Settings::at(([127, 0, 0, 1], 0).into()) }).await.unwrap();
    let url = agents.url_of("echo");
    for at in 0..50 {
        Dialect::R1.is_in(&Dialect::R1.send(&url, says(&format!("{at}"))).await, "completed");
    }
    let listed = exchange("GET", &format!("{url}/tasks?pageSize=100"), &[V10], None).await.json();
    assert_eq!(listed.get("totalSize"), Some(&20.into()));
    let slow = Said { configuration: r#"{"returnImmediately":true}"#, ..says("slow") };
    for _ in 0..20 {
        Dialect::R1.is_in(&Dialect::R1.send(&url, slow).await, "working");
    }
    let full = Dialect::R1.call(&url, SEND, &Dialect::R1.message(says("one more")), "").await;
    assert_eq!(full.status, 503);
}
