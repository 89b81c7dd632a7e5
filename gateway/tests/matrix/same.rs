//! What may not be seen is told like what is not there, byte for byte: every operation in every caller's words.
//!
//! Compared are status, every header but the date and the correlation id, and the body as it came.

use crate::TONGUES;
use crate::caller::Hearing;
use crate::proto::{int, msg, text};
use crate::rig::{CardSpec, G1 as GLOBEX, P1, P2, Plan, Rig};
use crate::tongue::{Op, Said, Tongue};
use crate::world::World;
use a2a::Dialect;
use chancery::registry::{Credential, Principal, Snapshot};
use sample_agents::hostile::{Behaviour, start};
use std::sync::Arc;

/// Everything that a caller is told but what differs each time.
async fn bytes(rig: &Rig, said: &Said) -> (u16, Vec<String>, Vec<u8>) {
    let heard = Hearing::open(rig.address, said).await;
    let mut headers: Vec<String> = heard
        .headers
        .iter()
        .filter(|(name, _)| !["date", "x-correlation-id"].contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    headers.sort();
    (heard.status, headers, heard.raw().await)
}

/// The same with another name of the same length in its place, in the target and in whatever the body is.
fn renamed(mut said: Said, old: &str, new: &str) -> Said {
    assert_eq!(old.len(), new.len());
    said.target = said.target.replace(old, new);
    if let Some(body) = &mut said.body {
        let places: Vec<usize> = (0..body.len()).filter(|at| body[*at..].starts_with(old.as_bytes())).collect();
        for at in places {
            body[at..at + new.len()].copy_from_slice(new.as_bytes());
        }
    }
    said
}

/// A send to the task, and one that only refers to it.
fn sends_about(caller: Tongue, op: Op, card: &str, task: &str) -> [Said; 2] {
    let json = |to: String, refers: String| [to, refers].map(|params| (caller.sends)(op, card, params.as_bytes()));
    match caller.dialect {
        Dialect::J1 | Dialect::R1 => {
            let of = |more: &str| {
                format!(r#"{{"message":{{"messageId":"m1",{more},"role":"ROLE_USER","parts":[{{"text":"go"}}]}}}}"#)
            };
            json(of(&format!(r#""taskId":"{task}""#)), of(&format!(r#""referenceTaskIds":["{task}"]"#)))
        }
        Dialect::J3 | Dialect::PathRpc => {
            let of = |more: &str| {
                let parts = r#""parts":[{"kind":"text","text":"go"}]"#;
                format!(r#"{{"message":{{"kind":"message","messageId":"m1",{more},"role":"user",{parts}}}}}"#)
            };
            json(of(&format!(r#""taskId":"{task}""#)), of(&format!(r#""referenceTaskIds":["{task}"]"#)))
        }
        Dialect::R3 => {
            let of = |more: &str| {
                format!(r#"{{"message":{{"messageId":"m1",{more},"role":"ROLE_USER","content":[{{"text":"go"}}]}}}}"#)
            };
            let refers = format!(r#""metadata":{{"a2a-gw/referenceTaskIds":["{task}"]}}"#);
            json(of(&format!(r#""taskId":"{task}""#)), of(&refers))
        }
        Dialect::G1 => {
            let of = |more: Vec<u8>| {
                let message = msg(2, &[text(1, "m1"), more, int(4, 1), msg(5, &[text(1, "go")])]);
                (caller.sends)(op, card, &message)
            };
            [of(text(3, task)), of(text(8, task))]
        }
    }
}

/// Every way to name a task: all operations but the one that names none.
fn namings(caller: Tongue, card: &str) -> Vec<(String, Said)> {
    let mut all = Vec::new();
    for op in Op::ALL {
        match op {
            Op::SendMessage | Op::SendStreamingMessage => {
                let [to, refers] = sends_about(caller, op, card, "t1");
                all.push((format!("{} to it", op.name()), to));
                all.push((format!("{} that refers to it", op.name()), refers));
            }
            Op::GetTask
            | Op::CancelTask
            | Op::SubscribeToTask
            | Op::CreatePushConfig
            | Op::GetPushConfig
            | Op::ListPushConfigs
            | Op::DeletePushConfig => all.push((op.name().to_owned(), (caller.asks)(op, card))),
            Op::ListTasks | Op::GetExtendedCard => {}
        }
    }
    all
}

/// F39, T-TASK-1: another principal's task, and a task that the same principal has on another card.
#[tokio::test]
async fn a_foreign_task_is_a_missing_one_byte_for_byte() {
    let spare = start(Behaviour::Honest).await.unwrap();
    let plan = Plan::default().card("acme/spare", CardSpec::of(&spare.url(), Dialect::J1));
    let world = World::of(&TONGUES, plan, |mut card| {
        card.extended = true;
        card
    })
    .await;
    world.make_task().await;
    let mut compared = 0;
    for caller in TONGUES {
        for (card, key) in [(caller.card, P2), ("spare", P1)] {
            for (what, said) in namings(caller, card) {
                let foreign = bytes(&world.rig, &said.clone().by(key)).await;
                let missing = bytes(&world.rig, &renamed(said, "t1", "t9").by(key)).await;
                assert_eq!(foreign, missing, "{caller:?} at {card}: {what}");
                compared += 1;
            }
        }
        assert_eq!(world.agent(caller).asked().len(), 0, "{caller:?}");
    }
    assert_eq!((compared, spare.seen().connections), (6 * 2 * 11, 0));
}

/// F39: a list by somebody else's context is a list by one that nobody has.
#[tokio::test]
async fn a_list_by_a_foreign_context_is_one_by_a_missing_context_byte_for_byte() {
    let world = World::start().await;
    world.make_task().await;
    for caller in TONGUES {
        let said = (caller.asks)(Op::ListTasks, caller.card).by(P2);
        world.agent(caller).plan(caller.answer(Op::ListTasks), &[]);
        let foreign = bytes(&world.rig, &said).await;
        let missing = bytes(&world.rig, &renamed(said, "c1", "c9")).await;
        assert_eq!(foreign, missing, "{caller:?}");
    }
}

async fn gate() -> (Plan, Rig) {
    let agent = start(Behaviour::Honest).await.unwrap();
    let mut plan = Plan::default();
    for tongue in TONGUES {
        let mut spec = CardSpec::of(&agent.url(), Dialect::J1);
        spec.extended = true;
        plan = plan.card(&format!("acme/{}", tongue.card), spec);
    }
    let rig = plan.clone().start().await;
    (plan, rig)
}

/// Takes every grant from `p2`.
fn without_grants(mut snapshot: Snapshot) -> Snapshot {
    let (hash, old) = snapshot.keys.iter().find(|(_, key)| key.key_id == "key-p2").unwrap();
    let principal = Principal {
        id: old.principal.id.clone(),
        tenant: old.principal.tenant.clone(),
        name: old.principal.name.clone(),
        grants: Vec::new().into(),
        groups: Vec::new(),
        metered: old.principal.metered.clone(),
        cancelled: old.principal.cancelled.clone(),
        standing: old.principal.standing.clone(),
    };
    let key = Credential {
        key_id: old.key_id.clone(),
        hash: *hash,
        principal: Arc::new(principal),
        expires_at: None,
        last_use: Arc::default(),
        cancelled: old.cancelled.clone(),
    };
    snapshot.keys.insert(*hash, Arc::new(key));
    snapshot
}

/// T-AUTH-5: another tenant's card, and one of the caller's own tenant that it has no grant for.
#[tokio::test]
async fn a_foreign_card_is_a_missing_one_byte_for_byte() {
    let (plan, rig) = gate().await;
    rig.app.registry.replace(without_grants(plan.snapshot(rig.world().revision, rig.app.clock.now())));
    for caller in TONGUES {
        for op in Op::ALL {
            let missing = bytes(&rig, &(caller.asks)(op, "missing")).await;
            for key in [GLOBEX, P2] {
                let foreign = bytes(&rig, &(caller.asks)(op, caller.card).by(key)).await;
                assert_eq!(foreign, missing, "{caller:?} {} by {key}", op.name());
            }
        }
    }
}
