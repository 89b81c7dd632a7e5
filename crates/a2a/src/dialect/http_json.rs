//! HTTP+JSON of v1.0 towards agents: a path per operation, bare bodies, `google.rpc.Status` errors (A2A 1.0 §11).

use http::Method;
use json::{Json, Object};

use crate::{
    Call, Dialect, Fault, FaultKind, OperationKind, Version,
    dialect::{
        AgentAddress, Outgoing, SubscribeVerb, jsonrpc,
        query::{self, escape},
        upstream::headers,
    },
};

/// Where parameters go that are not in the path.
enum Rest {
    Body,
    Query,
    Nowhere,
}

/// `call`, whose parameters are in v1.0 form already.
pub(crate) fn encode(call: Call, address: &AgentAddress, subscribe: SubscribeVerb) -> Result<Outgoing, Fault> {
    let (kind, mut params) = (call.kind, call.params);
    let colon = address.colon.as_str();
    let (method, path, rest) = match kind {
        OperationKind::SendMessage => (Method::POST, format!("/message{colon}send"), Rest::Body),
        OperationKind::SendStreamingMessage => (Method::POST, format!("/message{colon}stream"), Rest::Body),
        OperationKind::GetTask => (Method::GET, format!("/tasks/{}", take_alone(&mut params)?), Rest::Query),
        OperationKind::ListTasks => (Method::GET, "/tasks".to_owned(), Rest::Query),
        OperationKind::CancelTask => {
            (Method::POST, format!("/tasks/{}{colon}cancel", take(&mut params, "id")?), Rest::Body)
        }
        OperationKind::SubscribeToTask => {
            let method = match subscribe {
                SubscribeVerb::Post => Method::POST,
                SubscribeVerb::Get => Method::GET,
            };
            (method, format!("/tasks/{}{colon}subscribe", take(&mut params, "id")?), Rest::Nowhere)
        }
        OperationKind::CreatePushConfig => {
            let task = params.str("taskId").map(escape).ok_or_else(unaddressed)?;
            (Method::POST, format!("/tasks/{task}/pushNotificationConfigs"), Rest::Body)
        }
        OperationKind::ListPushConfigs => {
            (Method::GET, format!("/tasks/{}/pushNotificationConfigs", take(&mut params, "taskId")?), Rest::Query)
        }
        OperationKind::GetPushConfig | OperationKind::DeletePushConfig => {
            let method = if kind == OperationKind::GetPushConfig { Method::GET } else { Method::DELETE };
            let (task, config) = (take(&mut params, "taskId")?, take(&mut params, "id")?);
            (method, format!("/tasks/{task}/pushNotificationConfigs/{config}"), Rest::Nowhere)
        }
        OperationKind::GetExtendedCard => (Method::GET, "/extendedAgentCard".to_owned(), Rest::Nowhere),
    };
    let prefix = address.tenant.as_deref().map(|tenant| format!("/{}", escape(tenant))).unwrap_or_default();
    let (query, body) = match rest {
        Rest::Body => (String::new(), Some(bare_body(params)?)),
        Rest::Query => {
            // The path names it already.
            params.remove("tenant");
            (query::write(&params), None)
        }
        Rest::Nowhere => (String::new(), None),
    };
    Ok(Outgoing {
        method,
        url: format!("{}{prefix}{path}{query}", address.base),
        headers: headers(Dialect::R1, kind, body.is_some()),
        body,
    })
}

/// An id for the path, out of the parameters.
pub(crate) fn take(params: &mut Object, member: &str) -> Result<String, Fault> {
    let id = params.remove(member);
    let id = id.as_ref().and_then(Json::as_str).filter(|id| !id.is_empty() && *id != "." && *id != "..");
    id.map(escape).ok_or_else(unaddressed)
}

/// Parameters as a whole body. With a stranger called `method` in them, an agent that reads envelopes at such paths, too,
/// would find another call inside, whose ids nobody has checked.
pub(crate) fn bare_body(params: Object) -> Result<Vec<u8>, Fault> {
    match ["jsonrpc", "method", "params"].into_iter().find(|member| params.contains(member)) {
        None => Ok(json::write(&params.into())),
        Some(member) => Err(Fault::invalid_params(format!("{member}: belongs to JSON-RPC, not into its parameters"))),
    }
}

/// The id of a task for a path that ends with it. `t1:subscribe` would be another operation on another task there.
pub(crate) fn take_alone(params: &mut Object) -> Result<String, Fault> {
    if params.str("id").is_some_and(|id| id.ends_with(":cancel") || id.ends_with(":subscribe")) {
        return Err(unaddressed());
    }
    take(params, "id")
}

pub(crate) fn unaddressed() -> Fault {
    Fault::of(FaultKind::TaskNotFound)
}

/// An agent's error document → [`Fault`], if it is one: `google.rpc.Status`, or the bare `{code, message}` of some.
pub(crate) fn read_error(body: &Json, kind: OperationKind) -> Option<Fault> {
    let Some(error) = body.get("error").and_then(Json::as_object) else {
        return body.as_object().filter(|bare| bare.contains("message")).and_then(|bare| {
            jsonrpc::read_error(bare, Version::V10).filter(|fault| !matches!(fault.kind, FaultKind::Agent { .. }))
        });
    };
    let code = error.get("code").and_then(Json::as_number).and_then(json::Number::as_i64);
    let details = error.get("details").and_then(Json::as_array).unwrap_or_default();
    // Some put the JSON-RPC code here; HTTP statuses are positive.
    let said = match code {
        Some(code) if code < 0 => FaultKind::from_agent_code(code),
        Some(_) | None => FaultKind::Agent { code: -32603 },
    };
    let mut fault = Fault::from_agent(said, error.str("message"));
    fault.take_details(details);
    if matches!(fault.kind, FaultKind::Agent { .. })
        && let Some(kind) = error.str("status").and_then(|name| by_status_name(name, kind))
    {
        fault.kind = kind;
    }
    Some(fault)
}

/// What a status name says when no reason does.
pub(crate) fn by_status_name(name: &str, kind: OperationKind) -> Option<FaultKind> {
    match name {
        "NOT_FOUND" if is_about_task(kind) => Some(FaultKind::TaskNotFound),
        "INVALID_ARGUMENT" => Some(FaultKind::InvalidParams),
        "UNIMPLEMENTED" => Some(FaultKind::UnsupportedOperation),
        _ => None,
    }
}

/// What `application/problem+json` says (an old form that A2A 1.0 left behind): its status alone.
pub(crate) fn read_problem(kind: OperationKind, status: u16, problem: &Json) -> Option<Fault> {
    let fault = match status {
        400 | 422 => FaultKind::InvalidParams,
        404 if is_about_task(kind) => FaultKind::TaskNotFound,
        409 if kind == OperationKind::CancelTask => FaultKind::TaskNotCancelable,
        415 => FaultKind::ContentTypeNotSupported,
        501 => FaultKind::UnsupportedOperation,
        _ => return None,
    };
    let text = ["detail", "title"].into_iter().find_map(|key| problem.get(key).and_then(Json::as_str));
    Some(Fault::from_agent(fault, text))
}

pub(crate) const fn is_about_task(kind: OperationKind) -> bool {
    !matches!(
        kind,
        OperationKind::SendMessage
            | OperationKind::SendStreamingMessage
            | OperationKind::ListTasks
            | OperationKind::GetExtendedCard
    )
}
