//! Agents over gRPC, whatever the caller speaks.

use super::client::Step;
use super::{WORKING, call, echo, scripted, text_at};
use crate::rig::{CardSpec, P1, Plan, rpc, says};
use crate::wire::Ask;
use a2a::{Dialect, Fault, FaultKind, OperationKind};
use json::Json;
use sample_agents::hostile::{Behaviour, start};
use std::net::SocketAddr;

/// Sample agents share an address; each is found by its own tenant, which their cards tell the gateway.
#[tokio::test]
async fn agents_at_one_address_are_called_by_the_tenant_of_each() {
    let agents = sample_agents::start_all(SocketAddr::from(([127, 0, 0, 1], 0)), None).await.unwrap();
    for (name, state) in [("weather", "TASK_STATE_COMPLETED"), ("reject", "TASK_STATE_REJECTED")] {
        let mut spec = CardSpec::of(&agents.base_url, Dialect::G1);
        spec.upstream_tenant = Some(name.to_owned());
        let rig = Plan::echo(spec).start().await;
        let sent = call(&rig, OperationKind::SendMessage, &says("Paris")).send().await.unwrap();
        assert_eq!(text_at(&sent.body, "/task/status/state"), state, "{name}");
    }
    agents.shutdown().await;
}

#[tokio::test]
async fn an_agent_over_grpc_answers_callers_of_every_json_dialect() {
    let (agents, rig) = echo(Dialect::G1).await;
    let old = r#"{"jsonrpc":"2.0","id":"x","method":"message/send","params":{"message":{"role":"user","messageId":"m","parts":[{"kind":"text","text":"hi"}]}}}"#;
    let stream = old.replace("message/send", "message/stream");
    let target = "/a2a/acme/echo";
    for ask in [
        rpc("SendMessage", &says("hi")),
        rpc("SendStreamingMessage", &says("hi")),
        Ask::post(&format!("{target}/message:send")).key(P1).v10().json(&says("hi")),
        Ask::post(&format!("{target}/message:stream")).key(P1).v10().json(&says("hi")),
        Ask::post(target).key(P1).json(old),
        Ask::post(target).key(P1).json(&stream),
        Ask::post(&format!("{target}/message:send")).key(P1).json(old),
    ] {
        let heard = rig.call(ask).await;
        assert!(
            heard.status == 200 && heard.text().contains("hi") && !heard.text().contains("error"),
            "{}",
            heard.text()
        );
    }
    let fault = rig.call(rpc("GetTask", r#"{"id":"none"}"#)).await;
    assert_eq!(fault.code(), -32001);
    agents.shutdown().await;
}

#[tokio::test]
async fn data_survives_an_agent_over_grpc_as_far_as_doubles_go() {
    let (agents, rig) = echo(Dialect::G1).await;
    let data = r#"{"n":7,"f":-0.125,"big":9007199254740993,"list":[null,true,"é",{}],"e":1e300}"#;
    let params = says("x").replace(
        r#"{"text":"x"}"#,
        &format!(r#"{{"data":{data},"mediaType":"application/json"}},{{"raw":"AAEC/w=="}},{{"text":""}}"#),
    );
    let heard = rig.call(rpc("SendMessage", &params)).await;
    let parts = heard.json().pointer("/result/task/artifacts/0/parts").cloned().unwrap();
    let got = String::from_utf8(json::write(parts.get_index(0).get("data").unwrap())).unwrap();
    assert_eq!(got, r#"{"n":7,"f":-0.125,"big":9007199254740992,"list":[null,true,"é",{}],"e":1e+300}"#);
    assert_eq!(parts.get_index(1).get("raw").and_then(Json::as_str), Some("AAEC/w=="));
    assert_eq!(parts.get_index(2).get("text").and_then(Json::as_str), Some(""));
    agents.shutdown().await;
}

trait At {
    fn get_index(&self, at: usize) -> &Json;
}

impl At for Json {
    fn get_index(&self, at: usize) -> &Json {
        &self.as_array().unwrap()[at]
    }
}

#[tokio::test]
async fn an_agents_status_is_told_in_the_callers_words() {
    for (fault, code) in [
        (Fault::new(FaultKind::TaskNotCancelable, "too late"), -32002),
        (Fault::of(FaultKind::TaskNotFound), -32001),
        (Fault::of(FaultKind::InvalidParams), -32602),
        (Fault::of(FaultKind::Internal), -32603),
        (Fault::of(FaultKind::Unauthenticated), -32044),
        (Fault::of(FaultKind::Overloaded), -32044),
        (Fault::of(FaultKind::UpstreamTimeout), -32045),
    ] {
        let (agent, rig) = scripted().await;
        agent.feed([Step::status(Some(&fault)), Step::status(Some(&fault))]);
        let heard = rig.call(rpc("SendMessage", &says("hi"))).await;
        assert_eq!(heard.code(), code, "{}", heard.text());
        let heard = rig.call(rpc("SendStreamingMessage", &says("hi"))).await;
        assert!(heard.text().contains("\"error\""), "{}", heard.text());
    }
}

#[tokio::test]
async fn an_agent_that_breaks_grpc_is_not_believed() {
    let one = || Step::event(r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#);
    for (steps, code, what) in [
        (vec![one(), Step::End], -32044, "no status"),
        (vec![one(), one(), Step::status(None)], -32006, "two messages"),
        (vec![Step::status(None)], -32006, "no message"),
        (vec![Step::Data(b"\0\0\0\0\x09abc".to_vec()), Step::status(None)], -32044, "a message that breaks off"),
        (vec![Step::Data(b"\x01\0\0\0\x01a".to_vec()), Step::status(None)], -32006, "compression"),
        (vec![Step::Data(b"\0\0\0\0\x01\xff".to_vec()), Step::status(None)], -32006, "no protobuf"),
        (vec![Step::Data(b"\0\xff\xff\xff\xff".to_vec()), Step::status(None)], -32006, "four gigabytes"),
        (vec![Step::Data(b"\0\0\0\0\0".to_vec()), Step::status(None)], -32006, "an empty answer"),
    ] {
        let (agent, rig) = scripted().await;
        agent.feed(steps);
        let heard = rig.call(rpc("SendMessage", &says("hi"))).await;
        assert_eq!(heard.code(), code, "{what}: {}", heard.text());
        assert_eq!(rig.outcome().await, "upstream_error", "{what}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_or_stops_unfinished_is_not_called_finished() {
    for (last, outcome, code) in [
        (Step::End, "upstream_abort", "14"),
        (Step::status(None), "stream_incomplete", "14"),
        (Step::status(Some(&Fault::of(FaultKind::Overloaded))), "upstream_abort", "14"),
        (Step::status(Some(&Fault::of(FaultKind::Internal))), "agent_fault", "13"),
        (Step::Data(b"\0\0\0\0\x01\xff".to_vec()), "upstream_abort", "13"),
    ] {
        let (agent, rig) = scripted().await;
        agent.feed([Step::event(WORKING), last]);
        let mut open = call(&rig, OperationKind::SendStreamingMessage, &says("hi")).open().await;
        assert!(open.event().await.is_some());
        assert!(open.event().await.is_none());
        assert_eq!(open.told("grpc-status"), code, "{outcome}: {}", open.told("grpc-message"));
        assert_eq!(rig.outcome().await, outcome);
    }
}

#[tokio::test]
async fn an_agent_that_is_no_grpc_server_is_unreachable_or_not_understood() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::G1)).start().await;
    let heard = rig.call(rpc("SendMessage", &says("hi"))).await;
    assert!([-32044, -32006].contains(&heard.code()), "{}", heard.text());
    let rig = Plan::echo(CardSpec::of("http://127.0.0.1:1", Dialect::G1)).start().await;
    assert_eq!(rig.call(rpc("SendMessage", &says("hi"))).await.code(), -32044);
}
