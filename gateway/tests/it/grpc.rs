//! gRPC of A2A 1.0: callers over HTTP/2 in clear, agents that speak it, everything in between.

mod agents;
mod callers;
pub(crate) mod client;

use crate::rig::{CardSpec, P1, Plan, Rig};
use a2a::{Dialect, OperationKind};
use client::{Agent, Grpc};
use json::Json;
use std::net::SocketAddr;

const WORKING: &str = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
const DONE: &str = r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

/// The sample agents, and a gateway whose `acme/echo` is their `echo`, spoken to in `dialect`.
async fn echo(dialect: Dialect) -> (sample_agents::Running, Rig) {
    let agents = sample_agents::start_all(SocketAddr::from(([127, 0, 0, 1], 0)), None).await.unwrap();
    let mut spec = CardSpec::of(&agents.echo_url, dialect);
    spec.extended = dialect != Dialect::PathRpc;
    let rig = Plan::echo(spec).start().await;
    (agents, rig)
}

/// A scripted agent, and a gateway whose `acme/echo` it is.
async fn scripted() -> (Agent, Rig) {
    let agent = Agent::start().await;
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::G1)).start().await;
    (agent, rig)
}

fn call(rig: &Rig, kind: OperationKind, params: &str) -> Grpc {
    Grpc::call(rig.address, "echo", kind, params).key(P1)
}

fn text_at<'a>(json: &'a Json, pointer: &str) -> &'a str {
    json.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

fn base64(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD_NO_PAD.decode(text).unwrap()
}
