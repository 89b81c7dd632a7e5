//! Path RPC towards agents: REST paths with JSON-RPC envelopes (or, by the card's setting, the parameters alone) and v0.3
//! objects. Such agents have send and stream, nothing else.

use http::Method;

use crate::{
    Call, Dialect, Fault, FaultKind, OperationKind, Version,
    dialect::{AgentAddress, Minted, Outgoing, PathBody, http_json::bare_body, jsonrpc, upstream::headers},
};

/// `call`, whose parameters are in v0.3 form already.
pub(crate) fn encode(call: Call, address: &AgentAddress, minted: Minted<'_>) -> Result<Outgoing, Fault> {
    let action = match call.kind {
        OperationKind::SendMessage => "send",
        OperationKind::SendStreamingMessage => "stream",
        OperationKind::GetTask
        | OperationKind::ListTasks
        | OperationKind::CancelTask
        | OperationKind::SubscribeToTask
        | OperationKind::CreatePushConfig
        | OperationKind::GetPushConfig
        | OperationKind::ListPushConfigs
        | OperationKind::DeletePushConfig
        | OperationKind::GetExtendedCard => return Err(Fault::of(FaultKind::UnsupportedOperation)),
    };
    let Some(method) = call.kind.method(Version::V03) else {
        return Err(Fault::of(FaultKind::UnsupportedOperation));
    };
    let body = match address.path_body {
        PathBody::Envelope => jsonrpc::write_request(minted.rpc_id, method, call.params),
        PathBody::Bare => bare_body(call.params)?,
    };
    Ok(Outgoing {
        method: Method::POST,
        url: format!("{}/message{}{action}", address.base, address.colon.as_str()),
        headers: headers(Dialect::PathRpc, call.kind, true),
        body: Some(body),
    })
}
