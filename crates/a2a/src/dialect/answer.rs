//! The agent's wire → [`Answer`], [`Event`], [`Fault`]. Lenient in what agents are known to do, strict where two
//! readers might differ. Errors never quote what the agent sent.

use json::{Json, Limits, Object};

use crate::{
    Answer, Dialect, Event, Fault, FaultKind, OperationKind, Version,
    dialect::{R3Bytes, detect, http_json, http_json_v03, jsonrpc, proto_v03, v03, v10},
    grpc::{self, FrameError},
    shape::Flaw,
};

/// What an agent sent back to a call.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// The whole body.
    pub body: &'a [u8],
    /// How the agent puts files into HTTP+JSON of 0.3.
    pub r3_bytes: R3Bytes,
}

/// Why an agent's answer is none. No variant holds content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    /// Not the framing of gRPC.
    #[error("the answer is not framed as gRPC frames messages: {0}")]
    Frame(#[from] FrameError),
    /// Not a message of the service.
    #[error("the answer is not the message it should be: {0}")]
    Message(#[from] grpc::ReadError),
    /// Neither `result` nor `error`.
    #[error("the answer has neither a result nor an error")]
    Empty,
    /// Not gRPC by its content type.
    #[error("the answer is not gRPC by its content type")]
    NotGrpc,
    /// Not JSON by its content type (`text/html` and such).
    #[error("the answer is not JSON by its content type")]
    NotJson,
    /// Not JSON-RPC 2.0.
    #[error("the answer is not JSON-RPC 2.0")]
    NotRpc,
    /// The document is unreadable.
    #[error("the answer is unreadable: {0}")]
    Read(#[from] json::ReadError),
    /// No known shape, or a member that is not what it must be.
    #[error("the answer has no known shape: {member} {problem}")]
    Shape {
        /// A member of the protocol.
        member: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// An HTTP error without an A2A error in it.
    #[error("HTTP status {0} without an A2A error")]
    Status(u16),
    /// Two results where one belongs.
    #[error("the answer has both a result and an error")]
    Two,
    /// Another request's id.
    #[error("the answer carries another request's id")]
    WrongId,
}

impl From<Flaw> for BadAnswer {
    fn from(flaw: Flaw) -> Self {
        Self::Shape { member: flaw.member, problem: flaw.problem }
    }
}

/// Reads the whole answer to a call that is no stream (or the plain answer to one that should have been).
///
/// # Errors
/// [`BadAnswer`] when it is no A2A answer; the agent's own errors are the inner [`Fault`].
pub fn decode_answer(
    dialect: Dialect,
    kind: OperationKind,
    rpc_id: &str,
    received: Received<'_>,
    limits: &Limits,
) -> Result<Result<Answer, Fault>, BadAnswer> {
    if matches!(received.status, 401 | 403) {
        return Ok(Err(Fault::of(FaultKind::UpstreamAuthFailed)));
    }
    if !(200..300).contains(&received.status) {
        return failed(dialect, kind, rpc_id, received, limits).map(Err);
    }
    if kind == OperationKind::DeletePushConfig && (received.status == 204 || received.body.is_empty()) {
        return Ok(Ok(Answer { body: Object::new().into(), origin: dialect.version() }));
    }
    if !received.content_type.is_none_or(detect::is_json) {
        return Err(BadAnswer::NotJson);
    }
    let document = read(received.body, limits)?;
    // The Python SDK 1.3 leaves out the result that is null, in 0.3.
    let may_be_empty = kind == OperationKind::DeletePushConfig && document.get("error").is_none();
    let result = match open(dialect, kind, rpc_id, document) {
        Err(BadAnswer::Empty) if may_be_empty => Json::Null,
        opened => match opened? {
            Ok(result) => result,
            Err(fault) => return Ok(Err(fault)),
        },
    };
    let translate = |result| translate((dialect, received.r3_bytes), kind, result);
    let body = match kind {
        OperationKind::DeletePushConfig => Object::new().into(),
        OperationKind::GetTask | OperationKind::CancelTask => translate(unwrap_task(result))?,
        OperationKind::SendMessage
        | OperationKind::SendStreamingMessage
        | OperationKind::ListTasks
        | OperationKind::SubscribeToTask
        | OperationKind::CreatePushConfig
        | OperationKind::GetPushConfig
        | OperationKind::ListPushConfigs
        | OperationKind::GetExtendedCard => translate(result)?,
    };
    let answer = Answer { body, origin: dialect.version() };
    check(kind, &answer)?;
    Ok(Ok(answer))
}

/// Reads one event of a stream: the joined `data:` lines and the `event:` name. `from` is what the agent speaks, and how
/// it puts files into HTTP+JSON of 0.3.
///
/// # Errors
/// [`BadAnswer`] when it is no A2A event; the agent's own errors are the inner [`Fault`].
pub fn decode_event(
    from: (Dialect, R3Bytes),
    rpc_id: &str,
    data: &[u8],
    event_name: Option<&str>,
    limits: &Limits,
) -> Result<Result<Event, Fault>, BadAnswer> {
    let (dialect, _) = from;
    let document = read(data, limits)?;
    let result = match open(dialect, OperationKind::SubscribeToTask, rpc_id, document)? {
        Ok(result) => result,
        Err(fault) => return Ok(Err(fault)),
    };
    if event_name == Some("error") {
        let fault = match dialect {
            Dialect::R3 => http_json_v03::read_error(&result, OperationKind::SubscribeToTask, Some(500)),
            Dialect::J1 | Dialect::R1 | Dialect::J3 | Dialect::PathRpc | Dialect::G1 => {
                http_json::read_error(&result, OperationKind::SubscribeToTask)
            }
        };
        return fault.map(Err).ok_or(BadAnswer::Empty);
    }
    let body = translate(from, OperationKind::SendStreamingMessage, result)?;
    let event = Event { body, origin: dialect.version() };
    check_event(&event)?;
    Ok(Ok(event))
}

/// What must be there in an event, whatever the dialect.
pub(crate) fn check_event(event: &Event) -> Result<(), BadAnswer> {
    // Whose task an event is about must never be a guess.
    if event.payload().is_some_and(|(name, _)| name != "message") && event.task_id().is_none() {
        return Err(BadAnswer::Shape { member: "taskId", problem: "is missing" });
    }
    event.payload().map_or(Ok(()), |(name, payload)| check_payload(name, payload))
}

/// What readers of either generation refuse a payload without.
fn check_payload(name: &str, payload: &Object) -> Result<(), BadAnswer> {
    let member = match name {
        "message" => "role",
        "artifactUpdate" => "artifact",
        _ => "status",
    };
    if payload.contains(member) { Ok(()) } else { Err(BadAnswer::Shape { member, problem: "is missing" }) }
}

/// The document; some agents put a record separator in front.
fn read(bytes: &[u8], limits: &Limits) -> Result<Json, BadAnswer> {
    Ok(json::read(bytes.strip_prefix(b"\x1e").unwrap_or(bytes), limits)?)
}

/// The result inside the binding's own wrapping, or the agent's error.
fn open(dialect: Dialect, kind: OperationKind, rpc_id: &str, document: Json) -> Result<Result<Json, Fault>, BadAnswer> {
    match dialect {
        Dialect::J1 | Dialect::J3 => open_rpc(dialect, rpc_id, document),
        Dialect::PathRpc if ["result", "error", "jsonrpc"].iter().any(|key| document.get(key).is_some()) => {
            open_rpc(dialect, rpc_id, document)
        }
        Dialect::R3 if http_json_v03::is_error(&document) || document.get("error").is_some() => {
            Ok(Err(http_json_v03::read_error(&document, kind, Some(500)).ok_or(BadAnswer::Empty)?))
        }
        Dialect::R3 => Ok(Ok(document)),
        // Its answers are messages, not documents: `grpc::decode_answer`, `grpc::decode_event`.
        Dialect::G1 => Err(BadAnswer::NotJson),
        Dialect::R1 | Dialect::PathRpc => {
            match document.get("error").and_then(|_| http_json::read_error(&document, kind)) {
                Some(fault) => Ok(Err(fault)),
                None => Ok(Ok(document)),
            }
        }
    }
}

fn open_rpc(dialect: Dialect, rpc_id: &str, document: Json) -> Result<Result<Json, Fault>, BadAnswer> {
    let Json::Object(mut envelope) = document else { return Err(BadAnswer::NotRpc) };
    if envelope.get("jsonrpc").is_some_and(|version| version.as_str() != Some("2.0")) {
        return Err(BadAnswer::NotRpc);
    }
    let id = envelope.remove("id").unwrap_or_default();
    let error = envelope.remove("error").filter(|error| !error.is_null());
    let result = envelope.remove("result");
    // Agents answer null to requests they could not read; path RPC agents that get no envelope have no id to echo.
    let nameless = id.is_null() && (error.is_some() || dialect == Dialect::PathRpc);
    if id.as_str() != Some(rpc_id) && !nameless {
        return Err(BadAnswer::WrongId);
    }
    match (result, error) {
        (None | Some(Json::Null), Some(error)) => {
            let fault = error.as_object().and_then(|error| jsonrpc::read_error(error, dialect.version()));
            fault.map(Err).ok_or(BadAnswer::Empty)
        }
        (Some(_), Some(_)) => Err(BadAnswer::Two),
        (Some(result), None) => Ok(Ok(result)),
        (None, None) => Err(BadAnswer::Empty),
    }
}

/// What an HTTP error tells. Status alone is never believed (protocol 3.1).
fn failed(
    dialect: Dialect,
    kind: OperationKind,
    rpc_id: &str,
    received: Received<'_>,
    limits: &Limits,
) -> Result<Fault, BadAnswer> {
    let no_error = BadAnswer::Status(received.status);
    let Some(content_type) = received.content_type.filter(|value| detect::is_json(value)) else { return Err(no_error) };
    let Ok(document) = read(received.body, limits) else { return Err(no_error) };
    if detect::is_media(content_type, "application/problem+json") {
        return http_json::read_problem(kind, received.status, &document).ok_or(no_error);
    }
    if dialect == Dialect::R3 {
        return http_json_v03::read_error(&document, kind, Some(received.status)).ok_or(no_error);
    }
    if dialect != Dialect::R1
        && document.get("error").is_some()
        && let Ok(Err(fault)) = open_rpc(dialect, rpc_id, document.clone())
    {
        return Ok(fault);
    }
    http_json::read_error(&document, kind).ok_or(no_error)
}

/// `{"task":…}` where a bare task belongs.
fn unwrap_task(result: Json) -> Json {
    let wrapped = result.get("id").is_none() && result.get("status").is_none();
    if let Json::Object(mut wrapper) = result {
        let task = if wrapped { wrapper.remove("task") } else { None };
        task.unwrap_or(Json::Object(wrapper))
    } else {
        result
    }
}

fn translate((dialect, r3_bytes): (Dialect, R3Bytes), kind: OperationKind, result: Json) -> Result<Json, BadAnswer> {
    Ok(match dialect.version() {
        Version::V03 if dialect == Dialect::R3 => proto_v03::read_result(kind, result, r3_bytes)?,
        Version::V03 => v03::read_result(kind, result)?,
        Version::V10 => v10::read_result(kind, result)?,
    })
}

/// What must be there, whatever the dialect.
pub(crate) fn check(kind: OperationKind, answer: &Answer) -> Result<(), BadAnswer> {
    let shape = |member, problem| Err(BadAnswer::Shape { member, problem });
    match kind {
        OperationKind::SendMessage if answer.body.get("task").or_else(|| answer.body.get("message")).is_none() => {
            shape("result", "is neither a task nor a message")
        }
        OperationKind::GetTask | OperationKind::CancelTask if answer.body.get("status").is_none() => {
            shape("status", "is missing")
        }
        OperationKind::GetTask | OperationKind::CancelTask if answer.task_id().is_none() => shape("id", "is missing"),
        OperationKind::SendMessage if answer.body.get("task").is_some() && answer.task_id().is_none() => {
            shape("id", "is missing")
        }
        OperationKind::SendMessage => ["task", "message"].into_iter().try_for_each(|name| {
            answer.body.get(name).and_then(Json::as_object).map_or(Ok(()), |payload| check_payload(name, payload))
        }),
        OperationKind::ListTasks if answer.body.get("tasks").and_then(Json::as_array).is_none() => {
            shape("tasks", "is missing")
        }
        OperationKind::SendStreamingMessage
        | OperationKind::GetTask
        | OperationKind::ListTasks
        | OperationKind::CancelTask
        | OperationKind::SubscribeToTask
        | OperationKind::CreatePushConfig
        | OperationKind::GetPushConfig
        | OperationKind::ListPushConfigs
        | OperationKind::DeletePushConfig
        | OperationKind::GetExtendedCard => Ok(()),
    }
}
