//! JSON-RPC 2.0 envelopes (protocol 1.2), read strictly from callers and written for both sides.

use json::{Json, Object};

use crate::{
    Fault, FaultKind, OperationKind, Version,
    shape::{Field, Name, Shape, normalise::folds_alike},
};

/// The members of a request.
const REQUEST: Shape = Shape {
    name: Name::Plain,
    fields: &[("jsonrpc", Field::Text), ("id", Field::Value), ("method", Field::Text), ("params", Field::Value)],
};

/// A request whose parameters are unread.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) id: Json,
    pub(crate) method: String,
    pub(crate) params: Json,
    /// What is told only where nothing else is wrong: there is no id to answer to.
    pub(crate) unanswerable: Option<Fault>,
}

/// Why there is no request, and the id to answer with (null if that is what is wrong).
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) id: Json,
    pub(crate) method: Option<String>,
    pub(crate) fault: Fault,
}

impl Request {
    /// Takes an envelope apart. Batches never come here as anything but an array, which is refused unread.
    pub(crate) fn open(body: Json) -> Result<Self, Box<Unread>> {
        let Json::Object(mut envelope) = body else {
            let text = if body.as_array().is_some() { "batches are not supported" } else { "a request is an object" };
            return Err(unread(Json::Null, None, text));
        };
        let id = envelope.remove("id");
        let echo = id.clone().filter(is_id).unwrap_or_default();
        let method = envelope.str("method").map(str::to_owned);
        let refuse = |text| Err(unread(echo.clone(), method.clone(), text));
        let twin =
            envelope.keys().any(|key| REQUEST.fields.iter().any(|(known, _)| key != *known && folds_alike(key, known)));
        if twin {
            return refuse("a member of the envelope is there in an unusual case");
        }
        if envelope.str("jsonrpc") != Some("2.0") {
            return refuse("jsonrpc must be \"2.0\"");
        }
        const ID: &str = "id must be a string, a whole number or null";
        if id.as_ref().is_some_and(|id| !is_id(id)) {
            return refuse(ID);
        }
        let unanswerable = id.is_none().then(|| Fault::new(FaultKind::InvalidRequest, ID));
        if envelope.contains("message") {
            return refuse("message belongs into params");
        }
        let params = envelope.remove("params").unwrap_or_default();
        match method {
            Some(method) => Ok(Self { id: echo, method, params, unanswerable }),
            None => Err(unread(echo, None, "method must be a string")),
        }
    }

    /// The parameters as an object; none are an empty one.
    pub(crate) fn object(params: Json) -> Result<Object, Fault> {
        match params {
            Json::Object(object) => Ok(object),
            Json::Null => Ok(Object::new()),
            Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Err(Fault::invalid_params("params must be an object"))
            }
        }
    }
}

/// Whether a body is meant as an envelope (protocol 0.1 rule 3), or as a batch of them.
pub(crate) fn is_envelope(body: &Json) -> bool {
    body.as_array().is_some() || ["jsonrpc", "method"].iter().any(|key| body.get(key).and_then(Json::as_str).is_some())
}

fn unread(id: Json, method: Option<String>, text: &str) -> Box<Unread> {
    Box::new(Unread { id, method, fault: Fault::new(FaultKind::InvalidRequest, text) })
}

/// Null, a string or a whole number. `1.0` is none: readers disagree on what to echo.
fn is_id(id: &Json) -> bool {
    match id {
        Json::Null | Json::String(_) => true,
        Json::Number(number) => number.as_text().bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'),
        Json::Bool(_) | Json::Array(_) | Json::Object(_) => false,
    }
}

/// `{"jsonrpc":"2.0","id":…,"method":…,"params":…}`
pub(crate) fn write_request(id: &str, method: &str, params: Object) -> Vec<u8> {
    json::write(&Json::from([
        ("jsonrpc", Json::from("2.0")),
        ("id", id.into()),
        ("method", method.into()),
        ("params", params.into()),
    ]))
}

/// `{"jsonrpc":"2.0","id":…,"result":…}`
pub(crate) fn write_result(id: &Json, result: Json) -> Vec<u8> {
    json::write(&Json::from([("jsonrpc", Json::from("2.0")), ("id", id.clone()), ("result", result)]))
}

/// `{"jsonrpc":"2.0","id":…,"error":{code, message, data?}}`
pub(crate) fn write_error(id: &Json, fault: &Fault, version: Version, own_domain: &str) -> Vec<u8> {
    let mut error =
        Object::from([("code", Json::from(fault.kind.rpc_code(version))), ("message", fault.message.as_str().into())]);
    let data = match version {
        Version::V10 => details(fault, own_domain).map(Json::Array),
        Version::V03 => loose_data(fault),
    };
    if let Some(data) = data {
        error.insert("data", data);
    }
    json::write(&Json::from([("jsonrpc", Json::from("2.0")), ("id", id.clone()), ("error", error.into())]))
}

/// v1.0 `data`: an array of typed details. Unknown methods have none (protocol 3.1).
fn details(fault: &Fault, own_domain: &str) -> Option<Vec<Json>> {
    let details = if fault.kind == FaultKind::MethodNotFound { Vec::new() } else { fault.details(own_domain) };
    Some(details).filter(|details| !details.is_empty())
}

/// v0.3 `data`: anything; the agent's own, else the facts.
fn loose_data(fault: &Fault) -> Option<Json> {
    match &fault.data {
        // v1.0's typed details say nothing that v0.3 readers look for.
        Some(Json::Array(details)) if details.iter().all(|detail| detail.get("@type").is_some()) => facts(fault),
        Some(data) => Some(data.clone()),
        None => facts(fault),
    }
}

fn facts(fault: &Fault) -> Option<Json> {
    if fault.metadata.is_empty() {
        return None;
    }
    Some(fault.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect::<Object>().into())
}

/// An agent's error object → [`Fault`].
pub(crate) fn read_error(error: &Object, version: Version) -> Option<Fault> {
    let code = error.get("code")?.as_number()?.as_i64()?;
    let mut fault = Fault::from_agent(FaultKind::from_agent_code(code), error.str("message"));
    match (version, error.get("data")) {
        (_, None | Some(Json::Null)) => {}
        (_, Some(Json::Array(details))) if details.iter().any(|detail| detail.get("@type").is_some()) => {
            fault.take_details(details);
        }
        (Version::V03 | Version::V10, Some(data)) => fault.data = Some(data.clone()),
    }
    Some(fault)
}

/// The operation of a method name, and the generation that calls it so.
pub(crate) fn operation(method: &str) -> Option<(OperationKind, Version)> {
    OperationKind::ALL.into_iter().find_map(|kind| {
        if kind.method(Version::V10) == Some(method) {
            Some((kind, Version::V10))
        } else if kind.method(Version::V03) == Some(method) {
            Some((kind, Version::V03))
        } else {
            None
        }
    })
}
