//! Every operation against the sample agents, over every dialect that is spoken.

use a2a_client::{
    Agent, CallError, CallLimits, Credential, Dialect, Options, Resume, Sending, TaskFilter, TaskState, connect,
};
use egress::FetchLimits;
use futures_util::StreamExt;
use json::Json;
use sample_agents::{Root, Running, Settings, start};

use crate::every_operation::{Push, every_operation};

async fn agents() -> Running {
    let settings = Settings { root: Root::Echo, ..Settings::at(([127, 0, 0, 1], 0).into()) };
    start(settings).await.unwrap()
}

async fn echo(agents: &Running, dialect: Dialect) -> Agent {
    Options::new().only([dialect]).connect(&agents.echo_url).await.unwrap()
}

async fn in_dialect(dialect: Dialect) {
    let agents = agents().await;
    let agent = echo(&agents, dialect).await;
    assert_eq!(agent.interface().dialect, dialect);
    let hook = format!("{}/a2a/webhook-sink/client", agents.base_url);
    every_operation(&agent, &hook, Push::Whole).await.unwrap();
    agents.shutdown().await;
}

#[tokio::test]
async fn every_operation_over_json_rpc() {
    in_dialect(Dialect::J1).await;
}

#[tokio::test]
async fn every_operation_over_http_json() {
    in_dialect(Dialect::R1).await;
}

#[tokio::test]
async fn every_operation_over_json_rpc_of_0_3() {
    in_dialect(Dialect::J3).await;
}

#[tokio::test]
async fn every_operation_over_http_json_of_0_3() {
    in_dialect(Dialect::R3).await;
}

#[cfg(feature = "grpc")]
#[tokio::test]
async fn every_operation_over_grpc() {
    in_dialect(Dialect::G1).await;
}

#[tokio::test]
async fn the_cards_first_interface_is_taken_and_an_interface_that_is_not_there_is_stood_in_for() {
    let agents = agents().await;
    let agent = connect(&agents.echo_url).await.unwrap();
    assert!(agent.interfaces().len() >= 4, "{:?}", agent.interfaces());
    // Nobody listens at the first one; the message was not sent there, so the second one gets it.
    let dead = format!("http://127.0.0.1:1/{}", "rpc");
    let mut card = agent.card().as_object().clone();
    let first = Json::from([("url", dead.as_str()), ("protocolBinding", "JSONRPC"), ("protocolVersion", "1.0")]);
    card.get_mut("supportedInterfaces").unwrap().as_array_mut().unwrap().insert(0, first);
    let agent = Options::new().connect_card(card, agent.card_url().as_str()).await.unwrap();
    assert_eq!(agent.interface().address.base, dead);
    assert_eq!(agent.send("hello").await.unwrap().text(), "hello");
    assert_ne!(agent.interface().address.base, dead, "it stays where it was answered");
}

#[tokio::test]
async fn what_the_first_interface_cannot_say_another_one_is_asked() {
    let agents = agents().await;
    let agent = Options::new().prefer([Dialect::J3]).connect(&agents.echo_url).await.unwrap();
    assert_eq!(agent.interface().dialect, Dialect::J3);
    agent.send("hello").await.unwrap();
    agent.list_tasks(TaskFilter::new()).await.unwrap();
    assert_eq!(agent.interface().dialect, Dialect::J3, "for this call alone");
    let old = Options::new().only([Dialect::J3]).connect(&agents.echo_url).await.unwrap();
    assert!(matches!(old.list_tasks(TaskFilter::new()).await, Err(CallError::Unsayable(_))));
}

#[tokio::test]
async fn a_token_opens_what_the_secure_agent_keeps() {
    let agents = agents().await;
    let url = agents.url_of("secure");
    let stranger = connect(&url).await.unwrap();
    let waiting = stranger.send("hello").await.unwrap();
    assert_eq!(waiting.task().map(a2a_client::Task::state), Some(TaskState::AuthRequired));
    let refused = stranger.extended_card().await;
    assert!(refused.is_err(), "{refused:?}");
    let known = Options::new().auth(Credential::bearer("not a token")).connect(&url).await.unwrap();
    let refused = known.extended_card().await;
    assert!(matches!(&refused, Err(CallError::Unauthorized(_) | CallError::Fault(_))), "{refused:?}");
}

/// A2A 1.0: agents at one address are told apart by the `tenant` of their gRPC interface.
#[cfg(feature = "grpc")]
#[tokio::test]
async fn the_interfaces_tenant_reaches_the_agent_it_names() {
    let agents = agents().await;
    let agent = Options::new().only([Dialect::G1]).connect(&agents.url_of("reject")).await.unwrap();
    assert!(agent.interface().address.tenant.is_some());
    let reply = agent.send("hello").await.unwrap();
    assert_eq!(reply.task().map(a2a_client::Task::state), Some(TaskState::Rejected), "not the default agent");
}

/// The agent goes on; whoever comes back finds the task.
#[tokio::test]
async fn leaving_a_stream_does_not_end_the_task() {
    let agents = agents().await;
    let agent = Options::new().resume(Resume::default()).connect(&agents.echo_url).await.unwrap();
    let task = agent.send_with("slow", Sending::new().return_immediately()).await.unwrap();
    let id = task.task().unwrap().id().to_owned();
    let mut events = agent.subscribe(&id).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().task_id(), Some(id.as_str()));
    drop(events);
    assert!(!agent.get_task(&id).await.unwrap().state().is_terminal());
    let mut events = agent.subscribe(&id).await.unwrap();
    agent.cancel_task(&id).await.unwrap();
    let mut last = None;
    while let Some(event) = StreamExt::next(&mut events).await {
        last = event.unwrap().state().or(last);
    }
    assert_eq!(last, Some(TaskState::Canceled));
}

#[tokio::test]
async fn limits_of_the_caller_hold() {
    let agents = agents().await;
    let small = FetchLimits { bytes: 100, ..FetchLimits::default() };
    let refused = Options::new().card_limits(small).connect(&agents.echo_url).await.unwrap_err().to_string();
    assert!(refused.contains("larger than 100 bytes"), "{refused}");
    let limits = CallLimits { answer: 200, ..CallLimits::default() };
    let agent = Options::new().limits(limits).connect(&agents.echo_url).await.unwrap();
    let refused = agent.send("a text that comes back in an answer of more than two hundred bytes".repeat(4)).await;
    assert!(matches!(refused, Err(CallError::TooLarge(200))), "{refused:?}");
}
