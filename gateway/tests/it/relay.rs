//! Every way a call can end early: one record, nothing left behind.

use crate::rig::{CardSpec, P1, Plan, Rig, rpc, rpc_as, says};
use crate::wire::DEADLINE;
use a2a::Dialect;
use sample_agents::hostile::{Behaviour, Reply, Scripted, start};

const WORKING: &str = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;

async fn open_stream() -> (Scripted, Rig, crate::wire::Live) {
    let agent = Scripted::start(Reply::sse().event(WORKING).hang()).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let mut live = rig.live(rpc("SendStreamingMessage", &says("hi"))).await;
    assert!(live.event().await.is_some());
    (agent, rig, live)
}

/// Waits until nothing of the call is held any more.
async fn settled(rig: &Rig) {
    let limits = &rig.app.calls.limits;
    let settled = async {
        while limits.open_streams() > 0 || limits.bytes_in_flight() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, settled).await.unwrap();
}

#[tokio::test]
async fn a_caller_who_leaves_a_stream_cancels_the_agent() {
    let (agent, rig, live) = open_stream().await;
    live.vanish();
    agent.wait_for_hang_ups(1).await.unwrap();
    assert_eq!(rig.outcome().await, "caller_gone");
    settled(&rig).await;
}

#[tokio::test]
async fn a_caller_who_leaves_before_the_answer_cancels_the_agent() {
    let agent = start(Behaviour::Hang).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    let mut socket = tokio::net::TcpStream::connect(rig.address).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut socket, &rpc("SendMessage", &says("hi")).bytes()).await.unwrap();
    agent.wait_for_requests(1).await.unwrap();
    drop(socket);
    agent.wait_for_hang_ups(1).await.unwrap();
    assert_eq!(rig.outcome().await, "caller_gone");
    settled(&rig).await;
}

#[tokio::test]
async fn whatever_is_withdrawn_ends_the_stream_with_a_legal_error() {
    for (what, code) in
        [("key", -32040), ("principal", -32040), ("card", -32046), ("tenant", -32046), ("grant", -32041)]
    {
        let (agent, rig, mut live) = open_stream().await;
        let world = rig.world();
        let tenant = &world.tenants["acme"];
        let principal = &tenant.principals["prn-p1"];
        match what {
            "key" => world.keys.values().for_each(|credential| credential.cancelled.cancel()),
            "principal" => principal.cancelled.cancel(),
            "card" => tenant.cards["echo"].cancelled.cancel(),
            "tenant" => tenant.cancelled.cancel(),
            _ => principal.grants[0].cancelled.cancel(),
        }
        let last = live.event().await.unwrap();
        assert_eq!((last.name.as_deref(), last.code(), last.at("/id").as_str()), (Some("error"), code, "1"), "{what}");
        assert_eq!(live.event().await, None);
        agent.wait_for_hang_ups(1).await.unwrap();
        assert_eq!(rig.outcome().await, "refused", "{what}");
    }
}

#[tokio::test]
async fn a_stopping_gateway_ends_its_streams_and_takes_no_calls() {
    let (_agent, rig, mut live) = open_stream().await;
    assert!(rig.drain().await);
    let last = live.event().await.unwrap();
    assert_eq!((last.name.as_deref(), last.code()), (Some("error"), -32047));
    assert_eq!(live.event().await, None);
    assert_eq!(rig.outcome().await, "draining");
}

#[tokio::test]
async fn an_agent_that_never_stops_is_slowed_down_by_its_caller() {
    let agent = start(Behaviour::Endless).await.unwrap();
    let rig =
        Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).set("limits.stream_idle_timeout", "500ms").start().await;
    let mut live = rig.live(rpc("SendStreamingMessage", &says("hi"))).await;
    assert!(live.event().await.is_some());
    // The caller reads no more: the stream is held back, and in the end given up.
    agent.wait_for_hang_ups(1).await.unwrap();
    assert_eq!(rig.outcome().await, "caller_gone");
    assert!(rig.app.calls.limits.bytes_in_flight() < 1 << 20);
}

#[tokio::test]
async fn nothing_is_sent_twice_unless_it_is_harmless() {
    let agent = Scripted::start(Reply::nothing().reset()).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::R1)).start().await;
    assert_eq!(rig.call(rpc("SendMessage", &says("hi"))).await.code(), -32044);
    assert_eq!(agent.requests().len(), 1);
    assert_eq!(rig.call(rpc_as(P1, "/a2a/acme/echo", "ListTasks", "{}")).await.code(), -32044);
    assert_eq!(agent.requests().len(), 3);
}

#[tokio::test]
async fn answers_that_are_none_are_told_apart() {
    for (behaviour, code, outcome) in [
        (Behaviour::Html, -32006, "upstream_error"),
        (Behaviour::WrongRpcId, -32006, "upstream_error"),
        (Behaviour::Gzip, -32006, "upstream_error"),
        (Behaviour::Unavailable, -32044, "upstream_error"),
        (Behaviour::Refuse, -32044, "upstream_error"),
        (Behaviour::ResetMidEvent, -32044, "upstream_error"),
        (Behaviour::Redirect { location: "http://127.0.0.1:1/".to_owned() }, -32044, "upstream_error"),
    ] {
        let agent = start(behaviour.clone()).await.unwrap();
        let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
        let heard = rig.call(rpc("SendMessage", &says("hi"))).await;
        assert_eq!((heard.status, heard.code()), (200, code), "{behaviour:?}: {}", heard.text());
        assert!(!heard.text().contains("127.0.0.1"));
        assert_eq!(rig.outcome().await, outcome, "{behaviour:?}");
    }
}

#[tokio::test]
async fn an_agent_that_refuses_our_credential_does_not_cost_the_caller_its_own() {
    for status in [401, 403] {
        let agent = Scripted::start(Reply::json(status, r#"{"error":"who are you"}"#)).await.unwrap();
        let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
        let heard = rig.call(rpc("SendMessage", &says("hi"))).await;
        assert_eq!((heard.status, heard.code()), (200, -32044));
        assert_eq!(heard.at("/error/data/0/reason"), "UPSTREAM_AUTH_FAILED");
        let heard = rig.call(crate::rig::rest(&says("hi"))).await;
        assert_eq!((heard.status, heard.header("www-authenticate")), (502, None));
    }
}

/// T-EGR-1
#[tokio::test]
async fn an_address_outside_the_rules_is_never_called() {
    let rig = Plan::echo(CardSpec::of("http://169.254.169.254/latest", Dialect::R1)).start().await;
    let heard = rig.call(rpc("SendMessage", &says("hi"))).await;
    assert_eq!(heard.code(), -32044);
    assert!(!heard.text().contains("169.254"));
}
