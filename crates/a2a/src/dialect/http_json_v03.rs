//! HTTP+JSON of v0.3 towards agents: paths below `/v1`, bodies in the JSON of v0.3's protobuf or schema, errors without a form of
//! their own (A2A 0.3 §3.2.3, protocol 3.2).

use http::Method;
use json::{Json, Object};

use crate::{
    Call, Dialect, Fault, FaultKind, OperationKind, Version,
    dialect::{
        AgentAddress, Outgoing, R3Objects, SubscribeVerb,
        http_json::{self, bare_body, is_about_task, take, take_alone, unaddressed},
        jsonrpc, proto_v03,
        query::{self, escape},
        upstream::headers,
        v03,
    },
};

/// `call`, whose parameters are canonical.
pub(crate) fn encode(call: Call, address: &AgentAddress, subscribe: SubscribeVerb) -> Result<Outgoing, Fault> {
    let Call { kind, mut params, origin } = call;
    let colon = address.colon.as_str();
    params.remove("tenant");
    let (method, path) = match kind {
        OperationKind::SendMessage => (Method::POST, format!("/message{colon}send")),
        OperationKind::SendStreamingMessage => (Method::POST, format!("/message{colon}stream")),
        OperationKind::GetTask => (Method::GET, format!("/tasks/{}", take_alone(&mut params)?)),
        OperationKind::CancelTask => (Method::POST, format!("/tasks/{}{colon}cancel", take(&mut params, "id")?)),
        OperationKind::SubscribeToTask => {
            let method = match subscribe {
                SubscribeVerb::Post => Method::POST,
                SubscribeVerb::Get => Method::GET,
            };
            (method, format!("/tasks/{}{colon}subscribe", take(&mut params, "id")?))
        }
        OperationKind::CreatePushConfig => {
            let task = params.str("taskId").map(escape).ok_or_else(unaddressed)?;
            (Method::POST, format!("/tasks/{task}/pushNotificationConfigs"))
        }
        OperationKind::ListPushConfigs => {
            (Method::GET, format!("/tasks/{}/pushNotificationConfigs", take(&mut params, "taskId")?))
        }
        OperationKind::GetPushConfig | OperationKind::DeletePushConfig => {
            let method = if kind == OperationKind::GetPushConfig { Method::GET } else { Method::DELETE };
            let task = take(&mut params, "taskId")?;
            if !params.contains("id") {
                return Err(Fault::invalid_params("id: is missing"));
            }
            (method, format!("/tasks/{task}/pushNotificationConfigs/{}", take(&mut params, "id")?))
        }
        OperationKind::GetExtendedCard => (Method::GET, "/card".to_owned()),
        OperationKind::ListTasks => return Err(Fault::of(FaultKind::UnsupportedOperation)),
    };
    let (query, body) = rest(kind, params, origin, address)?;
    // Some cards name the address with the version in it already.
    let version = if address.base.ends_with("/v1") { "" } else { "/v1" };
    Ok(Outgoing {
        method,
        url: format!("{}{version}{path}{query}", address.base),
        headers: headers(Dialect::R3, kind, body.is_some()),
        body,
    })
}

/// Where parameters go that are not in the path.
fn rest(
    kind: OperationKind,
    mut params: Object,
    origin: Version,
    address: &AgentAddress,
) -> Result<(String, Option<Vec<u8>>), Fault> {
    Ok(match kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage | OperationKind::CreatePushConfig => {
            match address.r3_objects {
                R3Objects::Proto => proto_v03::write_params(kind, &mut params, origin, address.r3_bytes),
                R3Objects::Schema => v03::write_params(kind, &mut params, origin),
            }
            (String::new(), Some(bare_body(params)?))
        }
        // The proto has nothing but the name, which is in the path.
        OperationKind::CancelTask if !params.is_empty() => (String::new(), Some(bare_body(params)?)),
        OperationKind::GetTask | OperationKind::ListPushConfigs => {
            params.retain(|key, _| matches!(key, "historyLength" | "pageSize" | "pageToken"));
            (query::write(&params), None)
        }
        OperationKind::CancelTask
        | OperationKind::SubscribeToTask
        | OperationKind::ListTasks
        | OperationKind::GetPushConfig
        | OperationKind::DeletePushConfig
        | OperationKind::GetExtendedCard => (String::new(), None),
    })
}

/// An agent's error document → [`Fault`], if it is one: the forms of the SDKs (`google.rpc.Status`, `{code, type,
/// message}`, `{message}` alone, which only its `status` explains).
pub(crate) fn read_error(body: &Json, kind: OperationKind, status: Option<u16>) -> Option<Fault> {
    if body.get("error").is_some_and(|error| error.as_object().is_some()) {
        return http_json::read_error(body, kind);
    }
    let bare = body.as_object()?;
    let text = bare.str("message")?;
    if let Some(named) = bare.str("type").and_then(FaultKind::from_error_name) {
        return Some(Fault::from_agent(named, Some(text)));
    }
    let code = bare.get("code").and_then(Json::as_number).and_then(json::Number::as_i64);
    if code.is_some_and(|code| code < 0) {
        return jsonrpc::read_error(bare, Version::V03);
    }
    let status = status.or_else(|| code.and_then(|code| u16::try_from(code).ok()))?;
    by_status(kind, status).map(|fault| Fault::from_agent(fault, Some(text)))
}

/// Whether an object that came where an event belongs is an error.
pub(crate) fn is_error(body: &Json) -> bool {
    let text = body.get("message").is_some_and(|message| message.as_str().is_some());
    text && (body.get("code").is_some() || body.get("type").is_some())
}

/// What the Python SDK of 0.3 means with a status.
const fn by_status(kind: OperationKind, status: u16) -> Option<FaultKind> {
    let push = matches!(
        kind,
        OperationKind::CreatePushConfig
            | OperationKind::GetPushConfig
            | OperationKind::ListPushConfigs
            | OperationKind::DeletePushConfig
    );
    let sends = matches!(kind, OperationKind::SendMessage | OperationKind::SendStreamingMessage);
    Some(match status {
        400 | 422 => FaultKind::InvalidParams,
        404 if matches!(kind, OperationKind::GetExtendedCard) => FaultKind::ExtendedCardNotConfigured,
        404 if is_about_task(kind) || sends => FaultKind::TaskNotFound,
        409 if matches!(kind, OperationKind::CancelTask) => FaultKind::TaskNotCancelable,
        415 => FaultKind::ContentTypeNotSupported,
        500 => FaultKind::Internal,
        501 if push => FaultKind::PushNotSupported,
        501 => FaultKind::UnsupportedOperation,
        502 => FaultKind::InvalidAgentResponse,
        _ => return None,
    })
}
