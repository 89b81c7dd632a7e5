//! Calls, answers and events: which message each is, both ways.

use json::{Json, Limits, Object};

use super::{
    FrameError,
    frame::{self, framed},
    proto::{Fields, Raw},
    read::{self, ReadError},
    schema::{self, Message},
    write,
};
use crate::{
    Answer, Event, Fault, FaultKind, OperationKind, Version,
    dialect::{
        BadAnswer,
        answer::{check, check_event},
        v10,
    },
};

const fn request_message(kind: OperationKind) -> &'static Message {
    match kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage => &schema::SEND_MESSAGE_REQUEST,
        OperationKind::GetTask => &schema::GET_TASK_REQUEST,
        OperationKind::ListTasks => &schema::LIST_TASKS_REQUEST,
        OperationKind::CancelTask => &schema::CANCEL_TASK_REQUEST,
        OperationKind::SubscribeToTask => &schema::SUBSCRIBE_TO_TASK_REQUEST,
        OperationKind::CreatePushConfig => &schema::TASK_PUSH_NOTIFICATION_CONFIG,
        OperationKind::GetPushConfig => &schema::GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
        OperationKind::ListPushConfigs => &schema::LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST,
        OperationKind::DeletePushConfig => &schema::DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
        OperationKind::GetExtendedCard => &schema::GET_EXTENDED_AGENT_CARD_REQUEST,
    }
}

const fn result_message(kind: OperationKind) -> &'static Message {
    match kind {
        OperationKind::SendMessage => &schema::SEND_MESSAGE_RESPONSE,
        OperationKind::SendStreamingMessage | OperationKind::SubscribeToTask => &schema::STREAM_RESPONSE,
        OperationKind::GetTask | OperationKind::CancelTask => &schema::TASK,
        OperationKind::ListTasks => &schema::LIST_TASKS_RESPONSE,
        OperationKind::CreatePushConfig | OperationKind::GetPushConfig => &schema::TASK_PUSH_NOTIFICATION_CONFIG,
        OperationKind::ListPushConfigs => &schema::LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE,
        OperationKind::DeletePushConfig => &schema::EMPTY,
        OperationKind::GetExtendedCard => &schema::AGENT_CARD,
    }
}

/// The `tenant` of a call: the card that it is for. The rest of the message is not looked at.
///
/// # Errors
/// The fault to answer with when `body` is no message.
pub fn card_name(kind: OperationKind, body: &[u8]) -> Result<Option<String>, Fault> {
    let message = frame::one(body).map_err(unframed)?;
    let wanted = request_message(kind).fields.iter().find(|field| field.json == "tenant");
    let mut found = None;
    for field in Fields::of(message) {
        let (number, raw) = field.map_err(|error| unreadable(&error.into()))?;
        let (Some(wanted), Raw::Bytes(bytes)) = (wanted.filter(|field| field.number == number), raw) else { continue };
        if found.replace(bytes).is_some() {
            return Err(unreadable(&ReadError::Repeated(wanted.json)));
        }
    }
    Ok(found.and_then(|bytes| str::from_utf8(bytes).ok()).filter(|name| !name.is_empty()).map(str::to_owned))
}

/// The parameters of a call, as they stand in its body.
pub(crate) fn params(kind: OperationKind, body: &[u8], limits: &Limits) -> Result<Object, Fault> {
    let message = frame::one(body).map_err(unframed)?;
    read::message(message, request_message(kind), limits).map_err(|error| unreadable(&error))
}

/// The body of a call.
pub(crate) fn request(kind: OperationKind, params: &Object) -> Vec<u8> {
    framed(&write::message(params, request_message(kind)))
}

/// The body of an answer.
pub(crate) fn result(kind: OperationKind, result: &Json) -> Vec<u8> {
    framed(&result.as_object().map(|result| write::message(result, result_message(kind))).unwrap_or_default())
}

/// One message of a stream.
pub(crate) fn event(event: &Json) -> Vec<u8> {
    result(OperationKind::SubscribeToTask, event)
}

/// Reads an agent's answer: one message, without its prefix.
///
/// # Errors
/// [`BadAnswer`] when it is no A2A answer.
pub fn decode_answer(kind: OperationKind, message: &[u8], limits: &Limits) -> Result<Answer, BadAnswer> {
    let mut read = read::message(message, result_message(kind), limits)?;
    if kind == OperationKind::ListTasks {
        // They are required, and an empty list or number does not show in protobuf.
        for (member, empty) in [
            ("tasks", Json::Array(Vec::new())),
            ("nextPageToken", "".into()),
            ("pageSize", 0.into()),
            ("totalSize", 0.into()),
        ] {
            if !read.contains(member) {
                read.insert(member, empty);
            }
        }
    }
    let answer = Answer { body: v10::read_result(kind, read.into())?, origin: Version::V10 };
    check(kind, &answer)?;
    Ok(answer)
}

/// Reads one event of an agent's stream: one message, without its prefix.
///
/// # Errors
/// [`BadAnswer`] when it is no A2A event.
pub fn decode_event(message: &[u8], limits: &Limits) -> Result<Event, BadAnswer> {
    let kind = OperationKind::SubscribeToTask;
    let read = read::message(message, result_message(kind), limits)?;
    let event = Event { body: v10::read_result(kind, read.into())?, origin: Version::V10 };
    check_event(&event)?;
    Ok(event)
}

fn unframed(error: FrameError) -> Fault {
    match error {
        FrameError::Compressed => {
            Fault::new(FaultKind::ContentEncoding, "send the message uncompressed (grpc-encoding: identity)")
        }
        FrameError::Flags | FrameError::NotOne | FrameError::Truncated | FrameError::TooLarge { .. } => {
            Fault::new(FaultKind::InvalidRequest, error.to_string())
        }
    }
}

fn unreadable(error: &ReadError) -> Fault {
    let kind = if error.is_limit() { FaultKind::InvalidParams } else { FaultKind::Parse };
    Fault::new(kind, format!("the message is not valid: {error}"))
}
