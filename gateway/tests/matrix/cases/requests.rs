//! Requests that two readers could understand differently, in every caller's words.

use super::{hello, member, refused};
use crate::g1::G1;
use crate::j1::J1;
use crate::j3::J3;
use crate::path_rpc::PATH_RPC;
use crate::proto;
use crate::r1::R1;
use crate::r3::R3;
use crate::refusals::{BAD_ANSWER, BAD_MEDIA, BAD_PARAMS, BLOCKED, PARSE};
use crate::rig::{CardSpec, INJECTION, Plan};
use crate::tongue::{Answer, Op, Said, Tongue};
use crate::world::{World, json_tongues};

/// A gateway with a guarded card for one agent of 1.0.
async fn guarded() -> World {
    World::of(&[J1], Plan::default(), CardSpec::guarded).await
}

/// F01, T-JSON-3
#[tokio::test]
async fn a_batch_is_one_refusal_to_every_caller() {
    let world = guarded().await;
    let mut asked = 0;
    for caller in json_tongues() {
        let said = hello(caller, J1.card).replaced("go", INJECTION);
        let one = said.text();
        // On the paths of the other bindings, too, it is JSON-RPC that has batches.
        let enveloped = hello(J1, J1.card).replaced("go", INJECTION).text();
        for batch in [
            format!("[{one}]"),
            format!(" \r\n\t[{one}]"),
            format!("[{one},{one}]"),
            format!("[{enveloped},{one}]"),
            "[]".to_owned(),
        ] {
            let told = world.ask(&said.clone().body(batch.clone())).await;
            assert!([200, 400].contains(&told.status), "{caller:?} {batch}: {told:?}");
            assert_eq!(told.parts.len(), 1, "{caller:?} {batch}: {told:?}");
            let (enveloped, bare) = (member(&told.parts[0], "/error/code"), member(&told.parts[0], "/code"));
            let code = if bare.is_null() { enveloped } else { bare };
            assert_eq!(code, json::Json::from(-32600), "{caller:?} {batch}: {told:?}");
            assert!(member(&told.parts[0], "/id").is_null(), "{caller:?} {batch}: {told:?}");
            asked += 1;
        }
    }
    assert_eq!(world.agent(J1).asked().len(), 0);
    let records = world.rig.records(asked).await;
    assert_eq!(records.len(), asked);
    assert!(records.iter().all(|record| record.outcome == "refused"), "{records:?}");
}

/// F04
#[tokio::test]
async fn media_types_are_read_by_their_meaning_from_every_caller() {
    let world = guarded().await;
    for caller in json_tongues() {
        let said = hello(caller, J1.card).replaced("go", INJECTION);
        for known in
            ["application/a2a+json", "application/json", "application/a2a+json; charset=utf-8", "APPLICATION/JSON"]
        {
            let told = world.ask(&said.clone().with("content-type", known)).await;
            refused(caller, Op::SendMessage, &told, &BLOCKED, known);
        }
        for unknown in ["application/x-www-form-urlencoded", "text/plain", "application/json, text/plain", ""] {
            let said = match unknown {
                "" => said.clone().without("content-type"),
                unknown => said.clone().with("content-type", unknown),
            };
            let told = world.ask(&said).await;
            let code =
                if caller == R1 { member(&told.parts[0], "/error/code") } else { member(&told.parts[0], "/code") };
            let code = if code.is_null() { member(&told.parts[0], "/error/code") } else { code };
            let wanted = if caller == R1 { 415 } else { BAD_MEDIA.code };
            assert_eq!((told.status, code), (415, wanted.into()), "{caller:?} {unknown}: {told:?}");
        }
    }
    // Of gRPC there is one kind; what is no gRPC finds nothing at its paths.
    for (media, status) in [("application/grpc+json", 415), ("application/json", 404)] {
        let told = world.ask(&hello(G1, J1.card).with("content-type", media)).await;
        assert_eq!(told.status, status, "{media}: {told:?}");
    }
    assert_eq!(world.agent(J1).asked().len(), 0);
}

/// F09, T-JSON-1
#[tokio::test]
async fn what_is_written_twice_is_refused_to_every_caller() {
    let world = guarded().await;
    let text = r#""text":"go""#;
    for caller in json_tongues() {
        let said = hello(caller, J1.card);
        for twice in [
            format!(r#""text":"{INJECTION}",{text}"#),
            format!(r#"{text},"text":"{INJECTION}""#),
            format!(r#"{text},"te\u0078t":"{INJECTION}""#),
        ] {
            let told = world.ask(&said.clone().replaced(text, &twice)).await;
            told_unread(caller, &told, &twice);
        }
        let twice = said.clone().replaced(r#""role""#, r#""r\u006fle":"x","role""#);
        told_unread(caller, &world.ask(&twice).await, "role twice");
        if [J1, J3, PATH_RPC].contains(&caller) {
            let twice = said.clone().replaced(r#""method":"#, r#""method":"GetTask","m\u0065thod":"#);
            told_unread(caller, &world.ask(&twice).await, "method twice");
        }
        for both in [r#""text":"go","text_":1,"Text":"x""#, r#""text":"go","data":{"data":{"a":"x"}}"#] {
            let told = world.ask(&said.clone().replaced(text, both)).await;
            refused(caller, Op::SendMessage, &told, &BAD_PARAMS, both);
        }
    }
    // Protobuf's "the last one wins" is what a guard and an agent could disagree about.
    for params in [
        proto::msg(2, &[proto::text(1, "m"), proto::text(1, "n")]),
        proto::msg(2, &[proto::msg(5, &[proto::text(1, "go"), proto::text(1, INJECTION)])]),
    ] {
        let told = world.ask(&(G1.sends)(Op::SendMessage, J1.card, &params)).await;
        refused(G1, Op::SendMessage, &told, &PARSE, "a field twice");
    }
    assert_eq!(world.agent(J1).asked().len(), 0);
}

/// A body that nobody could read has no id, so the answer has none.
fn told_unread(caller: Tongue, told: &crate::tongue::Told, what: &str) {
    let wanted = (caller.refused)(Op::SendMessage, &PARSE);
    assert_eq!((told.status, &told.media), (wanted.status, &wanted.media), "{caller:?} {what}: {told:?}");
    let code =
        |part: &str| (member(part, "/error/code"), member(part, "/code"), member(part, "/error/details/0/reason"));
    assert_eq!(code(&told.parts[0]), code(&wanted.parts[0]), "{caller:?} {what}: {told:?}");
    assert!(member(&told.parts[0], "/id").is_null(), "{caller:?} {what}: {told:?}");
}

/// F09
#[tokio::test]
async fn an_answer_with_a_key_twice_is_the_agents_fault_to_every_caller() {
    let world = World::start().await;
    for agent in json_tongues() {
        for caller in crate::TONGUES {
            let result = (agent.answers)(Op::SendMessage).concat();
            let twice = String::from_utf8(result).unwrap().replacen(r#""id":"t1""#, r#""id":"t1","i\u0064":"t2""#, 1);
            world.agent(agent).plan(agent.answer_of(Op::SendMessage, &[twice]), &[]);
            let told = world.ask(&hello(caller, agent.card)).await;
            refused(caller, Op::SendMessage, &told, &BAD_ANSWER, agent.name);
        }
    }
}

/// F10, T-ROUTE-4
#[tokio::test]
async fn the_tenant_in_a_call_of_any_caller_selects_nothing() {
    for upstream in [None, Some("T-77")] {
        let world = World::with(|mut card| {
            card.upstream_tenant = upstream.map(str::to_owned);
            card
        })
        .await;
        for agent in crate::TONGUES {
            world.agent(agent).plan(agent.answer(Op::SendMessage), &[]);
            for caller in json_tongues() {
                for tenant in ["globex", ""] {
                    let member = format!(r#""tenant":"{tenant}","message":{{"#);
                    let said = hello(caller, agent.card).replaced(r#""message":{"#, &member);
                    assert_eq!(world.ask(&said).await.status, 200, "{caller:?} → {agent:?}");
                    only_the_cards_tenant(&world, caller, agent, upstream);
                }
            }
        }
        // In a query, where paths carry parameters.
        world.make_task().await;
        for agent in [J1, R1, G1] {
            world.agent(agent).plan(agent.answer(Op::GetTask), &[]);
            for caller in [R1, R3, PATH_RPC] {
                let said = (caller.asks)(Op::GetTask, agent.card).replaced("historyLength=2", "tenant=globex");
                assert_eq!(world.ask(&said).await.status, 200, "{caller:?} → {agent:?}");
                only_the_cards_tenant(&world, caller, agent, upstream);
            }
        }
    }
}

fn only_the_cards_tenant(world: &World, caller: Tongue, agent: Tongue, upstream: Option<&str>) {
    let asked = world.agent(agent).asked().remove(0);
    let all = format!("{} {}", asked.line, asked.body);
    assert!(!all.contains("globex"), "{caller:?} → {agent:?}: {all}");
    // 0.3 has no tenant.
    let wanted = upstream.filter(|_| [J1, R1, G1].contains(&agent));
    match wanted {
        Some(tenant) => assert!(all.contains(tenant), "{caller:?} → {agent:?}: {all}"),
        None => assert!(!all.contains("T-77") && !all.contains("tenant\""), "{caller:?} → {agent:?}: {all}"),
    }
}

/// A gRPC caller's `tenant` names the card, and nothing else of it goes on.
#[tokio::test]
async fn the_tenant_of_grpc_names_the_card_alone() {
    let world = World::start().await;
    for agent in crate::TONGUES {
        world.agent(agent).plan(agent.answer(Op::SendMessage), &[]);
        let said: Said = hello(G1, agent.card);
        assert_eq!(world.ask(&said).await.end, ["0"], "{agent:?}");
        let asked = world.agent(agent).asked().remove(0);
        assert!(!asked.body.contains(&format!("{:?}", agent.card)), "{agent:?}: {asked:?}");
        let plan = Answer::Json(500, Vec::new());
        world.agent(agent).plan(if agent == G1 { agent.answer(Op::SendMessage) } else { plan }, &[]);
    }
}
