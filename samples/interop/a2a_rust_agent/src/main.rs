//! The official Rust crates (`a2a-server-lf` 0.5.3) behind a gateway: an echo over JSON-RPC at `/jsonrpc` and HTTP+JSON
//! at `/rest`. *Takes* its port.

use a2a::{A2AError, AgentCard, StreamResponse};
use a2a_server::{AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore, StaticAgentCard};
use axum::Router;
use futures::stream::{self, BoxStream, StreamExt as _};
use serde_json::{Value, json};
use std::sync::Arc;

type Events = BoxStream<'static, Result<StreamResponse, A2AError>>;

struct Echo;

impl AgentExecutor for Echo {
    fn execute(&self, asked: ExecutorContext) -> Events {
        let (task, context) = asked.task_info();
        let said = asked.message.map(|message| json!(message.parts)).unwrap_or_default();
        let ids = json!({"taskId": task, "contextId": context});
        told([
            json!({"task": {"id": task, "contextId": context, "status": {"state": "TASK_STATE_SUBMITTED"}}}),
            json!({"artifactUpdate": with(&ids, "artifact", json!({"artifactId": "echo", "parts": said}))}),
            json!({"statusUpdate": with(&ids, "status", json!({"state": "TASK_STATE_COMPLETED"}))}),
        ])
    }

    fn cancel(&self, asked: ExecutorContext) -> Events {
        let (task, context) = asked.task_info();
        let ids = json!({"taskId": task, "contextId": context});
        told([json!({"statusUpdate": with(&ids, "status", json!({"state": "TASK_STATE_CANCELED"}))})])
    }
}

fn with(ids: &Value, name: &str, value: Value) -> Value {
    let mut event = ids.clone();
    event[name] = value;
    event
}

fn told<const N: usize>(events: [Value; N]) -> Events {
    let read = |event| serde_json::from_value(event).map_err(|error| A2AError::internal(error.to_string()));
    stream::iter(events.map(read)).boxed()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).ok_or("which port?")?;
    let url = format!("http://127.0.0.1:{port}");
    let card: AgentCard = serde_json::from_value(json!({
        "name": "a2a-server-lf",
        "description": "Echoes.",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": format!("{url}/jsonrpc"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": format!("{url}/rest"), "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": true},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "echo", "name": "Echo", "description": "Echoes.", "tags": ["echo"]}],
    }))?;
    let handler =
        DefaultRequestHandler::new(Echo, InMemoryTaskStore::default()).with_capabilities(card.capabilities.clone());
    let handler = Arc::new(handler);
    let app = Router::new()
        .nest("/jsonrpc", a2a_server::jsonrpc::jsonrpc_router(Arc::clone(&handler)))
        .nest("/rest", a2a_server::rest::rest_router(handler))
        .merge(a2a_server::agent_card::agent_card_router(Arc::new(StaticAgentCard::new(card))));
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    axum::serve(listener, app).await?;
    Ok(())
}
