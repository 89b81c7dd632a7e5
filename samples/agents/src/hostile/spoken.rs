//! What a request asked for and how it was spoken, and a well-behaved answer to it.
//!
//! Written by hand, apart from crate `a2a`: a hostile agent must not share the code that it tests. Takes a [`RawRequest`],
//! gives JSON in the caller's form: v1.0, v0.3 or the JSON of v0.3's protobuf, enveloped or bare.

use json::{Json, Object};

use super::{RawRequest, Reply};
use crate::id;

/// Which operation, as far as a hostile agent cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Send, answered with a task.
    Send,
    /// Send, answered with a stream.
    Stream,
    /// One task.
    Get,
    /// All tasks.
    List,
    /// Cancel a task.
    Cancel,
    /// Follow a task.
    Subscribe,
    /// The agent's card.
    Card,
    /// Anything else.
    Other,
}

/// A request as the agent understood it.
#[derive(Clone, Debug)]
pub struct Spoken {
    /// What it asks for.
    pub asked: Asked,
    /// The task it names, if any.
    pub task: Option<String>,
    envelope: Option<Json>,
    form: Form,
}

/// How objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    V10,
    V03,
    /// The JSON of v0.3's protobuf.
    Proto,
}

/// The states of a task, spelled per generation.
#[derive(Clone, Copy, Debug)]
pub enum State {
    /// Still at it.
    Working,
    /// Done.
    Completed,
    /// Stopped on request.
    Canceled,
    /// Waits for authorisation.
    AuthRequired,
}

impl Spoken {
    /// Understands a request: by its method name if it has an envelope, else by its path.
    #[must_use]
    pub fn of(request: &RawRequest) -> Self {
        let body = request.json();
        let version = request.header("a2a-version").unwrap_or_default();
        match body.get("method").and_then(Json::as_str) {
            Some(method) => {
                let params = body.get("params");
                let task = params.and_then(|params| params.get("id")).and_then(Json::as_str).map(str::to_owned);
                let id = body.get("id").cloned().unwrap_or_default();
                Self {
                    asked: by_method(method),
                    task,
                    envelope: Some(id),
                    form: if method.contains('/') { Form::V03 } else { Form::V10 },
                }
            }
            None => {
                let (asked, task) = by_path(request.method(), request.path());
                let legacy = version.is_empty() || version.starts_with("0.");
                let form = match (legacy, request.path().contains("/v1/")) {
                    (true, true) => Form::Proto,
                    (true, false) if !version.is_empty() => Form::V03,
                    (true | false, _) => Form::V10,
                };
                Self { asked, task, envelope: None, form }
            }
        }
    }

    /// Whether the answer should be a stream of events.
    #[must_use]
    pub const fn wants_stream(&self) -> bool {
        matches!(self.asked, Asked::Stream | Asked::Subscribe)
    }

    /// A whole answer with this result, in the caller's envelope.
    #[must_use]
    pub fn answer(&self, result: Json) -> Reply {
        Reply::json(200, json::write(&self.enveloped(result)))
    }

    /// The result in the caller's envelope, as the data of one event.
    #[must_use]
    pub fn event(&self, result: Json) -> String {
        String::from_utf8_lossy(&json::write(&self.enveloped(result))).into_owned()
    }

    /// The same with another envelope id.
    #[must_use]
    pub fn with_rpc_id(mut self, id: impl Into<Json>) -> Self {
        self.envelope = self.envelope.map(|_| id.into());
        self
    }

    /// A task with one text artifact. Unwrapped; see [`sent`](Self::sent).
    #[must_use]
    pub fn task(&self, id: &str, state: State, text: &str) -> Json {
        let artifact = Json::from([
            ("artifactId", Json::from("a-1")),
            ("name", "answer".into()),
            ("parts", vec![self.part(text)].into()),
        ]);
        let mut task = Object::from([
            ("id", Json::from(id)),
            ("contextId", "c-1".into()),
            ("status", [("state", self.state(state))].into()),
            ("artifacts", vec![artifact].into()),
        ]);
        if self.form == Form::V03 {
            task.insert("kind", "task");
        }
        task.into()
    }

    /// A task as the result of a send or the first event of a stream.
    #[must_use]
    pub fn sent(&self, task: Json) -> Json {
        if self.form == Form::V03 { task } else { [("task", task)].into() }
    }

    /// A status update event.
    #[must_use]
    pub fn status_update(&self, task: &str, state: State) -> Json {
        let status = Json::from([("state", self.state(state))]);
        let mut update = Object::from([("taskId", Json::from(task)), ("contextId", "c-1".into()), ("status", status)]);
        if self.form != Form::V10 {
            update.insert("final", !matches!(state, State::Working | State::AuthRequired));
        }
        if self.form != Form::V03 {
            return [("statusUpdate", update)].into();
        }
        update.insert_first("kind", "status-update");
        update.into()
    }

    /// An A2A error in the caller's envelope, as a whole answer.
    #[must_use]
    pub fn error(&self, code: i64, http: u16, reason: &str, message: &str) -> Reply {
        if self.form == Form::Proto {
            // As the Python SDK of 0.3 tells it: by the status alone.
            let http = match reason {
                "UNSUPPORTED_OPERATION" => 501,
                "TASK_NOT_CANCELABLE" => 409,
                _ => http,
            };
            return Reply::json(http, json::write(&[("message", message)].into()));
        }
        let about = Json::from([
            ("@type", "type.googleapis.com/google.rpc.ErrorInfo"),
            ("reason", reason),
            ("domain", "a2a-protocol.org"),
        ]);
        let details = Json::from(vec![about]);
        let (code, list) = if self.envelope.is_some() { (code, "data") } else { (i64::from(http), "details") };
        let error = Json::from([("code", Json::from(code)), ("message", message.into()), (list, details)]);
        match &self.envelope {
            Some(id) => {
                let answer = Json::from([("jsonrpc", Json::from("2.0")), ("id", id.clone()), ("error", error)]);
                Reply::json(200, json::write(&answer))
            }
            None => Reply::json(http, json::write(&[("error", error)].into())),
        }
    }

    /// The right answer: every operation as an honest agent would have it, tasks completed at once.
    #[must_use]
    pub fn honest(&self, url: &str, text: &str) -> Reply {
        let id = self.task.clone().unwrap_or_else(id::uuid);
        match self.asked {
            Asked::Send => self.answer(self.sent(self.task(&id, State::Completed, text))),
            Asked::Get => self.answer(self.task(&id, State::Completed, text)),
            Asked::Cancel => self.answer(self.task(&id, State::Canceled, text)),
            Asked::Stream | Asked::Subscribe => Reply::sse()
                .event(self.event(self.sent(self.task(&id, State::Working, text))))
                .event(self.event(self.status_update(&id, State::Completed)))
                .end(),
            Asked::List => self.answer(self.list(&[&id], text)),
            Asked::Card => Reply::json(200, json::write(&card(url))),
            Asked::Other => self.error(-32004, 400, "UNSUPPORTED_OPERATION", "This agent does not do that"),
        }
    }

    /// A list of completed tasks with these ids.
    #[must_use]
    pub fn list(&self, ids: &[&str], text: &str) -> Json {
        let tasks: Vec<Json> = ids.iter().map(|id| self.task(id, State::Completed, text)).collect();
        let count = i64::try_from(tasks.len()).unwrap_or(i64::MAX);
        Json::from([
            ("tasks", Json::from(tasks)),
            ("nextPageToken", "".into()),
            ("pageSize", 50.into()),
            ("totalSize", count.into()),
        ])
    }

    fn enveloped(&self, result: Json) -> Json {
        match &self.envelope {
            Some(id) => [("jsonrpc", Json::from("2.0")), ("id", id.clone()), ("result", result)].into(),
            None => result,
        }
    }

    fn part(&self, text: &str) -> Json {
        if self.form == Form::V03 { [("kind", "text"), ("text", text)].into() } else { [("text", text)].into() }
    }

    const fn state(&self, state: State) -> &'static str {
        match (state, self.form) {
            (State::Working, Form::V03) => "working",
            (State::Working, Form::V10 | Form::Proto) => "TASK_STATE_WORKING",
            (State::Completed, Form::V03) => "completed",
            (State::Completed, Form::V10 | Form::Proto) => "TASK_STATE_COMPLETED",
            (State::Canceled, Form::V03) => "canceled",
            (State::Canceled, Form::V10) => "TASK_STATE_CANCELED",
            (State::Canceled, Form::Proto) => "TASK_STATE_CANCELLED",
            (State::AuthRequired, Form::V03) => "auth-required",
            (State::AuthRequired, Form::V10 | Form::Proto) => "TASK_STATE_AUTH_REQUIRED",
        }
    }
}

fn by_method(method: &str) -> Asked {
    match method {
        "SendMessage" | "message/send" => Asked::Send,
        "SendStreamingMessage" | "message/stream" => Asked::Stream,
        "GetTask" | "tasks/get" => Asked::Get,
        "ListTasks" => Asked::List,
        "CancelTask" | "tasks/cancel" => Asked::Cancel,
        "SubscribeToTask" | "tasks/resubscribe" => Asked::Subscribe,
        _ => Asked::Other,
    }
}

fn by_path(method: &str, path: &str) -> (Asked, Option<String>) {
    let path = path.replace("%3A", ":").replace("%3a", ":");
    let mut ends = path.rsplit('/');
    let (last, before) = (ends.next().unwrap_or_default(), ends.next().unwrap_or_default());
    match (method, before, last) {
        (_, _, "message:send") => (Asked::Send, None),
        (_, _, "message:stream") => (Asked::Stream, None),
        ("GET", ".well-known", "agent-card.json" | "agent.json") => (Asked::Card, None),
        ("GET", _, "tasks") => (Asked::List, None),
        (_, "tasks", named) => match named.rsplit_once(':') {
            Some((id, "cancel")) => (Asked::Cancel, Some(id.to_owned())),
            Some((id, "subscribe")) => (Asked::Subscribe, Some(id.to_owned())),
            Some(_) | None => (Asked::Get, Some(named.to_owned())),
        },
        _ => (Asked::Other, None),
    }
}

fn card(url: &str) -> Json {
    let interface =
        |binding: &str| Json::from([("url", url), ("protocolBinding", binding), ("protocolVersion", "1.0")]);
    let text_only = || Json::from(vec!["text/plain".into()]);
    Json::from([
        ("name", Json::from("Hostile")),
        ("description", "Misbehaves on purpose.".into()),
        ("version", "1.0.0".into()),
        ("supportedInterfaces", vec![interface("JSONRPC"), interface("HTTP+JSON")].into()),
        ("capabilities", [("streaming", true)].into()),
        ("defaultInputModes", text_only()),
        ("defaultOutputModes", text_only()),
        ("skills", Vec::<Json>::new().into()),
    ])
}
