//! Agents that misbehave on purpose: every one is told from an honest answer, and none is waited for without end.

use std::time::Duration;

use a2a_client::{Agent, CallLimits, Dialect, Options};
use sample_agents::hostile::{Behaviour, Scripted, start};

use crate::server::{named, object};

/// Small and short, so that nothing hostile takes long.
fn limits() -> CallLimits {
    CallLimits {
        answer: 64 * 1024,
        total: Duration::from_secs(2),
        idle: Duration::from_millis(300),
        events: a2a::sse::Limits { event: 16 * 1024, line: 16 * 1024 },
        ..CallLimits::default()
    }
}

async fn hostile(behaviour: Behaviour, dialect: Dialect) -> (Scripted, Agent) {
    let scripted = start(behaviour).await.unwrap();
    let binding = if dialect == Dialect::R1 { "HTTP+JSON" } else { "JSONRPC" };
    let card = format!(
        r#"{{"name":"A","supportedInterfaces":[{{"url":"{0}","protocolBinding":"{binding}","protocolVersion":"1.0"}}]}}"#,
        scripted.url()
    );
    let card = object(&card);
    let agent = Options::new().limits(limits()).connect_card(card, &scripted.url()).await.unwrap();
    (scripted, agent)
}

#[tokio::test]
async fn every_wrong_answer_has_its_own_error() {
    let cases = [
        (Behaviour::Hang, "TimedOut"),
        (Behaviour::ResetMidEvent, "Cut"),
        (Behaviour::Unavailable, "Status"),
        (Behaviour::Refuse, "NotReached"),
        (Behaviour::WrongRpcId, "Protocol"),
        (Behaviour::RepeatedKeys, "Protocol"),
        (Behaviour::Html, "Protocol"),
        (Behaviour::Garbage, "Cut"),
        (Behaviour::Gzip, "Encoded"),
        (Behaviour::Redirect { location: "https://elsewhere.example/".to_owned() }, "Status"),
        (Behaviour::Huge { bytes: 1024 * 1024 }, "TooLarge"),
        (Behaviour::Slow { pause: Duration::from_secs(1) }, "TimedOut"),
    ];
    for (behaviour, expected) in cases {
        let (_scripted, agent) = hostile(behaviour.clone(), Dialect::J1).await;
        let error = agent.send("hello").await.unwrap_err();
        assert_eq!(named(&error), expected, "{behaviour:?}: {error:?}");
    }
    let (_scripted, agent) = hostile(Behaviour::Honest, Dialect::J1).await;
    assert!(agent.send("hello").await.is_ok(), "the control");
}

#[tokio::test]
async fn every_broken_stream_ends_with_its_own_error_and_the_connection_with_it() {
    let cases = [
        (Behaviour::ResetMidEvent, "Cut"),
        (Behaviour::ErrorToStream, "Fault"),
        (Behaviour::LongLine { bytes: 64 * 1024 }, "Stream"),
        (Behaviour::Html, "Protocol"),
        (Behaviour::RepeatedKeys, "Protocol"),
    ];
    for (behaviour, expected) in cases {
        let (_scripted, agent) = hostile(behaviour.clone(), Dialect::J1).await;
        let end = match agent.stream("hello").await {
            Err(error) => error,
            Ok(mut events) => loop {
                match events.next().await {
                    Some(Ok(_)) => {}
                    Some(Err(error)) => break error,
                    None => panic!("{behaviour:?}: looks finished"),
                }
            },
        };
        assert_eq!(named(&end), expected, "{behaviour:?}: {end:?}");
    }
}

#[tokio::test]
async fn a_stream_without_end_is_left_by_dropping_it() {
    let (scripted, agent) = hostile(Behaviour::Endless, Dialect::R1).await;
    let mut events = agent.stream("hello").await.unwrap();
    for _ in 0..50 {
        events.next().await.unwrap().unwrap();
    }
    drop(events);
    scripted.wait_until(|seen| seen.hang_ups >= 1).await.unwrap();
}
